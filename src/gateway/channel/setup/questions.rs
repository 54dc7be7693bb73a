//! Asks for the settings of a new channel that were not given as options.
//!
//! Out of scope: the configuration file.

use std::collections::BTreeMap;
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use nix::unistd::Uid;
use serde_json::json;

use super::SetupError;
use crate::channel::probe::TAP;
use crate::channel::program::Program;
use crate::channel::telegram::Telegram;
use crate::config::Secret;
use crate::secrets::secret;

/// The kinds of channels that can be set up by asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SetupKind {
    Telegram,
    Discord,
    Slack,
    Ntfy,
    Pushover,
    Twilio,
    Desktop,
    Email,
    Webhook,
    Program,
}

impl SetupKind {
    /// Returns the name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
            Self::Ntfy => "ntfy",
            Self::Pushover => "pushover",
            Self::Twilio => "twilio",
            Self::Desktop => "desktop",
            Self::Email => "email",
            Self::Webhook => "webhook",
            Self::Program => "program",
        }
    }
}

/// A channel to be added.
pub struct NewChannel<'a> {
    pub kind: SetupKind,
    pub name: &'a str,
    /// The directory where typed secrets are stored.
    pub directory: &'a Path,
    /// The account that reads them, if it is another.
    pub reader: Option<Uid>,
}

/// The settings that were given as options.
#[derive(Clone, Debug, Default)]
pub struct ChannelOptions {
    pub approver: Option<String>,
    /// The locations of its one or two secrets.
    pub secrets: Vec<Secret>,
    pub chat: Option<String>,
    pub user: Option<String>,
    pub url: Option<String>,
    /// The program and its arguments.
    pub command: Vec<String>,
}

