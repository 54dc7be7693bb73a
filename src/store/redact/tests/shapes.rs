//! Tests of secrets that are recognised by their shape.

use super::redact;

#[test]
fn a_token_is_known_by_its_shape_where_nothing_else_tells_it() {
    // The last resort does not apply to a text that decodes data, so that only the shape decides.
    let alone = |text: &str| redact(&format!("base64 -d x; say {text} end"));
    let bot = format!("12345678:{}", "a".repeat(33));
    for token in [
        "ghp_aaaaaaaaaaaaaaa1",
        "ghp_aaaaaaaaaaaaaaaA",
        "eyJaaaaaaaaaaaaaaaaa.aaaaaaaaa",
        &format!("eyJ{}.a-b_c=", "a".repeat(40)),
        &bot,
        &format!("bot{bot}"),
        &format!("12345678901:{}_-", "a".repeat(33)),
    ] {
        assert_eq!(alone(token), ("base64 -d x; say *** end".to_owned(), true), "{token}");
    }
    for word in [
        "ghp_aaaaaaaaaaaaaaaa",
        "ghp_aaaaaaaaaaaaa1",
        "eyJaaaaaaaaaaaaaaaa.aaaaaaaaa",
        "eyJaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "xghp_aaaaaaaaaaaaaaa1",
        &bot[1..],
        &format!("1234{bot}"),
        &bot[..bot.len() - 1],
        &bot.replace(':', "."),
    ] {
        assert!(!alone(word).1, "{word}: {}", alone(word).0);
    }
}

#[test]
fn what_is_too_mixed_changes_its_kind_in_every_second_place() {
    let secret = "aKK88".repeat(5);
    assert_eq!(redact(&format!("deploy {secret} x")), ("deploy *** x".to_owned(), true));
    let ordered = format!("deploy {}{}{} x", "a".repeat(9), "K".repeat(8), "8".repeat(8));
    assert_eq!(redact(&ordered), (ordered.clone(), false));
}

#[test]
fn each_password_of_a_statement_is_hidden() {
    let (one, two) = ("ALTER USER a WITH PASSWORD 'hunter2'", "CREATE ROLE b PASSWORD 'hunter3'");
    let hidden = "psql -c \"ALTER USER a WITH PASSWORD '***'; CREATE ROLE b PASSWORD '***'\"";
    assert_eq!(redact(&format!("psql -c \"{one}; {two}\"")), (hidden.to_owned(), true));
}

#[test]
fn a_private_key_has_a_label_of_less_than_64_letters() {
    let key = |letters: usize| format!("-----BEGIN {}PRIVATE KEY-----abc-----END x", "A".repeat(letters - 11));
    assert_eq!(redact(&key(63)), (key(63).replace("abc", "***"), true));
    assert_eq!(redact(&key(64)), (key(64), false));
}

#[test]
fn an_address_hides_its_password_and_the_path_of_a_webhook() {
    for (text, wanted) in [
        ("curl https://hooks.slack.com/services/T0/B0/x -d y", "curl https://hooks.slack.com/services/*** -d y"),
        ("curl http://ada:hunter2@h/x y", "curl http://ada:***@h/x y"),
        ("curl http://ada:pa/ss@host x", "curl http://ada:***@host x"),
    ] {
        assert_eq!(redact(text), (wanted.to_owned(), true), "{text}");
    }
    for text in ["curl http://[::1]/a@b", "curl https://ada:$PASS@h/x", "curl http://h:8080/a@b"] {
        assert_eq!(redact(text), (text.to_owned(), false));
    }
}
