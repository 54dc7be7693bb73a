//! Objects that an earlier act of the command created or started and that are known only by name: a container, a
//! branch, a session.
//!
//! Out of scope: files, which are known by their paths.

use super::refs::is_unborn;
use super::{earlier, is_opaque, place};
use crate::judge::analysis::act::{Act, ActId, Flag, Operand, Output, Piece, UnknownReason, Value, Verb};
use crate::judge::analysis::paths::{NormalPath, Start};
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::{PathKind, RefFacts};
use crate::judge::analysis::value_test::given;
use crate::judge::context::names_production;
use crate::judge::ledger::{Ledger, NamedObject};
use crate::judge::matcher::inspected_text::InspectedValue;
use crate::judge::matcher::match_context::{MatchContext, View};
use crate::judge::risk::Tier;
use crate::judge::rules::model::Rule;
use crate::judge::rules::word_lists;
use crate::judge::syntax::tree::Span;

/// Returns why the removal of an object does not count: an earlier act created it under the same name, or began the
/// operation that is now aborted. From tier 3 on it must be certain that it did not exist before: nothing exists at its
/// path, or the act is joined by `&&` to the one that creates it, which fails if the name is taken.
///
/// A branch or tag must not have existed before, and an earlier command counts only if no other one contains commits
/// that the session did not make.
pub(in crate::judge::matcher) fn made(view: &View<'_>, rule: &Rule) -> Option<&'static str> {
    let (makers, tier) = (&rule.made_by, rule.tier);
    if makers.is_empty() || !view.context.spend(8) || tier >= Tier::High && is_opaque(view) {
        return None;
    }
    let act = view.act;
    let below = rule.refs.as_deref();
    let makers: Vec<MakingCommand<'_>> = makers.iter().map(|words| MakingCommand::new(words, below)).collect();
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
                && (below.is_some() || is_unconditional(view.context, other, view.program().span.start))
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
    // Without an answer it is assumed that the earlier act does what it says.
    let existed = || refs_in(view, refs_named(view.act, below)).is_some_and(|facts| !facts.existing.is_empty());
    if holds && !existed() {
        return view.context.spend(0).then_some("this command itself creates it");
    }
    // It is unknown whether an earlier command succeeded, so that it does not count from tier 3 on.
    let known = tier < Tier::High && act.remote.is_none();
    let ledger = view.context.inquiry.ledger().filter(|_| known)?;
    let here = view.context.program(act).is_some_and(|program| program.works_in.is_some());
    // For a program that works in a directory, the earlier command must have run in the same directory, and that must
    // be known.
    let dir = act.cwd.as_ref().and_then(Place::text);
    let is_here = |named: &&NamedObject| {
        (!here || dir.is_some() && named.cwd.as_deref() == dir) && (below.is_some() || !named.doubtful)
    };
    let is_new = |name: &String| ledger.named().filter(is_here).any(|named| named.refs.contains(name));
    if below.is_some() && !(refs_named(act, below).iter().all(is_new) && loses_own_commits_alone(view, below, ledger)) {
        return None;
    }
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

/// Maximum number of objects that a session created by name and that are examined.
const MOST: usize = 256;

/// Returns the branches and tags that an act creates, if it creates something that a rule about the same program lets it
/// remove again.
pub(in crate::judge::matcher) fn creates_by_name(context: &MatchContext<'_>, act: &Act) -> Option<Vec<String>> {
    let Verb::Program { name, .. } = &act.verb else { return None };
    if act.dry_run || act.remote.is_some() {
        return None;
    }
    let mut refs = None;
    for rule in context.catalog.rules(name) {
        for words in &rule.made_by {
            let maker = MakingCommand::new(words, rule.refs.as_deref());
            let is_it = maker.is_program(context, name)
                && act.sub.starts_with(&maker.sub.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
                && !any_of(context, act, &maker.never, |_| true);
            if is_it {
                refs.get_or_insert_with(Vec::new).extend(maker.refs_of(context, act));
            }
        }
    }
    refs
}

/// Reports whether a statement does not expect that an act fails: it is not the alternative to a part that failed, not in
/// a branch of a condition, and has no alternative of its own program before `until`.
pub(in crate::judge::matcher) fn is_unconditional(context: &MatchContext<'_>, act: &Act, until: u32) -> bool {
    /// The shell's keywords before a branch.
    const BRANCHES: [&str; 3] = ["then", "else", "elif"];
    let Verb::Program { name, .. } = &act.verb else { return true };
    let (text, end) = (context.text(), act.span.end as usize);
    let (Some(before), Some(after)) =
        (text.get(..act.span.start as usize), text.get(end..end.max(until as usize).min(text.len())))
    else {
        return false;
    };
    let ends = [';', '\n'];
    let (before, after) = (before.rsplit(ends).next().unwrap_or(before), after.split(ends).next().unwrap_or(after));
    context.spend((before.len() + after.len()) as u64 / 16);
    let branch = act.conditional && before.split_whitespace().next().is_some_and(|word| BRANCHES.contains(&word));
    let again = after.split("||").skip(1).any(|other| other.split_whitespace().any(|word| word == name));
    !branch && !before.contains("||") && !again
}

/// Returns the branches or tags that an act names, in full.
fn refs_named(act: &Act, below: Option<&str>) -> Vec<String> {
    let name = |operand: &Operand| Some(format!("{}{}", below?, operand.value.known()?));
    act.operands.iter().filter_map(name).collect()
}

/// Queries branches or tags of the repository in which the act works.
fn refs_in<'v>(view: &'v View<'_>, names: Vec<String>) -> Option<&'v RefFacts> {
    let dir = view.act.cwd.as_ref().and_then(Place::text).filter(|_| !names.is_empty())?;
    view.context.inquiry.refs(dir, names)
}

/// Reports whether the session made all commits that no branch or tag contains except those that the command deletes.
fn loses_own_commits_alone(view: &View<'_>, below: Option<&str>, ledger: &Ledger) -> bool {
    let same = |other: &&Act| other.verb.key() == view.act.verb.key() && other.sub == view.act.sub;
    let names = view.context.facts.acts.iter().filter(same).flat_map(|other| refs_named(other, below)).collect();
    let alone = refs_in(view, names).and_then(|facts| facts.alone.as_ref());
    alone.is_some_and(|times| times.iter().all(|time| ledger.may_have_committed(*time)))
}

/// Returns an act of an earlier command, as far as it was recorded.
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

/// Reports whether a value consists only of an identifier of the command, as a program prints it that creates
/// something.
fn is_one_number(value: &Value) -> bool {
    matches!(value.pieces(), [Piece::Unknown(unknown)] if matches!(unknown.why, UnknownReason::Number(_)))
}

/// Reports whether the act continues what was begun earlier, and creates nothing.
fn resumes(context: &MatchContext<'_>, act: &Act) -> bool {
    let begun = context.program(act).map_or(&[][..], |program| &program.resumes);
    begun.iter().any(|test| given(&act.flags, test).is_some())
}

/// Reports whether one of these options, in any of its spellings, is given and `holds` accepts it.
fn any_of(context: &MatchContext<'_>, act: &Act, names: &[&str], holds: impl Fn(&Flag) -> bool) -> bool {
    act.flags.iter().any(|flag| names.iter().any(|name| means(context, act, flag, name)) && holds(flag))
}

/// Reports whether a flag is this option, in any of its spellings.
fn means(context: &MatchContext<'_>, act: &Act, flag: &Flag, name: &str) -> bool {
    let program = context.program(act);
    let sub = program.and_then(|program| program.subs.exact(&act.sub));
    let mut specs =
        sub.into_iter().flat_map(|sub| &sub.options).chain(program.into_iter().flat_map(|all| &all.options));
    flag.name == name
        || specs.any(|spec| [name, &flag.name].iter().all(|one| spec.names.iter().any(|known| known == one)))
}

/// A command that creates an object known by name, in the notation of a rule:
/// `docker run --name`, `docker run =`, `git branch !-m`, `git fetch refs/heads/`.
struct MakingCommand<'a> {
    /// The directory of the repository that contains what it creates.
    below: Option<&'a str>,
    program: &'a str,
    sub: Vec<&'a str>,
    /// The options whose value is the name.
    flags: Vec<&'a str>,
    /// The options with which it uses what existed before.
    never: Vec<&'a str>,
    /// Whether what it creates is a path.
    places: bool,
    /// Whether it prints the name.
    prints: bool,
    /// The prefix of the refs under which a repository stores what it fetches, with the name after the colon of an
    /// operand.
    fetches: Option<&'a str>,
}

impl<'a> MakingCommand<'a> {
    fn new(words: &'a [String], below: Option<&'a str>) -> Self {
        let (sub, flags, never) = (Vec::new(), Vec::new(), Vec::new());
        let mut maker = Self { below, program: "", sub, flags, never, places: false, prints: false, fetches: None };
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

    /// Reports whether a program of this name is the one of this command.
    fn is_program(&self, context: &MatchContext<'_>, name: &str) -> bool {
        let known = || context.catalog.program(self.program);
        name == self.program || known().is_some_and(|known| known.is_same(self.program, name))
    }

    /// Reports whether `other` is such a command. A program with several names must have the same name as the one that
    /// removes.
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

    /// Reports whether `other` creates the object of this name.
    fn gives(&self, view: &View<'_>, other: &Act, name: &Value) -> bool {
        let is = |flag: &Flag| flag.value.as_ref().is_some_and(|value| is_called(value, name));
        if self.prints {
            return other.output == Output::Captured && is_one_number(name);
        }
        if let Some(below) = self.fetches {
            let is_new = |name: &str| is_unborn(view, below, name).unwrap_or_default();
            let text = |operand: &Operand| operand.value.known().map(|text| text.into_owned());
            let mut fetched = other.operands.iter().filter_map(text);
            // With a plus an existing ref is overwritten.
            let is_it = |name: &str, text: &str| !text.starts_with('+') && text.rsplit(':').next() == Some(name);
            return name
                .known()
                .is_some_and(|name| is_new(&name) && fetched.any(|text| text.contains(':') && is_it(&name, &text)));
        }
        // After the name of a branch or tag, its first commit is named.
        let most = if self.below.is_some() { 1 } else { usize::MAX };
        match self.flags.is_empty() {
            true => other.operands.iter().take(most).any(|operand| is_called(&operand.value, name)),
            false => any_of(view.context, other, &self.flags, is),
        }
    }

    /// Returns the branches or tags that `other` creates, in full.
    fn refs_of(&self, context: &MatchContext<'_>, other: &Act) -> Vec<String> {
        let Some(below) = self.below else { return Vec::new() };
        let full = |value: &Value| Some(format!("{below}{}", value.known()?.rsplit(':').next()?));
        if self.flags.is_empty() {
            let most = if self.fetches.is_some() { usize::MAX } else { 1 };
            return other.operands.iter().take(most).filter_map(|operand| full(&operand.value)).collect();
        }
        let is_name = |flag: &&Flag| self.flags.iter().any(|name| means(context, other, flag, name));
        other.flags.iter().filter(is_name).filter_map(|flag| full(flag.value.as_ref()?)).collect()
    }

    /// Reports whether `other` creates what the option names, or has the same option.
    fn says(&self, view: &View<'_>, other: &Act, flag: &Flag) -> bool {
        let value = flag.value.as_ref().and_then(Value::name).unwrap_or_default();
        let same = |own: &&Flag| own.name == flag.name && own.value.as_ref().is_some_and(|own| is_called(own, &value));
        !value.is_empty() && (other.flags.iter().any(|own| same(&own)) || self.gives(view, other, &value))
    }

    /// Reports whether `other` names nothing, so that it creates the default object.
    fn names_nothing(&self, other: &Act) -> bool {
        other.operands.is_empty() && !other.flags.iter().any(|flag| flag.value.is_some())
    }
}

/// Reports whether an act selects another directory or target for later acts.
pub(super) fn chooses(context: &MatchContext<'_>, act: &Act) -> bool {
    // The shell's builtins.
    const ELSEWHERE: [&str; 5] = ["export", "source", ".", "eval", "cd"];
    let named = matches!(&act.verb, Verb::Program { name, .. } if ELSEWHERE.contains(&name.as_str()));
    named
        || context.program(act).is_some_and(|program| program.chooses)
        || act.sub.iter().any(|word| word_lists::CHOOSING_SUBCOMMANDS.contains(&word.as_str()))
}

/// Reports whether the command after this text runs only if the one before it succeeded: all parts are joined by `&&`,
/// or it is in a group that is joined so.
fn is_success_needed(between: &str) -> bool {
    let joined = between.replace("&&", "\0");
    let group = joined.trim_start().strip_prefix('\0').and_then(|rest| rest.trim_start().strip_prefix('{'));
    match group.filter(|rest| rest.starts_with(char::is_whitespace)) {
        // It depends on the group, wherever it is in the group.
        Some(inside) => !inside.contains(['&', '|', '(', ')', '{', '}', '!', '`']),
        None => joined.contains('\0') && !joined.contains(['&', ';', '|', '\n', '(', ')', '{', '}', '!', '`']),
    }
}

/// Reports whether the act runs only if the earlier one succeeded, with the same variables and working directory,
/// without production as a target, and nothing in between selects another target.
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
