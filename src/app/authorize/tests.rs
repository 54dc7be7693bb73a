use std::path::PathBuf;

use super::*;
use crate::app::intent;
use crate::config::approvers::{self, Enrolled};
use crate::config::{self, Roots};
use crate::judge::approved::GrantExpiry;
use crate::judge::approver::{Approver, Cost};
use crate::judge::invocation::{Environment, Line, Session};
use crate::judge::policy::{Policy, Support};
use crate::judge::review::OpinionVerdict;
use crate::judge::rules::model::SessionNote;
use crate::judge::syntax::tree::Dialect;
use crate::store::{Entry, Filter, RowKind};
use crate::world::identity::{Account, Process};
use crate::world::terminal::TerminalState;

mod written;

/// A push that overwrites commits of others: tier 3.
const FLAGGED: [&str; 5] = ["git", "push", "--force", "origin", "main"];

/// A home directory with its own record, and the origin of the caller.
struct Home {
    directory: tempfile::TempDir,
    origin: Origin,
    ancestors: Vec<Process>,
    policy: Policy,
}

impl Home {
    fn of(origin: Origin) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for below in [".config/guard", "work"] {
            std::fs::create_dir_all(directory.path().join(below)).unwrap();
        }
        Self { directory, origin, ancestors: Vec::new(), policy: Policy::default() }
    }

    fn under(policy: Policy, origin: Origin) -> Self {
        Self { policy, ..Self::of(origin) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn engine(&self) -> Engine {
        let home = Some(self.directory.path().to_owned());
        let cwd = self.path("work");
        let roots = Roots {
            machine: self.path("machine"),
            machine_owner: 0,
            home: home.clone(),
            named: None,
            named_home: None,
            cwd: cwd.clone(),
            uid: 1000,
        };
        let mut config = config::load(&roots);
        assert_eq!(config.problems, []);
        // In the tests nobody answers.
        config.policy = Policy { queue_wait: 0, ..self.policy.clone() };
        let caller = Caller {
            cwd,
            env: [("PATH".into(), "/usr/bin:/bin".into())].into_iter().collect::<Environment>(),
            account: Account { uid: 1000, name: "ada".to_owned(), home, shell: None },
            origin: self.origin,
            session: Session { id: "s".to_owned(), root: "r".to_owned(), agent: None },
            terminal: TerminalState::NoTerminal,
            ancestors: self.ancestors.clone(),
        };
        Engine::under(caller, config)
    }

    /// Asks about a command, and applies this answer after `between` has run.
    fn answered(
        &self,
        engine: &Engine,
        words: &[&str],
        asked: impl FnOnce(&Invocation, &Judgment) -> AskOutcome,
        between: impl FnOnce(),
    ) -> Result<ApprovedCommand, u8> {
        let invocation = argv(engine, words);
        let judgment = engine.judge(&invocation).judgment;
        let asked = asked(&invocation, &judgment);
        let shown = PromptedCommand::now(engine, invocation, &judgment);
        between();
        shown.apply_answer(TimedOutcome { outcome: asked, time: Duration::from_millis(1500), opinion: Some(opinion()) })
    }

    /// Enrols an approver, so that approvals of tier 3 and above must be signed.
    fn enrol(&self) {
        let cost = Cost { memory: 64, passes: 1 };
        let ada = Approver::with_passphrase("ada", "correct horse battery", [1; 16], cost).unwrap();
        let directory = self.path(".config/guard/approvers");
        let _ = approvers::enrol(&Enrolled { directory, ..Enrolled::default() }, &ada).unwrap();
    }

    fn rows(&self) -> Vec<Entry> {
        let engine = self.engine();
        let Some(store) = engine.existing().unwrap() else { return Vec::new() };
        let mut rows = store.find(&Filter::default()).unwrap();
        rows.sort_unstable();
        rows.into_iter().map(|row| store.entry(row).unwrap()).collect()
    }

    /// Returns the only row of the record.
    fn row(&self) -> Entry {
        let mut rows = self.rows();
        assert_eq!(rows.len(), 1, "{rows:#?}");
        rows.remove(0)
    }

    /// Makes the record unwritable, by a file at the path of its directory.
    fn without_record(self) -> Self {
        std::fs::create_dir_all(self.path(".local/share")).unwrap();
        std::fs::write(self.path(".local/share/guard"), "").unwrap();
        self
    }
}

fn argv(engine: &Engine, words: &[&str]) -> Invocation {
    engine.caller.invocation(Request::Argv(words.iter().map(Into::into).collect()))
}

fn line(engine: &Engine, text: &str) -> Invocation {
    engine.caller.invocation(Request::Line(Line {
        text: text.as_bytes().to_owned(),
        dialect: Dialect::Bash,
        shell: "/bin/bash".into(),
        options: vec!["-c".into()],
        positional: Vec::new(),
        before: Vec::new(),
        envelope: None,
    }))
}

fn yes(_: &Invocation, _: &Judgment) -> AskOutcome {
    AskOutcome::Yes { grant: None, by: None }
}

fn no(refusal: Refusal) -> impl FnOnce(&Invocation, &Judgment) -> AskOutcome {
    move |_, _| AskOutcome::No(refusal)
}

fn opinion() -> Opinion {
    Opinion {
        says: OpinionVerdict::Deny,
        reason: "it loses work".to_owned(),
        by: "a model".to_owned(),
        about: String::new(),
        policy: String::new(),
        ms: 1,
        tokens: 1,
        cost: 1,
        again: false,
        yolo: Vec::new(),
    }
}

fn authorized(engine: &Engine, invocation: Invocation, options: RunOptions) -> Result<ApprovedCommand, u8> {
    authorize(engine, invocation, options, &mut exec::preserve::capture_at_start())
}

const PLAIN: RunOptions = RunOptions { yes: false, no_wait: false, watched: false, unasked: false };

#[test]
fn what_nobody_need_be_asked_about_runs_and_is_written_down_first() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let ready = authorized(&engine, argv(&engine, &["ls"]), PLAIN).unwrap();
    assert!(!ready.asked);
    let row = home.row();
    assert_eq!(ready.receipt, Receipt::Recorded(row.id));
    assert_eq!((row.kind, row.decision.as_deref()), (RowKind::Intent, Some("allow")));
    assert_eq!(row.answer_ms, None);
}

