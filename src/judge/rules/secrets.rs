//! Where programs take secrets: what is hidden of a command by the program that it is given to.
//!
//! Nothing but the form: which programs these are is data (`patterns/redaction/programs.toml`). The build script reads this
//! file too, so it stands on `serde` alone.

use serde::{Deserialize, Serialize};

/// All places where programs are known to take a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretArguments {
    pub option: Vec<SecretOption>,
    pub operand: Vec<SecretOperand>,
    pub input: Vec<SecretInput>,
    pub none: Vec<NoSecret>,
    /// Words of what decodes: where one stands, a text that looks random is encoded and no secret.
    pub decoders: Vec<String>,
}

/// Options behind which programs take a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretOption {
    pub programs: Vec<String>,
    /// A word that must stand between the program and the option.
    #[serde(default)]
    pub sub: Option<String>,
    pub options: Vec<String>,
    pub form: SecretForm,
}

/// In what form an option takes its secret.
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

/// Operands that are a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretOperand {
    pub programs: Vec<String>,
    /// The word behind the program.
    #[serde(default)]
    pub sub: Option<String>,
    /// The letter of an option that must be given.
    #[serde(default)]
    pub letter: Option<char>,
    pub which: WhichOperand,
}

/// Which operand it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhichOperand {
    First,
    Last,
    /// The first one with a slash: `name/SECRET@database`
    Logon,
}

/// Programs that read a secret from their input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretInput {
    /// None stands for any.
    #[serde(default)]
    pub programs: Vec<String>,
    /// One of these must be given, if there are any.
    #[serde(default)]
    pub words: Vec<String>,
    /// The letter of an option that must be given.
    #[serde(default)]
    pub letter: Option<char>,
}

/// Options behind which programs take no secret, though they are named so and nothing joins the next word to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSecret {
    pub programs: Vec<String>,
    /// Without the dashes.
    pub options: Vec<String>,
}
