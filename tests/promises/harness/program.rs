//! Creates programs for tests. A child process writes them: while this process has a file open for writing, a child
//! that another test forks at that moment has it open too, and the file cannot be executed until that child closes it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes an executable file.
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
