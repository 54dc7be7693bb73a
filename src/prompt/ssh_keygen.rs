//! `ssh-keygen`, which signs with a person's own SSH key: it asks for the passphrase, and for the touch that a hardware
//! key wants. Checking a signature needs no other program.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where it is looked for. Not along `PATH`: what signs must not be chosen by the environment.
const PLACES: [&str; 4] = [
    "/usr/bin/ssh-keygen",
    "/usr/local/bin/ssh-keygen",
    "/opt/homebrew/bin/ssh-keygen",
    "/run/current-system/sw/bin/ssh-keygen",
];

/// Signs a message. `key` is the private key, or a public one whose other half an agent has.
///
/// # Errors
/// There is no `ssh-keygen`, or it did not sign: it has said why on standard error.
pub fn sign(key: &Path, namespace: &str, message: &[u8]) -> io::Result<String> {
    let program = PLACES.iter().map(Path::new).find(|place| place.is_file());
    let program = program.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no ssh-keygen"))?;
    let mut child = Command::new(program)
        .args(["-Y", "sign", "-n", namespace, "-f"])
        .arg(key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(message)?;
    }
    let done = child.wait_with_output()?;
    if !done.status.success() {
        return Err(io::Error::other(format!("ssh-keygen did not sign ({})", done.status)));
    }
    String::from_utf8(done.stdout).map_err(io::Error::other)
}
