//! Evaluates the conditions of a rule for an act, the cheapest ones first.

use std::collections::HashSet;

use super::inspected_text::{self, InspectedValue};
use super::lowering;
use super::match_context::{View, words};
use super::printed_acts::{is_reduced_to, only_reads};
use crate::judge::analysis::act::{Act, ActId, Input, Output, Piece, Taint, Value, Verb};
use crate::judge::analysis::arguments::GLOBAL;
use crate::judge::invocation::Origin;
use crate::judge::path_class::{PathClass, PathClasses};
use crate::judge::rules::blob::Features;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::model::{
    EnvTest, FlagTest, InputTest, Match, NO_SUB, NoEnvTest, OperandQuantifier, OperandTest, OutputTaint, RawTest,
    TaintName,
};
use crate::judge::rules::{glob, subs, text};
use crate::judge::syntax::tree::Span;

/// Returns the features of an act that conditions may require. An effect has the input, output and options of its
/// program.
pub(super) fn features(view: &View<'_>) -> Features {
    let (act, program) = (view.act, view.program());
    let reads = |act: &Act| !matches!(act.input, Input::Inherited | Input::Nothing);
    [
        (!act.env.is_empty(), Features::ENV),
        (reads(act) || reads(program), Features::INPUT),
        (taint_of(act) != Taint::default(), Features::TAINTED),
        (!(act.feeds.is_empty() && program.feeds.is_empty()), Features::FEEDS),
        (!act.wrappers.is_empty(), Features::WRAPPED),
        (act.root, Features::ROOT),
        (act.remote.is_some(), Features::REMOTE),
        (act.code.is_some(), Features::CODE),
        (!view.flags().is_empty(), Features::FLAGS),
        (!act.operands.is_empty(), Features::OPERANDS),
    ]
    .into_iter()
    .filter(|(has, _)| *has)
    .fold(Features::default(), |all, (_, feature)| all.and(feature))
}

/// Evaluates all conditions. If they are met, it returns the operands because of which they are (all operands, if no
/// condition is about operands).
pub(super) fn holds<'v>(view: &'v View<'_>, when: &Match) -> Option<Vec<&'v InspectedValue<'v>>> {
    let act = view.act;
    let program = view.program();
    let plain = sub_holds(view, when)
        && (when.dry_run || !(act.dry_run || program.dry_run))
        && !(when.guarded && view.context.invocation.origin == Origin::Cli)
        && when.recursive.is_none_or(|recursive| recursive == act.recursive)
        && when.root.is_none_or(|root| root == act.root)
        && when.remote.is_none_or(|remote| remote == act.remote.is_some())
        && when.count.is_none_or(|(least, most)| {
            u32::try_from(act.operands.len()).is_ok_and(|count| (least..=most).contains(&count))
        })
        && (when.wrapped.is_empty() || is_wrapped(view, when))
        && !stands_in(view, &when.outside)
        && (when.tainted.is_empty() || when.tainted.iter().any(|name| taint_of(act).has(taint(*name))))
        && (when.input.is_empty() || when.input.iter().any(|test| input_holds(view, *test)))
        && (when.env.is_empty() || when.env.iter().any(|test| env_holds(view, test)))
        && !when.no_env.iter().any(|test| variable_decides(view, test, &when.no_flags))
        && when.flags.iter().all(|test| flag_holds(view, test))
        && !when.no_flags.iter().any(|test| flag_holds(view, test))
        && (when.shown != Some(true) || view.may_be_shown())
        && when.stored.is_none_or(|stored| stored == (program.output == Output::File))
        && (when.feeds.is_empty() || feeds(view, &when.feeds, true))
        && (when.no_feeds.is_empty() || !feeds(view, &when.no_feeds, false))
        && (when.no_taken_by.is_empty() || !taken_by_alone(view, &when.no_taken_by))
        && when.words.iter().all(|test| view.words().iter().any(|word| word.passes(test, view)))
        && when.text.as_ref().is_none_or(|test| view.context.finds(test))
        && code_holds(view, when)
        && (when.brought.is_empty() || when.brought.iter().any(|name| is_brought_into(view, name)));
    if !plain {
        return None;
    }
    let mut touched = vec![false; view.operands().len()];
    if !when.operands.iter().all(|test| operand_holds(view, test, &mut touched)) {
        return None;
    }
    // What programs leave of their input is found out last, because it is costly.
    let is_reduced = || is_reduced_to(view.context, view.context.program_of(view.id), &when.no_reduced);
    if when.shown.is_some_and(|shown| shown != view.is_shown()) || !when.no_reduced.is_empty() && is_reduced() {
        return None;
    }
    let all = !touched.contains(&true);
    Some(view.operands().iter().zip(touched).filter(|(_, is)| all || *is).map(|(seen, _)| seen).collect())
}

