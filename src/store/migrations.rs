//! The schema, as the steps that lead to it.
//!
//! Steps are only ever appended: a record of any age is brought up to date by the steps it has not seen, inside one
//! transaction. `user_version` counts the steps taken. A record with more steps than this version knows is left alone.
//!
//! The schema is read anew by every process that opens the record, before anything else, so it is kept short: one
//! table, and indexes only over the few rows that are looked up. An ordinary row then changes one page.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// `application_id` of the file, so that `file` and others can tell what it is: "guar".
const APPLICATION: i32 = 0x6775_6172;

/// What has to be done to an empty file, in order. Never edited, only added to.
const STEPS: &[&str] = &[
    // A row's meaning is in `decisions`, `grants` and `behaviour`; which columns a row has depends on its kind. Absent
    // columns are NULL and take no part in the row's hash, so that a column added later breaks no chain.
    "CREATE TABLE record(
       id INTEGER PRIMARY KEY,
       hash BLOB NOT NULL,
       kind TEXT NOT NULL,
       at INTEGER NOT NULL,
       about INTEGER,
       command TEXT,
       redacted INTEGER,
       digest BLOB,
       cwd TEXT,
       user TEXT,
       session TEXT,
       root TEXT,
       origin TEXT,
       agent TEXT,
       tier INTEGER,
       score INTEGER,
       reversibility TEXT,
       findings TEXT,
       context TEXT,
       decision TEXT,
       settled TEXT,
       granted TEXT,
       words TEXT,
       provenance TEXT,
       answer_ms INTEGER,
       mark INTEGER,
       exit INTEGER,
       signal INTEGER,
       duration_ms INTEGER,
       scope TEXT,
       what TEXT,
       place TEXT,
       until TEXT
     ) STRICT;
     CREATE INDEX follows ON record(about) WHERE about IS NOT NULL;
     CREATE INDEX marked ON record(root, mark) WHERE mark IS NOT NULL;
     CREATE INDEX scoped ON record(scope) WHERE scope IS NOT NULL;",
    // When a grant was given that a later row carries on. From this step on the old end of a record may have been
    // pruned, which an older guard would take for tampering: it leaves such a record alone.
    "ALTER TABLE record ADD COLUMN given INTEGER",
    // Of approvers under a yes, as JSON.
    "ALTER TABLE record ADD COLUMN signatures TEXT",
    // What a command does to files, and whether it brings something to where things are thrown away.
    "ALTER TABLE record ADD COLUMN made TEXT;
     ALTER TABLE record ADD COLUMN kept INTEGER;
     CREATE INDEX making ON record(session) WHERE made IS NOT NULL;
     CREATE INDEX keeping ON record(kept) WHERE kept IS NOT NULL;",
    // The tool that was called, where it was no command.
    "ALTER TABLE record ADD COLUMN tool TEXT",
    // What a reviewer thought, as JSON.
    "ALTER TABLE record ADD COLUMN review TEXT",
];

/// How many steps this version knows.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// How many steps the record has seen.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Takes the steps that are missing. Several processes may try at once: one does, the others find it done.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    let taken = usize::try_from(schema_version(&transaction)?).unwrap_or(0);
    if taken == 0 {
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    for step in STEPS.iter().skip(taken) {
        transaction.execute_batch(step)?;
    }
    if taken < STEPS.len() {
        transaction.pragma_update(None, "user_version", KNOWN)?;
    }
    transaction.commit()
}
