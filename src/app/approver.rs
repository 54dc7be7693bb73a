//! `guard approver`: who may approve commands of tier 3 and above, and with which key.
//!
//! Once an approver is enrolled, such an approval must be signed, and the waiting guard verifies the signature before
//! it runs the command. Out of scope: the signing itself ([`sign`]).

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use base64ct::{Base64, Encoding as _};
use clap::{ArgGroup, Args, Subcommand};
use fast_qr::QRBuilder;
use thiserror::Error;

mod passkey;
pub mod sign;
mod ssh_keygen;

use super::engine::{Engine, EngineError};
use super::gateway::GatewayError;
use super::place::not_from_here;
use super::{exit, screen};
use crate::config::approvers::{self, Enrolled};
use crate::config::paths::MACHINE;
use crate::judge::approver::{Approver, ApproverKey, Cost, MIN_PASSPHRASE, PublicKey, enrolment, people};
use crate::judge::policy::Refusal;
use crate::prompt::confirm::confirm;
use crate::prompt::line;
use crate::ui::style::{self, Line, Look, Style};
use crate::ui::visible;
use crate::ui::wrap;

/// The arguments of `guard approver`.
#[derive(Debug, Args)]
pub struct ApproverArgs {
    #[command(subcommand)]
    what: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Enrol an approver; once one is enrolled, approvals of tier 3 and above must be signed
    Add(AddArgs),
    /// List the approvers, and whether this account can change them
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove an approver; an enrolled approver must sign for it
    Remove {
        /// The name of the approver
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("key").args(["passphrase", "ssh", "totp", "passkey"]))]
struct AddArgs {
    /// The name of the approver, made of a-z, 0-9, `.`, `_` and `-`
    name: String,
    /// A passphrase, which is stored nowhere (default)
    #[arg(long)]
    passphrase: bool,
    /// An SSH key: its .pub file, ssh-ed25519 or sk-ssh-ed25519@openssh.com
    #[arg(long, value_name = "FILE")]
    ssh: Option<PathBuf>,
    /// Codes of an authenticator app; anyone who can read the approver's file can generate them
    #[arg(long)]
    totp: bool,
    /// A passkey of a phone, a security key or a computer; needs a running gateway
    #[arg(long)]
    passkey: bool,
}

/// The reason why `guard approver` failed.
#[derive(Debug, Error)]
pub enum ApproverError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    #[error("{path}: {error}")]
    File { path: String, error: io::Error },
    #[error("{0}")]
    Key(String),
}

/// Runs the verb and returns the exit code.
///
/// # Errors
/// [`ApproverError`].
pub fn run(args: &ApproverArgs) -> Result<u8, ApproverError> {
    let engine = Engine::open()?;
    let enrolled = engine.approvers();
    match &args.what {
        Action::List { json } => {
            let printed = list(&enrolled, *json);
            Ok(exit::after(printed, exit::ALLOW)?)
        }
        Action::Add(args) => match not_from_here(&engine.caller, &engine.caller.behind_the_terminal()) {
            Some(why) => refuse(&why),
            None => add(args, &enrolled, sign::most(&engine).into()),
        },
        Action::Remove { name } => match not_from_here(&engine.caller, &engine.caller.behind_the_terminal()) {
            Some(why) => refuse(&why),
            None => remove(name, &enrolled, sign::most(&engine).into()),
        },
    }
}

/// Enrols the first approver with a passphrase, as `guard setup` offers. This process asks itself, because a child
/// process would be refused for having a guard above it.
///
/// # Errors
/// [`ApproverError`].
pub(super) fn enrol(engine: &Engine, account: &str) -> Result<u8, ApproverError> {
    let name = if Approver::is_name(account) { account } else { "me" };
    let args = AddArgs { name: name.to_owned(), passphrase: true, ssh: None, totp: false, passkey: false };
    match not_from_here(&engine.caller, &engine.caller.behind_the_terminal()) {
        Some(why) => refuse(&why),
        None => add(&args, &engine.approvers(), sign::most(engine).into()),
    }
}

fn refuse(why: &str) -> Result<u8, ApproverError> {
    writeln!(io::stderr(), "guard: refused: {}", Refusal::Attempt { why: why.to_owned() })?;
    Ok(exit::REFUSED)
}

