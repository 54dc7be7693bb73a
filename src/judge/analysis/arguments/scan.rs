//! Separates options, the subcommand, operands and inner commands.

use std::cell::OnceCell;

use super::{Arg, all_given, any_given};
use crate::judge::analysis::act::{Flag, Value};
use crate::judge::rules::model::{OptionSpec, OptionStyle, Program, Sub, Wrap, WrapFrom};

/// The state of the parser, and its result.
pub(super) struct ArgumentScan<'a> {
    pub program: &'a Program,
    pub args: &'a [Arg],
    pub sub: Option<&'a Sub>,
    /// The path under which the subcommand was named.
    pub sub_path: Vec<String>,
    /// The first operand, if the program has subcommands and it is not one of them.
    pub unknown_sub: Option<String>,
    pub flags: Vec<Flag>,
    /// The indices of the operands in `args`.
    pub operands: Vec<usize>,
    /// The index in `args` of the value of an abbreviated option. If the program does not accept abbreviations, or has
    /// an option of that name, it is an operand.
    pub perhaps_operand: Option<usize>,
    /// The commands between a word such as `-exec` and its `;`.
    pub enclosed: Vec<EnclosedCommand<'a>>,
    /// Whether `-s` of a shell is given.
    pub reads_stdin: bool,
    /// Whether an option that names a module ended the options (`python -m`).
    pub runs_module: bool,
    /// Whether all further arguments belong to an inner command.
    raw: bool,
    pub at: usize,
    /// The indices in `args` of words that may be the beginning of the path of a subcommand.
    path: Vec<usize>,
    path_open: bool,
    pub ended: bool,
    pub family: Family,
    replacing: OnceCell<Option<usize>>,
}

/// A command between `-exec` and `;`.
pub(super) struct EnclosedCommand<'a> {
    pub word: String,
    pub args: &'a [Arg],
}

/// Interpreters whose options have a special syntax.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Family {
    /// The values of `-c` and `-o` follow the word that contains them; `+` also begins options.
    Shell,
    /// Like [`Family::Shell`], but the value of `-o` may be attached.
    Zsh,
    /// `-m` runs a module and ends the options.
    Python,
    Other,
}

impl<'a> ArgumentScan<'a> {
    pub fn new(program: &'a Program, args: &'a [Arg]) -> Self {
        let family = match program.runs.as_ref().map(|runs| runs.language.as_str()) {
            Some("shell") => Family::Shell,
            Some("zsh") => Family::Zsh,
            Some("python") => Family::Python,
            _ => Family::Other,
        };
        Self {
            program,
            args,
            sub: None,
            sub_path: Vec::new(),
            unknown_sub: None,
            flags: Vec::new(),
            operands: Vec::new(),
            perhaps_operand: None,
            enclosed: Vec::new(),
            reads_stdin: false,
            runs_module: false,
            raw: false,
            at: 0,
            path: Vec::new(),
            path_open: !program.subs.is_empty(),
            ended: false,
            family,
            replacing: OnceCell::new(),
        }
    }

    pub fn run(mut self) -> Self {
        if self.program.style == OptionStyle::Bundle
            && let Some(first) = self.args.first()
            && !first.value.leading().is_empty()
            && !first.value.leading().starts_with('-')
            && !first.operand
        {
            self.bundle(first);
        }
        while let Some(arg) = self.args.get(self.at) {
            self.raw = self.raw || self.operands_are_raw();
            if self.raw {
                self.operands.push(self.at);
                self.at += 1;
                continue;
            }
            if !arg.operand && self.enclosed(arg) {
                continue;
            }
            if !arg.operand && self.after_word(arg) {
                break;
            }
            if self.ended || arg.operand || !self.option(arg) {
                self.operand(arg);
            }
        }
        self.close_path();
        if self.operands.is_empty() {
            self.operands.extend(self.perhaps_operand);
        }
        self
    }

    /// Returns the option that names the text which is replaced. It is searched once, after all options were parsed.
    pub fn replacing(&self) -> Option<&Flag> {
        let is_it = |flag: &Flag| ["-I", "-J", "-i", "--replace"].contains(&flag.name.as_str());
        let at = *self.replacing.get_or_init(|| self.flags.iter().position(is_it));
        self.flags.get(at?)
    }

