//! Formats numbers with the things that they count.

/// Formats a number with a noun in the singular or the plural.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

/// Formats a number with a comma every three digits.
#[must_use]
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{counted, number};

    #[test]
    fn one_is_one_and_thousands_have_commas() {
        assert_eq!(counted(0, "row", "rows"), "0 rows");
        assert_eq!(counted(1, "row", "rows"), "1 row");
        assert_eq!(counted(1_234_567, "row", "rows"), "1,234,567 rows");
        assert_eq!([number(999), number(1000)], ["999", "1,000"]);
    }
}
