//! Tests the code that programs load by name, as operands and beside a script.

use crate::judge::analysis::inquiry::{Answers, Inquiry};

use crate::judge::analysis::question::{FileFacts, GitFacts, Question, WorldAnswer};
use crate::judge::analysis::testing::{line, programs};
use crate::judge::analysis::work_out;
use crate::judge::rules::catalog::Catalog;

const HARM: &str = "import os\nos.system('rm harm')\n";

/// Reports whether a command runs `rm harm` if the project contains these files.
fn harms(command: &str, files: &[(&str, &str)]) -> bool {
    run(command, files).iter().any(|program| program == "rm harm")
}

/// Returns the commands that run if the project contains these files. Files whose absolute path contains `/kept` are
/// unchanged in git.
fn run(command: &str, files: &[(&str, &str)]) -> Vec<String> {
    let catalog = Catalog::builtin();
    let source = |question: &Question| match question {
        Question::File(path) => {
            let found = files.iter().find(|(name, _)| format!("/home/dev/project/{name}") == *path);
            WorldAnswer::File(found.map_or(FileFacts::Missing, |(_, text)| FileFacts::Text {
                bytes: text.as_bytes().to_vec(),
                digest: [0; 32],
            }))
        }
        Question::Git(path) => WorldAnswer::Git(GitFacts { clean: path.contains("/kept"), ..GitFacts::default() }),
        _ => WorldAnswer::Unavailable,
    };
    programs(&work_out(&line(command), &catalog, &Inquiry::new(&Answers::of(&source))))
}

/// Checks that unknown arguments of a call in a script do not hide its literal command.
#[test]
fn a_command_of_a_script_is_read_whatever_stands_behind_it() {
    for text in [
        "require('child_process').exec('rm harm', done)",
        "require('child_process').exec('rm harm', {env: x}, done)",
        "require('child_process').execFile('rm', ['harm'], done)",
        "require('child_process').execSync('rm harm', settings)",
    ] {
        assert!(harms("node x.js", &[("x.js", text)]), "{text}");
    }
    for text in ["require('child_process').exec(what, done)", "require('child_process').exec(`${x} harm`, done)"] {
        assert!(!harms("node x.js", &[("x.js", text)]), "{text}");
    }
    assert!(harms("python3 x.py", &[("x.py", "import subprocess\nsubprocess.run('rm harm', shell=True, env=e)")]));
    assert!(!harms("python3 x.py", &[("x.py", "import subprocess\nsubprocess.run(what, shell=True, env=e)")]));
}

#[test]
fn a_script_is_read_alike_by_its_first_line_and_by_its_interpreter() {
    for (text, does) in [
        ("#! /usr/bin/env perl\nmy $v = `$config{CC} --version`;\n", false),
        ("#!/usr/bin/perl\nmy $v = `rm harm`;\n", true),
        ("#!/usr/bin/perl\nunlink $x; system('rm harm');\n", true),
    ] {
        for command in ["./a.pl", "perl a.pl"] {
            let catalog = Catalog::builtin();
            let file = FileFacts::Text { bytes: text.as_bytes().to_vec(), digest: [0; 32] };
            let source = |question: &Question| match question {
                Question::File(path) if path.ends_with("/a.pl") => WorldAnswer::File(file.clone()),
                _ => WorldAnswer::Unavailable,
            };
            let facts = work_out(&line(command), &catalog, &Inquiry::new(&Answers::of(&source)));
            let harm = programs(&facts).iter().any(|program| program == "rm harm");
            assert_eq!((harm, facts.opaque.len()), (does, 0), "{command}: {text}");
        }
    }
}

#[test]
fn a_shell_ignores_the_first_line_of_a_script_that_it_is_given() {
    for first in
        ["#! /bin/true", "#!/usr/bin/env python3", "#!/usr/bin/env -S node", "#!/usr/bin/make -f", "#!/usr/bin/fish"]
    {
        let text = format!("{first}\nif true; then rm harm; fi\n");
        for command in ["bash a", "sh ./a", ". ./a", "source a", "bash < a", "cat a | bash", "env bash a"] {
            assert!(harms(command, &[("a", &text)]), "{command}: {first}");
        }
    }
    assert!(harms("printf '#!/bin/true\\nrm harm\\n' > z; bash z", &[]));
    assert!(!harms("./a", &[("a", "#!/bin/true\nrm harm\n")]));
    assert!(!harms("printf '#!/bin/true\\nrm harm\\n' > z; ./z", &[]));
}

