//! The catalog: every program, rule, path list and host list that judging knows, by name.
//!
//! Making one costs nothing: the built-in files were read, checked and packed when guard was built, and
//! are looked up where they lie. A program or a rule is decoded when its name first comes up, a regular
//! expression is compiled when it is first needed, and both are then kept. A catalog of ten times the
//! size answers as fast.
//!
//! What may not enter: I/O. The files of machine, user and project come in as text.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};

pub use super::blob::Features;
use super::blob::{Blob, pack};
use super::glob;
use super::lazy::Lazy;
use super::model::{Examples, HostClass, Match, Program, Rule};
use super::problem::Problem;
use super::source::{self, REGEX_SIZE_LIMIT};
use crate::judge::facts::class::{PathClass, PathClasses};
use crate::judge::tier::{Reversibility, Tier, Weight};

static BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/patterns.bin"));
static EXAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/examples.bin"));

/// Who wrote a pattern file, least trusted last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// Part of guard.
    Builtin,
    /// `/etc/guard/patterns`.
    Machine,
    /// `~/.config/guard/patterns`.
    User,
    /// `.guard/patterns` of a project: may only tighten.
    Project,
}

impl Layer {
    /// `built-in`, `machine`, `user`, `project`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Builtin => "built-in",
            Self::Machine => "machine",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A pattern file as it was read.
#[derive(Clone, Debug)]
pub struct PatternFile {
    /// For messages.
    pub path: String,
    pub text: String,
    pub layer: Layer,
}

/// One set of packed files and what was decoded of it.
#[derive(Debug)]
struct Shelf {
    layer: Layer,
    /// The file, for those that are not built in.
    file: Option<String>,
    blob: Blob,
    programs: Lazy<Program>,
    rules: Lazy<Rule>,
    examples: Vec<Examples>,
}

impl Shelf {
    fn new(layer: Layer, file: Option<String>, bytes: Cow<'static, [u8]>, examples: Vec<Examples>) -> Self {
        let blob = Blob::new(bytes);
        let (programs, rules) = (Lazy::new(blob.program_count()), Lazy::new(blob.rule_count()));
        Self { layer, file, blob, programs, rules, examples }
    }

    fn program(&self, number: usize) -> Option<&Program> {
        self.programs.get(number, || self.blob.program(number).unwrap_or_else(|_| Program::default()))
    }

    fn rule(&self, number: usize) -> Option<&Rule> {
        self.rules.get(number, || self.blob.rule(number).unwrap_or_else(|_| unreadable()))
    }
}

/// What stands for a rule whose bytes cannot be read. The build script reads back all that it packs, so this is a
/// damaged binary: everything that would have asked for the rule is asked about.
fn unreadable() -> Rule {
    Rule {
        id: "guard.catalog".to_owned(),
        tier: Tier::High,
        weight: Weight::of_tier(Tier::High),
        reversibility: Reversibility::Irreversible,
        reason: "guard's own rules are damaged, so nothing can be said of this command.".to_owned(),
        instead: Some("install guard again".to_owned()),
        deny: false,
        yolo: false,
        notes: Vec::new(),
        when: Match { dry_run: true, ..Match::default() },
        lower: Vec::new(),
    }
}

/// What was found out by name before.
type Known<T> = RefCell<HashMap<Box<str>, T>>;

/// A shelf, and the number of a program or rule there.
type At = (usize, usize);

/// All layers together. Later layers add to earlier ones.
#[derive(Debug)]
pub struct Catalog {
    shelves: Vec<Shelf>,
    regexes: Known<Option<Regex>>,
    /// Which description a name leads to. Globs are tried once for each name.
    described: Known<Option<At>>,
    /// The rules for a verb key.
    keyed: Known<Rc<[At]>>,
}

impl Catalog {
    /// The built-in files alone.
    #[must_use]
    pub fn builtin() -> Self {
        let shelf = Shelf::new(Layer::Builtin, None, Cow::Borrowed(BUILTIN), Vec::new());
        Self {
            shelves: vec![shelf],
            regexes: RefCell::default(),
            described: RefCell::default(),
            keyed: RefCell::default(),
        }
    }

