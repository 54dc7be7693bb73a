//! The native protocol of journald: one datagram for each entry, one line for each field. A value with a line break is
//! preceded by its length.

/// Adds a field. The name consists of capital letters, digits and underscores.
pub fn field(message: &mut Vec<u8>, name: &str, value: &str) {
    message.extend(name.as_bytes());
    if value.contains('\n') {
        message.push(b'\n');
        message.extend((value.len() as u64).to_le_bytes());
    } else {
        message.push(b'=');
    }
    message.extend(value.as_bytes());
    message.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_several_lines_goes_with_its_length() {
        let mut message = Vec::new();
        field(&mut message, "A", "x=y");
        field(&mut message, "B", "1\nC=2");
        assert_eq!(message, b"A=x=y\nB\n\x05\0\0\0\0\0\0\x001\nC=2\n");
    }
}
