//! The entry point of the gateway: `serve`, `token`, `channel`. guard passes its verbs of these names on to it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use guard_gateway::{channel, check, mcp, pair, reviewer, serve, stand_in, token};

/// Carries what waits in guard's queue to a person anywhere: an API, a page, messengers
#[derive(Debug, Parser)]
#[command(name = "guard-gateway", version)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve until it is ended
    Serve(serve::ServeArgs),
    /// Make, list and revoke tokens
    Token(token::TokenArgs),
    /// Ask a model about one command: a question as JSON on standard input, its opinion on standard output
    #[command(hide = true)]
    Review(reviewer::ReviewArgs),
    /// Carry messages between standard input and output and an MCP server that is reached over HTTP: guard mcp --http
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    /// Stand between MCP clients that come over HTTP and a server: guard mcp --listen
    #[command(hide = true)]
    McpListen(mcp::front::ListenArgs),
    /// Stand in for a model on this machine, for guard doctor --live: steps as JSON on standard input
    #[command(hide = true)]
    Model(stand_in::ModelArgs),
    /// Set up, try, list and remove messengers
    Channel(channel::setup::ChannelArgs),
    /// Try every channel and the page, for guard doctor: findings as JSON on standard output
    #[command(hide = true)]
    Check(check::CheckArgs),
    /// Reach the gateway that runs, for guard approver add --passkey
    #[command(hide = true)]
    Pair(pair::PairArgs),
}

fn main() -> ExitCode {
    let done = match Cli::parse().verb {
        Verb::Serve(args) => serve::run(&args),
        Verb::Token(args) => token::run(&args),
        Verb::Review(args) => reviewer::run(&args),
        Verb::Mcp(args) => mcp::run(&args),
        Verb::McpListen(args) => mcp::front::run(args),
        Verb::Model(args) => stand_in::run(&args),
        Verb::Channel(args) => channel::setup::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Pair(args) => pair::run(&args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("guard-gateway: {why}");
            ExitCode::from(125)
        }
    }
}
