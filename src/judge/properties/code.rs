//! Checks that special characters in a file of code are ordinary text, also those that the readers of code use
//! internally.

use super::*;

/// Characters that the readers of code once used as markers, alone or with a NUL before or after them.
const SIGNS: [&str; 7] = ["\u{fffc}", "\u{e001}", "\u{e002}", "\u{e003}", "\u{e004}", "\u{e005}", "\u{fffd}"];

/// Files by name, with `@` in place of the tested characters, and the lines that run them.
const FILES: [(&str, &str, &str); 22] = [
    ("v.py", "import shutil\nshutil.rmtree('@/etc')\n", "python3 v.py"),
    ("v.py", "import shutil\nshutil.rmtree('/tmp/@/../../etc')\n", "python3 v.py"),
    ("v.py", "import os\nos.system('rm -rf @/etc')\n", "python3 - < v.py"),
    ("v.py", "open('@/etc/passwd', 'w').write('')\n", "cat v.py | python3"),
    ("v.py", "import shutil\n@shutil.rmtree('/etc')\n", "python3 v.py"),
    ("v.js", "require('fs').rmSync('@/etc', {recursive: true})\n", "node v.js"),
    ("v.js", "require('child_process').execSync(`rm -rf @/etc`)\n", "node v.js"),
    ("v.rb", "require 'fileutils'\nFileUtils.rm_rf(\"@/etc\")\n", "ruby v.rb"),
    ("v.pl", "use File::Path; rmtree('@/etc'); unlink('@/etc/passwd');\n", "perl v.pl"),
    ("v.php", "<?php unlink('@/etc/passwd');\n", "php v.php"),
    ("v.lua", "os.remove('@/etc/passwd')\n", "lua v.lua"),
    ("v.sql", "drop table \"@users\";\ndelete from @users;\n", "psql -f v.sql"),
    ("v.awk", "BEGIN { print 1 > \"@/etc/passwd\"; system(\"rm -rf @/etc\") }\n", "awk -f v.awk"),
    ("v.sed", "w @/etc/passwd\n", "sed -f v.sed x"),
    ("v.ps1", "Remove-Item -Recurse -Force \"@/etc\"\n", "pwsh -File v.ps1"),
    ("v.ps1", "& \"@rm\" -rf /etc; Remove-Item -Recurse -Force /etc\n", "pwsh -File v.ps1"),
    ("v.tcl", "file delete -force -- \"@/etc\"\n", "tclsh v.tcl"),
    ("v.sh", "rm -rf @/etc\n", "bash v.sh"),
    ("v.sh", "python3 <<'E'\nimport shutil\nshutil.rmtree('@/etc')\nE\n", "sh v.sh"),
    ("v.sh", "python3 -c \"import shutil; shutil.rmtree('@/etc')\"\n", ". ./v.sh"),
    ("v.py", "import shutil\nshutil.rmtree('@/etc')\n", "python3 -c \"$(cat v.py)\""),
    ("v.py", "import shutil\nshutil.rmtree('@/etc')\n", "D=$(mktemp -d); cp v.py $D; python3 $D/v.py"),
];

impl Judge {
    /// Returns the tier of a line beside which a file exists; the highest tier if a part of the file could not be read,
    /// because a person is asked about that.
    fn tier_with(&self, line: &str, name: &str, content: &str) -> Tier {
        self.tier_with_bytes(line, name, content.as_bytes())
    }

    fn tier_with_bytes(&self, line: &str, name: &str, content: &[u8]) -> Tier {
        let world = |question: &Question| match question {
            Question::File(path) if path.rsplit('/').next() == Some(name) => {
                WorldAnswer::File(FileFacts::Text { bytes: content.to_vec(), digest: [0; 32] })
            }
            other => answer(other, "Ж"),
        };
        let judgment = judged(&self.catalog, &self.policy, &invocation(line, b""), &world);
        if judgment.facts.opaque.is_empty() { judgment.risk.tier } else { Tier::Critical }
    }
}

#[test]
fn a_file_of_code_says_nothing_by_a_sign() {
    let (judge, mut lower) = (Judge::new(), Vec::new());
    for (name, content, line) in FILES {
        let plain = judge.tier_with(line, name, &content.replace('@', LETTER));
        let signs = SIGNS.iter().flat_map(|sign| [format!("\0{sign}"), (*sign).to_owned(), format!("{sign}\0")]);
        for sign in signs.chain(["\0".to_owned(), "\0\0".to_owned()]) {
            let tier = judge.tier_with(line, name, &content.replace('@', &sign));
            if tier < plain {
                lower.push(format!("{sign:?} in {content:?} by {line}: {tier:?} < {plain:?}"));
            }
        }
    }
    assert!(lower.is_empty(), "{} are lower:\n{}", lower.len(), lower.join("\n"));
}

