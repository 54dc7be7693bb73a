//! Regular expressions as rules have them: how they are compiled, wherever they are.

use regex::Error;
use regex::bytes::{Regex, RegexBuilder};

/// The most memory that one compiled expression may take, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles an expression. It is over bytes: what commands are made of is ASCII, and the tables of all letters that
/// there are would be brought in at every start, whether an expression is needed or not.
///
/// # Errors
/// It is none, it is too large, or it has letters beyond ASCII where only bytes can stand: in a class, or under `(?i)`.
pub fn compile(expression: &str) -> Result<Regex, Error> {
    RegexBuilder::new(expression).unicode(false).size_limit(SIZE_LIMIT).build()
}
