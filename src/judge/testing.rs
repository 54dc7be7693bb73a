//! Values for the unit tests of what decides: a finding, a risk, a judgment and an invocation with nothing special; and
//! what is asked of the world.

use std::cell::RefCell;
use std::path::PathBuf;

use super::Judgment;
use super::analysis::inquiry::{Answers, Inquiry};
use super::analysis::question::{Question, WorldAnswer};
use super::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use super::reach::Reach;
use super::risk::{Finding, Reversibility, Risk, Tier};
use super::syntax::tree::Span;

/// A finding of this rule and tier that weighs what its tier does.
pub fn finding(rule: &str, tier: Tier) -> Finding {
    Finding::plain(rule, tier, Reversibility::Soft, "because", Span::new(0, 1))
}

/// A judgment with one finding of this tier, which a grant may cover.
pub fn judgment(tier: Tier) -> Judgment {
    of(vec![finding("a.rule", tier)])
}

/// A judgment with these findings, which a grant may cover.
pub fn of(findings: Vec<Finding>) -> Judgment {
    Judgment {
        risk: Risk::join(Tier::Low, findings, Vec::new()),
        shape: Some("git push --force".to_owned()),
        reach: Reach { cwd: Some("/home/ada/project".to_owned()), places: Vec::new() },
        may_grant: true,
        ..Judgment::default()
    }
}

/// These arguments, from this origin, in `/home/ada/project`.
pub fn argv(origin: Origin, words: &[&str]) -> Invocation {
    of_request(origin, Request::Argv(words.iter().map(Into::into).collect()))
}

/// This line for bash, from this origin, in `/home/ada/project`.
pub fn line(origin: Origin, text: &str) -> Invocation {
    of_request(origin, Request::Line(Line::of_bash(text)))
}

fn of_request(origin: Origin, request: Request) -> Invocation {
    Invocation {
        request,
        cwd: PathBuf::from("/home/ada/project"),
        env: Environment::default(),
        home: None,
        uid: 1000,
        user: "ada".to_owned(),
        origin,
        session: Session::default(),
    }
}

/// What is asked of a world that answers nothing.
pub fn asked(ask: impl FnOnce(&Inquiry<'_>)) -> Vec<Question> {
    let asked = RefCell::new(Vec::new());
    let source = |question: &Question| {
        asked.borrow_mut().push(question.clone());
        WorldAnswer::Unavailable
    };
    ask(&Inquiry::new(&Answers::of(&source)));
    asked.take()
}
