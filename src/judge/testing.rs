//! Values for unit tests: a finding, a risk, a judgment and an invocation without special properties; and the recorded
//! questions of an inquiry.

use std::cell::RefCell;
use std::path::PathBuf;

use super::Judgment;
use super::analysis::inquiry::{Answers, Inquiry};
use super::analysis::question::{Question, WorldAnswer};
use super::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use super::reach::Reach;
use super::risk::{Finding, Reversibility, Risk, Tier};
use super::shape::Shape;
use super::syntax::tree::Span;

/// Creates a finding of this rule and tier, with the weight of the tier.
pub fn finding(rule: &str, tier: Tier) -> Finding {
    Finding::plain(rule, tier, Reversibility::Soft, "because", Span::new(0, 1))
}

/// Creates a judgment with one finding of this tier, which a grant may cover.
pub fn judgment(tier: Tier) -> Judgment {
    of(vec![finding("a.rule", tier)])
}

/// Creates a judgment with these findings, which a grant may cover.
pub fn of(findings: Vec<Finding>) -> Judgment {
    Judgment {
        risk: Risk::join(Tier::Low, findings, Vec::new()),
        shape: Some(Shape { text: "git push --force".to_owned(), ..Shape::default() }),
        reach: Reach { cwd: Some("/home/ada/project".to_owned()), places: Vec::new() },
        may_grant: true,
        ..Judgment::default()
    }
}

/// Creates an invocation with these arguments and this origin, in `/home/ada/project`.
pub fn argv(origin: Origin, words: &[&str]) -> Invocation {
    of_request(origin, Request::Argv(words.iter().map(Into::into).collect()))
}

/// Creates an invocation of this bash line with this origin, in `/home/ada/project`.
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

/// Returns the questions that `ask` asks; none of them is answered.
pub fn asked(ask: impl FnOnce(&Inquiry<'_>)) -> Vec<Question> {
    let asked = RefCell::new(Vec::new());
    let source = |question: &Question| {
        asked.borrow_mut().push(question.clone());
        WorldAnswer::Unavailable
    };
    ask(&Inquiry::new(&Answers::of(&source)));
    asked.take()
}
