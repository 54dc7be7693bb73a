//! Field splitting, globs and quote removal: turns the pieces of an expanded word into arguments.

use super::act::{Piece, Unknown, Value};
use super::state::{Build as _, State};

/// The origin of a text in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// Literal text without quotes: globs in it are expanded.
    Bare,
    /// The result of an expansion without quotes: it is split, and globs in it are expanded.
    Split,
    Quoted,
}

/// A piece of a word after expansion.
#[derive(Clone, Debug)]
pub(super) enum Atom {
    Text(String, Quote),
    Unknown(Unknown),
    /// An unquoted glob.
    Glob(String),
    /// A new argument begins (`"$@"`).
    Break,
}

impl Atom {
    /// Returns the length of its text in bytes.
    pub fn length(&self) -> usize {
        match self {
            Self::Text(text, _) | Self::Glob(text) => text.len(),
            Self::Unknown(_) | Self::Break => 0,
        }
    }
}

/// A part of the current argument.
enum Run {
    Live(String),
    Fixed(Piece),
}

/// Splits atoms at the separators, and finds globs.
pub(super) fn split(atoms: Vec<Atom>, separators: &str, globs: bool) -> Vec<Value> {
    let mut fields = Vec::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut open = false;
    let live = |runs: &mut Vec<Run>, text: &str| match runs.last_mut() {
        Some(Run::Live(last)) => last.push_str(text),
        _ => runs.push(Run::Live(text.to_owned())),
    };
    for atom in atoms {
        match atom {
            Atom::Text(text, Quote::Quoted) => {
                open = true;
                runs.push(Run::Fixed(Piece::Text(text)));
            }
            Atom::Text(text, Quote::Bare) => {
                if !text.is_empty() {
                    open = true;
                    live(&mut runs, &text);
                }
            }
            Atom::Text(text, Quote::Split) => {
                let mut blank = false;
                let mut rest = text.as_str();
                loop {
                    let word = rest.find(|c| separators.contains(c)).unwrap_or(rest.len());
                    let (plain, behind) = rest.split_at(word);
                    if !plain.is_empty() {
                        blank = false;
                        open = true;
                        live(&mut runs, plain);
                    }
                    let Some(c) = behind.chars().next() else { break };
                    rest = behind.get(c.len_utf8()..).unwrap_or_default();
                    if c.is_ascii_whitespace() {
                        blank = true;
                        finish(&mut runs, &mut open, globs, &mut fields);
                    } else {
                        // A separator that is not a blank also ends an empty field.
                        open |= !blank;
                        finish(&mut runs, &mut open, globs, &mut fields);
                    }
                }
            }
            Atom::Unknown(unknown) => {
                open = true;
                runs.push(Run::Fixed(Piece::Unknown(unknown)));
            }
            Atom::Glob(text) => {
                open = true;
                runs.push(Run::Fixed(Piece::Glob(text)));
            }
            Atom::Break => finish(&mut runs, &mut open, globs, &mut fields),
        }
    }
    finish(&mut runs, &mut open, globs, &mut fields);
    fields
}

/// Widens the extended globs of zsh, by the options of the shell.
#[inline(never)]
pub(super) fn widen(atoms: &mut Vec<Atom>, state: &State) {
    if !state.noglob {
        *atoms = widened(std::mem::take(atoms), state.extended_glob, state.ksh_glob);
    }
}

