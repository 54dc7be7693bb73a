//! Descriptions of the sources of code: what a program loads, downloads, unpacks and builds.
//!
//! Out of scope: how the arguments of a program are read ([`super::Program`]), and which code is dangerous (rules).

use serde::{Deserialize, Serialize};

/// Files that a program loads as code, or as settings that hold commands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The programs to which the table applies. Other names of the same description are not affected.
    pub programs: Vec<String>,
    /// A language as in [`super::Runs`], `make`, or `tasks` (settings that contain commands); empty: by the ending of
    /// the name.
    pub language: String,
    /// Options whose value names such a file.
    pub options: Vec<String>,
    /// Variables that contain further arguments, with the same `options`.
    pub within: Vec<String>,
    /// The operands with one of `endings` name such files.
    pub operands: bool,
    /// Variables whose value names such files, as a list or a search path.
    pub variables: Vec<String>,
    /// Variables that contain further arguments of the program; with `OPTION=VARIABLE` the value of that option.
    pub arguments: Vec<String>,
    /// Variables, if the command sets them, and options that name a directory with `files`.
    pub under: Vec<String>,
    /// Variables and options that list directories in which the named files are looked for too.
    pub search: Vec<String>,
    /// The text between the parts of a module's name; empty: names are paths.
    pub separator: String,
    /// Names of files that the program loads from its directory. Files that are unchanged in git are not read. A name
    /// may contain `*`: only files that the command wrote are found by it.
    pub files: Vec<String>,
    /// Operands that are unchanged in git are not read.
    pub changed: bool,
    /// Only files that the command or the session wrote are read.
    pub session: bool,
    /// A run that only lists, checks or simulates runs the files that it finds too.
    pub listed: bool,
    /// The program compiles the files and does not run them. They are read if the session wrote them, or if they are in
    /// a git work tree and changed there, and part of their content is known.
    pub compiles: bool,
    /// Endings that a name may omit.
    pub endings: Vec<String>,
    /// The table applies only if one of these words is among the arguments.
    pub words: Vec<String>,
    /// The table does not apply with one of these options.
    pub unless: Vec<String>,
    /// The program reads such code from standard input too.
    pub stdin: bool,
    /// For settings whose lines are commands of the program: the lines that run another program.
    pub lines: Vec<SettingLine>,
    /// For settings: keys whose values name files of `language`. `a.b` is the key `b` inside `a`.
    pub file_keys: Vec<String>,
    /// Prefixes of such a name that stand for the directory of the program.
    pub bases: Vec<String>,
    /// For settings: keys whose values are code of `language`, or of a shell if `language` is empty.
    pub code_keys: Vec<String>,
    /// For settings: keys whose values are further arguments, with the same `options`.
    pub option_keys: Vec<String>,
    /// For settings that list packages: the key of each list (`begins`), and the command that installs one of them
    /// (`before`).
    pub requirements: Vec<SettingLine>,
    /// For such settings: files that list the installed packages. What they contain is not new.
    pub locks: Vec<String>,
    /// The settings are the lines of a file that begin with this text.
    pub comment: String,
    /// For settings that define tasks: the tasks that the program runs.
    pub tasks: Tasks,
    /// The way in which the program runs a module by its name.
    pub module: Option<Module>,
}

impl Load {
    /// Reports whether the files are settings that are read key by key.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        !self.file_keys.is_empty()
            || !self.code_keys.is_empty()
            || !self.option_keys.is_empty()
            || !self.requirements.is_empty()
    }
}

/// A line of settings with which a program runs a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SettingLine {
    /// The first word of the line (empty: any), a glob for the whole line or, with `=` or `:` at the end, the key whose
    /// value is the command.
    pub begins: String,
    /// The number of words before the command.
    pub skip: u32,
    /// A text that is put before the line or the value, if it is the rest of a command line of the program itself.
    pub before: String,
    /// The value is one word; blanks and the special characters of a shell have no meaning in it.
    pub word: bool,
}

/// The tasks of a file that a program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tasks {
    /// The file defines no tasks.
    #[default]
    None,
    /// All tasks.
    All,
    /// The tasks that the operands name.
    Named,
}

/// The way in which a program runs a module by its name (`python3 -m unittest`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Module {
    /// The option before the name.
    pub option: String,
    /// Modules that read code from standard input.
    pub stdin: Vec<String>,
    /// Modules that run the script, or the module, that their arguments name.
    pub runs: Vec<String>,
    /// The ending of a script's name.
    pub script: String,
}

/// A download into files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// The programs to which the table applies. Other names of the same description are not affected.
    pub programs: Vec<String>,
    /// The table applies only if the arguments begin with one of these (`repo clone`); empty: always.
    pub words: Vec<String>,
    /// The table applies only with one of these options.
    pub options: Vec<String>,
    pub into: FetchInto,
    /// The options that name the directory of files whose names the program chooses.
    pub directory: Vec<String>,
    /// The table applies only if an operand names a remote address.
    pub elsewhere: bool,
}

/// The files that contain what was downloaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchInto {
    /// Files whose names the program chooses.
    #[default]
    Unnamed,
    /// A file or directory named by the second operand or, without one, by the last part of the first.
    Named,
    /// The last operand, if the others are remote (`host:path`).
    Target,
    /// No file: the program only connects to the addresses among its arguments.
    Nowhere,
}

/// The unpacking of an archive or a compressed file, or the application of a patch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unpack {
    /// The programs to which the table applies. Other names of the same description are not affected.
    pub programs: Vec<String>,
    pub kind: Packed,
    /// The table applies only with one of these subcommands.
    pub words: Vec<String>,
    /// The table applies only with one of these options.
    pub options: Vec<String>,
    /// The table does not apply with one of these options.
    pub unless: Vec<String>,
    /// For a patch: the number of leading directories that are removed from its names if no option sets it.
    pub strip: Option<u32>,
}

/// The kind of file that is unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Packed {
    /// An archive: the directories that the program writes contain the files of the archive.
    #[default]
    Archive,
    /// Compressed files: each operand is replaced by the uncompressed file.
    File,
    /// A patch from standard input, `-i FILE` or the operands: all operands if `strip` is given, otherwise those after
    /// the first.
    Patch,
}

/// A run in which a program executes the code of the project in its directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// The programs to which the table applies. Other names of the same description are not affected.
    pub programs: Vec<String>,
    /// The table applies only with one of these words; empty: always.
    pub words: Vec<String>,
    /// The table applies also without arguments.
    pub bare: bool,
    /// The program runs only what its arguments name, and files in the same directory.
    pub named: bool,
    /// The program installs packages and verifies them itself.
    pub installs: bool,
}

/// A run in which a program reads commands from its terminal: an interpreter, a debugger, an editor that can start a
/// shell, a terminal multiplexer, a session on another host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Console {
    /// The programs to which the table applies. Other names of the same description are not affected.
    pub programs: Vec<String>,
    /// The language of the commands, as in [`super::Runs`]; empty: unknown.
    pub language: String,
    /// The table applies only with one of these: leading words, and options at any position. Empty: always.
    pub words: Vec<String>,
    /// The table applies also without arguments.
    pub bare: bool,
    /// The maximum number of operands after the subcommand.
    pub operands: Option<u32>,
    /// The program reads the keyboard even if its standard input is not a terminal.
    pub keyboard: bool,
    /// The program reads commands only if its output is a terminal.
    pub visible: bool,
    /// The table does not apply with one of these options.
    pub unless: Vec<String>,
    /// Variables that name another program, which is started instead.
    pub variables: Vec<String>,
}
