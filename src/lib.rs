//! `guard` stands between a command and its execution. It works out what the command would do,
//! decides whether it may run, asks a person when it should, runs exactly what was approved, and
//! writes down what happened.
//!
//! The modules, each importing only from those before it: [`judge`] and [`ui`] are pure; `world`, [`config`], [`store`], `prompt`,
//! `collector`, `exec` and `service` have effects and never import one another, but for `service`, which names what the
//! store keeps; `app` knows the order of things. Judge, ui, config, store and service are packages of their own, which the
//! gateway shares, and so is `guard_system`, which alone tells Linux from macOS.

pub mod app;
pub mod cli;
pub mod collector;
pub mod exec;
pub mod prompt;
pub mod world;

pub use guard_config::config;
pub use guard_judge::judge;
pub use guard_service::service;
pub use guard_store::store;
pub use guard_ui::ui;
