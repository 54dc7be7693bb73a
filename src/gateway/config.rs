//! The configuration `gateway.toml`, in guard's configuration directory: the addresses to listen on, the approvers on
//! each messenger, and the limits of answers without a signature.
//!
//! An invalid file is rejected as a whole, with the line of the error; a running gateway keeps the previous
//! configuration. The file contains no secrets, only the files or commands that provide them. Out of scope: the
//! environment.

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

/// The default port. Browsers refuse to open 6000, which older documents name.
pub const PORT: u16 = 6180;

/// The push services of the browsers that support web push: Chromium, Firefox, Safari and Edge.
const PUSH_HOSTS: [&str; 4] =
    ["fcm.googleapis.com", "updates.push.services.mozilla.com", "*.push.apple.com", "*.notify.windows.com"];

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The addresses and ports to listen on.
    pub listen: Vec<SocketAddr>,
    /// The path of the Unix socket, if not the default.
    pub socket: Option<PathBuf>,
    /// Accepted host names besides localhost.
    pub hosts: Vec<String>,
    /// The address of the page for phones, used in links.
    pub page: Option<String>,
    /// Whether a proxy in front of the gateway terminates TLS, which allows plain HTTP on addresses other than
    /// loopback.
    pub behind_proxy: bool,
    /// Addresses and networks of the proxies in front of the gateway. The client addresses that they forward are
    /// trusted.
    pub proxies: Vec<Network>,
    /// The gateway's certificate chain as PEM. With it, the gateway uses TLS on all addresses other than loopback.
    pub certificate: Option<PathBuf>,
    /// The private key of the certificate, as PEM.
    pub key: Option<PathBuf>,
    /// The highest tier that can be approved remotely without a signature.
    pub unsigned_tier: u8,
    pub channel: Vec<ChannelConfig>,
    pub route: Vec<Route>,
    /// The receivers of the outcomes of submitted commands.
    pub callback: Vec<Callback>,
    /// The time limit for a channel to accept a message, in seconds.
    pub accept_secs: u64,
    /// The time limit for a client to send the head of a request, or its body, in seconds.
    pub request_secs: u64,
    /// The maximum number of concurrent connections.
    pub connections: usize,
    /// The maximum number of concurrent connections from one address that is neither loopback nor a proxy.
    pub connections_each: usize,
    /// The log level: off, error, warn, info (with a line for each request), debug or trace.
    pub log: String,
    /// The hosts of accepted push services. A subscription to any other host is rejected.
    pub push_hosts: Vec<String>,
}

impl Config {
    /// Checks that the gateway may listen on this address: it accepts no unencrypted connections from other machines.
    ///
    /// # Errors
    /// Returns an error that names the missing settings.
    pub fn may_listen(&self, address: SocketAddr) -> Result<(), ConfigError> {
        if address.ip().is_loopback() || self.behind_proxy || self.certificate.is_some() {
            return Ok(());
        }
        Err(ConfigError::Plain(address))
    }

    /// Returns the time limit for a channel to accept a message.
    #[must_use]
    pub fn accept(&self) -> Duration {
        Duration::from_secs(self.accept_secs.clamp(1, 60))
    }

    /// Returns the time limit for a client to send the head of a request, or its body.
    #[must_use]
    pub fn client_timeout(&self) -> Duration {
        Duration::from_secs(self.request_secs.clamp(1, 300))
    }

    /// Returns the address by which a connection is counted, or `None` if many clients share the address.
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

/// A receiver of the outcomes of commands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    pub name: String,
    /// An https URL, or http on this machine.
    pub url: String,
    /// The secret that signs the messages.
    pub secret: Secret,
}

impl Config {
    /// Reads the file, or returns the defaults if there is none.
    ///
    /// # Errors
    /// Returns an error, with the line, if the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|why| ConfigError::In { path: path.to_owned(), why: Box::new(why) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(ConfigError::File { path: path.to_owned(), error }),
        }
    }

    /// Parses the text of a configuration file.
    ///
    /// # Errors
    /// Returns an error if the text is invalid.
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
