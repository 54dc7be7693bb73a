//! The demonstration on a split screen: above, an agent's shell in which commands are typed; below, the terminal of the
//! person who answers them.
//!
//! Both are real. The agent's commands run in sessions of their own without a terminal, as those of an agent do, and
//! wait in the queue of the scratch project. The person answers with `guard approve` and `guard review`. Out of scope:
//! answers that nobody typed.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{NEXT, adopted, git};
use crate::app::failure::{Failure, ViewStopped};
use crate::app::place::not_from_here;
use crate::app::{answer, engine, exit, log, review, screen};
use crate::exec::tool::Tool;
use crate::judge::invocation::quote;
use crate::prompt::answer::PromptClosed;
use crate::prompt::fullscreen::{KeyPress, ScreenEvent, closed_error, on_screen};
use crate::prompt::split_screen::SplitScreen;
use crate::store::queue::RequestState;
use crate::ui::style::{Line, Look, Style};
use crate::ui::wrap;
use crate::world::identity::Caller;

/// The agent's commands, by the number of their step.
pub(super) const COMMANDS: &[&[&str]] = &[
    &["-c", "wc -l src/* | sort -n"],
    &["--", "rm", "-rf", "src"],
    &["-c", "sh -c \"$(echo cm0gLXJmIHNyYwo= | base64 -d)\""],
    &["--", "./deploy", "production"],
    &["--", "git", "push"],
    &["--", "chmod", "777", "deploy"],
    &["--", "git", "branch", "-D", "old"],
    &["--", "rm", "-rf", "docs"],
];

/// The first number of these steps. Lower numbers are steps of the demonstration without a split screen.
pub(super) const FROM: usize = 100;

/// The longest wait for a request to be filed, or for an answered command to end.
const SOON: Duration = Duration::from_secs(10);

/// The interval between two checks of the agent's commands.
const PACE: Duration = Duration::from_millis(50);

/// The title above the upper half.
const TITLE: &str = "above: the agent · below: you";

/// The number of pauses.
const STEPS: usize = 5;

/// Reports whether a person may answer from this terminal, and it is large enough to be split.
pub(super) fn is_possible() -> bool {
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    let Ok(caller) = Caller::of_this_process() else { return false };
    !look.dumb
        && crossterm::terminal::size().is_ok_and(|(columns, rows)| columns >= 40 && rows >= 24)
        && not_from_here(&caller, &caller.behind_the_terminal()).is_none()
}

/// Replaces this process by one that uses the home and the directory of the scratch project. Returns the error if this
/// fails.
pub(super) fn enter(root: &Path, project: &Path) -> io::Error {
    let own = match Tool::own() {
        Ok(own) => own,
        Err(error) => return error,
    };
    let own = own.args(["demo", "--inside"]).dir(project).env("HOME", root.join(super::HOME)).env("PWD", project);
    own.without_env(&super::FOREIGN).replace()
}

/// Shows the demonstration inside the scratch project, which is removed at the end.
///
/// # Errors
/// The terminal, the queue or the record cannot be used.
pub(super) fn run() -> io::Result<u8> {
    let project = std::env::current_dir()?;
    let root = project.parent().map(Path::to_owned).unwrap_or_default();
    let _scratch = adopted(&root);
    let look = Look::from_environment(|name| std::env::var(name).ok(), true);
    let Some(halves) = SplitScreen::begin(TITLE, look) else {
        return Err(io::Error::other("the window is too small for two halves: guard demo --auto"));
    };
    let played =
        DemoState { _halves: halves, look, step: 0, project: &project, agents: Vec::new(), readers: Vec::new() }.play();
    // The screen is no longer split.
    match played {
        Ok(()) => println("$ guard log\n").map_err(Failure::from).and_then(|()| log::newest(12).map(drop)),
        Err(ViewStopped::Closed(PromptClosed::Interrupted(_))) | Err(ViewStopped::Enough) => Ok(()),
        Err(ViewStopped::Closed(closed)) => Err(closed_error(&closed).into()),
        Err(ViewStopped::Failed(failure)) => Err(failure),
    }
    .map_err(|failure| io::Error::other(failure.to_string()))?;
    println(&format!("\nEnd of the demo. The scratch project and its record are deleted.\n{NEXT}"))?;
    Ok(exit::ALLOW)
}

