//! Tests the parsing of inner commands.

use super::*;

#[test]
fn a_command_stands_at_the_operands() {
    let sudo = Wrap { assignments: true, root: true, bare_shell: true, unless: vec![test("-l")], ..Wrap::default() };
    let sudo = wrapper(OptionStyle::Posix, &["-u=", "-l", "-s"], vec![sudo]);
    let reading = read_line(&sudo, "-u me A=1 rm -rf /");
    assert_eq!(argv(&reading.inner[0]), "rm -rf /");
    assert_eq!(reading.inner[0].env, vec![("A".to_owned(), Value::text("1"))]);
    assert!(reading.inner[0].root);
    assert!(read_line(&sudo, "-l rm").inner.is_empty());
    assert_eq!(argv(&read_line(&sudo, "-s").inner[0]), "shell");
}

#[test]
fn a_script_of_the_programs_language_is_no_command() {
    let uv = Wrap { scripts: vec![".py".to_owned()], ..Wrap::default() };
    let uv = wrapper(OptionStyle::Posix, &["-p="], vec![uv]);
    assert!(read_line(&uv, "-p 3 tools/x.py rm -rf /").inner.is_empty());
    assert_eq!(argv(&read_line(&uv, "rm x.py").inner[0]), "rm x.py");
}

#[test]
fn what_is_skipped_comes_before_the_command() {
    let timeout = wrapper(OptionStyle::Posix, &["-s=", "-k="], vec![Wrap { skip: 1, ..Wrap::default() }]);
    assert_eq!(argv(&read_line(&timeout, "-k 5 10 rm -rf /").inner[0]), "rm -rf /");
    let wrap = Wrap {
        skip: 1,
        host: Some(0),
        inner: Inner::Line,
        remote: Some(RemoteName::Ssh),
        bare_shell: true,
        ..Wrap::default()
    };
    let ssh = wrapper(OptionStyle::Posix, &["-p=", "-t"], vec![wrap]);
    let reading = read_line(&ssh, "-t me@host -p 22 rm -rf /x");
    assert_eq!(argv(&reading.inner[0]), "line: rm -rf /x");
    assert_eq!(reading.inner[0].remote.as_ref().unwrap().name.as_deref(), Some("me@host"));
    assert_eq!(argv(&read_line(&ssh, "host").inner[0]), "shell");
}

#[test]
fn what_only_the_command_receives_is_counted() {
    let counts = |program: &Program, line: &str| {
        let reading = read_line(program, line);
        (reading.passed_on.arguments, reading.passed_on.operands)
    };
    let timeout = wrapper(OptionStyle::Posix, &["-s="], vec![Wrap { skip: 1, ..Wrap::default() }]);
    assert_eq!(counts(&timeout, "-s 9 10 rm -rf x"), (2, 2));
    assert_eq!(counts(&timeout, "10 rm"), (0, 0));
    assert_eq!(counts(&timeout, "10"), (0, 0));
    let after = Wrap { from: WrapFrom::After("--".into()), ..Wrap::default() };
    let anywhere = Wrap { from: WrapFrom::Anywhere, ..Wrap::default() };
    let doppler = wrapper(OptionStyle::Gnu, &["-p="], vec![after, anywhere]);
    assert_eq!(counts(&doppler, "run -p x -- rm get"), (2, 0));
    assert_eq!(counts(&doppler, "run rm get"), (0, 0));
    // On another system or with added arguments, the arguments remain those of the program too.
    let remote = Wrap { remote: Some(RemoteName::Ssh), skip: 1, ..Wrap::default() };
    assert_eq!(counts(&wrapper(OptionStyle::Posix, &[], vec![remote]), "host rm x"), (0, 0));
    let xargs = Wrap { adds: Added::Input, ..Wrap::default() };
    assert_eq!(counts(&wrapper(OptionStyle::Posix, &[], vec![xargs]), "rm -rf x"), (0, 0));
    let each = Wrap { each: true, inner: Inner::Line, ..Wrap::default() };
    assert_eq!(counts(&wrapper(OptionStyle::Posix, &[], vec![each]), "ls rm"), (0, 0));
}

