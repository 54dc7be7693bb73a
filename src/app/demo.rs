//! `guard demo`: the main job shown on real commands, in a scratch project that it makes and removes.
//!
//! Every command goes through this very binary, as a person would type it. None of them can harm
//! anything: what is deleted was made here, and what is refused is a script that prints a line.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::exit;
use crate::judge::invocation::quote;

/// A project rule, so that one command is refused outright.
const RULES: &str = r#"family = "demo"
about = "What this scratch project does not allow."

[[rule]]
id = "demo.deploy"
tier = 3
deny = true
reversibility = "hard"
reason = "This project is deployed by its pipeline, never by hand."
instead = "git push"
program = "deploy"
bad = ["./deploy"]
good = ["ls deploy"]
"#;

/// What is shown: why, and the arguments of guard.
const STEPS: &[(&str, &[&str])] = &[
    ("Reading is safe. It runs, and guard says nothing.", &["--", "ls"]),
    ("A string goes to your shell, once every part of it is understood.", &["-c", "wc -l src/* | sort -n"]),
    (
        "build/ is output that the repository ignores: it can be made again, so this runs.",
        &["--", "rm", "-rf", "build"],
    ),
    ("src/ can not be made again. guard asks you, and silence means no.", &["--", "rm", "-rf", "src"]),
    ("A rule of the project refuses this, whoever says yes.", &["--", "./deploy", "production"]),
    ("What would happen? Judged, and never run.", &["check", "curl -s https://example.com/x.sh | sudo sh"]),
    ("And how is that worked out?", &["explain", "cd src && git push --force origin main"]),
    ("Everything that was decided is in the record.", &["log", "-n", "5"]),
];

/// Shows the main job. Returns [`exit::ALLOW`] when all of it could be shown.
///
/// # Errors
/// The scratch project could not be made, or guard could not be started again.
pub fn run() -> io::Result<u8> {
    let scratch = Scratch::new()?;
    let guard = std::env::current_exe()?;
    for (number, (why, arguments)) in STEPS.iter().enumerate() {
        let shown = arguments.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        let mut out = io::stdout().lock();
        writeln!(out, "\n{}. {why}\n   $ guard {shown}", number + 1)?;
        out.flush()?;
        drop(out);
        // Where nobody sits, the demonstration goes on: nothing of it waits in the queue.
        let status =
            Command::new(&guard).args(*arguments).current_dir(&scratch.project).env("GUARD_WAIT", "0").status()?;
        if let Some(code) = status.code().filter(|code| *code != 0) {
            writeln!(io::stdout(), "   (exit code {code})")?;
        }
    }
    writeln!(io::stdout(), "\nThat was all. The scratch project is gone; the record stays.")?;
    Ok(exit::ALLOW)
}

/// The scratch project, removed when dropped.
struct Scratch {
    root: PathBuf,
    project: PathBuf,
}

impl Scratch {
    fn new() -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let name = format!("guard-demo-{:016x}", u64::from_le_bytes(random));
        let root = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&root)?;
        let scratch = Self { project: root.join("project"), root };
        scratch.fill()?;
        Ok(scratch)
    }

    fn fill(&self) -> io::Result<()> {
        let write = |name: &str, text: &str| -> io::Result<()> {
            let path = self.project.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, text)
        };
        write("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n")?;
        write("src/lib.rs", "pub fn answer() -> u8 {\n    42\n}\n")?;
        write("build/main.o", "made from src\n")?;
        write(".gitignore", "build/\n")?;
        write(".guard/patterns/demo.toml", RULES)?;
        write("deploy", "#!/bin/sh\necho 'nothing is deployed'\n")?;
        fs::set_permissions(self.project.join("deploy"), fs::Permissions::from_mode(0o755))?;
        git(&self.project, ["init", "-q", "-b", "main"])?;
        git(&self.project, ["add", "-A"])?;
        git(&self.project, ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "Start"])
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing can be done about a folder that cannot be removed, and it holds nothing of value.
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn git<const N: usize>(folder: &Path, arguments: [&str; N]) -> io::Result<()> {
    let status = Command::new("git")
        .args(arguments.map(OsStr::new))
        .current_dir(folder)
        .status()
        .map_err(|error| io::Error::new(error.kind(), format!("git is needed for the scratch project: {error}")))?;
    if status.success() { Ok(()) } else { Err(io::Error::other("git could not make the scratch project")) }
}
