//! Keeping what a person types, and what shows them a question, from other processes of the same account: one that is not
//! dumpable gives none of them its memory, and none may trace it.
//!
//! It ends where the process becomes another program. What may not enter: what is kept.

/// Closes this process for as long as it lives.
pub fn seal() {
    close();
}

/// Closes this process until it is dropped, unless it was closed before.
#[derive(Debug)]
pub(super) struct Sealed {
    opens: bool,
}

impl Sealed {
    pub fn begin() -> Self {
        Self { opens: close() }
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        if self.opens {
            set(true);
        }
    }
}

/// Whether this closed it: it was open.
fn close() -> bool {
    #[cfg(target_os = "linux")]
    let is_open = nix::sys::prctl::get_dumpable().unwrap_or_default();
    #[cfg(not(target_os = "linux"))]
    let is_open = false;
    set(false);
    is_open
}

fn set(open: bool) {
    // The call cannot fail with these values.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(open);
    #[cfg(not(target_os = "linux"))]
    let _ = open;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use nix::sys::prctl::get_dumpable;

    use super::{Sealed, seal};

    #[test]
    fn the_outermost_seal_ends_it_unless_it_is_for_good() {
        // One test: all of them are of this process.
        {
            let _outer = Sealed::begin();
            assert_eq!(get_dumpable(), Ok(false));
            drop(Sealed::begin());
            assert_eq!(get_dumpable(), Ok(false));
        }
        assert_eq!(get_dumpable(), Ok(true));
        seal();
        drop(Sealed::begin());
        assert_eq!(get_dumpable(), Ok(false));
        super::set(true);
    }
}
