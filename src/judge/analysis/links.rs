//! Links that the command creates: effects on a link are effects on its target.

use super::act::{Act, Effect, Operand, Piece, Value, Verb};
use super::analysis_input::AnalysisInput;
use super::arguments::Reading;
use super::files::FileModel;
use super::fuel::cost;
use super::letter::PathText;
use super::place::Place;
use super::progress::WalkProgress;
use super::question::PathKind;
use super::state::{Build as _, State};

/// Maximum number of links that are followed in a row.
const MAX_LINKS: usize = 4;

impl WalkProgress<'_, '_> {
    /// Resolves a value through links of the command. Returns the target, and whether the value itself is a link.
    pub fn behind(&self, state: &State, value: &Value) -> Option<(Value, bool)> {
        if self.files.links.is_empty() {
            return None;
        }
        let (mut place, rest) = match Place::below_temporary(value) {
            Some(place) => (place, Value::default()),
            None => {
                let leading = value.leading();
                let place = state.place(if leading.is_empty() { "." } else { &leading })?;
                if leading.is_empty() && matches!(value.pieces().first(), Some(Piece::Unknown(_))) {
                    return None;
                }
                // A trailing slash names the target of the link.
                let mut rest = Value::default();
                if leading.is_empty() || leading.ends_with('/') {
                    rest.push_text("/");
                }
                rest.push_value(&value.without_leading(leading.len()));
                (place, rest)
            }
        };
        let mut itself = None;
        for _ in 0..MAX_LINKS {
            let Some((target, tail)) = self.nearest_link(&place) else { break };
            itself.get_or_insert(tail.rough().is_empty());
            place = Place::spelled_at(Some(target), &inside(&tail))?;
        }
        let itself = itself?;
        let mut behind = place.value();
        // Avoids two slashes after the root.
        if place.is_root() && rest.leading().starts_with('/') {
            behind = Value::default();
        }
        behind.push_value(&rest);
        Some((behind, itself && rest.is_empty()))
    }

    /// Returns the target of the innermost link in the path of a place, and the rest of the path.
    fn nearest_link(&self, place: &Place) -> Option<(&Place, PathText)> {
        std::iter::once(place.clone()).chain(place.above()).find_map(|above| {
            self.input.spend(cost::LOOK_UP);
            Some((self.files.links.get(&above)?, place.below(&above)?))
        })
    }
}

