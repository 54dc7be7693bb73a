//! Reads the built-in pattern files, fails the build on any error in them, and packs them into the files that
//! `src/judge/rules/catalog.rs` includes: `patterns.bin`, `explanations.bin`, which only a finding reads, and
//! `examples.bin`, which only `guard patterns` reads.
//!
//! The same code reads the pattern files of users, so there is only one format.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "these lints are the judge's; a build script reads files"
)]

#[path = "."]
#[allow(dead_code, unused_imports, reason = "only reading and packing are of use here")]
mod judge {
    pub mod agents {
        pub mod model;
    }
    pub mod document;
    pub mod effect;
    pub mod lexicon;
    pub mod name_words;
    pub mod nearest;
    pub mod path_class;
    pub mod sort;
    pub mod tier;
    pub mod rules {
        pub mod blob;
        pub mod explanations;
        pub mod expression;
        pub mod glob;
        pub mod languages;
        pub mod line_commands;
        pub mod model;
        pub mod packages;
        pub mod problem;
        pub mod secrets;
        pub mod shell_languages;
        pub mod source;
        pub mod source_files;
        pub mod subs;
        pub mod word_list_source;
    }
}

use std::borrow::Cow;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use judge::agents::model::{Agent, Form, Template};
use judge::lexicon::Lexicon;
use judge::rules::blob::{Blob, Contents, compress, pack};
use judge::rules::explanations;
use judge::rules::languages::Languages;
use judge::rules::line_commands::LineLanguages;
use judge::rules::model::PackageList;
use judge::rules::problem::TableError;
use judge::rules::secrets::SecretArguments;
use judge::rules::shell_languages::ShellLanguages;
use judge::rules::source::{NoLayers, read_all};
use judge::rules::source_files::SourceFiles;
use judge::rules::word_list_source::WordLists;
use serde::{Serialize, de::DeserializeOwned};

/// The directory of the pattern files. In the repository it is a link; in a published package it contains the files.
const DIRECTORY: &str = "patterns";

/// The words by which the kind of a tool is guessed.
const LEXICON: &str = "guess/tools.toml";

/// The meaning of names in programming languages.
const LANGUAGES: &str = "languages/names.toml";

/// The commands of languages with one command per line.
const LINE_COMMANDS: &str = "languages/commands.toml";

/// The shells whose code is translated.
const SHELLS: &str = "languages/shells.toml";

/// The names of files that contain code.
const SOURCE_FILES: &str = "languages/files.toml";

/// The lists of words that do not belong to one program or rule.
const WORD_LISTS: [&str; 2] = ["words/shared.toml", "languages/words.toml"];

/// The arguments in which programs accept secrets.
const SECRETS: &str = "redaction/programs.toml";

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
    // The modules of the build script need no such line: Cargo runs a build script again after it was recompiled.
    println!("cargo::rerun-if-changed={DIRECTORY}");
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(DIRECTORY)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let texts = files.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<(Cow<'_, str>, &String)> = files.iter().map(|file| file.to_string_lossy()).zip(&texts).collect();
    let named: Vec<(&str, &str)> = named.iter().map(|(file, text)| (file.as_ref(), text.as_str())).collect();
    let mut contents = read_all(&named, &NoLayers).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    })?;
    contents.packages.extend(packages()?);
    let blob = compress(pack(&contents)?)?;
    let texts = explanations::pack(&contents.explanations)?;
    read_back(&blob, &texts, &contents)?;
    // Only `guard patterns` reads the examples, so their size matters more than the time to decode them.
    let examples = miniz_oxide::deflate::compress_to_vec(&postcard::to_allocvec(&contents.examples)?, 9);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    std::fs::write(out.join("patterns.bin"), blob)?;
    std::fs::write(out.join("explanations.bin"), texts)?;
    std::fs::write(out.join("examples.bin"), examples)?;
    std::fs::write(out.join("agents.rs"), agents(&out)?)?;
    std::fs::write(out.join("lexicon.bin"), packed::<Lexicon>(LEXICON, |_| Ok(()))?)?;
    std::fs::write(out.join("languages.bin"), packed(LANGUAGES, Languages::check)?)?;
    std::fs::write(out.join("line_commands.bin"), packed(LINE_COMMANDS, LineLanguages::check)?)?;
    std::fs::write(out.join("shells.bin"), packed(SHELLS, ShellLanguages::check)?)?;
    std::fs::write(out.join("secrets.bin"), packed::<SecretArguments>(SECRETS, |_| Ok(()))?)?;
    std::fs::write(out.join("sources.bin"), packed(SOURCE_FILES, SourceFiles::check)?)?;
    std::fs::write(out.join("word_lists.rs"), word_lists()?)?;
    Ok(())
}

/// Returns the tables of a file in the form in which the program stores them, after they were checked and decoded again.
fn packed<T>(file: &str, check: impl FnOnce(&T) -> Result<(), TableError>) -> Result<Vec<u8>, Box<dyn Error>>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let text = std::fs::read_to_string(PathBuf::from(DIRECTORY).join(file))?;
    let tables: T = toml::from_str(&text).map_err(|error| format!("patterns/{file}: {error}"))?;
    check(&tables).map_err(|error| format!("patterns/{file}: {error}"))?;
    let stored = postcard::to_allocvec(&tables)?;
    if postcard::from_bytes::<T>(&stored)? != tables {
        return Err(format!("patterns/{file} does not come back from the store").into());
    }
    Ok(stored)
}

