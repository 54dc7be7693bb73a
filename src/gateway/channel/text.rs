//! Formats a card as text for a medium: truncates it to the limit and escapes it.
//!
//! A truncated text is marked as such. HTML comes from a template that escapes all values. Out of scope: the contents
//! of the card.

use maud::{Markup, html};

use super::Card;

/// The markup of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    Plain,
    /// Telegram's HTML.
    Html,
    /// HTML of a desktop notification, without block elements.
    Notice,
    /// Discord's Markdown.
    Markdown,
    /// Slack's markup, in which three characters must be escaped and style marks must be broken up.
    Slack,
}

impl Medium {
    /// Escapes a text so that it contains no markup.
    #[must_use]
    pub fn escape(self, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Html | Self::Notice => html! { (text) }.into_string(),
            Self::Slack => {
                // An invisible character before a style mark keeps it from being one.
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

    /// Formats a part of a card for a medium without HTML.
    fn written(self, part: &TextPart) -> String {
        // Invisible characters break up fences in the text, so that it cannot close this one.
        let fenced = |text: &str| format!("```\n{}\n```", text.replace("```", "`\u{200b}`\u{200b}`"));
        match (self, part) {
            (_, TextPart::Own(text)) => text.clone(),
            (_, TextPart::Theirs(text)) => self.escape(text),
            (Self::Slack, TextPart::Command(text)) => {
                fenced(&text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
            }
            (Self::Markdown, TextPart::Command(text)) => fenced(text),
            (_, TextPart::Command(text)) => text.clone(),
            (Self::Slack, TextPart::Ended(text)) => format!("*{}*", self.escape(text)),
            (Self::Markdown, TextPart::Ended(text)) => format!("**{}**", self.escape(text)),
            (_, TextPart::Ended(text)) => text.clone(),
        }
    }

    /// Formats a line of a card as HTML. The type guarantees that everything in it is escaped.
    fn marked_up(self, line: &[TextPart]) -> Markup {
        html! {
            @for part in line {
                @match part {
                    TextPart::Own(text) | TextPart::Theirs(text) => (text),
                    TextPart::Command(text) if self == Self::Notice => tt { (text) },
                    TextPart::Command(text) => pre { (text) },
                    TextPart::Ended(text) => b { (text) },
                }
            }
        }
    }

    fn whole(self, lines: &[Vec<TextPart>]) -> String {
        let line = |line: &Vec<TextPart>| match self {
            Self::Html | Self::Notice => self.marked_up(line).into_string(),
            Self::Plain | Self::Markdown | Self::Slack => line.iter().map(|part| self.written(part)).collect(),
        };
        lines.iter().map(line).collect::<Vec<String>>().join("\n")
    }
}

/// A part of a line of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TextPart {
    /// guard's own text and URLs, which contain no markup.
    Own(String),
    /// Untrusted text.
    Theirs(String),
    /// A command, in a monospaced font.
    Command(String),
    /// The outcome of the request.
    Ended(String),
}

impl TextPart {
    fn own(text: &str) -> Self {
        Self::Own(text.to_owned())
    }
}

/// Truncates a text to this many characters, and marks it as truncated.
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

/// Returns the number of characters, of this many, that the command may have.
const fn room(most: usize) -> usize {
    most * 60 / 100
}

/// Reports whether a card with this many characters of untrusted text shows only part of a command.
#[must_use]
pub fn is_cut(command: &str, most: usize) -> bool {
    command.chars().nth(room(most)).is_some()
}

/// Truncates a command to this many characters. Keeps the beginning and the end, which is often as important, and
/// replaces the middle with the number of omitted characters.
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

/// Formats a card with at most this many characters of untrusted text.
#[must_use]
pub fn card(card: &Card, medium: Medium, most: usize) -> String {
    medium.whole(&lines(card, most))
}

/// Formats a card whose request has ended, with the outcome, in at most this many characters.
#[must_use]
pub fn ended(card: &Card, medium: Medium, most: usize, how: &str, longest: usize) -> String {
    let mut all = lines(&Card { bar: None, link: None, ..card.clone() }, most - longest);
    if medium == Medium::Html {
        all.push(Vec::new());
    }
    all.push(vec![TextPart::Ended(cut(how, longest))]);
    medium.whole(&all)
}

fn lines(card: &Card, most: usize) -> Vec<Vec<TextPart>> {
    let each = |text: &str, share: usize| TextPart::Theirs(cut(text, most * share / 100));
    let front = match (card.decision, card.crisis) {
        (true, true) => "CRISIS: a person decides this. ",
        (true, false) => "A person decides this. ",
        (false, _) => "",
    };
    let mut lines = vec![
        vec![
            TextPart::Theirs(front.to_owned()),
            TextPart::own("guard asks: "),
            TextPart::Theirs(card.tier_name.clone()),
            TextPart::Own(format!(" (tier {}, score ", card.tier)),
            TextPart::Theirs(card.score.clone()),
            TextPart::own(")"),
        ],
        vec![TextPart::Command(cut_middle(&card.command, room(most)))],
        vec![TextPart::own("in "), each(&card.cwd, 15)],
    ];
    if !card.why.is_empty() {
        lines.push(vec![each(&card.why, 15)]);
    }
    if let Some(said) = &card.said {
        lines.push(vec![TextPart::own("reason: "), each(said, 10)]);
    }
    let digest = if card.digest.is_empty() { String::new() } else { format!(" · digest {}", card.digest) };
    lines.push(vec![each(&card.who, 10), TextPart::Own(format!(" · request {}{digest}", card.request))]);
    if is_cut(&card.command, most) {
        let place = match (&card.link, card.timeout_secs) {
            (Some(_), _) => "the page, or guard review",
            (None, 1..) => "guard review",
            // The request no longer waits.
            (None, _) => "guard log",
        };
        lines.push(vec![TextPart::Own(format!("The command is shortened. To see all of it: {place}."))]);
    }
    if let Some(bar) = &card.bar {
        lines.push(vec![TextPart::Theirs(bar.clone())]);
    }
    if let Some(link) = &card.link {
        lines.push(vec![TextPart::Own(link.clone())]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_cannot_write_the_card() {
        let odd = Card { command: "</pre><a href=\"x\">ok</a> & ``` **y**".to_owned(), ..Card::default() };
        let html = card(&odd, Medium::Html, 4000);
        assert!(html.contains("&lt;/pre&gt;&lt;a href=&quot;x&quot;&gt;ok&lt;/a&gt; &amp;"), "{html}");
        let notice = card(&odd, Medium::Notice, 500);
        assert!(notice.contains("<tt>&lt;/pre&gt;") && !notice.contains("<pre>"), "{notice}");
        let closed = ended(&odd, Medium::Html, 3400, "denied by <b>ada</b>", 300);
        assert!(closed.ends_with("\n\n<b>denied by &lt;b&gt;ada&lt;/b&gt;</b>"), "{closed}");
        let linked = Card { link: Some("https://x/#\"><b>".to_owned()), ..odd.clone() };
        assert!(card(&linked, Medium::Html, 4000).ends_with("https://x/#&quot;&gt;&lt;b&gt;"), "all of it is escaped");
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
        // An approval that needs a signature is given on the page. Messengers accept no links to this machine.
        let signed = Card { sign: true, bar: Some("sign".to_owned()), ..short.clone() };
        assert!(!signed.offers_yes(100) && signed.button_to_page(100).is_some());
        let local = Card { link: Some("http://localhost:6180/#x".to_owned()), ..signed };
        assert_eq!(local.button_to_page(100), None);
    }
}
