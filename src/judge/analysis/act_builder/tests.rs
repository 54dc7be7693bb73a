use super::*;
use crate::judge::analysis::act::Operand;
use crate::judge::analysis::arguments::DerivedEffect;
use crate::judge::analysis::files::FileModel;
use crate::judge::analysis::program_run::CommandCall;
use crate::judge::analysis::state::unknown;
use crate::judge::analysis::testing::world::SampleWorld;
use crate::judge::analysis::testing::{catalog, line};

const PROJECT: &str = "/home/dev/project";

fn here() -> State {
    State::at(Some(Place::of(PROJECT)))
}

/// Tests the progress of a walk with these acts.
fn asked<R>(world: &SampleWorld<'_>, acts: &[Act], test: impl FnOnce(WalkProgress<'_, '_>) -> R) -> R {
    world.given(&line(""), |input| {
        test(WalkProgress { input: &input, acts, sinks: &[], files: &FileModel::default(), pipes: &[] })
    })
}

fn word(text: &str) -> Arg {
    Arg::word(Value::text(text), Span::default())
}

fn operand(text: &str) -> Operand {
    Operand { value: Value::text(text), span: Span::default() }
}

fn program(name: &str) -> Verb {
    Verb::Program { name: name.into(), path: None }
}

#[test]
fn what_a_program_prints_is_tainted_as_it_is_described() {
    let taint = |output: OutputTaint, given: Taint, stdin: Stream| {
        let mut state = here();
        state.streams.stdin = stdin;
        let words = [Arg::word(unknown(UnknownReason::CommandOutput, given), Span::default())];
        let reading = Reading { output, ..Reading::default() };
        let context = Context::default();
        asked(&SampleWorld::default(), &[], |progress| {
            let called =
                CommandCall { name: "x", path: None, args: &[], env: &[], span: Span::default(), disguise: None };
            progress.of_program(&state, &context, program("x"), (&words, &reading), &called).taint
        })
    };
    let nothing = || Stream::Nothing;
    assert_eq!(taint(OutputTaint::Copies, Taint::SECRET, nothing()), Taint::SECRET);
    assert_eq!(taint(OutputTaint::Own, Taint::SECRET, nothing()), Taint::default());
    assert_eq!(taint(OutputTaint::Fetched, Taint::default(), nothing()), Taint::FETCHED);
    assert_eq!(taint(OutputTaint::Decoded, Taint::SECRET, nothing()), Taint::SECRET.and(Taint::DECODED));
    assert_eq!(taint(OutputTaint::Secret, Taint::default(), nothing()), Taint::SECRET);
    assert_eq!(taint(OutputTaint::Copies, Taint::default(), Stream::Inherited), Taint::FOREIGN);
}

#[test]
fn an_effect_changes_something_unless_it_is_rehearsed_or_falls_on_nothing() {
    let tier = |effect: Effect, on: &str, parent: Option<bool>| {
        let acts: Vec<Act> =
            parent.map(|dry_run| Act { dry_run, ..Act::plain(program("x"), None) }).into_iter().collect();
        let (on, parent) = (vec![operand(on)], parent.map(|_| 0));
        let context = Context::default();
        asked(&SampleWorld::default(), &acts, |progress| {
            progress
                .of_effect(&here(), &context, DerivedEffect::of(effect, on), parent, Span::default(), Taint::default())
                .tier
        })
    };
    assert_eq!(tier(Effect::Delete, "a", None), Tier::Low);
    assert_eq!(tier(Effect::Delete, "a", Some(false)), Tier::Low);
    assert_eq!(tier(Effect::Delete, "a", Some(true)), Tier::Safe);
    assert_eq!(tier(Effect::Show, "a", None), Tier::Safe);
    assert_eq!(tier(Effect::Write, "/dev/null", None), Tier::Safe);
}