#[test]
fn what_changed_while_it_was_judged_does_not_run() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    std::fs::write(home.path("work/tidy.sh"), "ls\n").unwrap();
    let invocation = argv(&engine, &["sh", "tidy.sh"]);
    let JudgedCommand { judgment, decision: Decision::Run(cleared) } = engine.judge(&invocation) else {
        panic!("a script that lists is asked about");
    };
    let approved = |invocation: &Invocation| Approved::by_policy(invocation.clone(), &judgment, &cleared);
    assert!(at_once(&engine, approved(&invocation), &judgment, PLAIN).is_ok());
    std::fs::write(home.path("work/tidy.sh"), "git push --force origin main\n").unwrap();
    assert_eq!(at_once(&engine, approved(&invocation), &judgment, PLAIN).unwrap_err(), exit::REFUSED);
    let decisions: Vec<_> = home.rows().into_iter().filter_map(|row| row.decision).collect();
    assert_eq!(decisions, ["allow", "deny"]);
}

#[test]
fn who_wants_nobody_to_be_asked_is_told_so_and_nothing_is_written() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let unasked = RunOptions { unasked: true, ..PLAIN };
    assert_eq!(authorized(&engine, argv(&engine, &FLAGGED), unasked).unwrap_err(), exit::NOT_UNASKED);
    let limited = Home::under(Policy { prompts_per_hour: 0, ..Policy::default() }, Origin::Agent);
    let engine = limited.engine();
    assert_eq!(authorized(&engine, argv(&engine, &FLAGGED), unasked).unwrap_err(), exit::NOT_UNASKED);
    assert!(home.rows().is_empty() && limited.rows().is_empty());
    assert!(authorized(&engine, argv(&engine, &["ls"]), unasked).is_ok());
}

