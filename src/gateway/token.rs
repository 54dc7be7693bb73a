//! `guard token`: tokens of the API, kept as hashes.
//!
//! Out of scope: HTTP.

use std::io;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;

use crate::account::{Account, AccountError};
use crate::backend::BackendError;
use crate::backend::memory::{self, Memory, Scope, Token};
use crate::judge::invocation::Origin;
use crate::person::{self, PersonError};
use crate::secrets::{NoRandomBytes, hash, secret};

/// The arguments of `guard token`.
#[derive(Debug, Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    verb: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token; it is shown once
    Add {
        /// The name of the token in the record: letters, digits, and the characters - _ .
        name: String,
        /// Its scopes, separated by commas: submit, read, decide
        #[arg(long, value_delimiter = ',', required = true, value_parser = scopes())]
        scope: Vec<Scope>,
        /// A directory in which, and below, commands may be submitted; can be repeated (default: every directory)
        #[arg(long, alias = "folder", value_name = "DIR")]
        directory: Vec<String>,
        /// The origin of its commands: api, or the messenger whose bot submits them
        #[arg(long, default_value = "api", value_parser = origins())]
        origin: Origin,
        /// The highest tier that it can approve
        #[arg(long, value_name = "TIER", default_value_t = 3, value_parser = clap::value_parser!(u8).range(0..=3))]
        max_tier: u8,
    },
    /// List the tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token immediately
    Remove { name: String },
}

/// The reason why a token was not created, listed or revoked.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Person(#[from] PersonError),
    #[error("invalid token name {0:?}: use at most 64 letters, digits, and the characters - _ .")]
    Name(String),
    #[error("the name {0} is reserved; choose another name")]
    Reserved(String),
    #[error("{0}: expected an absolute path")]
    Relative(String),
    #[error("the gateway of a machine does not accept commands; use --scope read,decide")]
    Submit,
    #[error(transparent)]
    Random(#[from] NoRandomBytes),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("no token {0}; see guard token list")]
    Unknown(String),
}

/// A word that is not a possible value of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is none of the possible values")]
struct WordError;

fn origins() -> impl TypedValueParser<Value = Origin> {
    let words = [Origin::Api, Origin::Discord, Origin::Telegram].map(Origin::name);
    PossibleValuesParser::new(words).try_map(|word| Origin::named(&word).ok_or(WordError))
}

fn scopes() -> impl TypedValueParser<Value = Scope> {
    let words = [Scope::Submit, Scope::Read, Scope::Decide].map(Scope::name);
    PossibleValuesParser::new(words).try_map(|word| Scope::named(&word).ok_or(WordError))
}

/// Opens the gateway's own database, for verbs that need nothing else.
///
/// # Errors
/// Returns an error if it cannot be opened.
pub fn memory() -> Result<Box<dyn Memory>, TokenError> {
    let directory = Account::of_this_process().directory()?;
    std::fs::create_dir_all(&directory).map_err(|error| TokenError::File { path: directory.clone(), error })?;
    Ok(memory::open(&directory)?)
}

/// Creates, lists or revokes tokens.
///
/// # Errors
/// Returns the reason why it failed.
pub fn run(args: &TokenArgs) -> Result<u8, TokenError> {
    if let TokenCommand::Add { .. } = args.verb
        && !person::is_here("guard token add")?
    {
        return Ok(person::REFUSED);
    }
    let memory = memory()?;
    match &args.verb {
        TokenCommand::Add { name, scope, directory, origin, max_tier } => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
                return Err(TokenError::Name(name.clone()));
            }
            if name.starts_with("uid-") || name == "page" {
                return Err(TokenError::Reserved(name.clone()));
            }
            if let Some(directory) = directory.iter().find(|directory| !directory.starts_with('/')) {
                return Err(TokenError::Relative(directory.clone()));
            }
            if scope.contains(&Scope::Submit) && Account::of_this_process().gateway().is_some() {
                return Err(TokenError::Submit);
            }
            let given = secret::<32>("gt_")?;
            memory.add_token(&Token {
                name: name.clone(),
                scopes: scope.clone(),
                directories: directory.clone(),
                max_tier: *max_tier,
                origin: *origin,
                created: Timestamp::now(),
                used: None,
                hash: hash(&given),
            })?;
            println!("{given}");
            eprintln!("guard: the token is shown only once; to revoke it: guard token remove {name}");
        }
        TokenCommand::List { json: true } => {
            println!("{}", serde_json::to_string(&memory.tokens()?)?);
        }
        TokenCommand::List { json: false } => {
            let tokens = memory.tokens()?;
            if tokens.is_empty() {
                println!("No tokens. To create one: guard token add NAME --scope submit");
            }
            for token in tokens {
                let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.name()).collect();
                let used = token.used.map_or("never used".to_owned(), |at| format!("used {}", at.strftime("%F %R")));
                let directories = if token.directories.is_empty() {
                    String::new()
                } else {
                    format!("  {}", token.directories.join(" "))
                };
                println!("{:<16} {:<20} {used}{directories}", token.name, scopes.join(","));
            }
        }
        TokenCommand::Remove { name } => {
            if !memory.remove_token(name)? {
                return Err(TokenError::Unknown(name.clone()));
            }
            println!("Revoked token {name}.");
        }
    }
    Ok(0)
}
