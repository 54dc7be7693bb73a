//! git's configuration as plain settings.
//!
//! This module reads the files, with limits on their number and size, and uses the library only to parse them: a
//! setting that would run something is text like any other.

use std::path::{Path, PathBuf};

use gix::bstr::{BStr, BString, ByteSlice};
use gix::config::parse::EventRef;
use gix::glob::wildmatch;

use crate::world::paths::{self, Content};
use crate::world::{FactResult, UnknownFact};

/// Maximum length of a configuration file.
const MAX_FILE: usize = 1024 * 1024;

/// Maximum number of files that a configuration may include.
const MAX_FILES: usize = 64;

/// Maximum number of settings of a file, with those of the files that it includes.
const MAX_SETTINGS: usize = 50_000;

/// Maximum number of conditions of includes that are evaluated.
const MAX_CONDITIONS: usize = 256;

/// Maximum depth of nested includes, as in git.
const MAX_DEPTH: usize = 10;

/// A setting `section.subsection.key = value`. Section and key are in lower case; a key without `=` has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub section: String,
    pub subsection: Option<String>,
    pub key: String,
    pub value: Option<String>,
}

/// Settings in the order in which git reads them: the last one wins.
#[derive(Clone, Debug, Default)]
pub struct Config {
    settings: Vec<Setting>,
}

/// The facts on which conditional includes in git's configuration depend.
#[derive(Clone, Debug, Default)]
pub struct IncludeContext {
    /// The directory that replaces `~/`.
    pub home: Option<PathBuf>,
    pub git_dir: Option<PathBuf>,
    /// The current branch, without `refs/heads/`.
    pub branch: Option<String>,
}

impl Config {
    /// Adds the settings of a file and of the files that it includes. A missing file adds nothing.
    ///
    /// # Errors
    ///
    /// A file cannot be parsed or read, or there are too many of them.
    pub fn add_file(&mut self, file: &Path, include_context: &IncludeContext) -> FactResult<()> {
        // `hasconfig:` tests URLs that may be set anywhere, so the URLs are collected first.
        let mut urls = ConfigReader { include_context, urls: None, files: 0, conditions: 0, settings: Vec::new() };
        urls.file(file, 0)?;
        let known = self.settings.iter().chain(&urls.settings).filter(|setting| setting.is("remote", "url"));
        let urls = known.filter_map(|setting| setting.value.clone()).collect();
        let mut reader =
            ConfigReader { include_context, urls: Some(urls), files: 0, conditions: 0, settings: Vec::new() };
        reader.file(file, 0)?;
        self.settings.append(&mut reader.settings);
        Ok(())
    }

    /// Adds one setting, named as on git's command line (`section.sub.key`).
    pub fn add(&mut self, name: &str, value: Option<&str>) {
        let (Some((section, rest)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.')) else { return };
        let subsection = rest.strip_suffix(key).and_then(|rest| rest.strip_suffix('.'));
        self.settings.push(Setting {
            section: section.to_ascii_lowercase(),
            subsection: subsection.map(str::to_owned),
            key: key.to_ascii_lowercase(),
            value: value.map(str::to_owned),
        });
    }

    /// Returns all settings of one section.
    pub fn section(&self, section: &'static str) -> impl Iterator<Item = &Setting> {
        self.settings.iter().filter(move |setting| setting.section == section)
    }

    /// Returns the effective setting `section.key`.
    #[must_use]
    pub fn get(&self, section: &'static str, key: &str) -> Option<&Setting> {
        self.section(section).filter(|setting| setting.subsection.is_none() && setting.key == key).last()
    }

    /// Returns the effective value of `section.subsection.key`.
    #[must_use]
    pub fn get_in(&self, section: &'static str, subsection: &str, key: &str) -> Option<&str> {
        let named = |setting: &&Setting| setting.subsection.as_deref() == Some(subsection) && setting.key == key;
        self.section(section).filter(named).last().and_then(|setting| setting.value.as_deref())
    }
}

impl Setting {
    fn is(&self, section: &str, key: &str) -> bool {
        self.section == section && self.key == key
    }

    /// Parses the value as git parses a boolean; a key without `=` is true.
    ///
    /// # Errors
    ///
    /// The text is not a boolean.
    pub fn truth(&self) -> FactResult<bool> {
        let Some(value) = &self.value else { return Ok(true) };
        match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true),
            "false" | "no" | "off" | "" => Ok(false),
            number => number.parse::<i64>().map(|number| number != 0).map_err(|_| UnknownFact),
        }
    }
}

