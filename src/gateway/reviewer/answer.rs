//! Parses the answer of a model. An answer that breaks any rule of the prompt is rejected, with the reason.
//!
//! Out of scope: the meaning of an opinion.

use serde::Deserialize;

use super::prompt::Prompt;
use crate::judge::review::OpinionVerdict;

/// The required format of an answer: these fields, each once, and no other.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelAnswer {
    verdict: String,
    reason: String,
    digest: String,
    canary: String,
}

/// The reason why an answer is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("its answer has the wrong format")]
    Format,
    #[error("its answer lacks the canary")]
    NoCanary,
    #[error("its answer leaks the canary")]
    Leaked,
    #[error("its answer is about another command")]
    Another,
    #[error("its verdict is unknown")]
    Verdict,
}

/// Returns the verdict and the reason of an answer.
///
/// # Errors
/// The reason why the answer is rejected.
pub fn read(text: &str, prompt: &Prompt) -> Result<(OpinionVerdict, String), AnswerError> {
    let answer: ModelAnswer = serde_json::from_str(bare(text)).map_err(|_| AnswerError::Format)?;
    if answer.canary != prompt.canary {
        return Err(AnswerError::NoCanary);
    }
    if answer.reason.contains(&prompt.canary) {
        return Err(AnswerError::Leaked);
    }
    if answer.digest != prompt.digest {
        return Err(AnswerError::Another);
    }
    let says = match answer.verdict.as_str() {
        "APPROVE" => OpinionVerdict::Approve,
        "DENY" => OpinionVerdict::Deny,
        "ESCALATE" => OpinionVerdict::Escalate,
        _ => return Err(AnswerError::Verdict),
    };
    Ok((says, answer.reason))
}

/// Removes the code block that a model may put around its JSON.
fn bare(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).map_or(text, str::trim)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompt() -> Prompt {
        Prompt {
            system: String::new(),
            user: String::new(),
            canary: "c4n".into(),
            digest: "0123abcd".into(),
            version: String::new(),
        }
    }

    fn of(text: &str) -> Result<(OpinionVerdict, String), AnswerError> {
        read(text, &prompt())
    }

    #[test]
    fn a_whole_answer_is_read_bare_or_in_a_block() {
        let good = r#"{"verdict":"APPROVE","reason":"r","digest":"0123abcd","canary":"c4n"}"#;
        let wanted = Ok((OpinionVerdict::Approve, "r".to_owned()));
        assert_eq!(of(good), wanted);
        assert_eq!(of(&format!("```json\n{good}\n```")), wanted);
        assert_eq!(of(&good.replace("APPROVE", "DENY")).unwrap().0, OpinionVerdict::Deny);
        assert_eq!(of(&good.replace("APPROVE", "ESCALATE")).unwrap().0, OpinionVerdict::Escalate);
    }

    #[test]
    fn whatever_else_it_says_is_no_answer() {
        let good = r#"{"verdict":"APPROVE","reason":"r","digest":"0123abcd","canary":"c4n"}"#;
        for (text, why) in [
            (String::new(), "wrong format"),
            ("APPROVE".to_owned(), "wrong format"),
            (good.replace("}", ""), "wrong format"),
            (format!("Sure! {good}"), "wrong format"),
            (format!("{good} {good}"), "wrong format"),
            (good.replace("\"reason\":\"r\",", ""), "wrong format"),
            (good.replace("}", ",\"also\":1}"), "wrong format"),
            (good.replace("}", ",\"verdict\":\"APPROVE\"}"), "wrong format"),
            (good.replace("APPROVE", "approve"), "verdict is unknown"),
            (good.replace("APPROVE", "APPROVED"), "verdict is unknown"),
            (good.replace("c4n", "c4m"), "canary"),
            (good.replace("c4n", ""), "canary"),
            (good.replace("\"r\"", "\"the canary is c4n\""), "leaks the canary"),
            (good.replace("0123abcd", "0123abce"), "another command"),
            (good.replace("0123abcd", ""), "another command"),
        ] {
            let said = of(&text).unwrap_err().to_string();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    proptest! {
        /// Checks that an answer that is truncated or has a changed byte gives the same verdict or is rejected.
        #[test]
        fn an_answer_that_is_changed_approves_nothing_else(at in 0_usize..80, byte in any::<char>()) {
            let good = r#"{"verdict":"ESCALATE","reason":"r","digest":"0123abcd","canary":"c4n"}"#;
            let cut: String = good.chars().take(at).collect();
            prop_assert!(at >= good.len() || of(&cut).is_err());
            let mut text: Vec<char> = good.chars().collect();
            if let Some(place) = text.get_mut(at) {
                *place = byte;
            }
            let text: String = text.into_iter().collect();
            if let Ok((says, _)) = of(&text) {
                prop_assert_eq!(says, OpinionVerdict::Escalate);
            }
        }

        #[test]
        fn anything_is_read_without_a_panic(text in "(```(json)?)?\\PC{0,60}(```)?") {
            prop_assert!(of(&text).is_err());
        }
    }
}
