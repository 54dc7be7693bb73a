//! The output of programs, as far as it is known, is passed on to its readers.

use super::act::{Effect, Operand, Piece, Taint, Unknown, UnknownReason, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::arguments::{self, Arg, CodeSource, Reading};
use super::builtin_output::{self, KnownOutput};
use super::command_context::Context;
use super::expand::Field;
use super::fuel::of_bytes;
use super::progress::WalkProgress;
use super::question::PathKind;
use super::replacements::EditedText;
use super::search_results;
use super::state::{Build as _, State, unknown};
use super::streams::Stream;
use super::value_test::written;
use super::walk::Walker;
use super::written_files::changes_by;
use crate::judge::rules::model::{OutputTaint, Printed, Prints};
use crate::judge::rules::word_lists;

impl Walker<'_> {
    /// Passes the output of a program on to its readers.
    #[inline(never)]
    pub fn wrote(
        &mut self,
        state: &State,
        context: &Context,
        id: usize,
        name: &str,
        args: &[Field],
        reading: &Reading,
    ) {
        let Some(sink) = state.streams.stdout.sink() else {
            self.fed_to_readers(state, id);
            return;
        };
        let known = self
            .known_output(state, context, name, args)
            .or_else(|| search_results::printed(reading).map(|text| KnownOutput { text, decoded: false }))
            .or_else(|| self.progress().edited_output(state, reading).map(|text| KnownOutput { text, decoded: false }));
        let taint = self.facts.acts.get(id).map(|act| act.taint).unwrap_or_default();
        let decoded =
            matches!(&state.streams.stdin, Stream::Sink(id, _) if self.sinks.get(*id).is_some_and(|sink| sink.decoded));
        if let Some(act) = self.facts.acts.get(id)
            && matches!(act.output, super::act::Output::Nothing)
        {
            return;
        }
        let copies = reading.output == OutputTaint::Copies;
        let set_up = known.is_none() && self.progress().prints_set_up(state, id, name, args, reading);
        let files = if known.is_none() && self.input.prints_files(name) { files_of(state, args) } else { None };
        if let Some(sink) = self.sinks.get_mut(sink) {
            match known {
                Some(KnownOutput { text, decoded: own }) => {
                    self.input.inquiry.fuel.spend(of_bytes(text.size()));
                    let taint = text.taint();
                    sink.write(&text, taint, own || (decoded && copies));
                }
                None if set_up => sink.write(&unknown(UnknownReason::ShellCode, taint), taint, false),
                None => sink.write(&unknown(UnknownReason::CommandOutput, taint), taint, false),
            }
            files.into_iter().for_each(|files| sink.print(files));
        }
        self.fed_to_readers(state, id);
    }

    /// Passes the input of a program on to process substitutions in its arguments (`tee >(…)`).
    #[inline(never)]
    pub fn fed_to_readers(&mut self, state: &State, id: usize) {
        if self.substituted.readers.is_empty() {
            return;
        }
        let (text, taint, decoded) = self.progress().stdin_of(state);
        let taint = taint.and(self.facts.acts.get(id).map(|act| act.taint).unwrap_or_default());
        let sinks: Vec<usize> = self.substituted.readers.iter().map(|(_, sink)| *sink).collect();
        for sink in sinks {
            if let Some(sink) = self.sinks.get_mut(sink) {
                sink.write(&text, taint, decoded);
                sink.writers.push(id);
            }
        }
    }

    /// Returns the output of a command, as far as it is known before it runs.
    #[inline(never)]
    pub fn known_output(
        &mut self,
        state: &State,
        context: &Context,
        name: &str,
        args: &[Field],
    ) -> Option<KnownOutput> {
        let values: Vec<&Value> = args.iter().map(|field| &field.value).collect();
        let plain = |text: Value| KnownOutput { text, decoded: false };
        if let Some(known) = builtin_output::of_builtin(name, &values) {
            return Some(known);
        }
        let first = values.first().and_then(|arg| arg.known_text());
        match (name, first.as_deref()) {
            ("pwd", _) => {
                let mut dir = state.cwd.as_ref()?.value();
                dir.push_text("\n");
                return Some(plain(dir));
            }
            ("command", Some("-v")) | ("type", Some("-P" | "-p")) => {
                return self.input.looked_up(state, &values).map(plain);
            }
            _ => {}
        }
        let catalog = self.input.catalog;
        let prints = &catalog.program(name)?.prints;
        let fits = |prints: &&Prints| prints.args.is_empty() || prints.args.iter().any(|words| written(words, &values));
        let (stdin, taint, _) = self.progress().stdin_of(state);
        prints.iter().filter(fits).find_map(|prints| {
            let at = prints.at.as_deref().filter(|_| prints.what == Printed::Place && context.remote.is_none());
            match at.and_then(|at| self.usual_place(state, at)) {
                Some(place) => Some(plain(place)),
                None => self.described_output(state, context, name, prints.what, &values, (&stdin, taint)),
            }
        })
    }

    /// Returns the line with the usual place of an installation.
    fn usual_place(&mut self, state: &State, at: &str) -> Option<Value> {
        let (mut place, rest) = match at.strip_prefix('~') {
            Some(rest) => (self.expand().home(state)?, rest),
            None => (Value::default(), at),
        };
        place.push_text(rest);
        place.push_text("\n");
        Some(place)
    }

    /// Returns the output of a program by its description.
    fn described_output(
        &mut self,
        state: &State,
        context: &Context,
        name: &str,
        what: Printed,
        args: &[&Value],
        (stdin, taint): (&Value, Taint),
    ) -> Option<KnownOutput> {
        let line = |text: Value| {
            let mut text = text;
            text.push_text("\n");
            text
        };
        let is_clean = taint.and(stdin.taint()) == Taint::default();
        let begins = match stdin.pieces().first() {
            Some(Piece::Unknown(Unknown { why: UnknownReason::Number(number), .. })) => Some(number.plain),
            _ => None,
        };
        let text = match what {
            Printed::Number => line(self.expand().number(is_plain_number(args))),
            // Such a program prints the name of its input, which is a dash for standard input.
            Printed::Digest if is_clean && args.is_empty() => {
                let mut text = self.expand().number(true);
                text.push_text("  -\n");
                text
            }
            Printed::Digest if is_clean => line(self.expand().number(true)),
            Printed::Letters if is_clean => line(self.expand().number(is_name_of(args.last()?)?)),
            Printed::Beginning if is_clean => line(self.expand().number(begins?)),
            Printed::Temporary => {
                let mut text = unknown(UnknownReason::Temporary { variable: false }, Taint::default());
                text.push_text(&ending(args));
                line(text)
            }
            Printed::User if context.remote.is_none() && !context.root => {
                line(Value::text(self.input.invocation.user.as_str()))
            }
            Printed::Repository if context.remote.is_none() => {
                line(Value::text(self.input.repository_of(state, name)?))
            }
            Printed::RepositoryData if context.remote.is_none() => {
                let mut place = Value::text(self.input.repository_of(state, name)?);
                place.push_text("/.git");
                if let Some(part) = args.last().filter(|part| !part.leading().starts_with('-')) {
                    place.push_text("/");
                    place.push_value(part);
                }
                line(place)
            }
            Printed::Program => self.input.looked_up(state, args)?,
            Printed::Path if context.remote.is_none() => {
                let path = state.path(&args.last()?.known()?)?;
                let there = self.input.inquiry.path(&path).map(|facts| facts.canonical.clone());
                line(Value::text(there.unwrap_or(path)))
            }
            Printed::Names => self.input.names_listed(state, args)?,
            Printed::Place => line(unknown(UnknownReason::Other("a place of an installation"), taint)),
            // Its input has no influence on that.
            Printed::Installation if context.remote.is_none() => {
                line(unknown(UnknownReason::Installation, Taint::default()))
            }
            Printed::Installation => line(unknown(UnknownReason::CommandOutput, taint)),
            Printed::SomeLines if stdin.known().is_none() && search_results::listed(stdin).is_some() => {
                let whole =
                    |value: &Value| value.rough().chars().all(|c| c.is_ascii_digit() || "-vieEFwxPnrutzs+".contains(c));
                let letters = |value: &&&Value| value.leading().starts_with('-');
                args.iter().filter(letters).all(|value| whole(value)).then(|| stdin.clone())?
            }
            Printed::Files => self.progress().files_shown(state, args, stdin)?,
            _ => return builtin_output::of(what, args, stdin),
        };
        Some(KnownOutput { text, decoded: false })
    }
}

