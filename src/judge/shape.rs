//! The shape of a command: the command as it was typed, with a mark for each file that may be another file. It is what
//! a shape grant covers.
//!
//! Only a path may vary that the description of the program, a redirection or `@` marks as a file, and that no rule
//! treats specially, such as a secret. Everything else stays as it was typed: options and their values, hosts, URLs,
//! packages, references and services. The acts of a script that the command runs are not part of its shape. Instead, a
//! shape grant is bound to the bytes of the script.

use std::fmt::Write as _;

use super::analysis::act::{Act, Effect, Facts, Input, Operand, Source, Value, Verb};
use super::analysis::inquiry::Inquiry;
use super::analysis::paths::Placer;
use super::analysis::question::PathKind;
use super::invocation::{Digest, Invocation, Request};
use super::path_class::PathClass;
use super::risk::{Risk, Tier};
use super::rules::catalog::Catalog;
use super::rules::model::{Wrap, WrapFrom};
use super::sort;
use super::syntax::tree::Span;

/// The mark that stands for a file that may be another file.
pub const PATH: &str = "<path>";

/// What separates the parts of a shape that were not typed.
pub const SEPARATOR: &str = " ; ";

/// The classes of the paths that stay as they were typed, because a path beside them means something else.
const FIXED: &[PathClass] = &[
    PathClass::Root,
    PathClass::System,
    PathClass::Device,
    PathClass::Sink,
    PathClass::Kernel,
    PathClass::Home,
    PathClass::HomeUnnamed,
    PathClass::Secret,
    PathClass::Startup,
    PathClass::Persistence,
    PathClass::Guard,
    PathClass::Agent,
    PathClass::ProjectRoot,
    PathClass::ProjectParent,
    PathClass::Repository,
    PathClass::Remote,
    PathClass::Dynamic,
    PathClass::Glob,
];

/// The largest number of arguments and operands in a command with a shape.
const MOST_WORDS: usize = 512;

/// The shape of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The command as it was typed, with [`PATH`] for each file that may vary. For a tool, its name and the names of
    /// its inputs, followed by the hosts, commands and fixed paths in them.
    pub text: String,
    /// The programs, subcommands and options in canonical spelling, if the command contains nothing else than files
    /// that may vary. Grants of earlier versions and of configuration files may have this form.
    pub names: Option<String>,
    /// The files that may vary, in the order of the command.
    pub files: Vec<ShapeFile>,
}

/// A file that may vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeFile {
    /// Its position in the command as displayed, with its quotes.
    pub span: Span,
    /// Its path with links resolved.
    pub path: String,
}

impl Shape {
    /// Returns the deepest directory that contains all files that may vary; `None` if there are none.
    #[must_use]
    pub fn directory(&self) -> Option<String> {
        let mut above = self.files.iter().filter_map(|file| Some(file.path.rsplit_once('/')?.0.to_owned()));
        let first = above.next()?;
        Some(above.fold(first, |one, other| common(&one, &other)))
    }
}

/// Returns the deepest directory that contains two absolute directories or is one of them.
#[must_use]
pub fn common(one: &str, other: &str) -> String {
    let names = |path| str::split(path, '/').filter(|name| !name.is_empty());
    let both = names(one).zip(names(other)).take_while(|(one, other)| one == other);
    let path: String = both.flat_map(|(name, _)| ["/", name]).collect();
    if path.is_empty() { "/".to_owned() } else { path }
}

/// Reports whether any grant may cover the command. A grant never covers tier 4, a command with a part that could not
/// be analysed, a shell, an interpreter or a wrapper.
#[must_use]
pub fn may_grant(facts: &Facts, risk: &Risk, catalog: &Catalog) -> bool {
    // Options that are not given do not make the program a wrapper: with them, the inner command is an act with
    // wrappers.
    let wraps = |wraps: &[Wrap]| wraps.iter().any(|wrap| wrap.from == WrapFrom::Operands && wrap.when.is_empty());
    let runs_others = |act: &Act| {
        let Verb::Program { name, .. } = &act.verb else { return false };
        catalog.program(name).is_some_and(|program| {
            let mut subs = program.subs.naming(&act.sub);
            wraps(&program.wraps) || program.runs.is_some() || subs.any(|sub| wraps(&sub.wraps) || sub.runs.is_some())
        })
    };
    risk.tier < Tier::Critical
        && facts.opaque.is_empty()
        && facts.acts.iter().all(|act| act.wrappers.is_empty() && act.code.is_none())
        && !programs(facts).any(runs_others)
}

fn programs(facts: &Facts) -> impl Iterator<Item = &Act> {
    facts.acts.iter().filter(|act| act.parent.is_none() && matches!(act.verb, Verb::Program { .. }))
}

