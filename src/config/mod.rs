//! Loads the configuration: the layers, their schema, and the origin of each value.
//!
//! [`load`] reads every layer, merges them by the rules in [`layers`], and returns one [`Policy`]. It never fails: if a
//! file has errors, the policy is made stricter, so that no command with a finding runs without a prompt
//! ([`defaults::fail_closed`]), grants are ignored, and each error is reported with its file, line and key.
//!
//! Out of scope: the environment (only [`Roots::of`] reads it), and decisions about commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub mod approvers;
pub mod defaults;
pub mod destination;
pub mod document;
pub mod errors;
pub mod keys;
pub mod layer;
pub mod layers;
pub mod manual;
pub mod paths;
pub mod reviewer;
pub mod schema;
pub mod service;
pub mod values;

pub use errors::ConfigProblem;
pub use layer::Layer;
pub use layers::{PatternFile, Provenance, ValueSource};
pub use paths::Roots;
pub use reviewer::Reviewer;
pub use service::Service;

use jiff::Timestamp;

use crate::judge::approved::{Grant, GrantExpiry, GrantSubject};
use crate::judge::policy::{Mode, Policy};
use crate::judge::risk::Tier;
use document::Document;
use keys::Key;
use layers::MergedConfig;
use paths::{Finder, LayerContents, PROJECT_FILE, PROJECT_PATTERNS, is_same};

/// The configuration that applies.
#[must_use]
#[derive(Clone, Debug)]
pub struct Loaded {
    pub policy: Policy,
    /// The errors. If there are any, `policy` is the stricter one and `grants` is empty.
    pub problems: Vec<ConfigProblem>,
    /// Oddities without an effect, for `guard config check`.
    pub warnings: Vec<ConfigProblem>,
    /// The pattern files, those of the weakest layer first, by name within a layer.
    pub pattern_files: Vec<PatternFile>,
    /// The grants in the files of the machine and the user that have not expired.
    pub grants: Vec<Grant>,
    /// The system service, if the machine's file names one.
    pub service: Option<Service>,
    /// The reviewer, with the origin of the table. Without errors it is present if the mode is `smart`.
    pub reviewer: Option<(Reviewer, ValueSource)>,
    /// The searched files, those of the weakest layer first.
    pub places: Vec<LayerFiles>,
    /// Whether a configured reviewer is not consulted because of errors, so that only people decide.
    pub reviewer_left_out: bool,
    /// The file of each entry in `grants`.
    grant_files: Vec<Arc<Path>>,
    joined: MergedConfig,
}

/// A searched file and directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerFiles {
    pub layer: Layer,
    pub file: PathBuf,
    /// Whether the file exists and was read.
    pub found: bool,
    pub patterns: PathBuf,
}

impl Loaded {
    /// Returns every value with its origin, in the order of the table of keys.
    #[must_use]
    pub fn sources(&self) -> Vec<Provenance> {
        self.joined.sources()
    }

    /// Returns the path of the account's own configuration file, whether or not it exists.
    #[must_use]
    pub fn own_file(&self) -> Option<&Path> {
        self.places.iter().rfind(|place| place.layer == Layer::User).map(|place| &*place.file)
    }

    /// Reports whether the machine's file locks this key.
    #[must_use]
    pub fn is_locked(&self, key: Key) -> bool {
        self.joined.is_locked(key)
    }

    /// Checks the IDs of rules in the configuration: rules of tier 4 cannot be disabled or granted. An unknown ID is a
    /// warning, because rules are added and removed.
    pub fn check_rules(&mut self, tier_of: impl Fn(&str) -> Option<Tier>) {
        let mut found = Vec::new();
        for rule in &self.policy.disabled_rules {
            let source = self.joined.entry_source(Key::DisabledRules, rule);
            let problem = |message: String| ConfigProblem {
                line: source.line,
                key: Some(Key::DisabledRules.entry().name.to_owned()),
                ..ConfigProblem::of_file(source.layer, source.file.as_deref().unwrap_or(Path::new("")), message)
            };
            match tier_of(rule) {
                Some(Tier::Critical) => {
                    let problem = problem(format!("{rule} is tier 4 and cannot be disabled"));
                    found.push(problem.with_remedy("remove it"));
                }
                Some(_) => {}
                None => self.warnings.push(problem(format!("no rule {rule}"))),
            }
        }
        for (grant, file) in self.grants.iter().zip(&self.grant_files) {
            let GrantSubject::Rule { rule } = &grant.what else { continue };
            let problem = |message: String| ConfigProblem {
                key: Some(format!("grant {}", grant.id)),
                ..ConfigProblem::of_file(Layer::User, &**file, message)
            };
            match tier_of(rule) {
                Some(Tier::Critical) => found.push(problem(format!("{rule} is tier 4, which no grant can cover"))),
                Some(_) => {}
                None => self.warnings.push(problem(format!("no rule {rule}"))),
            }
        }
        if !found.is_empty() {
            self.problems.extend(found);
            self.fail_closed();
        }
    }

