//! Describes a shape grant to the person who may give it: in words, and by commands that guard judges first.
//!
//! Out of scope: what a shape is ([`crate::judge::shape`]), and storing the grant.

use std::fs;
use std::path::Path;

use thiserror::Error;

use super::engine::{Engine, put_in};
use crate::judge::approved::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject, ShapeScope};
use crate::judge::invocation::{Invocation, Origin, quote};
use crate::judge::policy::{Decision, Refusal, SessionState, decide};
use crate::judge::shape::{PATH, SEPARATOR, Shape};
use crate::judge::{Judgment, sort};
use crate::ui::visible;

/// The number of further commands that are shown.
const EXAMPLES: usize = 3;

/// The number of names in a directory that are tried for an example.
const NAMES: usize = 8;

/// The reason why no grant can cover a command.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum GrantError {
    #[error("rule {0} is tier 4, which no grant can cover")]
    RuleCritical(String),
    #[error("rule {0} needs several approvers, which no grant can replace")]
    RuleApprovers(String),
    #[error("rule {0} needs a person's decision each time, which no grant can replace")]
    RuleDecision(String),
    #[error("rule {0} always denies, which no grant can override")]
    RuleDenies(String),
    #[error("the command is tier 4, which no grant can cover")]
    Critical,
    #[error("the command needs several approvers, which no grant can replace")]
    Approvers,
    #[error("the call moves money: a person decides on every payment, which no grant can replace")]
    Payment,
    #[error("no grant can cover a call with redacted values")]
    Hidden,
    #[error("no grant can cover a call that runs a shell or an interpreter")]
    CallOfShell,
    #[error("no grant can cover a shell, an interpreter, a wrapper, or a command that guard cannot analyse")]
    Shell,
    #[error("guard cannot generalise this command: it names no file that may be another; grant it exactly")]
    NoShape,
    #[error("guard asks about no such command, so the grant would have no effect")]
    Unasked,
    #[error("the command names a path outside the directory of the grant")]
    Outside,
}

/// A possible shape grant, with an approved command.
pub(super) struct ShapeGrant<'a> {
    engine: &'a Engine,
    invocation: Invocation,
    shape: Shape,
    grant: Grant,
}

impl<'a> ShapeGrant<'a> {
    /// Creates the grant for the shape of a command, with any files in the directory of the grant.
    ///
    /// # Errors
    /// The reason why there is no such grant, or why it would have no effect.
    pub fn of(engine: &'a Engine, invocation: &Invocation, place: &GrantPlace) -> Result<Self, GrantError> {
        let invocation = as_agent(invocation.clone(), place);
        let judgment = engine.work_out(&invocation);
        match decided(engine, &invocation, &judgment, &[]) {
            Decision::Run(_) => return Err(GrantError::Unasked),
            Decision::Refuse(Refusal::Rule { rule, .. }) => return Err(GrantError::RuleDenies(rule)),
            Decision::Refuse(_) | Decision::Ask(_) => {}
        }
        let scope = judgment.shape_to_grant().map(|scope| ShapeScope { within: None, ..scope });
        let (Some(scope), Some(shape)) = (scope, judgment.shape.clone()) else { return Err(GrantError::NoShape) };
        if shape.files.is_empty() && invocation.tool().is_none() {
            return Err(GrantError::NoShape);
        }
        let grant = grant(scope, place);
        match decided(engine, &invocation, &judgment, std::slice::from_ref(&grant)) {
            Decision::Run(_) => Ok(Self { engine, invocation, shape, grant }),
            Decision::Refuse(_) | Decision::Ask(_) => Err(GrantError::Outside),
        }
    }

    /// Creates a grant for a shape, with one of the commands for which it is. `None`: guard cannot judge the command.
    fn with(engine: &'a Engine, command: &str, scope: ShapeScope, directory: &str, place: &GrantPlace) -> Option<Self> {
        let mut invocation = engine.caller.invocation(engine.plain_line(command.into()).ok()?);
        put_in(Path::new(directory), &mut invocation);
        let invocation = as_agent(invocation, place);
        let shape = engine.work_out(&invocation).shape?;
        Some(Self { engine, invocation, shape, grant: grant(scope, place) })
    }

    /// Returns the subject of the grant.
    pub fn subject(&self) -> GrantSubject {
        self.grant.what.clone()
    }

