use super::*;
use crate::judge::analysis::act::{Piece, Taint, Unknown, UnknownReason};
use crate::judge::rules::model::{Added, Inner, OptionSpec, OptionStyle, RemoteName, ValueKind, Wrap, WrapFrom};

mod inner;

fn options(specs: &[&str]) -> Vec<OptionSpec> {
    let spec = |spec: &&str| {
        let (names, value) = match spec.strip_suffix("[=]") {
            Some(names) => (names, ValueKind::Optional),
            None => match spec.strip_suffix('=') {
                Some(names) => (names, ValueKind::Required),
                None => (*spec, ValueKind::None),
            },
        };
        OptionSpec { names: names.split('|').map(Into::into).collect(), value }
    };
    specs.iter().map(spec).collect()
}

fn program(style: OptionStyle, specs: &[&str]) -> Program {
    Program { names: vec!["p".into()], style, options: options(specs), ..Program::default() }
}

fn runs(language: &str) -> Runs {
    Runs { language: language.into(), code: vec!["-c".into()], script_operand: true, stdin: true, ..Runs::default() }
}

fn test(name: &str) -> FlagTest {
    FlagTest { names: vec![name.into()], value: None }
}

fn unknown(name: &str) -> Value {
    let why = UnknownReason::Variable(name.into());
    Value::of(vec![Piece::Unknown(Unknown { why, taint: Taint::default() })])
}

/// Splits words at blanks. `_` is a blank in a word, and `$X` alone is an unknown word.
fn args(line: &str) -> Vec<Arg> {
    let mut at = 0;
    line.split(' ')
        .map(|word| {
            let span = Span::new(at, at + u32::try_from(word.len()).unwrap());
            at = span.end + 1;
            let value = match word.strip_prefix('$') {
                Some(name) => unknown(name),
                None => Value::text(word.replace('_', " ")),
            };
            Arg::word(value, span)
        })
        .collect()
}

fn read_line(program: &Program, line: &str) -> Reading {
    read(program, &args(line))
}

/// Formats the flags as `name` or `name=value`, and the operands after a bar.
fn shape(reading: &Reading) -> String {
    let flags = reading.flags.iter().map(|flag| match &flag.value {
        Some(value) => format!("{}={}", flag.name, value.rough()),
        None => flag.name.clone(),
    });
    let operands = reading.operands.iter().map(|operand| operand.value.rough().into_owned());
    flags.chain(["|".to_owned()]).chain(operands).collect::<Vec<_>>().join(" ")
}

fn argv(inner: &InnerCommand) -> String {
    match &inner.what {
        InnerText::Argv(args) => args.iter().map(|arg| arg.value.rough().into_owned()).collect::<Vec<_>>().join(" "),
        InnerText::Line(line, _) => format!("line: {}", line.rough()),
        InnerText::BareShell => "shell".into(),
        InnerText::Somewhere(args) => format!("somewhere in {}", args.len()),
    }
}

fn inline(reading: &Reading) -> String {
    let show = |source: &CodeSource| match &source.from {
        CodeFrom::Inline(value, _) => format!("{}: {}", source.language, value.rough()),
        CodeFrom::Script(operand) => format!("{} script: {}", source.language, operand.value.rough()),
        CodeFrom::Stdin => format!("{} stdin", source.language),
    };
    reading.code.iter().map(show).collect::<Vec<_>>().join("; ")
}

#[test]
fn clusters_are_taken_apart_and_named_canonically() {
    let rm = program(OptionStyle::Gnu, &["-r|-R|--recursive", "-f|--force", "-n|--lines=", "-i|--in-place[=]"]);
    for (line, expected) in [
        ("-rf x", "-r -f | x"),
        ("-Rf x", "-r -f | x"),
        ("x -fr", "-f -r | x"),
        ("--recursive --force x", "-r -f | x"),
        ("--rec x", "-r | x"),
        ("-n5 x", "-n=5 | x"),
        ("-n 5 x", "-n=5 | x"),
        ("--lines=5 x", "-n=5 | x"),
        ("--lines 5 x", "-n=5 | x"),
        ("-rn5 x", "-r -n=5 | x"),
        ("-i.bak x", "-i=.bak | x"),
        ("-i x", "-i | x"),
        ("--in-place=.b x", "-i=.b | x"),
        ("-- -rf x", "| -rf x"),
        ("- -r", "-r | -"),
        ("-20 x", "-20 | x"),
        ("-z --other --third=3 x", "-z --other --third=3 | x"),
    ] {
        assert_eq!(shape(&read_line(&rm, line)), expected, "{line}");
    }
}

