//! What is tried with an agent, and what became of it.
//!
//! Out of scope: how it is proposed ([`super::evaluation`]), and what it means for a person.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::environment::TestEnvironment;
use crate::app::doctor::CANARY;
use crate::judge::agents::model::{KnownToolUse, LiveSetup};

/// The rule that refuses the canary, which a model must be told.
const RULE: &str = "guard.canary";

/// A command about which guard asks.
const ASKED: &str = "guard-canary ask";

/// What is written into a file.
pub const PLANTED: &str = "echo planted-by-guard-doctor\n";

/// Files of the home that shells read when they start, one for each tool that can write one.
const STARTUP: [&str; 6] = [".profile", ".zshrc", ".zshenv", ".bash_profile", ".bash_login", ".zprofile"];

/// The most other tools that are tried with a file.
pub const MOST: usize = STARTUP.len();

/// What is tried, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTestCase {
    Harmless,
    Refused,
    /// A file that matters, written with a tool of the agent's own.
    File,
    /// The same, or a command, with each other tool that can do that.
    Other,
    /// A command while which guard is killed.
    Killed,
    /// A command when guard is not there any more.
    Gone,
}

impl LiveTestCase {
    pub const ALL: [Self; 6] = [Self::Harmless, Self::Refused, Self::File, Self::Other, Self::Killed, Self::Gone];

    /// As it is said when it held.
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

    /// What it is called.
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
    /// It takes a command.
    pub runs: bool,
    /// It takes a file and what is written there.
    pub writes: bool,
}

impl OfferedTool {
    /// Whether a file is what is tried with it. All others are given a command: guard reads one in any tool's input, also
    /// where the tool itself takes none, so that the model is told of the refusal where the agent asks about the tool.
    pub const fn is_for_files(&self) -> bool {
        self.writes && !self.runs
    }

    /// Whether nothing but guard's answer can show that it is asked about.
    pub const fn is_plain(&self) -> bool {
        !self.writes && !self.runs
    }
}

/// One step of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveTest {
    pub case: LiveTestCase,
    /// The tool, and which of the other tools it is.
    pub other: Option<(usize, OfferedTool)>,
    /// It could not be proposed, or not be done.
    pub lacks: bool,
    /// The conversation named the rule once more after it, in whichever message.
    pub is_refused: bool,
}

impl LiveTest {
    pub const fn of(case: LiveTestCase) -> Self {
        Self { case, other: None, lacks: false, is_refused: false }
    }

    /// The command of it; none for a file.
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

    /// The file that is there when it happened; one that is written holds [`PLANTED`].
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

    /// Whether it happened.
    fn is_seen(&self, environment: &TestEnvironment, live: &LiveSetup) -> bool {
        let mark = self.mark(environment);
        if self.command(environment, live).is_some() {
            mark.exists()
        } else {
            fs::read_to_string(mark).is_ok_and(|text| text.contains(PLANTED))
        }
    }
}

/// What became of all of it.
#[derive(Debug, Default)]
pub struct LiveTestOutcome {
    /// What was proposed, in order.
    pub given: Vec<LiveTest>,
    /// What the agent told its model of each that it had a tool for.
    pub told: Vec<String>,
    happened: Vec<LiveTest>,
    /// How often the conversation named the rule.
    refusals: usize,
    /// guard was killed while it waited.
    pub was_killed: bool,
    /// It is known which other tools there are.
    pub knows_tools: bool,
    /// Tools that nothing could be proposed with.
    pub unusable: Vec<String>,
    /// All that it showed.
    pub end: String,
    /// How long it took until its model was asked for something.
    pub until_asked: Option<Duration>,
    /// How long all of it took, and whether it was ended because of that.
    pub took: Duration,
    pub late: bool,
}

impl LiveTestOutcome {
    /// Reads the conversation after a trial.
    pub fn hear(&mut self, conversation: &str) {
        let named = conversation.matches(RULE).count();
        if let Some(last) = self.given.last_mut() {
            last.is_refused = named > self.refusals;
        }
        self.refusals = self.refusals.max(named);
    }

    /// Looks at what is there now.
    pub fn check_effects(&mut self, environment: &TestEnvironment, live: &LiveSetup) {
        self.happened = self.given.iter().filter(|trial| trial.is_seen(environment, live)).cloned().collect();
    }

    /// Whether its model was asked for anything.
    pub fn was_asked(&self) -> bool {
        !self.given.is_empty()
    }

    /// Whether a case was tried, with one tool at least.
    pub fn tried(&self, case: LiveTestCase) -> bool {
        self.given.iter().any(|trial| trial.case == case && self.is_tried(trial))
    }

    fn is_tried(&self, trial: &LiveTest) -> bool {
        match trial.case {
            _ if trial.lacks => false,
            LiveTestCase::Killed => self.was_killed || self.has_happened(trial),
            // A tool may refuse by itself, for another reason.
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

    /// The other tools that did what guard was not asked about.
    pub fn unasked(&self) -> Vec<&OfferedTool> {
        self.happened.iter().filter_map(|trial| trial.other.as_ref()).map(|(_, tool)| tool).collect()
    }

    /// What the agent told its model of a case.
    pub fn told(&self, case: LiveTestCase) -> String {
        let found = self.given.iter().find(|trial| trial.case == case);
        found.map(|trial| self.told_of(trial)).unwrap_or_else(|| self.end.clone())
    }

    fn told_of(&self, trial: &LiveTest) -> String {
        let at = self.given.iter().filter(|given| !given.lacks).position(|given| given == trial);
        at.and_then(|at| self.told.get(at)).cloned().unwrap_or_else(|| self.end.clone())
    }

    /// Whether the model, or whoever sits at the agent, was told that guard refused the canary.
    pub fn knows_why(&self) -> bool {
        self.refusals > 0 || self.end.contains(RULE)
    }

    /// What was not tried, in words.
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
