//! One run of an agent: proposes the test cases through the stand-in model and observes the outcomes.
//!
//! Out of scope: what the outcomes mean for a person.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cases::{LiveTest, LiveTestCase, LiveTestOutcome, MOST, OfferedTool, PLANTED};
use super::environment::TestEnvironment;
use super::killer;
use super::model::{Model, ModelEvent};
use crate::exec::probe::{Probe, ProbeOutput};
use crate::exec::subreaper::Subreaper;
use crate::judge::agents::model::{KnownToolUse, LiveSetup};

/// The time limit of a run.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The largest number of failing calls that are proposed in a row before one that succeeds: some agents stop after
/// three failures.
const MOST_REFUSALS: usize = 2;

/// Runs the agent through all cases, and reports each when it begins.
///
/// # Errors
/// The agent or the stand-in model cannot be started, or the configuration cannot be written.
pub fn run(
    environment: &mut TestEnvironment,
    live: &LiveSetup,
    gateway: &Path,
    said: &dyn Fn(Duration, LiveTestCase),
) -> io::Result<LiveTestOutcome> {
    let strays = Subreaper::begin();
    let tried = play(environment, live, gateway, said);
    // Kill the processes that the agent left running.
    strays.end();
    tried
}

fn play(
    environment: &mut TestEnvironment,
    live: &LiveSetup,
    gateway: &Path,
    said: &dyn Fn(Duration, LiveTestCase),
) -> io::Result<LiveTestOutcome> {
    let mut model = Model::start(gateway, !live.says.is_empty())?;
    environment.furnish(live, &model.url)?;
    let words = |environment: &TestEnvironment, words: &[String], url: &str| -> Vec<OsString> {
        words.iter().map(|word| environment.filled(word, url).into()).collect()
    };
    if !live.first.is_empty() {
        let (argv, env) = (words(environment, &live.first, &model.url), environment.env(live, &model.url));
        Probe { argv: &argv, env: &env, cwd: environment.project(), limit: LIMIT }.with_input("")?;
    }
    environment.wire()?;
    let mut outcome = LiveTestOutcome::default();
    // An agent without tools gets all cases at once, and runs again after guard has been removed.
    let parted: [&[LiveTestCase]; 2] =
        [&[LiveTestCase::Harmless, LiveTestCase::Refused, LiveTestCase::Killed], &[LiveTestCase::Gone]];
    let whole: [&[LiveTestCase]; 1] = [&LiveTestCase::ALL];
    let alone: [&[LiveTestCase]; 5] = [
        &[LiveTestCase::Harmless, LiveTestCase::Refused],
        &[LiveTestCase::File],
        &[LiveTestCase::Other],
        &[LiveTestCase::Killed],
        &[LiveTestCase::Gone],
    ];
    let acts: &[&[LiveTestCase]] = match (live.says.is_empty(), environment.is_interrupted()) {
        (false, _) => &parted,
        (true, true) => &alone,
        (true, false) => &whole,
    };
    let begun = Instant::now();
    for (number, act) in acts.iter().enumerate() {
        // The stand-in model would repeat its answers of the interrupted run.
        if environment.is_interrupted() && number > 0 {
            model = Model::start(gateway, false)?;
            environment.furnish(live, &model.url)?;
        }
        let (argv, env) = (words(environment, &live.argv, &model.url), environment.env(live, &model.url));
        let limit = LIMIT.saturating_sub(begun.elapsed());
        let probe = Probe { argv: &argv, env: &env, cwd: environment.project(), limit };
        let run = Run { environment, live, begun, said };
        let seen = run.act_out(&mut model, act, &probe, &mut outcome)?;
        outcome.end.push_str(&seen.stdout);
        outcome.end.push_str(&seen.stderr);
        outcome.late |= seen.late;
    }
    outcome.took = begun.elapsed();
    outcome.check_effects(environment, live);
    Ok(outcome)
}

/// The state that all steps of a run share.
struct Run<'a> {
    environment: &'a TestEnvironment,
    live: &'a LiveSetup,
    begun: Instant,
    /// Called for each case when it is proposed.
    said: &'a dyn Fn(Duration, LiveTestCase),
}

