//! Finds the commands that a wrapper runs.

use super::scan::{ArgumentScan, EnclosedCommand, assignment};
use super::{Arg, InnerCommand, InnerText, PassedOn, values};
use crate::judge::analysis::act::{Operand, Piece, Remote, RemoteKind, Value};
use crate::judge::invocation::quote;
use crate::judge::rules::model::{Added, Inner, RemoteName, Wrap, WrapFrom};
use crate::judge::rules::text::same_flag;
use crate::judge::syntax::tree::Span;

/// Returns all commands in the arguments, by the descriptions of the program and its subcommand.
pub(super) fn commands(scan: &ArgumentScan<'_>) -> Vec<InnerCommand> {
    let mut found = Vec::new();
    // Several layers may describe the same wrapper; each command is returned once.
    let mut took_operands = false;
    let mut taken: Vec<&EnclosedCommand<'_>> = Vec::new();
    let mut options: Vec<&str> = Vec::new();
    let wraps: Vec<&Wrap> = scan.wraps().filter(|wrap| scan.is_on(wrap)).collect();
    for wrap in &wraps {
        let before = found.len();
        match &wrap.from {
            WrapFrom::Operands if took_operands => continue,
            WrapFrom::Operands if wrap.each => {
                let all = scan.operands.iter().skip(scan.command_at(wrap)).filter_map(|index| scan.args.get(*index));
                found.extend(all.filter_map(|arg| command(wrap, scan, std::slice::from_ref(arg))));
                took_operands = found.len() > before;
            }
            WrapFrom::Anywhere => {
                if !scan.args.is_empty() {
                    found.push(shaped(wrap, scan, InnerText::Somewhere(anew(scan.args)), Vec::new()));
                }
            }
            WrapFrom::Operands => {
                found.extend(operands(wrap, scan));
                found.extend(words_kept(found.get(before)));
                took_operands = found.len() > before;
            }
            WrapFrom::Option(names) => {
                let appends = wraps.iter().any(|other| other.from == WrapFrom::Operands);
                let fresh: Vec<&str> =
                    names.iter().map(String::as_str).filter(|name| !options.contains(name)).collect();
                took_operands |= option(wrap, &fresh, appends, scan, &mut found);
                options.extend(fresh);
            }
            WrapFrom::Setting(names, keys) => {
                for (value, span) in values(&scan.flags, names) {
                    if let Some(line) = setting(value, keys) {
                        found.push(shaped(wrap, scan, InnerText::Line(line, span), Vec::new()));
                    }
                }
            }
            WrapFrom::Until(words) => {
                for enclosed in scan.enclosed.iter().filter(|enclosed| words.contains(&enclosed.word)) {
                    if !taken.iter().any(|other| std::ptr::eq(*other, enclosed)) {
                        taken.push(enclosed);
                        found.extend(command(wrap, scan, enclosed.args));
                    }
                }
            }
            WrapFrom::After(word) => {
                for enclosed in scan.enclosed.iter().filter(|enclosed| enclosed.word == *word) {
                    if !taken.iter().any(|other| std::ptr::eq(*other, enclosed)) {
                        taken.push(enclosed);
                        found.extend(command(wrap, scan, enclosed.args));
                    }
                }
            }
        }
        if wrap.bare_shell && found.len() == before && !took_operands {
            found.push(shaped(wrap, scan, InnerText::BareShell, Vec::new()));
        }
    }
    // The program starts a shell only if it runs nothing else.
    if found.iter().any(|inner| inner.what != InnerText::BareShell) {
        found.retain(|inner| inner.what != InnerText::BareShell);
    }
    found.dedup_by(|one, other| one.what == InnerText::BareShell && other.what == InnerText::BareShell);
    found
}

