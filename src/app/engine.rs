//! The engine: identifies the caller, loads the policy and the rules, judges the command and decides.
//!
//! `guard -- …`, `guard -c …`, `guard check` and `guard explain` all use it; only the first two continue with asking and
//! running. Out of scope: printing, and anything that runs a command.

mod record;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use thiserror::Error;

pub use self::record::{paths, requests, service};
use super::record_backend::RecordBackend;
use crate::config::approvers::{self, Enrolled};
use crate::config::defaults::FAIL_CLOSED_THRESHOLD;
use crate::config::{self, Loaded, Roots};
use crate::judge::analysis::inquiry::Answers;
use crate::judge::analysis::lookup::SearchedName;
use crate::judge::analysis::question::{Question, WorldAnswer};
use crate::judge::approved::{Grant, Rejudged};
use crate::judge::invocation::{Invocation, Line, Request};
use crate::judge::ledger::Ledger;
use crate::judge::policy::{Decision, Policy, SessionState, decide};
use crate::judge::risk::Tier;
use crate::judge::rules::catalog::{self, Catalog};
use crate::judge::syntax::tree::Dialect;
use crate::judge::tools::{self, ToolCall};
use crate::judge::{Judgment, behaviour, judge};
use crate::store::StoreError;
use crate::world::World;
use crate::world::identity::{Caller, IdentityError};
use crate::world::shell::{self, NoShell};

/// Everything that is known before a command is.
#[derive(Debug)]
pub struct Engine {
    pub caller: Caller,
    pub catalog: Catalog,
    config: Loaded,
    /// Pattern files that cannot be read.
    unreadable: Vec<String>,
    patterns: OnceCell<Patterns>,
    store: OnceCell<Result<RecordBackend, StoreError>>,
    shell: OnceCell<shell::Shell>,
}

/// What is said where the policy fails closed and would have asked a reviewer.
const LEFT_OUT: &str = "the reviewer is not asked until this is fixed (mode = \"smart\" acts as \"manual\"):";

/// All pattern files, read and checked.
#[derive(Debug)]
struct Patterns {
    /// What is wrong with them, a sentence each.
    problems: Vec<String>,
    /// The tightened configuration, where anything is.
    closed: Option<Box<Loaded>>,
}

/// A command, judged and decided on.
#[derive(Debug)]
pub struct JudgedCommand {
    pub judgment: Judgment,
    pub decision: Decision,
}

/// Why the engine cannot start.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    NoShell(#[from] NoShell),
    #[error("guard must not be setuid or setgid: it would decide for another account")]
    Setuid,
}

impl Engine {
    /// Finds out who is asking and reads the configuration. Pattern files are read as they come to matter: one that
    /// speaks of the command, when it is judged; all of them, when anything is found.
    ///
    /// # Errors
    /// [`EngineError`]: nothing can be judged then.
    pub fn open() -> Result<Self, EngineError> {
        if nix::unistd::getuid() != nix::unistd::geteuid() || nix::unistd::getgid() != nix::unistd::getegid() {
            return Err(EngineError::Setuid);
        }
        Ok(Self::of(Caller::of_this_process()?))
    }

    /// The engine of a caller: the configuration and the rules that hold where they stand.
    #[must_use]
    pub fn of(caller: Caller) -> Self {
        let roots = Roots::of(&caller.env, caller.account.home.as_deref(), caller.account.uid, &caller.cwd);
        let config = config::load(&roots);
        Self::under(caller, config)
    }

    /// The engine of a caller whose own files are closed to this account: under what the machine and the project say.
    #[must_use]
    pub fn of_a_stranger(caller: Caller) -> Self {
        let roots = Roots::of(&caller.env, None, caller.account.uid, &caller.cwd);
        let config = config::load(&Roots { named: None, ..roots });
        Self::under(caller, config)
    }

    /// The engine of a caller under another configuration than their own.
    #[must_use]
    pub fn under(caller: Caller, mut config: Loaded) -> Self {
        let (catalog, unreadable) = catalog(&config);
        if !config.policy.disabled_rules.is_empty() || !config.grants.is_empty() {
            config.check_rules(|id| catalog.rule(id).map(|rule| rule.tier));
        }
        if !unreadable.is_empty() {
            config.fail_closed();
        }
        let (patterns, store, shell) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self { caller, catalog, config, unreadable, patterns, store, shell }
    }

    /// The configuration as it holds: tightened, as far as it is known, when anything is wrong.
    pub fn config(&self) -> &Loaded {
        self.patterns.get().and_then(|patterns| patterns.closed.as_deref()).unwrap_or(&self.config)
    }

    /// What is wrong with pattern files, a sentence each. All are read for it, and from then on the configuration is
    /// tightened if there is anything.
    pub fn broken(&self) -> &[String] {
        let patterns = self.patterns.get_or_init(|| {
            let found = self.catalog.problems();
            let closed = (!found.is_empty()).then(|| {
                let mut closed = Box::new(self.config.clone());
                closed.fail_closed();
                closed
            });
            let problems = self.unreadable.iter().cloned().chain(found.iter().map(ToString::to_string)).collect();
            Patterns { problems, closed }
        });
        &patterns.problems
    }

