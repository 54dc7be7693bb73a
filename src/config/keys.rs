//! The table of all keys of the configuration: name, type, default and purpose. The parser, `guard config show`, the
//! manual page and the error messages use this table.
//!
//! Each value is a list of words, or a number on a scale from the laxest to the strictest value (for a word its
//! position in its list, for a weight hundredths), so that one comparison decides whether a layer makes it stricter.

use crate::judge::risk::Weight;
use crate::judge::rules::model::MAX_APPROVALS;

mod fields;
mod nearest;

use fields::{GRANT_FIELDS, REVIEWER_FIELDS, SERVICE_FIELDS, SUPPORT_FIELDS};
pub use nearest::nearest;

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Key {
    Mode,
    Preset,
    ThresholdCli,
    ThresholdAgent,
    ThresholdApi,
    ThresholdDiscord,
    ThresholdTelegram,
    WeightProduction,
    WeightRoot,
    WeightSsh,
    WeightOutsideProject,
    WeightProtectedBranch,
    WeightDisguise,
    WeightTrustedDirectory,
    WeightSecretsRead,
    WeightEgressAfterSecrets,
    WeightOtherAgent,
    WeightOwnInstructions,
    WeightOtherPeople,
    WeightAskedAgain,
    TimeoutMedium,
    TimeoutHigh,
    TimeoutCritical,
    TimeoutCriticalFinish,
    PromptsPerHour,
    BreakerAfter,
    QueueWait,
    QueuePending,
    QueueNotify,
    ConfirmCode,
    ApprovalsMedium,
    ApprovalsHigh,
    ApprovalsCritical,
    TrustedDirectories,
    ProtectedBranches,
    Production,
    KnownHosts,
    DisabledRules,
    Record,
    RetentionDays,
    RetentionMib,
    Yolo,
    HookGrant,
    HookDeadline,
    ExportTo,
    UpdateCommand,
    Support,
    Grant,
    Service,
    Reviewer,
    Locked,
    /// It has no value; in `locked` it denotes the pattern files.
    Patterns,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// One of these, from the laxest to the strictest.
    Word(&'static [&'static str]),
    /// A weight or threshold in hundredths, with the minimum and the maximum.
    Weight(i32, i32),
    /// An integer, with the minimum, the maximum and the unit.
    Whole(u32, u32, &'static str),
    /// `true` or `false`.
    Flag,
    /// A list of these.
    List(Item),
    /// A program and its arguments; a later file replaces those of an earlier one.
    Argv,
    /// Tables written `[[name]]`, with these fields.
    Tables(&'static [Field]),
    /// One table written `[name]`, with these fields; only in the machine's file.
    Table(&'static [Field]),
    /// Names of keys.
    Names,
    /// It can be locked but not set.
    LockOnly,
}

/// The type of the entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A glob for absolute directories; `~/` is the account's home.
    Directory,
    /// A glob for names of branches.
    Branch,
    Word,
    Host,
    /// The ID of a rule.
    Rule,
    /// A collector of logs.
    Destination,
}

/// A field of a `[[table]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub kind: &'static str,
    pub what: &'static str,
}

/// The direction in which a value becomes stricter. A list is stricter with more entries, or with fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrictDirection {
    Higher,
    Lower,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRow {
    pub key: Key,
    /// The name with its table: `thresholds.agent`.
    pub name: &'static str,
    pub kind: ConfigType,
    pub stricter: StrictDirection,
    /// The purpose of the key.
    pub what: &'static str,
}

const MODES: &[&str] = &["off", "smart", "manual"];
const PRESETS: &[&str] = &["relaxed", "balanced", "strict", "paranoid"];
const RECORDS: &[&str] = &["flagged", "all"];

/// The maximum threshold; above [`FREE_THRESHOLD`] it requires `yolo = true`.
pub const MAX_THRESHOLD: i32 = 500;
/// The maximum threshold without `yolo = true`.
pub const FREE_THRESHOLD: i32 = 300;

const THRESHOLD: ConfigType = ConfigType::Weight(0, MAX_THRESHOLD);
/// The type of a weight. A circumstance never lowers a score, except the one in docs/risk.md.
const WEIGHT: ConfigType = ConfigType::Weight(0, 400);
const APPROVERS: ConfigType = ConfigType::Whole(1, MAX_APPROVALS as u32, "approvers");
const SECONDS: ConfigType = ConfigType::Whole(1, 3600, "seconds");

use StrictDirection::{Higher, Lower};

