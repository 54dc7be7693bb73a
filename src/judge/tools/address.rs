//! URLs in the input of a call.

/// Reports whether a text is a URL and nothing else, either of a file or with one of these schemes.
#[must_use]
pub fn is_one(text: &str, schemes: &[String]) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let scheme = scheme.to_ascii_lowercase();
    let is_url = scheme == "file" && rest.starts_with('/') || rest.starts_with("//") && schemes.contains(&scheme);
    is_url && !text.contains(char::is_whitespace)
}

/// Returns the path in the URL of a file: `file:///etc/hosts`, `file:/etc/hosts`, `FILE://localhost/etc/ho%73ts`.
#[must_use]
pub fn file(text: &str) -> Option<String> {
    let text = text.trim();
    let (scheme, rest) = text.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    // The host is this one or that of a share.
    let path = match rest.strip_prefix("//") {
        Some(rest) if rest.starts_with(['~', '.']) => rest,
        Some(rest) => rest.get(rest.find('/').unwrap_or(rest.len())..)?,
        None => rest,
    };
    let end = path.find(['?', '#']).unwrap_or(path.len());
    Some(decoded(path.get(..end)?))
}

/// Decodes `%` with two digits.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.filter(|_| *first == b'%').and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = behind.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_in_every_spelling_of_its_url() {
        for url in [
            "file:///etc/shadow",
            "file:/etc/shadow",
            "FILE://localhost/etc/shadow",
            "file:///etc/%73hadow",
            " file:///etc/shadow?a=b#c",
        ] {
            assert_eq!(file(url).as_deref(), Some("/etc/shadow"), "{url}");
        }
        assert_eq!(file("file://~/.netrc").as_deref(), Some("~/.netrc"));
        assert_eq!(file("https://example.org/etc/shadow"), None);
        assert_eq!(file("/etc/shadow"), None);
    }

    #[test]
    fn an_address_is_a_url_and_nothing_else() {
        for (text, wanted) in [
            ("https://example.org/a", true),
            ("file:///a", true),
            ("see https://example.org", false),
            ("https://example.org is down", false),
            ("file: the one", false),
            ("name:value", false),
            ("", false),
        ] {
            assert_eq!(is_one(text, &["https".to_owned()]), wanted, "{text}");
        }
    }
}
