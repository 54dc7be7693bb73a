//! Notifies a running gateway of a changed channel: it reloads the configuration, and a test uses its connections.
//!
//! Out of scope: the configuration file.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ChannelArgs, ONE_WAY, SetupError, ended, of_another};
use crate::account::Account;
use crate::channel::probe::TAP;
use crate::client::{self, ClientError};
use crate::config::{ChannelConfig, Config};

/// The time limit for the running gateway to reload its configuration.
const RELOAD: Duration = Duration::from_secs(10);

/// Makes the running gateway reload its configuration. Returns a message with the result.
pub(super) async fn reloaded(args: &ChannelArgs, account: &Account, text: &str) -> String {
    let own = || account.socket(&Config::parse(text).ok()?).ok();
    // If the configuration file was given as an option, it is unknown which gateway uses it.
    let Some(socket) = own().filter(|_| args.config.is_none()) else {
        return " Restart the gateway that uses it, or send it SIGHUP.".to_owned();
    };
    match client::post(&socket, "/v1/reload", &json!({}), RELOAD).await {
        Ok(_) => " The running gateway has read it.".to_owned(),
        Err(ClientError::Io(_)) => " No gateway is running: guard serve.".to_owned(),
        Err(why) => format!(" The running gateway has not read it ({why}); restart it."),
    }
}

/// Makes the running gateway send a test card, and waits for the press. Returns `None` if no gateway runs.
pub(super) async fn through_gateway(socket: &Path, channel: &ChannelConfig) -> Result<Option<u8>, SetupError> {
    if let Err(ClientError::Io(_)) = client::get(socket, "/v1/status").await {
        return Ok(None);
    }
    if channel.kind.is_heard() {
        println!("The running gateway sends a test card. Press one of its buttons within {} s.", TAP.as_secs());
    }
    let wanted = json!({ "channel": channel.name });
    let told = client::post(socket, "/v1/channels/press", &wanted, TAP + RELOAD).await?;
    for from in told["others"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        println!("{}", of_another(from));
    }
    if told["heard"] == false {
        println!("{ONE_WAY}");
        return Ok(Some(0));
    }
    Ok(Some(ended(told["by"].as_str())))
}
