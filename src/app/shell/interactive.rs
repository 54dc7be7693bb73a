//! An interactive shell: the real one, with guard's integration loaded after the user's own startup files.
//!
//! bash gets a startup file of guard that reads the user's first. zsh gets a startup directory of guard, whose file
//! continues with the user's. For a shell without such a mechanism (sh), a message says that the integration is
//! missing.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::ShellCall;
use super::request::request;
use super::shell_name::ShellName;
use crate::app::authorize::RunOptions;
use crate::app::engine::Engine;
use crate::app::init::{self, Interactive};
use crate::app::run::{self, failed};
use crate::exec::Inherited;
use crate::judge::invocation::quote;
use crate::judge::syntax::tree::Dialect;
use crate::world::shell::Shell;

/// Starts the shell.
pub(super) fn start(
    engine: &Engine,
    called: &ShellName,
    shell: &Shell,
    call: ShellCall,
    mut inherited: Inherited,
) -> u8 {
    let login = called.login || call.login;
    let mut request = request(shell, call.clone());
    let mut variables = Vec::new();
    match shell.dialect {
        Dialect::Bash => {
            let (options, own) = without_start_up(call.options.clone());
            let place = match write(engine, "bashrc", &bash(login, &own)) {
                Ok(place) => place,
                Err(error) => return failed(&format!("guard's startup file: {error}")),
            };
            // A login shell would not read the file. The file itself makes the shell read what a login shell reads.
            let name = called.argv0(shell.path.as_os_str());
            inherited.argv0 = Some(OsString::from(std::ffi::OsStr::from_bytes(
                name.as_bytes().strip_prefix(b"-").unwrap_or(name.as_bytes()),
            )));
            let options = ["--rcfile".into(), place.into_os_string()].into_iter().chain(options).collect();
            request = super::request::request(shell, ShellCall { options, ..call });
        }
        Dialect::Zsh => {
            let own = engine.caller.env.get("ZDOTDIR").map(str::to_owned);
            match write(engine, "zsh/.zshenv", &zsh(own.as_deref())) {
                Ok(place) => variables.push(("ZDOTDIR", place.parent().unwrap_or(Path::new("/")).to_owned())),
                Err(error) => return failed(&format!("guard's startup file: {error}")),
            }
        }
        Dialect::Sh => {
            let _ = writeln!(io::stderr(), "guard: lines typed into sh are not judged; use bash or zsh");
        }
    }
    run::one_with(engine, request, &variables, RunOptions::default(), &mut inherited)
}

/// The startup files that bash reads according to its options.
struct StartupFiles {
    profile: bool,
    rc: Option<OsString>,
}

/// Removes the options that guard's startup file replaces.
fn without_start_up(options: Vec<OsString>) -> (Vec<OsString>, StartupFiles) {
    let mut own = StartupFiles { profile: true, rc: Some("~/.bashrc".into()) };
    let mut rest = Vec::new();
    let mut options = options.into_iter();
    while let Some(option) = options.next() {
        match option.as_bytes() {
            b"--login" | b"-login" | b"-l" => {}
            b"--noprofile" | b"-noprofile" => own.profile = false,
            b"--norc" | b"-norc" => own.rc = None,
            b"--rcfile" | b"-rcfile" | b"--init-file" | b"-init-file" => own.rc = options.next(),
            [b'-', letters @ ..] if !letters.starts_with(b"-") && letters.contains(&b'l') => {
                let letters: Vec<u8> = letters.iter().copied().filter(|letter| *letter != b'l').collect();
                rest.push(OsString::from(std::ffi::OsStr::from_bytes(&[b"-", letters.as_slice()].concat())));
            }
            _ => rest.push(option),
        }
    }
    (rest, own)
}

/// Returns guard's startup file for bash.
fn bash(login: bool, own: &StartupFiles) -> String {
    let mut text = String::from("# Written by guard each time that it starts bash for a person.\n");
    if login && own.profile {
        text.push_str(
            "[[ -r /etc/profile ]] && . /etc/profile\n\
             for __guard_file in ~/.bash_profile ~/.bash_login ~/.profile; do\n    \
             [[ -r $__guard_file ]] && { . \"$__guard_file\"; break; }\ndone\nunset __guard_file\n\
             trap '[[ -r ~/.bash_logout ]] && . ~/.bash_logout' EXIT\n",
        );
    } else if let (false, Some(rc)) = (login, &own.rc) {
        let rc = if rc == "~/.bashrc" { "~/.bashrc".to_owned() } else { quote(&rc.to_string_lossy()) };
        text.push_str(&format!("[[ -r {rc} ]] && . {rc}\n"));
    }
    text + &init_text(Interactive::Bash)
}

/// Returns guard's first startup file for zsh.
fn zsh(own: Option<&str>) -> String {
    let back = own.map_or("unset ZDOTDIR".to_owned(), |own| format!("ZDOTDIR={}", quote(own)));
    format!(
        "# Written by guard each time that it starts zsh for a person.\n{back}\n\
         [[ -r ${{ZDOTDIR:-$HOME}}/.zshenv ]] && . ${{ZDOTDIR:-$HOME}}/.zshenv\n\
         _guard_begin() {{\n    precmd_functions=(${{precmd_functions:#_guard_begin}})\n    unfunction _guard_begin\n{}}}\n\
         precmd_functions+=(_guard_begin)\n",
        init_text(Interactive::Zsh)
    )
}

fn init_text(shell: Interactive) -> String {
    std::env::current_exe()
        .map_or_else(|_| "echo 'guard: not found' >&2; exit 125\n".to_owned(), |guard| init::text(shell, &guard))
}

/// Writes a file in guard's own directory.
fn write(engine: &Engine, name: &str, text: &str) -> io::Result<PathBuf> {
    let paths = engine.paths().map_err(io::Error::other)?;
    let place = paths.database().with_file_name("init").join(name);
    let directory = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(directory)?;
    let new = directory.join(format!(".new-{}", std::process::id()));
    std::fs::write(&new, text)?;
    std::fs::rename(&new, &place).inspect_err(|_| drop(std::fs::remove_file(&new)))?;
    Ok(place)
}
