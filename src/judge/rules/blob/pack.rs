//! Packs checked pattern files into a form in which they can be looked up in place.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    ALIKE, ALONE, BITS, BadBlob, Contents, Features, PARTS, PathKey, StoredPath, bit_of, ends_of, language, names,
    path_key,
};
use crate::judge::rules::model::{NO_SUB, Rule};
use crate::judge::rules::{glob, packages};
use crate::judge::sort;

/// Packs `contents` (all but the explanations and the examples).
///
/// # Errors
/// An offset does not fit in 32 bits.
pub fn pack(contents: &Contents) -> Result<Vec<u8>, BadBlob> {
    let mut lists = Lists::default();
    let mut parts: Vec<Vec<u8>> = Vec::new();

    parts.push(records(&contents.programs)?);
    let (globs, names) = split(names_of(contents.programs.iter().map(|program| program.names.as_slice())));
    let (calls, globs) = of_languages(globs);
    parts.push(index(&first(names))?);
    parts.push(table(&first(globs))?);
    parts.push(table(&first(calls))?);

    parts.push(records(&contents.rules)?);
    let ids = sort::map(contents.rules.iter().enumerate().map(|(number, rule)| (rule.id.clone(), vec![number])));
    parts.push(index(&first(ids))?);
    let (mut globs, keys) = split(names_of(contents.rules.iter().map(|rule| rule.when.verbs.as_slice())));
    let any = globs.remove("*").unwrap_or_default();
    let (calls, globs) = of_languages(globs);
    parts.push(index(&lists.add_all(keys))?);
    parts.push(table(&lists.add_all(globs))?);
    parts.push(table(&lists.add_all(calls))?);
    let (mut features, mut literals) = (Vec::new(), Names::new());
    for number in any {
        let Some(rule) = contents.rules.get(number) else { continue };
        match &rule.when.text {
            Some(text) => literals.entry(text.literal.clone()).or_default().push(number),
            None => features.extend([Features::required(rule).0, u32::try_from(number).map_err(|_| BadBlob)?]),
        }
    }
    parts.push(numbers(&features));
    parts.push(records(&contents.rules.iter().map(gate).collect::<Vec<_>>())?);
    parts.push(table(&lists.add_all(literals))?);

    let paths: Vec<StoredPath<'_>> = contents
        .paths
        .iter()
        .zip(0..)
        .flat_map(|(list, number)| {
            list.globs.iter().map(move |glob| StoredPath { class: list.class, glob, list: number })
        })
        .collect();
    let excepts: Vec<&[String]> = contents.paths.iter().map(|list| list.except.as_slice()).collect();
    let (mut by_name, mut by_suffix, mut rest) = (Names::new(), Names::new(), Vec::new());
    for (number, path) in paths.iter().enumerate() {
        match path_key(path.glob) {
            PathKey::Name(name) => by_name.entry(name.to_owned()).or_default().push(number),
            PathKey::Suffix(suffix) => by_suffix.entry(suffix.to_owned()).or_default().push(number),
            PathKey::None => rest.extend([u32::try_from(number).map_err(|_| BadBlob)?, ends_of(path.glob)]),
        }
    }
    let mut bits = vec![0_u8; BITS / 8];
    for bit in by_name.keys().map(|name| bit_of(name)) {
        bits.get_mut(bit / 8).into_iter().for_each(|byte| *byte |= 1 << (bit % 8));
    }
    let by_name = index(&lists.add_all(by_name))?;
    let by_suffix = index(&lists.add_all(by_suffix))?;
    let (tool_globs, tool_names) = split(names_of(contents.tools.iter().map(|tool| tool.names.as_slice())));
    let tool_names = index(&lists.add_all(tool_names))?;
    let tool_globs = table(&lists.add_all(tool_globs))?;
    parts.push(numbers(&lists.numbers));
    parts.push(records(&paths)?);
    parts.push(records(&excepts)?);
    parts.push(by_name);
    parts.push(bits);
    parts.push(by_suffix);
    parts.push(numbers(&rest));

    let mut hosts = BTreeMap::new();
    for list in &contents.hosts {
        for name in &list.names {
            let key = name.strip_prefix('*').unwrap_or(name).to_ascii_lowercase();
            hosts.insert(key, list.class as u32);
        }
    }
    parts.push(index(&hosts)?);
    let alike = alike(contents);
    let listed = packages(contents, &alike);
    parts.push(index(&alike)?);
    parts.push(laid_out(&names::blocks(listed.iter().map(|name| (name.as_str(), ())))?)?);
    parts.push(records(&contents.tools)?);
    parts.push(tool_names);
    parts.push(tool_globs);
    parts.push(records(&contents.support)?);
    parts.push(Vec::new());
    joined(&parts)
}

/// Returns a blob of all its parts.
pub(super) fn joined(parts: &[Vec<u8>]) -> Result<Vec<u8>, BadBlob> {
    let mut blob = Vec::new();
    let mut at = PARTS * 4 + 4;
    for part in parts {
        blob.extend(u32::try_from(at).map_err(|_| BadBlob)?.to_le_bytes());
        at += part.len();
    }
    blob.extend(u32::try_from(at).map_err(|_| BadBlob)?.to_le_bytes());
    parts.iter().for_each(|part| blob.extend(part));
    Ok(blob)
}