    /// The built-in files and these, which come in the order of their layers. A file with a problem is left out whole
    /// and reported; the others stay.
    #[must_use]
    pub fn with_files(files: impl IntoIterator<Item = PatternFile>) -> (Self, Vec<Problem>) {
        let mut catalog = Self::builtin();
        let problems = files.into_iter().flat_map(|file| catalog.add(&file).err().unwrap_or_default()).collect();
        (catalog, problems)
    }

    /// Reads one more file.
    ///
    /// # Errors
    /// Everything that is wrong with it; the catalog is then as it was.
    pub fn add(&mut self, file: &PatternFile) -> Result<(), Vec<Problem>> {
        let mut contents = source::read(&file.path, &file.text, &self.known(file.layer))?;
        let examples = std::mem::take(&mut contents.examples);
        let bytes = pack(&contents).map_err(|error| vec![Problem::whole_file(&file.path, &error.to_string())])?;
        self.shelves.push(Shelf::new(file.layer, Some(file.path.clone()), Cow::Owned(bytes), examples));
        self.described.borrow_mut().clear();
        self.keyed.borrow_mut().clear();
        Ok(())
    }

    fn known(&self, layer: Layer) -> impl source::Known + '_ {
        Beneath { catalog: self, layer }
    }

    /// The description of the program of this name: by exact name, else by a name glob; a later layer's first.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.described(name).map(|(_, program)| program)
    }

    fn described(&self, name: &str) -> Option<(Layer, &Program)> {
        let known = self.described.borrow().get(name).copied();
        let place = known.unwrap_or_else(|| {
            let newest = || self.shelves.iter().enumerate().rev();
            let place = newest()
                .find_map(|(at, shelf)| Some((at, shelf.blob.program_named(name)?)))
                .or_else(|| newest().find_map(|(at, shelf)| Some((at, shelf.blob.program_globbed(name)?))));
            keep(&self.described, name, place);
            place
        });
        let (at, number) = place?;
        let shelf = self.shelves.get(at)?;
        Some((shelf.layer, shelf.program(number)?))
    }

    /// The rules for this verb key (a program's name, `language:callee`, `:effect`), of all layers. `*` rules are not
    /// among them.
    pub fn rules<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Rule> + 'a {
        let known = self.keyed.borrow().get(key).cloned();
        let places = known.unwrap_or_else(|| {
            let of = |(at, shelf): (usize, &'a Shelf)| shelf.blob.rules_for(key).map(move |number| (at, number));
            let places: Rc<[_]> = self.shelves.iter().enumerate().flat_map(of).collect();
            keep(&self.keyed, key, places.clone());
            places
        });
        (0..places.len()).filter_map(move |place| {
            let (at, number) = *places.get(place)?;
            self.shelves.get(at)?.rule(number)
        })
    }

    /// The `*` rules that an act with these features could match. Harmless commands have none, and none are decoded.
    pub fn any_rules(&self, have: Features) -> impl Iterator<Item = &Rule> + '_ {
        self.shelves.iter().flat_map(move |shelf| shelf.blob.any_rules(have).filter_map(|number| shelf.rule(number)))
    }

    /// The `*` rules of last resort whose literal stands in the original text.
    pub fn text_rules<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Rule> + 'a {
        self.shelves.iter().flat_map(move |shelf| shelf.blob.text_rules(text).filter_map(|number| shelf.rule(number)))
    }

    /// The rule of this id.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.shelves.iter().find_map(|shelf| shelf.rule(shelf.blob.rule_named(id)?))
    }

    /// Where the rule of this id comes from: the layer, and the file if it is not built in.
    #[must_use]
    pub fn origin(&self, id: &str) -> Option<(Layer, Option<&str>)> {
        let shelf = self.shelves.iter().find(|shelf| shelf.blob.rule_named(id).is_some())?;
        Some((shelf.layer, shelf.file.as_deref()))
    }

    /// Every rule, layer by layer.
    pub fn all_rules(&self) -> impl Iterator<Item = &Rule> + '_ {
        self.shelves.iter().flat_map(|shelf| (0..shelf.blob.rule_count()).filter_map(|number| shelf.rule(number)))
    }

    /// Every program description, layer by layer.
    pub fn all_programs(&self) -> impl Iterator<Item = &Program> + '_ {
        self.shelves.iter().flat_map(|shelf| (0..shelf.blob.program_count()).filter_map(|number| shelf.program(number)))
    }

    /// The examples of every rule. The built-in ones are unpacked each time.
    #[must_use]
    pub fn examples(&self) -> Vec<Examples> {
        // The build script reads back what it packs.
        let unpacked = miniz_oxide::inflate::decompress_to_vec(EXAMPLES).unwrap_or_default();
        let builtin: Vec<Examples> = postcard::from_bytes(&unpacked).unwrap_or_default();
        builtin.into_iter().chain(self.shelves.iter().flat_map(|shelf| shelf.examples.iter().cloned())).collect()
    }

    /// The path lists.
    #[must_use]
    pub const fn paths(&self) -> Paths<'_> {
        Paths { catalog: self }
    }

    /// The host lists.
    #[must_use]
    pub const fn hosts(&self) -> Hosts<'_> {
        Hosts { catalog: self }
    }

    /// The compiled form of a regular expression that a rule names, kept from its first use on. `None` when it does not
    /// compile, which no checked rule's does: take it as a match.
    #[must_use]
    pub fn regex(&self, pattern: &str) -> Option<Regex> {
        if let Some(known) = self.regexes.borrow().get(pattern) {
            return known.clone();
        }
        let regex = RegexBuilder::new(pattern).size_limit(REGEX_SIZE_LIMIT).build().ok();
        keep(&self.regexes, pattern, regex.clone());
        regex
    }
}