impl AnalysisInput<'_> {
    /// Returns the top level of the repository in which a program with this name works.
    fn repository_of(&self, state: &State, name: &str) -> Option<&str> {
        // An option that selects another repository is not evaluated.
        let program = self.catalog.program(name)?;
        let places = program.works_in.as_ref().map_or(&[][..], |place| &place.env);
        let told = state.elsewhere || places.iter().any(|name| state.sets(name));
        let here = state.dir().filter(|_| !told)?;
        Some(self.inquiry.repository(here)?.root.as_str())
    }

    /// Returns the path of the program that the last argument names.
    #[inline(never)]
    fn looked_up(&self, state: &State, args: &[&Value]) -> Option<Value> {
        let program = args.last().and_then(|arg| arg.known_text()).filter(|name| !name.starts_with('-'))?;
        let may_be_found = !program.contains('/') && !state.functions.contains_key(&program) && !state.sets("PATH");
        let found = if may_be_found { self.inquiry.program(&program) } else { None };
        let path = found.filter(|path| path.starts_with('/')).map_or(program.as_str(), |path| path);
        Some(Value::text(format!("{path}\n")))
    }

    /// Reports whether a program prints files unchanged, by its description.
    pub fn prints_files(&self, name: &str) -> bool {
        self.catalog.program(name).is_some_and(|program| program.may_print(Printed::Files))
    }

    /// Returns the names in the arguments as a listing prints them.
    fn names_listed(&self, state: &State, args: &[&Value]) -> Option<Value> {
        let (options, operands): (Vec<&Value>, Vec<&Value>) =
            args.iter().partition(|arg| arg.leading().starts_with('-'));
        let letters =
            |value: &&Value| value.known().is_some_and(|text| text.chars().skip(1).all(|c| "1dAatrSUfX".contains(c)));
        if operands.is_empty() || !options.iter().all(letters) {
            return None;
        }
        let whole = options.iter().any(|option| option.rough().contains('d'));
        // The names in a directory that the command itself created.
        if let [dir] = operands.as_slice()
            && !whole
            && dir.known().is_none()
            && dir.is_spelled()
        {
            let mut text = unknown(UnknownReason::Found(Some(String::new())), Taint::default());
            text.push_text("\n");
            return Some(text);
        }
        let mut text = Value::default();
        for operand in operands {
            let is_file = || {
                let path = operand.known().and_then(|path| state.path(&path));
                path.and_then(|path| self.inquiry.path(&path)).is_some_and(|facts| facts.kind == PathKind::File)
            };
            if operand.is_dynamic() || !(whole || operand.known().is_none() || is_file()) {
                return None;
            }
            text.push_value(operand);
            text.push_text("\n");
        }
        Some(text)
    }
}

