//! Commands in the settings of task runners and hooks, in files that the command wrote, or that are new or changed in
//! git.
//!
//! Out of scope: parsing these formats exactly. A command is in a line of its own, or after a key or a dash; other
//! words are not names of programs, or of harmless ones.

use serde_json::Value as Json;

use super::loads::is_one_of;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::indirection::named_directory;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::question::FileFacts;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::invocation::quote;
use crate::judge::rules::model::{Load, Tasks};
use crate::judge::rules::word_lists;

/// Maximum number of lines of a file that are walked as commands.
const MAX_LINES: usize = 200;

/// The settings of a task runner in a directory.
pub(super) struct TaskSettings {
    pub dir: Place,
    /// The tasks that a run names; none: it may run any.
    pub tasks: Vec<String>,
}

impl TaskSettings {
    /// Returns what a run says about them; `None` if the directory is unknown.
    pub fn of(state: &State, load: &Load, reading: &Reading) -> Option<Self> {
        let dir = named_directory(state, reading, &word_lists::TASK_DIRECTORY_OPTIONS)?;
        let words = reading.sub.iter().cloned().chain(reading.operands.iter().filter_map(|o| o.value.known_text()));
        Some(Self { dir, tasks: words.filter(|_| load.tasks == Tasks::Named).collect() })
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the files with this name in a directory that the command wrote, or that are new or changed in git; for a
    /// name with `*`, those that the command or the session wrote.
    pub(super) fn written_at(&self, dir: &Place, name: &String) -> Vec<Place> {
        if name.contains('*') {
            let names = std::slice::from_ref(name);
            let is_meant = |file: &&Place| file.below(dir).is_some_and(|below| is_one_of(names, below.rough()));
            let earlier = self.written_earlier(dir, names).into_iter().map(Place::of);
            return self.files.written.keys().filter(is_meant).cloned().chain(earlier).collect();
        }
        let there = |path: &str| {
            matches!(self.input.inquiry.file(path), Some(FileFacts::Text { .. })) && self.input.is_changed(path)
        };
        let Some(place) = dir.join(name) else { return Vec::new() };
        let is_there = self.files.written.contains_key(&place) || place.text().is_some_and(there);
        is_there.then_some(place).into_iter().collect()
    }
}

/// Returns the possible commands in such a file: those of these tasks, or all of them if it does not define these.
pub(super) fn commands(text: &str, tasks: &[String]) -> Vec<String> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        return commands_of_elements(text);
    }
    if let Ok(settings @ (Json::Object(_) | Json::Array(_))) = serde_json::from_str(text) {
        let mut all = Vec::new();
        let named = |key: &str| tasks.iter().any(|task| task == key);
        strings(&settings, &named, false, &mut all);
        // Tasks on which another task depends are not resolved by name.
        if all.is_empty() || tasks.is_empty() || text.contains("\"dep") {
            all.clear();
            strings(&settings, &named, true, &mut all);
        }
        all.truncate(MAX_LINES);
        return all;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut blocks: Vec<&[&str]> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let named = task_of(line).is_some_and(|task| tasks.contains(&task));
        if named {
            let rest = lines.get(at..).unwrap_or_default();
            blocks.push(rest.get(..block(rest)).unwrap_or(rest));
        }
    }
    // Tasks on which another task depends are not resolved by name.
    let needs = |block: &&[&str]| block.iter().any(|line| line.contains("deps") || line.contains("depend"));
    if blocks.is_empty() || blocks.iter().any(needs) {
        blocks = vec![&lines];
    }
    let lines: Vec<&str> = blocks.into_iter().flatten().copied().take(MAX_LINES).collect();
    let alone = lines.iter().flat_map(|line| parts(line)).filter(|part| !part.is_empty());
    alone.chain(programs(&lines)).collect()
}

/// Returns the strings in JSON that may be commands: all of them (`inside`), or those of members whose names match.
fn strings(settings: &Json, named: &dyn Fn(&str) -> bool, inside: bool, all: &mut Vec<String>) {
    match settings {
        Json::String(text) if inside => all.push(text.clone()),
        Json::Array(values) => values.iter().for_each(|value| strings(value, named, inside, all)),
        Json::Object(entries) => {
            if inside {
                all.extend(program_of(entries));
            }
            for (key, value) in entries.iter().filter(|(key, _)| !word_lists::SENTENCE_KEYS.contains(&key.as_str())) {
                strings(value, named, inside || named(key), all);
            }
        }
        _ => {}
    }
}

