//! Creates a commented pattern file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use super::{NewArgs, PatternsError, RuleOutput, Sources, exit};

/// The content of the file. `FAMILY` is replaced by the name of the family.
const TEMPLATE: &str = include_str!("template.toml");

pub fn run(args: &NewArgs, sources: &Sources<'_>, out: &mut RuleOutput<'_>) -> Result<u8, PatternsError> {
    let family = args.family.as_str();
    let plain = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if family.is_empty() || !family.bytes().all(plain) {
        return Err(PatternsError::Family(family.escape_debug().to_string()));
    }
    let text = TEMPLATE.replace("FAMILY", family);
    let path = match (&args.to, sources.own) {
        (Some(path), _) if path.as_os_str() == "-" => None,
        (Some(path), _) => Some(path.clone()),
        (None, Some(own)) => Some(own.join(format!("{family}.toml"))),
        (None, None) => Some(PathBuf::from(format!("{family}.toml"))),
    };
    let Some(path) = path else {
        out.to.write_all(text.as_bytes())?;
        return Ok(exit::ALLOW);
    };
    let name = path.display().to_string();
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => PatternsError::Exists(name.clone()),
        _ => PatternsError::File { path: name.clone(), error },
    };
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    writeln!(out.to, "{name}")?;
    Ok(exit::ALLOW)
}
