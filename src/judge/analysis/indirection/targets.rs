//! Targets of recipe files: `make X`, `just X`.

use crate::judge::analysis::act::Value;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::enclosing::Context;
use crate::judge::analysis::marked::Marked;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::recipes::{RecipeKind, Recipes};
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::walk::Walker;
use crate::judge::syntax::tree::Span;

/// The most calls of make's `shell` that are followed.
const MAX_SHELLS: usize = 64;

/// Options with which recipes are printed or counted and not run.
const REHEARSALS: [&str; 2] = ["-n", "-q"];

impl Walker<'_> {
    #[inline(never)]
    pub(super) fn recipe(
        &mut self,
        state: &State,
        context: &Context,
        name: &str,
        kind: RecipeKind,
        reading: &Reading,
        span: Span,
    ) {
        let dir = Self::named_directory(state, reading, &["-C", "--directory", "--working-directory", "-d"]);
        let mut there = self.fork(state);
        there.cwd.clone_from(&dir);
        let names_file = |name: &str| matches!(name, "-f" | "--file" | "--makefile" | "--justfile");
        let named = reading.flags.iter().filter(|flag| names_file(&flag.name)).filter_map(|flag| flag.value.as_ref());
        let named: Vec<Value> =
            named.map(|file| if file.is("-") { Value::text("/dev/stdin") } else { file.clone() }).collect();
        // Of the names that are looked for the first that is there counts; of those that are given all do.
        let all = kind == RecipeKind::Make && !named.is_empty();
        let files = match named.is_empty() {
            false => named,
            true if kind == RecipeKind::Make => ["GNUmakefile", "makefile", "Makefile"].map(Value::text).to_vec(),
            true => ["justfile", "Justfile", ".justfile"].map(Value::text).to_vec(),
        };
        let mut text: Option<Value> = None;
        for file in &files {
            // All of them are asked for at once.
            let told = self.told(&there, file, span);
            text = match (text, told) {
                (Some(before), Some(told)) if all => Some(Value::join([&before, &told], "\n")),
                (before, told) => before.or(told),
            };
            // A line that an edit puts in may be one of any recipe.
            if self.goes_on(&there, file)
                && let Some(put_in) = self.content_of(&there, file)
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
        let read = text.as_ref().filter(|_| kind == RecipeKind::Make).map(Marked::new);
        for file in read.iter().flat_map(|read| Recipes::included(read.text())) {
            let more = self.told(&there, &read.as_ref().map(|read| read.value(&file)).unwrap_or_default(), span);
            text = text.map(|text| Value::join([&text, &more.unwrap_or_default()], "\n"));
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
            if !self.is_shell_name(program) {
                let inner = within(context, name).elsewhere(span);
                self.text(&mut state.child(&[]), &inner, shell);
            }
        }
        let Some(text) = text else { return };
        if let Some(home) = self.home(state).and_then(|home| home.known_text()) {
            given.push(("HOME".to_owned(), home));
        }
        let others: Vec<&str> = given.iter().map(|(_, value)| value.as_str()).collect();
        let text = Marked::beside(&text, &others);
        if kind == RecipeKind::Just {
            // What follows the first recipe may be its arguments.
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
        let rehearsed = reading.flags.iter().any(|flag| REHEARSALS.contains(&flag.name.as_str()));
        for (_, line) in Recipes::read(kind, text.text()).commands(&targets, &given, rehearsed) {
            let mut child = state.child(&[]);
            if child.cwd != dir {
                child.move_to(dir.clone());
            }
            self.read_value(&mut child, &inner, &text.filled(&line), span);
        }
    }
}

/// The commands in make's `$(shell …)`, and those whose output is assigned by `!=`.
pub(super) fn shell_functions(text: &str) -> Vec<&str> {
    let assigned = text.lines().filter(|line| !line.starts_with('\t')).filter_map(|line| line.split_once("!="));
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
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