/// A reader of one file with its includes.
struct ConfigReader<'a> {
    include_context: &'a IncludeContext,
    /// The URLs of all remotes, once they are known.
    urls: Option<Vec<String>>,
    files: usize,
    conditions: usize,
    settings: Vec<Setting>,
}

impl ConfigReader<'_> {
    fn file(&mut self, path: &Path, depth: usize) -> FactResult<()> {
        self.files += 1;
        if self.files > MAX_FILES || depth > MAX_DEPTH {
            return Err(UnknownFact);
        }
        // These names make git read no file. They count as empty, although they are not regular files.
        if path == Path::new("/dev/null") || path.as_os_str().is_empty() {
            return Ok(());
        }
        let bytes = match paths::read(path, MAX_FILE) {
            Content::Missing => return Ok(()),
            Content::Bytes(bytes) => bytes,
            Content::TooLarge | Content::Unreadable => return Err(UnknownFact),
        };
        let events = gix::config::parse::Events::from_bytes(&bytes, None).map_err(|_| UnknownFact)?;
        for section in events.sections() {
            let EventRef::SectionHeader { name, separator, subsection_name } = section.header() else { continue };
            let name = name.to_str_lossy().to_ascii_lowercase();
            let subsection = subsection_name.map(|name| name.to_str_lossy().into_owned());
            // The subsection of the old syntax, `[section.sub]`, is case-insensitive.
            let old = separator.is_some_and(|separator| separator == ".");
            let subsection = subsection.map(|name| if old { name.to_ascii_lowercase() } else { name });
            let follow = match (name.as_str(), subsection_name) {
                ("include", None) => true,
                ("includeif", Some(condition)) => self.holds(condition, path)?,
                _ => false,
            };
            for (key, value) in pairs(section.body()) {
                match &value {
                    Some(target) if follow && key == "path" => self.include(target.as_ref(), path, depth)?,
                    _ => {}
                }
                if self.settings.len() >= MAX_SETTINGS {
                    return Err(UnknownFact);
                }
                let value = value.map(|value| value.to_str_lossy().into_owned());
                self.settings.push(Setting { section: name.clone(), subsection: subsection.clone(), key, value });
            }
        }
        Ok(())
    }

    /// Reads an included file. `~/` is the home, and a relative path is relative to the including file.
    fn include(&mut self, target: &BStr, from: &Path, depth: usize) -> FactResult<()> {
        let target = target.to_str().map_err(|_| UnknownFact)?;
        let target = match target.strip_prefix("~/") {
            Some(rest) => self.include_context.home.as_deref().ok_or(UnknownFact)?.join(rest),
            // The homes of other accounts and the directory where git is installed are unknown here.
            None if target.starts_with('~') || target.starts_with('%') => return Err(UnknownFact),
            None => from.parent().unwrap_or(Path::new("/")).join(target),
        };
        self.file(&target, depth + 1)
    }

    /// Reports whether the condition of an `includeIf` is met.
    fn holds(&mut self, condition: &BStr, from: &Path) -> FactResult<bool> {
        self.conditions += 1;
        if self.conditions > MAX_CONDITIONS {
            return Err(UnknownFact);
        }
        let Some((kind, pattern)) = condition.split_once_str(":") else { return Ok(false) };
        Ok(match kind {
            b"gitdir" => self.is_in(pattern, from, wildmatch::Mode::empty()),
            b"gitdir/i" => self.is_in(pattern, from, wildmatch::Mode::IGNORE_CASE),
            b"onbranch" => self.include_context.branch.as_deref().is_some_and(|branch| {
                let mut pattern = BString::from(pattern);
                if pattern.ends_with(b"/") {
                    pattern.extend_from_slice(b"**");
                }
                gix::glob::wildmatch(pattern.as_ref(), branch.into(), wildmatch::Mode::NO_MATCH_SLASH_LITERAL)
            }),
            b"hasconfig" => pattern.strip_prefix(b"remote.*.url:").is_some_and(|pattern| {
                let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
                self.urls.iter().flatten().any(|url| gix::glob::wildmatch(pattern.as_bstr(), url.as_str().into(), mode))
            }),
            _ => false,
        })
    }

    /// Reports whether a `gitdir:` pattern matches the repository's data directory, by its name or by its real path.
    fn is_in(&self, pattern: &[u8], from: &Path, case: wildmatch::Mode) -> bool {
        let Some(git_dir) = &self.include_context.git_dir else { return false };
        let beside = |base: &Path, rest: &[u8]| [base.as_os_str().as_encoded_bytes(), b"/", rest].concat();
        let mut pattern = if let Some(rest) = pattern.strip_prefix(b"~/") {
            let Some(home) = &self.include_context.home else { return false };
            beside(home, rest)
        } else if let Some(rest) = pattern.strip_prefix(b"./") {
            beside(from.parent().unwrap_or(Path::new("/")), rest)
        } else if pattern.starts_with(b"/") {
            pattern.to_vec()
        } else {
            [b"**/", pattern].concat()
        };
        if pattern.ends_with(b"/") {
            pattern.extend_from_slice(b"**");
        }
        let matches = |dir: &Path| {
            let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL | case;
            gix::glob::wildmatch(pattern.as_bstr(), dir.as_os_str().as_encoded_bytes().as_bstr(), mode)
        };
        matches(git_dir) || git_dir.canonicalize().is_ok_and(|real| matches(&real))
    }
}