/// Reports whether the subcommand meets the condition. A glob does not match a subcommand that is described by its
/// name.
fn sub_holds(view: &View<'_>, when: &Match) -> bool {
    let act = view.act;
    let covers = |path: &Vec<String>| {
        let words = || path.iter().map(String::as_str);
        path.iter().any(|word| glob::is_glob(word))
            && (1..=act.sub.len()).any(|length| subs::covers(words(), act.sub.get(..length).unwrap_or_default()))
            && !is_named(view)
    };
    let none = |path: &Vec<String>| act.sub.is_empty() && path.first().is_some_and(|word| word == NO_SUB);
    when.subs.is_empty() || when.subs.iter().any(|path| act.sub.starts_with(path) || covers(path) || none(path))
}

/// Reports whether the subcommand is described by its name.
fn is_named(view: &View<'_>) -> bool {
    let Verb::Program { name, .. } = &view.act.verb else { return false };
    view.context.catalog.program(name).is_some_and(|program| program.subs.names(&view.act.sub))
}

fn operand_holds(view: &View<'_>, test: &OperandTest, touched: &mut [bool]) -> bool {
    let operands = view.operands();
    let mut touch = |index: usize| {
        if let Some(place) = touched.get_mut(index) {
            *place = true;
        }
    };
    let at = |index: usize| operands.get(index).is_some_and(|seen| seen.passes(&test.test, view));
    match test.which {
        OperandQuantifier::Any => {
            let mut any = false;
            for (index, seen) in operands.iter().enumerate() {
                if seen.passes(&test.test, view) {
                    touch(index);
                    any = true;
                }
            }
            any
        }
        OperandQuantifier::All => {
            let all = !operands.is_empty() && operands.iter().all(|seen| seen.passes(&test.test, view));
            (0..operands.len()).filter(|_| all).for_each(&mut touch);
            all
        }
        OperandQuantifier::No => !operands.iter().any(|seen| seen.passes(&test.test, view)),
        OperandQuantifier::At(index) => {
            let holds = at(index as usize);
            touch(index as usize);
            holds
        }
        OperandQuantifier::Last => {
            let Some(last) = operands.len().checked_sub(1) else { return false };
            touch(last);
            at(last)
        }
    }
}

fn flag_holds(view: &View<'_>, test: &FlagTest) -> bool {
    view.context.spend(view.flags().len() as u64 / 2);
    view.flags().iter().any(|flag| {
        // A test of a value applies to the program's option that takes one, even if the subcommand has an option of the
        // same name.
        let name = match (&test.value, flag.name.strip_prefix(GLOBAL)) {
            (Some(_), Some(name)) => name,
            _ => flag.name.as_str(),
        };
        test.names.iter().any(|known| text::same_flag(known, name))
            && test.value.as_ref().is_none_or(|test| flag.value.as_ref().is_some_and(|value| view.passes(test, value)))
    })
}

fn env_holds(view: &View<'_>, test: &EnvTest) -> bool {
    view.context.spend(4);
    view.act.env.named(&test.name).any(|(_, value)| {
        view.context.spend(2);
        test.value.as_ref().is_none_or(|test| view.passes(test, value))
    })
}

/// Reports whether the last value that the command gives to a variable passes the test, and no option or other variable
/// overrides it.
fn variable_decides(view: &View<'_>, test: &NoEnvTest, options: &[FlagTest]) -> bool {
    let env = &view.act.env;
    let holds = env.named(&test.name).last().is_some_and(|(_, value)| view.passes(&test.value, value));
    let outweighs = |option: &FlagTest| {
        view.flags().iter().any(|flag| option.names.iter().any(|name| text::same_flag(name, &flag.name)))
    };
    let names = || view.context.invocation.env.variables.keys().filter_map(|name| name.to_str());
    let is_set = |pattern: &String| env.may_set(pattern) || names().any(|name| glob::text(pattern, name));
    view.context.spend(4)
        && holds
        && !options.iter().any(outweighs)
        && !test.unless.iter().any(is_set)
        && view.context.spend(0)
}

const fn taint(name: TaintName) -> Taint {
    match name {
        TaintName::Fetched => Taint::FETCHED,
        TaintName::Decoded => Taint::DECODED,
        TaintName::Secret => Taint::SECRET,
        TaintName::Foreign => Taint::FOREIGN,
        TaintName::Named => Taint::NAMED,
        TaintName::Parent => Taint::PARENT,
    }
}

