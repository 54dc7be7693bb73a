//! The catalog: all programs, rules, path lists and host lists for the judge, by name.
//!
//! Creating one is cheap: the built-in files were read, checked and packed when guard was built, and are looked up in
//! place. A program or rule is decoded when its name is first looked up, and a regular expression is compiled on first
//! use; both are then cached. Lookups do not become slower with the size of the catalog.
//!
//! The files of the machine, the user and the project are passed as text. At first only their index is built: a file is
//! read completely when a name in it is first looked up, and every answer is the same as if it had been read
//! immediately. Errors in a file that was never needed are found only by [`Catalog::problems`].
//!
//! Out of scope: I/O.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

mod layer;
mod lists;

use self::layer::{Explanations, LayerFile, Packed, unexplained};
pub use self::layer::{Layer, PatternFile};
pub use self::lists::{Hosts, Packages, Paths, covers};
pub use super::blob::Features;
use super::blob::pack;
use super::index::Index;
use super::line_commands::LineLanguages;
use super::model::{Examples, Explanation, Program, Rule, Support, Tool};
use super::problem::Problem;
use super::secrets::SecretArguments;
use super::shell_languages::ShellLanguages;
use super::source;
use super::source_files::SourceFiles;
use crate::judge::lexicon::{Lexicon, LexiconIndex as Words};
use crate::judge::rules::languages;

static BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/patterns.bin"));
static EXPLANATIONS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/explanations.bin"));
static LEXICON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lexicon.bin"));

/// The meaning of names in programming languages.
static LANGUAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/languages.bin"));
/// The commands of languages with one command per line.
static LINE_COMMANDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/line_commands.bin"));
/// The shells whose code is translated.
static SHELLS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shells.bin"));
static SECRETS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/secrets.bin"));
/// The names of files that contain code.
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.bin"));
static EXAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/examples.bin"));

/// Returns the meaning of names in programming languages.
#[must_use]
pub fn languages() -> &'static languages::LanguageIndex {
    static READ: OnceLock<languages::LanguageIndex> = OnceLock::new();
    // The build script decodes everything that it packs. With the empty default, names would have no meaning.
    READ.get_or_init(|| languages::LanguageIndex::new(postcard::from_bytes(LANGUAGES).unwrap_or_default()))
}

/// Returns the commands of languages with one command per line.
#[must_use]
pub fn line_commands() -> &'static LineLanguages {
    static READ: OnceLock<LineLanguages> = OnceLock::new();
    // The build script decodes everything that it packs.
    READ.get_or_init(|| postcard::from_bytes(LINE_COMMANDS).unwrap_or_default())
}

/// Returns the shells whose code is translated to bash's grammar.
#[must_use]
pub fn shell_languages() -> &'static ShellLanguages {
    static READ: OnceLock<ShellLanguages> = OnceLock::new();
    // The build script decodes everything that it packs.
    READ.get_or_init(|| postcard::from_bytes(SHELLS).unwrap_or_default())
}

/// Returns the names of files that contain code.
#[must_use]
pub fn source_files() -> &'static SourceFiles {
    static READ: OnceLock<SourceFiles> = OnceLock::new();
    // The build script decodes everything that it packs.
    READ.get_or_init(|| postcard::from_bytes(SOURCES).unwrap_or_default())
}

/// Returns the built-in arguments in which programs accept secrets.
#[must_use]
pub fn secret_arguments() -> &'static SecretArguments {
    static READ: OnceLock<SecretArguments> = OnceLock::new();
    // The build script decodes everything that it packs.
    READ.get_or_init(|| postcard::from_bytes(SECRETS).unwrap_or_default())
}

/// A cache of earlier lookups by name.
type NameCache<T> = RefCell<HashMap<Box<str>, T>>;

/// The index of a layer file, and the number of a program or rule in it.
pub type EntryPosition = (usize, usize);

/// All layers combined. Later layers add to earlier ones.
#[derive(Debug)]
pub struct Catalog {
    layer_files: Vec<LayerFile>,
    /// The description that a name resolves to. Globs are matched once for each name.
    described: NameCache<Option<EntryPosition>>,
    /// The rules for a verb key.
    keyed: NameCache<Rc<[EntryPosition]>>,
    words: OnceCell<Words>,
}

