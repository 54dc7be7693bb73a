use super::*;
use crate::judge::analysis::testing::world::MadeUp;
use crate::judge::analysis::testing::{line, line_in};
use crate::judge::syntax::tree::Dialect;

#[test]
fn a_value_is_the_sessions_own_in_its_project_and_among_temporary_files() {
    MadeUp::default().given(&line(""), |setting| {
        let own = |path: &str| (setting.is_ours(&Value::text(path)), setting.is_temporary(&Value::text(path)));
        assert_eq!(own("/home/dev/project/a"), (true, false));
        assert_eq!(own("/tmp/a"), (true, true));
        assert_eq!(own("/home/dev/.bashrc"), (false, false));
        let is_there = |dir: Option<&Place>| setting.classes(dir, &Value::text("a")).has(PathClass::Temp);
        assert!(is_there(Some(&Place::of("/tmp"))) && !is_there(Some(&Place::of("/srv"))) && !is_there(None));
    });
}

#[test]
fn an_assignment_changes_nothing_where_the_environment_has_the_same_value() {
    MadeUp::default().given(&line_in("", Dialect::Bash, &[("A", "1")]), |setting| {
        assert!(setting.holds_already("A", &Value::text("1")));
        assert!(!setting.holds_already("A", &Value::text("2")));
        assert!(!setting.holds_already("B", &Value::text("")));
    });
}

#[test]
fn nothing_is_there_unless_the_world_says_so() {
    let world = MadeUp { files: &[("a", "")], directories: &["d"], ..MadeUp::default() };
    world.given(&line(""), |setting| {
        let missing = |path: &str| setting.is_not_there(&Place::of(path));
        assert!(missing("/home/dev/project/b"));
        assert!(!missing("/home/dev/project/a") && !missing("/home/dev/project/d"));
    });
}
