//! Prepares a command for `execve`. This happens before `fork`, because the child must not allocate memory.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr;

use super::preserve::Inherited;
use super::{ExecError, preserve};
use crate::judge::invocation::{Environment, Invocation, Line, Request};

/// The search path if PATH is not set, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The program that runs a text file without `#!`, as for `execvp` and `env(1)`.
const SHELL: &CStr = c"/bin/sh";

/// A command, ready for `execve`.
pub(super) struct Prepared {
    /// The given name, for messages.
    program: OsString,
    /// The paths to try, in order.
    candidates: Vec<CString>,
    arguments: Pointers,
    /// The arguments of the shell that runs a file without `#!`; the second is the path of the file.
    with_shell: Vec<*const c_char>,
    environment: Pointers,
}

/// Strings and the null-terminated array that points to them.
struct Pointers {
    pointers: Vec<*const c_char>,
    /// The strings to which the pointers refer. The bytes of a `CString` do not move with it.
    #[expect(dead_code, reason = "kept alive for the pointers")]
    strings: Vec<CString>,
}

impl Pointers {
    fn new(strings: Vec<CString>) -> Self {
        let pointers = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Self { pointers, strings }
    }
}

impl Prepared {
    /// # Errors
    /// [`ExecError::Nul`], and [`ExecError::NotFound`] for a command without words.
    pub fn new(invocation: &Invocation, inherited: &Inherited) -> Result<Self, ExecError> {
        let environment = Pointers::new(environment(&invocation.env)?);
        match &invocation.request {
            Request::Argv(argv) => {
                let Some(program) = argv.first() else {
                    return Err(ExecError::NotFound { program: OsString::new(), source: error(libc::ENOENT) });
                };
                let candidates = candidates(program, &invocation.env)?;
                let mut argv = argv.clone();
                if let (Some(first), Some(name)) = (argv.first_mut(), &inherited.argv0) {
                    first.clone_from(name);
                }
                Self::of(program.clone(), candidates, &argv, environment)
            }
            Request::Line(line) => {
                let candidates = vec![c_string(line.shell.as_os_str(), "the shell's path")?];
                let argv = shell_arguments(line, inherited.argv0.as_deref());
                Self::of(line.shell.clone().into_os_string(), candidates, &argv, environment)
            }
            // A tool of the agent changes the files itself.
            Request::Files(_) => {
                Err(ExecError::NotFound { program: OsString::from("a change of files"), source: error(libc::ENOEXEC) })
            }
            Request::Tool(call) => Err(ExecError::NotFound {
                program: OsString::from(format!("the tool {}", call.name)),
                source: error(libc::ENOEXEC),
            }),
        }
    }

    fn of(
        program: OsString,
        candidates: Vec<CString>,
        argv: &[OsString],
        environment: Pointers,
    ) -> Result<Self, ExecError> {
        let arguments = argv
            .iter()
            .enumerate()
            .map(|(at, argument)| c_string(argument, &format!("argument {at}")))
            .collect::<Result<Vec<_>, _>>()?;
        let arguments = Pointers::new(arguments);
        let mut with_shell = vec![SHELL.as_ptr(), ptr::null()];
        with_shell.extend(arguments.pointers.iter().skip(1));
        Ok(Self { program, candidates, arguments, with_shell, environment })
    }

    /// Replaces this process by the command. It returns only if that fails, with the error number.
    ///
    /// It makes only system calls. The search is that of `execvp`: files that do not exist or are not programs are
    /// skipped, a lack of permission is remembered, and `/bin/sh` runs a text file without `#!`.
    pub fn exec(&mut self) -> c_int {
        let mut refused = None;
        let mut last = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: all three are null-terminated arrays or strings that live as long as `self`.
            unsafe {
                libc::execve(candidate.as_ptr(), self.arguments.pointers.as_ptr(), self.environment.pointers.as_ptr());
            }
            last = errno();
            match last {
                libc::ENOEXEC => {
                    if let Some(file) = self.with_shell.get_mut(1) {
                        *file = candidate.as_ptr();
                    }
                    // SAFETY: as above; `with_shell` ends with the null that ends the arguments.
                    unsafe {
                        libc::execve(SHELL.as_ptr(), self.with_shell.as_ptr(), self.environment.pointers.as_ptr());
                    }
                    return errno();
                }
                libc::EACCES => refused = Some(last),
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                other => return other,
            }
        }
        refused.unwrap_or(last)
    }

    /// Returns the error for an error number of [`Prepared::exec`].
    pub fn failure(&self, number: c_int) -> ExecError {
        let (program, source) = (self.program.clone(), error(number));
        match number {
            libc::ENOENT | libc::ENOTDIR => ExecError::NotFound { program, source },
            _ => ExecError::NotExecutable { program, source },
        }
    }
}

