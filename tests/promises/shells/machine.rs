//! Tests shell scripts that were not written for tests: those of the machine, and the build of a project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::alike::{Shims, run};
use crate::harness::home::Home;
use crate::harness::tools;

/// Returns the scripts for sh and bash among the machine's programs.
fn scripts() -> Vec<(&'static str, PathBuf)> {
    let mut found = BTreeMap::new();
    for directory in ["/usr/bin", "/usr/sbin", "/etc/init.d"] {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(path) = entry.path().canonicalize() else { continue };
            // guard reports a larger script as too large, and asks.
            if !path.metadata().is_ok_and(|facts| facts.is_file() && facts.len() < 200_000) {
                continue;
            }
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let name = match String::from_utf8_lossy(first).split_whitespace().next() {
                Some("#!/bin/sh" | "#!/usr/bin/sh") => "sh",
                Some("#!/bin/bash" | "#!/usr/bin/bash") => "bash",
                _ => continue,
            };
            if std::str::from_utf8(&bytes).is_ok() {
                found.insert(path, name);
            }
        }
    }
    found.into_iter().map(|(path, name)| (name, path)).collect()
}

#[test]
fn the_machines_own_scripts_are_read_as_the_shell_reads_them() {
    let scripts = scripts();
    assert!(scripts.len() > 10, "{scripts:?}");
    std::thread::scope(|scope| {
        for part in 0..3 {
            let mine: Vec<_> = scripts.iter().skip(part).step_by(3).cloned().collect();
            scope.spawn(move || {
                let shims = Shims::new(Home::that_asks_nobody());
                for (name, path) in mine {
                    shims.alike(name, &format!("-n {}", path.display()), |mut command| {
                        command.arg("-n").arg(&path);
                        run(command)
                    });
                }
            });
        }
    });
}

#[test]
fn the_machines_own_tools_say_the_same_of_themselves() {
    let shims = Shims::new(Home::that_asks_nobody());
    let scripts = scripts();
    let mut tried = 0;
    for tool in [
        "zgrep",
        "zcmp",
        "zdiff",
        "zegrep",
        "zfgrep",
        "zcat",
        "gunzip",
        "uncompress",
        "zmore",
        "zforce",
        "znew",
        "xzgrep",
        "xzdiff",
        "xzless",
        "xzmore",
        "bzgrep",
        "bzdiff",
        "ldd",
        "egrep",
        "fgrep",
        "which",
        "tzselect",
        "libpng16-config",
        "ncurses6-config",
        "libgcrypt-config",
        "gpgrt-config",
    ] {
        let path = Path::new("/usr/bin").join(tool);
        let Some((name, path)) =
            path.canonicalize().ok().and_then(|path| scripts.iter().find(|(_, other)| *other == path))
        else {
            continue;
        };
        for argument in ["--version", "--help", "--no-such-option"] {
            shims.alike(name, &format!("{tool} {argument}"), |mut command| {
                command.arg(path).arg(argument);
                run(command)
            });
        }
        tried += 1;
    }
    assert!(tried >= 3, "{tried} tools");
}

/// Creates a project with many targets, whose recipes use common features.
fn project(directory: &Path) {
    let mut make = String::from(
        "names := $(shell for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo part$$i; done)\n\
         all: report $(names:%=out/%.o)\n\nout:\n\tmkdir -p $@\n\n\
         src/%.txt:\n\t@mkdir -p src; n=`echo $* | tr -dc 0-9`; \\\n\ti=0; while [ $$i -lt $$n ]; do \\\n\t  echo \"line $$i of $*\"; \\\n\t  i=$$((i + 1)); \\\n\tdone > $@\n\n\
         out/%.o: src/%.txt | out\n\t(cat $<; echo end) | sort | tee $@.tmp > /dev/null && mv $@.tmp $@\n\t@test -s $@ || { echo empty >&2; exit 1; }\n\t-@false 2>/dev/null\n\n\
         report: $(names:%=out/%.o)\n\tset -e; for f in $^; do wc -l < $$f; done | sort -n > $@; cksum < $@\n\n\
         fails:\n\t@echo trying; exit 3\n\nsub:\n\t$(MAKE) -C . out/part1.o\n\n.PHONY: all fails sub\n",
    );
    make.push_str("include extra.mk\n");
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(
        directory.join("extra.mk"),
        "version := $(shell printf '%s' 1.2 | sed 's/\\./-/')\nshow:\n\t@echo $(version) $(words $(names))\n",
    )
    .unwrap();
    std::fs::write(directory.join("Makefile"), make).unwrap();
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        if entry.path().is_dir() {
            all.extend(
                files(&entry.path()).into_iter().map(|(path, bytes)| (Path::new(&entry.file_name()).join(path), bytes)),
            );
        } else {
            all.insert(entry.file_name().into(), std::fs::read(entry.path()).unwrap());
        }
    }
    all
}

