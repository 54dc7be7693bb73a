//! Words that the judge looks for and that belong to no single program or rule: one constant for each list in
//! `patterns/words/shared.toml` and `patterns/languages/words.toml`, which guard is built from.
//!
//! Out of scope: words that are written in Rust.

use crate::judge::rules::model::Language;

include!(concat!(env!("OUT_DIR"), "/word_lists.rs"));
