//! Settings with keys whose values name files of code, or contain code: JSON, YAML, TOML, INI, XML, Nix, or code.
//!
//! Out of scope: parsing these formats exactly, and the meaning of keys, which descriptions define. A key precedes `:`
//! or `=`, or is an element; its value is a string, a part in brackets, the rest of the line, or the indented lines
//! below.

use super::loads::option_values;
use crate::judge::analysis::act::Value;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::State;
use crate::judge::rules::model::{Load, SettingLine};
use crate::judge::rules::word_lists;

/// Maximum number of occurrences of a key in a file, and of texts in its values.
const MAX_PLACES: usize = 32;
const MAX_TEXTS: usize = 128;

/// The characters that delimit a word in a list, an object or a call.
const MARKS: [char; 11] = [',', '[', ']', '{', '}', '(', ')', ';', '<', '>', '='];

/// Returns the names of files in settings.
pub(super) fn file_names(load: &Load, text: &str) -> Vec<String> {
    let all = load.file_keys.iter().flat_map(|key| names(text, key)).take(MAX_TEXTS);
    let bare = all.map(|name| {
        let base = load.bases.iter().find_map(|base| name.strip_prefix(base.as_str()));
        base.map(str::to_owned).unwrap_or(name)
    });
    bare.filter(|name| !name.is_empty() && !name.contains("://") && !name.contains('*')).collect()
}

/// Returns the code in settings.
pub(super) fn code(load: &Load, text: &str) -> Vec<String> {
    load.code_keys.iter().flat_map(|key| texts(text, key)).take(MAX_TEXTS).collect()
}

/// Returns the values of options of the program in settings.
pub(super) fn options(load: &Load, text: &str) -> Vec<Value> {
    let texts = load.option_keys.iter().flat_map(|key| texts(text, key)).collect::<Vec<_>>().join(" ");
    let words: Vec<Value> = texts.split_whitespace().map(Value::text).collect();
    option_values(&words.iter().collect::<Vec<_>>(), &load.options)
}

/// Returns the commands that install what settings require, except for packages that one of `locks` contains.
pub(super) fn installs(load: &Load, text: &str, locks: &[String]) -> Vec<String> {
    let text = if load.comment.is_empty() { text.to_owned() } else { uncommented(text, &load.comment) };
    let install = |line: &SettingLine| {
        let required = values(&text, &line.begins).into_iter().flat_map(required);
        let is_new = |(name, _): &(String, String)| !name.is_empty() && !locks.iter().any(|lock| contains(lock, name));
        let command = |requirement: &str| format!("{} '{}'", line.before, requirement.replace('\'', ""));
        required.filter(is_new).map(|(_, requirement)| command(&requirement)).collect::<Vec<_>>()
    };
    load.requirements.iter().flat_map(install).take(MAX_TEXTS).collect()
}

/// Returns the lines that begin with a text, without it.
fn uncommented(text: &str, comment: &str) -> String {
    text.lines().filter_map(|line| line.strip_prefix(comment)).fold(String::new(), |all, line| all + line + "\n")
}

/// Reports whether a text contains a name as a whole word.
fn contains(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.match_indices(name).any(|(at, _)| {
        let before = text.get(..at).and_then(|text| text.chars().next_back());
        let behind = text.get(at + name.len()..).and_then(|text| text.chars().next());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

/// Returns the packages in the value of a key, each with its requirement: a string, the strings of a list, or the names
/// in an object or a section with their versions.
fn required(value: &str) -> Vec<(String, String)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.@/:+".contains(c);
    let of_text = |text: String| {
        let name = text.split(|c: char| !is_name(c)).next().unwrap_or_default().to_owned();
        (name, text)
    };
    let bare = value.trim();
    if bare.starts_with("- ") {
        return value.lines().filter_map(line_text).map(of_text).collect();
    }
    if bare.starts_with(['[', '"', '\'']) {
        let texts = parted(value).into_iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            Part::Bare(_) => None,
        });
        return texts.map(of_text).collect();
    }
    entries(bare).into_iter().filter_map(|(name, value)| versioned(name, value)).collect()
}