impl WalkProgress<'_, '_> {
    /// Reports whether a program prints shell code that is meant to be evaluated, by its description. A description
    /// `setup:NAME` states this for the program `NAME`, in addition to its other description. A program of that name in
    /// the project or in the temporary directory is another program.
    #[inline(never)]
    fn prints_set_up(&self, state: &State, id: usize, name: &str, args: &[Field], reading: &Reading) -> bool {
        let path = self.acts.get(id).and_then(|act| match &act.verb {
            Verb::Program { path, .. } => path.as_deref(),
            Verb::Effect(_) => None,
        });
        if path.is_some_and(|path| !path.starts_with(['/', '~'])) {
            return false;
        }
        if let Some(path) = path.map(Value::text)
            && (self.is_written(state, &path) || self.input.is_ours(&path))
        {
            return false;
        }
        if reading.output == OutputTaint::Code {
            return true;
        }
        self.input.catalog.program(&format!("setup:{name}")).is_some_and(|program| {
            let words: Vec<Arg> = args.iter().map(Field::arg).collect();
            arguments::read(program, &words).output == OutputTaint::Code
        })
    }

    /// Returns the text that an editor prints instead of writing it to the file that it reads.
    fn edited_output(&self, state: &State, reading: &Reading) -> Option<Value> {
        let edits = |source: &CodeSource| word_lists::EDITING_LANGUAGES.contains(&&*source.language);
        if !reading.code.iter().any(edits) || reading.effects.iter().any(|derived| derived.effect.writes()) {
            return None;
        }
        let shown = reading.effects.iter().filter(|derived| derived.effect == Effect::Show);
        let files: Vec<&Operand> = shown.flat_map(|derived| &derived.on).collect();
        let [file] = files.as_slice() else { return None };
        let place = state.file(&file.value).filter(|place| !self.files.holds(place))?;
        let secret = if self.is_secret(state, &file.value) { Taint::SECRET } else { Taint::default() };
        let edited = EditedText { path: place.text()?.to_owned(), changes: changes_by(reading)? };
        Some(unknown(UnknownReason::FileText(Box::new(edited)), secret))
    }

