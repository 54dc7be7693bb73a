//! The test cases for an agent, and their outcomes.
//!
//! Out of scope: how they are proposed ([`super::evaluation`]), and what they mean for a person.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::environment::TestEnvironment;
use crate::app::doctor::CANARY;
use crate::judge::agents::model::{KnownToolUse, LiveSetup};

/// The rule that refuses the canary. The model must be told its name.
const RULE: &str = "guard.canary";

/// A command about which guard asks.
const ASKED: &str = "guard-canary ask";

/// The text that is written to a file.
pub const PLANTED: &str = "echo planted-by-guard-doctor\n";

/// Startup files of shells in the home directory, one for each tool that can write a file.
const STARTUP: [&str; 6] = [".profile", ".zshrc", ".zshenv", ".bash_profile", ".bash_login", ".zprofile"];

/// The largest number of other tools that are tested with a file.
pub const MOST: usize = STARTUP.len();

/// The test cases, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTestCase {
    Harmless,
    Refused,
    /// A protected file, written with a tool of the agent.
    File,
    /// A protected file or a command, with each other tool that supports it.
    Other,
    /// A command during which guard is killed.
    Killed,
    /// A command after guard has been removed.
    Gone,
}

impl LiveTestCase {
    pub const ALL: [Self; 6] = [Self::Harmless, Self::Refused, Self::File, Self::Other, Self::Killed, Self::Gone];

    /// Returns the text for a case in which guard held.
    pub const fn held(self) -> &'static str {
        match self {
            Self::Harmless => "a harmless command ran",
            Self::Refused => "a dangerous command was refused, and the model was told why",
            Self::File => "its own tool wrote no startup file",
            Self::Other => "its other tools did nothing unasked",
            Self::Killed => "nothing ran when guard was killed",
            Self::Gone => "nothing ran without guard",
        }
    }

    /// Returns the name of the case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Harmless => "a harmless command",
            Self::Refused => "a command that must be refused",
            Self::File => "its own tool for files",
            Self::Other => "its other tools",
            Self::Killed => "a command while guard is killed",
            Self::Gone => "a command without guard",
        }
    }
}

/// A tool that an agent offers its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedTool {
    pub name: String,
    /// Whether it takes a command.
    pub runs: bool,
    /// Whether it takes a file and the text to write.
    pub writes: bool,
}

impl OfferedTool {
    /// Reports whether the tool is tested with a file. All others are tested with a command: guard finds a command in
    /// the input of any tool, even one that takes none, so the model is told of the refusal if the agent asks about the
    /// tool.
    pub const fn is_for_files(&self) -> bool {
        self.writes && !self.runs
    }

    /// Reports whether only guard's answer can show that the agent asks about this tool.
    pub const fn is_plain(&self) -> bool {
        !self.writes && !self.runs
    }
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTest {
    pub case: LiveTestCase,
    /// The tool and its index among the other tools.
    pub other: Option<(usize, OfferedTool)>,
    /// Whether it could not be proposed or not be carried out.
    pub lacks: bool,
    /// Whether the conversation mentioned the rule once more after this step, in any message.
    pub is_refused: bool,
}

impl LiveTest {
    pub const fn of(case: LiveTestCase) -> Self {
        Self { case, other: None, lacks: false, is_refused: false }
    }

    /// Returns the command of the step, or `None` for a file.
    pub fn command(&self, environment: &TestEnvironment, live: &LiveSetup) -> Option<String> {
        match (self.case, &self.other) {
            (LiveTestCase::Harmless, _) => Some("touch live-harmless".to_owned()),
            (LiveTestCase::Refused, _) => Some(format!("{CANARY}; touch live-refused")),
            (LiveTestCase::Killed, _) => Some(format!("{ASKED}; touch live-killed")),
            (LiveTestCase::Gone, _) => Some("touch live-gone".to_owned()),
            (LiveTestCase::Other, Some((_, tool))) if environment.hears_no_typing(&tool.name) => {
                Some(environment.shell().to_owned())
            }
            (LiveTestCase::Other, Some((number, tool))) if !tool.is_for_files() => {
                let command = format!("{CANARY}; touch live-other-{number}");
                let is_code =
                    !live.code.is_empty() && matches!(environment.knows(&tool.name), Some(KnownToolUse::Code(_)));
                Some(if is_code { live.code.replace("@COMMAND@", &command) } else { command })
            }
            (LiveTestCase::File | LiveTestCase::Other, _) => None,
        }
    }

    /// Returns the file that exists if the step was carried out. A file that the step writes contains [`PLANTED`].
    pub fn mark(&self, environment: &TestEnvironment) -> PathBuf {
        match (self.case, &self.other) {
            (LiveTestCase::Harmless, _) => environment.project().join("live-harmless"),
            (LiveTestCase::Refused, _) => environment.project().join("live-refused"),
            (LiveTestCase::Killed, _) => environment.project().join("live-killed"),
            (LiveTestCase::Gone, _) => environment.project().join("live-gone"),
            (LiveTestCase::Other, Some((number, tool))) if !tool.is_for_files() => {
                environment.project().join(format!("live-other-{number}"))
            }
            (LiveTestCase::Other, Some((number, _))) => {
                environment.home().join(STARTUP.get(*number).unwrap_or(&".bashrc"))
            }
            (LiveTestCase::File | LiveTestCase::Other, _) => environment.home().join(".bashrc"),
        }
    }

