//! The shape of a pattern file: which keys there are and what may stand behind them. What the values
//! mean is checked in `super`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use toml::Spanned;

use crate::judge::facts::class::PathClass;
use crate::judge::facts::effect::Effect;
use crate::judge::rules::model::{
    Added, HostClass, Inner, InputTest, Lowering, Note, OutputTaint, RemoteName, Style, TaintName,
};
use crate::judge::tier::{Reversibility, Tier};

/// A value and where it stands in the file.
pub type At<T> = Spanned<T>;

/// A pattern file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub family: At<String>,
    pub about: String,
    #[serde(default)]
    pub program: Vec<At<ProgramShape>>,
    #[serde(default)]
    pub rule: Vec<At<RuleShape>>,
    #[serde(default)]
    pub paths: Vec<At<PathsShape>>,
    #[serde(default)]
    pub hosts: Vec<At<HostsShape>>,
}

/// `[[program]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramShape {
    pub name: At<Many<String>>,
    pub tier: Option<Tier>,
    pub style: Option<Style>,
    #[serde(default)]
    pub options: Vec<At<String>>,
    #[serde(default)]
    pub dry_run: Vec<At<String>>,
    #[serde(default)]
    pub chdir: Vec<At<String>>,
    #[serde(default)]
    pub effects: Vec<At<EffectShape>>,
    #[serde(default)]
    pub wraps: Vec<At<WrapShape>>,
    pub runs: Option<At<RunsShape>>,
    pub output: Option<At<OutputTaint>>,
    #[serde(default)]
    pub prints_code: Vec<At<String>>,
    pub target: Option<At<TargetShape>>,
    #[serde(default)]
    pub sub: Vec<At<SubShape>>,
}

/// `[[program.sub]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubShape {
    pub name: At<Many<String>>,
    pub tier: Option<Tier>,
    #[serde(default)]
    pub options: Vec<At<String>>,
    #[serde(default)]
    pub dry_run: Vec<At<String>>,
    #[serde(default)]
    pub effects: Vec<At<EffectShape>>,
    #[serde(default)]
    pub wraps: Vec<At<WrapShape>>,
    pub runs: Option<At<RunsShape>>,
    pub output: Option<At<OutputTaint>>,
}

/// `{ does = "delete", to = "operands" }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectShape {
    pub does: Effect,
    pub to: At<String>,
    #[serde(default)]
    pub when: Vec<At<String>>,
    #[serde(default)]
    pub unless: Vec<At<String>>,
    pub recursive: Option<At<Recursion>>,
}

/// `recursive = true` or `recursive = ["-r|-R"]`
#[derive(Debug)]
pub enum Recursion {
    Always(bool),
    With(Vec<String>),
}

/// `{ inner = "argv", from = "operands" }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrapShape {
    #[serde(default)]
    pub inner: Inner,
    pub from: Option<At<String>>,
    #[serde(default)]
    pub each: bool,
    #[serde(default)]
    pub skip: u32,
    #[serde(default)]
    pub assignments: bool,
    #[serde(default)]
    pub when: Vec<At<String>>,
    #[serde(default)]
    pub unless: Vec<At<String>>,
    #[serde(default)]
    pub root: bool,
    pub remote: Option<RemoteName>,
    pub host: Option<u32>,
    #[serde(default)]
    pub adds: Added,
    #[serde(default)]
    pub bare_shell: bool,
}

/// `{ language = "python", code = ["-c"] }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunsShape {
    pub language: String,
    #[serde(default)]
    pub code: Vec<At<String>>,
    #[serde(default)]
    pub code_operand: bool,
    #[serde(default)]
    pub script_operand: bool,
    #[serde(default)]
    pub script: Vec<At<String>>,
    #[serde(default)]
    pub stdin: bool,
    pub code_at: Option<u32>,
    #[serde(default)]
    pub unless: Vec<At<String>>,
}

/// `{ flags = ["--context"], env = ["AWS_PROFILE"] }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetShape {
    #[serde(default)]
    pub flags: Vec<At<String>>,
    #[serde(default)]
    pub operands: bool,
    #[serde(default)]
    pub env: Vec<String>,
}

