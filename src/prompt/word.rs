//! The random word with which a critical command is confirmed.

/// Short words that differ clearly, and that are not shell commands.
const WORDS: [&str; 64] = [
    "acorn", "amber", "anchor", "apple", "autumn", "bamboo", "basket", "bottle", "bridge", "bronze", "candle",
    "canyon", "carpet", "castle", "cedar", "cherry", "cloud", "cobalt", "copper", "coral", "cotton", "desert",
    "dolphin", "ember", "falcon", "feather", "forest", "garden", "ginger", "glacier", "hammer", "harbor", "hazel",
    "island", "ivory", "jacket", "jungle", "kettle", "ladder", "lantern", "lemon", "marble", "meadow", "mirror",
    "mountain", "nectar", "ocean", "orange", "orchid", "pepper", "planet", "pocket", "quartz", "ribbon", "river",
    "saddle", "silver", "spider", "summer", "timber", "tulip", "velvet", "walnut", "winter",
];

/// Returns one of them at random.
///
/// # Errors
/// The system returns no random numbers.
pub(super) fn random() -> Result<String, getrandom::Error> {
    let random = getrandom::u32()?;
    // 64 divides 2³², so that all words are equally likely.
    Ok(WORDS.get(random as usize % WORDS.len()).copied().unwrap_or("acorn").to_owned())
}
