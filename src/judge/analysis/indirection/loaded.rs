//! Code that a program reads beside its script, or by a name that is no file's: modules, preloads, settings that are
//! commands.

use super::{Ran, is_among};
use crate::judge::analysis::act::{Operand, Taint, Value};
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::enclosing::Frame;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::marked::Marked;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::redirect::absolute;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::streams::Stream;
use crate::judge::analysis::walk::Walker;
use crate::judge::syntax::tree::Span;

/// Options that name a file of code, by program, with the language and what the name may leave out.
const PRELOADS: [(&str, &str, &str, &[&str]); 6] = [
    (
        "node bun ts-node tsx",
        "-r --require --import --loader --experimental-loader",
        "js",
        &["", ".js", ".cjs", "/index.js"],
    ),
    ("ruby jruby", "-r", "ruby", &["", ".rb"]),
    ("awk gawk", "-i", "awk", &["", ".awk"]),
    ("nvim", "-l", "lua", &[""]),
    ("vim vi gvim nvim", "-u", "ex", &[""]),
    ("R Rscript", "-f", "other", &[""]),
];

/// Modules of Python that read code from standard input.
const CONSOLES: [&str; 4] = ["code", "asyncio", "IPython", "ptpython"];

/// Modules of Python that run the script, or with `runpy` the module, that they are given.
const RUNNERS: [&str; 14] = [
    "cProfile",
    "coverage",
    "debugpy",
    "kernprof",
    "line_profiler",
    "memory_profiler",
    "pdb",
    "profile",
    "pyinstrument",
    "runpy",
    "scalene",
    "trace",
    "tracemalloc",
    "viztracer",
];

/// The most lines of a file of settings that are read.
const MAX_SETTINGS: usize = 256;

