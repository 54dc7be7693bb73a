//! The headers that the account gives for a server, with what is secret in them from variables.
//!
//! What may not enter: the headers of the protocol.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// All of them, none of which is ever shown.
///
/// # Errors
/// One is none, or names a variable that is not set.
pub fn headers(headers: &[String], variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for header in headers {
        let (name, value) = header.split_once(':').ok_or("expected a header as NAME: VALUE")?;
        let name = HeaderName::try_from(name.trim()).map_err(|_| format!("invalid header name {}", name.trim()))?;
        let value = filled(value.trim(), &variable)?;
        let wrong = |_| format!("invalid characters in the value of the header {name}");
        let mut value = HeaderValue::try_from(value).map_err(wrong)?;
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

/// A value with `${NAME}` filled in.
fn filled(value: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or("a header contains ${ without }")?;
        out.push_str(before);
        out.push_str(
            &variable(name)
                .ok_or_else(|| format!("a header uses the environment variable {name}, which is not set"))?,
        );
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
