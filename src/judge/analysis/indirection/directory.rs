//! The directory of a shell that changed to a glob: the only common directory that it can match.

use crate::judge::analysis::act::Value;
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::pattern::Pattern;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::state::State;
use crate::judge::rules::word_lists;

impl AnalysisInput<'_> {
    /// Returns the directory that a glob matches, if it can match only one of the common directories.
    #[inline(never)]
    pub fn likely_directory(&self, state: &State, home: &str, pattern: &str) -> Option<Place> {
        let pattern = state.path(pattern)?;
        // A directory in the temporary directory is temporary whatever its name is, but a project there is not.
        if pattern.strip_prefix("/tmp/").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
            && self.is_temporary(&Value::text(pattern.as_str()))
        {
            return Some(Place::of(pattern));
        }
        let own =
            word_lists::HOME_DIRECTORIES.iter().filter(|_| home.starts_with('/')).map(|name| format!("{home}/{name}"));
        let mut meant = word_lists::SYSTEM_DIRECTORIES
            .iter()
            .map(|&name| name.to_owned())
            .chain(own)
            .filter(|path| names(&pattern, path));
        let first = meant.next()?;
        meant.next().is_none().then(|| Place::of(first))
    }
}

/// Reports whether a glob matches a path component by component; hidden names match only a glob with a leading dot.
fn names(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<&str>, Vec<&str>) =
        (pattern.trim_end_matches('/').split('/').collect(), path.split('/').collect());
    let fits = |(pattern, name): (&&str, &&str)| {
        let says = pattern.chars().any(|c| c.is_ascii_alphanumeric());
        pattern == name
            || says
                && pattern.starts_with('.') == name.starts_with('.')
                && Pattern::new(pattern).matches(name) == Some(true)
    };
    pattern.len() == path.len() && pattern.iter().zip(&path).all(fits)
}

#[cfg(test)]
mod tests {
    use super::{Place, names};
    use crate::judge::analysis::testing::{dump, facts};

    #[test]
    fn a_glob_means_the_place_that_it_spells() {
        for (line, at) in [
            ("cd ~/.ss*; rm x", "/home/dev/.ssh"),
            ("cd /e?c && rm x", "/etc"),
            ("pushd ~/.g[n]upg; rm x", "/home/dev/.gnupg"),
            ("cd /us*/local/bi* && rm x", "/usr/local/bin"),
            ("cd /tmp/build* && rm x", "/tmp/build*"),
        ] {
            let facts = facts(line);
            assert!(
                facts.acts.iter().any(|act| act.cwd.as_ref().and_then(Place::text) == Some(at)),
                "{line}\n{}",
                dump(&facts)
            );
        }
    }

    #[test]
    fn a_glob_that_may_mean_many_means_none() {
        for line in ["cd ~/.*; rm x", "cd ~/*; rm x", "cd */; rm x", "cd src/x*; rm x", "cd /b*; rm x"] {
            let facts = facts(line);
            let rm = facts.acts.iter().find(|act| act.verb.key() == "rm").expect("rm runs");
            assert_eq!(rm.cwd, None, "{line}");
        }
        assert!(!names("/home/*/.ssh/x", "/home/dev/.ssh"));
    }
}