impl Catalog {
    /// Creates a catalog of the built-in files only.
    #[must_use]
    pub fn builtin() -> Self {
        let packed = Packed::new(Cow::Borrowed(BUILTIN), Explanations::packed(EXPLANATIONS), Vec::new());
        let layer_file = LayerFile { layer: Layer::Builtin, file: None, index: None, read: OnceCell::from(Ok(packed)) };
        Self {
            layer_files: vec![layer_file],
            described: RefCell::default(),
            keyed: RefCell::default(),
            words: OnceCell::new(),
        }
    }

    /// Creates a catalog of the built-in files and these, in the order of their layers. A file with a problem is
    /// reported and left out completely; the others stay.
    #[must_use]
    pub fn with_files(files: impl IntoIterator<Item = PatternFile>) -> (Self, Vec<Problem>) {
        let mut catalog = Self::builtin();
        files.into_iter().for_each(|file| catalog.add(file));
        let problems = catalog.problems();
        (catalog, problems)
    }

    /// Adds a file of the layer of the last one, or of a later layer. It is read when a name that it may contain is
    /// looked up.
    pub fn add(&mut self, file: PatternFile) {
        let index = Index::of(&file.text);
        self.layer_files.push(LayerFile { layer: file.layer, index, file: Some(file), read: OnceCell::new() });
        self.described.borrow_mut().clear();
        self.keyed.borrow_mut().clear();
    }

