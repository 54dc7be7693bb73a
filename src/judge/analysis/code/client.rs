//! Commands of database clients that are not statements: `\! cmd`, `.shell cmd`, `pager cmd`, `.read file`.

use super::sql::{copy, fact_of};
use super::{Call, Slice, value};
#[cfg(test)]
use crate::judge::analysis::act::Value;
use crate::judge::rules::word_lists;

/// Returns the full name of the command of `sqlite3` in a line, and its arguments.
fn dotted(line: &str) -> Option<(&'static str, &str)> {
    let rest = line.strip_prefix('.')?;
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let command = word_lists::SQLITE_COMMANDS.iter().find(|command| word.len() > 1 && command.starts_with(word))?;
    Some((command, rest.trim()))
}

/// Parses `.output FILE`, `.backup FILE`, `.restore FILE` and similar commands.
fn of_file(line: Slice<'_>) -> Option<Call> {
    let (command, rest) = dotted(line.rough())?;
    let file = rest.split_whitespace().rfind(|word| !word.starts_with('-')).unwrap_or_default();
    let file = file.trim_matches(['"', '\'']);
    let named = line.part(file);
    let is_file = !file.is_empty() && !file.starts_with('|') && !matches!(file, "stdout" | "stderr" | "off" | "on");
    match command {
        "backup" | "clone" | "log" | "once" | "output" | "save" => is_file.then(|| copy("--to=", named)),
        "restore" => {
            let facts = vec![fact_of("--from=", named)];
            is_file.then(|| Call { facts, ..Call::new("restore".into(), vec![value(named)]) })
        }
        _ => None,
    }
}

/// What begins a command that reads statements from a file: `\i file`, `.read file`, `source file`.
const INCLUDES: [&str; 5] = ["\\i ", "\\ir ", "\\. ", ".read ", "source "];

/// Reports whether a line begins with a command that reads statements from a file.
pub(super) fn includes(line: &str) -> bool {
    INCLUDES.iter().any(|mark| line.starts_with(mark))
}

/// Returns the command behind one of the words that begin a shell command where no statement continues: `host cmd`.
pub(super) fn shell_words(line: &str) -> Option<&str> {
    let (word, command) = line.split_once(char::is_whitespace)?;
    let is_known = word_lists::CLIENT_SHELL_WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
    Some(command.trim().trim_end_matches(';')).filter(|command| is_known && !command.is_empty())
}

/// Parses `\! cmd`, `\copy`, `.shell cmd`, `system cmd`, `.import`, `.output |cmd`.
pub(super) fn meta(text: Slice<'_>) -> Option<Call> {
    let (line, at) = (text.rough(), |cut| text.part(cut));
    // `.import "|cmd" t`, `.output |cmd`, and `.sh cmd` for `.shell cmd`
    let dot = dotted(line);
    let piped = dot.and_then(|(_, rest)| rest.trim_start_matches(['"', '\'']).strip_prefix('|'));
    let run = dot.filter(|(command, _)| matches!(*command, "shell" | "system")).map(|(_, rest)| rest);
    let shell = word_lists::CLIENT_SHELL_COMMANDS.iter().find_map(|mark| line.strip_prefix(mark)).or(run).or(piped);
    if let Some(command) = shell {
        let command = command.trim_end_matches(';').trim().trim_matches('\'');
        return Some(Call::new("shell".into(), vec![value(at(command))]));
    }
    if let Some(call) = of_file(text) {
        return Some(call);
    }
    // `tee FILE` of mysql, `\o FILE` and `\w FILE` of psql
    const OUTPUTS: [&str; 6] = ["tee ", "\\T ", "\\o ", "\\out ", "\\w ", "\\write "];
    if let Some(file) = OUTPUTS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
        && !file.starts_with('|')
    {
        return Some(copy("--to=", at(file)));
    }
    if let Some(file) = line.strip_prefix(".open ") {
        let file = file.split_whitespace().last().unwrap_or_default();
        return Some(Call::new("open".into(), vec![value(at(file.trim_matches(['"', '\''])))]));
    }
    if let Some(file) = INCLUDES.iter().find_map(|mark| line.strip_prefix(mark)).filter(|file| !file.contains('|')) {
        let file = file.split(';').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        return Some(Call::new("include".into(), vec![value(at(file))]));
    }
    if let Some(file) = line.strip_prefix(".import ").filter(|rest| !rest.contains('|')) {
        let file = file.split_whitespace().find(|word| !word.starts_with("--")).unwrap_or_default();
        return Some(Call {
            facts: vec![fact_of("--from=", at(file.trim_matches(['"', '\''])))],
            ..Call::new("load".into(), Vec::new())
        });
    }
    let piped =
        [".output |", ".once |", "\\o |", "\\g |", "\\copy", "\\w |"].iter().find(|mark| line.starts_with(**mark));
    piped.map(|_| {
        let command = line.split_once('|').map_or("", |(_, command)| command);
        Call::new(if command.is_empty() { "copy".into() } else { "shell".into() }, vec![value(at(command.trim()))])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<(String, Vec<String>)> {
        let call = meta(line.into())?;
        let texts = |values: &[Value]| values.iter().map(|value| value.rough().into_owned()).collect::<Vec<_>>();
        Some((call.callee.clone(), [texts(&call.args), texts(&call.facts)].concat()))
    }

    fn is(line: &str, callee: &str, words: &[&str]) {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(read(line), Some((callee.to_owned(), words)), "{line}");
    }

    #[test]
    fn what_is_written_and_read_is_said() {
        is(".output a.txt", "copy", &["--to=a.txt"]);
        is(".ou a.txt", "copy", &["--to=a.txt"]);
        is(".once --bom 'a.txt'", "copy", &["--to=a.txt"]);
        is(".backup main a.db", "copy", &["--to=a.db"]);
        is(".save a.db", "copy", &["--to=a.db"]);
        is(".restore a.db", "restore", &["a.db", "--from=a.db"]);
        is("\\o a.txt", "copy", &["--to=a.txt"]);
        is("\\w a.sql", "copy", &["--to=a.sql"]);
    }

    #[test]
    fn what_is_run_is_said() {
        is(".shell rm x", "shell", &["rm x"]);
        is(".sy rm x", "shell", &["rm x"]);
        is(".import |cat t", "shell", &["cat t"]);
        is(".output |cat", "shell", &["cat"]);
        is("\\o |cat", "shell", &["cat"]);
    }

    #[test]
    fn what_touches_no_file_is_nothing() {
        for line in [".output", ".output stdout", ".log off", ".tables", ".schema t", ".o", ".show", ".s x"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
