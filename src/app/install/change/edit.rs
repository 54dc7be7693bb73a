//! Edits an agent's file: adds guard to it or removes guard from it. Input and output are texts.

use super::super::hosts::{Form, HookFile, ListEntry};
use super::super::json::{self, JsonKind, Node, SyntaxError, quoted};
use super::super::{toml, yaml};
use super::{Wiring, at, list, root, strs, wrong_kind};

impl Wiring<'_> {
    /// Returns the file with exactly one entry of guard.
    ///
    /// # Errors
    /// The file cannot be parsed reliably, or belongs to another program.
    pub fn installed(&self, wire: &HookFile, text: Option<&str>) -> Result<String, SyntaxError> {
        let before = text.unwrap_or_default();
        match &wire.form {
            Form::Own { .. } | Form::Plugin(_) => {
                let wanted = match &wire.form {
                    Form::Own { text, .. } => self.filled(text, true),
                    Form::Plugin(plugins) => self.plugin(plugins),
                    _ => String::new(),
                };
                match text {
                    Some(text) if text != wanted && !text.contains("guard") => Err(SyntaxError {
                        at: 0,
                        what: "the file belongs to something else, and there can be only one".to_owned(),
                    }),
                    _ => Ok(wanted),
                }
            }
            Form::Json { needs, entries } => {
                let mut text =
                    if before.trim_start_matches('\u{feff}').trim().is_empty() { "{}\n" } else { before }.to_owned();
                for (key, value) in needs {
                    let root = root(&text)?;
                    if root.get(key).is_none() {
                        text = json::added(&text, &root, Some(key), value)?;
                    }
                }
                for entry in entries {
                    text = self.with_entry(&text, entry)?;
                }
                Ok(text)
            }
            Form::Toml { array, body } => {
                let body = self.filled(body, false);
                let ours = toml::found(before, array, &|text| self.calls_guard(text))?;
                let unix = |text: &str| text.replace("\r\n", "\n");
                if let [only] = ours.as_slice()
                    && before.get(only.clone()).is_some_and(|text| unix(text) == format!("[[{array}]]\n{body}"))
                {
                    return Ok(before.to_owned());
                }
                toml::added(&self.without_tables(before, array)?, array, &body)
            }
            Form::Yaml { keys, item } => {
                let item: Vec<String> = item.iter().map(|line| self.filled(line, false)).collect();
                let ours = yaml::found(before, strs(keys), &|text| self.calls_guard(text))?;
                if let [only] = ours.as_slice() {
                    let lines = before.get(only.clone()).unwrap_or_default().lines();
                    let written: Vec<&str> = lines.map(|line| line.trim_start_matches([' ', '-']).trim_end()).collect();
                    if written == item {
                        return Ok(before.to_owned());
                    }
                }
                yaml::added(&self.without_items(before, strs(keys), [true, true])?, strs(keys), &item)
            }
        }
    }

    /// Returns the file without guard, or `None` if nothing remains. `before` is the file as it was before guard was
    /// added, if that is known (`Some(None)`: it did not exist). It shows which empty keys guard did not create.
    ///
    /// # Errors
    /// The file cannot be parsed reliably.
    pub fn uninstalled(
        &self,
        wire: &HookFile,
        text: &str,
        before: Option<Option<&str>>,
    ) -> Result<Option<String>, SyntaxError> {
        let was_absent = before == Some(None);
        let before = before.flatten();
        let left = match &wire.form {
            Form::Own { .. } | Form::Plugin(_) => return Ok(None),
            Form::Json { needs, entries } => {
                let original = before.and_then(|text| json::parse(text).ok());
                let mut text = text.to_owned();
                for entry in entries {
                    text = self.without_entry(&text, entry, original.as_ref())?;
                }
                for (key, _) in needs {
                    let root = root(&text)?;
                    let guards_own = original.as_ref().is_none_or(|original| original.get(key).is_none());
                    let index = root.members().iter().position(|member| member.key == *key);
                    // If the original file is unknown, treat the key as guard's only if nothing else is left.
                    if let Some(index) = index.filter(|_| guards_own && (before.is_some() || root.members().len() == 1))
                    {
                        text = json::removed(&text, &root, index);
                    }
                }
                if root(&text)?.members().is_empty() && before.is_some_and(|text| text.trim().is_empty()) {
                    before.unwrap_or_default().to_owned()
                } else {
                    text
                }
            }
            Form::Toml { array, .. } => self.without_tables(text, array)?,
            Form::Yaml { keys, .. } => self.without_items(
                text,
                strs(keys),
                before.map_or([false, false], |text| yaml::keys_of(text, strs(keys))),
            )?,
        };
        let nothing = matches!(left.trim(), "" | "{}");
        Ok(if nothing && was_absent { None } else { Some(left) })
    }

    fn without_tables(&self, text: &str, array: &str) -> Result<String, SyntaxError> {
        let mut text = text.to_owned();
        while let Some(block) = toml::found(&text, array, &|text| self.calls_guard(text))?.pop() {
            text = toml::removed(&text, array, &block)?;
        }
        Ok(text)
    }

    fn without_items(&self, text: &str, keys: [&str; 2], kept: [bool; 2]) -> Result<String, SyntaxError> {
        let mut text = text.to_owned();
        while let Some(item) = yaml::found(&text, keys, &|text| self.calls_guard(text))?.pop() {
            text = yaml::removed(&text, keys, &item, kept)?;
        }
        Ok(text)
    }

    fn with_entry(&self, text: &str, entry: &ListEntry) -> Result<String, SyntaxError> {
        let wanted = self.entry(entry);
        let root = root(text)?;
        let mut container = &root;
        for (depth, key) in entry.keys.iter().enumerate() {
            match (container.get(key), &container.kind) {
                (Some(next), _) => container = next,
                (None, JsonKind::Object(_)) => {
                    let rest = entry.keys.iter().skip(depth + 1).rev();
                    let value = rest.fold(format!("[{wanted}]"), |value, key| format!("{{{}:{value}}}", quoted(key)));
                    return json::added(text, container, Some(key), &value);
                }
                (None, _) => return Err(wrong_kind(container, "expected an object")),
            }
        }
        let JsonKind::Array(items) = &container.kind else { return Err(wrong_kind(container, "expected a list")) };
        let ours = self.ours(container);
        let (Some((first, inner)), rest) = (ours.first(), ours.len() > 1) else {
            return json::added(text, container, None, &wanted);
        };
        if rest {
            // If guard has several entries, remove the last and start again.
            return self.with_entry(&remove(text, container, ours.last().copied().unwrap_or_default()), entry);
        }
        let Some(old) = items.get(*first) else { return Ok(text.to_owned()) };
        let wanted_node = json::parse(&wanted)?;
        match inner {
            // The user keeps guard in a group with other hooks. Leave the group as it is, and correct only guard's own
            // call.
            Some(inner) => {
                let Some(old) = old.get("hooks").and_then(|list| list.items().get(*inner)) else {
                    return Ok(text.to_owned());
                };
                let Some(call) = wanted_node.get("hooks").and_then(|list| list.items().first()) else {
                    return Ok(text.to_owned());
                };
                let call_text = wanted.get(call.span.clone()).unwrap_or_default();
                if old.same(call) { Ok(text.to_owned()) } else { json::replaced(text, old, call_text) }
            }
            None if old.same(&wanted_node) => Ok(text.to_owned()),
            None => json::replaced(text, old, &wanted),
        }
    }

    fn without_entry(&self, text: &str, entry: &ListEntry, original: Option<&Node>) -> Result<String, SyntaxError> {
        let mut text = text.to_owned();
        loop {
            let root = root(&text)?;
            let Some(list) = list(&root, &entry.keys) else { return Ok(text) };
            match self.ours(list).pop() {
                Some(mine) => text = remove(&text, list, mine),
                None => break,
            }
        }
        // Remove the keys that are now empty, unless the original file had them.
        for depth in (0..entry.keys.len()).rev() {
            let (path, key) = (
                entry.keys.get(..depth).unwrap_or_default(),
                entry.keys.get(depth).map(String::as_str).unwrap_or_default(),
            );
            let was_there = original.is_some_and(|root| at(root, path).and_then(|node| node.get(key)).is_some());
            let root = root(&text)?;
            let Some(container) = at(&root, path) else { continue };
            let index = container.members().iter().position(|member| {
                member.key == key && member.value.items().is_empty() && member.value.members().is_empty()
            });
            if let Some(index) = index.filter(|_| !was_there) {
                text = json::removed(&text, container, index);
            }
        }
        Ok(text)
    }
}

fn remove(text: &str, list: &Node, (index, inner): (usize, Option<usize>)) -> String {
    match inner {
        None => json::removed(text, list, index),
        Some(inner) => match list.items().get(index).and_then(|item| item.get("hooks")) {
            Some(hooks) => json::removed(text, hooks, inner),
            None => text.to_owned(),
        },
    }
}
