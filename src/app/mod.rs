//! One file per verb: the only floor that knows the order of things.

pub mod allow;
pub mod answer;
pub mod ask;
pub mod check;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod exit;
pub mod explain;
pub mod hook;
pub mod install;
pub mod log;
pub mod moment;
pub mod patterns;
pub mod pending;
pub mod queue;
pub mod replay;
pub mod review;
pub mod road;
pub mod run;
pub mod session;
pub mod settle;
pub mod shell;
pub mod verify;
pub mod wait;
