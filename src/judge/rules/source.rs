//! Reads and checks pattern files, which people write in TOML.
//!
//! A file is used only if it has no errors. Each error is reported with the file, the line, the key, the cause and a
//! remedy. The build script reads the built-in files with this module too, so it depends only on modules of the build
//! script.

mod body;
mod check;
mod programs;
mod rules;
mod shape;
mod spelling;
mod tools;

pub(super) use rules::{WRITE, WRITE_STANDS_FOR};

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use toml::de::DeTable;

use self::spelling::expand_braces;
use super::blob::Contents;
use super::expression::compile;
use super::model::{HostClass, HostList, PackageList, PathList, Program, Support};
use super::problem::Problem;
use crate::judge::document::{self, Fault, Located};
use crate::judge::path_class::PathClass;

/// The layers below a file.
pub trait LayersBelow {
    /// Returns the description of a program.
    fn program(&self, name: &str) -> Option<Cow<'_, Program>>;
    /// Reports whether a rule with this ID exists already.
    fn has_rule(&self, id: &str) -> bool;
    /// Reports whether this layer may not change the description of the program.
    fn closed(&self, name: &str) -> bool;
    /// Reports whether this layer may loosen anything. A project may not.
    fn may_loosen(&self) -> bool;
    /// Reports whether files of this layer may contain support commands. guard compares every command that it would ask
    /// about with them, so users add theirs in the configuration.
    fn may_support(&self) -> bool {
        false
    }
}

/// No layers, for the built-in files.
#[derive(Clone, Copy, Debug)]
pub struct NoLayers;

impl LayersBelow for NoLayers {
    fn program(&self, _: &str) -> Option<Cow<'_, Program>> {
        None
    }

    fn has_rule(&self, _: &str) -> bool {
        false
    }

    fn closed(&self, _: &str) -> bool {
        false
    }

    fn may_loosen(&self) -> bool {
        true
    }

    fn may_support(&self) -> bool {
        true
    }
}

/// Reads a file.
///
/// # Errors
/// All errors in the file.
pub fn read(path: &str, text: &str, known: &dyn LayersBelow) -> Result<Contents, Vec<Problem>> {
    read_all(&[(path, text)], known)
}

/// Reads files, which may refer to each other's programs. Each is a path, for messages, and a text.
///
/// # Errors
/// All errors in all files.
pub fn read_all(files: &[(&str, &str)], known: &dyn LayersBelow) -> Result<Contents, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut shapes = Vec::new();
    for (path, text) in files {
        let place = SourceFile { file: path, text };
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                problems.push(place.unreadable(&error));
                continue;
            }
        };
        match document::read(&table, shape::File::read) {
            Ok(shape) => shapes.push((place, shape)),
            Err(faults) => problems.extend(faults.iter().map(|fault| place.faulty(fault))),
        }
    }
    let mut contents = Contents::default();
    let mut vocabulary = Vocabulary { own: HashMap::new(), known };
    for (place, shape) in &shapes {
        for program in &shape.program {
            match programs::describe(*place, program, &vocabulary) {
                Ok(described) => {
                    for program in described {
                        let number = contents.programs.len();
                        vocabulary.own.extend(program.names.iter().map(|name| (name.clone(), number)));
                        contents.programs.push(program);
                    }
                }
                Err(found) => problems.extend(found),
            }
        }
    }
    for (place, shape) in &shapes {
        for load in &shape.loads {
            let added = programs::add_loads(*place, load, &mut vocabulary, &mut contents.programs);
            problems.extend(added.err());
        }
        for fetch in &shape.fetches {
            programs::add_fetches(fetch, &mut vocabulary, &mut contents.programs);
        }
        for unpack in &shape.unpacks {
            programs::add_unpacks(unpack, &mut vocabulary, &mut contents.programs);
        }
        for build in &shape.builds {
            let added = programs::add_builds(*place, build, &mut vocabulary, &mut contents.programs);
            problems.extend(added.err());
        }
        for console in &shape.consoles {
            programs::add_consoles(console, &mut vocabulary, &mut contents.programs);
        }
        for reads in &shape.reads {
            let added = programs::add_reads(*place, reads, &mut vocabulary, &mut contents.programs);
            problems.extend(added.err());
        }
    }
    let mut ids = HashMap::new();
    for (place, shape) in &shapes {
        if shape.about.trim().is_empty() {
            problems.push(place.problem(&shape.family.span(), "about", "it is empty", "say what the family is about"));
        }
        problems.extend(rules::faulty_exceptions(*place, shape));
        for rule in &shape.rule {
            let id = rule.get_ref().id.get_ref();
            if let Some((first, span)) = ids.insert(id, (place, rule.span())) {
                problems.push(place.problem(
                    &rule.get_ref().id.span(),
                    &format!("rule {id}: id"),
                    &format!("there is one already ({})", first.at(&span)),
                    "give it another name",
                ));
            }
            match rules::rule(*place, shape, rule.get_ref(), &contents.programs, &vocabulary) {
                Ok((rule, explanation, examples)) => {
                    contents.rules.push(rule);
                    contents.explanations.push(explanation);
                    contents.examples.push(examples);
                }
                Err(found) => problems.extend(found),
            }
        }
        for tool in &shape.tool {
            let id = tool.get_ref().id.get_ref();
            if let Some((first, span)) = ids.insert(id, (place, tool.span())) {
                problems.push(place.problem(
                    &tool.get_ref().id.span(),
                    &format!("tool {id}: id"),
                    &format!("there is one already ({})", first.at(&span)),
                    "give it another name",
                ));
            }
            match tools::tool(*place, shape.family.get_ref(), tool.get_ref(), known) {
                Ok((tool, examples)) => {
                    contents.tools.push(tool);
                    contents.examples.push(examples);
                }
                Err(found) => problems.extend(found),
            }
        }
        for list in &shape.paths {
            match paths(*place, list.get_ref(), known) {
                Ok(list) => contents.paths.push(list),
                Err(found) => problems.extend(found),
            }
        }
        for list in &shape.hosts {
            match hosts(*place, list.get_ref(), known) {
                Ok(list) => contents.hosts.push(list),
                Err(found) => problems.extend(found),
            }
        }
        for entry in &shape.support {
            match support(*place, entry, known) {
                Ok(entry) => contents.support.push(entry),
                Err(problem) => problems.push(problem),
            }
        }
        for list in &shape.packages {
            match packages(*place, list.get_ref(), known) {
                Ok(list) => contents.packages.push(list),
                Err(problem) => problems.push(problem),
            }
        }
    }
    if problems.is_empty() { Ok(contents) } else { Err(problems) }
}

