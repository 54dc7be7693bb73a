//! Records in which sequences of bytes that occur often are replaced by codes: the programs, rules and tools of the
//! built-in files, of which a command needs few.
//!
//! Each code stands for a symbol, a sequence of bytes in a table that all records share, so that a record can be read
//! without those before it. A code below [`SHORT`] is one byte, every other is two. A record begins with the number of
//! its bytes.

use std::borrow::Cow;

use super::BadBlob;

/// The number of codes of one byte.
pub(super) const SHORT: usize = 224;

/// The number of codes.
pub(super) const CODES: usize = SHORT + (256 - SHORT) * 256;

/// The length of the longest symbol, in bytes.
pub(super) const LONGEST: usize = 8;

/// A symbol in the table: its bytes, padded to [`LONGEST`], and its length.
pub(super) type Entry = [u8; LONGEST + 1];

/// Returns the bytes of the code of a symbol.
pub(super) fn code(symbol: usize) -> impl Iterator<Item = u8> {
    let over = symbol.checked_sub(SHORT);
    let first = over.map_or(symbol, |over| SHORT + over / 256);
    let second = over.map(|over| over % 256);
    std::iter::once(first).chain(second).filter_map(|byte| u8::try_from(byte).ok())
}

/// Returns a record with its symbols in the place of their codes. A blob without symbols contains records as they are.
///
/// # Errors
/// The bytes are damaged.
pub(super) fn expanded<'a>(symbols: &[u8], record: &'a [u8]) -> Result<Cow<'a, [u8]>, BadBlob> {
    if symbols.is_empty() {
        return Ok(Cow::Borrowed(record));
    }
    let (symbols, _): (&[Entry], _) = symbols.as_chunks();
    let (len, codes) = postcard::take_from_bytes::<usize>(record).map_err(|_| BadBlob)?;
    if len > codes.len() * LONGEST {
        return Err(BadBlob);
    }
    // A symbol is copied with its padding, which the next one overwrites: a copy of a fixed length is the cheapest.
    let mut bytes = vec![0; len + LONGEST];
    let mut at = 0;
    let mut codes = codes.iter().map(|byte| usize::from(*byte));
    while let Some(first) = codes.next() {
        let symbol = match first.checked_sub(SHORT) {
            None => first,
            Some(high) => SHORT + high * 256 + codes.next().ok_or(BadBlob)?,
        };
        let [text @ .., text_len] = symbols.get(symbol).ok_or(BadBlob)?;
        *bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut).ok_or(BadBlob)? = *text;
        at += usize::from(*text_len);
    }
    bytes.truncate(len);
    if at == len { Ok(Cow::Owned(bytes)) } else { Err(BadBlob) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(count: usize) -> Vec<u8> {
        let entry = |symbol: usize| -> Entry {
            let text = format!("<{symbol}>");
            let mut entry = [b'!'; LONGEST + 1];
            entry[..text.len()].copy_from_slice(text.as_bytes());
            entry[LONGEST] = u8::try_from(text.len()).unwrap();
            entry
        };
        (0..count).flat_map(entry).collect()
    }

    #[test]
    fn every_code_stands_for_its_symbol() {
        let symbols = table(CODES);
        for symbol in [0, 1, SHORT - 1, SHORT, SHORT + 255, SHORT + 256, CODES - 1] {
            let wanted = format!("<{symbol}><7>").into_bytes();
            let len = u8::try_from(wanted.len()).unwrap();
            let record: Vec<u8> = std::iter::once(len).chain(code(symbol)).chain(code(7)).collect();
            assert_eq!(expanded(&symbols, &record), Ok(Cow::Owned(wanted)));
            assert_eq!(record.len(), if symbol < SHORT { 3 } else { 4 });
        }
    }

    #[test]
    fn records_without_symbols_are_as_they_are() {
        assert_eq!(expanded(&[], &[1, 255, 3]), Ok(Cow::Borrowed(&[1, 255, 3][..])));
    }

    #[test]
    fn damaged_bytes_are_an_error() {
        let symbols = table(300);
        assert_eq!(expanded(&symbols, &[3, 0]), Ok(Cow::Owned(b"<0>".to_vec())));
        assert_eq!(expanded(&symbols, &[]), Err(BadBlob), "no length");
        assert_eq!(expanded(&symbols, &[3, 255]), Err(BadBlob), "a code without its second byte");
        assert_eq!(expanded(&symbols, &[5, 255, 255]), Err(BadBlob), "a symbol beyond the table");
        assert_eq!(expanded(&symbols, &[4, 0]), Err(BadBlob), "too few bytes");
        assert_eq!(expanded(&symbols, &[2, 0]), Err(BadBlob), "too many bytes");
        assert_eq!(expanded(&symbols, &[2, 0, 0, 0, 0, 0, 0]), Err(BadBlob), "far too many bytes");
        assert_eq!(
            expanded(&symbols, &[0xff, 0xff, 0xff, 0x7f, 0]),
            Err(BadBlob),
            "more bytes than codes can stand for"
        );
    }
}