/// Returns the taints of the arguments of a program.
pub(super) fn taint_of(act: &Act) -> Taint {
    let flags = act.flags.iter().filter_map(|flag| flag.value.as_ref());
    let code = act.code.iter().map(|code| &code.text);
    words(act).chain(flags).chain(code).fold(act.env.taint(), |all, value| all.and(value.taint()))
}

fn input_holds(view: &View<'_>, test: InputTest) -> bool {
    let input = &view.program().input;
    match test {
        InputTest::Pipe => matches!(input, Input::Pipe(_)),
        InputTest::Text => matches!(input, Input::Text(_)),
        InputTest::File => matches!(input, Input::File(_)),
        InputTest::Fetched => input_taint(view, input).has(Taint::FETCHED),
        InputTest::Decoded => input_taint(view, input).has(Taint::DECODED),
        InputTest::SecretFile => matches!(input, Input::File(_)) && input_taint(view, input).has(Taint::SECRET),
        InputTest::Secret => input_taint(view, input).has(Taint::SECRET),
        InputTest::Named => input_taint(view, input).has(Taint::NAMED),
        InputTest::Inherited => matches!(input, Input::Inherited),
    }
}

/// Reports whether any of these wrappers encloses the act.
fn stands_in(view: &View<'_>, wrappers: &[String]) -> bool {
    view.act.wrappers.iter().any(|wrapper| is_among(view, wrapper, wrappers))
}

/// Reports whether a name is that of one of these verbs.
fn is_among(view: &View<'_>, name: &str, verbs: &[String]) -> bool {
    verbs.iter().any(|verb| is_verb(view.context.catalog, name, verb))
}

/// Returns the taints of standard input, which include those of the input of the programs that print it.
fn input_taint(view: &View<'_>, input: &Input) -> Taint {
    match input {
        Input::Inherited | Input::Nothing => Taint::default(),
        Input::Pipe(from) => from
            .iter()
            .filter_map(|id| view.context.facts.acts.get(*id))
            .fold(Taint::default(), |all, act| all.and(act.taint)),
        Input::File(operand) => {
            let (context, cwd) = (view.context, view.act.cwd.as_ref());
            let class = context.placer.classes(&operand.value, cwd, context.catalog, context.inquiry);
            let path = || context.placer.path(&operand.value, cwd).filter(|path| !path.dynamic);
            let behind = || path().and_then(|path| inspected_text::behind_links(view, &path));
            let is_secret = |classes: PathClasses| classes.has(PathClass::Secret);
            let secret = is_secret(class) || view.act.remote.is_none() && behind().is_some_and(is_secret);
            operand.value.taint().and(if secret { Taint::SECRET } else { Taint::default() })
        }
        Input::Text(text) => text.taint(),
    }
}

/// Reports whether `name` is `verb` in a rule: the same name, a match of the glob, or another name of the same program.
fn is_verb(catalog: &Catalog, name: &str, verb: &str) -> bool {
    name == verb
        || glob::is_glob(verb) && glob::text(verb, name)
        || !verb.starts_with(':') && catalog.program(verb).is_some_and(|program| program.is_same(verb, name))
}

/// Reports whether a wrapper that the rule requires, and does not ignore, encloses the act.
fn is_wrapped(view: &View<'_>, when: &Match) -> bool {
    let is = |wrapper: &str, verbs: &[String]| is_among(view, wrapper, verbs);
    view.act.wrappers.iter().any(|wrapper| is(wrapper, &when.wrapped) && !is(wrapper, &when.no_wrapped))
}

/// Reports whether the user's own work was moved into this directory, relative to that of the act, or below it.
fn is_brought_into(view: &View<'_>, name: &str) -> bool {
    let path = view.context.placer.path(&Value::text(name), view.act.cwd.as_ref());
    view.context.spend(8);
    path.is_some_and(|path| lowering::is_known_to_be_moved(view, &path))
}

/// Reports whether the output reaches one of these verbs through pipes and filters.
fn feeds(view: &View<'_>, verbs: &[String], without_fuel: bool) -> bool {
    let context = view.context;
    let fits = |name: &str| verbs.iter().any(|verb| is_verb(context.catalog, name, verb));
    let mut seen: HashSet<ActId> = HashSet::new();
    let mut open: Vec<ActId> = view.program().feeds.clone();
    while let Some(id) = open.pop() {
        if !context.spend(8) {
            return without_fuel;
        }
        if !seen.insert(id) {
            continue;
        }
        let Some(act) = context.facts.acts.get(id) else { continue };
        if fits(act.verb.key()) || context.effects_of(id).any(|(_, effect)| fits(effect.key())) {
            return true;
        }
        if copies(context.catalog, act) {
            open.extend(&act.feeds);
        }
    }
    false
}

