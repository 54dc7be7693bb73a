//! Styled lines, and their conversion to bytes for a terminal.

use unicode_width::UnicodeWidthChar as _;

use super::visible;
use crate::judge::risk::Tier;

/// The capabilities of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Whether colours and other attributes may be used.
    pub color: bool,
    /// Whether only ASCII may be used.
    pub ascii: bool,
    /// Whether the cursor cannot be moved (`TERM=dumb`).
    pub dumb: bool,
}

impl Look {
    /// Plain text for files, pipes and tests.
    pub const PLAIN: Self = Self { color: false, ascii: false, dumb: false };

    /// Determines it from the environment (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`, `TERM`, `LC_ALL`, `LC_CTYPE`,
    /// `LANG`) and whether the output is a terminal. Only a locale that is set and is not UTF-8 means ASCII.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>, terminal: bool) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM");
        let dumb = term.as_deref().is_none_or(|term| term == "dumb");
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let wanted = forced || (terminal && !dumb && set("CLICOLOR").is_none_or(|value| value != "0"));
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
        let ascii = locale.is_some_and(|locale| {
            let locale = locale.to_ascii_lowercase();
            !locale.contains("utf-8") && !locale.contains("utf8")
        });
        Self { color: wanted && set("NO_COLOR").is_none(), ascii, dumb }
    }
}

/// The meaning of a piece of text, which determines its appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    /// Emphasised text.
    Strong,
    /// Secondary text: labels, IDs of rules, markers.
    Dim,
    /// The colour of a tier.
    Tier(Tier),
    /// A part of a command with a finding.
    Danger,
    /// A character that is not displayed as itself.
    Odd,
    /// A key to press.
    Key,
    /// A safer alternative.
    Safe,
}

impl Style {
    /// Returns the SGR parameters, after a reset.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Tier(Tier::Safe) | Self::Safe => "32",
            Self::Tier(Tier::Low) => "36",
            Self::Tier(Tier::Medium) => "33",
            Self::Tier(Tier::High) => "31",
            Self::Tier(Tier::Critical) => "1;31",
            Self::Danger => "1;4;31",
            Self::Odd => "7",
            Self::Key => "1;36",
        }
    }
}

/// A line of styled text. It contains no control character, because appended text is made visible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<(Style, String)>,
}

impl Line {
    /// Creates an empty line.
    #[must_use]
    pub const fn new() -> Self {
        Self { spans: Vec::new() }
    }

    /// Creates a line of one piece.
    #[must_use]
    pub fn of(style: Style, text: impl AsRef<str>) -> Self {
        Self::new().with(style, text)
    }

    /// Appends a piece and returns the line.
    #[must_use]
    pub fn with(mut self, style: Style, text: impl AsRef<str>) -> Self {
        self.push(style, text);
        self
    }

    /// Appends a piece.
    pub fn push(&mut self, style: Style, text: impl AsRef<str>) {
        let text = visible::text(text.as_ref());
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some((last, all)) if *last == style => all.push_str(&text),
            _ => self.spans.push((style, text.into_owned())),
        }
    }

    /// Appends another line and returns the line.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.extend(other);
        self
    }

    /// Appends another line.
    pub fn extend(&mut self, other: &Self) {
        for (style, text) in &other.spans {
            self.push(*style, text);
        }
    }

    /// Returns the pieces.
    #[must_use]
    pub fn spans(&self) -> &[(Style, String)] {
        &self.spans
    }

    /// Returns its width in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| width(text)).sum()
    }

    /// Returns the text without styles.
    #[must_use]
    pub fn plain(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Returns the text for a terminal, without a newline. Every style is reset.
    #[must_use]
    pub fn render(&self, look: &Look) -> String {
        let mut out = String::new();
        for (style, text) in &self.spans {
            let sgr = style.sgr();
            let styled = look.color && !sgr.is_empty();
            if styled {
                out.push_str("\x1b[");
                out.push_str(sgr);
                out.push('m');
            }
            if look.ascii {
                visible::ascii(text, &mut out)
            } else {
                out.push_str(text)
            }
            if styled {
                out.push_str("\x1b[0m");
            }
        }
        out
    }
}

/// Returns the width of a text in columns.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Joins lines to one text, each with a newline.
#[must_use]
pub fn render(lines: &[Line], look: &Look) -> String {
    lines.iter().fold(String::new(), |mut all, line| {
        all.push_str(line.render(look).trim_end());
        all.push('\n');
        all
    })
}

#[cfg(test)]
mod tests {
    use super::{Line, Look, Style};

    /// Returns the look in an environment.
    fn look(variables: &[(&str, &str)], terminal: bool) -> Look {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Look::from_environment(variable, terminal)
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert!(look(&[("TERM", "xterm")], true).color);
        assert!(!look(&[("TERM", "xterm")], false).color);
        assert!(!look(&[("TERM", "dumb")], true).color);
        assert!(!look(&[], true).color);
        assert!(!look(&[("TERM", "xterm"), ("NO_COLOR", "1")], true).color);
        assert!(look(&[("TERM", "xterm"), ("NO_COLOR", "")], true).color);
        assert!(!look(&[("TERM", "xterm"), ("CLICOLOR", "0")], true).color);
        assert!(look(&[("TERM", "xterm"), ("CLICOLOR_FORCE", "1")], false).color);
        assert!(!look(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false).color);
    }

    #[test]
    fn a_locale_that_is_named_and_not_utf_8_means_ascii() {
        assert!(!look(&[], true).ascii);
        assert!(!look(&[("LANG", "de_DE.UTF-8")], true).ascii);
        assert!(!look(&[("LC_ALL", "C.utf8"), ("LANG", "C")], true).ascii);
        assert!(look(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")], true).ascii);
        assert!(look(&[("LANG", "de_DE.ISO-8859-1")], true).ascii);
    }

    #[test]
    fn styles_are_closed_where_they_end() {
        let line = Line::of(Style::Danger, "rm").with(Style::Plain, " x");
        assert_eq!(line.render(&Look { color: true, ..Look::PLAIN }), "\x1b[1;4;31mrm\x1b[0m x");
        assert_eq!(line.render(&Look::PLAIN), "rm x");
    }

    #[test]
    fn a_line_takes_no_control_characters() {
        assert_eq!(Line::of(Style::Plain, "a\x1b[2Jb\n").plain(), "a⟨ESC⟩[2Jb ");
    }
}
