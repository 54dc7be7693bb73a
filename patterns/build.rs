//! Reads the built-in pattern files, refuses to build on any fault in them, and packs them into what
//! `src/judge/rules/catalog.rs` includes: `patterns.bin`, and `examples.bin` which only `guard patterns`
//! reads.
//!
//! The files are read by the same code that reads a user's, so that there is one format.

#[path = "../src/judge"]
#[allow(dead_code, unused_imports, reason = "only reading and packing are of use here")]
mod judge {
    pub mod document;
    pub mod order;
    pub mod tier;
    pub mod facts {
        pub mod class;
        pub mod effect;
    }
    pub mod rules {
        pub mod blob;
        pub mod expression;
        pub mod glob;
        pub mod model;
        pub mod problem;
        pub mod source;
        pub mod subs;
    }
}

use std::borrow::Cow;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::rules::blob::{Blob, Contents, pack};
use judge::rules::source::{Nothing, read_all};

/// Where they are, from the package that includes them.
const FOLDER: &str = "../../patterns";

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    for room in [FOLDER, "document.rs", "document", "order.rs", "tier.rs", "facts/class.rs", "facts/effect.rs", "rules"]
    {
        println!("cargo::rerun-if-changed={room}");
    }
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(FOLDER)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let texts = files.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<(Cow<'_, str>, &String)> =
        files.iter().map(|file| file.strip_prefix("../..").unwrap_or(file).to_string_lossy()).zip(&texts).collect();
    let named: Vec<(&str, &str)> = named.iter().map(|(file, text)| (file.as_ref(), text.as_str())).collect();
    let contents = read_all(&named, &Nothing).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })?;
    let blob = pack(&contents)?;
    read_back(&blob, &contents)?;
    // Only `guard patterns` reads them, so that they may take a while to read and should take little room.
    let examples = miniz_oxide::deflate::compress_to_vec(&postcard::to_allocvec(&contents.examples)?, 9);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    std::fs::write(out.join("patterns.bin"), blob)?;
    std::fs::write(out.join("examples.bin"), examples)?;
    Ok(())
}

/// What was packed comes back as it was: reading it later cannot fail.
fn read_back(bytes: &[u8], contents: &Contents) -> Result<(), Box<dyn Error>> {
    let blob = Blob::new(Cow::Owned(bytes.to_vec()));
    for (number, program) in contents.programs.iter().enumerate() {
        if blob.program(number)? != *program {
            return Err(format!("{:?} does not come back from the store", program.names).into());
        }
    }
    for (number, rule) in contents.rules.iter().enumerate() {
        if blob.rule(number)? != *rule || blob.rule_named(&rule.id) != Some(number) {
            return Err(format!("{} does not come back from the store", rule.id).into());
        }
    }
    Ok(())
}
