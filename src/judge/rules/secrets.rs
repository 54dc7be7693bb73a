//! The arguments in which programs accept secrets. They are hidden when a command is shown or recorded.
//!
//! Only the format: the programs are data (`patterns/redaction/programs.toml`). The build script includes this file
//! too, so it depends on `serde` alone.

use serde::{Deserialize, Serialize};

/// All known arguments in which programs accept a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretArguments {
    pub option: Vec<SecretOption>,
    pub operand: Vec<SecretOperand>,
    pub input: Vec<SecretInput>,
    pub none: Vec<NoSecret>,
    /// Words that decode something. Next to such a word, a text that looks random is encoded data and not a secret.
    pub decoders: Vec<String>,
}

/// Options whose value is a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretOption {
    pub programs: Vec<String>,
    /// A word that must be between the program and the option.
    #[serde(default)]
    pub sub: Option<String>,
    pub options: Vec<String>,
    pub form: SecretForm,
}

/// The form in which an option takes its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretForm {
    /// `-pSECRET`
    Attached,
    /// `-p SECRET`
    Next,
    /// `-pSECRET` or `-p SECRET`
    Either,
    /// `-u name:SECRET`, attached or not
    AfterColon,
    /// `-U name%SECRET`, attached or not
    AfterPercent,
    /// `-u name,SECRET`, attached or not
    AfterComma,
}

/// Operands that are secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretOperand {
    pub programs: Vec<String>,
    /// The words after the program and its options, separated by blanks.
    #[serde(default)]
    pub sub: Option<String>,
    /// The letter of an option that must be given.
    #[serde(default)]
    pub letter: Option<char>,
    /// A word that must be given.
    #[serde(default)]
    pub word: Option<String>,
    pub which: WhichOperand,
}

/// The position of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhichOperand {
    First,
    Second,
    Third,
    Last,
    All,
    /// The values of all `NAME=SECRET`.
    Values,
    /// Each one after an operand that is the name of a secret: `set token SECRET`.
    Named,
    /// The first one with a slash: `name/SECRET@database`
    Logon,
}

/// Programs that read a secret from their input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretInput {
    /// The programs; empty: any.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Words, one of which must be given if there are any.
    #[serde(default)]
    pub words: Vec<String>,
    /// The letter of an option that must be given.
    #[serde(default)]
    pub letter: Option<char>,
    /// Whether a command in the arguments prints the secret: `--password-command 'echo SECRET'`.
    #[serde(default)]
    pub printed: bool,
}

/// Options whose value is not a secret although their name suggests it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSecret {
    pub programs: Vec<String>,
    /// The options without dashes.
    pub options: Vec<String>,
}