/// The programs to which a file can refer.
struct Vocabulary<'a> {
    /// The index of each program that was read so far, by name.
    own: HashMap<String, usize>,
    known: &'a dyn LayersBelow,
}

impl Vocabulary<'_> {
    /// Returns the description of `name`, from these files or from the layers below.
    fn program<'p>(&'p self, name: &str, own: &'p [Program]) -> Option<Cow<'p, Program>> {
        let by_glob = || {
            let covers = |pattern: &&String| super::glob::is_glob(pattern) && super::glob::text(pattern, name);
            own.iter().find(|program| program.names.iter().any(|pattern| covers(&pattern)))
        };
        match self.own.get(name) {
            Some(number) => own.get(*number).map(Cow::Borrowed),
            None => by_glob().map(Cow::Borrowed).or_else(|| self.known.program(name)),
        }
    }
}

/// A file that is being read.
#[derive(Clone, Copy)]
struct SourceFile<'a> {
    file: &'a str,
    text: &'a str,
}

impl SourceFile<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
    }

    fn at(&self, span: &Range<usize>) -> String {
        format!("{}:{}", self.file, self.line(span.start))
    }

    fn problem(&self, span: &Range<usize>, place: &str, what: &str, remedy: &str) -> Problem {
        Problem {
            file: self.file.to_owned(),
            line: self.line(span.start),
            place: place.to_owned(),
            what: what.to_owned(),
            remedy: remedy.to_owned(),
        }
    }

    /// Converts an error of the TOML parser.
    fn unreadable(&self, error: &toml::de::Error) -> Problem {
        let offset = error.span().map_or(0, |span| span.start);
        self.problem(&(offset..offset), "", &error.message().replace('\n', ", "), "see guard-patterns(5)")
    }

    /// Converts an error in the keys or the types of their values.
    fn faulty(&self, fault: &Fault) -> Problem {
        let remedy = if fault.remedy.is_empty() { "see guard-patterns(5)" } else { &fault.remedy };
        self.problem(&fault.span, &fault.key, &fault.what, remedy)
    }

    fn check_regex(&self, span: &Range<usize>, place: &str, regex: &str) -> Option<Problem> {
        let error = compile(regex).err()?;
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let what = format!("`{regex}` is no regular expression: {last}");
        Some(self.problem(
            span,
            place,
            &what,
            "the syntax is that of the regex crate, over bytes: no look-around, no back-references, and letters beyond \
             ASCII neither in a class nor under (?i)",
        ))
    }
}

fn support(
    place: SourceFile<'_>,
    entry: &Located<shape::SupportShape>,
    known: &dyn LayersBelow,
) -> Result<Support, Problem> {
    let shape = entry.get_ref();
    let problem = |what: &str, remedy: &str| place.problem(&entry.span(), "support", what, remedy);
    if !known.may_support() {
        return Err(problem("support commands are named in config.toml", "move it there, as [[support]]"));
    }
    let argv = shape.argv.get_ref().clone();
    if argv.iter().any(|word| word.trim().is_empty()) || shape.why.get_ref().trim().is_empty() {
        return Err(problem("a word of it, or why, is empty", "write the exact words, and what it helps with"));
    }
    Ok(Support { argv, why: shape.why.get_ref().clone() })
}