/// Returns the program in an object of JSON, with its arguments.
fn program_of(entries: &serde_json::Map<String, Json>) -> Option<String> {
    let words = |value: &Json| match value {
        Json::String(text) => vec![text.clone()],
        Json::Array(values) => values.iter().filter_map(|value| Some(value.as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    };
    let of =
        |keys: &[&str]| entries.iter().find(|(key, _)| keys.contains(&key.as_str())).map(|(_, value)| words(value));
    let program = of(&word_lists::PROGRAM_KEYS)?;
    argv(&program, &of(&word_lists::ARGUMENT_KEYS).unwrap_or_default())
}

/// Joins a program and its arguments to a command. A text without arguments is a command string.
fn argv(program: &[String], arguments: &[String]) -> Option<String> {
    let (first, rest) = program.split_first()?;
    // A list of command strings is not a program with arguments.
    let is_command = rest.is_empty() || !first.contains(char::is_whitespace);
    let words: Vec<String> = rest.iter().chain(arguments).map(|word| quote(word)).collect();
    (is_command && !words.is_empty()).then(|| format!("{first} {}", words.join(" ")))
}

/// Returns the programs in settings with lists of arguments: `command: [rm, -r, x]`; `command = "rm"` and
/// `args = ["-r", "x"]`.
fn programs(lines: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    // The current entry: the indentation of its keys, the program, and the arguments.
    let mut entry = (0, Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let is_section = line.starts_with('[');
        let (indent, key) = match key_of(line) {
            _ if is_section => (0, ""),
            Some(found) => found,
            None => continue,
        };
        let is_program = word_lists::PROGRAM_KEYS.contains(&key);
        let is_part = is_program || word_lists::ARGUMENT_KEYS.contains(&key);
        let taken = if is_program { &entry.1 } else { &entry.2 };
        if is_section || indent < entry.0 || is_part && (indent != entry.0 || !taken.is_empty()) {
            let (_, program, arguments) = std::mem::replace(&mut entry, (indent, Vec::new(), Vec::new()));
            all.extend(argv(&program, &arguments));
        }
        if is_part {
            let words = value_words(lines.get(at..).unwrap_or_default());
            *(if is_program { &mut entry.1 } else { &mut entry.2 }) = words;
        }
    }
    all.extend(argv(&entry.1, &entry.2));
    all
}

/// Returns the indentation and the key of a line; for an item of a list, after its dash.
fn key_of(line: &str) -> Option<(usize, &str)> {
    let (name, _) = line.split_once([':', '='])?;
    let key = name.trim_start_matches([' ', '\t', '-', '{']);
    Some((name.len() - key.len(), key.trim().trim_matches(['"', '\''])))
}

/// Returns the words of the value whose key is on the first line: a string, a list, or the items below it.
fn value_words(lines: &[&str]) -> Vec<String> {
    let Some((line, below)) = lines.split_first() else { return Vec::new() };
    let value = line.split_once([':', '=']).map_or("", |(_, value)| value).trim();
    let bare = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
    if value.is_empty() {
        let entries = below.iter().map_while(|line| line.trim().strip_prefix("- "));
        return entries.map(bare).collect();
    }
    if !value.starts_with('[') {
        return vec![bare(value.trim_end_matches([',', '}']))];
    }
    // The list may continue on further lines.
    let mut list = value.to_owned();
    for line in below {
        if list.contains(']') {
            break;
        }
        list.push_str(line.trim());
    }
    list_words(&list)
}

/// Returns the items of a list in brackets, with or without quotes.
fn list_words(list: &str) -> Vec<String> {
    let inside = list.trim_start_matches('[').rsplit_once(']').map_or(list, |(inside, _)| inside);
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in inside.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ',') => words.push(String::new()),
            (_, c) => words.last_mut().into_iter().for_each(|word| word.push(c)),
        }
    }
    words.into_iter().map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