/// Returns the shape of a command that a grant may cover, if a shape grant is possible.
#[must_use]
pub fn of(invocation: &Invocation, facts: &Facts, catalog: &Catalog, inquiry: &Inquiry<'_>) -> Option<Shape> {
    let is_bound = |act: &Act| matches!(&act.source, Source::Script(path) if facts.scripts.contains_key(path));
    programs(facts).find(|act| !is_bound(act))?;
    let reader = Reader { placer: &inquiry.placer(invocation), catalog, inquiry };
    if matches!(invocation.request, Request::Tool(_)) {
        return Some(Shape { text: reader.tool(facts), ..Shape::default() });
    }
    let command = invocation.display();
    // A command that contains the mark could be taken for the shape of another one, and the positions in a text that is
    // no UTF-8 are others.
    if command.contains([char::REPLACEMENT_CHARACTER]) || command.contains(PATH) {
        return None;
    }
    if facts.acts.iter().map(|act| act.args.len() + act.operands.len()).sum::<usize>() > MOST_WORDS {
        return None;
    }
    let files = reader.files(facts, &command);
    let mut text = String::with_capacity(command.len());
    let mut rest = command.as_str();
    for (_, file) in files.iter().rev() {
        let (before, behind) = (rest.get(..file.span.start as usize)?, rest.get(file.span.end as usize..)?);
        text.insert_str(0, behind);
        text.insert_str(0, PATH);
        rest = before;
    }
    text.insert_str(0, rest);
    let mut text = text.trim().to_owned();
    let unwritten: Vec<String> =
        programs(facts).filter(|act| !is_bound(act)).flat_map(|act| untyped(act, &command)).collect();
    let names = if unwritten.is_empty() { canonical(facts, &files) } else { None };
    for word in unwritten {
        text.push_str(SEPARATOR);
        text.push_str(&word);
    }
    Some(Shape { text, names, files: files.into_iter().map(|(_, file)| file).collect() })
}

/// Returns what a program runs with that is not in the text of the command, but in a definition (an alias, a function,
/// a target of make), which may change without the command.
fn untyped(act: &Act, command: &str) -> Vec<String> {
    if act.source != Source::Command {
        return vec![whole(act)];
    }
    let words = std::iter::once(act.verb.key().into()).chain(act.args.iter().map(Value::rough));
    words.filter(|word| !command.contains(&**word)).map(std::borrow::Cow::into_owned).collect()
}