/// Returns a package and its requirement from an entry, if it is not a part of the project or its platform.
fn versioned(name: &str, value: &str) -> Option<(String, String)> {
    if word_lists::REQUIREMENT_PLATFORMS.contains(&name) {
        return None;
    }
    if let Some(version) = value.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\''])) {
        // A version that is an address must be installed already, not only the package.
        let known = if version.contains("//") { version } else { name };
        return Some((known.to_owned(), format!("{name}@{version}")));
    }
    let parts = value.starts_with('{').then(|| entries(value))?;
    if parts.iter().any(|(key, _)| word_lists::REQUIREMENT_SOURCES.contains(key)) {
        return None;
    }
    let renamed = parts.iter().find(|(key, _)| *key == "package");
    let name = renamed.map_or(name, |(_, package)| package.trim_matches(['"', '\'']));
    Some((name.to_owned(), name.to_owned()))
}

/// Returns the names in an object or a section and their values, as written.
fn entries(value: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let mut rest = value.trim_start().trim_start_matches('{');
    while all.len() < MAX_TEXTS {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, below)| below);
            continue;
        }
        let Some((name, behind)) = rest.split_once([':', '=']) else { break };
        let behind = behind.trim_start_matches([' ', '\t']);
        let end = match behind.chars().next() {
            Some('"' | '\'') => text_end(behind),
            Some('{' | '[') => Some(bracket_end(behind)),
            _ => behind.find(['\n', ',', '}']),
        };
        let (value, below) = behind.split_at_checked(end.unwrap_or(behind.len())).unwrap_or((behind, ""));
        all.push((name.trim().trim_matches(['"', '\'']), value));
        rest = below;
    }
    all
}

/// Returns the paths that a name in the settings of a file may mean.
pub(super) fn paths_of(state: &State, file: &Value, name: String) -> Vec<Value> {
    let Some(path) = file.known() else { return vec![Value::text(name)] };
    let below = path.rsplit_once('/').filter(|_| !name.starts_with('/')).map(|(dir, _)| format!("{dir}/{name}"));
    // Settings in another directory may name files relative to it.
    let below = below.filter(|_| !is_beside(state, &path));
    std::iter::once(name).chain(below).map(Value::text).collect()
}

/// Reports whether a file is in the working directory.
fn is_beside(state: &State, path: &str) -> bool {
    let dir = state.place(path).and_then(|place| place.split()).map(|(dir, _)| dir);
    dir.is_some() && dir == state.cwd
}

impl WalkProgress<'_, '_> {
    /// Reports whether a named file, with one of the endings that may be omitted, is new or changed in git.
    pub(super) fn is_new_code(&self, state: &State, load: &Load, name: &Value) -> bool {
        let bare = [String::new()];
        let ends = if load.endings.is_empty() { &bare[..] } else { &load.endings };
        ends.iter().any(|end| {
            let path =
                name.known().map(|name| match load.language == "python" && !end.is_empty() && !name.contains('/') {
                    true => name.replace('.', "/") + end,
                    false => format!("{name}{end}"),
                });
            let place = path.and_then(|path| state.place(&path));
            place.as_ref().is_some_and(|place| {
                self.files.written.contains_key(place) || place.text().is_some_and(|path| self.input.is_changed(path))
            })
        })
    }
}

/// Returns possible names of files in the value of a key: its strings, and the words in and between them.
fn names(text: &str, key: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for value in values(text, key) {
        let mut add = |name: &str| {
            if !name.is_empty() && !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        };
        for part in parted(value) {
            match part {
                Part::Text(text) => {
                    add(&text);
                    text.split([' ', ',', '\n']).for_each(&mut add);
                }
                Part::Bare(text) => {
                    let words = text.split(|c: char| c.is_whitespace() || MARKS.contains(&c));
                    words.map(|word| word.trim_end_matches(':')).filter(|word| *word != "-").for_each(&mut add);
                }
            }
        }
    }
    all
}

