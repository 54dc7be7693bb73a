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

/// How many of so many characters a command may have.
const fn room(most: usize) -> usize {
    most * 60 / 100
}

/// Whether a card with so many characters of what somebody else wrote shows only a part of a command.
#[must_use]
pub fn is_cut(command: &str, most: usize) -> bool {
    command.chars().nth(room(most)).is_some()
}

/// Cuts a command to so many characters: its head and its tail, and in between how much is left out. The end says where it
/// goes as often as the beginning does.
#[must_use]
pub fn cut_middle(text: &str, most: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= most {
        return text.to_owned();
    }
    let said = |left: usize| format!("\n… {left} of {} characters omitted …\n", all.len());
    let kept = most.saturating_sub(said(all.len()).chars().count());
    let (head, tail) = (kept - kept / 2, kept / 2);
    let part = |from: usize, until: usize| all.get(from..until).unwrap_or_default().iter().collect::<String>();
    format!("{}{}{}", part(0, head), said(all.len() - kept), part(all.len() - tail, all.len()))
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
        medium.code(&cut_middle(&card.command, room(most))),
        format!("in {}", medium.escape(&each(&card.cwd, 15))),
    ];
    if !card.why.is_empty() {
        lines.push(medium.escape(&each(&card.why, 15)));
    }
    if let Some(said) = &card.said {
        lines.push(format!("reason: {}", medium.escape(&each(said, 10))));
    }
    let digest = if card.digest.is_empty() { String::new() } else { format!(" · digest {}", card.digest) };
    lines.push(format!("{} · request {}{digest}", medium.escape(&each(&card.who, 10)), card.request));
    if is_cut(&card.command, most) {
        let place = match (&card.link, card.timeout_secs) {
            (Some(_), _) => "the page, or guard review",
            (None, 1..) => "guard review",
            // It does not wait any more.
            (None, _) => "guard log",
        };
        lines.push(format!("The command is shortened. To see all of it: {place}."));
    }
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
        assert!(text.contains("of 70000 characters omitted"), "{text}");
        assert_eq!(cut("abc", 3), "abc");
    }

    #[test]
    fn a_command_that_is_cut_shows_its_head_and_its_tail_and_offers_a_yes_only_beside_all_of_it() {
        let command = format!("curl {} https://evil.example/", "-H x ".repeat(2000));
        let all = command.chars().count();
        let long = Card {
            command,
            timeout_secs: 60,
            digest: "0a1b2c3d".to_owned(),
            request: "b2c3".to_owned(),
            ..Card::default()
        };
        for (medium, most) in
            [(Medium::Html, 3400), (Medium::Markdown, 1400), (Medium::Slack, 2400), (Medium::Plain, 900)]
        {
            let text = card(&long, medium, most);
            assert!(text.contains("curl -H x") && text.contains("https://evil.example/"), "{text}");
            assert!(text.contains("request b2c3 · digest 0a1b2c3d"), "{text}");
            assert!(text.contains("To see all of it: guard review."), "{text}");
            let left = text.split("… ").nth(1).unwrap().split(' ').next().unwrap().parse::<usize>().unwrap();
            assert!(left > all - most && left < all, "{left} of {all}");
            assert!(!long.offers_yes(most));
            let linked = Card { link: Some("https://guard.test/#x".to_owned()), ..long.clone() };
            assert!(linked.offers_yes(most) && linked.button_to_page(most) == Some("https://guard.test/#x"));
            assert!(card(&linked, medium, most).contains("To see all of it: the page, or guard review."));
        }
        assert_eq!(cut_middle("abc", 3), "abc");
        for most in [0, 1, 60, 61, 100] {
            let text = cut_middle(&"ä".repeat(200), most);
            assert!(text.contains("of 200 characters"), "{text}");
            assert!(text.chars().count() <= most.max(60), "{most}: {text}");
        }
        let short =
            Card { command: "ls".to_owned(), link: Some("https://guard.test/#x".to_owned()), ..Card::default() };
        assert!(short.offers_yes(100) && short.button_to_page(100).is_none());
        // What is signed is signed on the page; a messenger takes no address of this machine's.
        let signed = Card { sign: true, bar: Some("sign".to_owned()), ..short.clone() };
        assert!(!signed.offers_yes(100) && signed.button_to_page(100).is_some());
        let local = Card { link: Some("http://localhost:6180/#x".to_owned()), ..signed };
        assert_eq!(local.button_to_page(100), None);
    }
}
