# guard: each line is judged before it runs. Enter asks guard; what it refuses stays on the line, to be changed.
if [[ $- == *i* && -n ${BASH_VERSION-} ]]; then
    __guard_program=@GUARD@
    export __guard_shell=$$

    # What the names in a line mean in this shell: its aliases, its variables, its functions.
    __guard_names() {
        local rest=$1 name seen=' ' IFS=$' \t\n'
        local -
        set -f
        printf 'shopt -s expand_aliases\n'
        alias -p
        while [[ $rest =~ \$[{]?[!#]?([A-Za-z_][A-Za-z0-9_]*) ]]; do
            name=${BASH_REMATCH[1]}
            rest=${rest#*"${BASH_REMATCH[0]}"}
            [[ $seen == *" $name "* ]] && continue
            seen+="$name "
            declare -p -- "$name" 2>/dev/null
        done
        for name in ${1//[^A-Za-z0-9_.:+-]/ }; do
            [[ $seen == *" $name() "* ]] && continue
            seen+="$name() "
            declare -f -- "$name"
        done
    }

    # The line as history makes it. Always in a subshell: history -p takes the last entry for its own call and drops it,
    # so that it is put there once more.
    __guard_history() {
        local last
        last=$(HISTTIMEFORMAT='' history 1)
        [[ $last =~ ^\ *[0-9]+[*\ ]\ (.*)$ ]] && history -s -- "${BASH_REMATCH[1]}"
        history -p -- "$1"
    }

    # Whether the line may run: 0 yes, 1 not whole yet, anything else no.
    __guard_line() {
        local line=$READLINE_LINE again
        bind '"\C-x\C-b2": ""'
        if [[ $line != *[![:space:]]* ]]; then
            bind '"\C-x\C-b2": accept-line'
            return
        fi
        if [[ $- == *H* && ( $line == *"${histchars:0:1}"* || $line == *"${histchars:1:1}"* || -z ${histchars-} ) ]]; then
            again=$(__guard_history "$line" 2>&1) || { printf '%s\n' "$again" >&2; return; }
            line=$again
            again=$(__guard_history "$line" 2>/dev/null)
            READLINE_LINE=$line READLINE_POINT=${#line}
            if [[ $again != "$line" ]]; then
                printf 'guard: history would change this line once more: run it as it is now with set +H\n' >&2
                return
            fi
        fi
        "$__guard_program" line bash "$line" "$(__guard_names "$line")"
        case $? in
            0) bind '"\C-x\C-b2": accept-line' ;;
            1) READLINE_LINE=$line$'\n' READLINE_POINT=$((${#line} + 1)) ;;
            126 | 130) ;;
            *) printf 'guard: the line was not judged and does not run; a shell without guard: bash --norc\n' >&2 ;;
        esac
    }

    # The line in an editor, back on the line: what the editor left is judged when Enter is pressed.
    __guard_edit() {
        local file
        file=$(mktemp) || return
        printf '%s\n' "$READLINE_LINE" >| "$file"
        ${VISUAL:-${EDITOR:-vi}} "$file" < /dev/tty > /dev/tty
        READLINE_LINE=$(< "$file") READLINE_POINT=${#READLINE_LINE}
        rm -f -- "$file"
    }

    for __guard_map in emacs vi-insert vi-command; do
        bind -m "$__guard_map" -x '"\C-x\C-b1": __guard_line'
        bind -m "$__guard_map" '"\C-x\C-b2": ""'
        bind -m "$__guard_map" -x '"\C-x\C-b3": __guard_edit'
        bind -m "$__guard_map" '"\C-m": "\C-x\C-b1\C-x\C-b2"'
        bind -m "$__guard_map" '"\C-j": "\C-x\C-b1\C-x\C-b2"'
        bind -m "$__guard_map" '"\C-x\C-e": "\C-x\C-b3"'
    done
    bind -m emacs '"\C-o": "\C-x\C-b1\C-x\C-b2"'
    bind -m vi-command '"v": "\C-x\C-b3"'
    bind -m emacs '"\e#": ""'
    bind -m vi-command '"#": ""'
    unset __guard_map
fi