    /// Returns commands that the grant would let run, and one that guard would still ask about. Each of them is judged
    /// first, so there may be fewer.
    pub fn examples(&self) -> String {
        let GrantSubject::Shape(scope) = &self.grant.what else { return String::new() };
        if let Some(tool) = ToolShape::of(scope) {
            return tool.examples();
        }
        let line = |command: &String| format!("  {}\n", visible::text(command));
        let allowed: Vec<String> =
            self.inside().into_iter().filter(|command| self.lets(command) == Some(true)).take(EXAMPLES).collect();
        let denied = self.outside(scope).into_iter().find(|command| self.lets(command) == Some(false));
        let mut text = String::new();
        if !allowed.is_empty() {
            let directory = visible::text(&self.invocation.cwd.to_string_lossy()).into_owned();
            text = format!("For example, it would allow in {directory}:\n");
            text.extend(allowed.iter().map(line));
        }
        if let Some(denied) = &denied {
            text.push_str("It would still ask about:\n");
            text.push_str(&line(denied));
        }
        text
    }

    /// Reports whether the grant lets a command run, or `None` if guard would not ask about the command.
    fn lets(&self, command: &str) -> Option<bool> {
        let request = self.engine.plain_line(command.into()).ok()?;
        let invocation = Invocation { request, ..self.invocation.clone() };
        let judgment = self.engine.work_out(&invocation);
        let asked = decided(self.engine, &invocation, &judgment, &[]);
        let granted = decided(self.engine, &invocation, &judgment, std::slice::from_ref(&self.grant));
        matches!(asked, Decision::Ask(_)).then_some(matches!(granted, Decision::Run(_)))
    }

    /// Returns the command with one of its files replaced by another one in the same directory: first those that exist.
    fn inside(&self) -> Vec<String> {
        let command = self.invocation.display();
        let (mut there, mut new) = (Vec::new(), Vec::new());
        for (at, file) in self.shape.files.iter().enumerate() {
            let Some((directory, name)) = file.path.rsplit_once('/') else { continue };
            let typed = command.get(file.span.start as usize..file.span.end as usize).unwrap_or_default();
            let before = typed.trim_matches(['\'', '"']).trim_end_matches('/').rsplit_once('/');
            let before = before.map_or(String::new(), |(before, _)| format!("{before}/"));
            let beside = |name: &str| self.replaced(&command, at, &format!("{before}{name}"));
            there.extend(names_in(directory, name).iter().filter_map(|name| beside(name)));
            let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
            let ending = ending.map_or(String::new(), |(_, ending)| format!(".{ending}"));
            new.extend(["other", "another", "new/other"].iter().filter_map(|stem| beside(&format!("{stem}{ending}"))));
        }
        there.extend(new);
        there
    }

    /// Returns the command with one of its files replaced by one outside the directory.
    fn outside(&self, scope: &ShapeScope) -> Vec<String> {
        let command = self.invocation.display();
        let directory = match (&scope.within, &self.grant.place) {
            (Some(within), _) => within.clone(),
            (None, GrantPlace::Directory { path }) => path.clone(),
            (None, GrantPlace::Anywhere) => self.invocation.cwd.to_string_lossy().into_owned(),
        };
        let Some((above, own)) = directory.trim_end_matches('/').rsplit_once('/') else { return Vec::new() };
        let mut paths = names_in(if above.is_empty() { "/" } else { above }, own);
        paths.push("other".to_owned());
        let paths: Vec<String> = paths.iter().map(|name| format!("{above}/{name}")).collect();
        (0..self.shape.files.len())
            .flat_map(|at| paths.iter().map(move |path| (at, path)))
            .filter_map(|(at, path)| self.replaced(&command, at, path))
            .collect()
    }

    /// Returns the command with another path in the place of the file with this index.
    fn replaced(&self, command: &str, at: usize, path: &str) -> Option<String> {
        let span = self.shape.files.get(at)?.span;
        let (before, behind) = (command.get(..span.start as usize)?, command.get(span.end as usize..)?);
        let path = quote(path);
        let is_in_quotes = behind.starts_with(['\'', '"']);
        (!is_in_quotes || !path.starts_with('\'')).then(|| format!("{before}{path}{behind}"))
    }
}

/// Returns the examples for a shape grant, with one of the commands for which it is, if that is known.
pub(super) fn examples(
    engine: &Engine,
    command: Option<&str>,
    scope: &ShapeScope,
    directory: &str,
    place: &GrantPlace,
) -> String {
    if let Some(tool) = ToolShape::of(scope) {
        return tool.examples();
    }
    let grant = command.and_then(|command| ShapeGrant::with(engine, command, scope.clone(), directory, place));
    grant.map_or_else(String::new, |grant| grant.examples())
}

/// Returns some names in a directory, in alphabetical order, without hidden ones and this one.
fn names_in(directory: &str, without: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.take(1024).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with(['.', '-']) && name != without).collect();
    sort::sort(&mut names);
    names.truncate(NAMES);
    names
}

/// Returns a command as an agent would run it, in the directory of a grant.
fn as_agent(invocation: Invocation, place: &GrantPlace) -> Invocation {
    let mut invocation = Invocation { origin: Origin::Agent, ..invocation };
    if let GrantPlace::Directory { path } = place
        && !place.holds(&invocation.cwd.to_string_lossy())
    {
        put_in(Path::new(path), &mut invocation);
    }
    invocation
}

