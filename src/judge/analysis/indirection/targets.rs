//! Targets of recipe files: `make X`, `just X`.
//!
//! Out of scope: walking the commands of the targets.

use crate::judge::analysis::act::Value;
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::indirection::settings::FetchedSettings;
use crate::judge::analysis::marked_text::MarkedText;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::recipes::{RecipeKind, Recipes, is_name};
use crate::judge::analysis::state::{Build as _, State, VariableValue};
use crate::judge::rules::word_lists;

/// Maximum number of calls of make's `shell` function that are walked.
const MAX_SHELLS: usize = 64;

/// The recipe files of a run, and what it asks of them.
pub(super) struct RecipeFile {
    kind: RecipeKind,
    pub dir: Option<Place>,
    /// The text of the files; `None` if there are none.
    text: Option<Value>,
    /// The justfiles of modules, by name.
    modules: Vec<(String, Value)>,
    /// The lines that the command inserts, each of which may belong to any recipe.
    pub inserted: Vec<Value>,
    /// The files whose content is downloaded.
    pub fetched: Vec<FetchedSettings>,
    targets: Vec<String>,
    /// The variables of the command line.
    given: Vec<(String, String)>,
}

/// The text of a recipe file for some targets.
pub(super) struct Recipe {
    text: MarkedText,
    pub targets: Vec<String>,
    given: Vec<(String, String)>,
}

impl RecipeFile {
    /// Returns the program that make starts in place of a shell.
    pub fn shell(&self) -> Option<&str> {
        let shell = self.given.iter().find(|(name, _)| self.kind == RecipeKind::Make && name == "SHELL");
        shell.map(|(_, shell)| shell.as_str())
    }

    /// Returns the recipes for the targets of the run. `home`: the home directory, if it is known.
    pub fn recipe(self, home: Option<String>) -> Option<Recipe> {
        let Self { kind, text, modules, mut targets, mut given, .. } = self;
        let mut text = text?;
        // `module recipe` and `module::recipe`
        let first = targets.first().cloned().unwrap_or_default();
        let (module, rest) = first.split_once("::").map_or((first.as_str(), None), |(name, rest)| (name, Some(rest)));
        if let Some((_, recipes)) = modules.into_iter().find(|(name, _)| name == module) {
            text = recipes;
            let behind = targets.iter().skip(1).cloned();
            targets = rest.map(str::to_owned).into_iter().chain(behind).collect();
        }
        given.extend(home.map(|home| ("HOME".to_owned(), home)));
        let others: Vec<&str> = given.iter().map(|(_, value)| value.as_str()).collect();
        let text = MarkedText::beside(&text, &others);
        if kind == RecipeKind::Just {
            // Words after the first recipe may be its arguments.
            targets.truncate(1);
        }
        Some(Recipe { text, targets, given })
    }
}

impl Recipe {
    /// Returns the commands whose output the file uses as text.
    pub fn evaluated(&self, kind: RecipeKind) -> Vec<Value> {
        let commands = match kind {
            RecipeKind::Make => shell_functions(self.text.text()),
            RecipeKind::Just => evaluated(self.text.text()).collect(),
        };
        commands.into_iter().map(|command| self.text.value(command)).collect()
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the recipe files that a run reads. `there`: the state in their directory.
    #[inline(never)]
    pub(super) fn recipe_file(&self, there: &State, kind: RecipeKind, reading: &Reading) -> RecipeFile {
        let is_make = kind == RecipeKind::Make;
        let mut fetched = Vec::new();
        let mut settings = |file: &Value| {
            self.settings(there, file).unwrap_or_else(|reason| {
                fetched.push(reason);
                None
            })
        };
        let names_file = |name: &str| matches!(name, "-f" | "--file" | "--makefile" | "--justfile");
        let named = reading.flags.iter().filter(|flag| names_file(&flag.name)).filter_map(|flag| flag.value.as_ref());
        let named: Vec<Value> =
            named.map(|file| if file.is("-") { Value::text("/dev/stdin") } else { file.clone() }).collect();
        // The first existing default name is used; of given names, all are.
        let all = is_make && !named.is_empty();
        let files = match named.is_empty() {
            false => named,
            true if is_make => ["GNUmakefile", "makefile", "Makefile"].map(Value::text).to_vec(),
            true => ["justfile", "Justfile", ".justfile"].map(Value::text).to_vec(),
        };
        let (mut text, mut inserted) = (None, Vec::new());
        for file in &files {
            // Queries all of the files, whichever exist.
            text = match (text, settings(file)) {
                (Some(before), Some(told)) if all => Some(Value::join([&before, &told], "\n")),
                (before, told) => before.or(told),
            };
            inserted.extend(self.added_to(there, file).filter(|_| self.goes_on(there, file)));
        }
        let evaluates = |name: &str| is_make && ["--eval", "-E"].contains(&name);
        for more in reading.flags.iter().filter(|flag| evaluates(&flag.name)) {
            let more = more.value.clone().unwrap_or_default();
            text = Some(Value::join([&more, &text.unwrap_or_default()], "\n"));
        }
        let read = text.as_ref().map(MarkedText::new);
        for file in read.iter().filter(|_| is_make).flat_map(|read| Recipes::included(read.text())) {
            let more = settings(&read.as_ref().map(|read| read.value(&file)).unwrap_or_default());
            text = text.map(|text| Value::join([&text, &more.unwrap_or_default()], "\n"));
        }
        let mut modules: Vec<(String, Value)> = Vec::new();
        for (module, files) in read.iter().filter(|_| !is_make).flat_map(|read| Recipes::imported(read.text())) {
            let told = files.iter().find_map(|file| settings(&Value::text(file.as_str())));
            match (module, told) {
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
        RecipeFile { kind, dir: there.cwd.clone(), text, modules, inserted, fetched, targets, given }
    }
}

impl AnalysisInput<'_> {
    /// Returns the commands of a recipe in their order. `defaults`: the variables that the program itself sets.
    pub(super) fn commands_of_recipe(
        &self,
        state: &State,
        (recipe, kind): (&Recipe, RecipeKind),
        reading: &Reading,
        defaults: &[String],
    ) -> Vec<Value> {
        let text = recipe.text.text();
        let rehearsed = reading.flags.iter().any(|flag| word_lists::DRY_RUN_OPTIONS.contains(&flag.name.as_str()));
        let mut recipes = Recipes::read(kind, text);
        for (name, value) in defaults.iter().filter_map(|given| given.split_once('=')) {
            // The environment takes precedence over what make sets itself.
            let own = self.handed_on(state, name).filter(|own| !own.is_empty());
            recipes.give(name, own.as_deref().unwrap_or(value));
        }
        // A variable that is not set has its value in the environment, or is empty, unless an included file sets it.
        if kind == RecipeKind::Make && !Recipes::includes(text) {
            for name in recipes.unset() {
                if let Some(value) = self.handed_on(state, &name) {
                    recipes.give(&name, &value);
                }
            }
        }
        let lines = recipes.commands(&recipe.targets, &recipe.given, rehearsed, &|units| self.spend(units));
        lines.into_iter().map(|line| recipe.text.filled(&line)).collect()
    }

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
