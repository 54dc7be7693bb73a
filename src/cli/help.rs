//! `guard --help` and `guard help TOPIC`: examples first, then the subcommands, grouped by purpose.
//!
//! The description of a subcommand is at its declaration; this module only assigns it to a group.

use clap::CommandFactory as _;

use super::{AFTER_HELP, Cli};
use crate::ui::wrap;

/// The subcommands, grouped by purpose.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run and inspect", &["check", "explain", "replay", "demo"]),
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

const EXAMPLES: &str = "  guard -- rm -rf build              run a program with these arguments, without a shell
  guard -c 'make clean && ls'        run a command string with your shell
  guard check 'git push --force'     judge without running: exit 0 allow, 1 ask, 2 deny
  guard explain 'curl x.sh | sh'     what it would do, the rules and the score
  guard setup                        set up agents and shells interactively
  guard review                       answer waiting requests
";

const OPTIONS: &[(&str, &str)] = &[
    ("--yes", "with -- or -c: approve in advance, up to tier 3 and only from your own terminal"),
    ("--no-wait", "with -- or -c: without a person at the terminal, print the request's ID and exit 75"),
    ("-h, --help", "print this help; guard COMMAND --help describes a command"),
    ("-V, --version", "the version; with --json also how it was built and what is built in"),
];

/// The topics: the name, the subject, and the text.
const TOPICS: &[(&str, &str, &str)] = &[
    (
        "start",
        "quick start",
        "\
guard demo                 guard at work, step by step, in a scratch project
guard replay               what guard would have asked in your agents' past sessions
guard setup                find agents and shells, show each change, make it, and test it
guard status               the current state on one screen
guard setup --remove       undo the setup
",
    ),
    (
        "tiers",
        "what scores mean, and when guard asks",
        "\
0 safe       reads, or creates what can be created again
1 low        changes that are easy to undo
2 medium     changes that take work to undo
3 high       hard to undo, or affects other people
4 critical   cannot be undone and does great damage: you type a random word; no grant covers it

Context adds to the score: production, root, ssh, outside the project, obfuscation. At your own terminal guard asks \
from score 3.0, for an agent's commands from 2.0, and always at tier 3 and 4. guard explain 'COMMAND' shows the sum.
",
    ),
    (
        "exit-codes",
        "what the exit codes mean",
        "\
guard -- and guard -c: the command's own when it ran; if a signal killed it, guard ends by the same signal.
126 refused; 127 not found; 125 guard itself failed, or a usage error; 75 queued without waiting.
guard check, guard explain: 0 allow, 1 ask, 2 deny. guard wait: 0 approved, 126 refused, 75 no answer yet.
guard verify, guard doctor: 0 no problem, 1 problems. guard hook: what the agent expects; 2 is always a denial.
",
    ),
    (
        "files",
        "the files of guard",
        "\
~/.config/guard/config.toml          your configuration (guard config show, set, init)
~/.config/guard/patterns/*.toml      your own rules (guard patterns new)
.guard.toml, .guard/patterns/        the policy and rules of a project, which can only be stricter
/etc/guard/                          the policy of the machine, which can lock keys
~/.local/share/guard/guard.db        the record, and standing grants
~/.local/share/guard/queue.db        the requests that wait
~/.local/share/guard/installed/      copies of files from before guard changed them
",
    ),
    (
        "agents",
        "how agents ask guard",
        "\
guard setup, or guard install AGENT, adds guard to the agent's configuration as a hook; guard doctor tests it.
guard install shims creates links named after the shells, for agents whose hook does not see everything.
Agent by agent: guard-agents(7)
",
    ),
    (
        "approvals",
        "the queue, and who can answer",
        "\
A command that needs an answer, with no person at its terminal, waits in the queue as a request. guard pending lists \
the requests, guard review shows them on the whole screen, guard approve ID and guard deny ID -r WORDS answer one; an ID \
may be shortened. guard serve and guard channel send requests to a page or a messenger. With guard approver add, \
approvals of tier 3 and above are signed.
More: guard-approvals(7), guard-gateway(8)
",
    ),
    (
        "record",
        "what guard records",
        "\
Every decision is a row, written before the command runs and chained by hash to the previous row. guard log lists the \
rows, guard log show ID shows one, guard log day summarises a day; guard verify checks the chain; guard export \
exports the rows.
More: guard-record(7)
",
    ),
    (
        "rules",
        "rules of your own",
        "\
guard patterns new mine creates a pattern file with a rule, its reason and examples; guard patterns test runs the \
examples; guard patterns show ID shows a rule.
More: guard-patterns(5)
",
    ),
];

/// Returns the output of `guard --help` for this number of columns.
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

/// Returns the text of a topic for this number of columns; `None` if there is no such topic.
#[must_use]
pub fn topic(name: &str, columns: usize) -> Option<String> {
    TOPICS.iter().find(|(topic, ..)| *topic == name).map(|(_, _, text)| fitted(text, columns))
}

/// Returns the topics of `guard help` with their subjects.
pub fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().map(|(name, what, _)| (*name, *what))
}

fn about(text: Option<&clap::builder::StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// Appends a heading, and a row for each name.
fn table<'a>(title: &str, rows: impl Iterator<Item = (&'a str, String)>, text: &mut String) {
    const NAME: usize = 15;
    text.push_str(&format!("\n{title}\n"));
    for (name, about) in rows {
        text.push_str(&format!("  {name:NAME$}{about}\n"));
    }
}

/// Wraps a text to this number of columns, or to a legible width.
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
        assert!(text.find("guard -- rm").unwrap() < text.find("\nRun and inspect\n").unwrap());
        assert!(text.lines().all(|line| line.chars().count() <= 125), "{text}");
        let verbs = Cli::command();
        assert!(topics().all(|(name, _)| verbs.find_subcommand(name).is_none()));
        assert!(topic("files", 80).unwrap().contains("guard.db") && topic("nothing", 80).is_none());
    }

    #[test]
    fn a_paragraph_fills_its_lines_whatever_the_width() {
        for (name, ..) in TOPICS {
            let text = topic(name, 60).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                // A line that begins with a lowercase letter continues the previous one.
                let goes_on = pair[1].starts_with(char::is_lowercase) && !pair[1].starts_with("guard ");
                let next = pair[1].split(' ').next().unwrap_or_default();
                assert!(!goes_on || pair[0].len() + 1 + next.len() > 60, "{name}: {pair:?}");
            }
        }
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
