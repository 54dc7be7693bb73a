//! Pairs a passkey: shows a code on this terminal, lets a browser create the key, and lets the person compare digits.
//!
//! The gateway only passes on the browser's data; this module checks whether it is a passkey for this pairing. This is
//! trust on first use: a gateway that is hostile at this moment could send a key of its own. Out of scope: any use of
//! the network.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use base64ct::{Base64UrlUnpadded, Encoding as _};
use fast_qr::QRBuilder;
use serde::Deserialize;

use super::ApproverError;
use crate::app::gateway;
use crate::exec::tool::Tool;
use crate::judge::approver::passkey::{PasskeyPairing, Registration, digits};
use crate::judge::approver::{Approver, ApproverKey};
use crate::prompt::confirm::confirm;
use crate::ui::visible;

#[derive(Deserialize)]
struct PairingStarted {
    url: String,
}

#[derive(Deserialize)]
struct NewPasskey {
    registration: Registration,
    origin: String,
    rp_id: String,
}

/// Pairs a passkey. Returns `None` if the person at the terminal does not confirm it.
pub(super) fn pair(name: &str) -> Result<Option<Approver>, ApproverError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let program = gateway::find()?;
    let mut child = Tool::at(program)?.arg("pair").stdin(Stdio::piped()).stdout(Stdio::piped()).start()?;
    let wanted = serde_json::json!({ "name": name, "secret": Base64UrlUnpadded::encode_string(&secret) });
    if let Some(mut stdin) = child.stdin.take() {
        writeln!(stdin, "{wanted}")?;
    }
    let mut lines = BufReader::new(child.stdout.take().ok_or_else(|| io::Error::other("it printed nothing"))?).lines();
    // The gateway has printed the reason on standard error.
    let none = || ApproverError::Key("no passkey was created".to_owned());
    let begun: PairingStarted = read(&lines.next().ok_or_else(none)??)?;
    let code = QRBuilder::new(begun.url.as_bytes()).build();
    let code = code.map_err(|error| ApproverError::Key(format!("{}: {error:?}", begun.url)))?;
    let url = visible::text(&begun.url);
    // Another device would look for this address on itself.
    let local = begun.url.starts_with("http://localhost:");
    let hint =
        if local { "  (only on this machine; for another device, set page: see guard-gateway(8))\n" } else { "" };
    let text = format!(
        "{}\nOpen this link within two minutes on the device that holds the passkey of {name}:\n  {url}\n{hint}",
        code.to_str()
    );
    io::stdout().lock().write_all(text.as_bytes())?;
    let made: NewPasskey = read(&lines.next().ok_or_else(none)??)?;
    let _ = child.wait();
    let pairing = PasskeyPairing { secret, name: name.to_owned() };
    let passkey = pairing.passkey(&made.rp_id, &made.origin, &made.registration);
    let passkey = passkey.map_err(|why| ApproverError::Key(format!("passkey rejected: {why}")))?;
    let text = format!("The passkey is for {}.\n", visible::text(&made.origin));
    let same = confirm(&text, &format!("Does the device show the digits {}?", digits(&passkey)))?;
    Ok(same.then(|| Approver { name: name.to_owned(), key: ApproverKey::Passkey(passkey) }))
}

fn read<T: for<'a> Deserialize<'a>>(line: &str) -> Result<T, ApproverError> {
    serde_json::from_str(line).map_err(|error| ApproverError::Key(format!("unexpected answer of the gateway: {error}")))
}