/// Returns the strings in the value of a key: the string itself, those of a list, the values of an object.
fn texts(text: &str, key: &str) -> Vec<String> {
    let mut all = Vec::new();
    for value in values(text, key) {
        let bare = value.trim();
        let lists = bare.starts_with(['[', '{', '(']) || bare.starts_with("- ") || value.starts_with('\n');
        let mut parts = parted(value).into_iter().peekable();
        if !lists {
            let inside = bare.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
            match (parts.next(), parts.next(), inside) {
                (Some(Part::Text(_)), Some(_), Some(inside)) => all.push(inside.to_owned()),
                (Some(Part::Text(text)), ..) => all.push(text),
                _ => all.extend(lines(bare)),
            }
            continue;
        }
        if value.starts_with('\n') || bare.starts_with("- ") {
            // Each line is `- text`, `key: text`, or a text.
            all.extend(value.lines().filter_map(line_text));
            continue;
        }
        while let Some(part) = parts.next() {
            // A string before a colon is a key.
            let is_key =
                matches!(parts.peek(), Some(Part::Bare(behind)) if behind.trim_start().starts_with([':', '=']));
            match part {
                Part::Text(text) if !is_key => all.push(text),
                _ => {}
            }
        }
    }
    all
}

/// Returns a text of several lines without the dash and the indentation of each.
fn lines(text: &str) -> Option<String> {
    let text = text.strip_prefix(['|', '>']).map_or(text, |rest| rest.trim_start_matches(['-', '+']));
    let joined = text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    (!joined.trim().is_empty()).then(|| joined.trim().to_owned())
}

/// Returns the text of a line of a list or an object: after its dash, or after its key.
fn line_text(line: &str) -> Option<String> {
    let mut line = line.trim();
    while let Some(rest) = line.strip_prefix("- ") {
        line = rest.trim_start();
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.\"'".contains(c);
    let behind = line.split_once(": ").filter(|(key, _)| key.chars().all(is_name)).map(|(_, text)| text.trim());
    let text = behind.unwrap_or(line).trim_end_matches(',');
    let inside = text.strip_prefix(['"', '\'']).and_then(|rest| rest.strip_suffix(['"', '\'']));
    let text = inside.unwrap_or(text).trim();
    (!text.is_empty() && !text.ends_with(':')).then(|| text.to_owned())
}

/// Returns the values of a key as written. `a.b` is the key `b` in the value of `a`, or in the section `[a]`.
fn values<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    if let Some((outer, inner)) = key.split_once('.') {
        return values(text, outer).into_iter().flat_map(|value| values(value, inner)).take(MAX_PLACES).collect();
    }
    let found = text.match_indices(key).filter_map(|(at, _)| section(text, at, key).or_else(|| value(text, at, key)));
    found.take(MAX_PLACES).collect()
}

/// Returns the lines of a section whose name ends in a key.
fn section<'t>(text: &'t str, at: usize, key: &str) -> Option<&'t str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let front = text.get(start..at)?.trim_start();
    let (behind, rest) = text.get(at + key.len()..)?.split_once('\n').unwrap_or((text.get(at + key.len()..)?, ""));
    let named = front.starts_with('[') && (front.ends_with(['[', '.', ':', ' ', '"'])) && !front.contains(']');
    (named && behind.trim_start_matches('"').starts_with(']')).then(|| {
        let end = rest.find("\n[").map_or(rest.len(), |end| end + 1);
        rest.get(..end).filter(|_| !rest.starts_with('[')).unwrap_or_default()
    })
}

