//! Redacts the secrets of a command in other texts about it, where nothing beside a secret shows what it is.

use std::borrow::Cow;

use super::{HIDDEN, redact_and_keep};
use crate::judge::invocation::Invocation;
use crate::judge::risk::Risk;

/// The secrets of a command.
pub(in crate::store) struct KnownSecrets(Vec<String>);

impl KnownSecrets {
    /// The minimum length of a secret that is redacted as a part of a word.
    const LEAST: usize = 4;

    /// Finds the secrets of an invocation.
    pub fn of(invocation: &Invocation) -> Self {
        let mut all = Vec::new();
        redact_and_keep(&invocation.display(), &mut all);
        all.retain(|secret| !secret.contains(HIDDEN));
        // A secret that contains another one is redacted as a whole.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(all)
    }

    /// Redacts the secrets in a text.
    pub fn hide(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.0 {
            if secret.len() >= Self::LEAST {
                out = out.replace(secret.as_str(), HIDDEN);
            } else if out == *secret {
                HIDDEN.clone_into(&mut out);
            }
        }
        out
    }

    /// Redacts the secrets in all texts of a risk.
    pub fn without<'r>(&self, risk: &'r Risk) -> Cow<'r, Risk> {
        if self.0.is_empty() {
            return Cow::Borrowed(risk);
        }
        let mut risk = risk.clone();
        for finding in &mut risk.findings {
            let texts = finding.touches.iter_mut().chain(&mut finding.lowered);
            for text in texts.chain(&mut finding.instead).chain([&mut finding.reason]) {
                *text = self.hide(text);
            }
        }
        for detail in risk.context.iter_mut().filter_map(|circumstance| circumstance.detail.as_mut()) {
            *detail = self.hide(detail);
        }
        Cow::Owned(risk)
    }
}
