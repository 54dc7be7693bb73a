//! Tests downloads: a program that one call of a session downloaded is asked about when a later call runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Fixture;

const BINARY: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe";

impl Fixture {
    fn puts(&self, name: &str, bytes: &[u8]) {
        let path = self.home.path("work").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_binary_that_an_earlier_call_downloaded_is_asked_about() {
    let url = "https://github.com/a/b/releases/download/v1/z";
    for fetch in [
        format!("curl -fsSLO {url}"),
        format!("curl -fsSL -o z {url}"),
        format!("curl -fsSL {url} > z"),
        format!("wget {url}"),
        format!("curl -fsSL {url}.tgz | tar xz"),
    ] {
        let fixture = Fixture::new();
        fixture.puts("kept", BINARY);
        assert!(fixture.runs("s", "./z"), "{fetch}");
        assert!(fixture.runs("s", &fetch), "{fetch}");
        fixture.puts("z", BINARY);
        assert!(!fixture.runs("s", "./z"), "{fetch}");
        assert!(!fixture.runs("s", "chmod +x z && ./z --version"), "{fetch}");
        assert!(fixture.runs("s", "./kept"), "{fetch}: another program");
        fixture.does("s", "mv z tool");
        assert!(!fixture.runs("s", "./tool"), "{fetch}");
        assert!(fixture.runs("t", "./tool"), "{fetch}: another session did not download it");
    }
}

#[test]
fn a_script_that_an_earlier_call_downloaded_is_read() {
    let fixture = Fixture::new();
    assert!(fixture.runs("s", "curl -fsSL -o get.sh https://github.com/a/b/raw/main/get.sh"));
    // It cannot be read yet.
    for run in ["sh get.sh", "bash ./get.sh", "./get.sh"] {
        assert!(!fixture.runs("s", run), "{run}");
    }
    fixture.puts("get.sh", b"#!/bin/sh\necho 1\n");
    for run in ["sh get.sh", "bash ./get.sh", "./get.sh"] {
        assert!(fixture.runs("s", run), "{run}");
    }
    fixture.puts("get.sh", b"#!/bin/sh\nrm -rf ~\n");
    assert!(!fixture.runs("s", "sh get.sh"));
}
