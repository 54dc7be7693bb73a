//! Tests the question to a person: only a clear approval counts as one.

#[path = "asking/ends.rs"]
mod ends;
#[path = "asking/keys.rs"]
mod keys;
#[path = "asking/places.rs"]
mod places;
#[path = "asking/screens.rs"]
mod screens;
#[path = "asking/stage.rs"]
mod stage;
#[path = "asking/time.rs"]
mod time;
