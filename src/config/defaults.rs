//! The presets, and the policy that replaces a configuration with errors.

use super::keys::{ConfigType, KEYS, Key};
use crate::judge::policy::{Mode, Policy, Record};
use crate::judge::risk::{CircumstanceFact, Weight};

/// The values of each preset: relaxed, balanced, strict, paranoid. Balanced is the built-in policy (docs/risk.md).
///
/// Relaxed allows agents more of tier 2; strict asks about tier 2 for every origin, and about tier 1 in certain
/// circumstances; paranoid asks about everything that changes something. Thresholds and weights are in hundredths.
#[rustfmt::skip]
pub const PRESETS: &[(Key, [i64; 4])] = &[
    (Key::ThresholdCli,             [300, 300, 200, 100]),
    (Key::ThresholdAgent,           [250, 200, 150, 100]),
    (Key::ThresholdApi,             [200, 150, 100, 100]),
    (Key::ThresholdDiscord,         [300, 250, 200, 100]),
    (Key::ThresholdTelegram,        [250, 200, 150, 100]),
    (Key::WeightProduction,         [100, 100, 150, 200]),
    (Key::WeightRoot,               [ 50,  50,  50, 100]),
    (Key::WeightSsh,                [ 25,  50,  50, 100]),
    (Key::WeightOutsideProject,     [ 25,  50,  50, 100]),
    (Key::WeightProtectedBranch,    [ 50,  50, 100, 100]),
    (Key::WeightDisguise,           [ 50,  50, 100, 150]),
    (Key::WeightTrustedDirectory,      [-50, -50, -25,   0]),
    (Key::WeightSecretsRead,        [100, 100, 150, 200]),
    (Key::WeightEgressAfterSecrets, [150, 150, 200, 250]),
    (Key::WeightOtherAgent,         [150, 150, 150, 200]),
    (Key::WeightOwnInstructions,    [150, 150, 200, 250]),
    (Key::WeightOtherPeople,        [ 50,  50, 100, 150]),
    (Key::WeightAskedAgain,         [ 50,  50, 100, 100]),
    (Key::TimeoutMedium,            [120,  60,  45,  30]),
    (Key::TimeoutHigh,              [ 60,  30,  30,  20]),
    (Key::TimeoutCritical,          [ 15,  10,  10,  10]),
    (Key::TimeoutCriticalFinish,    [ 30,  20,  20,  15]),
    (Key::PromptsPerHour,           [ 20,  10,   8,   5]),
    (Key::BreakerAfter,             [  5,   3,   3,   2]),
];

/// Just above the score of tier 1 without circumstances, which still runs, and below that of tier 2 or of any
/// circumstance.
pub const FAIL_CLOSED_THRESHOLD: Weight = Weight(101);

/// Makes a configuration with errors stricter, so that no command with a finding runs without a prompt.
///
/// Each value is the stricter of the configured and the built-in one. In addition, every threshold is at most 1.01,
/// people decide (`mode = manual`), no directory is trusted, only the hosts in the patterns are known, no rule is
/// disabled, everything is recorded, and `yolo` is off. Support commands still run.
pub fn fail_closed(policy: &mut Policy) {
    let built_in = Policy::default();
    for (key, _) in PRESETS {
        if let (Some(read), Some(default)) = (key.get(policy), key.get(&built_in)) {
            key.set(policy, key.entry().stricter_of(read, default));
        }
    }
    let thresholds = &mut policy.thresholds;
    for threshold in [
        &mut thresholds.cli,
        &mut thresholds.agent,
        &mut thresholds.api,
        &mut thresholds.discord,
        &mut thresholds.telegram,
    ] {
        *threshold = (*threshold).min(FAIL_CLOSED_THRESHOLD);
    }
    policy.mode = Mode::Manual;
    policy.review.clear();
    policy.yolo = false;
    policy.hook.grant = false;
    policy.confirm_code = true;
    policy.hook.deadline = policy.hook.deadline.min(built_in.hook.deadline);
    policy.record = Record::All;
    policy.queue_wait = policy.queue_wait.min(built_in.queue_wait);
    policy.queue_pending = policy.queue_pending.min(built_in.queue_pending);
    policy.retention_days = policy.retention_days.max(built_in.retention_days);
    policy.retention_mib = policy.retention_mib.max(built_in.retention_mib);
    policy.weights.insert(CircumstanceFact::TrustedDirectory, Weight(0));
    policy.trusted_directories.clear();
    policy.known_hosts.clear();
    policy.disabled_rules.clear();
    for (list, default) in
        [(&mut policy.protected_branches, built_in.protected_branches), (&mut policy.production, built_in.production)]
    {
        for word in default {
            if !list.contains(&word) {
                list.push(word);
            }
        }
    }
}

