//! `guard setup`: configures agents, shells, completions and the policy in one command. It detects what is installed,
//! asks the person what to configure, shows every change, makes it, and tests the result.
//!
//! Out of scope: how an agent is configured ([`super::install`]), the contents of guard's own files ([`edits`]), and
//! the questions (`choices`). `--remove` undoes everything that is written here.

mod choices;
mod closing;
pub mod edits;
pub mod error;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use self::choices::SetupChoices;
use self::edits::Edit;
use super::engine::{self, Engine};
use super::exit;
use super::failure::{Failure, unless_unread};
use super::init::{self, Interactive};
use super::install::file::Backups;
use super::install::hook_installer::{HookInstaller, PlannedChanges, asks};
use super::install::hosts::{HOSTS, Host};
use super::install::places::Places;
use super::install::shims::{self, Shims};
use super::install::{self, InstallError, mcp};
use super::{screen, status};
use crate::config::values::place;
use crate::judge::policy::Preset;
use crate::prompt::confirm::confirm;
use crate::ui::style::Look;

/// The arguments of `guard setup`.
#[derive(Debug, Args)]
#[command(after_help = "\
guard setup                                     ask, show every change, make it, and test it
guard setup --yes --agents claude,codex         do not ask
guard setup --yes --dry-run                     show what would change
guard setup --remove                            undo it, before you delete the program")]
pub struct SetupArgs {
    /// How strict guard is
    #[arg(long, value_parser = ["relaxed", "balanced", "strict", "paranoid"])]
    preset: Option<String>,
    /// The agents to configure, separated by commas; or all, or none
    #[arg(long, value_name = "AGENTS", value_delimiter = ',')]
    agents: Option<Vec<String>>,
    /// The shells in which guard judges each line, separated by commas; or all, or none
    #[arg(long, value_name = "SHELLS", value_delimiter = ',')]
    shells: Option<Vec<String>>,
    /// Do not ask: set up everything that is found, unless other options restrict it
    #[arg(long, short)]
    yes: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Undo everything that guard setup and guard install wrote; the record is kept
    #[arg(long, conflicts_with_all = ["preset", "agents", "shells"])]
    remove: bool,
    /// Print one JSON object; with --yes, --dry-run or --remove
    #[arg(long)]
    json: bool,
}

/// The message before the first question if guard is not set up yet.
const WELCOME: &str = "guard asks you before a command runs that could do damage. Answer a few questions; then you see \
                       every change before it is made.\n";

/// The label of a link named after a shell.
const LINK: &str = "shell link";

/// All changes.
#[derive(Default)]
struct Plan {
    edits: Vec<Edit>,
    wired: Vec<PlannedChanges>,
    unwired: Vec<PlannedChanges>,
    /// The configurations of MCP clients from which guard is removed.
    servers: Vec<Edit>,
    /// The links named after shells that are removed.
    links: Vec<PathBuf>,
    /// The reasons why parts cannot be changed. The other changes are made anyway.
    problems: Vec<String>,
}

impl Plan {
    fn is_empty(&self) -> bool {
        self.edits.is_empty()
            && self.wired.is_empty()
            && self.unwired.is_empty()
            && self.servers.is_empty()
            && self.links.is_empty()
    }

    fn render(&self, look: &Look) -> String {
        let agents = self.wired.iter().chain(&self.unwired).map(|planned| planned.render(look));
        let links = self.links.iter().map(|link| format!("{LINK}: {} (removed)\n", link.display()));
        self.edits
            .iter()
            .map(|edit| edit.render(look))
            .chain(agents)
            .chain(self.servers.iter().map(|edit| edit.render(look)))
            .chain(links)
            .collect()
    }

