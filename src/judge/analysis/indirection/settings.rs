//! The content of a settings file: what the command wrote to it, or what it contains.
//!
//! Out of scope: the meaning of settings.

use crate::judge::analysis::act::{Taint, Value};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::progress::{WalkProgress, edited_file};
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::streams::descriptor;

/// The reason why the content of a settings file is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FetchedSettings {
    /// The command downloads the file.
    File,
    /// The command writes a text to it that it downloads or decodes.
    Text,
}

impl FetchedSettings {
    /// Returns a description for the user.
    pub const fn detail(self) -> &'static str {
        match self {
            Self::File => "the command runs code that it downloads",
            Self::Text => "the command runs code that it downloads or decodes",
        }
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the content of a settings file; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// The content is downloaded or decoded.
    #[inline(never)]
    pub(super) fn settings(&self, state: &State, file: &Value) -> Result<Option<Value>, FetchedSettings> {
        if let Some((behind, _)) = self.behind(state, file) {
            return self.settings(state, &behind);
        }
        if file.known().as_deref().and_then(descriptor) == Some(0)
            && let Some(files) = self.files_on_stdin(state)
        {
            let texts = files.iter().map(|file| self.settings(state, file)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Some(Value::join(texts.iter().flatten(), "\n")));
        }
        let copies = state.file(file).and_then(|key| self.files.written.get(&key)).map(|written| &written.copies);
        if let Some(copies) = copies.filter(|copies| !copies.is_empty()) {
            return Ok(Some(self.texts_of(copies.iter().filter_map(Place::text))));
        }
        if let Some(files) = self.printed_into(state, file) {
            return Ok(Some(self.texts_of(files.iter().map(String::as_str))));
        }
        if let Some(written) = self.content_of(state, file) {
            let taint = written.taint();
            if written.is_dynamic() && (taint.has(Taint::FETCHED) || taint.has(Taint::DECODED)) {
                return Err(FetchedSettings::Text);
            }
            // The command may have appended to the existing content, or changed part of it.
            let edited = edited_file(&written);
            let (base, written) = match edited {
                Some((base, lines)) => (Some(base), lines),
                None => (self.base_of(state, file), written),
            };
            let before = base.and_then(|base| {
                let before = self.text_at(base.place.text()?)?.known_text()?;
                Some(Value::text(base.changed(before.as_str().into()).unwrap_or(before.as_str().into())))
            });
            return Ok(Some(match before {
                Some(before) => Value::join([&before, &written], "\n"),
                None => written,
            }));
        }
        let Some(place) = file.known().and_then(|path| state.place(&path)) else { return Ok(None) };
        if self.is_fetched(&place) {
            return Err(FetchedSettings::File);
        }
        let Some((path, text)) = place.text().and_then(|path| Some((path, self.text_at(path)?))) else {
            return Ok(None);
        };
        self.input.add_file(path, text.size());
        Ok(Some(text))
    }

    /// Returns the texts of existing files, one behind the other.
    fn texts_of<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Value {
        let texts: Vec<Value> = paths.filter_map(|path| self.text_at(path)).collect();
        Value::join(&texts, "\n")
    }

    /// Returns the text of an existing file.
    fn text_at(&self, path: &str) -> Option<Value> {
        match self.input.inquiry.file(path) {
            Some(FileFacts::Text { bytes, .. }) => Some(Value::text(String::from_utf8_lossy(bytes))),
            _ => None,
        }
    }
}
