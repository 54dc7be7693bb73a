# Completions of guard for bash: guard itself says what may stand where the cursor is.
_guard() {
    local line cur=$2 number
    local -a found=()
    while IFS= read -r line; do
        found+=("$line")
    done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=()
    case ${found[0]-} in
        :command*)
            number=${found[0]#:command }
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$number"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$number"
            elif ((COMP_CWORD == number)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                compopt -o default 2>/dev/null
            fi
            ;;
        :files) compopt -o filenames -o default 2>/dev/null ;;
        :directories)
            compopt -o filenames 2>/dev/null
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            ;;
        *)
            [[ $cur == = ]] && cur=
            for line in "${found[@]}"; do
                line=${line%%$'\t'*}
                [[ $line == "$cur"* ]] && COMPREPLY+=("$line")
            done
            ;;
    esac
}
complete -o nosort -F _guard guard 2>/dev/null || complete -F _guard guard
