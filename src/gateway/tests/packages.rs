//! Builds packages of the programs, and tests that the system's own tools install, run and remove them, each in a root
//! directory of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::test_gateway::{self, installed};

/// A directory with both programs, without debug symbols.
struct Release {
    directory: tempfile::TempDir,
}

impl Release {
    fn new() -> Self {
        let release = Self { directory: tempfile::tempdir().unwrap() };
        for program in [test_gateway::guard(), Path::new(env!("CARGO_BIN_EXE_guard-gateway"))] {
            let copy = release.path(program.file_name().unwrap().to_str().unwrap());
            done(Command::new("strip").arg("-o").args([copy.as_path(), program]));
        }
        release
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs a script of `.release` that builds packages, and returns the resulting files.
    fn packages(&self, script: &str) -> Vec<PathBuf> {
        let out = self.path("out");
        done(script_of(script).args([self.path("guard"), self.path("guard-gateway"), out.clone()]));
        let mut files: Vec<PathBuf> = std::fs::read_dir(out).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Runs a program of an installed package in a home of its own.
    fn run(&self, program: &Path, words: &[&str]) -> std::process::Output {
        let home = self.path("home");
        std::fs::create_dir_all(&home).unwrap();
        let mut command = Command::new(program);
        command.args(words).env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", &home);
        command.current_dir(home).stdin(Stdio::null()).output().unwrap()
    }
}

/// Runs a command that must succeed, and returns its output.
fn done(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the command of a script of `.release`.
fn script_of(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.release").join(name))
}

/// The files that each package for Linux must contain.
const BROUGHT: [&str; 10] = [
    "usr/bin/guard",
    "usr/bin/guard-gateway",
    "usr/share/man/man1/guard.1.gz",
    "usr/share/man/man8/guard-gateway.8.gz",
    "usr/share/bash-completion/completions/guard",
    "usr/share/fish/vendor_completions.d/guard.fish",
    "usr/lib/systemd/user/guard-gateway.service",
    "usr/lib/systemd/user/guard-gateway.socket",
    "usr/lib/systemd/system/guard.service",
    "usr/lib/systemd/system/guard-gateway.service",
];

/// Checks that these names, one per line, contain all required files and a completion for zsh.
fn brings_all(names: &str) {
    let names: Vec<&str> = names.lines().map(|name| name.trim_start_matches(['.', '/'])).collect();
    for wanted in BROUGHT {
        assert!(names.contains(&wanted), "no {wanted} in {names:#?}");
    }
    assert!(names.iter().any(|name| name.starts_with("usr/share/zsh/") && name.ends_with("/_guard")), "{names:#?}");
}

fn ending<'a>(files: &'a [PathBuf], end: &str) -> &'a Path {
    let fits = |file: &&PathBuf| file.to_str().unwrap().ends_with(end);
    files.iter().find(fits).unwrap_or_else(|| panic!("no {end} among {files:?}"))
}

#[test]
fn packages_of_linux_systems_are_installed_and_removed() {
    if !installed(&["nfpm", "strip", "dpkg", "rpm"]) {
        return;
    }
    let release = Release::new();
    let files = release.packages("packages");

    let root = release.path("debian");
    std::fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    std::fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    let dpkg = |words: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).arg("--force-not-root").args(words);
        done(&mut command)
    };
    dpkg(&["--install", ending(&files, ".deb").to_str().unwrap()]);
    brings_all(&dpkg(&["--listfiles", "guard"]));
    let judged = release.run(&root.join("usr/bin/guard"), &["check", "rm -rf /"]);
    assert_eq!(judged.status.code(), Some(1), "{judged:?}");
    // The command finds the gateway beside itself, and no gateway runs.
    let status = release.run(&root.join("usr/bin/guard"), &["serve", "--status"]);
    let told = String::from_utf8([status.stdout, status.stderr].concat()).unwrap();
    assert!(told.starts_with("No gateway listens"), "{told}");
    let unit = std::fs::read_to_string(root.join("usr/lib/systemd/user/guard-gateway.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/guard-gateway serve"), "{unit}");
    let unit = std::fs::read_to_string(root.join("usr/lib/systemd/system/guard-gateway.service")).unwrap();
    assert!(unit.contains("User=guard-gateway\n") && unit.contains("/usr/bin/guard-gateway serve\n"), "{unit}");
    dpkg(&["--remove", "guard"]);
    assert!(!root.join("usr").exists(), "something of the package stays");

    let root = release.path("fedora");
    let rpm = |words: &[&str]| done(Command::new("rpm").arg("--root").arg(&root).args(words));
    std::fs::create_dir_all(&root).unwrap();
    rpm(&["--initdb"]);
    rpm(&["--install", "--nodeps", "--ignorearch", ending(&files, ".rpm").to_str().unwrap()]);
    brings_all(&rpm(&["--query", "--list", "guard"]));
    let ran = release.run(&root.join("usr/bin/guard"), &["--", "sh", "-c", "exit 7"]);
    assert_eq!(ran.status.code(), Some(7), "{ran:?}");
    rpm(&["--erase", "guard"]);
    assert!(!root.join("usr/bin/guard").exists());

    // An Alpine package consists of three concatenated archives; a package for Arch is one.
    for (end, packed) in [(".apk", "--gzip"), (".pkg.tar.zst", "--zstd")] {
        let file = ending(&files, end);
        brings_all(&done(Command::new("tar").args(["--list", "--ignore-zeros", packed, "--file"]).arg(file)));
        let told = done(
            Command::new("tar")
                .args(["--extract", "--to-stdout", "--ignore-zeros", packed, "--file"])
                .arg(file)
                .arg(".PKGINFO"),
        );
        assert!(told.contains("pkgname = guard\n"), "{told}");
    }
}

