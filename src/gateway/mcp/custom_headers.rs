//! Parses the HTTP headers that the account configures for a server, with secrets from environment variables.
//!
//! Out of scope: the headers of the protocol.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// The reason why a header cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("expected a header as NAME: VALUE")]
    NoHeader,
    #[error("invalid header name {0}")]
    Name(String),
    #[error("invalid characters in the value of the header {0}")]
    Value(HeaderName),
    #[error("a header contains ${{ without }}")]
    Unclosed,
    #[error("a header uses the environment variable {0}, which is not set")]
    NoVariable(String),
}

/// Parses all headers and marks their values as sensitive, so that none is ever printed.
///
/// # Errors
/// A header is invalid, or names a variable that is not set.
pub fn headers(headers: &[String], variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, HeaderError> {
    let mut map = HeaderMap::new();
    for header in headers {
        let (name, value) = header.split_once(':').ok_or(HeaderError::NoHeader)?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| HeaderError::Name(name.trim().to_owned()))?;
        let value = filled(value.trim(), &variable)?;
        let wrong = |_| HeaderError::Value(name.clone());
        let mut value = HeaderValue::try_from(value).map_err(wrong)?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

/// Replaces each `${NAME}` in a value with the variable.
fn filled(value: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, HeaderError> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or(HeaderError::Unclosed)?;
        out.push_str(before);
        out.push_str(&variable(name).ok_or_else(|| HeaderError::NoVariable(name.to_owned()))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_what_is_secret_from_variables() {
        let given = |all: &[&str]| {
            let all: Vec<String> = all.iter().map(|header| (*header).to_owned()).collect();
            headers(&all, |name| (name == "KEY").then(|| "k3y".to_owned()))
        };
        let built = given(&["Authorization: Bearer ${KEY}!", "X-A:b"]).unwrap();
        assert_eq!(built["authorization"], "Bearer k3y!");
        assert_eq!(built["x-a"], "b");
        assert!(!format!("{built:?}").contains("k3y"));
        for wrong in ["Authorization", "a b: c", "X: ${NONE}", "X: ${KEY", "X: a\nb"] {
            assert!(given(&[wrong]).is_err(), "{wrong}");
        }
    }
}
