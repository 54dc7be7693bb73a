//! `gateway.toml`, beside guard's own configuration: where the gateway listens, who answers through which messenger,
//! and how far an answer without a signature reaches.
//!
//! A file that is wrong in any place is refused whole, with the line; what held before goes on. Secrets do not stand in
//! it: it names the file or the command that gives them. What may not enter: the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jiff::civil::{Time, Weekday};
use serde::Deserialize;

use crate::address::{Network, counted};

/// The port, where the file names none. Browsers refuse 6000, which older documents name.
pub const PORT: u16 = 6180;

/// The push services of the browsers that have web push: Chromium's, Firefox's, Safari's and Edge's.
const PUSH_HOSTS: [&str; 4] =
    ["fcm.googleapis.com", "updates.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com"];

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Addresses with ports.
    pub listen: Vec<SocketAddr>,
    /// The Unix socket; empty: none.
    pub socket: Option<PathBuf>,
    /// Names that it is reached by, beside localhost.
    pub hosts: Vec<String>,
    /// The address of the page as phones reach it, for links.
    pub page: Option<String>,
    /// A proxy in front of it does TLS: only then may it listen elsewhere than on this machine.
    pub behind_proxy: bool,
    /// Addresses and networks of the proxies in front of it: only these are believed when they say whom they speak for.
    pub proxies: Vec<Network>,
    /// A certificate of its own, with those between it and its authority, as PEM: then it speaks TLS wherever it listens
    /// for more than this machine.
    pub certificate: Option<PathBuf>,
    /// The certificate's key, as PEM.
    pub key: Option<PathBuf>,
    /// The highest tier that is approved from afar without a signature.
    pub unsigned_tier: u8,
    pub channel: Vec<ChannelConfig>,
    pub route: Vec<Route>,
    /// Who may be told how a command ended that was handed in.
    pub callback: Vec<Callback>,
    /// How long a channel may take to accept a message, in seconds.
    pub accept_secs: u64,
    /// How long a client may take for the head of a request, and for its body, in seconds.
    pub request_secs: u64,
    /// The most connections at once.
    pub connections: usize,
    /// The most connections from one address, which is neither this machine's nor a proxy's.
    pub connections_each: usize,
    /// What is said on standard error: off, error, warn, info (with a line for each request), debug or trace.
    pub log: String,
    /// Hosts of push services: what a browser names as the address of a device is one of these, or is refused.
    pub push_hosts: Vec<String>,
}

impl Config {
    /// That it may listen there: nothing is said in plain to other machines.
    ///
    /// # Errors
    /// It may not, and what would make it so.
    pub fn may_listen(&self, address: SocketAddr) -> Result<(), String> {
        if address.ip().is_loopback() || self.behind_proxy || self.certificate.is_some() {
            return Ok(());
        }
        Err(format!(
            "{address} is reachable from other machines, which requires TLS: set certificate and key, or use a TLS \
             proxy and set behind_proxy = true, or listen on 127.0.0.1"
        ))
    }

    /// How long a channel may take to accept a message.
    #[must_use]
    pub fn accept(&self) -> Duration {
        Duration::from_secs(self.accept_secs.clamp(1, 60))
    }

    /// How long a client may take for the head of a request, and for its body.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.request_secs.clamp(1, 300))
    }

    /// The address that a connection is counted by; `None` where one address stands for many clients.
    #[must_use]
    pub fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        let address = peer.to_canonical();
        let is_proxy = if self.proxies.is_empty() {
            self.behind_proxy
        } else {
            self.proxies.iter().any(|proxy| proxy.has(address))
        };
        (!address.is_loopback() && !is_proxy).then(|| counted(address))
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], PORT))],
            socket: None,
            hosts: Vec::new(),
            page: None,
            behind_proxy: false,
            proxies: Vec::new(),
            certificate: None,
            key: None,
            unsigned_tier: 2,
            channel: Vec::new(),
            route: Vec::new(),
            callback: Vec::new(),
            accept_secs: 5,
            request_secs: 30,
            connections: 16_384,
            connections_each: 256,
            log: "warn".to_owned(),
            push_hosts: PUSH_HOSTS.map(str::to_owned).into(),
        }
    }
}

/// A place that is told how a command ended.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    pub name: String,
    /// https, or http on this machine.
    pub url: String,
    /// What it is signed with.
    pub secret: Secret,
}

/// A messenger.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "toml::Table")]
pub struct ChannelConfig {
    pub name: String,
    pub kind: ChannelKind,
}

