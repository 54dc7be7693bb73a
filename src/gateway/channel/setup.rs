//! `guard channel`: sets up, tests, lists and removes messengers, by editing the configuration file, which a person can
//! also edit.
//!
//! Out of scope: the messengers' protocols.

mod questions;
mod running;

use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use nix::unistd::Gid;
use tokio::sync::mpsc;

use self::questions::{ChannelOptions, NewChannel, SetupKind};
use self::running::{reloaded, through_gateway};
use super::buttons::ApproverNonce;
use super::probe::{TAP, test_card};
use super::{AddressError, BoxFuture, Channel, ChannelError, ChannelState, ChannelStatus, SendError, UserAction, open};
use crate::account::{Account, AccountError};
use crate::client::ClientError;
use crate::config::{Config, ConfigError, Secret, SecretError};
use crate::person::{self, PersonError};
use crate::secrets::NoRandomBytes;

/// The arguments of `guard channel`.
#[derive(Debug, Args)]
pub struct ChannelArgs {
    #[command(subcommand)]
    verb: ChannelCommand,
    /// The configuration (default: gateway.toml beside guard's own)
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ChannelCommand {
    /// Add a channel: asks for its settings, sends a test card and waits for a reply
    Add {
        kind: SetupKind,
        /// The name of the channel (default: its kind)
        #[arg(long)]
        name: Option<String>,
        /// The approver who answers there
        #[arg(long)]
        approver: Option<String>,
        /// The file of its secret (mode 0600); by default guard asks for it and stores it beside the configuration. For a
        /// channel with two secrets, give this or one of the next two options twice
        #[arg(long, value_name = "FILE")]
        secret_file: Vec<PathBuf>,
        /// The name of its secret in the keyring
        #[arg(long, value_name = "NAME", conflicts_with = "secret_file")]
        keyring: Vec<String>,
        /// A command that prints its secret, as one argument; it runs without a shell whenever the gateway starts
        #[arg(long, value_name = "COMMAND", conflicts_with_all = ["secret_file", "keyring"])]
        secret_command: Vec<String>,
        /// The chat or channel, if guard cannot detect it; for SMS and e-mail the sender
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
        /// The approver's user ID, if guard cannot detect it; for SMS and e-mail the number or address
        #[arg(long, value_name = "ID")]
        user: Option<String>,
        /// The URL of its API, or the URL to post to
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Send no test card
        #[arg(long)]
        no_test: bool,
        /// For a program: its absolute path, and its arguments
        #[arg(last = true, value_name = "PROGRAM")]
        command: Vec<String>,
    },
    /// Send a test card, and wait for a reply if the channel supports it
    Test { name: String },
    /// List the channels
    List,
    /// Remove a channel
    Remove { name: String },
}

/// Sets up, tests, lists or removes channels.
///
/// # Errors
/// Returns the [`SetupError`] that prevented it.
pub fn run(args: &ChannelArgs) -> Result<u8, SetupError> {
    let account = Account::of_this_process();
    let (path, reader) = match &args.config {
        Some(path) => (path.clone(), None),
        None => (account.config_directory()?.join("gateway.toml"), account.gateway_ids()),
    };
    let doing = match &args.verb {
        ChannelCommand::Add { .. } => Some("guard channel add"),
        ChannelCommand::Remove { .. } => Some("guard channel remove"),
        ChannelCommand::List | ChannelCommand::Test { .. } => None,
    };
    if let Some(doing) = doing
        && !person::is_here(doing)?
    {
        return Ok(person::REFUSED);
    }
    if let Some(doing) = doing.filter(|_| reader.is_some() && account.uid != 0) {
        return Err(SetupError::NotRoot(doing));
    }
    let config = Config::read(&path)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match &args.verb {
        ChannelCommand::List => {
            if config.channel.is_empty() {
                println!("No channels. To add one, for example: guard channel add telegram");
            }
            for channel in &config.channel {
                println!("{:<16} {}", channel.name, channel.kind.name());
            }
            Ok(0)
        }
        ChannelCommand::Test { name } => {
            let found = config.channel.iter().find(|channel| channel.name == *name);
            let found = found.ok_or_else(|| SetupError::Unknown(name.clone()))?;
            let socket = account.socket(&config)?;
            runtime.block_on(async {
                // A messenger sends events to the running gateway only, so the test must go through it.
                match through_gateway(&socket, found).await? {
                    Some(code) => Ok(code),
                    None => test(open(found)?).await,
                }
            })
        }
        ChannelCommand::Remove { name } => {
            let text = match std::fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(SetupError::Unknown(name.clone())),
                text => text.map_err(|error| SetupError::File { path: path.clone(), error })?,
            };
            let kept = without(&text, name).ok_or_else(|| SetupError::Unknown(name.clone()))?;
            Config::parse(&kept).map_err(|why| SetupError::Needed { name: name.clone(), why })?;
            write(&path, &kept, reader.map(|(_, group)| group))?;
            println!("Removed {name} from {}.{}", path.display(), runtime.block_on(reloaded(args, &account, &kept)));
            Ok(0)
        }
        ChannelCommand::Add {
            kind,
            name,
            approver,
            secret_file,
            keyring,
            secret_command,
            chat,
            user,
            url,
            no_test,
            command,
        } => {
            let name = name.clone().unwrap_or_else(|| kind.name().to_owned());
            if config.channel.iter().any(|channel| channel.name == name) {
                return Err(SetupError::Exists(name));
            }
            let new = NewChannel {
                kind: *kind,
                name: &name,
                directory: path.parent().unwrap_or(Path::new("/")),
                reader: reader.map(|(uid, _)| uid),
            };
            let secrets = places(secret_file, keyring, secret_command)?;
            let given = ChannelOptions {
                approver: approver.clone(),
                secrets,
                chat: chat.clone(),
                user: user.clone(),
                url: url.clone(),
                command: command.clone(),
            };
            let section = runtime.block_on(new.ask(&given))?;
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let text = if text.is_empty() { section } else { format!("{}\n\n{section}", text.trim_end()) };
            let config = Config::parse(&text)?;
            let found = config.channel.iter().find(|channel| channel.name == name);
            let channel = open(found.ok_or(SetupError::Missing)?)?;
            if !no_test && runtime.block_on(test(channel))? != 0 {
                return Err(SetupError::Test);
            }
            write(&path, &text, reader.map(|(_, group)| group))?;
            println!("Added {name} to {}.{}", path.display(), runtime.block_on(reloaded(args, &account, &text)));
            Ok(0)
        }
    }
}

