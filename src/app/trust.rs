//! `guard trust`: directories where tier 2 and below counts for less, kept in the account's own configuration.
//!
//! What may not enter: what trust means for a command, which is the judge's.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use toml::de::{DeTable, DeValue};

use super::approvals::Approvals;
use super::engine::Engine;
use super::exit;
use super::failure::Failure;
use super::install::file;
use super::log::named;
use crate::config::Layer;
use crate::judge::document::quoted;
use crate::judge::risk::CircumstanceFact;
use crate::prompt::confirm::confirm;
use crate::ui::visible;

/// The arguments of `guard trust`.
#[derive(Debug, Args)]
pub struct TrustArgs {
    /// The directory, including everything below it (default: the current directory)
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Stop trusting it
    #[arg(long)]
    remove: bool,
    /// List the trusted directories
    #[arg(long, conflicts_with = "remove")]
    list: bool,
}

const KEY: &str = "trusted_folders";

/// Trusts a directory, or lists those that are trusted, and returns the exit code: 126 when it is refused.
///
/// # Errors
/// The configuration cannot be read or written, or there is no terminal.
pub fn run(args: &TrustArgs) -> Result<u8, Failure> {
    if args.list {
        let engine = Engine::open()?;
        let directories = &engine.policy().trusted_folders;
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
        Err(why) => refuse(&why),
    }
}

/// The option of this verb that the directory's name is, where there is no such directory.
fn option_without_dashes(args: &TrustArgs) -> Option<&str> {
    let name = args.directory.to_str().filter(|_| !args.directory.exists())?;
    let verb = TrustArgs::augment_args(clap::Command::new("trust"));
    verb.get_arguments().any(|known| known.get_long() == Some(name)).then_some(name)
}

fn refuse(why: &str) -> Result<u8, Failure> {
    writeln!(io::stderr(), "guard: refused: {}", visible::text(why))?;
    Ok(exit::REFUSED)
}

/// Changes the file, once a person has read what it means. `None`: they said no.
fn change(engine: &Engine, args: &TrustArgs) -> Result<Option<String>, String> {
    let directory = named(&engine.caller.cwd.join(&args.directory));
    if !args.remove {
        bounded(engine, &directory)?;
    }
    let place = engine
        .config()
        .places
        .iter()
        .rfind(|place| place.layer == Layer::User)
        .ok_or("you have no configuration file")?;
    let path = place.file.clone();
    let said = |why: &dyn Display| format!("{}: {why}", path.display());
    let old = file::read(&path).map_err(|why| said(&why))?;
    let text = old.clone().unwrap_or_default();
    let mut directories = listed(&text).map_err(|why| said(&why))?;
    if directories.contains(&directory) != args.remove {
        let state = if args.remove { "is not among the directories of" } else { "is already trusted by" };
        return Err(format!("{directory} {state} {}", path.display()));
    }
    if args.remove {
        directories.retain(|known| *known != directory);
    } else {
        let weight =
            engine.policy().weights.get(&CircumstanceFact::TrustedFolder).map_or(0.0, |weight| weight.as_f64());
        let shown = format!(
            "In {} and below, commands of tier 2 and below would score {:.1} lower for every requester, and many \
             would run without asking.\nGuard still asks about tier 3 and 4.\n",
            visible::text(&directory),
            -weight
        );
        if !confirm(&shown, "Trust this directory?").map_err(|error| error.to_string())? {
            return Ok(None);
        }
        directories.push(directory.clone());
    }
    let new = with(&text, &directories).map_err(|why| said(&why))?;
    file::make_directories(&path).map_err(|why| said(&why))?;
    file::replace(&path, old.as_deref(), &new, false).map_err(|why| said(&why))?;
    // What another layer forbids, and what this file could not say, is told, and taken back.
    let again = Engine::open().map_err(|error| error.to_string())?;
    if !args.remove && !again.policy().trusted_folders.contains(&directory) {
        let why = again
            .config()
            .problems
            .first()
            .map_or_else(|| "another layer of the configuration prevents it".to_owned(), ToString::to_string);
        file::replace(&path, Some(&new), &text, false).map_err(|why| said(&why))?;
        return Err(why);
    }
    Ok(Some(if args.remove {
        format!("{directory} is no longer trusted.")
    } else {
        format!("{directory} is now trusted. To undo this: guard trust --remove {directory}")
    }))
}

