//! The collectors of the record: the entries of `export.to`.

use std::net::IpAddr;
use std::path::PathBuf;

use thiserror::Error;

/// The socket of journald.
const JOURNAL: &str = "/run/systemd/journal/socket";
/// The socket of the local syslog.
const LOG: &str = "/dev/log";
/// The default address of an OpenTelemetry collector.
const OTLP_HOST: (&str, u16) = ("127.0.0.1", 4318);
/// Its path for logs.
pub const OTLP_PATH: &str = "/v1/logs";

/// The forms of an entry, for messages.
pub const FORMS: &str = "journald, syslog, syslog:/path/of/socket, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT, otlp, \
                         otlp+http://HOST:PORT/PATH or otlp+unix:/path/of/socket";

/// The reason why an entry of `export.to` is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DestinationError {
    #[error("the path of a socket must be absolute")]
    RelativeSocket,
    #[error("guard does not support TLS here; send to a collector on this machine that forwards the rows")]
    Tls,
    #[error("expected {FORMS}")]
    UnknownForm,
    #[error("expected //HOST:PORT after the colon")]
    BadHost,
}

/// A collector of rows of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// journald, with its own protocol, at a datagram socket.
    Journald(PathBuf),
    /// A syslog at a datagram socket.
    SyslogUnix(PathBuf),
    SyslogUdp(String, u16),
    SyslogTcp(String, u16),
    /// An OpenTelemetry collector, by HTTP without TLS: host, port and path.
    OtlpHttp(String, u16, String),
    /// The same at a stream socket.
    OtlpUnix(PathBuf),
}

impl Destination {
    /// Parses an entry.
    ///
    /// # Errors
    /// The expected form, if it is invalid.
    pub fn parse(text: &str) -> Result<Self, DestinationError> {
        let socket = |path: &str| {
            let plain = path.starts_with('/') && path.len() > 1;
            plain.then(|| PathBuf::from(path)).ok_or(DestinationError::RelativeSocket)
        };
        let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
        match (scheme, rest) {
            ("journald", "") => Ok(Self::Journald(JOURNAL.into())),
            ("journald", path) => socket(path).map(Self::Journald),
            ("syslog", "") => Ok(Self::SyslogUnix(LOG.into())),
            ("syslog", path) => socket(path).map(Self::SyslogUnix),
            ("syslog+udp", rest) => host(rest, 514).map(|(host, port, _)| Self::SyslogUdp(host, port)),
            ("syslog+tcp", rest) => host(rest, 601).map(|(host, port, _)| Self::SyslogTcp(host, port)),
            ("otlp", "") => Ok(Self::OtlpHttp(OTLP_HOST.0.into(), OTLP_HOST.1, OTLP_PATH.into())),
            ("otlp+http", rest) => {
                let (host, port, path) = host(rest, OTLP_HOST.1)?;
                Ok(Self::OtlpHttp(host, port, if path.is_empty() { OTLP_PATH.to_owned() } else { path }))
            }
            ("otlp+unix", path) => socket(path).map(Self::OtlpUnix),
            ("otlp+https" | "https" | "syslog+tls", _) => Err(DestinationError::Tls),
            _ => Err(DestinationError::UnknownForm),
        }
    }

    /// Reports whether sending never blocks: by datagrams, to an address that does not have to be resolved.
    #[must_use]
    pub fn is_immediate(&self) -> bool {
        match self {
            Self::Journald(_) | Self::SyslogUnix(_) => true,
            Self::SyslogUdp(host, _) => host.parse::<IpAddr>().is_ok(),
            Self::SyslogTcp(..) | Self::OtlpHttp(..) | Self::OtlpUnix(_) => false,
        }
    }
}

/// Parses `//host:port/path`.
fn host(text: &str, usual: u16) -> Result<(String, u16, String), DestinationError> {
    let wrong = DestinationError::BadHost;
    let rest = text.strip_prefix("//").ok_or(wrong)?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (place, path) = rest.split_at(end);
    let bracketed = place.strip_prefix('[').and_then(|inner| inner.split_once(']'));
    let (host, port) = match bracketed {
        Some((host, after)) => (host, after.strip_prefix(':').unwrap_or(after)),
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let port = if port.is_empty() { usual } else { port.parse().map_err(|_| wrong)? };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    let fits = !host.is_empty() && host.chars().all(plain) && path.chars().all(|c| c.is_ascii_graphic());
    if fits { Ok((host.to_owned(), port, path.to_owned())) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_leads_somewhere_and_anything_else_is_told() {
        let http = |host: &str, port, path: &str| Ok(Destination::OtlpHttp(host.into(), port, path.into()));
        for (text, wanted) in [
            ("journald", Ok(Destination::Journald(JOURNAL.into()))),
            ("journald:/run/x", Ok(Destination::Journald("/run/x".into()))),
            ("syslog", Ok(Destination::SyslogUnix(LOG.into()))),
            ("syslog+udp://127.0.0.1", Ok(Destination::SyslogUdp("127.0.0.1".into(), 514))),
            ("syslog+tcp://logs.example.org:6514", Ok(Destination::SyslogTcp("logs.example.org".into(), 6514))),
            ("otlp", http("127.0.0.1", 4318, "/v1/logs")),
            ("otlp+http://[::1]:9", http("::1", 9, "/v1/logs")),
            ("otlp+http://h/x/y", http("h", 4318, "/x/y")),
            ("otlp+unix:/run/o", Ok(Destination::OtlpUnix("/run/o".into()))),
        ] {
            assert_eq!(Destination::parse(text), wanted, "{text}");
        }
        for wrong in ["", "x", "journald:run", "syslog:/", "syslog+udp:host", "otlp+http://:1", "otlp+http://h:x"] {
            assert!(Destination::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Destination::parse("otlp+https://h"), Err(DestinationError::Tls));
        assert!(DestinationError::Tls.to_string().contains("does not support TLS"));
        assert!(DestinationError::UnknownForm.to_string().contains("otlp+unix:/path/of/socket"));
        assert!(Destination::parse("syslog+udp://10.0.0.1:1").unwrap().is_immediate());
        assert!(!Destination::parse("syslog+udp://logs:1").unwrap().is_immediate());
    }
}