/// Returns the locations of a channel's secrets that were given as options.
///
/// # Errors
/// Returns an error if a file does not exist, or if a command is invalid.
fn places(files: &[PathBuf], keyring: &[String], commands: &[String]) -> Result<Vec<Secret>, SetupError> {
    let file = |file: &PathBuf| {
        let told = |error| SetupError::File { path: file.clone(), error };
        std::fs::canonicalize(file).map(Secret::File).map_err(told)
    };
    let command = |text: &String| match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(Secret::Command(words)),
        _ => Err(SetupError::NoCommand(text.clone())),
    };
    let named = keyring.iter().map(|name| Ok(Secret::Keyring(name.clone())));
    files.iter().map(file).chain(named).chain(commands.iter().map(command)).collect()
}

/// The reason why a channel cannot be set up, tested, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Person(#[from] PersonError),
    #[error("only root can configure the channels of the machine's gateway; use sudo {0} ...")]
    NotRoot(&'static str),
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// An error of the terminal or the runtime.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("no channel {0}; see guard channel list")]
    Unknown(String),
    #[error("channel {0} already exists; run guard channel remove {0}, or use another --name")]
    Exists(String),
    #[error("without {name} the configuration would be invalid: {why}")]
    Needed { name: String, why: ConfigError },
    #[error("the channel is not in the configuration")]
    Missing,
    #[error(transparent)]
    Channel(#[from] ChannelError),
    #[error(transparent)]
    Address(#[from] AddressError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error("the test failed; not changed")]
    Test,
    #[error("--secret-command: not a command: {0:?}")]
    NoCommand(String),
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
    /// An error of the running gateway.
    #[error(transparent)]
    Gateway(#[from] ClientError),
    /// An error of the messenger.
    #[error(transparent)]
    Failed(#[from] SendError),
    #[error("the test card was not accepted: {0}")]
    NotSent(SendError),
    #[error("{kind} does not take a program; use guard channel add program -- {words}")]
    NoProgramWanted { kind: &'static str, words: String },
    #[error("{0} is not a Telegram ID")]
    NoTelegramId(String),
    #[error("no token entered")]
    NoToken,
    #[error(transparent)]
    Section(#[from] toml::de::Error),
    #[error(transparent)]
    Written(#[from] toml::ser::Error),
    #[error("{0} is not executable; run chmod +x on it, or give another")]
    NotExecutable(String),
    #[error("{0}: {1}")]
    Program(String, io::Error),
    #[error("{0}: cannot ask without a terminal; see guard channel add --help for the option")]
    NoTerminal(String),
    #[error("{0}: cannot ask without a terminal; use --secret-file, --keyring or --secret-command")]
    NoTerminalForSecret(String),
    #[error("{0}: nothing entered")]
    Nothing(String),
    #[error("the code was not received within {0} s")]
    NoCode(u64),
}

struct Quiet;

impl ChannelState for Quiet {
    fn status(&self, channel: &str, status: ChannelStatus) {
        if let ChannelStatus::Down { why } = status {
            eprintln!("guard-gateway: {channel}: {why}");
        }
    }

    fn position<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async { None })
    }

    fn set_position<'a>(&'a self, _: &'a str, _: String) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}

/// The message for a channel that cannot receive answers.
const ONE_WAY: &str = "The test card was sent; answers cannot come back this way.";

fn of_another(from: &str) -> String {
    let from = guard_ui::ui::visible::text(from);
    format!("Button pressed by {from}, who is not an approver here, or whose button it is not.")
}

/// Prints who pressed the button, if anyone did. Returns the exit code.
fn ended(by: Option<&str>) -> u8 {
    match by {
        Some(approver) => println!("Button pressed by {approver}: the channel works."),
        None => println!("No button was pressed within {} s.", TAP.as_secs()),
    }
    u8::from(by.is_none())
}

/// Sends a card without a request, and waits for the press.
async fn test(channel: Arc<dyn Channel>) -> Result<u8, SetupError> {
    let card = test_card("guard channel test");
    let own = ApproverNonce::of_all(channel.approvers())?;
    let (inbox, mut taps) = mpsc::channel(8);
    let listening = channel.clone().receive(inbox, Arc::new(Quiet));
    let message = channel.send(&card, &own).await.map_err(SetupError::NotSent)?;
    let Some(listening) = listening else {
        println!("{ONE_WAY}");
        return Ok(0);
    };
    println!("The test card was sent. Press one of its buttons.");
    let waiting = async {
        while let Some(interaction) = taps.recv().await {
            let is_own = |name: &String| {
                let of_them = |one: &ApproverNonce| matches!(&interaction.action, UserAction::Pressed { nonce, .. } if *nonce == one.nonce);
                own.iter().any(|one| one.approver == *name && of_them(one))
            };
            let known = interaction.approver.clone().filter(is_own);
            let _ = interaction
                .reply
                .send(if known.is_some() { "it works" } else { "this is not the test card of guard" }.to_owned());
            if known.is_some() {
                return known;
            }
            println!("{}", of_another(&interaction.from));
        }
        None
    };
    let listening = tokio::spawn(listening);
    let pressed = tokio::time::timeout(TAP, waiting).await.ok().flatten();
    let told = if pressed.is_some() { "it works" } else { "no button pressed" };
    let _ = channel.close(&message, &card, told).await;
    listening.abort();
    Ok(ended(pressed.as_deref()))
}

/// Returns the configuration without the section of a channel, keeping comments elsewhere. Returns `None` if there is
/// no channel of this name.
fn without(text: &str, name: &str) -> Option<String> {
    let mut sections: Vec<Vec<&str>> = vec![Vec::new()];
    for line in text.lines() {
        let trimmed = line.trim();
        // A subtable such as `[channel.approvers]` belongs to the channel.
        let begins = trimmed.starts_with('[') && !trimmed.starts_with("[channel.");
        if begins {
            sections.push(Vec::new());
        }
        if let Some(last) = sections.last_mut() {
            last.push(line);
        }
    }
    let is_it = |section: &[&str]| {
        let table: Option<toml::Table> = toml::from_str(&section.join("\n")).ok();
        let found =
            table.and_then(|table| table.get("channel")?.as_array()?.first()?.get("name")?.as_str().map(str::to_owned));
        found.as_deref() == Some(name)
    };
    let before = sections.len();
    sections.retain(|section| !is_it(section));
    (sections.len() < before)
        .then(|| sections.iter().map(|section| section.join("\n")).collect::<Vec<_>>().join("\n") + "\n")
}

/// Replaces the configuration atomically. If a group is given, makes the file readable for it.
fn write(path: &Path, text: &str, group: Option<Gid>) -> Result<(), SetupError> {
    let told = |error| SetupError::File { path: path.to_owned(), error };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(told)?;
    }
    let draft = path.with_extension("toml.new");
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft);
    let given = |file: &std::fs::File| match group {
        Some(group) => std::os::unix::fs::fchown(file, None, Some(group.as_raw()))
            .and_then(|()| file.set_permissions(std::fs::Permissions::from_mode(0o640))),
        None => Ok(()),
    };
    let written = |mut file: std::fs::File| {
        file.write_all(text.as_bytes()).and_then(|()| given(&file)).and_then(|()| file.sync_all())
    };
    file.and_then(written).map_err(told)?;
    std::fs::rename(&draft, path).map_err(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_what_a_command_prints() {
        let words = |text: &str| {
            let all = places(&[], &[], &[text.to_owned()]).map_err(|why| why.to_string())?;
            Ok(all
                .iter()
                .map(|one| if let Secret::Command(words) = one { words.join("|") } else { String::new() })
                .collect())
        };
        assert_eq!(words("pass show 'guard telegram'"), Ok(vec!["pass|show|guard telegram".to_owned()]));
        for odd in ["", "  ", "pass 'show"] {
            assert!(words(odd).is_err_and(|why: String| why.contains("not a command")), "{odd}");
        }
        assert!(places(&["/nowhere/secret".into()], &[], &[]).is_err());
        assert_eq!(places(&[], &["a".to_owned(), "b".to_owned()], &[]).unwrap().len(), 2);
    }

    #[test]
    fn a_channel_is_taken_out_and_the_rest_stays() {
        let text = "# mine\nunsigned_tier = 1\n\n[[channel]]\nname = \"a\"\nkind = \"ntfy\"\nurl = \"https://x/y\"\n\n\
                    [[channel]]\nname = \"b\"\nkind = \"telegram\"\nchat = 1\n[channel.token]\nfile = \"/x\"\n\
                    [channel.approvers]\nada = 5\n\n[[route]]\ntiers = [3]\nchannels = [\"a\"]\n";
        let kept = without(text, "b").unwrap();
        assert!(kept.starts_with("# mine\n") && kept.contains("\"a\"") && kept.contains("[[route]]"), "{kept}");
        assert!(!kept.contains("ada") && !kept.contains("/x\""), "{kept}");
        assert!(Config::parse(&kept).is_ok());
        assert_eq!(without(text, "c"), None);
    }
}
