//! Formats counts, sizes and names.

use std::path::Path;

use crate::ui::visible;

/// Maximum number of names that are listed; the others are counted.
const MAX_NAMES: usize = 5;

/// Formats a count: `1,234 files`; `1 file`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Groups digits: `1,234,567`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a size: `812 B`, `4.2 kB`, `56 MB`.
pub fn size(bytes: u64) -> String {
    let units = [("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000_u64)];
    let (unit, factor) = units.into_iter().rev().find(|(_, factor)| bytes >= *factor).unwrap_or(("B", 1));
    let tenths = bytes / (factor / 10).max(1);
    match unit {
        "B" => format!("{bytes} B"),
        _ if tenths < 100 => format!("{}.{} {unit}", tenths / 10, tenths % 10),
        _ => format!("{} {unit}", bytes / factor),
    }
}

/// Formats a name so that it can be printed; in quotes if it could be mistaken for the words around it.
pub fn name(path: &Path) -> String {
    let name = visible::line(path.as_os_str().as_encoded_bytes(), false);
    if name.contains([' ', ',', ';', ':']) { format!("'{name}'") } else { name }
}

/// Lists names: `a, b, c and 4 more`.
pub fn names<'a>(all: impl ExactSizeIterator<Item = &'a Path>) -> String {
    let more = all.len().saturating_sub(MAX_NAMES);
    let mut text = all.take(MAX_NAMES).map(name).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text.push_str(&format!(" and {} more", grouped(more)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_sizes_are_put_as_a_person_reads_them() {
        assert_eq!(count(1, "file", "files"), "1 file");
        assert_eq!(count(1_234_567, "file", "files"), "1,234,567 files");
        let sizes = [0, 999, 1_000, 4_250, 99_999, 56_000_000, 7_300_000_000].map(size);
        assert_eq!(sizes, ["0 B", "999 B", "1.0 kB", "4.2 kB", "99 kB", "56 MB", "7.3 GB"]);
    }

    #[test]
    fn names_are_listed_up_to_a_few_and_cannot_steer_a_terminal() {
        let paths = ["a", "b\x1b[2J", "c", "d", "e", "f", "g"].map(Path::new);
        let text = names(paths.into_iter());
        assert!(text.ends_with("c, d, e and 2 more"), "{text}");
        assert!(!text.contains('\x1b'), "{text:?}");
    }
}