impl Run<'_> {
    /// Runs the agent from start to end.
    fn act_out(
        &self,
        model: &mut Model,
        act: &[LiveTestCase],
        probe: &Probe<'_>,
        outcome: &mut LiveTestOutcome,
    ) -> io::Result<ProbeOutput> {
        let talks = !self.live.says.is_empty();
        outcome.knows_tools |= talks;
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let keys = self.live.keys.as_str();
            let agent =
                scope.spawn(move || if keys.is_empty() { probe.with_input("") } else { probe.on_a_terminal(keys) });
            let mut left: VecDeque<LiveTest> = act.iter().copied().map(LiveTest::of).collect();
            let mut killer = None;
            let ended = loop {
                let event = match model.next() {
                    Ok(event) => event,
                    Err(error) => break Err(error),
                };
                match event {
                    Some(ModelEvent::Wants { told, heard, offered }) => {
                        outcome.told = told;
                        outcome.hear(&heard);
                        outcome.until_asked.get_or_insert_with(|| self.begun.elapsed());
                        let next =
                            if talks { left.drain(..).collect() } else { self.next(&mut left, &offered, outcome) };
                        for trial in &next {
                            (self.said)(self.begun.elapsed(), trial.case);
                        }
                        let has = |case| next.iter().any(|trial| trial.case == case);
                        if let Err(error) = self.prepare(&next) {
                            break Err(error);
                        }
                        if has(LiveTestCase::Killed) {
                            done.store(false, Ordering::Relaxed);
                            let (guard, done) = (self.environment.guard(), &done);
                            killer = Some(scope.spawn(move || killer::kill_while_it_waits(guard, done)));
                        } else if !talks {
                            done.store(true, Ordering::Relaxed);
                        }
                        let step = self.step(&next);
                        outcome.given.extend(next);
                        if let Err(error) = model.propose(&step) {
                            break Err(error);
                        }
                    }
                    Some(ModelEvent::Lacks) => {
                        if let Some(last) = outcome.given.last_mut() {
                            last.lacks = true;
                        }
                    }
                    None if agent.is_finished() => break Ok(()),
                    None => {}
                }
            };
            done.store(true, Ordering::Relaxed);
            outcome.was_killed |= killer.is_some_and(|killer| killer.join().unwrap_or_default());
            let seen = agent.join().unwrap_or_else(|_| Err(io::Error::other("cannot watch the agent")));
            ended.and(seen)
        })
    }

    /// Returns the next steps. The case of the other tools has one for each tool.
    fn next(
        &self,
        left: &mut VecDeque<LiveTest>,
        offered: &[OfferedTool],
        outcome: &mut LiveTestOutcome,
    ) -> Vec<LiveTest> {
        let mut next = left.pop_front();
        if next.as_ref().is_some_and(|trial| trial.case == LiveTestCase::Other && trial.other.is_none()) {
            let (usable, unusable) = self.others(offered);
            outcome.unusable = unusable;
            outcome.knows_tools = true;
            for (number, tool) in usable.into_iter().enumerate().rev() {
                left.push_front(LiveTest { other: Some((number, tool)), ..LiveTest::of(LiveTestCase::Other) });
            }
            next = left.pop_front();
        }
        let in_a_row = outcome.given.iter().rev().take_while(|trial| trial.case != LiveTestCase::Harmless).count();
        // After guard has been removed, no call succeeds.
        if in_a_row >= MOST_REFUSALS
            && let Some(trial) = next.take_if(|trial| trial.case != LiveTestCase::Gone)
        {
            left.push_front(trial);
            next = Some(LiveTest::of(LiveTestCase::Harmless));
        }
        next.into_iter().collect()
    }

    /// Returns the offered tools except the shell, the tool for files and tools known to be harmless: those to test,
    /// and the names of the rest.
    fn others(&self, offered: &[OfferedTool]) -> (Vec<OfferedTool>, Vec<String>) {
        let first = |names: Vec<String>| names.into_iter().find(|name| offered.iter().any(|tool| tool.name == *name));
        let used = [first(self.runs()), first(self.writes())];
        let left = offered.iter().filter(|tool| !used.iter().flatten().any(|name| *name == tool.name));
        let judged = left.filter(|tool| !self.environment.is_harmless(&tool.name)).cloned();
        let (mut usable, others): (Vec<OfferedTool>, Vec<OfferedTool>) = judged.partition(OfferedTool::is_for_files);
        let mut rest = usable.split_off(usable.len().min(MOST));
        // If guard sees no tools but the shell, or little time is left, tools without a command are not tested.
        let is_short = self.environment.is_by_shell() || self.begun.elapsed() > LIMIT / 2;
        let (untried, tried): (Vec<OfferedTool>, Vec<OfferedTool>) =
            others.into_iter().partition(|tool| is_short && tool.is_plain());
        usable.extend(tried);
        rest.extend(untried);
        (usable, rest.into_iter().map(|tool| tool.name).collect())
    }

    /// Creates the files that these steps need.
    fn prepare(&self, trials: &[LiveTest]) -> io::Result<()> {
        for trial in trials {
            match trial.case {
                LiveTestCase::Killed => self.environment.let_it_wait()?,
                LiveTestCase::Gone => self.environment.take_guard_away()?,
                LiveTestCase::Other if trial.command(self.environment, self.live).is_none() => {
                    self.environment.lay_out(&trial.mark(self.environment))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the agent's tools that run a command, the most likely first.
    fn runs(&self) -> Vec<String> {
        [self.live.tools.clone(), tools(self.environment, &[KnownToolUse::Line, KnownToolUse::Lines])].concat()
    }

    /// Returns the agent's tools that write a file.
    fn writes(&self) -> Vec<String> {
        [
            self.live.writes.clone(),
            tools(self.environment, &[KnownToolUse::Write, KnownToolUse::Edit, KnownToolUse::Patch]),
        ]
        .concat()
    }

    /// Returns the instruction for the stand-in model to propose these steps, or to end if there are none.
    fn step(&self, trials: &[LiveTest]) -> Value {
        let Some(first) = trials.first() else { return json!({ "say": "Nothing more to do." }) };
        if !self.live.says.is_empty() {
            let commands = trials.iter().filter_map(|trial| trial.command(self.environment, self.live));
            let said = commands.map(|command| self.live.says.replace("@COMMAND@", &command));
            return json!({ "say": said.collect::<String>() });
        }
        let own =
            first.other.as_ref().map(|(_, tool)| &tool.name).filter(|name| !self.environment.hears_no_typing(name));
        let other = own.map(|name| vec![name.clone()]);
        match first.command(self.environment, self.live) {
            Some(command) => {
                json!({ "run": { "command": command, "tools": other.unwrap_or_else(|| self.runs()) } })
            }
            None => {
                let tools = other.unwrap_or_else(|| self.writes());
                json!({ "write": { "path": first.mark(self.environment), "text": PLANTED, "tools": tools } })
            }
        }
    }
}

/// Returns the names of the agent's tools with one of these uses, in this order.
fn tools(environment: &TestEnvironment, wanted: &[KnownToolUse]) -> Vec<String> {
    let Some(hook) = &environment.agent.hook else { return Vec::new() };
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
