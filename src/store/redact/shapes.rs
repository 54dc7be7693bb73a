//! Finds secrets by their shape.

use super::Secrets;
use crate::judge::rules::catalog::secret_arguments;

/// The prefix of a token, the minimum number of characters after it, and the characters that are allowed in addition to
/// letters and digits.
struct Shape {
    prefix: &'static str,
    least: usize,
    extra: &'static [u8],
}

const fn shape(prefix: &'static str, least: usize, extra: &'static [u8]) -> Shape {
    Shape { prefix, least, extra }
}

/// The token formats according to the documentation of their issuers. A longer prefix precedes the shorter one with
/// which it begins.
const SHAPES: &[Shape] = &[
    shape("github_pat_", 20, b"_"),
    shape("ghp_", 16, b""),
    shape("gho_", 16, b""),
    shape("ghu_", 16, b""),
    shape("ghs_", 16, b"._-"),
    shape("ghr_", 16, b""),
    shape("glpat-", 16, b"_-."),
    shape("gldt-", 16, b"_-"),
    shape("glrt-", 16, b"_-."),
    shape("glcbt-", 16, b"_-"),
    shape("sk-", 20, b"_-"),
    shape("sk_live_", 16, b""),
    shape("sk_test_", 16, b""),
    shape("rk_live_", 16, b""),
    shape("rk_test_", 16, b""),
    shape("whsec_", 16, b"+/="),
    shape("xoxa-", 10, b"-"),
    shape("xoxb-", 10, b"-"),
    shape("xoxe-", 10, b"-"),
    shape("xoxe.", 10, b"-."),
    shape("xoxp-", 10, b"-"),
    shape("xoxr-", 10, b"-"),
    shape("xoxs-", 10, b"-"),
    shape("xapp-", 10, b"-"),
    shape("AKIA", 16, b""),
    shape("ASIA", 16, b""),
    shape("AIza", 30, b"_-"),
    shape("ya29.", 20, b"_-"),
    shape("GOCSPX-", 20, b"_-"),
    shape("npm_", 30, b""),
    shape("pypi-", 40, b"_-"),
    shape("hf_", 20, b""),
    shape("dop_v1_", 32, b""),
    shape("doo_v1_", 32, b""),
    shape("dckr_pat_", 16, b"_-"),
    shape("shpat_", 20, b""),
    shape("shpss_", 20, b""),
    shape("SG.", 30, b"_-."),
    shape("hvs.", 20, b"_-"),
    shape("hvb.", 20, b"_-"),
    shape("dp.pt.", 20, b""),
    shape("lin_api_", 20, b""),
    shape("ntn_", 30, b""),
    shape("secret_", 40, b""),
    shape("figd_", 20, b"_-"),
    shape("PMAK-", 20, b"-"),
    shape("sntrys_", 20, b"_+/="),
    shape("glsa_", 20, b"_"),
    shape("tskey-", 16, b"-"),
    shape("crates.io_", 20, b""),
    shape("cio", 32, b""),
    shape("AGE-SECRET-KEY-1", 40, b""),
    shape("EAACEdEose0cBA", 10, b""),
    shape("r8_", 30, b""),
    shape("gsk_", 30, b""),
    shape("xai-", 40, b""),
    shape("pplx-", 30, b""),
    shape("nvapi-", 30, b"_-"),
];

/// The maximum number of bytes that are read to recognise a token; otherwise a text with many prefixes would take
/// quadratic time.
const FAR: usize = 2048;

/// Finds tokens, JSON web tokens, private keys, webhooks and credentials in URLs.
pub(super) fn find(secrets: &mut Secrets<'_>) {
    let text = secrets.text;
    let bytes = text.as_bytes();
    let mut inside = false;
    let mut skip_to = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let begins = !inside && byte.is_ascii_alphanumeric();
        inside = byte.is_ascii_alphanumeric() || byte == b'_';
        if !begins || at < skip_to {
            continue;
        }
        if let Some(end) = token(bytes, at).or_else(|| web_token(bytes, at)).or_else(|| bot_token(bytes, at)) {
            secrets.hide(at..end);
            skip_to = end;
        }
    }
    random(secrets);
    private_keys(secrets);
    urls(secrets);
    statements(secrets);
}

