//! Converts a call in code to an invocation: selects and orders the arguments that are words of the program.
//!
//! Out of scope: walking code, and the effects of a call.

use super::super::act::{Piece, Taint, UnknownReason, Value};
use super::super::code;
use super::super::expand::Field;
use super::super::state::unknown;
use crate::judge::rules::languages::last_part;
use crate::judge::rules::model::Language;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Reports whether a value has an unknown part other than a found file, a temporary name or the text of a file.
pub(in crate::judge::analysis) fn is_worked_out(value: &Value) -> bool {
    value.pieces().iter().any(|piece| match piece {
        Piece::Unknown(unknown) => {
            let why = &unknown.why;
            !matches!(why, UnknownReason::Found(Some(_)) | UnknownReason::Temporary { .. } | UnknownReason::FileText(_))
        }
        Piece::Text(_) | Piece::Glob(_) => false,
    })
}

/// Removes arguments with unknown parts that do not determine what a call runs or deletes: named arguments, and, in
/// JavaScript or after a command line, the positional arguments at the end, such as settings and callbacks. The
/// directory (`chdir`) is kept.
pub(in crate::judge::analysis) fn leave_out_settings(language: Language, call: &mut code::Call, chdir: &[String]) {
    let moves = |arg: &Value| chdir.iter().any(|option| arg.leading().strip_prefix(&**option) == Some("="));
    call.args.retain(|arg| !(arg.is_option() && is_worked_out(arg)) || moves(arg));
    let is_line = word_lists::COMMAND_CALLS.contains(&last_part(&call.callee));
    if language != Language::Js && !is_line {
        return;
    }
    loop {
        let mut behind = call.args.iter().enumerate().skip(1);
        let last = behind.rfind(|(_, arg)| !arg.is_option()).filter(|(_, arg)| is_worked_out(arg));
        let Some((at, _)) = last else { return };
        call.args.remove(at);
    }
}

/// Removes arguments with unknown parts after the first positional one from a call that writes a file: the content.
pub(in crate::judge::analysis) fn leave_out_content(call: &mut code::Call) {
    let first = call.args.iter().position(|arg| !arg.is_option()).map_or(0, |at| at + 1);
    let behind = call.args.split_off(first);
    call.args.extend(behind.into_iter().filter(|arg| !is_worked_out(arg)));
}

/// Returns the input that a call passes to the program that it runs, if the call specifies one.
pub(super) fn fed(language: Language, call: &code::Call) -> Option<Value> {
    let written = call
        .args
        .iter()
        .filter(|arg| arg.is_option())
        .filter_map(Value::known)
        .find_map(|text| text.strip_prefix("--input=").filter(|text| !text.is_empty()).map(str::to_owned));
    let none = |text: &str| text.ends_with("DEVNULL") || matches!(text, "None" | "sys.stdin" | "0" | "");
    let piped =
        |text: &str| text.strip_prefix("--stdin=").is_some_and(|stdin| !none(stdin)) || text.starts_with("--input=");
    let last = last_part(&call.callee);
    // JavaScript can write to a process that it starts asynchronously.
    let inherits = |text: &str| text.contains("inherit") || text.contains("ignore");
    let beside = language == Language::Js
        && matches!(last, "spawn" | "exec" | "execFile")
        && !call.args.iter().filter_map(Value::known).any(|text| inherits(&text));
    let pipes = language == Language::Perl && call.callee == "pipe" || last.contains("popen") || beside;
    let handed = || unknown(UnknownReason::Other("what a program hands on"), Taint::default());
    match written {
        Some(text) => Some(Value::text(text)),
        None => {
            let mut settings = call.args.iter().filter(|arg| arg.is_option()).filter_map(Value::known);
            (pipes || settings.any(|text| piped(&text))).then(handed)
        }
    }
}

/// Converts a call's arguments to those of a program. The options come first: the facts from the parser, named
/// arguments (`recursive: true`, `shell=True`), and `--line` if the rest is one string for a shell or forms a whole
/// command. Positional arguments are operands even if they look like options.
pub(super) fn arguments(language: Language, call: code::Call, span: Span) -> Vec<Field> {
    let field = |value: Value| Field { operand: !value.is_option(), ..Field::word(value, span) };
    let said = call.facts.into_iter().map(Value::into_option);
    if language == Language::Sql {
        let mut words: Vec<Value> = said.collect();
        let said = words.iter().filter(|fact| !fact.leading().contains('=')).count();
        if said + call.args.len() == 1 {
            words.push(Value::text("--line").into_option());
        }
        return words.into_iter().chain(call.args).map(field).collect();
    }
    let is_named = |value: &Value| value.is_option() && value.known().is_some_and(|text| text.contains('='));
    let (mut options, mut rest): (Vec<Value>, Vec<Value>) = call.args.into_iter().partition(is_named);
    // Only the parser may add these facts.
    options.retain(|option| {
        let leading = option.leading();
        !["--line=", "--made=", "--opened=", "--scratch="].iter().any(|fact| leading.starts_with(fact))
    });
    // The arguments after a command line are settings of the call, not words of the command.
    let last = last_part(&call.callee);
    if matches!(language, Language::Js | Language::Php | Language::Python) && word_lists::COMMAND_CALLS.contains(&last)
    {
        rest.truncate(1);
    }
    // `os.spawnl(mode, path, name, …)`: the mode and the name for `argv[0]` are not arguments of the program.
    let replaces = last.len() > 4 && last.starts_with("exec") || last.contains("spawn");
    if replaces && (language == Language::Python && call.callee.starts_with("os."))
        || language == Language::Js && call.callee == "process.execve"
    {
        let skip = usize::from(last.starts_with("spawn")).min(rest.len());
        rest.drain(..skip);
        rest.drain(1.min(rest.len())..2.min(rest.len()));
    }
    let shell = options.iter().any(|option| {
        option.known().is_some_and(|text| matches!(&*text.to_ascii_lowercase(), "--shell=true" | "--shell=/bin/bash"))
    });
    // A single number is not a command line.
    let number = rest.first().and_then(Value::known).is_some_and(|text| text.parse::<i64>().is_ok());
    if shell || rest.len() == 1 && !number {
        options.push(Value::text("--line").into_option());
    }
    if rest.iter().any(is_everything) {
        options.push(Value::text("--recursive=true").into_option());
    }
    said.chain(options).chain(rest).map(field).collect()
}

/// Reports whether a value stands for every file that a search below a directory finds, whatever its name.
fn is_everything(value: &Value) -> bool {
    let Some((Piece::Unknown(first), rest)) = value.pieces().split_first() else { return false };
    let says = |piece: &Piece| match piece {
        Piece::Text(text) => text.chars().any(|c| c != '/'),
        Piece::Glob(glob) => glob != "*",
        Piece::Unknown(_) => false,
    };
    matches!(first.why, UnknownReason::Found(_)) && !rest.iter().any(says)
}
