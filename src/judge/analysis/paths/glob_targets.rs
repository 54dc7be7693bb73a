//! Finds the listed paths at which a glob aims: `cat ~/.ssh/id*` and `cat /etc/shad?w` read listed files, although no
//! glob of the lists matches these texts.
//!
//! A glob for files in general (`*.json`, `*`) aims at nothing, even if it matches a listed name.

use super::normal::{Component, NormalPath, Start};
use crate::judge::rules::glob;

/// Minimum number of leading letters with which a glob aims at a name.
const LEAST_LETTERS: usize = 2;

/// A path with a glob, with precomputed facts that exclude most listed paths quickly.
pub(super) struct GlobTarget<'a> {
    path: &'a NormalPath,
    homes: &'a [&'a str],
    /// Its names below each home directory in which it may be.
    at_home: Vec<NamesBelow>,
    /// Its names below the root, if it is absolute.
    at_root: Option<NamesBelow>,
    /// The first letters of its last name, if enough of them are literal.
    begins: Option<[u8; LEAST_LETTERS]>,
    /// Whether its last name is a glob with enough literal letters and without a star.
    narrow: bool,
}

/// Precomputed facts about the names below a directory.
struct NamesBelow {
    /// The number of names.
    count: usize,
    /// The first name, if it is not a glob.
    plain: Option<String>,
    /// Whether the first name is a glob that does not match hidden names.
    undotted: bool,
}

impl NamesBelow {
    fn of(names: &[&Component], everything: bool) -> Self {
        let first = names.first();
        Self {
            count: names.len() + usize::from(everything),
            plain: first.filter(|name| name.glob.is_none()).map(|name| name.text().to_owned()),
            undotted: first.and_then(|name| name.glob.as_deref()).is_some_and(|glob| !glob.starts_with('.')),
        }
    }

    /// Reports whether it may aim at a listed path below the same directory.
    fn may_be(&self, place: &str) -> bool {
        let first = place.split('/').next().unwrap_or(place);
        let is_literal = !first.bytes().any(|byte| b"*?[\\".contains(&byte));
        if self.undotted && first.starts_with('.')
            || is_literal && self.plain.as_ref().is_some_and(|name| *name != *first)
        {
            return false;
        }
        let count = place.bytes().filter(|byte| *byte == b'/').count() + 1;
        // For a listed directory, the glob aims at something below it.
        if place.ends_with("/**") { count <= self.count } else { count == self.count }
    }
}

impl<'a> GlobTarget<'a> {
    pub(super) fn new(path: &'a NormalPath, homes: &'a [&'a str]) -> Self {
        let names: Vec<&Component> = path.components.iter().collect();
        let at_home = below_homes(&names, homes).map(|names| NamesBelow::of(names, path.everything)).collect();
        let at_root = (path.start == Start::Root && !path.dynamic).then(|| NamesBelow::of(&names, path.everything));
        let last = names.last().filter(|_| !path.everything).and_then(|last| last.glob.as_deref());
        let begins = last.map(literal_start).unwrap_or_default().as_bytes().first_chunk().copied();
        let narrow = !path.everything && names.last().is_some_and(|last| is_narrow(last));
        Self { path, homes, at_home, at_root, begins, narrow }
    }

    /// Reports whether it aims at a path that a listed glob matches.
    pub(super) fn at(&self, listed: &str) -> bool {
        self.may_be_at(listed) && targets(listed, self.path, self.homes)
    }

    fn may_be_at(&self, listed: &str) -> bool {
        if let Some(place) = listed.strip_prefix("~/") {
            return self.at_home.iter().any(|below| below.may_be(place));
        }
        // In an unknown directory, it can aim only at names that have the same meaning everywhere.
        if let Some(place) = listed.strip_prefix('/') {
            return self.at_root.as_ref().is_some_and(|below| below.may_be(place));
        }
        if listed.ends_with("**") {
            return false;
        }
        let name = listed.rsplit('/').next().unwrap_or(listed);
        match (name.as_bytes().first_chunk::<LEAST_LETTERS>(), self.begins) {
            (Some(first), Some(begins)) => first.contains(&b'\\') || *first == begins,
            _ => self.narrow,
        }
    }
}

/// Reports whether a glob aims at a path that a glob of a path list matches.
fn targets(listed: &str, path: &NormalPath, homes: &[&str]) -> bool {
    // In an unknown directory, it can aim only at names that have the same meaning everywhere.
    if (path.start != Start::Root || path.dynamic) && listed.contains('/') {
        return false;
    }
    let whole = Component::everything();
    let names: Vec<&Component> = path.components.iter().chain(path.everything.then_some(&whole)).collect();
    if let Some(directory) = listed.strip_suffix("/**") {
        return match directory.strip_prefix("~/") {
            Some(rest) => below_homes(&names, homes).any(|names| lies_below(rest, names)),
            None => directory.strip_prefix('/').is_some_and(|rest| lies_below(rest, &names)),
        };
    }
    if listed.ends_with("**") {
        return false;
    }
    if let Some(rest) = listed.strip_prefix("~/") {
        return below_homes(&names, homes).any(|names| same_place(rest, names));
    }
    if listed.starts_with('/') {
        // A glob for all files of a directory that everyone reads aims at nothing.
        return !path.everything && same_place(listed.trim_start_matches('/'), &names);
    }
    let name = listed.rsplit('/').next().unwrap_or(listed);
    let above: Vec<&str> = listed.split('/').filter(|part| *part != "**").collect();
    let (Some(last), true) = (names.last(), above.len() <= names.len()) else { return false };
    let tail = names.get(names.len() - above.len()..).unwrap_or_default();
    (begins_alike(name, last) || is_narrow(last))
        && above.iter().zip(tail).all(|(listed, component)| meets(listed, component))
}

/// Returns the names after the home directory, for each home in which the path may be.
fn below_homes<'a>(names: &'a [&'a Component], homes: &'a [&str]) -> impl Iterator<Item = &'a [&'a Component]> {
    let below = move |home: &str| {
        let mut rest = names;
        for name in super::normal::names(home) {
            let (first, others) = rest.split_first()?;
            first.may_be(name).then_some(())?;
            rest = others;
        }
        Some(rest)
    };
    let named =
        names.first().is_some_and(|first| first.may_be("home") || first.may_be("Users")).then(|| names.get(2..));
    homes.iter().copied().chain(["/root"]).filter_map(below).chain(named.flatten())
}

