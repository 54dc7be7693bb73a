//! Splits names and sentences into words.

/// Returns the words of a name, in lower case and in the singular: `TwilioApiV2010--ListKeys` is `twilio api v2010 list
/// key`.
#[must_use]
pub fn of_name(name: &str) -> Vec<String> {
    parts(name).iter().map(|word| stem(&word.to_ascii_lowercase())).collect()
}

/// A word of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameWord {
    /// The word in lower case and in the singular.
    pub text: String,
    /// Whether it was in the plural. A word in the plural does not tell what a tool does.
    pub plural: bool,
}

/// Returns the words of a tool's name without those at the start that repeat the name of its server, and whether any
/// were removed. Words for which `keep` returns true are not removed.
#[must_use]
pub fn of_tool(name: &str, server: Option<&str>, keep: &dyn Fn(&str) -> bool) -> (Vec<NameWord>, bool) {
    let word = |part: &String| {
        let lower = part.to_ascii_lowercase();
        let text = stem(&lower);
        NameWord { plural: text != lower, text }
    };
    let mut all: Vec<NameWord> = parts(name).iter().map(word).collect();
    let served = server.map(of_name).unwrap_or_default();
    let repeats = |word: &&NameWord| served.contains(&word.text) && !keep(&word.text);
    let most = all.len().saturating_sub(1);
    let repeated = all.iter().take(most).take_while(repeats).count();
    all.drain(..repeated);
    (all, repeated > 0)
}

/// Normalises a name: `deleteEvent`, `delete-event` and `Delete Event` become `delete_event`.
#[must_use]
pub fn plain(name: &str) -> String {
    parts(name).join("_").to_ascii_lowercase()
}

/// Normalises a glob and keeps its wildcards.
#[must_use]
pub fn plain_glob(glob: &str) -> String {
    let mut all = String::new();
    let mut run = String::new();
    for letter in glob.chars() {
        if matches!(letter, '*' | '?') {
            push_run(&mut all, &run);
            run.clear();
            all.push(letter);
        } else {
            run.push(letter);
        }
    }
    push_run(&mut all, &run);
    all
}

/// Adds a part without wildcards. A separator at its end is kept, because a wildcard may follow.
fn push_run(all: &mut String, run: &str) {
    let is_separator = |letter: char| !letter.is_ascii_alphanumeric();
    if run.starts_with(is_separator) && !all.is_empty() {
        all.push('_');
    }
    let words = plain(run);
    all.push_str(&words);
    if run.ends_with(is_separator) && !words.is_empty() {
        all.push('_');
    }
}

/// Returns the parts of a name, split at separators and between lower and upper case.
fn parts(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let letter_at = |at: Option<usize>| at.and_then(|at| letters.get(at)).copied().unwrap_or(' ');
    let mut parts = Vec::new();
    let mut word = String::new();
    for (at, letter) in letters.iter().copied().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            parts.push(std::mem::take(&mut word));
            continue;
        }
        let (before, after) = (letter_at(at.checked_sub(1)), letter_at(at.checked_add(1)));
        let begins = letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase() && after.is_ascii_lowercase());
        if begins {
            parts.push(std::mem::take(&mut word));
        }
        word.push(letter);
    }
    parts.push(word);
    parts.retain(|word| !word.is_empty());
    parts
}

/// Returns at most `most` words of a text, in lower case and in the singular.
#[must_use]
pub fn of_text(text: &str, most: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for letter in text.chars().chain(std::iter::once(' ')) {
        if letter.is_ascii_alphabetic() || (!word.is_empty() && matches!(letter, '\'' | '-')) {
            word.push(letter.to_ascii_lowercase());
        } else if !word.is_empty() {
            words.push(stem(&word));
            word.clear();
            if words.len() >= most {
                break;
            }
        }
    }
    words
}

/// Returns the first sentence of a text, or its first line.
#[must_use]
pub fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    let mut marks = text.match_indices(['.', '!', '?', '\n']).map(|(at, _)| at + 1);
    let end = marks.find(|end| text.get(*end..).is_some_and(|rest| rest.starts_with(char::is_whitespace)));
    text.get(..end.unwrap_or(text.len())).unwrap_or(text)
}

/// Returns a word in the singular. A text that is not a word is shortened by the same rules, so it can still be
/// compared.
fn stem(word: &str) -> String {
    let length = word.len();
    if length > 4 && word.ends_with("ies") {
        return format!("{}y", word.trim_end_matches("ies"));
    }
    let cut = match word {
        _ if length > 4 && ["sses", "ches", "shes", "xes"].iter().any(|end| word.ends_with(end)) => 2,
        _ if length > 3 && word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) => 1,
        _ => 0,
    };
    word.get(..length - cut).unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_spelling_are_the_same_words() {
        for name in ["deleteEvents", "delete-events", "delete_events", "DeleteEvents", "Delete Events", "delete.events"]
        {
            assert_eq!(of_name(name), ["delete", "event"], "{name}");
            assert_eq!(plain(name), "delete_events", "{name}");
        }
        assert_eq!(of_name("TwilioApiV2010--ListKey"), ["twilio", "api", "v2010", "list", "key"]);
        assert_eq!(of_name("getPhpMyAdminLinkV1"), ["get", "php", "my", "admin", "link", "v1"]);
        assert_eq!(of_name("runSEOAudit"), ["run", "seo", "audit"]);
        assert_eq!(of_name("listPolicies"), ["list", "policy"]);
        assert_eq!(of_name("get_status"), ["get", "status"]);
    }

    #[test]
    fn the_name_of_the_server_is_no_word_of_its_tools() {
        let texts = |name, server| {
            let (words, cut) = of_tool(name, server, &|word| word == "deploy");
            (words.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "), cut)
        };
        assert_eq!(texts("tmux_select_pane", Some("tmux-mcp")), ("select pane".to_owned(), true));
        assert_eq!(texts("tmux_select_pane", None), ("tmux select pane".to_owned(), false));
        assert_eq!(texts("deploy_app", Some("deploy")), ("deploy app".to_owned(), false));
        assert_eq!(texts("tmux", Some("tmux")), ("tmux".to_owned(), false));
        let (words, _) = of_tool("get_changes", None, &|_| false);
        assert_eq!(words.iter().map(|word| word.plural).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn globs_keep_their_wildcards() {
        for (glob, wanted) in [
            ("delete-*", "delete_*"),
            ("*Delete", "*delete"),
            ("run*Audit", "run*audit"),
            ("*_delete_*", "*_delete_*"),
            ("deleteEvent", "delete_event"),
            ("*", "*"),
        ] {
            assert_eq!(plain_glob(glob), wanted);
        }
    }

    #[test]
    fn a_sentence_ends_at_its_mark_or_line() {
        assert_eq!(first_sentence(" Lists v1.2 files. Then more."), "Lists v1.2 files.");
        assert_eq!(first_sentence("Lists files\n and more"), "Lists files\n");
        assert_eq!(first_sentence("Lists"), "Lists");
        assert_eq!(of_text("Don't list re-used classes!", 9), ["don't", "list", "re-used", "class"]);
        assert_eq!(of_text("one two three", 2), ["one", "two"]);
    }
}
