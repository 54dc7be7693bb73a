//! `guard --version --json`: which program this is, how it was built, and what it has built in.
//!
//! Out of scope: what holds for one caller. That is `guard status`.

use serde_json::json;

use super::init::Interactive;
use super::install::hosts::HOSTS;
use crate::judge::rules::catalog::Catalog;

/// One JSON object on a line.
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
            // What was built, where whoever built it says so.
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
