//! Recognises the envelopes that agents put around a command before they pass it to a shell.
//!
//! The templates are data (`patterns/agents/`, [`crate::judge::agents::model::Template`]), and this module is their
//! only matcher. An envelope is recognised only if the whole string fits a template. The command in it is then judged,
//! shown, granted and recorded, and the whole string runs. A string that does not fit to the last byte is judged as it
//! is. An envelope never lowers a risk: the command is judged alone, and again after the commands that the envelope
//! runs before it (a snapshot that is sourced, a directory that is entered), and the findings are joined.
//!
//! An `eval` of one literal text among other commands, from an agent that has templates, is an unknown envelope (module
//! `unknown`). The caller opens it if the commands around the text are harmless; the whole string is judged as well.
//!
//! Out of scope: reading files, and behaviour specific to one agent. If a template contains the path of a file, the
//! file must be in a directory that the agent uses.

mod matching;
mod scan;
mod unknown;

use std::os::unix::ffi::OsStrExt;

use self::matching::{Matching, TemplateMatch, loosened};
use super::agents;
use super::agents::model::Template;
use super::envelope::Envelope;
use super::invocation::{Environment, Invocation, Line, Origin, Request};

/// The content of a line that fits a template.
#[derive(Debug, Default)]
struct TemplateContent {
    inner: Vec<u8>,
    lead: Vec<u8>,
    is_preparation: bool,
}

/// The directories in which an agent may keep its files.
struct AgentDirectories<'a> {
    /// The home directories: that of the account, and that of the environment.
    homes: Vec<&'a str>,
    /// Directories for temporary files.
    temporary: Vec<&'a str>,
    environment: &'a Environment,
    /// The agent that runs the command, if its processes identify one.
    agent: Option<&'a str>,
    real: RealPath<'a>,
}

/// A function that returns the path of a directory with links resolved. The caller that reads the line provides it.
pub type RealPath<'a> = &'a dyn Fn(&str) -> Option<String>;

impl AgentDirectories<'_> {
    /// Returns the directories with which a path pattern may begin.
    fn of(&self, name: &str) -> Vec<String> {
        let named = |all: &[&str]| all.iter().copied().map(str::to_owned).collect();
        match name {
            "~" => named(&self.homes),
            "TMP" => named(&self.temporary),
            "PREFIX" => self.prefixes(),
            _ => Vec::new(),
        }
    }

    /// Returns the parent directories of the directories in `PATH`, as written there and with links resolved, because a
    /// program that reports its own location reports it with links resolved.
    fn prefixes(&self) -> Vec<String> {
        let searched = self.environment.get("PATH").unwrap_or_default().split(':');
        let named = searched.filter_map(|directory| directory.strip_suffix("/bin"));
        let each = named.flat_map(|prefix| {
            let programs = (self.real)(&format!("{prefix}/bin"));
            let above = programs.and_then(|real| real.strip_suffix("/bin").map(str::to_owned));
            [Some(prefix.to_owned()), (self.real)(prefix), above]
        });
        each.flatten().collect()
    }
}

/// Matches a line with a template of the agent `of`; `None` if it does not fit.
fn open(template: &Template, line: &Line, places: &AgentDirectories<'_>, of: &str) -> Option<TemplateContent> {
    if template.own && (line.options != ["-c"] || !line.positional.is_empty() || places.agent != Some(of)) {
        return None;
    }
    let loose = template.loose.then(|| loosened(&line.text));
    let matching = Matching { template, places, dialect: line.dialect };
    let fit = matching.of(loose.as_deref().unwrap_or(&line.text))?;
    let behind = positional(template, line)?;
    let value = |name: &str| fit.holes.get(name).map(|found| found.value.as_slice());
    let hole =
        |name: &str| behind.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).or_else(|| value(name));
    let inner = if template.prepares { line.text.clone() } else { hole("COMMAND")?.to_vec() };
    Some(TemplateContent { inner, lead: lead(template, &fit, places, &hole)?, is_preparation: template.prepares })
}

/// Returns the arguments after the text that fill holes; `None` if the arguments do not fit the template.
fn positional<'a>(template: &'a Template, line: &'a Line) -> Option<Vec<(&'a str, &'a [u8])>> {
    let Some(wanted) = &template.positional else { return Some(Vec::new()) };
    (wanted.len() == line.positional.len()).then_some(())?;
    let mut holes = Vec::new();
    for (wanted, given) in wanted.iter().zip(&line.positional) {
        match wanted.strip_prefix('@').and_then(|rest| rest.strip_suffix('@')) {
            Some(name) => holes.push((name, given.as_bytes())),
            None if wanted.is_empty() || given.as_bytes() == wanted.as_bytes() => {}
            None => return None,
        }
    }
    Some(holes)
}

