use crate::judge::analysis::inquiry::{Answers, Inquiry};
use crate::judge::analysis::question::{FileFacts, Question, WorldAnswer};
use crate::judge::analysis::testing::{catalog, dump, facts_with, line, line_in, programs};
use crate::judge::analysis::work_out;
use crate::judge::ledger::{CommandChanges, Ledger, LedgerEntry, PathChange, PathChangeKind, PriorState};
use crate::judge::rules::catalog::Catalog;
use crate::judge::syntax::tree::Dialect;

const PLANTED: (&str, &str) = ("/home/dev/project/tools/git", "#!/bin/sh\nrm x\n");

/// Reports whether a line runs `rm x` if these files exist.
fn removes(text: &str, files: &[(&str, &str)]) -> bool {
    let facts = facts_with(&line(text), files);
    programs(&facts).contains(&"rm x".to_owned())
}

#[test]
fn a_program_in_front_of_the_systems_is_judged_by_what_it_says() {
    for text in [
        "PATH=$PWD/tools:$PATH git status",
        "PATH=tools:$PATH git status",
        "export PATH=/home/dev/project/tools:$PATH; git status",
        "PATH=tools:$PATH sh -c 'git status'",
        "cd tools; PATH=:$PATH git status",
        "if true; then PATH=tools:$PATH; fi; git status",
        "if test -d x; then export PATH=tools:$PATH; else PATH=/opt/bin:$PATH; fi; git status",
        "case $x in a) PATH=/srv/bin:tools:$PATH;; b) PATH=/srv/x:$PATH;; esac; git status",
        "cd tools; PATH=$NOT_SET:$PATH git status",
        "cd tools; PATH=/srv/bin:${NOT_SET} git status",
    ] {
        assert!(removes(text, &[PLANTED]), "{text}\n{}", dump(&facts_with(&line(text), &[PLANTED])));
    }
    let made = "echo 'rm x' > tools/git; PATH=$PWD/tools:$PATH git status";
    assert!(removes(made, &[]), "{made}");
}

#[test]
fn a_file_that_the_line_makes_executable_is_found_in_front_of_the_systems() {
    let facts = |text: &str| {
        let invocation = line(text);
        let source = |question: &Question| match question {
            Question::File(path) if path == PLANTED.0 => {
                WorldAnswer::File(FileFacts::Text { bytes: PLANTED.1.as_bytes().to_vec(), digest: [0; 32] })
            }
            Question::File(_) => WorldAnswer::File(FileFacts::Missing),
            Question::Resolve { .. } => WorldAnswer::Resolve(None),
            _ => WorldAnswer::Unavailable,
        };
        work_out(&invocation, &catalog(), &Inquiry::new(&Answers::of(&source)))
    };
    let removes = |text: &str| programs(&facts(text)).contains(&"rm x".to_owned());
    assert!(removes("chmod +x tools/git; PATH=$PWD/tools:$PATH git status"));
    assert!(!removes("PATH=$PWD/tools:$PATH git status"));
    assert!(!removes("chmod +x tools/git; git status"));
}

#[test]
fn a_program_of_the_system_under_another_name_is_that_program() {
    for text in [
        "ln -s /bin/rm tools/eslint && tools/eslint x",
        "ln -s /usr/bin/rm tools/eslint && PATH=$PWD/tools:$PATH eslint x",
        "cp /bin/rm tools/eslint; ./tools/eslint x",
        "cp /usr/bin/rm a && ln -s $PWD/a b && ./a x",
    ] {
        let facts = facts_with(&line(text), &[]);
        let found = programs(&facts);
        assert!(found.iter().any(|found| found.ends_with("rm x")), "{text}\n{}", dump(&facts));
    }
    // The name of the link determines the program's name, and a target with the same description is not walked again.
    let facts = facts_with(&line("ln -s /usr/bin/python3 tools/python && tools/python x.py"), &[]);
    assert_eq!(programs(&facts).iter().filter(|found| found.contains("x.py")).count(), 1, "{}", dump(&facts));
    let facts = facts_with(&line("ln -s /home/dev/project/rm tools/eslint && tools/eslint x"), &[]);
    assert!(!programs(&facts).contains(&"rm x".to_owned()), "{}", dump(&facts));
}

#[test]
fn a_program_that_the_line_copies_or_links_into_place_is_judged_by_what_it_says() {
    let script = ("/home/dev/project/x.sh", "#!/bin/sh\nrm x\n");
    for text in [
        "cp x.sh tools/git; PATH=$PWD/tools:$PATH git status",
        "ln -s $PWD/x.sh tools/git; PATH=tools:$PATH git status",
        "cp x.sh tools/git; tools/git status",
    ] {
        assert!(removes(text, &[script]), "{text}\n{}", dump(&facts_with(&line(text), &[script])));
        assert!(!removes(&text.replace("tools/git;", "tools/hg;").replace("tools/git ", "git "), &[script]), "{text}");
    }
}

