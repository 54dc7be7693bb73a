//! The random word that a critical command is confirmed by.

/// Short words that are not mistaken for one another, nor for a shell command.
const WORDS: [&str; 64] = [
    "acorn", "amber", "anchor", "apple", "autumn", "bamboo", "basket", "bottle", "bridge", "bronze", "candle",
    "canyon", "carpet", "castle", "cedar", "cherry", "cloud", "cobalt", "copper", "coral", "cotton", "desert",
    "dolphin", "ember", "falcon", "feather", "forest", "garden", "ginger", "glacier", "hammer", "harbor", "hazel",
    "island", "ivory", "jacket", "jungle", "kettle", "ladder", "lantern", "lemon", "marble", "meadow", "mirror",
    "mountain", "nectar", "ocean", "orange", "orchid", "pepper", "planet", "pocket", "quartz", "ribbon", "river",
    "saddle", "silver", "spider", "summer", "timber", "tulip", "velvet", "walnut", "winter",
];

/// One of them.
///
/// # Errors
/// When the system gives no random numbers.
pub(super) fn random() -> Result<String, getrandom::Error> {
    let random = getrandom::u32()?;
    // 64 divides 2³², so every word is as likely as any other.
    Ok(WORDS.get(random as usize % WORDS.len()).copied().unwrap_or("acorn").to_owned())
}
