//! Finds secrets by their position in the arguments of a program.

use std::ops::Range;

use super::words::{self, FlatWord, Separator};
use super::{Secrets, is_expansion, is_reference};
use crate::judge::rules::catalog::secret_arguments;
use crate::judge::rules::secrets::{SecretForm as Form, SecretOption, WhichOperand};

/// Finds secrets by the program that takes them.
pub(super) fn find(words: &[FlatWord], secrets: &mut Secrets<'_>) {
    let mut fed_by: Option<Command<'_>> = None;
    let mut begin = 0;
    while begin < words.len() {
        let ends = |word: &FlatWord| matches!(word.gap, Separator::Command | Separator::Pipe);
        let length = 1 + words.iter().skip(begin + 1).take_while(|word| !ends(word)).count();
        let Some(words) = words.get(begin..begin + length) else { return };
        let piped = words.first().is_some_and(|word| word.gap == Separator::Pipe);
        let command = Command { words };
        command.options(secrets);
        command.operands(secrets);
        command.literals(secrets);
        let writes = command.writes_a_secret(secrets.text);
        if writes || command.has_input(secrets.text, true) {
            command.printed(secrets);
        }
        if writes || command.reads_a_secret(secrets.text) {
            command.here_strings(secrets);
            if let (true, Some(before)) = (piped, &fed_by) {
                before.printed(secrets);
            }
        }
        fed_by = Some(command);
        begin += length;
    }
}

/// The flat words between two operators. They include wrappers and inner commands, so that any word may be a program.
struct Command<'w> {
    words: &'w [FlatWord],
}

