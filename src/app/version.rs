//! `guard --version --json`: describes this program, its build, and what is built in.
//!
//! Out of scope: the state of a caller, which `guard status` shows.

use serde_json::json;

use super::init::Interactive;
use super::install::hosts::HOSTS;
use crate::judge::rules::catalog::Catalog;

/// Returns the description as one line with a JSON object.
#[must_use]
pub fn version_text() -> String {
    let object = json!({
        "name": "guard",
        "version": env!("CARGO_PKG_VERSION"),
        "build": {
            "target": env!("GUARD_TARGET"),
            "profile": env!("GUARD_PROFILE"),
            "linked": env!("GUARD_LINKED"),
            "rustc": env!("GUARD_RUSTC"),
            // The commit, if the build environment provides it.
            "commit": option_env!("GUARD_COMMIT"),
        },
        "features": {
            "rules": Catalog::builtin().all_rules().count(),
            "agents": HOSTS.iter().map(|host| host.name).collect::<Vec<_>>(),
            "shells": Interactive::ALL.map(|shell| shell.name()),
            "sqlite": rusqlite::version(),
        },
    });
    format!("{object}\n")
}
