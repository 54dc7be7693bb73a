//! Recognises programs that wait at a terminal for commands, and the parts of a line that start one.
//!
//! Out of scope: names of programs. The description of a program states whether it waits (`runs`, `[[consoles]]`).

pub use super::analysis::is_shell;

use super::Facts;
use super::analysis::act::{Act, Input, Output, Verb};
use super::analysis::console_input::{is_given, waits};
use super::risk::Finding;
use super::rules::catalog::Catalog;
use super::rules::glob;
use super::rules::model::{Console, Program, Runs};
use super::tier::{Reversibility, Tier};

/// The rule for input that is typed later and that guard cannot see.
pub const UNSEEN: &str = "typed.unseen";

/// Returns the findings for programs of a line that later execute typed input, for a host that does not report that
/// input.
pub(super) fn unseen(facts: &Facts, catalog: &Catalog) -> Vec<Finding> {
    let of = |(id, act): (usize, &Act)| {
        console(act, catalog)?;
        let name = act.verb.key().to_owned();
        let reason = format!("{name} runs commands that are typed into it later, which guard cannot see.");
        let instead = Some("pass the commands as arguments or in a script file".to_owned());
        let finding = Finding::plain(UNSEEN, Tier::High, Reversibility::Irreversible, "", act.span);
        Some(Finding { reason, instead, touches: vec![name], act: Some(id), ..finding })
    };
    facts.acts.iter().enumerate().filter_map(of).collect()
}

/// Returns the language of the input for which a line waits: that of the first program that waits.
#[must_use]
pub fn listener(facts: &Facts, catalog: &Catalog) -> Option<String> {
    facts.acts.iter().find_map(|act| listens(act, catalog))
}

/// Returns the language of the input for which an act waits at the terminal at which the line was started; `None` if it
/// does not wait.
fn listens(act: &Act, catalog: &Catalog) -> Option<String> {
    let Verb::Program { name, .. } = &act.verb else { return None };
    let program = catalog.program(name)?;
    let reads = |runs: &&Runs| matches!(act.input, Input::Inherited) && reads_stdin(runs, program, act);
    let language = program.runs.as_ref().filter(reads).map(|runs| runs.language.clone());
    language.or_else(|| console(act, catalog).map(|console| console.language))
}

/// Reports whether an interpreter gets neither code nor a script.
fn reads_stdin(runs: &Runs, program: &Program, act: &Act) -> bool {
    let given = |option: &String| is_given(option, program, act);
    let takes = runs.script_operand || runs.code_operand || runs.code_at.is_some();
    let code_at = usize::try_from(runs.code_at.unwrap_or_default()).unwrap_or(usize::MAX);
    let most = if takes { code_at } else { usize::MAX };
    runs.stdin
        && act.code.is_none()
        && act.operands.len() <= most
        && !runs.code.iter().any(given)
        && !runs.unless.iter().any(|test| test.names.iter().any(given))
}

/// Returns the description of how an act waits for input, if it does.
fn console(act: &Act, catalog: &Catalog) -> Option<Console> {
    let Verb::Program { name, .. } = &act.verb else { return None };
    let program = catalog.program(name).filter(|_| !act.dry_run)?;
    let of_name = |console: &&Console| console.programs.iter().any(|known| glob::text(known, name));
    let reads = |console: &&Console| {
        let is_shown = matches!(act.output, Output::Inherited);
        let is_first = matches!(act.input, Input::Inherited);
        (is_first || console.keyboard && is_shown) && (is_shown || !console.visible)
    };
    let mut all = program.consoles.iter().filter(of_name).filter(reads);
    all.find(|console| waits(console, program, act, catalog)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::inquiry::Answers;
    use crate::judge::invocation::Origin;
    use crate::judge::policy::Policy;
    use crate::judge::testing::line;
    use crate::judge::{Judgment, judge};

    fn typed(text: &str) -> Judgment {
        let typed = line(Origin::Agent, text).typed_into();
        judge(&typed, &Catalog::builtin(), &Policy::default(), &Answers::none())
    }

    fn is_found(text: &str) -> bool {
        typed(text).risk.findings.iter().any(|finding| finding.rule == UNSEEN)
    }

    #[test]
    fn what_waits_at_a_terminal_for_commands_is_found() {
        for text in [
            "tmux",
            "tmux new -s work",
            "screen -S work",
            "zellij",
            "byobu",
            "vi x",
            "nvim x",
            "nano x",
            "emacs -nw x",
            "python3 -m pdb x.py",
            "python3 -i x.py",
            "node inspect x.js",
            "rails console",
            "iex -S mix",
            "flask shell",
            "jupyter console",
            "dlv debug",
            "jdb A",
            "rust-gdb ./a",
            "bun repl",
            "deno repl",
            "sbt console",
            "ssh -p 22 host.example",
            "git -C x rebase -i HEAD~2",
            "git rebase --interactive HEAD~2",
            "less x",
            "cat x | less",
            "nix-shell -p hello",
            "poetry shell",
            "pipenv shell",
            "vagrant ssh",
            "docker run -it alpine",
            "docker run --rm -ti alpine:3",
            "lxc exec c bash",
            "cd src && sudo vim x",
        ] {
            assert!(is_found(text), "{text}");
        }
    }

    #[test]
    fn what_of_the_same_programs_does_its_work_and_ends_is_not() {
        for text in [
            "tmux ls",
            "tmux new-session -d -s work",
            "screen -ls",
            "vim -es +q x",
            "emacs --batch -l x.el",
            "python3 x.py",
            "node x.js",
            "rails server",
            "flask run",
            "sbt compile",
            "ssh host.example uptime",
            "ssh -N -L 1:a:1 host.example",
            "git rebase main",
            "GIT_SEQUENCE_EDITOR=true git rebase -i HEAD~2",
            "less x | head",
            "nix-shell --run make",
            "poetry install",
            "vagrant up",
            "docker run --rm alpine",
            "docker run -it alpine ls /",
            "lxc list",
        ] {
            assert!(!is_found(text), "{text}");
        }
    }

    #[test]
    fn what_is_typed_is_of_the_language_of_what_listens() {
        for (text, wanted) in [
            ("bash", Some("shell")),
            ("python3", Some("python")),
            ("python3 -m pdb x.py", Some("python")),
            ("mysql -u root shop", Some("sql")),
            ("redis-cli", Some("redis")),
            ("node", Some("js")),
            ("ssh host", Some("shell")),
            ("gdb ./a", Some("gdb")),
            ("nano x", Some("")),
            ("python3 x.py", None),
            ("bash -c 'ls'", None),
            ("ls", None),
        ] {
            let plain = judge(&line(Origin::Agent, text), &Catalog::builtin(), &Policy::default(), &Answers::none());
            assert_eq!(listener(&plain.facts, &Catalog::builtin()).as_deref(), wanted, "{text}");
        }
    }
}