#[test]
fn an_edit_of_several_files_is_one_of_the_file_that_runs() {
    for edit in [
        "sed -i 's/ls/rm harm/' *.sh",
        "find . -name '*.sh' -exec sed -i 's/ls/rm harm/' {} +",
        "grep -rl ls . | xargs sed -i 's/ls/rm harm/'",
        "sed -i 's/ls/rm harm/' $(git ls-files)",
        "git ls-files | while read f; do sed -i 's/ls/rm harm/' \"$f\"; done",
        "for f in *.sh; do echo 'rm harm' >> $f; done",
    ] {
        for run in ["sh b.sh", "./b.sh", "cp b.sh c.sh; sh c.sh", "echo '#' >> b.sh; sh b.sh"] {
            let line = format!("{edit}; {run}");
            assert!(harms(&line, &[("b.sh", "#!/bin/sh\nls\n")]), "{line}");
            assert!(!harms(&line.replace("rm harm", "pwd"), &[("b.sh", "#!/bin/sh\nls\n")]), "{line}");
        }
    }
    assert!(harms("echo ls > c.sh; sed -i 's/ls/rm harm/' *.sh; sh c.sh", &[]));
    let python = [("a.py", "import os\nos.system('ls')\n")];
    assert!(harms("grep -rl ls . | xargs sed -i 's/ls/rm harm/'; python3 a.py", &python));
    for elsewhere in
        ["sed -i 's/ls/rm harm/' docs/*.sh", "sed -i 's/ls/rm harm/' *.py", "sed -i 's/ls/rm harm/' docs/$x"]
    {
        assert!(!harms(&format!("{elsewhere}; sh b.sh"), &[("b.sh", "ls\n")]), "{elsewhere}");
    }
}

#[test]
fn an_editor_may_see_a_file_as_one_line() {
    let script = [("b.sh", "true\nls\necho\nls\n")];
    for edit in [r"sed -zi 's/ls\necho/rm harm\n/' b.sh", r"perl -0pi -e 's/ls\necho/rm harm\n/' b.sh"] {
        assert!(harms(&format!("{edit}; sh b.sh"), &script), "{edit}");
    }
    // The first match is that of the file.
    let both = run("sed -zi 's/ls/rm harm/' b.sh; sh b.sh", &script);
    assert!(both.contains(&"rm harm".to_owned()) && both.contains(&"ls".to_owned()), "{both:?}");
    let text = "import re; s = open('b.sh').read(); open('b.sh', 'w').write(re.sub(r'ls\\necho', 'rm harm', s))";
    assert!(harms(&format!("python3 -c \"{text}\"; sh b.sh"), &script));
}

#[test]
fn a_binary_is_judged_by_its_name_behind_any_program() {
    let binary = [("sol", "\u{7f}ELF\0\0")];
    for command in ["./sol", "timeout 5 ./sol", "nice ./sol", "frob ./sol"] {
        let catalog = Catalog::builtin();
        let source = |question: &Question| match question {
            Question::File(path) if path.ends_with("/sol") => {
                WorldAnswer::File(FileFacts::Text { bytes: binary[0].1.as_bytes().to_vec(), digest: [0; 32] })
            }
            _ => WorldAnswer::Unavailable,
        };
        let facts = work_out(&line(command), &catalog, &Inquiry::new(&Answers::of(&source)));
        assert!(facts.opaque.is_empty(), "{command}: {:?}", facts.opaque);
    }
}

#[test]
fn the_system_gives_a_script_to_the_program_in_its_first_line() {
    assert!(harms("./a", &[("a", "#!/usr/bin/make -f\nall:\n\trm harm\n")]));
    assert!(harms("./a", &[("a", "#!/usr/bin/env -S sh -c 'rm harm'\n")]));
    let removed = run("./a", &[("a", "#!/bin/rm\n")]);
    assert!(removed.contains(&"rm /home/dev/project/a".to_owned()), "{removed:?}");
    assert!(!harms("./a", &[("a", "#!/usr/bin/make -f\nall:\n\tls harm\n")]));
}

