//! Parses the table `[reviewer]`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use crate::config::document::Document;
use crate::config::errors::ConfigProblem;
use crate::config::keys::Key;
use crate::config::layer::Layer;
use crate::config::reviewer::{KeySource, Provider, Reviewer, ReviewerModel};

/// The table in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    provider: Spanned<Provider>,
    model: Option<String>,
    url: Option<String>,
    key: Option<KeySource>,
    #[serde(default)]
    program: Vec<String>,
    #[serde(default = "ten")]
    timeout: u32,
    #[serde(default = "one")]
    retries: u32,
    #[serde(default = "calls")]
    calls_per_day: u64,
    #[serde(default = "tokens")]
    tokens_per_day: u64,
    money_per_day: Option<f64>,
    #[serde(default)]
    price_in: f64,
    #[serde(default)]
    price_out: f64,
    #[serde(default = "hour")]
    cache: u32,
    #[serde(default = "answer")]
    max_tokens: u32,
    max_tokens_field: Option<String>,
    temperature: Option<f64>,
    policy: Option<PathBuf>,
    #[serde(default)]
    contents: Vec<String>,
    #[serde(default = "sixteen")]
    contents_kib: u32,
    #[serde(default)]
    review: Vec<String>,
    jury: Option<JuryMember>,
}

/// The second reviewer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JuryMember {
    provider: Provider,
    model: Option<String>,
    url: Option<String>,
    key: Option<KeySource>,
    #[serde(default)]
    program: Vec<String>,
    #[serde(default)]
    price_in: f64,
    #[serde(default)]
    price_out: f64,
    #[serde(default = "answer")]
    max_tokens: u32,
    max_tokens_field: Option<String>,
    temperature: Option<f64>,
}

const fn ten() -> u32 {
    10
}
const fn one() -> u32 {
    1
}
const fn calls() -> u64 {
    500
}
const fn tokens() -> u64 {
    1_000_000
}
const fn hour() -> u32 {
    3600
}
const fn sixteen() -> u32 {
    16
}
const fn answer() -> u32 {
    400
}

/// A whole file, of which only this table is used.
#[derive(Debug, Deserialize)]
struct File {
    reviewer: Spanned<Table>,
}

/// Parses the table of a valid TOML file.
pub(super) fn read(
    document: &mut Document,
    line: u32,
    text: &str,
    home: Option<&Path>,
    problems: &mut Vec<ConfigProblem>,
    warnings: &mut Vec<ConfigProblem>,
) {
    let name = Key::Reviewer.entry().name;
    match document.layer {
        Layer::Redirected => {
            let message = "ignored: HOME or XDG_CONFIG_HOME does not point to the account's own configuration";
            warnings.push(document.problem(line, name, message));
            return;
        }
        layer if !layer.may_loosen() => {
            let problem =
                document.problem(line, name, format!("a {} file cannot configure the reviewer", layer.name()));
            problems.push(problem.with_remedy("move it to the user's or the machine's file"));
            return;
        }
        _ => {}
    }
    let table = match toml::from_str::<File>(text) {
        Ok(file) => file.reviewer.into_inner(),
        Err(error) => {
            let line = error.span().map_or(line, |span| document.line(span.start));
            let message = error.message().trim().to_owned();
            problems.push(document.problem(line, name, message).with_remedy("see guard-reviewer(7)"));
            return;
        }
    };
    match checked(table, home) {
        Ok(reviewer) => document.reviewer = Some((reviewer, line)),
        Err((field, why)) => problems.push(document.problem(line, &format!("{name}.{field}"), why)),
    }
}

/// A field with its error.
type FieldProblem = (&'static str, String);

fn checked(table: Table, home: Option<&Path>) -> Result<Reviewer, FieldProblem> {
    let within = |field, value: u32, low: u32, high: u32| match (low..=high).contains(&value) {
        true => Ok(value),
        false => Err((field, format!("expected {low} to {high}, found {value}"))),
    };
    let at_home = |path: PathBuf| match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    };
    let first = voice(
        JuryMember {
            provider: table.provider.into_inner(),
            model: table.model,
            url: table.url,
            key: table.key,
            program: table.program,
            price_in: table.price_in,
            price_out: table.price_out,
            max_tokens: table.max_tokens,
            max_tokens_field: table.max_tokens_field,
            temperature: table.temperature,
        },
        home,
    )?;
    let mut voices = vec![first];
    if let Some(second) = table.jury {
        voices.push(voice(second, home)?);
    }
    let money = table.money_per_day;
    if money.is_some() && voices.iter().all(|voice| voice.prices == (0.0, 0.0)) {
        return Err(("money_per_day", "needs price_in and price_out".to_owned()));
    }
    if money.is_some_and(|money| !(0.0..=1e6).contains(&money)) {
        return Err(("money_per_day", "expected 0 to 1000000".to_owned()));
    }
    if let Some(wrong) = table.review.iter().find(|name| {
        let bare = name.strip_suffix('*').unwrap_or(name);
        name.is_empty() || !bare.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    }) {
        return Err(("review", format!("\"{wrong}\" is not the id of a rule; * is only allowed at the end")));
    }
    if let Some(wrong) = table.contents.iter().find(|glob| {
        let plain = |step: &str| !matches!(step, "" | "." | "..");
        glob.starts_with('~') || !glob.split('/').all(plain)
    }) {
        return Err(("contents", format!("\"{wrong}\" must be below the working directory, such as src/**/*.py")));
    }
    let policy = table.policy.map(at_home);
    if policy.as_ref().is_some_and(|path| !path.is_absolute()) {
        return Err(("policy", "the path must be absolute, or begin with ~/".to_owned()));
    }
    Ok(Reviewer {
        voices,
        timeout: within("timeout", table.timeout, 1, 60)?,
        retries: within("retries", table.retries, 0, 3)?,
        calls_per_day: table.calls_per_day,
        tokens_per_day: table.tokens_per_day,
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it lies within a checked range")]
        money_per_day: money.map(|money| (money * 1e6).round() as u64),
        cache: within("cache", table.cache, 0, 86_400)?,
        policy,
        contents: table.contents,
        contents_kib: within("contents_kib", table.contents_kib, 1, 64)?,
        review: table.review,
    })
}

