//! The subcommands of a program. Some programs have two hundred, of which a command uses one: only that one is decoded.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeSeq as _, Serializer};

use super::glob;
use super::model::Sub;

/// The described subcommands, in order, each decoded on first use.
#[derive(Clone, Default)]
pub struct Subs {
    /// The sorted paths without wildcards, one per line: the words separated by spaces, a tab, and the index of the
    /// description.
    plain: String,
    /// The paths with wildcards, in the same format, in the order of their descriptions.
    globs: String,
    /// The encoded descriptions, concatenated, and the end of each.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    decoded: Vec<OnceCell<Sub>>,
    lines: OnceCell<Vec<Line>>,
}

/// The position of a path in `plain`, and the index of its description.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
    index: usize,
}

impl Subs {
    /// Reports whether there are no subcommands.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns all descriptions, decoded.
    pub fn iter(&self) -> impl Iterator<Item = &Sub> + Clone {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }

    /// Returns all paths, as words separated by spaces, with the indices of their descriptions.
    pub fn paths(&self) -> impl Iterator<Item = (&str, usize)> {
        self.plain.lines().chain(self.globs.lines()).filter_map(entry)
    }

    /// Reports whether a path begins with this word.
    #[must_use]
    pub fn begin_with(&self, word: &str) -> bool {
        let begins = |(path, _): (&str, usize)| path.split(' ').next() == Some(word);
        self.first_from(word).is_some_and(begins) || self.globs.lines().filter_map(entry).any(begins)
    }

    /// Returns the descriptions whose path is a prefix of these words.
    pub fn naming(&self, words: &[String]) -> impl Iterator<Item = &Sub> {
        let prefixes = (1..=words.len()).filter_map(|length| words.get(..length));
        prefixes.filter_map(|words| self.get(self.named(words)?))
    }

    /// Returns the description of exactly this path. A literal path takes precedence over one with wildcards.
    #[must_use]
    pub fn exact(&self, words: &[String]) -> Option<&Sub> {
        self.named(words).or_else(|| self.covering(words)).and_then(|index| self.get(index))
    }

    /// Reports whether a literal path consists of exactly these words.
    #[must_use]
    pub fn names(&self, words: &[String]) -> bool {
        self.named(words).is_some()
    }

    fn named(&self, words: &[String]) -> Option<usize> {
        let path = words.join(" ");
        let (here, index) = self.first_from(&path)?;
        (here == path).then_some(index)
    }

    fn covering(&self, words: &[String]) -> Option<usize> {
        let covers = |path: &str| covers(path.split(' '), words);
        self.globs.lines().filter_map(entry).find(|(path, _)| covers(path)).map(|(_, index)| index)
    }

    /// Reports whether a longer path begins with these words. If the subcommand runs a command, paths with wildcards do
    /// not count, because the next words are that command.
    #[must_use]
    pub fn go_on_from(&self, words: &[String]) -> bool {
        let mut begun = words.join(" ");
        if !words.is_empty() {
            begun.push(' ');
        }
        let may_cover = |path: &str| may_cover(path.split(' '), words);
        let ends = || self.exact(words).is_some_and(|sub| !sub.wraps.is_empty() || sub.runs.is_some());
        self.first_from(&begun).is_some_and(|(path, _)| path.starts_with(&begun))
            || self.globs.lines().filter_map(entry).any(|(path, _)| may_cover(path)) && !ends()
    }

    /// Returns the first of the sorted paths that is not less than this one, with the index of its description.
    fn first_from(&self, path: &str) -> Option<(&str, usize)> {
        let lines = self.lines.get_or_init(|| {
            let mut start = 0;
            let line = |line: &str| {
                let begins = start;
                start += line.len();
                let (path, index) = entry(line.trim_end_matches('\n'))?;
                Some(Line { start: begins, end: begins + path.len(), index })
            };
            self.plain.split_inclusive('\n').filter_map(line).collect()
        });
        let text = |line: &Line| self.plain.get(line.start..line.end).unwrap_or_default();
        let line = lines.get(lines.partition_point(|line| text(line) < path))?;
        Some((text(line), line.index))
    }