impl FileModel {
    /// Stores the links that a program creates.
    #[inline(never)]
    pub fn add_links(&mut self, input: &AnalysisInput<'_>, state: &State, reading: &Reading) {
        let has = |names: &[&str]| reading.flags.iter().any(|flag| names.contains(&flag.name.as_str()));
        let linked = reading.effects.iter().filter(|derived| derived.effect == Effect::Link);
        let sources: Vec<&Operand> = linked.flat_map(|derived| &derived.on).collect();
        let placed =
            reading.effects.iter().find(|derived| derived.effect.writes()).and_then(|derived| derived.on.last());
        let (Some(first), Some(placed)) = (sources.first(), placed) else { return };
        let into = has(&["-t"]);
        // A link with one operand is created in the working directory, with the name of the operand.
        let here = Value::text(".");
        let place = if placed.span == first.span { &here } else { &placed.value };
        let Some(at) = state.file(place) else { return };
        let is_there = |at: &str| input.inquiry.path(at).is_some_and(|there| there.kind == PathKind::Directory);
        let directory = sources.len() > 1
            || into
            || place.rough().ends_with(['/', '.'])
            || !has(&["-n", "-T"]) && at.text().is_some_and(is_there);
        for source in sources {
            let Some(text) = source.value.known() else { continue };
            let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let link = if directory { at.join(name) } else { Some(at.clone()) };
            // The target of a symbolic link is relative to its directory.
            let symbolic = has(&["-s", "--symbolic"]) && !has(&["-r"]);
            let from = link.as_ref().and_then(Place::split).filter(|_| symbolic).map(|(dir, _)| dir);
            let target =
                Place::at(from.as_ref().or(state.cwd.as_ref()), &text).filter(|target| Some(target) != link.as_ref());
            if let (Some(link), Some(target)) = (link, target) {
                self.links.insert(link, target);
            }
        }
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the same act on the targets of the links among its operands; `None` if it affects none.
    pub fn act_behind_links(&self, state: &State, id: usize, effect: Effect) -> Option<Act> {
        let act = self.acts.get(id).filter(|_| !self.files.links.is_empty())?;
        let of_same = self.acts.iter().skip(act.parent.unwrap_or(id)).filter(|other| other.parent == act.parent);
        let mut effects = of_same.map(|other| &other.verb);
        // Removing or replacing a link does not affect its target.
        let replaces =
            effect == Effect::Delete || effects.any(|verb| matches!(verb, Verb::Effect(Effect::Move | Effect::Link)));
        let behind = act.operands.iter().filter_map(|operand| {
            let (value, itself) = self.behind(state, &operand.value)?;
            (!(itself && replaces)).then_some(Operand { value, span: operand.span })
        });
        let on: Vec<Operand> = behind.collect();
        let args = on.iter().map(|operand| operand.value.clone()).collect();
        (!on.is_empty()).then(|| Act { operands: on, args, ..act.clone() })
    }
}

/// Returns the rest of a path relative to a directory.
fn inside(rest: &PathText) -> PathText {
    let mut inside = PathText::text(".");
    inside.push_spelled(rest);
    inside
}

#[cfg(test)]
mod tests {
    use super::super::testing::{dump, facts};

    #[track_caller]
    fn does(line: &str, effect: &str, expected: bool) {
        let facts = facts(line);
        let found = dump(&facts).lines().any(|act| act.contains(&format!(": {effect} ")));
        assert_eq!(found, expected, "{line}\n{}", dump(&facts));
    }

    #[test]
    fn what_is_done_through_a_link_is_done_to_what_it_leads_to() {
        does("ln -s ~ h; echo x >> h/.bashrc", ":append /home/dev/.bashrc", true);
        does("ln -s / r; echo x > r/etc/passwd", ":overwrite /etc/passwd", true);
        does("ln -s ~ h && cd h && rm -r x", ":delete /home/dev/x", true);
        does("ln -s ~ h; rm -r h/*", ":delete /home/dev/*", true);
        does("ln -s ../.. h; cat h/x", ":show /home/x", true);
        does("ln -s ~/.ssh; cat .ssh/x", ":show /home/dev/.ssh/x", true);
        does("ln -s ~/.ssh .; cat .ssh/x", ":show /home/dev/.ssh/x", true);
        does("ln -s ~ a; ln -s a b; cat b/x", ":show /home/dev/x", true);
        does("t=$(mktemp -d); ln -s /home/dev/project $t/x; rm -r $t/x/y", ":delete /home/dev/project/y", true);
        does("cp -s ~/x b; echo > b", ":overwrite /home/dev/x", true);
        // If two links are on the path, the deeper one counts.
        does("ln -s ~ a; ln -s /srv a/b; echo > a/b/x", ":overwrite /srv/x", true);
        does("ln -s ~ a; ln -s /srv ab; echo > ab/x", ":overwrite /srv/x", true);
    }

    #[test]
    fn a_link_itself_is_not_what_it_leads_to() {
        does("ln -s ~/x b; rm b", ":delete /home/dev/x", false);
        does("ln -s ~/x b; mv b c", ":move /home/dev/x", false);
        does("ln -s ~/x b; ln -sfn ~/y b", ":overwrite /home/dev/x", false);
        does("ln -s ~/x b; echo > bc", ":overwrite /home/dev/xc", false);
        does("t=$(mktemp -d); ln -s /home/dev/project $t/x; rm -r $t", ":delete /home/dev/project", false);
    }
}