#[test]
fn what_a_program_writes_is_not_what_it_loads() {
    assert!(!harms("cython -o out.c a.pyx", &[("out.c", "int f(){return system(\"rm harm\");}")]));
    assert!(harms("cython -o out.c a.py", &[("a.py", HARM)]));
}

#[test]
fn what_a_compiler_is_given_is_read_where_the_session_wrote_it_and_something_is_known() {
    let opaque = |command: &str| {
        let source = |question: &Question| match question {
            Question::File(_) => WorldAnswer::File(FileFacts::Missing),
            _ => WorldAnswer::Unavailable,
        };
        work_out(&line(command), &Catalog::builtin(), &Inquiry::new(&Answers::of(&source))).opaque.len()
    };
    let code = "int main(){return system(\"rm harm\");}";
    assert!(!harms("gcc -c a.c", &[("a.c", code)]), "outside a repository");
    let in_repository = |clean: bool| {
        let source = |question: &Question| match question {
            Question::File(_) => WorldAnswer::File(FileFacts::Text { bytes: code.into(), digest: [0; 32] }),
            Question::Git(_) => {
                WorldAnswer::Git(GitFacts { root: Some("/home/dev/project".into()), clean, ..GitFacts::default() })
            }
            _ => WorldAnswer::Unavailable,
        };
        let facts = work_out(&line("gcc -c a.c"), &Catalog::builtin(), &Inquiry::new(&Answers::of(&source)));
        programs(&facts).contains(&"rm harm".to_owned())
    };
    assert!(in_repository(false) && !in_repository(true));
    assert!(harms(&format!("cat > a.c <<'E'\n{code}\nE\ngcc -c a.c"), &[]));
    assert_eq!(opaque("frob --gen > a.c; gcc -c a.c"), opaque("frob --gen > a.c"));
    assert!(opaque("curl -s https://example.com/a.c > a.c; gcc -c a.c") > 0);
    assert!(opaque("base64 -d b.txt > a.c; gcc -c a.c") > 0);
}

#[test]
fn the_cells_of_a_notebook_are_read_where_it_runs() {
    let cell = |kind: &str, source: &str| format!("{{\"cells\":[{{\"cell_type\":\"{kind}\",\"source\":{source}}}]}}");
    for source in ["\"!rm harm\"", "[\"x = 1\\n\", \"!rm harm\"]", "\"import os\\nos.system('rm harm')\""] {
        let text = cell("code", source);
        assert!(harms("papermill a.ipynb b.ipynb", &[("a.ipynb", &text)]), "{source}");
        assert!(harms("jupyter nbconvert --execute a.ipynb", &[("a.ipynb", &text)]), "{source}");
        assert!(!harms("papermill a.ipynb b.ipynb", &[("a.ipynb", &cell("markdown", source))]), "{source}");
    }
    assert!(!harms("papermill a.ipynb b.ipynb", &[("a.ipynb", "!rm harm")]));
}

#[test]
fn the_chunks_of_a_report_are_read_where_it_is_rendered() {
    for chunk in [
        "```{r}\nsystem(\"rm harm\")\n```",
        "```{python}\nimport os\nos.system('rm harm')\n```",
        "```{bash}\nrm harm\n```",
    ] {
        assert!(harms("quarto render a.qmd", &[("a.qmd", chunk)]), "{chunk}");
    }
    assert!(!harms("quarto render a.qmd", &[("a.qmd", "It's.\n```bash\nrm harm\n```\n```{sql}\nrm harm\n```\n")]));
}