/// A directory that may be trusted: it is one, and neither everything nor all of a home.
fn bounded(engine: &Engine, directory: &str) -> Result<(), String> {
    let path = Path::new(directory);
    if !path.is_dir() {
        return Err(format!("{directory} is not a directory"));
    }
    let real = path.canonicalize().map_err(|error| format!("{directory}: {error}"))?;
    let home = engine.caller.account.home.as_deref().and_then(|home| home.canonicalize().ok());
    let named = engine.caller.env.get("HOME").and_then(|home| Path::new(home).canonicalize().ok());
    if real.parent().is_none() || [home, named].iter().flatten().any(|home| home.starts_with(&real)) {
        return Err(format!("{directory} contains a whole home directory; trust a project's directory instead"));
    }
    if directory.contains(['*', '?', '[', ']', '{', '}', '!', '\\']) {
        return Err(format!("{directory} contains glob characters; add it to the configuration by hand"));
    }
    Ok(())
}

/// The directories that a configuration names.
fn listed(text: &str) -> Result<Vec<String>, String> {
    let table = DeTable::parse(text).map_err(|error| format!("not valid TOML: {}", error.message()))?;
    match table.get_ref().get(KEY).map(|value| value.get_ref()) {
        None => Ok(Vec::new()),
        Some(DeValue::Array(items)) => items
            .iter()
            .map(|item| match item.get_ref() {
                DeValue::String(directory) => Ok(directory.to_string()),
                _ => Err(format!("{KEY} is not a list of directories")),
            })
            .collect(),
        Some(_) => Err(format!("{KEY} is not a list of directories")),
    }
}

/// The configuration with these directories, and every other byte as it was.
fn with(text: &str, directories: &[String]) -> Result<String, String> {
    let list = directories.iter().map(|directory| quoted(directory)).collect::<Vec<_>>().join(", ");
    let table = DeTable::parse(text).map_err(|error| format!("not valid TOML: {}", error.message()))?;
    let new = match table.get_ref().get(KEY).map(toml::Spanned::span) {
        Some(span) => {
            let (before, after) = (text.get(..span.start), text.get(span.end..));
            format!("{}[{list}]{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
        // In front of everything, because behind a table's head it would be that table's.
        None => format!("{KEY} = [{list}]\n{text}"),
    };
    if listed(&new)? == directories { Ok(new) } else { Err(format!("cannot change {KEY}; edit the file by hand")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_added_and_all_else_stays_as_it_was() {
        let directories = |all: &[&str]| all.iter().map(|directory| (*directory).to_owned()).collect::<Vec<_>>();
        let text =
            "# mine\nmode = \"manual\"\ntrusted_folders = [ \"/a\", # why\n  \"/b\" ]  # end\n\n[queue]\nwait = 5\n";
        let mut all = listed(text).unwrap();
        assert_eq!(all, directories(&["/a", "/b"]));
        all.push("/c d\"\\".to_owned());
        let new = with(text, &all).unwrap();
        let wanted = "# mine\nmode = \"manual\"\ntrusted_folders = [\"/a\", \"/b\", \"/c d\\\"\\\\\"]  # end\n\n[queue]\nwait = 5\n";
        assert_eq!(new, wanted);
        assert_eq!(
            with("[queue]\nwait = 5\n", &directories(&["/a"])).unwrap(),
            "trusted_folders = [\"/a\"]\n[queue]\nwait = 5\n"
        );
        assert_eq!(with("", &directories(&["/a"])).unwrap(), "trusted_folders = [\"/a\"]\n");
        assert!(with("trusted_folders = 3", &directories(&["/a"])).is_ok());
        assert!(listed("trusted_folders = 3").is_err() && listed("a = [").is_err());
    }
}
