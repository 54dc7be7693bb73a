//! The address of a client, also behind a proxy. Wrong tokens and connections are counted by address.
//!
//! Out of scope: the identity of a client.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use axum::http::HeaderMap;
use serde::Deserialize;

/// The header in which a proxy names its clients, the nearest last.
const FORWARDED: &str = "x-forwarded-for";

/// An address, or all addresses with the same first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    base: u128,
    bits: u32,
}

/// Returns an address as 128 bits. An IPv4 address is mapped to IPv6.
fn wide(address: IpAddr) -> u128 {
    let wide = match address {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    };
    wide.to_bits()
}

impl Network {
    /// Reports whether an address is in the network.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let kept = 128 - self.bits;
        let shifted = |bits: u128| bits.checked_shr(kept).unwrap_or(0);
        shifted(wide(address)) == shifted(self.base)
    }
}

/// A text that is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid address {0:?}: expected an IP address or a network such as 10.0.0.0/8")]
pub struct NoNetwork(String);

impl TryFrom<String> for Network {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Self, NoNetwork> {
        let wrong = || NoNetwork(text.clone());
        let (address, bits) = match text.split_once('/') {
            None => (text.as_str(), None),
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| wrong())?)),
        };
        let address = IpAddr::from_str(address).map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most {
            return Err(wrong());
        }
        Ok(Self { base: wide(address), bits: bits + (128 - most) })
    }
}

/// Returns the address of a client: the peer of the connection, or, if that is one of these proxies, the last address
/// in the header that is not one of them. An invalid address ends the search, because its author may have written all
/// entries before it too.
#[must_use]
pub fn client(peer: IpAddr, headers: &HeaderMap, proxies: &[Network]) -> IpAddr {
    let is_proxy = |address: IpAddr| proxies.iter().any(|proxy| proxy.has(address));
    let mut found = peer.to_canonical();
    let lines: Vec<&str> = headers.get_all(FORWARDED).iter().map(|line| line.to_str().unwrap_or("?")).collect();
    let mut before = lines.iter().rev().flat_map(|line| line.rsplit(','));
    while is_proxy(found) {
        let Some(next) = before.next().and_then(|text| text.trim().parse::<IpAddr>().ok()) else { break };
        found = next.to_canonical();
    }
    found
}

/// Returns the address by which a client is counted. An IPv6 client is counted by its /64 network.
#[must_use]
pub fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => IpAddr::V6(Ipv6Addr::from_bits(six.to_bits() >> 64 << 64)),
        four @ IpAddr::V4(_) => four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(all: &[&str]) -> Vec<Network> {
        all.iter().map(|one| Network::try_from((*one).to_owned()).unwrap()).collect()
    }

    fn of(peer: &str, lines: &[&str], proxies: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(FORWARDED, line.parse().unwrap());
        }
        client(peer.parse().unwrap(), &headers, &networks(proxies)).to_string()
    }

    #[test]
    fn a_network_holds_what_begins_like_it() {
        let has = |network: &str, address: &str| networks(&[network])[0].has(address.parse().unwrap());
        assert!(has("10.0.0.0/8", "10.9.8.7") && !has("10.0.0.0/8", "11.0.0.0"));
        assert!(has("10.0.0.1", "10.0.0.1") && !has("10.0.0.1", "10.0.0.2"));
        assert!(has("10.0.0.1", "::ffff:10.0.0.1"), "as a socket of both versions names it");
        assert!(has("0.0.0.0/0", "1.2.3.4") && !has("0.0.0.0/0", "2001:db8::1"));
        assert!(has("2001:db8::/32", "2001:db8:1::1") && !has("2001:db8::/32", "2001:db9::1") && has("::/0", "::1"));
        for odd in ["", "10.0.0.0/33", "10.0.0/8", "x", "10.0.0.0/", "::1/129", "10.0.0.0/-1", "localhost"] {
            assert!(Network::try_from(odd.to_owned()).is_err(), "{odd}");
        }
    }

    #[test]
    fn only_a_proxy_is_believed_for_whom_it_speaks() {
        assert_eq!(of("192.0.2.9", &["198.51.100.1"], &[]), "192.0.2.9");
        assert_eq!(of("192.0.2.9", &["198.51.100.1"], &["192.0.2.1"]), "192.0.2.9");
        assert_eq!(of("192.0.2.1", &["198.51.100.1"], &["192.0.2.1"]), "198.51.100.1");
        // Entries that the client wrote itself precede those that the proxy added.
        assert_eq!(of("192.0.2.1", &["203.0.113.5, 198.51.100.1"], &["192.0.2.1"]), "198.51.100.1");
        assert_eq!(of("192.0.2.1", &["203.0.113.5", "198.51.100.1"], &["192.0.2.1"]), "198.51.100.1");
        // A proxy behind a proxy.
        assert_eq!(of("192.0.2.1", &["203.0.113.5, 198.51.100.1, 192.0.2.2"], &["192.0.2.0/24"]), "198.51.100.1");
        // If the header is missing or invalid, the client is the proxy itself.
        assert_eq!(of("192.0.2.1", &[], &["192.0.2.1"]), "192.0.2.1");
        assert_eq!(of("192.0.2.1", &["198.51.100.1, unknown"], &["192.0.2.1"]), "192.0.2.1");
        assert_eq!(of("::ffff:192.0.2.1", &["2001:db8::5"], &["192.0.2.1"]), "2001:db8::5");
    }

    #[test]
    fn a_client_of_version_6_is_counted_by_its_network() {
        let counted = |text: &str| counted(text.parse().unwrap()).to_string();
        assert_eq!(counted("2001:db8:1:2:3:4:5:6"), counted("2001:db8:1:2::9"));
        assert_ne!(counted("2001:db8:1:2::9"), counted("2001:db8:1:3::9"));
        assert_eq!((counted("192.0.2.1"), counted("::ffff:192.0.2.1")), ("192.0.2.1".into(), "192.0.2.1".into()));
    }
}
