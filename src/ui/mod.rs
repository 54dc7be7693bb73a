//! Pictures in text: a value in, styled lines out.
//!
//! What may not enter: I/O, clocks, decisions.