    /// Returns each file that changes, as JSON.
    fn changes(&self) -> Vec<Value> {
        let agents = self.wired.iter().chain(&self.unwired).flat_map(|planned| {
            planned.changes.iter().map(|change| (planned.host.name, &change.path, &change.old, &change.new))
        });
        let own = self.edits.iter().chain(&self.servers).map(|edit| (edit.about, &edit.path, &edit.old, &edit.new));
        let links = self.links.iter();
        let links = links.map(|link| json!({ "about": LINK, "file": link.display().to_string(), "change": "removed" }));
        let how = |old: &Option<String>, new: &Option<String>| match (old, new) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        };
        own.chain(agents)
            .map(|(about, path, old, new)| {
                json!({ "about": about, "file": path.display().to_string(), "change": how(old, new) })
            })
            .chain(links)
            .collect()
    }
}

/// Sets up guard, changes the setup or undoes it. The exit code is 126 if this is refused or the person declines.
///
/// # Errors
/// There is no home directory, a question cannot be asked, or standard output cannot be written.
pub fn run(args: &SetupArgs) -> Result<u8, Failure> {
    let engine = Engine::open()?;
    if args.json && !(args.yes || args.dry_run) {
        return Err(Failure::Message("--json cannot ask; use it with --yes or --dry-run".to_owned()));
    }
    if !args.dry_run && refused(&engine, args, args.remove)? {
        return Ok(exit::REFUSED);
    }
    let tools = SetupTools::of(&engine)?;
    let found = Installed::detect(&engine, &tools.into.places);
    let choices = chosen(args, &found)?;
    let plan = if args.remove { tools.removal(&found)? } else { tools.plan(&found, &choices)? };
    // Only a person at their own terminal may weaken guard.
    let loosens = choices.preset.is_some_and(|preset| place(preset) < place(engine.policy().preset));
    if !args.dry_run && (loosens || !plan.unwired.is_empty()) && refused(&engine, args, true)? {
        return Ok(exit::REFUSED);
    }
    if !args.json {
        say_problems(&plan.problems);
    }
    let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
    if args.dry_run {
        // A reader that stops reading the changes is not an error.
        return unless_unread(dry(args, &plan, &look));
    }
    if plan.is_empty() {
        if !args.json {
            let what = if args.remove { "guard is not set up." } else { "Everything is already set up." };
            writeln!(io::stdout(), "{what}")?;
        }
    } else {
        if !agreed(args, &plan, &look)? {
            writeln!(io::stderr(), "guard: not changed")?;
            return Ok(exit::REFUSED);
        }
        tools.carry_out(&plan, args.remove)?;
    }
    let code = if plan.problems.is_empty() { exit::ALLOW } else { exit::FAILED };
    if args.remove {
        return removed(args, &engine, &plan, &tools.shims(), code);
    }
    closing::after(args, &engine, &choices, &plan, code)
}

/// Reports whether this caller may not make changes, and prints the reason.
fn refused(engine: &Engine, args: &SetupArgs, weakens: bool) -> io::Result<bool> {
    let why = install::refusal(&engine.caller, weakens, args.yes);
    if let Some(why) = &why {
        writeln!(io::stderr(), "guard: refused: {why}")?;
    }
    Ok(why.is_some())
}

/// Returns the person's choices: from options, and from questions unless an option prevents them.
fn chosen(args: &SetupArgs, found: &Installed) -> Result<SetupChoices, Failure> {
    let mut choices =
        SetupChoices::from_options(args.preset.as_deref(), args.agents.as_deref(), args.shells.as_deref(), found)
            .map_err(|error| Failure::Message(error.to_string()))?;
    if !(args.yes || args.dry_run || args.remove) {
        if found.is_set_up() {
            status::run(&status::StatusArgs::default())?;
        } else {
            io::stdout().write_all(screen::fitted(WELCOME).as_bytes())?;
        }
        choices.ask(found).map_err(|error| Failure::Message(format!("not changed: {error}")))?;
    }
    Ok(choices)
}

/// Shows the changes, and reports whether the person accepts them.
fn agreed(args: &SetupArgs, plan: &Plan, look: &Look) -> Result<bool, Failure> {
    let shown = plan.render(look);
    if args.yes {
        if !args.json {
            write!(io::stdout(), "{shown}")?;
        }
        return Ok(true);
    }
    Ok(confirm(&shown, if args.remove { "Undo these changes?" } else { "Make these changes?" })?)
}

