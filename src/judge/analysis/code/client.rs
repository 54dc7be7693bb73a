//! Commands to the clients of databases, which are no statements: `\! cmd`, `.shell cmd`, `pager cmd`, `.read file`.

use super::sql::copy;
use super::{Call, value};

/// `\! cmd`, `\copy`, `.shell cmd`, `system cmd`, `.import`, `.output |cmd`
pub(super) fn meta(line: &str) -> Option<Call> {
    const SHELL: [&str; 9] =
        ["\\!", ".shell ", ".system ", "system ", "!! ", "pager ", "\\P ", "\\setenv PAGER ", "\\setenv PSQL_EDITOR "];
    let shell = SHELL.iter().find_map(|mark| line.strip_prefix(mark));
    if let Some(command) = shell {
        let command = command.trim_end_matches(';').trim().trim_matches('\'');
        return Some(Call::new("shell".into(), vec![value(command)]));
    }
    if let Some(file) = line.strip_prefix("tee ").or_else(|| line.strip_prefix("\\T ")) {
        return Some(copy("--to=", file.trim()));
    }
    if let Some(file) = line.strip_prefix(".open ") {
        let file = file.split_whitespace().last().unwrap_or_default();
        return Some(Call::new("open".into(), vec![value(file.trim_matches(['"', '\'']))]));
    }
    // `\i file`, `.read file`, `source file`
    if let Some(file) = ["\\i ", "\\ir ", "\\. ", ".read ", "source "].iter().find_map(|mark| line.strip_prefix(mark))
        && !file.contains('|')
    {
        let file = file.trim().trim_end_matches(';').trim_matches(['"', '\'']);
        return Some(Call::new("include".into(), vec![value(file)]));
    }
    if let Some(file) = line.strip_prefix(".import ").filter(|rest| !rest.contains('|')) {
        let file = file.split_whitespace().find(|word| !word.starts_with("--")).unwrap_or_default();
        return Some(Call {
            facts: vec![value(&format!("--from={}", file.trim_matches(['"', '\''])))],
            ..Call::new("load".into(), Vec::new())
        });
    }
    let piped =
        [".output |", ".once |", "\\o |", "\\g |", "\\copy", "\\w |"].iter().find(|mark| line.starts_with(**mark));
    piped.map(|_| {
        let command = line.split_once('|').map_or("", |(_, command)| command);
        Call::new(if command.is_empty() { "copy".into() } else { "shell".into() }, vec![value(command.trim())])
    })
}
