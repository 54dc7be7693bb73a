//! The records that an agent stores of its actions, and the places of tool calls in them, for `guard replay`.

use serde::{Deserialize, Serialize};

/// Files of one format. A place in JSON is a pointer (`/message/content`); in `at` a step may be `*`, which is each
/// element of an array, and the last step may be `**`, which is every object at any depth.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// Directories below the agent's own, or `.` for the agent's own; they are searched recursively.
    pub directories: Vec<String>,
    /// Whether the directories are not searched recursively.
    #[serde(default)]
    pub shallow: bool,
    /// Whether the directories are below `XDG_DATA_HOME` or `~/.local/share` rather than the agent's own.
    #[serde(default)]
    pub below_data: bool,
    /// The endings of the files' names.
    pub names: Vec<String>,
    pub form: Form,
    /// Texts of which a line with relevant content contains one; if empty, all lines are parsed.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The pointers to the session's directory, which applies until another line contains another one.
    #[serde(default)]
    pub cwd: Vec<String>,
    /// The name of a file that contains only the directory, in the transcript's directory or one of the two above it.
    #[serde(default)]
    pub cwd_file: Option<String>,
    /// The ending of a transcript's name, and the ending that replaces it in the name of a JSON file with the directory
    /// (`cwd`), in one of the same directories.
    #[serde(default)]
    pub beside: Option<(String, String)>,
    /// The pointers to the time, in the call or around it: a text (RFC 3339), or seconds or milliseconds since 1970.
    #[serde(default)]
    pub time: Vec<String>,
    /// Fields of the input that contain the directory of a command, relative to that of the session; if empty, those of
    /// the hook.
    #[serde(default)]
    pub inner: Vec<String>,
    pub call: Vec<CallForm>,
}

/// The format of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A JSON value in each line.
    #[default]
    Lines,
    /// One JSON value.
    Whole,
    /// An SQLite database and a query: each row is an object with its columns. A column whose text is a JSON object or
    /// array has that value.
    Rows(String),
}

/// A form of a call. An object without the tool or the input is not a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallForm {
    /// The pointers to the calls. An empty one is the line, the file or the row itself.
    pub at: Vec<String>,
    /// A pointer in the call, and the values of which it must have one.
    #[serde(default)]
    pub when: Option<(String, Vec<String>)>,
    /// The pointer to the tool's name in the call.
    #[serde(default)]
    pub tool: String,
    /// The tool, if this form is for one tool only.
    #[serde(default)]
    pub only: Option<String>,
    /// The pointers to its input: an object, or the text of one.
    pub input: Vec<String>,
    /// The pointers to its identifier, by which calls are recognised that a resumed session records again.
    #[serde(default)]
    pub id: Vec<String>,
}

/// The reason why the description of a transcript is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    #[error("{0}: at least one is needed")]
    Missing(&'static str),
    #[error("directories: {0:?} must lead down from the agent's directory")]
    Outside(String),
    #[error("{0:?} is no JSON pointer: one begins with /")]
    NoPlace(String),
    #[error("call: at, input and one of tool and only are needed")]
    Call,
    #[error("{0:?}: ** may only be the last step")]
    EarlyStars(String),
}

impl Transcript {
    /// Checks that the description is valid.
    ///
    /// # Errors
    /// The description is invalid.
    pub fn check(&self) -> Result<(), TranscriptError> {
        let empty = [
            ("directories", self.directories.is_empty()),
            ("names", self.names.is_empty()),
            ("call", self.call.is_empty()),
        ];
        if let Some((key, _)) = empty.iter().find(|(_, empty)| *empty) {
            return Err(TranscriptError::Missing(key));
        }
        let plain =
            |path: &String| !path.starts_with('/') && path.split('/').all(|step| !matches!(step, "" | "." | ".."));
        if let Some(directory) = self.directories.iter().find(|directory| *directory != "." && !plain(directory)) {
            return Err(TranscriptError::Outside(directory.clone()));
        }
        let of_calls = self.call.iter().flat_map(|call| {
            let when = call.when.iter().map(|(place, _)| place);
            call.input.iter().chain(&call.id).chain(when).chain([&call.tool])
        });
        let pointers = self.cwd.iter().chain(&self.time).chain(of_calls);
        let ways = self.call.iter().flat_map(|call| &call.at);
        if let Some(wrong) = pointers.chain(ways).find(|place| !place.is_empty() && !place.starts_with('/')) {
            return Err(TranscriptError::NoPlace(wrong.clone()));
        }
        for call in &self.call {
            if call.at.is_empty() || call.input.is_empty() || call.tool.is_empty() == call.only.is_none() {
                return Err(TranscriptError::Call);
            }
            let early = |way: &String| way.strip_suffix("/**").unwrap_or(way).split('/').any(|step| step == "**");
            if let Some(way) = call.at.iter().find(|way| early(way)) {
                return Err(TranscriptError::EarlyStars(way.clone()));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut Transcript)) -> Result<(), TranscriptError> {
        let at = |text: &str| vec![text.to_owned()];
        let call = CallForm { at: at("/a/*/**"), tool: "/name".to_owned(), input: at("/input"), ..CallForm::default() };
        let mut good =
            Transcript { directories: at("a/b"), names: at(".jsonl"), call: vec![call], ..Transcript::default() };
        change(&mut good);
        good.check()
    }

    #[test]
    fn what_is_no_description_is_told_with_its_place() {
        assert_eq!(with(|_| ()), Ok(()));
        assert!(with(|it| it.directories.clear()).is_err_and(|why| why.to_string().starts_with("directories")));
        assert!(with(|it| it.names.clear()).is_err_and(|why| why.to_string().starts_with("names")));
        assert!(with(|it| it.call.clear()).is_err_and(|why| why.to_string().starts_with("call")));
        for directory in ["/etc", "../x", "a/../b", "", "a//b", "./a"] {
            assert!(with(|it| it.directories[0] = directory.to_owned()).is_err(), "{directory}");
        }
        assert_eq!(with(|it| it.directories[0] = ".".to_owned()), Ok(()));
        assert!(with(|it| it.time = vec!["at".to_owned()]).is_err_and(|why| why.to_string().contains("\"at\"")));
        assert!(with(|it| it.cwd = vec!["cwd".to_owned()]).is_err());
        assert!(with(|it| it.call[0].id = vec!["id".to_owned()]).is_err());
        assert!(with(|it| it.call[0].when = Some(("type".to_owned(), Vec::new()))).is_err());
        assert!(with(|it| it.call[0].input[0] = "input".to_owned()).is_err());
        assert!(with(|it| it.call[0].tool.clear()).is_err());
        assert!(with(|it| it.call[0].only = Some("shell".to_owned())).is_err());
        let only = |it: &mut Transcript| (it.call[0].tool, it.call[0].only) = (String::new(), Some("shell".to_owned()));
        assert_eq!(with(only), Ok(()));
        assert!(with(|it| it.call[0].input.clear()).is_err());
        assert!(with(|it| it.call[0].at.clear()).is_err());
        assert!(with(|it| it.call[0].at[0] = "/**/a".to_owned()).is_err_and(|why| why.to_string().contains("**")));
        assert_eq!(with(|it| it.call[0].at[0] = "/**".to_owned()), Ok(()));
    }
}