impl<'w> Command<'w> {
    fn texts<'t>(&self, text: &'t str) -> impl Iterator<Item = (&'w FlatWord, &'t str)> {
        self.words.iter().map(|word| (word, text.get(word.span.clone()).unwrap_or_default()))
    }

    fn options(&self, secrets: &mut Secrets<'_>) {
        let text = secrets.text;
        let mut takers: Vec<(&SecretOption, bool)> = Vec::new();
        let mut waiting: Option<Form> = None;
        let mut before = "";
        let mut hidden = 0;
        for (word, written) in self.texts(text) {
            if word.span.start < hidden {
                // Blanks and quotes inside a secret do not begin an option.
                continue;
            }
            if let Some(form) = waiting.take()
                && !written.starts_with('-')
            {
                hidden = hide(secrets, words::value(text, word.span.start, quote_before(text, word)), form);
                continue;
            }
            let base = written.rsplit('/').next().unwrap_or(written);
            for taker in secret_arguments().option.iter().filter(|taker| has(&taker.programs, base)) {
                // Each is added once, because a command may contain the name of a program many times.
                if !takers.iter().any(|(known, _)| std::ptr::eq(*known, taker)) {
                    takers.push((taker, taker.sub.is_none()));
                }
            }
            for (taker, ready) in &mut takers {
                *ready = *ready || taker.sub.as_deref() == Some(written);
            }
            if before.starts_with("-pass")
                && let Some(rest) = written.strip_prefix("pass:")
            {
                // The notation of openssl.
                hidden = hide(secrets, words::value(text, word.span.end - rest.len(), None), Form::Next);
            }
            before = written;
            let taken = takers.iter().filter(|(_, ready)| *ready).flat_map(|(taker, _)| {
                let fits = |option: &&String| written.starts_with(option.as_str());
                taker.options.iter().filter(fits).map(|option| (option, taker.form))
            });
            // The longest matching option is used, because `--user` is not `-u`.
            let Some((option, form)) = taken.max_by_key(|(option, _)| option.len()) else { continue };
            let glued = word.span.end - written.len() + option.len();
            let rest = written.get(option.len()..).unwrap_or_default();
            let quoted = rest.is_empty() && matches!(text.as_bytes().get(glued), Some(b'\'' | b'"'));
            if rest.is_empty() && !(quoted && form != Form::Next && !closes(text, word)) {
                waiting = (form != Form::Attached).then_some(form);
            } else if option.starts_with("--") {
                if rest.starts_with('=') {
                    hidden = hide(secrets, words::value(text, glued + 1, None), form);
                }
            } else if form != Form::Next {
                hidden = hide(secrets, words::value(text, glued, None), form);
            }
        }
    }

    /// Redacts operands that are secrets.
    fn operands(&self, secrets: &mut Secrets<'_>) {
        /// The maximum number of words after a program that are read.
        const NEAR: usize = 32;
        let text = secrets.text;
        let words: Vec<(&FlatWord, &str)> = self.texts(text).collect();
        let whole = |word: &FlatWord| words::value(text, word.span.start, quote_before(text, word));
        for (at, (_, written)) in words.iter().enumerate() {
            let base = written.rsplit('/').next().unwrap_or(written);
            for operand in secret_arguments().operand.iter().filter(|operand| has(&operand.programs, base)) {
                let behind = || words.iter().skip(at + 1).take(NEAR);
                let Some(used) = skip_sub(behind().map(|(_, word)| *word), operand.sub.as_deref()) else { continue };
                if operand.letter.is_some_and(|letter| !behind().any(|(_, word)| is_cluster_with(word, letter)))
                    || operand.word.as_deref().is_some_and(|wanted| !behind().any(|(_, word)| *word == wanted))
                {
                    continue;
                }
                let rest = || behind().skip(used);
                let plain = || rest().filter(|(_, word)| !word.starts_with('-'));
                match operand.which {
                    WhichOperand::First => {
                        if let Some((word, written)) = rest().find(|(_, word)| !word.starts_with('-'))
                            && !written.contains(['=', ':'])
                        {
                            hide(secrets, whole(word), Form::Next);
                        }
                    }
                    WhichOperand::Second | WhichOperand::Third => {
                        let before = if operand.which == WhichOperand::Second { 1 } else { 2 };
                        if let Some((word, _)) = plain().nth(before) {
                            hide(secrets, whole(word), Form::Next);
                        }
                    }
                    WhichOperand::All => {
                        for (word, _) in plain() {
                            hide(secrets, whole(word), Form::Next);
                        }
                    }
                    WhichOperand::Values => {
                        for (word, written) in plain() {
                            if let Some((_, value)) = written.split_once('=').filter(|(name, _)| !name.is_empty()) {
                                let start = word.span.end - value.len();
                                hide(secrets, words::value(text, start, quote_before(text, word)), Form::Next);
                            }
                        }
                    }
                    WhichOperand::Named => {
                        for ((_, name), (word, written)) in rest().zip(rest().skip(1)) {
                            let name = name.rsplit(['/', ':']).next().unwrap_or(name);
                            if !name.starts_with('-') && !written.starts_with('-') && super::names::is_secret(name) {
                                hide(secrets, whole(word), Form::Next);
                            }
                        }
                    }
                    WhichOperand::Last => {
                        if let Some((word, _)) = words.last().filter(|_| rest().count() >= 3) {
                            hide(secrets, whole(word), Form::Next);
                        }
                    }
                    WhichOperand::Logon => {
                        let named = rest().find(|(_, word)| word.contains('/') && !word.starts_with(['-', '/']));
                        if let Some((word, logon)) = named
                            && let Some((name, secret)) = logon.split_once('/')
                        {
                            let start = word.span.start + name.len() + 1;
                            let secret = secret.split_once('@').map_or(secret, |(secret, _)| secret);
                            hide(secrets, start..start + secret.len(), Form::Next);
                        }
                    }
                }
            }
        }
    }

    /// Redacts the secret in `--from-literal=NAME=SECRET`.
    fn literals(&self, secrets: &mut Secrets<'_>) {
        const OPTION: &str = "--from-literal";
        let text = secrets.text;
        let mut waiting = false;
        for (word, written) in self.texts(text) {
            let pair = match written.strip_prefix(OPTION) {
                Some(rest) => rest.strip_prefix('='),
                None => Some(written).filter(|_| waiting),
            };
            waiting = written == OPTION;
            let Some((name, secret)) = pair.and_then(|pair| pair.split_once('=')) else { continue };
            let start = word.span.end - secret.len();
            if !name.is_empty() {
                hide(secrets, words::value(text, start, quote_before(text, word)), Form::Next);
            }
        }
    }

    /// Reports whether the command's output, or its here-string, is written to a file whose name is that of a file of
    /// secrets.
    fn writes_a_secret(&self, text: &str) -> bool {
        let given = self.words.iter().any(|word| word.gap == Separator::HereString);
        self.texts(text)
            .filter(|(word, _)| word.gap == Separator::Redirection || given && word.gap != Separator::HereString)
            .any(|(_, path)| is_file_of_secrets(path))
    }

    /// Reports whether the command reads a secret from its input.
    fn reads_a_secret(&self, text: &str) -> bool {
        const STORES: [&str; 4] = ["secret", "secrets", "env", "ssm"];
        const PUTS: [&str; 7] = ["put", "set", "add", "create", "import", "put-parameter", "bulk"];
        let any = |wanted: &[&str]| self.texts(text).any(|(_, written)| wanted.contains(&written));
        let reads = self.texts(text).any(|(_, written)| written == "read");
        let hidden =
            || self.texts(text).any(|(_, written)| is_cluster_with(written, 's') || super::names::is_secret(written));
        any(&STORES) && any(&PUTS) || reads && hidden() || self.has_input(text, false)
    }

    /// Reports whether the command takes a secret from its input, or from a command in its arguments (`printed`).
    fn has_input(&self, text: &str, printed: bool) -> bool {
        let named = |wanted: &[String]| {
            // A variable or option is followed by an equals sign.
            let base =
                |written: &'_ str| has(wanted, written.rsplit('/').next().unwrap_or(written).trim_end_matches('='));
            self.texts(text).any(|(_, written)| base(written))
        };
        let given = |letter: char| self.texts(text).any(|(_, written)| is_cluster_with(written, letter));
        secret_arguments().input.iter().filter(|input| input.printed == printed).any(|input| {
            (input.programs.is_empty() || named(&input.programs))
                && (input.words.is_empty() || named(&input.words))
                && input.letter.is_none_or(given)
        })
    }

    /// Redacts the secret in `<<< SECRET`.
    fn here_strings(&self, secrets: &mut Secrets<'_>) {
        let text = secrets.text;
        for word in self.words.iter().filter(|word| word.gap == Separator::HereString) {
            hide(secrets, words::value(text, word.span.start, quote_before(text, word)), Form::Next);
        }
    }

    /// Redacts the output of an `echo` or `printf`.
    fn printed(&self, secrets: &mut Secrets<'_>) {
        let text = secrets.text;
        let mut saying = false;
        // The quote that encloses the whole `echo`, and the position after that word.
        let mut within: Option<(char, usize)> = None;
        for (word, written) in self.texts(text) {
            let between = |from: usize| text.get(from..word.span.start).unwrap_or_default();
            if within.is_some_and(|(quote, from)| between(from).contains(quote)) {
                break;
            }
            if let (Some((_, from)), true) = (&mut within, saying) {
                *from = word.span.end;
            }
            if saying && !written.starts_with('-') && !written.contains('%') && word.gap != Separator::Redirection {
                let span = words::value(text, word.span.start, quote_before(text, word));
                // The name of a variable is not a secret: `echo NAME=secret > .env`.
                let value = text.get(span.clone()).unwrap_or_default();
                let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let named = value.split_once('=').filter(|(name, value)| is_name(name) && !value.is_empty());
                let start = named.map_or(span.start, |(name, _)| span.start + name.len() + 1);
                hide(secrets, start..span.end, Form::Next);
            }
            if !saying && matches!(written, "echo" | "printf") {
                saying = true;
                let quote = quote_before(text, word).filter(|_| !closes(text, word));
                within = quote.map(|quote| (char::from(quote), word.span.end));
            }
        }
    }
}

