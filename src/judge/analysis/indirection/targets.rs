//! Targets of recipe files: `make X`, `just X`.

use crate::judge::analysis::act::Value;
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::indirection::named_directory;
use crate::judge::analysis::marked_text::MarkedText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::recipes::{RecipeKind, Recipes, is_name};
use crate::judge::analysis::state::{Build as _, State, VariableValue};
use crate::judge::analysis::walk::{TOO_LARGE, Walker};
use crate::judge::rules::model::Program;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Maximum number of calls of make's `shell` function that are walked.
const MAX_SHELLS: usize = 64;

impl Walker<'_> {
    #[inline(never)]
    pub(super) fn recipe(
        &mut self,
        state: &State,
        context: &Context,
        (name, program): (&str, &Program),
        kind: RecipeKind,
        reading: &Reading,
        span: Span,
    ) {
        let dir = named_directory(state, reading, &["-C", "--directory", "--working-directory", "-d"]);
        let mut there = self.input.fork(state);
        there.cwd.clone_from(&dir);
        let names_file = |name: &str| matches!(name, "-f" | "--file" | "--makefile" | "--justfile");
        let named = reading.flags.iter().filter(|flag| names_file(&flag.name)).filter_map(|flag| flag.value.as_ref());
        let named: Vec<Value> =
            named.map(|file| if file.is("-") { Value::text("/dev/stdin") } else { file.clone() }).collect();
        // The first existing default name is used; of given names, all are.
        let all = kind == RecipeKind::Make && !named.is_empty();
        let files = match named.is_empty() {
            false => named,
            true if kind == RecipeKind::Make => ["GNUmakefile", "makefile", "Makefile"].map(Value::text).to_vec(),
            true => ["justfile", "Justfile", ".justfile"].map(Value::text).to_vec(),
        };
        let mut text: Option<Value> = None;
        for file in &files {
            // Queries all of the files, whichever exist.
            let told = self.settings_text(&there, file, span);
            text = match (text, told) {
                (Some(before), Some(told)) if all => Some(Value::join([&before, &told], "\n")),
                (before, told) => before.or(told),
            };
            // An inserted line may belong to any recipe.
            if self.progress().goes_on(&there, file)
                && let Some(put_in) = self.progress().content_of(&there, file)
            {
                let inner = within(&context.perhaps(), name).elsewhere(span);
                self.read_value(&mut there.child(&[]), &inner, &put_in, span);
            }
        }
        for more in reading
            .flags
            .iter()
            .filter(|flag| kind == RecipeKind::Make && ["--eval", "-E"].contains(&flag.name.as_str()))
        {
            let more = more.value.clone().unwrap_or_default();
            text = Some(Value::join([&more, &text.unwrap_or_default()], "\n"));
        }
        let read = text.as_ref().filter(|_| kind == RecipeKind::Make).map(MarkedText::new);
        for file in read.iter().flat_map(|read| Recipes::included(read.text())) {
            let more =
                self.settings_text(&there, &read.as_ref().map(|read| read.value(&file)).unwrap_or_default(), span);
            text = text.map(|text| Value::join([&text, &more.unwrap_or_default()], "\n"));
        }
        let read = text.as_ref().filter(|_| kind == RecipeKind::Just).map(MarkedText::new);
        let mut modules: Vec<(String, Value)> = Vec::new();
        for (module, files) in read.iter().flat_map(|read| Recipes::imported(read.text())) {
            let mut told =
                files.iter().filter_map(|file| self.settings_text(&there, &Value::text(file.as_str()), span));
            match (module, told.next()) {
                (Some(module), Some(more)) => modules.push((module, more)),
                (None, Some(more)) => text = text.map(|text| Value::join([&text, &more], "\n")),
                _ => {}
            }
        }
        let (mut targets, mut given) = (Vec::new(), Vec::new());
        for word in reading.sub.iter().cloned().chain(reading.operands.iter().filter_map(|o| o.value.known_text())) {
            match word.split_once('=') {
                Some((name, value)) => given.push((name.to_owned(), value.to_owned())),
                None => targets.push(word),
            }
        }
        if let Some((_, shell)) = given.iter().find(|(name, _)| kind == RecipeKind::Make && name == "SHELL") {
            let program = shell.rsplit('/').next().unwrap_or_default();
            if !self.input.is_shell_name(program) {
                let inner = within(context, name).elsewhere(span);
                self.text(&mut state.child(&[]), &inner, shell);
            }
        }
        let Some(mut text) = text else { return };
        // `module recipe` and `module::recipe`
        let first = targets.first().cloned().unwrap_or_default();
        let (module, rest) = first.split_once("::").map_or((first.as_str(), None), |(name, rest)| (name, Some(rest)));
        if let Some((_, recipes)) = modules.into_iter().find(|(name, _)| name == module) {
            text = recipes;
            let behind = targets.iter().skip(1).cloned();
            targets = rest.map(str::to_owned).into_iter().chain(behind).collect();
        }
        if let Some(home) = self.expand().home(state).and_then(|home| home.known_text()) {
            given.push(("HOME".to_owned(), home));
        }
        let others: Vec<&str> = given.iter().map(|(_, value)| value.as_str()).collect();
        let text = MarkedText::beside(&text, &others);
        if kind == RecipeKind::Just {
            // Words after the first recipe may be its arguments.
            targets.truncate(1);
        }
        let words: Vec<Value> = reading.operands.iter().map(|operand| operand.value.clone()).collect();
        let called = format!("{name} {} in {}", targets.join(" "), dir.as_ref().map_or("?", Place::shown));
        let Some(inner) = self.definition(state, context, name, (called, &words.iter().collect::<Vec<_>>()), span)
        else {
            return;
        };
        if kind == RecipeKind::Make {
            for command in shell_functions(text.text()) {
                self.read_value(&mut there.child(&[]), &inner, &text.value(command), span);
            }
        }
        if kind == RecipeKind::Just {
            for command in evaluated(text.text()) {
                self.read_value(&mut there.child(&[]), &inner, &text.value(command), span);
            }
        }
        let rehearsed = reading.flags.iter().any(|flag| word_lists::DRY_RUN_OPTIONS.contains(&flag.name.as_str()));
        let mut recipes = Recipes::read(kind, text.text());
        for (name, value) in program.defaults.iter().filter_map(|given| given.split_once('=')) {
            recipes.give(name, value);
        }
        // A variable that is not set has its value in the environment, or is empty, unless an included file sets it.
        if kind == RecipeKind::Make && !Recipes::includes(text.text()) {
            for name in recipes.unset() {
                if let Some(value) = self.input.handed_on(state, &name) {
                    recipes.give(&name, &value);
                }
            }
        }
        let pay = |units: u64| self.input.spend(units);
        let lines = recipes.commands(&targets, &given, rehearsed, &pay);
        for line in lines {
            if !self.input.inquiry.fuel.lasts() {
                self.limit(span, TOO_LARGE);
                break;
            }
            let mut child = state.child(&[]);
            if child.cwd != dir {
                child.move_to(dir.clone());
            }
            self.read_value(&mut child, &inner, &text.filled(&line), span);
        }
    }
}

