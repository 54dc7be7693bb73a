//! `guard-gateway` forwards the requests of guard's queue to people elsewhere, and their answers back, through an API,
//! a page and messengers.
//!
//! The state is in the queue and the record ([`backend`]); the gateway keeps nothing without which an answer would be
//! lost. guard itself judges commands: a command submitted over the API is passed to `guard submit` ([`submission`]).
//! The modules: [`api`] serves HTTP, [`channel`] contains the messengers, [`routing`] sends requests to channels,
//! [`reviewer`] queries models, [`mcp`] forwards MCP over HTTP; [`stand_in`] acts as a model for `guard doctor --live`.
//! Out of scope: deciding whether a command may run.

pub mod account;
pub mod address;
pub mod answer;
pub mod api;
pub mod backend;
pub mod blocked_ports;
pub mod callback;
pub mod card_closing;
pub mod channel;
pub mod check;
pub mod client;
pub mod clock;
pub mod config;
pub mod connected_channels;
pub mod connections;
pub mod describe;
pub mod escalation;
pub mod interactions;
pub mod keyring;
pub mod logging;
pub mod mcp;
pub mod pairing;
pub mod person;
pub mod push;
pub mod queue_watch;
pub mod reasons_view;
pub mod request_feed;
pub mod request_names;
pub mod reviewer;
pub mod route;
pub mod routing;
pub mod secrets;
pub mod serve;
pub mod stand_in;
pub mod submission;
pub mod test_cards;
pub mod tls;
pub mod token;

pub use guard_judge::judge;
pub use guard_service::service;
pub use guard_store::store;