#[test]
fn recipes_of_other_places_fit_the_archives() {
    if !installed(&["strip", "ruby"]) {
        return;
    }
    let release = Release::new();
    let (archives, recipes) = (release.path("archives"), release.path("recipes"));
    let machine = std::env::consts::ARCH;
    for system in ["unknown-linux-gnu", "apple-darwin"] {
        for target in ["x86_64", "aarch64"].map(|machine| format!("{machine}-{system}")) {
            let mut made = script_of("archive");
            made.args([release.path("guard"), release.path("guard-gateway"), target.into(), archives.clone()]);
            done(&mut made);
        }
    }
    let mut made = script_of("recipes");
    done(made.args([&archives, &recipes]).env("REPOSITORY", "https://example.org/guard"));

    let formula = std::fs::read_to_string(recipes.join("guard.rb")).unwrap();
    assert!(!formula.contains("@"), "{formula}");
    assert_eq!(formula.matches("https://example.org/guard/releases/download/v").count(), 4, "{formula}");
    done(Command::new("ruby").arg("-c").arg(recipes.join("guard.rb")));

    // Does the same as makepkg: verifies the checksum of the archive that the file names, extracts it, and calls
    // package().
    let built = r#"set -eu
        . "$1/PKGBUILD"
        sources=source_$CARCH[0] sums=sha256sums_$CARCH[0]
        archive=$2/${!sources##*/}
        echo "${!sums}  $archive" | sha256sum --check --status
        tar --extract --gzip --file "$archive" --directory "$3"
        mkdir "$3/package"
        pkgdir=$3/package
        cd "$3"
        package
        cd "$pkgdir" && find . -type f"#;
    let place = release.path("place");
    std::fs::create_dir(&place).unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", built, "bash"]).args([&recipes, &archives, &place]).env("CARCH", machine);
    let files = done(&mut bash);
    for wanted in ["usr/bin/guard", "usr/bin/guard-gateway", "usr/share/man/man8/guard-gateway.8"] {
        assert!(files.lines().any(|name| name == format!("./{wanted}")), "no {wanted} in {files}");
    }
    let ran = release.run(&place.join("package/usr/bin/guard"), &["--", "true"]);
    assert!(ran.status.success(), "{ran:?}");
}

#[test]
fn npm_packages_are_installed_and_start_the_program_of_this_platform() {
    if !installed(&["npm", "strip"]) {
        return;
    }
    let release = Release::new();
    let files = release.packages("npm");
    let prefix = release.path("prefix");
    std::fs::create_dir(&prefix).unwrap();
    let mut install = Command::new("npm");
    install.args(["install", "--offline", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&prefix).args(&files);
    done(install.env("npm_config_cache", release.path("cache")));

    let guard = prefix.join("node_modules/.bin/guard");
    let version = release.run(&guard, &["--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap(), concat!("guard ", env!("CARGO_PKG_VERSION"), "\n"));
    let ran = release.run(&guard, &["--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(ran.status.code(), Some(128 + 15), "{ran:?}");
    let status = release.run(&guard, &["serve", "--status"]);
    let told = String::from_utf8([status.stdout, status.stderr].concat()).unwrap();
    assert!(told.starts_with("No gateway listens"), "{told}");

    // If the program for the platform is missing, an error is printed and nothing runs.
    let platform = std::fs::read_dir(prefix.join("node_modules")).unwrap().map(|entry| entry.unwrap());
    for package in platform.filter(|entry| entry.file_name().to_string_lossy().starts_with("guard-shell-")) {
        std::fs::remove_dir_all(package.path()).unwrap();
    }
    let missing = release.run(&guard, &["--", "true"]);
    assert_eq!(missing.status.code(), Some(125));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("is not installed"), "{missing:?}");
}