/// Returns the commands in XML: attributes that are commands, and programs with the arguments in later elements.
fn commands_of_elements(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut program: Option<String> = None;
    for element in text.split('<').skip(1) {
        let Some((tag, content)) = element.split_once('>') else { break };
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next().unwrap_or_default().to_ascii_lowercase();
        // The arguments of a program end with its element.
        if tag.starts_with('/') && !matches!(tag, "/executable" | "/arguments" | "/argument" | "/arg") {
            all.extend(program.take());
        }
        let parts: Vec<&str> = tag.split('"').collect();
        let attributes = parts.chunks_exact(2).filter_map(|pair| {
            let key = pair.first()?.trim_end().strip_suffix('=')?.trim_end().rsplit(char::is_whitespace).next()?;
            Some((key.to_ascii_lowercase(), unescaped(pair.get(1)?)))
        });
        for (key, value) in attributes {
            match (name.as_str(), key.as_str()) {
                ("exec", "command") => all.push(value),
                (_, "executable") => all.extend(program.replace(value)),
                ("arg", "line" | "value") => add(&mut program, &value),
                ("delete", "dir") | ("removedir", "directories") => {
                    all.extend(word_of(&value).map(|word| format!("rm -rf {word}")));
                }
                ("delete", "file" | "files") => {
                    all.extend(word_of(&value).map(|word| format!("rm {word}")));
                }
                _ => {}
            }
        }
        match name.as_str() {
            "executable" if !content.trim().is_empty() => all.extend(program.replace(unescaped(content.trim()))),
            "argument" | "commandlineargs" => add(&mut program, &unescaped(content.trim())),
            _ => {}
        }
    }
    all.extend(program);
    all.truncate(MAX_LINES);
    all
}

/// Appends an argument to a program.
fn add(program: &mut Option<String>, argument: &str) {
    if let Some(program) = program.as_mut().filter(|_| !argument.is_empty()) {
        program.push(' ');
        program.push_str(argument);
    }
}

/// Quotes the value of an attribute for a shell. `None`: it contains a property of the project, such as its build
/// directory.
fn word_of(value: &str) -> Option<String> {
    let (place, rest) = word_lists::BUILD_PROPERTIES
        .iter()
        .find_map(|(property, place)| Some((*place, value.strip_prefix(property)?)))
        .unwrap_or(("", value));
    let quoted = || format!("{place}'{}'", rest.replace('\'', "'\\''"));
    (!rest.contains("${") && !rest.contains("$(") && !rest.contains("@(")).then(quoted)
}

/// Replaces the properties of a build in a command.
fn with_properties(command: &str) -> String {
    let known = word_lists::BUILD_PROPERTIES.iter().filter(|(property, _)| command.contains(property));
    known.fold(command.to_owned(), |command, (property, place)| command.replace(property, place))
}

/// Decodes the entities in a text of XML.
fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// Returns the task that a line begins: `name:`, `"name": …`, `name = …`, `[section.name]`.
fn task_of(line: &str) -> Option<String> {
    let line = line.trim();
    if let Some(section) = line.strip_prefix('[') {
        let name = section.trim_start_matches('[').split(']').next()?;
        return Some(name.rsplit('.').next()?.trim_matches(['"', '\'']).to_owned());
    }
    // An object may be on one line.
    let line = line.trim_start_matches(['{', ' ']);
    let (name, _) = line.split_once([':', '='])?;
    Some(name.trim().trim_matches(['"', '\'']).to_owned())
}

/// Returns the number of lines of the block that the first line begins.
fn block(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(first) = lines.first() else { return 0 };
    let section = first.trim_start().starts_with('[');
    let ends = |line: &&str| match section {
        true => line.starts_with('['),
        false => !line.trim().is_empty() && indent(line) <= indent(first),
    };
    lines.iter().skip(1).position(ends).map_or(lines.len(), |at| at + 1)
}

