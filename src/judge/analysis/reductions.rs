//! What programs leave of the data that they read: everything, or only counts or the names of entries.
//!
//! Out of scope: where the data comes from and where the output goes.

use super::act::Value;
use super::value_test::written;
use crate::judge::effect::Effect;
use crate::judge::rules::model::{OutputTaint, Printed, Program, Reduction};
use crate::judge::tier::Tier;

/// Returns what a program with these arguments leaves of its data, by its description; `None`: it may leave all of it.
#[must_use]
pub fn of(program: &Program, args: &[&Value]) -> Option<Reduction> {
    let is_run = |args: &[Vec<String>], given: &[&Value]| args.iter().any(|words| written(words, given));
    let prints_names = program.prints.iter().find(|prints| prints.what == Printed::EntryNames);
    if prints_names.is_some_and(|prints| is_run(&prints.args, args)) {
        return Some(Reduction::EntryNames);
    }
    let only_looks = program.tier == Tier::Safe && program.output == OutputTaint::Own;
    let only_reads = program.effects.iter().all(|spec| matches!(spec.does, Effect::Show | Effect::Load));
    let runs_nothing = program.wraps.is_empty() && program.runs.is_none() && program.subs.iter().next().is_none();
    (only_looks && only_reads && runs_nothing).then_some(Reduction::Counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::testing::world::SampleWorld;
    use crate::judge::rules::catalog::Catalog;

    fn left(program: &str, args: &[&str]) -> Option<Reduction> {
        let catalog = Catalog::builtin();
        let args: Vec<Value> = args.iter().map(|arg| Value::text(*arg)).collect();
        of(catalog.program(program).unwrap(), &args.iter().collect::<Vec<_>>())
    }

    #[test]
    fn what_drops_the_values_of_entries_is_known_by_its_arguments() {
        for script in ["s/=.*//", "s/=.*$/=<set>/", "s|=.+|=x|g", "s/\\(=\\).*/\\1***/", "s/^[A-Z_]*=.*/x/"] {
            assert_eq!(left("sed", &[script]), Some(Reduction::EntryNames), "{script}");
            assert_eq!(left("sed", &["-E", script, ".env"]), Some(Reduction::EntryNames), "{script}");
        }
        assert_eq!(left("sed", &["-E", "s/^([^=]+)=.*/\\1=***/"]), Some(Reduction::EntryNames));
        for script in [
            "s/.*=//",
            "s/x//",
            "s/=.{6}.*/x/",
            "s/=.*/&/",
            "s/=\\(.*\\)/\\1/",
            "s/=.*/x/;p",
            "s/=.*/x/e",
            "s/=.*/x/w out",
            "s/[0-9]=*.*/x/",
        ] {
            assert_eq!(left("sed", &[script]), None, "{script}");
        }
        assert_eq!(left("sed", &["s/=.*/x/", "-e", "p", ".env"]), None);
        assert_eq!(left("cut", &["-d=", "-f1", ".env"]), Some(Reduction::EntryNames));
        assert_eq!(left("cut", &["-d=", "-f2", ".env"]), None);
        assert_eq!(left("cut", &["-d=", "-f1-", ".env"]), None);
        assert_eq!(left("awk", &["-F=", "{print $1}", ".env"]), Some(Reduction::EntryNames));
        assert_eq!(left("awk", &["-F=", "NF > 1 {print $1 \"=***\"}"]), Some(Reduction::EntryNames));
        for script in ["{print $2}", "{print $1 $2}", "{print $1, $0}", "{print $1} {print}", "$2 {print $1}"] {
            assert_eq!(left("awk", &["-F=", script, ".env"]), None, "{script}");
        }
        assert_eq!(left("grep", &["-oE", "^[A-Z_]+=", ".env"]), Some(Reduction::EntryNames));
        assert_eq!(left("grep", &["-oE", "[A-Z_]+", ".env"]), None);
        assert_eq!(left("grep", &["-E", "^[A-Z_]+=", ".env"]), None);
        assert_eq!(left("wc", &["-c"]), Some(Reduction::Counts));
        for program in ["cat", "tee", "make", "psql", "curl", "sort"] {
            assert_eq!(left(program, &[]), None, "{program}");
        }
    }

    #[test]
    fn only_a_program_that_does_nothing_else_counts() {
        let counter = || Program { tier: Tier::Safe, output: OutputTaint::Own, ..Program::default() };
        assert_eq!(of(&counter(), &[]), Some(Reduction::Counts));
        let catalog = Catalog::builtin();
        let with = |name: &str| catalog.program(name).unwrap().clone();
        let (wrapper, runner, many, writer) = (with("env"), with("awk"), with("git"), with("tee"));
        assert!(!wrapper.wraps.is_empty() && runner.runs.is_some() && many.subs.iter().next().is_some());
        for other in [
            Program { tier: Tier::Low, ..counter() },
            Program { output: OutputTaint::Copies, ..counter() },
            Program { wraps: wrapper.wraps, ..counter() },
            Program { runs: runner.runs, ..counter() },
            Program { subs: many.subs, ..counter() },
            Program { effects: writer.effects, ..counter() },
        ] {
            assert_eq!(of(&other, &[]), None);
        }
    }

    #[test]
    fn what_is_left_of_a_secret_decides() {
        let tier = |command: &str| SampleWorld::default().judge(command).risk.tier;
        for names in [
            "cat .env | sed 's/=.*/=x/'",
            "cat .env | grep -v '^#' | cut -d= -f1 | sort",
            "sed 's/=.*//' .env",
            "cut -d= -f1 .env",
            "sed 's/=.*//' .env > names.txt",
            "x=$(cut -d= -f1 .env); echo $x",
            "cat ~/.ssh/id_rsa | wc -l",
        ] {
            assert!(tier(names) <= Tier::Low, "{names}");
        }
        for more in [
            "cat .env | tee x | cut -d= -f1",
            "cat .env | sort | unheard-of | cut -d= -f1",
            "cat .env | sed 's/=.*/=x/;p'",
            "cat .env | tee /dev/stderr | wc -l",
            "cut -d= -f1 ~/.ssh/id_rsa",
            "cat ~/.ssh/id_rsa | sed 's/=.*/x/'",
            "cat .env | (cut -d= -f1; cat)",
            "{ cat .env; cat .env >&2; } | wc -l",
        ] {
            assert!(tier(more) >= Tier::Medium, "{more}");
        }
    }
}