/// Returns how many arguments only a command of the program receives. The operand that names this command does not
/// count, because it may also be the name of a package or a task.
pub(super) fn passed_on(scan: &ArgumentScan<'_>) -> PassedOn {
    let only_runs = |wrap: &&Wrap| wrap.remote.is_none() && wrap.adds == Added::Nothing && scan.is_on(wrap);
    let of = |wrap: &Wrap| match &wrap.from {
        WrapFrom::After(word) => {
            let enclosed = scan.enclosed.iter().find(|enclosed| enclosed.word == *word)?;
            Some(PassedOn { arguments: enclosed.args.len(), operands: 0 })
        }
        WrapFrom::Operands if !wrap.each => {
            let behind = scan.operands.get(scan.command_at(wrap) + 1..)?;
            // Otherwise options of the program are between them.
            let is_end = |first: &usize| first + behind.len() == scan.args.len();
            behind.first().filter(|first| is_end(first))?;
            Some(PassedOn { arguments: behind.len(), operands: behind.len() })
        }
        _ => None,
    };
    scan.wraps().filter(only_runs).find_map(of).unwrap_or_default()
}

fn operands(wrap: &Wrap, scan: &ArgumentScan<'_>) -> Option<InnerCommand> {
    let at = scan.command_at(wrap);
    let args: Vec<Arg> = scan.operands.iter().skip(at).filter_map(|index| scan.args.get(*index)).cloned().collect();
    let is_script = |arg: &Arg| {
        arg.value.known().is_some_and(|name| wrap.scripts.iter().any(|ending| name.ends_with(ending.as_str())))
    };
    if args.first().is_some_and(is_script) {
        return None;
    }
    let mut inner = command(wrap, scan, &args)?;
    if wrap.assignments {
        let before = scan.operands.iter().take(at).filter_map(|index| scan.args.get(*index));
        inner.env.extend(before.filter_map(|arg| assignment(&arg.value)));
    }
    Some(inner)
}

/// Returns a joined line with each word quoted, as the author of the words meant it.
fn words_kept(joined: Option<&InnerCommand>) -> Option<InnerCommand> {
    let joined = joined.filter(|inner| !inner.words.is_empty() && inner.adds == Added::Nothing)?;
    let line = quoted_line(&joined.words)?;
    let InnerText::Line(_, span) = &joined.what else { return None };
    Some(InnerCommand { what: InnerText::Line(line, *span), words: Vec::new(), ..joined.clone() })
}

/// Joins words into a line in which each is quoted; `None` if quoting makes no difference.
fn quoted_line(words: &[Arg]) -> Option<Value> {
    let has_blank =
        |arg: &Arg| arg.value.pieces().iter().filter_map(Piece::as_text).any(|text| text.contains([' ', '\n']));
    if words.len() < 2 || !words.iter().any(has_blank) {
        return None;
    }
    let mut line = Value::default();
    for word in words {
        append_quoted(&mut line, &word.value);
    }
    Some(line)
}

/// Returns the value of one of the keys in `KEY=value` or `KEY value`.
fn setting(value: &Value, keys: &[String]) -> Option<Value> {
    let leading = value.leading();
    let text = leading.trim_start();
    let (key, rest) = text.split_once(['=', ' ', '\t'])?;
    if !keys.iter().any(|known| known.eq_ignore_ascii_case(key)) {
        return None;
    }
    let rest = rest.trim_start_matches(['=', ' ', '\t']);
    let line = value.without_leading(leading.len() - rest.len());
    (!["", "none", "yes", "no"].iter().any(|word| line.is(word))).then_some(line)
}

/// Adds the commands in the values of options. Returns whether they include the operands.
fn option(wrap: &Wrap, names: &[&str], appends: bool, scan: &ArgumentScan<'_>, found: &mut Vec<InnerCommand>) -> bool {
    let rest: Vec<Arg> = scan.operands.iter().filter_map(|index| scan.args.get(*index)).cloned().collect();
    let mut used = false;
    for (value, span) in values(&scan.flags, names) {
        match wrap.inner {
            Inner::Argv => {
                let mut args = vec![Arg::word(value.clone(), span)];
                args.extend(rest.iter().cloned());
                found.extend(command(wrap, scan, &args));
                used = true;
            }
            // `env -S 'rm -rf' x`: the operands are appended as arguments.
            Inner::Line if appends => {
                let mut line = Value::join([value], "");
                for arg in &rest {
                    append_quoted(&mut line, &arg.value);
                }
                let span = rest.iter().fold(span, |all, arg| all.to(arg.span));
                found.push(shaped(wrap, scan, InnerText::Line(line, span), Vec::new()));
                used = true;
            }
            Inner::Line => {
                let positional = rest.iter().map(Arg::operand).collect();
                let line = Value::join([value], "");
                found.push(shaped(wrap, scan, InnerText::Line(line, span), positional));
            }
        }
    }
    // An option without a value (a shell's `-c`) makes the first operand the line.
    let bare = |name: &str| scan.flags.iter().any(|flag| flag.value.is_none() && same_flag(name, &flag.name));
    if !used
        && wrap.inner == Inner::Line
        && names.iter().any(|name| bare(name))
        && let Some((first, rest)) = rest.split_first()
    {
        let positional = rest.iter().map(Arg::operand).collect();
        let line = Value::join([&first.value], "");
        found.push(shaped(wrap, scan, InnerText::Line(line, first.span), positional));
        used = true;
    }
    used
}

