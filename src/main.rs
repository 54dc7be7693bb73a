//! The entry point: parses the arguments, performs the call, and returns an exit code.
//!
//! With the GNU C library the program starts without the runtime of Rust, which determines the bounds of the stack for
//! every command. guard limits its recursion itself.

#![cfg_attr(all(own_start, not(test)), no_main)]

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use guard::app::engine::Engine;
use guard::app::failure::{Failure, unless_unread};
use guard::app::{
    allow, answer, approver, check, complete, completions, config, demo, doctor, exit, explain, export, gateway, hook,
    init, install, learn, line, log, man, mcp, mcp_serve, name_service, patterns, pending, person, replay, review,
    reviewer, run, screen, serve, session, setup, shell, simulate, stats, status, submit, trust, verify, wait,
};
use guard::cli::{self, CommandLine, CommandLineError, Verb};
use guard::config::Layer;
use guard::exec::preserve;
use guard::prompt::process_seal;

/// The function that the C library calls.
#[cfg(all(own_start, not(test)))]
// SAFETY: the program has no other symbol of this name.
#[unsafe(no_mangle)]
extern "C" fn main(_: std::ffi::c_int, _: *const *const std::ffi::c_char) -> std::ffi::c_int {
    preserve::prepare();
    // `exit` flushes buffered output.
    std::process::exit(begin().into())
}

#[cfg(not(all(own_start, not(test))))]
fn main() -> std::process::ExitCode {
    begin().into()
}

fn begin() -> u8 {
    let inherited = preserve::capture_at_start();
    name_service::look_up_accounts();
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let arguments: Vec<_> = arguments.collect();
    called(&name, &arguments, inherited)
}

/// Performs a call of guard.
fn called(name: &OsStr, arguments: &[OsString], inherited: preserve::Inherited) -> u8 {
    let (path, shell) = (guard_system::started_by(), std::env::var_os("SHELL"));
    match cli::read(name, arguments, path.as_deref(), shell.as_deref()) {
        CommandLine::Run { argv, options } => run::run(argv, options, inherited),
        CommandLine::Shell { called, call, options } => shell::dispatch::run(&called, call, options, inherited),
        CommandLine::Verb(verb) => match *verb {
            Verb::Demo(args) => match demo::enter(&args) {
                Ok(Some(words)) => called(name, &words, inherited),
                Ok(None) => do_verb(&Verb::Demo(args)),
                Err(why) => run::failed(&why.to_string()),
            },
            Verb::Line(args) => line::run(args, inherited).unwrap_or_else(|error| run::failed(&error.to_string())),
            Verb::Serve(args) => match args.verb() {
                None => serve::run(&args).unwrap_or_else(|error| run::failed(&error.to_string())),
                Some(Err(error)) => run::failed(&error.to_string()),
                Some(Ok(words)) => match cli::read("guard".as_ref(), words, None, None) {
                    CommandLine::Verb(verb) => do_verb(&verb),
                    CommandLine::Wrong(wrong) => explain_wrong(&wrong),
                    CommandLine::Run { .. }
                    | CommandLine::Shell { .. }
                    | CommandLine::ShortHelp
                    | CommandLine::Help(_) => run::failed("guard serve: not a command that can follow --"),
                },
            },
            verb @ (Verb::Log(_) | Verb::Stats(_) | Verb::Verify(_) | Verb::Export(_)) => {
                let words = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
                serve::passed_on(words).unwrap_or_else(|| do_verb(&verb))
            }
            verb => do_verb(&verb),
        },
        CommandLine::ShortHelp => printed(&screen::fitted(cli::SHORT_HELP)),
        CommandLine::Help(text) => printed(&text),
        CommandLine::Wrong(wrong) => explain_wrong(&wrong),
    }
}

