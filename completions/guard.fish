# Completions of guard for fish: guard itself says what may stand where the cursor is.
function __guard_complete
    set -l typed (commandline -ct)
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    set -l found ($program complete -- $words "$typed" 2>/dev/null)
    switch "$found[1]"
        case ':command*'
            # Counted from guard's own word, of which there is none any more.
            set -l number (string replace ':command ' '' -- $found[1])
            set -l inner (string escape -- $words[$number..-1] 2>/dev/null)
            complete -C (string join ' ' -- $inner $typed)
        case ':files'
            __fish_complete_path $typed
        case ':directories'
            __fish_complete_directories $typed
        case '*'
            string join \n -- $found
    end
end
complete -c guard -f -k -a '(__guard_complete)'