    /// Reports whether the program is a shell.
    pub fn is_shell(&self) -> bool {
        matches!(self.family, Family::Shell | Family::Zsh)
    }

    /// Returns the descriptions of inner commands that may apply so far.
    pub fn wraps(&self) -> impl Iterator<Item = &'a Wrap> + use<'a> {
        let described = self.sub.is_some();
        // The operands belong to the subcommand; an option of the program runs its command with any subcommand.
        let of_option = |wrap: &Wrap| matches!(wrap.from, WrapFrom::Option(_) | WrapFrom::Setting(..));
        let program = self.program.wraps.iter().filter(move |wrap| !described || of_option(wrap));
        self.sub.map(|sub| sub.wraps.as_slice()).unwrap_or_default().iter().chain(program)
    }

    /// Reports whether the flags enable a description of an inner command.
    pub fn is_on(&self, wrap: &Wrap) -> bool {
        all_given(&self.flags, &wrap.when) && !any_given(&self.flags, &wrap.unless)
    }

    /// Returns the index of the operand at which the command begins: after the skipped operands and assignments.
    pub fn command_at(&self, wrap: &Wrap) -> usize {
        let mut at = wrap.skip as usize;
        if wrap.assignments {
            // Assignments may be before or after the skipped operands.
            let is = |index: &usize| self.args.get(*index).is_some_and(|arg| assignment(&arg.value).is_some());
            let leading = self.operands.iter().take_while(|index| is(index)).count();
            at += leading;
            at += self.operands.iter().skip(at).take_while(|index| is(index)).count();
        }
        at
    }

    /// Reports whether all further arguments belong to an inner command.
    fn operands_are_raw(&self) -> bool {
        let Some(last) = self.operands.last().and_then(|at| self.args.get(*at)) else { return false };
        if self.path_open {
            return false;
        }
        let assigns = assignment(&last.value).is_some();
        let mut wraps = self.wraps().filter(|wrap| wrap.from == WrapFrom::Operands);
        wraps.any(|wrap| {
            !(wrap.assignments && assigns) && self.is_on(wrap) && self.operands.len() > self.command_at(wrap)
        })
    }

    /// Reports whether, by the syntax of the program, an operand ends the options.
    fn operand_ends_options(&self) -> bool {
        let runs = self.sub.and_then(|sub| sub.runs.as_ref()).or(self.program.runs.as_ref());
        if runs.is_some_and(|runs| runs.script_operand) {
            return true;
        }
        if self.program.style != OptionStyle::Posix {
            return false;
        }
        // Options may follow skipped operands (`timeout 5`) and assignments.
        let last = self.operands.last().and_then(|at| self.args.get(*at));
        let assigns = last.is_some_and(|last| assignment(&last.value).is_some());
        let wraps = || self.wraps().filter(|wrap| wrap.from == WrapFrom::Operands);
        if assigns && wraps().any(|wrap| wrap.assignments) {
            return false;
        }
        let skip = wraps().map(|wrap| self.command_at(wrap)).max();
        self.operands.len() > skip.unwrap_or(0)
    }

    fn operand(&mut self, arg: &Arg) {
        let index = self.at;
        self.at += 1;
        if !arg.operand
            && self.program.style.is_single_dash()
            && let Some(word) = ["(", ")", "!", ","].iter().find(|word| arg.value.is(word))
        {
            self.flags.push(Flag { name: (*word).to_owned(), value: None, span: arg.span });
            return;
        }
        if self.path_open && !self.ended_by_dashes(index) {
            if self.grow_path(index) {
                return;
            }
            self.close_path();
        }
        self.operands.push(index);
        if self.operand_ends_options() {
            self.ended = true;
        }
    }

    fn ended_by_dashes(&self, index: usize) -> bool {
        self.ended && index > 0
    }