fn paths(place: SourceFile<'_>, list: &shape::PathsShape, known: &dyn LayersBelow) -> Result<PathList, Vec<Problem>> {
    const LISTED: [PathClass; 13] = [
        PathClass::System,
        PathClass::SystemTop,
        PathClass::Device,
        PathClass::Sink,
        PathClass::Kernel,
        PathClass::Secret,
        PathClass::Startup,
        PathClass::Persistence,
        PathClass::Guard,
        PathClass::Agent,
        PathClass::State,
        PathClass::Backup,
        PathClass::Log,
    ];
    let class = *list.class.get_ref();
    let mut problems = Vec::new();
    let loosens = matches!(class, PathClass::Sink | PathClass::Generated | PathClass::Temp | PathClass::Log);
    if loosens && !known.may_loosen() {
        problems.push(place.problem(
            &list.class.span(),
            "paths: class",
            "a project's pattern file may only tighten, and this class loosens",
            "move it to your own pattern files",
        ));
    }
    if !LISTED.contains(&class) && !matches!(class, PathClass::Generated | PathClass::Temp) {
        problems.push(place.problem(
            &list.class.span(),
            "paths: class",
            "paths of this class are worked out, not listed",
            "list secret, startup, persistence, generated, state, backup, log, agent, guard, system, device, kernel, \
             sink or temp",
        ));
    }
    if list.globs.get_ref().is_empty() {
        problems.push(place.problem(&list.globs.span(), "paths: globs", "it is empty", "name a glob"));
    }
    for pattern in list.globs.get_ref().iter().chain(&list.except) {
        let below_home = pattern.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        if below_home.unwrap_or(pattern).trim_matches(['*', '/']).is_empty() {
            problems.push(place.problem(
                &list.globs.span(),
                "paths: globs",
                &format!("`{pattern}` covers everything"),
                "name a directory, a file or an extension",
            ));
        }
    }
    let expand = |globs: &[String]| globs.iter().flat_map(|glob| expand_braces(glob)).collect();
    if problems.is_empty() {
        Ok(PathList { class, globs: expand(list.globs.get_ref()), except: expand(&list.except) })
    } else {
        Err(problems)
    }
}

fn hosts(place: SourceFile<'_>, list: &shape::HostsShape, known: &dyn LayersBelow) -> Result<HostList, Vec<Problem>> {
    let class = *list.class.get_ref();
    let mut problems = Vec::new();
    if matches!(class, HostClass::Local | HostClass::Known | HostClass::Near) && !known.may_loosen() {
        problems.push(place.problem(
            &list.class.span(),
            "hosts: class",
            "a project's pattern file may only tighten, and this class loosens",
            "move it to your own pattern files or to `known_hosts` in your configuration",
        ));
    }
    if class == HostClass::None {
        problems.push(place.problem(
            &list.class.span(),
            "hosts: class",
            "no host has it",
            "use local, known, unknown, metadata or drop",
        ));
    }
    for name in list.names.get_ref() {
        let rest = name.strip_prefix("*.").unwrap_or(name);
        if rest.is_empty() || rest.contains(['*', '/', ' ']) {
            problems.push(place.problem(
                &list.names.span(),
                "hosts: names",
                &format!("`{name}` is no host name"),
                "write `example.org`, or `*.example.org` for all below it",
            ));
        }
    }
    if problems.is_empty() { Ok(HostList { class, names: list.names.get_ref().clone() }) } else { Err(problems) }
}

fn packages(
    place: SourceFile<'_>,
    list: &shape::PackagesShape,
    known: &dyn LayersBelow,
) -> Result<PackageList, Problem> {
    let (index, span) = (list.index.get_ref(), list.index.span());
    if !known.may_loosen() {
        return Err(place.problem(
            &span,
            "packages: index",
            "a project's pattern file may only tighten, and a well-known package loosens",
            "move it to your own pattern files",
        ));
    }
    if index.is_empty() || !index.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-') {
        return Err(place.problem(&span, "packages: index", &format!("`{index}` is no index"), "write `npm`, `pypi`"));
    }
    for name in &list.names {
        let plain = name.strip_suffix("/*").or_else(|| name.strip_suffix(".*")).unwrap_or(name);
        if plain.is_empty() || plain.contains(['*', ' ', ':']) {
            let what = format!("`{name}` is no package");
            return Err(place.problem(
                &span,
                "packages: names",
                &what,
                "write `left-pad`, or `@ours/*` or `Ours.*` for a scope",
            ));
        }
    }
    if let Some(mark) = list.marks.iter().find(|mark| mark.len() < 2 || mark.find(':') != Some(mark.len() - 1)) {
        let what = format!("`{mark}` is no mark");
        return Err(place.problem(&span, "packages: marks", &what, "write a word and a colon: `dev:`"));
    }
    let (alike, marks, names) = (list.alike.clone(), list.marks.clone(), list.names.clone());
    Ok(PackageList { index: index.clone(), alike, marks, names })
}

/// Returns the values of a list with their positions.
fn values(list: &[Located<String>]) -> impl Iterator<Item = (&str, Range<usize>)> {
    list.iter().map(|value| (value.get_ref().as_str(), value.span()))
}
