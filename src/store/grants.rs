//! Grants as rows of the record: one row for a grant, and another for its revocation.
//!
//! A grant is part of the chain like every row. A grant whose row was changed is not valid. The command of an exact
//! grant is stored redacted and is recognised by its HMAC, so that a password in a command that was allowed permanently
//! is not stored permanently.
//!
//! Out of scope: refusing grants for tier 4, shells, interpreters and wrappers, which is done before a grant is
//! offered. Here it is only checked that the grant can be parsed and is bounded.
//!
//! When old rows of the record are pruned, a valid grant is copied to a new row. It keeps its number, which is then in
//! `about`, and the time at which it was given. A grant for a session is not copied: it ends with the retention unless
//! its session has ended before.

use jiff::Timestamp;
use rusqlite::Connection;

use super::Store;
use super::chain::{self, Draft};
use super::edited;
use super::error::StoreError;
use super::key::DigestKey;
use super::redact::redact;
use crate::judge::approved::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject};
use crate::judge::sort;

/// The scope of grants that apply to every session.
const EVERY_SESSION: &str = "";

/// A grant that is to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewGrant<'a> {
    pub what: &'a GrantSubject,
    pub place: &'a GrantPlace,
    pub until: &'a GrantExpiry,
    /// The text that was shown before the grant was given.
    pub words: &'a str,
    /// The account to which the grant is given.
    pub user: &'a str,
    /// The session in which the grant is given.
    pub session: &'a str,
}

/// A grant for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantListing {
    /// The grant, in which the command of an exact grant is redacted.
    pub grant: Grant,
    pub user: Option<String>,
    /// The reason why it is no longer valid; `None` if it is valid.
    pub ended: Option<GrantEnd>,
}

/// The reason why a grant is no longer valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantEnd {
    /// It was revoked, at this time in milliseconds since 1970.
    Revoked { at: i64 },
    /// Its date has passed.
    Past,
    /// Its row was changed.
    Altered,
}

impl Store {
    /// Records a grant and returns its number.
    ///
    /// # Errors
    /// The grant is not allowed, or the row is not written.
    pub fn grant(&self, grant: &NewGrant<'_>, now: Timestamp) -> Result<i64, StoreError> {
        let refused = |why: &str| Err(StoreError::Refused { why: why.to_owned() });
        let named = match grant.what {
            GrantSubject::Exact { command } => command,
            GrantSubject::Shape(scope) if redact(scope.parts().0).1 => {
                return refused("the command contains a secret; grant it exactly");
            }
            GrantSubject::Shape(scope) => &scope.shape,
            GrantSubject::Rule { rule } => rule,
            GrantSubject::UpTo { .. } => "tier",
        };
        if named.trim().is_empty() {
            return refused("a grant must say what it covers");
        }
        match grant.place {
            GrantPlace::Directory { path } if !path.starts_with('/') => {
                return refused("the directory of a grant must be an absolute path");
            }
            GrantPlace::Directory { .. } | GrantPlace::Anywhere => {}
        }
        let scope = match grant.until {
            GrantExpiry::Session { id } if id.is_empty() => {
                return refused("this session has no ID, so a grant cannot be bound to it");
            }
            GrantExpiry::Session { id } => id.as_str(),
            GrantExpiry::Date { at } if *at <= now.as_second() => {
                return refused("the end of the grant is in the past");
            }
            GrantExpiry::Date { .. } | GrantExpiry::Revoked => EVERY_SESSION,
        };

        let mac;
        let kept = match grant.what {
            GrantSubject::Exact { command } => {
                mac = DigestKey::read_or_make(&self.paths.key())?.seal("grant", command.as_bytes());
                GrantSubject::Exact { command: redact(command).0 }
            }
            other => {
                mac = [0; 32];
                other.clone()
            }
        };
        let mut draft = Draft::default();
        draft.text("kind", Some("grant"));
        draft.integer("at", now.as_millisecond());
        draft.text("scope", Some(scope));
        draft.text("what", Some(encode(&kept)));
        if matches!(kept, GrantSubject::Exact { .. }) {
            draft.blob("digest", &mac);
        }
        draft.text("place", Some(encode(grant.place)));
        draft.text("until", Some(encode(grant.until)));
        draft.text("words", Some(redact(grant.words).0));
        draft.text("user", Some(grant.user));
        draft.text("session", Some(grant.session));
        self.write(|connection| chain::append(connection, &draft))
    }