    /// Returns all problems of all files, which reads all of them. A file with a problem is left out completely.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.all().for_each(drop);
        let broken = self.layer_files.iter().filter_map(|layer_file| layer_file.read.get()?.as_ref().err());
        broken.flatten().cloned().collect()
    }

    /// Returns a layer file, and reads it if necessary.
    fn read(&self, at: usize) -> Option<&Packed> {
        let layer_file = self.layer_files.get(at)?;
        let read = || {
            // Only the built-in files have no `file`, and they are already read.
            let file = layer_file.file.as_ref().ok_or_else(Vec::new)?;
            let beneath = LowerLayers { catalog: self, layer: layer_file.layer, below: at };
            let mut contents = source::read(&file.path, &file.text, &beneath)?;
            let explanations = Explanations::Read(std::mem::take(&mut contents.explanations));
            let examples = std::mem::take(&mut contents.examples);
            let bytes = pack(&contents).map_err(|error| vec![Problem::whole_file(&file.path, &error.to_string())])?;
            Ok(Packed::new(Cow::Owned(bytes), explanations, examples))
        };
        layer_file.read.get_or_init(read).as_ref().ok()
    }

    /// Reads all files and returns them with their indices in `layer_files`.
    fn all(&self) -> impl Iterator<Item = (usize, &Packed)> {
        (0..self.layer_files.len()).filter_map(|at| Some((at, self.read(at)?)))
    }

    /// Returns the files that may contain lists, globs and `*` rules, and reads them. A file that has an index contains
    /// none of these.
    fn open(&self) -> impl DoubleEndedIterator<Item = (usize, &Packed)> {
        self.open_below(self.layer_files.len())
    }

    fn open_below(&self, below: usize) -> impl DoubleEndedIterator<Item = (usize, &Packed)> {
        (0..below).filter_map(|at| match self.layer_files.get(at)?.index {
            Some(_) => Some((at, self.layer_files.get(at)?.packed()?)),
            None => Some((at, self.read(at)?)),
        })
    }

    /// Reads the files below this layer that contain `name` or one of its other spellings.
    fn bring(&self, name: &str, below: usize) {
        for at in 1..below {
            let Some(layer_file) = self.layer_files.get(at) else { continue };
            if layer_file.read.get().is_some() {
                continue;
            }
            let program = self.find_program(name, at).and_then(|place| self.at(place));
            let same = program.iter().flat_map(|(_, program)| program.spellings(name));
            if layer_file.may_speak_of(std::iter::once(name).chain(same)) {
                let _ = self.read(at);
            }
        }
    }

    /// Returns the description of the program with this name: by exact name, else by a name glob; that of the latest
    /// layer first.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.described(name).map(|(_, program)| program)
    }

    fn described(&self, name: &str) -> Option<(Layer, &Program)> {
        let known = self.described.borrow().get(name).copied();
        let place = known.unwrap_or_else(|| {
            self.bring(name, self.layer_files.len());
            let place = self.find_program(name, self.layer_files.len());
            keep(&self.described, name, place);
            place
        });
        self.at(place?)
    }

    fn at(&self, (at, number): EntryPosition) -> Option<(Layer, &Program)> {
        let layer_file = self.layer_files.get(at)?;
        Some((layer_file.layer, layer_file.packed()?.program(number)?))
    }

    /// Returns the position of the description of this program in the files below a layer that are already read.
    fn find_program(&self, name: &str, below: usize) -> Option<EntryPosition> {
        let newest = || self.open_below(below).rev();
        newest()
            .find_map(|(at, packed)| Some((at, packed.blob.program_named(name)?)))
            .or_else(|| newest().find_map(|(at, packed)| Some((at, packed.blob.program_globbed(name)?))))
    }

    /// Returns the rules of all layers for this verb key (the name of a program, `language:callee`, `:effect`), without
    /// the `*` rules.
    pub fn rules<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Rule> + 'a {
        self.decoded(self.places(key), |_| true)
    }

    fn decoded(
        &self,
        places: Rc<[EntryPosition]>,
        may: impl Fn(&EntryPosition) -> bool,
    ) -> impl Iterator<Item = &Rule> {
        (0..places.len()).filter_map(move |place| {
            let (at, number) = *places.get(place).filter(|place| may(place))?;
            self.layer_files.get(at)?.packed()?.rule(number)
        })
    }

    /// Returns the positions of the rules for a verb key.
    fn places<'a>(&'a self, key: &'a str) -> Rc<[EntryPosition]> {
        let known = self.keyed.borrow().get(key).cloned();
        known.unwrap_or_else(|| {
            self.bring(key, self.layer_files.len());
            let of = |(at, packed): (usize, &'a Packed)| packed.blob.rules_for(key).map(move |number| (at, number));
            let places: Rc<[_]> = self.open().flat_map(of).collect();
            keep(&self.keyed, key, places.clone());
            places
        })
    }

    /// Returns the rules of [`Self::rules`] that an act with these features and this first word of a subcommand could
    /// match. The others are not decoded.
    pub fn rules_for<'a>(
        &'a self,
        key: &'a str,
        have: Features,
        sub: Option<&'a str>,
    ) -> impl Iterator<Item = &'a Rule> + 'a {
        let may = move |(at, number): &EntryPosition| {
            let packed = self.layer_files.get(*at).and_then(LayerFile::packed);
            packed.is_none_or(|packed| packed.blob.may_match(*number, have, sub))
        };
        self.decoded(self.places(key), may)
    }

    /// Returns the `*` rules that an act with these features could match. Harmless commands have none, so none are
    /// decoded for them.
    pub fn any_rules(&self, have: Features, may: impl Fn(&Rule) -> bool) -> Rc<[EntryPosition]> {
        fn of((at, file): (usize, &Packed), have: Features) -> impl Iterator<Item = EntryPosition> + '_ {
            file.blob.any_rules(have).map(move |number| (at, number))
        }
        let may = |(at, number): &EntryPosition| {
            let packed = self.layer_files.get(*at).and_then(LayerFile::packed);
            packed.and_then(|packed| packed.rule(*number)).is_some_and(&may)
        };
        self.open().flat_map(|file| of(file, have)).filter(may).collect()
    }

    /// Returns the rules at these positions.
    pub fn rules_at(&self, places: Rc<[EntryPosition]>) -> impl Iterator<Item = &Rule> {
        self.decoded(places, |_| true)
    }

    /// Returns the last-resort `*` rules whose literal occurs in the original text.
    pub fn text_rules<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Rule> + 'a {
        self.open().flat_map(move |(_, file)| file.blob.text_rules(text).filter_map(|number| file.rule(number)))
    }

    /// Returns all entries for tools, layer by layer.
    pub fn tools(&self) -> impl Iterator<Item = (Layer, &Tool)> + '_ {
        self.all().flat_map(|(at, file)| {
            let layer = self.layer_files.get(at).map_or(Layer::Project, |layer_file| layer_file.layer);
            file.tools().map(move |tool| (layer, tool))
        })
    }

    /// Returns the entries for tools with one of these normalised names, layer by layer. The others are not decoded.
    pub fn tools_named<'a, 'n>(
        &'a self,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> impl Iterator<Item = (Layer, &'a Tool)> {
        self.all().flat_map(move |(at, file)| {
            let layer = self.layer_files.get(at).map_or(Layer::Project, |layer_file| layer_file.layer);
            let numbers = file.blob.tools_named(names.clone());
            numbers.into_iter().filter_map(move |number| Some((layer, file.tool(number)?)))
        })
    }

    /// Returns the built-in support commands.
    #[must_use]
    pub fn support(&self) -> Vec<Support> {
        // The build script decodes everything that it packs. If the bytes are damaged, guard asks about these commands
        // like any other.
        self.layer_files
            .first()
            .and_then(LayerFile::packed)
            .and_then(|file| file.blob.support().ok())
            .unwrap_or_default()
    }

    /// Returns the words by which the kind of a tool is guessed.
    #[must_use]
    pub fn lexicon(&self) -> &Words {
        // The build script decodes everything that it packs. Without words, no tool is treated as a read.
        self.words.get_or_init(|| Words::new(postcard::from_bytes::<Lexicon>(LEXICON).unwrap_or_default()))
    }

    /// Returns the rule with this ID.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.all().find_map(|(_, file)| file.rule(file.blob.rule_named(id)?))
    }

    /// Returns the text that explains the findings of a rule of this catalog.
    #[must_use]
    pub fn explanation(&self, rule: &Rule) -> Explanation {
        // A rule that was decoded is in a file that was read.
        let mut files = self.layer_files.iter().filter_map(LayerFile::packed);
        let found = files.find_map(|file| file.explanation(file.blob.rule_named(&rule.id)?));
        found.unwrap_or_else(unexplained)
    }

    /// Returns the origin of the rule with this ID: the layer, and the file if it is not built in.
    #[must_use]
    pub fn origin(&self, id: &str) -> Option<(Layer, Option<&str>)> {
        self.origin_below(id, self.layer_files.len())
    }

    fn origin_below(&self, id: &str, below: usize) -> Option<(Layer, Option<&str>)> {
        let has = |file: &Packed| file.blob.rule_named(id).is_some() || file.tools().any(|tool| tool.id == id);
        let at = (0..below).find(|at| self.read(*at).is_some_and(has))?;
        let layer_file = self.layer_files.get(at)?;
        Some((layer_file.layer, layer_file.file.as_ref().map(|file| file.path.as_str())))
    }

    /// Returns all rules, layer by layer.
    pub fn all_rules(&self) -> impl Iterator<Item = &Rule> + '_ {
        self.all().flat_map(|(_, file)| (0..file.blob.rule_count()).filter_map(|number| file.rule(number)))
    }

    /// Returns all program descriptions, layer by layer.
    pub fn all_programs(&self) -> impl Iterator<Item = &Program> + '_ {
        self.all().flat_map(|(_, file)| (0..file.blob.program_count()).filter_map(|number| file.program(number)))
    }

    /// Returns the examples of all rules. The built-in ones are decompressed on each call.
    #[must_use]
    pub fn examples(&self) -> Vec<Examples> {
        // The build script creates these bytes.
        let unpacked = miniz_oxide::inflate::decompress_to_vec(EXAMPLES).unwrap_or_default();
        let builtin: Vec<Examples> = postcard::from_bytes(&unpacked).unwrap_or_default();
        builtin.into_iter().chain(self.all().flat_map(|(_, file)| file.examples.iter().cloned())).collect()
    }

    /// Returns the path lists.
    #[must_use]
    pub const fn paths(&self) -> Paths<'_> {
        Paths { catalog: self }
    }

    /// Returns the host lists.
    #[must_use]
    pub const fn hosts(&self) -> Hosts<'_> {
        Hosts { catalog: self }
    }

    /// Returns the lists of well-known packages.
    #[must_use]
    pub const fn packages(&self) -> Packages<'_> {
        Packages { catalog: self }
    }
}

