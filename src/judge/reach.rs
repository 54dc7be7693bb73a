//! The resolved paths that a command affects. They must be in the directory of a shape grant.
//!
//! Out of scope: grants, and what the command does to these paths.

use super::analysis::act::{Act, Effect, Facts, Value, Verb};
use super::analysis::inquiry::Inquiry;
use super::analysis::paths::{NormalPath, Placer, Relation, names_sink};
use super::invocation::Invocation;
use super::shape::ShapeFile;

/// The paths that a command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The working directory with links resolved; `None` if it is unknown.
    pub cwd: Option<String>,
    /// The paths with links resolved; `None` for a path that is unknown before the command runs.
    pub places: Vec<Option<String>>,
}

/// Returns the paths that the acts name: those of their effects, and other arguments that look like paths.
#[must_use]
pub fn of(invocation: &Invocation, facts: &Facts, inquiry: &Inquiry<'_>) -> Reach {
    let placer = Placer::new(invocation);
    let resolved = |path: &str| inquiry.path(path).map(|facts| facts.canonical.clone());
    let place = |act: &Act, value: &Value| {
        let mut path = placer.path(value, act.cwd.as_ref())?;
        // For a glob, its directory.
        let first = path.components.iter().position(|component| component.glob.is_some());
        path.components.truncate(first.unwrap_or(path.components.len()));
        let known = !path.dynamic && !path.found && path.components.iter().all(|component| !component.is_unknown());
        known.then(|| path.rough()).filter(|text| text.starts_with('/')).and_then(|text| resolved(&text))
    };
    let mut places = Vec::new();
    for act in &facts.acts {
        let named = act.operands.iter().map(|operand| &operand.value);
        match act.verb {
            Verb::Effect(Effect::Send | Effect::Fetch) => {}
            Verb::Effect(_) => places.extend(named.map(|value| place(act, value))),
            Verb::Program { .. } => {
                let given = act.flags.iter().filter_map(|flag| flag.value.as_ref());
                places.extend(named.chain(given).filter(|value| is_like_a_path(value)).map(|value| place(act, value)));
            }
        }
    }
    Reach { cwd: resolved(placer.cwd()), places }
}

/// Reports whether an argument may name a path outside the working directory. A URL is not a path.
fn is_like_a_path(value: &Value) -> bool {
    let text = value.rough();
    value.is_dynamic()
        || !text.contains("://") && (text.contains('/') || text.starts_with('~') || text.starts_with('.'))
}

impl Reach {
    /// Reports whether all paths are in the directory of a grant or, if it has none, in the working directory `cwd`.
    #[must_use]
    pub fn is_within(&self, directory: Option<&str>, cwd: &str) -> bool {
        let Some(directory) = self.resolved(directory, cwd) else { return false };
        // Writing to a sink changes nothing.
        let lies = |place: &String| {
            names_sink(place) || NormalPath::absolute(place).is_some_and(|path| path.relation(directory).within())
        };
        self.places.iter().all(|place| place.as_ref().is_some_and(lies))
    }

    /// Reports whether all files are below `within` or, if that is `None`, below the directory of the grant.
    #[must_use]
    pub fn are_below<'f>(
        &self,
        mut files: impl Iterator<Item = &'f ShapeFile>,
        within: Option<&str>,
        directory: Option<&str>,
        cwd: &str,
    ) -> bool {
        let Some(above) = within.or_else(|| self.resolved(directory, cwd)) else { return false };
        let lies = |path: NormalPath| path.relation(above) == Relation::Below;
        files.all(|file| NormalPath::absolute(&file.path).is_some_and(lies))
    }

    /// Returns the directory of a grant with links resolved, in case the working directory was reached through a link
    /// in it. `None`: it is unknown or `/`.
    fn resolved<'d>(&'d self, directory: Option<&'d str>, cwd: &str) -> Option<&'d str> {
        let here = self.cwd.as_deref()?;
        let directory = match directory.map(|directory| directory.trim_end_matches('/')) {
            None => here,
            Some(directory) => {
                let below = cwd.strip_prefix(directory).unwrap_or_default();
                here.strip_suffix(below).unwrap_or(directory)
            }
        };
        (!directory.is_empty()).then_some(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(places: &[Option<&str>]) -> Reach {
        let places = places.iter().map(|place| place.map(str::to_owned)).collect();
        Reach { cwd: Some("/real/project/src".to_owned()), places }
    }

    #[test]
    fn all_that_is_named_lies_in_the_directory_or_it_is_not_within() {
        let within = |places: &[Option<&str>], directory| reach(places).is_within(directory, "/home/me/project/src");
        let inside = Some("/real/project/src/a");
        assert!(within(&[inside], None));
        assert!(within(&[], None));
        assert!(!within(&[Some("/real/project/b")], None));
        // Through a link above the project.
        assert!(within(&[inside, Some("/real/project/b")], Some("/home/me/project")));
        assert!(!within(&[inside, Some("/real/projects")], Some("/home/me/project")));
        assert!(!within(&[inside, Some("/bin/bash")], Some("/home/me/project")));
        assert!(!within(&[inside, None], Some("/home/me/project")));
        assert!(!Reach::default().is_within(None, "/home/me/project"));
    }

    #[test]
    fn what_is_written_like_a_path_is_one() {
        for (text, is) in [("a/b", true), ("../x", true), ("~/x", true), (".", true), ("main", false), ("777", false)] {
            assert_eq!(is_like_a_path(&Value::text(text)), is, "{text}");
        }
        assert!(!is_like_a_path(&Value::text("https://example.org/x")));
    }
}
