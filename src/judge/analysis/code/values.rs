//! Functions as values. Functions that run programs or delete are followed if a name or a call accepts them; otherwise
//! a call reports that they are passed on.
//!
//! Out of scope: the effects of a function, which are in descriptions.

use super::expression::Expression;
use super::scan::Token;
use super::statements::CallReader;
use super::{Call, Language, Slice, World};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::embedded_source::verb;
use crate::judge::rules::word_lists;

impl CallReader<'_> {
    /// Reports whether an expression is a function that runs programs or deletes, and is not called.
    pub fn is_loose(&self, of: &Expression) -> bool {
        !of.called
            && of.text.is_none()
            && of.list.is_none()
            && of.name.as_ref().is_some_and(|name| name.contains('.') && (self.world.acts)(name))
    }

    /// Adds a function that is used as a value. [`Self::taken`] removes it if something accepts it.
    pub fn note_loose(&mut self, of: &Expression) {
        if self.is_loose(of)
            && let Some(name) = &of.name
            && !self.mark(0, '.')
        {
            self.loose.push(name.clone());
        }
    }

    /// Adds a module whose members a call lists, if functions that run programs or delete are among them: which of them
    /// is called is only known when the code runs.
    pub fn note_listing(&mut self, callee: &str, arguments: &[Expression]) {
        let module = match callee.rsplit_once('.') {
            // `os.__dict__.items()`
            Some((module, method))
                if self.language == Language::Python && word_lists::MAPPING_METHODS.contains(&method) =>
            {
                Some(module)
            }
            _ => word_lists::MEMBER_LISTINGS
                .iter()
                .find(|(language, name, _)| *language == self.language && *name == callee)
                // `vars(os)["system"]`
                .filter(|_| callee != "vars" || !self.mark(0, '['))
                .map(|(_, _, at)| arguments.get(*at).and_then(|module| module.name.as_deref()).unwrap_or(callee)),
        };
        let acts = |module: &&str| word_lists::ACTING_MODULES.contains(&&*verb(self.language, module));
        self.loose.extend(module.filter(acts).map(str::to_owned));
    }

    /// Removes a function that is followed from here on.
    pub fn taken(&mut self, name: &str) {
        if let Some(at) = self.loose.iter().rposition(|known| known == name) {
            self.loose.remove(at);
        }
    }

    /// Returns calls for functions that nothing accepted, and for ways to avoid imports.
    pub fn handed_on_unseen(&mut self) -> Vec<Call> {
        let mut names = std::mem::take(&mut self.loose);
        names.sort();
        names.dedup();
        if self.language == Language::Python && avoids_imports(&self.tokens) {
            names.push("__globals__".to_owned());
        }
        let built = |token: &&Token| matches!(token, Token::Text(text) if *text == "constructor");
        if self.language == Language::Js && self.tokens.iter().filter(built).count() > 1 {
            names.push("constructor".to_owned());
        }
        names.into_iter().map(|name| Call::new("function-value".into(), vec![Value::text(name)])).collect()
    }

    /// Returns the function of a call by an incomplete name: a method of an unknown object, or an attribute.
    pub fn meant(&self, callee: &str, arguments: &[Expression]) -> Option<String> {
        if (self.world.knows)(callee) {
            return None;
        }
        let (before, last) = callee.rsplit_once('.')?;
        // `A.f(…)` where `f = staticmethod(os.system)`
        if let Some(bound) = self.bound.get(last).filter(|bound| self.is_loose(bound)) {
            return bound.name.clone();
        }
        if word_lists::LIBC_FUNCTIONS.contains(&last)
            && word_lists::LIBRARY_LOADERS.iter().any(|loader| before.contains(loader))
        {
            let known = match self.language {
                Language::Lua if matches!(last, "remove" | "rmdir" | "unlink" | "unlinkat") => "os.remove".to_owned(),
                Language::Lua if last == "rename" => "os.rename".to_owned(),
                Language::Lua => "os.execute".to_owned(),
                Language::Python => format!("os.{last}"),
                _ => last.to_owned(),
            };
            return Some(if (self.world.acts)(&known) { known } else { "function-value".to_owned() });
        }
        let modules: &[&str] = match self.language {
            Language::Js if last.ends_with("Sync") => &["child_process", "fs"],
            Language::Python if matches!(last, "rmtree" | "check_call" | "check_output" | "getoutput") => {
                &["shutil", "subprocess"]
            }
            Language::Python if last == "system" && arguments.iter().any(|argument| argument.text.is_some()) => &["os"],
            _ => return None,
        };
        modules.iter().map(|module| format!("{module}.{last}")).find(|name| (self.world.acts)(name))
    }

    /// Binds the names that a text sets which runs as code: `exec("f = os.system")`.
    pub fn run_here(&mut self, callee: &str, text: Option<Slice<'_>>) {
        let assigns = |text: &Slice<'_>| text.rough().contains('=');
        let Some(text) = text.filter(|text| self.language == Language::Python && callee == "exec" && assigns(text))
        else {
            return;
        };
        if self.nesting < 4 {
            let world: World<'_> = self.world;
            let bound = super::statements::bound_by(self.language, text, world, self.bound.clone(), self.nesting);
            self.bound.extend(bound);
        }
    }
}

/// Reports whether code of Python gets at functions without an import: by the globals of a function, or by selecting a
/// class by its index or below the class of all objects. Iterating over the subclasses of another class is inspection.
fn avoids_imports(tokens: &[Token]) -> bool {
    let is = |token: Option<&Token>, names: &[&str]| matches!(token, Some(Token::Name(name)) if names.contains(&name.as_str()));
    let at = |at: usize, before: usize| at.checked_sub(before).and_then(|at| tokens.get(at));
    // `class A(object):`
    let is_base = |index: usize| at(index, 1) == Some(&Token::Mark('(')) && is(at(index, 3), &["class"]);
    let has_root =
        (0..tokens.len()).any(|index| is(tokens.get(index), &word_lists::ROOT_CLASS_NAMES) && !is_base(index));
    let selects = |index: usize| {
        // `x.__subclasses__()[0]`
        let behind = tokens.get(index + 1..).unwrap_or_default();
        let is_indexed = matches!(behind, [Token::Mark('('), Token::Mark(')'), Token::Mark('['), ..]);
        let of = at(index, 2).filter(|_| at(index, 1) == Some(&Token::Mark('.')));
        is_indexed || has_root || !matches!(of, Some(Token::Name(_))) || is(of, &["type"])
    };
    tokens.iter().enumerate().any(|(index, token)| match token {
        Token::Name(name) if name == "__subclasses__" => selects(index),
        Token::Name(name) if name == "__mro__" || name == "__bases__" => {
            tokens.get(index + 1) == Some(&Token::Mark('['))
        }
        Token::Name(name) => word_lists::HIDDEN_MEMBERS.contains(&name.as_str()),
        _ => false,
    })
}