/// The tools that make the changes and undo them.
struct SetupTools<'a> {
    engine: &'a Engine,
    into: HookInstaller<'a>,
    out_of: HookInstaller<'a>,
    /// The backups of the configurations of MCP clients.
    of_servers: Backups,
    /// The directory of the links that replace shells.
    links: PathBuf,
    guard: PathBuf,
}

impl<'a> SetupTools<'a> {
    fn of(engine: &'a Engine) -> Result<Self, Failure> {
        let data = engine::paths()?.directory().to_owned();
        let installer = |uninstall| -> Result<HookInstaller<'a>, Failure> {
            let places = Places::of(&engine.caller)?;
            Ok(HookInstaller { places, backups: Backups::new(&data), uninstall, project: false })
        };
        let (into, out_of) = (installer(false)?, installer(true)?);
        let guard = into.places.guard()?.into();
        Ok(Self { engine, into, out_of, of_servers: mcp::backups(&data), links: shims::directory(&data), guard })
    }

    fn shims(&self) -> Shims<'_> {
        Shims { caller: &self.engine.caller, directory: &self.links, guard: &self.guard }
    }

    const fn planner(&self) -> edits::Planner<'_> {
        edits::Planner { engine: self.engine, places: &self.into.places, backups: &self.into.backups }
    }

    /// Plans the changes for these choices.
    fn plan(&self, found: &Installed, choices: &SetupChoices) -> Result<Plan, Failure> {
        let edits = self.planner().changes(choices).map_err(|error| Failure::Message(error.to_string()))?;
        let mut plan = Plan { edits, ..Plan::default() };
        self.plan_agents(&mut plan, found, &choices.agents);
        Ok(plan)
    }

    /// Plans the removal of everything that guard wrote.
    fn removal(&self, found: &Installed) -> Result<Plan, Failure> {
        let (mut edits, mut problems) = self.planner().taken_back();
        // Undo in reverse order, so that directories are empty when they are removed.
        edits.reverse();
        let servers = mcp::taken_out(&self.into.places, &self.of_servers).map_err(said)?;
        problems.extend(servers.problems);
        let servers = servers.files.into_iter().map(|(path, old, new)| Edit::of_servers(path, old, new)).collect();
        let mut plan = Plan { edits, problems, servers, links: self.shims().links(), ..Plan::default() };
        self.plan_agents(&mut plan, found, &[]);
        Ok(plan)
    }

    /// Plans the changes of agents' files so that exactly the chosen agents ask guard.
    fn plan_agents(&self, plan: &mut Plan, found: &Installed, chosen: &[&'static Host]) {
        for host in HOSTS.iter() {
            let wanted = chosen.iter().any(|agent| agent.name == host.name);
            let planned = match (wanted, found.wired.contains(&host.name)) {
                (true, _) => self.into.planned(host, self.into.places.version(host).as_deref()),
                (false, true) => self.out_of.planned(host, None),
                (false, false) => continue,
            };
            match planned {
                Ok(planned) if planned.changes.is_empty() => {}
                Ok(planned) if wanted => plan.wired.push(planned),
                Ok(planned) => plan.unwired.push(planned),
                Err(error) => plan.problems.push(error.to_string()),
            }
        }
    }

    /// Makes the changes of a plan.
    fn carry_out(&self, plan: &Plan, remove: bool) -> Result<(), Failure> {
        let made = |edit: &Edit, backups: &Backups| {
            edit.carry_out(backups, remove).map_err(|why| Failure::Message(format!("{}: {why}", edit.path.display())))
        };
        for edit in &plan.edits {
            made(edit, &self.into.backups)?;
        }
        for planned in &plan.wired {
            self.into.carry_out(planned).map_err(said)?;
        }
        for edit in &plan.servers {
            made(edit, &self.of_servers)?;
        }
        if !plan.links.is_empty() {
            self.shims().remove(&plan.links).map_err(|error| Failure::Message(error.to_string()))?;
        }
        for planned in &plan.unwired {
            self.out_of.carry_out(planned).map_err(said)?;
        }
        Ok(())
    }
}

