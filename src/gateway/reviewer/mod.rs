//! The reviewer: a model's opinion of what waits. It asks through [`crate::channel::http::client`], the gateway's one HTTP
//! client.
//!
//! What may not enter: letting anything run. What a model says is written down as advice by guard itself.