/// Remembers what a name came to. A long batch of names that are all different does not fill the memory.
fn keep<T>(known: &Known<T>, name: &str, value: T) {
    const MOST: usize = 4096;
    let mut known = known.borrow_mut();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(name.into(), value);
}

/// What a file of one layer stands on.
struct Beneath<'a> {
    catalog: &'a Catalog,
    layer: Layer,
}

impl source::Known for Beneath<'_> {
    fn program(&self, name: &str) -> Option<Cow<'_, Program>> {
        self.catalog.program(name).map(Cow::Borrowed)
    }

    fn has_rule(&self, id: &str) -> bool {
        self.catalog.origin(id).is_some()
    }

    fn closed(&self, name: &str) -> bool {
        self.layer > Layer::Machine && self.catalog.described(name).is_some_and(|(layer, _)| layer == Layer::Machine)
    }

    fn may_loosen(&self) -> bool {
        self.layer != Layer::Project
    }
}

/// The path lists of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Paths<'a> {
    catalog: &'a Catalog,
}

impl Paths<'_> {
    /// The classes that the lists give to an absolute, lexically normal path. `~/…` globs hold below each of `homes`,
    /// below `/home/NAME`, `/Users/NAME` and `/root`, and in a path that itself begins with `~`.
    #[must_use]
    pub fn classes(&self, path: &str, homes: &[&str]) -> PathClasses {
        let covers = |pattern: &str| covers(pattern, path, homes);
        self.catalog
            .shelves
            .iter()
            .flat_map(|shelf| shelf.blob.path_candidates(path).map(move |stored| (shelf, stored)))
            .filter(|(_, stored)| covers(stored.glob))
            .filter(|(shelf, stored)| !shelf.blob.excepted(stored).into_iter().any(covers))
            .map(|(_, stored)| stored)
            .fold(PathClasses::NONE, |classes, stored| classes.with(stored.class))
    }

    /// The classes of all lists with a glob for which `aimed` holds, where being named by a live glob is enough: not
    /// those that make a place worth less.
    #[must_use]
    pub fn aimed_at(&self, aimed: impl Fn(&str) -> bool) -> PathClasses {
        const LESSER: [PathClass; 3] = [PathClass::Generated, PathClass::Backup, PathClass::Log];
        self.catalog
            .shelves
            .iter()
            .flat_map(|shelf| shelf.blob.all_paths())
            .filter(|stored| !LESSER.contains(&stored.class) && aimed(stored.glob))
            .fold(PathClasses::NONE, |classes, stored| classes.with(stored.class))
    }
}

