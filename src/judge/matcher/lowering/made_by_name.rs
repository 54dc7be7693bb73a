//! What an earlier act of the line made or began, known by its name alone: a container, a branch, a session.
//!
//! Out of scope: files, which are known by where they lie.

use super::refs::is_unborn;
use super::{earlier, is_opaque, place};
use crate::judge::analysis::act::{Act, ActId, Flag, Operand, Output, Piece, UnknownReason, Value, Verb};
use crate::judge::analysis::paths::{NormalPath, Start};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::PathKind;
use crate::judge::analysis::value_test::given;
use crate::judge::context::names_production;
use crate::judge::ledger::NamedObject;
use crate::judge::matcher::inspected_text::InspectedValue;
use crate::judge::matcher::match_context::{MatchContext, View};
use crate::judge::risk::Tier;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Why what is taken away does not count: an earlier act of the line made it, by the same name; or it began what is now
/// broken off. From tier 3 on it must be sure that nothing was there before: a place where nothing is, or a maker that
/// the act hangs on by `&&`, so that it refused if the name was taken.
pub(in crate::judge::matcher) fn made(view: &View<'_>, makers: &[Vec<String>], tier: Tier) -> Option<&'static str> {
    if makers.is_empty() || !view.context.spend(8) || tier >= Tier::High && is_opaque(view) {
        return None;
    }
    let act = view.act;
    let makers: Vec<MakingCommand<'_>> = makers.iter().map(|words| MakingCommand::new(words)).collect();
    let place = |seen: &InspectedValue<'_>| {
        let path = seen.path(view);
        let is_new = |path: &NormalPath| {
            let numbered = path.components.iter().any(|component| component.is_unknown());
            let made = path.start == Start::Temporary && !path.components.is_empty();
            !path.dynamic && (made || numbered && view.context.placer.is_temp(path, view.context.inquiry))
        };
        if path.is_some_and(is_new) {
            return true;
        }
        path.and_then(place)
            .and_then(|path| view.context.inquiry.path(&path))
            .is_some_and(|facts| facts.kind == PathKind::Missing)
    };
    let missing = || !view.operands().is_empty() && view.operands().iter().all(place);
    let counts = |id: ActId, other: &Act, maker: &MakingCommand<'_>| {
        tier < Tier::High || maker.places && missing() || hangs_on(view, id, other)
    };
    let any = |holds: &dyn Fn(&MakingCommand<'_>, &Act) -> bool| {
        let is_maker = |name: &str| makers.iter().any(|maker| maker.is_program(view.context, name));
        earlier(view, view.context.history().programs(is_maker)).any(|(id, other)| {
            other.remote == act.remote
                && !other.dry_run
                && !resumes(view.context, other)
                && makers.iter().any(|maker| maker.is(view, other) && holds(maker, other) && counts(id, other, maker))
        })
    };
    let operands: Vec<_> = act.operands.iter().map(|operand| operand.value.name().unwrap_or_default()).collect();
    let flags: Vec<_> = act.flags.iter().filter(|flag| flag.value.is_some()).collect();
    let holds = if operands.is_empty() && flags.is_empty() {
        any(&|maker, other| other.sub == act.sub || maker.names_nothing(other))
    } else {
        operands.iter().all(|name| !name.is_empty() && any(&|maker, other| maker.gives(view, other, name)))
            && flags.iter().all(|flag| any(&|maker, other| maker.says(view, other, flag)))
    };
    if holds {
        return view.context.spend(0).then_some("this command itself creates it");
    }
    // Whether an earlier command succeeded is not known: from tier 3 on it counts for nothing.
    let known = tier < Tier::High && act.remote.is_none();
    let ledger = view.context.inquiry.ledger().filter(|_| known)?;
    let here = view.context.program(act).is_some_and(|program| program.works_in.is_some());
    // Of what is not known of a directory, an earlier command knew something else.
    let dir = act.cwd.as_ref().and_then(Place::text);
    let is_here = |named: &&NamedObject| !here || dir.is_some() && named.cwd.as_deref() == dir;
    let past: Vec<Act> = ledger.named().filter(is_here).take(MOST).map(remembered).collect();
    let any = |holds: &dyn Fn(&MakingCommand<'_>, &Act) -> bool| {
        past.iter().any(|other| {
            view.context.spend(8)
                && !resumes(view.context, other)
                && makers.iter().any(|maker| maker.is(view, other) && holds(maker, other))
        })
    };
    if operands.is_empty() && flags.is_empty() {
        let begun = any(&|maker, other| other.sub == act.sub || maker.names_nothing(other));
        return (begun && view.context.spend(0)).then_some("this session started it");
    }
    let made = operands.iter().all(|name| !name.is_empty() && any(&|maker, other| maker.gives(view, other, name)))
        && flags.iter().all(|flag| any(&|maker, other| maker.says(view, other, flag)));
    (made && view.context.spend(0)).then_some("this session created it")
}

