//! Errors in a configuration: the position, the key, and the remedy.

use std::fmt;
use std::path::PathBuf;

use super::keys::Key;
use super::layer::Layer;

/// An error in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    pub layer: Layer,
    pub file: PathBuf,
    /// The line, counted from 1; `None` for the whole file.
    pub line: Option<u32>,
    /// The key with its table, `thresholds.agent`.
    pub key: Option<String>,
    /// The message.
    pub message: String,
    /// The remedy.
    pub remedy: Option<String>,
}

impl ConfigProblem {
    /// Creates a problem with a whole file.
    #[must_use]
    pub fn of_file(layer: Layer, file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { layer, file: file.into(), line: None, key: None, message: message.into(), remedy: None }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Reports whether the table `[reviewer]` cannot be used because of it.
    #[must_use]
    pub fn is_of_reviewer(&self) -> bool {
        let name = Key::Reviewer.entry().name;
        let rest = self.key.as_deref().and_then(|key| key.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// `FILE:LINE: KEY: message; remedy`.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.file.to_string_lossy()))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {}", visible(key))?;
        }
        write!(f, ": {}", visible(&self.message))?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {}", visible(remedy)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigProblem {}

/// Makes control characters in the text of a file visible, so that a terminal does not interpret them.
pub(super) fn visible(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_place_key_message_and_remedy() {
        let problem = ConfigProblem {
            layer: Layer::User,
            file: "/c.toml".into(),
            line: Some(7),
            key: Some("thresholds.agnet".to_owned()),
            message: "no such key".to_owned(),
            remedy: Some("did you mean thresholds.agent?".to_owned()),
        };
        assert_eq!(problem.to_string(), "/c.toml:7: thresholds.agnet: no such key; did you mean thresholds.agent?");
    }

    #[test]
    fn an_escape_sequence_in_a_key_is_shown_and_not_obeyed() {
        let mut problem = ConfigProblem::of_file(Layer::Project, "/c.toml", "no such key");
        problem.key = Some("\u{1b}[2J".to_owned());
        assert_eq!(problem.to_string(), "/c.toml: \\u{1b}[2J: no such key");
    }
}
