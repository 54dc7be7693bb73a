//! `guard-gateway` carries what waits in guard's queue to a person anywhere, and the person's answer back: an API, a page,
//! messengers.
//!
//! What is true is in the queue and the record ([`backend`]); the gateway holds nothing without which an answer would be lost.
//! Judging is guard's own: a command that comes in over the API is handed to `guard submit` ([`submission`]). The modules:
//! [`api`] speaks HTTP, [`channel`] speaks to messengers, [`routing`] says who is asked where, [`reviewer`] is for models,
//! [`mcp`] for MCP servers behind HTTP; [`stand_in`] plays a model for `guard doctor --live`. Out of scope: deciding
//! whether a command may run.

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
