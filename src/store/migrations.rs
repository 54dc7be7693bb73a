//! The schema, as a list of migrations.
//!
//! Migrations are only ever appended: a record of any age is updated by the migrations that it lacks, in one
//! transaction. `user_version` is the number of applied migrations. A record with more of them than this version knows
//! is not changed.
//!
//! Every process that opens the record reads the schema first, so it is kept short: one table, and indexes only of the
//! few rows that are looked up. An ordinary row therefore changes one page.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// The `application_id` of the file, so that `file` and other tools recognise it: "guar".
const APPLICATION: i32 = 0x6775_6172;

/// The migrations from an empty file, in order. They are never edited, only appended.
const STEPS: &[&str] = &[
    // The meaning of the rows is defined in `decisions`, `grants` and `behaviour`. The kind of a row determines its
    // columns. Other columns are NULL and not part of the hash of the row, so that a column that is added later breaks
    // no chain.
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
    // The time at which a copied grant was given. From this migration on, the oldest rows of a record may have been
    // pruned. An older guard would mistake that for tampering, so it must not use such a record.
    "ALTER TABLE record ADD COLUMN given INTEGER",
    // The approvers' signatures of an approval, as JSON.
    "ALTER TABLE record ADD COLUMN signatures TEXT",
    // The command's changes of files, and whether it copies or moves content to a place whose files are discarded.
    "ALTER TABLE record ADD COLUMN made TEXT;
     ALTER TABLE record ADD COLUMN kept INTEGER;
     CREATE INDEX making ON record(session) WHERE made IS NOT NULL;
     CREATE INDEX keeping ON record(kept) WHERE kept IS NOT NULL;",
    // The tool that was called, for a row that is not of a shell command.
    "ALTER TABLE record ADD COLUMN tool TEXT",
    // The opinion of a reviewer, as JSON.
    "ALTER TABLE record ADD COLUMN review TEXT",
];

/// The number of migrations of this version.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Returns the number of migrations that were applied to the record.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Applies the missing migrations. If several processes do so at the same time, one applies them and the others do
/// nothing.
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
