//! The state machine of the card, which processes keys without a terminal and a clock.

use super::answer::{NO, PromptAnswer};
use super::keys::KeyPress;
use crate::ui::card_view::CardInput;

/// The effect of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyEffect {
    /// Continue, and redraw.
    On,
    /// The screen shows another question, which the person needs time to read.
    Turned,
    /// Text arrived faster than a person types, and was discarded.
    Pasted,
    /// The first letter of the word was typed: the second timeout applies from now on.
    Begun,
    /// The prompt is answered.
    Answered(PromptAnswer),
}

/// The input that the dialog expects next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum DialogState {
    Key,
    Confirm,
    Words(String),
    Overrule(String),
    Word { typed: String, started: bool },
}

/// The state of the dialog.
#[derive(Debug)]
pub(super) struct Dialog {
    at: DialogState,
    /// The word to type, at tier 4.
    word: Option<String>,
    session: bool,
    standing: bool,
    /// The first displayed line of the explanation, if it is shown.
    page: Option<usize>,
    /// The number of lines of a page and of the explanation when they were last drawn.
    pub(super) page_lines: usize,
    pub(super) all_lines: usize,
    pub(super) hint: Option<&'static str>,
}

/// Minimum number of letters in a reason.
const LEAST_WORDS: usize = 4;

/// Maximum length of a message, in characters.
const MOST_WORDS: usize = 300;

impl Dialog {
    /// Creates a dialog with a word to type or with keys, and the offered grants.
    pub(super) const fn new(word: Option<String>, session: bool, standing: bool) -> Self {
        let at =
            if word.is_some() { DialogState::Word { typed: String::new(), started: false } } else { DialogState::Key };
        let (session, standing) = (session && word.is_none(), standing && word.is_none());
        Self { at, word, session, standing, page: None, page_lines: 1, all_lines: 1, hint: None }
    }

