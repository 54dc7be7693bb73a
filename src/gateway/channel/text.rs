//! A card as text, cut to what a medium takes, and escaped for it.
//!
//! What is cut is said to be. What may not enter: what the card says.

use super::Card;

/// How a medium wants a text written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Plain,
    /// Telegram's.
    Html,
    /// Discord's.
    Markdown,
    /// Slack's, in which three characters mean something and marks of style only what looks like them.
    Slack,
}

impl Medium {
    /// A text in which nothing means anything.
    #[must_use]
    pub fn escape(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Html => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
            Self::Slack => {
                // What a mark of style would be stands behind a character that does not show, and is none.
                let plain = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                plain.chars().fold(String::new(), |mut out, c| {
                    if matches!(c, '*' | '_' | '~' | '`' | '@' | '#' | '!') {
                        out.push('\u{200b}');
                    }
                    out.push(c);
                    out
                })
            }
            Self::Markdown => {
                let mut out = String::new();
                for c in text.chars() {
                    if c.is_ascii_punctuation() {
                        out.push('\\');
                    }
                    out.push(c);
                }
                out
            }
        }
    }

    /// A command, in letters of one width.
    #[must_use]
    pub fn code(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Html => format!("<pre>{}</pre>", self.escape(text)),
            // A fence that the text itself cannot close: a character that does not show stands between its marks.
            Self::Slack => {
                let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                format!("```\n{}\n```", text.replace("```", "`\u{200b}`\u{200b}`"))
            }
            Self::Markdown => format!("```\n{}\n```", text.replace("```", "`\u{200b}`\u{200b}`")),
        }
    }
}

/// Cuts to so many characters, and says so.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    let all = text.chars().count();
    if all <= most {
        return text.to_owned();
    }
    let said = format!("… (cut: {most} of {all} characters)");
    let kept: String = text.chars().take(most.saturating_sub(said.chars().count())).collect();
    format!("{kept}{said}")
}

/// A card, with at most so many characters of what somebody else wrote.
#[must_use]
pub fn card(card: &Card, medium: Medium, most: usize) -> String {
    let each = |text: &str, share: usize| cut(text, most * share / 100);
    let front = match (card.decision, card.crisis) {
        (true, true) => "CRISIS: a person decides this. ",
        (true, false) => "A person decides this. ",
        (false, _) => "",
    };
    let mut lines = vec![
        format!(
            "{}guard asks: {} (tier {}, score {})",
            medium.escape(front),
            medium.escape(&card.tier_name),
            card.tier,
            medium.escape(&card.score)
        ),
        medium.code(&each(&card.command, 60)),
        format!("in {}", medium.escape(&each(&card.cwd, 15))),
    ];
    if !card.why.is_empty() {
        lines.push(medium.escape(&each(&card.why, 15)));
    }
    if let Some(said) = &card.said {
        lines.push(format!("they say: {}", medium.escape(&each(said, 10))));
    }
    lines.push(format!("{} · request {}", medium.escape(&each(&card.who, 10)), card.request));
    if let Some(bar) = &card.bar {
        lines.push(medium.escape(bar));
    }
    if let Some(link) = &card.link {
        lines.push(link.clone());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_cannot_write_the_card() {
        let odd = Card { command: "</pre><a href=\"x\">ok</a> & ``` **y**".to_owned(), ..Card::default() };
        let html = card(&odd, Medium::Html, 4000);
        assert!(html.contains("&lt;/pre&gt;&lt;a href=&quot;x&quot;&gt;ok&lt;/a&gt; &amp;"), "{html}");
        let markdown = card(&odd, Medium::Markdown, 1900);
        assert_eq!(markdown.matches("```").count(), 2, "{markdown}");
        let slack = card(&odd, Medium::Slack, 1900);
        assert_eq!(slack.matches("```").count(), 2, "{slack}");
        assert!(slack.contains("&lt;/pre&gt;") && !slack.contains("<a"), "{slack}");
        assert_eq!(Medium::Slack.escape("<!channel> *x*"), "&lt;\u{200b}!channel&gt; \u{200b}*x\u{200b}*");
        assert_eq!(Medium::Markdown.escape("@everyone [x](y) *z*"), "\\@everyone \\[x\\]\\(y\\) \\*z\\*");
    }

    #[test]
    fn what_does_not_fit_is_said_to_be_cut() {
        let long = Card { command: "x".repeat(70_000), ..Card::default() };
        let text = card(&long, Medium::Html, 3500);
        assert!(text.chars().count() < 4096, "{}", text.len());
        assert!(text.contains("of 70000 characters)"), "{text}");
        assert_eq!(cut("abc", 3), "abc");
    }
}
