//! Templates of agents: what they put around a command before they hand it to a shell.
//!
//! The templates are data (`patterns/agents/`, [`crate::judge::agents::model::Template`]); this is the one matcher for all of
//! them. An envelope is recognised only when the whole string fits a template; the command in it is then what is
//! judged, shown, granted and recorded, and the whole string is what runs. Whatever does not fit to the last byte is judged
//! as it stands. An envelope never lowers: the command is judged by itself, and once more behind what the envelope
//! does in front of it (a snapshot that is sourced, a directory that is entered), and the findings are joined.
//!
//! An `eval` of one literal text among other commands, from an agent that has templates, is an envelope that is not known
//! (in `unknown`). Whoever calls this opens it where what stands around the text is harmless; it is judged as it stands too.
//!
//! Out of scope: reading files, and what one agent alone does. Where a template names a file, its place must be the one
//! that the agent uses.

mod matching;
mod scan;
mod unknown;

use std::os::unix::ffi::OsStrExt;

use self::matching::{Matching, TemplateMatch, loosened};
use super::agents;
use super::agents::model::Template;
use super::envelope::Envelope;
use super::invocation::{Environment, Invocation, Line, Origin, Request};

/// A template that fits: what it holds.
#[derive(Debug, Default)]
struct TemplateContent {
    inner: Vec<u8>,
    lead: Vec<u8>,
    is_preparation: bool,
}

/// Where an agent may keep its files.
struct AgentDirectories<'a> {
    /// Home directories: the account's, and the one that the environment names.
    homes: Vec<&'a str>,
    /// Directories for temporary files.
    temporary: Vec<&'a str>,
    environment: &'a Environment,
    /// The agent that asks, as far as its processes tell.
    agent: Option<&'a str>,
    real: RealPath<'a>,
}

/// The path that a directory really has, without links in it; whoever reads a line answers it.
pub type RealPath<'a> = &'a dyn Fn(&str) -> Option<String>;

impl AgentDirectories<'_> {
    /// The directories that a pattern of a path may begin with.
    fn of(&self, name: &str) -> Vec<String> {
        let named = |all: &[&str]| all.iter().copied().map(str::to_owned).collect();
        match name {
            "~" => named(&self.homes),
            "TMP" => named(&self.temporary),
            "PREFIX" => self.prefixes(),
            _ => Vec::new(),
        }
    }

    /// The directories above those of programs: as PATH names them, and as they really lie. A program that tells where it is
    /// tells it without links.
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

/// A line as one of an agent's, where it fits this template.
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

/// The arguments behind the text that stand for holes; `None` where they are not as the template has them.
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

/// What the shell does before the command.
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

/// The first hole of a text, with what stands around it.
fn marked(text: &str) -> Option<(&str, &str, &str)> {
    let (front, rest) = text.split_once('@')?;
    let (name, back) = rest.split_once('@')?;
    Some((front, name, back))
}

impl Invocation {
    /// The same, with an envelope taken off when there is one. What came in an agent's envelope comes from an agent.
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
            // The one that is named first: it may lie below the other.
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

    /// What stands around the command in an envelope that no template describes, as a command of its own. `None` where it
    /// comes in none, or in one that is known, or from somebody who puts none around it.
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

    /// The same, with an envelope taken off that no template describes, when there is one. It is judged as it stands all the
    /// same; whether what stands around the command is harmless, whoever calls this has to know.
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

    /// The command behind what its envelope does in front of it, and how long that is. Of an envelope that no template
    /// describes it is the whole string, of which no place is one of the command's.
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
