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
use crate::world::identity::{Caller, IdentityError};
use crate::world::shell::{self, NoShell};
use crate::world::{World, evidence};

/// The state that does not depend on the command: the caller, the policy, the rules, the record.
#[derive(Debug)]
pub struct Engine {
    pub caller: Caller,
    pub catalog: Catalog,
    config: Loaded,
    /// The pattern files that cannot be read.
    unreadable: Vec<String>,
    patterns: OnceCell<Patterns>,
    store: OnceCell<Result<RecordBackend, StoreError>>,
    shell: OnceCell<shell::Shell>,
}

/// The message if the policy fails closed and would have consulted a reviewer.
const LEFT_OUT: &str = "the reviewer is not asked until this is fixed (mode = \"smart\" acts as \"manual\"):";

/// All pattern files, parsed and checked.
#[derive(Debug)]
struct Patterns {
    /// Their errors, one sentence each.
    problems: Vec<String>,
    /// The stricter configuration that applies if there are errors.
    closed: Option<Box<Loaded>>,
}

/// A judged command, with the decision.
#[derive(Debug)]
pub struct JudgedCommand {
    pub judgment: Judgment,
    pub decision: Decision,
}

/// The reason why the engine cannot start.
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
    /// Identifies the caller and loads the configuration. Pattern files are read when they are needed: those about the
    /// programs of the command when it is judged, all of them if it has a finding.
    ///
    /// # Errors
    /// [`EngineError`]: nothing can be judged.
    pub fn open() -> Result<Self, EngineError> {
        if nix::unistd::getuid() != nix::unistd::geteuid() || nix::unistd::getgid() != nix::unistd::getegid() {
            return Err(EngineError::Setuid);
        }
        Ok(Self::of(Caller::of_this_process()?))
    }

    /// Creates the engine of a caller, with the configuration and the rules of the caller's directory.
    #[must_use]
    pub fn of(caller: Caller) -> Self {
        let roots = Roots::of(&caller.env, caller.account.home.as_deref(), caller.account.uid, &caller.cwd);
        let config = config::load(&roots);
        Self::under(caller, config)
    }

    /// Creates the engine of a caller whose files this account cannot read, with the layers of the machine and the
    /// project.
    #[must_use]
    pub fn of_a_stranger(caller: Caller) -> Self {
        let roots = Roots::of(&caller.env, None, caller.account.uid, &caller.cwd);
        let config = config::load(&Roots { named: None, ..roots });
        Self::under(caller, config)
    }

    /// Creates the engine of a caller with another configuration.
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

    /// Returns the configuration that applies, which is stricter if a file has errors.
    pub fn config(&self) -> &Loaded {
        self.patterns.get().and_then(|patterns| patterns.closed.as_deref()).unwrap_or(&self.config)
    }

    /// Reads all pattern files and returns their errors, one sentence each. If there are any, the configuration is
    /// stricter from then on.
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

    /// Returns the errors in the configuration and the pattern files, one sentence each. If there are any, the policy
    /// is stricter.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let broken = self.broken().iter().cloned();
        let all = self.config.problems.iter().map(ToString::to_string).chain(broken);
        self.left_out().map(str::to_owned).into_iter().chain(all).collect()
    }

    /// Returns the message that guard does not consult the configured reviewer because of such an error.
    #[must_use]
    pub fn left_out(&self) -> Option<&'static str> {
        let is_broken = !self.broken().is_empty() || !self.config.problems.is_empty();
        (is_broken && self.config().reviewer_left_out).then_some(LEFT_OUT)
    }

    /// Returns the approvers who are enrolled for tier 3 and above.
    #[must_use]
    pub fn approvers(&self) -> Enrolled {
        let caller = &self.caller;
        let account = &caller.account;
        let roots = Roots::of(&caller.env, account.home.as_deref(), account.uid, &caller.cwd);
        // With the system service, only root enrols approvers.
        let shared = self.service().is_some();
        approvers::load(&if shared { Roots { home: None, named: None, ..roots } } else { roots })
    }

    /// Creates the request to run a command string with the account's real shell.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] if there is none.
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

    /// Creates the request of a tool call, and marks the parts of its input that are not shown to people.
    #[must_use]
    pub fn tool(&self, mut call: ToolCall) -> Request {
        tools::conceal(&mut call, &self.catalog);
        Request::Tool(Box::new(call))
    }

    /// Returns the real shell of this name, or that of the account.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] if there is none.
    pub fn shell(&self, dialect: Option<Dialect>) -> Result<shell::Shell, EngineError> {
        let Caller { account, env, cwd, .. } = &self.caller;
        let found = match dialect {
            Some(dialect) => shell::named(dialect, account, env, cwd),
            None => shell::find(account, env, cwd),
        };
        Ok(found?)
    }

    /// Creates the request to run a command string as `-c` does.
    ///
    /// # Errors
    /// [`EngineError::NoShell`] if there is none.
    pub fn plain_line(&self, text: OsString) -> Result<Request, EngineError> {
        self.line(text.into_vec(), vec!["-c".into()], Vec::new())
    }

    /// Returns the policy that applies.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.config().policy
    }

    /// Judges a command with facts about the system. While any pattern file has errors, a command with a finding is
    /// judged by the stricter policy.
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

    /// Judges a command without facts about the system, with the strictest assumptions.
    #[must_use]
    pub fn work_out_unseen(&self, invocation: &Invocation) -> Judgment {
        judge(invocation, &self.catalog, self.policy(), &Answers::none())
    }

    /// Judges a command again, with the current state of the session, after it was approved.
    #[must_use]
    pub fn judge_again(&self, invocation: &Invocation) -> Rejudged {
        let mut fresh = self.work_out(invocation);
        fresh.risk = behaviour::weigh(fresh.risk, &self.standing(invocation), self.policy(), &invocation.cwd);
        Rejudged::just_now(fresh)
    }

    /// Judges a command, adds the behaviour of the session, and decides.
    #[must_use]
    pub fn judge(&self, invocation: &Invocation) -> JudgedCommand {
        self.decided(invocation, self.work_out(invocation))
    }

    /// Judges a command in a given directory. If the directory does not exist, the command is judged with the strictest
    /// assumptions.
    #[must_use]
    pub fn judge_in(&self, directory: &Path, invocation: &mut Invocation) -> JudgedCommand {
        put_in(directory, invocation);
        let judgment = if is_known(directory) { self.work_out(invocation) } else { self.work_out_unseen(invocation) };
        self.decided(invocation, judgment)
    }

    /// Adds the behaviour of the session to a judgment, and decides.
    fn decided(&self, invocation: &Invocation, mut judgment: Judgment) -> JudgedCommand {
        let mut standing = SessionState::default();
        let mut grants: Vec<Grant> = Vec::new();
        if behaviour::concerns(&judgment.risk) {
            standing = self.standing(invocation);
            judgment.risk = behaviour::weigh(judgment.risk, &standing, self.policy(), &invocation.cwd);
            if judgment.risk.tier >= Tier::Medium {
                grants = self.grants(invocation);
            }
        }
        let by = |policy: &Policy| decide(invocation, &judgment, policy, &standing, &grants);
        let mut decision = by(self.policy());
        // The built-in support commands are looked up only if the command would not run anyway.
        if judgment.risk.tier <= Tier::Medium && !matches!(decision, Decision::Run(_)) {
            let support = self.catalog.support();
            if !support.is_empty()
                && let helped @ Decision::Run(_) = by(&Policy { support, ..self.policy().clone() })
            {
                decision = helped;
            }
        }
        // Without this check, a user could remove the rows of denials and then ask again and again.
        if matches!(decision, Decision::Ask(_))
            && invocation.origin.is_guarded()
            && let Some(refusal) = self.edited(invocation)
        {
            decision = Decision::Refuse(refusal);
        }
        JudgedCommand { judgment, decision }
    }

    /// Returns the ancestor process that is a guard. It is alive and executes the same file; guard does not rely on
    /// anything that a command could forge.
    #[must_use]
    pub fn parent(&self) -> Option<String> {
        // Most commands have no such ancestor. The names of the ancestors show that without a look at files: guard is
        // called guard, or has the name of a shell.
        let may_be = |name: &str| name.starts_with("guard") || ["bash", "sh", "zsh"].contains(&name);
        if !self.caller.ancestors.iter().any(|process| may_be(&process.name)) {
            return None;
        }
        self.caller.guard_above()?.unique_name()
    }
}

