//! Protects a process that shows a prompt or reads a passphrase from other processes of the same account: a process
//! that is not dumpable cannot be traced, and its memory cannot be read.
//!
//! The protection ends if the process executes another program.

use guard_system::{is_open_to_others, set_open_to_others};

/// Protects this process for its lifetime.
pub fn seal() {
    close();
}

/// Protects this process until it is dropped, unless it was protected before.
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

/// Protects the process. Returns whether it was unprotected.
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
        // This is one test, because the protection is for the whole process.
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
