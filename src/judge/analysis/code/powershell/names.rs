//! What words mean in PowerShell: keywords, aliases, and which names are cmdlets.

use crate::judge::rules::word_lists;

/// Whether the word, in small letters, stands in front of a command and is none itself.
pub fn is_keyword(word: &str) -> bool {
    word_lists::POWERSHELL_KEYWORDS.contains(&word)
}

/// The full name of a command in small letters. `foreach` in front of a bracket is a keyword, which comes first.
pub fn full(name: &str) -> &str {
    let plain = name.rsplit_once('\\').map_or(name, |(_, plain)| plain);
    word_lists::POWERSHELL_ALIASES
        .iter()
        .find(|(alias, _)| *alias == plain)
        .map_or(if is_cmdlet(plain) { plain } else { name }, |(_, full)| full)
}

/// Whether this is the name of a cmdlet or function: a verb, a dash, a noun.
pub fn is_cmdlet(name: &str) -> bool {
    name.split_once('-').is_some_and(|(verb, noun)| {
        !noun.is_empty()
            && noun.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && (word_lists::POWERSHELL_VERBS.contains(&verb) || word_lists::POWERSHELL_OTHER_VERBS.contains(&verb))
    })
}