/// Returns the commands that the shell runs before the command.
fn lead<'a>(
    template: &Template,
    fit: &TemplateMatch,
    places: &AgentDirectories<'_>,
    hole: &impl Fn(&str) -> Option<&'a [u8]>,
) -> Option<Vec<u8>> {
    let mut before = fit.before.clone();
    if !template.before.is_empty() {
        let (mut text, mut rest) = (String::new(), template.before.as_str());
        while let Some((front, name, back)) = marked(rest) {
            let value = std::str::from_utf8(hole(name)?).ok()?;
            text.push_str(&format!("{front}'{}'", value.replace('\'', r"'\''")));
            rest = back;
        }
        before.push([text.as_bytes(), rest.as_bytes()].concat());
    }
    if !template.variable.is_empty() {
        let code = places.environment.get(&template.variable).unwrap_or_default();
        before.push(code.as_bytes().to_vec());
    }
    Some(before.join(&b'\n'))
}

/// Returns the first hole of a text, with the text before and after it.
fn marked(text: &str) -> Option<(&str, &str, &str)> {
    let (front, rest) = text.split_once('@')?;
    let (name, back) = rest.split_once('@')?;
    Some((front, name, back))
}

impl Invocation {
    /// Removes the envelope, if there is a known one. A command in an agent's envelope has the origin agent.
    #[must_use]
    pub fn unwrapped(mut self, real: RealPath<'_>) -> Self {
        let Request::Line(line) = &self.request else { return self };
        if line.envelope.is_some() || line.text.len() > super::syntax::limits::MAX_LINE {
            return self;
        }
        let homes = [self.home.as_deref().and_then(std::path::Path::to_str), self.env.get("HOME")];
        let places = AgentDirectories {
            homes: homes.into_iter().flatten().filter(|home| home.len() > 1).collect(),
            environment: &self.env,
            agent: self.session.agent.as_deref(),
            real,
            // `TMPDIR` is first, because it may be below one of the others.
            temporary: self
                .env
                .get("TMPDIR")
                .filter(|dir| dir.len() > 1)
                .into_iter()
                .chain(["/tmp", "/private/tmp"])
                .collect(),
        };
        let opened = agents::known().iter().find_map(|agent| {
            let mut templates = agent.templates(&line.text);
            Some((agent.name, templates.find_map(|template| open(template, line, &places, agent.name))?))
        });
        if let Some((agent, TemplateContent { inner, lead, is_preparation })) = opened
            && let Request::Line(line) = &mut self.request
        {
            let whole = std::mem::replace(&mut line.text, inner);
            let positional = std::mem::take(&mut line.positional);
            line.envelope = Some(Box::new(Envelope { agent, whole, positional, lead, is_preparation, is_known: true }));
            self.origin = if self.origin.is_guarded() { self.origin } else { Origin::Agent };
            self.session.agent.get_or_insert_with(|| agent.to_owned());
        }
        self
    }

    /// Returns the commands around the command of an unknown envelope, as an invocation. `None` if there is no
    /// envelope, if it is a known one, or if the agent does not use envelopes.
    #[must_use]
    pub fn scaffold(&self) -> Option<Self> {
        let (_, unknown::Split { scaffold, .. }) = self.split()?;
        let Request::Line(line) = &self.request else { return None };
        let request = Request::Line(Line { text: scaffold, ..line.clone() });
        Some(Self { request, ..self.clone() })
    }

    fn split(&self) -> Option<(&'static str, unknown::Split)> {
        let Request::Line(line) = &self.request else { return None };
        if line.envelope.is_some() || line.text.len() > super::syntax::limits::MAX_LINE {
            return None;
        }
        let agent = self.session.agent.as_deref()?;
        let agent = agents::known().iter().find(|known| known.name == agent).filter(|known| known.wraps())?;
        Some((agent.name, unknown::split(line)?))
    }

    /// Removes an unknown envelope, if there is one. The whole string is judged as well. The caller must check that the
    /// commands around the command are harmless.
    #[must_use]
    pub fn opened(mut self) -> Self {
        let split = self.split();
        if let Some((agent, unknown::Split { scaffold, inner })) = split
            && let Request::Line(line) = &mut self.request
        {
            let whole = std::mem::replace(&mut line.text, inner);
            let positional = std::mem::take(&mut line.positional);
            let envelope =
                Envelope { agent, whole, positional, lead: scaffold, is_preparation: false, is_known: false };
            line.envelope = Some(Box::new(envelope));
            self.origin = if self.origin.is_guarded() { self.origin } else { Origin::Agent };
        }
        self
    }

    /// Returns the invocation with the commands that the envelope runs before the command, and their length. For an
    /// unknown envelope this is the whole string, none of whose positions is a position in the command.
    pub(super) fn led(&self) -> Option<(Self, usize)> {
        let Request::Line(line) = &self.request else { return None };
        let envelope = line.envelope.as_deref().filter(|envelope| !envelope.lead.is_empty())?;
        if !envelope.is_known {
            let (text, positional) = (envelope.whole.clone(), envelope.positional.clone());
            let line = Line { text, positional, envelope: None, ..line.clone() };
            return Some((Self { request: Request::Line(line), ..self.clone() }, usize::MAX));
        }
        let lead = envelope.lead.len() + 1;
        let text = [envelope.lead.as_slice(), b"\n", &line.text].concat();
        let line = Line { text, envelope: None, ..line.clone() };
        Some((Self { request: Request::Line(line), ..self.clone() }, lead))
    }
}

#[cfg(test)]
mod tests;