    /// Returns the state of the input for the card.
    pub(super) fn entry(&self) -> CardInput<'_> {
        match &self.at {
            DialogState::Key => CardInput::Key,
            DialogState::Confirm => CardInput::Confirm,
            DialogState::Words(typed) => CardInput::Words(typed),
            DialogState::Overrule(typed) => CardInput::Overrule(typed),
            DialogState::Word { typed, started } => {
                CardInput::Word { word: self.word.as_deref().unwrap_or_default(), typed, started: *started }
            }
        }
    }

    /// Applies the denial of a reviewer: from now on a reason is required to allow the command. A denial that was begun
    /// remains one.
    pub(super) fn overrule(&mut self) {
        if matches!(self.at, DialogState::Key | DialogState::Confirm) {
            self.at = DialogState::Overrule(String::new());
            self.page = None;
            self.hint = None;
        }
    }

    /// Returns the first displayed line of the explanation, if it is shown.
    pub(super) const fn page(&self) -> Option<usize> {
        self.page
    }

    /// Returns the answer at the timeout: a denial that was begun, with the message so far.
    pub(super) fn denied(&self) -> Option<PromptAnswer> {
        match &self.at {
            DialogState::Words(words) => Some(no(words)),
            _ => None,
        }
    }

    /// Processes all keys of one read. Several keys at once are a paste or a program, and never an answer; on a slow
    /// line two letters of a word may arrive together.
    pub(super) fn keys(&mut self, keys: &[KeyPress]) -> KeyEffect {
        let keys: Vec<KeyPress> = keys.iter().copied().filter(|key| *key != KeyPress::Report).collect();
        if keys.is_empty() {
            return KeyEffect::On;
        }
        let pasted = keys.contains(&KeyPress::Paste);
        let most = match self.at {
            _ if self.page.is_some() => usize::MAX,
            DialogState::Key | DialogState::Confirm => 1,
            DialogState::Word { .. } | DialogState::Overrule(_) => 2,
            DialogState::Words(_) => usize::MAX,
        };
        if pasted || keys.len() > most {
            return self.pasted();
        }
        for key in keys {
            match self.key(key) {
                KeyEffect::On => {}
                step => return step,
            }
        }
        KeyEffect::On
    }

    /// Discards input that no person types.
    pub(super) const fn pasted(&mut self) -> KeyEffect {
        self.hint = Some("pasted text is ignored");
        KeyEffect::Pasted
    }

    /// Processes a key.
    fn key(&mut self, key: KeyPress) -> KeyEffect {
        self.hint = None;
        if matches!(key, KeyPress::Escape | KeyPress::Interrupt | KeyPress::EndOfFile | KeyPress::Quit) {
            return KeyEffect::Answered(self.denied().unwrap_or(NO));
        }
        if let Some(top) = self.page {
            return self.turn(top, key);
        }
        if key == KeyPress::Char('?') && !matches!(self.at, DialogState::Words(_) | DialogState::Overrule(_)) {
            self.page = Some(0);
            return KeyEffect::Turned;
        }
        match &mut self.at {
            DialogState::Key => match key {
                KeyPress::Char('y' | 'Y') => return KeyEffect::Answered(PromptAnswer::Once),
                KeyPress::Char('s' | 'S') if self.session => return KeyEffect::Answered(PromptAnswer::Session),
                KeyPress::Char('a' | 'A') if self.standing => {
                    self.at = DialogState::Confirm;
                    return KeyEffect::Turned;
                }
                KeyPress::Char('s' | 'S' | 'a' | 'A') => self.hint = Some("this command cannot be granted"),
                // It is a denial from here on, even if the message is never finished.
                KeyPress::Char('n' | 'N') => self.at = DialogState::Words(String::new()),
                KeyPress::Enter => return KeyEffect::Answered(NO),
                _ => self.hint = Some("unknown key; n denies"),
            },
            DialogState::Confirm => match key {
                KeyPress::Char('y' | 'Y') => return KeyEffect::Answered(PromptAnswer::Always),
                KeyPress::Char('n' | 'N') => return KeyEffect::Answered(no("")),
                KeyPress::Enter => return KeyEffect::Answered(NO),
                _ => self.hint = Some("y allows it always, n denies"),
            },
            DialogState::Words(words) => match key {
                KeyPress::Enter => return KeyEffect::Answered(no(words)),
                KeyPress::Backspace => drop(words.pop()),
                KeyPress::Char(c) if words.chars().count() < MOST_WORDS => words.push(c),
                _ => {}
            },
            DialogState::Overrule(words) => match key {
                KeyPress::Enter => return KeyEffect::Answered(overruled(words)),
                KeyPress::Backspace => drop(words.pop()),
                KeyPress::Char(c) if words.chars().count() < MOST_WORDS => words.push(c),
                _ => {}
            },
            DialogState::Word { typed, started } => match key {
                KeyPress::Char(c) if typed.len() < 24 => {
                    typed.push(c);
                    if !std::mem::replace(started, true) {
                        return KeyEffect::Begun;
                    }
                }
                KeyPress::Backspace => drop(typed.pop()),
                KeyPress::Enter => {
                    let right = self.word.as_ref().is_some_and(|word| word == typed);
                    return KeyEffect::Answered(if right { PromptAnswer::Once } else { NO });
                }
                _ => self.hint = Some("type the word and press Enter"),
            },
        }
        KeyEffect::On
    }

    /// Processes a key on a page of the explanation.
    fn turn(&mut self, top: usize, key: KeyPress) -> KeyEffect {
        let last = self.all_lines.saturating_sub(self.page_lines);
        let page = self.page_lines.max(1);
        self.page = match key {
            KeyPress::Char('?' | 'q' | 'Q') => None,
            KeyPress::Char(' ' | 'f') | KeyPress::PageDown => Some((top + page).min(last)),
            KeyPress::Char('b') | KeyPress::PageUp => Some(top.saturating_sub(page)),
            KeyPress::Char('j') | KeyPress::Down | KeyPress::Enter => Some((top + 1).min(last)),
            KeyPress::Char('k') | KeyPress::Up => Some(top.saturating_sub(1)),
            _ => {
                self.hint = Some("q goes back to the card, where you answer");
                Some(top)
            }
        };
        if self.page.is_none() { KeyEffect::Turned } else { KeyEffect::On }
    }

    /// Processes a whole line, from a terminal whose cursor cannot be moved.
    pub(super) fn line(&mut self, line: &str) -> KeyEffect {
        let line = line.trim();
        self.hint = None;
        if matches!(self.at, DialogState::Words(_)) {
            return KeyEffect::Answered(no(line));
        }
        if matches!(self.at, DialogState::Overrule(_)) {
            return KeyEffect::Answered(overruled(line));
        }
        if line == "?" {
            self.page = Some(0);
            return KeyEffect::On;
        }
        if let DialogState::Word { .. } = self.at {
            let right = self.word.as_ref().is_some_and(|word| word == line);
            return KeyEffect::Answered(if right { PromptAnswer::Once } else { NO });
        }
        match line {
            "" => KeyEffect::Answered(NO),
            "yes" => self.key(KeyPress::Char('y')),
            "no" => self.key(KeyPress::Char('n')),
            line => match line.strip_prefix("n ").or_else(|| line.strip_prefix("no ")) {
                Some(words) => KeyEffect::Answered(no(words)),
                None => {
                    let mut all = line.chars();
                    match (all.next(), all.next()) {
                        (Some(key), None) => self.key(KeyPress::Char(key)),
                        _ => {
                            self.hint = Some("unknown answer; n denies");
                            KeyEffect::On
                        }
                    }
                }
            },
        }
    }

    /// Leaves the explanation. Returns whether it was shown.
    pub(super) const fn close_page(&mut self) -> bool {
        self.page.take().is_some()
    }
}

