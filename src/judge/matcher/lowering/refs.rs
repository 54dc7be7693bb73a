//! Branches and tags that a repository does not have: an act on such a name has no effect.
//!
//! Out of scope: names that an act of the command created (`made`).

use super::earlier_acts::{earlier, is_opaque};
use crate::judge::analysis::act::Flag;
use crate::judge::analysis::arguments::GLOBAL;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::question::{FileFacts, PathKind};
use crate::judge::matcher::match_context::View;
use crate::judge::risk::Tier;
use crate::judge::rules::model::FlagTest;
use crate::judge::rules::text::same_flag;

/// Returns why an act on branches or tags does not count: the repository has none of the names, and no earlier act may
/// have created one. Options other than those of the rule may give the names another meaning.
pub(in crate::judge::matcher) fn unborn(
    view: &View<'_>,
    below: Option<&str>,
    options: &[FlagTest],
) -> Option<&'static str> {
    let (below, act) = (below?, view.act);
    let is_asked_for = |name: &str| options.iter().flat_map(|test| &test.names).any(|known| same_flag(known, name));
    let mut given = act.flags.iter().filter(|flag| is_asked_for(&flag.name)).filter_map(|flag| flag.value.as_ref());
    if let Some(name) = given.next() {
        let lost =
            view.context.spend(8) && (is_opaque(view) || may_lose_commits(view, &format!("{below}{}", name.known()?)));
        return (!lost && view.context.spend(0)).then_some("no commits are only there");
    }
    let named = act.operands.iter().map(|operand| operand.value.known().map(|name| name.into_owned()));
    let names: Vec<String> = named.collect::<Option<_>>()?;
    let plain = !names.is_empty() && act.flags.iter().all(|flag| is_asked_for(&flag.name));
    let unborn = plain
        && view.context.spend(8)
        && !follows_maker(view)
        && names.iter().all(|name| is_unborn(view, below, name).unwrap_or_default());
    (unborn && view.context.spend(0)).then_some("the repository has nothing of this name")
}

/// Reports whether a branch that is moved may contain commits that no other one contains.
fn may_lose_commits(view: &View<'_>, name: &str) -> bool {
    let act = view.act;
    let Some(place) = view.context.program(act).and_then(|program| program.works_in.as_ref()) else { return true };
    let is_set = |name: &String| act.env.may_set(name) || view.context.invocation.env.get(name.as_str()).is_some();
    let global =
        |flag: &Flag| flag.name.strip_prefix(GLOBAL).is_some_and(|own| place.flags.iter().any(|name| name == own));
    let dir = act.cwd.as_ref().and_then(Place::text).filter(|_| act.remote.is_none());
    if place.env.iter().any(is_set) || act.flags.iter().any(global) {
        return true;
    }
    let facts = dir.and_then(|dir| view.context.inquiry.refs(dir, vec![name.to_owned()]));
    facts.and_then(|facts| facts.alone.as_ref()).is_none_or(|alone| !alone.is_empty())
}

/// Reports whether an earlier act may create what the act names: another run of the program, or an act of unknown
/// effect.
fn follows_maker(view: &View<'_>) -> bool {
    let history = view.context.history();
    let own = view.act.verb.key();
    let changes = history.programs(|name| name == own).chain(history.others().iter().copied());
    is_opaque(view) || earlier(view, changes).any(|(_, act)| act.tier > Tier::Safe)
}

/// Reports whether the repository in which the act works has no ref of this name below `below`; `None` if that is
/// unknown.
pub(super) fn is_unborn(view: &View<'_>, below: &str, name: &str) -> Option<bool> {
    let (act, inquiry) = (view.act, view.context.inquiry);
    let place = view.context.program(act)?.works_in.as_ref()?;
    let is_set = |name: &String| act.env.may_set(name) || view.context.invocation.env.get(name.as_str()).is_some();
    let names_place = |name: &String| act.flags.iter().any(|flag| flag.name.ends_with(name.as_str()));
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let is_name =
        name.chars().all(plain) && !name.is_empty() && !name.split('/').any(|part| matches!(part, "" | "." | ".."));
    if act.remote.is_some() || !is_name || place.env.iter().any(is_set) || place.flags.iter().any(names_place) {
        return None;
    }
    let dir = act.cwd.as_ref().and_then(Place::text)?;
    let data = format!("{}/.git", inquiry.repository(dir)?.root.trim_end_matches('/'));
    let facts = inquiry.path(&data)?;
    let is_missing = |path: &str| inquiry.path(path).is_some_and(|facts| facts.kind == PathKind::Missing);
    // The refs of a linked work tree are in another repository, and some repositories keep their refs in tables.
    if facts.kind != PathKind::Directory || facts.canonical != data || !is_missing(&format!("{data}/reftable")) {
        return None;
    }
    let packed = match inquiry.file(&format!("{data}/packed-refs"))? {
        FileFacts::Missing => false,
        FileFacts::Text { bytes, .. } => {
            let wanted = format!(" {below}{name}");
            String::from_utf8_lossy(bytes)
                .lines()
                .any(|line| line.to_ascii_lowercase().ends_with(&wanted.to_ascii_lowercase()))
        }
        FileFacts::TooLarge | FileFacts::Unreadable => return None,
    };
    Some(!packed && is_missing(&format!("{data}/{below}{name}")))
}