/// Returns the value of a key at a position in a text, if it is a key there.
fn value<'t>(text: &'t str, at: usize, key: &str) -> Option<&'t str> {
    let (front, rest) = (text.get(..at)?, text.get(at + key.len()..)?);
    let before = front.chars().next_back();
    if before.is_some_and(|c| c.is_alphanumeric() || "_-@/".contains(c)) {
        return None;
    }
    let line = front.rsplit('\n').next().unwrap_or_default();
    if line.trim_start().starts_with(['#', ';']) || line.trim_start().starts_with("//") {
        return None;
    }
    if before == Some('<') {
        let inside = rest.split_once('>').filter(|(tag, _)| tag.is_empty() || tag.starts_with(' '))?.1;
        return inside.split_once("</").map(|(inside, _)| inside);
    }
    let rest = match before {
        Some(quote @ ('"' | '\'')) => rest.strip_prefix(quote)?,
        _ => rest,
    };
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix("=>").or_else(|| rest.strip_prefix(':')).or_else(|| rest.strip_prefix('='))?;
    if rest.starts_with(['=', ':']) {
        return None;
    }
    let rest = rest.trim_start_matches([' ', '\t', '\r']);
    let indent = line.len() - line.trim_start().len();
    match rest.chars().next()? {
        '"' | '\'' | '`' => {
            let end = text_end(rest)?;
            // A quoted text that contains its quotes: the rest of the line.
            let behind = rest.get(end..)?.split('\n').next().unwrap_or_default();
            let goes_on = behind.starts_with(|c: char| c.is_alphanumeric()) && behind.ends_with(['"', '\'']);
            rest.get(..if goes_on { end + behind.len() } else { end })
        }
        '[' | '{' | '(' => Some(rest.get(..bracket_end(rest))?),
        '\n' | '|' | '>' => rest.get(..below_end(rest, indent)),
        // The rest of the line, and the indented lines below it.
        _ => rest.get(..below_end(rest, indent)),
    }
}

/// Returns the end of the lines that belong to a value because they are indented more than its key, or are items of its
/// list.
fn below_end(rest: &str, indent: usize) -> usize {
    let mut end = rest.find('\n').unwrap_or(rest.len());
    for line in rest.get(end..).unwrap_or_default().split_inclusive('\n').skip(1) {
        let bare = line.trim();
        let own = line.len() - line.trim_start().len();
        let goes_on = bare.is_empty() || own > indent || own == indent && bare.starts_with("- ");
        if !goes_on || rest.get(..end).is_some_and(|before| before.ends_with('}') && indent == 0) {
            break;
        }
        end += line.len();
    }
    (end + usize::from(rest.get(end..).is_some_and(|rest| rest.starts_with('\n')))).min(rest.len())
}

/// The quotes of a string, the longest first.
const QUOTES: [&str; 6] = ["\"\"\"", "'''", "''", "\"", "'", "`"];

/// Returns the end of the string at the beginning of a value, including its quotes.
fn text_end(rest: &str) -> Option<usize> {
    let quote = QUOTES.iter().find(|quote| rest.starts_with(**quote))?;
    let inside = rest.get(quote.len()..)?;
    // An empty string is not the beginning of a long quote.
    if *quote == "''" && !inside.starts_with(['\n', ' ']) {
        return Some(quote.len());
    }
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        if !escaped && inside.get(at..)?.starts_with(*quote) {
            return Some(at + 2 * quote.len());
        }
        escaped = c == '\\' && !escaped && quote.starts_with(['"', '`', '\'']) && quote.len() == 1;
    }
    None
}

