//! Parses the command line into a [`CommandLine`].
//!
//! Out of scope: performing the call. The two calls that are made for every command (`guard -- …` and `guard -c …`) are
//! parsed by hand, because building clap's parser would cost more than the rest of the start. clap parses the
//! subcommands, and describes the whole command line for the help, the manual page and the completions.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal as _};

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::app::authorize::RunOptions;
use crate::app::shell::shell_name::ShellName;
use crate::app::shell::{CommandSource, ShellCall, ShellCallError};
use crate::app::{
    allow, answer, approver, check, complete, completions, config, demo, doctor, explain, export, gateway, hook, init,
    install, learn, line, log, man, mcp, patterns, pending, person, replay, reviewer, screen, serve, session, setup,
    simulate, stats, status, submit, trust, verify, version, wait,
};
use crate::ui::wrap;
use crate::world::programs::ProgramSearch;

mod help;
mod suggestions;

pub use help::topics;

/// A call of guard.
#[derive(Debug)]
pub enum CommandLine {
    /// `guard [--yes] [--no-wait] -- program arguments…`
    Run { argv: Vec<OsString>, options: RunOptions },
    /// `guard [--yes] [--no-wait] -c 'commands'`, with a shell's other options; guard under a shell's name.
    Shell { called: ShellName, call: ShellCall, options: RunOptions },
    /// A subcommand.
    Verb(Box<Verb>),
    /// `guard` without arguments: the short help.
    ShortHelp,
    /// `guard --help`, `guard help TOPIC` and `guard --version --json`: this text.
    Help(String),
    /// The arguments are wrong.
    Wrong(CommandLineError),
}

/// The reason why the arguments could not be parsed. clap reports `--help` and `--version` in this way too.
#[derive(Debug)]
pub enum CommandLineError {
    Clap(clap::Error),
    Shell(ShellCallError),
    /// The arguments of a hook are wrong. The exit code must keep the agent from running the command.
    Hook(clap::Error),
    /// `--` without a command.
    NoCommand,
    /// The first argument is not a subcommand; the value is the message.
    NoVerb(String),
}

const AFTER_HELP: &str = "\
Exit codes
  COMMAND         its own exit code when it ran; 126 refused, 127 not found, 125 guard itself failed, 75 queued without waiting
  guard check     0 allow, 1 ask, 2 deny