#[test]
fn what_a_program_loads_by_its_name_is_read_where_it_lies() {
    assert!(harms("pytest", &[("conftest.py", HARM)]));
    assert!(harms("python3 -m pytest", &[("tests/conftest.py", HARM)]));
    assert!(harms("nox", &[("noxfile.py", HARM)]));
    assert!(harms("npx jest", &[("jest.config.js", "require('child_process').execSync('rm harm')")]));
    assert!(harms("cargo build", &[("build.rs", "fn main() { Command::new(\"rm\").arg(\"harm\").status(); }")]));
    assert!(harms("tox", &[("tox.ini", "[testenv]\ncommands = rm harm\n")]));
    assert!(!harms("pytest", &[("other.py", HARM)]));
    assert!(!harms("python3 -c 1", &[("conftest.py", HARM)]));
}

/// Checks code of an unknown language, in which a text after a name need not be a command.
#[test]
fn what_a_shell_cannot_read_is_no_command_of_code_whose_language_is_not_known() {
    let read = |text: &str| {
        let catalog = Catalog::builtin();
        let file = FileFacts::Text { bytes: text.as_bytes().to_vec(), digest: [0; 32] };
        let source = |question: &Question| match question {
            Question::File(path) if path.ends_with("/a.R") => WorldAnswer::File(file.clone()),
            _ => WorldAnswer::Unavailable,
        };
        let facts = work_out(&line("Rscript a.R"), &catalog, &Inquiry::new(&Answers::of(&source)));
        (programs(&facts).iter().any(|program| program == "rm harm"), facts.opaque.len())
    };
    for text in ["if (a &&\n    !(b == c\n    || d)) {}", "system(\") (\");", "command(\"'\");", "exec(\"if\");"] {
        assert_eq!(read(text), (false, 0), "{text}");
    }
    assert_eq!(read("system(\"rm harm\");"), (true, 0));
    // A shell runs the lines before the one that it cannot parse.
    assert_eq!(read("system(\"rm harm\\n(\");"), (true, 0));
    assert_eq!(read("system(\"rm harm\\nif x; then\\n\");"), (true, 0));
    assert_eq!(read("system(\"rm harm (\");"), (false, 0));
    // A reached limit says nothing about the text.
    let deep = format!("system(\"{}\");", "$(".repeat(2000));
    assert!(read(&deep).1 > 0);
}

#[test]
fn what_git_has_as_it_is_is_not_read_again() {
    assert!(harms("pytest tests/test_a.py", &[("tests/test_a.py", HARM)]));
    assert!(harms("pytest tests/test_a.py::test_b", &[("tests/test_a.py", HARM)]));
    assert!(!harms("pytest kept/test_a.py", &[("kept/test_a.py", HARM)]));
    assert!(!harms("cd kept && pytest", &[("kept/conftest.py", HARM)]));
    assert!(harms("cd sub && pytest", &[("sub/conftest.py", HARM)]));
}

#[test]
fn what_a_script_imports_is_read_beside_it() {
    assert!(harms("python3 n.py", &[("n.py", "import m\n"), ("m.py", HARM)]));
    assert!(harms("python3 a/n.py", &[("a/n.py", "import m\n"), ("a/m.py", HARM)]));
    assert!(harms(
        "node t.js",
        &[("t.js", "require('./lib')"), ("lib.js", "require('child_process').execSync('rm harm')")]
    ));
    assert!(!harms("python3 a/n.py", &[("a/n.py", "import m\n"), ("m.py", HARM)]));
    assert!(!harms("python3 n.py", &[("n.py", "import kept\n"), ("kept.py", HARM)]));
    // Modules that import each other do not recurse forever.
    assert!(!harms("python3 n.py", &[("n.py", "import m\n"), ("m.py", "import n\n")]));
}

#[test]
fn packages_that_lie_here_are_read_and_what_options_take_is_none() {
    assert!(harms("pip install ./here", &[("here/setup.py", HARM)]));
    assert!(harms("pip install -e here", &[("here/setup.py", HARM)]));
    assert!(!harms("pip install --find-links here x", &[("here/setup.py", HARM)]));
}

#[test]
fn what_a_temporary_file_was_given_is_loaded_from_it() {
    let script = |end: &str| format!("T=$(mktemp){end}; echo 'os.execute(\"rm harm\")' > $T; nmap --script=$T");
    assert!(harms(&script(""), &[]));
    assert!(harms(&script(".nse"), &[]));
    assert!(!harms("T=$(mktemp); echo 'print(1)' > $T; nmap --script=$T", &[]));
}