/// Returns the text of a line after its keys, or each string of a list.
fn parts(line: &str) -> Vec<String> {
    let mut line = line.trim();
    if line.starts_with(['#', '[']) && !line.contains('"') || line.starts_with("//") {
        return Vec::new();
    }
    line = line.strip_prefix("- ").unwrap_or(line).trim_start();
    // `execute_process(COMMAND …)`
    if let Some((_, command)) = line.split_once("COMMAND ") {
        return vec![with_properties(command.trim_end_matches(')'))];
    }
    let mut all = Vec::new();
    let lists = ["= [", "\": [", "': [", "\":[", "':["];
    if line.starts_with(['{', '"', '[']) || lists.iter().any(|list| line.contains(list)) {
        // Every string in JSON and in a list.
        let said = word_lists::SENTENCE_KEYS.iter().any(|key| line.starts_with(&format!("\"{key}\"")));
        all.extend(quoted(line).filter(|_| !said));
        // A quoted key and an unquoted text.
        let behind = line.strip_prefix('"').and_then(|rest| Some(rest.split_once("\": ")?.1.trim()));
        all.extend(behind.filter(|text| !said && !text.contains(['"', '[', '{'])).map(str::to_owned));
        return all;
    }
    let key = line.split_once([':', '=']).filter(|(key, _)| {
        let key = key.trim();
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-.\"'".contains(c))
    });
    match key {
        Some((key, _)) if word_lists::SENTENCE_KEYS.contains(&key.trim().trim_matches(['"', '\''])) => {}
        Some((_, value)) => {
            let value = value.trim().trim_end_matches(',');
            // Lists and objects on one line.
            if value.starts_with(['{', '[']) || value.contains("[\"") {
                all.extend(quoted(value));
            }
            if value.starts_with('[') && !value.contains(['"', '\'']) {
                all.extend(list_words(value));
                return all;
            }
            let value = value.strip_prefix('{').map_or(value, |inner| {
                let inner = inner.trim_end_matches('}');
                inner.split_once('=').map_or(inner, |(_, value)| value).trim()
            });
            let inside = value.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
            all.push(inside.unwrap_or(value).to_owned());
        }
        None => all.push(line.trim_start_matches("RUN ").trim_matches(['"', '\'']).to_owned()),
    }
    all
}

