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
            local -a abouts=()
            for line in "${found[@]}"; do
                [[ $line == "$cur"* ]] || continue
                abouts+=("${line#*$'\t'}")
                COMPREPLY+=("${line%%$'\t'*}")
            done
            # What a few names stand for is listed with them: of several, no more is inserted than how all begin.
            number=${#COMPREPLY[@]}
            if ((number > 1 && number <= 20 && COMP_CWORD > 1)) && [[ $cur != -* && ${COMP_TYPE-} != 37 ]]; then
                local -i at room
                for at in "${!COMPREPLY[@]}"; do
                    room=$((${COLUMNS:-80} - ${#COMPREPLY[at]} - 4))
                    if [[ -n ${abouts[at]} ]] && ((room > 8)); then
                        COMPREPLY[at]+="  ${abouts[at]:0:room}"
                    fi
                done
            fi
            ;;
    esac
}
complete -o nosort -F _guard guard 2>/dev/null || complete -F _guard guard