#[test]
fn a_program_that_is_not_there_has_no_say_in_what_becomes_of_a_secret() {
    let reads = |files: &[(&str, &str)]| {
        run("./frob /etc/shadow", files).iter().any(|program| program.starts_with("unknown:read"))
    };
    assert!(reads(&[]));
    assert!(!reads(&[("frob", "#!/bin/sh\necho hello\n")]));
}

#[test]
fn an_application_is_read_by_the_module_that_names_it() {
    for command in [
        "gunicorn app:main",
        "uvicorn pkg.app:main",
        "flask --app app run",
        "celery -A app worker",
        "python3 -m gunicorn app:main",
        "python3 -m flask --app app run",
        "sphinx-build -D extensions=app docs out",
    ] {
        assert!(harms(command, &[("app.py", HARM), ("pkg/app.py", HARM)]), "{command}");
    }
    assert!(!harms("gunicorn other:app", &[("app.py", HARM)]));
}

#[test]
fn modules_that_import_or_run_what_they_are_given_are_read_for_it() {
    for command in
        ["python3 -m unittest m", "python3 -m pydoc m", "python3 -m doctest m.py", "python3 -m unittest m.py"]
    {
        assert!(harms(command, &[("m.py", HARM)]), "{command}");
        assert!(!harms(&command.replace(" m", " kept"), &[("kept.py", HARM)]), "{command}");
    }
    assert!(!harms("python3 -m json.tool m", &[("m.py", HARM)]));
}

#[test]
fn a_list_of_options_for_another_program_names_its_files() {
    let code = &[("x.js", "require('child_process').execSync('rm harm')")];
    assert!(harms("npm test --node-options='--require ./x.js'", code));
    assert!(harms("npm test --node-options '--require=./x.js'", code));
    assert!(!harms("npm test --node-options=--trace-warnings", code));
}

#[test]
fn modules_of_ruby_and_lua_are_read_by_names_without_endings() {
    assert!(harms("ruby -e 'require \"./x\"'", &[("x.rb", "system 'rm harm'")]));
    assert!(harms("lua -l x -e ''", &[("x.lua", "os.execute('rm harm')")]));
    assert!(harms("rubocop -r ./x.rb", &[("x.rb", "system 'rm harm'")]));
    assert!(harms("R_PROFILE_USER=x.R Rscript -e 1", &[("x.R", "system('rm harm')")]));
}

#[test]
fn commands_in_comments_are_those_of_the_program_that_runs_them() {
    let source = &[("g.go", "//go:generate rm harm\npackage m\n")];
    assert!(harms("go generate g.go", source));
    assert!(!harms("go vet g.go", source));
    assert!(harms("printf '//go:generate rm harm\\n' > g.go; go generate ./...", &[]));
}

#[test]
fn what_a_program_fetches_is_not_what_it_loads_before() {
    let opaque = |command: &str| {
        let answers = Answers::default();
        let facts = work_out(&line(command), &Catalog::builtin(), &Inquiry::new(&answers));
        !facts.opaque.is_empty()
    };
    assert!(!opaque("pip download click -d /tmp/w"));
    assert!(opaque("git clone https://example.org/x; pip install ./x"));
}

#[test]
fn what_is_loaded_out_of_a_pipe_is_not_read_and_asked_about() {
    let opaque = |command: &str| {
        let answers = Answers::default();
        let facts = work_out(&line(command), &Catalog::builtin(), &Inquiry::new(&answers));
        !facts.opaque.is_empty()
    };
    for command in
        ["cmake -P <(echo 'file(WRITE x y)')", "echo x | scons -f -", "cmake -P /dev/stdin <<< 'file(REMOVE x)'"]
    {
        assert!(opaque(command), "{command}");
    }
    for command in ["cmake -P x.cmake", "scons -f SConstruct", "scons -f -"] {
        assert!(!opaque(command), "{command}");
    }
}