fn add(args: &AddArgs, enrolled: &Enrolled, wanted: usize) -> Result<u8, ApproverError> {
    if !Approver::is_name(&args.name) {
        return Err(ApproverError::Key(format!("invalid name {}: use only a-z, 0-9, -, _ and .", args.name)));
    }
    if enrolled.named(&args.name).is_some() {
        return Err(ApproverError::Key(format!("approver {} is already enrolled; remove it first", args.name)));
    }
    let approver = match (&args.ssh, args.totp) {
        _ if args.passkey => match passkey::pair(&args.name)? {
            Some(approver) => approver,
            None => return Ok(exit::REFUSED),
        },
        (Some(file), _) => with_ssh(&args.name, file)?,
        (None, true) => with_totp(&args.name)?,
        (None, false) => with_passphrase(&args.name)?,
    };
    if let Some(other) = enrolled.approvers.iter().find(|other| other.key.is_same(&approver.key)) {
        return Err(ApproverError::Key(format!("this key is already enrolled for {}", other.name)));
    }
    if !vouched(enrolled, wanted, "add", &approver)? {
        return Ok(exit::REFUSED);
    }
    let path = approvers::enrol(enrolled, &approver)
        .map_err(|error| ApproverError::File { path: enrolled.file(&args.name).display().to_string(), error })?;
    let mut out = io::stdout().lock();
    writeln!(out, "Enrolled {} ({}): {}", approver.name, approver.key.kind(), path.display())?;
    writeln!(out, "From now on approvals of tier 3 and above must be signed.")?;
    if enrolled.changeable {
        let (why, how) = how_to_move(enrolled);
        write!(out, "{}{how}", screen::fitted(&why))?;
    }
    Ok(exit::ALLOW)
}

fn remove(name: &str, enrolled: &Enrolled, wanted: usize) -> Result<u8, ApproverError> {
    let Some(approver) = enrolled.named(name) else {
        return Err(ApproverError::Key(format!("no approver {name}; guard approver list shows all approvers")));
    };
    if !vouched(enrolled, wanted, "remove", approver)? {
        return Ok(exit::REFUSED);
    }
    approvers::remove(enrolled, name)
        .map_err(|error| ApproverError::File { path: enrolled.file(name).display().to_string(), error })?;
    writeln!(io::stdout(), "Removed approver {name}.")?;
    Ok(exit::ALLOW)
}