#[test]
fn only_a_person_on_their_own_command_line_says_yes_in_advance() {
    let with_yes = RunOptions { yes: true, no_wait: true, ..PLAIN };
    let home = Home::of(Origin::Cli);
    let engine = home.engine();
    let ready = authorized(&engine, argv(&engine, &FLAGGED), with_yes).unwrap();
    assert_eq!(ready.approved.basis(), &ApprovalReason::YesInAdvance);
    let without = RunOptions { yes: false, ..with_yes };
    for (origin, words, options) in [
        (Origin::Cli, &FLAGGED[..], without),
        (Origin::Agent, &FLAGGED[..], with_yes),
        (Origin::Cli, &["rm", "-rf", "/"], with_yes),
    ] {
        let home = Home::of(origin);
        let engine = home.engine();
        let refused = authorized(&engine, argv(&engine, words), options).unwrap_err();
        assert!([exit::QUEUED, exit::REFUSED].contains(&refused), "{words:?}");
        assert!(home.rows().iter().all(|row| row.decision.as_deref() != Some("allow")), "{words:?}");
    }
}

#[test]
fn a_yes_that_has_to_be_signed_is_not_said_in_advance() {
    let home = Home::of(Origin::Cli);
    let engine = home.engine();
    let invocation = argv(&engine, &FLAGGED);
    let Decision::Ask(prompt) = engine.judge(&invocation).decision else { panic!("it is asked about") };
    assert!(may_say_yes(&engine, &invocation, &prompt));
    assert!(!may_say_yes(&engine, &invocation, &Prompt { approvals: 2, ..prompt.clone() }));
    assert!(!may_say_yes(&engine, &invocation, &Prompt { decision: true, ..prompt.clone() }));
    home.enrol();
    assert!(!may_say_yes(&home.engine(), &invocation, &prompt));
}

#[test]
fn the_hourly_limit_counts_what_this_session_was_asked() {
    let home = Home::under(Policy { prompts_per_hour: 2, breaker_after: 100, ..Policy::default() }, Origin::Agent);
    let engine = home.engine();
    let decision = || engine.judge(&argv(&engine, &FLAGGED)).decision;
    for _ in 0..2 {
        assert!(matches!(decision(), Decision::Ask(_)));
        let refused = no(Refusal::Person { words: None });
        assert_eq!(home.answered(&engine, &FLAGGED, refused, || ()).unwrap_err(), exit::REFUSED);
    }
    assert!(matches!(decision(), Decision::Refuse(Refusal::RateLimited { per_hour: 2 })));
    assert_eq!(authorized(&engine, argv(&engine, &FLAGGED), PLAIN).unwrap_err(), exit::REFUSED);
    let last = home.rows().pop().unwrap();
    assert_eq!((last.decision.as_deref(), last.answer_ms), (Some("deny"), None));
}

#[test]
fn help_is_given_whatever_the_limits_say_and_even_without_a_record() {
    let words = ["curl", "-X", "POST", "https://help.example/call"];
    let support = vec![Support { argv: words.map(str::to_owned).to_vec(), why: "help".to_owned() }];
    let mut policy = Policy { prompts_per_hour: 0, breaker_after: 0, ..Policy::default() };
    policy.thresholds.agent = crate::judge::risk::Weight(0);
    for home in [
        Home::under(Policy { support: support.clone(), ..policy.clone() }, Origin::Agent),
        Home::under(Policy { support, ..policy.clone() }, Origin::Agent).without_record(),
    ] {
        let engine = home.engine();
        let ready = authorized(&engine, argv(&engine, &words), PLAIN).unwrap();
        assert_eq!(ready.approved.basis(), &ApprovalReason::Support);
        assert!(authorized(&engine, argv(&engine, &[&words[..], &["-d", "x"]].concat()), PLAIN).is_err());
    }
    let home = Home::under(policy, Origin::Agent);
    let engine = home.engine();
    assert_eq!(authorized(&engine, argv(&engine, &words), PLAIN).unwrap_err(), exit::REFUSED);
    // The built-in support commands need no configuration.
    let known = engine.catalog.support();
    let words: Vec<&str> = known.first().unwrap().argv.iter().map(String::as_str).collect();
    let ready = authorized(&engine, argv(&engine, &words), PLAIN).unwrap();
    assert_eq!(ready.approved.basis(), &ApprovalReason::Support);
}

#[test]
fn nothing_that_is_flagged_runs_without_a_record() {
    let home = Home::of(Origin::Agent).without_record();
    let engine = home.engine();
    assert_eq!(home.answered(&engine, &FLAGGED, yes, || ()).unwrap_err(), exit::REFUSED);
    let harmless = authorized(&engine, argv(&engine, &["ls"]), PLAIN).unwrap();
    assert_eq!(harmless.receipt, Receipt::Unrecorded);
}

