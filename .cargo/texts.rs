//! Compresses the long texts that the program only prints or reads on request, for `src/app/packed_text.rs`.

use std::fs;
use std::io;
use std::path::Path;

/// The manual pages, and the commands for testing a reviewer.
const TEXTS: [&str; 8] = [
    "man/guard.1",
    "man/guard-agents.7",
    "man/guard-approvals.7",
    "man/guard-gateway.8",
    "man/guard-record.7",
    "man/guard-reviewer.7",
    "man/guard-patterns.5",
    "patterns/reviewer/evaluation.toml",
];

/// The best compression of deflate.
const LEVEL: u8 = 10;

/// Writes each text to `out`, under its base name.
pub fn pack(out: &Path) -> io::Result<()> {
    for path in TEXTS.map(Path::new) {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        fs::write(out.join(name), miniz_oxide::deflate::compress_to_vec(&fs::read(path)?, LEVEL))?;
    }
    Ok(())
}
