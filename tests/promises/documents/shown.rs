//! Reads the commands of guard and the configuration keys that a Markdown or mdoc document shows.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};
use guard::cli::{self, Cli, CommandLine};
use guard::config::keys::{ConfigType, KEYS};

/// The commands, options and keys that a document shows.
#[derive(Debug, Default)]
pub struct Shown {
    /// The words after `guard`.
    pub commands: Vec<Vec<String>>,
    /// Options that appear on their own.
    pub options: Vec<String>,
    /// Keys with their tables, such as `queue.wait`.
    pub keys: Vec<String>,
}

impl Shown {
    /// Reads a Markdown document: blocks, and text between backticks.
    pub fn in_markdown(text: &str) -> Self {
        let (mut shown, mut prose, mut block, mut fenced) = (Self::default(), String::new(), Vec::new(), false);
        for line in text.lines() {
            let fence = line.starts_with("```");
            fenced ^= fence;
            match line.strip_prefix("    ").or((fenced && !fence).then_some(line)) {
                Some(line) => block.push(line),
                None => {
                    shown.block(&std::mem::take(&mut block));
                    if !fence {
                        prose.push_str(line);
                        prose.push('\n');
                    }
                }
            }
        }
        shown.block(&block);
        for code in prose.split('`').skip(1).step_by(2) {
            let code = code.replace('\n', " ");
            shown.commands_in(&code);
            shown.key_in(&code);
        }
        shown
    }

    /// Reads a manual page: literal blocks, `.Ic guard …`, `.Fl -option` and `.Cm key`.
    pub fn in_mdoc(text: &str) -> Self {
        let (mut shown, mut block, mut literal) = (Self::default(), Vec::new(), false);
        for line in text.lines() {
            match line {
                ".Bd -literal -offset indent" => literal = true,
                ".Ed" => {
                    literal = false;
                    shown.block(&std::mem::take(&mut block));
                }
                _ if literal => block.push(line),
                _ if line.starts_with('.') => shown.macros(line),
                _ => {}
            }
        }
        shown
    }

    /// Reads a line of macros.
    fn macros(&mut self, line: &str) {
        let words: Vec<&str> = line.trim_start_matches('.').split_whitespace().collect();
        if let Some(at) = words.windows(2).position(|pair| pair == ["Ic", "guard"]) {
            let (mut command, mut dash) = (Vec::new(), "");
            for word in &words[at + 2..] {
                match *word {
                    "Fl" => dash = "-",
                    "No" => break,
                    "Ar" | "Pa" | "Qq" => dash = "",
                    "," | "." | ";" | ")" => {}
                    "--" if dash.is_empty() => command.push("--".to_owned()),
                    // One `Fl` applies to all the options that follow it.
                    word => {
                        command.push(format!("{dash}{word}"));
                        if !word.starts_with('-') {
                            dash = "";
                        }
                    }
                }
            }
            self.commands.push(command);
        } else if words.contains(&"Fl") {
            self.options.extend(words.iter().filter_map(|word| Some(format!("--{}", word.strip_prefix('-')?))));
        }
        if let Some(at) = words.iter().position(|word| *word == "Cm") {
            let keys = words[at + 1..]
                .iter()
                .filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c)));
            self.keys.extend(keys.filter(|word| **word != ".").map(|word| (*word).to_owned()));
        }
    }

    /// Reads a block of lines: commands, or a configuration example.
    fn block(&mut self, lines: &[&str]) {
        let mut table = None;
        for line in lines {
            if line.starts_with("[[") {
                table = None;
            } else if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = Some(name);
            } else if let (Some(table), Some((key, _))) = (table, line.split_once(" = ")) {
                self.keys.push(format!("{table}.{key}"));
            }
            self.commands_in(line);
        }
    }

    /// Reads the commands of a shell line.
    fn commands_in(&mut self, line: &str) {
        let line = line.trim_start_matches("$ ").trim_start_matches("sudo ").trim_start_matches("/usr/local/bin/");
        let pipelines = line.split("$(").flat_map(pipeline);
        self.commands.extend(pipelines.filter_map(|words| match words.split_first() {
            Some((first, rest)) if first == "guard" && !rest.is_empty() => Some(rest.to_vec()),
            _ => None,
        }));
    }

    /// Reads the key in a code span: `[queue] wait = 300`, `mode = "off"`, `hook.deadline` or `retention_days`.
    fn key_in(&mut self, code: &str) {
        let key = code.split(" = ").next().unwrap_or(code);
        let is_word =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c));
        let is_table = |word: &str| KEYS.iter().any(|row| row.name.split('.').next() == Some(word) && row.name != word);
        if let Some((table, key)) = key.strip_prefix('[').and_then(|key| key.split_once("] ")) {
            self.keys.push(format!("{table}.{key}"));
        } else if is_word(key) && (key != code || key.contains('_')) {
            self.keys.push(key.to_owned());
        } else if let Some((table, name)) = key.split_once('.')
            && is_table(table)
            && is_word(name)
        {
            self.keys.push(key.to_owned());
        }
    }
}