impl NewChannel<'_> {
    /// Returns its section of the configuration, and asks for missing settings.
    pub async fn ask(&self, from: &ChannelOptions) -> Result<String, SetupError> {
        let Self { kind, name, .. } = *self;
        let mut table = toml::Table::new();
        table.insert("name".to_owned(), name.into());
        table.insert("kind".to_owned(), kind.name().into());
        if kind != SetupKind::Program && !from.command.is_empty() {
            return Err(SetupError::NoProgramWanted { kind: kind.name(), words: from.command.join(" ") });
        }
        match kind {
            SetupKind::Email => return self.ask_email(table, from),
            SetupKind::Program => return ask_program(table, from),
            _ => {}
        }
        if matches!(kind, SetupKind::Ntfy | SetupKind::Webhook) {
            let what = "URL (for ntfy with the topic, as in https://ntfy.sh/guard-x7c2)";
            table.insert("url".to_owned(), options(&from.url, what)?.into());
        } else if let Some(url) = &from.url {
            table.insert("url".to_owned(), url.clone().into());
        }
        match kind {
            SetupKind::Desktop => {}
            SetupKind::Ntfy if from.secrets.is_empty() => {}
            SetupKind::Webhook => self.secret(&mut table, "secret", from.secrets.first(), "Secret")?,
            _ => self.secret(&mut table, "token", from.secrets.first(), "Token")?,
        }
        match kind {
            SetupKind::Ntfy | SetupKind::Webhook => return section(table),
            SetupKind::Pushover => {
                self.secret(&mut table, "user", from.secrets.get(1), "User key or group key")?;
                return section(table);
            }
            SetupKind::Twilio => {
                let account = typed("Account ID (AC...)")?;
                table.insert("account".to_owned(), account.into());
                table.insert("from".to_owned(), options(&from.chat, "Sender's number (+15550100)")?.into());
                let to = options(&from.user, "Approver's number")?;
                table.insert("to".to_owned(), toml::Value::Array(vec![to.into()]));
                return section(table);
            }
            SetupKind::Slack => {
                self.secret(&mut table, "app_token", from.secrets.get(1), "App-level token (xapp-...)")?
            }
            SetupKind::Telegram | SetupKind::Discord | SetupKind::Desktop | SetupKind::Email | SetupKind::Program => {}
        }
        let approver = options(&from.approver, "Name of the approver who answers there")?;
        if kind == SetupKind::Desktop {
            table.insert("approver".to_owned(), approver.into());
            return section(table);
        }
        let mut people = toml::Table::new();
        match (kind, &from.chat, &from.user) {
            (SetupKind::Telegram, Some(chat), Some(user)) => {
                let number = |text: &str| text.parse::<i64>().map_err(|_| SetupError::NoTelegramId(text.to_owned()));
                table.insert("chat".to_owned(), number(chat)?.into());
                people.insert(approver, number(user)?.into());
            }
            (SetupKind::Telegram, ..) => {
                let place = table.get("token").cloned().ok_or(SetupError::NoToken)?;
                let place: Secret = place.try_into()?;
                let token = place.read()?;
                let url = from.url.clone().unwrap_or_else(|| "https://api.telegram.org".to_owned());
                let (chat, user) = find(name, &url, &token).await?;
                table.insert("chat".to_owned(), chat.into());
                people.insert(approver, user.into());
            }
            _ => {
                let what = if kind == SetupKind::Slack {
                    (
                        "Channel ID (at the end of the channel details)",
                        "Your member ID (in your profile, Copy member ID)",
                    )
                } else {
                    (
                        "Channel ID (in developer mode, right click, Copy Channel ID)",
                        "Your user ID (right click on your name, Copy User ID)",
                    )
                };
                table.insert("chat".to_owned(), options(&from.chat, what.0)?.into());
                people.insert(approver, options(&from.user, what.1)?.into());
            }
        }
        table.insert("approvers".to_owned(), people.into());
        section(table)
    }

    /// Asks for a mailbox: the server, the login, the sender and the recipient.
    fn ask_email(&self, mut table: toml::Table, from: &ChannelOptions) -> Result<String, SetupError> {
        let url =
            options(&from.url, "Mail server (smtps://mail.example.org, or smtp://mail.example.org:587?tls=required)")?;
        crate::channel::email::check_url(&url)?;
        table.insert("url".to_owned(), url.into());
        let sender = options(&from.chat, "Sender's address (guard@example.org)")?;
        let to = options(&from.user, "Approver's address")?;
        // A server on this machine may need no login.
        if !from.secrets.is_empty() || std::io::stdin().is_terminal() {
            table.insert("user".to_owned(), sender.clone().into());
            self.secret(&mut table, "password", from.secrets.first(), &format!("Password of {sender} on the server"))?;
        }
        table.insert("from".to_owned(), sender.into());
        table.insert("to".to_owned(), to.into());
        table.insert("approver".to_owned(), options(&from.approver, "Name of the approver who reads the mail")?.into());
        section(table)
    }

    /// Adds the location of a secret to the section. A typed secret is stored in a file of its own.
    fn secret(
        &self,
        table: &mut toml::Table,
        key: &str,
        options: Option<&Secret>,
        what: &str,
    ) -> Result<(), SetupError> {
        let (kind, value): (_, toml::Value) = match options {
            Some(Secret::File(path)) => ("file", path.display().to_string().into()),
            Some(Secret::Keyring(name)) => ("keyring", name.clone().into()),
            Some(Secret::Command(words)) => ("command", words.clone().into()),
            None => ("file", self.keep(key, what)?.display().to_string().into()),
        };
        let mut place = toml::Table::new();
        place.insert(kind.to_owned(), value);
        table.insert(key.to_owned(), place.into());
        Ok(())
    }

    /// Asks for a secret and stores it in a file of its own.
    fn keep(&self, key: &str, what: &str) -> Result<PathBuf, SetupError> {
        let text = typed_hidden(what)?;
        let path = self.directory.join(match key {
            "token" | "secret" => format!("{}.secret", self.name),
            _ => format!("{}-{key}.secret", self.name),
        });
        let told = |path: &Path| {
            let path = path.to_owned();
            |error| SetupError::File { path, error }
        };
        std::fs::create_dir_all(self.directory).map_err(told(self.directory))?;
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        let options = |file: &std::fs::File| match self.reader {
            Some(reader) => std::os::unix::fs::fchown(file, Some(reader.as_raw()), None),
            None => Ok(()),
        };
        let done = file.and_then(|mut file| options(&file).and_then(|()| writeln!(file, "{text}")));
        done.map_err(told(&path))?;
        Ok(path)
    }
}

