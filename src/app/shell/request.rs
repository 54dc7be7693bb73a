//! Turns a shell's call into a request, in which the real shell replaces guard.

use std::os::unix::ffi::OsStringExt;

use super::{CommandSource, ShellCall};
use crate::judge::invocation::{Line, Request};
use crate::world::shell::Shell;

/// Returns the request for the real shell.
///
/// A command string is a line. A script is judged by its content and run by its path, so that `$0` and `BASH_SOURCE`
/// are right.
#[must_use]
pub fn request(shell: &Shell, call: ShellCall) -> Request {
    let ShellCall { options, reads, positional, .. } = call;
    let script = match reads {
        CommandSource::Text(text) => {
            let (text, dialect, shell) = (text.into_vec(), shell.dialect, shell.path.clone());
            return Request::Line(Line {
                text,
                dialect,
                shell,
                options,
                positional,
                before: Vec::new(),
                envelope: None,
            });
        }
        CommandSource::Script(script) => Some(script),
        CommandSource::Stdin | CommandSource::Nothing => None,
    };
    let program = shell.path.clone().into_os_string();
    Request::Argv([program].into_iter().chain(options).chain(script).chain(positional).collect())
}