/// Returns an approval against a reviewer's denial, if there is a reason.
fn overruled(words: &str) -> PromptAnswer {
    let words = words.trim();
    let is_said = words.chars().filter(|c| c.is_alphanumeric()).count() >= LEAST_WORDS;
    if is_said { PromptAnswer::Overruled { words: words.to_owned() } } else { NO }
}

/// Returns a denial, with the message if there is one.
fn no(words: &str) -> PromptAnswer {
    let words = words.trim();
    PromptAnswer::No { words: (!words.is_empty()).then(|| words.to_owned()), typed: true }
}

#[cfg(test)]
mod tests {
    use super::{Dialog, KeyEffect};
    use crate::prompt::answer::{NO, PromptAnswer};
    use crate::prompt::keys::KeyPress;

    fn critical() -> Dialog {
        Dialog::new(Some("walnut".to_owned()), true, true)
    }

    #[test]
    fn no_key_but_y_s_and_a_says_yes() {
        let all = (0..=0x10_ffff).filter_map(char::from_u32).map(KeyPress::Char);
        let other = [
            KeyPress::Enter,
            KeyPress::Escape,
            KeyPress::Backspace,
            KeyPress::Interrupt,
            KeyPress::EndOfFile,
            KeyPress::Quit,
            KeyPress::Up,
            KeyPress::Down,
            KeyPress::PageUp,
            KeyPress::PageDown,
            KeyPress::Unknown,
            KeyPress::Report,
            KeyPress::Paste,
        ];
        for key in all.chain(other) {
            let step = Dialog::new(None, true, true).keys(&[key]);
            let yes =
                matches!(step, KeyEffect::Answered(PromptAnswer::Once | PromptAnswer::Session | PromptAnswer::Always));
            assert_eq!(yes, matches!(key, KeyPress::Char('y' | 'Y' | 's' | 'S')), "{key:?}");
        }
    }

    #[test]
    fn nothing_is_granted_that_is_not_offered() {
        let mut dialog = Dialog::new(None, false, false);
        assert_eq!(dialog.keys(&[KeyPress::Char('s')]), KeyEffect::On);
        assert_eq!(dialog.keys(&[KeyPress::Char('a')]), KeyEffect::On);
        assert_eq!(dialog.hint, Some("this command cannot be granted"));
        assert_eq!(dialog.line("s"), KeyEffect::On);
        assert_eq!(dialog.line("a"), KeyEffect::On);
    }