fn said(error: InstallError) -> Failure {
    Failure::Message(error.to_string())
}

fn say_problems(problems: &[String]) {
    problems.iter().for_each(|problem| screen::complain(&format!("guard: {problem}")));
}

fn dry(args: &SetupArgs, plan: &Plan, look: &Look) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    if args.json {
        let plan = json!({ "made": false, "changes": plan.changes(), "problems": plan.problems });
        writeln!(out, "{plan}")?;
    } else {
        write!(out, "{}", plan.render(look))?;
        writeln!(out, "Not changed (--dry-run).")?;
    }
    Ok(exit::ALLOW)
}

fn removed(args: &SetupArgs, engine: &Engine, plan: &Plan, shims: &Shims<'_>, code: u8) -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    if args.json {
        let done = json!({ "made": true, "changes": plan.changes(), "problems": plan.problems });
        writeln!(out, "{done}")?;
    } else {
        let mut out = screen::WrappedOutput::over(out, true);
        writeln!(out, "Agents and new shells no longer ask guard. Open shells still do.")?;
        if !plan.links.is_empty() {
            writeln!(out, "{}", shims.lines_stay())?;
        }
        writeln!(out, "Kept the record: {}", engine::paths()?.directory().display())?;
        if let Some(file) = edits::config_file(engine).filter(|file| file.exists()) {
            writeln!(out, "Kept your configuration: {}", file.display())?;
        }
        let enrolled = engine.approvers();
        if enrolled.is_any() {
            writeln!(out, "Kept the approvers: {}", enrolled.directory.display())?;
        }
        writeln!(out, "You can now delete the program.")?;
    }
    Ok(code)
}

/// The software and the parts of guard that are installed on this machine.
pub struct Installed {
    /// The installed agents.
    agents: Vec<&'static Host>,
    /// The names of the agents that ask guard, installed or not.
    wired: Vec<&'static str>,
    /// The shells in use.
    shells: Vec<Interactive>,
    /// The shells that load guard.
    loading: Vec<Interactive>,
    preset: Preset,
    /// Whether the account has a configuration file.
    configured: bool,
    /// Whether the program for desktop notifications is installed, and no notification is configured yet.
    notifier: bool,
    approvers: bool,
}

impl Installed {
    fn detect(engine: &Engine, places: &Places<'_>) -> Self {
        let is_program = |name: &str| {
            let search = crate::world::programs::ProgramSearch::new(&engine.caller.env, &engine.caller.cwd);
            search.find(name).is_ok_and(|found| found.is_some())
        };
        // The shell in which this command was typed may have no startup file yet.
        let typed_to = engine.caller.ancestors.first().map(|process| process.name.as_str());
        let own = engine.caller.account.shell.as_deref().and_then(|path| path.file_name());
        let shells = Interactive::ALL.into_iter().filter(|shell| {
            let is_used = || init::start_up(*shell, places.home(), &engine.caller.env).exists();
            is_program(shell.name())
                && (own.is_some_and(|own| own == shell.name()) || typed_to == Some(shell.name()) || is_used())
        });
        let loading = Interactive::ALL.into_iter().filter(|shell| {
            let path = init::start_up(*shell, places.home(), &engine.caller.env);
            std::fs::read_to_string(path).is_ok_and(|text| init::loads(*shell, &text))
        });
        let config = edits::config_file(engine);
        Self {
            agents: HOSTS.iter().filter(|host| places.is_there(host)).collect(),
            wired: HOSTS.iter().filter(|host| asks(places, host)).map(|host| host.name).collect(),
            shells: shells.collect(),
            loading: loading.collect(),
            preset: engine.policy().preset,
            configured: config.is_some_and(|path| path.exists()),
            notifier: is_program(edits::NOTIFIER) && engine.policy().queue_notify.is_empty(),
            approvers: engine.approvers().is_any(),
        }
    }

    fn is_set_up(&self) -> bool {
        self.configured || !self.wired.is_empty() || !self.loading.is_empty()
    }
}
