//! The server's process: what it is called, and how it ends.

use std::ffi::OsString;
use std::io::{self, BufRead};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::McpArgs;

/// How long a server may take to end when its client has gone.
const TO_END: Duration = Duration::from_secs(5);

/// The command of a server in one line: its name where it is given none.
pub(super) fn line(words: &[OsString]) -> String {
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

/// The names that the server may be known by: the one that is given, and the words of its command that are no options.
pub(super) fn names(args: &McpArgs) -> Vec<String> {
    let words = args.server.iter().map(|word| word.to_string_lossy().into_owned());
    let plain = words.filter(|word| !word.starts_with('-') && word.len() <= 128);
    let base = |word: String| word.rsplit('/').next().map_or_else(|| word.clone(), str::to_owned);
    // The first is what runs it (npx, uvx, python), and what stands behind the package is its own arguments.
    args.name.iter().cloned().chain(plain.take(3).flat_map(|word| [word.clone(), base(word)])).collect()
}

/// Waits for a server whose output has ended.
pub(super) fn end(child: &mut Child) -> io::Result<u8> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        if begun.elapsed() >= TO_END {
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Throws away the rest of a line.
pub(super) fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        from.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}