/// Returns the programs, subcommands and options of a command, if the rest are files that may vary.
fn canonical(facts: &Facts, files: &[(Span, ShapeFile)]) -> Option<String> {
    let varies = |span: Span| files.iter().any(|(whole, _)| *whole == span);
    let is_plain = |act: &Act| {
        act.source == Source::Command
            && act.env.is_empty()
            && matches!(act.input, Input::Inherited | Input::File(_))
            && act.operands.iter().all(|operand| varies(operand.span))
            && act.flags.iter().all(|flag| flag.value.is_none() || varies(flag.span))
    };
    if !facts.acts.iter().all(is_plain) {
        return None;
    }
    let shapes: Vec<String> = programs(facts)
        .map(|act| {
            let mut flags: Vec<&str> = act.flags.iter().map(|flag| flag.name.as_str()).collect();
            sort::sort(&mut flags);
            flags.dedup();
            std::iter::once(act.verb.key())
                .chain(act.sub.iter().map(String::as_str))
                .chain(flags)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    Some(shapes.join(SEPARATOR))
}

/// Returns a program with all its arguments.
fn whole(act: &Act) -> String {
    let mut text = act.verb.key().to_owned();
    act.args.iter().for_each(|arg| _ = write!(text, " {}", arg.rough()));
    text
}

/// What finding the files of a command needs.
struct Reader<'a> {
    placer: &'a Placer,
    catalog: &'a Catalog,
    inquiry: &'a Inquiry<'a>,
}

impl Reader<'_> {
    /// Returns the files that may vary, each with the position of its whole argument, in the order of the command.
    fn files(&self, facts: &Facts, command: &str) -> Vec<(Span, ShapeFile)> {
        let effects = || facts.acts.iter().filter(|act| matches!(act.verb, Verb::Effect(_)));
        let operands = || effects().flat_map(|act| act.operands.iter().map(move |operand| (act, operand)));
        let mut files: Vec<(Span, ShapeFile)> = Vec::new();
        for (act, operand) in operands() {
            let is_known = files.iter().any(|(span, _)| *span == operand.span);
            if !is_known && let Some(file) = self.file(act, operand, command) {
                files.push((operand.span, file));
            }
        }
        // One argument may be several things, such as a host and a file, and is then none that may vary.
        files.retain(|(span, file)| {
            operands()
                .filter(|(_, operand)| operand.span == *span)
                .all(|(act, operand)| self.file(act, operand, command).is_some_and(|other| other.span == file.span))
        });
        sort::sort_by_key(&mut files, |(_, file)| file.span.start);
        let mut end = 0;
        files.retain(|(_, file)| {
            let is_apart = file.span.start >= end;
            end = end.max(file.span.end);
            is_apart
        });
        files
    }

    /// Returns the file that the operand of an effect is, if it may vary.
    fn file(&self, act: &Act, operand: &Operand, command: &str) -> Option<ShapeFile> {
        if act.source != Source::Command {
            return None;
        }
        let known = operand.value.known()?;
        let path = match act.verb {
            Verb::Effect(Effect::Send) => sent_file(&known)?,
            Verb::Effect(Effect::Fetch | Effect::Execute) | Verb::Program { .. } => return None,
            Verb::Effect(_) => &*known,
        };
        let span = position(command, operand.span, path)?;
        let is_sent = act.verb == Verb::Effect(Effect::Send);
        let path = self.resolved(act, &Value::text(path), is_sent)?;
        Some(ShapeFile { span, path })
    }

    /// Returns the path of a file that may vary, with links resolved.
    fn resolved(&self, act: &Act, path: &Value, exists: bool) -> Option<String> {
        let cwd = act.cwd.as_ref();
        if path.rough().contains("://") || self.is_fixed(act, path) {
            return None;
        }
        let facts = self.inquiry.path(&self.placer.path(path, cwd)?.exact()?)?;
        (!exists || facts.kind == PathKind::File).then(|| facts.canonical.clone())
    }

    fn is_fixed(&self, act: &Act, path: &Value) -> bool {
        self.placer.classes(path, act.cwd.as_ref(), self.catalog, self.inquiry).has_any(FIXED)
    }

    /// Returns the shape of a tool call: its name and inputs, and what in the inputs does not vary.
    fn tool(&self, facts: &Facts) -> String {
        let mut parts: Vec<String> = Vec::new();
        for act in &facts.acts {
            match act.verb {
                Verb::Program { .. } if parts.is_empty() => {
                    let mut inputs: Vec<&str> = act.flags.iter().map(|flag| flag.name.as_str()).collect();
                    sort::sort(&mut inputs);
                    inputs.insert(0, act.verb.key());
                    parts.push(inputs.join(" "));
                }
                Verb::Program { .. } => parts.push(whole(act)),
                Verb::Effect(effect) => {
                    let is_host = matches!(effect, Effect::Send | Effect::Fetch);
                    let stays = |operand: &&Operand| is_host || self.is_fixed(act, &operand.value);
                    let fixed = act.operands.iter().filter(stays);
                    parts.extend(fixed.map(|operand| operand.value.rough().into_owned()));
                }
            }
        }
        parts.join(SEPARATOR)
    }
}

/// Returns the path in data to send that is written as `@file` or `name=@file`. Some programs read several files from a
/// list, or options behind the path.
fn sent_file(value: &str) -> Option<&str> {
    let (name, path) = value.split_once('@')?;
    ((name.is_empty() || name.ends_with('=')) && !path.contains([',', ';'])).then_some(path)
}

/// Returns the position of a path, with its quotes, at the end of the argument at `whole`. `None`: it is spelled in
/// another way there.
fn position(command: &str, whole: Span, path: &str) -> Option<Span> {
    let argument = command.get(whole.start as usize..whole.end as usize)?;
    let unquoted = argument.strip_suffix(['\'', '"']).unwrap_or(argument);
    let quote = &argument[unquoted.len()..];
    let before = unquoted.strip_suffix(path).filter(|_| !path.is_empty())?;
    let (before, end) = match before.strip_suffix(quote) {
        Some(before) => (before, whole.end),
        None if before.ends_with(['@', '=']) => (before, whole.end.checked_sub(1)?),
        None => return None,
    };
    let begins = before.is_empty() || before.ends_with([' ', '\t', '=', '@', '<', '>']);
    let start = whole.start.checked_add(u32::try_from(before.len()).ok()?)?;
    begins.then(|| Span::new(start, end))
}

/// Returns the files to which a shape grant is bound, each with the digest of its bytes.
#[must_use]
pub fn bound_to(facts: &Facts) -> Vec<String> {
    facts.scripts.iter().map(|(path, digest)| format!("{path}={}", Digest(*digest))).collect()
}

#[cfg(test)]
mod tests;
