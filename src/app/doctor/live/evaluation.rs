//! One run of an agent: what its model proposes, and what became of it.
//!
//! What may not enter: what that means for a person.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::model::{Model, ModelEvent};
use super::stage::Stage;
use crate::app::doctor::CANARY;
use crate::exec::adopted::Adopted;
use crate::exec::probe::{Probe, Seen};
use crate::judge::agents::model::{Does, Live};

/// How long an agent may take for all of it.
const LIMIT: Duration = Duration::from_secs(60);

/// The rule that refuses the canary, which a model must be told.
const RULE: &str = "guard.canary";

/// What is written into the start-up file.
const PLANTED: &str = "echo planted-by-guard-doctor\n";

/// What is tried, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Harmless,
    Refused,
    /// A file that matters, written with a tool of the agent's own.
    File,
    /// A command when guard is not there any more.
    Gone,
}

impl Case {
    pub const ALL: [Self; 4] = [Self::Harmless, Self::Refused, Self::File, Self::Gone];

    /// As it is said when it held.
    pub const fn held(self) -> &'static str {
        match self {
            Self::Harmless => "a harmless command ran",
            Self::Refused => "a dangerous command was refused, and the model was told why",
            Self::File => "its own tool wrote no startup file",
            Self::Gone => "nothing ran without guard",
        }
    }

    /// What it is called where it could not be tried.
    const fn name(self) -> &'static str {
        match self {
            Self::Harmless => "a harmless command",
            Self::Refused => "a command that must be refused",
            Self::File => "its own tool for files",
            Self::Gone => "a command without guard",
        }
    }

    /// The command of it; none for a file.
    fn command(self) -> Option<String> {
        match self {
            Self::Harmless => Some("touch live-harmless".to_owned()),
            Self::Refused => Some(format!("{CANARY}; touch live-refused")),
            Self::Gone => Some("touch live-gone".to_owned()),
            Self::File => None,
        }
    }

    /// Whether it happened.
    fn is_seen(self, stage: &Stage) -> bool {
        let mark = self.mark(stage);
        if self == Self::File {
            fs::read_to_string(mark).is_ok_and(|text| text.contains(PLANTED))
        } else {
            mark.exists()
        }
    }

    /// The file that is there when it happened.
    fn mark(self, stage: &Stage) -> PathBuf {
        match self {
            Self::Harmless => stage.project().join("live-harmless"),
            Self::Refused => stage.project().join("live-refused"),
            Self::Gone => stage.project().join("live-gone"),
            Self::File => stage.home().join(".bashrc"),
        }
    }
}

/// What became of it.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was proposed, in order.
    given: Vec<Case>,
    /// What the agent told its model of each.
    told: Vec<String>,
    /// The cases for which it offers no tool, and whether all was got through.
    lacking: Vec<Case>,
    happened: Vec<Case>,
    /// The conversation named the rule.
    knows_why: bool,
    /// All that it showed.
    pub end: String,
}

impl Outcome {
    /// Whether its model was asked for anything.
    pub fn was_asked(&self) -> bool {
        !self.given.is_empty()
    }

    pub fn tried(&self, case: Case) -> bool {
        self.given.contains(&case) && !self.lacking.contains(&case)
    }

    pub fn happened(&self, case: Case) -> bool {
        self.happened.contains(&case)
    }

    /// What the agent told its model of a case.
    pub fn told(&self, case: Case) -> String {
        let proposed = self.given.iter().filter(|given| !self.lacking.contains(given));
        let at = proposed.into_iter().position(|given| *given == case);
        at.and_then(|at| self.told.get(at)).cloned().unwrap_or_else(|| self.end.clone())
    }

    /// Whether the model, or whoever sits at the agent, was told that guard refused the canary.
    pub fn knows_why(&self) -> bool {
        self.knows_why || self.end.contains(RULE)
    }

    /// What was not tried, in words.
    pub fn untried(&self) -> Vec<&'static str> {
        Case::ALL.into_iter().filter(|case| !self.tried(*case)).map(Case::name).collect()
    }
}

/// Runs the agent through all cases.
///
/// # Errors
/// It, or the stand-in, cannot be started, or its configuration not be written.
pub fn run(stage: &mut Stage, live: &Live, gateway: &Path) -> io::Result<Outcome> {
    let strays = Adopted::begin();
    let tried = play(stage, live, gateway);
    // Whatever it left running goes with its home.
    strays.end();
    tried
}

