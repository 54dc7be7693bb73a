//! The digest of the sources to which the README's figures apply: all files that guard is built from, except the
//! gateway and tests.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Returns the first digits of the digest of the sources below this directory.
pub fn digest(root: &Path) -> String {
    let mut files = Vec::new();
    for place in ["src", "patterns", ".cargo", "Cargo.toml", "Cargo.lock", "benches/processes.rs"] {
        collect(&root.join(place), &mut files);
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        let bytes = fs::read(&file).expect("a source that was just there");
        hasher.update(format!("{name}\0{}\0", bytes.len()));
        hasher.update(bytes);
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // These are not part of the measured program.
    if path.ends_with("src/gateway") || matches!(name.as_str(), "tests" | "tests.rs" | "deny.toml") {
        return;
    }
    if path.is_file() {
        files.push(path.to_owned());
        return;
    }
    let entries = fs::read_dir(path).expect("a directory of sources");
    for entry in entries {
        collect(&entry.expect("an entry").path(), files);
    }
}
