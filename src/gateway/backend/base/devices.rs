//! Stores the devices that receive notifications, and the key that signs them.
//!
//! Out of scope: the content of notifications ([`crate::push`]).

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, params};

use super::Base;
use crate::backend::BackendError;
use crate::backend::memory::Devices;
use crate::push::{Subscription, Vapid};

/// The maximum number of devices of one name.
const DEVICES: u32 = 20;

impl Devices for Base {
    fn vapid(&self) -> Result<Vec<u8>, BackendError> {
        let get = || self.connection.query_row("SELECT value FROM own WHERE what = 'vapid'", [], |row| row.get(0));
        if let Some(kept) = get().optional()? {
            return Ok(kept);
        }
        let made = Vapid::generate().map_err(BackendError::Vapid)?;
        let put = "INSERT OR IGNORE INTO own(what, value) VALUES('vapid', ?1)";
        self.connection.execute(put, [&made])?;
        get().map_err(BackendError::from)
    }

    fn subscribe(
        &self,
        name: &str,
        token: Option<&str>,
        device: &Subscription,
        now: Timestamp,
    ) -> Result<bool, BackendError> {
        let keys = serde_json::to_string(&device.keys)?;
        let put = "INSERT OR REPLACE INTO device(endpoint, name, token, keys, created) SELECT ?1, ?2, ?3, ?4, ?5
            WHERE (SELECT count(*) FROM device WHERE name = ?2 AND endpoint <> ?1) < ?6";
        let values = params![device.endpoint, name, token, keys, now.as_millisecond(), DEVICES];
        self.connection.execute(put, values).map(|count| count == 1).map_err(BackendError::from)
    }

    fn unsubscribe(&self, name: Option<&str>, endpoint: &str) -> Result<bool, BackendError> {
        let put = "DELETE FROM device WHERE endpoint = ?1 AND (?2 IS NULL OR name = ?2)";
        self.connection.execute(put, params![endpoint, name]).map(|count| count == 1).map_err(BackendError::from)
    }

    fn subscriptions(&self) -> Result<Vec<Subscription>, BackendError> {
        let read = || {
            let sql = "SELECT endpoint, keys FROM device
                WHERE token IS NULL OR token IN (SELECT name FROM token) ORDER BY created";
            let mut statement = self.connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let all = read()?.into_iter();
        // A device with unreadable keys cannot be notified.
        Ok(all
            .filter_map(|(endpoint, keys)| Some(Subscription { endpoint, keys: serde_json::from_str(&keys).ok()? }))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::Keys;

    #[test]
    fn a_device_is_forgotten_by_its_owner_and_has_an_end_in_number() {
        let directory = tempfile::tempdir().unwrap();
        let base = Base::open(&directory.path().join("gateway.db")).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let device = |at: u32| Subscription {
            endpoint: format!("https://push/{at}"),
            keys: Keys { p256dh: "p".to_owned(), auth: "a".to_owned() },
        };
        for at in 0..DEVICES {
            assert!(base.subscribe("ada", None, &device(at), now).unwrap());
        }
        assert!(!base.subscribe("ada", None, &device(DEVICES), now).unwrap());
        assert!(base.subscribe("ada", None, &device(0), now).unwrap(), "the same again");
        assert!(base.subscribe("bob", Some("gone"), &device(DEVICES), now).unwrap());
        let known = base.subscriptions().unwrap();
        assert_eq!(known.len(), DEVICES as usize, "whoever came with a token that is revoked is told nothing");
        assert!(known.contains(&device(0)));
        assert!(!base.unsubscribe(Some("bob"), "https://push/0").unwrap(), "another's");
        assert!(base.unsubscribe(Some("ada"), "https://push/0").unwrap());
        assert!(base.unsubscribe(None, "https://push/1").unwrap());
        assert_eq!(base.vapid().unwrap(), base.vapid().unwrap());
    }
}
