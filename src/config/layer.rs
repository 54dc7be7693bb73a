//! The layers of the configuration.

/// The layers, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    BuiltIn,
    /// `/etc/guard`.
    Machine,
    /// The account's own `~/.config/guard` or, if it does not exist, that of `HOME` or `XDG_CONFIG_HOME`.
    User,
    /// The directory of `HOME` or `XDG_CONFIG_HOME`, if the account has another one of its own. It can only make values
    /// stricter.
    Redirected,
    /// `.guard.toml` in the project. It can only make values stricter.
    Project,
}

impl Layer {
    /// Reports whether it may make values laxer that are not locked.
    #[must_use]
    pub const fn may_loosen(self) -> bool {
        matches!(self, Self::BuiltIn | Self::Machine | Self::User)
    }

    /// Returns `built in`, `machine`, `user`, `redirected` or `project`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::Machine => "machine",
            Self::User => "user",
            Self::Redirected => "redirected",
            Self::Project => "project",
        }
    }
}
