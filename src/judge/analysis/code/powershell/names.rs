//! Classifies words of PowerShell: keywords, aliases and names of cmdlets.

use crate::judge::rules::word_lists;

/// Reports whether a word in lower case is a keyword that may precede a command.
pub fn is_keyword(word: &str) -> bool {
    word_lists::POWERSHELL_KEYWORDS.contains(&word)
}

/// Returns the full name of a command in lower case. `foreach` before a bracket is a keyword, which takes precedence.
pub fn full(name: &str) -> &str {
    let plain = name.rsplit_once('\\').map_or(name, |(_, plain)| plain);
    word_lists::POWERSHELL_ALIASES
        .iter()
        .find(|(alias, _)| *alias == plain)
        .map_or(if is_cmdlet(plain) { plain } else { name }, |(_, full)| full)
}

/// Reports whether this is the name of a cmdlet or function: a verb, a dash, a noun.
pub fn is_cmdlet(name: &str) -> bool {
    name.split_once('-').is_some_and(|(verb, noun)| {
        !noun.is_empty()
            && noun.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && (word_lists::POWERSHELL_VERBS.contains(&verb) || word_lists::POWERSHELL_OTHER_VERBS.contains(&verb))
    })
}