/// Appends an argument to a line, quoted for a shell.
fn append_quoted(line: &mut Value, value: &Value) {
    line.push(Piece::Text(" ".into()));
    for piece in value.pieces() {
        line.push(match piece {
            Piece::Text(text) | Piece::Glob(text) => Piece::Text(quote(text)),
            unknown @ Piece::Unknown(_) => unknown.clone(),
        });
    }
}

/// Returns arguments as the inner command parses them.
fn anew(args: &[Arg]) -> Vec<Arg> {
    args.iter().map(Arg::anew).collect()
}

/// Creates a command of these arguments; `None` if there are none.
fn command(wrap: &Wrap, scan: &ArgumentScan<'_>, args: &[Arg]) -> Option<InnerCommand> {
    let span = args.iter().map(|arg| arg.span).reduce(Span::to)?;
    let what = match wrap.inner {
        Inner::Argv => InnerText::Argv(anew(args)),
        Inner::Line => InnerText::Line(Value::join(args.iter().map(|arg| &arg.value), " "), span),
    };
    let words = if wrap.inner == Inner::Line { args.to_vec() } else { Vec::new() };
    Some(InnerCommand { words, ..shaped(wrap, scan, what, Vec::new()) })
}

fn shaped(wrap: &Wrap, scan: &ArgumentScan<'_>, what: InnerText, positional: Vec<Operand>) -> InnerCommand {
    let replace = replace(wrap, scan, &what);
    InnerCommand {
        what,
        words: Vec::new(),
        positional,
        env: Vec::new(),
        root: wrap.root,
        remote: wrap.remote.map(|kind| remote(kind, wrap, scan)),
        adds: wrap.adds,
        replace,
    }
}

fn remote(kind: RemoteName, wrap: &Wrap, scan: &ArgumentScan<'_>) -> Remote {
    let host = wrap.host.and_then(|at| scan.operands.get(at as usize)).and_then(|index| scan.args.get(*index));
    Remote {
        kind: match kind {
            RemoteName::Ssh => RemoteKind::Ssh,
            RemoteName::Container => RemoteKind::Container,
            RemoteName::Cluster => RemoteKind::Cluster,
        },
        fresh: wrap.host.is_none(),
        name: host.and_then(|host| host.value.known()).map(|name| name.into_owned()),
    }
}

/// Returns the text that the wrapper's additions replace: that of an option, or `{}` if the command contains it.
fn replace(wrap: &Wrap, scan: &ArgumentScan<'_>, what: &InnerText) -> Option<String> {
    if wrap.adds == Added::Nothing {
        return None;
    }
    if let Some(flag) = scan.replacing()
        && wrap.adds == Added::Input
    {
        let named = flag.value.as_ref().and_then(Value::known).filter(|text| !text.is_empty());
        return Some(named.map_or_else(|| "{}".to_owned(), |text| text.into_owned()));
    }
    let braces = |value: &Value| value.pieces().iter().filter_map(Piece::as_text).any(|text| text.contains("{}"));
    let stands = match what {
        InnerText::Argv(args) => args.iter().any(|arg| braces(&arg.value)),
        InnerText::Line(line, _) => braces(line),
        InnerText::BareShell | InnerText::Somewhere(_) => false,
    };
    stands.then(|| "{}".to_owned())
}
