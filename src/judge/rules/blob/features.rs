//! The features that a rule requires of an act, available without decoding the rule: most rules for a program require a
//! feature that a given act does not have, and need not be decoded.

use crate::judge::rules::model::{InputTest, OperandQuantifier, Rule};

/// A set of features without which an act cannot match a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Features(pub u32);

impl Features {
    /// Assignments before the command, or set for it by a wrapper.
    pub const ENV: Self = Self(1);
    /// Standard input from a pipe, a file or a text.
    pub const INPUT: Self = Self(2);
    /// An argument with a taint.
    pub const TAINTED: Self = Self(4);
    /// Its output is the input of another act.
    pub const FEEDS: Self = Self(8);
    /// It is in a wrapper.
    pub const WRAPPED: Self = Self(16);
    /// It runs as root.
    pub const ROOT: Self = Self(32);
    /// It runs on another host or in a container.
    pub const REMOTE: Self = Self(64);
    /// It passes code to an interpreter.
    pub const CODE: Self = Self(128);
    /// It has options.
    pub const FLAGS: Self = Self(256);
    /// It has operands.
    pub const OPERANDS: Self = Self(512);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Reports whether the set contains all of `other`.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the features that `rule` requires.
    #[must_use]
    pub fn required(rule: &Rule) -> Self {
        let when = &rule.when;
        [
            (!when.env.is_empty(), Self::ENV),
            (!when.input.is_empty() && !when.input.contains(&InputTest::Inherited), Self::INPUT),
            (!when.tainted.is_empty(), Self::TAINTED),
            (!when.feeds.is_empty(), Self::FEEDS),
            (!when.wrapped.is_empty(), Self::WRAPPED),
            (when.root == Some(true), Self::ROOT),
            (when.remote == Some(true), Self::REMOTE),
            (when.code.is_some(), Self::CODE),
            (!when.flags.is_empty(), Self::FLAGS),
            (when.operands.iter().any(|test| test.which != OperandQuantifier::No), Self::OPERANDS),
        ]
        .into_iter()
        .filter(|(needed, _)| *needed)
        .fold(Self::default(), |all, (_, feature)| all.and(feature))
    }
}
