//! guard-agents(7): what each agent does with guard, made from the table that the installer uses.

use super::hosts::{Fate, Form, HOSTS, Host, Runs, When, Wire};
use crate::judge::agents;

const ABOUT: &str = "\
guard judges a command only when it is asked. This page says for each agent which door to use, what guard install \
writes and where, what the agent does when guard ends in an error, does not answer in time or is not there any more, \
and what is left for you to do. guard doctor sends a command that must be refused through every door that is open, and \
says which of them hold. guard doctor --live runs the agent itself, in a home made for the trial and against a stand-in for \
its model, and says what held.";

const HOOKS: &str = "\
guard install AGENT shows the change and asks before it writes. It keeps the comments, the order and the layout of the \
file, keeps what the file was before in the installed directory beside the record, and guard install AGENT --uninstall \
brings that back. guard answers before the agent's own time is up: a host that gives up on a hook usually lets the \
command run. Where a shell is sure to read what is written, || exit 2 behind it blocks the command when guard fails or \
is gone. The lines below say what each agent does without an answer.";

const SHELLS: &str = "\
guard install shims makes a directory (DIR below) of links called bash, sh and zsh that lead to guard, and prints the line \
that opens each door. Through this door guard sees what the agent's hook does not report, and nothing runs when guard \
is not there. With both doors open a command is asked about once. Agents without a line for the shell start a shell by \
its absolute path: for them there is only the hook.";

const EVERYWHERE: &str = "\
Programs that run commands through /bin/sh by its absolute path (make, system(3), subprocess with shell=True) pass no \
door of their own; what they run counts to the command that started them.";

/// In place of what was seen, where the program was never run.
const UNTRIED: &str = "not tried";

/// How each agent held when it was run: made by `.ci/agents`, which runs the programs themselves.
const TRIED: &str = include_str!("../../../patterns/agents/tried.tsv");

const TRIALS: &str = "\
Each agent of which a registry has the program was run with guard wired in by guard install, in a home of its own, with a \
stand-in for its model and without an account. held: nothing ran that guard had not let through, and the model was told \
why. through: it ran all the same. A dash: the agent has nothing to try it with.";

const CASES: &str = "\
canary: a command that must be refused was refused, and one that must run ran. ask: what a person approves runs. deny: what a person \
refuses does not, and the model reads the person's words. killed: guard is ended while it waits. gone: guard's program is \
not there. files: the agent's own tools would write a start-up file and a hook of git. late: the agent's time for the hook \
is over while guard waits. once: with both doors open, one yes is enough. undone: guard install --uninstall restores the \
agent's file to the byte.";

const REPLAY: &str = "\
guard replay reads what these agents keep of their sessions, and changes nothing of it. A directory that the agent's own \
variable names, or XDG_DATA_HOME, counts in place of the one below the home. A database is read while its agent runs, too, and for no longer \
than two minutes.";

/// The page in roff.
#[must_use]
pub fn page() -> String {
    let mut page = String::from(
        "'\\\" t\n.TH guard\\-agents 7 \"\" \"\" \"guard manual\"\n.SH NAME\nguard\\-agents \\- the agents that guard stands in front of\n",
    );
    page.push_str(&format!(".SH DESCRIPTION\n{}\n", escape(ABOUT)));
    page.push_str(&table());
    page.push_str(&trials());
    page.push_str(&kept());
    page.push_str(&format!(".SH \"THROUGH A HOOK\"\n{}\n", escape(HOOKS)));
    for host in HOSTS.iter() {
        page.push_str(&section(host));
    }
    page.push_str(&format!(".SH \"THROUGH THE SHELL\"\n{}\n", escape(SHELLS)));
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
        ".SH \"WITHOUT AN ANSWER\"\nWhat becomes of a command whose hook fails, is late, or is not there any more:\n.PP\n.TS\nlb lb lb lb lb\nl l l l l.\nagent\tfails\tlate\tmissing\tseen with\n",
    );
    for host in HOSTS.iter() {
        let config = host.config;
        let star = |fate: Fate| if fate == Fate::Blocked && config.blocks_from.is_some() { "*" } else { "" };
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
        ".TE\n.PP\n* Not in every version, or not in every case: see the agent's section. Seen with: \
         the version of the program itself that was seen to refuse, to let through and to miss guard, against a stand-in \
         for its model. Not tried: the program was never run with guard; what its maker's documents and source say is in its section.\n",
    );
    text
}

