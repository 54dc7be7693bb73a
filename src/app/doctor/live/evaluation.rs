//! One run of an agent: what its model proposes, and what became of it.
//!
//! What may not enter: what that means for a person.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cases::{Case, MOST, Offered, Outcome, PLANTED, Trial};
use super::killer;
use super::model::{Model, ModelEvent};
use super::stage::Stage;
use crate::exec::probe::{Probe, ProbeOutput};
use crate::exec::subreaper::Subreaper;
use crate::judge::agents::model::{Does, Live};

/// How long an agent may take for all of it.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Some agents end after three calls in a row that failed: so many are proposed, then one that runs.
const MOST_REFUSALS: usize = 2;

/// Runs the agent through all cases, and tells of each when it begins.
///
/// # Errors
/// It, or the stand-in, cannot be started, or its configuration not be written.
pub fn run(stage: &mut Stage, live: &Live, gateway: &Path, said: &dyn Fn(Duration, Case)) -> io::Result<Outcome> {
    let strays = Subreaper::begin();
    let tried = play(stage, live, gateway, said);
    // Whatever it left running goes with its home.
    strays.end();
    tried
}

fn play(stage: &mut Stage, live: &Live, gateway: &Path, said: &dyn Fn(Duration, Case)) -> io::Result<Outcome> {
    let mut model = Model::start(gateway, !live.says.is_empty())?;
    stage.furnish(live, &model.url)?;
    let words = |stage: &Stage, words: &[String], url: &str| -> Vec<OsString> {
        words.iter().map(|word| stage.filled(word, url).into()).collect()
    };
    if !live.first.is_empty() {
        let (argv, env) = (words(stage, &live.first, &model.url), stage.env(live, &model.url));
        Probe { argv: &argv, env: &env, cwd: stage.project(), limit: LIMIT }.with_input("")?;
    }
    stage.wire()?;
    let mut outcome = Outcome::default();
    // What has no tools is told all at once, and is run anew when guard is gone.
    let parted: [&[Case]; 2] = [&[Case::Harmless, Case::Refused, Case::Killed], &[Case::Gone]];
    let whole: [&[Case]; 1] = [&Case::ALL];
    let alone: [&[Case]; 5] =
        [&[Case::Harmless, Case::Refused], &[Case::File], &[Case::Other], &[Case::Killed], &[Case::Gone]];
    let acts: &[&[Case]] = match (live.says.is_empty(), stage.is_interrupted()) {
        (false, _) => &parted,
        (true, true) => &alone,
        (true, false) => &whole,
    };
    let begun = Instant::now();
    for (number, act) in acts.iter().enumerate() {
        // The stand-in would say again what it said in the run that was interrupted.
        if stage.is_interrupted() && number > 0 {
            model = Model::start(gateway, false)?;
            stage.furnish(live, &model.url)?;
        }
        let (argv, env) = (words(stage, &live.argv, &model.url), stage.env(live, &model.url));
        let limit = LIMIT.saturating_sub(begun.elapsed());
        let probe = Probe { argv: &argv, env: &env, cwd: stage.project(), limit };
        let run = Run { stage, live, begun, said };
        let seen = run.act_out(&mut model, act, &probe, &mut outcome)?;
        outcome.end.push_str(&seen.stdout);
        outcome.end.push_str(&seen.stderr);
        outcome.late |= seen.late;
    }
    outcome.took = begun.elapsed();
    outcome.look(stage, live);
    Ok(outcome)
}

/// What is the same in all of a run.
struct Run<'a> {
    stage: &'a Stage,
    live: &'a Live,
    begun: Instant,
    /// Told of each case when it is proposed.
    said: &'a dyn Fn(Duration, Case),
}