/// Reports whether each name of the path may be the listed one, and at least one of them is literal.
fn same_place(listed: &str, names: &[&Component]) -> bool {
    let parts: Vec<&str> = listed.split('/').collect();
    parts.len() == names.len()
        && parts.iter().zip(names).all(|(listed, component)| meets(listed, component))
        && (names.iter().any(|component| component.glob.is_none())
            || parts
                .iter()
                .zip(names)
                .any(|(listed, component)| begins_alike(listed, component) || is_narrow(component)))
}

/// Reports whether the path is below a listed directory, and each glob on the way begins with the same letters.
fn lies_below(listed: &str, names: &[&Component]) -> bool {
    let parts: Vec<&str> = listed.split('/').collect();
    let aims = |(listed, component): (&&str, &&Component)| {
        meets(listed, component)
            && (component.glob.is_none() || begins_alike(listed, component) || is_narrow(component))
    };
    // Without a glob on the way, the text is sufficient.
    let globbed = names.iter().take(parts.len()).any(|component| component.glob.is_some());
    globbed && parts.len() < names.len() && parts.iter().zip(names).all(aims)
}

/// Reports whether only single letters of a name are open.
fn is_narrow(component: &Component) -> bool {
    let Some(pattern) = component.glob.as_deref().filter(|pattern| !pattern.contains('*')) else { return false };
    let elements = elements(pattern);
    elements.iter().filter(|element| matches!(element, Element::Letter(letter) if *letter != '.')).count()
        >= LEAST_LETTERS
}

/// Reports whether a listed name and a name of the path begin with enough equal letters.
fn begins_alike(listed: &str, component: &Component) -> bool {
    let Some(pattern) = &component.glob else { return false };
    let (listed, live) = (literal_start(listed), literal_start(pattern));
    listed.len() >= LEAST_LETTERS
        && live.len() >= LEAST_LETTERS
        && (listed.starts_with(&live) || live.starts_with(&listed))
}

fn literal_start(pattern: &str) -> String {
    let mut start = String::new();
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        let rest = letters.as_str();
        match c {
            // A class of one letter is that letter.
            '[' if rest.chars().nth(1) == Some(']') && !rest.starts_with(['!', '^', ']']) => {
                start.extend(letters.next());
                letters.next();
            }
            '*' | '?' | '[' => break,
            '\\' => start.extend(letters.next()),
            c => start.push(c),
        }
    }
    start
}

/// Reports whether a listed glob and a name of the path match a common name.
fn meets(listed: &str, component: &Component) -> bool {
    match &component.glob {
        None => glob::text(listed, component.text()),
        Some(_) if component.is_unknown() => false,
        Some(pattern) => {
            // A pattern without a leading dot does not match hidden names.
            (pattern.starts_with('.') || !listed.starts_with('.'))
                && !has_other_ending(listed, pattern)
                && overlap(listed, pattern)
        }
    }
}

/// Reports whether a pattern is for all names with an extension (`*.log`), which the listed names do not have.
fn has_other_ending(listed: &str, pattern: &str) -> bool {
    let extension =
        pattern.strip_prefix("*.").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    extension && listed.ends_with('*') && listed.len() > 1 && !listed.contains('.')
}

/// One element of a glob.
enum Element {
    Any,
    One,
    Letter(char),
}

fn elements(pattern: &str) -> Vec<Element> {
    let mut all = Vec::new();
    let mut letters = pattern.chars();
    while let Some(c) = letters.next() {
        all.push(match c {
            '*' => Element::Any,
            '?' => Element::One,
            '[' if letters.as_str().contains(']') => {
                // A set is assumed to match any character.
                let _ = letters.by_ref().skip(1).find(|c| *c == ']');
                Element::One
            }
            '\\' => letters.next().map_or(Element::One, Element::Letter),
            c => Element::Letter(c),
        });
    }
    all
}

