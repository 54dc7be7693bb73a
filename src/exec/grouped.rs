//! Encloses a command in a group that has the original standard input, so that it does not read the input of the shell.
//!
//! There are two groups. The outer one replaces standard input. The inner one closes the descriptor from which it was
//! duplicated. Because the input of the inner group itself is not redirected, bash uses `/dev/null` for background
//! commands, as without a group.

use std::ffi::c_int;

use crate::judge::syntax;
use crate::judge::syntax::tree::Dialect;

/// Returns the command with `{` before and `}` after it, on the same lines. `None`: it cannot be parsed, or is empty.
pub(super) fn grouped(text: &[u8], dialect: Dialect, number: c_int) -> Option<Vec<u8>> {
    let script = syntax::parse(text, dialect).ok()?;
    let last = script.items.last()?;
    let (head, tail) = text.split_at_checked(last.span.end as usize)?;
    let blanks = tail.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let rest = tail.get(blanks..)?;
    let ends = match rest.first() {
        Some(b'&') => rest.iter().take_while(|byte| matches!(byte, b'&' | b'|' | b'!')).count(),
        Some(b';') => 1,
        _ => 0,
    };
    // The blank before a comment is significant.
    let (ends, rest) = if ends == 0 { (&b";"[..], tail) } else { rest.split_at_checked(ends)? };
    let begin = script.items.first()?.span.start as usize;
    let (before, head) = head.split_at_checked(begin)?;
    let redirects = format!(" }} {number}<&-; }} <&{number}");
    Some([before, b"{ { ", head, ends, redirects.as_bytes(), rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(text: &str) -> String {
        String::from_utf8(super::grouped(text.as_bytes(), Dialect::Sh, 9).unwrap()).unwrap()
    }

    #[test]
    fn a_group_ends_on_the_line_where_its_command_ends() {
        for (text, wanted) in [
            ("ls\n", "{ { ls; } 9<&-; } <&9\n"),
            ("ls; pwd # all\n", "{ { ls; pwd; } 9<&-; } <&9 # all\n"),
            ("ls  # all", "{ { ls; } 9<&-; } <&9  # all"),
            ("sleep 1 &\n", "{ { sleep 1& } 9<&-; } <&9\n"),
            ("a & b;\n", "{ { a & b; } 9<&-; } <&9\n"),
            ("cat <<E && pwd\nbody\nE\n", "{ { cat <<E && pwd; } 9<&-; } <&9\nbody\nE\n"),
            ("\n# first\nif true\nthen ls\nfi\n", "\n# first\n{ { if true\nthen ls\nfi; } 9<&-; } <&9\n"),
            ("f() {\n  ls\n}\n", "{ { f() {\n  ls\n}; } 9<&-; } <&9\n"),
            ("ls", "{ { ls; } 9<&-; } <&9"),
        ] {
            assert_eq!(grouped(text), wanted);
        }
    }
}