struct DemoState<'a> {
    _halves: SplitScreen,
    look: Look,
    step: usize,
    project: &'a Path,
    /// The running commands of the agent, each the leader of its process group.
    agents: Vec<Child>,
    /// The threads that read the output of these commands.
    readers: Vec<JoinHandle<()>>,
}

impl DemoState<'_> {
    fn play(mut self) -> Result<(), ViewStopped> {
        self.goes_on(
            "Above, an agent works in a project; below is your terminal. Everything is real, in a scratch project that is \
             deleted at the end. It takes about ninety seconds.",
        )?;
        self.agent(0)?;
        self.until_ended("")?;
        self.goes_on("Safe: this only reads. It ran without a question, and guard printed nothing of its own.")?;
        let was_answered = self.answered(
            1,
            "src cannot be created again, so guard asks you: y runs it, n refuses it, ? explains it. The agent reads the \
             words that you give with n.",
        )?;
        self.goes_on(if was_answered {
            "Above is what the agent got. No answer would have meant no."
        } else {
            "Above is what the agent got: you gave no answer, and no answer means no."
        })?;
        self.restored()?;
        self.answered(2, "The same command in disguise: guard decodes it, and finds the same deletion.")?;
        self.restored()?;
        self.agent(3)?;
        self.until_ended("")?;
        SplitScreen::add("agent: a rule refuses that, and names another way: I take it.");
        self.agent(4)?;
        self.until_ended("")?;
        self.goes_on(
            "A rule of the project refuses this, and nobody is asked. The refusal is one line that an agent understands: \
             the rule, the reason, and what to do instead.",
        )?;
        self.reviewed()?;
        self.goes_on("What you approved has run, and nothing else. Every decision is in the record, which comes next.")
    }

    /// Types a command of the agent.
    fn agent(&mut self, number: usize) -> io::Result<()> {
        let command = COMMANDS.get(number).copied().unwrap_or_default();
        let shown = command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
        SplitScreen::add(&format!("$ guard {shown}"));
        let own = std::env::current_exe()?;
        let step = (FROM + number).to_string();
        // The shell leads the session, as with a real agent, so that guard is only its child.
        let shell = Tool::line("\"$0\" demo --step \"$1\"; exit $?", &[own.as_os_str(), OsStr::new(&step)])?;
        let shell = shell.dir(self.project).env("GUARD_WAIT", "120").in_its_own_session().stdin(Stdio::null());
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).start()?;
        let streams = [child.stdout.take().map(boxed), child.stderr.take().map(boxed)];
        for stream in streams.into_iter().flatten() {
            self.readers.push(std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    SplitScreen::add(&line);
                }
            }));
        }
        self.agents.push(child);
        Ok(())
    }

    /// Types a command of the agent that waits, and lets the person answer it. Returns whether they did.
    fn answered(&mut self, number: usize, told: &str) -> Result<bool, ViewStopped> {
        self.agent(number)?;
        let Some(id) = self.requests(1)?.pop() else { return self.until_ended("").map(|()| true) };
        let command = format!("$ guard approve {id}");
        self.pause(&[told, "", &command], "Enter types this command, q ends")?;
        answer::approve(&answer::ApproveArgs::one(&id))?;
        let was_answered = self.leave_unanswered()?;
        self.until_ended("")?;
        Ok(was_answered)
    }

    /// Types several commands of the agent, and lets the person review them together.
    fn reviewed(&mut self) -> Result<(), ViewStopped> {
        for number in 5..COMMANDS.len() {
            self.agent(number)?;
            self.requests(number - 4)?;
        }
        let told = "Three commands wait. guard review shows them together: space marks one, * all, A approves the marked ones \
                    after one question, d denies with a reason, Enter opens a card, q goes on.";
        self.pause(&[told, "", "$ guard review"], "Enter types this command, q ends")?;
        review::run_interactive()??;
        self.leave_unanswered()?;
        self.until_ended("")
    }

    /// Ends the agent's commands that still wait for an answer. Returns whether there were none.
    fn leave_unanswered(&mut self) -> Result<bool, ViewStopped> {
        let left = self.requests(0)?;
        if !left.is_empty() {
            SplitScreen::add(&format!(
                "agent: nobody answers {}, and no answer means no: I stop waiting.",
                left.join(", ")
            ));
            self.end_all();
        }
        Ok(left.is_empty())
    }

    /// Waits for the agent's commands to end, and shows their exit codes. Ends those that run too long.
    fn until_ended(&mut self, told: &str) -> Result<(), ViewStopped> {
        let mut agents = std::mem::take(&mut self.agents);
        let mut ended: Vec<ExitStatus> = Vec::new();
        let done = self.until(&[told], || {
            agents.retain_mut(|child| match child.try_wait() {
                Ok(Some(status)) => {
                    ended.push(status);
                    false
                }
                Ok(None) => true,
                Err(_) => false,
            });
            agents.is_empty()
        });
        self.agents = agents;
        done?;
        self.end_all();
        for code in ended.iter().filter_map(ExitStatus::code) {
            SplitScreen::add(&format!("(exit code {code})"));
        }
        Ok(())
    }

    /// Returns the waiting requests as soon as there are this many, or after a time limit.
    fn requests(&self, count: usize) -> Result<Vec<String>, ViewStopped> {
        let mut failed = None;
        let mut waiting = Vec::new();
        self.until(&[""], || match waiting_now() {
            Ok(found) => {
                waiting = found;
                waiting.len() >= count
            }
            Err(failure) => {
                failed = Some(failure);
                true
            }
        })?;
        failed.map_or(Ok(waiting), |failure| Err(failure.into()))
    }

    /// Restores the files that an approved command deleted, for the next command.
    fn restored(&self) -> io::Result<()> {
        git(self.project, ["checkout", "-q", "--", "src"])
    }

    /// Shows a text, and waits until the person continues.
    fn goes_on(&mut self, told: &str) -> Result<(), ViewStopped> {
        self.step += 1;
        self.pause(&[told], &format!("{} of {STEPS}: Enter goes on, q ends", self.step))
    }

    /// Shows these texts in the lower half until the person presses Enter.
    fn pause(&self, told: &[&str], question: &str) -> Result<(), ViewStopped> {
        let goes_on = on_screen(self.look, |screen| {
            loop {
                let mut lines = prose(told, screen.size().columns);
                lines.push(Line::new());
                lines.extend(wrap::styled(&Line::of(Style::Strong, question), screen.size().columns - 1));
                screen.draw(&lines)?;
                // Ignore several keys at once, which were typed ahead.
                match screen.wait(PACE)? {
                    ScreenEvent::Keys(keys) if keys == [KeyPress::Enter] => return Ok(true),
                    ScreenEvent::Keys(keys) if keys == [KeyPress::Char('q')] || keys == [KeyPress::EndOfFile] => {
                        return Ok(false);
                    }
                    _ => {}
                }
            }
        })?;
        if goes_on { Ok(()) } else { Err(ViewStopped::Enough) }
    }

    /// Shows these texts until something is done, for at most [`SOON`].
    fn until(&self, told: &[&str], mut done: impl FnMut() -> bool) -> Result<(), ViewStopped> {
        let until = Instant::now() + SOON;
        Ok(on_screen(self.look, |screen| {
            while !done() && Instant::now() < until {
                screen.draw(&prose(told, screen.size().columns))?;
                screen.wait(PACE)?;
            }
            Ok(())
        })?)
    }

    /// Ends all commands of the agent.
    fn end_all(&mut self) {
        for mut child in self.agents.drain(..) {
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
            let _ = child.wait();
        }
        // The threads end when no process has the pipes open any more. Then nothing writes to the scratch directory.
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

impl Drop for DemoState<'_> {
    fn drop(&mut self) {
        self.end_all();
    }
}

/// Returns the IDs of the waiting requests.
fn waiting_now() -> Result<Vec<String>, Failure> {
    let all = engine::requests()?.map_or_else(|| Ok(Vec::new()), |queue| queue.list(Timestamp::now()))?;
    Ok(all.into_iter().filter(|one| one.state == RequestState::Waiting).map(|one| one.id).collect())
}

/// Wraps texts, and leaves the last column free. A text that begins with `$ ` is a command.
fn prose(texts: &[&str], columns: usize) -> Vec<Line> {
    let columns = columns.saturating_sub(1);
    let line = |text: &&str| {
        let style = if text.starts_with("$ ") { Style::Strong } else { Style::Plain };
        wrap::prose(text, columns).into_iter().map(move |row| Line::of(style, row)).collect::<Vec<_>>()
    };
    texts.iter().flat_map(line).collect()
}

fn boxed(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(stream)
}

/// Prints a text on the whole screen.
fn println(text: &str) -> io::Result<()> {
    io::stdout().write_all(screen::fitted(text).as_bytes())
}