/// Returns the features that a rule requires, and the first words of all its subcommands; no words if one of the
/// subcommands begins with a glob or is [`NO_SUB`].
fn gate(rule: &Rule) -> (u32, Vec<&str>) {
    let first = |path: &Vec<String>| path.first().is_some_and(|word| !glob::is_glob(word) && word != NO_SUB);
    let subs = &rule.when.subs;
    let words = if subs.iter().all(first) { subs.as_slice() } else { &[] };
    let mut words: Vec<&str> = words.iter().filter_map(|path| path.first().map(String::as_str)).collect();
    sort::sort(&mut words);
    words.dedup();
    (Features::required(rule).0, words)
}

/// Returns the bits of the characters that each index treats as equivalent: those of one list of an index apply to all
/// of its lists.
fn alike(contents: &Contents) -> BTreeMap<String, u32> {
    let mut all = BTreeMap::new();
    for list in &contents.packages {
        let bits = ALIKE.char_indices().filter(|(_, c)| list.alike.contains(*c)).map(|(bit, _)| 1 << bit);
        let known: &mut u32 = all.entry(list.index.clone()).or_default();
        *known |= bits.sum::<u32>();
    }
    all
}

/// Returns the well-known packages in the form in which their index compares names, and the marks of their clients.
fn packages(contents: &Contents, alike: &BTreeMap<String, u32>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for list in &contents.packages {
        let bits = alike.get(&list.index).copied().unwrap_or_default();
        let alike: String = ALIKE.char_indices().filter(|(bit, _)| bits & 1 << bit != 0).map(|(_, c)| c).collect();
        all.extend(list.names.iter().map(|name| format!("{}:{}", list.index, packages::folded(name, &alike))));
        // A name never ends with a colon.
        all.extend(list.marks.iter().map(|mark| format!("{}:{mark}", list.index)));
    }
    all
}

type Names = BTreeMap<String, Vec<usize>>;

fn names_of<'a>(names: impl Iterator<Item = &'a [String]>) -> Names {
    let mut all = Names::new();
    for (number, names) in names.enumerate() {
        for name in names {
            let numbers = all.entry(name.clone()).or_default();
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
    }
    all
}

/// Separates globs from plain names.
fn split(names: Names) -> (Names, Names) {
    names.into_iter().partition(|(name, _)| glob::is_glob(name))
}

/// Separates globs of calls in one language (`python:docker.*.remove`) from all others.
fn of_languages(globs: Names) -> (Names, Names) {
    globs.into_iter().partition(|(name, _)| language(name).is_some_and(|language| !glob::is_glob(language)))
}

fn first(names: Names) -> BTreeMap<String, u32> {
    sort::map(names.into_iter().filter_map(|(name, numbers)| Some((name, u32::try_from(*numbers.first()?).ok()?))))
}

/// Lists of numbers, each preceded by its length; a list is identified by its position. A list of one number is that
/// number, marked with [`ALONE`].
#[derive(Default)]
struct Lists {
    numbers: Vec<u32>,
}

impl Lists {
    fn add_all(&mut self, names: Names) -> BTreeMap<String, u32> {
        sort::map(names.into_iter().filter_map(|(name, list)| Some((name, self.add(&list)?))))
    }

    fn add(&mut self, list: &[usize]) -> Option<u32> {
        if let [number] = list {
            return u32::try_from(*number).ok().filter(|number| number & ALONE == 0).map(|number| number | ALONE);
        }
        let start = u32::try_from(self.numbers.len()).ok()?;
        self.numbers.push(u32::try_from(list.len()).ok()?);
        for number in list {
            self.numbers.push(u32::try_from(*number).ok()?);
        }
        Some(start)
    }
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn records<T: Serialize>(values: &[T]) -> Result<Vec<u8>, BadBlob> {
    let stored: Result<Vec<Vec<u8>>, _> = values.iter().map(postcard::to_allocvec).collect();
    laid_out(&stored.map_err(|_| BadBlob)?)
}

/// Returns names that are looked up, with their values: see [`names`].
fn index(entries: &BTreeMap<String, u32>) -> Result<Vec<u8>, BadBlob> {
    laid_out(&names::blocks(entries.iter().map(|(name, value)| (name.as_str(), *value)))?)
}

/// Returns a count, that many offsets and one more, then the records.
pub fn laid_out(records: &[Vec<u8>]) -> Result<Vec<u8>, BadBlob> {
    let mut offsets = vec![u32::try_from(records.len()).map_err(|_| BadBlob)?, 0];
    let mut end = 0;
    for record in records {
        end += record.len();
        offsets.push(u32::try_from(end).map_err(|_| BadBlob)?);
    }
    let mut bytes = numbers(&offsets);
    records.iter().for_each(|record| bytes.extend(record));
    Ok(bytes)
}

/// Returns names that are listed: a count, that many pairs (start of the name, value), the end of the last name, then
/// the sorted names.
fn table(entries: &BTreeMap<String, u32>) -> Result<Vec<u8>, BadBlob> {
    let mut pairs = vec![u32::try_from(entries.len()).map_err(|_| BadBlob)?];
    let mut names: Vec<u8> = Vec::new();
    for (name, value) in entries {
        pairs.push(u32::try_from(names.len()).map_err(|_| BadBlob)?);
        names.extend(name.as_bytes());
        pairs.push(*value);
    }
    pairs.push(u32::try_from(names.len()).map_err(|_| BadBlob)?);
    let mut bytes = numbers(&pairs);
    bytes.extend(names);
    Ok(bytes)
}
