//! Checks of guard itself: the record, the configuration, the rules, the clock, and whether a person can answer.

use std::time::SystemTime;

use guard_system::lets_keys_be_injected;
use jiff::{SignedDuration, Timestamp};

use super::{CheckContext, Finding};
use crate::app::export::deliver;
use crate::app::gateway;
use crate::app::update::{self, CheckOutput};
use crate::config::reviewer::{Provider, ReviewerModel};
use crate::judge::policy::Mode;
use crate::store::{Filter, Store};
use crate::ui::count::counted;

/// A record larger than this, in bytes, is not verified here.
const MAX_READ: u64 = 16 << 20;

/// The largest error of the clock that is not reported.
const SLACK: SignedDuration = SignedDuration::from_mins(5);

type Check = fn(&CheckContext) -> Vec<Finding>;

/// Checks everything that guard needs.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let checks: [(&str, Check); 7] = [
        ("record", record),
        ("export", exported),
        ("config", rules),
        ("clock", clock),
        ("person", person),
        ("terminal", terminal),
        ("update", newest),
    ];
    checks.into_iter().filter(|(name, _)| context.wants(name)).flat_map(|(_, check)| check(context)).collect()
}

/// Checks for a newer version, if a program that reports it is configured.
fn newest(context: &CheckContext) -> Vec<Finding> {
    let Some(said) = update::newest(context.engine) else { return Vec::new() };
    let own = update::OWN;
    vec![match (&said, said.newer()) {
        (_, Some(newer)) => Finding::warn(
            "update",
            format!("guard {newer} is available; this is {own}"),
            "install it, then run guard doctor",
        ),
        (CheckOutput::Failed(why), _) => {
            let remedy = "fix update.command, or remove it: guard config unset update.command";
            Finding::warn("update", format!("cannot check for a newer version: {why}"), remedy)
        }
        (CheckOutput::Version(_), None) => Finding::ok("update", format!("guard {own} is the newest version")),
    }]
}

fn record(context: &CheckContext) -> Vec<Finding> {
    let engine = context.engine;
    let remedy = "fix it; until then flagged commands do not run";
    if let Some(service) = engine.service() {
        let (account, socket) = (&service.account, service.socket.display());
        return vec![match engine.requests().and_then(|requests| requests.list(Timestamp::now())) {
            Ok(_) => Finding::ok("record", format!("the record service runs as {account} and answers at {socket}")),
            Err(error) => Finding::fail("record", error.to_string(), "see systemctl status guard"),
        }];
    }
    let paths = match engine.paths() {
        Ok(paths) => paths,
        Err(error) => return vec![Finding::fail("record", error.to_string(), "set HOME to your home directory")],
    };
    let database = paths.database();
    let store = match Store::open(&paths) {
        Ok(store) => store,
        Err(error) => return vec![Finding::fail("record", error.to_string(), remedy).about(&database)],
    };
    if let Err(error) = store.writable() {
        return vec![Finding::fail("record", format!("cannot write the record: {error}"), remedy).about(&database)];
    }
    let size = database.metadata().map_or(0, |about| about.len());
    if size > MAX_READ {
        let says = format!("the record is writable; it was not checked completely, because it has {} MiB", size >> 20);
        return vec![Finding::ok("record", format!("{says} (run guard verify)")).about(&database)];
    }
    let finding = match store.verify() {
        Ok(audit) if audit.faults.is_empty() => {
            let rows = counted(audit.rows, "row is", "rows are");
            Finding::ok("record", format!("the record is writable, and its {rows} unchanged"))
        }
        Ok(audit) => {
            let first = audit.faults.first().map(ToString::to_string).unwrap_or_default();
            Finding::fail(
                "record",
                format!("the record was changed after it was written: {first}"),
                "guard verify lists all problems",
            )
        }
        Err(error) => Finding::fail("record", error.to_string(), remedy),
    };
    vec![finding.about(&database)]
}

/// Checks whether every configured collector receives the rows. Reports nothing if none is configured.
fn exported(context: &CheckContext) -> Vec<Finding> {
    if context.engine.service().is_some() {
        return Vec::new();
    }
    let remedy = "check that the collector listens, then run guard export --deliver; commands do not wait for it";
    match deliver::states(context.engine) {
        Ok(states) => states
            .into_iter()
            .map(|state| match state.trouble {
                true => Finding::warn("export", state.says, remedy),
                false => Finding::ok("export", state.says),
            })
            .collect(),
        Err(error) => vec![Finding::warn("export", error.to_string(), remedy)],
    }
}

fn rules(context: &CheckContext) -> Vec<Finding> {
    let engine = context.engine;
    let broken = engine.broken();
    let remedy = "guard config check lists them all; until they are fixed, grants are ignored and guard asks a person";
    let mut findings: Vec<Finding> = broken.iter().map(|problem| Finding::fail("config", problem, remedy)).collect();
    let config = engine.config();
    findings.extend(config.problems.iter().map(|problem| Finding::fail("config", problem.to_string(), remedy)));
    findings.extend(
        config.warnings.iter().map(|problem| Finding::warn("config", problem.to_string(), "see guard config check")),
    );
    let policy = engine.policy();
    if policy.mode == Mode::Off {
        let says = "mode is off: everything up to tier 3 runs without asking";
        findings.push(Finding::warn(
            "config",
            says,
            "set mode = \"manual\" in the file that guard config show mode prints",
        ));
    }
    if policy.yolo {
        let says = "yolo is set: commands that cannot be undone may run without asking";
        findings.push(Finding::warn("config", says, "remove yolo from the file that guard config show yolo prints"));
    }
    if policy.mode == Mode::Smart {
        findings.extend(reviewer(context));
    }
    if findings.is_empty() {
        let files = config.places.iter().filter(|place| place.found).count();
        let counted = |count: usize, what: &str| format!("{count} {what} file{}", if count == 1 { "" } else { "s" });
        let (files, patterns) = (counted(files, "configuration"), counted(config.pattern_files.len(), "pattern"));
        let says = format!("valid: {files}, {patterns}");
        findings.push(Finding::ok("config", says));
    }
    findings
}

