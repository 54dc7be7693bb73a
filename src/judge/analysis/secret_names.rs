//! Recognises names of variables that contain secrets.

use crate::judge::rules::word_lists;

/// Reports whether the name of a variable suggests a secret: a token, a password, a private key, a URL with a password.
/// Names are compared by their parts, so that `TOKENIZERS_PARALLELISM` and `PUBLIC_KEY` do not.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut parts = name.rsplit('_').skip_while(|part| *part == "ID");
    let (Some(last), before) = (parts.next(), parts.next()) else { return false };
    let is = |kinds: &[&str]| before.is_some_and(|before| kinds.contains(&before));
    match last {
        "KEY" => is(&word_lists::SECRET_KEY_WORDS),
        "URL" | "URI" => is(&word_lists::STORE_WORDS),
        "PWD" | "PAT" => before.is_some(),
        "STRING" => is(&["CONNECTION"]),
        _ => {
            word_lists::SECRET_LAST_WORDS.contains(&last)
                || word_lists::SECRET_WORD_ENDS.iter().any(|end| last.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    #[test]
    fn names_of_secrets_are_known_by_their_parts() {
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "PGPASSWORD",
            "MYSQL_PWD",
            "GH_PAT",
            "db_password",
            "DATABASE_URL",
            "MONGODB_URI",
            "AZURE_CONNECTION_STRING",
            "STRIPE_KEY",
            "npm_config_authtoken",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "PATH",
            "PWD",
            "OLDPWD",
            "HOME",
            "TOKENIZERS_PARALLELISM",
            "MAX_TOKENS",
            "PUBLIC_KEY",
            "CACHE_KEY",
            "KEYBOARD",
            "SECRETS_DIR",
            "PASSED",
            "API_URL",
            "BASE_URL",
            "BYPASS",
            "COMPASS",
            "ID",
            "",
            "_",
            "TEST_STRING",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
