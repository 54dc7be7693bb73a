//! Suggestions for misspelt names.

/// Returns the name in `names` that is most similar to `wrong`, if one is similar enough.
#[must_use]
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_ascii_lowercase().replace('-', "_");
    let allowed = (wrong.chars().count() / 3).clamp(1, 4);
    names
        .into_iter()
        .map(|name| {
            let last = name.rsplit('.').next().unwrap_or(name);
            let whole = strsim::damerau_levenshtein(&wrong, name);
            // `agent` outside of a table probably means `thresholds.agent`; for equal distances the full name wins.
            (whole.min(strsim::damerau_levenshtein(&wrong, last)), whole, name)
        })
        .filter(|(distance, ..)| *distance <= allowed)
        .min_by_key(|(distance, whole, _)| (*distance, *whole))
        .map(|(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::KEYS;

    #[test]
    fn a_misspelt_key_finds_its_neighbour() {
        let names = || KEYS.iter().map(|entry| entry.name);
        assert_eq!(nearest("thresholds.agnet", names()), Some("thresholds.agent"));
        assert_eq!(nearest("promts_per_hour", names()), Some("prompts_per_hour"));
        assert_eq!(nearest("weights.outside-project", names()), Some("weights.outside_project"));
        assert_eq!(nearest("agent", names()), Some("thresholds.agent"));
        assert_eq!(nearest("colour", names()), None);
    }
}