    /// Sets another mode, to test it.
    pub fn try_mode(&mut self, mode: Mode) {
        self.policy.mode = mode;
        let list = self.reviewer.as_ref().filter(|_| mode == Mode::Smart).map(|(reviewer, _)| reviewer.review.clone());
        self.policy.review = list.unwrap_or_default();
    }

    /// Makes the policy stricter for an error that is found after loading, such as one in a pattern file.
    pub fn fail_closed(&mut self) {
        self.reviewer_left_out |= self.policy.mode == Mode::Smart && self.reviewer.is_some();
        self.joined.fail_closed();
        self.policy = self.joined.policy.clone();
        self.grants.clear();
    }
}

/// Files that replace those of the user, to test another policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyOverride {
    /// Replaces the user's `config.toml`.
    pub file: Option<PathBuf>,
    /// Replaces the user's directory of patterns.
    pub patterns: Option<PathBuf>,
}

/// Reads and merges all layers.
pub fn load(roots: &Roots) -> Loaded {
    load_with(roots, None)
}

/// Reads and merges all layers, with replaced files of the user.
pub fn load_with(roots: &Roots, instead: Option<&PolicyOverride>) -> Loaded {
    let mut loading = Loading {
        roots,
        joined: MergedConfig::built_in(),
        problems: Vec::new(),
        warnings: Vec::new(),
        pattern_files: Vec::new(),
        grants: Vec::new(),
        service: None,
        reviewer: None,
        places: Vec::new(),
    };
    let below = |directory: &Path| (directory.join("config.toml"), directory.join("patterns"));
    let found = loading.find(Layer::Machine, below(&roots.machine));
    loading.take(Layer::Machine, found);

    let account = roots.account();
    let mut has_own = false;
    if let Some(PolicyOverride { file, patterns }) = instead {
        let there =
            |directory: &&PathBuf| directory.join("config.toml").exists() || directory.join("patterns").exists();
        let all = || account.iter().chain(&roots.named);
        let (own_file, own_patterns) =
            below(all().find(there).or_else(|| all().next()).map_or(Path::new(""), |own| own));
        let places = (file.clone().unwrap_or(own_file), patterns.clone().unwrap_or(own_patterns));
        let found = loading.find(Layer::User, places);
        loading.take(Layer::User, found);
        return loading.with_project();
    }
    if let Some(directory) = &account {
        let problems = loading.problems.len();
        let found = loading.find(Layer::User, below(directory));
        // A file that cannot be read exists.
        has_own = found.is_some() || loading.problems.len() > problems;
        loading.take(Layer::User, found);
    }
    if let Some(directory) = roots.named.as_ref().filter(|named| account.as_ref() != Some(named)) {
        let is_own = account.as_deref().is_some_and(|account| has_own && is_same(account, directory));
        if !is_own {
            let layer = if has_own { Layer::Redirected } else { Layer::User };
            let found = loading.find(layer, below(directory));
            loading.take(layer, found);
        }
    }
    loading.with_project()
}

/// The state of loading.
struct Loading<'a> {
    roots: &'a Roots,
    joined: MergedConfig,
    problems: Vec<ConfigProblem>,
    warnings: Vec<ConfigProblem>,
    pattern_files: Vec<PatternFile>,
    /// The grants with their files.
    grants: Vec<(Grant, Arc<Path>)>,
    service: Option<Service>,
    reviewer: Option<(Reviewer, ValueSource)>,
    places: Vec<LayerFiles>,
}