#[test]
fn an_ambiguous_abbreviation_stays_as_written() {
    let tool = program(OptionStyle::Gnu, &["--force", "--format="]);
    assert_eq!(shape(&read_line(&tool, "--fo x")), "--fo | x");
    assert_eq!(shape(&read_line(&tool, "--forc x")), "--force | x");
}

#[test]
fn what_an_abbreviation_takes_stays_an_operand_where_there_is_no_other() {
    let tool = program(OptionStyle::Gnu, &["--device-id="]);
    assert_eq!(shape(&read_line(&tool, "--dev x")), "--device-id=x | x");
    assert_eq!(shape(&read_line(&tool, "--dev x y")), "--device-id=x | y");
    assert_eq!(shape(&read_line(&tool, "--dev")), "--device-id |");
    assert_eq!(shape(&read_line(&tool, "--device-id x")), "--device-id=x |");
}

#[test]
fn posix_options_end_at_the_first_operand() {
    let tool = program(OptionStyle::Posix, &["-u="]);
    assert_eq!(shape(&read_line(&tool, "-u root x -v")), "-u=root | x -v");
}

#[test]
fn an_unknown_word_is_an_operand_and_never_swallowed() {
    let rm = program(OptionStyle::Gnu, &["-r", "-f"]);
    let reading = read_line(&rm, "$FLAGS x");
    assert!(reading.operands[0].value.is_dynamic());
    assert_eq!(reading.operands.len(), 2);
}

#[test]
fn one_dash_and_a_word_is_an_option_of_its_own() {
    let tool = program(OptionStyle::SingleDash, &["-auto-approve", "-var=", "-name=", "-D="]);
    for (line, expected) in [
        ("-auto-approve", "-auto-approve |"),
        ("--auto-approve", "-auto-approve |"),
        ("-var a=b x", "-var=a=b | x"),
        ("-var=a=b x", "-var=a=b | x"),
        ("-Dkey=1 x", "-D=key=1 | x"),
        (". ( -name y ) -delete", "( -name=y ) -delete | ."),
    ] {
        assert_eq!(shape(&read_line(&tool, line)), expected, "{line}");
    }
    let word = Value::of(vec![Piece::Text("-D".into()), unknown("X").pieces()[0].clone()]);
    let unknown = read(&tool, &[Arg::word(word, Span::new(0, 4)), Arg::word(Value::text("y"), Span::new(5, 6))]);
    assert!(unknown.flags[0].value.as_ref().is_some_and(Value::is_dynamic));
    assert_eq!(unknown.operands.len(), 1, "what is not known stands in the same word");
}

#[test]
fn keys_with_values_are_flags() {
    let dd = program(OptionStyle::KeyValue, &["if=", "of="]);
    assert_eq!(shape(&read_line(&dd, "if=/dev/zero of=/dev/sda bs=1M")), "if==/dev/zero of==/dev/sda bs==1M |");
    let spec = EffectSpec {
        does: Effect::Write,
        to: ArgumentPlace::Flag(vec!["of".into()]),
        when: vec![],
        unless: vec![],
        recursive: vec![],
        always_recursive: false,
    };
    let reading = read_line(&Program { effects: vec![spec], ..dd }, "of=/dev/sda");
    assert_eq!(reading.effects[0].on[0].value.rough(), "/dev/sda");
}

#[test]
fn a_bundle_needs_no_dash() {
    let tar = program(OptionStyle::Bundle, &["-x", "-z", "-f=", "-C="]);
    assert_eq!(shape(&read_line(&tar, "xzf a.tgz -C /x b")), "-x -z -f=a.tgz -C=/x | b");
    assert_eq!(shape(&read_line(&tar, "-xzf a.tgz b")), "-x -z -f=a.tgz | b");
}

fn wrapper(style: OptionStyle, specs: &[&str], wraps: Vec<Wrap>) -> Program {
    Program { wraps, ..program(style, specs) }
}

