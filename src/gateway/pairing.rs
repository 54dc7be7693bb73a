//! `guard-gateway pair`: connects `guard approver add --passkey` to the running gateway.
//!
//! Standard input is a JSON object with the approver's name and the secret of the pairing. Standard output is lines of
//! JSON: first the address for the phone, then the response of its browser, which guard itself verifies. Out of scope:
//! enrolling approvers.

use std::io::{self, BufRead as _, Write as _};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::account::{Account, AccountError};
use crate::client::{self, ClientError};
use crate::config::{Config, ConfigError};

/// The arguments of `guard-gateway pair`.
#[derive(Debug, Args)]
pub struct PairArgs {}

/// The reason why no passkey was received.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Standard input or output failed, or the runtime cannot be created.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("the gateway cannot pair the passkey ({0}); start it with guard serve")]
    Begin(ClientError),
    #[error(transparent)]
    Gateway(#[from] ClientError),
}

/// A little longer than the lifetime of a pairing.
const PATIENCE: Duration = Duration::from_secs(130);

/// Begins a pairing, and waits for its passkey.
///
/// # Errors
/// Returns an error if no gateway is running, or if no passkey was received in time.
pub fn run(_: &PairArgs) -> Result<u8, PairError> {
    let account = Account::of_this_process();
    let config = Config::read(&account.config_directory()?.join("gateway.toml"))?;
    let socket = account.socket(&config)?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let wanted: Value = serde_json::from_str(&line)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let begun = client::post(&socket, "/v1/pairings", &wanted, Duration::from_secs(5)).await;
        say(&begun.map_err(PairError::Begin)?)?;
        let by = json!({ "secret": wanted["secret"] });
        say(&client::post(&socket, "/v1/pairings/wait", &by, PATIENCE).await?)?;
        Ok(0)
    })
}

fn say(value: &Value) -> io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{value}").and_then(|()| out.flush())
}
