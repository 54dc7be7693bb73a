//! Checks whether the record can be written now.

use super::Store;
use super::error::StoreError;

impl Store {
    /// Begins a write transaction and changes no row.
    ///
    /// # Errors
    /// The reason why a row could not be written.
    pub fn writable(&self) -> Result<(), StoreError> {
        // SQLite grants the lock even if nothing can be written, so a write statement is needed.
        self.write(|connection| connection.execute("DELETE FROM record WHERE 0", []).map(|_| ()))
    }
}