    /// Returns the description of the longest path that is a prefix of these words, and its length in words.
    #[must_use]
    pub fn longest(&self, words: &[String]) -> Option<(usize, &Sub)> {
        let prefixes = (1..=words.len()).rev().filter_map(|length| Some((length, words.get(..length)?)));
        prefixes.filter_map(|(length, words)| Some((length, self.exact(words)?))).next()
    }

    fn get(&self, index: usize) -> Option<&Sub> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        let stored = self.bytes.get(start as usize..*self.ends.get(index)? as usize)?;
        // The bytes were encoded below, or by the build script, which decodes everything that it packs.
        Some(self.decoded.get(index)?.get_or_init(|| postcard::from_bytes(stored).unwrap_or_default()))
    }
}

impl From<Vec<Sub>> for Subs {
    fn from(subs: Vec<Sub>) -> Self {
        let mut all = Self::default();
        // If a path has two descriptions, the first applies.
        let mut plain = BTreeMap::new();
        for sub in subs {
            // Encoding into memory cannot fail, because every length is known.
            all.bytes.extend(postcard::to_allocvec(&sub).unwrap_or_default());
            all.ends.push(u32::try_from(all.bytes.len()).unwrap_or(u32::MAX));
            let index = all.decoded.len();
            for path in sub.paths.iter().map(|path| path.join(" ")) {
                if glob::is_glob(&path) {
                    all.globs.push_str(&format!("{path}\t{index}\n"));
                } else {
                    plain.entry(path).or_insert(index);
                }
            }
            all.decoded.push(OnceCell::from(sub));
        }
        all.plain = plain.iter().map(|(path, index)| format!("{path}\t{index}\n")).collect();
        all
    }
}

impl PartialEq for Subs {
    fn eq(&self, other: &Self) -> bool {
        (&self.plain, &self.globs, &self.bytes) == (&other.plain, &other.globs, &other.bytes)
    }
}

impl fmt::Debug for Subs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Subs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            let mut list = serializer.serialize_seq(Some(self.ends.len()))?;
            for sub in self.iter() {
                list.serialize_element(sub)?;
            }
            return list.end();
        }
        (&self.plain, &self.globs, Bytes(&self.bytes), &self.ends).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Subs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Vec::<Sub>::deserialize(deserializer).map(Self::from);
        }
        let (plain, globs, bytes, ends): (String, String, Bytes<'de>, Vec<u32>) =
            Deserialize::deserialize(deserializer)?;
        if ends.last().copied().unwrap_or(0) as usize != bytes.0.len() {
            return Err(D::Error::custom("the lengths of the subcommands do not fit"));
        }
        let decoded = std::iter::repeat_with(OnceCell::new).take(ends.len()).collect();
        Ok(Self { plain, globs, bytes: bytes.0.to_vec(), ends, decoded, lines: OnceCell::new() })
    }
}

/// Reports whether a path matches exactly these words: `*` in a word as in any glob, `**` any number of words,
/// including none.
pub fn covers<'p>(mut path: impl Iterator<Item = &'p str> + Clone, words: &[String]) -> bool {
    match (path.next(), words.split_first()) {
        (None, rest) => rest.is_none(),
        (Some("**"), _) => (0..=words.len()).any(|taken| covers(path.clone(), words.get(taken..).unwrap_or(&[]))),
        (Some(_), None) => false,
        (Some(one), Some((word, rest))) => glob::text(one, word) && covers(path, rest),
    }
}

/// Reports whether a path matches some words that begin with these and are more.
fn may_cover<'p>(mut path: impl Iterator<Item = &'p str> + Clone, words: &[String]) -> bool {
    match (path.next(), words.split_first()) {
        (one, None) => one.is_some(),
        (None, Some(_)) => false,
        (Some("**"), Some(_)) => true,
        (Some(one), Some((word, rest))) => glob::text(one, word) && may_cover(path, rest),
    }
}

/// Parses a line: a path and the index of its description.
fn entry(line: &str) -> Option<(&str, usize)> {
    let (path, index) = line.split_once('\t')?;
    Some((path, index.parse().ok()?))
}