/// Reports whether two globs match a common name.
fn overlap(one: &str, other: &str) -> bool {
    let (one, other) = (elements(one), elements(other));
    // reach[j]: the elements of `one` so far and the first j of `other` can match the same text.
    let mut reach = vec![false; other.len() + 1];
    if let Some(first) = reach.first_mut() {
        *first = true;
    }
    let through_stars = |reach: &mut Vec<bool>| {
        for (index, element) in other.iter().enumerate() {
            if matches!(element, Element::Any)
                && reach.get(index) == Some(&true)
                && let Some(next) = reach.get_mut(index + 1)
            {
                *next = true;
            }
        }
    };
    through_stars(&mut reach);
    for element in &one {
        let mut next = vec![false; other.len() + 1];
        for (index, reached) in reach.iter().enumerate() {
            let covers = |offset: usize| match (element, other.get(index + offset)) {
                (_, None) => false,
                (Element::Letter(one), Some(Element::Letter(other))) => one == other,
                _ => true,
            };
            let mut set = |at: usize| {
                if let Some(place) = next.get_mut(at) {
                    *place = true;
                }
            };
            if !reached {
                continue;
            }
            match element {
                // A star matches any number of elements of the other.
                Element::Any => (index..=other.len()).for_each(&mut set),
                _ => {
                    if matches!(other.get(index), Some(Element::Any)) {
                        set(index);
                    } else if covers(0) {
                        set(index + 1);
                    }
                }
            }
        }
        through_stars(&mut next);
        reach = next;
    }
    reach.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::{Piece, Value};
    use crate::judge::analysis::place::Place;

    fn path(text: &str) -> NormalPath {
        let mut value = Value::default();
        for c in text.chars() {
            value.push(if "*?[]".contains(c) { Piece::Glob(c.into()) } else { Piece::Text(c.into()) });
        }
        NormalPath::of(&value, Some(&Place::of("/home/me/project")), Some("/home/me")).unwrap()
    }

    #[test]
    fn globs_overlap_when_a_name_fits_both() {
        for (one, other, expected) in [
            ("id_*", "id*", true),
            ("id_*", "*rsa", true),
            ("shadow", "sh?dow", true),
            ("shadow", "s*w", true),
            ("shadow", "s*x", false),
            ("abc", "ab", false),
            ("a*b", "*c", false),
            ("[a-c]x", "bx", true),
            ("", "*", true),
            ("*", "*", true),
        ] {
            assert_eq!(overlap(one, other), expected, "{one} {other}");
            assert_eq!(overlap(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn names_that_go_on_openly_have_no_extension() {
        let homes = ["/home/me"];
        let aims = |text: &str, listed: &str| GlobTarget::new(&path(text), &homes).at(listed);
        assert!(!aims("/tmp/*.log", "/tmp/cache_*"));
        for (text, listed) in [
            ("/tmp/c*", "/tmp/cache_*"),
            ("/tmp/cache_*", "/tmp/cache_*"),
            ("/tmp/*_1", "/tmp/cache_*"),
            ("/tmp/*.log", "/tmp/cache.*"),
            ("/tmp/*.log", "/tmp/cache.log"),
        ] {
            assert!(aims(text, listed), "{text} {listed}");
        }
    }

    #[test]
    fn a_glob_that_begins_like_a_listed_name_aims_at_it() {
        let homes = ["/home/me"];
        for (listed, text) in [
            ("~/.ssh/id_*", "~/.ssh/id*"),
            ("~/.ssh/id_*", "~/.ssh/*"),
            ("~/.ssh/id_*", "~/.s*/id_rsa"),
            ("/etc/shadow", "/etc/shad*"),
            ("/etc/shadow", "/etc/s?adow"),
            (".env", ".env*"),
            (".env.*", ".en?.local"),
            (".env", ".[e]nv"),
            (".env", ".?nv"),
            (".env", ".[a-f]nv"),
            ("~/.bashrc", "~/.?ashrc"),
            ("~/.ssh/**", "~/.ss*/x"),
            ("~/.config/fish/**", "~/.config/fi*/config.fish"),
            ("**/credentials.json", "cred*"),
        ] {
            assert!(GlobTarget::new(&path(text), &homes).at(listed), "{text} aims at {listed}");
        }
    }

    #[test]
    fn a_glob_for_files_in_general_aims_at_nothing() {
        let homes = ["/home/me"];
        for (listed, text) in [
            (".env", "*"),
            ("credentials.json", "*.json"),
            (".env", ".???"),
            ("*.pem", "server*"),
            ("*.pem", "*"),
            ("/etc/shadow", "/etc/*"),
            ("id_rsa", "i*"),
            ("~/.ssh/id_*", "~/*"),
            ("~/.netrc", "~/*"),
            ("~/.config/fish/**", "~/.config/*/x"),
            ("~/.claude/**", "~/.*/x"),
            ("/etc/ssl/private/**", "/etc/*/*/x"),
        ] {
            assert!(!targets(listed, &path(text), &homes), "{text} does not aim at {listed}");
        }
    }
}
