//! Reads and sets the values of a [`Policy`] by key.

use super::keys::Key;
use crate::judge::policy::{Mode, Policy, Preset, Record};
use crate::judge::risk::{CircumstanceFact, Weight};

impl Key {
    /// Returns the circumstance of a weight.
    const fn fact(self) -> Option<CircumstanceFact> {
        use CircumstanceFact as Fact;
        Some(match self {
            Self::WeightProduction => Fact::Production,
            Self::WeightRoot => Fact::Root,
            Self::WeightSsh => Fact::Ssh,
            Self::WeightOutsideProject => Fact::OutsideProject,
            Self::WeightProtectedBranch => Fact::ProtectedBranch,
            Self::WeightDisguise => Fact::Disguise,
            Self::WeightTrustedDirectory => Fact::TrustedDirectory,
            Self::WeightSecretsRead => Fact::SecretsRead,
            Self::WeightEgressAfterSecrets => Fact::EgressAfterSecrets,
            Self::WeightOtherAgent => Fact::OtherAgent,
            Self::WeightOwnInstructions => Fact::OwnInstructions,
            Self::WeightOtherPeople => Fact::OtherPeople,
            Self::WeightAskedAgain => Fact::AskedAgain,
            _ => return None,
        })
    }

    /// Returns the value as a number on its scale; `None` for lists and tables.
    #[must_use]
    pub fn get(self, policy: &Policy) -> Option<i64> {
        if let Some(fact) = self.fact() {
            return policy.weights.get(&fact).map(|weight| i64::from(weight.0));
        }
        Some(match self {
            Self::Mode => match policy.mode {
                Mode::Off => 0,
                Mode::Smart => 1,
                Mode::Manual => 2,
            },
            Self::Preset => place(policy.preset),
            Self::ThresholdCli => policy.thresholds.cli.0.into(),
            Self::ThresholdAgent => policy.thresholds.agent.0.into(),
            Self::ThresholdApi => policy.thresholds.api.0.into(),
            Self::ThresholdDiscord => policy.thresholds.discord.0.into(),
            Self::ThresholdTelegram => policy.thresholds.telegram.0.into(),
            Self::TimeoutMedium => policy.timeouts.medium.into(),
            Self::TimeoutHigh => policy.timeouts.high.into(),
            Self::TimeoutCritical => policy.timeouts.critical.into(),
            Self::TimeoutCriticalFinish => policy.timeouts.critical_finish.into(),
            Self::PromptsPerHour => policy.prompts_per_hour.into(),
            Self::BreakerAfter => policy.breaker_after.into(),
            Self::QueueWait => policy.queue_wait.into(),
            Self::QueuePending => policy.queue_pending.into(),
            Self::ApprovalsMedium => policy.approvals.medium.into(),
            Self::ApprovalsHigh => policy.approvals.high.into(),
            Self::ApprovalsCritical => policy.approvals.critical.into(),
            Self::Record => match policy.record {
                Record::Flagged => 0,
                Record::All => 1,
            },
            Self::RetentionDays => policy.retention_days.into(),
            Self::RetentionMib => policy.retention_mib.into(),
            Self::ConfirmCode => policy.confirm_code.into(),
            Self::Yolo => policy.yolo.into(),
            Self::HookGrant => policy.hook.grant.into(),
            Self::HookDeadline => policy.hook.deadline.into(),
            _ => return None,
        })
    }

