use super::Step::{Code, EscapesAsRoot, Executable, Inner, Leads, PerhapsWraps, Prints, Raised, Touches, Typed};
use super::*;
use crate::judge::analysis::act::Value;
use crate::judge::analysis::arguments;
use crate::judge::analysis::testing::catalog;
use crate::judge::rules::model::{Load, Program};
use crate::judge::syntax::tree::Span;

/// Returns the steps after a command, by the catalog of the tests.
fn behind(command: &str, change: impl FnOnce(&mut StepFacts<'_>)) -> Vec<Step> {
    let catalog = catalog();
    let mut words = command.split(' ');
    let name = words.next().unwrap_or_default();
    let words: Vec<Arg> = words.map(|word| Arg::word(Value::text(word), Span::default())).collect();
    let described = catalog.program(name);
    let unknown = Program::default();
    let reading = arguments::read(described.unwrap_or(&unknown), &words);
    let mut ran = StepFacts {
        name,
        words: &words,
        reading: &reading,
        builtin: Builtin::of(name, true),
        is_known: described.is_some(),
        is_described: described.is_some(),
        is_path: false,
        elsewhere: false,
        wrote: false,
        idle: false,
        root: false,
        is_remote: false,
    };
    change(&mut ran);
    steps(&ran)
}

fn plainly(command: &str) -> Vec<Step> {
    behind(command, |_| ())
}

#[test]
fn what_an_interpreter_runs_comes_before_what_it_reads_and_prints() {
    assert_eq!(plainly("nice rm a"), [Typed, Leads, Inner, Touches], "it reads its files before it runs a command");
    assert_eq!(plainly("python3 -c a"), [Typed, Code(0), Leads, Touches, Prints]);
    assert_eq!(plainly("bash -c a"), [Typed, Code(0), Leads, Touches], "its code passes on what it prints");
    assert_eq!(plainly("rm a"), [Typed, Leads, Touches, Prints]);
    assert_eq!(plainly("cd a"), [Typed, Leads, Prints]);
}

#[test]
fn only_a_program_that_may_run_its_arguments_is_taken_for_a_wrapper() {
    assert_eq!(plainly("nobody-describes-this rm a"), [PerhapsWraps, Leads, Touches, Prints]);
    assert_eq!(plainly("nobody-describes-this"), [Leads, Touches, Prints]);
    assert_eq!(plainly("nobody:describes rm a"), [Leads, Touches, Prints]);
    assert_eq!(plainly("git exec rm"), [Typed, PerhapsWraps, Leads, Touches, Prints]);
    assert_eq!(plainly("cat exec rm"), [Typed, Leads, Touches, Prints]);
}

#[test]
fn as_root_more_is_followed_and_on_another_machine_less() {
    assert_eq!(behind("rm a", |ran| ran.root = true), [Typed, EscapesAsRoot, Leads, Raised, Touches, Prints]);
    assert_eq!(behind("rm a", |ran| (ran.root, ran.is_remote) = (true, true)), [Typed, EscapesAsRoot, Leads, Prints]);
    assert_eq!(behind("cd a", |ran| ran.root = true), [Typed, EscapesAsRoot, Leads, Prints]);
}

#[test]
fn what_only_checks_or_passed_on_its_output_is_not_followed() {
    assert_eq!(behind("bash -c a", |ran| ran.idle = true), [Leads]);
    assert_eq!(behind("bash -c a", |ran| (ran.idle, ran.elsewhere) = (true, true)), []);
    assert_eq!(behind("rm a", |ran| ran.wrote = true), []);
}

#[test]
fn a_program_by_its_path_is_read_as_what_lies_there() {
    let by_path = |command: &str, elsewhere: bool| {
        let steps = behind(command, |ran| (ran.is_path, ran.elsewhere) = (true, elsewhere));
        steps.into_iter().find(|step| matches!(step, Executable { .. }))
    };
    assert_eq!(by_path("rm a", false), Some(Executable { if_brought: true }));
    assert_eq!(by_path("rm a", true), Some(Executable { if_brought: false }));
    assert_eq!(by_path("nobody-describes-this", true), Some(Executable { if_brought: false }));
    assert!(!behind("rm a", |ran| ran.elsewhere = true).contains(&Typed));
}

#[test]
fn what_a_program_loads_comes_before_what_it_fetches() {
    use DescribedLead::{Archives, Downloads, Kind, Loads, ProjectCode};
    use Lead::{Built, CommandVariables, Described, SessionCode, Sources, UnknownScripts};
    let none = Reading::default();
    assert_eq!(leads(None, &none, false), [CommandVariables, SessionCode, UnknownScripts]);
    let plain = Program::default();
    let of = |lead| Described(&plain, lead);
    assert_eq!(
        leads(Some(&plain), &none, false),
        [CommandVariables, of(ProjectCode), SessionCode, UnknownScripts, of(Downloads), of(Archives)]
    );
    let program = Program { loads: vec![Load::default()], follows: vec![Follow::Git], ..Program::default() };
    let of = |lead| Described(&program, lead);
    assert_eq!(
        leads(Some(&program), &none, false),
        [
            CommandVariables,
            of(ProjectCode),
            SessionCode,
            of(Loads),
            UnknownScripts,
            of(Downloads),
            of(Archives),
            of(Kind(Follow::Git)),
        ]
    );
    let compiled = leads(None, &Reading { compiles: true, ..Reading::default() }, false);
    assert_eq!(compiled, [CommandVariables, SessionCode, UnknownScripts, Built, Sources]);
}

#[test]
fn on_another_machine_and_in_a_dry_run_little_leads_on() {
    let program = Program { loads: vec![Load::default()], follows: vec![Follow::Git], ..Program::default() };
    let dry = Reading { dry_run: true, ..Reading::default() };
    assert_eq!(leads(Some(&program), &Reading::default(), true), [Lead::CommandVariables]);
    assert_eq!(leads(Some(&program), &dry, false), [Lead::Described(&program, DescribedLead::Loads)]);
    assert_eq!(leads(Some(&program), &dry, true), []);
    assert_eq!(leads(Some(&Program::default()), &dry, false), []);
}
