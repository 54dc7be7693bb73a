//! Whether the record can be written now.

use super::Store;
use super::error::StoreError;

impl Store {
    /// Begins to write and changes no row.
    ///
    /// # Errors
    /// Why a row could not be written.
    pub fn writable(&self) -> Result<(), StoreError> {
        // The lock alone is given where nothing can be written; a statement that writes is not.
        self.write(|connection| connection.execute("DELETE FROM record WHERE 0", []).map(|_| ()))
    }
}