const fn row(key: Key, name: &'static str, kind: ConfigType, stricter: StrictDirection, what: &'static str) -> KeyRow {
    KeyRow { key, name, kind, stricter, what }
}

/// The table, in the order of [`Key`].
#[rustfmt::skip]
pub const KEYS: &[KeyRow] = &[
    row(Key::Mode, "mode", ConfigType::Word(MODES), Higher,
        "Who decides: manual asks people; smart asks the reviewer first, which may decide some tier 2 commands \
         (guard-reviewer(7)); off runs everything up to tier 3 without asking, but keeps tier 4, deny rules and the \
         record."),
    row(Key::Preset, "preset", ConfigType::Word(PRESETS), Higher,
        "Sets thresholds, weights, timeouts, prompts_per_hour and breaker_after; keys that are also set override it."),
    row(Key::ThresholdCli, "thresholds.cli", THRESHOLD, Lower,
        "The score from which guard asks about commands from a person's own terminal. Values above 3.0 need yolo."),
    row(Key::ThresholdAgent, "thresholds.agent", THRESHOLD, Lower,
        "The score from which guard asks about an agent's commands."),
    row(Key::ThresholdApi, "thresholds.api", THRESHOLD, Lower,
        "The score from which guard asks about commands from the HTTP interface."),
    row(Key::ThresholdDiscord, "thresholds.discord", THRESHOLD, Lower,
        "The score from which guard asks about commands from Discord."),
    row(Key::ThresholdTelegram, "thresholds.telegram", THRESHOLD, Lower,
        "The score from which guard asks about commands from Telegram."),
    row(Key::WeightProduction, "weights.production", WEIGHT, Higher,
        "Added when an act targets production."),
    row(Key::WeightRoot, "weights.root", WEIGHT, Higher,
        "Added when an act runs as root."),
    row(Key::WeightSsh, "weights.ssh", WEIGHT, Higher,
        "Added in an ssh session."),
    row(Key::WeightOutsideProject, "weights.outside_project", WEIGHT, Higher,
        "Added when an act reaches outside the project."),
    row(Key::WeightProtectedBranch, "weights.protected_branch", WEIGHT, Higher,
        "Added on a protected branch."),
    row(Key::WeightDisguise, "weights.disguise", WEIGHT, Higher,
        "Added when a command is obfuscated."),
    row(Key::WeightTrustedDirectory, "weights.trusted_directory", ConfigType::Weight(-100, 0), Higher,
        "Added in a trusted directory, at tier 2 and below; at most 0."),
    row(Key::WeightSecretsRead, "weights.secrets_read", WEIGHT, Higher,
        "Added once credentials were read in the session."),
    row(Key::WeightEgressAfterSecrets, "weights.egress_after_secrets", WEIGHT, Higher,
        "Added when data is sent out after that."),
    row(Key::WeightOtherAgent, "weights.other_agent", WEIGHT, Higher,
        "Added for touching another agent's workspace, memory or configuration."),
    row(Key::WeightOwnInstructions, "weights.own_instructions", WEIGHT, Higher,
        "Added when an agent changes its own instructions or hooks."),
    row(Key::WeightOtherPeople, "weights.other_people", WEIGHT, Higher,
        "Added for mail, messages and publishing."),
    row(Key::WeightAskedAgain, "weights.asked_again", WEIGHT, Higher,
        "Added each time a denied command is requested again."),
    row(Key::TimeoutMedium, "timeouts.medium", SECONDS, Lower,
        "Time to answer at tier 2. No answer means no."),
    row(Key::TimeoutHigh, "timeouts.high", SECONDS, Lower,
        "Time to answer at tier 3."),
    row(Key::TimeoutCritical, "timeouts.critical", SECONDS, Lower,
        "Time to type the first key at tier 4."),
    row(Key::TimeoutCriticalFinish, "timeouts.critical_finish", SECONDS, Lower,
        "Time to finish typing the word after that."),
    row(Key::PromptsPerHour, "prompts_per_hour", ConfigType::Whole(0, 1000, "prompts"), Lower,
        "Prompts per hour for agents and the HTTP interface; guard refuses further commands that need an answer."),
    row(Key::BreakerAfter, "breaker_after", ConfigType::Whole(1, 100, "denials"), Lower,
        "Denials in a row after which a session is stopped until a person resumes it."),
    row(Key::QueueWait, "queue.wait", ConfigType::Whole(0, 86400, "seconds"), Lower,
        "How long a request waits in the queue if no person is at its terminal. 0 refuses it at once."),
    row(Key::QueuePending, "queue.pending", ConfigType::Whole(0, 1000, "commands"), Lower,
        "How many requests of one session may wait at the same time; guard refuses further ones."),
    row(Key::QueueNotify, "queue.notify", ConfigType::Argv, Lower,
        "A program, and its arguments, that is started for each new waiting request, without waiting for it. It gets \
         on standard input the JSON object of guard pending --json, redacted; {summary} in an argument is replaced by \
         one line. It is searched in the system's directories, or given by its path, and killed after 10 s. No shell \
         is involved. In user or machine files; keep the program where agents cannot write."),
    row(Key::ConfirmCode, "queue.confirm_code", ConfigType::Flag, Higher,
        "guard shows a code of four digits for each request that waits: in its message that the request waits, and to \
         the program of queue.notify. An approval with a passkey must carry it, and the guard that waits compares it \
         (guard-gateway(8)). Later files can only turn it on."),
    row(Key::ApprovalsMedium, "approvals.tier_2", APPROVERS, Higher,
        "How many different approvers must sign an approval of tier 2. From 2 on, guard always asks, and no grant, \
         mode, --yes, agent's own prompt or late answer replaces them. Later files can only raise it."),
    row(Key::ApprovalsHigh, "approvals.tier_3", APPROVERS, Higher,
        "The number of signatures for tier 3."),
    row(Key::ApprovalsCritical, "approvals.tier_4", APPROVERS, Higher,
        "The number of signatures for tier 4."),
    row(Key::TrustedDirectories, "trusted_directories", ConfigType::List(Item::Directory), Lower,
        "Directories (globs) where commands of tier 2 and below score lower."),
    row(Key::ProtectedBranches, "protected_branches", ConfigType::List(Item::Branch), Higher,
        "Branches (globs) on which commands score higher."),
    row(Key::Production, "production", ConfigType::List(Item::Word), Higher,
        "Words that name production in a context, profile, variable or host."),
    row(Key::KnownHosts, "known_hosts", ConfigType::List(Item::Host), Lower,
        "Known hosts in addition to those of the patterns; `*.` matches all subdomains."),
    row(Key::DisabledRules, "disabled_rules", ConfigType::List(Item::Rule), Lower,
        "The ids of disabled rules. Rules of tier 4 and rules that need several approvers cannot be disabled."),
    row(Key::Record, "record", ConfigType::Word(RECORDS), Higher,
        "What is recorded: all, or flagged (commands with a finding, or that did not run)."),
    row(Key::RetentionDays, "retention_days", ConfigType::Whole(1, 36500, "days"), Higher,
        "How long the record keeps rows. Older ones are deleted after a command that was asked about or refused, and \
         by guard log prune."),
    row(Key::RetentionMib, "retention_mib", ConfigType::Whole(1, 1 << 20, "MiB"), Higher,
        "The size from which the oldest rows of the record are deleted, in the same way; rows of the last seven days \
         are always kept."),
    row(Key::Yolo, "yolo", ConfigType::Flag, Lower,
        "Allows thresholds above 3.0; tier 3 and 4 still need approval."),
    row(Key::HookGrant, "hook.grant", ConfigType::Flag, Lower,
        "Tell the agent that an allowed command is approved, so that the agent does not ask again itself."),
    row(Key::HookDeadline, "hook.deadline", SECONDS, Lower,
        "How long a hook waits for an answer before it denies, at most; less if the agent's timeout is shorter."),
    row(Key::ExportTo, "export.to", ConfigType::List(Item::Destination), Higher,
        "Collectors to which each row of the record is sent, in user or machine files. guard export --status shows \
         what was sent to each; collectors that do not take datagrams are served by guard export --deliver."),
    row(Key::UpdateCommand, "update.command", ConfigType::Argv, Lower,
        "A program, and its arguments, that prints the newest version of guard: [\"cat\", \"/srv/guard/newest\"], or \
         one of your own. guard status and guard doctor run it, at most once a day and for 5 s, and report a newer \
         version. It is searched in the system's directories, or given by its path. None by default: guard itself \
         never checks. In user or machine files."),
    row(Key::Support, "support", ConfigType::Tables(SUPPORT_FIELDS), Lower,
        "Commands that always run, such as showing a crisis line; at most tier 2, in user or machine files."),
    row(Key::Grant, "grant", ConfigType::Tables(GRANT_FIELDS), Lower,
        "Grants, for example for CI, in user or machine files; never for tier 4."),
    row(Key::Service, "service", ConfigType::Table(SERVICE_FIELDS), Higher,
        "In the machine's file: guard serve --system keeps the record and the queue under a separate account."),
    row(Key::Reviewer, "reviewer", ConfigType::Table(REVIEWER_FIELDS), Lower,
        "In user or machine files: the model that gives an opinion when mode is smart. The table of a later file \
         replaces that of an earlier one."),
    row(Key::Locked, "locked", ConfigType::Names, Higher,
        "In the machine's file: keys or tables (`\"*\"` for all) that other files can only tighten."),
    row(Key::Patterns, "patterns", ConfigType::LockOnly, Higher,
        "In `locked`: the pattern files of users can only tighten the policy."),
];