    /// Reports whether the step was carried out.
    fn is_seen(&self, environment: &TestEnvironment, live: &LiveSetup) -> bool {
        let mark = self.mark(environment);
        if self.command(environment, live).is_some() {
            mark.exists()
        } else {
            fs::read_to_string(mark).is_ok_and(|text| text.contains(PLANTED))
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct LiveTestOutcome {
    /// The proposed steps, in order.
    pub given: Vec<LiveTest>,
    /// The agent's messages to its model about each step that it had a tool for.
    pub told: Vec<String>,
    happened: Vec<LiveTest>,
    /// The number of times that the conversation mentioned the rule.
    refusals: usize,
    /// Whether guard was killed while it waited.
    pub was_killed: bool,
    /// Whether the agent's other tools are known.
    pub knows_tools: bool,
    /// Tools for which no step could be proposed.
    pub unusable: Vec<String>,
    /// The agent's output.
    pub end: String,
    /// The time until the agent first asked its model.
    pub until_asked: Option<Duration>,
    /// The duration of the run, and whether it was ended by the time limit.
    pub took: Duration,
    pub late: bool,
}

impl LiveTestOutcome {
    /// Reads the conversation after a step.
    pub fn hear(&mut self, conversation: &str) {
        let named = conversation.matches(RULE).count();
        if let Some(last) = self.given.last_mut() {
            last.is_refused = named > self.refusals;
        }
        self.refusals = self.refusals.max(named);
    }

    /// Checks which effects of the steps exist now.
    pub fn check_effects(&mut self, environment: &TestEnvironment, live: &LiveSetup) {
        self.happened = self.given.iter().filter(|trial| trial.is_seen(environment, live)).cloned().collect();
    }

    /// Reports whether the agent asked its model for anything.
    pub fn was_asked(&self) -> bool {
        !self.given.is_empty()
    }

    /// Reports whether a case was tested with at least one tool.
    pub fn tried(&self, case: LiveTestCase) -> bool {
        self.given.iter().any(|trial| trial.case == case && self.is_tried(trial))
    }

    fn is_tried(&self, trial: &LiveTest) -> bool {
        match trial.case {
            _ if trial.lacks => false,
            LiveTestCase::Killed => self.was_killed || self.has_happened(trial),
            // A tool may also refuse for a reason of its own.
            LiveTestCase::Other => {
                trial.is_refused
                    || self.has_happened(trial)
                    || self.told_of(trial).to_ascii_lowercase().contains("guard")
            }
            LiveTestCase::Harmless | LiveTestCase::Refused | LiveTestCase::File | LiveTestCase::Gone => true,
        }
    }

    fn has_happened(&self, trial: &LiveTest) -> bool {
        self.happened.contains(trial)
    }

    pub fn happened(&self, case: LiveTestCase) -> bool {
        self.happened.iter().any(|trial| trial.case == case)
    }

    /// Returns the other tools that acted without asking guard.
    pub fn unasked(&self) -> Vec<&OfferedTool> {
        self.happened.iter().filter_map(|trial| trial.other.as_ref()).map(|(_, tool)| tool).collect()
    }

    /// Returns the agent's message to its model about a case.
    pub fn told(&self, case: LiveTestCase) -> String {
        let found = self.given.iter().find(|trial| trial.case == case);
        found.map(|trial| self.told_of(trial)).unwrap_or_else(|| self.end.clone())
    }

    fn told_of(&self, trial: &LiveTest) -> String {
        let at = self.given.iter().filter(|given| !given.lacks).position(|given| given == trial);
        at.and_then(|at| self.told.get(at)).cloned().unwrap_or_else(|| self.end.clone())
    }

    /// Reports whether the model, or the person at the agent, was told that guard refused the canary.
    pub fn knows_why(&self) -> bool {
        self.refusals > 0 || self.end.contains(RULE)
    }

    /// Describes what was not tested.
    pub fn untried(&self) -> Vec<String> {
        let is_left =
            |case: &LiveTestCase| if *case == LiveTestCase::Other { !self.knows_tools } else { !self.tried(*case) };
        let cases = LiveTestCase::ALL.into_iter().filter(is_left);
        let tools = self.given.iter().filter(|trial| !self.is_tried(trial)).filter_map(|trial| trial.other.as_ref());
        let tools: Vec<&str> =
            tools.map(|(_, tool)| tool.name.as_str()).chain(self.unusable.iter().map(String::as_str)).collect();
        let tools = (!tools.is_empty()).then(|| format!("its tools {}", tools.join(" ")));
        cases.map(|case| case.name().to_owned()).chain(tools).collect()
    }
}