fn do_verb(verb: &Verb) -> u8 {
    // These subcommands hold passphrases and keys, and execute no command of a requester.
    if matches!(verb, Verb::Approver(_) | Verb::Approve(_) | Verb::Deny(_) | Verb::Pending(_)) {
        process_seal::seal();
    }
    let done = match verb {
        Verb::Line(_) => Err("guard line is called by the shell integration only".to_owned()),
        Verb::Serve(_) => Err("guard serve cannot be called from here".to_owned()),
        Verb::Init(args) => init::run(args).map_err(|error| error.to_string()),
        Verb::Check(args) => check::run(args).map_err(|error| error.to_string()),
        Verb::Explain(args) => explain::run(args).map_err(|error| error.to_string()),
        Verb::Config(args) => config::run(args).map_err(|error| error.to_string()),
        Verb::Log(args) => log::run(args).map_err(|error| error.to_string()),
        Verb::Verify(args) => verify::run(args).map_err(|error| error.to_string()),
        Verb::Approver(args) => approver::run(args).map_err(|error| error.to_string()),
        Verb::Allow(args) => allow::run(args).map_err(|error| error.to_string()),
        Verb::Pending(args) => pending::run(args).map_err(|error| error.to_string()),
        Verb::Approve(args) => answer::approve(args).map_err(|error| error.to_string()),
        Verb::Deny(args) => answer::deny(args).map_err(|error| error.to_string()),
        Verb::Session(args) => unless_unread(session::run(args)).map_err(|error| error.to_string()),
        Verb::Review => review::run().map_err(|error| error.to_string()),
        Verb::Status(args) => status::run(args).map_err(|error| error.to_string()),
        Verb::Reviewer(args) => unless_unread(reviewer::run(args)).map_err(|error| error.to_string()),
        Verb::Stats(args) => stats::run(args).map_err(|error| error.to_string()),
        Verb::Simulate(args) => simulate::run(args).map_err(|error| error.to_string()),
        Verb::Export(args) => export::run(args).map_err(|error| error.to_string()),
        Verb::Trust(args) => unless_unread(trust::run(args)).map_err(|error| error.to_string()),
        Verb::Learn(args) => unless_unread(learn::run(args)).map_err(|error| error.to_string()),
        Verb::Wait(args) => wait::run(args).map_err(|error| error.to_string()),
        Verb::Patterns(args) => Engine::open().map_err(|error| error.to_string()).and_then(|engine| {
            // The home directory in the account database takes precedence over HOME.
            let own = engine
                .config()
                .places
                .iter()
                .rfind(|place| place.layer == Layer::User)
                .map(|place| place.patterns.clone());
            let sources = patterns::Sources { catalog: &engine.catalog, broken: engine.broken(), own: own.as_deref() };
            patterns::run(args, &sources).map_err(|error| error.to_string())
        }),
        Verb::Setup(args) => setup::run(args).map_err(|error| error.to_string()),
        Verb::Install(args) => install::run(args).map_err(|error| error.to_string()),
        Verb::Hook(args) => Ok(hook::run(args)),
        Verb::Mcp(args) => mcp::run(args).map_err(|error| error.to_string()),
        Verb::McpServe => mcp_serve::run().map_err(|error| error.to_string()),
        Verb::Submit(args) => submit::run(args).map_err(|error| error.to_string()),
        Verb::Person(args) => person::run(args).map_err(|error| error.to_string()),
        Verb::Token(words) => gateway::run("token", words).map_err(|error| error.to_string()),
        Verb::Channel(words) => gateway::run("channel", words).map_err(|error| error.to_string()),
        Verb::Replay(args) => replay::run(args).map_err(|error| error.to_string()),
        Verb::Doctor(args) => doctor::run(args).map_err(|error| error.to_string()),
        Verb::Complete(args) => unless_unread(complete::run(args)).map_err(|error| error.to_string()),
        Verb::Completions(args) => unless_unread(completions::run(args)).map_err(|error| error.to_string()),
        Verb::Man(args) => unless_unread(man::run(args)).map_err(|error| error.to_string()),
        Verb::Demo(args) => unless_unread(demo::run(args).map_err(Failure::from)).map_err(|error| error.to_string()),
    };
    done.unwrap_or_else(|why| run::failed(&why))
}

fn printed(text: &str) -> u8 {
    match io::stdout().write_all(text.as_bytes()) {
        Ok(()) => exit::ALLOW,
        // The reader closed the pipe, which is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => exit::ALLOW,
        Err(error) => run::failed(&error.to_string()),
    }
}

/// Prints help and version to standard output with exit code 0; everything else is a usage error.
fn explain_wrong(wrong: &CommandLineError) -> u8 {
    match wrong {
        CommandLineError::Clap(error) => {
            // If printing fails, the failure cannot be reported.
            let _ = error.print();
            if error.use_stderr() { exit::FAILED } else { exit::ALLOW }
        }
        CommandLineError::Shell(error) => run::failed(&error.to_string()),
        CommandLineError::Hook(error) => {
            let _ = run::failed(&error.to_string());
            hook::DENIED
        }
        CommandLineError::NoVerb(why) => run::failed(why),
        CommandLineError::NoCommand => run::failed("missing command after --, as in: guard -- ls -la"),
    }
}