/// Tables that group keys; a key inside one is written under its header.
pub const TABLES: &[&str] = &["thresholds", "weights", "timeouts", "hook", "queue", "approvals", "export", "update"];

impl Key {
    /// Returns the row of this key.
    #[must_use]
    pub fn entry(self) -> &'static KeyRow {
        // A test checks that the table has the order of the enum, so that the index always exists.
        &KEYS[self as usize]
    }

    /// Reports whether no layer can lower the value of an earlier one: if several approvers are required, one of them
    /// must not be able to change that.
    #[must_use]
    pub const fn only_tightens(self) -> bool {
        matches!(self, Self::ApprovalsMedium | Self::ApprovalsHigh | Self::ApprovalsCritical)
    }

    /// Returns the key with this full name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        KEYS.iter().find(|entry| entry.name == name && entry.kind != ConfigType::LockOnly).map(|entry| entry.key)
    }
}

impl KeyRow {
    /// Reports whether `new` is laxer than `old`.
    #[must_use]
    pub const fn loosens(&self, old: i64, new: i64) -> bool {
        match self.stricter {
            StrictDirection::Higher => new < old,
            StrictDirection::Lower => new > old,
        }
    }

    /// Returns the stricter of two values.
    #[must_use]
    pub const fn stricter_of(&self, one: i64, other: i64) -> i64 {
        if self.loosens(one, other) { one } else { other }
    }