/// Returns the end of a part in brackets, including the brackets.
fn bracket_end(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = rest.get(at..).and_then(|rest| rest.chars().next()) {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            '"' | '\'' | '`' => {
                at += rest.get(at..).and_then(text_end).unwrap_or(1);
                continue;
            }
            _ => {}
        }
        at += c.len_utf8();
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// A part of a value.
enum Part<'t> {
    /// A string, unescaped.
    Text(String),
    Bare(&'t str),
}

/// Splits a value into strings and the text between them.
fn parted(value: &str) -> Vec<Part<'_>> {
    let mut all = Vec::new();
    let mut rest = value;
    while all.len() < MAX_TEXTS {
        let Some(at) = rest.find(['"', '\'', '`']) else { break };
        let (bare, behind) = rest.split_at(at);
        // A quote that does not begin a string, as in `it's`, is a letter.
        let Some(end) = text_end(behind) else { break };
        all.push(Part::Bare(bare));
        let marks = QUOTES.iter().find(|quote| behind.starts_with(**quote)).map_or(0, |quote| quote.len());
        let inside = behind.get(marks..end.saturating_sub(marks).max(marks)).unwrap_or_default();
        all.push(Part::Text(unescaped(inside, behind.starts_with('\'') || marks > 1)));
        rest = behind.get(end..).unwrap_or_default();
    }
    all.push(Part::Bare(rest));
    all.retain(|part| !matches!(part, Part::Bare(text) if text.is_empty()));
    all
}

/// Returns a string without its escapes.
fn unescaped(text: &str, as_it_is: bool) -> String {
    if as_it_is || !text.contains('\\') {
        return text.to_owned();
    }
    text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\\"", "\"").replace("\\'", "'").replace('\0', "\\")
}

#[cfg(test)]
mod tests {
    use super::{Load, SettingLine, installs, names, texts};

    fn load(keys: &[&str], comment: &str) -> Load {
        let line = |key: &&str| SettingLine { begins: (*key).into(), before: "add".into(), ..SettingLine::default() };
        Load { requirements: keys.iter().map(line).collect(), comment: comment.into(), ..Load::default() }
    }

    #[test]
    fn settings_require_packages_in_each_format() {
        for (text, installed) in [
            (
                r#"{"name": "n", "deps": {"a": "^1", "@b/c": "https://x.org/y"}, "z": {"d": "1"}}"#,
                &["a@^1", "@b/c@https://x.org/y"][..],
            ),
            (
                "[deps]\na = \"1\"\n# b = \"1\"\nc = { version = \"1\", features = [\"d\"] }\n[other]\ne = \"1\"\n",
                &["a@1", "c"],
            ),
            (
                "[deps]\na = { path = \"../a\" }\nb.workspace = true\nc = { git = \"https://x.org\" }\nd = { package = \"e\" }\n",
                &["e"],
            ),
            (
                "[project]\ndeps = [\n  'a>=1', # why\n  \"b[c]~=2; python_version < '4'\",\n]\n",
                &["a>=1", "b[c]~=2; python_version < 4"],
            ),
            ("deps:\n  - a=1\n  - pip:\n    - b\n", &["a=1", "b"]),
            ("[deps]\npython = \"^3.11\"\na = \"^1\"\n", &["a@^1"]),
            ("deps = \"https://x.org/y\"\n", &["https://x.org/y"]),
            ("{\"deps\": {}}", &[]),
            ("[deps\na = ", &[]),
        ] {
            let wanted: Vec<String> = installed.iter().map(|name| format!("add '{name}'")).collect();
            assert_eq!(installs(&load(&["deps"], ""), text, &[]), wanted, "{text}");
        }
        let commented = "# /// script\n# deps = [\"a\"]\n# ///\ndeps = ['b']\n";
        assert_eq!(installs(&load(&["deps"], "# "), commented, &[]), ["add 'a'"]);
    }

    #[test]
    fn what_a_lock_file_contains_is_not_new() {
        let text = r#"{"deps": {"a": "1", "b": "1", "c-d": "1", "e": "https://x.org/e"}}"#;
        let lock = r#"{"node_modules/a": {}, "node_modules/b-c": {}, "d": {}, "e": {"resolved": "https://y.org/e"}}"#;
        let installed = installs(&load(&["deps"], ""), text, &[lock.to_owned()]);
        assert_eq!(installed, ["add 'b@1'", "add 'c-d@1'", "add 'e@https://x.org/e'"]);
    }

