//! Suggestions for a first word that is not a subcommand.

use std::ffi::{OsStr, OsString};

use clap::CommandFactory as _;
use clap::error::{ContextKind, ErrorKind};
use strsim::damerau_levenshtein;

use super::Cli;
use crate::config::keys::nearest;
use crate::judge::invocation::quote;

/// Returns the message for a word that is neither a topic of `guard help` nor a subcommand.
#[must_use]
pub fn no_topic(word: &str) -> String {
    let names: Vec<&str> = super::topics().map(|(name, _)| name).collect();
    let near = nearest(word, names.iter().copied()).map(str::to_owned).or_else(|| near(word));
    let meant = near.map_or_else(String::new, |name| format!("\n  did you mean: guard help {name}"));
    format!("no help on {} (topics: {}; a command: guard help COMMAND){meant}", quote(word), names.join(", "))
}

/// Returns the message for arguments whose first word is not a subcommand. It suggests to run them as a command if the
/// program exists.
#[must_use]
pub fn no_verb(arguments: &[OsString], is_program: impl Fn(&str) -> bool) -> String {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some((first, rest)) = words.split_first() else {
        return "no command given: guard --help lists them".to_owned();
    };
    let with = |verb: &str| [vec![verb.to_owned()], rest.to_vec()].concat();
    let meant = match near(first) {
        Some(verb) => format!("guard {}", quoted(&with(&verb))),
        // A single word with blanks is a command string.
        None if rest.is_empty() && first.contains(char::is_whitespace) => format!("guard -c {}", quote(first)),
        None if is_program(first) => format!("guard -- {}", quoted(&words)),
        None => {
            return format!(
                "unknown command {}, and no program of that name was found (guard --help lists the commands; guard \
                 -- PROGRAM runs one)",
                quote(first)
            );
        }
    };
    // On a separate line it can be copied from a narrow terminal too.
    format!("unknown command {} (guard --help lists them)\n  did you mean: {meant}", quote(first))
}

/// Returns the message for an option of a shell without commands.
pub(super) fn no_commands(option: &OsStr) -> String {
    let option = quote(&option.to_string_lossy());
    format!(
        "{option} is an option of the shell, and -c 'COMMANDS' is missing (guard --help lists the options of guard; \
         guard -i starts a shell)"
    )
}

/// Returns the message for an unquoted command after a subcommand that takes one string; `None` if the error has
/// another cause.
pub(super) fn unquoted(arguments: &[OsString], error: &clap::Error) -> Option<String> {
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let [verb, first, _, ..] = words.as_slice() else { return None };
    let is_misspelled = error.get(ContextKind::SuggestedArg).is_some();
    if error.kind() != ErrorKind::UnknownArgument
        || is_misspelled
        || !matches!(verb.as_str(), "check" | "explain")
        || first.starts_with('-')
        || first.contains(char::is_whitespace)
    {
        return None;
    }
    let command = quoted(words.get(1..)?);
    Some(format!(
        "guard {verb} takes a command as one string, or a program and its arguments after --\n  did you mean: guard \
         {verb} -- {command}"
    ))
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

/// Reports whether this is a subcommand or another name that the command line accepts.
pub(super) fn is_verb(word: &OsStr) -> bool {
    let known = |name: &str| word == name;
    known("help") || Cli::command().get_subcommands().any(|verb| known(verb.get_name()))
}

/// Returns the subcommand that is probably meant, if a word differs from it by a letter or two.
fn near(word: &str) -> Option<String> {
    let far = if word.chars().count() > 4 { 2 } else { 1 };
    let verbs = Cli::command();
    let verbs = verbs.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name().to_owned());
    // A missing letter is more likely than a wrong one.
    let lacks = |verb: &str| {
        let mut letters = verb.chars();
        word.chars().all(|letter| letters.any(|other| other == letter))
    };
    let found = verbs.map(|verb| (damerau_levenshtein(word, &verb), !lacks(&verb), verb)).min()?;
    (found.0 <= far && word.chars().count() > 2).then_some(found.2)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    fn said(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        no_verb(&words, |name| ["rm", "ls", "git"].contains(&name)).split_once("did you mean: ").unwrap().1.to_owned()
    }

    #[test]
    fn a_misspelled_verb_is_told_with_what_followed_it() {
        assert_eq!(said(&["chek", "rm -rf build"]), "guard check 'rm -rf build'");
        assert_eq!(said(&["lgo", "--json"]), "guard log --json");
        assert_eq!(said(&["aprove", "k7m2"]), "guard approve k7m2");
        assert_eq!(said(&["staus"]), "guard status");
        assert_eq!(said(&["sats"]), "guard stats");
    }

    #[test]
    fn a_command_is_told_how_to_run() {
        assert_eq!(said(&["rm", "-rf", "build"]), "guard -- rm -rf build");
        assert_eq!(said(&["ls"]), "guard -- ls");
        assert_eq!(said(&["make clean && ls"]), "guard -c 'make clean && ls'");
        assert_eq!(said(&["git", "commit", "-m", "it's"]), r"guard -- git commit -m 'it'\''s'");
    }

    #[test]
    fn a_command_without_quotes_is_told_how_to_judge() {
        let said = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(Into::into).collect();
            let error = Cli::try_parse_from([OsString::from("guard")].iter().chain(&words)).err()?;
            unquoted(&words, &error)
        };
        let ends = |words: &[&str], with: &str| {
            let said = said(words).unwrap();
            assert!(said.ends_with(&format!("\n  did you mean: {with}")), "{said}");
        };
        ends(&["check", "rm", "-rf", "a b"], "guard check -- rm -rf 'a b'");
        ends(&["explain", "git", "push"], "guard explain -- git push");
        for words in
            [&["check", "ls", "--jsno"][..], &["check", "rm -rf x", "--foo"], &["check", "--foo", "ls"], &["log", "x"]]
        {
            assert_eq!(said(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_topic_is_told_the_topics() {
        let said = no_topic("recrod");
        assert!(said.contains("topics: start, tiers,") && said.ends_with("did you mean: guard help record"), "{said}");
        assert!(!no_topic("xx").contains("did you mean"), "{}", no_topic("xx"));
    }

    #[test]
    fn what_only_guard_itself_calls_is_never_offered() {
        let lines = no_verb(&["lines".into()], |_| false);
        assert!(!lines.contains("did you mean") && lines.contains("no program of that name was found"), "{lines}");
        assert!(is_verb(OsStr::new("line")) && is_verb(OsStr::new("help")) && !is_verb(OsStr::new("lines")));
    }
}
