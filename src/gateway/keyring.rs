//! A secret out of the account's keyring, read by whichever program for that is there.
//!
//! Which programs those are stands in `patterns/reviewer/keyrings.toml`. Out of scope: keeping a secret.

use serde::Deserialize;

use crate::config::Secret;

const KNOWN: &str = include_str!("keyrings.toml");

/// What stands for the secret's name.
const NAME: &str = "{name}";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    keyring: Vec<Keyring>,
}

/// A program that reads one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keyring {
    read: Vec<String>,
    /// How a person puts a secret there.
    store: String,
}

/// Why a keyring gives no secret.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// What the gateway knows of keyrings.
    #[error(transparent)]
    Known(#[from] toml::de::Error),
    /// `how` a person puts it there.
    #[error("no keyring has the secret {name}; add it with {how}")]
    Unknown { name: String, how: String },
}

/// The secret of this name.
///
/// # Errors
/// No keyring holds it, or there is none, with how it is put there.
pub fn read(name: &str) -> Result<String, KeyringError> {
    let file: File = toml::from_str(KNOWN)?;
    of(&file.keyring, name)
}

fn of(keyrings: &[Keyring], name: &str) -> Result<String, KeyringError> {
    let words = |keyring: &Keyring| keyring.read.iter().map(|word| word.replace(NAME, name)).collect();
    let mut tried = keyrings.iter().map(|keyring| Secret::Command(words(keyring)).read());
    if let Some(secret) = tried.find_map(Result::ok) {
        return Ok(secret);
    }
    let how: Vec<String> = keyrings.iter().map(|keyring| keyring.store.replace("NAME", name)).collect();
    Err(KeyringError::Unknown { name: name.to_owned(), how: how.join(", or ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring(read: &[&str]) -> Keyring {
        Keyring { read: read.iter().map(|word| (*word).to_owned()).collect(), store: "put NAME".to_owned() }
    }

    #[test]
    fn the_first_that_knows_it_is_the_one() {
        let all = [
            keyring(&["no-such-program-here", NAME]),
            keyring(&["false", NAME]),
            keyring(&["echo", "key of", NAME]),
            keyring(&["echo", "another"]),
        ];
        assert_eq!(of(&all, "reviewer").ok().as_deref(), Some("key of reviewer"));
        assert_eq!(
            of(&all[..2], "x").unwrap_err().to_string(),
            "no keyring has the secret x; add it with put x, or put x"
        );
    }

    #[test]
    fn those_that_are_known_name_the_secret() {
        let file: File = toml::from_str(KNOWN).unwrap();
        assert!(!file.keyring.is_empty());
        for keyring in file.keyring {
            assert!(keyring.read.iter().any(|word| word == NAME) && keyring.store.contains("NAME"), "{keyring:?}");
        }
    }
}
