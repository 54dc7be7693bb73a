//! Names of packages: extracts the name from a requirement, and compares it with well-known names.
//!
//! The well-known names are data: the lists next to the pattern files. Out of scope: specifics of a single index or
//! client, and I/O.

use strsim::osa_distance;

/// Returns the name at the start of a requirement: `requests` in `requests[socks]>=2`, `@scope/name` in
/// `@scope/name@^1`, the real name of an alias (`a@npm:b`); `None` if the text is not a requirement, or if it says where
/// the package comes from instead of a version (`name @ URL`, `name@owner/repository`).
#[must_use]
pub fn named<'a>(requirement: &'a str, index: &str) -> Option<&'a str> {
    let plain = requirement.trim();
    let aliased = plain.split_once(index).and_then(|(before, rest)| {
        let rest = rest.strip_prefix(':')?;
        (before.is_empty() || before.ends_with('@')).then_some(rest)
    });
    // The name follows a channel (`conda-forge::numpy`).
    let plain = aliased.or_else(|| plain.split_once("::").map(|(_, rest)| rest)).unwrap_or(plain);
    let body = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let start = usize::from(plain.starts_with('@'));
    let rest = plain.get(start..)?;
    let end = start + rest.find(|c: char| !body(c)).unwrap_or(rest.len());
    let name = plain.get(..end)?;
    let behind = plain.get(end..)?;
    let ends = behind.chars().next().is_none_or(|c| "@[<>=!~^;:( ,".contains(c));
    let version = behind.split(';').next()?.split_once('@').map_or("", |(_, version)| version);
    let whole = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && name.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    (ends && whole && !version.contains(['/', ':'])).then_some(name)
}

/// Returns a name as an index compares it: in lower case, with each of the characters in `alike` replaced by a dash,
/// and a sequence of them by one dash if the dash is among them.
#[must_use]
pub fn folded(name: &str, alike: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name.chars() {
        let c = if alike.contains(c) { '-' } else { c.to_ascii_lowercase() };
        if !(c == '-' && alike.contains('-') && folded.ends_with('-')) {
            folded.push(c);
        }
    }
    folded
}

/// Returns the distance between two different names that a reader could confuse: 0 for the same words in another order
/// or with other separators, else the edit distance, at most two, and at most one for short names. `None` if they
/// cannot be confused.
#[must_use]
pub fn distance(one: &str, other: &str) -> Option<usize> {
    let most = match one.len().min(other.len()) {
        0..4 => return None,
        4..6 => 1,
        _ => 2,
    };
    if one == other || one.len().abs_diff(other.len()) > most.max(3) {
        return None;
    }
    let letters = |name: &str| -> Vec<u8> { name.bytes().filter(u8::is_ascii_alphanumeric).collect() };
    if letters(one) == letters(other) || has_same_words(one, other) {
        return Some(0);
    }
    // A quick check of lengths and ends, so that the distance is computed only for similar names.
    if one.len().abs_diff(other.len()) > most || !shares_an_end(one, other) {
        return None;
    }
    Some(osa_distance(one, other)).filter(|distance| *distance <= most)
}

fn has_same_words(one: &str, other: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = name
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        crate::judge::sort::sort(&mut words);
        words
    };
    one.len() == other.len() && words(one) == words(other)
}

/// Reports whether the first, the second or the last letters of two names are equal. Most pairs of names within two
/// edits of each other pass this test.
fn shares_an_end(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let alike = |at: usize| one.get(at) == other.get(at);
    let from_end = |name: &[u8], at: usize| name.len().checked_sub(at + 1).and_then(|at| name.get(at)).copied();
    alike(0) || alike(1) || from_end(one, 0) == from_end(other, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requirement_begins_with_a_name() {
        for (requirement, name) in [
            ("requests", "requests"),
            ("requests[socks]>=2,<3", "requests"),
            ("requests ; python_version < '4'", "requests"),
            ("numpy~=1.2", "numpy"),
            ("@types/node@^20", "@types/node"),
            ("lodash@latest", "lodash"),
            ("short@npm:lodash@4", "lodash"),
            ("npm:lodash@4", "lodash"),
            ("serde@1.0", "serde"),
            ("rails:7.1", "rails"),
            ("conda-forge::numpy=1.26", "numpy"),
            ("python=3.11", "python"),
            ("monolog/monolog:^3", "monolog/monolog"),
            ("monolog/monolog:dev-a/b@dev", "monolog/monolog"),
            ("requests ; platform == 'a@b/c'", "requests"),
        ] {
            assert_eq!(named(requirement, "npm"), Some(name), "{requirement}");
        }
        for other in ["", ".", "./x", "../x", "/x", "-x", "a b/c", "git+https://x.org/y", "$x", "@", "a@@b/", "x'y"] {
            assert!(named(other, "npm").is_none_or(|name| name == "a" || name == "a@"), "{other}");
        }
        for elsewhere in [
            "git+https://x.org/y",
            "requests @ git+https://x.org/y",
            "requests[socks]@https://x.org/y.whl ; python_version < '4'",
            "lodash@github:x/y",
            "lodash@x/y",
            "@types/node@gist:1234",
            "lodash@git@x.org:y",
            "short@npm:lodash@x/y",
        ] {
            assert_eq!(named(elsewhere, "npm"), None, "{elsewhere}");
        }
    }

    #[test]
    fn an_index_says_which_spellings_are_one_name() {
        assert_eq!(folded("Foo__Bar.baz", "-_."), "foo-bar-baz");
        assert_eq!(folded("lodash.get", ""), "lodash.get");
        assert_eq!(folded("a__b", "-_"), "a-b");
    }

    #[test]
    fn one_name_looks_like_another() {
        assert_eq!(distance("crossenv", "cross-env"), Some(0));
        assert_eq!(distance("dateutil-python", "python-dateutil"), Some(0));
        assert_eq!(distance("reqeusts", "requests"), Some(1));
        assert_eq!(distance("request", "requests"), Some(1));
        assert_eq!(distance("reqests1", "requests"), Some(2));
        assert_eq!(distance("requests", "requests"), None);
        assert_eq!(distance("ract", "react"), Some(1));
        assert_eq!(distance("ra", "react"), None);
        assert_eq!(distance("flsk", "flask"), Some(1));
        assert_eq!(distance("flxxk", "flask"), None);
        assert_eq!(distance("completely", "different"), None);
    }
}