/// Asks for a program of the user, with its absolute path.
fn ask_program(mut table: toml::Table, from: &ChannelOptions) -> Result<String, SetupError> {
    let mut command = from.command.clone();
    if command.is_empty() {
        command.push(typed("Absolute path of the program")?);
    }
    Program::new(command.clone())?;
    let program = command.first().map(String::as_str).unwrap_or_default();
    let found = std::fs::metadata(program).map_err(|error| SetupError::Program(program.to_owned(), error))?;
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return Err(SetupError::NotExecutable(program.to_owned()));
    }
    table.insert("command".to_owned(), command.into());
    section(table)
}

fn section(table: toml::Table) -> Result<String, SetupError> {
    let mut whole = toml::Table::new();
    whole.insert("channel".to_owned(), toml::Value::Array(vec![table.into()]));
    Ok(toml::to_string(&whole)?)
}

fn options(value: &Option<String>, what: &str) -> Result<String, SetupError> {
    match value {
        Some(value) => Ok(value.clone()),
        None => typed(what),
    }
}

fn typed(what: &str) -> Result<String, SetupError> {
    if !std::io::stdin().is_terminal() {
        return Err(SetupError::NoTerminal(what.to_owned()));
    }
    eprint!("{what}: ");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let line = line.trim();
    if line.is_empty() { Err(SetupError::Nothing(what.to_owned())) } else { Ok(line.to_owned()) }
}

/// Reads a typed line without echo.
fn typed_hidden(what: &str) -> Result<String, SetupError> {
    use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
    let stdin = std::io::stdin();
    let before = tcgetattr(&stdin).map_err(|_| SetupError::NoTerminalForSecret(what.to_owned()))?;
    let mut quiet = before.clone();
    quiet.local_flags.remove(LocalFlags::ECHO);
    tcsetattr(&stdin, SetArg::TCSAFLUSH, &quiet).map_err(std::io::Error::from)?;
    let said = typed(what);
    let _ = tcsetattr(&stdin, SetArg::TCSAFLUSH, &before);
    eprintln!();
    said
}

