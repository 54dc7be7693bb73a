//! The scales of docs/risk.md: tier, weight and reversibility.
//!
//! Only the scales: the build script includes this file too, so it depends on `serde` alone.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The severity of the worst possible effect (docs/risk.md, tiers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Tier {
    /// Reads, searches, prints; changes nothing.
    Safe = 0,
    /// Reversible local work.
    #[default]
    Low = 1,
    /// Sends data out, adds packages, changes permissions, deletes a few named files.
    Medium = 2,
    /// Loses work or data, rewrites history, deploys, reads secrets, runs remote code.
    High = 3,
    /// Destroys a system, a disk, a home, a production database; tampers with guard.
    Critical = 4,
}

impl Tier {
    /// All tiers, lowest first.
    pub const ALL: [Self; 5] = [Self::Safe, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// Returns the number, 0 to 4.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the name: `safe`, `low`, `medium`, `high`, `critical`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Returns the tier with this number; `None` above 4.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Safe),
            1 => Some(Self::Low),
            2 => Some(Self::Medium),
            3 => Some(Self::High),
            4 => Some(Self::Critical),
            _ => None,
        }
    }
}

impl Serialize for Tier {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

impl<'de> Deserialize<'de> for Tier {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u8::deserialize(deserializer)?;
        Self::from_number(number)
            .ok_or_else(|| serde::de::Error::custom(format!("a tier is 0, 1, 2, 3 or 4, not {number}")))
    }
}

/// A weight or a score, in hundredths, so that sums and comparisons are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Weight(pub i32);

impl Weight {
    /// Converts a number, rounded to hundredths.
    #[must_use]
    pub fn from_f64(value: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "`as` saturates, and weights are small")]
        Self((value * 100.0).round() as i32)
    }

    /// Returns the number.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    /// Returns the default weight of a rule of this tier.
    #[must_use]
    pub const fn of_tier(tier: Tier) -> Self {
        Self(tier.number() as i32 * 100)
    }
}

impl std::ops::Add for Weight {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Weight {
    fn sum<I: Iterator<Item = Self>>(weights: I) -> Self {
        weights.fold(Self(0), |all, weight| all + weight)
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.as_f64();
        if self.0 % 10 == 0 { write!(f, "{value:.1}") } else { write!(f, "{value:.2}") }
    }
}

impl Serialize for Weight {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::from_f64)
    }
}

/// The degree to which an act can be undone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reversibility {
    /// Changes nothing.
    ReadOnly,
    /// Easily undone: a commit, a draft, a move.
    #[default]
    Soft,
    /// Can be undone with effort or side effects.
    Hard,
    /// Cannot be undone.
    Irreversible,
}

impl Reversibility {
    /// Returns the name: `read-only`, `soft`, `hard`, `irreversible`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Soft => "soft",
            Self::Hard => "hard",
            Self::Irreversible => "irreversible",
        }
    }
}
