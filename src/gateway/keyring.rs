//! Reads secrets from the account's keyring, with the first known program that has them.
//!
//! The programs are listed in `keyrings.toml`. Out of scope: storing secrets.

use serde::Deserialize;

use crate::config::Secret;

const KNOWN: &str = include_str!("keyrings.toml");

/// The placeholder of the secret's name.
const NAME: &str = "{name}";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    keyring: Vec<Keyring>,
}

/// A program that reads secrets from a keyring.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Keyring {
    read: Vec<String>,
    /// The command with which a person stores a secret, with the placeholder `NAME`.
    store: String,
}

/// The reason why no secret can be read from a keyring.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The built-in list of keyrings is invalid.
    #[error(transparent)]
    Known(#[from] toml::de::Error),
    /// No keyring has the secret. `how` is the command that stores it.
    #[error("no keyring has the secret {name}; add it with {how}")]
    Unknown { name: String, how: String },
}

/// Reads the secret of this name.
///
/// # Errors
/// Returns an error, with the command that stores the secret, if no keyring has it.
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