fn error(number: c_int) -> io::Error {
    io::Error::from_raw_os_error(number)
}

fn errno() -> c_int {
    preserve::last_error().raw_os_error().unwrap_or(libc::EINVAL)
}

fn c_string(text: &OsStr, place: &str) -> Result<CString, ExecError> {
    CString::new(text.as_bytes()).map_err(|_| ExecError::Nul { place: place.to_owned() })
}

/// Returns the possible paths of a program: the name itself if it contains a slash, otherwise one for each directory of
/// PATH, in which an empty directory is the working directory.
fn candidates(program: &OsStr, environment: &Environment) -> Result<Vec<CString>, ExecError> {
    let name = program.as_bytes();
    if name.is_empty() {
        return Ok(Vec::new());
    }
    if name.contains(&b'/') {
        return Ok(vec![c_string(program, "the program's name")?]);
    }
    let path = environment.variables.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), OsString::as_os_str);
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|directory| {
            let path = if directory.is_empty() {
                Path::new(".").join(program)
            } else {
                Path::new(OsStr::from_bytes(directory)).join(program)
            };
            c_string(path.as_os_str(), "the program's name")
        })
        .collect()
}

/// Returns the arguments of the shell: its name, its options, the command string, and the positional parameters.
fn shell_arguments(line: &Line, argv0: Option<&OsStr>) -> Vec<OsString> {
    let name = argv0.or_else(|| line.shell.file_name()).unwrap_or(line.shell.as_os_str());
    let mut argv = vec![name.to_owned()];
    argv.extend(line.options.iter().cloned());
    // The envelope of an agent runs with the command string.
    let (text, positional) = match &line.envelope {
        Some(envelope) => (&envelope.whole, &envelope.positional),
        None => (&line.text, &line.positional),
    };
    // Shells accept options after `-c`: the command string must not be parsed as an option.
    if matches!(text.first(), Some(b'-' | b'+')) && line.options.last().is_none_or(|last| last != "--" && last != "-") {
        argv.push("--".into());
    }
    argv.push(OsString::from_vec(text.clone()));
    argv.extend(positional.iter().cloned());
    argv
}

/// Returns the variables of the invocation, in the order of guard's own environment; new ones are last.
///
/// Entries without `=` are passed on unchanged. For a duplicate name the value that was judged is used.
fn environment(judged: &Environment) -> Result<Vec<CString>, ExecError> {
    let mut strings = Vec::with_capacity(judged.variables.len());
    let mut done = BTreeSet::new();
    for entry in found_environment() {
        let bytes = entry.to_bytes();
        // A name may begin with `=`, as in the standard library.
        let Some(end) = bytes.iter().skip(1).position(|byte| *byte == b'=').map(|at| at + 1) else {
            strings.push(entry.to_owned());
            continue;
        };
        let (name, value) = (OsStr::from_bytes(&bytes[..end]), OsStr::from_bytes(&bytes[end + 1..]));
        if judged.variables.get(name).is_some_and(|judged| judged == value) && done.insert(name) {
            strings.push(entry.to_owned());
        }
    }
    for (name, value) in &judged.variables {
        if !done.contains(name.as_os_str()) {
            let entry = [name.as_bytes(), b"=", value.as_bytes()].concat();
            let place = || ExecError::Nul { place: format!("the variable {}", name.display()) };
            strings.push(CString::new(entry).map_err(|_| place())?);
        }
    }
    Ok(strings)
}

/// Returns the entries of the environment of this process.
fn found_environment() -> Vec<&'static CStr> {
    let mut entries = Vec::new();
    // SAFETY: it is a null-terminated array of strings. Nothing in guard changes the environment, which would be
    // unsafe itself.
    unsafe {
        let mut place = guard_system::environ();
        while !place.is_null() && !(*place).is_null() {
            entries.push(CStr::from_ptr(*place));
            place = place.add(1);
        }
    }
    entries
}
