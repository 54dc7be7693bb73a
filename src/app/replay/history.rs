//! Reads commands from a file: the history of bash, zsh or fish, or one command per line.
//!
//! The format is detected from the lines: bash writes `#1700000000` before a command, zsh begins a line with `:
//! 1700000000:0;`, and fish with `- cmd: `.

use std::io::{self, Read};
use std::path::Path;

use jiff::Timestamp;

use super::{CallSink, PastCall, lines};
use crate::app::hook::call::ToolAction;

/// The longest file that is read, in bytes.
const MAX_FILE: u64 = 256 << 20;

/// Reads a file; `-` is standard input.
///
/// # Errors
/// The file cannot be read, or is too long.
pub fn read(path: &Path, sink: &mut dyn CallSink) -> io::Result<()> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    } else {
        lines::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other(format!("longer than {} MiB", MAX_FILE >> 20)));
    }
    for (at, command) in commands(&bytes) {
        sink.add(PastCall { action: ToolAction::Line(command), cwd: None, at, by: "history" });
    }
    Ok(())
}

/// Returns the commands and, if known, the times when they were run.
fn commands(bytes: &[u8]) -> Vec<(Option<Timestamp>, String)> {
    let rows: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let some = |test: &dyn Fn(&[u8]) -> bool| rows.iter().any(|row| test(row));
    if some(&|row| row.starts_with(b"- cmd: ")) {
        fish(&rows)
    } else if some(&|row| zsh_entry(row).is_some()) {
        zsh(&rows)
    } else if some(&|row| bash_time(row).is_some()) {
        bash(&rows)
    } else {
        let rows = rows.iter().map(|row| text(row)).filter(|row| !row.trim().is_empty());
        rows.map(|row| (None, row)).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes)).into_owned()
}

fn timestamp(text: &str) -> Option<Timestamp> {
    Timestamp::from_second(text.trim().parse().ok()?).ok()
}

/// Parses a line with the time of the next command: `#` and at least nine digits.
fn bash_time(row: &[u8]) -> Option<Timestamp> {
    let digits = std::str::from_utf8(row.strip_prefix(b"#")?).ok()?.trim_end();
    (digits.len() >= 9 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| timestamp(digits)).flatten()
}

/// Parses a bash history. With times, all lines up to the next time are one command.
fn bash(rows: &[&[u8]]) -> Vec<(Option<Timestamp>, String)> {
    let mut all: Vec<(Option<Timestamp>, String)> = Vec::new();
    let mut open = false;
    for row in rows {
        if let Some(at) = bash_time(row) {
            all.push((Some(at), String::new()));
            open = true;
        } else if let (true, Some((_, command))) = (open, all.last_mut()) {
            if !command.is_empty() {
                command.push('\n');
            }
            command.push_str(&text(row));
        } else {
            // A command from before bash stored times.
            all.push((None, text(row)));
        }
    }
    all.retain(|(_, command)| !command.trim().is_empty());
    all
}

/// Parses the first line of a zsh entry: `: 1700000000:0;command`.
fn zsh_entry(row: &[u8]) -> Option<(Option<Timestamp>, &[u8])> {
    let rest = row.strip_prefix(b": ")?;
    let end = rest.iter().position(|byte| *byte == b';')?;
    let (times, command) = rest.split_at_checked(end)?;
    let (began, took) = std::str::from_utf8(times).ok()?.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(began.trim()) && digits(took)).then(|| (timestamp(began), command.get(1..).unwrap_or_default()))
}

/// Parses a zsh history. A line that ends with a backslash continues on the next one. zsh encodes some bytes as 0x83
/// followed by the byte XOR 32.
fn zsh(rows: &[&[u8]]) -> Vec<(Option<Timestamp>, String)> {
    let mut all: Vec<(Option<Timestamp>, Vec<u8>)> = Vec::new();
    let mut goes_on = false;
    for row in rows {
        let (at, row) = match zsh_entry(row) {
            Some(entry) if !goes_on => entry,
            _ => (None, *row),
        };
        let (part, more) = match row.strip_suffix(b"\\") {
            Some(part) => (part, true),
            None => (row, false),
        };
        match all.last_mut() {
            Some((_, command)) if goes_on => {
                command.push(b'\n');
                command.extend_from_slice(part);
            }
            _ => all.push((at, part.to_vec())),
        }
        goes_on = more;
    }
    let plain = all.into_iter().map(|(at, command)| (at, text(&unmeta(&command))));
    plain.filter(|(_, command)| !command.trim().is_empty()).collect()
}

fn unmeta(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut turned = false;
    for byte in bytes {
        match byte {
            _ if turned => {
                plain.push(byte ^ 32);
                turned = false;
            }
            0x83 => turned = true,
            _ => plain.push(*byte),
        }
    }
    plain
}

/// Parses a fish history: `- cmd: command`, in which `\n` and `\\` are escapes, followed by `when: 1700000000`.
fn fish(rows: &[&[u8]]) -> Vec<(Option<Timestamp>, String)> {
    let mut all: Vec<(Option<Timestamp>, String)> = Vec::new();
    for row in rows {
        let row = text(row);
        if let Some(command) = row.strip_prefix("- cmd: ") {
            let mut plain = String::new();
            let mut letters = command.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => match letters.next() {
                        Some('n') => plain.push('\n'),
                        Some('\\') | None => plain.push('\\'),
                        Some(other) => plain.extend(['\\', other]),
                    },
                    letter => plain.push(letter),
                }
            }
            all.push((None, plain));
        } else if let (Some(when), Some((at, _))) = (row.trim_start().strip_prefix("when: "), all.last_mut()) {
            *at = timestamp(when);
        }
    }
    all.retain(|(_, command)| !command.trim().is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<(Option<i64>, String)> {
        commands(bytes).into_iter().map(|(at, command)| (at.map(Timestamp::as_second), command)).collect()
    }

    fn of(rows: &[(Option<i64>, &str)]) -> Vec<(Option<i64>, String)> {
        rows.iter().map(|(at, command)| (*at, (*command).to_owned())).collect()
    }

    #[test]
    fn a_plain_list_has_a_command_a_line() {
        assert_eq!(
            read(b"ls\n\n  # no command\r\nmake\n"),
            of(&[(None, "ls"), (None, "  # no command"), (None, "make")])
        );
        assert!(read(b"").is_empty());
    }

    #[test]
    fn bash_tells_times_and_then_commands_may_have_lines() {
        let found = read(b"old\n#1700000000\nls\n#1700000001\nfor x in a; do\n  echo $x\ndone\n#12\n");
        let loop_text = "for x in a; do\n  echo $x\ndone\n#12";
        let wanted = of(&[(None, "old"), (Some(1_700_000_000), "ls"), (Some(1_700_000_001), loop_text)]);
        assert_eq!(found.iter().map(|(at, text)| (*at, text.trim_end().to_owned())).collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn zsh_goes_on_after_a_backslash_and_turns_bytes() {
        let found = read(b": 1700000000:0;ls\n: 1700000002:5;echo a\\\necho b\necho \xc3\x83\x89\n");
        assert_eq!(
            found,
            of(&[(Some(1_700_000_000), "ls"), (Some(1_700_000_002), "echo a\necho b"), (None, "echo é")])
        );
    }

    #[test]
    fn fish_writes_line_ends_as_letters() {
        let found = read(b"- cmd: echo a\\nb \\\\x\n  when: 1700000000\n  paths:\n    - a\n- cmd: ls\n");
        assert_eq!(found, of(&[(Some(1_700_000_000), "echo a\nb \\x"), (None, "ls")]));
    }
}