/// Finds words that are too mixed to be names, whatever surrounds them, as a last resort. Data that is decoded in the
/// same text is not a secret, and digests are recognised by their prefixes.
fn random(secrets: &mut Secrets<'_>) {
    const DIGESTS: [&str; 5] = ["sha1-", "sha256-", "sha384-", "sha512-", "h1:"];
    let text = secrets.text;
    if secret_arguments().decoders.iter().any(|word| text.contains(word.as_str())) {
        return;
    }
    let bytes = text.as_bytes();
    let class = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
    let mut at = 0;
    while at < bytes.len() {
        let start = at + run(bytes.get(at..).unwrap_or_default(), |byte| !class(byte));
        let length = run(bytes.get(start..).unwrap_or_default(), class);
        at = start + length.max(1);
        let word = text.get(start..start + length).unwrap_or_default();
        let before = text.get(..start).unwrap_or_default();
        let digest = DIGESTS.iter().any(|digest| word.starts_with(digest) || before.ends_with(digest));
        if !digest && is_mixed(word) {
            secrets.hide(start..start + length);
        }
    }
}

/// Reports whether uppercase letters, lowercase letters and digits alternate irregularly.
fn is_mixed(word: &str) -> bool {
    /// The characters of 15 bytes in base64.
    const LEAST: usize = 20;
    const MOST: usize = 512;
    let kind = |byte: u8| match byte {
        b'A'..=b'Z' => 0,
        b'a'..=b'z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let count = |wanted: i32| word.bytes().filter(|byte| kind(*byte) == wanted).count();
    let changes = word.as_bytes().windows(2).filter(|pair| matches!(pair, [a, b] if kind(*a) != kind(*b))).count();
    (LEAST..=MOST).contains(&word.len())
        && count(0) >= 3
        && count(1) >= 3
        && count(2) >= 2
        && count(3) * 8 <= word.len()
        && changes * 2 >= word.len()
}

/// Finds passwords in SQL: `IDENTIFIED BY '…'`, and `PASSWORD '…'` of a user or role.
fn statements(secrets: &mut Secrets<'_>) {
    let text = secrets.text;
    if !text.contains(['\'', '"']) {
        return;
    }
    let small = text.to_ascii_lowercase();
    for (words, wanted) in [("identified by ", None), ("password ", Some(["user ", "role "]))] {
        let mut at = 0;
        while let Some(found) = small.get(at..).and_then(|rest| rest.find(words)) {
            let begin = at + found;
            at = begin + words.len();
            let before = small.get(..begin).unwrap_or_default();
            let from = before.len().saturating_sub(NEAR);
            let near = (from..from + 4).find_map(|from| before.get(from..)).unwrap_or_default();
            if wanted.is_some_and(|wanted| !wanted.iter().any(|word| near.contains(word))) {
                continue;
            }
            // Only a quoted literal is a password; `GRANT … IDENTIFIED BY PASSWORD` and prose contain none.
            let quote = text.get(at..).unwrap_or_default().trim_start_matches('\\');
            let start = text.len() - quote.len() + 1;
            let Some(mark) = quote.chars().next().filter(|mark| matches!(mark, '\'' | '"')) else { continue };
            let Some(end) = text.get(start..).and_then(|rest| rest.find(mark)) else { continue };
            let inside = text.get(start..start + end).unwrap_or_default();
            secrets.hide(start..start + inside.trim_end_matches('\\').len());
            at = start + end;
        }
    }
}

/// The maximum number of bytes before a password in which the user is searched.
const NEAR: usize = 256;

/// Returns the end of the token that begins at this position.
fn token(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    for shape in SHAPES {
        if let Some(body) = rest.strip_prefix(shape.prefix.as_bytes()) {
            let class = |byte: u8| byte.is_ascii_alphanumeric() || shape.extra.contains(&byte);
            let near = body.get(..FAR).unwrap_or(body);
            let near = near.get(..run(near, class)).unwrap_or_default();
            // Texts without a digit or uppercase letter are names: `sk-learn-something-long`, `npm_config_…`.
            let mixed = near.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
            if near.len() >= shape.least && mixed {
                return Some(at + shape.prefix.len() + run(body, class));
            }
        }
    }
    None
}

/// Returns the end of the JSON web token that begins at this position: base64 parts, the first of which is an object.
fn web_token(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    if !rest.starts_with(b"eyJ") {
        return None;
    }
    let class = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.=".contains(&byte);
    let near = rest.get(..FAR).unwrap_or(rest);
    let near = near.get(..run(near, class))?;
    (near.len() >= 30 && near.contains(&b'.')).then(|| at + run(rest, class))
}

/// Returns the end of the chat bot's token that begins at this position: a number, a colon and about 35 characters.
fn bot_token(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let rest = rest.strip_prefix(b"bot").unwrap_or(rest);
    let number = run(rest, |byte| byte.is_ascii_digit());
    if !(8..=11).contains(&number) || rest.get(number) != Some(&b':') {
        return None;
    }
    let long = run(rest.get(number + 1..)?, |byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (long >= 33).then(|| bytes.len() - rest.len() + number + 1 + long)
}

fn run(bytes: &[u8], class: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| class(byte)).count()
}

/// Finds the bodies of private keys in PEM, up to their end or the end of the text.
fn private_keys(secrets: &mut Secrets<'_>) {
    let text = secrets.text;
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("-----BEGIN ")) {
        let begin = at + found;
        let label = begin + "-----BEGIN ".len();
        let Some(close) = text.get(label..).and_then(|rest| rest.find("-----")) else { return };
        let body = label + close + "-----".len();
        at = body;
        if text.get(label..label + close).is_some_and(|label| label.len() < 64 && label.ends_with("PRIVATE KEY")) {
            let end = text.get(body..).and_then(|rest| rest.find("-----END ")).map_or(text.len(), |end| body + end);
            secrets.hide(body..end);
            at = end;
        }
    }
}