#[test]
fn a_line_of_the_history_and_what_is_typed_into_another_program_is_no_name() {
    for text in ["!!", "!ls", "man man\n!/bin/sh"] {
        assert_eq!(facts_with(&line(text), &[]).opaque.len(), 1, "{text}");
    }
    for text in ["! ls", "echo '!ls'", "[ ! -e x ]"] {
        assert!(facts_with(&line(text), &[]).opaque.is_empty(), "{text}");
    }
}

#[test]
fn the_systems_own_program_comes_first_where_it_stands_first() {
    for text in [
        "PATH=$PATH:$PWD/tools git status",
        "PATH=/usr/bin:tools git status",
        "git status",
        "if true; then PATH=$PATH:tools; fi; git status",
        "cd tools; PATH=$PATH:$NOT_SET git status",
        "cd tools; PATH=$NOT_SET/bin:$PATH git status",
    ] {
        assert!(!removes(text, &[PLANTED]), "{text}");
    }
    assert!(!removes("PATH=$PWD/tools:$PATH git status", &[]));
}

#[test]
fn a_harmless_command_asks_nothing_of_the_world() {
    use crate::judge::analysis::{testing, work_out};
    let asked = |text: &str, path: &str| {
        let (invocation, catalog) = (line_in(text, Dialect::Bash, &[("PATH", path)]), testing::catalog());
        let asked = crate::judge::testing::asked(|inquiry| {
            let _ = work_out(&invocation, &catalog, inquiry);
        });
        asked.len()
    };
    assert_eq!(asked("ls", "/usr/local/bin:/usr/bin:/bin"), 0);
    assert_eq!(asked("echo x", "/home/dev/bin:/usr/bin"), 0);
    assert_eq!(asked("ls", "/home/dev/bin:/usr/bin"), 1);
}

#[test]
fn tables_of_the_shell_lead_to_what_they_hold() {
    for text in [
        "BASH_CMDS[ls]=/bin/rm; ls x",
        "BASH_CMDS=([ls]=/bin/rm); ls x",
        "printf -v 'BASH_CMDS[ls]' /bin/rm; ls x",
        "read -r 'BASH_CMDS[ls]' <<< /bin/rm; ls x",
        "BASH_ALIASES[ls]=rm; ls x",
        "declare -a 'a=($(rm x))'",
        "declare -a \"a=(rm x)\"; \"${a[@]}\"",
        "f() { local -a 'a=(rm x)'; \"${a[@]}\"; }; f",
        "declare -A 'm=([k]=\"rm x\")'; eval \"${m[k]}\"",
        "a=(); declare a='($(rm x))'",
        "x='a[$(rm x)0]'; ls {y[x]}> /dev/null",
        "x='a[$(rm x)0]'; exec {y[x]}< f",
        "jobs -x rm x",
        "compgen -W '$(rm x)'",
        "complete -c frob -a 'a b (rm x) c'",
        "complete -c frob -n 'rm x' -a 'a b'",
        "history -s 'rm x'; fc -s",
        "SECONDS='a[$(rm x)]'",
        "${OSTYPE:+rm} x",
        "${TERM:+rm} x",
        "${PS4:+rm} x",
        "${PS1:+rm} x",
        "${COMP_WORDBREAKS:+rm} x",
        "${BASH_ARGV0:+rm} x",
        "${_:+rm} x",
        "c=${PS4:+rm}; $c x",
    ] {
        assert!(removes(text, &[]), "{text}\n{}", dump(&facts_with(&line(text), &[])));
    }
    // Only zsh sets variables with such names.
    for text in ["${fpath:+rm} x", "${options:+rm} x", "${UNSET:+rm} x"] {
        assert!(!removes(text, &[]), "{text}");
    }
}

#[test]
fn what_zsh_calls_by_itself_is_walked() {
    for text in [
        "a=(rm x); $a",
        "${fpath:+rm} x",
        "${WORDCHARS:+rm} x",
        "hash ls=/bin/rm; ls x",
        "functions[f]='rm x'; f",
        "commands[ls]=/bin/rm; ls x",
        "chpwd() { rm x; }; cd /tmp",
        "f() { rm x; }; zshexit_functions=(f)",
        "TRAPZERR() { rm x; }; false",
        "f() { rm x; }; autoload -Uz add-zsh-hook; add-zsh-hook chpwd f",
        "print -P '$(rm x)'",
        "command_not_found_handler() { rm x; }; frob",
    ] {
        let facts = facts_with(&line_in(text, Dialect::Zsh, &[]), &[]);
        assert!(programs(&facts).contains(&"rm x".to_owned()), "{text}\n{}", dump(&facts));
    }
}

