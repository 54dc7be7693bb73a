//! Every key of the configuration, once: its name, type, default and what it does. `guard config
//! show`, the manual page and the error messages are made from this table, and so is the reading.
//!
//! Each value is one number on a line that leads from lax to strict (a word by its place in its list, a
//! weight in hundredths), or a list of words. That makes "may only tighten" one comparison.

use crate::judge::risk::Weight;
use crate::judge::rules::model::MAX_APPROVALS;

mod nearest;

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
    WeightTrustedFolder,
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
    ApprovalsMedium,
    ApprovalsHigh,
    ApprovalsCritical,
    TrustedFolders,
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
    /// No value of its own: names the pattern files in `locked`.
    Patterns,
}

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// One of these, from the laxest to the strictest.
    Word(&'static [&'static str]),
    /// A weight or threshold: hundredths, both ends included.
    Weight(i32, i32),
    /// A whole number, both ends included, and its unit.
    Whole(u32, u32, &'static str),
    /// `true` or `false`.
    Flag,
    /// A list of these.
    List(Item),
    /// A program and its arguments; a later file's stands in the place of an earlier one's.
    Argv,
    /// Tables written `[[name]]`, with these fields.
    Tables(&'static [Field]),
    /// One table written `[name]`, with these fields; in the machine's file alone.
    Table(&'static [Field]),
    /// Names of keys.
    Names,
    /// May be locked, not set.
    LockOnly,
}

/// What a list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A glob over absolute directories; `~/` is the account's home.
    Directory,
    /// A glob over branch names.
    Branch,
    Word,
    Host,
    /// The id of a rule.
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

/// Which way a value grows stricter. A list is stricter with more or with fewer entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stricter {
    Higher,
    Lower,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRow {
    pub key: Key,
    /// With its table: `thresholds.agent`.
    pub name: &'static str,
    pub kind: ConfigType,
    pub stricter: Stricter,
    /// What it does.
    pub what: &'static str,
}

const MODES: &[&str] = &["off", "smart", "manual"];
const PRESETS: &[&str] = &["relaxed", "balanced", "strict", "paranoid"];
const RECORDS: &[&str] = &["flagged", "all"];

/// The highest threshold there is; above [`FREE_THRESHOLD`] it needs `yolo = true`.
pub const MAX_THRESHOLD: i32 = 500;
/// Up to here a threshold is free.
pub const FREE_THRESHOLD: i32 = 300;

const THRESHOLD: ConfigType = ConfigType::Weight(0, MAX_THRESHOLD);
/// A circumstance never lowers a score, save the one that docs/risk.md names.
const WEIGHT: ConfigType = ConfigType::Weight(0, 400);
const APPROVERS: ConfigType = ConfigType::Whole(1, MAX_APPROVALS as u32, "approvers");
const SECONDS: ConfigType = ConfigType::Whole(1, 3600, "seconds");

const SUPPORT_FIELDS: &[Field] = &[
    Field { name: "argv", kind: "list of strings", what: "The exact arguments, program first." },
    Field { name: "why", kind: "string", what: "What it is there for." },
];
const GRANT_FIELDS: &[Field] = &[
    Field { name: "name", kind: "string", what: "How the record names it; each name once." },
    Field {
        name: "what",
        kind: "{ exact = … }, { shape = … } or { rule = … }",
        what: "The commands it covers: one to the byte, a program with subcommand and flags, or what one rule finds.",
    },
    Field { name: "where", kind: "an absolute directory, or \"anywhere\"", what: "The directory and all below it." },
    Field {
        name: "until",
        kind: "a date (its end, UTC), a date-time with offset, or \"revoked\"",
        what: "When it ends.",
    },
];

const SERVICE_FIELDS: &[Field] = &[
    Field { name: "account", kind: "the name of an account", what: "Whose the record and the queue are." },
    Field { name: "socket", kind: "an absolute path", what: "Where it is spoken to; /run/guard/guard.sock without." },
    Field { name: "approvers", kind: "a list of names of accounts", what: "Who may answer, and read the record." },
    Field {
        name: "own_requests",
        kind: "true or false",
        what: "Whether they may answer what their own account asked for, at its terminal too; false without.",
    },
    Field {
        name: "gateway",
        kind: "the name of an account",
        what: "Whose the gateway is: it sees all requests, denies them, and carries the yes of approvers.",
    },
    Field {
        name: "gateway_unsigned_tier",
        kind: "a tier from 0 to 3",
        what: "The highest tier that the gateway approves without the signature of an approver; 2 without.",
    },
];

const REVIEWER_FIELDS: &[Field] = &[
    Field {
        name: "provider",
        kind: "openai, openai-responses, anthropic, gemini, ollama or program",
        what: "Whose protocol is spoken. openai is chat completions, and so vLLM, llama.cpp and LM Studio too.",
    },
    Field { name: "model", kind: "string", what: "The model's name; of a program, the name in the record." },
    Field {
        name: "url",
        kind: "string",
        what: "The base address; without, the provider's own. Plain http reaches this machine alone.",
    },
    Field {
        name: "key",
        kind: "{ keyring = … }, { file = … }, { env = … } or { command = […] }",
        what: "Where the key is found: under a name in the keyring, in a file of its own, in a variable, or what a command prints. It is never shown.",
    },
    Field {
        name: "program",
        kind: "list of strings, a program first",
        what: "For provider program: it reads the request as JSON and prints a verdict.",
    },
    Field { name: "timeout", kind: "seconds, 1 to 60", what: "For the whole of an opinion; 10 without." },
    Field { name: "retries", kind: "0 to 3", what: "After a failure that may pass; 1 without." },
    Field { name: "calls_per_day", kind: "number", what: "The budget of calls; 500 without." },
    Field { name: "tokens_per_day", kind: "number", what: "The budget of tokens; 1000000 without." },
    Field {
        name: "money_per_day",
        kind: "number",
        what: "The budget of money, in the unit of the prices; none without.",
    },
    Field { name: "price_in", kind: "number", what: "Of a million tokens of input." },
    Field { name: "price_out", kind: "number", what: "Of a million tokens of output." },
    Field { name: "cache", kind: "seconds, 0 to 86400", what: "How long an opinion is used again; 3600 without." },
    Field { name: "max_tokens", kind: "64 to 8192", what: "The longest answer; 400 without." },
    Field {
        name: "max_tokens_field",
        kind: "string",
        what: "What the API calls that, where it is not max_tokens: max_completion_tokens.",
    },
    Field { name: "temperature", kind: "number", what: "Sent where it is set." },
    Field { name: "policy", kind: "path", what: "A text of your own that is added to what the model is told." },
    Field {
        name: "contents",
        kind: "list of globs below the working directory",
        what: "Files of which it is told what they hold, where a command names them: src/**/*.py. None without. Never one in a place of secrets, nor over a link.",
    },
    Field { name: "contents_kib", kind: "1 to 64", what: "How much of that is told in all, in KiB; 16 without." },
    Field {
        name: "review",
        kind: "list of ids of rules, with *",
        what: "What these find is sent to the reviewer below the threshold too, at tier 1.",
    },
    Field {
        name: "jury",
        kind: "{ provider = …, model = …, … }",
        what: "A second reviewer: both must approve. Fields from provider to temperature.",
    },
];

use Stricter::{Higher, Lower};

const fn row(key: Key, name: &'static str, kind: ConfigType, stricter: Stricter, what: &'static str) -> KeyRow {
    KeyRow { key, name, kind, stricter, what }
}

/// The table, in the order of [`Key`].
#[rustfmt::skip]
pub const KEYS: &[KeyRow] = &[
    row(Key::Mode, "mode", ConfigType::Word(MODES), Higher,
        "Who is asked: manual asks people; smart asks the reviewer first, which may settle some of tier 2 (guard-reviewer(7)); off runs everything up to tier 3 and keeps the floor and the record."),
    row(Key::Preset, "preset", ConfigType::Word(PRESETS), Higher,
        "Sets thresholds, weights, timeouts, prompts_per_hour and breaker_after; keys beside it win."),
    row(Key::ThresholdCli, "thresholds.cli", THRESHOLD, Lower,
        "Score from which a command from a person's own terminal is asked about. Above 3.0 needs yolo."),
    row(Key::ThresholdAgent, "thresholds.agent", THRESHOLD, Lower,
        "The same for an agent's commands."),
    row(Key::ThresholdApi, "thresholds.api", THRESHOLD, Lower,
        "The same for the HTTP interface."),
    row(Key::ThresholdDiscord, "thresholds.discord", THRESHOLD, Lower,
        "The same for commands that come in by Discord."),
    row(Key::ThresholdTelegram, "thresholds.telegram", THRESHOLD, Lower,
        "The same for commands that come in by Telegram."),
    row(Key::WeightProduction, "weights.production", WEIGHT, Higher,
        "Added when an act targets production."),
    row(Key::WeightRoot, "weights.root", WEIGHT, Higher,
        "Added when an act runs as root."),
    row(Key::WeightSsh, "weights.ssh", WEIGHT, Higher,
        "Added when guard was reached over ssh."),
    row(Key::WeightOutsideProject, "weights.outside_project", WEIGHT, Higher,
        "Added when an act reaches outside the project."),
    row(Key::WeightProtectedBranch, "weights.protected_branch", WEIGHT, Higher,
        "Added on a protected branch."),
    row(Key::WeightDisguise, "weights.disguise", WEIGHT, Higher,
        "Added when a command is written so as to hide what it is."),
    row(Key::WeightTrustedFolder, "weights.trusted_folder", ConfigType::Weight(-100, 0), Higher,
        "Added in a trusted directory, at tier 2 and below: never above 0."),
    row(Key::WeightSecretsRead, "weights.secrets_read", WEIGHT, Higher,
        "Added once credentials were read in the session."),
    row(Key::WeightEgressAfterSecrets, "weights.egress_after_secrets", WEIGHT, Higher,
        "Added when something is sent out after that."),
    row(Key::WeightOtherAgent, "weights.other_agent", WEIGHT, Higher,
        "Added for touching another agent's workspace, memory or configuration."),
    row(Key::WeightOwnInstructions, "weights.own_instructions", WEIGHT, Higher,
        "Added when an agent changes its own instructions or hooks."),
    row(Key::WeightOtherPeople, "weights.other_people", WEIGHT, Higher,
        "Added for mail, messages and publishing."),
    row(Key::WeightAskedAgain, "weights.asked_again", WEIGHT, Higher,
        "Added each time what was denied is asked again."),
    row(Key::TimeoutMedium, "timeouts.medium", SECONDS, Lower,
        "Time to answer at tier 2. Silence is no."),
    row(Key::TimeoutHigh, "timeouts.high", SECONDS, Lower,
        "Time to answer at tier 3."),
    row(Key::TimeoutCritical, "timeouts.critical", SECONDS, Lower,
        "Time to the first key at tier 4."),
    row(Key::TimeoutCriticalFinish, "timeouts.critical_finish", SECONDS, Lower,
        "Time to finish the word after that."),
    row(Key::PromptsPerHour, "prompts_per_hour", ConfigType::Whole(0, 1000, "prompts"), Lower,
        "Prompts an hour for agents and the HTTP interface; beyond it they are refused unasked."),
    row(Key::BreakerAfter, "breaker_after", ConfigType::Whole(1, 100, "denials"), Lower,
        "Denials in a row after which a session is refused unasked until a person resumes it."),
    row(Key::QueueWait, "queue.wait", ConfigType::Whole(0, 86400, "seconds"), Lower,
        "How long a command waits in the queue where nobody sits at its terminal. 0: it is refused at once."),
    row(Key::QueuePending, "queue.pending", ConfigType::Whole(0, 1000, "commands"), Lower,
        "Commands of one session that may wait at once; beyond it they are refused unasked."),
    row(Key::QueueNotify, "queue.notify", ConfigType::Argv, Lower,
        "A program, and its arguments, that is told of each command that begins to wait, and that nobody waits for: on \
         standard input one JSON object as guard pending --json has it, redacted; {summary} in an argument becomes one \
         line. It is looked for in the system's directories, or named with its own, and ended after 10 s. No shell reads \
         it. In user or machine files; keep the program where agents cannot write."),
    row(Key::ApprovalsMedium, "approvals.tier_2", APPROVERS, Higher,
        "How many different approvers sign a yes to what is of tier 2. From 2 on it is always asked about, and no grant, \
         no mode, no yes in advance, no agent's own prompt and no late answer serves. Later files may only raise it."),
    row(Key::ApprovalsHigh, "approvals.tier_3", APPROVERS, Higher,
        "The same for what is of tier 3."),
    row(Key::ApprovalsCritical, "approvals.tier_4", APPROVERS, Higher,
        "The same for what is of tier 4."),
    row(Key::TrustedFolders, "trusted_folders", ConfigType::List(Item::Directory), Lower,
        "Directories, by glob, where tier 2 and below counts for less."),
    row(Key::ProtectedBranches, "protected_branches", ConfigType::List(Item::Branch), Higher,
        "Branches, by glob, that count for more."),
    row(Key::Production, "production", ConfigType::List(Item::Word), Higher,
        "Words that name production in a context, profile, variable or host."),
    row(Key::KnownHosts, "known_hosts", ConfigType::List(Item::Host), Lower,
        "Hosts that are known in addition to the patterns' own; `*.` for all below one."),
    row(Key::DisabledRules, "disabled_rules", ConfigType::List(Item::Rule), Lower,
        "Rules that are switched off, by id; never one of tier 4 or one that wants several approvers."),
    row(Key::Record, "record", ConfigType::Word(RECORDS), Higher,
        "What is written down: all, or flagged (had a finding, or did not run)."),
    row(Key::RetentionDays, "retention_days", ConfigType::Whole(1, 36500, "days"), Higher,
        "How long the record keeps rows. Older ones are pruned after a command that was asked about or refused, and by \
         guard log prune."),
    row(Key::RetentionMib, "retention_mib", ConfigType::Whole(1, 1 << 20, "MiB"), Higher,
        "How large the record may grow before its oldest rows are pruned, in the same way; rows of the last seven days \
         stay whatever its size."),
    row(Key::Yolo, "yolo", ConfigType::Flag, Lower,
        "Lets a threshold rise above 3.0. Tier 3 and 4 are asked all the same."),
    row(Key::HookGrant, "hook.grant", ConfigType::Flag, Lower,
        "Commands that guard lets run are granted to the agent whose hook asked, so that the agent does not ask itself."),
    row(Key::HookDeadline, "hook.deadline", SECONDS, Lower,
        "At the latest after this time guard hook says no by itself; sooner where the agent waits for less."),
    row(Key::ExportTo, "export.to", ConfigType::List(Item::Destination), Higher,
        "Where each row of the record is sent once it is written, in user or machine files. guard export --status tells \
         how far each place was told; what is not a datagram on its way to this machine or an address is sent by guard \
         export --deliver."),
    row(Key::UpdateCommand, "update.command", ConfigType::Argv, Lower,
        "A program, and its arguments, that prints the newest version of guard: [\"cat\", \"/srv/guard/newest\"], or one of \
         your own that looks it up. guard status and guard doctor ask it, at most once a day and for 5 s, and say when it \
         names a newer one; nothing else does. It is looked for in the system's directories, or named with its own. None \
         by default: guard itself asks nobody. In user or machine files."),
    row(Key::Support, "support", ConfigType::Tables(SUPPORT_FIELDS), Lower,
        "Commands that always run, such as showing a crisis line; tier 2 at most, in user or machine files."),
    row(Key::Grant, "grant", ConfigType::Tables(GRANT_FIELDS), Lower,
        "Standing grants, for CI, in user or machine files; never for tier 4."),
    row(Key::Service, "service", ConfigType::Table(SERVICE_FIELDS), Higher,
        "In the machine's file: the record and the queue are kept by guard serve, under an account of its own."),
    row(Key::Reviewer, "reviewer", ConfigType::Table(REVIEWER_FIELDS), Lower,
        "In user or machine files: who gives an opinion where mode is smart. A later file's stands in the place of an \
         earlier one's."),
    row(Key::Locked, "locked", ConfigType::Names, Higher,
        "In the machine's file: keys or tables (`\"*\"` for all) that others may only tighten."),
    row(Key::Patterns, "patterns", ConfigType::LockOnly, Higher,
        "In `locked`: the pattern files of users may only tighten."),
];

/// Tables that group keys; a key inside one is written under its header.
pub const TABLES: &[&str] = &["thresholds", "weights", "timeouts", "hook", "queue", "approvals", "export", "update"];

impl Key {
    /// The row of this key.
    #[must_use]
    pub fn entry(self) -> &'static KeyRow {
        // A test holds the table to the order of the enum, so the index always exists.
        &KEYS[self as usize]
    }

    /// Whether every layer may only tighten it, above what the ones before it say: who wants several people does not
    /// want one of them to take it back.
    #[must_use]
    pub const fn only_tightens(self) -> bool {
        matches!(self, Self::ApprovalsMedium | Self::ApprovalsHigh | Self::ApprovalsCritical)
    }

    /// The key of this full name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        KEYS.iter().find(|entry| entry.name == name && entry.kind != ConfigType::LockOnly).map(|entry| entry.key)
    }
}

impl KeyRow {
    /// Whether `new` is laxer than `old`.
    #[must_use]
    pub const fn loosens(&self, old: i64, new: i64) -> bool {
        match self.stricter {
            Stricter::Higher => new < old,
            Stricter::Lower => new > old,
        }
    }

    /// The stricter of two values.
    #[must_use]
    pub const fn stricter_of(&self, one: i64, other: i64) -> i64 {
        if self.loosens(one, other) { one } else { other }
    }

    /// The type, for people: `a number from 0.0 to 5.0`.
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
            ConfigType::LockOnly => "nothing: it can only be named in `locked`".to_owned(),
        }
    }

    /// A number on the line of this key, as a file would say it.
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
    /// For people: `absolute directories (globs)`.
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
