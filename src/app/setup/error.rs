//! The errors of planning in `guard setup`.

use std::path::PathBuf;

use crate::app::config::edit::EditError;
use crate::app::install::file::FileError;
use crate::app::install::hosts::HOSTS;
use crate::app::install::places::PlacesError;

/// The reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("unknown agent {name}; known agents: {}", HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", "))]
    UnknownAgent { name: String },
    #[error("unsupported shell {0}; supported shells: bash, zsh, fish")]
    UnsupportedShell(String),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: FileError },
    #[error("{}: {error}", path.display())]
    Config { path: PathBuf, error: EditError },
    #[error(transparent)]
    Places(#[from] PlacesError),
}