/// Whether a path glob of a pattern file covers `path`.
fn covers(pattern: &str, path: &str, homes: &[&str]) -> bool {
    if let Some(pattern) = pattern.strip_prefix("~/") {
        return below_home(path, homes).any(|rest| glob::path(pattern, rest));
    }
    if pattern.contains('/') {
        return glob::path(pattern, path);
    }
    glob::text(pattern, path.rsplit('/').next().unwrap_or(path))
}

/// What follows the home directory in a path, for every home that it may lie in.
fn below_home<'a>(path: &'a str, homes: &'a [&str]) -> impl Iterator<Item = &'a str> + 'a {
    let named = ["/home/", "/Users/", "~"]
        .into_iter()
        .filter_map(move |above| path.strip_prefix(above)?.split_once('/').map(|(_, rest)| rest));
    let given =
        homes.iter().copied().chain(["/root"]).filter_map(move |home| path.strip_prefix(home)?.strip_prefix('/'));
    named.chain(given)
}

/// The host lists of all layers.
#[derive(Clone, Copy, Debug)]
pub struct Hosts<'a> {
    catalog: &'a Catalog,
}

impl Hosts<'_> {
    /// The class that the lists give to a host name; a later layer's first. `None` when no list names it or a domain
    /// above it.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<HostClass> {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        self.catalog.shelves.iter().rev().find_map(|shelf| shelf.blob.host(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(layer: Layer, text: &str) -> PatternFile {
        PatternFile { path: "x.toml".to_owned(), text: text.to_owned(), layer }
    }

    #[test]
    fn every_built_in_rule_and_program_is_found_by_its_name() {
        let catalog = Catalog::builtin();
        assert!(catalog.all_rules().count() > 0);
        for rule in catalog.all_rules() {
            assert_ne!(rule.id, "guard.catalog");
            assert_eq!(catalog.rule(&rule.id).map(|found| &found.id), Some(&rule.id));
        }
        for program in catalog.all_programs() {
            assert_eq!(catalog.program(&program.names[0]).map(|found| &found.names), Some(&program.names));
        }
    }

    #[test]
    fn what_is_asked_for_twice_is_decoded_once() {
        let catalog = Catalog::builtin();
        assert!(std::ptr::eq(catalog.program("rm").unwrap(), catalog.program("rm").unwrap()));
    }

    #[test]
    fn the_rules_of_a_user_stand_beside_the_built_in_ones() {
        let own = "family = 'mine'\nabout = 'mine'\n[[rule]]\nid = 'mine.rm'\ntier = 2\nreversibility = 'hard'\n\
                   reason = 'r'\nprogram = 'rm'\nflags = ['--force']\nbad = ['rm -f x']\ngood = ['rm x']\n";
        let (catalog, problems) = Catalog::with_files([file(Layer::User, own)]);
        assert_eq!(problems, []);
        let ids: Vec<&str> = catalog.rules("rm").map(|rule| rule.id.as_str()).collect();
        assert!(ids.contains(&"mine.rm") && ids.len() > 1, "{ids:?}");
        assert_eq!(catalog.rule("mine.rm").unwrap().when.flags[0].names, ["-f", "--force"]);
        assert_eq!(catalog.origin("mine.rm"), Some((Layer::User, Some("x.toml"))));
    }
}
