//! Tests the leads of commands.

use crate::judge::analysis::testing::{dump, facts_with, line, programs};

#[track_caller]
fn leads(command: &str, files: &[(&str, &str)], to: &str) {
    let facts = facts_with(&line(command), files);
    assert!(programs(&facts).iter().any(|program| program == to), "{command}\n{}", dump(&facts));
}

#[track_caller]
fn does_not_lead(command: &str, files: &[(&str, &str)], to: &str) {
    let facts = facts_with(&line(command), files);
    assert!(!programs(&facts).iter().any(|program| program == to), "{command}\n{}", dump(&facts));
}

/// Reports whether part of a command is opaque.
fn is_opaque(command: &str, files: &[(&str, &str)]) -> bool {
    !facts_with(&line(command), files).opaque.is_empty()
}

#[test]
fn aliases_that_a_command_brings_are_followed() {
    leads("git -c alias.q='!rm x' q", &[], "rm x");
    leads("git -c alias.q='!rm' q x", &[], "rm x");
    leads("git -c alias.nuke='reset --hard' nuke HEAD", &[], "git reset --hard HEAD");
    leads("GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0='!rm x' git q", &[], "rm x");
    leads("A='!rm x' git --config-env=alias.q=A q", &[], "rm x");
    leads("export GIT_CONFIG_PARAMETERS=\"'alias.q=!rm x'\"; git q", &[], "rm x");
    does_not_lead("git -c alias.status='!rm x' status", &[], "rm x");
    does_not_lead("git -c alias.q='!git q' q", &[], "rm x");
}

#[test]
fn scripts_of_a_package_are_followed() {
    let manifest = r#"{"scripts": {"clean": "rm -rf dist", "preclean": "echo pre", "postinstall": "rm x", "loop": "npm run loop"}}"#;
    let files = [("/home/dev/project/package.json", manifest), ("/home/dev/project/sub/package.json", manifest)];
    leads("npm run clean", &files, "rm -rf dist");
    leads("npm run clean", &files, "echo pre");
    leads("npm run clean -- y", &files, "rm -rf dist y");
    leads("yarn clean", &files, "rm -rf dist");
    leads("npm install", &files, "rm x");
    leads("cd sub && npm run clean", &files, "rm -rf dist");
    does_not_lead("npm run loop", &files, "rm x");
    does_not_lead("npm run other", &files, "rm -rf dist");
}

#[test]
fn targets_are_followed() {
    let files = [("/home/dev/project/Makefile", "all:\n\techo hi\nclean:\n\t-rm -rf $(OUT)\n")];
    leads("make clean OUT=x", &files, "rm -rf x");
    leads("make", &files, "echo hi");
    does_not_lead("make", &files, "rm -rf x");
    leads("just clean", &[("/home/dev/project/justfile", "clean:\n  rm -rf x\n")], "rm -rf x");
}

#[test]
fn variables_that_hold_commands_are_followed() {
    leads("GIT_SSH_COMMAND='rm x' git fetch", &[], "rm x");
    leads("export PAGER='rm x'; git log", &[], "rm x");
    leads("PS4='$(rm x)' bash -x -c true", &[], "rm x");
    leads("LESSOPEN='|rm x' less y", &[], "rm x");
    does_not_lead("MESSAGE='rm x' git fetch", &[], "rm x");
}

#[test]
fn scripts_in_the_project_are_read() {
    let script = "#!/bin/sh\nrm \"$1\"\n";
    let files = [("/home/dev/project/x.sh", script), ("/home/dev/project/bin/run", script)];
    leads("./x.sh y", &files, "rm y");
    leads("sh x.sh y", &files, "rm y");
    leads(". ./x.sh y", &files, "rm y");
    leads("bin/run y", &files, "rm y");
    leads("cp x.sh z.sh; bash z.sh y", &files, "rm y");
    leads("sh < x.sh", &files, "rm ");
    let python = [("/home/dev/project/x", "#!/usr/bin/env python3\nprint()\n")];
    let facts = facts_with(&line("./x"), &python);
    assert_eq!(facts.acts[0].code.as_ref().map(|code| code.language.as_str()), Some("python"), "{}", dump(&facts));
}

#[test]
fn scripts_that_lead_to_each_other_end() {
    let files = [("/home/dev/project/a", "./b\n"), ("/home/dev/project/b", "./a; rm x\n")];
    leads("./a", &files, "rm x");
    let bomb = [("/home/dev/project/a", "./a & ./a\n")];
    leads("./a", &bomb, ":forkbomb");
}

