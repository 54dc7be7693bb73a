//! Patches: the files that a diff changes, and their content afterwards.
//!
//! Out of scope: I/O. Hunks are applied at their line numbers, even if the context does not match.

/// The change of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub path: String,
    /// Whether the file is new.
    pub creates: bool,
    hunks: Vec<Hunk>,
}

/// A hunk: its first line in the old file, and its lines with their prefixes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    from: usize,
    lines: Vec<(char, String)>,
}

impl Change {
    /// Returns the content of the file after the change.
    pub fn apply(&self, old: &str) -> String {
        let old: Vec<&str> = old.lines().collect();
        let mut new: Vec<&str> = Vec::new();
        let mut at = 0;
        for hunk in &self.hunks {
            let from = hunk.from.saturating_sub(1).clamp(at, old.len().max(at));
            new.extend(old.get(at..from).unwrap_or_default());
            at = from;
            for (mark, line) in &hunk.lines {
                at += usize::from(*mark != '+');
                if *mark != '-' {
                    new.push(line);
                }
            }
        }
        new.extend(old.get(at..).unwrap_or_default());
        let mut text = new.join("\n");
        text.push('\n');
        text
    }
}

/// Parses a unified diff. `strip` is the number of leading directories that are removed from names; `None`: all.
pub(super) fn changes(diff: &str, strip: Option<usize>) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    let mut old = "";
    // The number of remaining lines of the hunk, in the old file and in the new one.
    let (mut olds, mut news) = (0_usize, 0_usize);
    for line in diff.lines() {
        if olds > 0 || news > 0 {
            let mark = line.chars().next().unwrap_or(' ');
            let text = line.get(1..).unwrap_or_default().to_owned();
            olds = olds.saturating_sub(usize::from(mark != '+'));
            news = news.saturating_sub(usize::from(mark != '-'));
            if let Some(hunk) = all.last_mut().and_then(|change| change.hunks.last_mut()) {
                hunk.lines.push((mark, text));
            }
        } else if let Some(name) = line.strip_prefix("--- ") {
            old = name_of(name);
        } else if let Some(name) = line.strip_prefix("+++ ") {
            let creates = old == "/dev/null";
            let path = stripped(name_of(name), strip);
            all.push(Change { path, creates, hunks: Vec::new() });
        } else if let Some(range) = line.strip_prefix("@@ -")
            && let Some(change) = all.last_mut()
        {
            let mut words = range.split(' ');
            let (from, count) = numbers(words.next().unwrap_or_default());
            (_, news) = numbers(words.next().unwrap_or_default().trim_start_matches('+'));
            olds = count;
            // A hunk without removed lines names the line after which it is inserted.
            change.hunks.push(Hunk { from: from.saturating_add(usize::from(count == 0)), lines: Vec::new() });
        }
    }
    all.retain(|change| change.path != "/dev/null" && !change.path.is_empty());
    all
}

/// Parses `12,3`: the first line and the number of lines.
fn numbers(range: &str) -> (usize, usize) {
    let (from, count) = range.split_once(',').unwrap_or((range, "1"));
    (from.parse().unwrap_or(1), count.parse().unwrap_or(0))
}

/// Returns a name without the time after it.
fn name_of(text: &str) -> &str {
    text.split('\t').next().unwrap_or_default().trim_end()
}

fn stripped(name: &str, strip: Option<usize>) -> String {
    if name == "/dev/null" {
        return name.to_owned();
    }
    match strip {
        None => name.rsplit('/').next().unwrap_or_default().to_owned(),
        Some(count) => name.splitn(count.saturating_add(1), '/').last().unwrap_or_default().to_owned(),
    }
}

/// Reports whether a file with this name is a shell script or a recipe file.
pub(super) fn is_plain(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.trim_start_matches('.').rsplit_once('.') {
        None => true,
        Some((_, end)) => matches!(end, "sh" | "bash" | "zsh" | "ksh" | "mk") || name == "package.json",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDIT: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@ f\n two\n-three\n+THREE\n";

    #[test]
    fn a_hunk_goes_where_it_says() {
        let changes = changes(EDIT, Some(1));
        let [change] = changes.as_slice() else { panic!("{changes:?}") };
        assert_eq!((change.path.as_str(), change.creates), ("x", false));
        assert_eq!(change.apply("one\ntwo\nthree\nfour\n"), "one\ntwo\nTHREE\nfour\n");
    }

    #[test]
    fn a_new_file_is_what_is_added() {
        let diff = "--- /dev/null\t1970\n+++ b/bin/y\t2020\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        let changes = changes(diff, Some(1));
        assert_eq!(changes.len(), 1);
        assert_eq!((changes[0].path.as_str(), changes[0].creates), ("bin/y", true));
        assert_eq!(changes[0].apply(""), "a\nb\n");
    }

    #[test]
    fn a_line_that_is_taken_away_is_no_name_of_a_file() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,1 @@\n--- c/z\n keep\n";
        assert_eq!(changes(diff, Some(1)).len(), 1);
        assert_eq!(changes(diff, Some(1))[0].apply("-- c/z\nkeep\n"), "keep\n");
    }

    #[test]
    fn what_does_not_fit_is_applied_as_far_as_it_goes() {
        assert_eq!(changes(EDIT, None)[0].apply(""), "two\nTHREE\n");
        assert_eq!(changes("--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", Some(1)), []);
        assert_eq!(changes("@@ -1 +1 @@\n-x\n+y\n", Some(1)), []);
        let most = usize::MAX;
        let wild = format!("--- a/x\n+++ b/x\n@@ -{most},{most} +{most},{most} @@\n+y\n@@ -{most},0 +1 @@\n");
        assert_eq!(changes(&wild, Some(most))[0].apply("x\n"), "x\ny\n@ -18446744073709551615,0 +1 @@\n");
    }
}