#[test]
fn options_that_the_line_wrote_for_a_program_count_as_given() {
    let plugin = &[("plug.py", HARM), ("x.js", "require('child_process').execSync('rm harm')")];
    assert!(harms("printf '[pytest]\\naddopts = -p plug\\n' > pytest.ini; pytest -q", plugin));
    assert!(harms("echo 'node-options=--require=./x.js' >> .npmrc; npm test", plugin));
    assert!(!harms("pytest -q", &[("pytest.ini", "[pytest]\naddopts = -p plug\n"), ("plug.py", HARM)]));
}

#[test]
fn all_makefiles_that_are_given_are_read() {
    let files = &[("a.mk", "x:\n\ttrue\n"), ("b.mk", "all:\n\trm harm\n")];
    assert!(harms("make -f a.mk -f b.mk all", files));
    assert!(!harms("make -f a.mk x", files));
}

#[test]
fn a_script_that_a_program_is_handed_may_run() {
    let files = [("x.py", HARM), ("x.sh", "rm harm\n"), ("x", "#!/bin/sh\nrm harm\n"), ("kept/x.sh", "rm harm\n")];
    for command in [
        "thing ./x.sh",
        "thing x.py",
        "thing --with=x.py",
        "thing --plugin=name=./x.sh",
        "thing -o 'run=./x.sh y'",
        "thing -r ./x",
        "THING_WRAPPER=./x.sh thing",
        "cp x.sh kept/y.sh; thing kept/y.sh",
        "echo 'rm harm' > new.sh; thing new.sh",
    ] {
        assert!(harms(command, &files), "{command}");
    }
    for command in [
        "thing kept/x.sh",
        "thing other.sh",
        "shellcheck ./x.sh",
        "cat x.sh",
        "grep rm ./x.sh x.py",
        "git add x.sh x.py",
        "cp x.sh y.sh",
        "THING_WRAPPER=./x.sh cat y",
        "python3 -m py_compile x.py",
    ] {
        assert!(!harms(command, &files), "{command}");
    }
}

#[test]
fn what_is_copied_into_a_directory_lies_there_under_its_own_name() {
    let files = [("far/conftest.py", HARM), ("far/build.rs", "fn main() { Command::new(\"rm\").arg(\"harm\"); }")];
    for command in
        ["cp far/conftest.py . && pytest", "mv far/conftest.py ./ && pytest", "cp far/build.rs . && cargo build"]
    {
        assert!(harms(command, &files), "{command}");
    }
    assert!(!harms("cp far/conftest.py ../away/ && pytest", &files));
}

#[test]
fn what_a_program_is_told_to_load_is_loaded_before_it_lists_anything() {
    assert!(harms("rake -r ./x.rb -T", &[("x.rb", "system('rm harm')")]));
    assert!(harms(
        "NODE_OPTIONS='--require ./x.js' npm --version",
        &[("x.js", "require('child_process').execSync('rm harm')")]
    ));
}

#[test]
fn options_in_a_variable_are_options() {
    let files = [("plug.py", HARM)];
    assert!(harms("PYTEST_ADDOPTS='-q -p plug' pytest", &files));
    assert!(harms("export PYTEST_ADDOPTS='-p plug'; python3 -m pytest", &files));
    assert!(!harms("PYTEST_ADDOPTS=-q pytest", &files));
}

