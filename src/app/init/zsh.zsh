# guard: each line is judged before it runs. Enter asks guard; what it refuses stays on the line, to be changed.
if [[ -o interactive && -o zle ]] && (( ! ${+widgets[_guard_accept_line]} )); then
    typeset -g _guard_program=@GUARD@
    export __guard_shell=$$

    # What the names in a line mean in this shell: its aliases, its variables, its functions.
    _guard_names() {
        emulate -L zsh
        setopt extended_glob
        local rest=$1 name
        local -aU names
        alias -L
        while [[ $rest == (#b)*'$'[\{]#([A-Za-z_][A-Za-z0-9_]#)* ]]; do
            names+=$match[1]
            rest=${rest[1,$mbegin[1]-2]}
        done
        for name in $names; do
            (( ${+parameters[$name]} )) && typeset -p $name
        done
        names=(${=${1//[^A-Za-z0-9_.:+-]/ }})
        for name in $names; do
            (( ${+functions[$name]} )) && functions -- $name
        done 2> /dev/null
    }

    # Whether the line may run: 0 yes, 1 not whole yet, anything else no.
    _guard_judge() {
        emulate -L zsh
        local whole=$PREBUFFER$BUFFER
        # What edits a variable or answers a menu is no command.
        [[ $CONTEXT == (vared|select) || $whole != *[^[:space:]]* ]] && return 0
        local names="$(_guard_names $whole)"
        local -i answer
        # Most lines run without a word, and stay where they stand.
        $_guard_program line --unasked zsh $whole $names < /dev/tty
        answer=$?
        (( answer == 4 )) || return answer
        # What is said goes below the line, and zle draws the prompt anew below that.
        zle -I
        $_guard_program line zsh $whole $names < /dev/tty
    }

    # Runs the widget that was there before, when the line may run. A line that is not whole goes on in the editor: what
    # zsh takes for whole and guard does not would run unjudged otherwise.
    _guard_accept_with() {
        [[ -o bang_hist ]] && zle .expand-history
        _guard_judge
        case $? in
            0) zle $1 -- "${@:2}" ;;
            1) BUFFER+=$'\n' CURSOR=$#BUFFER ;;
            126 | 130) ;;
            *)
                zle -M 'guard: the line was not judged and does not run; a shell without guard: zsh -f'
                ;;
        esac
    }

    () {
        local widget
        for widget in accept-line accept-line-and-down-history accept-and-hold accept-and-infer-next-history; do
            zle -A $widget _guard_before_$widget
            eval "_guard_${widget//-/_}() { _guard_accept_with _guard_before_$widget \"\$@\" }"
            zle -N _guard_${widget//-/_}
            zle -N $widget _guard_${widget//-/_}
        done
    }
fi
