//! Stores which unanswered requests were escalated, so that a restarted gateway escalates only the rest.
//!
//! Out of scope: who is notified.

use std::collections::HashSet;

use jiff::Timestamp;
use rusqlite::params;

use super::Base;
use crate::backend::BackendError;
use crate::backend::memory::Escalations;

/// The time for which an escalation is kept, in milliseconds: longer than the queue lists unanswered requests.
const KEPT_MS: i64 = 8 * 24 * 60 * 60 * 1000;

impl Escalations for Base {
    fn escalates_since(&self, now: Timestamp) -> Result<Timestamp, BackendError> {
        let put = "INSERT OR IGNORE INTO own(what, value) VALUES('escalates since', ?1)";
        self.connection.execute(put, [now.as_millisecond().to_le_bytes().as_slice()])?;
        let get = "SELECT value FROM own WHERE what = 'escalates since'";
        let kept: Vec<u8> = self.connection.query_row(get, [], |row| row.get(0))?;
        let ms = kept.try_into().map_or(0, i64::from_le_bytes);
        Ok(Timestamp::from_millisecond(ms).unwrap_or(now))
    }

    fn escalated(&self) -> Result<HashSet<String>, BackendError> {
        let read = || {
            let sql = "SELECT action FROM escalated";
            self.connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<HashSet<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn set_escalated(&self, action: &str, now: Timestamp) -> Result<(), BackendError> {
        let now = now.as_millisecond();
        self.connection.execute("DELETE FROM escalated WHERE at < ?1", [now - KEPT_MS])?;
        let put = "INSERT OR IGNORE INTO escalated(action, at) VALUES(?1, ?2)";
        self.connection.execute(put, params![action, now]).map(drop).map_err(BackendError::from)
    }
}
