//! `guard trust`: manages the directories in which commands of tier 2 and below score lower, in the account's own
//! configuration.
//!
//! Out of scope: the effect of trust on a command, which the judge decides.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use toml::de::{DeTable, DeValue};

use super::approvals::Approvals;
use super::engine::{Engine, EngineError};
use super::exit;
use super::failure::Failure;
use super::install::file::{self, FileError};
use super::log::named;
use crate::config::{ConfigProblem, Layer};
use crate::judge::document::quoted;
use crate::judge::risk::CircumstanceFact;
use crate::prompt::confirm::confirm_prose;
use crate::ui::visible;

/// The arguments of `guard trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The directory, including everything below it (default: the current directory)
    #[arg(value_name = "DIR", default_value = ".", hide_default_value = true)]
    directory: PathBuf,
    /// Stop trusting it
    #[arg(long)]
    remove: bool,
    /// List the trusted directories
    #[arg(long, conflicts_with = "remove")]
    list: bool,
}

const KEY: &str = "trusted_directories";

/// Trusts a directory, or stops trusting it, or lists the trusted directories. The exit code is 126 if this is refused.
///
/// # Errors
/// The configuration cannot be read or written, or there is no terminal.
pub fn run(args: &TrustArgs) -> Result<u8, Failure> {
    if args.list {
        let engine = Engine::open()?;
        let directories = &engine.policy().trusted_directories;
        let mut out = io::stdout().lock();
        if directories.is_empty() {
            writeln!(out, "No trusted directories.")?;
        }
        for directory in directories {
            writeln!(out, "{}", visible::text(directory))?;
        }
        return Ok(exit::ALLOW);
    }
    if let Some(option) = option_without_dashes(args) {
        return refuse(&format!("no directory {}; did you mean guard trust --{option}?", args.directory.display()));
    }
    let words = vec![args.directory.to_string_lossy().into_owned()];
    let approvals = match Approvals::open("trust", &words)? {
        Ok(approvals) => approvals,
        Err(code) => return Ok(code),
    };
    match change(&approvals.engine, args) {
        Ok(Some(done)) => {
            writeln!(io::stdout(), "{}", visible::text(&done))?;
            Ok(exit::ALLOW)
        }
        Ok(None) => refuse("directory not trusted"),
        Err(error) => refuse(&error.to_string()),
    }
}

/// Returns the option of this verb with the name of the directory, if no such directory exists.
fn option_without_dashes(args: &TrustArgs) -> Option<&str> {
    let name = args.directory.to_str().filter(|_| !args.directory.exists())?;
    let verb = TrustArgs::augment_args(clap::Command::new("trust"));
    verb.get_arguments().any(|known| known.get_long() == Some(name)).then_some(name)
}

fn refuse(why: &str) -> Result<u8, Failure> {
    writeln!(io::stderr(), "guard: refused: {}", visible::text(why))?;
    Ok(exit::REFUSED)
}

/// The reason why a directory is not trusted, or its trust is not removed.
#[derive(Debug, thiserror::Error)]
enum TrustError {
    #[error("you have no configuration file")]
    NoFile,
    #[error("{}: {why}", path.display())]
    File { path: PathBuf, why: FileError },
    #[error("{}: {why}", path.display())]
    List { path: PathBuf, why: ListError },
    #[error(
        "{directory} is {} trusted in {}",
        if *.removes { "not" } else { "already" },
        path.display()
    )]
    Already { directory: String, removes: bool, path: PathBuf },
    #[error("{0}")]
    Terminal(#[source] io::Error),
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A problem of the configuration.
    #[error("{0}")]
    Problem(ConfigProblem),
    #[error(
        "another layer of the configuration locks trusted_directories; guard config show trusted_directories names it"
    )]
    Prevented,
    #[error("{0} is not a directory")]
    NoDirectory(String),
    #[error("{directory}: {error}")]
    Directory { directory: String, error: io::Error },
    #[error("{0} contains a whole home directory; trust a project's directory instead")]
    HoldsHome(String),
    #[error("{0} contains glob characters; add it to the configuration by hand")]
    Glob(String),
}

/// The reason why the list of directories in a file is not read or changed.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error("not valid TOML: {0}")]
    NotToml(String),
    #[error("{KEY} is not a list of directories")]
    NoList,
    #[error("cannot change {KEY}; edit the file by hand")]
    Unchangeable,
}