    /// What is wrong with the configuration or a pattern file, a sentence each. The policy is tightened then.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let broken = self.broken().iter().cloned();
        let all = self.config.problems.iter().map(ToString::to_string).chain(broken);
        self.left_out().map(str::to_owned).into_iter().chain(all).collect()
    }

    /// That no reviewer is asked because of such a problem, where one is configured.
    #[must_use]
    pub fn left_out(&self) -> Option<&'static str> {
        let is_broken = !self.broken().is_empty() || !self.config.problems.is_empty();
        (is_broken && self.config().reviewer_left_out).then_some(LEFT_OUT)
    }

    /// Who is enrolled to approve what is of tier 3 and above.
    #[must_use]
    pub fn approvers(&self) -> Enrolled {
        let caller = &self.caller;
        let account = &caller.account;
        let roots = Roots::of(&caller.env, account.home.as_deref(), account.uid, &caller.cwd);
        // Where root names who may answer, nobody else names who signs.
        let shared = self.service().is_some();
        approvers::load(&if shared { Roots { home: None, named: None, ..roots } } else { roots })
    }

    /// A command string for the account's real shell.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] when there is none.
    pub fn line(
        &self,
        text: Vec<u8>,
        options: Vec<OsString>,
        positional: Vec<OsString>,
    ) -> Result<Request, EngineError> {
        let shell = match self.shell.get() {
            Some(found) => found,
            None => {
                let found = self.shell(None)?;
                self.shell.get_or_init(|| found)
            }
        };
        let (dialect, shell) = (shell.dialect, shell.path.clone());
        Ok(Request::Line(Line { text, dialect, shell, options, positional, before: Vec::new(), envelope: None }))
    }

    /// A call of a tool, with what of its input nobody is shown noted in it.
    #[must_use]
    pub fn tool(&self, mut call: ToolCall) -> Request {
        tools::conceal(&mut call, &self.catalog);
        Request::Tool(Box::new(call))
    }

    /// The real shell of this name, or the account's.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] when there is none.
    pub fn shell(&self, dialect: Option<Dialect>) -> Result<shell::Shell, EngineError> {
        let Caller { account, env, cwd, .. } = &self.caller;
        let found = match dialect {
            Some(dialect) => shell::named(dialect, account, env, cwd),
            None => shell::find(account, env, cwd),
        };
        Ok(found?)
    }

    /// A command string as `-c` gives it.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] when there is none.
    pub fn plain_line(&self, text: OsString) -> Result<Request, EngineError> {
        self.line(text.into_vec(), vec!["-c".into()], Vec::new())
    }

    /// The policy as it holds.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.config().policy
    }

    /// What the command would do, with the world's answers. Nothing that is flagged passes while any pattern file is
    /// broken, be it one that does not speak of the command.
    #[must_use]
    pub fn work_out(&self, invocation: &Invocation) -> Judgment {
        let ledger = || self.ledger(invocation);
        let judgment = judge_with(invocation, &self.catalog, self.policy(), &ledger);
        let is_flagged = judgment.risk.tier >= Tier::Medium || judgment.risk.score >= FAIL_CLOSED_THRESHOLD;
        if self.patterns.get().is_none() && is_flagged && !self.broken().is_empty() {
            return judge_with(invocation, &self.catalog, self.policy(), &ledger);
        }
        judgment
    }

    /// What the command would do where nothing of the world is known: nothing is asked, and it is judged strictly.
    #[must_use]
    pub fn work_out_unseen(&self, invocation: &Invocation) -> Judgment {
        judge(invocation, &self.catalog, self.policy(), &Answers::none())
    }

    /// What the command would do in this session's standing, anew: for what somebody said yes to a while ago.
    #[must_use]
    pub fn judge_again(&self, invocation: &Invocation) -> Rejudged {
        let mut fresh = self.work_out(invocation);
        fresh.risk = behaviour::weigh(fresh.risk, &self.standing(invocation), self.policy());
        Rejudged::just_now(fresh)
    }

    /// Judges a command, weighs it against the session's past, and decides.
    #[must_use]
    pub fn judge(&self, invocation: &Invocation) -> JudgedCommand {
        self.decided(invocation, self.work_out(invocation))
    }

    /// Judges a command in a directory that somebody names. Where there is none of that name, it is judged strictly: what
    /// lies elsewhere says nothing of it.
    #[must_use]
    pub fn judge_in(&self, directory: &Path, invocation: &mut Invocation) -> JudgedCommand {
        put_in(directory, invocation);
        let judgment = if is_known(directory) { self.work_out(invocation) } else { self.work_out_unseen(invocation) };
        self.decided(invocation, judgment)
    }

    /// Weighs a judgment against the session's past, and decides.
    fn decided(&self, invocation: &Invocation, mut judgment: Judgment) -> JudgedCommand {
        let mut standing = SessionState::default();
        let mut grants: Vec<Grant> = Vec::new();
        if behaviour::concerns(&judgment.risk) {
            standing = self.standing(invocation);
            judgment.risk = behaviour::weigh(judgment.risk, &standing, self.policy());
            if judgment.risk.tier >= Tier::Medium {
                grants = self.grants(invocation);
            }
        }
        let by = |policy: &Policy| decide(invocation, &judgment, policy, &standing, &grants);
        let mut decision = by(self.policy());
        // The help that guard comes with is looked up only where it would be held up.
        if judgment.risk.tier <= Tier::Medium && !matches!(decision, Decision::Run(_)) {
            let support = self.catalog.support();
            if !support.is_empty()
                && let helped @ Decision::Run(_) = by(&Policy { support, ..self.policy().clone() })
            {
                decision = helped;
            }
        }
        // Denials that were taken out by hand would be asked about again and again.
        if matches!(decision, Decision::Ask(_))
            && invocation.origin.is_guarded()
            && let Some(refusal) = self.edited(invocation)
        {
            decision = Decision::Refuse(refusal);
        }
        JudgedCommand { judgment, decision }
    }

    /// The process of the guard above this one. It is alive and runs this same file; nothing is handed down that a
    /// command could make up.
    #[must_use]
    pub fn parent(&self) -> Option<String> {
        // Most commands run below no guard, and need not look at files to know it. Under a shell's name it is called so.
        let may_be = |name: &str| name.starts_with("guard") || ["bash", "sh", "zsh"].contains(&name);
        if !self.caller.ancestors.iter().any(|process| may_be(&process.name)) {
            return None;
        }
        self.caller.guard_above()?.unique_name()
    }
}