/// Replaces the last part of a path by `*` if it has an operator of zsh's extended globs (`^x`, `*~x`, `(#i)x`), or of
/// those that it has in common with ksh (`!(x)`), which are not evaluated.
fn widened(atoms: Vec<Atom>, extended: bool, ksh: bool) -> Vec<Atom> {
    let mut has_wildcard = false;
    let mut former = String::new();
    let mut is_wide = false;
    for atom in &atoms {
        match atom {
            Atom::Text(text, Quote::Bare) => {
                has_wildcard |= text.contains(['*', '?', '[']);
                let excludes = text.char_indices().any(|(at, c)| c == '~' && (at > 0 || !former.is_empty()));
                is_wide |= extended && (text.contains(['^', '#']) || excludes && has_wildcard);
                former.clone_from(text);
            }
            Atom::Glob(glob) => {
                has_wildcard = true;
                is_wide |= extended && glob.contains(['#', '^', '~']);
                is_wide |= ksh && glob.starts_with('(') && former.ends_with(['!', '@', '+', '?', '*']);
                former.clone_from(glob);
            }
            Atom::Text(text, _) => former.clone_from(text),
            Atom::Unknown(_) | Atom::Break => former.clear(),
        }
    }
    if !is_wide || atoms.iter().any(|atom| matches!(atom, Atom::Break | Atom::Unknown(_))) {
        return atoms;
    }
    let directory = match atoms.into_iter().next() {
        Some(Atom::Text(text, _)) => text.rfind('/').and_then(|at| text.get(..=at)).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    vec![Atom::Text(directory, Quote::Quoted), Atom::Glob("*".to_owned())]
}

fn finish(runs: &mut Vec<Run>, open: &mut bool, globs: bool, fields: &mut Vec<Value>) {
    if std::mem::take(open) {
        let mut value = Value::default();
        for run in runs.drain(..) {
            match run {
                Run::Fixed(piece) => value.push_piece(&piece),
                Run::Live(text) if globs => push_globs(&text, &mut value),
                Run::Live(text) => value.push_text(&text),
            }
        }
        fields.push(value);
    }
    runs.clear();
}

/// Appends text with globs.
pub(super) fn push_globs(text: &str, value: &mut Value) {
    let mut rest = text;
    while let Some(at) = rest.find(['*', '?', '[']) {
        let (before, from) = rest.split_at(at);
        value.push_text(before);
        let length = if from.starts_with('[') {
            // `[` without a closing bracket is text.
            let close = from.char_indices().skip(2).find(|(_, c)| *c == ']').map(|(at, _)| at + 1);
            let Some(close) = close.filter(|close| !from.get(..*close).unwrap_or("").contains('/')) else {
                value.push_text("[");
                rest = from.get(1..).unwrap_or("");
                continue;
            };
            close
        } else {
            from.find(|c| c != '*' && c != '?').unwrap_or(from.len())
        };
        let (glob, after) = from.split_at(length);
        value.push_piece(&Piece::Glob(glob.to_owned()));
        rest = after;
    }
    value.push_text(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(atoms: Vec<Atom>, separators: &str) -> Vec<String> {
        split(atoms, separators, true).iter().map(|value| value.pattern().unwrap()).collect()
    }

    fn expanded(text: &str) -> Atom {
        Atom::Text(text.to_owned(), Quote::Split)
    }

    #[test]
    fn unquoted_results_are_split_at_blanks() {
        assert_eq!(fields(vec![expanded(" rm  -rf / ")], " \t\n"), ["rm", "-rf", "/"]);
        assert_eq!(fields(vec![expanded("")], " \t\n"), Vec::<String>::new());
    }

    #[test]
    fn other_separators_keep_empty_fields() {
        assert_eq!(fields(vec![expanded("rm,x")], ","), ["rm", "x"]);
        assert_eq!(fields(vec![expanded("a,,b")], ","), ["a", "", "b"]);
    }

    #[test]
    fn quoted_text_is_kept_together() {
        let atoms = vec![Atom::Text("a b".to_owned(), Quote::Quoted), expanded("c d")];
        assert_eq!(fields(atoms, " "), ["a bc", "d"]);
    }

    #[test]
    fn globs_are_live_outside_quotes_alone() {
        let value = &split(vec![Atom::Text("src/*.[ch]".to_owned(), Quote::Bare)], " ", true)[0];
        assert_eq!(
            value.pieces(),
            [Piece::Text("src/".into()), Piece::Glob("*".into()), Piece::Text(".".into()), Piece::Glob("[ch]".into())]
        );
        let value = &split(vec![Atom::Text("*".to_owned(), Quote::Quoted)], " ", true)[0];
        assert_eq!(value.known().as_deref(), Some("*"));
        let value = &split(vec![Atom::Text("[".to_owned(), Quote::Bare)], " ", true)[0];
        assert_eq!(value.known().as_deref(), Some("["));
    }

    #[test]
    fn an_extended_glob_of_zsh_may_be_any_file_beside_it() {
        let bare = |text: &str| Atom::Text(text.to_owned(), Quote::Bare);
        let group = |text: &str| Atom::Glob(text.to_owned());
        let wide = |atoms: Vec<Atom>, ksh: bool| fields(widened(atoms, !ksh, ksh), " ");
        assert_eq!(wide(vec![bare("^a")], false), ["*"]);
        assert_eq!(wide(vec![bare("b/*~a")], false), ["b/*"]);
        assert_eq!(wide(vec![group("(#i)"), bare("a")], false), ["*"]);
        assert_eq!(wide(vec![bare("!"), group("(a)")], true), ["*"]);
        assert_eq!(wide(vec![bare("a~1")], false), ["a~1"]);
        assert_eq!(wide(vec![bare("^a")], true), ["^a"]);
    }
}
