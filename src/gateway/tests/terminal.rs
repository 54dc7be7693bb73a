//! Runs guard on a terminal that `script` creates, with a simulated person.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::test_gateway::guard;

/// A guard process and its screen so far.
pub struct Terminal {
    child: Child,
    stdin: ChildStdin,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    /// Starts guard with this line of arguments. `script` is that program, in the home and the directory of the test.
    pub fn new(mut script: Command, line: &str) -> Self {
        script.args(["-qec", &format!("{} {line}", guard().display()), "/dev/null"]);
        script.env("TERM", "xterm").env("SHELL", "/bin/sh").env("LANG", "C.UTF-8");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let shared = screen.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(read @ 1..) = stdout.read(&mut part) {
                shared.lock().unwrap().push_str(&String::from_utf8_lossy(&part[..read]));
            }
        });
        Self { child, stdin, screen }
    }

    pub fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen().contains(text) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{text} never came: {}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Types a line, letter by letter, as the answer to a question that is already shown.
    pub fn answer(&mut self, line: &str) {
        // guard discards input from before the question, and treats input that arrives all at once as a paste.
        std::thread::sleep(Duration::from_millis(700));
        for letter in line.chars() {
            let (shown, typed) = (self.screen().len(), Instant::now());
            self.stdin.write_all(letter.to_string().as_bytes()).unwrap();
            // Two letters that are read at once are a paste too, so each letter is awaited on the screen, if it is
            // shown at all.
            while self.screen().len() == shown && typed.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.stdin.write_all(b"\r").unwrap();
    }

    /// Returns the exit code and the whole screen.
    pub fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        std::thread::sleep(Duration::from_millis(50));
        (code, self.screen())
    }
}
