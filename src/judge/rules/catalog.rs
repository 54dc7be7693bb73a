//! The catalog: every program, rule, path list and host list that judging knows, by name.
//!
//! Making one costs next to nothing: the built-in files were read, checked and packed when guard was built, and
//! are looked up where they lie. A program or a rule is decoded when its name first comes up, a regular
//! expression is compiled when it is first needed, and both are then kept. A catalog of ten times the
//! size answers as fast.
//!
//! The files of machine, user and project come in as text. Of those only the index is taken at first: a file is
//! read, whole, as soon as a name comes up that it speaks of, and every answer is then the same as if it had been read
//! at once. Whether a file is right that never came up is not known until [`Catalog::problems`] is asked.
//!
//! Out of scope: I/O.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::OnceLock;

mod layer;
mod lists;

pub use self::layer::{Layer, PatternFile};
use self::layer::{LayerFile, Packed};
pub use self::lists::{Hosts, Packages, Paths, covers};
pub use super::blob::Features;
use super::blob::pack;
use super::index::Index;
use super::model::{Examples, Program, Rule, Support, Tool};
use super::problem::Problem;
use super::secrets::SecretArguments;
use super::source;
use super::source_files::SourceFiles;
use crate::judge::lexicon::{Lexicon, LexiconIndex as Words};
use crate::judge::rules::languages;

static BUILTIN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/patterns.bin"));
static LEXICON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lexicon.bin"));

/// What names mean in languages.
static LANGUAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/languages.bin"));
static SECRETS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/secrets.bin"));
/// Which files hold code.
static SOURCES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.bin"));
static EXAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/examples.bin"));

/// What names mean in languages.
#[must_use]
pub fn languages() -> &'static languages::LanguageIndex {
    static READ: OnceLock<languages::LanguageIndex> = OnceLock::new();
    // The build script reads back what it packs. Without it nothing is told of what names mean.
    READ.get_or_init(|| languages::LanguageIndex::new(postcard::from_bytes(LANGUAGES).unwrap_or_default()))
}

/// Which files hold code, by their names.
#[must_use]
pub fn source_files() -> &'static SourceFiles {
    static READ: OnceLock<SourceFiles> = OnceLock::new();
    // The build script reads back what it packs.
    READ.get_or_init(|| postcard::from_bytes(SOURCES).unwrap_or_default())
}

/// Where programs take secrets, of all that guard comes with.
#[must_use]
pub fn secret_arguments() -> &'static SecretArguments {
    static READ: OnceLock<SecretArguments> = OnceLock::new();
    // The build script reads back what it packs.
    READ.get_or_init(|| postcard::from_bytes(SECRETS).unwrap_or_default())
}

/// What was found out by name before.
type NameCache<T> = RefCell<HashMap<Box<str>, T>>;

/// A layer file, and the number of a program or rule there.
pub type EntryPosition = (usize, usize);

/// All layers together. Later layers add to earlier ones.
#[derive(Debug)]
pub struct Catalog {
    layer_files: Vec<LayerFile>,
    /// Which description a name leads to. Globs are tried once for each name.
    described: NameCache<Option<EntryPosition>>,
    /// The rules for a verb key.
    keyed: NameCache<Rc<[EntryPosition]>>,
    words: OnceCell<Words>,
}

impl Catalog {
    /// The built-in files alone.
    #[must_use]
    pub fn builtin() -> Self {
        let packed = Packed::new(Cow::Borrowed(BUILTIN), Vec::new());
        let layer_file = LayerFile { layer: Layer::Builtin, file: None, index: None, read: OnceCell::from(Ok(packed)) };
        Self {
            layer_files: vec![layer_file],
            described: RefCell::default(),
            keyed: RefCell::default(),
            words: OnceCell::new(),
        }
    }

    /// The built-in files and these, which come in the order of their layers. A file with a problem is left out whole
    /// and reported; the others stay.
    #[must_use]
    pub fn with_files(files: impl IntoIterator<Item = PatternFile>) -> (Self, Vec<Problem>) {
        let mut catalog = Self::builtin();
        files.into_iter().for_each(|file| catalog.add(file));
        let problems = catalog.problems();
        (catalog, problems)
    }

    /// Takes one more file in, of the layer of the last one or a later one. It is read when something comes up that it
    /// may speak of.
    pub fn add(&mut self, file: PatternFile) {
        let index = Index::of(&file.text);
        self.layer_files.push(LayerFile { layer: file.layer, index, file: Some(file), read: OnceCell::new() });
        self.described.borrow_mut().clear();
        self.keyed.borrow_mut().clear();
    }

