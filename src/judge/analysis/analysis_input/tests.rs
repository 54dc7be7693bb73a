use super::*;
use crate::judge::analysis::testing::world::SampleWorld;
use crate::judge::analysis::testing::{line, line_in};
use crate::judge::syntax::tree::Dialect;

#[test]
fn a_value_is_the_sessions_own_in_its_project_and_among_temporary_files() {
    SampleWorld::default().given(&line(""), |input| {
        let own = |path: &str| (input.is_ours(&Value::text(path)), input.is_temporary(&Value::text(path)));
        assert_eq!(own("/home/dev/project/a"), (true, false));
        assert_eq!(own("/tmp/a"), (true, true));
        assert_eq!(own("/home/dev/.bashrc"), (false, false));
        let is_there = |dir: Option<&Place>| input.classes(dir, &Value::text("a")).has(PathClass::Temp);
        assert!(is_there(Some(&Place::of("/tmp"))) && !is_there(Some(&Place::of("/srv"))) && !is_there(None));
    });
}

#[test]
fn an_assignment_changes_nothing_where_the_environment_has_the_same_value() {
    SampleWorld::default().given(&line_in("", Dialect::Bash, &[("A", "1")]), |input| {
        assert!(input.holds_already("A", &Value::text("1")));
        assert!(!input.holds_already("A", &Value::text("2")));
        assert!(!input.holds_already("B", &Value::text("")));
    });
}

#[test]
fn nothing_is_there_unless_the_world_says_so() {
    let world = SampleWorld { files: &[("a", "")], directories: &["d"], ..SampleWorld::default() };
    world.given(&line(""), |input| {
        let missing = |path: &str| input.is_not_there(&Place::of(path));
        assert!(missing("/home/dev/project/b"));
        assert!(!missing("/home/dev/project/a") && !missing("/home/dev/project/d"));
    });
}