    /// Revokes a grant.
    ///
    /// # Errors
    /// There is no such grant, or the row is not written.
    pub fn revoke(&self, grant: i64, user: &str, now: Timestamp) -> Result<(), StoreError> {
        let mut draft = Draft::default();
        draft.text("kind", Some("revoked"));
        draft.integer("at", now.as_millisecond());
        draft.integer("about", grant);
        draft.text("user", Some(user));
        let known = self.write(|connection| {
            let mut kind = connection
                .prepare("SELECT 1 FROM record WHERE kind = 'grant' AND (about = ?1 OR id = ?1 AND about IS NULL)")?;
            let known = kind.exists([grant])?;
            if known {
                chain::append(connection, &draft)?;
            }
            Ok(known)
        })?;
        if known {
            Ok(())
        } else {
            Err(StoreError::Refused { why: format!("no grant {grant}; guard allow list shows all grants") })
        }
    }

    /// Returns the valid grants for a command in a session, without exact grants for other commands. The policy decides
    /// whether a shape, a rule or a place covers the command.
    ///
    /// # Errors
    /// The record cannot be read; the caller should then assume no grant.
    pub fn grants_in_force(&self, session: &str, command: &str, now: Timestamp) -> Result<Vec<Grant>, StoreError> {
        self.grants_of(None, session, command, now)
    }

    /// Returns the valid grants like [`Store::grants_in_force`], but only those that were given to one account, for a
    /// record that several accounts share.
    ///
    /// # Errors
    /// The same as of [`Store::grants_in_force`].
    pub fn grants_of(
        &self,
        user: Option<&str>,
        session: &str,
        command: &str,
        now: Timestamp,
    ) -> Result<Vec<Grant>, StoreError> {
        // Most records contain no grant; the key is read only if there is one.
        let mut found = self.persist(|connection| scoped(connection, &[session, EVERY_SESSION]))?;
        found.retain(|stored| stored.ended(now).is_none() && (user.is_none() || stored.user.as_deref() == user));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mac = DigestKey::read_or_make(&self.paths.key())?.seal("grant", command.as_bytes());
        Ok(found
            .into_iter()
            .filter_map(|stored| match stored.grant.what {
                GrantSubject::Exact { .. } if stored.mac != Some(mac) => None,
                GrantSubject::Exact { .. } => {
                    Some(Grant { what: GrantSubject::Exact { command: command.to_owned() }, ..stored.grant })
                }
                GrantSubject::Shape(_) | GrantSubject::Rule { .. } | GrantSubject::UpTo { .. } => Some(stored.grant),
            })
            .collect())
    }

    /// Returns all grants that were ever given, oldest first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub fn grants(&self, now: Timestamp) -> Result<Vec<GrantListing>, StoreError> {
        let found = self.persist(|connection| {
            let sql = format!("{SELECT} WHERE scope IS NOT NULL AND kind = 'grant' ORDER BY id");
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query([])?;
            collect(connection, rows)
        })?;
        Ok(found
            .into_iter()
            .map(|stored| {
                let ended = stored.ended(now);
                GrantListing { grant: stored.grant, user: stored.user, ended }
            })
            .collect())
    }
}

/// A grant with the state of its row.
struct StoredGrant {
    /// The number of its current row. The number of the grant is that of its first row.
    row: i64,
    grant: Grant,
    mac: Option<[u8; 32]>,
    user: Option<String>,
    revoked: Option<i64>,
    whole: bool,
}

impl StoredGrant {
    fn ended(&self, now: Timestamp) -> Option<GrantEnd> {
        match (&self.grant.until, self.revoked) {
            _ if !self.whole => Some(GrantEnd::Altered),
            (_, Some(at)) => Some(GrantEnd::Revoked { at }),
            (GrantExpiry::Date { at }, None) if *at <= now.as_second() => Some(GrantEnd::Past),
            _ => None,
        }
    }
}

