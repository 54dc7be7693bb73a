//! `ssh-keygen`, which signs with a person's own SSH key: it asks for the passphrase, and for the touch that a hardware
//! key wants. Checking a signature needs no other program.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;

use crate::exec::tool::Tool;

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
pub(super) fn sign(key: &Path, namespace: &str, message: &[u8]) -> io::Result<String> {
    let tool = Tool::at_one_of(&PLACES);
    let tool = tool.map_err(|_| io::Error::new(io::ErrorKind::NotFound, "ssh-keygen is not installed"))?;
    let tool = tool.without_loader_env().args(["-Y", "sign", "-n", namespace, "-f"]).arg(key);
    let mut child = tool.stdin(Stdio::piped()).stdout(Stdio::piped()).start()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(message)?;
    }
    let done = child.wait_with_output()?;
    if !done.status.success() {
        return Err(io::Error::other(format!("ssh-keygen failed to sign ({})", done.status)));
    }
    String::from_utf8(done.stdout).map_err(io::Error::other)
}
