//! `guard serve`, `guard token`, `guard channel`: start the gateway, a separate program.
//!
//! Out of scope: anything that uses a network.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use thiserror::Error;

use crate::exec::tool::Tool;

/// The name of the program.
const PROGRAM: &str = "guard-gateway";

/// Directories in which a package may have installed it if it is not beside guard.
const PLACES: [&str; 3] = ["/usr/local/libexec", "/usr/libexec", "/usr/lib/guard"];

/// The verbs whose arguments the gateway parses.
pub const PASSED_ON: [&str; 2] = ["token", "channel"];

/// Arguments that the gateway parses.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Words {
    /// The command and its arguments; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    pub words: Vec<OsString>,
}

/// The reason why the gateway does not run.
#[derive(Debug, Error)]
pub enum GatewayError {
    #[error(
        "the gateway is not installed (searched {beside} and {}); install it with cargo install --path \
         src/gateway. For the record of a machine, guard serve --system",
        PLACES.join(", ")
    )]
    NotInstalled { beside: String },
    #[error("cannot start {}: {error}", program.display())]
    Start { program: PathBuf, error: std::io::Error },
}

/// Executes the gateway in place of this process. Its help uses the command name that the person typed.
///
/// # Errors
/// The gateway is not installed, or cannot be started.
pub fn run(verb: &str, words: &Words) -> Result<u8, GatewayError> {
    let program = find()?;
    let error = Tool::at(&program)
        .map_or_else(|error| error, |tool| tool.called("guard").arg(verb).args(&words.words).replace());
    Err(GatewayError::Start { program, error })
}

/// Returns the path of the gateway's program: beside this one, or where packages install it. Never searches `PATH`.
///
/// # Errors
/// It is not installed.
pub fn find() -> Result<PathBuf, GatewayError> {
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    let beside = own.ok().and_then(|own| own.parent().map(|directory| directory.join(PROGRAM)));
    let places = PLACES.iter().map(|directory| PathBuf::from(directory).join(PROGRAM));
    beside.iter().cloned().chain(places).find(|path| path.is_file()).ok_or_else(|| {
        let beside = beside.map_or_else(|| "guard".to_owned(), |path| path.display().to_string());
        GatewayError::NotInstalled { beside }
    })
}