    /// Sets a value that was checked; lists and tables are ignored.
    pub fn set(self, policy: &mut Policy, value: i64) {
        // Checked values fit; another one would become the maximum. A test sets the ends of all ranges.
        let whole = u32::try_from(value).unwrap_or(u32::MAX);
        let few = u8::try_from(value).unwrap_or(u8::MAX);
        let weight = Weight(i32::try_from(value).unwrap_or(i32::MAX));
        if let Some(fact) = self.fact() {
            policy.weights.insert(fact, weight);
            return;
        }
        match self {
            Self::Mode => {
                policy.mode = match value {
                    0 => Mode::Off,
                    1 => Mode::Smart,
                    _ => Mode::Manual,
                };
            }
            Self::Preset => policy.preset = preset(value),
            Self::ThresholdCli => policy.thresholds.cli = weight,
            Self::ThresholdAgent => policy.thresholds.agent = weight,
            Self::ThresholdApi => policy.thresholds.api = weight,
            Self::ThresholdDiscord => policy.thresholds.discord = weight,
            Self::ThresholdTelegram => policy.thresholds.telegram = weight,
            Self::TimeoutMedium => policy.timeouts.medium = whole,
            Self::TimeoutHigh => policy.timeouts.high = whole,
            Self::TimeoutCritical => policy.timeouts.critical = whole,
            Self::TimeoutCriticalFinish => policy.timeouts.critical_finish = whole,
            Self::PromptsPerHour => policy.prompts_per_hour = whole,
            Self::BreakerAfter => policy.breaker_after = whole,
            Self::QueueWait => policy.queue_wait = whole,
            Self::QueuePending => policy.queue_pending = whole,
            Self::ApprovalsMedium => policy.approvals.medium = few,
            Self::ApprovalsHigh => policy.approvals.high = few,
            Self::ApprovalsCritical => policy.approvals.critical = few,
            Self::Record => policy.record = if value == 0 { Record::Flagged } else { Record::All },
            Self::RetentionDays => policy.retention_days = whole,
            Self::RetentionMib => policy.retention_mib = whole,
            Self::ConfirmCode => policy.confirm_code = value != 0,
            Self::Yolo => policy.yolo = value != 0,
            Self::HookGrant => policy.hook.grant = value != 0,
            Self::HookDeadline => policy.hook.deadline = whole,
            _ => {}
        }
    }

    /// Returns the list of this key.
    #[must_use]
    pub const fn list(self, policy: &Policy) -> Option<&Vec<String>> {
        Some(match self {
            Self::TrustedDirectories => &policy.trusted_directories,
            Self::ProtectedBranches => &policy.protected_branches,
            Self::Production => &policy.production,
            Self::KnownHosts => &policy.known_hosts,
            Self::DisabledRules => &policy.disabled_rules,
            Self::QueueNotify => &policy.queue_notify,
            Self::ExportTo => &policy.export_to,
            Self::UpdateCommand => &policy.update_command,
            _ => return None,
        })
    }

    /// Returns the list of this key for changes.
    pub const fn list_mut(self, policy: &mut Policy) -> Option<&mut Vec<String>> {
        Some(match self {
            Self::TrustedDirectories => &mut policy.trusted_directories,
            Self::ProtectedBranches => &mut policy.protected_branches,
            Self::Production => &mut policy.production,
            Self::KnownHosts => &mut policy.known_hosts,
            Self::DisabledRules => &mut policy.disabled_rules,
            Self::QueueNotify => &mut policy.queue_notify,
            Self::ExportTo => &mut policy.export_to,
            Self::UpdateCommand => &mut policy.update_command,
            _ => return None,
        })
    }
}

/// Returns the number of a preset on its scale.
#[must_use]
pub const fn place(preset: Preset) -> i64 {
    match preset {
        Preset::Relaxed => 0,
        Preset::Balanced => 1,
        Preset::Strict => 2,
        Preset::Paranoid => 3,
    }
}

/// Returns the preset with this number on its scale.
#[must_use]
pub const fn preset(place: i64) -> Preset {
    match place {
        0 => Preset::Relaxed,
        2 => Preset::Strict,
        3 => Preset::Paranoid,
        _ => Preset::Balanced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{ConfigType, KEYS};

    #[test]
    fn each_end_of_each_range_is_set_and_read_back() {
        for entry in KEYS {
            let ends = match entry.kind {
                ConfigType::Word(words) => [0, i64::try_from(words.len()).unwrap() - 1],
                ConfigType::Weight(low, high) => [low.into(), high.into()],
                ConfigType::Whole(low, high, _) => [low.into(), high.into()],
                ConfigType::Flag => [0, 1],
                ConfigType::List(_)
                | ConfigType::Argv
                | ConfigType::Tables(_)
                | ConfigType::Table(_)
                | ConfigType::Names
                | ConfigType::LockOnly => {
                    continue;
                }
            };
            for end in ends {
                let mut policy = Policy::default();
                entry.key.set(&mut policy, end);
                assert_eq!(entry.key.get(&policy), Some(end), "{}", entry.name);
            }
        }
    }

    #[test]
    fn every_default_lies_in_its_range() {
        let policy = Policy::default();
        for entry in KEYS {
            let Some(value) = entry.key.get(&policy) else { continue };
            let (low, high) = match entry.kind {
                ConfigType::Weight(low, high) => (low.into(), high.into()),
                ConfigType::Whole(low, high, _) => (low.into(), high.into()),
                _ => continue,
            };
            assert!((low..=high).contains(&value), "{} = {value}", entry.name);
        }
    }
}