/// Reports whether a given directory exists and its path is absolute.
#[must_use]
pub fn is_known(directory: &Path) -> bool {
    directory.is_absolute() && directory.is_dir()
}

/// Sets the directory of a command, as if a shell in that directory started it.
pub fn put_in(directory: &Path, invocation: &mut Invocation) {
    directory.clone_into(&mut invocation.cwd);
    invocation.env.variables.insert("PWD".into(), directory.into());
}

/// Returns the built-in rules with those of the configured layers, and the files that cannot be read.
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

/// Judges a command with facts about the system, as that of a new session.
#[must_use]
pub fn judge_here(invocation: &Invocation, catalog: &Catalog, policy: &Policy) -> Judgment {
    judge_with(invocation, catalog, policy, &|| Some(Ledger::default()))
}

/// Judges a command with facts about the system and from the record, each looked up when the judge asks for it.
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
    // An approval is bound to the programs that the command runs. They are resolved only if guard may ask.
    if judgment.risk.tier >= Tier::Medium || judgment.risk.score >= FAIL_CLOSED_THRESHOLD {
        let found = Answers::none();
        for SearchedName { name, dirs } in &judgment.facts.programs {
            let question = Question::Resolve { name: name.clone(), dirs: dirs.to_vec() };
            let answer = world().answer(&question);
            found.insert(question, answer);
        }
        for question in evidence::globs(&judgment.facts.acts, &judgment.risk.findings) {
            let answer = world().answer(&question);
            found.insert(question, answer);
        }
        judgment.bind(&found);
    }
    judgment
}

/// Returns the first file whose content differs from what was judged. It is called right before the command runs; the
/// file can still change after that.
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