    /// Everything that is wrong with any file. All of them are read for it. A file with a problem is left out whole.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.all().for_each(drop);
        let broken = self.layer_files.iter().filter_map(|layer_file| layer_file.read.get()?.as_ref().err());
        broken.flatten().cloned().collect()
    }

    /// A layer's file, read now if it was not.
    fn read(&self, at: usize) -> Option<&Packed> {
        let layer_file = self.layer_files.get(at)?;
        let read = || {
            // Only what is built in has no file, and it is read already.
            let file = layer_file.file.as_ref().ok_or_else(Vec::new)?;
            let beneath = LowerLayers { catalog: self, layer: layer_file.layer, below: at };
            let mut contents = source::read(&file.path, &file.text, &beneath)?;
            let examples = std::mem::take(&mut contents.examples);
            let bytes = pack(&contents).map_err(|error| vec![Problem::whole_file(&file.path, &error.to_string())])?;
            Ok(Packed::new(Cow::Owned(bytes), examples))
        };
        layer_file.read.get_or_init(read).as_ref().ok()
    }

    /// All files, read, with their layer_files.
    fn all(&self) -> impl Iterator<Item = (usize, &Packed)> {
        (0..self.layer_files.len()).filter_map(|at| Some((at, self.read(at)?)))
    }

    /// The files that lists, globs and `*` rules may stand in, read. One that is not read by now has none of them.
    fn open(&self) -> impl DoubleEndedIterator<Item = (usize, &Packed)> {
        self.open_below(self.layer_files.len())
    }

    fn open_below(&self, below: usize) -> impl DoubleEndedIterator<Item = (usize, &Packed)> {
        (0..below).filter_map(|at| match self.layer_files.get(at)?.index {
            Some(_) => Some((at, self.layer_files.get(at)?.packed()?)),
            None => Some((at, self.read(at)?)),
        })
    }

    /// Reads the files below this layer that speak of `name`, under any of its spellings.
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

    /// The description of the program of this name: by exact name, else by a name glob; a later layer's first.
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

    /// Where the program of this name is described among the files below a layer that are read.
    fn find_program(&self, name: &str, below: usize) -> Option<EntryPosition> {
        let newest = || self.open_below(below).rev();
        newest()
            .find_map(|(at, packed)| Some((at, packed.blob.program_named(name)?)))
            .or_else(|| newest().find_map(|(at, packed)| Some((at, packed.blob.program_globbed(name)?))))
    }

    /// The rules for this verb key (a program's name, `language:callee`, `:effect`), of all layers. `*` rules are not
    /// among them.
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

    /// Where the rules for a verb key stand.
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

    /// Those of [`Self::rules`] that an act with these features and this first word of a subcommand could match. The others
    /// are not decoded.
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

    /// The `*` rules that an act with these features could match. Harmless commands have none, and none are decoded.
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

    /// The rules that stand there.
    pub fn rules_at(&self, places: Rc<[EntryPosition]>) -> impl Iterator<Item = &Rule> {
        self.decoded(places, |_| true)
    }

    /// The `*` rules of last resort whose literal stands in the original text.
    pub fn text_rules<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Rule> + 'a {
        self.open().flat_map(move |(_, file)| file.blob.text_rules(text).filter_map(|number| file.rule(number)))
    }

    /// Every entry for a tool, layer by layer.
    pub fn tools(&self) -> impl Iterator<Item = (Layer, &Tool)> + '_ {
        self.all().flat_map(|(at, file)| {
            let layer = self.layer_files.get(at).map_or(Layer::Project, |layer_file| layer_file.layer);
            file.tools().map(move |tool| (layer, tool))
        })
    }

    /// The entries for a tool of one of these names, in plain spelling, layer by layer. The others are not decoded.
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

    /// The support commands that guard comes with.
    #[must_use]
    pub fn support(&self) -> Vec<Support> {
        // The build script reads back what it packs; where the bytes are damaged, these are asked about like any other.
        self.layer_files
            .first()
            .and_then(LayerFile::packed)
            .and_then(|file| file.blob.support().ok())
            .unwrap_or_default()
    }

    /// The words that tools are guessed at by.
    #[must_use]
    pub fn lexicon(&self) -> &Words {
        // The build script reads back what it packs. Without words nothing is a read.
        self.words.get_or_init(|| Words::new(postcard::from_bytes::<Lexicon>(LEXICON).unwrap_or_default()))
    }

    /// The rule of this id.
    #[must_use]
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.all().find_map(|(_, file)| file.rule(file.blob.rule_named(id)?))
    }

    /// Where the rule of this id comes from: the layer, and the file if it is not built in.
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

    /// Every rule, layer by layer.
    pub fn all_rules(&self) -> impl Iterator<Item = &Rule> + '_ {
        self.all().flat_map(|(_, file)| (0..file.blob.rule_count()).filter_map(|number| file.rule(number)))
    }

    /// Every program description, layer by layer.
    pub fn all_programs(&self) -> impl Iterator<Item = &Program> + '_ {
        self.all().flat_map(|(_, file)| (0..file.blob.program_count()).filter_map(|number| file.program(number)))
    }

    /// The examples of every rule. The built-in ones are unpacked each time.
    #[must_use]
    pub fn examples(&self) -> Vec<Examples> {
        // The build script reads back what it packs.
        let unpacked = miniz_oxide::inflate::decompress_to_vec(EXAMPLES).unwrap_or_default();
        let builtin: Vec<Examples> = postcard::from_bytes(&unpacked).unwrap_or_default();
        builtin.into_iter().chain(self.all().flat_map(|(_, file)| file.examples.iter().cloned())).collect()
    }

    /// The path lists.
    #[must_use]
    pub const fn paths(&self) -> Paths<'_> {
        Paths { catalog: self }
    }

    /// The host lists.
    #[must_use]
    pub const fn hosts(&self) -> Hosts<'_> {
        Hosts { catalog: self }
    }

    /// The lists of well-known packages.
    #[must_use]
    pub const fn packages(&self) -> Packages<'_> {
        Packages { catalog: self }
    }
}

/// Remembers what a name came to. A long batch of names that are all different does not fill the memory.
fn keep<T>(known: &NameCache<T>, name: &str, value: T) {
    const MOST: usize = 4096;
    let mut known = known.borrow_mut();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(name.into(), value);
}

/// What a file of one layer stands on: the files below its own.
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