/// Checks which reviewer is configured, whether it can be reached, and which rules let it decide.
fn reviewer(context: &CheckContext) -> Vec<Finding> {
    let engine = context.engine;
    let Some((reviewer, _)) = &engine.config().reviewer else { return Vec::new() };
    let mut findings = Vec::new();
    let rules = engine.catalog.all_rules().filter(|rule| rule.yolo).map(|rule| rule.id.as_str());
    let tools = engine.catalog.tools().filter(|(_, tool)| tool.yolo).map(|(_, tool)| tool.id.as_str());
    let lent: Vec<&str> = rules.chain(tools).collect();
    if !lent.is_empty() {
        let says = format!(
            "yolo: the reviewer may decide commands that cannot be undone if these rules match: {}",
            lent.join(", ")
        );
        findings.push(Finding::warn(
            "config",
            says,
            "remove yolo from the rules unless it is intended (guard patterns show RULE)",
        ));
    }
    let is_program = |voice: &ReviewerModel| voice.provider == Provider::Program;
    if reviewer.voices.iter().any(|voice| !is_program(voice))
        && let Err(why) = gateway::find()
    {
        findings.push(Finding::warn(
            "config",
            format!("cannot ask the reviewer: {why}"),
            "install it in the directory of guard",
        ));
    }
    for voice in reviewer.voices.iter().filter(|voice| is_program(voice)) {
        if !voice.program.first().is_some_and(|program| std::path::Path::new(program).is_file()) {
            let says = format!("cannot ask the reviewer: {} not found", voice.program.concat());
            findings.push(Finding::warn("config", says, "guard config show reviewer prints the file"));
        }
    }
    if findings.is_empty() {
        let says = format!("{} reviews the commands that it may decide; guard reviewer test tests it", reviewer.name());
        findings.push(Finding::ok("config", says));
    }
    findings
}

/// Checks the clock. With a wrong clock, grants last too long and rows are ordered wrongly.
fn clock(context: &CheckContext) -> Vec<Finding> {
    let now = Timestamp::now();
    let remedy = "set the clock; until then recorded times and the ends of grants are wrong";
    let mut later: Option<(&str, Timestamp)> = None;
    let mut consider = |what: &'static str, at: Option<Timestamp>| {
        if let Some(at) = at.filter(|at| now.checked_add(SLACK).is_ok_and(|now| *at > now))
            && later.is_none_or(|(_, latest)| at > latest)
        {
            later = Some((what, at));
        }
    };
    let changed = |time: std::io::Result<SystemTime>| time.ok().and_then(|time| Timestamp::try_from(time).ok());
    consider("guard's own program", context.guard.metadata().ok().and_then(|about| changed(about.modified())));
    if let Ok(Some(store)) = context.engine.existing() {
        let newest =
            store.find(&Filter { limit: Some(1), ..Filter::default() }).ok().and_then(|ids| ids.first().copied());
        consider("the newest row of the record", newest.and_then(|id| store.entry(id).ok()).map(|entry| entry.time));
    }
    match later {
        Some((what, at)) => {
            let says = format!("{what} is from {at}, but the clock says {now}");
            vec![Finding::fail("clock", says, remedy)]
        }
        None => vec![Finding::ok("clock", "the clock is later than the newest row of the record")],
    }
}

/// Checks whether a person can be asked, and where.
fn person(context: &CheckContext) -> Vec<Finding> {
    let terminal = &context.engine.caller.terminal;
    if terminal.is_person_here() {
        return vec![Finding::ok("person", "a person can be asked at this terminal")];
    }
    let wait = context.engine.policy().queue_wait;
    if wait > 0 {
        let says = format!("{terminal}; requests from here wait {wait} s in the queue for an answer elsewhere");
        return vec![Finding::warn("person", says, "keep guard review open at a terminal to answer")];
    }
    vec![Finding::warn(
        "person",
        terminal.to_string(),
        "set queue.wait, or run commands at your own terminal; here guard refuses them",
    )]
}

/// Checks whether a program at the terminal could type the answer to a question itself. The kernel does not tell which
/// keys were typed and which were injected.
fn terminal(_context: &CheckContext) -> Vec<Finding> {
    let can = "a program that runs at the same terminal can put keys into the prompt (TIOCSTI)";
    vec![match lets_keys_be_injected() {
        Some(false) => Finding::ok("terminal", "no program can put keys into the prompt (TIOCSTI is off)"),
        Some(true) => Finding::warn("terminal", can, "turn it off, as root: sysctl -w dev.tty.legacy_tiocsti=0"),
        None => Finding::ok("terminal", format!("{can}; this system has no setting that prevents it")),
    }]
}