    /// Returns a description of the type: `a number from 0.0 to 5.0`.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            ConfigType::Word(words) => {
                let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
                match quoted.split_last() {
                    Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                    _ => quoted.concat(),
                }
            }
            ConfigType::Weight(low, high) => format!("a number from {} to {}", Weight(low), Weight(high)),
            ConfigType::Whole(low, high, unit) => format!("a whole number of {unit} from {low} to {high}"),
            ConfigType::Flag => "true or false".to_owned(),
            ConfigType::List(item) => format!("a list of {}", item.plural()),
            ConfigType::Tables(_) => format!("tables headed [[{}]]", self.name),
            ConfigType::Argv => "a list of strings, a program first".to_owned(),
            ConfigType::Table(_) => format!("a table headed [{}]", self.name),
            ConfigType::Names => "a list of names of keys".to_owned(),
            ConfigType::LockOnly => "no value: it is only valid in `locked`".to_owned(),
        }
    }

    /// Returns a value of this key in the syntax of a file.
    #[must_use]
    pub fn show(&self, value: i64) -> String {
        match self.kind {
            ConfigType::Word(words) => {
                usize::try_from(value).ok().and_then(|at| words.get(at)).copied().unwrap_or_default().to_owned()
            }
            ConfigType::Weight(..) => Weight(i32::try_from(value).unwrap_or(i32::MAX)).to_string(),
            ConfigType::Flag => (value != 0).to_string(),
            _ => value.to_string(),
        }
    }
}

impl Item {
    /// Returns a description in the plural: `absolute directories (globs)`.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Directory => "absolute directories (globs; `~/` is the home)",
            Self::Branch => "branch names (globs)",
            Self::Word => "words",
            Self::Host => "host names",
            Self::Rule => "ids of rules",
            Self::Destination => {
                "collectors: journald, syslog (or syslog:/SOCKET, syslog+udp://HOST:PORT, syslog+tcp://HOST:PORT), otlp (or \
                 otlp+http://HOST:PORT/PATH, otlp+unix:/SOCKET)"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stands_in_the_order_of_the_keys() {
        for (at, entry) in KEYS.iter().enumerate() {
            assert_eq!(entry.key as usize, at, "{}", entry.name);
        }
        assert_eq!(KEYS.len(), Key::Patterns as usize + 1);
    }

    #[test]
    fn every_key_says_what_it_does_in_a_sentence() {
        for entry in KEYS {
            assert!(entry.what.ends_with('.') && entry.what.len() > 20, "{}", entry.name);
        }
    }
}
