//! Signs with a person's own SSH key by running `ssh-keygen`, which asks for the passphrase, and for the touch of a
//! hardware key. Verifying a signature needs no other program.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Stdio;

use crate::exec::tool::Tool;

/// The paths at which the program is searched. `PATH` is not used, because the environment must not choose the program
/// that signs.
const PLACES: [&str; 4] = [
    "/usr/bin/ssh-keygen",
    "/usr/local/bin/ssh-keygen",
    "/opt/homebrew/bin/ssh-keygen",
    "/run/current-system/sw/bin/ssh-keygen",
];

/// Signs a message. `key` is the file of the private key, or of a public key whose private key an SSH agent has.
///
/// # Errors
/// There is no `ssh-keygen`, or it did not sign and has printed the reason on standard error.
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
