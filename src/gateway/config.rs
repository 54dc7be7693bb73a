//! `gateway.toml`, beside guard's own configuration: where the gateway listens, who answers through which messenger,
//! and how far an answer without a signature reaches.
//!
//! A file that is wrong in any place is refused whole, with the line; what held before goes on. Secrets do not stand in
//! it: it names the file or the command that gives them. Out of scope: the environment.

mod channels;
mod error;
mod routes;
mod secret;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub use self::channels::{ChannelConfig, ChannelKind};
pub use self::error::{ConfigError, FieldError, SecretError};
pub use self::routes::{Day, Hours, Route};
pub use self::secret::Secret;
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
    pub fn may_listen(&self, address: SocketAddr) -> Result<(), ConfigError> {
        if address.ip().is_loopback() || self.behind_proxy || self.certificate.is_some() {
            return Ok(());
        }
        Err(ConfigError::Plain(address))
    }

    /// How long a channel may take to accept a message.
    #[must_use]
    pub fn accept(&self) -> Duration {
        Duration::from_secs(self.accept_secs.clamp(1, 60))
    }

    /// How long a client may take for the head of a request, and for its body.
    #[must_use]
    pub fn client_timeout(&self) -> Duration {
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

impl Config {
    /// Reads the file; without one, the defaults.
    ///
    /// # Errors
    /// It cannot be read, or says what cannot be: with the line.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|why| ConfigError::In { path: path.to_owned(), why: Box::new(why) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ConfigError::File { path: path.to_owned(), error }),
        }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: Self = toml::from_str(text)?;
        if config.unsigned_tier > 3 {
            return Err(ConfigError::UnsignedTier);
        }
        if config.certificate.is_some() != config.key.is_some() {
            return Err(ConfigError::HalfACertificate);
        }
        if config.certificate.is_some() && config.behind_proxy {
            return Err(ConfigError::TlsTwice);
        }
        for address in &config.listen {
            config.may_listen(*address).map_err(|why| ConfigError::Listen(Box::new(why)))?;
        }
        crate::logging::filter(&config.log)?;
        let names: Vec<&str> = config.channel.iter().map(|channel| channel.name.as_str()).collect();
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(ConfigError::ChannelName((*name).to_owned()));
            }
            if names.iter().take(at).any(|other| other == name) {
                return Err(ConfigError::SameName((*name).to_owned()));
            }
        }
        for callback in &config.callback {
            crate::channel::webhook::check_url(&callback.url)
                .map_err(|why| ConfigError::Callback { name: callback.name.clone(), why })?;
        }
        for name in config.route.iter().flat_map(|route| route.channels.iter().chain(&route.admin)) {
            if !names.contains(&name.as_str()) {
                return Err(ConfigError::NoChannel(name.clone()));
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
        assert!(Config::parse("listen = [\"0.0.0.0:6180\"]").unwrap_err().to_string().contains("behind_proxy"));
        assert!(Config::parse("listen = [\"0.0.0.0:6180\"]\nbehind_proxy = true").is_ok());
        assert!(Config::parse("listen = [\"127.0.0.1:7000\", \"[::1]:7000\"]").is_ok());
    }

    #[test]
    fn a_certificate_goes_with_its_key_and_without_a_proxy() {
        let (certificate, key) = ("certificate = \"/c.pem\"\n", "key = \"/k.pem\"\n");
        let open = "listen = [\"0.0.0.0:6180\", \"[::]:6180\"]\n";
        assert!(Config::parse(&format!("{open}{certificate}{key}")).is_ok());
        for half in [certificate, key] {
            assert!(Config::parse(half).unwrap_err().to_string().contains("set together"), "{half}");
        }
        let both = Config::parse(&format!("{certificate}{key}behind_proxy = true\n"));
        assert!(both.unwrap_err().to_string().contains("set only"));
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
        let why = Config::parse("listen = []\nunsigned_teir = 2\n").unwrap_err().to_string();
        assert!(why.contains("line 2") && why.contains("unsigned_teir"), "{why}");
        let why = Config::parse("[[route]]\nchannels = [\"phone\"]\n").unwrap_err().to_string();
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
        assert!(Config::parse(&format!("{text}{text}")).unwrap_err().to_string().contains("duplicate name tg"));
    }
}
