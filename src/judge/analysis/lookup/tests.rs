use crate::judge::analysis::testing::{dump, facts_with, line, line_in, programs};
use crate::judge::syntax::tree::Dialect;

const PLANTED: (&str, &str) = ("/home/dev/project/tools/git", "#!/bin/sh\nrm x\n");

/// Whether `rm x` is among what a line comes to where these files are.
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
    ] {
        assert!(removes(text, &[PLANTED]), "{text}\n{}", dump(&facts_with(&line(text), &[PLANTED])));
    }
    let made = "echo 'rm x' > tools/git; PATH=$PWD/tools:$PATH git status";
    assert!(removes(made, &[]), "{made}");
}

#[test]
fn the_systems_own_program_comes_first_where_it_stands_first() {
    for text in ["PATH=$PATH:$PWD/tools git status", "PATH=/usr/bin:tools git status", "git status"] {
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
        "jobs -x rm x",
        "compgen -W '$(rm x)'",
        "history -s 'rm x'; fc -s",
        "SECONDS='a[$(rm x)]'",
        "${OSTYPE:+rm} x",
    ] {
        assert!(removes(text, &[]), "{text}\n{}", dump(&facts_with(&line(text), &[])));
    }
}

#[test]
fn what_zsh_calls_by_itself_is_walked() {
    for text in [
        "a=(rm x); $a",
        "hash ls=/bin/rm; ls x",
        "functions[f]='rm x'; f",
        "commands[ls]=/bin/rm; ls x",
        "chpwd() { rm x; }; cd /tmp",
        "f() { rm x; }; zshexit_functions=(f)",
        "TRAPZERR() { rm x; }; false",
        "print -P '$(rm x)'",
    ] {
        let facts = facts_with(&line_in(text, Dialect::Zsh, &[]), &[]);
        assert!(programs(&facts).contains(&"rm x".to_owned()), "{text}\n{}", dump(&facts));
    }
}
