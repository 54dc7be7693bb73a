//! Where a secret is found: the configuration says where, and never what it is.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use serde::Deserialize;

use super::SecretError;

/// Where a secret is found. It is read when it is needed, and never shown.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// A file that only its owner can read.
    File(PathBuf),
    /// What this prints.
    Command(Vec<String>),
    /// The account's keyring, under this name.
    Keyring(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "Secret({})", path.display()),
            Self::Command(words) => write!(f, "Secret({})", words.first().map_or("", String::as_str)),
            Self::Keyring(name) => write!(f, "Secret({name} of the keyring)"),
        }
    }
}

impl Secret {
    /// The secret itself.
    ///
    /// # Errors
    /// It cannot be read, or others can read it too.
    pub fn read(&self) -> Result<String, SecretError> {
        use std::os::unix::fs::MetadataExt as _;
        let text = match self {
            Self::File(path) => {
                let told = |error| SecretError::File { path: path.clone(), error };
                let mode = std::fs::metadata(path).map_err(told)?.mode();
                if mode & 0o077 != 0 {
                    return Err(SecretError::ReadableByOthers(path.clone()));
                }
                std::fs::read_to_string(path).map_err(told)?
            }
            Self::Keyring(name) => return crate::keyring::read(name).map_err(SecretError::Keyring),
            Self::Command(words) => {
                let Some((program, arguments)) = words.split_first() else {
                    return Err(SecretError::NoCommand);
                };
                let output = Command::new(program).args(arguments).output();
                let output = output.map_err(|error| SecretError::Program { program: program.clone(), error })?;
                if !output.status.success() {
                    return Err(SecretError::Failed { program: program.clone(), status: output.status });
                }
                String::from_utf8(output.stdout).map_err(|_| SecretError::NoText(program.clone()))?
            }
        };
        let text = text.trim();
        if text.is_empty() { Err(SecretError::Empty) } else { Ok(text.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_others_can_read_is_none() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "abc\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(Secret::File(path.clone()).read().unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Secret::File(path).read().ok().as_deref(), Some("abc"));
        assert_eq!(Secret::Command(vec!["echo".into(), "x".into()]).read().ok().as_deref(), Some("x"));
        assert!(Secret::Command(vec!["false".into()]).read().is_err());
    }
}