/// Returns the chat and the user that first send the shown code to the bot.
async fn find(name: &str, url: &str, token: &str) -> Result<(i64, i64), SetupError> {
    let bot = Telegram::new(name.to_owned(), url, token, 0, BTreeMap::new())?;
    let me = bot.call("getMe", &json!({})).await?;
    let code = secret::<4>("")?;
    let who = me["username"].as_str().unwrap_or("the bot");
    println!("In Telegram, send this code to @{who} from the chat where you want to be asked:  {code}");
    let until = tokio::time::Instant::now() + TAP;
    let mut offset = 0;
    while tokio::time::Instant::now() < until {
        let wanted = json!({ "offset": offset, "timeout": 5, "allowed_updates": ["message"] });
        let updates = bot.call("getUpdates", &wanted).await?;
        for update in updates.as_array().unwrap_or(&Vec::new()) {
            offset = offset.max(update["update_id"].as_i64().unwrap_or(0) + 1);
            let message = &update["message"];
            let said = message["text"].as_str().is_some_and(|text| text.split_whitespace().any(|word| word == code));
            if let (true, Some(chat), Some(user)) =
                (said, message["chat"]["id"].as_i64(), message["from"]["id"].as_i64())
            {
                // Mark the updates as read, so that the gateway does not get them again.
                let _ = bot.call("getUpdates", &json!({ "offset": offset, "timeout": 0 })).await;
                return Ok((chat, user));
            }
        }
    }
    Err(SetupError::NoCode(TAP.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn where_a_secret_lies_is_written_and_never_what_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let new = NewChannel { kind: SetupKind::Ntfy, name: "phone", directory: directory.path(), reader: None };
        let url = Some("https://ntfy.test/guard-x7".to_owned());
        let mut options = ChannelOptions { url, ..ChannelOptions::default() };
        assert!(!new.ask(&options).await.unwrap().contains("token"), "a topic without one");
        for (secret, wanted) in [
            (Secret::Keyring("phone".to_owned()), "keyring = \"phone\""),
            (Secret::File("/a/b".into()), "file = \"/a/b\""),
            (Secret::Command(vec!["pass".to_owned(), "guard".to_owned()]), "command = [\"pass\", \"guard\"]"),
        ] {
            options.secrets = vec![secret];
            let section = new.ask(&options).await.unwrap();
            assert!(section.contains(wanted), "{section}");
            assert_eq!(crate::config::Config::parse(&section).unwrap().channel.len(), 1);
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_channel_with_two_secrets_is_told_where_both_are() {
        let directory = tempfile::tempdir().unwrap();
        let new = NewChannel { kind: SetupKind::Slack, name: "team", directory: directory.path(), reader: None };
        let secret = |word: &str| Secret::Command(vec!["pass".to_owned(), word.to_owned()]);
        let options = ChannelOptions {
            approver: Some("ada".to_owned()),
            secrets: vec![secret("bot"), secret("app")],
            chat: Some("C1".to_owned()),
            user: Some("U1".to_owned()),
            ..ChannelOptions::default()
        };
        let section = new.ask(&options).await.unwrap();
        let config = crate::config::Config::parse(&section).unwrap();
        let crate::config::ChannelKind::Slack { token, app_token, .. } = &config.channel[0].kind else { panic!() };
        assert!(matches!(token, Secret::Command(words) if words[1] == "bot"), "{section}");
        assert!(matches!(app_token, Secret::Command(words) if words[1] == "app"), "{section}");
    }

    #[tokio::test]
    async fn a_program_is_one_that_may_be_run_and_only_a_program_takes_one() {
        let directory = tempfile::tempdir().unwrap();
        let new = |kind: SetupKind| NewChannel { kind, name: "mine", directory: directory.path(), reader: None };
        let script = directory.path().join("tell");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        let with = |words: &[&str]| ChannelOptions {
            command: words.iter().map(ToString::to_string).collect(),
            ..ChannelOptions::default()
        };
        let told = |options: ChannelOptions| async move { new(SetupKind::Program).ask(&options).await };
        let path = script.to_str().unwrap();
        assert!(told(with(&[path])).await.unwrap_err().to_string().contains("chmod +x"));
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o700)).unwrap();
        let config = crate::config::Config::parse(&told(with(&[path, "two words"])).await.unwrap()).unwrap();
        let crate::config::ChannelKind::Program { command } = &config.channel[0].kind else { panic!("no program") };
        assert_eq!(command, &[path, "two words"]);
        assert!(told(with(&["tell"])).await.unwrap_err().to_string().contains("absolute path"));
        assert!(
            told(with(&[directory.path().to_str().unwrap()])).await.unwrap_err().to_string().contains("not executable")
        );
        assert!(told(with(&["/nowhere/tell"])).await.unwrap_err().to_string().contains("/nowhere/tell"));
        let url = Some("https://ntfy.test/x".to_owned());
        let both = ChannelOptions { url, ..with(&[path]) };
        assert!(new(SetupKind::Ntfy).ask(&both).await.unwrap_err().to_string().contains("does not take a program"));
    }
}
