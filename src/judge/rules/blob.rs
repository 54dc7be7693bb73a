//! The packed form of a set of pattern files: a byte sequence that is read in place.
//!
//! Opening it reads only a few offsets. Names are found by binary search; a program or rule is decoded on first use. The
//! build script packs the built-in files, [`super::catalog`] packs those of users, and the same code reads both.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

mod compress;
mod features;
mod names;
mod pack;
mod symbols;
mod table;

pub use self::compress::compress;
pub use self::features::Features;
use self::names::{beginning, find};
pub(super) use self::pack::laid_out;
pub use self::pack::pack;
use self::table::{decode, entries, entries_from, place};
pub(super) use self::table::{number, stored};
use super::glob;
use super::model::{Examples, Explanation, HostClass, HostList, PackageList, PathList, Program, Rule, Support, Tool};
use crate::judge::path_class::PathClass;

/// The checked content of one or more pattern files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Contents {
    pub programs: Vec<Program>,
    pub rules: Vec<Rule>,
    /// The texts of the rules, in the same order.
    pub explanations: Vec<Explanation>,
    pub tools: Vec<Tool>,
    pub paths: Vec<PathList>,
    pub hosts: Vec<HostList>,
    pub packages: Vec<PackageList>,
    pub support: Vec<Support>,
    pub examples: Vec<Examples>,
}

/// An error of packing or reading: the content is too large for 32-bit offsets, or the bytes are not a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadBlob;

impl std::fmt::Display for BadBlob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the stored pattern files are damaged or too large")
    }
}

impl std::error::Error for BadBlob {}

/// The parts of a blob, in order.
#[derive(Clone, Copy)]
enum Part {
    Programs,
    ProgramNames,
    ProgramGlobs,
    /// Globs of calls, sorted by language.
    ProgramCalls,
    Rules,
    RuleIds,
    RuleKeys,
    RuleGlobs,
    /// Globs of calls, sorted by language.
    RuleCalls,
    AnyRules,
    /// For each rule, the features that it requires, and the first words of its subcommands.
    RuleGates,
    TextRules,
    Lists,
    Paths,
    PathExcepts,
    PathNames,
    /// A bit for each name in [`Part::PathNames`], at [`bit_of`]. Most names in a path are not among them.
    PathBits,
    PathSuffixes,
    /// All other globs, each with the result of [`ends_of`].
    PathRest,
    Hosts,
    /// For each index, the characters that it treats as equivalent.
    PackageIndexes,
    /// `index:name` and `index:mark`.
    Packages,
    Tools,
    ToolNames,
    ToolGlobs,
    Support,
    /// The symbols of the programs, rules and tools; empty if they are stored as they are.
    Symbols,
}

const PARTS: usize = Part::Symbols as usize + 1;

/// Characters that an index can treat as equivalent, in the order of their bits.
const ALIKE: &str = "-_.";

/// The mark of a number that is the only element of its list.
const ALONE: u32 = 1 << 31;

/// A glob of a path list, in its packed form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredPath<'a> {
    pub class: PathClass,
    pub glob: &'a str,
    /// The number of its list, for [`Blob::excepted`].
    pub list: u32,
}

/// The part of a path glob by which it is looked up.
enum PathKey<'a> {
    /// The longest component without wildcards.
    Name(&'a str),
    /// The text after the last dot of a base name that begins with a star.
    Suffix(&'a str),
    None,
}

fn path_key(pattern: &str) -> PathKey<'_> {
    let plain = |name: &&str| !name.is_empty() && *name != "~" && !glob::is_glob(name) && !name.contains('\\');
    if let Some(name) = pattern.split('/').filter(plain).max_by_key(|name| name.len()) {
        return PathKey::Name(name);
    }
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    match name.rsplit_once('.') {
        Some((_, suffix)) if !suffix.is_empty() && !glob::is_glob(suffix) => PathKey::Suffix(suffix),
        _ => PathKey::None,
    }
}

/// The number of bits for names.
const BITS: usize = 1 << 13;

/// Returns the bit of a name.
fn bit_of(name: &str) -> usize {
    let mix = |all: u32, byte: u8| (all ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, mix) as usize % BITS
}