fn voice(given: JuryMember, home: Option<&Path>) -> Result<ReviewerModel, FieldProblem> {
    let provider = given.provider;
    let is_program = provider == Provider::Program;
    let first = given.program.first().cloned().unwrap_or_default();
    let program = match (is_program, home) {
        (false, _) if !given.program.is_empty() => {
            return Err(("program", "is only valid with provider = \"program\"".to_owned()));
        }
        (true, _) if !first.starts_with('/') && !first.starts_with("~/") => {
            return Err(("program", "expected the absolute path of a program (or ~/…), and its arguments".to_owned()));
        }
        (true, Some(home)) if first.starts_with("~/") => {
            let whole = home.join(first.trim_start_matches("~/")).to_string_lossy().into_owned();
            [vec![whole], given.program.get(1..).unwrap_or_default().to_vec()].concat()
        }
        _ => given.program,
    };
    let model = match given.model.filter(|model| !model.trim().is_empty()) {
        Some(model) => model,
        None if is_program => first.rsplit('/').next().unwrap_or_default().to_owned(),
        None => return Err(("model", "is missing".to_owned())),
    };
    let url = given.url.unwrap_or_else(|| provider.url().to_owned()).trim_end_matches('/').to_owned();
    if !is_program {
        is_fit(&url).map_err(|why| ("url", why.to_string()))?;
    }
    if !(64..=8192).contains(&given.max_tokens) {
        return Err(("max_tokens", format!("expected 64 to 8192, found {}", given.max_tokens)));
    }
    let prices = (given.price_in, given.price_out);
    if ![prices.0, prices.1].iter().all(|price| (0.0..=1e5).contains(price)) {
        return Err(("price_in", "expected a price from 0 to 100000".to_owned()));
    }
    let usual = if provider == Provider::OpenaiResponses { "max_output_tokens" } else { "max_tokens" };
    let max_tokens_field = given.max_tokens_field.unwrap_or_else(|| usual.to_owned());
    let key = match given.key {
        Some(KeySource::File(path)) => {
            let path = match (path.strip_prefix("~"), home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => path,
            };
            if !path.is_absolute() {
                return Err(("key", "the path of its file must be absolute, or begin with ~/".to_owned()));
            }
            Some(KeySource::File(path))
        }
        Some(KeySource::Command(words))
            if !words.first().is_some_and(|word| word.starts_with('/') || !word.contains('/')) =>
        {
            return Err(("key", "expected a program, by its name or absolute path, and its arguments".to_owned()));
        }
        Some(KeySource::Env(name)) if name.is_empty() || name.contains(['=', '\0']) => {
            return Err(("key", "not a valid variable name".to_owned()));
        }
        Some(KeySource::Keyring(name)) if name.trim().is_empty() || name.starts_with('-') => {
            return Err(("key", "not a valid name of a secret in a keyring".to_owned()));
        }
        key => key,
    };
    let (max_tokens, temperature) = (given.max_tokens, given.temperature);
    Ok(ReviewerModel { provider, model, url, key, program, max_tokens, max_tokens_field, temperature, prices })
}

/// The reason why commands must not be sent to an address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum AddressError {
    #[error("expected an address that begins with https://, or http:// for this machine")]
    Scheme,
    #[error("{0} is another machine, and plain http is not encrypted; use https://")]
    Plain(String),
}