/// Returns the keys that a name in `locked` locks.
#[must_use]
pub fn locks(name: &str) -> Vec<Key> {
    let preset_too = |key: Key| name == "preset" && PRESETS.iter().any(|(set, _)| *set == key);
    let in_table = |full: &str| full.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
    KEYS.iter()
        .filter(|row| row.kind != ConfigType::Names)
        .filter(|row| name == "*" || row.name == name || in_table(row.name) || preset_too(row.key))
        .map(|row| row.key)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{ConfigType, KEYS};

    #[test]
    fn balanced_is_the_built_in_policy() {
        let policy = Policy::default();
        for (key, values) in PRESETS {
            assert_eq!(key.get(&policy), Some(values[1]), "{}", key.entry().name);
        }
    }

    #[test]
    fn each_preset_is_at_least_as_strict_as_the_one_before_it() {
        for (key, values) in PRESETS {
            for pair in values.windows(2) {
                assert!(!key.entry().loosens(pair[0], pair[1]), "{}: {values:?}", key.entry().name);
            }
        }
    }

    #[test]
    fn no_preset_leaves_the_range_of_its_key() {
        for (key, values) in PRESETS {
            let (low, high) = match key.entry().kind {
                ConfigType::Weight(low, high) => (low.into(), high.into()),
                ConfigType::Whole(low, high, _) => (low.into(), high.into()),
                other => panic!("{}: {other:?}", key.entry().name),
            };
            assert!(values.iter().all(|value| (low..=high).contains(value)), "{}", key.entry().name);
        }
    }

    #[test]
    fn failing_closed_is_never_laxer_than_what_is_built_in() {
        let built_in = Policy::default();
        let mut policy = Policy::default();
        for entry in KEYS {
            // The laxest value that a file could set.
            let lax = match (entry.kind, entry.stricter) {
                (ConfigType::Weight(low, _), crate::config::keys::StrictDirection::Higher) => low.into(),
                (ConfigType::Weight(_, high), _) => high.into(),
                (ConfigType::Whole(low, _, _), crate::config::keys::StrictDirection::Higher) => low.into(),
                (ConfigType::Whole(_, high, _), _) => high.into(),
                (ConfigType::Word(_), _) => 0,
                (ConfigType::Flag, _) => 1,
                _ => continue,
            };
            entry.key.set(&mut policy, lax);
        }
        policy.protected_branches.clear();
        policy.trusted_directories.push("/**".to_owned());
        fail_closed(&mut policy);
        for entry in KEYS.iter().filter(|entry| entry.key != Key::Preset) {
            if let (Some(now), Some(default)) = (entry.key.get(&policy), entry.key.get(&built_in)) {
                assert!(!entry.loosens(default, now), "{}: {now}", entry.name);
            }
        }
        assert_eq!(policy.protected_branches, built_in.protected_branches);
        assert!(policy.trusted_directories.is_empty());
    }

    #[test]
    fn failing_closed_keeps_what_was_stricter_already() {
        let mut policy = Policy::default();
        policy.thresholds.agent = Weight(50);
        policy.prompts_per_hour = 1;
        fail_closed(&mut policy);
        assert_eq!((policy.thresholds.agent, policy.prompts_per_hour), (Weight(50), 1));
    }
}