fn grant(scope: ShapeScope, place: &GrantPlace) -> Grant {
    Grant {
        id: GrantId::Stored(0),
        what: GrantSubject::Shape(scope),
        place: place.clone(),
        until: GrantExpiry::Revoked,
        given: 0,
        words: String::new(),
    }
}

fn decided(engine: &Engine, invocation: &Invocation, judgment: &Judgment, grants: &[Grant]) -> Decision {
    decide(invocation, judgment, engine.policy(), &SessionState::default(), grants)
}

/// Describes what a shape grant covers.
pub(super) fn shaped(scope: &ShapeScope) -> String {
    let (program, named) = scope.parts();
    let is_script = |name: &&str| name.starts_with('/');
    let (scripts, rules): (Vec<&str>, Vec<&str>) =
        named.split(", ").filter(|name| !name.is_empty()).partition(is_script);
    let mut only = match rules.as_slice() {
        [] => "no rule matches".to_owned(),
        rules => format!("only {} matches", rules.join(", ")),
    };
    if let Some(tier) = scope.tier {
        only.push_str(&format!(", up to tier {}", tier.number()));
    }
    for script in scripts {
        let path = script.rsplit_once('=').map_or(script, |(path, _)| path);
        only.push_str(&format!(" and {path} is unchanged"));
    }
    if let Some(tool) = ToolShape::of(scope) {
        return format!("{}, if {only}", tool.words());
    }
    let directory = scope.within.as_deref().unwrap_or("the directory");
    format!("`{program}` with any {PATH} inside {directory}, if {only}")
}

/// The shape of a tool call.
struct ToolShape<'s> {
    name: &'s str,
    inputs: Vec<&'s str>,
    /// The hosts, commands and paths in the inputs that do not vary.
    fixed: Vec<&'s str>,
}

impl<'s> ToolShape<'s> {
    /// Returns `None` if the shape is that of a command.
    fn of(scope: &'s ShapeScope) -> Option<Self> {
        let mut parts = scope.parts().0.strip_prefix("tool:")?.split(SEPARATOR);
        let mut words = parts.next()?.split(' ').filter(|word| !word.is_empty());
        Some(Self { name: words.next()?, inputs: words.collect(), fixed: parts.collect() })
    }

    fn words(&self) -> String {
        let inputs = if self.inputs.is_empty() { "nothing".to_owned() } else { self.inputs.join(" and ") };
        let mut text = format!("calls of the tool `{}` with only the inputs {inputs}", self.name);
        if !self.fixed.is_empty() {
            text.push_str(&format!(", with `{}` in them", self.fixed.join("` and `")));
        }
        text + ", with paths only inside the directory"
    }

    fn examples(&self) -> String {
        let call = |more: &[&str]| {
            let all: Vec<String> = self.inputs.iter().chain(more).map(|input| format!("\"{input}\": …")).collect();
            format!("  {}\n", visible::text(&format!("{} {{{}}}", self.name, all.join(", "))))
        };
        let values = if self.fixed.is_empty() { "any values" } else { "any values beside these" };
        format!(
            "It would allow, with {values}:\n{}It would still ask about paths elsewhere, and about further inputs:\n{}",
            call(&[]),
            call(&["another"])
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::risk::Tier;

    #[test]
    fn a_grant_for_a_tool_is_explained_by_what_the_tool_is_given() {
        let scope = ShapeScope::plain("tool:calendar.create_event attendees title [tools.calendar-change]");
        let words = shaped(&scope);
        assert!(
            words.starts_with("calls of the tool `calendar.create_event` with only the inputs attendees and title"),
            "{words}"
        );
        assert!(words.ends_with("if only tools.calendar-change matches"), "{words}");
        let shown = ToolShape::of(&scope).unwrap().examples();
        assert!(shown.contains(r#"  calendar.create_event {"attendees": …, "title": …}"#), "{shown}");
        let fetch = shaped(&ShapeScope::plain("tool:web.fetch url ; https://a.example/x [a.b]"));
        assert!(fetch.contains("inputs url, with `https://a.example/x` in them"), "{fetch}");
    }

    #[test]
    fn a_grant_for_a_command_names_the_rules_the_tier_and_the_directory() {
        let scope = ShapeScope {
            shape: "./x -f <path> [a.b, /p/x=0123]".to_owned(),
            within: Some("/p/d".to_owned()),
            tier: Some(Tier::Medium),
        };
        let expected =
            "`./x -f <path>` with any <path> inside /p/d, if only a.b matches, up to tier 2 and /p/x is unchanged";
        assert_eq!(shaped(&scope), expected);
    }
}
