//! What PowerShell and cmd have in common: Windows paths, variables of the environment, commands of other programs.
//!
//! A path on a drive becomes what WSL shows it as (`C:\Users` is `/mnt/c/Users`), so that places have one name.

use super::{Call, HOLE};
use crate::judge::analysis::act::{Piece, Value};
use crate::judge::invocation::quote;

/// How deep code may stand in code.
pub const MAX_DEPTH: usize = 8;

/// What a variable of the Windows environment is known to be, or a hole.
pub(super) fn variable(name: &str) -> String {
    let hole = HOLE;
    match name.to_ascii_uppercase().as_str() {
        "USERPROFILE" => format!("/mnt/c/Users/{hole}"),
        "HOMEPATH" => format!("/Users/{hole}"),
        "HOMEDRIVE" | "SYSTEMDRIVE" => "C:".to_owned(),
        "SYSTEMROOT" | "WINDIR" => "/mnt/c/Windows".to_owned(),
        "PROGRAMFILES" => "/mnt/c/Program Files".to_owned(),
        "PROGRAMDATA" | "ALLUSERSPROFILE" => "/mnt/c/ProgramData".to_owned(),
        "APPDATA" => format!("/mnt/c/Users/{hole}/AppData/Roaming"),
        "LOCALAPPDATA" => format!("/mnt/c/Users/{hole}/AppData/Local"),
        "TEMP" | "TMP" => "/tmp/windows".to_owned(),
        "COMSPEC" => "cmd.exe".to_owned(),
        _ => hole.to_string(),
    }
}

/// A path as WSL shows it; any other text as it is.
pub(super) fn path(text: &str) -> String {
    let mut chars = text.chars();
    let (drive, colon) = (chars.next(), chars.next());
    let rest = chars.as_str();
    if let Some(drive) = drive.filter(char::is_ascii_alphabetic)
        && colon == Some(':')
        && rest.starts_with(['\\', '/'])
    {
        return format!("/mnt/{}{}", drive.to_ascii_lowercase(), rest.replace('\\', "/"));
    }
    let looks = text.starts_with(".\\")
        || text.starts_with("..\\")
        || text.starts_with("~\\")
        || text.starts_with("/mnt/")
        || text.starts_with("/Users/")
        || text.starts_with("/tmp/windows")
        || (text.starts_with('\\') && !text.starts_with("\\\\"));
    if looks { text.replace('\\', "/") } else { text.to_owned() }
}

/// An argument: a path in one spelling, with its wildcards live and its holes unknown.
pub(super) fn argument(text: &str, home: &str) -> Value {
    let mut text = path(text);
    if text == "~" || text.starts_with("~/") {
        text.replace_range(..1, home);
    }
    let mut argument = Value::default();
    for piece in super::value(&text).into_pieces() {
        let Piece::Text(text) = piece else {
            argument.push(piece);
            continue;
        };
        for part in text.split_inclusive(['*', '?']) {
            let known = part.trim_end_matches(['*', '?']);
            if !known.is_empty() {
                argument.push(Piece::Text(known.to_owned()));
            }
            if known.len() < part.len() {
                argument.push(Piece::Glob(part.get(known.len()..).unwrap_or_default().to_owned()));
            }
        }
    }
    if argument.pieces().is_empty() {
        argument.push(Piece::Text(String::new()));
    }
    argument
}

/// A program that is no command of the language: a line for a shell to read.
pub(super) fn run<'a>(words: impl IntoIterator<Item = &'a str>) -> Call {
    let mut line = String::new();
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        let word = path(word);
        // What is not known stays outside of the quotes.
        for (part, text) in word.split(HOLE).enumerate() {
            if part > 0 {
                line.push_str(HOLE);
            }
            if !text.is_empty() || word.is_empty() {
                line.push_str(&quote(text));
            }
        }
    }
    Call::new("run".to_owned(), vec![super::value(&line)])
}

/// Text of UTF-16 in little endian, as `-EncodedCommand` holds it.
pub fn utf16(bytes: &[u8]) -> Option<String> {
    let units: Vec<u16> =
        bytes.chunks_exact(2).filter_map(|pair| Some(u16::from_le_bytes(pair.try_into().ok()?))).collect();
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_what_wsl_mounts() {
        assert_eq!(path(r"C:\Users\dev"), "/mnt/c/Users/dev");
        assert_eq!(path("d:/x"), "/mnt/d/x");
        assert_eq!(path(r".\build\x"), "./build/x");
        assert_eq!(path(r"HKLM\Software"), r"HKLM\Software");
        assert_eq!(path("D:"), "D:");
    }

    #[test]
    fn wildcards_stay_live() {
        let value = argument(r"C:\Users\dev\*", "/home/dev");
        assert_eq!(value.pieces(), [Piece::Text("/mnt/c/Users/dev/".into()), Piece::Glob("*".into())]);
    }
}