/// Returns the strings in a line: in double quotes, or in single quotes if there are no others.
fn quoted(line: &str) -> impl Iterator<Item = String> {
    let quote = if line.contains('"') { '"' } else { '\'' };
    line.split(quote).skip(1).step_by(2).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::commands;

    fn of(text: &str, tasks: &[&str]) -> Vec<String> {
        commands(text, &tasks.iter().map(|task| (*task).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_task_is_read_and_no_other() {
        let text = "tasks:\n  x:\n    desc: rm all\n    cmds:\n      - rm x\n  y:\n    cmds: [rm y]\n";
        assert!(of(text, &["x"]).contains(&"rm x".to_owned()));
        assert!(!of(text, &["x"]).iter().any(|line| line.contains("rm y") || line.contains("rm all")));
        assert!(of(text, &[]).contains(&"rm x".to_owned()));
        let text = "[tasks.x]\nrun = \"rm x\"\n[tasks.y]\nrun = 'rm y'\n";
        assert_eq!(of(text, &["y"]), ["rm y"]);
        assert!(of("{\"scripts\": {\"x\": \"rm x\"}}", &["x"]).contains(&"rm x".to_owned()));
        assert_eq!(of("web: rm x\nworker: rm y\n", &["web"]), ["rm x"]);
    }

    #[test]
    fn strings_of_json_are_read_as_they_are_meant() {
        let text =
            r#"{"tasks": {"x": "sh -c \"rm 'a b'\"", "y": ["rm", "rm y"], "description": "rm z"}, "name": "rm n"}"#;
        assert_eq!(of(text, &["x"]), ["sh -c \"rm 'a b'\""]);
        assert_eq!(of(text, &["y"]), ["rm", "rm y"]);
        assert_eq!(of(text, &["other"]), ["sh -c \"rm 'a b'\"", "rm", "rm y"]);
        assert_eq!(of(text, &[]).len(), 3);
        let needs = r#"{"x": {"command": "rm x", "dependsOn": ["y"]}, "y": {"command": "rm y"}}"#;
        assert!(of(needs, &["x"]).contains(&"rm y".to_owned()));
    }

    #[test]
    fn elements_hold_commands() {
        assert_eq!(of("<Project><Exec Command=\"rm &quot;x&quot;\"/></Project>", &[]), ["rm \"x\""]);
        let ant = "<?xml version=\"1.0\"?>\n<target name=\"t\"><exec\n executable=\"rm\"><arg line=\"-r x\"/><arg value=\"y\"/></exec>\n<echo>z</echo></target>";
        assert_eq!(of(ant, &[]), ["rm -r x y"]);
        let two = "<a><exec executable=\"rm\"/><exec executable=\"mv\"><arg value=\"x\"/></exec></a>";
        assert_eq!(of(two, &[]), ["rm", "mv x"]);
        let maven = "<configuration><executable>rm</executable><arguments><argument>-r</argument><argument>x</argument></arguments></configuration>";
        assert_eq!(of(maven, &[]), ["rm -r x"]);
        let deletes = "<t><delete dir=\"${user.home}/a'b\"/><delete file=\"c\"/><delete dir=\"${build.dir}\"/>\
            <RemoveDir Directories=\"$(MSBuildProjectDirectory)/d\"/><RemoveDir Directories=\"$(OutDir)\"/></t>";
        assert_eq!(of(deletes, &[]), ["rm -rf \"$HOME\"'/a'\\''b'", "rm 'c'", "rm -rf .'/d'"]);
        assert!(of("<a><b line=\"rm x\"/><c>rm x</c><arg value=\"rm\"/></a>", &[]).is_empty());
        assert!(of("<a executable=\"rm", &[]).is_empty());
    }

    #[test]
    fn a_program_and_its_arguments_are_one_command() {
        for text in [
            "command: [rm, -r, x]\n",
            "    command: [\"rm\", \"-r\", 'x']\n",
            "entrypoint:\n  - rm\n  - -r\n  - x\n",
            "[tasks.t]\ncommand = \"rm\"\nargs = [\"-r\", \"x\"]\n",
            "t:\n  args: [-r, x]\n  cmd: rm\n",
            "- program: rm\n  args:\n    - -r\n    - x\n",
            "args = [\n  \"-r\",\n  \"x\",\n]\ncommand = \"rm\"\n",
            r#"{"tasks": [{"label": "t", "command": "rm", "args": ["-r", "x"]}]}"#,
            r#"{"command": ["rm", "-r", "x"]}"#,
        ] {
            assert!(of(text, &[]).contains(&"rm -r x".to_owned()), "{text}");
        }
        for text in [
            "a:\n  command: rm\nb:\n  args: [x]\n",
            "a:\n  command: rm\n  b:\n    args: [x]\n",
            "[a]\ncommand = \"rm\"\n[b]\nargs = [\"x\"]\n",
            "command: [rm y, x]\n",
        ] {
            assert!(!of(text, &[]).iter().any(|command| command == "rm x" || command == "rm y x"), "{text}");
        }
        let first = "- command: rm\n  args: [it's]\n- command: mv\n  args: [y]\n";
        assert!(of(first, &[]).contains(&"mv y".to_owned()));
    }

    #[test]
    fn lists_without_quotes_hold_commands() {
        let text = "tasks:\n  x:\n    cmds: [rm x, rm y]\n";
        assert!(["rm x", "rm y"].iter().all(|command| of(text, &["x"]).contains(&(*command).to_owned())));
    }

    #[test]
    fn commands_of_a_build_may_be_named_by_its_properties() {
        let text = "add_custom_target(x COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_SOURCE_DIR}/y)\n";
        assert_eq!(of(text, &[]), ["cmake -E rm -rf ./y"]);
    }

    #[test]
    fn lists_and_calls_hold_commands() {
        assert!(of("commands = rm x\n", &[]).contains(&"rm x".to_owned()));
        assert!(of("commands =\n    rm x\n", &[]).contains(&"rm x".to_owned()));
        assert!(of("execute_process(COMMAND rm x)\n", &[]).contains(&"rm x".to_owned()));
        assert!(of("    entry: rm x\n", &[]).contains(&"rm x".to_owned()));
        for text in [
            "return {\"actions\": [\"rm x\", \"rm y\"]}",
            "return {'actions': ['rm x', 'rm y']}",
            "cmds: ['rm x', 'rm y']",
        ] {
            assert!(["rm x", "rm y"].iter().all(|command| of(text, &[]).contains(&(*command).to_owned())), "{text}");
        }
    }
}