/// Caches the result of a name lookup. The cache is limited, so that many different names do not fill the memory.
fn keep<T>(known: &NameCache<T>, name: &str, value: T) {
    const MOST: usize = 4096;
    let mut known = known.borrow_mut();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(name.into(), value);
}

/// The files on which a file of one layer builds: those below it.
struct LowerLayers<'a> {
    catalog: &'a Catalog,
    layer: Layer,
    below: usize,
}

impl LowerLayers<'_> {
    fn described(&self, name: &str) -> Option<(Layer, &Program)> {
        self.catalog.bring(name, self.below);
        self.catalog.at(self.catalog.find_program(name, self.below)?)
    }
}

impl source::LayersBelow for LowerLayers<'_> {
    fn program(&self, name: &str) -> Option<Cow<'_, Program>> {
        self.described(name).map(|(_, program)| Cow::Borrowed(program))
    }

    fn has_rule(&self, id: &str) -> bool {
        self.catalog.origin_below(id, self.below).is_some()
    }

    fn closed(&self, name: &str) -> bool {
        self.layer > Layer::Machine && self.described(name).is_some_and(|(layer, _)| layer == Layer::Machine)
    }

    fn may_loosen(&self) -> bool {
        self.layer != Layer::Project
    }
}

#[cfg(test)]
mod tests;
