//! Tests the files of a command that runs for longer than guard assumes for a command without a reported end.

use super::{Fixture, later};
use crate::harness::tools;

/// A sleep that is longer than a command without a reported end is assumed to run.
const SLOW: &str = "sleep 2.2; ";

#[test]
fn a_directory_of_a_slow_command_is_its_own_until_somebody_puts_something_there() {
    let fixture = Fixture::new();
    fixture.does("s", &format!("{SLOW}mkdir gen && echo 1 > gen/x"));
    assert!(fixture.runs("s", "rm -rf gen"));
    assert!(!fixture.runs("t", "rm -rf gen"));
    fixture.does("s", &format!("{SLOW}mkdir out && echo 1 > out/x"));
    later();
    fixture.write("out/notes.txt", "a person's\n");
    assert!(!fixture.runs("s", "rm -rf out"));
    assert!(fixture.runs("s", "rm -rf gen"));
}

#[test]
fn a_directory_that_appears_after_the_next_call_is_nobodys() {
    let fixture = Fixture::new();
    assert!(fixture.runs("s", "false && mkdir gen && echo 1 > gen/x"));
    later();
    assert!(fixture.runs("s", "echo 1 > other.txt"));
    later();
    fixture.write("gen/x", "a person's\n");
    assert!(!fixture.runs("s", "rm -rf gen"));
}

#[test]
fn a_script_that_takes_its_time_makes_what_it_names() {
    let fixture = Fixture::new();
    fixture.does("s", &format!("printf '{SLOW}mkdir -p out\necho 1 > out/a\n' > g.sh"));
    fixture.does("s", "bash g.sh");
    assert!(fixture.runs("s", "rm -rf out"));
}

#[test]
fn the_output_of_a_slow_program_is_its_own_and_a_quick_commands_file_is_a_persons_once_it_changes() {
    if !tools::is_installed("python3") {
        return;
    }
    let fixture = Fixture::new();
    fixture.does("s", "python3 -c 'import time; time.sleep(2.2); print(1)' > run.log");
    assert!(fixture.runs("s", "rm run.log"));
    fixture.does("s", "echo 1 > a.txt");
    later();
    fixture.write("a.txt", "a person's\n");
    fixture.write("b.txt", "a person's\n");
    assert!(!fixture.runs("s", "rm a.txt"));
    fixture.really("mv b.txt a.txt");
    assert!(!fixture.runs("s", "rm a.txt"));
}
