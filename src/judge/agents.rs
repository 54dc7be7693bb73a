//! The agents that guard knows, as data: one description each in `patterns/agents/`, read when guard is built.
//!
//! What is needed at every start (how a process is recognised) is there without being read; the rest of a description is
//! read when it is asked for. Out of scope: what is done with a description.

pub mod model;

use std::sync::OnceLock;

use model::{Agent, Template};

/// How an agent is recognised, and its description.
#[derive(Debug)]
pub struct RecognisedAgent {
    /// The name that guard uses for it.
    pub name: &'static str,
    /// What its process is called (at most 15 bytes are known of a longer name).
    pub processes: &'static [&'static str],
    /// What the path of its program contains where the process is called after an interpreter (`node`, `python3`).
    pub packages: &'static [&'static str],
    /// Variables that it sets for the commands that it runs, and their value; an empty one stands for any.
    pub markers: &'static [(&'static str, &'static str)],
    /// The variable that names its session.
    pub session: Option<&'static str>,
    packed: &'static [u8],
    read: OnceLock<Agent>,
    /// A text that every line of each of its templates contains.
    marks: &'static [&'static str],
    packed_templates: &'static [u8],
    read_templates: OnceLock<Vec<Template>>,
}

include!(concat!(env!("OUT_DIR"), "/agents.rs"));

impl RecognisedAgent {
    /// The whole description.
    #[must_use]
    pub fn described(&self) -> &Agent {
        // The build script reads back all that it packs, so that there is no other outcome.
        self.read.get_or_init(|| postcard::from_bytes(self.packed).unwrap_or_default())
    }

    /// Whether it puts something around its commands, as far as is known.
    #[must_use]
    pub fn wraps(&'static self) -> bool {
        self.all_templates().iter().any(|template| !template.prepares)
    }

    fn all_templates(&'static self) -> &'static [Template] {
        self.read_templates.get_or_init(|| postcard::from_bytes(self.packed_templates).unwrap_or_default())
    }

    /// The templates of its lines that this text may fit.
    pub fn templates<'a>(&'static self, text: &'a [u8]) -> impl Iterator<Item = &'static Template> + 'a {
        let marked = self.marks.iter().enumerate();
        let may = marked.filter(|(_, mark)| memchr::memmem::find(text, mark.as_bytes()).is_some());
        // Read only where one of them may fit: this is done at every command.
        may.filter_map(|(number, _)| self.all_templates().get(number))
    }
}

/// All of them, by name.
#[must_use]
pub fn known() -> &'static [RecognisedAgent] {
    &KNOWN
}

/// The agent of this name, or of which it is another name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Agent> {
    match KNOWN.iter().find(|agent| agent.name == name) {
        Some(agent) => Some(agent.described()),
        None => KNOWN.iter().map(RecognisedAgent::described).find(|agent| agent.also.iter().any(|also| also == name)),
    }
}

/// Every description, by name.
pub fn all() -> impl Iterator<Item = &'static Agent> {
    KNOWN.iter().map(RecognisedAgent::described)
}