    #[test]
    fn a_key_names_files_in_each_format() {
        for text in [
            r#"{"require": "./a.js"}"#,
            r#"{"x": 1, "require": ["./a.js"]}"#,
            "{\n  // a comment\n  \"require\": [\n    \"./a.js\",\n  ],\n}",
            "module.exports = {require: ['./a.js']}",
            "module.exports = {require: require.resolve('./a.js')}",
            "export default { test: { require: './a.js' } }",
            "config.require = [path.join(__dirname, `./a.js`)]",
            "require: ./a.js\nx: y\n",
            "require:\n  - ./a.js\nx: y\n",
            "require:\n- ./a.js\nx: y\n",
            "require: [./a.js]",
            "require = x, ./a.js\n",
            "require =\n    x\n    ./a.js\n",
            "[run]\nrequire = ./a.js\n",
            "require = [\n  \"./a.js\",\n]\n",
            "<x require=\"./a.js\"/>",
            "<x><require>./a.js</require></x>",
            "'require' => './a.js',",
        ] {
            assert!(names(text, "require").contains(&"./a.js".to_owned()), "{text}: {:?}", names(text, "require"));
        }
        for text in [
            "x = require('./a.js')",
            "# require: ./a.js",
            "// require: './a.js'",
            "{\"myrequire\": \"./a.js\", \"requires\": \"./a.js\"}",
            "require: b.js\nx: ./a.js\n",
            "{\"require\": \"b.js\", \"x\": \"./a.js\"}",
            "if require == './a.js':",
        ] {
            assert!(!names(text, "require").contains(&"./a.js".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_key_in_another_is_looked_for_there() {
        let json = r#"{"exports": {"require": "./b.js"}, "ours": {"require": ["./a.js"]}}"#;
        assert_eq!(names(json, "ours.require"), ["./a.js"]);
        let toml = "[tool.ours]\nx = 1\nplugins = ['a']\n[tool.other]\nplugins = ['b']\n";
        assert_eq!(names(toml, "ours.plugins"), ["a"]);
        assert!(names(toml, "yours.plugins").is_empty());
        assert_eq!(names("[ours:local]\nplugins = a\n", "local.plugins"), ["a"]);
    }

    #[test]
    fn a_key_holds_code_in_each_format() {
        for text in [
            r#"{"hook": "rm -rf x"}"#,
            r#"{"hook": ["rm -rf x"]}"#,
            r#"{"hook": {"a": "rm -rf x"}}"#,
            "hook: rm -rf x\ny: z\n",
            "hook:\n  - rm -rf x\n",
            "hook:\n  a: rm -rf x\n",
            "hook: |\n  rm -rf x\n",
            "hook = \"rm -rf x\"\n",
            "hook = \"\"\"\nrm -rf x\n\"\"\"\n",
            "{ hook = ''\n  rm -rf x\n''; }",
            "mkShell { hook = \"rm -rf x\"; }",
            "[a]\nhook = rm -rf x\n",
        ] {
            assert!(
                texts(text, "hook").iter().any(|code| code.trim() == "rm -rf x"),
                "{text}: {:?}",
                texts(text, "hook")
            );
        }
        assert_eq!(texts("hook=\"x; y(\"rm -rf z\")\"\n", "hook"), ["x; y(\"rm -rf z\")"]);
        assert_eq!(texts("hook: \"a \\\"b\\\"\"", "hook"), ["a \"b\""]);
        assert_eq!(texts("hook = -q\n  -p x\ny = z\n", "hook"), ["-q\n-p x"]);
        assert!(texts("hooks: rm\n#hook: rm\nhook: [\n", "hook").is_empty());
    }
}
