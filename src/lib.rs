//! `guard` stands between a command and its execution. It works out what the command would do,
//! decides whether it may run, asks a person when it should, runs exactly what was approved, and
//! writes down what happened.
//!
//! The floors, each importing only from below: [`judge`] and `ui` are pure; `world`, `config`,
//! `store`, `channel`, `collector` and `exec` have effects and never import one another; `app` knows the order of
//! `store`, `channel`, `exec` and `service` have effects and never import one another; `app` knows the order of
//! things.

pub mod app;
pub mod channel;
pub mod cli;
pub mod collector;
pub mod config;
pub mod exec;

pub mod service;
pub mod store;
pub mod ui;
pub mod world;

pub use guard_judge::judge;
