//! The versions of MCP that are spoken, and what each asks of a result. Pure: values in, values out.
//!
//! Up to 2025-11-25 a session agrees on a version when it is opened; from 2026-07-28 on there is no session, each request
//! names its version, and each result says whether it is complete.

use serde_json::{Value, json};

/// Where each request names its version, which has no session.
pub(super) const NEWEST: &str = "2026-07-28";

/// The versions on which a session agrees, the newest first.
const OF_SESSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Where a request names its version.
const NAMED: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";

/// The error of a version that is not spoken.
const UNKNOWN: i32 = -32022;

/// The kind of exchange that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// In a session, or before one.
    Session,
    /// By the version that needs none.
    Stateless,
}

impl Exchange {
    /// The exchange that a request with these parameters belongs to.
    ///
    /// # Errors
    /// It names a version that is not spoken: the error that answers it.
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

    /// A result in the form of this exchange. `lasts` says that it is the same for as long as guard runs.
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

/// The version of a session for which a client wants this one.
pub(super) fn of_session(wanted: Option<&str>) -> &'static str {
    OF_SESSIONS.into_iter().find(|known| Some(*known) == wanted).unwrap_or(OF_SESSIONS[0])
}

/// All that are spoken, the newest first.
pub(super) fn all() -> Vec<&'static str> {
    [NEWEST].into_iter().chain(OF_SESSIONS).collect()
}

/// What guard says of itself.
pub(super) fn server() -> Value {
    json!({ "name": "guard", "version": env!("CARGO_PKG_VERSION") })
}