impl Loading<'_> {
    fn find(&mut self, layer: Layer, (file, patterns): (PathBuf, PathBuf)) -> LayerContents {
        let mut finder = Finder::new(layer, self.roots);
        let found = finder.find(&file, &patterns);
        if layer == Layer::Machine && found.config.is_none() && !finder.problems.is_empty() {
            // The file is not trusted; but if it names a service, the record must not be kept elsewhere.
            self.service =
                std::fs::read_to_string(&file).map_or_else(service::unreadable, |text| service::unread(&text));
        }
        self.places.push(LayerFiles { layer, file, found: found.config.is_some(), patterns });
        self.problems.append(&mut finder.problems);
        self.warnings.append(&mut finder.warnings);
        found
    }

    fn take(&mut self, layer: Layer, found: LayerContents) {
        // Evaluated before the file of this layer: only the machine's file can lock keys, for later layers.
        let only_tightens = !layer.may_loosen() || (layer != Layer::Machine && self.joined.is_locked(Key::Patterns));
        self.pattern_files.extend(found.patterns.into_iter().map(|path| PatternFile { layer, path, only_tightens }));
        let Some((file, text)) = found.config else { return };
        let roots = self.roots;
        let named = roots.named.as_deref().filter(|directory| roots.account().as_deref() != Some(directory));
        let is_named = layer != Layer::Machine && named.is_some_and(|directory| file.starts_with(directory));
        let home = roots.named_home.as_deref().filter(|_| is_named).or(roots.home.as_deref());
        let mut document = Document::read(layer, &file, &text, home, &mut self.problems, &mut self.warnings);
        self.service = self.service.take().or_else(|| document.service.take());
        let problem = |key: &str, message: String| ConfigProblem {
            key: Some(key.to_owned()),
            ..ConfigProblem::of_file(layer, &file, message)
        };
        let locked = |joined: &MergedConfig, key: Key| layer != Layer::Machine && joined.is_locked(key);
        if locked(&self.joined, Key::Support) && !document.support.is_empty() {
            self.problems.push(problem("support", "the machine's configuration locks it".to_owned()));
        } else {
            self.joined.policy.support.extend(document.support.iter().cloned());
        }
        if locked(&self.joined, Key::Grant) && !document.grants.is_empty() {
            self.problems.push(problem("grant", "the machine's configuration locks it".to_owned()));
        }
        for grant in &document.grants {
            // An expired grant is ignored; it may remain in the file.
            if matches!(grant.until, GrantExpiry::Date { at } if at <= Timestamp::now().as_second()) {
                self.warnings.push(problem("grant", format!("{} has expired: {}", grant.id, grant.words)));
                continue;
            }
            if self.grants.iter().any(|(other, _)| other.id == grant.id) {
                self.problems.push(problem("grant.name", format!("duplicate name \"{}\"", grant.id)));
            } else {
                self.grants.push((grant.clone(), document.file.clone()));
            }
        }
        self.joined.apply(&document, &mut self.problems);
        if let Some((reviewer, line)) = document.reviewer {
            if locked(&self.joined, Key::Reviewer) {
                self.problems.push(problem("reviewer", "the machine's configuration locks it".to_owned()));
            } else {
                let source =
                    ValueSource { layer, file: Some(document.file), line: Some(line), ..ValueSource::BUILT_IN };
                self.reviewer = Some((reviewer, source));
            }
        }
    }

    fn with_project(mut self) -> Loaded {
        self.with_reviewer();
        for directory in self.roots.project() {
            let found = self.find(Layer::Project, (directory.join(PROJECT_FILE), directory.join(PROJECT_PATTERNS)));
            self.take(Layer::Project, found);
        }
        self.finish()
    }

    /// Sets which findings are sent to the reviewer, and reports a missing reviewer. The file of a project cannot
    /// change either: a person decides about findings that it would no longer send to the reviewer.
    fn with_reviewer(&mut self) {
        if self.joined.policy.mode != Mode::Smart {
            return;
        }
        if let Some((reviewer, _)) = &self.reviewer {
            self.joined.policy.review.clone_from(&reviewer.review);
            return;
        }
        // There is a reviewer, and its errors are reported already.
        if self.problems.iter().any(ConfigProblem::is_of_reviewer) {
            return;
        }
        let source = self.joined.source_of(Key::Mode);
        let file = source.file.as_deref().unwrap_or(Path::new("config.toml"));
        let why = "\"smart\" needs a reviewer, but there is no table [reviewer]";
        let problem = ConfigProblem {
            key: Some("mode".to_owned()),
            line: source.line,
            ..ConfigProblem::of_file(source.layer, file, why)
        };
        let problem = problem.with_remedy("configure one (guard-reviewer(7)), or set mode = \"manual\"");
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn finish(mut self) -> Loaded {
        self.with_reviewer();
        let (grants, grant_files) = self.grants.into_iter().unzip();
        let mut loaded = Loaded {
            policy: self.joined.policy.clone(),
            problems: self.problems,
            warnings: self.warnings,
            pattern_files: self.pattern_files,
            grants,
            service: self.service,
            reviewer: self.reviewer,
            places: self.places,
            reviewer_left_out: false,
            grant_files,
            joined: self.joined,
        };
        if !loaded.problems.is_empty() {
            loaded.fail_closed();
        }
        loaded
    }
}