/// Reports whether a path is named like a file of secrets: `~/.netrc`, `api-token.txt`, `.env.production`,
/// `server.key`.
fn is_file_of_secrets(path: &str) -> bool {
    const NAMES: [&str; 18] = [
        "token",
        "secret",
        "secrets",
        "password",
        "passwd",
        "passphrase",
        "credential",
        "credentials",
        "apikey",
        "api-key",
        "api_key",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        ".netrc",
        ".pgpass",
        ".vault-token",
        "auth-token",
    ];
    const ENDINGS: [&str; 8] = ["txt", "key", "pem", "token", "secret", "pass", "pwd", "env"];
    /// The endings of files of variables that contain no secrets.
    const TEMPLATES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).unwrap_or((&name, ""));
    let named = |text: &str| {
        NAMES
            .iter()
            .any(|known| text == *known || text.ends_with(&format!("_{known}")) || text.ends_with(&format!("-{known}")))
    };
    let of_variables = name == ".env" || name.starts_with(".env.") && !TEMPLATES.contains(&ending);
    named(&name)
        || named(stem) && ENDINGS.contains(&ending)
        || matches!(ending, "key" | "pem" | "token" | "secret")
        || of_variables
}

/// Returns the number of words up to the end of the subcommand, before which only options may be.
fn skip_sub<'t>(words: impl Iterator<Item = &'t str> + Clone, sub: Option<&str>) -> Option<usize> {
    let Some(sub) = sub else { return Some(0) };
    let is = |(wanted, written): (&str, &str)| written.rsplit('/').next().unwrap_or(written) == wanted;
    let mut after_option = false;
    for (at, word) in words.clone().enumerate() {
        let wanted = sub.split(' ');
        if wanted.clone().count() <= words.clone().skip(at).count()
            && wanted.clone().zip(words.clone().skip(at)).all(is)
        {
            return Some(at + wanted.count());
        }
        if !word.starts_with('-') && !after_option {
            return None;
        }
        after_option = word.starts_with('-') && !word.contains('=');
    }
    None
}

