//! `guard` assesses commands before they run: it determines what a command would do, decides whether it may run, asks a
//! person if necessary, executes exactly what was approved, and records the result.
//!
//! Each module imports only from those before it: [`judge`] and [`ui`] are pure; `world`, [`config`], [`store`],
//! `prompt`, `collector`, `exec` and `service` have effects and do not import one another, except that `service` uses
//! types of the store; `app` coordinates them. Judge, ui, config, store and service are packages of their own, which
//! the gateway uses too, and so is `guard_system`, which alone distinguishes Linux and macOS.

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