impl Run<'_> {
    /// The agent from its start to its end.
    fn act_out(
        &self,
        model: &mut Model,
        act: &[Case],
        probe: &Probe<'_>,
        outcome: &mut Outcome,
    ) -> io::Result<ProbeOutput> {
        let talks = !self.live.says.is_empty();
        outcome.knows_tools |= talks;
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let keys = self.live.keys.as_str();
            let agent =
                scope.spawn(move || if keys.is_empty() { probe.with_input("") } else { probe.on_a_terminal(keys) });
            let mut left: VecDeque<Trial> = act.iter().copied().map(Trial::of).collect();
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
                        if has(Case::Killed) {
                            done.store(false, Ordering::Relaxed);
                            let (guard, done) = (self.stage.guard(), &done);
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

    /// The next trial: where that is of the other tools, there is one for each.
    fn next(&self, left: &mut VecDeque<Trial>, offered: &[Offered], outcome: &mut Outcome) -> Vec<Trial> {
        let mut next = left.pop_front();
        if next.as_ref().is_some_and(|trial| trial.case == Case::Other && trial.other.is_none()) {
            let (usable, unusable) = self.others(offered);
            outcome.unusable = unusable;
            outcome.knows_tools = true;
            for (number, tool) in usable.into_iter().enumerate().rev() {
                left.push_front(Trial { other: Some((number, tool)), ..Trial::of(Case::Other) });
            }
            next = left.pop_front();
        }
        let in_a_row = outcome.given.iter().rev().take_while(|trial| trial.case != Case::Harmless).count();
        // Without guard nothing runs.
        if in_a_row >= MOST_REFUSALS
            && let Some(trial) = next.take_if(|trial| trial.case != Case::Gone)
        {
            left.push_front(trial);
            next = Some(Trial::of(Case::Harmless));
        }
        next.into_iter().collect()
    }

    /// What an agent offers beside its shell and its tool for files, and is not known to do nothing: what is tried, and the names
    /// of the rest.
    fn others(&self, offered: &[Offered]) -> (Vec<Offered>, Vec<String>) {
        let first = |names: Vec<String>| names.into_iter().find(|name| offered.iter().any(|tool| tool.name == *name));
        let used = [first(self.runs()), first(self.writes())];
        let left = offered.iter().filter(|tool| !used.iter().flatten().any(|name| *name == tool.name));
        let judged = left.filter(|tool| !self.stage.is_harmless(&tool.name)).cloned();
        let (mut usable, others): (Vec<Offered>, Vec<Offered>) = judged.partition(Offered::is_for_files);
        let mut rest = usable.split_off(usable.len().min(MOST));
        // Where guard is told of no tool, and where there is little time left, nothing is shown by those without a command.
        let is_short = self.stage.is_by_shell() || self.begun.elapsed() > LIMIT / 2;
        let (untried, tried): (Vec<Offered>, Vec<Offered>) =
            others.into_iter().partition(|tool| is_short && tool.is_plain());
        usable.extend(tried);
        rest.extend(untried);
        (usable, rest.into_iter().map(|tool| tool.name).collect())
    }

    /// Makes what these need.
    fn prepare(&self, trials: &[Trial]) -> io::Result<()> {
        for trial in trials {
            match trial.case {
                Case::Killed => self.stage.let_it_wait()?,
                Case::Gone => self.stage.take_guard_away()?,
                Case::Other if trial.command(self.stage, self.live).is_none() => {
                    self.stage.lay_out(&trial.mark(self.stage))?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Its tools that run a command, the likeliest first.
    fn runs(&self) -> Vec<String> {
        [self.live.tools.clone(), tools(self.stage, &[Does::Line, Does::Lines])].concat()
    }

    /// Its tools that write a file.
    fn writes(&self) -> Vec<String> {
        [self.live.writes.clone(), tools(self.stage, &[Does::Write, Does::Edit, Does::Patch])].concat()
    }

    /// How the stand-in is told to propose these; nothing more where there are none.
    fn step(&self, trials: &[Trial]) -> Value {
        let Some(first) = trials.first() else { return json!({ "say": "Nothing more to do." }) };
        if !self.live.says.is_empty() {
            let commands = trials.iter().filter_map(|trial| trial.command(self.stage, self.live));
            let said = commands.map(|command| self.live.says.replace("@COMMAND@", &command));
            return json!({ "say": said.collect::<String>() });
        }
        let own = first.other.as_ref().map(|(_, tool)| &tool.name).filter(|name| !self.stage.hears_no_typing(name));
        let other = own.map(|name| vec![name.clone()]);
        match first.command(self.stage, self.live) {
            Some(command) => {
                json!({ "run": { "command": command, "tools": other.unwrap_or_else(|| self.runs()) } })
            }
            None => {
                let tools = other.unwrap_or_else(|| self.writes());
                json!({ "write": { "path": first.mark(self.stage), "text": PLANTED, "tools": tools } })
            }
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
