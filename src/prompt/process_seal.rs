//! Keeping what a person types, and what shows them a question, from other processes of the same account: one that is not
//! dumpable gives none of them its memory, and none may trace it.
//!
//! It ends where the process becomes another program. Out of scope: what is kept.

use guard_system::{is_open_to_others, set_open_to_others};

/// Closes this process for as long as it lives.
pub fn seal() {
    close();
}

/// Closes this process until it is dropped, unless it was closed before.
#[derive(Debug)]
pub(super) struct ProcessSeal {
    opens: bool,
}

impl ProcessSeal {
    pub fn begin() -> Self {
        Self { opens: close() }
    }
}

impl Drop for ProcessSeal {
    fn drop(&mut self) {
        if self.opens {
            set_open_to_others(true);
        }
    }
}

/// Whether this closed it: it was open.
fn close() -> bool {
    let is_open = is_open_to_others();
    set_open_to_others(false);
    is_open
}

#[cfg(test)]
mod tests {
    use super::{ProcessSeal, is_open_to_others, seal, set_open_to_others};

    #[test]
    fn the_outermost_seal_ends_it_unless_it_is_for_good() {
        // One test: all of them are of this process.
        {
            let _outer = ProcessSeal::begin();
            assert!(!is_open_to_others());
            drop(ProcessSeal::begin());
            assert!(!is_open_to_others());
        }
        assert_eq!(is_open_to_others(), !guard_system::IS_MACOS);
        seal();
        drop(ProcessSeal::begin());
        assert!(!is_open_to_others());
        set_open_to_others(true);
    }
}