/// Returns the first and the last letter of the base names that a path glob matches; 0 for a letter that the glob does
/// not fix.
fn ends_of(pattern: &str) -> u32 {
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.~#".contains(byte);
    let letter = |byte: Option<&u8>| byte.filter(plain).map_or(0, |byte| u32::from(*byte));
    let of_base = Some(pattern.as_bytes()).filter(|_| !pattern.contains('/')).unwrap_or_default();
    letter(of_base.first()) | letter(of_base.last()) << 8
}

/// Reports whether a base name begins and ends with these letters.
fn may_cover(ends: u32, base: &str) -> bool {
    let is = |letter: u32, byte: Option<&u8>| letter == 0 || byte.is_some_and(|byte| u32::from(*byte) == letter);
    is(ends & 0xff, base.as_bytes().first()) && is(ends >> 8, base.as_bytes().last())
}

/// A packed set of pattern files.
#[derive(Clone, Debug)]
pub struct Blob {
    bytes: Cow<'static, [u8]>,
}

impl Blob {
    /// Creates a blob from bytes that [`pack()`] returned, without reading them.
    #[must_use]
    pub const fn new(bytes: Cow<'static, [u8]>) -> Self {
        Self { bytes }
    }

    /// Returns the number of programs.
    #[must_use]
    pub fn program_count(&self) -> usize {
        number(self.part(Part::Programs), 0).unwrap_or(0) as usize
    }

