//! From a shell's call to what is judged and run: the real shell takes guard's place in it.

use std::os::unix::ffi::OsStringExt;

use super::{CommandSource, ShellCall};
use crate::judge::invocation::{Line, Request};
use crate::world::shell::Shell;

/// What a call asks of the real shell.
///
/// A command string is a line. A script is judged by what it holds and run by its path, so that `$0` and `BASH_SOURCE`
/// are true.
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
