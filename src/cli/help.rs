//! `guard --help` and `guard help TOPIC`: examples first, then the verbs in the groups in which a person looks for them.
//!
//! What a verb does is said once, where it is declared; here stands only which group it belongs to.

use clap::CommandFactory as _;

use super::{AFTER_HELP, Cli};
use crate::ui::wrap;

/// The verbs by what a person wants to do.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run and look", &["check", "explain", "replay", "demo"]),
    ("Answer", &["pending", "review", "approve", "deny", "wait", "session", "allow", "trust", "learn"]),
    (
        "Set up",
        &[
            "setup",
            "status",
            "doctor",
            "install",
            "init",
            "config",
            "approver",
            "reviewer",
            "hook",
            "mcp",
            "mcp-serve",
            "serve",
            "channel",
            "token",
            "completions",
            "man",
        ],
    ),
    ("The record", &["log", "stats", "simulate", "export", "verify"]),
    ("Rules", &["patterns"]),
];

const EXAMPLES: &str = "  guard -- rm -rf build              run one command, arguments as given, no shell in between
  guard -c 'make clean && ls'        run a command string with your shell
  guard check 'git push --force'     judge without running: exit 0 allow, 1 ask, 2 deny
  guard explain 'curl x.sh | sh'     what it would do, which rule, why this score
  guard setup                        wire agents and shells, by asking
  guard review                       answer what waits
";

const OPTIONS: &[(&str, &str)] = &[
    ("--yes", "with -- or -c: your own yes in advance, up to tier 3 and only from your own terminal"),
    ("--no-wait", "with -- or -c: where nobody sits at the terminal, exit 75 and say the request's name"),
    ("-h, --help", "this help; guard VERB --help says all of a verb"),
    ("-V, --version", "the version; with --json how it was built, and what it has built in"),
];

