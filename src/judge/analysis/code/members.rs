//! Members of objects, variables of the environment, and calls that are equivalent to others.

use super::expression::Expression;
use super::statements::CallReader;
use super::{Gap, Language, Slice};
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::VariableMeaning;
use crate::judge::rules::word_lists;

impl CallReader<'_> {
    /// Returns the value of a variable of the environment; only the home directory is known.
    pub fn environment(&self, name: &str) -> Option<String> {
        match languages().held(self.language, name) {
            Some((VariableMeaning::Home, _)) => return Some(self.world.home.to_owned()),
            Some((VariableMeaning::Program, program)) => return program.map(str::to_owned),
            _ => {}
        }
        let (place, key) = name.rsplit_once('.')?;
        let known = super::names::is_environment(place) || matches!(place, "environ" | "os");
        (known && languages().is_home(key)).then(|| self.world.home.to_owned())
    }

    /// Reports whether a member of a text is the same text: the name of a temporary file, the content of a response.
    pub fn same_text(&self, of: &Expression, part: &str) -> Option<Expression> {
        let text = of.text.as_ref()?;
        let same = text.has(Gap::Temporary) && matches!(part, "name" | "path")
            || text.has(Gap::Fetched) && matches!(part, "text" | "content" | "body" | "data");
        same.then(|| Expression::of_text(text.clone()))
    }

    /// Returns a function whose name is passed as a text, and the arguments with which it is called.
    pub fn handed_on<'e>(&self, callee: &str, arguments: &'e [Expression]) -> Option<(String, &'e [Expression])> {
        let last = callee.rsplit('.').next()?;
        let takes = |(language, name, _): &&(Language, &str, usize)| *language == self.language && *name == last;
        let (_, _, at) = word_lists::FUNCTION_NAME_CALLS.iter().find(takes)?;
        let function = arguments.get(*at)?.text.as_ref()?.rough();
        let of = callee.strip_suffix(last).filter(|of| self.language == Language::Ruby && !of.is_empty());
        let name = super::names::plain_name(self.language, format!("{}{function}", of.unwrap_or_default()));
        // `array_walk($files, 'unlink')`, `iterator_apply($it, 'system', ['x'])`
        let (before, behind) = (arguments.get(..*at)?, arguments.get(at + 1..)?);
        Some((name, if behind.is_empty() { before } else { behind }))
    }

    /// Returns the object of a method that Ruby calls by an unknown name; `Kernel` if none is named.
    pub fn sends_unknown<'c>(&self, callee: &'c str, name: Option<Slice<'_>>) -> Option<&'c str> {
        let (of, last) = callee.rsplit_once('.').unwrap_or(("Kernel", callee));
        let sends = self.language == Language::Ruby && matches!(last, "send" | "public_send" | "__send__");
        (sends && name.is_none_or(Slice::has_gaps)).then_some(of)
    }
}
