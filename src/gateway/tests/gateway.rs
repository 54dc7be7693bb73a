//! Tests the gateway with the real guard: commands that are submitted over HTTP wait in the real queue, and a person's
//! answer reaches the guard that waits.

mod access;
mod answers;
mod browser;
mod callbacks;
mod channels;
mod clients;
mod completions;
mod doctor;
mod http;
mod killed;
mod listening;
mod lists;
mod live;
mod load;
mod logs;
mod mcp;
mod packages;
mod passkey;
mod person;
mod push;
mod random_input;
mod record;
mod reviewer;
mod slow;
mod streams;
mod system;
mod terminal;
mod test_gateway;
mod tls;
mod unit;
mod waiting;
