//! The choices of a person for `guard setup`, from options or from questions.
//!
//! Out of scope: the files that are written for them.

use std::io;

use super::Installed;
use super::error::SetupError;
use crate::app::init::Interactive;
use crate::app::install::hosts::{self, HOSTS, Host};
use crate::app::screen;
use crate::judge::policy::Preset;
use crate::prompt::choose::{one_of, some_of};
use crate::prompt::confirm::confirm;

/// The way in which a person wants to be notified of waiting requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotifyChoice {
    /// A desktop notification.
    Desktop,
    /// A page or a messenger.
    Away,
}

/// The choices of a person.
#[derive(Debug)]
pub struct SetupChoices {
    /// The preset, or `None` to keep the current one.
    pub preset: Option<Preset>,
    pub agents: Vec<&'static Host>,
    pub shells: Vec<Interactive>,
    pub notify: Option<NotifyChoice>,
    /// Whether to enrol an approver.
    pub approver: bool,
}

/// The presets with a long and a short description.
const PRESETS: [(Preset, &str, &str, &str); 4] = [
    (Preset::Relaxed, "relaxed", "asks only about dangerous commands", "only dangerous commands"),
    (Preset::Balanced, "balanced", "asks about what is hard to undo; asks agents more often", "what is hard to undo"),
    (Preset::Strict, "strict", "also asks about changes outside the project", "also other directories"),
    (Preset::Paranoid, "paranoid", "asks about nearly everything except plain reading", "all but plain reading"),
];

/// The number of columns from which the long descriptions fit.
const ROOMY: usize = 72;

impl SetupChoices {
    /// Creates the choices from options. Without an option, chooses everything that is installed or already uses guard.
    ///
    /// # Errors
    /// A name is not that of an agent or a shell.
    pub fn from_options(
        preset: Option<&str>,
        agents: Option<&[String]>,
        shells: Option<&[String]>,
        found: &Installed,
    ) -> Result<Self, SetupError> {
        let agents = match agents {
            None => HOSTS
                .iter()
                .filter(|host| {
                    found.wired.contains(&host.name) || found.agents.iter().any(|here| here.name == host.name)
                })
                .collect(),
            Some(words) => of(words, &found.agents, |name| {
                hosts::by_name(name).ok_or_else(|| SetupError::UnknownAgent { name: name.to_owned() })
            })?,
        };
        let shells = match shells {
            None => {
                let known = Interactive::ALL.into_iter();
                known.filter(|shell| found.shells.contains(shell) || found.loading.contains(shell)).collect()
            }
            Some(words) => of(words, &found.shells, |name| {
                let shell = Interactive::ALL.into_iter().find(|shell| shell.name() == name);
                shell.ok_or_else(|| SetupError::UnsupportedShell(name.to_owned()))
            })?,
        };
        let preset =
            preset.and_then(|word| PRESETS.iter().find(|(_, name, ..)| *name == word)).map(|(preset, ..)| *preset);
        Ok(Self { preset, agents, shells, notify: None, approver: false })
    }

    /// Asks for all choices at the terminal. Enter keeps the current state.
    ///
    /// # Errors
    /// The terminal cannot be used, or the person cancelled.
    pub fn ask(&mut self, found: &Installed) -> io::Result<()> {
        let now = self.preset.unwrap_or(found.preset);
        let roomy = screen::columns() >= ROOMY;
        let about = |long, short| if roomy { long } else { short };
        let lines = PRESETS.iter().map(|(_, name, long, short)| format!("{name:9} {}", about(*long, *short)));
        let lines: Vec<String> = lines.collect();
        let at = PRESETS.iter().position(|(preset, ..)| *preset == now).unwrap_or(1);
        let picked = one_of(if roomy { "How strict?" } else { "How strict? guard asks about:" }, &lines, at)?;
        let preset = PRESETS.get(picked).map_or(now, |(preset, ..)| *preset);
        self.preset = (preset != found.preset || !found.configured).then_some(preset);

        let agents: Vec<&'static Host> = std::mem::take(&mut self.agents);
        if !agents.is_empty() {
            let first = found.wired.is_empty();
            let items = agents.iter().map(|host| (host.title, first || found.wired.contains(&host.name)));
            let picked = some_of("Which agents should ask guard before each command?", &items.collect::<Vec<_>>())?;
            self.agents = picked.into_iter().filter_map(|at| agents.get(at).copied()).collect();
        }
        let shells = std::mem::take(&mut self.shells);
        if !shells.is_empty() {
            // Preselect all shells the first time, as with `--yes`, and later those that load guard.
            let first = !found.is_set_up();
            let items = shells.iter().map(|shell| (shell.name(), first || found.loading.contains(shell)));
            let question = "In which of your shells should guard judge each line?";
            let picked = some_of(question, &items.collect::<Vec<_>>())?;
            self.shells = picked.into_iter().filter_map(|at| shells.get(at).copied()).collect();
        }
        let mut ways = vec![("in a terminal, with guard review", None)];
        if found.notifier {
            ways.push(("with a desktop notification and guard review", Some(NotifyChoice::Desktop)));
        }
        ways.push(("also on a page or a messenger (guard serve)", Some(NotifyChoice::Away)));
        let lines: Vec<String> = ways.iter().map(|(line, _)| (*line).to_owned()).collect();
        let picked = one_of("How do you want to be notified of waiting requests?", &lines, 0)?;
        self.notify = ways.get(picked).and_then(|(_, notify)| *notify);
        if !found.approvers {
            let question = "Require a passphrase to approve high-risk commands? (Then no agent can approve for you.)";
            self.approver = confirm("\n", question)?;
        }
        Ok(())
    }
}

/// Resolves a list of names. `all` stands for everything that was found, and `none` for nothing.
fn of<T: Clone>(
    words: &[String],
    all: &[T],
    one: impl Fn(&str) -> Result<T, SetupError>,
) -> Result<Vec<T>, SetupError> {
    match words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect::<Vec<_>>().as_slice() {
        [] | ["none"] => Ok(Vec::new()),
        ["all"] => Ok(all.to_vec()),
        names => names.iter().map(|name| one(name)).collect(),
    }
}
