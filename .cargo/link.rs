//! Links the program statically if the libraries of a Linux machine with a C compiler allow it.
//!
//! guard starts before every command, and the dynamic loader took a third of that start. Rust's option for static
//! programs (`crt-static`) needs `--target` as soon as a dependency is a procedural macro, which moves the program away
//! from `target/release`. Therefore this script passes options to the linker: `-static-pie`, and a directory that is
//! searched first, in which each library that the standard library needs is replaced by its archive. The program
//! remains position-independent.
//!
//! A release build also groups the code that runs at every start, and omits the tables that only unwinding would read.
//!
//! Nothing changes if an archive is missing, on other systems, for cross-compilation, and with `GUARD_LINK=dynamic`.
//! `GUARD_WITHOUT` disables one measure: `own-start`, `order`, `discard`, `packed-relocations` or `static`. `cargo
//! bench --bench start` compares builds without each of them, and fails if one saves less than 2 % of everything that
//! it counts.
//!
//! The long texts that the program contains are compressed by [`texts`].

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

mod texts;

/// The libraries that the standard library links on GNU/Linux, and the archives that replace them. Unwinding is in two
/// archives of the compiler, which need the C library themselves.
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("gcc_s", &["libgcc_eh.a", "libgcc.a", "libc.a"]),
    ("c", &["libc.a", "libgcc_eh.a", "libgcc.a"]),
    ("m", &["libm.a"]),
    ("rt", &["librt.a"]),
    ("pthread", &["libpthread.a"]),
    ("util", &["libutil.a"]),
    ("dl", &["libdl.a"]),
];

/// Compresses the texts, and prints the instructions for cargo: how to link the program, and the variables with which
/// the program describes its build.
fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo names no OUT_DIR"))?;
    texts::pack(Path::new(&out))?;
    let linked = if statically(Path::new(&out))? { "static" } else { "dynamic" };
    for (name, value) in [
        ("GUARD_LINKED", linked.to_owned()),
        ("GUARD_TARGET", env::var("TARGET").unwrap_or_default()),
        ("GUARD_PROFILE", profile(Path::new(&out)).unwrap_or_default()),
        ("GUARD_RUSTC", compiler().unwrap_or_default()),
    ] {
        println!("cargo::rustc-env={name}={value}");
    }
    // With the GNU C library the program starts without Rust's runtime: see src/main.rs.
    println!("cargo::rustc-check-cfg=cfg(own_start)");
    println!("cargo::rerun-if-env-changed=GUARD_WITHOUT");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_without("own-start") {
        println!("cargo::rustc-cfg=own_start");
    }
    println!("cargo::rerun-if-env-changed=GUARD_COMMIT");
    Ok(())
}

/// Reports whether cargo sets a variable to this value.
fn is(variable: &str, value: &str) -> bool {
    env::var(variable).is_ok_and(|found| found == value)
}

/// Reports whether this measure is disabled, so that its effect can be measured.
fn is_without(measure: &str) -> bool {
    is("GUARD_WITHOUT", measure)
}

/// Returns the name of the profile. cargo passes it to a build script only as part of its output directory,
/// `target/[TRIPLE/]PROFILE/build/…/out`.
fn profile(out: &Path) -> Option<String> {
    let directory = out.ancestors().find(|directory| directory.file_name().is_some_and(|name| name == "build"))?;
    Some(directory.parent()?.file_name()?.to_str()?.to_owned())
}

/// Returns the version of the compiler: `rustc 1.90.0 (…)`.
fn compiler() -> Option<String> {
    let answer = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(answer.stdout).ok()?.trim_end().to_owned())
}

/// Configures static linking if it is possible. Returns whether it is.
fn statically(out: &Path) -> io::Result<bool> {
    println!("cargo::rerun-if-changed=.cargo/link.rs");
    println!("cargo::rerun-if-env-changed=GUARD_LINK");
    let here = env::var_os("HOST") == env::var_os("TARGET");
    let dynamic = is("GUARD_LINK", "dynamic") || is_without("static");
    if !here || !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") || dynamic {
        return Ok(false);
    }
    let directory = out.join("static");
    fs::create_dir_all(&directory)?;
    if found("rcrt1.o").is_none() {
        return Ok(false);
    }
    for (library, archives) in LIBRARIES {
        let Some(paths) = archives.iter().map(|archive| found(archive)).collect::<Option<Vec<_>>>() else {
            return Ok(false);
        };
        let paths: Vec<_> = paths.iter().map(|path| format!("\"{}\"", path.display())).collect();
        fs::write(directory.join(format!("lib{library}.a")), format!("GROUP ( {} )\n", paths.join(" ")))?;
    }
    println!("cargo::rustc-link-arg-bins=-static-pie");
    println!("cargo::rustc-link-arg-bins=-L{}", directory.display());
    if library_version().is_some_and(|version| version >= (2, 36)) && !is_without("packed-relocations") {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if is("PROFILE", "release") {
        let script = directory.join("sections.ld");
        let order = if is_without("order") { String::new() } else { start_together()? };
        let discard = if is_without("discard") { "" } else { WITHOUT_UNWINDING };
        fs::write(&script, order + discard)?;
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
    Ok(true)
}

/// Returns a linker script that places the functions of every start next to each other, before all others. A page is
/// loaded together with its neighbours; if the functions were spread over the program, the start would touch nearly all
/// pages. `.cargo/order` writes the list; its groups, separated by empty lines, are placed in this order.
fn start_together() -> io::Result<String> {
    const LIST: &str = ".cargo/start.sections";
    println!("cargo::rerun-if-changed={LIST}");
    let list = fs::read_to_string(LIST)?;
    let sections: Vec<_> = list.lines().filter(|line| !line.starts_with('#')).collect();
    Ok(format!("SECTIONS {{ .text.start : {{\n{}\n}} }} INSERT BEFORE .text;\n", sections.join("\n")))
}

/// A linker script that omits the tables for unwinding, a twelfth of the program. Nothing reads them if a panic aborts,
/// as in this profile.
const WITHOUT_UNWINDING: &str = "\
SECTIONS { /DISCARD/ : { *(.eh_frame) *(.eh_frame_hdr) *(.gcc_except_table .gcc_except_table.*) } } INSERT AFTER .text;
";

/// Returns the version of the C library. From 2.36 on a static program can relocate itself with the packed table, which
/// has a twentieth of the size.
fn library_version() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// Returns the path at which the C compiler, which is the linker, finds one of its files or of the C library's.
fn found(file: &str) -> Option<PathBuf> {
    let answer = Command::new("cc").arg(format!("-print-file-name={file}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(answer.stdout).ok()?.trim_end());
    (path.is_absolute() && path.is_file()).then_some(path)
}
