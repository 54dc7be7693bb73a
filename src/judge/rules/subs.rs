//! The subcommands of a program. Some programs have two hundred, and a command names one: only that one is decoded.

use std::cell::OnceCell;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeSeq as _, Serializer};

use super::glob;
use super::model::Sub;

/// Described subcommands, in order, each decoded when it is first asked for.
#[derive(Clone, Default)]
pub struct Subs {
    /// A line for each description: its paths, words joined by blanks, paths by tabs.
    names: String,
    /// The stored descriptions one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    decoded: Vec<OnceCell<Sub>>,
}

impl Subs {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All of them, decoded.
    pub fn iter(&self) -> impl Iterator<Item = &Sub> + Clone {
        (0..self.ends.len()).filter_map(|index| self.get(index))
    }

    /// All paths, words joined by blanks, with the number of the description.
    pub fn paths(&self) -> impl Iterator<Item = (&str, usize)> {
        let lines = self.names.lines().enumerate();
        lines.flat_map(|(index, line)| line.split('\t').map(move |path| (path, index)))
    }

    /// The description of exactly this path, one that names it before one that covers it.
    #[must_use]
    pub fn exact(&self, words: &[String]) -> Option<&Sub> {
        self.named(words).or_else(|| self.covering(words)).and_then(|index| self.get(index))
    }

    /// Whether a description names exactly these words.
    #[must_use]
    pub fn names(&self, words: &[String]) -> bool {
        self.named(words).is_some()
    }

    fn named(&self, words: &[String]) -> Option<usize> {
        let same = |path: &str| path.split(' ').eq(words.iter().map(String::as_str));
        self.paths().find(|(path, _)| same(path)).map(|(_, index)| index)
    }

    fn covering(&self, words: &[String]) -> Option<usize> {
        let covers = |path: &str| glob::is_glob(path) && covers(path.split(' '), words);
        self.paths().find(|(path, _)| covers(path)).map(|(_, index)| index)
    }

    /// Whether some path begins with these words and goes on. Behind what runs a command only a path that names the
    /// words does: what follows is that command.
    #[must_use]
    pub fn go_on_from(&self, words: &[String]) -> bool {
        let named = |path: &str| {
            let mut path = path.split(' ');
            words.iter().all(|word| path.next() == Some(word)) && path.next().is_some()
        };
        let may_cover = |path: &str| glob::is_glob(path) && may_cover(path.split(' '), words);
        let ends = || self.exact(words).is_some_and(|sub| !sub.wraps.is_empty() || sub.runs.is_some());
        self.paths().any(|(path, _)| named(path)) || self.paths().any(|(path, _)| may_cover(path)) && !ends()
    }

    /// The description of the longest path that these words begin with, and its length in words.
    #[must_use]
    pub fn longest(&self, words: &[String]) -> Option<(usize, &Sub)> {
        let prefixes = (1..=words.len()).rev().filter_map(|length| Some((length, words.get(..length)?)));
        prefixes.filter_map(|(length, words)| Some((length, self.exact(words)?))).next()
    }

    fn get(&self, index: usize) -> Option<&Sub> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        let stored = self.bytes.get(start as usize..*self.ends.get(index)? as usize)?;
        // What is stored here was encoded below, or by the build script, which reads back all that it stores.
        Some(self.decoded.get(index)?.get_or_init(|| postcard::from_bytes(stored).unwrap_or_default()))
    }
}

impl From<Vec<Sub>> for Subs {
    fn from(subs: Vec<Sub>) -> Self {
        let mut all = Self::default();
        for sub in subs {
            // Encoding into memory cannot fail: every length is known.
            all.bytes.extend(postcard::to_allocvec(&sub).unwrap_or_default());
            all.ends.push(u32::try_from(all.bytes.len()).unwrap_or(u32::MAX));
            let paths: Vec<String> = sub.paths.iter().map(|path| path.join(" ")).collect();
            all.names.push_str(&paths.join("\t"));
            all.names.push('\n');
            all.decoded.push(OnceCell::from(sub));
        }
        all
    }
}

impl PartialEq for Subs {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names && self.bytes == other.bytes
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
        (&self.names, Bytes(&self.bytes), &self.ends).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Subs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return Vec::<Sub>::deserialize(deserializer).map(Self::from);
        }
        let (names, bytes, ends): (String, Bytes<'de>, Vec<u32>) = Deserialize::deserialize(deserializer)?;
        if ends.last().copied().unwrap_or(0) as usize != bytes.0.len() {
            return Err(D::Error::custom("the lengths of the subcommands do not fit"));
        }
        let decoded = std::iter::repeat_with(OnceCell::new).take(ends.len()).collect();
        Ok(Self { names, bytes: bytes.0.to_vec(), ends, decoded })
    }
}

/// Whether a path covers exactly these words: `*` within a word as in any glob, `**` any number of
/// words, none included.
pub fn covers<'p>(mut path: impl Iterator<Item = &'p str> + Clone, words: &[String]) -> bool {
    match (path.next(), words.split_first()) {
        (None, rest) => rest.is_none(),
        (Some("**"), _) => (0..=words.len()).any(|taken| covers(path.clone(), words.get(taken..).unwrap_or(&[]))),
        (Some(_), None) => false,
        (Some(one), Some((word, rest))) => glob::text(one, word) && covers(path, rest),
    }
}

/// Whether a path covers words that begin with these and go on.
fn may_cover<'p>(mut path: impl Iterator<Item = &'p str> + Clone, words: &[String]) -> bool {
    match (path.next(), words.split_first()) {
        (one, None) => one.is_some(),
        (None, Some(_)) => false,
        (Some("**"), Some(_)) => true,
        (Some(one), Some((word, rest))) => glob::text(one, word) && may_cover(path, rest),
    }
}

/// Bytes that are stored as they are.
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
    fn they_come_back_as_they_were_stored() {
        let stored = postcard::to_allocvec(&subs()).unwrap();
        assert_eq!(postcard::from_bytes::<Subs>(&stored).unwrap(), subs());
        let json = serde_json::to_string(&subs()).unwrap();
        assert_eq!(serde_json::from_str::<Subs>(&json).unwrap(), subs());
    }
}
