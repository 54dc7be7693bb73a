//! Tests that the code specific to an operating system is in one package.

use std::fs;

use super::{root, sources};

/// Names that query the operating system, or that exist only on Linux.
const OF_A_SYSTEM: [&str; 8] = [
    "target_os",
    "target_vendor",
    "cfg(unix)",
    "std::os::linux",
    "sys::inotify",
    "sys::prctl",
    "libc::prctl",
    "libc::syscall",
];

/// Returns the first such name in a file's code. Comments may contain them.
fn says_of_a_system(text: &str) -> Option<&'static str> {
    let code = || text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    let reads_processes =
        code().any(|line| line.contains("\"/proc/{") || line.contains("\"/proc/self") || line.contains("\"/proc/sys"));
    OF_A_SYSTEM.into_iter().find(|word| code().any(|line| line.contains(word))).or(reads_processes.then_some("/proc"))
}

#[test]
fn only_the_package_of_the_systems_asks_which_system_this_is() {
    let place = root().join("src/system");
    let (mut inside, mut outside) = (0, Vec::new());
    let mut all = sources(&root().join("src"));
    all.extend(sources(&root().join("src/gateway")));
    for file in all {
        // The judge reads no files, so a `/proc` in it refers to the commands that it judges.
        let is_judge = file.starts_with(root().join("src/judge"));
        let Some(word) = says_of_a_system(&fs::read_to_string(&file).unwrap()) else { continue };
        if is_judge && word == "/proc" {
            continue;
        }
        if file.starts_with(&place) {
            inside += 1;
        } else {
            outside.push(format!("{}: {word}", file.display()));
        }
    }
    assert!(inside > 2, "the search finds only {inside} files where the systems are told apart");
    assert!(outside.is_empty(), "src/system tells systems apart, nothing else does:\n{}", outside.join("\n"));
}

#[test]
fn each_way_to_ask_which_system_this_is_is_seen() {
    for text in [
        "#[cfg(target_os = \"linux\")]",
        "    if cfg!(not(target_os = \"macos\")) {}",
        "use std::os::linux::fs::MetadataExt;",
        "let _ = nix::sys::prctl::set_dumpable(true);",
        "fs::read(format!(\"/proc/{pid}/stat\"))",
    ] {
        assert!(says_of_a_system(text).is_some(), "{text}");
    }
    assert_eq!(says_of_a_system("// Linux tells it in \"/proc/self/exe\" (target_os)\nfn linux() {}"), None);
}