/// Reports whether substitutions take the whole output, and the command passes secrets to these programs only.
fn taken_by_alone(view: &View<'_>, verbs: &[String]) -> bool {
    let context = view.context;
    let acts = &context.facts.acts;
    let mut taken: HashSet<ActId> = HashSet::new();
    let mut open = vec![view.act.parent.unwrap_or(view.id)];
    while let Some(id) = open.pop() {
        let Some(act) = acts.get(id).filter(|_| context.spend(8)) else { return false };
        // Filters between may pass it to the substitution, and to nothing else.
        let passes_on = || copies(context.catalog, act) && only_reads(context, id, act);
        if !taken.is_empty() && !passes_on() {
            return false;
        }
        if taken.insert(id) {
            match act.output {
                Output::Captured => {}
                Output::Pipe => open.extend(act.feeds.iter().map(|next| context.program_of(*next))),
                Output::Inherited | Output::File | Output::Nothing => return false,
            }
        }
    }
    let carries = |id: ActId, act: &Act| {
        taint_of(act).and(input_taint(&View::new(context, id, act), &act.input)).has(Taint::SECRET)
    };
    // Other text in the same word may determine where the data is sent.
    let is_whole = |act: &Act| {
        let flags = act.flags.iter().filter_map(|flag| flag.value.as_ref());
        let mut secret = words(act).chain(flags).filter(|value| value.taint().has(Taint::SECRET));
        let is_unknown = |piece: &Piece| matches!(piece, Piece::Unknown(_)) || piece.as_text() == Some("");
        secret.all(|value| value.pieces().iter().all(is_unknown))
    };
    let mut handed = false;
    for (id, act) in acts.iter().enumerate().filter(|(_, act)| matches!(act.verb, Verb::Program { .. })) {
        if !context.spend(8) {
            return false;
        }
        if taken.contains(&id) || !carries(id, act) {
            continue;
        }
        if act.remote.is_some()
            || !is_whole(act)
            || !verbs.iter().any(|verb| is_verb(context.catalog, act.verb.key(), verb))
        {
            return false;
        }
        handed = true;
    }
    handed
}

/// Reports whether a program may print what it reads. An undescribed program may.
pub(super) fn copies(catalog: &Catalog, act: &Act) -> bool {
    let Verb::Program { name, .. } = &act.verb else { return false };
    let Some(program) = catalog.program(name) else { return true };
    let sub = program.subs.exact(&act.sub).and_then(|sub| sub.output);
    matches!(sub.unwrap_or(program.output), OutputTaint::Copies | OutputTaint::Decoded)
}

fn code_holds(view: &View<'_>, when: &Match) -> bool {
    let Some(test) = &when.code else { return true };
    view.act.code.as_ref().is_some_and(|code| {
        if !test.languages.is_empty() && !test.languages.contains(&code.language) {
            return false;
        }
        let text = code.text.rough();
        view.context.spend((text.len() * (1 + test.literals.len()) / 64) as u64);
        let stands = |literal: &String| text.contains(literal.as_str());
        (test.literals.is_empty() || test.literals.iter().any(stands))
            && view.context.spend(text.len() as u64 / 16)
            && text::found(&test.regex, &text)
    })
}

/// Reports whether the only condition of a rule is a text.
pub(super) fn is_text_alone(when: &Match) -> bool {
    *when == Match { verbs: when.verbs.clone(), text: when.text.clone(), dry_run: when.dry_run, ..Match::default() }
}

/// Returns the position of the text that a rule searches.
pub(super) fn text_span(when: &Match, text: &str) -> Option<Span> {
    raw_span(when.text.as_ref()?, text)
}

/// Returns the position at which a test of raw text matches. The expression is compiled only if the literal occurs.
pub(super) fn raw_span(test: &RawTest, original: &str) -> Option<Span> {
    let literal = original.find(&test.literal)?;
    let (start, end) = match &test.regex {
        Some(regex) => text::find(regex, original)?,
        None => (literal, literal + test.literal.len()),
    };
    Some(Span::new(u32::try_from(start).ok()?, u32::try_from(end).ok()?))
}