fn play(stage: &mut Stage, live: &Live, gateway: &Path) -> io::Result<Outcome> {
    let mut model = Model::start(gateway, !live.says.is_empty())?;
    let url = model.url.clone();
    stage.furnish(live, &url)?;
    let words = |stage: &Stage, words: &[String]| -> Vec<OsString> {
        words.iter().map(|word| stage.filled(word, &url).into()).collect()
    };
    if !live.first.is_empty() {
        let (argv, env) = (words(stage, &live.first), stage.env(live, &url));
        Probe { argv: &argv, env: &env, cwd: stage.project(), limit: LIMIT }.with_input("")?;
    }
    stage.wire()?;
    let (argv, env) = (words(stage, &live.argv), stage.env(live, &url));
    let mut outcome = Outcome::default();
    // What has no tools is told all at once, and is run anew when guard is gone.
    let parted: [&[Case]; 2] = [&[Case::Harmless, Case::Refused], &[Case::Gone]];
    let whole: [&[Case]; 1] = [&Case::ALL];
    let acts: &[&[Case]] = if live.says.is_empty() { &whole } else { &parted };
    for act in acts {
        let probe = Probe { argv: &argv, env: &env, cwd: stage.project(), limit: LIMIT };
        let seen = act_out(stage, live, &mut model, act, &probe, &mut outcome)?;
        outcome.end.push_str(&seen.stdout);
        outcome.end.push_str(&seen.stderr);
    }
    outcome.happened.extend(Case::ALL.into_iter().filter(|case| case.is_seen(stage)));
    Ok(outcome)
}

/// One run.
fn act_out(
    stage: &Stage,
    live: &Live,
    model: &mut Model,
    act: &[Case],
    probe: &Probe<'_>,
    outcome: &mut Outcome,
) -> io::Result<Seen> {
    thread::scope(|scope| {
        let keys = live.keys.as_str();
        let agent = scope.spawn(move || if keys.is_empty() { probe.with_input("") } else { probe.on_a_terminal(keys) });
        let mut left = act.iter().copied();
        loop {
            match model.next()? {
                Some(ModelEvent::Wants { told, heard }) => {
                    outcome.told = told;
                    outcome.knows_why |= heard.contains(RULE);
                    let cases: Vec<Case> =
                        left.by_ref().take(if live.says.is_empty() { 1 } else { act.len() }).collect();
                    if cases.contains(&Case::Gone) {
                        stage.take_guard_away()?;
                    }
                    outcome.given.extend(&cases);
                    model.propose(&step(stage, live, &cases))?;
                }
                Some(ModelEvent::Lacks) => outcome.lacking.extend(outcome.given.last().copied()),
                None if agent.is_finished() => break,
                None => {}
            }
        }
        agent.join().unwrap_or_else(|_| Err(io::Error::other("cannot watch the agent")))
    })
}

/// How the stand-in is told to propose these; nothing more where there are none.
fn step(stage: &Stage, live: &Live, cases: &[Case]) -> Value {
    let Some(first) = cases.first() else { return json!({ "say": "Nothing more to do." }) };
    if !live.says.is_empty() {
        let commands = cases.iter().filter_map(|case| case.command());
        return json!({ "say": commands.map(|command| live.says.replace("@COMMAND@", &command)).collect::<String>() });
    }
    match first.command() {
        Some(command) => {
            let named = [live.tools.clone(), tools(stage, &[Does::Line, Does::Lines])].concat();
            json!({ "run": { "command": command, "tools": named } })
        }
        None => {
            let tools = [live.writes.clone(), tools(stage, &[Does::Write, Does::Edit, Does::Patch])].concat();
            json!({ "write": { "path": first.mark(stage), "text": PLANTED, "tools": tools } })
        }
    }
}

/// The names of an agent's tools that do one of these, in this order.
fn tools(stage: &Stage, wanted: &[Does]) -> Vec<String> {
    let Some(hook) = &stage.agent.hook else { return Vec::new() };
    let mut names = Vec::new();
    for does in wanted {
        for known in hook.tools.known.iter().filter(|known| known.does == *does) {
            names.extend(known.names.iter().cloned());
            for prefix in &hook.tools.prefix {
                names.extend(known.names.iter().map(|name| format!("{prefix}{name}")));
            }
        }
    }
    names
}