/// Returns the word lists, as source code of constants.
fn word_lists() -> Result<String, Box<dyn Error>> {
    let mut constants = String::new();
    for file in WORD_LISTS {
        let text = std::fs::read_to_string(PathBuf::from(DIRECTORY).join(file))?;
        let lists: WordLists = toml::from_str(&text).map_err(|error| format!("patterns/{file}: {error}"))?;
        for (name, list) in lists {
            constants.push_str(&list.constant(&name).map_err(|error| format!("patterns/{file}: {error}"))?);
        }
    }
    Ok(constants)
}

/// Returns the descriptions of the agents, as source code: the data by which they are recognised as constants, so that
/// every start has them without decoding, and the rest of each packed in a file.
fn agents(out: &Path) -> Result<String, Box<dyn Error>> {
    let directory = Path::new(DIRECTORY).join("agents");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&directory)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut source = format!("static KNOWN: [RecognisedAgent; {}] = [\n", files.len());
    for file in &files {
        let wrong = |why: String| format!("{}: {why}", file.display());
        let mut agent: Agent =
            toml::from_str(&std::fs::read_to_string(file)?).map_err(|error| wrong(error.to_string()))?;
        if file.file_stem().and_then(|stem| stem.to_str()) != Some(agent.name.as_str()) {
            return Err(wrong(format!("the file of {} must bear its name", agent.name)).into());
        }
        let name = agent.name.clone();
        for wire in agent.config.iter_mut().flat_map(|config| &mut config.file) {
            if let Form::Plugin(plugins) = &mut wire.form {
                for plugin in plugins {
                    let text = std::fs::read_to_string(directory.join(&*plugin))?;
                    let ask = std::fs::read_to_string(directory.join("ask.js"))?.replace("@AGENT@", &name);
                    *plugin = text.replacen("// @ASK@\n", &ask, 1);
                }
            }
        }
        let mut templates = std::mem::take(&mut agent.template);
        for template in &mut templates {
            template.read().map_err(|why| wrong(format!("template: {why}")))?;
        }
        for transcript in &agent.transcript {
            transcript.check().map_err(|why| wrong(format!("transcript: {why}")))?;
        }
        let marks: Vec<&str> = templates.iter().map(|template| template.mark()).collect();
        let packed_templates = postcard::to_allocvec(&templates)?;
        if postcard::from_bytes::<Vec<Template>>(&packed_templates)? != templates {
            return Err(wrong("its templates do not come back from the store".to_owned()).into());
        }
        let templates_place = out.join(format!("templates-{name}.bin"));
        std::fs::write(&templates_place, &packed_templates)?;
        let packed = postcard::to_allocvec(&agent)?;
        if format!("{:?}", postcard::from_bytes::<Agent>(&packed)?) != format!("{agent:?}") {
            return Err(wrong("it does not come back from the store".to_owned()).into());
        }
        let place = out.join(format!("agent-{name}.bin"));
        std::fs::write(&place, packed)?;
        let process = &agent.process;
        source.push_str(&format!(
            "RecognisedAgent {{ name: {name:?}, processes: &{:?}, packages: &{:?}, markers: &{:?}, session: {:?}, \
             packed: include_bytes!({place:?}), read: OnceLock::new(), marks: &{marks:?}, \
             packed_templates: include_bytes!({templates_place:?}), read_templates: OnceLock::new() }},\n",
            process.names, process.paths, process.markers, process.session
        ));
    }
    source.push_str("];\n");
    Ok(source)
}

/// Returns the lists of well-known packages: one file for each index, with one name per line.
fn packages() -> Result<Vec<PackageList>, Box<dyn Error>> {
    let mut lists = Vec::new();
    for entry in std::fs::read_dir(format!("{DIRECTORY}/packages"))? {
        let path = entry?.path();
        let index = path.file_stem().and_then(|name| name.to_str()).ok_or("a list of packages without a name")?;
        let text = std::fs::read_to_string(&path)?;
        let names: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect();
        if names.is_empty() || names.iter().any(|name| name.is_empty() || name.contains(char::is_whitespace)) {
            return Err(format!("{}: a line that is no name", path.display()).into());
        }
        lists.push(PackageList { index: index.to_owned(), alike: String::new(), marks: Vec::new(), names });
    }
    Ok(lists)
}

/// Checks that the packed data decodes to the original, so that decoding it later cannot fail.
fn read_back(bytes: &[u8], texts: &[u8], contents: &Contents) -> Result<(), Box<dyn Error>> {
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
    for (number, explanation) in contents.explanations.iter().enumerate() {
        let (block, at) = explanations::place(number);
        if explanations::unpack(texts, block)?.get(at) != Some(explanation) {
            return Err(format!("{:?} does not come back from the store", explanation.reason).into());
        }
    }
    if blob.support()? != contents.support {
        return Err("the support commands do not come back from the store".into());
    }
    let tools: Result<Vec<_>, _> = (0..blob.tool_count()).map(|tool| blob.tool(tool)).collect();
    if tools? != contents.tools {
        return Err("the tools do not come back from the store".into());
    }
    Ok(())
}