    /// Adds the word to the path of the subcommand, if there is such a path.
    fn grow_path(&mut self, index: usize) -> bool {
        let program = self.program;
        let mut words: Vec<String> = self.path.iter().chain([&index]).map_while(|at| self.word(*at)).collect();
        if words.len() != self.path.len() + 1 {
            return false;
        }
        let exact = program.subs.exact(&words);
        let extends = program.subs.go_on_from(&words);
        let grows = exact.is_some() || extends;
        if let Some(sub) = exact {
            self.enter(sub);
        }
        if grows {
            self.path.push(index);
            self.path_open = extends;
            if !extends {
                self.close_path();
            }
        } else if self.path.is_empty() {
            self.unknown_sub = words.pop();
            self.path_open = false;
            return true;
        }
        grows
    }

    fn word(&self, index: usize) -> Option<String> {
        self.args.get(index).and_then(|arg| arg.value.known()).map(|word| word.into_owned())
    }

    /// Selects the options of a subcommand for the following arguments. Earlier options belong to the program, even if
    /// the subcommand has an option of the same name (`git -C dir branch -C new`).
    fn enter(&mut self, sub: &'a Sub) {
        if self.sub.replace(sub).is_some() {
            return;
        }
        let kind = |options: &[OptionSpec], name: &String| {
            options.iter().find(|option| option.names.contains(name)).map(|option| option.value)
        };
        for flag in &mut self.flags {
            let (own, global) = (kind(&sub.options, &flag.name), kind(&self.program.options, &flag.name));
            if own.is_some() && global.is_some() && own != global {
                flag.name.insert_str(0, super::GLOBAL);
            }
        }
    }

    /// Ends the path of the subcommand: words after the longest match are operands.
    fn close_path(&mut self) {
        self.path_open = false;
        let path = std::mem::take(&mut self.path);
        if path.is_empty() {
            return;
        }
        let words: Vec<String> = path.iter().map_while(|at| self.word(*at)).collect();
        let taken = if let Some((length, sub)) = self.program.subs.longest(&words) {
            self.enter(sub);
            self.sub_path = words.get(..length).unwrap_or_default().to_vec();
            length
        } else {
            self.unknown_sub = words.into_iter().next();
            1
        };
        self.operands.splice(0..0, path.into_iter().skip(taken));
    }

    /// Parses `find -exec … ;`.
    fn enclosed(&mut self, arg: &Arg) -> bool {
        let args = self.args;
        let Some(word) = self.wraps().find_map(|wrap| match &wrap.from {
            WrapFrom::Until(words) => words.iter().find(|word| arg.value.is(word)),
            _ => None,
        }) else {
            return false;
        };
        if self.ended {
            return false;
        }
        let rest = args.get(self.at + 1..).unwrap_or_default();
        let end = rest.iter().enumerate().position(|(index, end)| {
            end.value.is(";")
                || (end.value.is("+") && index > 0 && rest.get(index - 1).is_some_and(|last| last.value.is("{}")))
        });
        let length = end.unwrap_or(rest.len());
        self.enclosed.push(EnclosedCommand { word: word.clone(), args: rest.get(..length).unwrap_or_default() });
        self.flags.push(Flag { name: word.clone(), value: None, span: arg.span });
        self.at += length + 1 + usize::from(end.is_some());
        true
    }

    /// Recognises the word that precedes a command. The program does not parse the arguments after it.
    fn after_word(&mut self, arg: &Arg) -> bool {
        let wrap = self.wraps().find(|wrap| match &wrap.from {
            WrapFrom::After(word) => self.is_on(wrap) && arg.value.is(word),
            _ => false,
        });
        let Some(wrap) = wrap else { return false };
        if let WrapFrom::After(word) = &wrap.from {
            let rest = self.args.get(self.at + 1..).unwrap_or_default();
            self.enclosed.push(EnclosedCommand { word: word.clone(), args: rest });
        }
        self.at = self.args.len();
        true
    }
}

/// Splits `NAME=value` into the name and the value.
pub(super) fn assignment(value: &Value) -> Option<(String, Value)> {
    let leading = value.leading();
    let (name, _) = leading.split_once('=')?;
    // An exported function has the name `BASH_FUNC_name%%`.
    let function = name.starts_with("BASH_FUNC_");
    let mut letters = name.chars();
    let first = letters.next()?;
    let fits = (first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || function && "%()".contains(letter));
    fits.then(|| (name.to_owned(), value.without_leading(name.len() + 1)))
}