/// Returns the words of a pipeline's commands, up to a comment, a redirection or another construct.
fn pipeline(text: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    for c in text.chars() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.push(c),
            (' ' | '|', None) => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                if c == '|' {
                    commands.push(std::mem::take(&mut words));
                }
            }
            ('#' | '>' | '<' | ';' | ')', None) => break,
            _ => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    commands.push(words);
    commands
}

/// Reports whether the configuration has this key, or one of its tables has this field.
pub fn is_key(name: &str) -> bool {
    KEYS.iter().any(|row| {
        let field = name.strip_prefix(row.name).and_then(|rest| rest.strip_prefix('.'));
        let known = |field: &str| match row.kind {
            ConfigType::Tables(fields) | ConfigType::Table(fields) => fields.iter().any(|known| known.name == field),
            _ => false,
        };
        row.kind != ConfigType::LockOnly && row.name == name || field.is_some_and(known)
    })
}

/// Reports whether some verb has this option.
pub fn is_option(option: &str) -> bool {
    fn has(command: &Command, name: &str) -> bool {
        command.get_arguments().any(|arg| arg.get_long() == Some(name))
            || command.get_subcommands().any(|inner| has(inner, name))
    }
    option.strip_prefix("--").is_some_and(|name| has(&Cli::command(), name))
}

/// Returns the fault of a command of guard, given its words, or `None` if the command is valid.
pub fn fault(words: &[String]) -> Option<String> {
    let whole = Cli::command();
    let mut command = &whole;
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        // The remaining words are not arguments of guard.
        if word == "--" || word == "-c" {
            return None;
        }
        if word == "help" && command.get_name() == "guard" {
            let topic = words.next()?;
            let asked = [OsString::from("help"), topic.into()];
            let told = matches!(cli::read("guard".as_ref(), &asked, None, None), CommandLine::Help(_));
            return (!told && whole.find_subcommand(topic).is_none()).then(|| format!("there is no topic {topic}"));
        }
        // The gateway's own tests check the arguments that the gateway reads.
        if command.get_positionals().any(clap::Arg::is_trailing_var_arg_set) {
            return None;
        }
        let option = word.starts_with('-') && word.len() > 1;
        let found = command.get_arguments().find(|arg| is_this(arg, word));
        match found {
            // The optional value is omitted.
            Some(arg) if is_optional(arg) && words.peek().is_none_or(|next| next.starts_with('-')) => {}
            Some(arg) if arg.get_action().takes_values() => {
                // The document may name the option without its value.
                let value = words.next()?;
                if let Some(fault) = not_among(arg, value) {
                    return Some(fault);
                }
            }
            Some(_) => {}
            None if option => return Some(format!("{} has no option {word}", command.get_name())),
            None => match (command.find_subcommand(word), command.get_positionals().next()) {
                (Some(inner), _) => command = inner,
                // The word is an argument of a verb. Directly after `guard` it would be a command of the shell.
                (None, Some(arg)) if command.get_name() != "guard" => {
                    if let Some(fault) = not_among(arg, word) {
                        return Some(fault);
                    }
                }
                (None, _) => return Some(format!("{} has no {word}", command.get_name())),
            },
        }
    }
    None
}

fn is_optional(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|number| number.min_values() == 0)
}

fn is_this(arg: &Arg, word: &str) -> bool {
    let long = word.strip_prefix("--").is_some_and(|name| arg.get_long() == Some(name));
    long || word.strip_prefix('-').is_some_and(|name| arg.get_short().is_some_and(|short| name == short.to_string()))
}

/// Returns the reason why an argument does not accept a value. A name in capitals stands for any value.
fn not_among(arg: &Arg, value: &str) -> Option<String> {
    let known = arg.get_possible_values();
    let any = known.is_empty() || value.chars().all(|c| c.is_ascii_uppercase());
    (!any && !known.iter().any(|known| known.matches(value, false)))
        .then(|| format!("{} is never {value}", arg.get_id()))
}
