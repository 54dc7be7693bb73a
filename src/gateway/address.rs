//! Where a client is, also behind a proxy: what wrong tokens and connections are counted by.
//!
//! Out of scope: who a client is.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use axum::http::HeaderMap;
use serde::Deserialize;

/// The header in which a proxy says whom it speaks for, the nearest last.
const FORWARDED: &str = "x-forwarded-for";

/// An address, or all that begin with so many bits of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    base: u128,
    bits: u32,
}

/// An address as 128 bits; one of version 4 as version 6 writes it.
fn wide(address: IpAddr) -> u128 {
    let wide = match address {
        IpAddr::V4(four) => four.to_ipv6_mapped(),
        IpAddr::V6(six) => six,
    };
    wide.to_bits()
}

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let kept = 128 - self.bits;
        let shifted = |bits: u128| bits.checked_shr(kept).unwrap_or(0);
        shifted(wide(address)) == shifted(self.base)
    }
}

/// A text that is none.
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

/// Where a client is: where its connection comes from, or, where that is one of these proxies, the last address in its
/// header that is none of them. What is no address ends the search: whoever wrote it may have written all before it.
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

/// What things are counted by that one client does. Of version 6 a client has a network of 64 bits to itself.
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
        // What the client wrote itself stands before what the proxy wrote.
        assert_eq!(of("192.0.2.1", &["203.0.113.5, 198.51.100.1"], &["192.0.2.1"]), "198.51.100.1");
        assert_eq!(of("192.0.2.1", &["203.0.113.5", "198.51.100.1"], &["192.0.2.1"]), "198.51.100.1");
        // A proxy behind a proxy.
        assert_eq!(of("192.0.2.1", &["203.0.113.5, 198.51.100.1, 192.0.2.2"], &["192.0.2.0/24"]), "198.51.100.1");
        // Without the header, and with one that says nothing, it is the proxy itself.
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
