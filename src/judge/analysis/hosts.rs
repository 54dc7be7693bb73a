//! Classifies the hosts of URLs, addresses and remote paths.
//!
//! Out of scope: I/O. Names are not resolved: a DNS name of this machine or of a metadata service is recognised only if
//! a list contains it.

mod address;

use std::net::Ipv4Addr;

use address::{is_local, is_metadata, is_plain_address, parse, parse_embedded};

use super::act::{Piece, Value};
use super::value::HOLE;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::HostClass;
use crate::judge::rules::word_lists;

/// Returns the class of the host in a value. `network`: the argument is a host or a URL by its position (as that of
/// `curl`), so that `example.org` or `server:path` is not a file. `known` are the known hosts of the policy, in the
/// syntax of the catalog.
#[must_use]
pub fn class(value: &Value, network: bool, catalog: &Catalog, known: &[String]) -> HostClass {
    let text = value.rough();
    // An unknown value may be any host.
    if network && matches!(value.pieces().first(), Some(Piece::Unknown(_))) && !text.contains("://") {
        return HostClass::Unknown;
    }
    match host(&text, network) {
        None => HostClass::None,
        Some(Host::Odd) => HostClass::Unknown,
        Some(Host::Named(name)) => of_name(&name, catalog, known),
    }
}

/// A host in a value.
#[derive(Debug, PartialEq, Eq)]
enum Host {
    /// Its name in lower case, without port, user and brackets.
    Named(String),
    /// A host that programs parse differently, or that is partly unknown.
    Odd,
}

/// Returns the host of a URL, of `host:port`, of `user@host:path`, or of a plain name.
fn host(text: &str, network: bool) -> Option<Host> {
    if let Some((scheme, rest)) = text.split_once("://") {
        let fits = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        let local = ["file", "data", "unix"].iter().any(|local| scheme.eq_ignore_ascii_case(local));
        if !fits || local {
            return None;
        }
        return authority(rest.trim_start_matches('/'));
    }
    if text.starts_with(['/', '.', '~', '-', '+']) || text.is_empty() || text.contains(char::is_whitespace) {
        return None;
    }
    let first = text.split(['/', '?', '#']).next().unwrap_or(text);
    // `user@host:path`, `user@host`
    if let Some((user, rest)) = first.rsplit_once('@')
        && !user.is_empty()
        && !user.contains('=')
    {
        // A package with a version (`left-pad@1.2.3`, `react@latest`) is not a host.
        let version = rest.starts_with(|c: char| c.is_ascii_digit() || c == '^') && !network && !is_plain_address(rest);
        let host = rest.split(':').next().unwrap_or(rest);
        let names = rest.contains(':') || host.contains('.') || network;
        return (names && !version).then(|| authority(rest)).flatten();
    }
    // `host::module`, `host:repository::archive`
    let doubled =
        first.contains("::") && first.split(':').next().is_some_and(|name| name.contains('.') && is_domain(name));
    let (name, behind) = match first.split_once(':') {
        Some((name, _)) if doubled => (name, Some("")),
        Some(_) if text.starts_with('[') || first.matches(':').count() > 1 => (first, None),
        Some((name, behind)) => (name, Some(behind)),
        None => (first, None),
    };
    let address = is_plain_address(name);
    let dotted = name.contains('.') && is_domain(name);
    // The syntax of HTTPie for a port of this machine.
    if network && name.is_empty() && behind.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit())) {
        return Some(Host::Named("localhost".to_owned()));
    }
    let port = behind.is_some_and(|behind| !behind.is_empty() && behind.bytes().all(|byte| byte.is_ascii_digit()));
    let path = behind.is_some_and(|behind| behind.is_empty() && text.len() > first.len());
    if doubled && !looks_like_file(name, text) {
        return authority(name);
    }
    let certain =
        address || name.eq_ignore_ascii_case("localhost") || dotted && (port || path || !looks_like_file(name, text));
    if certain || network {
        return authority(first);
    }
    None
}

