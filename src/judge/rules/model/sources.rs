//! Where code comes from: what a program loads, fetches, unpacks and builds.
//!
//! Out of scope: how a program's arguments are read, and what is bad about what comes of it.

use serde::{Deserialize, Serialize};

/// Files that a program loads as code, or as settings that hold commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The programs that do; others may be described together with them.
    pub programs: Vec<String>,
    /// A language as of [`super::Runs`], `make`, `tasks` (settings in which commands stand), or none: by the ending of the name.
    pub language: String,
    /// The values of these options name such a file.
    pub options: Vec<String>,
    /// Variables that hold more arguments, `options` among them.
    pub within: Vec<String>,
    /// The operands do, those with one of `endings`.
    pub operands: bool,
    /// The values of these variables do, parted as paths and lists are.
    pub variables: Vec<String>,
    /// The directories that these variables name hold `files`, where the line sets them.
    pub under: Vec<String>,
    /// Names of files that are loaded where the program stands, unless git has them as they are. A `*` stands for any
    /// name: of those only what the line wrote.
    pub files: Vec<String>,
    /// Operands are read only where git does not have them as they are.
    pub changed: bool,
    /// Only files that the line or the session wrote are read.
    pub session: bool,
    /// The program translates the files and runs none of them: they are read where the session wrote them, or where they lie
    /// in a work tree of git that does not have them as they are, and something is known of them.
    pub compiles: bool,
    /// What a name may leave out at its end.
    pub endings: Vec<String>,
    /// Only with one of these words among its arguments.
    pub words: Vec<String>,
    /// Not with one of these.
    pub unless: Vec<String>,
    /// What comes in on standard input is such code too.
    pub stdin: bool,
    /// Of settings whose lines are commands of the program's own: which of them run something.
    pub lines: Vec<SettingLine>,
    /// The files are settings: the values of these keys name files of `language`. `a.b`: the key `b` in what is under `a`.
    pub file_keys: Vec<String>,
    /// How such a name may begin that means a file where the program stands, before the name itself.
    pub bases: Vec<String>,
    /// The files are settings: the values of these keys are code of `language`, a shell's if it says none.
    pub code_keys: Vec<String>,
    /// `files` are settings: the values of these keys are more arguments, `options` among them.
    pub option_keys: Vec<String>,
    /// Of settings that name tasks: which of the tasks are run.
    pub tasks: Tasks,
    /// How a module is run by its name.
    pub module: Option<Module>,
}

impl Load {
    /// Whether the files are settings that are read key by key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.file_keys.is_empty() || !self.code_keys.is_empty() || !self.option_keys.is_empty()
    }
}

/// A line of settings by which a program runs a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingLine {
    /// The word that it begins with; empty: any; or a glob of the whole line. With `=` or `:` at its
    /// end: the key whose value is the command.
    pub begins: String,
    /// How many words stand in front of the command.
    pub skip: u32,
    /// What is put in front of the line, or of the value, where it is the rest of a command line of the program itself.
    pub before: String,
    /// What stands there is one word, whatever blanks and marks of a shell are in it.
    pub word: bool,
}

/// Which tasks of a file of tasks a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tasks {
    /// It is no file of tasks.
    #[default]
    None,
    /// All of them.
    All,
    /// Those that its operands name.
    Named,
}

/// How a program runs a module by its name (`python3 -m unittest`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// The option in front of the name.
    pub option: String,
    /// Modules that read code from standard input.
    pub stdin: Vec<String>,
    /// Modules that run the script, or else the module, that they are given.
    pub runs: Vec<String>,
    /// What a script's name ends in.
    pub script: String,
}

/// What a program brings from elsewhere into files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// The programs that do; others may be described together with them.
    pub programs: Vec<String>,
    /// Its first words when it does, one of these (`repo clone`); empty: always.
    pub words: Vec<String>,
    /// Only with one of these options.
    pub options: Vec<String>,
    pub into: FetchInto,
    /// Only where an operand names something that is not here.
    pub elsewhere: bool,
}

/// Which files hold what was fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchInto {
    /// Files of names that the program makes up.
    #[default]
    Unnamed,
    /// A file or directory named like the end of the first operand, or as the second says.
    Named,
    /// The last operand, where the others are at a place elsewhere (`host:path`).
    Target,
}

/// What a program makes of an archive, a compressed file or a patch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unpack {
    /// The programs that do; others may be described together with them.
    pub programs: Vec<String>,
    pub kind: Packed,
    /// Only with one of these as its subcommand.
    pub words: Vec<String>,
    /// Only with one of these options.
    pub options: Vec<String>,
    /// Not with one of these.
    pub unless: Vec<String>,
    /// Of a patch: how many directories are taken off its names where no option says it.
    pub strip: Option<u32>,
}

/// What is unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Packed {
    /// An archive: what it writes with everything in it is the files of the archive.
    #[default]
    Archive,
    /// Its operands, each put in place of the compressed file.
    File,
    /// A patch on standard input, in `-i FILE` or in the operands: all of them where `strip` is given, else those behind
    /// the first.
    Patch,
}

/// When a program runs the code of the project in which it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// The programs that do; others may be described together with them.
    pub programs: Vec<String>,
    /// Only with one of these words; empty: always.
    pub words: Vec<String>,
    /// Without any argument too.
    pub bare: bool,
    /// Not all that lies there, only what is named or lies beside it.
    pub named: bool,
    /// It installs packages, which it checks by itself.
    pub installs: bool,
}

/// When a program that was started at a terminal waits there for something that it runs: an interpreter, a debugger, an
/// editor with a way out, a multiplexer, a session on another host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Console {
    /// The programs that do; others may be described together with them.
    pub programs: Vec<String>,
    /// What is typed there: the name of a language as in `runs`; empty: what is not known.
    pub language: String,
    /// Only with one of these; each is words that stand first and options that stand anywhere. Empty: always.
    pub words: Vec<String>,
    /// Without any argument too.
    pub bare: bool,
    /// With at most so many operands behind the subcommand.
    pub operands: Option<u32>,
    /// It reads the keyboard also where its input is something else.
    pub keyboard: bool,
    /// It waits only where its output is the terminal.
    pub visible: bool,
    /// Not with one of these options.
    pub unless: Vec<String>,
    /// Variables that name another program which is started in its place.
    pub variables: Vec<String>,
}