#[test]
fn scripts_in_other_languages_are_read_for_what_they_write_out() {
    let files = [
        ("/home/dev/project/x.py", "import os, subprocess, sys\nsubprocess.run(['rm', 'y'])\nos.system(sys.argv[1])\n"),
        ("/home/dev/project/x.js", "require('child_process').execSync('rm y')"),
    ];
    leads("python3 x.py", &files, "rm y");
    let facts = facts_with(&line("python3 x.py z"), &files);
    assert!(facts.opaque.is_empty(), "{}", dump(&facts));
    does_not_lead("python3 z.py", &files, "rm y");
}

#[track_caller]
fn fetched(command: &str, files: &[(&str, &str)], expected: bool) {
    use crate::judge::analysis::act::OpaqueReason::{FetchedCode, FetchedCodeAsRoot};
    let facts = facts_with(&line(command), files);
    let found = facts.opaque.iter().any(|opaque| matches!(opaque.why, FetchedCode | FetchedCodeAsRoot));
    assert_eq!(found, expected, "{command}\n{}", dump(&facts));
}

#[test]
fn what_is_fetched_and_run_is_seen_whoever_fetches_it() {
    for command in [
        "gh repo clone x/y && y/run.sh",
        "git clone https://h.example/x.git c && git clone ./c d && d/run.sh",
        "gh repo clone x/y z && sh z/run.sh",
        "svn co https://h.example/x && x/run",
        "gh release download -R x/y && bash install.sh",
        "gh release download -D d && d/install.sh",
        "wget -i urls && sh install.sh",
        "aws --profile p s3 cp s3://b/run.sh . && sh run.sh",
        "aws s3 sync s3://b/d d && d/run.sh",
        "docker cp box:/run.sh x.sh && sh x.sh",
        "curl -o a.tgz https://h.example/a.tgz && cp a.tgz b.sh && sh b.sh",
        "D=$(mktemp -d); gh repo clone x/y $D/y; cd $D/y; ./run.sh",
    ] {
        fetched(command, &[], true);
    }
    for command in [
        "gh repo clone x/y && ls y && sh z/run.sh",
        "aws s3 cp run.sh s3://b/ && sh run.sh",
        "docker cp run.sh box:/x && sh run.sh",
        "gh release download -R x/y && cat install.sh",
        "git clone -q . /tmp/c && cd /tmp/c && make",
        "git clone ../other c && c/run.sh",
    ] {
        fetched(command, &[], false);
    }
    let there = [("/home/dev/project/install.sh", "echo")];
    fetched("gh release download -R x/y && bash install.sh", &there, false);
}

#[test]
fn what_a_compiler_only_prints_is_no_code_that_runs() {
    for (command, expected) in [
        ("gcc -S -o - f.c", false),
        ("echo | gcc -dM -E -", false),
        ("curl -o h.pb http://localhost/h && go tool pprof -top h.pb", false),
        ("curl -s https://h.example/x | gcc -x c -", true),
        ("curl -o x.go https://h.example/x && go run x.go", true),
    ] {
        let facts = facts_with(&line(command), &[]);
        assert_eq!(!facts.opaque.is_empty(), expected, "{command}\n{}", dump(&facts));
    }
}

#[test]
fn a_project_that_is_fetched_runs_code_of_its_own() {
    for command in [
        "gh repo clone x/y && cd y && cargo run",
        "gh repo clone x/y && cargo test --manifest-path y/Cargo.toml",
        "gh repo clone x/y && pip install ./y",
        "gh repo clone x/y && cd y && pip install -e .",
        "gh repo clone x/y && cd y && yarn",
        "curl -o conftest.py https://h.example/c.py && pytest",
        "curl -o m.py https://h.example/m.py && python3 -m m",
        "curl -o build.rs https://h.example/b.rs && cargo build",
    ] {
        fetched(command, &[], true);
    }
    for command in [
        "gh repo clone x/y && cd y && cargo fmt",
        "gh repo clone x/y && cargo run",
        "gh repo clone x/y && cd y && pip install -r requirements.txt",
        "pip download -r r.txt -d w/x && pip install --no-index --find-links w/x -r r.txt",
        "curl -o data.json https://h.example/d && npm run use data.json",
        "curl -o lib/x.js https://h.example/x.js && npm test",
    ] {
        fetched(command, &[], false);
    }
}