/// Checks whether commands may be sent to an address: with TLS, or to this machine.
fn is_fit(url: &str) -> Result<(), AddressError> {
    if url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.contains('@')) {
        return Ok(());
    }
    let Some(rest) = url.strip_prefix("http://") else {
        return Err(AddressError::Scheme);
    };
    let place = rest.split('/').next().unwrap_or_default();
    let host = match place.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    };
    let here = host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if here { Ok(()) } else { Err(AddressError::Plain(place.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_table(text: &str) -> Result<Reviewer, FieldProblem> {
        let file = toml::from_str::<File>(&format!("[reviewer]\n{text}")).map_err(|error| ("toml", error.to_string()));
        checked(file?.reviewer.into_inner(), Some(Path::new("/home/ada")))
    }

    #[test]
    fn a_table_says_who_reviews_and_the_rest_has_a_default() {
        let reviewer = read_table("provider = \"anthropic\"\nmodel = \"m\"\nkey = { env = \"K\" }\n").unwrap();
        assert_eq!((reviewer.timeout, reviewer.retries, reviewer.cache, reviewer.calls_per_day), (10, 1, 3600, 500));
        assert_eq!((reviewer.contents.as_slice(), reviewer.contents_kib), (&[][..], 16));
        assert!(!reviewer.lines().join("\n").contains("contents"));
        assert_eq!(reviewer.voices[0].url, "https://api.anthropic.com/v1");
        assert_eq!(reviewer.voices[0].key, Some(KeySource::Env("K".to_owned())));
        let both = read_table(
            "provider = \"ollama\"\nmodel = \"a\"\njury = { provider = \"program\", program = [\"~/r\", \"x\"] }",
        );
        let both = both.unwrap();
        assert_eq!((both.name().as_str(), both.voices[1].program[0].as_str()), ("a and r", "/home/ada/r"));
    }

    #[test]
    fn what_cannot_be_is_told_with_its_field() {
        for (text, field) in [
            ("provider = \"openai\"", "model"),
            ("provider = \"openai\"\nmodel = \" \"", "model"),
            ("provider = \"openai\"\nmodel = \"m\"\nurl = \"http://example.org/v1\"", "url"),
            ("provider = \"openai\"\nmodel = \"m\"\nurl = \"http://localhost.example.org\"", "url"),
            ("provider = \"openai\"\nmodel = \"m\"\nurl = \"https://user@\"", "url"),
            ("provider = \"openai\"\nmodel = \"m\"\nurl = \"ftp://x\"", "url"),
            ("provider = \"openai\"\nmodel = \"m\"\nprogram = [\"/x\"]", "program"),
            ("provider = \"program\"\nprogram = [\"x\"]", "program"),
            ("provider = \"program\"", "program"),
            ("provider = \"openai\"\nmodel = \"m\"\ntimeout = 0", "timeout"),
            ("provider = \"openai\"\nmodel = \"m\"\ntimeout = 61", "timeout"),
            ("provider = \"openai\"\nmodel = \"m\"\nretries = 4", "retries"),
            ("provider = \"openai\"\nmodel = \"m\"\nmoney_per_day = 1", "money_per_day"),
            ("provider = \"openai\"\nmodel = \"m\"\nmax_tokens = 10", "max_tokens"),
            ("provider = \"openai\"\nmodel = \"m\"\nprice_in = -1", "price_in"),
            ("provider = \"openai\"\nmodel = \"m\"\nreview = [\"*.x\"]", "review"),
            ("provider = \"openai\"\nmodel = \"m\"\npolicy = \"x\"", "policy"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents = [\"/etc/*\"]", "contents"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents = [\"src/../../x\"]", "contents"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents = [\"~/x\"]", "contents"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents = [\"\"]", "contents"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents_kib = 65", "contents_kib"),
            ("provider = \"openai\"\nmodel = \"m\"\ncontents_kib = 0", "contents_kib"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = { file = \"k\" }", "key"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = { command = [] }", "key"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = { env = \"\" }", "key"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = { keyring = \" \" }", "key"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = { keyring = \"-x\" }", "key"),
            ("provider = \"openia\"\nmodel = \"m\"", "toml"),
            ("provider = \"openai\"\nmodell = \"m\"", "toml"),
            ("provider = \"openai\"\nmodel = \"m\"\nkey = \"sk-1\"", "toml"),
        ] {
            assert_eq!(read_table(text).unwrap_err().0, field, "{text}");
        }
        for url in ["http://127.0.0.1:8080/v1", "http://[::1]:1", "http://localhost", "https://h/v1"] {
            assert!(read_table(&format!("provider = \"openai\"\nmodel = \"m\"\nurl = \"{url}\"")).is_ok(), "{url}");
        }
    }

    #[test]
    fn no_line_for_people_holds_a_key() {
        let text = "provider = \"gemini\"\nmodel = \"m\"\nkey = { command = [\"cat\", \"s3cret\"] }\nmoney_per_day = 1.5\nprice_in = 1";
        let lines = read_table(text).unwrap().lines().join("\n");
        assert!(lines.contains("key = what cat prints") && !lines.contains("s3cret"), "{lines}");
        assert!(lines.contains("money_per_day = 1.50") && lines.contains("provider = gemini"), "{lines}");
    }
}