impl TryFrom<toml::Table> for ChannelConfig {
    type Error = String;

    fn try_from(mut table: toml::Table) -> Result<Self, String> {
        let name = match table.remove("name") {
            Some(toml::Value::String(name)) => name,
            _ => return Err("a channel needs a name".to_owned()),
        };
        let kind = toml::Value::Table(table).try_into().map_err(|error| format!("channel {name}: {error}"))?;
        Ok(Self { name, kind })
    }
}

/// What a messenger needs.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum ChannelKind {
    Telegram {
        token: Secret,
        #[serde(default = "telegram_url")]
        url: String,
        /// Where cards go.
        chat: i64,
        /// guard's approvers by their user ids.
        approvers: BTreeMap<String, i64>,
    },
    Discord {
        token: Secret,
        #[serde(default = "discord_url")]
        url: String,
        /// Where cards go: the id of a channel.
        chat: String,
        approvers: BTreeMap<String, String>,
        /// `!approve ID` and `!deny ID words` count too; the bot needs the intent for the content of messages.
        #[serde(default)]
        commands: bool,
    },
    Ntfy {
        /// With the topic, which nobody can guess.
        url: String,
        token: Option<Secret>,
    },
    Webhook {
        url: String,
        secret: Secret,
    },
    Program {
        command: Vec<String>,
    },
    Slack {
        /// `xoxb-`, to write messages.
        token: Secret,
        /// `xapp-`, to open the connection of socket mode.
        app_token: Secret,
        #[serde(default = "slack_url")]
        url: String,
        /// Where cards go: the id of a channel.
        chat: String,
        approvers: BTreeMap<String, String>,
    },
    Pushover {
        token: Secret,
        /// The key of a user or a group.
        user: Secret,
        #[serde(default = "pushover_url")]
        url: String,
    },
    Twilio {
        account: String,
        token: Secret,
        #[serde(default = "twilio_url")]
        url: String,
        from: String,
        to: Vec<String>,
    },
    Email {
        /// The server: `smtps://mail.example.org`.
        url: String,
        user: Option<String>,
        password: Option<Secret>,
        from: String,
        to: String,
        /// Who reads mail there: whose answer it is that comes by the link.
        approver: String,
    },
    Desktop {
        /// `notify-send`, or what takes its arguments.
        #[serde(default = "notify_send")]
        command: Vec<String>,
        /// Whom the record names for a no.
        approver: String,
    },
}

impl ChannelKind {
    /// The word in the file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Telegram { .. } => "telegram",
            Self::Discord { .. } => "discord",
            Self::Ntfy { .. } => "ntfy",
            Self::Webhook { .. } => "webhook",
            Self::Program { .. } => "program",
            Self::Slack { .. } => "slack",
            Self::Pushover { .. } => "pushover",
            Self::Twilio { .. } => "twilio",
            Self::Desktop { .. } => "desktop",
            Self::Email { .. } => "email",
        }
    }

    /// Where it stands among the channels that no route names an order of: the lowest is tried first.
    #[must_use]
    pub const fn default_order(&self) -> u8 {
        match self {
            Self::Telegram { .. } => 0,
            Self::Discord { .. } => 1,
            Self::Slack { .. }
            | Self::Ntfy { .. }
            | Self::Pushover { .. }
            | Self::Email { .. }
            | Self::Webhook { .. }
            | Self::Program { .. } => 2,
            // Whoever sits there has a terminal too.
            Self::Desktop { .. } => 3,
            // Each message costs money.
            Self::Twilio { .. } => 4,
        }
    }

    /// Whether answers come back from the messenger's own servers.
    #[must_use]
    pub const fn is_heard(&self) -> bool {
        matches!(self, Self::Telegram { .. } | Self::Discord { .. } | Self::Slack { .. })
    }
}

fn slack_url() -> String {
    "https://slack.com/api".to_owned()
}

fn pushover_url() -> String {
    "https://api.pushover.net".to_owned()
}

fn twilio_url() -> String {
    "https://api.twilio.com".to_owned()
}

fn notify_send() -> Vec<String> {
    vec!["notify-send".to_owned()]
}

fn telegram_url() -> String {
    "https://api.telegram.org".to_owned()
}

fn discord_url() -> String {
    "https://discord.com/api/v10".to_owned()
}

