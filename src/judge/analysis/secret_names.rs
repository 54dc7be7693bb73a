//! What the name of a variable says of its value.
//!
//! What may not enter: values.

/// Whether a variable is named like a secret: a token, a password, a key that opens something, an address with a password
/// in it. Names are compared by their parts, so that `TOKENIZERS_PARALLELISM` and `PUBLIC_KEY` are none.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    const LAST: [&str; 9] =
        ["PASS", "CREDENTIALS", "APIKEY", "PASSWD", "SSHPASS", "DSN", "PRIVATEKEY", "PGPASSWORD", "ACCESSKEY"];
    const ENDS: [&str; 4] = ["TOKEN", "SECRET", "PASSWORD", "PASSPHRASE"];
    const KEYS: [&str; 12] = [
        "API",
        "ACCESS",
        "PRIVATE",
        "SECRET",
        "AUTH",
        "ENCRYPTION",
        "SIGNING",
        "MASTER",
        "STRIPE",
        "OPENAI",
        "ANTHROPIC",
        "SENDGRID",
    ];
    const STORES: [&str; 11] = [
        "DATABASE",
        "DB",
        "REDIS",
        "MONGO",
        "MONGODB",
        "POSTGRES",
        "POSTGRESQL",
        "MYSQL",
        "AMQP",
        "RABBITMQ",
        "BROKER",
    ];
    let name = name.to_ascii_uppercase();
    let mut parts = name.rsplit('_').skip_while(|part| *part == "ID");
    let (Some(last), before) = (parts.next(), parts.next()) else { return false };
    let is = |kinds: &[&str]| before.is_some_and(|before| kinds.contains(&before));
    match last {
        "KEY" => is(&KEYS),
        "URL" | "URI" => is(&STORES),
        "PWD" | "PAT" => before.is_some(),
        "STRING" => is(&["CONNECTION"]),
        _ => LAST.contains(&last) || ENDS.iter().any(|end| last.ends_with(end)),
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