#[test]
fn a_yes_lets_run_what_was_shown_and_the_row_says_who_gave_it() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let by = |_: &Invocation, _: &Judgment| AskOutcome::Yes { grant: None, by: Some("ada, elsewhere".to_owned()) };
    let ready = home.answered(&engine, &FLAGGED, by, || ()).unwrap();
    assert!(ready.asked);
    assert_eq!(ready.approved.basis(), &ApprovalReason::Person);
    let row = home.row();
    assert_eq!(ready.receipt, Receipt::Recorded(row.id));
    assert_eq!((row.decision.as_deref(), row.answer_ms), (Some("allow"), Some(1500)));
    assert_eq!(row.words.as_deref(), Some("ada, elsewhere"));
    assert_eq!(row.review.map(|opinion| opinion.reason), Some("it loses work".to_owned()));
}

#[test]
fn a_yes_is_void_when_the_script_has_other_bytes_by_then() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let script = home.path("work/ship.sh");
    std::fs::write(&script, "git push --force origin main\n").unwrap();
    let words = ["sh", "ship.sh"];
    assert!(home.answered(&engine, &words, yes, || ()).is_ok());
    let change = || std::fs::write(&script, "git push --force origin main # now\n").unwrap();
    assert_eq!(home.answered(&engine, &words, yes, change).unwrap_err(), exit::REFUSED);
    let last = home.rows().pop().unwrap();
    assert_eq!((last.decision.as_deref(), last.answer_ms), (Some("deny"), Some(1500)));
    assert!(last.review.is_some());
}

#[test]
fn a_yes_is_void_when_another_directory_has_taken_the_name_of_this_one() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let swap = || {
        std::fs::rename(home.path("work"), home.path("was")).unwrap();
        std::fs::create_dir(home.path("work")).unwrap();
    };
    let shown = argv(&engine, &FLAGGED);
    let judgment = engine.judge(&shown).judgment;
    let shown = PromptedCommand::now(&engine, shown, &judgment);
    assert!(shown.still_approved().is_ok());
    swap();
    let refusal = shown.still_approved().unwrap_err();
    assert_eq!(refusal, Refusal::Changed { what: "the working directory".to_owned() });
    assert_eq!(
        home.answered(&engine, &FLAGGED, yes, || std::fs::remove_dir(home.path("work")).unwrap()).unwrap_err(),
        126
    );
}

#[test]
fn a_yes_is_void_when_the_session_has_been_denied_it_meanwhile() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let denied = || {
        let refusal = no(Refusal::Person { words: None });
        assert!(home.answered(&engine, &FLAGGED, refusal, || ()).is_err());
    };
    assert_eq!(home.answered(&engine, &FLAGGED, yes, denied).unwrap_err(), exit::REFUSED);
}

#[test]
fn a_grant_is_kept_once_its_command_may_run_and_not_before() {
    let grants = |engine: &Engine| engine.store().unwrap().own().unwrap().grants(Timestamp::now()).unwrap().len();
    let offer = |_: &Invocation, _: &Judgment| {
        let grant = GrantOffer { until: GrantExpiry::Revoked, words: "exactly this command".to_owned() };
        AskOutcome::Yes { grant: Some(grant), by: None }
    };
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let gone = || std::fs::remove_dir(home.path("work")).unwrap();
    assert!(home.answered(&engine, &FLAGGED, offer, gone).is_err());
    assert_eq!(grants(&engine), 0);
    std::fs::create_dir(home.path("work")).unwrap();
    assert!(home.answered(&engine, &FLAGGED, yes, || ()).is_ok());
    assert_eq!(grants(&engine), 0);
    assert!(home.answered(&engine, &FLAGGED, offer, || ()).is_ok());
    assert_eq!(grants(&engine), 1);
    let ready = authorized(&engine, argv(&engine, &FLAGGED), PLAIN).unwrap();
    assert!(matches!(ready.approved.basis(), ApprovalReason::Grant(_)));
}

