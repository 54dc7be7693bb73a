use super::*;
use crate::judge::analysis::act::Taint;
use crate::judge::analysis::files::FileModel;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::state::unknown;
use crate::judge::analysis::testing::line;
use crate::judge::analysis::testing::world::SampleWorld;
use crate::judge::syntax::tree::Span;

/// Resolves a word in a shell of the project, after the line made these links.
fn led(state: &State, value: &Value, links: &[(&str, &str)]) -> Resolved {
    let links = links.iter().map(|(link, to)| (Place::of(*link), Place::of(*to))).collect();
    let files = FileModel { links, ..FileModel::default() };
    SampleWorld::default().given(&line(""), |input| {
        let progress = WalkProgress { input: &input, acts: &[], sinks: &[], files: &files, pipes: &[] };
        names(progress, state, &Field::word(value.clone(), Span::default()))
    })
}

fn here() -> State {
    State::at(Some(Place::of("/home/dev/project")))
}

/// Returns only the names, each with the path as written.
fn of(value: &Value) -> Vec<(String, Option<String>)> {
    match led(&here(), value, &[]) {
        Resolved::Names(names) => {
            names.into_iter().map(|(name, path, _)| (name, path.map(|path| path.rough().into_owned()))).collect()
        }
        Resolved::Nothing | Resolved::Unknown => Vec::new(),
    }
}

fn composed(parts: &[&Value]) -> Value {
    Value::join(parts.iter().copied(), "")
}

#[test]
fn a_known_word_is_a_name_or_a_path() {
    assert_eq!(of(&Value::text("rm")), [("rm".into(), None)]);
    assert_eq!(of(&Value::text("/bin/rm")), [("rm".into(), Some("/bin/rm".into()))]);
    assert_eq!(led(&here(), &Value::text(""), &[]), Resolved::Nothing);
    assert_eq!(led(&here(), &Value::text("bin/"), &[]), Resolved::Nothing);
    assert_eq!(led(&here(), &Value::text("!rm"), &[]), Resolved::Unknown, "an earlier line");
}

#[test]
fn letters_that_look_alike_are_read_both_ways() {
    assert_eq!(of(&Value::text("r\u{43c}")), [("rm".into(), None), ("r\u{43c}".into(), None)]);
}

#[test]
fn a_hashed_name_leads_to_its_path() {
    let mut state = here();
    state.hashed.insert("x", "/bin/rm".to_owned());
    let path = Some(Value::text("/bin/rm"));
    let names = Resolved::Names(vec![("rm".into(), path, Some(Disguise::Assembly))]);
    assert_eq!(led(&state, &Value::text("x"), &[]), names);
}

#[test]
fn of_a_path_known_in_part_the_last_name_counts() {
    let variable = unknown(UnknownReason::Variable("X".into()), Taint::default());
    let output = unknown(UnknownReason::CommandOutput, Taint::default());
    assert_eq!(of(&composed(&[&output, &Value::text("/bin/rm")])).first().map(|(name, _)| &**name), Some("rm"));
    assert_eq!(of(&variable), [], "nothing is known of it");
    assert_eq!(of(&composed(&[&output, &Value::text("rm")])), [], "it may begin with another name");
    assert_eq!(of(&composed(&[&Value::text("rm"), &variable])), [("rm".into(), None)], "an unset variable is empty");
    assert_eq!(of(&composed(&[&Value::text("rm"), &output])), []);
    let found = unknown(UnknownReason::Found(None), Taint::default());
    assert_eq!(of(&composed(&[&found, &Value::text("/nobody-describes-this")])), []);
}

#[test]
fn a_glob_is_each_described_program_that_it_fits() {
    let glob = |dir: &str, glob: &str| Value::of(vec![Piece::Text(dir.into()), Piece::Glob(glob.into())]);
    assert_eq!(of(&glob("/usr/bin/", "xarg?")), [("xargs".into(), Some("/usr/bin/xargs".into()))]);
    assert_eq!(of(&glob("/usr/bin/", "*")), []);
    assert_eq!(of(&glob("/usr/bin/", "nobody-describes-thi?")), []);
}