    /// Returns the number of rules.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        number(self.part(Part::Rules), 0).unwrap_or(0) as usize
    }

    /// Decodes a program.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn program(&self, program: usize) -> Result<Program, BadBlob> {
        self.record(Part::Programs, program)
    }

    /// Decodes a rule.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn rule(&self, rule: usize) -> Result<Rule, BadBlob> {
        self.record(Part::Rules, rule)
    }

    /// Reports whether a rule may match an act with these features and this first word of a subcommand. Rules that
    /// cannot match need not be decoded.
    #[must_use]
    pub fn may_match(&self, rule: usize, have: Features, sub: Option<&str>) -> bool {
        let gate = stored(self.part(Part::RuleGates), rule);
        gate.and_then(|gate| passes(gate, have, sub)).unwrap_or(true)
    }

    /// Returns the number of entries for tools.
    #[must_use]
    pub fn tool_count(&self) -> usize {
        number(self.part(Part::Tools), 0).unwrap_or(0) as usize
    }

    /// Decodes an entry for tools.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn tool(&self, tool: usize) -> Result<Tool, BadBlob> {
        self.record(Part::Tools, tool)
    }

    /// Returns the entries for tools that contain one of these normalised names, literally or as a glob: in their
    /// order, each once.
    #[must_use]
    pub fn tools_named<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Vec<usize> {
        let exact = names.clone().filter_map(|name| self.value(Part::ToolNames, name));
        let covers = |(pattern, list)| names.clone().any(|name| glob::text(pattern, name)).then_some(list);
        let globbed = entries(self.part(Part::ToolGlobs)).filter_map(covers);
        let mut all: Vec<usize> = exact.chain(globbed).flat_map(|list| self.list(list)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Decodes all support commands.
    ///
    /// # Errors
    /// The bytes are damaged.
    pub fn support(&self) -> Result<Vec<Support>, BadBlob> {
        let part = self.part(Part::Support);
        (0..number(part, 0).unwrap_or(0) as usize).map(|entry| decode(part, entry)).collect()
    }

    /// Returns the program that has exactly this name.
    #[must_use]
    pub fn program_named(&self, name: &str) -> Option<usize> {
        self.value(Part::ProgramNames, name).map(|number| number as usize)
    }

    /// Returns the first program with a name glob that matches `name`.
    #[must_use]
    pub fn program_globbed(&self, name: &str) -> Option<usize> {
        self.globs(Part::ProgramGlobs, Part::ProgramCalls, name).next().map(|number| number as usize)
    }

    /// Returns the rule with this ID.
    #[must_use]
    pub fn rule_named(&self, id: &str) -> Option<usize> {
        self.value(Part::RuleIds, id).map(|number| number as usize)
    }

    /// Returns the rules for this verb, by name or by glob, without the `*` rules.
    pub fn rules_for(&self, key: &str) -> impl Iterator<Item = usize> + '_ {
        let exact = self.value(Part::RuleKeys, key);
        let globbed: Vec<u32> = self.globs(Part::RuleGlobs, Part::RuleCalls, key).collect();
        exact.into_iter().chain(globbed).flat_map(|list| self.list(list))
    }

    /// Returns the `*` rules that require no other features than `have`. Those with a literal are in
    /// [`Self::text_rules`].
    pub fn any_rules(&self, have: Features) -> impl Iterator<Item = usize> + '_ {
        let part = self.part(Part::AnyRules);
        (0..part.len() / 8).filter_map(move |entry| {
            let needs = Features(number(part, entry * 2)?);
            have.has(needs).then(|| number(part, entry * 2 + 1).map(|rule| rule as usize))?
        })
    }

    /// Returns the `*` rules whose literal occurs in `text`.
    pub fn text_rules<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        entries(self.part(Part::TextRules))
            .filter(|(literal, _)| text.contains(literal))
            .flat_map(|(_, list)| self.list(list))
    }

    /// Returns the path globs that may match a path: those with one of its components, those with the suffix of its
    /// last component, and the few with neither. The caller must still match each.
    pub fn path_candidates<'a>(&'a self, path: &'a str) -> impl Iterator<Item = StoredPath<'a>> + 'a {
        let rest = self.part(Part::PathRest);
        let suffix = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, suffix)| suffix);
        let names = path.split('/').filter(|name| !name.is_empty());
        let bits = self.part(Part::PathBits);
        let may_be = move |name: &&str| {
            let bit = bit_of(name);
            bits.get(bit / 8).is_none_or(|byte| byte & 1 << (bit % 8) != 0)
        };
        let listed = names
            .filter(may_be)
            .filter_map(|name| self.value(Part::PathNames, name))
            .chain(suffix.and_then(|suffix| self.value(Part::PathSuffixes, suffix)))
            .flat_map(|list| self.list(list));
        let base = path.rsplit('/').next().unwrap_or_default();
        let fits = move |at: usize| number(rest, at * 2 + 1).is_none_or(|letters| may_cover(letters, base));
        let rest = (0..rest.len() / 8).filter(move |at| fits(*at)).filter_map(move |at| number(rest, at * 2));
        let rest = rest.map(|number| number as usize);
        listed.chain(rest).filter_map(|number| decode(self.part(Part::Paths), number).ok())
    }

    /// Returns the exceptions of the list of a path glob.
    #[must_use]
    pub fn excepted(&self, path: &StoredPath<'_>) -> Vec<&str> {
        // The build script decodes everything that it packs; a list without its exceptions is only stricter.
        decode(self.part(Part::PathExcepts), path.list as usize).unwrap_or_default()
    }

    /// Returns all path globs.
    pub fn all_paths(&self) -> impl Iterator<Item = StoredPath<'_>> + '_ {
        let part = self.part(Part::Paths);
        (0..number(part, 0).unwrap_or(0) as usize).filter_map(move |number| decode(part, number).ok())
    }

    /// Returns the class of a host name in lower case: its own, else that of the nearest parent domain.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<HostClass> {
        let own = self.value(Part::Hosts, name);
        let above = name.match_indices('.').map(|(dot, _)| self.value(Part::Hosts, name.get(dot..)?));
        let class = own.or_else(|| above.flatten().next())?;
        HostClass::ALL.into_iter().find(|known| *known as u32 == class)
    }

    /// Returns the characters that an index treats as equivalent in names.
    pub fn alike(&self, index: &str) -> String {
        let bits = self.value(Part::PackageIndexes, index).unwrap_or_default();
        ALIKE.char_indices().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, c)| c).collect()
    }

    /// Reports whether a list contains this package, or all packages of its scope.
    #[must_use]
    pub fn has_package(&self, index: &str, name: &str) -> bool {
        let listed = |name: &str| self.is_listed(index, name);
        let scopes = || name.match_indices(['/', '.']).filter_map(|(end, _)| name.get(..=end));
        listed(name) || scopes().any(|scope| listed(&format!("{scope}*")))
    }

    /// Returns all packages of an index in the lists.
    pub fn packages(&self, index: &str) -> impl Iterator<Item = String> + '_ {
        let prefix = format!("{index}:");
        let len = prefix.len();
        let listed = beginning::<()>(self.part(Part::Packages), prefix);
        listed.filter(|name| !name.ends_with(':')).filter_map(move |name| name.get(len..).map(str::to_owned))
    }

    /// Reports whether a client of an index accepts this prefix before a name (`dev:`).
    #[must_use]
    pub fn has_mark(&self, index: &str, mark: &str) -> bool {
        mark.ends_with(':') && self.is_listed(index, mark)
    }

    fn is_listed(&self, index: &str, name: &str) -> bool {
        find::<()>(self.part(Part::Packages), &format!("{index}:{name}")).is_some()
    }

    /// Returns the values of the globs that match a name. Globs of calls in languages other than that of the name are
    /// skipped.
    fn globs<'a>(&'a self, all: Part, calls: Part, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        let language = language(name);
        let calls = language.into_iter().flat_map(move |language| {
            let part = self.part(calls);
            let from = place(part, language.as_bytes()).unwrap_or_else(|place| place);
            entries_from(part, from).take_while(move |(pattern, _)| pattern.starts_with(language))
        });
        let covers = |(pattern, _): &(&str, u32)| glob::text(pattern, name);
        entries(self.part(all)).chain(calls).filter(covers).map(|(_, value)| value)
    }

    /// Returns the value of a name that is looked up.
    fn value(&self, part: Part, name: &str) -> Option<u32> {
        find(self.part(part), name)
    }

    /// Decodes a record that may be compressed.
    fn record<T: serde::de::DeserializeOwned>(&self, part: Part, index: usize) -> Result<T, BadBlob> {
        let coded = stored(self.part(part), index).ok_or(BadBlob)?;
        let record = symbols::expanded(self.part(Part::Symbols), coded)?;
        postcard::from_bytes(&record).map_err(|_| BadBlob)
    }

    fn part(&self, part: Part) -> &[u8] {
        self.part_at(part as usize)
    }

    fn part_at(&self, part: usize) -> &[u8] {
        let bounds = (number(&self.bytes, part), number(&self.bytes, part + 1));
        let (Some(start), Some(end)) = bounds else { return &[] };
        self.bytes.get(start as usize..end as usize).unwrap_or_default()
    }

    fn list(&self, start: u32) -> impl Iterator<Item = usize> + '_ {
        let lists = self.part(Part::Lists);
        let alone = (start & ALONE != 0).then_some(start & !ALONE);
        let len = if alone.is_some() { 0 } else { number(lists, start as usize).unwrap_or(0) };
        let several = (0..len).filter_map(move |at| number(lists, start as usize + 1 + at as usize));
        alone.into_iter().chain(several).map(|number| number as usize)
    }
}