#[test]
fn a_function_that_a_hook_no_longer_calls_is_not_walked() {
    for text in ["f() { rm x; }; add-zsh-hook -d chpwd f", "f() { rm x; }; add-zsh-hook chpwd g"] {
        let facts = facts_with(&line_in(text, Dialect::Zsh, &[]), &[]);
        assert!(!programs(&facts).contains(&"rm x".to_owned()), "{text}\n{}", dump(&facts));
    }
}

#[test]
fn what_bash_calls_by_itself_is_walked() {
    let text = "command_not_found_handle() { rm x; }; frob";
    assert!(removes(text, &[]));
    let given = facts_with(&line_in("command_not_found_handle() { \"${1#x}\" x; }; xrm", Dialect::Bash, &[]), &[]);
    assert!(!given.opaque.is_empty(), "what it is called with is not known\n{}", dump(&given));
    let zsh = facts_with(&line_in(text, Dialect::Zsh, &[]), &[]);
    assert!(!programs(&zsh).contains(&"rm x".to_owned()));
}

#[test]
fn tables_of_zsh_that_stand_for_others_are_followed() {
    let harms = |text: &str, files: &[(&str, &str)]| {
        let line = line_in(text, Dialect::Zsh, &[("PATH", "/usr/bin:/bin")]);
        programs(&facts_with(&line, files)).contains(&"rm x".to_owned())
    };
    assert!(harms("path=($PWD/tools $path); git status", &[PLANTED]));
    assert!(!harms("path=($path $PWD/tools); git status", &[PLANTED]));
    assert!(harms("autoload -Uz $PWD/f; f", &[("/home/dev/project/f", "rm x\n")]));
    let hidden = |text: &str| !facts_with(&line_in(text, Dialect::Zsh, &[]), &[]).opaque.is_empty();
    assert!(hidden("alias -g G='| sh'; eval 'echo rm G'"));
    assert!(!hidden("alias -g X='a b'; echo X"));
    assert!(hidden("aliases=($a b)") && hidden("functions[f]=$(frob)") && !hidden("others=($a b)"));
    for table in ["aliases", "galiases"] {
        assert!(harms(&format!("{table}[l]='rm x'; eval l"), &[]) && harms(&format!("{table}[1]='rm x'; eval 1"), &[]));
        assert!(
            harms(&format!("{table}=(m ls l 'rm x'); eval l"), &[])
                && harms(&format!("{table}+=(l 'rm x'); eval l"), &[])
        );
        assert!(!harms(&format!("{table}=('rm x' l); eval l"), &[]));
    }
    assert!(harms("functions+=(l 'rm x'); l", &[]) && harms("commands=(l /bin/rm); l x", &[]));
    let suffix = |text: &str| programs(&facts_with(&line_in(text, Dialect::Zsh, &[]), &[]));
    for text in ["alias -s txt=rm; eval a.txt", "saliases[txt]=rm; a.txt", "saliases=(md ls txt rm); a.txt"] {
        assert!(suffix(text).contains(&"rm a.txt".to_owned()), "{text}: {:?}", suffix(text));
    }
    assert!(suffix("alias -s txt='rm -f'; ./a.txt b").contains(&"rm -f ./a.txt b".to_owned()));
    assert!(!suffix("alias -s txt=rm; ls a.txt").contains(&"rm a.txt".to_owned()));
    assert!(!programs(&facts_with(&line("alias -s txt=rm; a.txt"), &[])).contains(&"rm a.txt".to_owned()));
}

#[test]
fn fish_code_of_which_a_part_is_not_known_is_read_as_fish() {
    let facts = |text: &str| facts_with(&line(text), &[]);
    for text in ["if test -d $(frob); rm x; end", "ls $(frob); and rm x", "for f in $(frob)/*; cat \\$f; rm x; end"] {
        let facts = facts(&format!("fish -c \"{text}\""));
        assert!(facts.opaque.is_empty() && programs(&facts).contains(&"rm x".to_owned()), "{text}: {:?}", facts.opaque);
    }
    assert!(!facts("fish -c \"if test -d $(frob); fi\"").opaque.is_empty());
}

#[test]
fn an_alias_of_two_words_is_one_of_fish() {
    assert!(removes("alias l 'rm'; l x", &[]));
    assert!(!removes("alias l 'ls'; l x", &[]));
}

