//! The supported versions of MCP, and the form of a result in each. No I/O.
//!
//! Up to 2025-11-25 a session agrees on a version when it is opened. From 2026-07-28 on there are no sessions: each
//! request names its version, and each result states whether it is complete.

use serde_json::{Value, json};

/// The newest supported version, which has no sessions.
pub(super) const NEWEST: &str = "2026-07-28";

/// The supported versions with sessions, newest first.
const OF_SESSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The JSON pointer to the version in the parameters of a request.
const NAMED: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// The error code for an unsupported version.
const UNKNOWN: i32 = -32022;

/// The kind of exchange that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// A request in a session, or before one.
    Session,
    /// A request of the version without sessions.
    Stateless,
}

impl Exchange {
    /// Returns the kind of exchange of a request with these parameters.
    ///
    /// # Errors
    /// The error response, if the request names an unsupported version.
    pub fn of(params: &Value) -> Result<Self, Value> {
        match params.pointer(NAMED).and_then(Value::as_str) {
            None => Ok(Self::Session),
            Some(NEWEST) => Ok(Self::Stateless),
            Some(known) if OF_SESSIONS.contains(&known) => Ok(Self::Session),
            Some(other) => Err(json!({
                "code": UNKNOWN, "message": "unsupported protocol version",
                "data": { "supported": all(), "requested": other },
            })),
        }
    }

    /// Returns a result in the form of this exchange. `lasts` marks a result that stays the same while guard runs.
    pub fn result(self, mut result: Value, lasts: bool) -> Value {
        if self == Self::Stateless {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server() });
            if lasts {
                result["ttlMs"] = json!(3_600_000);
                result["cacheScope"] = json!("public");
            }
        }
        result
    }
}

/// Returns the session version for a client that requests this one: the same if it is supported, or else the newest.
pub(super) fn of_session(wanted: Option<&str>) -> &'static str {
    OF_SESSIONS.into_iter().find(|known| Some(*known) == wanted).unwrap_or(OF_SESSIONS[0])
}

/// Returns all supported versions, newest first.
pub(super) fn all() -> Vec<&'static str> {
    [NEWEST].into_iter().chain(OF_SESSIONS).collect()
}

/// Returns the name and version of guard.
pub(super) fn server() -> Value {
    json!({ "name": "guard", "version": env!("CARGO_PKG_VERSION") })
}