/// Returns the keys of a section with their values, in order. A key without `=` has no value.
fn pairs<'a>(events: impl Iterator<Item = EventRef<'a>>) -> Vec<(String, Option<BString>)> {
    let mut pairs = Vec::new();
    let mut key = String::new();
    let mut separated = false;
    let mut value = BString::default();
    for event in events {
        match event {
            EventRef::SectionValueName(name) => {
                key = name.to_str_lossy().to_ascii_lowercase();
                separated = false;
                value.clear();
            }
            EventRef::KeyValueSeparator => separated = true,
            EventRef::ValueNotDone(part) => value.extend_from_slice(part),
            EventRef::Value(part) | EventRef::ValueDone(part) => {
                value.extend_from_slice(part);
                let value = gix::config::value::normalize(&value).into_owned();
                pairs.push((std::mem::take(&mut key), separated.then_some(value)));
            }
            _ => {}
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut config = Config::default();
        config.add_file(file.path(), &IncludeContext::default()).unwrap();
        config
    }

    #[test]
    fn settings_are_read_as_git_writes_them() {
        let config = read(
            "[Alias]\n\tST = status ; not this\n\tlong = a \\\n  b\n\tq = \"x # y\" z\n[remote \"Or\\\"igin\"] url=u\n[branch.Main]merge=m\n",
        );
        let alias = |key: &str| config.get("alias", key).and_then(|setting| setting.value.as_deref());
        assert_eq!(alias("st"), Some("status"));
        assert_eq!(alias("long"), Some("a   b"));
        assert_eq!(alias("q"), Some("x # y z"));
        assert_eq!(config.get_in("remote", "Or\"igin", "url"), Some("u"));
        assert_eq!(config.get_in("branch", "main", "merge"), Some("m"));
    }

    #[test]
    fn a_key_without_a_value_does_not_take_the_next_ones() {
        let config = read("[core]\n\tbare\n\tworktree = /x\n\tempty =\n");
        assert_eq!(config.get("core", "bare").unwrap().value, None);
        assert_eq!(config.get("core", "bare").unwrap().truth(), Ok(true));
        assert_eq!(config.get("core", "empty").unwrap().truth(), Ok(false));
        assert_eq!(config.get("core", "worktree").unwrap().value.as_deref(), Some("/x"));
    }

    #[test]
    fn the_last_setting_counts() {
        let mut config = read("[a]\nb = 1\nb = 2\n[a]\nb = 3\n");
        assert_eq!(config.get("a", "b").unwrap().value.as_deref(), Some("3"));
        config.add("a.b", Some("4"));
        config.add("a.x.y.b", Some("5"));
        assert_eq!(config.get("a", "b").unwrap().value.as_deref(), Some("4"));
        assert_eq!(config.get_in("a", "x.y", "b"), Some("5"));
    }

    #[test]
    fn text_that_is_no_configuration_is_not_answered() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[alias\n").unwrap();
        assert_eq!(Config::default().add_file(file.path(), &IncludeContext::default()), Err(UnknownFact));
    }
}
