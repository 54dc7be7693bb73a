# guard: each line is judged before it runs. Enter asks guard; what it refuses stays on the line, to be changed.
if status is-interactive
    set -g __guard_program @GUARD@
    set -gx __guard_shell $fish_pid

    # What the names in a line mean in this shell: its variables, its functions.
    function __guard_names --argument-names line
        for name in (string match -rag -- '\$\{?([A-Za-z_][A-Za-z0-9_]*)' $line | sort -u)
            if set -q $name; and not set -qx $name
                printf '%s=%s\n' $name (string escape --style=script -- "$$name")
            end
        end
        for name in (string match -ra -- '[A-Za-z0-9_.+-]+' $line | sort -u)
            if functions -q -- $name; and not contains -- $name __guard_names __guard_repaint __guard_execute
                # What fish itself brings (ls, grep, cd) stands for the program of that name.
                set -l file (functions --details -- $name)
                if not string match -q -- "$__fish_data_dir/*" $file; and not string match -q -- 'embedded:*' $file
                    functions --no-details -- $name
                end
            end
        end
    end

    # fish draws the line anew from where it began, as many rows up as the cursor stands below that: what guard said is
    # moved out of the way.
    function __guard_repaint
        set -l columns (math "max(1, 0$COLUMNS)")
        set -l prompt (fish_prompt)
        set -l rows (math "max(1, $(count $prompt)) - 1")
        set -l before (string length --visible -- "$prompt[-1]")
        for line in (commandline --cut-at-cursor)
            set rows (math "$rows + floor(($before + $(string length --visible -- "$line")) / $columns) + 1")
            # How far fish indents the next line is at most this.
            set before 16
        end
        string repeat -N --count (math "max(0, $rows - 1)") \n
        commandline -f repaint
    end

    function __guard_execute
        set -l line (commandline | string collect)
        if string match -qr '\S' -- $line; and commandline --is-valid
            set -l names (__guard_names $line | string collect)
            # Most lines run without a word, and stay where they stand.
            $__guard_program line --unasked fish $line $names </dev/tty
            set -l answer $status
            if test $answer -eq 4
                # What is said goes below the line.
                echo
                $__guard_program line fish $line $names </dev/tty
                set answer $status
            end
            switch $answer
                case 0
                case 126 130
                    __guard_repaint
                    return
                case '*'
                    echo 'guard: the line was not judged and does not run; a shell without guard: fish --no-config' >&2
                    __guard_repaint
                    return
            end
        end
        commandline -f execute
    end

    for __guard_mode in default insert visual
        bind --mode $__guard_mode \r __guard_execute
        bind --mode $__guard_mode \n __guard_execute
        bind --mode $__guard_mode enter __guard_execute 2>/dev/null
    end
    set -e __guard_mode
end