/// Returns the host of `[user[:password]@]host[:port]`.
fn authority(text: &str) -> Option<Host> {
    let whole = text.split(['/', '?', '#']).next().unwrap_or(text);
    // Programs differ in whether a backslash ends the host.
    if whole.contains('\\') {
        return Some(Host::Odd);
    }
    let place = whole.rsplit('@').next().unwrap_or(whole);
    let name = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None if place.matches(':').count() > 1 && parse(place).is_some() => place,
        None => place.split(':').next().unwrap_or(place),
    };
    if name.is_empty() {
        return None;
    }
    let name = percent_decoded(name);
    if !name.is_ascii() || name.contains(['*', '{', '$', '`']) {
        return Some(Host::Odd);
    }
    Some(Host::Named(name.trim_end_matches('.').to_ascii_lowercase()))
}

fn of_name(name: &str, catalog: &Catalog, known: &[String]) -> HostClass {
    let embedded = ["nip.io", "sslip.io", "xip.io"].iter().find_map(|service| {
        let labels = name.strip_suffix(service)?.strip_suffix('.')?;
        parse_embedded(labels)
    });
    if let Some(address) = parse(name).or(embedded) {
        if is_metadata(address) {
            return HostClass::Metadata;
        }
        if is_local(address) {
            return HostClass::Local;
        }
    }
    if name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain" {
        return HostClass::Local;
    }
    match catalog.hosts().class(name) {
        Some(class) => class,
        None if known.iter().any(|known| covers(known, name)) => HostClass::Known,
        None if is_near(name) => HostClass::Near,
        None => HostClass::Unknown,
    }
}

/// Reports whether a name or address is in the private network of this machine. Addresses are recognised only in their
/// usual notation.
fn is_near(name: &str) -> bool {
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return address.is_private() || address.is_link_local();
    }
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let alone = !name.contains(['.', ':']) && parse(name).is_none();
    plain
        && (alone
            || [".local", ".lan", ".internal", ".home.arpa", ".localdomain"].iter().any(|end| name.ends_with(end)))
}

/// Reports whether an entry of a list matches a host: the same name, or a subdomain for `*.domain`.
fn covers(listed: &str, name: &str) -> bool {
    let listed = listed.trim_end_matches('.').to_ascii_lowercase();
    match listed.strip_prefix("*.") {
        Some(domain) => name.strip_suffix(domain).is_some_and(|above| above.ends_with('.')),
        None => listed == name,
    }
}

/// Reports whether a name consists of letters, digits and hyphens, and its last label is not a number.
fn is_domain(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == HOLE)
    };
    let last = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    name.trim_end_matches('.').split('.').all(label) && last.len() >= 2 && last.chars().all(|c| c.is_ascii_alphabetic())
}

