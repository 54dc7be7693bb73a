//! Checks that an argument of a call in code is a name and not an option, whatever its form.

use super::*;

/// Calls that damage the path in them, in several languages.
const CALLS: [&str; 22] = [
    "python3 -c 'import shutil; shutil.rmtree(\"@\")'",
    "python3 -c 'import os; os.remove(\"@/passwd\")'",
    "python3 -c 'from pathlib import Path; Path(\"@/passwd\").unlink()'",
    "python3 -c 'import shutil; shutil.copytree(\"x\", \"@\")'",
    "python3 -c 'import os; os.chmod(\"@/passwd\", 0o777)'",
    "python3 -c 'import os; os.chown(\"@/passwd\", 0, 0)'",
    "python3 -c 'open(\"@/passwd\", \"w\").write(\"x\")'",
    "python3 -c 'import os; os.rename(\"@\", \"y\")'",
    "node -e 'require(\"fs\").rmSync(\"@\", {recursive: true})'",
    "node -e 'require(\"fs\").cpSync(\"x\", \"@\", {recursive: true})'",
    "ruby -e 'require \"fileutils\"; FileUtils.rm_rf(\"@\")'",
    "ruby -e 'require \"fileutils\"; FileUtils.cp_r(\"x\", \"@\")'",
    "ruby -e 'require \"fileutils\"; FileUtils.chmod_R(0777, \"@\")'",
    "perl -e 'unlink q(@/passwd)'",
    "perl -MFile::Path -e 'rmtree(q(@))'",
    "php -r 'unlink(\"@/passwd\");'",
    "lua -e 'os.remove(\"@/passwd\")'",
    "echo 'file delete -force -- \"@\"' | tclsh",
    "emacs --batch --eval '(delete-directory \"@\" t)'",
    "awk 'BEGIN { print 1 > \"@/passwd\" }'",
    "pwsh -c 'Remove-Item -Recurse -Force \"@\"'",
    ": > '@/passwd'",
];

/// Names of directories that look like something else.
const NAMES: [&str; 12] = [
    "--a=b",
    "-rf",
    "--",
    "-h",
    "--help",
    "--version",
    "--line",
    "--recursive=false",
    "--shell=False",
    "-n",
    "@file",
    "+x",
];

fn tier(line: &str) -> Tier {
    thread_local!(static CATALOG: Catalog = Catalog::builtin());
    let invocation = invocation(line, b"");
    CATALOG.with(|catalog| judge(&invocation, catalog, &Policy::default(), &Answers::none()).risk.tier)
}

#[test]
fn a_name_that_looks_like_an_option_makes_no_call_harmless() {
    let mut fails = Vec::new();
    for call in CALLS {
        let said = tier(&call.replace('@', "abc/../../../../etc"));
        assert!(said >= Tier::High, "{call}: {said:?}");
        for name in NAMES {
            let line = call.replace('@', &format!("{name}/../../../../etc"));
            let found = tier(&line);
            if found < said {
                fails.push(format!("{found:?} instead of {said:?}: {line}"));
            }
        }
    }
    assert!(fails.is_empty(), "{}", fails.join("\n"));
}

#[test]
fn what_a_program_that_is_started_by_code_is_given_are_its_options() {
    for line in [
        "python3 -c 'import subprocess; subprocess.run([\"git\", \"push\", \"--force\"])'",
        "python3 -c 'import git; git.Repo(\".\").git.push(\"--force\")'",
        "python3 -c 'import sh; sh.git.push(\"--force\")'",
        "node -e 'require(\"child_process\").spawnSync(\"git\", [\"push\", \"--force\"])'",
        "ruby -e 'system(\"git\", \"push\", \"--force\")'",
        "perl -e 'system(\"git\", \"push\", \"--force\")'",
    ] {
        assert_eq!(tier(line), tier("git push --force"), "{line}");
    }
}

#[test]
fn names_that_a_list_holds_are_no_options_of_a_program_that_reads_none_there() {
    for (name, plain) in [("--help", "abc"), ("-h", "abc"), ("--dry-run", "abc")] {
        let listed = |name: &str| tier(&format!("echo {name} > l; git rm -rf --pathspec-from-file=l"));
        assert!(listed(name) >= listed(plain), "{name}");
    }
}
