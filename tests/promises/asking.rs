//! A person is asked, and nothing but a clear yes is a yes.

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