/// Reports whether a gate (the required features and the subcommand words of a rule) matches these; `None` if it is
/// damaged. It is decoded only as far as necessary, because most acts are compared with many rules.
fn passes(gate: &[u8], have: Features, sub: Option<&str>) -> Option<bool> {
    let (needs, rest) = postcard::take_from_bytes::<u32>(gate).ok()?;
    if !have.has(Features(needs)) {
        return Some(false);
    }
    let (count, mut rest) = postcard::take_from_bytes::<usize>(rest).ok()?;
    for _ in 0..count {
        let (word, after) = postcard::take_from_bytes::<&str>(rest).ok()?;
        if sub == Some(word) {
            return Some(true);
        }
        rest = after;
    }
    Some(count == 0)
}

/// Returns the language of a call, with its colon (`python:`).
fn language(name: &str) -> Option<&str> {
    name.get(..=name.find(':')?).filter(|language| language.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_lets_pass_what_has_what_it_needs_and_one_of_its_words() {
        let gate = |needs: Features, words: &[&str]| postcard::to_allocvec(&(needs.0, words)).unwrap();
        let (env, input) = (Features::ENV, Features::INPUT);
        let both = env.and(input);
        assert_eq!(passes(&gate(env, &[]), both, None), Some(true));
        assert_eq!(passes(&gate(both, &[]), env, Some("push")), Some(false));
        assert_eq!(passes(&gate(env, &["pull", "push"]), env, Some("push")), Some(true));
        assert_eq!(passes(&gate(env, &["pull", "push"]), env, Some("add")), Some(false));
        assert_eq!(passes(&gate(env, &["pull"]), env, None), Some(false));
        assert_eq!(passes(&gate(env, &["pull"])[..2], env, Some("pull")), None);
    }
}