fn git() -> Program {
    let sub = |paths: &[&str], specs: &[&str]| Sub {
        paths: paths.iter().map(|path| path.split(' ').map(Into::into).collect()).collect(),
        options: options(specs),
        ..Sub::default()
    };
    Program {
        subs: vec![
            sub(&["push"], &["-f|--force", "--force-with-lease[=]"]),
            sub(&["remote"], &["-v"]),
            Sub { aliases: vec![(1, 0)], ..sub(&["remote remove", "remote rm"], &[]) },
            sub(&["stash drop"], &["-q"]),
            Sub { tier: Some(Tier::Safe), ..sub(&["status"], &[]) },
        ]
        .into(),
        ..program(OptionStyle::Gnu, &["-C=", "-c=", "--no-pager|-P"])
    }
}

#[test]
fn the_longest_subcommand_path_wins() {
    let git = git();
    for (line, sub, expected) in [
        ("push -f origin", "push", "-f | origin"),
        ("-C dir push --forc origin", "push", "-C=dir --forc | origin"),
        ("push --force-with-lease=x", "push", "--force-with-lease=x |"),
        ("remote rm origin", "remote remove", "| origin"),
        ("remote -v rm origin", "remote remove", "-v | origin"),
        ("remote show origin", "remote", "| show origin"),
        ("stash pop", "stash", "| pop"),
        ("stash drop -q 1", "stash drop", "-q | 1"),
        ("unheard of", "unheard", "| of"),
        ("push -P x", "push", "--no-pager | x"),
    ] {
        let reading = read_line(&git, line);
        assert_eq!(reading.sub.join(" "), sub, "{line}");
        assert_eq!(shape(&reading), expected, "{line}");
    }
    assert_eq!(read_line(&git, "status").tier, Tier::Safe);
}

#[test]
fn an_unknown_subcommand_word_stays_an_operand() {
    let reading = read_line(&git(), "$X origin");
    assert!(reading.sub.is_empty());
    assert_eq!(reading.operands.len(), 2);
}

#[test]
fn a_flag_in_front_of_the_subcommand_is_not_the_subcommands() {
    let mut git = git();
    let mut subs: Vec<Sub> = git.subs.iter().cloned().collect();
    subs[0].options = options(&["-C|--copy", "-f"]);
    git.subs = subs.into();
    git.chdir = vec!["-C".into()];
    let reading = read_line(&git, "-C dir push -f");
    assert_eq!(shape(&reading), "global -C=dir -f |");
    assert_eq!(reading.chdir, [Value::text("dir")]);
    assert_eq!(shape(&read_line(&git, "push -C")), "-C |");
}

#[test]
fn a_negated_option_takes_back_what_was_given() {
    let tool = program(OptionStyle::Gnu, &["-f|--force", "--no-edit", "--edit"]);
    assert_eq!(shape(&read_line(&tool, "--force --no-force x")), "--no-force | x");
    assert_eq!(shape(&read_line(&tool, "--no-force --force x")), "--no-force -f | x");
    assert_eq!(shape(&read_line(&tool, "--edit --no-edit x")), "--edit --no-edit | x");
}

#[test]
fn thousands_of_arguments_take_no_quadratic_time() {
    let env = wrapper(OptionStyle::Posix, &[], vec![Wrap { assignments: true, ..Wrap::default() }]);
    let line = "A=1 ".repeat(20_000) + "rm" + &" x".repeat(20_000);
    let reading = read_line(&env, &line);
    assert_eq!(reading.inner[0].env.len(), 20_000);
}

#[test]
fn a_shell_takes_its_code_after_all_options() {
    let mut sh = program(OptionStyle::Posix, &["-c=", "--rcfile=", "-o="]);
    sh.runs = Some(runs("shell"));
    for line in [
        "-c rm_x",
        "-lc rm_x",
        "-ec rm_x",
        "-c -e rm_x",
        "-ce -- rm_x",
        "+e -c rm_x",
        "-o pipefail -c rm_x",
        "-eo pipefail -c rm_x",
        "-oc pipefail rm_x",
        "-O extglob -c rm_x",
        "--norc --rcfile f -c rm_x",
        "-c rm_x name arg",
    ] {
        assert_eq!(inline(&read_line(&sh, line)), "shell: rm x", "{line}");
    }
    assert_eq!(inline(&read_line(&sh, "a.sh -c x")), "shell script: a.sh");
    assert_eq!(inline(&read_line(&sh, "-s a b")), "shell stdin");
    assert_eq!(inline(&read_line(&sh, "/dev/stdin")), "shell stdin");
    assert_eq!(read_line(&sh, "-c code name arg").code[0].positional.len(), 2);
}

