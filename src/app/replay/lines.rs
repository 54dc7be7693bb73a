//! Reads lines of files that may be huge or damaged, one at a time and with a maximum length.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 16 << 20;

/// Opens a regular file for reading. Rejects anything else, because a pipe or a device could block.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// Passes each line to `take` without its line end, or `None` for a line that is too long and therefore skipped.
///
/// # Errors
/// Reading failed.
pub fn each(reader: impl Read, mut take: impl FnMut(Option<&[u8]>)) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    let mut line: Vec<u8> = Vec::new();
    let mut too_long = false;
    loop {
        let (used, ended) = {
            let buffer = match reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if buffer.is_empty() {
                break;
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
            if line.len() + part.len() > MAX_LINE {
                too_long = true;
                line = Vec::new();
            } else if !too_long {
                line.extend_from_slice(part);
            }
            (part.len() + usize::from(end.is_some()), end.is_some())
        };
        reader.consume(used);
        if ended {
            take(if too_long { None } else { Some(&line) });
            line.clear();
            too_long = false;
        }
    }
    if too_long || !line.is_empty() {
        take(if too_long { None } else { Some(&line) });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut found = Vec::new();
        each(bytes, |line| found.push(line.map(<[u8]>::to_vec))).unwrap();
        found
    }

    #[test]
    fn the_last_line_needs_no_end() {
        assert_eq!(all(b"a\n\nb"), [Some(b"a".to_vec()), Some(Vec::new()), Some(b"b".to_vec())]);
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over_and_the_next_is_read() {
        let mut bytes = vec![b'x'; MAX_LINE + 1];
        bytes.extend_from_slice(b"\nok\n");
        assert_eq!(all(&bytes), [None, Some(b"ok".to_vec())]);
    }
}