/// Finds passwords in URLs, and paths that are secrets (webhooks).
fn urls(secrets: &mut Secrets<'_>) {
    const WEBHOOKS: &[&str] =
        &["hooks.slack.com/services/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"];
    let text = secrets.text;
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"'\"`<>|;()".contains(&byte);
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("://")) {
        let start = at + found + 3;
        let end = start + run(text.as_bytes().get(start..).unwrap_or_default(), |byte| !ends(byte));
        let url = text.get(start..end).unwrap_or_default();
        at = end.max(start);
        for webhook in WEBHOOKS {
            if let Some(rest) = url.strip_prefix(webhook) {
                secrets.hide(end - rest.len()..end);
            }
        }
        if let Some(span) = credential(url) {
            secrets.hide(start + span.start..start + span.end);
        }
    }
}

/// Returns the span of the password in a URL without its scheme, or that of a user name if it looks random.
fn credential(url: &str) -> Option<std::ops::Range<usize>> {
    let authority = url.find(['/', '?', '#']).unwrap_or(url.len());
    let at = match url.get(..authority)?.rfind('@') {
        Some(at) => at,
        None if url.starts_with('[') => return None,
        None => {
            // A password that contains a slash ends the authority early; if it were a port, it would be a number.
            let colon = url.get(..authority)?.rfind(':')?;
            let port = url.get(colon + 1..authority)?;
            if port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            url.rfind('@')?
        }
    };
    let user = url.get(..at)?;
    match user.find(':') {
        Some(colon) if super::is_expansion(user.get(colon + 1..)?) => None,
        Some(colon) => Some(colon + 1..at),
        None => super::is_random(user).then_some(0..at),
    }
}