#[test]
fn options_of_the_inner_command_are_not_the_wrappers() {
    let docker = wrapper(OptionStyle::Gnu, &["-i", "-t"], vec![Wrap { skip: 1, ..Wrap::default() }]);
    let reading = read_line(&docker, "-it box rm -rf /x");
    assert_eq!(argv(&reading.inner[0]), "rm -rf /x");
    assert_eq!(reading.flags.len(), 2);
}

#[test]
fn every_exec_of_a_chain_is_a_command() {
    let wrap =
        Wrap { from: WrapFrom::Until(vec!["-exec".into(), "-ok".into()]), adds: Added::Found, ..Wrap::default() };
    let find = wrapper(OptionStyle::SingleDash, &["-name="], vec![wrap]);
    let reading = read_line(&find, ". -name x -exec rm {} ; -exec sh -c echo_+_1 {} + -delete");
    assert_eq!(reading.inner.iter().map(argv).collect::<Vec<_>>(), ["rm {}", "sh -c echo + 1 {}"]);
    assert_eq!(reading.inner[0].replace.as_deref(), Some("{}"));
    assert_eq!(shape(&reading), "-name=x -exec -exec -delete | .");
    assert_eq!(argv(&read_line(&find, ". -exec rm {}").inner[0]), "rm {}");
}

#[test]
fn xargs_replaces_where_it_is_told_to() {
    let wrap = Wrap { adds: Added::Input, ..Wrap::default() };
    let xargs = wrapper(OptionStyle::Posix, &["-I=", "-n=", "-i|--replace[=]", "-0"], vec![wrap]);
    for (line, replace, command) in [
        ("-0 -n1 rm -f", None, "rm -f"),
        ("-I% rm %", Some("%"), "rm %"),
        ("-I {} rm {}", Some("{}"), "rm {}"),
        ("-i rm {}", Some("{}"), "rm {}"),
        ("--replace=@ rm @", Some("@"), "rm @"),
    ] {
        let reading = read_line(&xargs, line);
        assert_eq!(reading.inner[0].replace.as_deref(), replace, "{line}");
        assert_eq!(argv(&reading.inner[0]), command, "{line}");
    }
}

#[test]
fn a_command_after_a_word_is_none_of_the_programs_business() {
    let kubectl = wrapper(
        OptionStyle::Gnu,
        &["-n="],
        vec![Wrap {
            from: WrapFrom::After("--".into()),
            host: Some(0),
            remote: Some(RemoteName::Cluster),
            ..Wrap::default()
        }],
    );
    let reading = read_line(&kubectl, "pod -n prod -- rm -rf /x");
    assert_eq!(argv(&reading.inner[0]), "rm -rf /x");
    assert_eq!(shape(&reading), "-n=prod | pod");
}

#[test]
fn env_appends_the_operands_to_its_line() {
    let line = Wrap { inner: Inner::Line, from: WrapFrom::Option(vec!["-S".into()]), ..Wrap::default() };
    let env = wrapper(
        OptionStyle::Posix,
        &["-S|--split-string=", "-i"],
        vec![line, Wrap { assignments: true, ..Wrap::default() }],
    );
    assert_eq!(read_line(&env, "-S rm_-rf a_b").inner.iter().map(argv).collect::<Vec<_>>(), ["line: rm -rf 'a b'"]);
    assert_eq!(argv(&read_line(&env, "-i A=b rm x").inner[0]), "rm x");
}

#[test]
fn an_option_may_name_the_command() {
    let wrap = Wrap { from: WrapFrom::Option(vec!["-m".into()]), ..Wrap::default() };
    let mut python = wrapper(OptionStyle::Posix, &["-c=", "-m=", "-u"], vec![wrap]);
    python.runs = Some(runs("python"));
    let reading = read_line(&python, "-m pip install -r x");
    assert_eq!(argv(&reading.inner[0]), "pip install -r x");
    assert!(reading.code.is_empty());
}