/// Where a secret is found. It is read when it is needed, and never shown.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// A file that only its owner can read.
    File(PathBuf),
    /// What this prints.
    Command(Vec<String>),
    /// The account's keyring, under this name.
    Keyring(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "Secret({})", path.display()),
            Self::Command(words) => write!(f, "Secret({})", words.first().map_or("", String::as_str)),
            Self::Keyring(name) => write!(f, "Secret({name} of the keyring)"),
        }
    }
}

impl Secret {
    /// The secret itself.
    ///
    /// # Errors
    /// It cannot be read, or others can read it too.
    pub fn read(&self) -> Result<String, String> {
        use std::os::unix::fs::MetadataExt as _;
        let text = match self {
            Self::File(path) => {
                let told = |error: std::io::Error| format!("{}: {error}", path.display());
                let mode = std::fs::metadata(path).map_err(told)?.mode();
                if mode & 0o077 != 0 {
                    return Err(format!("{} is readable by others; run chmod 600 on it", path.display()));
                }
                std::fs::read_to_string(path).map_err(told)?
            }
            Self::Keyring(name) => return crate::keyring::read(name),
            Self::Command(words) => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err("the command for the secret is empty".to_owned());
                };
                let output = Command::new(program).args(arguments).output();
                let output = output.map_err(|error| format!("{program}: {error}"))?;
                if !output.status.success() {
                    return Err(format!("{program} failed ({}) and printed no secret", output.status));
                }
                String::from_utf8(output.stdout).map_err(|_| format!("the output of {program} is not text"))?
            }
        };
        let text = text.trim();
        if text.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(text.to_owned()) }
    }
}

/// A day of the week, as its first three letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Day(pub Weekday);

impl TryFrom<String> for Day {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        const DAYS: [(&str, Weekday); 7] = [
            ("mon", Weekday::Monday),
            ("tue", Weekday::Tuesday),
            ("wed", Weekday::Wednesday),
            ("thu", Weekday::Thursday),
            ("fri", Weekday::Friday),
            ("sat", Weekday::Saturday),
            ("sun", Weekday::Sunday),
        ];
        let found = DAYS.iter().find(|(name, _)| *name == text.to_ascii_lowercase());
        found
            .map(|(_, day)| Self(*day))
            .ok_or_else(|| format!("invalid day {text}: expected mon, tue, wed, thu, fri, sat or sun"))
    }
}

/// Hours of a day, the end not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Hours {
    pub from: Time,
    pub until: Time,
}

impl TryFrom<String> for Hours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("invalid hours {text}: expected a range such as 09:00-17:00");
        let time = |text: &str| {
            let (hour, minute) = text.split_once(':').filter(|(hour, minute)| hour.len() == 2 && minute.len() == 2)?;
            Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
        };
        let (from, until) = text.split_once('-').ok_or_else(wrong)?;
        let (from, until) = (time(from).ok_or_else(wrong)?, time(until).ok_or_else(wrong)?);
        if from == until { Err(wrong()) } else { Ok(Self { from, until }) }
    }
}

/// Who is asked, for what matches; the first that matches counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Route {
    pub tiers: Vec<u8>,
    pub origins: Vec<String>,
    /// A part of the session's name.
    pub session: Option<String>,
    /// The directory, and all below it.
    #[serde(rename = "folder")]
    pub directory: Option<String>,
    /// The rule of the worst finding.
    pub rule: Option<String>,
    /// On these days of the week alone.
    pub days: Vec<Day>,
    /// At these hours of this machine's clock alone: `22:00-06:00` goes past midnight.
    pub hours: Option<Hours>,
    /// Names of channels, in order; none: nobody is asked here, and what waits is seen on the page and at the terminal.
    pub channels: Vec<String>,
    /// All at once, and not one after the other.
    pub broadcast: bool,
    /// Who is told when nobody answered.
    pub admin: Vec<String>,
}