#[test]
fn an_interpreters_code_may_hang_in_a_cluster() {
    let mut python = program(OptionStyle::Posix, &["-c=", "-m=", "-u", "-W="]);
    python.runs = Some(runs("python"));
    for (line, expected) in [
        ("-uc code", "python: code"),
        ("-ccode", "python: code"),
        ("-W ignore -c code -c", "python: code"),
        ("a.py -c code", "python script: a.py"),
        ("- a", "python stdin"),
        ("-u", "python stdin"),
        ("-m http.server 8000", ""),
    ] {
        assert_eq!(inline(&read_line(&python, line)), expected, "{line}");
    }
    let mut perl = program(OptionStyle::Posix, &["-e|-E=", "-n", "-p", "-i[=]"]);
    perl.runs = Some(Runs { code: vec!["-e".into()], ..runs("perl") });
    assert_eq!(inline(&read_line(&perl, "-ne code x")), "perl: code");
    assert_eq!(inline(&read_line(&perl, "-pi -e a -e b x")), "perl: a\nb");
    assert_eq!(inline(&read_line(&perl, "-pi.bak -E a x")), "perl: a");
}

#[test]
fn a_name_that_ends_in_a_colon_takes_the_rest_of_the_word() {
    let mut perl = program(OptionStyle::Posix, &["-e=", "-d", "-d:="]);
    perl.runs = Some(Runs { code: vec!["-e".into()], ..runs("perl") });
    for (line, flags, code) in [
        ("-de code", "-d -e=code |", "perl: code"),
        ("-d:Trace x.pl", "-d:=Trace | x.pl", "perl script: x.pl"),
        ("-d:Trace -e code", "-d:=Trace -e=code |", "perl: code"),
    ] {
        let reading = read_line(&perl, line);
        assert_eq!((shape(&reading), inline(&reading)), (flags.to_owned(), code.to_owned()), "{line}");
    }
}

#[test]
fn standard_input_may_follow_the_code() {
    let mut python = program(OptionStyle::Posix, &["-c=", "-m=", "-i"]);
    python.runs = Some(Runs { stdin_after: vec!["-i".into()], ..runs("python") });
    for (line, expected) in [
        ("-ic code", "python: code; python stdin"),
        ("-i x.py", "python script: x.py; python stdin"),
        ("x.py -i", "python script: x.py"),
        ("-i", "python stdin"),
        ("x.py", "python script: x.py"),
    ] {
        assert_eq!(inline(&read_line(&python, line)), expected, "{line}");
    }
    let mut debugger = program(OptionStyle::Posix, &["-c="]);
    debugger.runs = Some(Runs { stdin_after: vec!["*".into()], ..runs("python") });
    assert_eq!(inline(&read_line(&debugger, "x.py")), "python script: x.py; python stdin");
}

#[test]
fn code_may_be_an_operand() {
    let mut awk = program(OptionStyle::Gnu, &["-f=", "-v="]);
    awk.runs = Some(Runs { code_operand: true, script: vec!["-f".into()], language: "awk".into(), ..Runs::default() });
    assert_eq!(inline(&read_line(&awk, "-v a=b {print} file")), "awk: {print}");
    assert_eq!(inline(&read_line(&awk, "-f prog file")), "awk script: prog");
    let mut sqlite = program(OptionStyle::SingleDash, &[]);
    sqlite.runs = Some(Runs { code_at: Some(1), stdin: true, language: "sql".into(), ..Runs::default() });
    assert_eq!(inline(&read_line(&sqlite, "db drop_table_x")), "sql: drop table x");
    assert_eq!(inline(&read_line(&sqlite, "db")), "sql stdin");
}

