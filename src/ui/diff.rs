//! Displays the difference between two texts, line by line.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

use super::style::{Line, Style};

/// The number of lines around a change.
const CONTEXT: usize = 3;

/// Maximum number of pairs of lines; with more, the middle is displayed as one change.
const MAX_PAIRS: usize = 4_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineChange {
    Same,
    Out,
    In,
}

/// Returns the changed lines with those around them, and `⋯` for omissions. Empty if the texts are equal.
#[must_use]
pub fn diff(before: &str, after: &str) -> Vec<Line> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let steps = steps(&old, &new);
    let near = |index: usize| {
        let range = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(steps.len());
        steps.get(range).is_some_and(|steps| steps.iter().any(|(step, _)| *step != LineChange::Same))
    };
    let mut lines = Vec::new();
    let mut left_out = false;
    for (index, (step, text)) in steps.iter().enumerate() {
        if !near(index) {
            left_out = true;
            continue;
        }
        if std::mem::take(&mut left_out) && !lines.is_empty() {
            lines.push(Line::of(Style::Dim, "  ⋯"));
        }
        let text = text.trim_end_matches(['\n', '\r']).replace('\t', "    ");
        lines.push(match step {
            LineChange::Same => Line::of(Style::Dim, format!("  {text}")),
            LineChange::Out => Line::of(Style::Tier(crate::judge::risk::Tier::High), format!("- {text}")),
            LineChange::In => Line::of(Style::Safe, format!("+ {text}")),
        });
    }
    lines
}

/// Returns the shortest edit script, except for very long texts.
fn steps<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(LineChange, &'a str)> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (rest_old, rest_new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle_old = rest_old.get(..rest_old.len() - tail).unwrap_or_default();
    let middle_new = rest_new.get(..rest_new.len() - tail).unwrap_or_default();
    let mut steps: Vec<(LineChange, &str)> = old.iter().take(head).map(|line| (LineChange::Same, *line)).collect();
    between(middle_old, middle_new, &mut steps);
    steps.extend(rest_old.iter().skip(rest_old.len() - tail).map(|line| (LineChange::Same, *line)));
    steps
}

/// Returns the edit script of the middle part.
fn between<'a>(old: &[&'a str], new: &[&'a str], steps: &mut Vec<(LineChange, &'a str)>) {
    let ops = if old.len().saturating_mul(new.len()) > MAX_PAIRS {
        vec![DiffOp::Replace { old_index: 0, old_len: old.len(), new_index: 0, new_len: new.len() }]
    } else {
        capture_diff_slices(Algorithm::Myers, old, new)
    };
    for op in ops {
        let (tag, was, is) = op.as_tag_tuple();
        let (out, into) = (old.get(was).unwrap_or_default(), new.get(is).unwrap_or_default());
        if tag == DiffTag::Equal {
            steps.extend(out.iter().map(|line| (LineChange::Same, *line)));
        } else {
            steps.extend(out.iter().map(|line| (LineChange::Out, *line)));
            steps.extend(into.iter().map(|line| (LineChange::In, *line)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::diff;

    fn plain(before: &str, after: &str) -> String {
        diff(before, after).iter().map(|line| line.plain() + "\n").collect()
    }

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
        let after = "1\n2\n3\n4\n5x\n6\n7\n8\n9\n10\n11\n12\n13\n";
        assert_eq!(plain(before, after), "  2\n  3\n  4\n- 5\n+ 5x\n  6\n  7\n  8\n  ⋯\n  10\n  11\n  12\n+ 13\n");
        assert_eq!(plain(before, before), "");
    }

    #[test]
    fn lines_that_stay_between_changes_are_not_called_changed() {
        assert_eq!(plain("a\nb\nc\n", "x\na\nb\ny\nc\n"), "+ x\n  a\n  b\n+ y\n  c\n");
        assert_eq!(plain("", "a\n"), "+ a\n");
        assert_eq!(plain("a\n", ""), "- a\n");
    }

    #[test]
    fn what_is_too_long_to_look_through_is_one_change() {
        let lines = |letter: char| (0..2100).map(|line| format!("{letter}{line}\n")).collect::<String>();
        let shown = diff(&(lines('a') + "same\n" + &lines('b')), &(lines('c') + "same\n" + &lines('d')));
        assert_eq!(shown.len(), 2 * 4201);
        assert!(shown.iter().take(4201).all(|line| line.plain().starts_with("- ")));
    }

    #[test]
    fn escape_sequences_in_a_file_do_not_reach_the_terminal() {
        assert_eq!(plain("", "\u{1b}[2J\n"), "+ ⟨ESC⟩[2J\n");
    }
}
