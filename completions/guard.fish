# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_guard_global_optspecs
    string join \n yes no-wait c= h/help V/version
end

function __fish_guard_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_guard_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_guard_using_subcommand
    set -l cmd (__fish_guard_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c guard -n "__fish_guard_needs_command" -s c -d 'A command string; the shell\'s other options (-l, -e, -o pipefail, …) may stand in front of it' -r
complete -c guard -n "__fish_guard_needs_command" -l yes -d 'Your own yes in advance, up to tier 3 and only from your own terminal'
complete -c guard -n "__fish_guard_needs_command" -l no-wait -d 'Where nobody sits at the terminal, do not wait for an answer: exit 75 and say the request\'s name'
complete -c guard -n "__fish_guard_needs_command" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_needs_command" -s V -l version -d 'Print version'
complete -c guard -n "__fish_guard_needs_command" -a "check" -d 'Judge a command without running it: exit 0 allow, 1 ask, 2 deny'
complete -c guard -n "__fish_guard_needs_command" -a "explain" -d 'Judge a command and draw how: the parts, what each does, which rule, why this score'
complete -c guard -n "__fish_guard_needs_command" -a "config" -d 'Show and check the configuration'
complete -c guard -n "__fish_guard_needs_command" -a "log" -d 'Show what was decided, by whom, and what came of it'
complete -c guard -n "__fish_guard_needs_command" -a "pending" -d 'Show the commands that wait for an answer'
complete -c guard -n "__fish_guard_needs_command" -a "approve" -d 'Let commands run that wait, each shown in full'
complete -c guard -n "__fish_guard_needs_command" -a "review" -d 'Decide on the commands that wait, on the whole screen'
complete -c guard -n "__fish_guard_needs_command" -a "deny" -d 'Refuse commands that wait'
complete -c guard -n "__fish_guard_needs_command" -a "session" -d 'Show sessions, and let one be asked about again after too many denials'
complete -c guard -n "__fish_guard_needs_command" -a "trust" -d 'Trust a folder: tier 2 and below counts for less there'
complete -c guard -n "__fish_guard_needs_command" -a "learn" -d 'List what is always allowed, and give a grant for it'
complete -c guard -n "__fish_guard_needs_command" -a "wait" -d 'Wait for the answer to a request: exit 0 approved, 126 refused, 75 not answered yet'
complete -c guard -n "__fish_guard_needs_command" -a "status" -d 'Show how it stands: the policy, who asks guard, what waits, what is granted, what was refused'
complete -c guard -n "__fish_guard_needs_command" -a "stats" -d 'Show how much is asked, how it is answered, and how fast'
complete -c guard -n "__fish_guard_needs_command" -a "simulate" -d 'Decide again what is in the record, under another policy: how much more or less would be asked'
complete -c guard -n "__fish_guard_needs_command" -a "export" -d 'Write the record in the forms that other systems read'
complete -c guard -n "__fish_guard_needs_command" -a "verify" -d 'Check that the record is as it was written: exit 0 when it is, 1 when not'
complete -c guard -n "__fish_guard_needs_command" -a "approver" -d 'Enrol who may approve what is of tier 3 and above, with a key that signs'
complete -c guard -n "__fish_guard_needs_command" -a "allow" -d 'List, give and take back standing grants'
complete -c guard -n "__fish_guard_needs_command" -a "patterns" -d 'List, show and test the rules, or begin a pattern file of your own'
complete -c guard -n "__fish_guard_needs_command" -a "install" -d 'Change an agent\'s configuration so that it asks guard before each command'
complete -c guard -n "__fish_guard_needs_command" -a "init" -d 'Print what makes an interactive shell ask guard before each line'
complete -c guard -n "__fish_guard_needs_command" -a "line" -d 'Judge one line for an interactive shell: exit 0 when it may run'
complete -c guard -n "__fish_guard_needs_command" -a "hook" -d 'Answer an agent that asks before it runs a command: JSON in, the agent\'s own dialect out'
complete -c guard -n "__fish_guard_needs_command" -a "mcp" -d 'Stand between an MCP client and its server, and judge each call of a tool'
complete -c guard -n "__fish_guard_needs_command" -a "replay" -d 'Judge what was run before: how often guard would have asked, and why'
complete -c guard -n "__fish_guard_needs_command" -a "doctor" -d 'Check that everyone who should ask guard does, and that guard can answer: exit 0 when all that is set up works'
complete -c guard -n "__fish_guard_needs_command" -a "serve" -d 'Carry what waits to a person anywhere, or keep the record and the queue of a machine (--system)'
complete -c guard -n "__fish_guard_needs_command" -a "token" -d 'Make, list and revoke the tokens of the gateway\'s API'
complete -c guard -n "__fish_guard_needs_command" -a "channel" -d 'Set up, try, list and remove the messengers that the gateway asks people through'
complete -c guard -n "__fish_guard_needs_command" -a "submit" -d 'Judge a command for the gateway, and wait for the answer'
complete -c guard -n "__fish_guard_needs_command" -a "person" -d 'Whether a person stands here who may change who answers'
complete -c guard -n "__fish_guard_needs_command" -a "demo" -d 'Show the main job on real commands, in a scratch project that is made for it'
complete -c guard -n "__fish_guard_needs_command" -a "completions" -d 'Print the completions of a shell'
complete -c guard -n "__fish_guard_needs_command" -a "man" -d 'Print a manual page, or the list of them'
complete -c guard -n "__fish_guard_needs_command" -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand check" -l tool -d 'Judge a call of this tool instead of a command: mcp__SERVER__TOOL, SERVER.TOOL, or the tool\'s name alone' -r
complete -c guard -n "__fish_guard_using_subcommand check" -l input -d 'The input of the tool, as JSON; read from standard input when it is `-`' -r
complete -c guard -n "__fish_guard_using_subcommand check" -l server -d 'The name of the server that offers the tool' -r
complete -c guard -n "__fish_guard_using_subcommand check" -l described -d 'What the tool says of itself: {"description": …, "inputSchema": {…}, "annotations": {…}}, as a server lists it' -r
complete -c guard -n "__fish_guard_using_subcommand check" -l origin -d 'Judge as if the command came from here; its thresholds are used' -r -f -a "cli\t''
agent\t''
api\t''
discord\t''
telegram\t''"
complete -c guard -n "__fish_guard_using_subcommand check" -l json -d 'Print the verdict as one JSON object'
complete -c guard -n "__fish_guard_using_subcommand check" -l batch -d 'Read JSON Lines ({"command": …}, {"argv": […]} or {"tool": …, "input": {…}}, optional "cwd") and print a verdict for each, in order'
complete -c guard -n "__fish_guard_using_subcommand check" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand explain" -l tool -d 'Judge a call of this tool instead of a command: mcp__SERVER__TOOL, SERVER.TOOL, or the tool\'s name alone' -r
complete -c guard -n "__fish_guard_using_subcommand explain" -l input -d 'The input of the tool, as JSON; read from standard input when it is `-`' -r
complete -c guard -n "__fish_guard_using_subcommand explain" -l server -d 'The name of the server that offers the tool' -r
complete -c guard -n "__fish_guard_using_subcommand explain" -l described -d 'What the tool says of itself: {"description": …, "inputSchema": {…}, "annotations": {…}}, as a server lists it' -r
complete -c guard -n "__fish_guard_using_subcommand explain" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "show" -d 'Show every key with its value and the file it comes from'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "check" -d 'Check all configuration files: exit 0 when they are in order, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "path" -d 'Show where configuration is read from'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "set" -d 'Set a key in your own file, once the result is in order and you have seen it'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "unset" -d 'Take a key out of your own file'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "init" -d 'Write a commented file to begin with'
complete -c guard -n "__fish_guard_using_subcommand config; and not __fish_seen_subcommand_from show check path set unset init help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from check" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from path" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from path" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show every key with its value and the file it comes from'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check all configuration files: exit 0 when they are in order, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "path" -d 'Show where configuration is read from'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "set" -d 'Set a key in your own file, once the result is in order and you have seen it'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "unset" -d 'Take a key out of your own file'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a commented file to begin with'
complete -c guard -n "__fish_guard_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l since -d 'Not before this time: 2h, 3d, today, 2026-11-21, "2026-11-21 14:30"' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l until -d 'Before this time' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l tier -d 'Only this tier; 2+ means 2 and above, 1-2 a range' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l decision -d 'Only what was decided so' -r -f -a "allow\t''
ask\t''
deny\t''"
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l command -d 'Only commands with this text in them' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l folder -d 'Only commands in this folder and below' -r -F
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l search -d 'Only rows with this text in the command, the findings, the words, the folder, or who asked' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l session -d 'Only this session, as guard session names it' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -s n -l number -d 'How many, the newest; 0 for all' -r
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l by-session -d 'Put rows together that are of one session, under its name'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l unconfirmed -d 'Only what is hard to undo, or cannot be undone, and ran without a person'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -s f -l follow -d 'Go on showing rows as they are written, until interrupted'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -l json -d 'Print one JSON object a line'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -f -a "show" -d 'Show all that is recorded of one command'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -f -a "day" -d 'Tell a day in plain sentences, by session: what ran, who said yes, what was refused'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -f -a "prune" -d 'Cut off what is older than retention_days or beyond retention_mib, so that guard verify can still prove the rest'
complete -c guard -n "__fish_guard_using_subcommand log; and not __fish_seen_subcommand_from show day prune help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from day" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from prune" -l older-than -d 'Rows older than this instead of the policy\'s retention_days and retention_mib: 30d, 2026-11-21' -r
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from prune" -l dry-run -d 'Only say what would go'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from prune" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from prune" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show all that is recorded of one command'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from help" -f -a "day" -d 'Tell a day in plain sentences, by session: what ran, who said yes, what was refused'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from help" -f -a "prune" -d 'Cut off what is older than retention_days or beyond retention_mib, so that guard verify can still prove the rest'
complete -c guard -n "__fish_guard_using_subcommand log; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand pending" -l all -d 'What was settled in the last days too'
complete -c guard -n "__fish_guard_using_subcommand pending" -l watch -d 'Show it anew whenever it changes, until interrupted'
complete -c guard -n "__fish_guard_using_subcommand pending" -l json -d 'Print one JSON object a line'
complete -c guard -n "__fish_guard_using_subcommand pending" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approve" -l all -d 'All that wait now: one question for tier 2 and below, one for each of tier 3; tier 4 is left out'
complete -c guard -n "__fish_guard_using_subcommand approve" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand review" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand deny" -s r -l reason -d 'What the one who asked is told' -r
complete -c guard -n "__fish_guard_using_subcommand deny" -l all -d 'All that wait now'
complete -c guard -n "__fish_guard_using_subcommand deny" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand session; and not __fish_seen_subcommand_from trust resume help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand session; and not __fish_seen_subcommand_from trust resume help" -f -a "trust" -d 'Let whatever is of tier 2 and below run unasked in a session, until it ends'
complete -c guard -n "__fish_guard_using_subcommand session; and not __fish_seen_subcommand_from trust resume help" -f -a "resume" -d 'Let a session be asked about again after too many denials in a row'
complete -c guard -n "__fish_guard_using_subcommand session; and not __fish_seen_subcommand_from trust resume help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from trust" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from resume" -s r -l reason -d 'Why, for the record' -r
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "trust" -d 'Let whatever is of tier 2 and below run unasked in a session, until it ends'
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "resume" -d 'Let a session be asked about again after too many denials in a row'
complete -c guard -n "__fish_guard_using_subcommand session; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand trust" -l remove -d 'Trust it no longer'
complete -c guard -n "__fish_guard_using_subcommand trust" -l list -d 'List the folders that are trusted'
complete -c guard -n "__fish_guard_using_subcommand trust" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand learn; and not __fish_seen_subcommand_from accept help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand learn; and not __fish_seen_subcommand_from accept help" -f -a "accept" -d 'Give the grant of an offer, after it is shown in words'
complete -c guard -n "__fish_guard_using_subcommand learn; and not __fish_seen_subcommand_from accept help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand learn; and __fish_seen_subcommand_from accept" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand learn; and __fish_seen_subcommand_from help" -f -a "accept" -d 'Give the grant of an offer, after it is shown in words'
complete -c guard -n "__fish_guard_using_subcommand learn; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand wait" -l timeout -d 'Wait at most so many seconds; without, until it can be answered no more' -r
complete -c guard -n "__fish_guard_using_subcommand wait" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand status" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand status" -l prompt -d 'Print a few characters for a shell\'s prompt: nothing, or how many commands wait'
complete -c guard -n "__fish_guard_using_subcommand status" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand stats" -l since -d 'Not before this time: 2h, 3d, today, 2026-11-21' -r
complete -c guard -n "__fish_guard_using_subcommand stats" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand stats" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand simulate" -l since -d 'Not before this time: 2h, 3d, today, 2026-11-21' -r
complete -c guard -n "__fish_guard_using_subcommand simulate" -l until -d 'Before this time' -r
complete -c guard -n "__fish_guard_using_subcommand simulate" -l config -d 'A configuration to try in the place of your own config.toml; that of the machine and of projects hold as ever' -r -F
complete -c guard -n "__fish_guard_using_subcommand simulate" -l patterns -d 'A folder of pattern files to try in the place of your own' -r -F
complete -c guard -n "__fish_guard_using_subcommand simulate" -l list -d 'Name all commands whose decision changes, not the twenty most frequent'
complete -c guard -n "__fish_guard_using_subcommand simulate" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand simulate" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand export" -l format -d 'The form: JSON Lines, CSV, Elastic Common Schema, Open Cybersecurity Schema, Common Event Format, or the logs of OpenTelemetry as its collector reads them from a file' -r -f -a "jsonl\t''
csv\t''
ecs\t''
ocsf\t''
cef\t''
otlp\t''"
complete -c guard -n "__fish_guard_using_subcommand export" -l since -d 'Not before this time: 2h, 3d, today, 2026-11-21, "2026-11-21 14:30"' -r
complete -c guard -n "__fish_guard_using_subcommand export" -l until -d 'Before this time' -r
complete -c guard -n "__fish_guard_using_subcommand export" -l after -d 'Only rows after this one: the last that was exported before' -r
complete -c guard -n "__fish_guard_using_subcommand export" -l session -d 'Only this session' -r
complete -c guard -n "__fish_guard_using_subcommand export" -l deliver -d 'Send to a collector what it was not sent yet, instead of printing: to those that export.to names, or to this one' -r
complete -c guard -n "__fish_guard_using_subcommand export" -s f -l follow -d 'Go on with rows as they are written, until interrupted: for a pipe into a collector'
complete -c guard -n "__fish_guard_using_subcommand export" -l status -d 'Tell how far each collector that export.to names was sent the record, and what keeps the rest from it: exit 0 when nothing does, 1 when something does'
complete -c guard -n "__fish_guard_using_subcommand export" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand verify" -l head -d 'A head that was kept elsewhere, which must still be part of the chain; or a file with any number of them in it: what guard verify, guard log day or guard export printed, or what a collector was sent (- is standard input)' -r
complete -c guard -n "__fish_guard_using_subcommand verify" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand verify" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approver; and not __fish_seen_subcommand_from add list remove help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approver; and not __fish_seen_subcommand_from add list remove help" -f -a "add" -d 'Enrol an approver; from the first one on, a yes to what is of tier 3 and above is signed'
complete -c guard -n "__fish_guard_using_subcommand approver; and not __fish_seen_subcommand_from add list remove help" -f -a "list" -d 'List the approvers, and whether this account could change them'
complete -c guard -n "__fish_guard_using_subcommand approver; and not __fish_seen_subcommand_from add list remove help" -f -a "remove" -d 'Remove an approver; one that is enrolled signs for it'
complete -c guard -n "__fish_guard_using_subcommand approver; and not __fish_seen_subcommand_from add list remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from add" -l ssh -d 'An SSH key: its .pub file, ssh-ed25519 or sk-ssh-ed25519@openssh.com' -r -F
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from add" -l passphrase -d 'A passphrase, which no file keeps (the default)'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from add" -l totp -d 'The codes of an authenticator; whoever can read the approver\'s file can make them'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from add" -l passkey -d 'A passkey of a phone, a key or a computer: shows a code for it, and wants a gateway that runs'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from help" -f -a "add" -d 'Enrol an approver; from the first one on, a yes to what is of tier 3 and above is signed'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the approvers, and whether this account could change them'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove an approver; one that is enrolled signs for it'
complete -c guard -n "__fish_guard_using_subcommand approver; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand allow; and not __fish_seen_subcommand_from list add remove help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand allow; and not __fish_seen_subcommand_from list add remove help" -f -a "list" -d 'List the grants in force'
complete -c guard -n "__fish_guard_using_subcommand allow; and not __fish_seen_subcommand_from list add remove help" -f -a "add" -d 'Give a grant: exactly this command, in this folder, for this session'
complete -c guard -n "__fish_guard_using_subcommand allow; and not __fish_seen_subcommand_from list add remove help" -f -a "remove" -d 'Take a grant back'
complete -c guard -n "__fish_guard_using_subcommand allow; and not __fish_seen_subcommand_from list add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from list" -l all -d 'Those that have ended too'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object a line'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l rule -d 'Cover whatever only this rule finds, instead of a command' -r
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l folder -d 'Hold in this folder and below' -r -F
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l until -d 'Hold until this time, in every session: 2h, 3d, 2026-11-21' -r
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l shape -d 'Cover its programs, subcommands and flags, with operands in the folder alone'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l anywhere -d 'Hold in every folder'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -l always -d 'Hold until it is revoked, in every session'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the grants in force'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from help" -f -a "add" -d 'Give a grant: exactly this command, in this folder, for this session'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take a grant back'
complete -c guard -n "__fish_guard_using_subcommand allow; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -f -a "list" -d 'List the rules'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -f -a "show" -d 'Show a rule, a family or a program with all that is known of it'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -f -a "test" -d 'Run the examples of the rules, or of a file\'s, through the judge: exit 0 when all are right, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -f -a "new" -d 'Write a commented pattern file to begin with'
complete -c guard -n "__fish_guard_using_subcommand patterns; and not __fish_seen_subcommand_from list show test new help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from list" -l tier -d 'Only rules of this tier or higher' -r
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from list" -l own -d 'Only rules that do not come with guard'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from list" -l json -d 'Print one JSON object a line'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from show" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from test" -l rule -d 'Only the rule of this id, or the family of this name' -r
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from test" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from test" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from new" -l to -d 'Where to write it; standard output when it is `-`' -r -F
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from new" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the rules'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show a rule, a family or a program with all that is known of it'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from help" -f -a "test" -d 'Run the examples of the rules, or of a file\'s, through the judge: exit 0 when all are right, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from help" -f -a "new" -d 'Write a commented pattern file to begin with'
complete -c guard -n "__fish_guard_using_subcommand patterns; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand install" -l dir -d 'The folder for the links (shims)' -r -F
complete -c guard -n "__fish_guard_using_subcommand install" -l all -d 'Every agent that is found: by its folder, or its program on the PATH'
complete -c guard -n "__fish_guard_using_subcommand install" -l project -d 'In this project only, where the agent has a file for that'
complete -c guard -n "__fish_guard_using_subcommand install" -l dry-run -d 'Show what would change, and change nothing'
complete -c guard -n "__fish_guard_using_subcommand install" -l uninstall -d 'Take guard out again; a file that was not changed since is restored exactly'
complete -c guard -n "__fish_guard_using_subcommand install" -s y -l yes -d 'Do not ask'
complete -c guard -n "__fish_guard_using_subcommand install" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand init" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand line" -l unasked -d 'Ask nobody and print nothing: exit 4 where somebody would be asked or told'
complete -c guard -n "__fish_guard_using_subcommand line" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand hook" -l agent -d 'The agent whose hook this is; its JSON is read from standard input' -r
complete -c guard -n "__fish_guard_using_subcommand hook" -l timeout -d 'For how long the agent waits, where its configuration says other than the agent\'s default' -r
complete -c guard -n "__fish_guard_using_subcommand hook" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand mcp" -l name -d 'The name of the server, as your client\'s configuration has it' -r
complete -c guard -n "__fish_guard_using_subcommand mcp" -l wait -d 'Seconds that a call may wait for an answer, at most: most clients give up after 60' -r
complete -c guard -n "__fish_guard_using_subcommand mcp" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand replay" -l since -d 'Only what was run since then: 2h, 3d, 1w, today, 2026-11-21' -r
complete -c guard -n "__fish_guard_using_subcommand replay" -l origin -d 'Judge as if an agent ran it, or a person [default: an agent for transcripts, a person for the rest]' -r -f -a "agent\t''
cli\t''"
complete -c guard -n "__fish_guard_using_subcommand replay" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand replay" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand doctor" -l json -d 'Print one JSON object'
complete -c guard -n "__fish_guard_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand serve" -l folder -d 'Where they lie' -r -F
complete -c guard -n "__fish_guard_using_subcommand serve" -l socket -d 'Where to listen; without, where the configuration says' -r -F
complete -c guard -n "__fish_guard_using_subcommand serve" -l listen -d 'Where the gateway listens, in the place of what its configuration says' -r
complete -c guard -n "__fish_guard_using_subcommand serve" -l system -d 'Keep the record and the queue of this machine, for the accounts and approvers of [service] in /etc/guard/config.toml'
complete -c guard -n "__fish_guard_using_subcommand serve" -l unit -d 'Print the systemd unit that runs it'
complete -c guard -n "__fish_guard_using_subcommand serve" -l status -d 'Say whether a gateway runs, where it listens and which channels answer'
complete -c guard -n "__fish_guard_using_subcommand serve" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand submit" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand person" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand demo" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand completions" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand man" -s h -l help -d 'Print help'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "check" -d 'Judge a command without running it: exit 0 allow, 1 ask, 2 deny'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "explain" -d 'Judge a command and draw how: the parts, what each does, which rule, why this score'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "config" -d 'Show and check the configuration'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "log" -d 'Show what was decided, by whom, and what came of it'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "pending" -d 'Show the commands that wait for an answer'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "approve" -d 'Let commands run that wait, each shown in full'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "review" -d 'Decide on the commands that wait, on the whole screen'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "deny" -d 'Refuse commands that wait'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "session" -d 'Show sessions, and let one be asked about again after too many denials'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "trust" -d 'Trust a folder: tier 2 and below counts for less there'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "learn" -d 'List what is always allowed, and give a grant for it'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "wait" -d 'Wait for the answer to a request: exit 0 approved, 126 refused, 75 not answered yet'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "status" -d 'Show how it stands: the policy, who asks guard, what waits, what is granted, what was refused'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "stats" -d 'Show how much is asked, how it is answered, and how fast'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "simulate" -d 'Decide again what is in the record, under another policy: how much more or less would be asked'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "export" -d 'Write the record in the forms that other systems read'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "verify" -d 'Check that the record is as it was written: exit 0 when it is, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "approver" -d 'Enrol who may approve what is of tier 3 and above, with a key that signs'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "allow" -d 'List, give and take back standing grants'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "patterns" -d 'List, show and test the rules, or begin a pattern file of your own'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "install" -d 'Change an agent\'s configuration so that it asks guard before each command'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "init" -d 'Print what makes an interactive shell ask guard before each line'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "line" -d 'Judge one line for an interactive shell: exit 0 when it may run'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "hook" -d 'Answer an agent that asks before it runs a command: JSON in, the agent\'s own dialect out'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "mcp" -d 'Stand between an MCP client and its server, and judge each call of a tool'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "replay" -d 'Judge what was run before: how often guard would have asked, and why'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "doctor" -d 'Check that everyone who should ask guard does, and that guard can answer: exit 0 when all that is set up works'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "serve" -d 'Carry what waits to a person anywhere, or keep the record and the queue of a machine (--system)'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "token" -d 'Make, list and revoke the tokens of the gateway\'s API'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "channel" -d 'Set up, try, list and remove the messengers that the gateway asks people through'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "submit" -d 'Judge a command for the gateway, and wait for the answer'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "person" -d 'Whether a person stands here who may change who answers'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "demo" -d 'Show the main job on real commands, in a scratch project that is made for it'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "completions" -d 'Print the completions of a shell'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "man" -d 'Print a manual page, or the list of them'
complete -c guard -n "__fish_guard_using_subcommand help; and not __fish_seen_subcommand_from check explain config log pending approve review deny session trust learn wait status stats simulate export verify approver allow patterns install init line hook mcp replay doctor serve token channel submit person demo completions man help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'Show every key with its value and the file it comes from'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "check" -d 'Check all configuration files: exit 0 when they are in order, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "path" -d 'Show where configuration is read from'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "set" -d 'Set a key in your own file, once the result is in order and you have seen it'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "unset" -d 'Take a key out of your own file'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "init" -d 'Write a commented file to begin with'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from log" -f -a "show" -d 'Show all that is recorded of one command'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from log" -f -a "day" -d 'Tell a day in plain sentences, by session: what ran, who said yes, what was refused'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from log" -f -a "prune" -d 'Cut off what is older than retention_days or beyond retention_mib, so that guard verify can still prove the rest'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "trust" -d 'Let whatever is of tier 2 and below run unasked in a session, until it ends'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from session" -f -a "resume" -d 'Let a session be asked about again after too many denials in a row'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from learn" -f -a "accept" -d 'Give the grant of an offer, after it is shown in words'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from approver" -f -a "add" -d 'Enrol an approver; from the first one on, a yes to what is of tier 3 and above is signed'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from approver" -f -a "list" -d 'List the approvers, and whether this account could change them'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from approver" -f -a "remove" -d 'Remove an approver; one that is enrolled signs for it'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from allow" -f -a "list" -d 'List the grants in force'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from allow" -f -a "add" -d 'Give a grant: exactly this command, in this folder, for this session'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from allow" -f -a "remove" -d 'Take a grant back'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from patterns" -f -a "list" -d 'List the rules'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from patterns" -f -a "show" -d 'Show a rule, a family or a program with all that is known of it'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from patterns" -f -a "test" -d 'Run the examples of the rules, or of a file\'s, through the judge: exit 0 when all are right, 1 when not'
complete -c guard -n "__fish_guard_using_subcommand help; and __fish_seen_subcommand_from patterns" -f -a "new" -d 'Write a commented pattern file to begin with'