/// The most of what a session made by name that is looked at.
const MOST: usize = 256;

/// Whether an act makes something that a rule about the same program lets it take away again.
pub(in crate::judge::matcher) fn is_maker(context: &MatchContext<'_>, act: &Act) -> bool {
    let Verb::Program { name, .. } = &act.verb else { return false };
    let fits = |words: &Vec<String>| {
        let maker = MakingCommand::new(words);
        maker.is_program(context, name)
            && act.sub.starts_with(&maker.sub.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
            && !any_of(context, act, &maker.never, |_| true)
    };
    !act.dry_run && act.remote.is_none() && context.catalog.rules(name).any(|rule| rule.made_by.iter().any(fits))
}

/// An act of an earlier command, as far as it was remembered.
fn remembered(named: &NamedObject) -> Act {
    let span = Span::default();
    let flag = |(name, value): &(String, Option<String>)| Flag {
        name: name.clone(),
        value: value.as_ref().map(Value::text),
        span,
    };
    Act {
        sub: named.sub.clone(),
        flags: named.flags.iter().map(flag).collect(),
        operands: named.operands.iter().map(|text| Operand { value: Value::text(text), span }).collect(),
        ..Act::plain(Verb::Program { name: named.program.clone(), path: None }, named.cwd.as_ref().map(Place::of))
    }
}

fn is_called(value: &Value, name: &Value) -> bool {
    value.name().is_some_and(|value| value == *name)
}

/// Whether a value is an identifier of the line's and nothing else, as a program prints it that makes something.
fn is_one_number(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(unknown)] if matches!(unknown.why, UnknownReason::Number(_)))
}

/// Whether the act goes on with what was begun earlier, and makes nothing.
fn resumes(context: &MatchContext<'_>, act: &Act) -> bool {
    let begun = context.program(act).map_or(&[][..], |program| &program.resumes);
    begun.iter().any(|test| given(&act.flags, test).is_some())
}

/// Whether one of these options, in any of its spellings, is given so that `holds`.
fn any_of(context: &MatchContext<'_>, act: &Act, names: &[&str], holds: impl Fn(&Flag) -> bool) -> bool {
    let program = context.program(act);
    let sub = program.and_then(|program| program.subs.exact(&act.sub));
    let specs = || sub.into_iter().flat_map(|sub| &sub.options).chain(program.into_iter().flat_map(|all| &all.options));
    let means = |flag: &Flag, name: &str| {
        flag.name == name
            || specs().any(|spec| [name, &flag.name].iter().all(|one| spec.names.iter().any(|n| n == one)))
    };
    act.flags.iter().any(|flag| names.iter().any(|name| means(flag, name)) && holds(flag))
}

/// What makes a thing that is known by name, as a rule writes it: `docker run --name`, `docker run =`,
/// `git branch !-m`, `git fetch refs/heads/`.
struct MakingCommand<'a> {
    program: &'a str,
    sub: Vec<&'a str>,
    /// Options whose value is the name.
    flags: Vec<&'a str>,
    /// Options with which it takes what was there before.
    never: Vec<&'a str>,
    /// What it makes is a place.
    places: bool,
    /// It prints the name.
    prints: bool,
    /// Where a repository keeps what it fetches under the name that an operand gives behind a colon.
    fetches: Option<&'a str>,
}

impl<'a> MakingCommand<'a> {
    fn new(words: &'a [String]) -> Self {
        let (sub, flags, never) = (Vec::new(), Vec::new(), Vec::new());
        let mut maker = Self { program: "", sub, flags, never, places: false, prints: false, fetches: None };
        for (at, word) in words.iter().enumerate() {
            match word.strip_prefix('!') {
                Some(flag) => maker.never.push(flag),
                None if word == "/" => maker.places = true,
                None if word == "=" => maker.prints = true,
                None if word.starts_with("refs/") => maker.fetches = Some(word),
                None if word.starts_with('-') => maker.flags.push(word),
                None if at == 0 => maker.program = word,
                None => maker.sub.push(word),
            }
        }
        maker
    }

    /// Whether a program of this name is the one.
    fn is_program(&self, context: &MatchContext<'_>, name: &str) -> bool {
        let known = || context.catalog.program(self.program);
        name == self.program || known().is_some_and(|known| known.is_same(self.program, name))
    }

    /// Whether the act is one of this kind. Of programs that are one by several names, it is the one that takes away.
    fn is(&self, view: &View<'_>, other: &Act) -> bool {
        let (Verb::Program { name, .. }, Verb::Program { name: own, .. }) = (&other.verb, &view.act.verb) else {
            return false;
        };
        let same = |name: &str| self.is_program(view.context, name);
        same(name)
            && (name == own || !same(own))
            && self.sub.len() <= other.sub.len()
            && self.sub.iter().zip(&other.sub).all(|(a, b)| a == b)
            && !any_of(view.context, other, &self.never, |_| true)
    }

