//! Checks the headers of a request: its host, the formats that it accepts, and the fields of its message that they
//! repeat.
//!
//! Out of scope: sessions.

use axum::http::{HeaderMap, header};

use super::super::message::{self, MirroredFields};
use super::{METHOD, NAME, VERSION};

/// The error of a header that is missing or differs from the message, in a request without a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {0} is missing or does not match the message")]
pub(super) struct HeaderMismatch(&'static str);

/// Checks that the headers of a request without a session match its message.
pub(super) fn agrees(head: &HeaderMap, repeats: &MirroredFields) -> Result<(), HeaderMismatch> {
    let name = repeats.name.as_deref().map(message::plain);
    for (header, wanted) in [(VERSION, Some(&repeats.version)), (METHOD, Some(&repeats.method)), (NAME, name.as_ref())]
    {
        if wanted.is_some_and(|wanted| text(head, header) != Some(wanted)) {
            return Err(HeaderMismatch(header));
        }
    }
    Ok(())
}

/// Returns the value of a header, if it is text.
pub(super) fn text<'h>(head: &'h HeaderMap, name: &str) -> Option<&'h str> {
    head.get(name)?.to_str().ok().map(str::trim)
}

/// Reports whether the client accepts a content type.
pub(super) fn accepts(head: &HeaderMap, form: &str) -> bool {
    let kind = form.split('/').next().unwrap_or_default();
    let all =
        head.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|all| all.split(','));
    all.map(|one| one.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .any(|one| one == form || one == "*/*" || one == format!("{kind}/*"))
}

/// Reports whether a host, with or without a port, is this machine.
pub(super) fn is_here(host: &str) -> bool {
    let bare = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(bare.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (header::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_machine_is_here() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8931", "[::1]:8931", "[::1]"] {
            assert!(is_here(host), "{host}");
        }
        for host in
            ["", "localhost.example.com", "127.0.0.1.example.com:1", "example.com", "localhost:x", "::1", "[::2]"]
        {
            assert!(!is_here(host), "{host}");
        }
    }

    #[test]
    fn both_forms_are_accepted_by_name_or_by_star() {
        let of = |accept: &str| {
            let head = head(&[("accept", accept)]);
            (accepts(&head, "application/json"), accepts(&head, "text/event-stream"))
        };
        assert_eq!(of("application/json, text/event-stream"), (true, true));
        assert_eq!(of("*/*"), (true, true));
        assert_eq!(of("Text/*;q=0.5"), (false, true));
        assert_eq!(of("application/jsonx"), (false, false));
        assert!(!accepts(&HeaderMap::new(), "application/json"));
    }

    #[test]
    fn headers_that_repeat_something_else_are_refused() {
        let name = Some("tool é".to_owned());
        let repeats = MirroredFields { version: "v".into(), method: "tools/call".into(), name, arguments: None };
        let coded = message::plain("tool é");
        let good = [(VERSION, "v"), (METHOD, "tools/call"), (NAME, coded.as_str())];
        assert_eq!(agrees(&head(&good), &repeats), Ok(()));
        for at in 0..good.len() {
            let mut other = good;
            other[at].1 = "x";
            assert!(agrees(&head(&other), &repeats).is_err(), "{at}");
            assert!(agrees(&head(&[&good[..at], &good[at + 1..]].concat()), &repeats).is_err(), "{at}");
        }
        assert_eq!(agrees(&head(&good[..2]), &MirroredFields { name: None, ..repeats }), Ok(()));
    }
}