impl Config {
    /// Reads the file; without one, the defaults.
    ///
    /// # Errors
    /// It cannot be read, or says what cannot be: with the line.
    pub fn read(path: &Path) -> Result<Self, String> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|why| format!("{}: {why}", path.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if config.unsigned_tier > 3 {
            return Err("unsigned_tier: at most 3, because tier 4 can only be answered at a terminal".to_owned());
        }
        if config.certificate.is_some() != config.key.is_some() {
            return Err("certificate and key must be set together, each to a PEM file".to_owned());
        }
        if config.certificate.is_some() && config.behind_proxy {
            return Err("certificate, behind_proxy: either the gateway or a proxy in front of it does TLS; set only \
                        one of them"
                .to_owned());
        }
        for address in &config.listen {
            config.may_listen(*address).map_err(|why| format!("listen: {why}"))?;
        }
        crate::logging::filter(&config.log)?;
        let names: Vec<&str> = config.channel.iter().map(|channel| channel.name.as_str()).collect();
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(format!("channel: invalid name {name:?}: use only letters, digits and dashes"));
            }
            if names.iter().take(at).any(|other| other == name) {
                return Err(format!("channel: duplicate name {name}"));
            }
        }
        for callback in &config.callback {
            crate::channel::webhook::check_url(&callback.url)
                .map_err(|why| format!("callback {}: {why}", callback.name))?;
        }
        for name in config.route.iter().flat_map(|route| route.channels.iter().chain(&route.admin)) {
            if !names.contains(&name.as_str()) {
                return Err(format!("route: no channel {name}"));
            }
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_this_machine_is_refused_without_tls() {
        assert!(Config::parse("listen = [\"0.0.0.0:6180\"]").unwrap_err().contains("behind_proxy"));
        assert!(Config::parse("listen = [\"0.0.0.0:6180\"]\nbehind_proxy = true").is_ok());
        assert!(Config::parse("listen = [\"127.0.0.1:7000\", \"[::1]:7000\"]").is_ok());
    }

    #[test]
    fn a_certificate_goes_with_its_key_and_without_a_proxy() {
        let (certificate, key) = ("certificate = \"/c.pem\"\n", "key = \"/k.pem\"\n");
        let open = "listen = [\"0.0.0.0:6180\", \"[::]:6180\"]\n";
        assert!(Config::parse(&format!("{open}{certificate}{key}")).is_ok());
        for half in [certificate, key] {
            assert!(Config::parse(half).unwrap_err().contains("set together"), "{half}");
        }
        let both = Config::parse(&format!("{certificate}{key}behind_proxy = true\n"));
        assert!(both.unwrap_err().contains("set only"));
    }

    #[test]
    fn connections_are_counted_by_an_address_that_is_one_clients() {
        let of = |text: &str, peer: &str| Config::parse(text).unwrap().counted(peer.parse().unwrap());
        assert_eq!(of("", "192.0.2.1"), "192.0.2.1".parse().ok());
        assert_eq!(of("", "127.0.0.9"), None);
        assert_eq!(of("behind_proxy = true", "192.0.2.1"), None);
        let named = "behind_proxy = true\nproxies = [\"192.0.2.1\"]";
        assert_eq!((of(named, "::ffff:192.0.2.1"), of(named, "192.0.2.2")), (None, "192.0.2.2".parse().ok()));
    }

    #[test]
    fn tier_4_is_never_left_to_an_answer_from_afar() {
        assert!(Config::parse("unsigned_tier = 4").is_err());
        assert!(Config::parse("unsigned_tier = 3").is_ok());
        assert_eq!(Config::default().unsigned_tier, 2);
    }

    #[test]
    fn a_slip_of_the_pen_is_named_with_its_line() {
        let why = Config::parse("listen = []\nunsigned_teir = 2\n").unwrap_err();
        assert!(why.contains("line 2") && why.contains("unsigned_teir"), "{why}");
        let why = Config::parse("[[route]]\nchannels = [\"phone\"]\n").unwrap_err();
        assert!(why.contains("no channel phone"), "{why}");
    }

    #[test]
    fn a_messenger_is_read_and_its_secret_is_not_shown() {
        let text = "[[channel]]\nname = \"tg\"\nkind = \"telegram\"\ntoken = { file = \"/run/secret\" }\nchat = 5\n\
                    approvers = { ada = 7 }\n";
        let config = Config::parse(text).unwrap();
        assert!(
            matches!(&config.channel[0].kind, ChannelKind::Telegram { chat: 5, approvers, .. } if approvers["ada"] == 7)
        );
        assert!(Config::parse(&text.replace("chat = 5", "chat = 5\nchatt = 6")).is_err());
        assert!(Config::parse(&format!("{text}{text}")).unwrap_err().contains("duplicate name tg"));
    }

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "abc\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Secret::File(path.clone()).read().unwrap_err().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Secret::File(path).read().as_deref(), Ok("abc"));
        assert_eq!(Secret::Command(vec!["echo".into(), "x".into()]).read().as_deref(), Ok("x"));
        assert!(Secret::Command(vec!["false".into()]).read().is_err());
    }
}
