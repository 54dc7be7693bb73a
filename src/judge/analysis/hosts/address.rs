//! Parses IP addresses in every spelling that the C library accepts, and detects those of this machine and of metadata
//! services.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reports whether this is the address of the service that gives credentials to machines of a cloud.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(
            address.octets(),
            [169, 254, 169, 254]
                | [169, 254, 170, 2 | 23]
                | [169, 254, 169, 253]
                | [100, 100, 100, 200]
                | [192, 0, 0, 192]
        ),
        IpAddr::V6(address) => {
            matches!(
                address.segments(),
                [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254 | 0x23] | [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254]
            )
        }
    }
}

/// Reports whether this is an address of this machine.
pub(super) fn is_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_unspecified(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unspecified(),
    }
}

/// Parses an address in any spelling that the C library accepts: `127.1`, `0x7f000001`, `2130706433`, `0177.0.0.1`, and
/// the spellings of IPv6, including an embedded IPv4 address.
pub(super) fn parse(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        let bare = text.split('%').next().unwrap_or(text);
        let address: Ipv6Addr = bare.parse().ok()?;
        let segments = address.segments();
        // ::ffff:a.b.c.d, ::a.b.c.d and 64:ff9b::a.b.c.d
        let embeds = match segments {
            [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => true,
            [0, 0, 0, 0, 0, 0, high, _] => high != 0,
            _ => false,
        };
        if embeds {
            let [.., high, low] = segments;
            let (a, b) = (high.to_be_bytes(), low.to_be_bytes());
            return Some(IpAddr::V4(Ipv4Addr::new(a[0], a[1], b[0], b[1])));
        }
        return Some(IpAddr::V6(address));
    }
    let parts: Vec<u32> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, leading) = parts.split_last()?;
    if leading.len() > 3 || leading.iter().any(|part| *part > 255) {
        return None;
    }
    let room = 8 * (4 - u32::try_from(leading.len()).ok()?);
    if room < 32 && *last >> room != 0 {
        return None;
    }
    let mut bits = 0_u32;
    for (index, part) in leading.iter().enumerate() {
        bits |= part << (24 - 8 * index);
    }
    Some(IpAddr::V4(Ipv4Addr::from_bits(bits | last)))
}

/// Parses a number in decimal, `0x…` hexadecimal or `0…` octal notation.
fn number(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'));
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if text.len() > 1 && text.starts_with('0') {
        return u32::from_str_radix(text, 8).ok();
    }
    text.parse().ok()
}

/// Reports whether a text is an address in its usual spelling, which no version number has.
pub(super) fn is_plain_address(text: &str) -> bool {
    let text = text.trim_matches(['[', ']']);
    (text.contains("::") || text.matches('.').count() == 3) && parse(text).is_some()
}

/// Returns the address before a wildcard service: `10.0.0.1`, `app.10-0-0-1`.
pub(super) fn parse_embedded(labels: &str) -> Option<IpAddr> {
    let last = labels.rsplit('.').next().unwrap_or(labels);
    if last.contains('-') {
        let parts: Vec<&str> = last.rsplitn(5, '-').take(4).collect();
        let dotted = parts.into_iter().rev().collect::<Vec<_>>().join(".");
        return parse(&dotted);
    }
    let parts: Vec<&str> = labels.rsplitn(5, '.').take(4).collect();
    parse(&parts.into_iter().rev().collect::<Vec<_>>().join("."))
}
