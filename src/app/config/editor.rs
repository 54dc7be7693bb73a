//! `guard config edit`: opens the account's own configuration file in a person's editor.
//!
//! The editor works on a copy. The loader checks the result, which is shown as a change and written if the person
//! accepts it. Out of scope: how a file is written ([`super::edit`]).

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitStatus;

use super::edit::{OwnConfig, TEMPLATE};
use crate::app::exit;
use crate::app::failure::Failure;
use crate::app::scratch::Scratch;
use crate::exec::tool::Tool;
use crate::prompt::confirm::confirm;

/// Opens the file in an editor. If there is none, begins with the content of `guard config init`.
///
/// # Errors
/// There is no terminal or no editor, the editor failed, or the file cannot be read or written.
pub fn edit() -> Result<u8, Failure> {
    let own = match OwnConfig::open(&["edit"])? {
        Ok(own) => own,
        Err(code) => return Ok(code),
    };
    let directory = Scratch::new("config")?;
    let copy = directory.path().join("config.toml");
    fs::write(&copy, own.old.as_deref().unwrap_or(TEMPLATE))?;
    loop {
        edited(&copy).map_err(|why| Failure::Message(format!("not changed: {why}")))?;
        let after = fs::read_to_string(&copy)?;
        if own.old.as_deref() == Some(after.as_str()) || (own.old.is_none() && after.trim().is_empty()) {
            writeln!(io::stdout(), "Not changed.")?;
            return Ok(exit::ALLOW);
        }
        let Err(why) = own.in_order(&after) else { return own.write(&after) };
        if !confirm(&format!("{why}\n"), "Edit it again? Otherwise nothing is changed.")? {
            writeln!(io::stderr(), "guard: not changed")?;
            return Ok(exit::REFUSED);
        }
    }
}

/// The reason why the editor left no result.
#[derive(Debug, thiserror::Error)]
enum EditorError {
    #[error("/bin/sh: {0}")]
    Shell(#[source] io::Error),
    #[error("editor {0} not found; set EDITOR to yours")]
    NotFound(String),
    #[error("{editor} failed ({status})")]
    Failed { editor: String, status: ExitStatus },
}

/// Runs the editor that the environment names on a file, and waits for it.
fn edited(file: &Path) -> Result<(), EditorError> {
    let editor = named(|name| std::env::var(name).ok());
    // Let a shell split the variable, which may contain options.
    let tool = Tool::line(format!("{editor} \"$@\""), &[editor.as_ref(), file.as_ref()]);
    let status = tool.and_then(Tool::status).map_err(EditorError::Shell)?;
    match status.code() {
        Some(0) => Ok(()),
        Some(127) => Err(EditorError::NotFound(editor)),
        _ => Err(EditorError::Failed { editor, status }),
    }
}

/// Returns `$VISUAL`, or else `$EDITOR`, or else `vi`.
fn named(variable: impl Fn(&str) -> Option<String>) -> String {
    let set = |name| variable(name).filter(|value| !value.trim().is_empty());
    set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned())
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn the_environment_names_the_editor() {
        for (visual, editor, meant) in [
            (Some("code --wait"), Some("ed"), "code --wait"),
            (None, Some("ed"), "ed"),
            (Some(" "), Some("ed"), "ed"),
            (None, Some(""), "vi"),
            (None, None, "vi"),
        ] {
            let of = |name: &str| if name == "VISUAL" { visual } else { editor }.map(ToOwned::to_owned);
            assert_eq!(named(of), meant, "{visual:?} {editor:?}");
        }
    }
}
