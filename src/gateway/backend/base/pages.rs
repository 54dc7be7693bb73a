//! Stores the sessions of the page, so that users stay logged in when the gateway restarts.
//!
//! Out of scope: who logs in, and what a session may do.

use jiff::Timestamp;
use rusqlite::{Row, params};

use super::{Base, hash, time};
use crate::backend::BackendError;
use crate::backend::memory::{KeptPage, Pages};

impl Pages for Base {
    fn keep_page(&self, page: &KeptPage, now: Timestamp) -> Result<(), BackendError> {
        self.connection.execute("DELETE FROM page WHERE until <= ?1", [now.as_millisecond()])?;
        let put = "INSERT OR REPLACE INTO page(hash, caller, until) VALUES(?1, ?2, ?3)";
        let values = params![&page.hash[..], page.caller, page.until.as_millisecond()];
        self.connection.execute(put, values).map(drop).map_err(BackendError::from)
    }

    fn pages(&self, now: Timestamp) -> Result<Vec<KeptPage>, BackendError> {
        let row =
            |row: &Row<'_>| Ok(KeptPage { hash: hash(row.get(0)?), caller: row.get(1)?, until: time(row.get(2)?) });
        let read = || {
            let mut statement = self.connection.prepare("SELECT hash, caller, until FROM page WHERE until > ?1")?;
            statement.query_map([now.as_millisecond()], row)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn end_page(&self, page: &[u8; 32]) -> Result<(), BackendError> {
        let put = "DELETE FROM page WHERE hash = ?1";
        self.connection.execute(put, [&page[..]]).map(drop).map_err(BackendError::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_kept_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let base = Base::open(&directory.path().join("gateway.db")).unwrap();
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let page = |hash, ms| KeptPage { hash: [hash; 32], caller: "ada".to_owned(), until: at(ms) };
        base.keep_page(&page(1, 10), at(0)).unwrap();
        base.keep_page(&page(2, 20), at(0)).unwrap();
        assert_eq!(base.pages(at(5)).unwrap(), [page(1, 10), page(2, 20)]);
        assert_eq!(base.pages(at(10)).unwrap(), [page(2, 20)], "what has ended is not given back");
        base.end_page(&[2; 32]).unwrap();
        assert_eq!(base.pages(at(5)).unwrap(), [page(1, 10)]);
        base.keep_page(&page(3, 30), at(10)).unwrap();
        assert_eq!(base.pages(at(5)).unwrap(), [page(3, 30)], "nor kept for long");
    }
}
