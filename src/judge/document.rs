//! Reads TOML documents key by key. The requested keys are the ones that a table may contain; any other key is reported
//! with its position and the nearest known key.
//!
//! There is one reader for all documents instead of a derived implementation for each type: derived code is compiled
//! once for each type and each way to read it, which made the binary larger than the rest of the reader. The build
//! script reads the built-in pattern files with this module too.

mod text;

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::{Error as WordError, StrDeserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use self::text::{found, integer, quoted};
use super::nearest::nearest;
use super::tier::Tier;

/// A value and its position in the file.
pub type Located<T> = Spanned<T>;

/// An error in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position in bytes.
    pub span: Range<usize>,
    /// The key; empty if it is unknown.
    pub key: String,
    pub what: String,
    /// A suggestion; empty if there is none but to read the manual.
    pub remedy: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.key.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.key, self.what)
    }
}

/// A table that is being read.
#[derive(Debug)]
pub struct Fields<'a> {
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: Vec<&'static str>,
    missing: Vec<&'static str>,
    faults: Vec<Fault>,
}

/// Reads a table.
///
/// # Errors
/// All errors in the table.
pub fn read<'a, T>(table: &'a Spanned<DeTable<'a>>, shape: impl FnOnce(&mut Fields<'a>) -> T) -> Result<T, Vec<Fault>> {
    let mut fields = Fields::new(table.get_ref(), table.span());
    let read = shape(&mut fields);
    let faults = fields.faults();
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

impl<'a> Fields<'a> {
    const fn new(table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        Self { table, span, asked: Vec::new(), missing: Vec::new(), faults: Vec::new() }
    }

    /// Returns all errors, after all keys were requested.
    fn faults(self) -> Vec<Fault> {
        let mut faults = self.faults;
        let before = faults.len();
        for key in self.table.keys() {
            let name = &**key.get_ref();
            if !self.asked.contains(&name) {
                let remedy = nearest(name, self.asked.iter().copied());
                let remedy = remedy.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
                let what = format!("unknown field `{name}`, expected one of `{}`", self.asked.join("`, `"));
                faults.push(Fault { span: key.span(), key: String::new(), what, remedy });
            }
        }
        // A misspelled key is not reported as missing too.
        if faults.len() == before {
            let missing = |key: &&str| Fault {
                span: self.span.clone(),
                key: (*key).to_owned(),
                what: "it is missing".to_owned(),
                remedy: "add it".to_owned(),
            };
            faults.extend(self.missing.iter().map(missing));
        }
        faults
    }

    fn fault(&mut self, key: &str, span: Range<usize>, what: String, remedy: &str) {
        self.faults.push(Fault { span, key: key.to_owned(), what, remedy: remedy.to_owned() });
    }

    /// Reports that the value of a key is not one of the allowed values.
    pub fn refuse(&mut self, key: &str, what: &str) {
        let span = self.table.get(key).map_or_else(|| self.span.clone(), Spanned::span);
        self.fault(key, span, what.to_owned(), "");
    }

    fn wrong(&mut self, key: &str, expected: &str, value: &Spanned<DeValue<'_>>) {
        self.fault(key, value.span(), format!("expected {expected}, found {}", found(value.get_ref())), "");
    }

    fn take(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Reads a required value. If it is missing, an error is reported and the returned value is meaningless.
    pub fn need<T: Default>(
        &mut self,
        key: &'static str,
        read: fn(&mut Self, &'static str) -> Option<Located<T>>,
    ) -> Located<T> {
        self.need_or(key, read, T::default())
    }

    /// Reads a required value, if `T` has no suitable default.
    pub fn need_or<T>(
        &mut self,
        key: &'static str,
        read: fn(&mut Self, &'static str) -> Option<Located<T>>,
        stand_in: T,
    ) -> Located<T> {
        if !self.table.contains_key(key) {
            self.missing.push(key);
        }
        read(self, key).unwrap_or_else(|| Spanned::new(self.span.clone(), stand_in))
    }

    /// Reads a string with its position.
    pub fn text(&mut self, key: &'static str) -> Option<Located<String>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(Spanned::new(value.span(), text.clone().into_owned())),
            _ => {
                self.wrong(key, "a string", value);
                None
            }
        }
    }

    /// Reads a string without its position.
    pub fn line(&mut self, key: &'static str) -> Option<String> {
        self.text(key).map(Spanned::into_inner)
    }

    fn array(&mut self, key: &'static str, expected: &str) -> &'a [Spanned<DeValue<'a>>] {
        let Some(value) = self.take(key) else { return &[] };
        match value.get_ref() {
            DeValue::Array(array) => array,
            _ => {
                self.wrong(key, expected, value);
                &[]
            }
        }
    }

    /// Reads strings, each with its position; none if the key is missing.
    pub fn texts(&mut self, key: &'static str) -> Vec<Located<String>> {
        let array = self.array(key, "an array of strings");
        self.strings(key, array)
    }

    fn strings(&mut self, key: &str, array: &[Spanned<DeValue<'_>>]) -> Vec<Located<String>> {
        let mut texts = Vec::with_capacity(array.len());
        for value in array {
            match value.get_ref() {
                DeValue::String(text) => texts.push(Spanned::new(value.span(), text.clone().into_owned())),
                _ => self.wrong(key, "a string", value),
            }
        }
        texts
    }

    /// Reads strings without their positions.
    pub fn lines(&mut self, key: &'static str) -> Vec<String> {
        plain(self.texts(key))
    }

    /// Reads an array of strings with its position.
    pub fn list(&mut self, key: &'static str) -> Option<Located<Vec<String>>> {
        let span = self.table.get(key).map(Spanned::span);
        let lines = self.lines(key);
        span.map(|span| Spanned::new(span, lines))
    }

    /// Reads a string or an array of strings.
    pub fn one_or_many(&mut self, key: &'static str) -> Option<Located<Vec<String>>> {
        let value = self.take(key)?;
        let texts = match value.get_ref() {
            DeValue::String(text) => vec![text.clone().into_owned()],
            DeValue::Array(array) => plain(self.strings(key, array)),
            _ => {
                self.wrong(key, "a string or an array of strings", value);
                return None;
            }
        };
        Some(Spanned::new(value.span(), texts))
    }

    /// Reads a string, or a whole number as its digits.
    pub fn word_or_number(&mut self, key: &'static str) -> Option<String> {
        match self.table.get(key).map(Spanned::get_ref) {
            Some(DeValue::Integer(whole)) => {
                self.asked.push(key);
                Some(whole.to_string())
            }
            _ => self.line(key),
        }
    }

    /// Reads a boolean, or an array of strings in place of a condition.
    pub fn flag_or_texts(&mut self, key: &'static str) -> Option<(bool, Vec<Located<String>>)> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some((*flag, Vec::new())),
            DeValue::Array(array) => Some((false, self.strings(key, array))),
            _ => {
                self.wrong(key, "true or an array of strings", value);
                None
            }
        }
    }

    /// Reads a boolean with its position.
    pub fn flag_at(&mut self, key: &'static str) -> Option<Located<bool>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(Spanned::new(value.span(), *flag)),
            _ => {
                self.wrong(key, "true or false", value);
                None
            }
        }
    }

    /// Reads a boolean; `None` if the key is missing.
    pub fn choice(&mut self, key: &'static str) -> Option<bool> {
        self.flag_at(key).map(Spanned::into_inner)
    }

    /// Reads a boolean; `false` if the key is missing.
    pub fn flag(&mut self, key: &'static str) -> bool {
        self.choice(key).unwrap_or_default()
    }

    /// Reads a non-negative whole number with its position.
    pub fn count_at(&mut self, key: &'static str) -> Option<Located<u32>> {
        let value = self.take(key)?;
        match whole(value.get_ref()).and_then(|number| u32::try_from(number).ok()) {
            Some(number) => Some(Spanned::new(value.span(), number)),
            None => {
                self.wrong(key, "a whole number from 0", value);
                None
            }
        }
    }

    /// Reads a non-negative whole number.
    pub fn count(&mut self, key: &'static str) -> Option<u32> {
        self.count_at(key).map(Spanned::into_inner)
    }

    /// Reads a minimum and a maximum.
    pub fn range(&mut self, key: &'static str) -> Option<Located<[u32; 2]>> {
        let value = self.take(key)?;
        let number = |value: &Spanned<DeValue<'_>>| whole(value.get_ref()).and_then(|number| number.try_into().ok());
        if let DeValue::Array(array) = value.get_ref()
            && let [least, most] = &**array
            && let (Some(least), Some(most)) = (number(least), number(most))
        {
            return Some(Spanned::new(value.span(), [least, most]));
        }
        self.wrong(key, "two whole numbers from 0, [least, most]", value);
        None
    }

    /// Reads a number.
    pub fn number(&mut self, key: &'static str) -> Option<Located<f64>> {
        let value = self.take(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(whole) => whole.to_string().parse().ok(),
            DeValue::Float(float) => float.as_str().parse().ok(),
            _ => None,
        };
        match number {
            Some(number) => Some(Spanned::new(value.span(), number)),
            None => {
                self.wrong(key, "a number", value);
                None
            }
        }
    }

    /// Reads a tier, given as its number.
    pub fn tier(&mut self, key: &'static str) -> Option<Located<Tier>> {
        let value = self.take(key)?;
        let number = whole(value.get_ref()).and_then(|number| u8::try_from(number).ok());
        match number.and_then(Tier::from_number) {
            Some(tier) => Some(Spanned::new(value.span(), tier)),
            None => {
                let what = format!("a tier is 0, 1, 2, 3 or 4, not {}", found(value.get_ref()));
                self.fault(key, value.span(), what, "");
                None
            }
        }
    }

    /// Reads a word that names a value of `T`, with its position.
    pub fn word<T: Deserialize<'a>>(&mut self, key: &'static str) -> Option<Located<T>> {
        let text = self.text(key)?;
        self.named(key, &text).map(|word| Spanned::new(text.span(), word))
    }

    /// Reads words that name values of `T`.
    pub fn words<T: Deserialize<'a>>(&mut self, key: &'static str) -> Vec<T> {
        let texts = self.texts(key);
        let mut words = Vec::with_capacity(texts.len());
        for text in &texts {
            words.extend(self.named(key, text));
        }
        words
    }

    /// Reads words that name values of `T`, with the position of the array.
    pub fn words_at<T: Deserialize<'a>>(&mut self, key: &'static str) -> Option<Located<Vec<T>>> {
        let span = self.table.get(key).map(Spanned::span);
        let words = self.words(key);
        span.map(|span| Spanned::new(span, words))
    }

    fn named<T: Deserialize<'a>>(&mut self, key: &str, text: &Located<String>) -> Option<T> {
        let read = T::deserialize(StrDeserializer::<WordError>::new(text.get_ref()));
        read.map_err(|error| self.no_such_word(key, text, &error)).ok()
    }

    /// Reports an unknown word. The message of serde contains the given word and then the known ones, each in
    /// backticks.
    fn no_such_word(&mut self, key: &str, text: &Located<String>, error: &WordError) {
        let message = error.to_string();
        let near = nearest(text.get_ref(), message.split('`').skip(3).step_by(2));
        let remedy = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
        let known = message.split_once(", ").map_or("", |(_, known)| known);
        self.fault(key, text.span(), format!("`{}` is not known, {known}", text.get_ref()), &remedy);
    }

    /// Reads a table.
    pub fn table<T>(&mut self, key: &'static str, shape: fn(&mut Self) -> T) -> Option<Located<T>> {
        let value = self.take(key)?;
        self.inner(key, value, shape)
    }

    /// Reads a required table. If it is missing, an error is reported and `stand_in` is returned, which is meaningless.
    pub fn need_table<T>(&mut self, key: &'static str, shape: fn(&mut Self) -> T, stand_in: T) -> T {
        if !self.table.contains_key(key) {
            self.missing.push(key);
        }
        self.table(key, shape).map_or(stand_in, Spanned::into_inner)
    }

    /// Reads an array of tables, inline or under `[[key]]` headers.
    pub fn tables<T>(&mut self, key: &'static str, shape: fn(&mut Self) -> T) -> Vec<Located<T>> {
        let array = self.array(key, "an array of tables");
        array.iter().filter_map(|value| self.inner(key, value, shape)).collect()
    }

    fn inner<T>(
        &mut self,
        key: &str,
        value: &'a Spanned<DeValue<'a>>,
        shape: fn(&mut Self) -> T,
    ) -> Option<Located<T>> {
        let mut fields = self.below(key, value)?;
        let read = shape(&mut fields);
        self.faults.append(&mut fields.faults());
        Some(Spanned::new(value.span(), read))
    }

    fn below(&mut self, key: &str, value: &'a Spanned<DeValue<'a>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::new(table, value.span())),
            _ => {
                self.wrong(key, "a table", value);
                None
            }
        }
    }
}

/// Returns texts without their positions.
fn plain(texts: Vec<Located<String>>) -> Vec<String> {
    texts.into_iter().map(Spanned::into_inner).collect()
}

/// Returns a whole number.
fn whole(value: &DeValue<'_>) -> Option<i64> {
    match value {
        DeValue::Integer(number) => integer(number),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