#[test]
fn a_project_is_built_by_make_as_without_guard() {
    let shims = Shims::new(Home::that_asks_nobody());
    let make = |shell: &Path, directory: &str, arguments: &[&str]| {
        let directory = shims.home.path("work").join(directory);
        project(&directory);
        let mut command: Command = shims.home.program("make");
        command.current_dir(&directory).args(arguments).arg(format!("SHELL={}", shell.display()));
        let output = run(command);
        let sorted = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(&directory.display().to_string(), "FOLDER");
            let text = text.replace(&shell.display().to_string(), "SHELL");
            // With -j make's line numbers are unreliable.
            let plain = |line: &str| {
                line.split_once("[Makefile:")
                    .map_or(line, |(_, rest)| rest.trim_start_matches(|c: char| c.is_ascii_digit()))
                    .to_owned()
            };
            let mut lines: Vec<String> = text.lines().map(plain).collect();
            lines.sort();
            lines
        };
        (output.status.code(), sorted(&output.stdout), sorted(&output.stderr), files(&directory))
    };
    let guard = shims.home.path("shims/sh");
    for arguments in
        [&["-j8", "all"][..], &["-j8"], &["fails"], &["-k", "-j4", "fails", "show"], &["sub"], &["-n", "all"]]
    {
        let (with, without) = (make(&guard, "guarded", arguments), make(Path::new("/bin/sh"), "plain", arguments));
        assert_eq!((with.0, with.1, with.2), (without.0, without.1, without.2), "{arguments:?}");
        assert!(
            with.3 == without.3,
            "{arguments:?}: {:?}",
            with.3.iter().find(|(path, bytes)| without.3.get(*path) != Some(bytes))
        );
    }
    // Every recipe that needs a shell has its row in the record.
    assert!(shims.home.store().find(&guard::store::Filter::default()).unwrap().len() > 60);
}

/// Creates a project with a `configure` that Autoconf generates.
fn project_of_autoconf(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    for (name, text) in [
        (
            "configure.ac",
            "AC_INIT([p], [1.0])\nAC_CONFIG_SRCDIR([main.c])\nAC_PROG_CC\nAC_CHECK_HEADERS([stdint.h unistd.h nowhere.h])\n\
             AC_CHECK_FUNCS([memmove nothing])\nAC_CHECK_SIZEOF([long])\nAC_CONFIG_HEADERS([config.h])\n\
             AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n",
        ),
        (
            "Makefile.in",
            "SHELL = @SHELL@\nCC = @CC@\nall: p\np: main.o\n\t$(CC) -o $@ main.o\n.c.o:\n\t$(CC) -c $<\n\
             clean:\n\trm -f p *.o\n\tif test -d p.dSYM; then rm -rf p.dSYM; fi\n",
        ),
        ("config.h.in", "#undef HAVE_UNISTD_H\n#undef HAVE_NOWHERE_H\n#undef HAVE_MEMMOVE\n#undef SIZEOF_LONG\n"),
        ("main.c", "#include \"config.h\"\nint main(void) { return SIZEOF_LONG > 99; }\n"),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
}

#[test]
fn a_project_of_autoconf_is_configured_and_built_as_without_guard() {
    if !["autoconf", "make", "cc"].into_iter().all(tools::is_installed) {
        return;
    }
    let shims = Shims::new(Home::that_asks_nobody());
    let build = |shell: &Path, directory: &str| {
        let directory = shims.home.path("work").join(directory);
        project_of_autoconf(&directory);
        let run = |program: &str, arguments: &[&std::ffi::OsStr]| {
            let mut command: Command = shims.home.program(program);
            command.current_dir(&directory).args(arguments).env("CONFIG_SHELL", shell);
            let output = run(command);
            let text = [output.stdout, output.stderr].concat();
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&text));
        };
        run("autoconf", &[]);
        let set = format!("SHELL={}", shell.display());
        run(&shell.display().to_string(), &["./configure".as_ref(), "--quiet".as_ref()]);
        run("make", &[set.as_ref(), "all".as_ref()]);
        run("./config.status", &["--quiet".as_ref(), "--recheck".as_ref()]);
        let made = ["config.h", "main.o", "p"].map(|name| std::fs::read(directory.join(name)).unwrap());
        run("make", &[set.as_ref(), "clean".as_ref()]);
        assert!(!directory.join("p").exists());
        made
    };
    assert!(build(&shims.home.path("shims/sh"), "guarded") == build(Path::new("/bin/sh"), "plain"));
    // The restart of configure, the scripts beside it, and the recipes.
    assert!(shims.home.store().find(&guard::store::Filter::default()).unwrap().len() > 3);
}