/// Whether it is known what lies in a directory that somebody names: it is there, and named from the root.
#[must_use]
pub fn is_known(directory: &Path) -> bool {
    directory.is_absolute() && directory.is_dir()
}

/// Puts a command into a directory, as a shell that stands there starts it.
pub fn put_in(directory: &Path, invocation: &mut Invocation) {
    directory.clone_into(&mut invocation.cwd);
    invocation.env.variables.insert("PWD".into(), directory.into());
}

/// The built-in rules and those of the configured layers, and which files cannot be read.
fn catalog(config: &Loaded) -> (Catalog, Vec<String>) {
    let mut unreadable = Vec::new();
    let mut catalog = Catalog::builtin();
    for file in &config.pattern_files {
        let layer = match file.layer {
            config::Layer::BuiltIn => continue,
            config::Layer::Machine => catalog::Layer::Machine,
            config::Layer::User if file.only_tightens => catalog::Layer::Project,
            config::Layer::User => catalog::Layer::User,
            config::Layer::Redirected | config::Layer::Project => catalog::Layer::Project,
        };
        match std::fs::read_to_string(&file.path) {
            Ok(text) => catalog.add(catalog::PatternFile { layer, path: file.path.display().to_string(), text }),
            Err(error) => unreadable.push(format!("{}: {error}", file.path.display())),
        }
    }
    (catalog, unreadable)
}

/// Judges with the world's answers and no record: of a session that has done nothing yet.
#[must_use]
pub fn judge_here(invocation: &Invocation, catalog: &Catalog, policy: &Policy) -> Judgment {
    judge_with(invocation, catalog, policy, &|| Some(Ledger::default()))
}

/// Judges with the world's answers and those of the record, each looked up when it is asked for.
fn judge_with(
    invocation: &Invocation,
    catalog: &Catalog,
    policy: &Policy,
    ledger: &dyn Fn() -> Option<Ledger>,
) -> Judgment {
    let world = OnceCell::new();
    let world = || world.get_or_init(|| World::new(invocation));
    let source = |question: &Question| match question {
        Question::Ledger => ledger().map_or(WorldAnswer::Unavailable, WorldAnswer::Ledger),
        _ => world().answer(question),
    };
    let mut judgment = judge(invocation, catalog, policy, &Answers::of(&source));
    // What a person may be asked about is bound to the programs that it runs. What nobody is asked about costs nothing.
    if judgment.risk.tier >= Tier::Medium || judgment.risk.score >= FAIL_CLOSED_THRESHOLD {
        let found = Answers::none();
        for SearchedName { name, dirs } in &judgment.facts.programs {
            let question = Question::Resolve { name: name.clone(), dirs: dirs.to_vec() };
            let answer = world().answer(&question);
            found.insert(question, answer);
        }
        judgment.bind(&found);
    }
    judgment
}

/// The first of the files that a judgment rests on which no longer holds what was judged: looked at once more just
/// before a command runs. A command may still read other bytes than these when the file is written to from then on.
#[must_use]
pub fn changed_file(invocation: &Invocation, judgment: &Judgment) -> Option<String> {
    let mut world = None;
    judgment.rests_on.keys().find_map(|question| {
        let what = match question {
            Question::File(path) => format!("the content of {path}"),
            Question::Resolve { name, .. } => format!("the program that {name} resolves to"),
            _ => return None,
        };
        let now = world.get_or_insert_with(|| World::new(invocation)).answer(question);
        (!judgment.rests_on(question, &now)).then_some(what)
    })
}
