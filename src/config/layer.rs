//! The layers of the configuration.

/// Where a value comes from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    BuiltIn,
    /// `/etc/guard`.
    Machine,
    /// The account's own `~/.config/guard`; where there is none, that of `HOME` or `XDG_CONFIG_HOME`.
    User,
    /// That of `HOME` or `XDG_CONFIG_HOME`, where the account has its own and it is another: may only tighten.
    Redirected,
    /// `.guard.toml` in the project: may only tighten.
    Project,
}

impl Layer {
    /// Whether it may loosen what is not locked.
    #[must_use]
    pub const fn may_loosen(self) -> bool {
        matches!(self, Self::BuiltIn | Self::Machine | Self::User)
    }

    /// `built in`, `machine`, `user`, `redirected`, `project`.
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
