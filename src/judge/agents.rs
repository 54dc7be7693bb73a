//! The agents that guard knows, as data: one description each in `patterns/agents/`, which is read when guard is built.
//!
//! The data that every start needs (how to recognise a process) is constant; the rest of a description is decoded on
//! first use. Out of scope: the use of the descriptions.

pub mod model;

use std::sync::OnceLock;

use model::{Agent, Template};

/// A known agent: the data by which it is recognised, and its description.
#[derive(Debug)]
pub struct RecognisedAgent {
    /// The name of the agent in guard.
    pub name: &'static str,
    /// The names of its processes (only the first 15 bytes of a longer name are known).
    pub processes: &'static [&'static str],
    /// Parts of the path of its program, for a process that has the name of an interpreter (`node`, `python3`).
    pub packages: &'static [&'static str],
    /// The variables that it sets for the commands that it runs, with their values; an empty value matches any.
    pub markers: &'static [(&'static str, &'static str)],
    /// The variable that contains its session ID.
    pub session: Option<&'static str>,
    packed: &'static [u8],
    /// In a box, because every start relocates the table of agents and so copies each of its pages.
    read: OnceLock<Box<Agent>>,
    /// For each template, a text that every line that fits it contains.
    marks: &'static [&'static str],
    packed_templates: &'static [u8],
    read_templates: OnceLock<Vec<Template>>,
}

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

impl RecognisedAgent {
    /// Returns the whole description.
    #[must_use]
    pub fn described(&self) -> &Agent {
        // The build script decodes everything that it packs, so this cannot fail.
        self.read.get_or_init(|| Box::new(postcard::from_bytes(self.packed).unwrap_or_default()))
    }

    /// Reports whether a template of the agent puts an envelope around its commands.
    #[must_use]
    pub fn wraps(&'static self) -> bool {
        self.all_templates().iter().any(|template| !template.prepares)
    }

    fn all_templates(&'static self) -> &'static [Template] {
        self.read_templates.get_or_init(|| postcard::from_bytes(self.packed_templates).unwrap_or_default())
    }

    /// Returns the templates that this text may fit.
    pub fn templates<'a>(&'static self, text: &'a [u8]) -> impl Iterator<Item = &'static Template> + 'a {
        let marked = self.marks.iter().enumerate();
        let may = marked.filter(|(_, mark)| memchr::memmem::find(text, mark.as_bytes()).is_some());
        // The templates are decoded only if one of them may fit, because this runs for every command.
        may.filter_map(|(number, _)| self.all_templates().get(number))
    }
}

/// Returns all agents, sorted by name.
#[must_use]
pub fn known() -> &'static [RecognisedAgent] {
    &KNOWN
}

/// Returns the agent with this name or alias.
#[must_use]
pub fn named(name: &str) -> Option<&'static Agent> {
    match KNOWN.iter().find(|agent| agent.name == name) {
        Some(agent) => Some(agent.described()),
        None => KNOWN.iter().map(RecognisedAgent::described).find(|agent| agent.also.iter().any(|also| also == name)),
    }
}

/// Returns all descriptions, sorted by name.
pub fn all() -> impl Iterator<Item = &'static Agent> {
    KNOWN.iter().map(RecognisedAgent::described)
}