#[test]
fn a_command_also_runs_where_an_unguarded_cd_failed() {
    let elsewhere = Place::of("/srv");
    let dirs = |tier: Tier, change: fn(&mut State)| {
        let mut state = here();
        state.cwd = Some(Place::of(format!("{PROJECT}/d")));
        state.doubt = vec![Some(elsewhere.clone())];
        change(&mut state);
        let world = SampleWorld { directories: &["d"], ..SampleWorld::default() };
        asked(&world, &[], |progress| progress.input.doubted(&state, tier))
    };
    let missing = |state: &mut State| state.cwd = Some(Place::of("/home/dev/project/gone"));
    assert_eq!(dirs(Tier::Low, missing), [Some(elsewhere.clone())]);
    assert_eq!(dirs(Tier::Safe, missing), []);
    assert_eq!(dirs(Tier::Low, |_| ()), [], "the directory is there");
    assert_eq!(dirs(Tier::Low, |state| state.fails = true), [Some(elsewhere.clone())]);
    assert_eq!(dirs(Tier::Low, |state| (state.fails, state.errexit) = (true, true)), []);
    assert_eq!(dirs(Tier::Low, |state| state.also = vec![None]), [None]);
}

#[test]
fn an_act_is_fed_by_what_wrote_to_its_input() {
    use crate::judge::analysis::act::Output;
    let mut facts = Facts { acts: vec![Act::plain(program("a"), None)], ..Facts::default() };
    let mut sinks = vec![Sink::default(), Sink::default()];
    sinks[0].writers.push(0);
    let mut state = here();
    state.streams.stdin = Stream::Sink(0, Output::Pipe);
    state.streams.stdout = Stream::Sink(1, Output::Pipe);
    for id in 1..100 {
        link(&mut facts, &mut sinks, &state, &Act::plain(program("b"), None), id);
    }
    assert_eq!(facts.acts[0].feeds, (1..=MAX_LINKS).collect::<Vec<_>>());
    assert_eq!(sinks[1].writers, (1..=MAX_LINKS).collect::<Vec<_>>());
    let effect = Act { parent: Some(0), ..Act::plain(Verb::Effect(Effect::Write), None) };
    let mut other = vec![Sink::default(), Sink::default()];
    link(&mut facts, &mut other, &state, &effect, 100);
    assert!(other[1].writers.is_empty(), "an effect is fed and read with its program");
}

#[test]
fn unset_variables_are_left_out_where_that_names_another_place() {
    let catalog = catalog();
    let emptied = |variable: Value, rest: &str| {
        let words = [word("-rf"), Arg::word(Value::join([&variable, &Value::text(rest)], ""), Span::default())];
        let (words, _) = emptied(catalog.program("rm"), &words)?;
        Some(words.iter().map(|word| word.value.rough().into_owned()).collect::<Vec<_>>().join(" "))
    };
    let unset = || unknown(UnknownReason::Variable("X".into()), Taint::default());
    let temporary = || unknown(UnknownReason::Temporary { variable: false }, Taint::default());
    assert_eq!(emptied(unset(), "/").as_deref(), Some("-rf /"));
    assert_eq!(emptied(unset(), "/etc").as_deref(), Some("-rf /etc"));
    assert_eq!(emptied(unset(), "x"), None, "that is no other place");
    assert_eq!(emptied(Value::text("/a"), "/"), None);
    assert_eq!(emptied(temporary(), "/*").as_deref(), Some("-rf /*"));
    assert_eq!(emptied(temporary(), "/x"), None);
}

#[test]
fn a_variable_that_is_given_what_it_has_is_only_declared() {
    let args = |name: &str, text: &str| {
        let mut act = Act { args: vec![Value::text(text)], ..Act::plain(program(name), None) };
        asked(&SampleWorld::default(), &[], |progress| progress.input.leave_out_what_holds_already(&mut act));
        act.args[0].rough().into_owned()
    };
    assert_eq!(args("export", "HOME=/home/dev"), "HOME");
    assert_eq!(args("export", "HOME=/srv"), "HOME=/srv");
    assert_eq!(args("echo", "HOME=/home/dev"), "HOME=/home/dev");
}

#[test]
fn a_descriptor_that_is_given_as_a_file_is_what_it_has_open() {
    let mut state = here();
    let field = |text: &str| Field::text(text, Span::default());
    let through = |state: &State, text: &str| {
        let fields = through_descriptors(state, &[field("x"), field(text)])?;
        Some(fields.iter().map(|field| field.value.rough().into_owned()).collect::<Vec<_>>())
    };
    assert_eq!(through(&state, "/dev/fd/4"), None);
    state.streams.set(4, Stream::File(Rc::new(operand("a")), None));
    assert_eq!(through(&state, "/dev/fd/4"), Some(vec!["x".into(), "a".into()]));
    assert_eq!(through(&state, "/dev/fd/5"), None);
}
