//! Words for which the judge searches and that do not belong to one program or rule: one constant for each list in
//! `patterns/words/shared.toml` and `patterns/languages/words.toml`, from which guard is built.
//!
//! Out of scope: words in Rust code.

use crate::judge::rules::model::Language;

include!(concat!(env!("OUT_DIR"), "/word_lists.rs"));