const SELECT: &str = "SELECT coalesce(about, id), coalesce(given, at), what, place, until, words, digest, user,
     (SELECT min(at) FROM record AS later WHERE later.about = coalesce(record.about, record.id)
      AND later.kind = 'revoked'), id FROM record";

/// Returns the query for the grants of two scopes, newest first.
pub(super) fn in_scope() -> String {
    format!("{SELECT} WHERE scope IN (?1, ?2) AND kind = 'grant' ORDER BY id DESC")
}

fn scoped(connection: &Connection, scopes: &[&str; 2]) -> rusqlite::Result<Vec<StoredGrant>> {
    let mut statement = connection.prepare(&in_scope())?;
    let rows = statement.query(scopes)?;
    collect(connection, rows)
}

fn collect(connection: &Connection, mut rows: rusqlite::Rows<'_>) -> rusqlite::Result<Vec<StoredGrant>> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        let at: i64 = row.get(1)?;
        let text = |column| row.get_ref(column).ok().and_then(|value| value.as_str_or_null().ok().flatten());
        let (what, place, until) = (decode(text(2)), decode(text(3)), decode(text(4)));
        // A grant that cannot be parsed allows nothing; the verification of the chain reports it.
        let (Some(what), Some(place), Some(until)) = (what, place, until) else { continue };
        let words = text(5).unwrap_or_default().to_owned();
        let row_number = row.get(9)?;
        found.push(StoredGrant {
            row: row_number,
            grant: Grant { id: GrantId::Stored(id), what, place, until, given: at.div_euclid(1000), words },
            mac: row.get::<_, Option<[u8; 32]>>(6)?,
            user: row.get(7)?,
            revoked: row.get(8)?,
            whole: edited::is_whole(connection, row_number)?,
        });
    }
    Ok(found)
}

/// Returns the rows up to `last` of grants that are still valid in every session, with the numbers of the grants.
pub(super) fn still_held(connection: &Connection, last: i64, now: Timestamp) -> rusqlite::Result<Vec<(i64, i64)>> {
    let mut held = scoped(connection, &[EVERY_SESSION, EVERY_SESSION])?;
    held.retain(|stored| stored.row <= last && stored.ended(now).is_none());
    sort::sort_by_key(&mut held, |stored| stored.row);
    let number = |stored: StoredGrant| match stored.grant.id {
        GrantId::Stored(number) => Some((stored.row, number)),
        GrantId::Configured(_) => None,
    };
    Ok(held.into_iter().filter_map(number).collect())
}

/// Appends a copy of a grant's row to the chain.
pub(super) fn carry(connection: &Connection, row: i64, now: Timestamp) -> rusqlite::Result<()> {
    const TEXTS: [&str; 7] = ["scope", "what", "place", "until", "words", "user", "session"];
    let mut statement = connection.prepare(
        "SELECT scope, what, place, until, words, user, session, coalesce(about, id), coalesce(given, at), digest
         FROM record WHERE id = ?1",
    )?;
    let mut rows = statement.query([row])?;
    let Some(found) = rows.next()? else { return Ok(()) };
    let digest: Option<Vec<u8>> = found.get(9)?;
    let mut draft = Draft::default();
    draft.text("kind", Some("grant"));
    draft.integer("at", now.as_millisecond());
    for (position, column) in TEXTS.into_iter().enumerate() {
        draft.text(column, found.get::<_, Option<String>>(position)?);
    }
    draft.integer("about", found.get::<_, i64>(7)?);
    draft.integer("given", found.get::<_, i64>(8)?);
    if let Some(digest) = &digest {
        draft.blob("digest", digest);
    }
    chain::append(connection, &draft).map(drop)
}

pub(super) fn encode<T: serde::Serialize>(value: &T) -> String {
    // These types have only text keys, so this cannot fail; an empty text would allow nothing.
    serde_json::to_string(value).unwrap_or_default()
}

fn decode<T: serde::de::DeserializeOwned>(text: Option<&str>) -> Option<T> {
    serde_json::from_str(text?).ok()
}

#[cfg(test)]
mod tests;