#[test]
fn what_settings_name_is_read_as_what_it_is() {
    let js = "require('child_process').execSync('rm harm')";
    let ruby = "system 'rm harm'";
    let php = "<?php system('rm harm');";
    for (command, settings, text, file, code) in [
        ("mocha", ".mocharc.yml", "require:\n  - ./a\n", "a.js", js),
        ("jest", "jest.config.js", "module.exports = {setupFiles: ['<rootDir>/a.js']}", "a.js", js),
        ("jest", "package.json", r#"{"jest": {"globalSetup": "./a.js"}}"#, "a.js", js),
        ("vitest run", "vitest.config.ts", "export default {test: {setupFiles: './a.ts'}}", "a.ts", js),
        ("prettier -c x", ".prettierrc", r#"{"plugins": ["./a.js"]}"#, "a.js", js),
        ("bun test", "bunfig.toml", "[test]\npreload = ['./a.js']\n", "a.js", js),
        ("rubocop", ".rubocop.yml", "require: ./a\n", "a.rb", ruby),
        ("rspec", ".rspec", "--format doc\n--require ./a\n", "a.rb", ruby),
        ("phpunit", "phpunit.xml", "<phpunit bootstrap=\"a.php\"/>", "a.php", php),
        ("mypy x", "mypy.ini", "[mypy]\nplugins = a, b\n", "a.py", HARM),
        ("pylint x", ".pylintrc", "[MAIN]\nload-plugins=b,a\n", "a.py", HARM),
    ] {
        assert!(harms(command, &[(settings, text), (file, code)]), "{command}: {text}");
        assert!(!harms(command, &[(settings, "x"), (file, code)]), "{command}");
        assert!(!harms(command, &[(settings, text)]), "{command}");
    }
    for (settings, text) in [
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['-p', 'a']"),
        ("tox.ini", "[pytest]\naddopts = -q\n  -pa"),
    ] {
        let written = format!("cat > {settings} <<'EOF'\n{text}\nEOF\npytest");
        assert!(harms(&written, &[("a.py", HARM)]), "{text}");
        assert!(!harms(&written, &[]), "{text}");
    }
    let others = r#"{"exports": {"require": "./a.js"}, "mocha": {"spec": "t.js"}}"#;
    assert!(!harms("mocha", &[("package.json", others), ("a.js", js)]));
}

#[test]
fn what_settings_hold_is_run() {
    for (command, settings, text) in [
        ("pylint x", ".pylintrc", "[MAIN]\ninit-hook=\"import os; os.system('rm harm')\"\n"),
        ("nix-shell", "shell.nix", "mkShell { shellHook = ''\n  rm harm\n''; }"),
        ("devbox shell", "devbox.json", r#"{"shell": {"init_hook": ["rm harm"]}}"#),
        ("nodemon", "nodemon.json", r#"{"exec": "rm harm"}"#),
        ("lint-staged", ".lintstagedrc.yml", "\"*.js\": rm harm\n"),
        ("latexmk x.tex", "latexmkrc", "$success_cmd = 'rm harm';\n"),
    ] {
        assert!(harms(command, &[(settings, text)]), "{command}");
    }
    assert!(!harms("nodemon", &[("nodemon.json", r#"{"watch": "rm harm"}"#)]));
}

#[test]
fn a_document_of_the_line_is_read_by_its_parts() {
    let book = r#"{"cells": [{"cell_type": "code", "source": ["!rm harm"]}]}"#;
    for (command, file, text) in [
        ("papermill a.ipynb b.ipynb", "a.ipynb", book),
        ("python3 -m doctest a.txt", "a.txt", ">>> import os\n>>> os.system('rm harm')\n"),
        ("robot a.robot", "a.robot", "*** Test Cases ***\nX\n    Run Process    rm    harm\n"),
        ("quarto render a.qmd", "a.qmd", "```{python}\nimport os\nos.system('rm harm')\n```\n"),
    ] {
        assert!(harms(command, &[(file, text)]), "{command}");
        let written = format!("cat > {file} <<'EOF'\n{text}\nEOF\n{command}");
        assert!(harms(&written, &[]), "{written}");
        assert!(!harms(command, &[(file, "x")]), "{command}");
    }
}

#[test]
fn the_known_parts_of_a_list_are_read_beside_unknown_ones() {
    let files = [("lib/sitecustomize.py", HARM), ("kept/sitecustomize.py", HARM)];
    for list in ["lib:$PYTHONPATH", "$PYTHONPATH:lib", "$X:$PWD/lib", "lib:$X", "lib$X"] {
        assert!(harms(&format!("PYTHONPATH={list} python3 -V2"), &files), "{list}");
    }
    assert!(!harms("PYTHONPATH=$X/lib python3 -V2", &files));
    assert!(!harms("PYTHONPATH=src:$X python3 -V2", &files));
}

#[test]
fn variables_and_options_name_the_files_that_a_program_loads() {
    let makefile = "all:\n\trm harm\n";
    let ruby = "system('rm harm')\n";
    let perl = "system('rm harm');\n1;\n";
    let cmake = "execute_process(COMMAND rm harm)\n";
    let php = "<?php system('rm harm');\n";
    for (command, name, text) in [
        ("JUST_JUSTFILE=x.just just", "x.just", "all:\n  rm harm\n"),
        ("COMPOSER=x.json composer test", "x.json", "{\"scripts\": {\"test\": \"rm harm\"}}"),
        ("NOXFILE=x.py nox", "x.py", HARM),
        ("SPEC_OPTS='-r ./x.rb' rspec", "x.rb", ruby),
        ("IRBRC=x.rb irb", "x.rb", ruby),
        ("PERL5LIB=lib perl -MHarm::It=a -e1", "lib/Harm/It.pm", perl),
        ("perl -Ilib -MHarm::It -e1", "lib/Harm/It.pm", perl),
        ("perl -I lib -mHarm::It -e1", "lib/Harm/It.pm", perl),
        ("cmake -C x.cmake .", "x.cmake", cmake),
        ("cmake -DCMAKE_TOOLCHAIN_FILE=x.cmake .", "x.cmake", cmake),
        ("cmake -D CMAKE_PROJECT_INCLUDE=x.cmake .", "x.cmake", cmake),
        ("make -f - < x.mk", "x.mk", makefile),
        ("cat x.mk | make -f -", "x.mk", makefile),
        ("make -f /dev/stdin < x.mk", "x.mk", makefile),
        ("GRADLE_USER_HOME=home gradle build", "home/init.gradle", "exec { commandLine 'rm', 'harm' }\n"),
        ("RUBYLIB=lib:$X ruby -rharm -e 1", "lib/harm.rb", ruby),
    ] {
        assert!(harms(command, &[(name, text)]), "{command}");
    }
    let settings = [("conf/php.ini", "auto_prepend_file=./x.php\n"), ("x.php", php)];
    assert!(harms("PHPRC=conf php a.php", &settings));
    assert!(harms("php -c conf a.php", &settings));
    let options = [("x.ini", "[pytest]\naddopts = -p harm\n"), ("harm.py", HARM)];
    assert!(harms("pytest -c x.ini", &options));
    assert!(harms("PYTEST_ADDOPTS='-c x.ini' pytest", &options));
    // A part that is not known says nothing about the others.
    assert!(harms("PYTEST_ADDOPTS=\"$X -p harm\" pytest", &options));
    assert!(!harms("PYTEST_ADDOPTS=-q pytest", &options));
}

#[test]
fn variables_hold_commands_that_programs_run() {
    for command in [
        "SVN_SSH='rm harm' svn up",
        "HGMERGE='rm harm' hg merge",
        "JJ_EDITOR='rm harm' jj describe",
        "P4EDITOR='rm harm' p4 change",
        "CCACHE_PREFIX=./tool ccache gcc a.c",
        "M4=./tool bison a.y",
        "CLOUDSDK_PYTHON=./tool gcloud info",
        "SHELL=./tool fzf",
        "PUPPETEER_EXECUTABLE_PATH=./tool node a.js",
        "CC='rm harm #' make",
    ] {
        let files = [("tool", "#!/bin/sh\nrm harm\n"), ("Makefile", "all:\n\t$(CC) -o x a.c\n")];
        assert!(harms(command, &files), "{command}");
    }
    for command in ["CC=clang make", "EDITOR=vim git commit", "CC='ccache gcc' make"] {
        assert!(!harms(command, &[("Makefile", "all:\n\t$(CC) -o x a.c\n")]), "{command}");
    }
}

#[test]
fn a_script_gets_what_its_first_line_and_the_environment_bring_along() {
    let script = [("x.sh", "#!/bin/bash\nls\n"), ("y.sh", "#!/bin/sh\nls\n"), ("rc", "rm harm\n")];
    assert!(harms("BASH_ENV=rc ./x.sh", &script));
    assert!(harms("export BASH_ENV=rc; ./x.sh", &script));
    assert!(!harms("BASH_ENV=rc ./y.sh", &script));
    assert!(!harms("BASH_ENV= ./x.sh", &script));
    assert!(harms("env 'BASH_FUNC_ls%%=() { rm harm; }' ./x.sh", &script));
    assert!(!harms("env 'BASH_FUNC_dir%%=() { rm harm; }' ./x.sh", &script));
}