/// The agents in a table of Markdown, for the README.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "| agent | wired by `guard install` | when guard fails | is late | is missing |\n| --- | --- | --- | --- | --- |\n",
    );
    for host in HOSTS.iter() {
        // What only its maker says of a program that was never run is no promise.
        let cell = |fate: Fate| match (fate, &host.config.blocks_from) {
            _ if host.agent.tried.is_empty() => UNTRIED.to_owned(),
            (Fate::Blocked, Some(from)) => format!("blocked from {from}"),
            _ => short(fate).to_owned(),
        };
        let fates = [host.config.on_failure, host.config.on_timeout, host.config.on_missing].map(cell).join(" | ");
        text.push_str(&format!("| {} | `{}` | {fates} |\n", host.title, host.name));
    }
    text
}

/// How each agent held, with its version and the day.
fn trials() -> String {
    let mut rows = TRIED.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = rows.next().unwrap_or_default().split('\t').collect();
    let layout = |format: &str| vec![format; head.len()].join(" ");
    let mut text = format!(
        ".SH \"WITH THE PROGRAM ITSELF\"\n{}\n.PP\n.TS\n{}\n{}.\n{}\n",
        escape(TRIALS),
        layout("lb"),
        layout("l"),
        head.join("\t")
    );
    for row in rows {
        text.push_str(&format!("{}\n", escape(row)));
    }
    text.push_str(&format!(".TE\n.PP\n{}\n", escape(CASES)));
    text
}

/// What happens, in a word.
const fn short(fate: Fate) -> &'static str {
    match fate {
        Fate::Runs => "runs",
        Fate::Blocked => "blocked",
        Fate::Unknown => "not known",
    }
}

/// What `guard replay` reads.
fn kept() -> String {
    let mut text = format!(".SH \"WHAT THEY RAN BEFORE\"\n{}\n.PP\n.TS\nlb lb\nl l.\nagent\tkept in\n", escape(REPLAY));
    for agent in agents::all() {
        let mut places = Vec::new();
        for form in &agent.transcript {
            let above = match &agent.config {
                _ if form.below_data => "~/.local/share".to_owned(),
                Some(config) => format!("~/{}{}", if config.below_config { ".config/" } else { "" }, config.folder),
                None => continue,
            };
            for folder in &form.folders {
                let folder = if folder == "." { above.clone() } else { format!("{above}/{folder}") };
                let deep = if form.shallow { "" } else { "**/" };
                let name =
                    |name: &String| format!("{folder}/{deep}{}{name}", if name.starts_with('.') { "*" } else { "" });
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
    let below = |wire: &Wire| match (wire.path.starts_with("~/"), host.config.below_config) {
        (true, _) => wire.path.clone(),
        (false, true) => format!("~/.config/{}/{}", host.config.folder, wire.path),
        (false, false) => format!("~/{}/{}", host.config.folder, wire.path),
    };
    let user: Vec<String> = host
        .user
        .iter()
        .map(|wire| match wire.when {
            When::Always => below(wire),
            When::There => format!("{} where it is there", below(wire)),
            When::Folder | When::FolderAbove => format!("{} where its directory is there", below(wire)),
        })
        .collect();
    let there = if host.config.variable.is_empty() {
        String::new()
    } else {
        format!("; {} names another directory than ~/{}", host.config.variable, host.config.folder)
    };
    line("File", &format!("{}{there}", user.join(", ")));
    let project: Vec<&str> = host.project.iter().map(|wire| wire.path.as_str()).collect();
    line("In a project", &project.join(", "));
    line("Asks at", &events(host).join(", "));
    line(
        "Started",
        match host.config.runs {
            Runs::Exec => "as a program with arguments, without a shell",
            Runs::Sh => "by sh -c",
            Runs::Login => "by $SHELL -lc",
            Runs::Bash => "by bash -c",
            Runs::Words => "as a program with arguments, split like a shell would",
            Runs::File => "as the file itself",
            Runs::Plugin => "by a plugin in the agent",
        },
    );
    let fate = |fate| match (fate, host.agent.tried.is_empty()) {
        (Fate::Runs | Fate::Blocked, true) => format!("by its maker's documents, {}; {UNTRIED}", host.fate(fate)),
        _ => host.fate(fate),
    };
    line("guard fails", &fate(host.config.on_failure));
    line("guard takes too long", &fate(host.config.on_timeout));
    line("guard is missing", &fate(host.config.on_missing));
    line("Left to do", &host.config.next);
    text
}

/// The moments at which an agent asks.
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
            for name in ["File", "Asks at", "guard fails", "guard takes too long", "guard is missing", "Left to do"] {
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
