//! Programs that tests make. They are written by a child process: a file that this process has open for writing is, for a
//! moment, also open in whatever another test forks just then, and cannot be run as long.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a program.
pub fn write(path: &Path, text: &str) {
    let mut child = Command::new("/bin/sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{}", path.display());
}

/// Copies a program.
pub fn copy(from: &str, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success(), "{}", to.display());
}