#[test]
fn effects_fall_on_their_places() {
    let spec = |does, to, when: &[&str], unless: &[&str]| EffectSpec {
        does,
        to,
        when: when.iter().map(|name| test(name)).collect(),
        unless: unless.iter().map(|name| test(name)).collect(),
        recursive: vec![test("-r")],
        always_recursive: false,
    };
    let mut cp = program(OptionStyle::Gnu, &["-r", "-t|--target-directory=", "-n"]);
    cp.effects = vec![
        spec(Effect::Show, ArgumentPlace::Init, &[], &["-t"]),
        spec(Effect::Write, ArgumentPlace::Last, &[], &["-t", "-n"]),
        spec(Effect::Write, ArgumentPlace::Flag(vec!["-t".into()]), &["-t"], &[]),
    ];
    let reading = read_line(&cp, "-r a b c");
    let shown = |reading: &Reading| {
        let one = |derived: &DerivedEffect| {
            let on: Vec<_> = derived.on.iter().map(|operand| operand.value.rough().into_owned()).collect();
            format!("{}{} {}", derived.effect.key(), if derived.recursive { " -r" } else { "" }, on.join(","))
        };
        reading.effects.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(shown(&reading), [":show -r a,b", ":overwrite -r c"]);
    assert_eq!(shown(&read_line(&cp, "-t d a b")), [":overwrite d"]);
    assert_eq!(shown(&read_line(&cp, "-n a b")), [":show a"]);
    let mut tar = program(OptionStyle::Gnu, &["-x", "-C|--directory="]);
    tar.effects = vec![spec(Effect::Write, ArgumentPlace::Below(vec!["-C".into()]), &["-x"], &[])];
    assert_eq!(shown(&read_line(&tar, "-x a /b ~/c")), [":overwrite a,/b,~/c"]);
    assert_eq!(shown(&read_line(&tar, "-x --directory d a /b ~/c")), [":overwrite d/a,/b,~/c"]);
    assert_eq!(shown(&read_line(&tar, "-x -C d -C e a")), [":overwrite d/a,e/a"]);
    assert!(shown(&read_line(&tar, "-C d a")).is_empty());
    let mut download = program(OptionStyle::Gnu, &["-o=", "--output-dir="]);
    let output = ArgumentPlace::Flag(vec!["-o".into()]);
    let inside = ArgumentPlace::Inside(Box::new(output), vec!["--output-dir".into()]);
    download.effects = vec![spec(Effect::Write, inside, &[], &[])];
    assert_eq!(shown(&read_line(&download, "-o a x")), [":overwrite a"]);
    assert_eq!(shown(&read_line(&download, "-o a --output-dir d x")), [":overwrite d/a"]);
    assert_eq!(shown(&read_line(&download, "-o /a --output-dir d x")), [":overwrite /a"]);
}

#[test]
fn a_dry_run_is_what_the_description_says() {
    let mut tool = program(OptionStyle::Gnu, &["-n|--dry-run"]);
    tool.dry_run = vec![test("-n")];
    assert!(read_line(&tool, "--dry-run x").dry_run);
    assert!(read_line(&tool, "-vn x").dry_run);
    assert!(!read_line(&tool, "-- -n x").dry_run);
}

#[test]
fn help_in_another_spelling_is_help_where_nothing_else_is_described_so() {
    let mut tool = program(OptionStyle::Gnu, &["-f|--force"]);
    assert!(!read_line(&tool, "x -h").dry_run);
    tool.dry_run = vec![test("--help")];
    for line in ["x -h", "-h", "x -f -help", "help x"] {
        let subs = if line.starts_with("help") {
            vec![Sub { paths: vec![vec!["rm".into()]], ..Sub::default() }]
        } else {
            vec![]
        };
        assert!(read_line(&Program { subs: subs.into(), ..tool.clone() }, line).dry_run, "{line}");
    }
    for line in ["-h x", "x -fh", "x -- -h", "x help", "help x"] {
        assert!(!read_line(&tool, line).dry_run, "{line}");
    }
    tool.options = options(&["-h|--host"]);
    assert!(!read_line(&tool, "x -h").dry_run);
    let runner = Program { runs: Some(runs("shell")), ..program(OptionStyle::Gnu, &["-c="]) };
    assert!(!read_line(&Program { dry_run: vec![test("--help")], ..runner }, "-c x -h").dry_run);
}

#[test]
fn a_word_of_a_dry_run_stands_last_and_alone_where_it_may_be_a_name() {
    let mut tool = program(OptionStyle::Gnu, &[]);
    tool.dry_run = vec![test("help"), test("/?"), test("test=True")];
    for line in ["help", "-x help", "a /?", "a b test=True"] {
        assert!(read_line(&tool, line).dry_run, "{line}");
    }
    for line in ["a help", "help a", "help -x", "/? a", "a test=False"] {
        assert!(!read_line(&tool, line).dry_run, "{line}");
    }
}
