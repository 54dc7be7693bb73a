//! guard-agents(7): what each agent does with guard, made from the table that the installer uses.

use super::hosts::{Form, HOSTS, HookFile, Host, LaunchMethod, NoAnswer, WriteCondition};
use crate::judge::agents;

const ABOUT: &str = "\
guard judges a command only when it is asked. This page lists for each agent how to connect it, what guard install \
writes and where, what the agent does when guard fails, does not answer in time or is missing, \
and what is left for you to do. guard doctor sends a dangerous test command through every connection, and \
reports which of them work. guard doctor --live runs the agent itself, in a temporary home and against a stand-in for \
its model.";

const HOOKS: &str = "\
guard install AGENT shows the change and asks before it writes. It preserves the comments, the order and the layout \
of the \
file, saves a copy of the previous file in the directory installed beside the record, and guard install AGENT \
--uninstall \
restores it. guard answers before the agent's own timeout: an agent that gives up on a hook usually runs the \
command. Where a shell reads the hook's command, || exit 2 after it blocks the command when guard fails or \
is missing. The lines below say what each agent does without an answer.";

const SHELLS: &str = "\
guard install shims creates a directory (DIR below) of links to guard called bash, sh and zsh, and prints the line \
that makes each agent use them. This way guard sees what the agent's hook does not report, and nothing runs when \
guard \
is missing. With both the hook and the shell, guard asks once per command. Agents without a line for the shell start \
a shell by \
its absolute path and can only use the hook.";

const EVERYWHERE: &str = "\
Programs that run commands through /bin/sh by its absolute path (make, system(3), subprocess with shell=True) do not \
ask \
guard; what they run is part of the command that started them. If a version of an agent puts something around its \
commands that \
guard does not know, guard judges the line as it stands and says so once per session; it shows the command alone \
where the rest is harmless.";

/// In place of what was seen, where the program was never run.
const UNTRIED: &str = "not tried";

/// How each agent held when it was run: made by `.ci/agents`, which runs the programs themselves.
const TRIED: &str = include_str!("../../../patterns/agents/tried.tsv");

const TRIALS: &str = "\
Each agent whose program is in a package registry was run with guard set up by guard install, in a temporary home, with \
a stand-in for its model and without an account. pass: nothing ran that guard had not allowed, and the model, or the \
person at the agent, was told why. FAIL: the command ran anyway. n/a: the test does not apply to the agent. A dash: it was not run.";

/// The tests, by the names that the table of `.ci/agents` gives them: their names on the page, and what they try.
const CASES: [(&str, &str, &str); 13] = [
    ("canary", "test", "A dangerous test command is refused, and a harmless one runs."),
    ("ask", "approve", "What a person approves runs."),
    ("deny", "deny", "What a person denies does not run, and the model reads the person's reason."),
    ("killed", "killed", "guard is killed while it waits for an answer."),
    ("gone", "missing", "guard's program was deleted."),
    ("files", "files", "The agent's own tools try to write a startup file and a git hook."),
    (
        "other",
        "tools",
        "Each other tool gets a startup file if it writes files, and otherwise a dangerous test command, which guard finds in \
         the input of any tool that the agent reports.",
    ),
    ("late", "timeout", "The agent's time limit for the hook passes while guard waits for an answer."),
    ("once", "both", "With a hook and a shell, guard asks once about a command."),
    ("undone", "uninstall", "guard install --uninstall restores the agent's file exactly."),
    (
        "shell",
        "shell",
        "With guard as the agent's shell, 26 ordinary commands print the same as without guard, without a question.",
    ),
    ("replay", "replay", "guard replay finds the commands that the agent ran."),
    (
        "cost",
        "cost",
        "The time that guard adds to a call that needs no approval: the difference of the fastest calls with and without guard. \
         \"3 of 14 ms\": the call takes 14 ms longer; guard takes 3 ms of this, and the agent spends the rest on any hook, even one that does nothing.",
    ),
];

/// The columns of the first of two tables: more would not fit a terminal of 80 columns.
const FIRST_COLUMNS: usize = 8;

const REPLAY: &str = "\
guard replay reads the sessions that these agents store, and changes nothing. A directory in the agent's own \
variable, or XDG_DATA_HOME, replaces the one below the home. A database is also read while its agent runs, for at \
most \
two minutes.";

/// The page in roff.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "'\\\" t\n.TH guard\\-agents 7 \"\" \"\" \"guard manual\"\n.SH NAME\nguard\\-agents \\- the agents that can \
         ask guard\n",
    );
    page.push_str(&format!(".SH DESCRIPTION\n{}\n", escape(ABOUT)));
    page.push_str(&table());
    page.push_str(&trials());
    page.push_str(&kept());
    page.push_str(&format!(".SH HOOKS\n{}\n", escape(HOOKS)));
    for host in HOSTS.iter() {
        page.push_str(&section(host));
    }
    page.push_str(&format!(".SH SHELLS\n{}\n", escape(SHELLS)));
    for agent in agents::all().filter(|agent| !agent.shell.how.is_empty()) {
        page.push_str(&format!(".TP\n{}\n\\fB{}\\fR\n", escape(&agent.title), escape(&agent.shell.how)));
        if !agent.shell.note.is_empty() {
            page.push_str(&format!(".br\n{}\n", escape(&agent.shell.note)));
        }
    }
    page.push_str(&format!(".PP\n{}\n", escape(EVERYWHERE)));
    page.push_str(".SH \"SEE ALSO\"\nguard(1), guard\\-patterns(5), guard\\-approvals(7)\n");
    page
}

