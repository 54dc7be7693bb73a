//! Evaluates constant arithmetic in `$(( … ))`.
//!
//! Out of scope: the state of the shell. A closure of the caller looks up names, and assignments are found but not
//! made.

/// Maximum nesting of parentheses and operators.
const MAX_NESTING: u32 = 24;

/// Returns the value of a constant expression. `lookup` returns the number in a variable.
pub(super) fn evaluate(text: &str, lookup: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
    if text.len() > 1024 {
        return None;
    }
    let mut reader = ArithmeticReader { rest: text, lookup };
    reader.skip();
    if reader.rest.is_empty() {
        return Some(0);
    }
    let mut value = reader.ternary(0)?;
    while reader.take(",") {
        value = reader.ternary(0)?;
    }
    reader.rest.is_empty().then_some(value)
}

/// Returns the names to which an expression assigns.
pub(super) fn assigned(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text;
    let mut before = "";
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let prefix = if start > 0 { rest.get(..start).unwrap_or("") } else { before };
        let tail = rest.get(start..).unwrap_or("");
        let end = tail.find(|c| !name_char(c)).unwrap_or(tail.len());
        let (name, after) = tail.split_at(end);
        let mut next = after.trim_start();
        if let Some(subscript) = next.strip_prefix('[') {
            next = subscript.split_once(']').map_or("", |(_, after)| after.trim_start());
        }
        let operators = ["+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=", "++", "--"];
        let plain = next.starts_with('=') && !next.starts_with("==");
        let prefixed = prefix.trim_end().ends_with("++") || prefix.trim_end().ends_with("--");
        if (plain || prefixed || operators.iter().any(|operator| next.starts_with(operator))) && !names.contains(&name)
        {
            names.push(name);
        }
        before = "";
        rest = after;
    }
    names
}

struct ArithmeticReader<'a> {
    rest: &'a str,
    lookup: &'a dyn Fn(&str) -> Option<i64>,
}

/// The binary operators by precedence, the lowest first; longer operators are before their prefixes.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl ArithmeticReader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                self.skip();
                true
            }
            None => false,
        }
    }

    fn ternary(&mut self, nesting: u32) -> Option<i64> {
        if nesting > MAX_NESTING {
            return None;
        }
        let condition = self.binary(0, nesting)?;
        if !self.take("?") {
            return Some(condition);
        }
        let yes = self.ternary(nesting + 1)?;
        if !self.take(":") {
            return None;
        }
        let no = self.ternary(nesting + 1)?;
        Some(if condition != 0 { yes } else { no })
    }

    fn operator(&mut self, level: usize) -> Option<&'static str> {
        let found = LEVELS.get(level)?.iter().find(|operator| self.rest.starts_with(**operator))?;
        let after = self.rest.get(found.len()..)?;
        // `|` must not match `||`, `&` not `&&`, `<` not `<<`, and none an assignment.
        let doubled = matches!(*found, "|" | "&" | "<" | ">") && after.starts_with(found);
        let assigns = after.starts_with('=') && !matches!(*found, "==" | "!=" | "<=" | ">=");
        let power = *found == "*" && after.starts_with('*');
        if doubled || assigns || power {
            return None;
        }
        self.take(found);
        Some(found)
    }

    fn binary(&mut self, level: usize, nesting: u32) -> Option<i64> {
        if level >= LEVELS.len() {
            return self.power(nesting);
        }
        let mut left = self.binary(level + 1, nesting)?;
        while let Some(operator) = self.operator(level) {
            let right = self.binary(level + 1, nesting)?;
            let truth = |holds: bool| Some(i64::from(holds));
            left = match operator {
                "||" => truth(left != 0 || right != 0),
                "&&" => truth(left != 0 && right != 0),
                "|" => Some(left | right),
                "^" => Some(left ^ right),
                "&" => Some(left & right),
                "==" => truth(left == right),
                "!=" => truth(left != right),
                "<=" => truth(left <= right),
                ">=" => truth(left >= right),
                "<" => truth(left < right),
                ">" => truth(left > right),
                "<<" => left.checked_shl(u32::try_from(right).ok()?),
                ">>" => left.checked_shr(u32::try_from(right).ok()?),
                "+" => Some(left.wrapping_add(right)),
                "-" => Some(left.wrapping_sub(right)),
                "*" => Some(left.wrapping_mul(right)),
                "/" => left.checked_div(right),
                _ => left.checked_rem(right),
            }?;
        }
        Some(left)
    }

    fn power(&mut self, nesting: u32) -> Option<i64> {
        let base = self.unary(nesting)?;
        if !self.take("**") {
            return Some(base);
        }
        if nesting > MAX_NESTING {
            return None;
        }
        let exponent = self.power(nesting + 1)?;
        base.checked_pow(u32::try_from(exponent).ok()?)
    }

    fn unary(&mut self, nesting: u32) -> Option<i64> {
        if nesting > MAX_NESTING || self.rest.starts_with("++") || self.rest.starts_with("--") {
            return None;
        }
        if self.take("-") {
            return self.unary(nesting + 1)?.checked_neg();
        }
        if self.take("+") {
            return self.unary(nesting + 1);
        }
        if self.take("!") {
            return Some(i64::from(self.unary(nesting + 1)? == 0));
        }
        if self.take("~") {
            return Some(!self.unary(nesting + 1)?);
        }
        if self.take("(") {
            let value = self.ternary(nesting + 1)?;
            return self.take(")").then_some(value);
        }
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '@')))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip();
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return number(token);
        }
        if token.is_empty() || self.rest.starts_with('[') {
            return None;
        }
        (self.lookup)(token)
    }
}

/// Parses a number in the syntax of shells: decimal, `0x`, octal with `0`, and `base#digits` up to base 36.
pub(super) fn number(token: &str) -> Option<i64> {
    if let Some((base, digits)) = token.split_once('#') {
        let base: u32 = base.parse().ok()?;
        return (2..=36).contains(&base).then(|| i64::from_str_radix(digits, base).ok())?;
    }
    if let Some(digits) = token.strip_prefix("0x").or_else(|| token.strip_prefix("0X")) {
        return i64::from_str_radix(digits, 16).ok();
    }
    if token.len() > 1 && token.starts_with('0') {
        return i64::from_str_radix(token, 8).ok();
    }
    token.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(text: &str) -> Option<i64> {
        evaluate(text, &|name| (name == "x").then_some(7))
    }

    #[test]
    fn constants_are_computed() {
        assert_eq!(eval("1 + 2 * 3"), Some(7));
        assert_eq!(eval("(1 + 2) * 3 - -1"), Some(10));
        assert_eq!(eval("2 ** 3 ** 2"), Some(512));
        assert_eq!(eval("x > 3 ? 0x10 : 010"), Some(16));
        assert_eq!(eval("1 << 4 | 1"), Some(17));
        assert_eq!(eval("16#ff && 1"), Some(1));
        assert_eq!(eval(""), Some(0));
    }

    #[test]
    fn what_is_not_constant_is_unknown() {
        for text in ["y", "x = 3", "x++", "1 / 0", "1 +", "a[0]", "2 ** 100", "x += 1"] {
            assert_eq!(eval(text), None, "{text}");
        }
    }

    #[test]
    fn assignments_are_found() {
        assert_eq!(assigned("i = 0, j += 2, k == 3, ++m, n++, a[1] = 2"), ["i", "j", "m", "n", "a"]);
    }

    #[test]
    fn deep_nesting_gives_up() {
        assert_eq!(eval(&"(".repeat(1000)), None);
        assert_eq!(eval(&"-".repeat(1000)), None);
    }
}