impl AnalysisInput<'_> {
    /// Returns the value of a variable in the environment of a program, empty if it is not set; `None` if it is
    /// unknown.
    fn handed_on(&self, state: &State, name: &str) -> Option<String> {
        match state.variable(name).map(|variable| variable.values.as_slice()) {
            Some([VariableValue::Scalar(value)]) => value.known_text(),
            Some(_) => None,
            None => Some(self.invocation.env.get(name).unwrap_or_default().to_owned()),
        }
    }
}

/// Returns the commands in backticks whose output a justfile assigns.
fn evaluated(text: &str) -> impl Iterator<Item = &str> {
    let values = text.lines().filter_map(|line| line.split_once(":=").map(|(_, value)| value));
    values.flat_map(|value| value.split('`').skip(1).step_by(2))
}

/// Returns the commands in make's `$(shell …)`, and those whose output `!=` assigns.
pub(super) fn shell_functions(text: &str) -> Vec<&str> {
    let assigned = text.lines().filter(|line| !line.starts_with('\t')).filter_map(|line| line.split_once("!="));
    let assigned = assigned.filter(|(name, _)| is_name(name.trim())).map(|(_, command)| command.trim());
    const OPEN: &str = "$(shell ";
    let inside = |at: usize| {
        let rest = text.get(at + OPEN.len()..)?;
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += match c {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth == 0 || c == '\n'
        })?;
        rest.get(..end)
    };
    text.match_indices(OPEN).filter_map(|(at, _)| inside(at)).chain(assigned).take(MAX_SHELLS).collect()
}

#[cfg(test)]
mod tests {
    use crate::judge::analysis::testing::world::SampleWorld;
    use crate::judge::ledger::Ledger;
    use crate::judge::risk::Tier;

    /// Returns the tier of a command in a project that contains only these files.
    fn tier(command: &str, files: &[(&str, &str)]) -> Tier {
        SampleWorld { files, ledger: Some(Ledger::default()), ..SampleWorld::default() }.judge(command).risk.tier
    }

    fn made(command: &str, makefile: &str) -> Tier {
        tier(command, &[("Makefile", makefile), ("main.c", "int main() {}")])
    }

