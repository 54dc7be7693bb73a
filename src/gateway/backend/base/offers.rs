//! Stores the messages that ask for answers, and the owners of their buttons.
//!
//! Out of scope: answers.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};

use super::{Base, hash};
use crate::backend::BackendError;
use crate::backend::memory::{Button, Deliveries, Offer};

impl Base {
    /// Deletes the closed messages about an earlier filing of this request, with their buttons.
    pub(super) fn forget_ended(&self, action: &str) -> Result<(), BackendError> {
        let forget = || {
            self.connection.execute(
                "DELETE FROM button WHERE action = ?1 AND channel IN
                 (SELECT channel FROM offer WHERE action = ?1 AND closed = 1)",
                [action],
            )?;
            self.connection.execute("DELETE FROM offer WHERE action = ?1 AND closed = 1", [action])
        };
        forget().map(drop).map_err(BackendError::from)
    }
}

impl Deliveries for Base {
    fn offer(&self, offer: &Offer, buttons: &[(String, [u8; 32])], now: Timestamp) -> Result<bool, BackendError> {
        let keep = || -> rusqlite::Result<bool> {
            let whole = self.connection.unchecked_transaction()?;
            let made = whole.execute(
                "INSERT OR IGNORE INTO offer(action, channel, yes, created) VALUES(?1, ?2, ?3, ?4)",
                params![offer.action, offer.channel, offer.offers_yes, now.as_millisecond()],
            )?;
            if made == 1 {
                for (approver, nonce) in buttons {
                    let put = "INSERT INTO button(nonce, action, channel, approver) VALUES(?1, ?2, ?3, ?4)";
                    whole.execute(put, params![&nonce[..], offer.action, offer.channel, approver])?;
                }
            }
            whole.commit()?;
            Ok(made == 1)
        };
        keep().map_err(BackendError::from)
    }

    fn offered(&self, action: &str, channel: &str, message: Option<&str>) -> Result<(), BackendError> {
        let put = || match message {
            Some(message) => {
                let put = "UPDATE offer SET message = ?3 WHERE action = ?1 AND channel = ?2";
                self.connection.execute(put, params![action, channel, message])
            }
            None => {
                self.connection.execute("DELETE FROM button WHERE action = ?1 AND channel = ?2", [action, channel])?;
                self.connection.execute("DELETE FROM offer WHERE action = ?1 AND channel = ?2", [action, channel])
            }
        };
        put().map(drop).map_err(BackendError::from)
    }

    fn offers(&self, action: Option<&str>) -> Result<Vec<Offer>, BackendError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT action, channel, message, closed, yes FROM offer
                 WHERE (?1 IS NULL AND closed = 0) OR action = ?1",
            )?;
            statement.query_map([action], offer)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(BackendError::from)
    }

    fn button(&self, nonce: &[u8; 32]) -> Result<Option<Button>, BackendError> {
        let sql = "SELECT action, channel, message, closed, yes, nonce, approver, used
                   FROM button JOIN offer USING(action, channel) WHERE nonce = ?1";
        let row = |row: &Row<'_>| {
            Ok(Button { offer: offer(row)?, nonce: hash(row.get(5)?), approver: row.get(6)?, used: row.get(7)? })
        };
        self.connection.query_row(sql, [&nonce[..]], row).optional().map_err(BackendError::from)
    }

    fn use_button(&self, nonce: &[u8; 32]) -> Result<bool, BackendError> {
        let put = "UPDATE button SET used = 1 WHERE nonce = ?1 AND used = 0";
        self.connection.execute(put, [&nonce[..]]).map(|count| count == 1).map_err(BackendError::from)
    }

    fn offer_at(&self, channel: &str, message: &str) -> Result<Option<Offer>, BackendError> {
        let sql = "SELECT action, channel, message, closed, yes FROM offer WHERE channel = ?1 AND message = ?2";
        self.connection.query_row(sql, [channel, message], offer).optional().map_err(BackendError::from)
    }

    fn close(&self, action: &str, channel: &str) -> Result<(), BackendError> {
        let put = "UPDATE offer SET closed = 1 WHERE action = ?1 AND channel = ?2";
        self.connection.execute(put, [action, channel]).map(drop).map_err(BackendError::from)
    }

    fn position(&self, channel: &str) -> Result<Option<String>, BackendError> {
        let get = "SELECT CAST(value AS TEXT) FROM own WHERE what = ?1";
        self.connection
            .query_row(get, [format!("position {channel}")], |row| row.get(0))
            .optional()
            .map_err(BackendError::from)
    }

    fn set_position(&self, channel: &str, position: &str) -> Result<(), BackendError> {
        let put = "INSERT OR REPLACE INTO own(what, value) VALUES(?1, ?2)";
        let values = params![format!("position {channel}"), position.as_bytes()];
        self.connection.execute(put, values).map(drop).map_err(BackendError::from)
    }
}

fn offer(row: &Row<'_>) -> rusqlite::Result<Offer> {
    Ok(Offer {
        action: row.get(0)?,
        channel: row.get(1)?,
        message: row.get(2)?,
        closed: row.get(3)?,
        offers_yes: row.get(4)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_is_one_approvers_and_works_once() {
        let directory = tempfile::tempdir().unwrap();
        let base = Base::open(&directory.path().join("gateway.db")).unwrap();
        let new =
            Offer { action: "a".to_owned(), channel: "tg".to_owned(), message: None, closed: false, offers_yes: true };
        let own = [("ada".to_owned(), [1; 32]), ("bob".to_owned(), [2; 32])];
        assert!(base.offer(&new, &own, Timestamp::UNIX_EPOCH).unwrap());
        assert!(!base.offer(&new, &[("eve".to_owned(), [3; 32])], Timestamp::UNIX_EPOCH).unwrap());
        assert_eq!(base.button(&[3; 32]).unwrap(), None, "of no message that was kept");
        let found = |nonce: u8| base.button(&[nonce; 32]).unwrap().map(|button| (button.approver, button.used));
        assert_eq!(found(2), Some(("bob".to_owned(), false)));
        assert_eq!((base.use_button(&[1; 32]).unwrap(), base.use_button(&[1; 32]).unwrap()), (true, false));
        assert_eq!((found(1), found(2)), (Some(("ada".to_owned(), true)), Some(("bob".to_owned(), false))));
        base.offered("a", "tg", None).unwrap();
        assert_eq!((found(1), found(2)), (None, None));
    }
}
