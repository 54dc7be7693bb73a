//! Where a person is asked.