/// What becomes of a command at each agent when guard does not answer, at a glance.
fn table() -> String {
    let mut text = String::from(
        ".SH \"IF GUARD DOES NOT ANSWER\"\nWhat happens to a command whose hook fails, times out, or is \
         missing:\n.PP\n.TS\nlb lb lb lb lb\nl l l l l.\nagent\tguard fails\ttimes out\tis missing\tblocking tested with\n",
    );
    for host in HOSTS.iter() {
        let config = host.config;
        let star = |fate: NoAnswer| if fate == NoAnswer::Blocked && config.blocks_from.is_some() { "*" } else { "" };
        let cells = [config.on_failure, config.on_timeout, config.on_missing];
        // What only its maker says of a program that was never run is no promise.
        let seen = |fate| {
            if host.agent.tried.is_empty() { UNTRIED.to_owned() } else { format!("{}{}", short(fate), star(fate)) }
        };
        let cells = cells.map(seen);
        let tried =
            host.agent.tried.last().map(|tried| format!("{} ({})", tried.version, tried.on)).unwrap_or_default();
        text.push_str(&format!("{}\t{}\t{}\n", escape(host.title), cells.join("\t"), escape(&tried)));
    }
    text.push_str(
        ".TE
.PP
* Not in every version, or not in every case: see the agent's section. Tested version: the version of \
         the program that was tested to refuse, to allow and to run without guard, against a stand-in for its model. \
         Not tried: the program was never run with guard; the section gives what the vendor's documentation and source \
         say.
",
    );
    text
}

/// The agents in a table of Markdown, for the README.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "| agent | set up by `guard install` | when guard fails | times out | is missing |\n| --- | --- | --- | --- \
         | --- |\n",
    );
    for host in HOSTS.iter() {
        // What only its maker says of a program that was never run is no promise.
        let cell = |fate: NoAnswer| match (fate, &host.config.blocks_from) {
            _ if host.agent.tried.is_empty() => UNTRIED.to_owned(),
            (NoAnswer::Blocked, Some(from)) => format!("blocked from {from}"),
            _ => short(fate).to_owned(),
        };
        let fates = [host.config.on_failure, host.config.on_timeout, host.config.on_missing].map(cell).join(" | ");
        text.push_str(&format!("| {} | `{}` | {fates} |\n", host.title, host.name));
    }
    text
}

/// The results of the tests with the agents' programs, with their versions and dates, in two tables, and what each test is.
fn trials() -> String {
    let mut rows = TRIED.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect::<Vec<_>>());
    let head: Vec<&str> = rows.next().unwrap_or_default();
    let title = |name: &&str| match CASES.iter().find(|(case, ..)| case == name) {
        Some((_, title, _)) => (*title).to_owned(),
        None if *name == "on" => "date".to_owned(),
        None => (*name).to_owned(),
    };
    let cell = |value: &&str| match *value {
        "held" => "pass".to_owned(),
        "through" => "FAIL".to_owned(),
        "-" => "n/a".to_owned(),
        UNTRIED => "\\-".to_owned(),
        value => escape(value),
    };
    let split = FIRST_COLUMNS.min(head.len());
    let rows: Vec<Vec<&str>> = rows.collect();
    let mut text = format!(".SH \"TESTS WITH THE REAL AGENTS\"\n{}\n", escape(TRIALS));
    for part in [0..split, split..head.len()] {
        // The second table names the agents again.
        let again = if part.start > 0 { 0..1.min(head.len()) } else { 0..0 };
        let columns: Vec<usize> = again.chain(part).collect();
        let heads: Vec<String> = columns.iter().filter_map(|at| head.get(*at)).map(title).collect();
        let layout = |format: &str| vec![format; heads.len()].join(" ");
        text.push_str(&format!(".PP\n.TS\n{}\n{}.\n{}\n", layout("lb"), layout("l"), heads.join("\t")));
        for row in &rows {
            let cells: Vec<String> = columns.iter().filter_map(|at| row.get(*at)).map(cell).collect();
            text.push_str(&format!("{}\n", cells.join("\t")));
        }
        text.push_str(".TE\n");
    }
    text.push_str(".PP\nThe tests:\n");
    for (_, title, what) in CASES {
        text.push_str(&format!(".TP\n{title}\n{}\n", escape(what)));
    }
    text
}

/// What happens, in a word.
const fn short(fate: NoAnswer) -> &'static str {
    match fate {
        NoAnswer::Runs => "runs",
        NoAnswer::Blocked | NoAnswer::Interrupted => "blocked",
        NoAnswer::Unknown => "not known",
    }
}

