//! What an earlier act of the line made or began, known by its name alone: a container, a branch, a session.
//!
//! What may not enter: files, which are known by where they lie.

use super::{MAX_EARLIER, earlier, is_opaque, place};
use crate::judge::facts::act::{Act, Value, Verb};
use crate::judge::facts::paths::NormalPath;
use crate::judge::facts::question::PathKind;
use crate::judge::facts::value::HOLE;
use crate::judge::risk::Tier;
use crate::judge::rules::matcher::scene::{Seen, View};
use crate::judge::rules::text::given;

/// Why what is taken away does not count: an earlier act of the line made it, by the same name; or it began what is now
/// broken off. What is of tier 3 is a place as well, where nothing was before.
pub(in crate::judge::rules::matcher) fn made(
    view: &View<'_>,
    makers: &[Vec<String>],
    tier: Tier,
) -> Option<&'static str> {
    let act = view.act;
    if makers.is_empty() || view.id > MAX_EARLIER || is_opaque(view) {
        return None;
    }
    let resumes = |other: &Act| {
        let begun = view.scene.program(other).map_or(&[][..], |program| &program.resumes);
        begun.iter().any(|test| given(&other.flags, test).is_some())
    };
    // A number in a name is the same number where it is told apart.
    let spelled = |value: &Value| value.spelled().filter(|name| !name.contains(HOLE));
    let is = |value: &Value, name: &str| spelled(value).is_some_and(|value| value == name);
    let makes = |other: &Act, name: Option<&str>| {
        let Verb::Program { name: program, .. } = &other.verb else { return false };
        other.remote == act.remote
            && !other.dry_run
            && !resumes(other)
            && makers.iter().any(|maker| {
                let (flags, words): (Vec<&String>, Vec<&String>) = maker.iter().partition(|word| word.starts_with('-'));
                let is_maker = words.split_first().is_some_and(|(first, sub)| {
                    *first == program
                        && sub.len() <= other.sub.len()
                        && sub.iter().zip(&other.sub).all(|(a, b)| *a == b)
                });
                let of_flags = other.flags.iter().filter(|flag| flags.contains(&&flag.name));
                let gives = |name: &str| match flags.is_empty() {
                    true => other.operands.iter().any(|operand| is(&operand.value, name)),
                    false => of_flags.filter_map(|flag| flag.value.as_ref()).any(|value| is(value, name)),
                };
                is_maker && name.is_none_or(gives)
            })
    };
    let operands = act.operands.iter().map(|operand| &operand.value);
    let flags = act.flags.iter().filter_map(|flag| flag.value.as_ref());
    let names: Vec<_> = operands.chain(flags).map(|value| spelled(value).unwrap_or_default()).collect();
    let by_name = |name: &String| !name.is_empty() && earlier(view).any(|(_, other)| makes(other, Some(name)));
    let begun = || earlier(view).any(|(_, other)| makes(other, None) && other.sub == act.sub);
    let holds = if names.is_empty() { begun() } else { names.iter().all(by_name) };
    let place = |seen: &Seen<'_>| {
        let path = seen.path(view);
        let is_new = |path: &NormalPath| {
            let numbered = path.components.iter().any(|component| component.unknown);
            numbered && !path.dynamic && view.scene.placer.is_temp(path, view.scene.inquiry)
        };
        if path.is_some_and(is_new) {
            return true;
        }
        path.and_then(place)
            .and_then(|path| view.scene.inquiry.path(&path))
            .is_some_and(|facts| facts.kind == PathKind::Missing)
    };
    let fresh = tier < Tier::High || !view.operands().is_empty() && view.operands().iter().all(place);
    (holds && fresh).then_some("this command itself makes it")
}