/// Changes the file after a person has read the consequences. Returns `None` if they declined.
fn change(engine: &Engine, args: &TrustArgs) -> Result<Option<String>, TrustError> {
    let directory = named(&engine.caller.cwd.join(&args.directory));
    if !args.remove {
        bounded(engine, &directory)?;
    }
    let place = engine.config().places.iter().rfind(|place| place.layer == Layer::User).ok_or(TrustError::NoFile)?;
    let path = place.file.clone();
    let named = |why: FileError| TrustError::File { path: path.clone(), why };
    let of_list = |why: ListError| TrustError::List { path: path.clone(), why };
    let old = file::read(&path).map_err(named)?;
    let text = old.clone().unwrap_or_default();
    let mut directories = listed(&text).map_err(of_list)?;
    if directories.contains(&directory) != args.remove {
        return Err(TrustError::Already { directory, removes: args.remove, path });
    }
    if args.remove {
        directories.retain(|known| *known != directory);
    } else {
        let weight =
            engine.policy().weights.get(&CircumstanceFact::TrustedDirectory).map_or(0.0, |weight| weight.as_f64());
        let shown = format!(
            "In {} and below, commands of tier 2 and below would score {:.1} lower for every requester, and many \
             would run without asking.\nGuard still asks about tier 3 and 4.\n",
            visible::text(&directory),
            -weight
        );
        if !confirm_prose(&shown, "Trust this directory?").map_err(TrustError::Terminal)? {
            return Ok(None);
        }
        directories.push(directory.clone());
    }
    let new = with(&text, &directories).map_err(of_list)?;
    file::make_directories(&path).map_err(named)?;
    file::replace(&path, old.as_deref(), &new, false).map_err(named)?;
    // If another layer prevents the trust or the new file has a problem, restore the file and report the reason.
    let again = Engine::open()?;
    if !args.remove && !again.policy().trusted_directories.contains(&directory) {
        let problem = again.config().problems.first().cloned();
        file::replace(&path, Some(&new), &text, false).map_err(named)?;
        return Err(problem.map_or(TrustError::Prevented, TrustError::Problem));
    }
    Ok(Some(if args.remove {
        format!("{directory} is no longer trusted.")
    } else {
        format!("{directory} is now trusted. To undo this: guard trust --remove {directory}")
    }))
}

/// Checks that a directory exists, does not contain a home directory, and can be written as a pattern.
fn bounded(engine: &Engine, directory: &str) -> Result<(), TrustError> {
    let path = Path::new(directory);
    if !path.is_dir() {
        return Err(TrustError::NoDirectory(directory.to_owned()));
    }
    let real = path.canonicalize().map_err(|error| TrustError::Directory { directory: directory.to_owned(), error })?;
    let home = engine.caller.account.home.as_deref().and_then(|home| home.canonicalize().ok());
    let named = engine.caller.env.get("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    if real.parent().is_none() || [home, named].iter().flatten().any(|home| home.starts_with(&real)) {
        return Err(TrustError::HoldsHome(directory.to_owned()));
    }
    if directory.contains(['*', '?', '[', ']', '{', '}', '!', '\\']) {
        return Err(TrustError::Glob(directory.to_owned()));
    }
    Ok(())
}

/// Returns the directories that a configuration names.
fn listed(text: &str) -> Result<Vec<String>, ListError> {
    let table = DeTable::parse(text).map_err(|error| ListError::NotToml(error.message().to_owned()))?;
    match table.get_ref().get(KEY).map(|value| value.get_ref()) {
        None => Ok(Vec::new()),
        Some(DeValue::Array(items)) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(directory) => Ok(directory.to_string()),
                _ => Err(ListError::NoList),
            })
            .collect(),
        Some(_) => Err(ListError::NoList),
    }
}

/// Returns the configuration with these directories. All other bytes are preserved.
fn with(text: &str, directories: &[String]) -> Result<String, ListError> {
    let list = directories.iter().map(|directory| quoted(directory)).collect::<Vec<_>>().join(", ");
    let table = DeTable::parse(text).map_err(|error| ListError::NotToml(error.message().to_owned()))?;
    let new = match table.get_ref().get(KEY).map(toml::Spanned::span) {
        Some(span) => {
            let (before, after) = (text.get(..span.start), text.get(span.end..));
            format!("{}[{list}]{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        // Insert the key at the beginning, because after a table header it would belong to that table.
        None => format!("{KEY} = [{list}]\n{text}"),
    };
    if listed(&new)? == directories { Ok(new) } else { Err(ListError::Unchangeable) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_added_and_all_else_stays_as_it_was() {
        let directories = |all: &[&str]| all.iter().map(|directory| (*directory).to_owned()).collect::<Vec<_>>();
        let text = "# mine\nmode = \"manual\"\ntrusted_directories = [ \"/a\", # why\n  \"/b\" ]  # end\n\n[queue]\nwait = 5\n";
        let mut all = listed(text).unwrap();
        assert_eq!(all, directories(&["/a", "/b"]));
        all.push("/c d\"\\".to_owned());
        let new = with(text, &all).unwrap();
        let wanted = "# mine\nmode = \"manual\"\ntrusted_directories = [\"/a\", \"/b\", \"/c d\\\"\\\\\"]  # end\n\n[queue]\nwait = 5\n";
        assert_eq!(new, wanted);
        assert_eq!(
            with("[queue]\nwait = 5\n", &directories(&["/a"])).unwrap(),
            "trusted_directories = [\"/a\"]\n[queue]\nwait = 5\n"
        );
        assert_eq!(with("", &directories(&["/a"])).unwrap(), "trusted_directories = [\"/a\"]\n");
        assert!(with("trusted_directories = 3", &directories(&["/a"])).is_ok());
        assert!(listed("trusted_directories = 3").is_err() && listed("a = [").is_err());
    }
}