    #[test]
    fn a_standing_grant_takes_two_keys() {
        let mut dialog = Dialog::new(None, true, true);
        assert_eq!(dialog.keys(&[KeyPress::Char('a'), KeyPress::Char('y')]), KeyEffect::Pasted);
        assert_eq!(dialog.keys(&[KeyPress::Char('a')]), KeyEffect::Turned);
        assert_eq!(dialog.keys(&[KeyPress::Char('y')]), KeyEffect::Answered(PromptAnswer::Always));
    }

    #[test]
    fn a_reviewers_no_is_overruled_by_words_alone() {
        for (typed, runs) in [("I know the host", true), ("", false), ("y", false), ("y y", false), ("....", false)] {
            let mut dialog = Dialog::new(None, true, true);
            dialog.overrule();
            for c in typed.chars() {
                assert_eq!(dialog.keys(&[KeyPress::Char(c)]), KeyEffect::On, "{typed}");
            }
            let wanted = if runs { PromptAnswer::Overruled { words: typed.to_owned() } } else { NO };
            assert_eq!(dialog.keys(&[KeyPress::Enter]), KeyEffect::Answered(wanted.clone()), "{typed}");
            let mut dialog = Dialog::new(None, true, true);
            dialog.overrule();
            assert_eq!(dialog.line(typed), KeyEffect::Answered(wanted), "{typed}");
        }
        let mut begun = Dialog::new(None, false, false);
        assert_eq!(begun.keys(&[KeyPress::Char('n')]), KeyEffect::On);
        begun.overrule();
        assert!(begun.denied().is_some(), "a no that was begun stays one");
        let mut critical = critical();
        critical.overrule();
        assert_eq!(critical.line("I know better"), KeyEffect::Answered(NO), "the word is wanted all the same");
    }

    #[test]
    fn only_the_whole_word_confirms_a_critical_command() {
        for typed in ["walnu", "walnutt", "Walnut", "y", "", "s", "a", "walnut "] {
            let mut dialog = critical();
            for c in typed.chars() {
                assert!(matches!(dialog.keys(&[KeyPress::Char(c)]), KeyEffect::On | KeyEffect::Begun));
            }
            assert_eq!(dialog.keys(&[KeyPress::Enter]), KeyEffect::Answered(NO), "{typed}");
        }
        let mut dialog = critical();
        assert_eq!(dialog.keys(&[KeyPress::Char('x')]), KeyEffect::Begun);
        assert_eq!(dialog.keys(&[KeyPress::Backspace]), KeyEffect::On);
        for c in "walnut".chars() {
            assert_eq!(dialog.keys(&[KeyPress::Char(c)]), KeyEffect::On);
        }
        assert_eq!(dialog.keys(&[KeyPress::Enter]), KeyEffect::Answered(PromptAnswer::Once));
    }

    #[test]
    fn a_line_is_an_answer_only_as_a_whole() {
        for (line, yes) in [("y", true), (" y ", true), ("yes", true), ("yy", false), ("y\ny", false), ("ok", false)] {
            let step = Dialog::new(None, true, true).line(line);
            assert_eq!(step == KeyEffect::Answered(PromptAnswer::Once), yes, "{line:?}");
        }
        assert_eq!(critical().line("y"), KeyEffect::Answered(NO));
        assert_eq!(critical().line("walnut\n"), KeyEffect::Answered(PromptAnswer::Once));
    }

    #[test]
    fn a_no_keeps_the_words_that_were_typed() {
        let mut dialog = Dialog::new(None, true, true);
        assert_eq!(dialog.keys(&[KeyPress::Char('n')]), KeyEffect::On);
        assert_eq!(dialog.keys(&[KeyPress::Char('h'), KeyPress::Char('i'), KeyPress::Char('?')]), KeyEffect::On);
        assert_eq!(dialog.denied(), Some(PromptAnswer::No { words: Some("hi?".to_owned()), typed: true }));
    }
}