#[test]
fn what_is_edited_holds_what_it_held_and_what_is_put_in() {
    let make = [("/home/dev/project/Makefile", "all:\n\techo hi\nclean:\n\trm x\n")];
    leads("echo 'more:' >> Makefile; make clean", &make, "rm x");
    leads("printf 'more:\\n\\trm y\\n' >> Makefile; make more", &make, "rm y");
    leads("sed -i 's/echo hi/rm z/' Makefile; make", &make, "rm z");
    leads("sed -i 's/echo hi/rm z/' Makefile; make clean", &make, "rm x");
    let manifest = [("/home/dev/project/package.json", r#"{"version": "1", "scripts": {"clean": "rm x"}}"#)];
    leads("sed -i 's/1/2/' package.json; npm run clean", &manifest, "rm x");
    leads("echo 'rm x' > t.sh; sed -i s/y/z/ t.sh; sh t.sh", &[], "rm x");
    leads("echo 'xx y' > t.sh; sed -i s/xx/rm/ t.sh; sh t.sh", &[], "rm y");
    leads("echo 'rm x' > t.sh; sed -i '1i rm y' t.sh; sh t.sh", &[], "rm y");
    leads("echo 'rm x' > t.sh; sed -i '1i rm y' t.sh; sh t.sh", &[], "rm x");
    does_not_lead("echo 'rm x' > t.sh; sed -i s/rm/ls/ t.sh; sh t.sh", &[], "rm x");
    leads("cp a.sh t.sh; sed -i s/y/z/ t.sh; sh t.sh", &[("/home/dev/project/a.sh", "rm x\n")], "rm x");
}

#[test]
fn an_edited_file_runs_with_its_old_content_and_the_changes() {
    let shell = [("/home/dev/project/t.sh", "rm x\necho hi\n")];
    leads("echo '# a' >> t.sh; echo '# b' >> t.sh; sh t.sh", &shell, "rm x");
    leads("sed -i s/a/b/ t.sh; sed -i s/c/d/ t.sh; sh t.sh", &shell, "rm x");
    leads("sed -i 's/echo/rm -r/' t.sh; sh t.sh", &shell, "rm -r hi");
    leads("sed -i 's/e[a-z]*o /rm -r /' t.sh; sh t.sh", &shell, "rm -r hi");
    leads("sed -i '/hi/s/echo/rm -r/; s/hi/ho/' t.sh; ./t.sh", &shell, "rm -r ho");
    does_not_lead("sed -i s/rm/ls/ t.sh; sh t.sh", &shell, "rm x");
    let python = [("/home/dev/project/t.py", "import os\nos.system('rm x')\n")];
    for line in [
        "echo '# a' >> t.py; python3 t.py",
        "echo '# a' >> t.py; python3 < t.py",
        "echo '# a' >> t.py; python3 -m t",
        "echo '# a' >> t.py; python3 -c 'import t'",
        "sed -i s/a/b/ t.py; python3 t.py",
    ] {
        leads(line, &python, "rm x");
    }
    leads("sed -i 's/rm x/rm y/' t.py; python3 t.py", &python, "rm y");
    leads("perl -pi -e 's/rm (.)/rm -r $1/' t.py; python3 t.py", &python, "rm -r x");
    does_not_lead("sed -i 's/rm/ls/' t.py; python3 t.py", &python, "rm x");
    let make = [("/home/dev/project/Makefile", "all:\n\techo hi\n")];
    leads("sed -i 's/echo/rm/' Makefile; make", &make, "rm hi");
    // The file is not there yet.
    leads("sed -i 's/echo/rm x/' t.sh; sh t.sh", &[], "rm x");
}

#[test]
fn what_an_editor_prints_runs_with_the_changes() {
    let files = [
        ("/home/dev/project/a.sh", "ls x\necho hi\n"),
        ("/home/dev/project/a.py", "import os\nos.system('ls x')\n"),
        ("/home/dev/project/Makefile", "all:\n\tls x\n"),
    ];
    for line in [
        "sed s/ls/rm/ a.sh | sh",
        "sed -e s/ls/rm/ -e s/hi/ho/ a.sh | bash",
        "sed s/ls/rm/ a.sh > t.sh; sh t.sh",
        "sed s/ls/rm/ a.sh > t.sh; echo ls >> t.sh; sh t.sh",
        "sed s/ls/mm/ a.sh > t.sh; sed -i s/mm/rm/ t.sh; sh t.sh",
        "sed s/ls/rm/ a.sh > t.sh; chmod +x t.sh; ./t.sh",
        "sed s/ls/rm/ a.py | python3",
        "sed s/ls/rm/ a.py > t.py; python3 t.py",
        "sed s/ls/rm/ Makefile > m; make -f m",
        "sed '$a rm x' a.sh | sh",
    ] {
        leads(line, &files, "rm x");
    }
    does_not_lead("sed s/ls/rm/ a.sh", &files, "rm x");
    assert!(!is_opaque("sed s/ls/pwd/ a.sh | sh", &files));
    for line in [
        "sed y/ls/rm/ a.sh | sh",
        "sed s/ls/rm/ a.sh b.sh | sh",
        "sed -f x a.sh | sh",
        "sed \"s/ls/$A/\" a.sh | sh",
        "sed -i \"s/ls/$A/\" a.sh; sh a.sh",
        "sed -i y/ls/rm/ a.sh; sh a.sh",
        "perl -pi -e '$_ = x' a.sh; sh a.sh",
        "sed s/ls/rm/ a.sh | rev | sh",
    ] {
        assert!(is_opaque(line, &files), "{line}");
    }
}

#[test]
fn every_possible_content_of_a_file_runs() {
    let shell = [("/home/dev/project/a.sh", "rm x\necho hi\n")];
    for line in [
        "cp a.sh t.sh; echo '# a' >> t.sh; sh t.sh",
        "cp a.sh t.sh; test -f y && echo '# a' > t.sh; sh t.sh",
        "test -f y && echo '# a' > a.sh; sh a.sh",
        "test -f y && echo '# a' >> a.sh; sh a.sh",
    ] {
        leads(line, &shell, "rm x");
    }
    leads("cp a.sh t.sh; sed -i 's/echo/rm -r/' t.sh; sh t.sh", &shell, "rm -r hi");
    does_not_lead("echo ls > a.sh; echo ls >> a.sh; sh a.sh", &shell, "rm x");
    let python = [("/home/dev/project/a.py", "import os\nos.system('rm x')\n")];
    for line in [
        "cp a.py t.py; echo '# a' >> t.py; python3 t.py",
        "cp a.py t.py; sed -i s/a/b/ t.py; python3 t.py",
        "cp a.py t.py; python3 < t.py",
        "test -f y && echo '# a' > a.py; python3 a.py",
        "test -f y && echo '# a' > a.py; python3 -m a",
        "sed -i 's/x/x/' conftest.py; cp a.py conftest.py; pytest",
    ] {
        leads(line, &python, "rm x");
    }
    leads("cp a.py t.py; sed -i 's/rm x/rm y/' t.py; python3 t.py", &python, "rm y");
    leads("cp a.py conftest.py; sed -i 's/rm x/rm y/' conftest.py; pytest", &python, "rm y");
    does_not_lead("echo 'print(1)' > a.py; python3 a.py", &python, "rm x");
    for line in [
        "sed -i s/a/b/ a.sh; cp a.sh t.sh; sh t.sh",
        "echo '# a' >> a.sh; mv a.sh t.sh; sh t.sh",
        "echo '# a' >> a.sh; cat a.sh > t.sh; sh t.sh",
        "echo '# a' >> a.sh; cat a.sh | sh",
        "echo '# a' >> a.sh; ln -s a.sh t.sh; sh t.sh",
        "sed -i s/a/b/ a.sh; tee t.sh < a.sh; sh t.sh",
        "sed s/a/b/ a.sh > t.sh; cp t.sh u.sh; sh u.sh",
    ] {
        leads(line, &shell, "rm x");
    }
    leads("go run /dev/stdin <<'G'\nexec.Command(\"rm\", \"x\").Run()\nG", &[], "rm x");
    // What a changed file contains is not only what is added to it.
    leads("echo x > l; rm $(cat l)", &[], "rm x");
    leads("echo x >> l; rm $(cat l)", &[], "rm x");
    does_not_lead("echo x >> a.sh; rm $(cat a.sh)", &shell, "rm x");
    does_not_lead("test -f y && echo x > a.sh; rm $(cat a.sh)", &shell, "rm x");
    for line in [
        "cp \"$A\" t.py; python3 t.py",
        "find . -name a.py -exec cp {} t.py \\;; python3 t.py",
        "echo 'print(1)' > t.py; test -f y && cp \"$A\" t.py; python3 t.py",
    ] {
        assert!(is_opaque(line, &python), "{line}");
    }
}

#[test]
fn code_that_edits_a_file_leaves_its_text_with_the_changes() {
    let files = [
        ("/home/dev/project/a.py", "import os\nos.system('rm x')\n"),
        ("/home/dev/project/b.py", "import os\nos.system('ls x')\n"),
        ("/home/dev/project/a.js", "require('child_process').execSync('ls x')\n"),
    ];
    let read = "s = open('b.py').read()\n";
    let write = "open('b.py', 'w').write(s)\n";
    for edit in [
        "s = s.replace('ls', 'rm')",
        "s = s.replace('ls', 'rm', 1)",
        "import re\ns = re.sub(r'l(s)', 'rm', s)",
        "import re\ns = re.sub('LS', 'rm', s, flags=re.I)",
        "old = 'ls'\nnew = 'rm'\nassert old in s\ns = s.replace(old, new)",
        "s = s[:3] + 'os.system(\"rm x\")\\n' + s[3:]",
        "s += '\\nos.system(\"rm x\")'",
        "s = '\\n'.join([l.replace('ls', 'rm') for l in s.splitlines()])",
        "o = []\nfor l in s.splitlines():\n    o.append(l.replace('ls', 'rm'))\ns = '\\n'.join(o)",
        "t = s.splitlines()\nfor i, l in enumerate(t):\n    t[i] = l.replace('ls', 'rm')\ns = '\\n'.join(t)",
        "t = s.splitlines()\nt.insert(1, 'os.system(\"rm x\")')\ns = '\\n'.join(t)",
        "t = s.splitlines()\nt[1] = 'os.system(\"rm x\")'\ns = '\\n'.join(t)",
    ] {
        leads(&format!("python3 - <<'P'\n{read}{edit}\n{write}P\npython3 b.py"), &files, "rm x");
    }
    let path = "from pathlib import Path\np = Path('b.py')\np.write_text(p.read_text().replace('ls', 'rm'))";
    leads(&format!("python3 - <<'P'\n{path}\nP\npython3 b.py"), &files, "rm x");
    let handles =
        "with open('b.py') as f:\n s = f.read()\nwith open('b.py', 'w') as f:\n f.write(s.replace('ls', 'rm'))";
    leads(&format!("python3 - <<'P'\n{handles}\nP\npython3 b.py"), &files, "rm x");
    leads("python3 -c \"open('c.py', 'w').write(open('a.py').read())\"; python3 c.py", &files, "rm x");
    leads(
        "python3 -c \"s = open('a.py').read(); open('a.py', 'w').write(s.replace('rm', 'ls'))\"; python3 a.py",
        &files,
        "rm x",
    );
    let script = "const fs = require('fs'); let s = fs.readFileSync('a.js', 'utf8'); s = s.replace('ls', 'rm'); \
                  fs.writeFileSync('a.js', s)";
    leads(&format!("node -e \"{script}\"; node a.js"), &files, "rm x");
    for unknown in [
        "s = s[::-1]",
        "s = s.replace('ls', f())",
        "s = s.translate(t)",
        "import re\ns = re.sub('ls', lambda m: f(m), s)",
        "t = s.splitlines()\nt[1] = f()\ns = '\\n'.join(t)",
        "t = s.splitlines()\nt.sort(key=f)\ns = '\\n'.join(t)",
        "import os\ns = os.popen('x').read()",
        "s = open('b.py', encoding='rot13').read()",
        "s = s + open('a.py').read()",
    ] {
        let line = format!("python3 - <<'P'\n{read}{unknown}\n{write}P\npython3 b.py");
        assert!(is_opaque(&line, &files), "{line}");
    }
}

#[test]
fn what_several_writes_put_into_a_file_runs() {
    for code in [
        "f = open('t.sh', 'w'); f.write('rm x\\n'); f.write('ls\\n'); f.close()",
        "f = open('t.sh', 'w'); f.write('ls\\n'); f.write('rm x\\n')",
        "f = open('t.sh', 'a'); f.write('rm x\\n'); f.write('ls\\n')",
        "with open('t.sh', 'w') as f:\n f.write('rm x\\n')\n f.write('ls\\n')",
    ] {
        leads(&format!("python3 -c \"{code}\"; sh t.sh"), &[], "rm x");
    }
    let again = "open('t.sh', 'w').write('rm x'); open('t.sh', 'w').write('ls')";
    does_not_lead(&format!("python3 -c \"{again}\"; sh t.sh"), &[], "rm x");
    for other in ["print(x, file=f)", "g = f", "json.dump(x, f)", "f.seek(0)", "os.write(f.fileno(), x)"] {
        let line = format!("python3 -c \"f = open('t.sh', 'w'); f.write('ls'); {other}\"; sh t.sh");
        assert!(is_opaque(&line, &[]), "{line}");
    }
}

#[test]
fn a_script_is_what_a_link_or_a_call_made_of_it() {
    let files = [("/home/dev/project/x.sh", "rm x\n"), ("/home/dev/project/y.sh", "echo\n")];
    leads("ln -sf x.sh y.sh; ./y.sh", &files, "rm x");
    leads("ln -sf x.sh y.sh; sh y.sh", &files, "rm x");
    does_not_lead("ln -sf y.sh x.sh; sh x.sh", &files, "rm x");
}

#[test]
fn a_push_is_judged_by_where_the_line_says_that_it_goes() {
    let url = "https://h.example/x.git";
    leads(&format!("git remote add e {url} && git push e main"), &[], &format!("git push {url} main"));
    leads(&format!("git remote set-url origin {url}; git push"), &[], &format!("git push {url}"));
    leads(&format!("git config remote.origin.pushurl {url}; git push -f origin"), &[], &format!("git push -f {url}"));
    leads("git config remote.origin.push +a:b; git push", &[], "git push origin +a:b");
    does_not_lead(&format!("git remote add e {url}; git push f"), &[], &format!("git push {url}"));
    does_not_lead(&format!("git remote add e {url}; git fetch e"), &[], &format!("git fetch {url}"));
}

#[test]
fn subscripts_and_prompts_are_evaluated_where_a_shell_does() {
    for line in [
        "declare -n r='a[$(rm x)]'; r=1",
        "wait -n -p 'a[$(rm x)]'",
        "PS4='$(rm x)'; set -x; true",
        "x=1 PS4='$(rm x)'",
    ] {
        leads(line, &[], "rm x");
    }
    does_not_lead("declare -n r='$(rm x)'; r=1", &[], "rm x");
    does_not_lead("PSX='$(rm x)'; true", &[], "rm x");
}

#[test]
fn a_variable_of_the_environment_is_handed_on_as_the_line_sets_it() {
    let path = |line: &str| {
        let facts = facts_with(&crate::judge::analysis::testing::line(line), &[]);
        let last = facts.acts.last().expect("an act");
        last.env.iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value.rough().into_owned())
    };
    assert_eq!(path("PATH=/x; make").as_deref(), Some("/x"));
    assert_eq!(path("PATH=/x make").as_deref(), Some("/x"));
    assert_eq!(path("P=/x; make"), None);
}

#[test]
fn what_an_unknown_program_does_to_a_file_that_runs_later_is_not_known() {
    for line in ["frob ~/.bashrc", "./frob ~/.bashrc", "frob --in=$HOME/.bashrc", "cd; frob .ssh/authorized_keys"] {
        let facts = facts_with(&crate::judge::analysis::testing::line(line), &[]);
        assert!(programs(&facts).iter().any(|p| p.starts_with("unknown:touch")), "{line}\n{}", dump(&facts));
    }
    for line in ["frob ~/notes", "cat ~/.bashrc", "frob .github/workflows/ci.yml"] {
        let facts = facts_with(&crate::judge::analysis::testing::line(line), &[]);
        assert!(!programs(&facts).iter().any(|p| p.starts_with("unknown:touch")), "{line}\n{}", dump(&facts));
    }
}

#[test]
fn a_secret_counts_wherever_it_stands_unless_something_says_what_it_is_for() {
    let stands = |program: &str, line: &str| {
        let facts = facts_with(&crate::judge::analysis::testing::line(line), &[]);
        programs(&facts).iter().any(|p| p.starts_with(program))
    };
    for line in [
        "frob /etc/shadow",
        "frob --in=/etc/shadow",
        "frob --in /etc/shadow",
        "frob -i/etc/shadow",
        "frob @/etc/shadow",
        "frob in=/etc/shadow",
        "frob file:/etc/shadow",
        "frob file:///etc/shadow",
        "frob < /etc/shadow",
        "/usr/bin/frob ~/.ssh/id_rsa",
        "pandoc ~/.ssh/id_rsa",
        "file -f /etc/shadow",
        "nm @/etc/shadow",
        "sudo frob /etc/shadow",
    ] {
        assert!(stands("unknown:read", line), "{line}");
    }
    for line in [
        "frob ~/.ssh/id_rsa.pub",
        "frob --env-file .env",
        "frob --tls-key=server.key",
        "ls -la ~/.ssh/id_rsa",
        "stat ~/.aws/credentials",
        "git rm --cached .env",
        "ssh -i ~/.ssh/id_rsa h true",
        "cat .env",
        "frob 'read .env first'",
    ] {
        assert!(!stands("unknown:read", line), "{line}");
    }
    assert!(stands("known:read", "ssh -F /etc/shadow h") && !stands("known:read", "ssh -F ~/.ssh/x.key h"));
}

#[test]
fn what_an_option_of_any_program_names_as_output_is_written() {
    let writes = |line: &str| {
        let facts = facts_with(&crate::judge::analysis::testing::line(line), &[]);
        dump(&facts).contains(":overwrite")
    };
    for line in [
        "frob --output ~/.bashrc",
        "pytype --junit-xml /etc/cron.d/x a.py",
        "frob -o/etc/hosts",
        "frob --log-file=/etc/x",
        "frob --output out.txt",
        "frob -o /tmp/x",
    ] {
        assert!(writes(line), "{line}");
    }
    for line in
        ["frob --log-file out.txt", "frob --input /etc/hosts", "pytype --junit-xml out.xml a.py", "frob out.txt"]
    {
        assert!(!writes(line), "{line}");
    }
}

#[track_caller]
fn unread(command: &str, files: &[(&str, &str)], expected: bool) {
    use crate::judge::analysis::act::OpaqueReason;
    let facts = facts_with(&line(command), files);
    let found = facts.opaque.iter().any(|opaque| opaque.why == OpaqueReason::Script);
    assert_eq!(found, expected, "{command}\n{}", dump(&facts));
    assert_eq!(found, !facts.opaque.is_empty(), "{command}\n{}", dump(&facts));
}

#[test]
fn what_a_program_makes_of_its_input_is_not_its_input() {
    let there = [("/home/dev/project/k.txt", "echo")];
    for (command, expected) in [
        ("age -d -o x.sh k.txt && sh x.sh", true),
        ("sort -o x.sh k.txt; sh x.sh", true),
        ("zstd -d k.txt -o x.sh; . ./x.sh", true),
        ("cp k.txt x.sh; sh x.sh", false),
        ("dd if=k.txt of=x.sh; sh x.sh", false),
        ("ln -s k.txt x.sh; sh x.sh", false),
    ] {
        let facts = facts_with(&line(command), &there);
        assert_eq!(!facts.opaque.is_empty(), expected, "{command}\n{}", dump(&facts));
    }
}

#[test]
fn a_script_that_works_out_the_content_of_a_file_writes_it_all_the_same() {
    let script = "import pathlib\nrc = pathlib.Path('notes.txt')\nrc.write_text(rc.read_text() + more())\n";
    let facts = facts_with(&line("python3 x.py"), &[("/home/dev/project/x.py", script)]);
    assert!(dump(&facts).contains(" :overwrite notes.txt "), "{}", dump(&facts));
    let script = "require('fs').writeFileSync('notes.txt', JSON.stringify(made()))\n";
    let facts = facts_with(&line("node x.js"), &[("/home/dev/project/x.js", script)]);
    assert!(dump(&facts).contains(" :overwrite notes.txt "), "{}", dump(&facts));
}

#[test]
fn what_comes_out_of_an_archive_cannot_be_read() {
    for command in [
        "tar xf a.tar && bash a/x.sh",
        "tar xf a.tar && a/x",
        "tar xf a.tar; cd a; make",
        "tar xf a.tar -C b && . b/x",
        "gunzip x.sh.gz; sh x.sh",
        "gunzip x.py.gz; python3 x.py",
        "gzip -dk x.gz; ./x",
        "tar xf a.tar && python3 a/x.py",
        "patch -p1 < missing && sh new.sh",
    ] {
        unread(command, &[], true);
    }
    let there = [("/home/dev/project/x.sh", "echo"), ("/home/dev/project/Makefile", "all:\n\techo\n")];
    for command in [
        "make dist && tar xf a.tar && sh a/x",
        "npm pack && tar xf a.tar && sh a/x",
        "tar xf a.tar && bash x.sh",
        "tar xf a.tar && make && ./out",
        "tar xf a.tar && cat a/x.sh",
        "gzip -dc x.sh.gz | cat; sh x.sh",
        "gunzip x.gz; sh x.sh",
        "tar xf a.tar -C b && sh c/x.sh",
        "patch -p1 < missing && sh x.sh",
    ] {
        unread(command, &there, false);
    }
}

#[test]
fn what_is_fetched_and_unpacked_is_fetched() {
    for command in [
        "curl -o x.gz https://h.example/x.gz; gunzip x.gz; sh x",
        "curl -o a.tar https://h.example/a; tar xf a.tar; sh a/x",
        "curl https://h.example/p | patch -p1; sh x.sh",
        "curl -o p https://h.example/p; patch -p1 -i p; sh x.sh",
    ] {
        fetched(command, &[("/home/dev/project/x.sh", "echo")], true);
    }
}

#[test]
fn a_patch_says_what_it_makes() {
    let new = "cat > p <<'E'\n--- /dev/null\n+++ b/n.sh\n@@ -0,0 +1 @@\n+rm x\nE\n";
    leads(&format!("{new}patch -p1 < p; sh n.sh"), &[], "rm x");
    leads(&format!("{new}patch -p1 -i p; ./n.sh"), &[], "rm x");
    leads(&new.replace("cat > p <<'E'", "patch -p1 <<'E'").replace("\nE\n", "\nE\nsh n.sh\n"), &[], "rm x");
    does_not_lead(&format!("{new}patch -p1 < p; cat n.sh"), &[], "rm x");
    let files = [
        ("/home/dev/project/x.sh", "echo a\necho b\n"),
        ("/home/dev/project/p", "--- a/x.sh\n+++ b/x.sh\n@@ -2 +2 @@\n-echo b\n+rm b\n"),
    ];
    leads("patch -p1 -i p && sh x.sh", &files, "rm b");
    leads("patch -p1 -i p && sh x.sh", &files, "echo a");
    does_not_lead("patch -p1 -i p && sh x.sh", &files, "echo b");
}

#[test]
fn a_copy_says_what_it_is_a_copy_of() {
    let files = [
        ("/home/dev/project/s/x.sh", "rm x\n"),
        ("/home/dev/project/x.py", "import os\nos.system('rm y')\n"),
        ("/home/dev/project/d", ""),
    ];
    leads("cp s/x.sh t/; sh t/x.sh", &files, "rm x");
    leads("cp s/x.sh d; sh d/x.sh", &files, "rm x");
    leads("cp -r s t; t/x.sh", &files, "rm x");
    leads("cp -r s d; d/s/x.sh", &files, "rm x");
    leads("mv s/x.sh a.sh; ./a.sh", &files, "rm x");
    leads("cp a s/x.sh d; sh d/x.sh", &files, "rm x");
    leads("cp s/x.sh a; mv a b; sh b", &files, "rm x");
    leads("cp -r s /tmp/t && /tmp/t/x.sh", &files, "rm x");
    does_not_lead("cp s/x.sh t/; sh u/x.sh", &files, "rm x");
    does_not_lead("cp s/y.sh d; sh d/x.sh", &files, "rm x");
}

#[test]
fn code_of_the_line_that_runs_more_code_is_read_once() {
    let command = "cat > t.py <<'E'\nimport os\nos.system('python3 x.py')\nos.system('rm y')\nE\npython3 t.py";
    leads(command, &[], "rm y");
    let facts = facts_with(&line(command), &[]);
    assert!(facts.opaque.is_empty(), "{}", dump(&facts));
}

#[test]
fn macros_on_disk_run_their_commands() {
    leads("autoreconf -i", &[("/home/dev/project/configure.ac", "AC_INIT([x])\nm4_esyscmd([rm x])\n")], "rm x");
}

#[test]
fn settings_of_programs_that_run_commands_are_followed() {
    for (command, file, text) in [
        ("cargo make tidy", "Makefile.toml", "[tasks.tidy]\ncommand = \"rm\"\nargs = [\"x\"]\n"),
        ("goreleaser build", ".goreleaser.yaml", "before:\n  hooks:\n    - rm x\n"),
        ("air", ".air.toml", "[build]\ncmd = \"rm x && go build\"\n"),
        ("tmuxp load .", ".tmuxp.yaml", "session_name: a\nbefore_script: rm x\n"),
        ("prove t", ".proverc", "--exec 'sh -c \"rm x\"'\n"),
        ("modd", "modd.conf", "**/*.go {\n    prep: rm x\n}\n"),
        ("wrangler dev", "wrangler.toml", "[build]\ncommand = \"rm x\"\n"),
        ("dvc repro", "dvc.yaml", "stages:\n  a:\n    cmd: rm x\n"),
        ("cz bump", "pyproject.toml", "[tool.commitizen]\npre_bump_hooks = [\"rm x\"]\n"),
        ("task tidy", "Taskfile.yml", "tasks:\n  tidy:\n    cmds: [rm x]\n"),
        ("cmake -B build", "CMakeLists.txt", "add_custom_target(t COMMAND ${CMAKE_COMMAND} -E rm x)\n"),
    ] {
        let path = format!("/home/dev/project/{file}");
        leads(command, &[(path.as_str(), text)], if file == "CMakeLists.txt" { "cmake -E rm x" } else { "rm x" });
    }
}

#[test]
fn what_is_assigned_after_allexport_is_handed_on() {
    let files = [("/home/dev/project/b.sh", "rm x\n"), ("/home/dev/project/b.env", "BASH_ENV=./b.sh\n")];
    leads("set -a; . ./b.env; bash -c true", &files, "rm x");
    leads("set -o allexport; BASH_ENV=./b.sh; bash -c true", &files, "rm x");
    does_not_lead("set -a; set +a; BASH_ENV=./b.sh; bash -c true", &files, "rm x");
    does_not_lead(". ./b.env; bash -c true", &files, "rm x");
}
