//! Tests guard under a shell's name: it behaves as that shell, with the same output, exit code and descriptors, and a
//! refused command does not run anywhere in a line.

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