/// `[[rule]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleShape {
    pub id: At<String>,
    pub tier: At<Tier>,
    pub weight: Option<At<f64>>,
    pub reversibility: Reversibility,
    pub reason: At<String>,
    pub instead: Option<String>,
    pub program: At<Many<String>>,
    pub sub: Option<At<Many<String>>>,
    #[serde(default)]
    pub flags: Vec<At<String>>,
    #[serde(default)]
    pub no_flags: Vec<At<String>>,
    pub operand: Option<At<OperandShape>>,
    #[serde(default)]
    pub operands: Vec<At<OperandShape>>,
    pub count: Option<At<[u32; 2]>>,
    #[serde(default)]
    pub words: Vec<At<TestShape>>,
    #[serde(default)]
    pub env: Vec<At<EnvShape>>,
    #[serde(default)]
    pub input: Vec<InputTest>,
    #[serde(default)]
    pub tainted: Vec<TaintName>,
    #[serde(default)]
    pub feeds: Vec<String>,
    #[serde(default)]
    pub no_feeds: Vec<String>,
    #[serde(default)]
    pub wrapped: Vec<String>,
    pub root: Option<bool>,
    pub recursive: Option<bool>,
    pub remote: Option<bool>,
    #[serde(default)]
    pub dry_run: bool,
    #[serde(default)]
    pub guarded: bool,
    pub shown: Option<bool>,
    pub code: Option<At<CodeShape>>,
    pub text: Option<At<TextShape>>,
    pub lower: Option<At<Vec<Lowering>>>,
    #[serde(default)]
    pub deny: bool,
    pub yolo: Option<At<bool>>,
    pub approvals: Option<At<u8>>,
    #[serde(default)]
    pub notes: Vec<Note>,
    #[serde(default)]
    pub bad: Vec<String>,
    #[serde(default)]
    pub good: Vec<String>,
}

/// A test of a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TestShape {
    pub exact: Vec<String>,
    pub glob: Vec<String>,
    pub regex: Option<String>,
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    pub dynamic: Option<bool>,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    pub content: Option<String>,
}

/// A test of operands. The keys of [`TestShape`] again: serde cannot flatten and refuse unknown keys at once.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OperandShape {
    pub which: Option<Position>,
    pub exact: Vec<String>,
    pub glob: Vec<String>,
    pub regex: Option<String>,
    pub class: Vec<PathClass>,
    pub not_class: Vec<PathClass>,
    pub host: Vec<HostClass>,
    pub dynamic: Option<bool>,
    pub not_glob: Vec<String>,
    pub not_regex: Option<String>,
    pub content: Option<String>,
}

impl OperandShape {
    /// Without the position.
    pub fn test(&self) -> TestShape {
        TestShape {
            exact: self.exact.clone(),
            glob: self.glob.clone(),
            regex: self.regex.clone(),
            class: self.class.clone(),
            not_class: self.not_class.clone(),
            host: self.host.clone(),
            dynamic: self.dynamic,
            not_glob: self.not_glob.clone(),
            not_regex: self.not_regex.clone(),
            content: self.content.clone(),
        }
    }
}

/// `any`, `all`, `no`, `last`, or a number from 0.
#[derive(Debug)]
pub enum Position {
    Name(String),
    Number(u32),
}

/// `{ name = "GIT_*", value = { … } }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvShape {
    pub name: String,
    pub value: Option<At<TestShape>>,
}

/// `{ language = ["python"], regex = "…" }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeShape {
    pub language: Many<String>,
    #[serde(default)]
    pub literal: Vec<String>,
    pub regex: At<String>,
}

/// `{ literal = "…", regex = "…" }`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextShape {
    #[serde(default)]
    pub literal: String,
    pub regex: Option<At<String>>,
}

/// `[[paths]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathsShape {
    pub class: At<PathClass>,
    pub globs: At<Vec<String>>,
    #[serde(default)]
    pub except: Vec<String>,
}

/// `[[hosts]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostsShape {
    pub class: At<HostClass>,
    pub names: At<Vec<String>>,
}

/// One value, or an array of them.
#[derive(Debug)]
pub struct Many<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de> + From<String>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de> + From<String>> Visitor<'de> for OneOrMany<T> {
            type Value = Many<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or an array of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Many(vec![text.to_owned().into()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
                let mut many = Vec::new();
                while let Some(value) = values.next_element()? {
                    many.push(value);
                }
                Ok(Many(many))
            }
        }

        deserializer.deserialize_any(OneOrMany(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Recursion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrueOrFlags;

        impl<'de> Visitor<'de> for TrueOrFlags {
            type Value = Recursion;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, or an array of flags")
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Recursion::Always(value))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
                let mut flags = Vec::new();
                while let Some(flag) = values.next_element()? {
                    flags.push(flag);
                }
                Ok(Recursion::With(flags))
            }
        }

        deserializer.deserialize_any(TrueOrFlags)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrNumber;

        impl Visitor<'_> for NameOrNumber {
            type Value = Position;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"any\", \"all\", \"no\", \"last\", or a place counted from 0")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Position::Name(name.to_owned()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                u32::try_from(number).map(Position::Number).map_err(|_| E::custom("a place is counted from 0"))
            }
        }

        deserializer.deserialize_any(NameOrNumber)
    }
}
