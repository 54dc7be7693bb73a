//! A first word that is no verb: what was probably meant.

use std::ffi::{OsStr, OsString};

use clap::CommandFactory as _;
use strsim::damerau_levenshtein;

use super::Cli;
use crate::judge::invocation::quote;

/// What to say of these arguments, whose first word is no verb of guard.
#[must_use]
pub fn no_verb(arguments: &[OsString]) -> String {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((first, rest)) = words.split_first() else {
        return "no verb given: guard --help lists them".to_owned();
    };
    let quoted = |words: &[String]| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let with = |verb: &str| [vec![verb.to_owned()], rest.to_vec()].concat();
    let meant = match near(first) {
        Some(verb) => format!("guard {}", quoted(&with(&verb))),
        // One word with blanks in it is a whole line.
        None if rest.is_empty() && first.contains(char::is_whitespace) => format!("guard -c {}", quote(first)),
        None => format!("guard -- {}", quoted(&words)),
    };
    format!("unknown verb {} (guard --help lists them); did you mean: {meant}", quote(first))
}

/// Whether this is a verb or another name that the command line knows.
pub(super) fn is_verb(word: &OsStr) -> bool {
    let known = |name: &str| word == name;
    known("help") || Cli::command().get_subcommands().any(|verb| known(verb.get_name()))
}

/// The verb that is meant, where a word is a letter or two away from one.
fn near(word: &str) -> Option<String> {
    let far = if word.chars().count() > 4 { 2 } else { 1 };
    let verbs = Cli::command();
    let verbs = verbs.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name().to_owned());
    let found = verbs.map(|verb| (damerau_levenshtein(word, &verb), verb)).min()?;
    (found.0 <= far && word.chars().count() > 2).then_some(found.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        no_verb(&words).split_once("did you mean: ").unwrap().1.to_owned()
    }

    #[test]
    fn a_misspelled_verb_is_told_with_what_followed_it() {
        assert_eq!(said(&["chek", "rm -rf build"]), "guard check 'rm -rf build'");
        assert_eq!(said(&["lgo", "--json"]), "guard log --json");
        assert_eq!(said(&["aprove", "k7m2"]), "guard approve k7m2");
    }

    #[test]
    fn a_command_is_told_how_to_run() {
        assert_eq!(said(&["rm", "-rf", "build"]), "guard -- rm -rf build");
        assert_eq!(said(&["ls"]), "guard -- ls");
        assert_eq!(said(&["make clean && ls"]), "guard -c 'make clean && ls'");
        assert_eq!(said(&["git", "commit", "-m", "it's"]), r"guard -- git commit -m 'it'\''s'");
    }

    #[test]
    fn what_only_guard_itself_calls_is_never_offered() {
        assert_eq!(said(&["lines"]), "guard -- lines");
        assert!(is_verb(OsStr::new("line")) && is_verb(OsStr::new("help")) && !is_verb(OsStr::new("lines")));
    }
}