Files
  your own        ~/.config/guard/config.toml, ~/.config/guard/patterns/*.toml
  of a project    .guard.toml, .guard/patterns/
  of the machine  /etc/guard/
  the record      ~/.local/share/guard/guard.db; queue.db beside it contains the waiting requests

Environment
  GUARD_WAIT      shortens the wait for an answer in the queue, in seconds; 0 refuses at once
  PAGER           the pager of guard log on a terminal (default: less)
  VISUAL, EDITOR  the editor of guard config edit";

/// check shell commands before they run, ask a person if necessary, and record every decision.
#[derive(Debug, Parser)]
#[command(name = "guard", version, after_help = AFTER_HELP, arg_required_else_help = false)]
#[command(override_usage = "guard [--yes] [--no-wait] -- PROGRAM [ARGUMENT]...\n       guard [--yes] [--no-wait] \
                            [SHELL OPTION]... -c 'COMMANDS' [ARGUMENT]...\n       guard COMMAND")]
pub struct Cli {
    /// Approve in advance, up to tier 3 and only from your own terminal
    #[arg(long)]
    pub yes: bool,
    /// Without a person at the terminal, do not wait for an answer: print the request's ID and exit 75
    #[arg(long)]
    pub no_wait: bool,
    /// A command string; other options of the shell (-l, -e, -o pipefail, …) may precede it
    #[arg(short = 'c', value_name = "COMMANDS", allow_hyphen_values = true)]
    pub commands: Option<OsString>,
    /// A program and its arguments, run as given without a shell
    #[arg(last = true, value_name = "PROGRAM [ARGUMENT]...")]
    pub argv: Vec<OsString>,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Judge a command without running it: exit 0 allow, 1 ask, 2 deny
    Check(check::CheckArgs),
    /// Explain a verdict: the parts of the command, what each does, the rules and the score
    Explain(explain::ExplainArgs),
    /// Show, check and change the configuration
    Config(config::ConfigArgs),
    /// Show what was decided, by whom, and how the command ended
    Log(log::LogArgs),
    /// List the requests that wait for an answer
    Pending(pending::PendingArgs),
    /// Approve waiting requests, each shown in full
    Approve(answer::ApproveArgs),
    /// Answer waiting requests in a full-screen view
    Review,
    /// Deny waiting requests
    Deny(answer::DenyArgs),
    /// List sessions, trust one, or resume one that was stopped after too many denials
    Session(session::SessionArgs),
    /// Trust a directory: commands of tier 2 and below score lower there
    Trust(trust::TrustArgs),
    /// List commands that you always allow, and grant them
    Learn(learn::LearnArgs),
    /// Wait for the answer to a request: exit 0 approved, 126 refused, 75 not answered yet
    Wait(wait::WaitArgs),
    /// Show the current state: policy, agents and shells, waiting requests, grants, refusals
    Status(status::StatusArgs),
    /// Show how often guard asks, how it is answered, and how fast
    Stats(stats::StatsArgs),
    /// Test the reviewer of `mode = "smart"`, show its answers and cost, and manage its examples
    Reviewer(reviewer::ReviewerArgs),
    /// Decide recorded commands again under another policy, and show what would change
    Simulate(simulate::SimulateArgs),
    /// Export the record in the formats of other systems
    Export(export::ExportArgs),
    /// Check the record for changed or missing rows: exit 0 when it is intact, 1 when not
    Verify(verify::VerifyArgs),
    /// Enrol approvers, who sign approvals of tier 3 and above with a key
    Approver(approver::ApproverArgs),
    /// List, add and revoke grants
    Allow(allow::AllowArgs),
    /// List, show and test rules, or create a pattern file of your own
    Patterns(patterns::PatternsArgs),
    /// Set up agents, shells and policy interactively; change the setup, or undo it (--remove)
    Setup(setup::SetupArgs),
    /// Configure an agent to ask guard before each command
    Install(install::InstallArgs),
    /// Print the code that makes an interactive shell ask guard before each line
    Init(init::InitArgs),
    /// Judge one line for an interactive shell: exit 0 when it may run
    #[command(hide = true)]
    Line(line::LineArgs),
    /// Answer an agent's hook: reads its JSON, answers in the agent's format
    Hook(hook::HookArgs),
    /// Run an MCP server behind guard, which judges each tool call
    Mcp(mcp::McpArgs),
    /// Serve guard's own tools to agents over MCP: judge commands, list requests, request approvals
    #[command(name = "mcp-serve")]
    McpServe,
    /// Judge commands from the past: how often guard would have asked, and why
    Replay(replay::ReplayArgs),
    /// Check that agents and shells ask guard, and that guard can answer: exit 0 when everything works
    Doctor(doctor::DoctorArgs),
    /// Run the gateway for remote approval, or the record service of the system (--system)
    Serve(serve::ServeArgs),
    /// Create, list and revoke tokens of the gateway's API
    Token(gateway::Words),
    /// Add, test, list and remove the gateway's messengers
    Channel(gateway::Words),
    /// Judge a command for the gateway, and wait for the answer
    #[command(hide = true)]
    Submit(submit::SubmitArgs),
    /// Check that a person is at this terminal who may change the approvers
    #[command(hide = true)]
    Person(person::PersonArgs),
    /// Show guard at work on real commands, step by step, in a scratch project
    Demo(demo::DemoArgs),
    /// Print completions for the word at the cursor
    #[command(hide = true)]
    Complete(complete::CompleteArgs),
    /// Print the completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Show a manual page, or list them
    Man(man::ManArgs),
}

/// The output of `guard` without arguments.
pub const SHORT_HELP: &str = "\
guard understands each command before it runs, asks a person when it should,
and records every decision.

  guard setup                      set up agents and shells interactively
  guard -- rm -rf build            run one command, arguments as given
  guard -c 'make clean && ls'      run a command string with your shell
  guard check 'git push --force'   judge without running

guard demo shows it in a scratch project. guard --help lists everything.
";

/// Parses the name under which guard was called, and its arguments. `path` is the path of the executed file, and
/// `account_shell` the value of `$SHELL`.
#[must_use]
pub fn read(name: &OsStr, arguments: &[OsString], path: Option<&OsStr>, account_shell: Option<&OsStr>) -> CommandLine {
    // The path is more reliable than the name, which the caller chooses.
    let named = ShellName::by(name).filter(|called| called.dialect.is_some());
    if let Some(called) = named.or_else(|| ShellName::behind(path?, name)).or_else(|| ShellName::by(name)) {
        return shell(called, arguments, RunOptions::default());
    }
    // A terminal or an editor starts `$SHELL` by its full path; a user who wants the help types a name.
    let is_a_shell = name.as_encoded_bytes().starts_with(b"/") && account_shell == Some(name);
    if arguments.is_empty() {
        return if is_a_shell {
            shell(ShellName::guard(), arguments, RunOptions::default())
        } else {
            CommandLine::ShortHelp
        };
    }
    let mut options = RunOptions::default();
    let mut rest = arguments;
    while let Some((first, more)) = rest.split_first() {
        match first.as_encoded_bytes() {
            b"--yes" => options.yes = true,
            b"--no-wait" => options.no_wait = true,
            _ => break,
        }
        rest = more;
    }
    let Some(first) = rest.first() else { return with_clap(arguments) };
    if first == "--" {
        return match rest.get(1..) {
            Some(argv) if !argv.is_empty() => CommandLine::Run { argv: argv.to_vec(), options },
            _ => CommandLine::Wrong(CommandLineError::NoCommand),
        };
    }
    if is_shell_option(first) {
        return match shell(ShellName::guard(), rest, options) {
            CommandLine::Shell { call, .. } if !is_a_shell && lacks_commands(&call) => {
                CommandLine::Wrong(CommandLineError::NoVerb(suggestions::no_commands(first)))
            }
            read => read,
        };
    }
    with_clap(arguments)
}

/// Parses the options of a shell.
fn shell(called: ShellName, arguments: &[OsString], options: RunOptions) -> CommandLine {
    match ShellCall::read(called.dialect.unwrap_or_default(), arguments) {
        Ok(call) => CommandLine::Shell { called, call, options },
        Err(error) => CommandLine::Wrong(CommandLineError::Shell(error)),
    }
}

/// Reports whether the call names no commands although guard is at a terminal. An option such as `-v` was then probably
/// meant for guard and not for a shell.
fn lacks_commands(call: &ShellCall) -> bool {
    call.reads == CommandSource::Stdin
        && !(call.interactive || call.login)
        && call.positional.is_empty()
        && !call.options.iter().any(|option| option == "-s")
        && io::stdin().is_terminal()
}

/// Reports whether a first argument is an option of a shell and not of guard.
fn is_shell_option(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    let own = matches!(bytes, b"-h" | b"--help" | b"-V" | b"--version" | b"--yes" | b"--no-wait");
    !own && bytes.len() > 1 && matches!(bytes[0], b'-' | b'+')
}

/// Parses a subcommand. The parser of only that subcommand is built; for help and errors the whole parser is built.
fn with_clap(arguments: &[OsString]) -> CommandLine {
    let named = arguments.first().and_then(|name| name.to_str());
    if let Some(text) = asked_for_help(arguments) {
        return CommandLine::Help(text);
    }
    let rest = arguments.get(1..).unwrap_or_default();
    let verb = match named {
        Some("check") => one("guard check", rest, Verb::Check),
        Some("submit") => one("guard submit", rest, Verb::Submit),
        Some("line") => one("guard line", rest, Verb::Line),
        Some("explain") => one("guard explain", rest, Verb::Explain),
        // Most agents run the command if their hook fails with another code than the blocking one.
        Some("hook") => {
            return match one("guard hook", rest, Verb::Hook) {
                Err(error) if error.use_stderr() => CommandLine::Wrong(CommandLineError::Hook(error)),
                Err(error) => CommandLine::Wrong(CommandLineError::Clap(error)),
                Ok(verb) => CommandLine::Verb(Box::new(verb)),
            };
        }
        Some("help") if rest.len() == 1 && !suggestions::is_verb(&rest[0]) => {
            return CommandLine::Wrong(CommandLineError::NoVerb(suggestions::no_topic(&rest[0].to_string_lossy())));
        }
        Some(first) if !first.starts_with('-') && !suggestions::is_verb(OsStr::new(first)) => {
            return CommandLine::Wrong(CommandLineError::NoVerb(suggestions::no_verb(arguments, is_program)));
        }
        _ => parsed(arguments).and_then(|cli| cli.verb.ok_or_else(missing_verb)),
    };
    match verb {
        Ok(verb) => CommandLine::Verb(Box::new(verb)),
        Err(error) => CommandLine::Wrong(match suggestions::unquoted(arguments, &error) {
            Some(said) => CommandLineError::NoVerb(said),
            None => CommandLineError::Clap(error),
        }),
    }
}

/// Returns the requested help, if it is not that of a subcommand.
fn asked_for_help(arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    match words.as_slice() {
        ["--help" | "-h" | "help"] => Some(help::whole(screen::columns())),
        ["--version" | "-V", "--json"] => Some(version::version_text()),
        ["help", topic] => help::topic(topic, screen::columns()),
        _ => None,
    }
}

/// Parses the arguments of a subcommand. The examples in its help are wrapped to the width of the terminal here,
/// because clap would break their columns.
fn parsed(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    fn fitted(command: clap::Command, columns: usize) -> clap::Command {
        let text = command.get_after_help().map(ToString::to_string);
        let command = match text {
            Some(text) => command.after_help(wrap::text(&text, columns)),
            None => command,
        };
        command.mut_subcommands(|verb| fitted(verb, columns))
    }
    let words = [OsStr::new("guard")].into_iter().chain(arguments.iter().map(OsString::as_os_str));
    let is_help = |word: &OsString| word == "--help" || word == "-h" || word == "help";
    let command = Cli::command();
    let command = match screen::width().filter(|_| arguments.iter().any(is_help)) {
        Some(columns) => fitted(command, columns),
        None => command,
    };
    Cli::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Reports whether a program of this name is in `PATH`.
fn is_program(name: &str) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    ProgramSearch::new(&std::env::vars_os().collect(), &here).find(name).is_ok_and(|found| found.is_some())
}

fn missing_verb() -> clap::Error {
    Cli::command().error(
        clap::error::ErrorKind::MissingSubcommand,
        "nothing to do: give -- PROGRAM, -c 'COMMANDS' or a command of guard",
    )
}

fn one<A: Args + FromArgMatches>(
    name: &'static str,
    rest: &[OsString],
    verb: impl FnOnce(A) -> Verb,
) -> Result<Verb, clap::Error> {
    let about = Cli::command_for_about(name);
    let command = A::augment_args(clap::Command::new(name)).about(about).long_about(None);
    let words = [OsStr::new(name)].into_iter().chain(rest.iter().map(OsString::as_os_str));
    let matches = command.try_get_matches_from(words)?;
    A::from_arg_matches(&matches).map(verb)
}

impl Cli {
    /// Returns the one-line description of a subcommand whose parser is built alone.
    fn command_for_about(name: &str) -> &'static str {
        match name {
            "guard check" => "Judge a command without running it: exit 0 allow, 1 ask, 2 deny",
            "guard hook" => "Answer an agent's hook: reads its JSON, answers in the agent's format",
            _ => "Explain a verdict: the parts of the command, what each does, the rules and the score",
        }
    }
}