/// A topic: its name, what it is about, what is said of it.
const TOPICS: &[(&str, &str, &str)] = &[
    (
        "start",
        "the first minutes",
        "\
guard demo                 the main job, step by step, in a scratch project
guard replay               what guard would have asked you in the sessions that agents had so far
guard setup                finds agents and shells, asks, shows each change, makes it, and tries it
guard status               the current state, on one screen
guard setup --remove       takes all of it back
",
    ),
    (
        "tiers",
        "what a score means, and who is asked",
        "\
0 safe       reads, or makes what can be made again
1 low        changes what is easily put back
2 medium     changes what takes work to put back
3 high       hard to undo, or touches what others need
4 critical   cannot be undone and hurts much: a random word is typed, and no grant covers it

Circumstances add to the score: production, root, ssh, outside the project, a disguise. Your own terminal is asked from
3.0, an agent's commands from 2.0; tier 3 and 4 always. guard explain 'COMMAND' shows the sum.
",
    ),
    (
        "exit-codes",
        "what an exit code means",
        "\
guard -- and guard -c: the command's own when it ran; a command that died of a signal ends guard by the same signal.
126 refused; 127 not found; 125 guard itself failed, or was called wrongly; 75 queued without waiting.
guard check, guard explain: 0 allow, 1 ask, 2 deny. guard wait: 0 approved, 126 refused, 75 no answer yet.
guard verify, guard doctor: 0 in order, 1 not. guard hook: as the agent understands it; 2 is always a denial.
",
    ),
    (
        "files",
        "where guard keeps what",
        "\
~/.config/guard/config.toml          the configuration (guard config show, set, init)
~/.config/guard/patterns/*.toml      rules of your own (guard patterns new)
.guard.toml, .guard/patterns/        a project's, which may only tighten
/etc/guard/                          the machine's, which may lock
~/.local/share/guard/guard.db        the record, and standing grants
~/.local/share/guard/queue.db        what waits
~/.local/share/guard/installed/      what files were before guard changed them
",
    ),
    (
        "agents",
        "how agents ask guard",
        "\
guard setup, or guard install AGENT, writes guard into the agent's own configuration as a hook; guard doctor tries it.
guard install shims makes links named after the shells, for agents whose hook does not see everything.
All of it, agent by agent: guard-agents(7)
",
    ),
    (
        "approvals",
        "the queue and who may answer",
        "\
A command that needs a person and has none at its terminal waits. guard pending lists what waits, guard review shows it on
the whole screen, guard approve ID and guard deny ID -r WORDS answer one; an ID may be shortened. guard serve and guard
channel carry it to a page or a messenger. guard approver add has a yes to high-risk commands signed.
All of it: guard-approvals(7), guard-gateway(8)
",
    ),
    (
        "record",
        "what is written down",
        "\
Every decision is a row, written before the command runs and chained by hash to the row before. guard log lists them,
guard log show ID one of them, guard log day a day in sentences; guard verify checks the chain; guard export sends it on.
All of it: guard-record(7)
",
    ),
    (
        "rules",
        "rules of your own",
        "\
guard patterns new mine > a file in ~/.config/guard/patterns/, with a rule, its reason and examples; guard patterns test
runs the examples; guard patterns show ID shows what a rule says.
All of it: guard-patterns(5)
",
    ),
];

/// What `guard --help` prints on so many columns.
#[must_use]
pub fn whole(columns: usize) -> String {
    let cli = Cli::command();
    let mut text = format!("{}\n\n{EXAMPLES}", about(cli.get_about()));
    for (group, verbs) in GROUPS {
        let rows = verbs.iter().map(|name| (*name, about(cli.find_subcommand(name).and_then(|verb| verb.get_about()))));
        table(group, rows, &mut text);
    }
    table("Options", OPTIONS.iter().map(|(name, what)| (*name, (*what).to_owned())), &mut text);
    table("Topics: guard help TOPIC", topics().map(|(name, what)| (name, what.to_owned())), &mut text);
    fitted(&(text + "\n" + AFTER_HELP + "\n"), columns)
}

/// What is said of a topic on so many columns; `None` where there is no such topic.
#[must_use]
pub fn topic(name: &str, columns: usize) -> Option<String> {
    TOPICS.iter().find(|(topic, ..)| *topic == name).map(|(_, _, text)| fitted(text, columns))
}

/// The topics of `guard help`, each with what it is about.
pub fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|(name, what, _)| (*name, *what))
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// A heading, and a row for each name.
fn table<'a>(title: &str, rows: impl Iterator<Item = (&'a str, String)>, text: &mut String) {
    const NAME: usize = 15;
    text.push_str(&format!("\n{title}\n"));
    for (name, about) in rows {
        text.push_str(&format!("  {name:NAME$}{about}\n"));
    }
}

/// A text that fits so many columns, and what people like to read.
fn fitted(text: &str, columns: usize) -> String {
    const WIDEST: usize = 120;
    wrap::text(text, columns.min(WIDEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_stands_in_one_group_and_nothing_else_does() {
        let cli = Cli::command();
        let verbs = cli.get_subcommands().filter(|verb| !verb.is_hide_set()).map(clap::Command::get_name);
        let mut known: Vec<&str> = verbs.collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        known.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn examples_come_first_and_no_line_is_wide() {
        let text = whole(usize::MAX);
        assert!(text.find("guard -- rm").unwrap() < text.find("\nRun and look\n").unwrap());
        assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
        let verbs = Cli::command();
        assert!(topics().all(|(name, _)| verbs.find_subcommand(name).is_none()));
        assert!(topic("files", 80).unwrap().contains("guard.db") && topic("nothing", 80).is_none());
    }

    #[test]
    fn every_line_fits_the_terminal_and_no_word_is_lost() {
        let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>();
        for columns in [40, 80, 100, 230] {
            let all = TOPICS.iter().map(|(name, ..)| (topic(name, columns).unwrap(), topic(name, usize::MAX).unwrap()));
            for (text, wide) in all.chain([(whole(columns), whole(usize::MAX))]) {
                assert!(text.lines().all(|line| line.chars().count() <= columns.min(120)), "{columns}: {text}");
                assert_eq!(words(&text), words(&wide), "{columns}");
            }
        }
    }
}