/// Checks that code is read whatever its comments contain.
#[test]
fn a_byte_that_is_no_text_hides_no_code() {
    let judge = Judge::new();
    for (name, content, line) in [
        ("v.py", "# coding: latin-1 @\nimport shutil\nshutil.rmtree('/etc')\n", "python3 v.py"),
        ("v.js", "// @\nrequire('fs').rmSync('/etc', {recursive: true})\n", "node v.js"),
        ("v.pl", "# @\nuse File::Path; rmtree('/etc');\n", "perl v.pl"),
        ("v.rb", "# @\nrequire 'fileutils'\nFileUtils.rm_rf('/etc')\n", "ruby v.rb"),
        ("v.sh", ": @; rm -rf /etc\n", "dash v.sh"),
        ("v.sh", ": @; rm -rf /etc\n", "./v.sh"),
        ("v.sh", "#!/bin/sh @\nrm -rf /etc\n", "./v.sh"),
    ] {
        let plain = judge.tier_with(line, name, &content.replace('@', LETTER));
        assert!(plain >= Tier::High, "{line}");
        let mut bytes: Vec<&[u8]> = vec![b"\0", b"a\0b"];
        bytes.extend((!line.starts_with("./v.sh")).then_some([b"\xff".as_slice(), b"\xe9\0"]).into_iter().flatten());
        for byte in bytes {
            let at = content.find('@').unwrap();
            let with = [&content.as_bytes()[..at], byte, &content.as_bytes()[at + 1..]].concat();
            assert!(judge.tier_with_bytes(line, name, &with) >= plain, "{byte:?} in {content:?}");
        }
    }
}

/// Checks the same for a program that an agent passes in a here-document.
#[test]
fn a_document_of_code_says_nothing_by_a_sign() {
    let judge = Judge::new();
    for line in [
        |sign: &str| format!("python3 <<'E'\nimport shutil\nshutil.rmtree('{sign}/etc')\nE\n"),
        |sign: &str| format!("node <<'E'\nrequire('fs').rmSync('{sign}/etc', {{recursive: true}})\nE\n"),
        |sign: &str| format!("cat > v.py <<'E'\nimport shutil\nshutil.rmtree('{sign}/etc')\nE\npython3 v.py\n"),
    ] {
        let plain = judge.tier(line(LETTER), LETTER);
        for sign in SIGNS {
            for sign in [format!("\0{sign}"), sign.to_owned()] {
                assert!(judge.tier(line(&sign), LETTER) >= plain, "{sign:?} in {}", line(LETTER));
            }
        }
    }
}

/// Checks that a text that is partly unknown stays so when code replaces parts of it.
#[test]
fn what_is_not_known_stays_so_whatever_code_puts_in_its_place() {
    let (judge, mut lower) = (Judge::new(), Vec::new());
    let lines: [fn(&str, &str) -> String; 6] = [
        |a, b| format!("python3 -c \"import shutil; shutil.rmtree('$X/etc'.replace('{a}', '{b}'))\""),
        |a, b| format!("python3 -c \"import shutil; shutil.rmtree('$X/etc'.replace('\\x00{a}', '\\x00{b}'))\""),
        |a, b| format!("node -e \"require('fs').rmSync('$X/etc'.replace('{a}', '{b}'), {{recursive: true}})\""),
        |a, b| format!("ruby -e \"require 'fileutils'; FileUtils.rm_rf('$X/etc'.replace('{a}', '{b}'))\""),
        |a, b| format!("node -e \"require('fs').rmSync('$X/etc'.split('{a}').join('{b}'), {{recursive: true}})\""),
        |a, b| format!("php -r \"array_map('unlink', explode('{a}', '$X/etc/passwd{b}'));\""),
    ];
    for line in lines {
        let plain = judge.tier(line(LETTER, LETTER), LETTER);
        for (from, to) in SIGNS.iter().flat_map(|from| SIGNS.iter().map(move |to| (from, to))) {
            let tier = judge.tier(line(from, to), LETTER);
            if tier < plain {
                lower.push(format!("{from:?} {to:?} in {}: {tier:?} < {plain:?}", line("A", "B")));
            }
        }
    }
    assert!(lower.is_empty(), "{} are lower:\n{}", lower.len(), lower.join("\n"));
}
