//! `guard-gateway pair`: what `guard approver add --passkey` starts to reach the gateway that runs.
//!
//! An object on standard input says whose passkey, and the secret of the pairing; lines of JSON on standard output say
//! where the phone goes, and then what its browser handed over. guard itself decides what that is worth. What may not
//! enter: writing down who is enrolled.

use std::io::{BufRead as _, Write as _};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::account::Account;
use crate::client;
use crate::config::Config;

/// The arguments of `guard-gateway pair`.
#[derive(Debug, Args)]
pub struct PairArgs {}

/// A little longer than a pairing holds.
const PATIENCE: Duration = Duration::from_secs(130);

/// Begins a pairing, and waits for its passkey.
///
/// # Errors
/// No gateway runs, or nothing came in time.
pub fn run(_: &PairArgs) -> Result<u8, String> {
    let account = Account::of_this_process();
    let config = Config::read(&account.config_directory()?.join("gateway.toml"))?;
    let socket = account.socket(&config)?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| error.to_string())?;
    let wanted: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let begun = client::post(&socket, "/v1/pairings", &wanted, Duration::from_secs(5)).await;
        let begun =
            begun.map_err(|why| format!("the gateway cannot pair the passkey ({why}); start it with guard serve"))?;
        say(&begun)?;
        let by = json!({ "secret": wanted["secret"] });
        say(&client::post(&socket, "/v1/pairings/wait", &by, PATIENCE).await?)?;
        Ok(0)
    })
}

fn say(value: &Value) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush()).map_err(|error| error.to_string())
}
