use super::*;
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::expander::Expansion;
use crate::judge::analysis::testing::line_in;
use crate::judge::analysis::testing::world::SampleWorld;
use crate::judge::syntax;
use crate::judge::syntax::tree::{Command, CommandSubstitution, Dialect, ProcessSubstitution};

/// An expansion without a walk: each command substitution prints the same text.
struct FixedOutput<'a> {
    input: AnalysisInput<'a>,
    expansion: Expansion,
    prints: Value,
    captured: usize,
    embedded: Vec<String>,
    limited: bool,
}

impl Walk for FixedOutput<'_> {
    fn input(&self) -> &AnalysisInput<'_> {
        &self.input
    }

    fn expansion(&mut self) -> &mut Expansion {
        &mut self.expansion
    }

    fn capture(&mut self, _: &mut State, _: &Context, _: &CommandSubstitution) -> Value {
        self.captured += 1;
        self.prints.clone()
    }

    fn process(&mut self, _: &mut State, _: &Context, _: &ProcessSubstitution) -> Value {
        unknown(UnknownReason::Pipe, Taint::default())
    }

    fn embedded(&mut self, _: &mut State, _: &Context, text: &str) {
        self.embedded.push(text.to_owned());
    }

    fn too_many_words(&mut self, _: Span) {
        self.limited = true;
    }
}

/// Expands the words of a command in a shell, and passes them to `of` with the facts that the expansion found. Unknown
/// parts are `?`.
fn expanded<R>(
    words: &str,
    state: &mut State,
    prints: &Value,
    of: impl FnOnce(Vec<String>, &FixedOutput<'_>) -> R,
) -> R {
    let script = syntax::parse(format!(": {words}").as_bytes(), Dialect::Bash).expect("the words parse");
    let [Command::Simple(simple)] = script.items[0].first.commands.as_slice() else { panic!("one command") };
    SampleWorld::default().given(&line_in("", Dialect::Bash, &[("GIVEN", "a b"), ("API_TOKEN", "x")]), |input| {
        let (expansion, prints) = (Expansion::default(), prints.clone());
        let mut alone = FixedOutput { input, expansion, prints, captured: 0, embedded: Vec::new(), limited: false };
        let (mut fields, context) = (Vec::new(), Context::default());
        for word in simple.words.iter().skip(1) {
            Expander { walk: &mut alone }.fields(state, &context, word, &mut fields);
        }
        let texts = fields.iter().map(|field| field.value.rough().replace(super::super::value::HOLE, "?"));
        of(texts.collect(), &alone)
    })
}

fn here() -> State {
    let mut state = State::at(Some(Place::of("/srv/x")));
    state.set_scalar("v", Value::text("one two"));
    state.positional = std::rc::Rc::new(vec![Value::text("p q"), Value::text("r")]);
    state
}

fn words(text: &str) -> Vec<String> {
    expanded(text, &mut here(), &Value::text("k l"), |words, _| words)
}

#[test]
fn unquoted_results_are_split_and_quoted_ones_are_not() {
    assert_eq!(words("$v \"$v\" '$v' a$v"), ["one", "two", "one two", "$v", "aone", "two"]);
    assert_eq!(words("\"$@\""), ["p q", "r"]);
    assert_eq!(words("$* \"\" ${nothing+x}"), ["p", "q", "r", ""]);
    assert_eq!(words("$(x) \"$(x)\""), ["k", "l", "k l"]);
}

#[test]
fn braces_tildes_and_arithmetic_are_expanded_in_the_order_of_the_shell() {
    assert_eq!(words("a{b,c}$((1 + 2))"), ["ab3", "ac3"]);
    assert_eq!(words("~/a ~+/a \"~\""), ["/home/dev/a", "/srv/x/a", "~"]);
    assert_eq!(words("${v:-x} ${n:-x y} ${v#one }"), ["one", "two", "x", "y", "two"]);
}

#[test]
fn what_is_not_known_stays_a_part_of_its_word() {
    let output = unknown(UnknownReason::CommandOutput, Taint::FETCHED);
    expanded("a$(x)b $unset/c <(x)", &mut here(), &output, |words, alone| {
        assert_eq!(words, ["a?b", "?/c", "?"]);
        assert_eq!(alone.captured, 1);
    });
}

#[test]
fn only_what_is_read_of_the_environment_is_on_record() {
    expanded("$GIVEN $HOME $API_TOKEN '$USER'", &mut here(), &Value::default(), |words, alone| {
        assert_eq!(words, ["a", "b", "/home/dev", "?", "$USER"]);
        let names: Vec<&str> = alone.expansion.expanded.iter().map(String::as_str).collect();
        assert_eq!(names, ["GIVEN", "HOME"], "what is named like a secret is not read");
    });
}

#[test]
fn arithmetic_assigns_and_what_it_evaluates_again_is_walked() {
    let mut state = here();
    state.set_scalar("w", Value::text("a[$(x)]"));
    expanded("$((n = 6 * 7)) $((w))", &mut state, &Value::default(), |words, alone| {
        assert_eq!(words, ["42", "?"]);
        assert!(alone.embedded.contains(&"a[$(x)]".to_owned()), "{:?}", alone.embedded);
    });
    expanded("$n", &mut state, &Value::default(), |words, _| assert_eq!(words, ["42"]));
}

#[test]
fn a_word_of_too_many_arguments_is_cut_and_said_so() {
    let many = Value::text("x ".repeat(2 * MAX_FIELDS));
    expanded("$(x)", &mut here(), &many, |words, alone| {
        assert_eq!((words.len(), alone.limited), (MAX_FIELDS, true));
    });
    expanded("$(x)", &mut here(), &Value::text("x"), |_, alone| assert!(!alone.limited));
}

#[test]
fn one_part_that_is_not_known_is_taken_down_once() {
    let mut expansion = Expansion::default();
    let (glob, other) = (Piece::Glob("*".into()), Piece::Glob("?".into()));
    let (first, second) = (expansion.hole(&glob), expansion.hole(&other));
    assert_ne!(first, second);
    assert_eq!(expansion.hole(&glob), first);
    assert_eq!(expansion.holes, [glob, other]);
}