/// Reports whether enough enrolled approvers sign for a change: one, or `wanted` as for a command. If none is enrolled,
/// asks the person at the terminal.
fn vouched(enrolled: &Enrolled, wanted: usize, change: &str, approver: &Approver) -> Result<bool, ApproverError> {
    let what = format!("To {change} {} ({})", approver.name, approver.key.kind());
    if !enrolled.is_any() {
        return Ok(confirm("", &format!("{what}. Continue?"))?);
    }
    let message = enrolment(change, approver);
    // An approver who could enrol or remove others alone could sign in place of two.
    let people = people(&enrolled.approvers).max(1);
    let mut signed: Vec<String> = Vec::new();
    while signed.len() < wanted.min(people) {
        let what = match signed.as_slice() {
            [] => what.clone(),
            by => format!("{what}, signed by {}; {wanted} must sign", by.join(" and ")),
        };
        match sign::sign(enrolled, &what, &message, &signed) {
            Ok(one) => signed.push(one.approver),
            Err(why) => {
                writeln!(io::stderr(), "guard: refused: {}", visible::text(&why.to_string()))?;
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn with_passphrase(name: &str) -> Result<Approver, ApproverError> {
    let text = "Choose a passphrase that only you know. Anyone who can read the approver's file can test guesses.\n";
    let question = format!("Enter the passphrase of {name}:");
    let short = format!("The passphrase must have at least {MIN_PASSPHRASE} characters. Esc cancels.\n");
    let mut lead = text;
    let passphrase = loop {
        let passphrase = line::ask_hidden(&screen::fitted(lead), &question)?;
        if passphrase.trim().chars().count() < MIN_PASSPHRASE {
            lead = &short;
        } else if line::ask_hidden("", "Repeat the passphrase:")?.trim() == passphrase.trim() {
            break passphrase;
        } else {
            lead = "The passphrases do not match.\n";
        }
    };
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(io::Error::other)?;
    Approver::with_passphrase(name, &passphrase, salt, Cost::default())
        .map_err(|error| ApproverError::Key(error.to_string()))
}

fn with_ssh(name: &str, file: &PathBuf) -> Result<Approver, ApproverError> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| ApproverError::File { path: shown.clone(), error })?;
    let public = text.lines().next().unwrap_or_default().trim().to_owned();
    PublicKey::read(&public).map_err(|error| ApproverError::Key(format!("{shown}: {error}")))?;
    Ok(Approver { name: name.to_owned(), key: ApproverKey::Ssh { public } })
}

fn with_totp(name: &str) -> Result<Approver, ApproverError> {
    let mut secret = [0; 20];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let approver =
        Approver { name: name.to_owned(), key: ApproverKey::Totp { secret: Base64::encode_string(&secret) } };
    let shown = base32(&secret);
    let address = format!("otpauth://totp/guard:{name}?secret={shown}&issuer=guard");
    let text = format!("{}Add this to your authenticator app:\n  {shown}\n  {address}\n", squares(&address));
    let code = line::ask(&text, "Current code:")?;
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    approver.sign_with_code(&code, b"", now).map_err(|error| ApproverError::Key(error.to_string()))?;
    Ok(approver)
}

/// Returns a URL as a QR code, or an empty text if it is too long.
fn squares(address: &str) -> String {
    QRBuilder::new(address.as_bytes()).build().map_or_else(|_| String::new(), |code| code.to_str() + "\n")
}

/// Encodes in Base32 (RFC 4648). The length needs no padding.
fn base32(bytes: &[u8; 20]) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let group = |at: usize| (at * 5..at * 5 + 5).fold(0, |group, at| group << 1 | usize::from(bit(at)));
    (0..32).map(|at| char::from(LETTERS[group(at)])).collect()
}

fn list(enrolled: &Enrolled, json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let approvers: Vec<_> = enrolled
            .approvers
            .iter()
            .map(|approver| serde_json::json!({ "name": approver.name, "kind": approver.key.kind() }))
            .collect();
        let problems: Vec<_> = enrolled.problems.iter().map(ToString::to_string).collect();
        let whole = serde_json::json!({
            "approvers": approvers, "directory": enrolled.directory, "changeable": enrolled.changeable, "problems": problems,
        });
        return writeln!(out, "{whole}");
    }
    let look = Look::from_environment(|name| std::env::var(name).ok(), io::stdout().is_terminal());
    let mut lines = Vec::new();
    for approver in &enrolled.approvers {
        let about = match &approver.key {
            ApproverKey::Passphrase { .. } => "a passphrase".to_owned(),
            ApproverKey::Passkey(passkey) => format!("a passkey, on the page at {}", passkey.origins.join(", ")),
            ApproverKey::Totp { .. } => "an authenticator app; anyone who can read its file can sign".to_owned(),
            ApproverKey::Ssh { public } => match PublicKey::read(public) {
                Ok(key) if key.is_hardware() => "an SSH key on hardware, which needs a touch".to_owned(),
                _ => "an SSH key".to_owned(),
            },
        };
        lines.push(Line::of(Style::Strong, approver.name.clone()).with(Style::Plain, format!("  {about}")));
    }
    for problem in &enrolled.problems {
        lines.push(Line::of(Style::Strong, "problem: ").with(Style::Plain, problem.to_string()));
    }
    if !enrolled.is_any() {
        lines.push(Line::of(
            Style::Plain,
            "No approvers are enrolled, so approvals are not signed. To enrol one: guard approver add NAME",
        ));
    }
    let columns = screen::columns();
    let fitted = |line: Line| if line.width() > columns { wrap::styled(&line, columns) } else { vec![line] };
    let lines: Vec<Line> = lines.into_iter().flat_map(fitted).collect();
    out.write_all(style::render(&lines, &look).as_bytes())?;
    if enrolled.is_any() && enrolled.changeable {
        let (why, how) = how_to_move(enrolled);
        write!(out, "{}{how}", screen::fitted(&why))?;
    }
    Ok(())
}

/// Describes how well the current location protects the keys, and returns the commands that move them to a better one.
/// The commands are for copying, so their lines are not wrapped.
fn how_to_move(enrolled: &Enrolled) -> (String, String) {
    let directory = enrolled.directory.display();
    (
        "This account, and every program that it runs, can change the approvers. To prevent that:".to_owned(),
        format!(
            "  sudo install -d -o root -m 755 {MACHINE}/approvers\n  sudo install -o root -m 644 {directory}/*.toml \
             {MACHINE}/approvers/\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shown_as_authenticators_read_them() {
        assert_eq!(base32(b"12345678901234567890"), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
    }
}