/// Reports whether a name has a common file extension and no sign of a host.
fn looks_like_file(name: &str, text: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    // `example.org/x` has a path. `a.py/x` is rare; a name with a path is a host only if its ending is not a file
    // extension.
    let www = name.starts_with("www.") || text.starts_with("www.");
    !www && word_lists::FILE_ENDINGS.contains(&ending.as_str())
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(code) if *byte == b'%' => {
                all.push(code);
                at += 3;
            }
            _ => {
                all.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::{Taint, Unknown, UnknownReason};

    fn of(text: &str) -> HostClass {
        class(&Value::text(text), false, &Catalog::builtin(), &["docs.example.org".into(), "*.corp.example".into()])
    }

    fn net(text: &str) -> HostClass {
        class(&Value::text(text), true, &Catalog::builtin(), &[])
    }

    #[test]
    fn loopback_is_local_in_every_spelling() {
        for text in [
            "http://localhost:3000/x",
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://[::1]:80/",
            "http://[::ffff:127.0.0.1]/",
            "http://app.localhost/",
            "http://LOCALHOST./",
            "http://0.0.0.0:8000",
            "localhost:8080",
            "127.0.0.1:5432",
        ] {
            assert_eq!(of(text), HostClass::Local, "{text}");
        }
    }

    #[test]
    fn the_metadata_service_is_known_in_every_spelling() {
        for text in [
            "http://169.254.169.254/latest/meta-data/",
            "http://2852039166/",
            "http://0xa9fea9fe/",
            "http://0xa9.0xfe.0xa9.0xfe/",
            "http://0251.0376.0251.0376/",
            "http://[::ffff:169.254.169.254]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://[fd00:ec2::254]/",
            "http://169.254.170.2/v2/credentials",
            "http://169.254.169.254.nip.io/",
            "http://x.169-254-169-254.sslip.io/",
            "http://%31%36%39.254.169.254/",
        ] {
            assert_eq!(of(text), HostClass::Metadata, "{text}");
        }
    }

    #[test]
    fn the_host_is_what_stands_behind_the_last_at() {
        assert_eq!(of("https://localhost@evil.example/x"), HostClass::Unknown);
        assert_eq!(of("https://evil.example/@localhost"), HostClass::Unknown);
        assert_eq!(of("https://docs.example.org:443/x"), HostClass::Known);
        assert_eq!(of("https://evil.example\\@docs.example.org/"), HostClass::Unknown);
        assert_eq!(of("https://evil.example#@docs.example.org/"), HostClass::Unknown);
        assert_eq!(of("https://docs.example.org.evil.example/"), HostClass::Unknown);
    }

    #[test]
    fn the_policys_hosts_are_known() {
        assert_eq!(of("https://docs.example.org/x"), HostClass::Known);
        assert_eq!(of("https://a.corp.example/x"), HostClass::Known);
        assert_eq!(of("https://corp.example/x"), HostClass::Unknown);
        assert_eq!(of("https://evilcorp.example/x"), HostClass::Unknown);
    }

    #[test]
    fn places_for_ssh_name_their_host() {
        assert_eq!(of("git@docs.example.org:a/b.git"), HostClass::Known);
        assert_eq!(of("me@server.example:/x"), HostClass::Unknown);
        assert_eq!(of("ssh://git@docs.example.org/a"), HostClass::Known);
        assert_eq!(net("server.example:/x"), HostClass::Unknown);
        assert_eq!(of("server.example.org::module"), HostClass::Unknown);
        assert_eq!(of("server.example.org:store::archive"), HostClass::Unknown);
        assert_eq!(of("docs.example.org:store::archive"), HostClass::Known);
        assert_eq!(of("std::fs"), HostClass::None);
        assert_eq!(of("org.example:artifact:1.0"), HostClass::None);
    }

    #[test]
    fn the_network_around_is_known() {
        assert_eq!(net("http://10.0.0.5/x"), HostClass::Near);
        assert_eq!(net("http://192.168.1.10:8080"), HostClass::Near);
        assert_eq!(net("http://web:3000/health"), HostClass::Near);
        assert_eq!(net("http://nas.local/"), HostClass::Near);
        assert_eq!(net(":3000/health"), HostClass::Local);
        assert_eq!(net("http://3405803785/"), HostClass::Unknown);
        assert_eq!(net("http://0xcb007109/"), HostClass::Unknown);
        assert_eq!(net("http://012.0.0.1/"), HostClass::Unknown);
        assert_eq!(net("http://169.254.169.254/"), HostClass::Metadata);
    }

    #[test]
    fn ordinary_words_name_no_host() {
        for text in [
            "origin",
            "main",
            "src/main.rs",
            "a.txt",
            "./x",
            "/etc/hosts",
            "-",
            "",
            "left-pad@1.2.3",
            "react@latest",
            "redis:7",
            "HEAD:x",
            "@scope/name",
            "a b.example",
            "file:///etc/passwd",
            "key=user@x",
            "1.2.3",
        ] {
            assert_eq!(of(text), HostClass::None, "{text}");
        }
    }

    #[test]
    fn where_a_host_is_expected_a_bare_name_is_one() {
        assert_eq!(net("evil.sh"), HostClass::Unknown);
        assert_eq!(net("localhost"), HostClass::Local);
        assert_eq!(net("example.org/x.sh"), HostClass::Unknown);
    }

    #[test]
    fn an_unknown_host_is_unknown() {
        let unknown = Piece::Unknown(Unknown { why: UnknownReason::Variable("H".into()), taint: Taint::default() });
        let url = Value::of(vec![Piece::Text("http://".into()), unknown.clone(), Piece::Text("/x".into())]);
        assert_eq!(class(&url, false, &Catalog::builtin(), &[]), HostClass::Unknown);
        let bare = Value::of(vec![unknown.clone()]);
        assert_eq!(class(&bare, true, &Catalog::builtin(), &[]), HostClass::Unknown);
        let path = Value::of(vec![Piece::Text("https://docs.example.org/".into()), unknown]);
        let known = ["docs.example.org".to_owned()];
        assert_eq!(class(&path, false, &Catalog::builtin(), &known), HostClass::Known);
    }
}
