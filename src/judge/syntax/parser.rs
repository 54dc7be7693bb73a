use super::tree::{Dialect, ParseError, Script};

/// Reads `text` by the grammar of `dialect`.
///
/// # Errors
/// One [`ParseError`] for the whole text; there is no recovery.
pub fn parse(text: &[u8], dialect: Dialect) -> Result<Script, ParseError> {
    let _ = (text, dialect);
    todo!()
}