    /// Returns the content of the files in the arguments, and of standard input for a dash.
    fn files_shown(&self, state: &State, args: &[&Value], stdin: &Value) -> Option<Value> {
        let mut text = Value::default();
        let mut pipes = self.pipes.iter();
        for value in args {
            let is_pipe = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown { why: UnknownReason::Pipe, .. }));
            if value.is("-") {
                text.push_value(stdin);
            } else if value.pieces().iter().any(is_pipe) {
                text.push_value(&self.sinks.get(*pipes.next()?)?.text);
            } else {
                text.push_value(&self.content_of(state, value)?);
            }
        }
        Some(text)
    }
}

/// Returns the text after the generated letters in a template of `mktemp`.
fn ending(words: &[&Value]) -> String {
    let words: Vec<String> = words.iter().filter_map(|word| word.known_text()).collect();
    let mut suffix = String::new();
    for (at, word) in words.iter().enumerate() {
        if let Some(given) = word.strip_prefix("--suffix") {
            suffix =
                given.strip_prefix('=').map_or_else(|| words.get(at + 1).cloned().unwrap_or_default(), str::to_owned);
        } else if let Some((_, rest)) = word.rsplit_once("XXX").filter(|_| !word.starts_with('-')) {
            rest.clone_into(&mut suffix);
        }
    }
    if suffix.contains('/') { String::new() } else { suffix }
}

/// Examines a set of characters that a filter keeps. `None` if they can form a path; otherwise whether they are only
/// letters and digits.
fn is_name_of(set: &Value) -> Option<bool> {
    let set = super::decode::characters(&set.known_text()?)?;
    let is_name = !set.is_empty() && !set.iter().any(|c| c.is_whitespace() || "/.~-".contains(*c));
    is_name.then(|| set.iter().all(char::is_ascii_alphanumeric))
}

/// Reports whether the output is a time without a dash, a dot or a colon.
fn is_plain_number(words: &[&Value]) -> bool {
    let marks = ["-", ".", ":", "%F", "%T", "%R"];
    let form = words.last().and_then(|word| word.known_text());
    form.is_some_and(|form| form.starts_with('+') && !marks.iter().any(|mark| form.contains(mark)))
}

/// Returns the files whose content is printed unchanged, if all are known.
fn files_of(state: &State, args: &[Field]) -> Option<Vec<String>> {
    let is_file = |path: &str| !path.starts_with('-') && !path.starts_with("/dev/") && !path.starts_with("/proc/");
    let path = |field: &Field| field.value.known_text().filter(|path| is_file(path)).and_then(|path| state.path(&path));
    args.iter().map(path).collect()
}