#[test]
fn no_grant_is_offered_or_learned_for_what_none_may_cover() {
    let home = Home::of(Origin::Agent);
    let engine = home.engine();
    let invocation = argv(&engine, &FLAGGED);
    let JudgedCommand { mut judgment, decision: Decision::Ask(prompt) } = engine.judge(&invocation) else {
        panic!("it is asked about");
    };
    let offered = |judgment: &Judgment, prompt: &Prompt| {
        let card = ask::card(&engine, &invocation, judgment, prompt);
        let view = [&card.view.session_grant, &card.view.standing_grant].map(Option::is_some);
        assert_eq!(view, [card.session.is_some(), card.always.is_some()]);
        view
    };
    assert_eq!(offered(&judgment, &prompt), [true, true]);
    assert_eq!(offered(&judgment, &Prompt { may_grant: false, ..prompt.clone() }), [false, false]);
    let told = RowDetails { answer: Some(Duration::from_secs(1)), ..RowDetails::default() };
    let person = RecordedDecision::Allowed(&ApprovalReason::Person);
    let write = |judgment: &Judgment| {
        let digest = invocation.digest(&judgment.facts.expanded);
        let _ = record(&engine, &invocation, judgment, digest, person, &told).unwrap();
    };
    write(&judgment);
    judgment.may_grant = false;
    assert_eq!(offered(&judgment, &prompt), [false, false]);
    write(&judgment);
    let answered = engine.store().unwrap().own().unwrap().answers_by_shape(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(answered.iter().map(|shape| shape.allowed).sum::<u32>(), 1);
    assert_eq!(home.rows().len(), 2);
}

/// Returns a home in which a hook left this line to its agent's prompt.
fn handed(text: &str) -> Home {
    let mut home = Home::of(Origin::Agent);
    home.ancestors = vec![Process { pid: 1, parent: 0, name: "claude".to_owned(), started: 0 }];
    let engine = home.engine();
    assert!(engine.caller.is_child_of_agent());
    let invocation = line(&engine, text);
    let judgment = engine.judge(&invocation).judgment;
    let digest = invocation.digest(&judgment.facts.expanded);
    let directory = paths::physical(&invocation.cwd);
    let handed = HandedCommand { text: text.as_bytes(), cwd: &directory, root: &invocation.session.root };
    let row = IntentRow::plain(Timestamp::now(), &invocation, digest, &judgment.risk, RecordedDecision::Asked);
    let _ = engine.store().unwrap().advised(&row, Some(&handed)).unwrap();
    home
}

#[test]
fn what_a_hook_handed_to_its_agent_runs_once_as_that_very_line() {
    let text = "git push --force origin main";
    let by_host = |home: &Home, change: &dyn Fn(&mut Invocation, &mut Judgment)| {
        let engine = home.engine();
        let mut invocation = line(&engine, text);
        let mut judgment = engine.judge(&invocation).judgment;
        change(&mut invocation, &mut judgment);
        by_host(&engine, &invocation, &judgment)
    };
    let home = handed(text);
    let given = |change: &dyn Fn(&mut Invocation, &mut Judgment)| by_host(&home, change).is_some();
    let each = |invocation: &mut Invocation, change: &dyn Fn(&mut Line)| match &mut invocation.request {
        Request::Line(line) => change(line),
        _ => panic!("a line"),
    };
    // None of these uses up the approval.
    assert!(!given(&|invocation, _| each(invocation, &|line| line.positional.push("x".into()))));
    assert!(!given(&|invocation, _| each(invocation, &|line| line.text.push(b' '))));
    assert!(!given(&|invocation, _| invocation.request = Request::Argv(FLAGGED.map(Into::into).to_vec())));
    assert!(!given(&|invocation, _| invocation.cwd.push("below")));
    assert!(!given(&|invocation, _| invocation.session.root.push('x')));
    assert!(!given(&|_, judgment| judgment.risk.tier = Tier::Critical));
    assert!(!given(&|_, judgment| judgment.risk.findings[0].notes.push(SessionNote::Decision)));
    let stranger = Process { pid: 2, parent: 1, name: "cron".to_owned(), started: 0 };
    let ancestors = [vec![stranger], home.ancestors.clone()].concat();
    let below = Home { ancestors, ..handed(text) };
    assert!(by_host(&below, &|_, _| ()).is_none());
    let ready = by_host(&home, &|_, _| ()).unwrap();
    assert_eq!((ready.approved.basis(), ready.asked), (&ApprovalReason::Host, false));
    assert!(by_host(&home, &|_, _| ()).is_none(), "it is used up");
    let signed = handed(text);
    signed.enrol();
    assert!(by_host(&signed, &|_, _| ()).is_none(), "an agent's prompt signs nothing");
}