/// What `guard replay` reads.
fn kept() -> String {
    let mut text = format!(
        ".SH \"SESSIONS READ BY GUARD REPLAY\"\n{}\n.PP\n.TS\nlb lb\nl l.\nagent\tsession files\n",
        escape(REPLAY)
    );
    for agent in agents::all() {
        let mut places = Vec::new();
        for form in &agent.transcript {
            let above = match &agent.config {
                _ if form.below_data => "~/.local/share".to_owned(),
                Some(config) => format!("~/{}{}", if config.below_config { ".config/" } else { "" }, config.directory),
                None => continue,
            };
            for directory in &form.directories {
                let directory = if directory == "." { above.clone() } else { format!("{above}/{directory}") };
                let deep = if form.shallow { "" } else { "**/" };
                let name =
                    |name: &String| format!("{directory}/{deep}{}{name}", if name.starts_with('.') { "*" } else { "" });
                places.extend(form.names.iter().map(name));
            }
        }
        if !places.is_empty() {
            text.push_str(&format!("{}\t{}\n", escape(&agent.title), escape(&places.join(", "))));
        }
    }
    text.push_str(".TE\n");
    text
}

fn section(host: &Host) -> String {
    let mut text = format!(".SS \"{} (guard install {})\"\n", escape(host.title), host.name);
    let mut line = |name: &str, what: &str| {
        if !what.is_empty() {
            text.push_str(&format!(".TP\n{}\n{}\n", escape(name), escape(what)));
        }
    };
    let below = |wire: &HookFile| match (wire.path.starts_with("~/"), host.config.below_config) {
        (true, _) => wire.path.clone(),
        (false, true) => format!("~/.config/{}/{}", host.config.directory, wire.path),
        (false, false) => format!("~/{}/{}", host.config.directory, wire.path),
    };
    let user: Vec<String> = host
        .user
        .iter()
        .map(|wire| match wire.when {
            WriteCondition::Always => below(wire),
            WriteCondition::There => format!("{} if it exists", below(wire)),
            WriteCondition::Directory | WriteCondition::DirectoryAbove => {
                format!("{} if its directory exists", below(wire))
            }
        })
        .collect();
    let there = if host.config.variable.is_empty() {
        String::new()
    } else {
        format!("; {} overrides the directory ~/{}", host.config.variable, host.config.directory)
    };
    line("File", &format!("{}{there}", user.join(", ")));
    let project: Vec<&str> = host.project.iter().map(|wire| wire.path.as_str()).collect();
    line("Project file", &project.join(", "));
    line("Hook events", &events(host).join(", "));
    line(
        "How guard is run",
        match host.config.runs {
            LaunchMethod::Exec => "as a program with arguments, without a shell",
            LaunchMethod::Sh => "by sh -c",
            LaunchMethod::Login => "by $SHELL -lc",
            LaunchMethod::Bash => "by bash -c",
            LaunchMethod::Words => "as a program with arguments, split as by a shell",
            LaunchMethod::File => "as the file itself",
            LaunchMethod::Plugin => "by a plugin in the agent",
        },
    );
    let fate = |fate| match (fate, host.agent.tried.is_empty()) {
        (NoAnswer::Runs | NoAnswer::Blocked | NoAnswer::Interrupted, true) => {
            format!("according to the vendor's documentation, {}; {UNTRIED}", host.fate(fate))
        }
        _ => host.fate(fate),
    };
    line("guard fails", &fate(host.config.on_failure));
    line("guard times out", &fate(host.config.on_timeout));
    line("guard is missing", &fate(host.config.on_missing));
    line("Next step", &host.config.next);
    text
}

/// The hook events at which an agent asks.
fn events(host: &Host) -> Vec<&'static str> {
    let mut events = Vec::new();
    for wire in &host.user {
        match &wire.form {
            Form::Json { entries, .. } => {
                events.extend(entries.iter().filter_map(|entry| entry.keys.last().map(String::as_str)))
            }
            Form::Toml { .. } => events.push("PreToolUse"),
            Form::Yaml { keys, .. } => events.push(&keys[1]),
            Form::Own { executable: true, .. } => events.push("PreToolUse"),
            Form::Plugin(_) => events.push("each tool call"),
            Form::Own { .. } => {}
        }
    }
    events.dedup();
    events
}

/// Text that roff takes as it is.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_every_agent_with_what_happens_without_guard() {
        let page = page();
        for host in HOSTS.iter() {
            let start = page.find(&format!("(guard install {})", host.name)).unwrap();
            let rest = &page[start + 10..];
            let section = &rest[..rest.find(".S").unwrap()];
            for name in ["File", "Hook events", "guard fails", "guard times out", "guard is missing", "Next step"] {
                assert!(section.contains(&format!(".TP\n{name}\n")), "{}: {name}", host.name);
            }
        }
    }

    #[test]
    fn no_line_of_text_is_taken_for_a_request() {
        for line in page().lines() {
            let request = line.starts_with(['.', '\'']);
            assert!(
                !request
                    || ["'\\\" t", ".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".TS", ".TE"]
                        .iter()
                        .any(|known| line.starts_with(known)),
                "{line}"
            );
        }
    }
}