#[test]
fn a_program_that_the_session_put_among_tools_is_what_it_says() {
    let tool = |name: &str| format!("/home/dev/project/{name}");
    let removes = |text: &str, written: &str| {
        let done = vec![PathChange { path: tool(written), done: PathChangeKind::Made(PriorState::Nothing) }];
        let changes = CommandChanges { done, ..CommandChanges::default() };
        let ledger =
            Ledger { entries: vec![LedgerEntry { at: 0, until: None, next: None, changes }], ..Ledger::default() };
        let source = |question: &Question| match question {
            Question::File(_) => {
                WorldAnswer::File(FileFacts::Text { bytes: b"#!/bin/sh\nrm -rf x\n".to_vec(), digest: [0; 32] })
            }
            Question::Ledger => WorldAnswer::Ledger(ledger.clone()),
            _ => WorldAnswer::Unavailable,
        };
        let (invocation, catalog) = (line(text), Catalog::builtin());
        let facts = work_out(&invocation, &catalog, &Inquiry::new(&Answers::of(&source)));
        programs(&facts).contains(&"rm -rf x".to_owned())
    };
    for (text, name) in [
        ("node_modules/.bin/tsc", "node_modules/.bin/tsc"),
        (".venv/bin/pytest -q", ".venv/bin/pytest"),
        ("cd venv && bin/ruff check .", "venv/bin/ruff"),
        ("./vendor/bin/rspec", "vendor/bin/rspec"),
        ("bin/pip list", "bin/pip"),
    ] {
        assert!(removes(text, name), "{text}");
        // A program that the command did not install there is known by its name.
        assert!(!removes(text, "other"), "{text}");
    }
}

mod resolver {
    use super::super::*;
    use super::PLANTED;
    use crate::judge::analysis::files::FileModel;
    use crate::judge::analysis::testing::line;
    use crate::judge::analysis::testing::world::SampleWorld;

    const DIR: &str = "/home/dev/project";

    /// Returns the location of a name or path if `PATH` is set to `search`, and whether that is a planted program.
    fn led(name: &str, path: Option<&str>, search: &str, by_shell: bool, is_remote: bool) -> (ProgramLocation, bool) {
        let mut files = FileModel::default();
        files.links.insert(Place::of(format!("{DIR}/tools/eslint")), Place::of("/bin/rm"));
        let world = SampleWorld { files: &[("tools/git", PLANTED.1)], ..SampleWorld::default() };
        let state = State::at(Some(Place::of(DIR)));
        world.given(&line(""), |input| {
            let progress = WalkProgress { input: &input, acts: &[], sinks: &[], files: &files, pipes: &[] };
            let env = [(PATH.to_owned(), Value::text(search))];
            let mut resolver = Resolver::default();
            let led = resolver.leads_to(progress, &state, (name, path.map(Value::text)), &env, by_shell, is_remote);
            let planted = led.path.as_ref().and_then(Value::known).is_some_and(|path| resolver.is_planted(&path));
            (led, planted)
        })
    }

    fn path(path: &str) -> Option<Value> {
        Some(Value::text(path))
    }

    #[test]
    fn what_stands_in_front_of_the_systems_programs_is_found_first() {
        let found = led("git", None, "tools:/usr/bin", true, false);
        assert_eq!(found, (ProgramLocation { path: path(PLANTED.0), other: None }, true));
        assert_eq!(led("git", None, "/usr/bin:tools", true, false), (ProgramLocation::default(), false));
        assert_eq!(led("rm", None, "tools:/usr/bin", true, false), (ProgramLocation::default(), false));
    }

    #[test]
    fn a_shell_takes_its_builtins_first_and_another_machine_has_its_own_programs() {
        assert_eq!(led("cd", None, "tools:/usr/bin", true, false), (ProgramLocation::default(), false));
        assert_eq!(led("git", None, "tools:/usr/bin", false, true), (ProgramLocation::default(), false));
        let given = led("eslint", Some("tools/eslint"), "", false, true);
        assert_eq!(given, (ProgramLocation { path: path("tools/eslint"), other: None }, false));
    }

    #[test]
    fn a_link_to_a_program_of_the_system_is_that_program_too() {
        let (led, _) = led("eslint", Some("tools/eslint"), "", true, false);
        assert_eq!(led, ProgramLocation { path: path("tools/eslint"), other: Some("/bin/rm".into()) });
    }

    #[test]
    fn what_a_program_is_found_by_is_remembered_once() {
        let state = State::at(Some(Place::of(DIR)));
        SampleWorld::default().given(&line(""), |input| {
            let progress =
                WalkProgress { input: &input, acts: &[], sinks: &[], files: &FileModel::default(), pipes: &[] };
            let mut resolver = Resolver::default();
            for name in ["git", "git", "rm"] {
                resolver.leads_to(progress, &state, (name, None), &[], true, false);
            }
            let names: Vec<&str> = resolver.programs.iter().map(|named| named.name.as_str()).collect();
            assert_eq!(names, ["git", "rm"]);
            assert!(resolver.programs.iter().all(|named| *named.dirs == ["/usr/bin", "/bin"]));
        });
    }
}