/// Bytes that are serialised unchanged.
struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tier::Tier;

    fn sub(paths: &[&str]) -> Sub {
        Sub { paths: paths.iter().map(|path| path.split(' ').map(str::to_owned).collect()).collect(), ..Sub::default() }
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn subs() -> Subs {
        Subs::from(vec![sub(&["push"]), sub(&["remote"]), sub(&["remote remove", "remote rm"])])
    }

    #[test]
    fn a_word_that_a_path_begins_with_is_found_among_its_neighbours() {
        let subs = Subs::from(vec![sub(&["remote add"]), sub(&["remote-ext"]), sub(&["stash"]), sub(&["x* y"])]);
        for word in ["remote", "remote-ext", "stash", "x*"] {
            assert!(subs.begin_with(word), "{word}");
        }
        for word in ["", "add", "remot", "remote-", "remote add", "stashes", "x", "zz"] {
            assert!(!subs.begin_with(word), "{word}");
        }
    }

    #[test]
    fn the_longest_path_is_found() {
        let subs = subs();
        let found = |text: &str| subs.longest(&words(text)).map(|(length, sub)| (length, sub.paths[0].join(" ")));
        assert_eq!(found("remote rm origin"), Some((2, "remote remove".to_owned())));
        assert_eq!(found("remote show"), Some((1, "remote".to_owned())));
        assert_eq!(found("pull"), None);
        assert!(subs.go_on_from(&words("remote")));
        assert!(!subs.go_on_from(&words("push")));
        assert!(!subs.go_on_from(&words("rem")));
        assert!(subs.exact(&words("remote rm")).is_some());
        assert!(subs.exact(&words("remote remove x")).is_none());
    }

    #[test]
    fn a_path_may_cover_words_that_it_does_not_name() {
        let subs =
            Subs::from(vec![sub(&["* describe-*"]), sub(&["** delete"]), sub(&["sql delete", "sql delete all"])]);
        let found = |text: &str| subs.longest(&words(text)).map(|(length, sub)| (length, sub.paths[0].join(" ")));
        assert_eq!(found("ec2 describe-instances"), Some((2, "* describe-*".to_owned())));
        assert_eq!(found("compute instances delete web"), Some((3, "** delete".to_owned())));
        assert_eq!(found("sql delete web"), Some((2, "sql delete".to_owned())));
        assert_eq!(found("delete"), Some((1, "** delete".to_owned())));
        assert_eq!(found("describe-instances"), None);
        assert!(subs.go_on_from(&words("compute instances")));
        assert_eq!(found("compute delete delete-backups"), Some((2, "** delete".to_owned())));
        assert!(subs.go_on_from(&words("sql delete")));
        assert!(subs.names(&words("sql delete")) && !subs.names(&words("compute instances delete")));
    }

    #[test]
    fn every_path_is_found_among_its_likes() {
        let paths = ["a", "a b", "a-b", "a b c", "ab", "b", "remote", "remote-x add", "z"];
        let subs = Subs::from(paths.map(|path| sub(&[path])).to_vec());
        for path in paths {
            assert_eq!(subs.exact(&words(path)).map(|sub| sub.paths[0].join(" ")).as_deref(), Some(path));
        }
        for path in ["", "0", "a c", "a b d", "aa", "remote-x", "zz"] {
            assert!(subs.exact(&words(path)).is_none(), "{path}");
        }
        let goes_on = |path: &str| subs.go_on_from(&words(path));
        assert!(goes_on("a") && goes_on("a b") && goes_on("remote-x"));
        assert!(!goes_on("remote") && !goes_on("a-b") && !goes_on("z") && !goes_on("a b c"));
        let naming: Vec<String> = subs.naming(&words("a b x")).map(|sub| sub.paths[0].join(" ")).collect();
        assert_eq!(naming, ["a", "a b"]);
    }

    #[test]
    fn of_two_descriptions_of_a_path_the_first_counts() {
        let tier = |path: &str, tier| Sub { tier: Some(tier), ..sub(&[path]) };
        let subs = Subs::from(vec![tier("x", Tier::Low), tier("x", Tier::High)]);
        assert_eq!(subs.exact(&words("x")).and_then(|sub| sub.tier), Some(Tier::Low));
    }

    #[test]
    fn they_come_back_as_they_were_stored() {
        let stored = postcard::to_allocvec(&subs()).unwrap();
        assert_eq!(postcard::from_bytes::<Subs>(&stored).unwrap(), subs());
        let json = serde_json::to_string(&subs()).unwrap();
        assert_eq!(serde_json::from_str::<Subs>(&json).unwrap(), subs());
    }
}