    #[test]
    fn variables_of_make_hold_what_it_gives_them_itself() {
        assert_eq!(made("make", "app: main.c\n\t$(CC) $(CFLAGS) -o app main.c\n"), Tier::Low);
        assert_eq!(made("make", "app:\n\t$(Q)$(AR) rcs x.a x.o\n"), Tier::Low);
        assert_eq!(made("make", "clean:\n\t$(RM) main.c\n"), Tier::Medium);
        // make also sets the variable for its own name.
        let calls_itself = "app:\n\t$(MAKE) clean\nclean:\n\trm main.c\n";
        assert_eq!(made("make", calls_itself), Tier::Medium);
        // A variable that a makefile or the command sets does not have make's own value.
        assert_eq!(made("make", "CC = rm\napp:\n\t$(CC) main.c\n"), Tier::Medium);
        assert_eq!(made("make CC='rm'", "app:\n\t$(CC) main.c\n"), Tier::Medium);
        assert_eq!(made("Q='rm main.c;' make", "app:\n\t$(Q) ls\n"), Tier::Medium);
        assert_eq!(made("Q=$(cat x) make", "app:\n\t$(Q)\n"), Tier::High);
        // An included file may set any variable.
        assert_eq!(made("make", "-include x.mk\napp:\n\t$(Q)\n"), Tier::High);
        assert_eq!(made("make", "app:\n\t$(subst a,b,$(Q))\n"), Tier::High);
    }

    #[test]
    fn what_is_not_there_is_lost_by_no_recipe_or_script() {
        let rm = "rm -rf out\n";
        let makefile = "clean:\n\trm -rf out\n";
        let python = "import shutil\nshutil.rmtree('out')\n";
        let package = r#"{"scripts": {"clean": "rm -rf out"}}"#;
        for (command, name, text) in [
            ("make clean", "Makefile", makefile),
            ("npm run clean", "package.json", package),
            ("sh clean.sh", "clean.sh", rm),
            ("./clean.sh", "clean.sh", rm),
            ("python3 clean.py", "clean.py", python),
        ] {
            assert_eq!(tier(command, &[(name, text)]), Tier::Low, "{command}");
            assert_eq!(tier(&format!("mv main.c out; {command}"), &[(name, text)]), Tier::High, "{command}");
            assert_eq!(tier(&format!("frob; {command}"), &[(name, text)]), Tier::High, "{command}");
        }
        for (name, text) in [
            ("a.sh", "frob\nrm -rf out\n"),
            ("a.py", "import shutil, subprocess\nsubprocess.run(['frob'])\nshutil.rmtree('out')\n"),
            ("a.py", "import shutil, subprocess, sys\nsubprocess.run(sys.argv[1:])\nshutil.rmtree('out')\n"),
            ("a.py", "import os, shutil, sys\nos.rename(sys.argv[1], 'out')\nshutil.rmtree('out')\n"),
            ("a.py", "import os, shutil\nos.rename('main.c', 'out')\nshutil.rmtree('out')\n"),
        ] {
            let program = if name == "a.sh" { "sh" } else { "python3" };
            assert_eq!(tier(&format!("{program} {name} x"), &[(name, text)]), Tier::High, "{text}");
        }
    }

    #[test]
    fn a_file_that_a_recipe_replaces_where_none_was_is_its_own() {
        let recipe = |end: &str| format!("x.o:\n\tfrob main.c > x.d.tmp\n\t{end}\n");
        for own in ["mv x.d.tmp x.d", "rm -f x.d"] {
            assert_eq!(made("make", &recipe(own)), Tier::Low, "{own}");
            assert_eq!(made(&format!("mv main.c x.d; {own}"), ""), Tier::Medium, "{own}");
        }
        for other in ["rm -f main.c", "mv x.d main.c", "rm -rf out", "mv main.c x.d; rm -f x.d"] {
            assert!(made("make", &recipe(other)) >= Tier::Medium, "{other}");
        }
    }

    #[test]
    fn what_a_justfile_imports_is_part_of_it() {
        let loss = "x:\n\tfind main.c -delete\n";
        for (justfile, other, command) in [
            ("import 'other.just'\n", "other.just", "just x"),
            ("import? \"./other.just\"\n", "other.just", "just"),
            ("mod m\n", "m.just", "just m x"),
            ("mod m\n", "m/mod.just", "just m::x"),
            ("mod? m 'other.just'\n", "other.just", "just m"),
        ] {
            let files = [("justfile", justfile), (other, loss), ("main.c", "")];
            assert_eq!(tier(command, &files), Tier::High, "{justfile}");
        }
        let files = [("justfile", "mod m\ny:\n\tls\n"), ("m.just", loss), ("main.c", "")];
        assert_eq!(tier("just y", &files), Tier::Low);
    }

    #[test]
    fn what_a_justfile_assigns_is_run() {
        let files = |value: &str| format!("tree := {value}\nall:\n\tls\n");
        assert_eq!(tier("just", &[("justfile", &files("`find main.c -delete`")), ("main.c", "")]), Tier::High);
        assert_eq!(tier("just", &[("justfile", &files("`git describe`"))]), Tier::Low);
    }
}