impl Walker<'_> {
    /// Walks what a program loads.
    #[inline(never)]
    pub(super) fn loads(&mut self, state: &State, frame: &Frame, ran: Ran<'_>) {
        let Ran { name, reading, args, span } = ran;
        for (names, options, language, ends) in PRELOADS.iter().filter(|_| !reading.flags.is_empty()) {
            if !is_among(names, name) {
                continue;
            }
            let given = reading.flags.iter().filter(|flag| options.split(' ').any(|option| option == flag.name));
            for value in given.filter_map(|flag| flag.value.as_ref()) {
                self.code_named(state, frame, language, value, ends, span);
            }
        }
        match name {
            "mongosh" | "mongo" => {
                let scripts = reading.operands.iter().filter(|operand| operand.value.rough().ends_with(".js"));
                for script in scripts {
                    self.code_named(state, frame, "mongo", &script.value, &[""], span);
                }
            }
            "vim" | "vi" | "nvim" => {
                let has = |name: &str| reading.flags.iter().any(|flag| flag.name == name);
                if has("-es") || has("-Es") || (has("-e") || has("-E")) && has("-s") {
                    self.code_on_stdin(state, frame, "ex", span);
                }
            }
            "tmux" => {
                let file = reading.flags.iter().find(|flag| flag.name == "-f").and_then(|flag| flag.value.clone());
                let sourced = reading.sub.first().is_some_and(|sub| sub == "source-file");
                let operands = reading.operands.iter().filter(|_| sourced).map(|operand| operand.value.clone());
                for file in file.into_iter().chain(operands) {
                    self.settings(state, frame, name, &file, span, |line| Some(format!("tmux {line}")));
                }
            }
            "screen" => {
                let file = reading.flags.iter().find(|flag| flag.name == "-c").and_then(|flag| flag.value.clone());
                let runs = |line: &str| match line.split_whitespace().next()? {
                    "screen" => Some(line.to_owned()),
                    // What follows may say first which descriptors are whose.
                    "exec" => {
                        Some(line.trim_start_matches("exec").trim_start_matches([' ', '.', '!', ':', '|']).to_owned())
                    }
                    "backtick" => Some(line.split_whitespace().skip(4).collect::<Vec<_>>().join(" ")),
                    _ => None,
                };
                if let Some(file) = file {
                    self.settings(state, frame, name, &file, span, runs);
                }
            }
            _ if name.starts_with("python") || name.starts_with("pypy") => {
                self.python_module(state, frame, args, span);
            }
            _ => {}
        }
    }

    /// `python -m module …`
    fn python_module(&mut self, state: &State, frame: &Frame, args: &[Field], span: Span) {
        let known: Vec<Option<String>> = args.iter().map(|field| field.value.known_text()).collect();
        let Some(at) = known.iter().position(|word| word.as_deref().is_some_and(|word| word.starts_with("-m"))) else {
            return;
        };
        let attached = known[at].as_deref().and_then(|word| word.strip_prefix("-m")).filter(|name| !name.is_empty());
        let behind = at + 1 + usize::from(attached.is_none());
        let Some(module) = attached.or_else(|| known.get(at + 1)?.as_deref()) else { return };
        if CONSOLES.contains(&module) {
            self.code_on_stdin(state, frame, "python", span);
            return;
        }
        let rest = args.get(behind..).unwrap_or_default();
        let mut named = None;
        if RUNNERS.contains(&module) {
            // Options may have values; a script is known by its name.
            let is_script = |field: &&Field| field.value.rough().ends_with(".py");
            if let Some(script) = rest.iter().find(is_script) {
                self.code_named(state, frame, "python", &script.value, &[""], span);
                return;
            }
            named = rest.iter().find(|field| !field.value.leading().starts_with('-')).map(|field| field.value.clone());
        }
        let module = named.unwrap_or_else(|| Value::text(module));
        let Some(name) = module.known_text().filter(|name| self.catalog.program(name).is_none()) else { return };
        let path = Value::text(name.replace('.', "/"));
        self.code_named(state, frame, "python", &path, &[".py", "/__main__.py"], span);
    }

    /// Code in a file, by a name that may leave its end out.
    pub(super) fn code_named(
        &mut self,
        state: &State,
        frame: &Frame,
        language: &str,
        name: &Value,
        ends: &[&str],
        span: Span,
    ) {
        for end in ends {
            let mut file = name.clone();
            file.push_text(end);
            if let Some(text) = self.content_of(state, &file) {
                self.code_text(state, frame, language, &text, span);
                return;
            }
            let path = file.known().and_then(|path| absolute(state, &path));
            let copied = |path: &str| self.files.get(path).is_some_and(|file| !file.copies.is_empty());
            let made =
                path.as_deref().is_some_and(|path| self.is_fetched(path) || self.is_unpacked(path) || copied(path));
            let there =
                || path.as_deref().is_some_and(|path| matches!(self.inquiry.file(path), Some(FileFacts::Text { .. })));
            if made || there() {
                self.code_file(state, frame, language, &Operand { value: file, span }, span);
                return;
            }
        }
    }

    /// Code that comes in on standard input, where anything does.
    fn code_on_stdin(&mut self, state: &State, frame: &Frame, language: &str, span: Span) {
        match &state.streams.stdin {
            Stream::Inherited | Stream::Nothing => {}
            Stream::File(operand, _) if self.content_of(state, &operand.value).is_none() => {
                let operand = Operand::clone(operand);
                self.code_file(state, frame, language, &operand, span);
            }
            _ => {
                let text = self.stdin_of(state).0;
                self.code_text(state, frame, language, &text, span);
            }
        }
    }

    fn code_text(&mut self, state: &State, frame: &Frame, language: &str, text: &Value, span: Span) {
        let taint = text.taint();
        if taint.has(Taint::FETCHED) || taint.has(Taint::DECODED) {
            let detail = format!("{language} code that is fetched or decoded in this line is run");
            self.opaque(frame.fetched_code(), detail, span);
            return;
        }
        self.foreign(state, frame, None, language, text, span);
    }

    /// A file of settings whose lines are commands of the program, as far as `runs` says which.
    fn settings(
        &mut self,
        state: &State,
        frame: &Frame,
        name: &str,
        file: &Value,
        span: Span,
        runs: impl Fn(&str) -> Option<String>,
    ) {
        let Some(told) = self.told(state, file, span) else { return };
        let text = Marked::new(&told);
        let called = format!("settings {}", file.rough());
        let Some(inner) = self.definition(frame, name, called, span) else { return };
        let inner = within(&inner, name);
        for line in text
            .text()
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .take(MAX_SETTINGS)
        {
            if let Some(command) = runs(line) {
                self.read_value(&mut state.child(&[]), &inner, &text.value(&command), span);
            }
        }
    }
}
