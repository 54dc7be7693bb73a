//! The entry point of the gateway. guard forwards its verbs `serve`, `token` and `channel` to this program.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use guard_gateway::{channel, check, describe, mcp, pairing, reviewer, serve, stand_in, token};

/// Asks people elsewhere about the requests in guard's queue: an API, a page, messengers
#[derive(Debug, Parser)]
#[command(name = "guard-gateway", version)]
struct Cli {
    #[command(subcommand)]
    verb: GatewayCommand,
}

#[derive(Debug, Subcommand)]
enum GatewayCommand {
    /// Run the gateway
    Serve(serve::ServeArgs),
    /// Create, list and revoke tokens
    Token(token::TokenArgs),
    /// Ask a model about one command: reads the request as JSON, prints the opinion
    #[command(hide = true)]
    Review(reviewer::ReviewArgs),
    /// Connect standard input and output to an MCP server over HTTP, for guard mcp --http
    #[command(hide = true)]
    Mcp(mcp::McpArgs),
    /// Serve MCP clients over HTTP, for guard mcp --listen
    #[command(hide = true)]
    McpListen(mcp::front::ListenArgs),
    /// Act as a model on this machine, for guard doctor --live: reads steps as JSON
    #[command(hide = true)]
    Model(stand_in::ModelArgs),
    /// Add, test, list and remove messengers
    Channel(channel::setup::ChannelArgs),
    /// Test every channel and the page, for guard doctor: prints findings as JSON
    #[command(hide = true)]
    Check(check::CheckArgs),
    /// Connect to the running gateway, for guard approver add --passkey
    #[command(hide = true)]
    Pair(pairing::PairArgs),
    /// Print the verbs and options as JSON, for guard's completions
    #[command(hide = true)]
    Describe,
}

/// The exit code if the gateway fails or is called incorrectly.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // If the message cannot be printed, that error cannot be printed either.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { FAILED } else { 0 });
        }
    };
    let done = match cli.verb {
        GatewayCommand::Serve(args) => told(serve::run(&args)),
        GatewayCommand::Token(args) => told(token::run(&args)),
        GatewayCommand::Review(args) => told(reviewer::run(&args)),
        GatewayCommand::Mcp(args) => told(mcp::run(&args)),
        GatewayCommand::McpListen(args) => told(mcp::front::run(args)),
        GatewayCommand::Model(args) => told(stand_in::run(&args)),
        GatewayCommand::Channel(args) => told(channel::setup::run(&args)),
        GatewayCommand::Check(args) => told(check::run(&args)),
        GatewayCommand::Pair(args) => told(pairing::run(&args)),
        GatewayCommand::Describe => told(describe::run(&Cli::command())),
    };
    ExitCode::from(done)
}

/// Returns the exit code of a verb. Prints its error on standard error.
fn told(done: Result<u8, impl std::fmt::Display>) -> u8 {
    done.unwrap_or_else(|why| {
        eprintln!("guard-gateway: {why}");
        FAILED
    })
}