/// Reports whether the list contains a name.
fn has(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known == name)
}

/// Reports whether the quote after a word closes one that was opened directly before it.
fn closes(text: &str, word: &FlatWord) -> bool {
    let bytes = text.as_bytes();
    word.span.start > 0 && bytes.get(word.span.start - 1) == bytes.get(word.span.end)
}

/// Returns the quote directly before a word.
fn quote_before(text: &str, word: &FlatWord) -> Option<u8> {
    let before = text.as_bytes().get(word.span.start.checked_sub(1)?).copied();
    before.filter(|byte| matches!(byte, b'\'' | b'"'))
}

/// Reports whether a word is a cluster of short options that contains this one.
fn is_cluster_with(word: &str, option: char) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.chars().all(|letter| letter.is_ascii_alphabetic()) && rest.contains(option))
}

/// Redacts the secret part of a value. Returns the end of the redacted part; 0 if there is none.
fn hide(secrets: &mut Secrets<'_>, span: Range<usize>, form: Form) -> usize {
    let value = secrets.text.get(span.clone()).unwrap_or_default();
    let from = match form {
        Form::Attached | Form::Next | Form::Either => 0,
        Form::AfterColon => match value.find(':') {
            Some(colon) => colon + 1,
            None => return 0,
        },
        Form::AfterPercent => match value.find('%') {
            Some(percent) => percent + 1,
            None => return 0,
        },
        Form::AfterComma => match value.find(',') {
            Some(comma) => comma + 1,
            None => return 0,
        },
    };
    let secret = value.get(from..).unwrap_or_default();
    if secret.is_empty() || is_expansion(secret) || from == 0 && is_reference(value) {
        return 0;
    }
    secrets.hide(span.start + from..span.end);
    span.end
}
