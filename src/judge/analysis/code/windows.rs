//! Common parts of PowerShell and cmd: Windows paths, variables of the environment, commands of other programs.
//!
//! A path on a drive is converted to that in WSL (`C:\Users` to `/mnt/c/Users`), so that each file has one path.

use super::{Call, Gap, Slice, Text, TextItem};
use crate::judge::analysis::act::{Piece, Value};
use crate::judge::invocation::quote;

/// Maximum nesting of code in code.
pub const MAX_DEPTH: usize = 8;

/// Returns the value of a variable of the Windows environment, or a gap.
pub(super) fn variable(name: &str) -> Text {
    let around = |before: &str, after: &str| {
        let mut text = Text::from(before);
        text.push_gap(Gap::Value);
        text.push_text(after);
        text
    };
    match name.to_ascii_uppercase().as_str() {
        "USERPROFILE" => around("/mnt/c/Users/", ""),
        "HOMEPATH" => around("/Users/", ""),
        "HOMEDRIVE" | "SYSTEMDRIVE" => "C:".into(),
        "SYSTEMROOT" | "WINDIR" => "/mnt/c/Windows".into(),
        "PROGRAMFILES" => "/mnt/c/Program Files".into(),
        "PROGRAMDATA" | "ALLUSERSPROFILE" => "/mnt/c/ProgramData".into(),
        "APPDATA" => around("/mnt/c/Users/", "/AppData/Roaming"),
        "LOCALAPPDATA" => around("/mnt/c/Users/", "/AppData/Local"),
        "TEMP" | "TMP" => "/tmp/windows".into(),
        "COMSPEC" => "cmd.exe".into(),
        _ => Gap::Value.into(),
    }
}

/// Converts a path to that in WSL; another text is unchanged.
pub(super) fn path<'t>(written: impl Into<Slice<'t>>) -> Text {
    let written = written.into();
    let text = written.rough();
    let slashes = |sign: TextItem| if sign == TextItem::Letter('\\') { TextItem::Letter('/') } else { sign };
    let mut chars = text.chars();
    let (drive, colon) = (chars.next(), chars.next());
    let rest = chars.as_str();
    if let Some(drive) = drive.filter(char::is_ascii_alphabetic)
        && colon == Some(':')
        && rest.starts_with(['\\', '/'])
    {
        let mut path = Text::from(format!("/mnt/{}", drive.to_ascii_lowercase()));
        path.extend(written.part(rest).signs().map(slashes));
        return path;
    }
    let looks = text.starts_with(".\\")
        || text.starts_with("..\\")
        || text.starts_with("~\\")
        || text.starts_with("/mnt/")
        || text.starts_with("/Users/")
        || text.starts_with("/tmp/windows")
        || (text.starts_with('\\') && !text.starts_with("\\\\"));
    if looks { written.signs().map(slashes).collect() } else { written.into() }
}

/// Converts an argument to a value: a path in one spelling, with globs and unknown parts.
pub(super) fn argument<'t>(text: impl Into<Slice<'t>>, home: &str) -> Value {
    let mut text = path(text);
    let below = |text: &Text| text.rough() == "~" || text.rough().starts_with("~/");
    if let Some(rest) = text.slice().find(|text| text.strip_prefix('~')).filter(|_| below(&text)) {
        text = Text::joined([home.into(), rest]);
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

/// Creates the call of another program, as a command string for a shell.
pub(super) fn run<'a>(words: impl IntoIterator<Item = Slice<'a>>) -> Call {
    let mut line = Text::default();
    for (index, word) in words.into_iter().enumerate() {
        if index > 0 {
            line.push(TextItem::Letter(' '));
        }
        let word = path(word);
        // Unknown parts are not quoted.
        let mut known = String::new();
        let end = |known: &mut String, line: &mut Text| {
            if !known.is_empty() {
                line.push_text(&quote(&std::mem::take(known)));
            }
        };
        for sign in word.slice().signs() {
            match sign {
                TextItem::Letter(letter) => known.push(letter),
                TextItem::Gap(gap) => {
                    end(&mut known, &mut line);
                    line.push_gap(gap);
                }
            }
        }
        end(&mut known, &mut line);
        if word.is_empty() {
            line.push_text(&quote(""));
        }
    }
    Call::new("run".to_owned(), vec![super::value(&line)])
}

/// Decodes UTF-16 in little endian, the encoding of `-EncodedCommand`.
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