    /// Whether it makes what is called so.
    fn gives(&self, view: &View<'_>, other: &Act, name: &Value) -> bool {
        let is = |flag: &Flag| flag.value.as_ref().is_some_and(|value| is_called(value, name));
        if self.prints {
            return other.output == Output::Captured && is_one_number(name);
        }
        if let Some(below) = self.fetches {
            let is_new = |name: &str| is_unborn(view, below, name).unwrap_or_default();
            let text = |operand: &Operand| operand.value.known().map(|text| text.into_owned());
            let mut fetched = other.operands.iter().filter_map(text);
            // With a plus what is there is written over.
            let is_it = |name: &str, text: &str| !text.starts_with('+') && text.rsplit(':').next() == Some(name);
            return name
                .known()
                .is_some_and(|name| is_new(&name) && fetched.any(|text| text.contains(':') && is_it(&name, &text)));
        }
        match self.flags.is_empty() {
            true => other.operands.iter().any(|operand| is_called(&operand.value, name)),
            false => any_of(view.context, other, &self.flags, is),
        }
    }

    /// Whether it makes what the option names, or is given the same option.
    fn says(&self, view: &View<'_>, other: &Act, flag: &Flag) -> bool {
        let value = flag.value.as_ref().and_then(Value::name).unwrap_or_default();
        let same = |own: &&Flag| own.name == flag.name && own.value.as_ref().is_some_and(|own| is_called(own, &value));
        !value.is_empty() && (other.flags.iter().any(|own| same(&own)) || self.gives(view, other, &value))
    }

    /// Whether it makes what has no name but the one that is meant when none is given.
    fn names_nothing(&self, other: &Act) -> bool {
        other.operands.is_empty() && !other.flags.iter().any(|flag| flag.value.is_some())
    }
}

/// Whether an act chooses another place or target for those behind it.
pub(super) fn chooses(context: &MatchContext<'_>, act: &Act) -> bool {
    // The shell's own.
    const ELSEWHERE: [&str; 5] = ["export", "source", ".", "eval", "cd"];
    let named = matches!(&act.verb, Verb::Program { name, .. } if ELSEWHERE.contains(&name.as_str()));
    named
        || context.program(act).is_some_and(|program| program.chooses)
        || act.sub.iter().any(|word| word_lists::CHOOSING_SUBCOMMANDS.contains(&word.as_str()))
}

/// Whether what stands behind this text runs only where what stands before it succeeded: everything is joined by `&&`, or
/// stands in a group that is.
fn is_success_needed(between: &str) -> bool {
    let joined = between.replace("&&", "\0");
    let group = joined.trim_start().strip_prefix('\0').and_then(|rest| rest.trim_start().strip_prefix('{'));
    match group.filter(|rest| rest.starts_with(char::is_whitespace)) {
        // It hangs on the group, wherever it stands in it.
        Some(inside) => !inside.contains(['&', '|', '(', ')', '{', '}', '!', '`']),
        None => joined.contains('\0') && !joined.contains(['&', ';', '|', '\n', '(', ')', '{', '}', '!', '`']),
    }
}

/// Whether the act runs only if the earlier one succeeded, at the same place, and nothing in between chooses another.
fn hangs_on(view: &View<'_>, id: ActId, other: &Act) -> bool {
    let text = view.context.text();
    let (Some(before), Some(between)) =
        (text.get(..other.span.start as usize), text.get(other.span.end as usize..view.program().span.start as usize))
    else {
        return false;
    };
    view.context.spend(between.len() as u64 / 16);
    is_success_needed(between)
        && !before.trim_end().ends_with('!')
        && other.env == view.act.env
        && !view
            .act
            .targets
            .iter()
            .any(|target| target.known().is_some_and(|name| names_production(&name, view.context.policy)))
        && other.cwd == view.act.cwd
        && !view.context.history().chooses(id, view.id)
}

#[cfg(test)]
mod tests {
    use super::is_success_needed;

    #[test]
    fn only_what_hangs_on_success_needs_it() {
        for text in ["&&", " && ", " && ls && ", " && { ls; ", "&& {\n  ls\n  ", " && { ls && "] {
            assert!(is_success_needed(text), "{text}");
        }
        for text in [
            "",
            " ",
            ";",
            " ; ",
            " || ",
            " & ",
            " && ls; ",
            " && ls\n",
            " | ",
            " && (",
            " && { ls; } ; ",
            " && { ls; } ",
            " && {ls; ",
            " && { ls || ",
            " && { ls & ",
            " && { ls | ",
            " && { { ",
            " && { ( ",
            " && ! ",
            " && { ! ",
            "; { ls; ",
            " || { ls; ",
            " && { `x`; ",
        ] {
            assert!(!is_success_needed(text), "{text}");
        }
    }
}
