//! guard under a shell's name does what that shell does: the same output, the same exit code, the same descriptors; and
//! what it refuses does not run, wherever it stands.

#[path = "shells/alike.rs"]
mod alike;
#[path = "shells/held.rs"]
mod held;
#[path = "shells/machine.rs"]
mod machine;
#[path = "shells/programs.rs"]
mod programs;
#[path = "shells/snippets.rs"]
mod snippets;
