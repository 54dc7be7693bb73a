//! Languages without a parser of their own: a name that is followed by strings is a call.
//!
//! That is sufficient for calls that run programs and delete files: `system("…")`, `(shell-command "…")`, `Sys.command
//! "…"`, `System.cmd("rm", ["-rf", …])`, `"…".execute()`. An undescribed name is not an act.

use super::constants::Constants;
use super::evaluation::{Evaluation, Item, Values};
use super::expression::option;
use super::scan::{Token, tokens};
use super::{Call, Gap, Language, MAX_CALLS, Slice, World, unknown, value};
use crate::judge::analysis::act::Value;
use crate::judge::analysis::fuel::cost;
use crate::judge::rules::catalog::languages;
use crate::judge::rules::languages::{ActObject, ActOfCalls, OPENS, OPENS_TO_WRITE, last_part};
use crate::judge::rules::word_lists;

/// Maximum number of tokens of a call.
const REACH: usize = 64;

/// The call that replaces the content of a file.
const WRITES: &str = "writeFile";

/// Parses all calls.
pub fn read(text: Slice<'_>, world: World<'_>) -> Vec<Call> {
    nested(text, world, 3)
}

fn nested(text: Slice<'_>, world: World<'_>, depth: usize) -> Vec<Call> {
    let tokens = tokens(Language::Other, text);
    // A line with a leading `!` or `:!` is a shell command, in gnuplot, GHCi and others.
    let commands = text.lines().filter_map(|line| line.find(shell_command));
    let mut calls: Vec<Call> = commands.map(|command| Call::new("exec".into(), vec![value(command)])).collect();
    // The arguments of the previous call.
    let mut last: Vec<Value> = Vec::new();
    // The index of the command that is being composed: `Command::new("rm").arg("x")`.
    let mut building: Option<usize> = None;
    let mut constants = Constants::new(&tokens, world);
    let mut at = 0;
    let mut passed = 0;
    while let Some(token) = tokens.get(at).filter(|_| calls.len() <= MAX_CALLS && (world.spend)(2 * cost::TOKEN)) {
        (passed..=at).for_each(|at| constants.pass(at));
        passed = passed.max(at + 1);
        match token {
            Token::Name(_) => {
                if let Some(found) = told(&tokens, at, &constants, &last) {
                    last.clone_from(&found.call.args);
                    calls.push(found.call);
                    if found.whole {
                        at = found.next;
                        continue;
                    }
                }
                let behind = at.checked_sub(1).and_then(|at| tokens.get(at)) == Some(&Token::Mark('.'));
                let before = at.checked_sub(2).and_then(|at| tokens.get(at)).filter(|_| behind);
                let (start, (full_name, next)) = (at, whole(&tokens, at));
                let name = last_part(&full_name).to_owned();
                let of = at.checked_sub(3).and_then(|at| tokens.get(at));
                let begins = name == "new" && matches!(of, Some(Token::Name(of)) if of == "Command");
                let read = calls.len();
                at = next;
                // `set output '|cmd'` of gnuplot
                if let Some(Token::Text(file)) = tokens.get(at)
                    && let Some(command) = file.slice().find(|file| file.strip_prefix('|'))
                {
                    calls.push(Call::new("exec".into(), vec![value(command)]));
                }
                // The arguments of an undescribed call are ignored, unless it passes them on.
                let hands_on = word_lists::ARGUMENT_PASSING_NAMES.contains(&name.as_str());
                let told =
                    (hands_on || (world.knows)(&name)).then(|| told_arguments(at, constants.evaluation())).flatten();
                let mut args = told.unwrap_or_else(|| arguments(&tokens, at, constants.evaluation(), world));
                // `Directory("x").delete(recursive: true)`
                if before == Some(&Token::Mark(')')) && !args.is_empty() && args.iter().all(Value::is_option) {
                    args.splice(0..0, last.iter().cloned());
                }
                // Code in a text: `eval(parse(text = "…"))`.
                if word_lists::CODE_TEXT_CALLS.contains(&name.as_str()) && depth > 0 {
                    let inner =
                        args.iter().filter_map(Value::known).flat_map(|text| nested((&*text).into(), world, depth - 1));
                    calls.extend(inner.collect::<Vec<_>>());
                } else if name == "call" && args.len() > 1 {
                    // `do.call("system", list("x"))`
                    let callee = args.first().and_then(Value::known).unwrap_or_default().into_owned();
                    calls.push(Call::new(callee, args.into_iter().skip(1).collect()));
                } else if begins && !args.is_empty() {
                    building = Some(calls.len());
                    calls.push(Call::new("execute".into(), args));
                } else if behind && matches!(name.as_str(), "arg" | "args") && building.is_some() {
                    let command = building.and_then(|at| calls.get_mut(at));
                    command.into_iter().for_each(|command| command.args.extend(args.iter().cloned()));
                } else if !args.is_empty() && is_run_list(&tokens, at, &name) {
                    calls.push(Call::new("execute".into(), args));
                } else if !args.is_empty() {
                    last = args.clone();
                    calls.push(Call::new(name, args));
                } else if before == Some(&Token::Mark(')')) && !last.is_empty() {
                    // `new File("x").delete()`
                    calls.push(Call::new(name, last.clone()));
                }
                if calls.len() == read {
                    calls.extend(unseen(&tokens, start, (&full_name, next), world));
                }
            }
            Token::Text(command) => {
                at += 1;
                let (name, _) = last_name(&tokens, at + 1);
                let runs = name == "execute" || matches!(tokens.get(at + 1), Some(Token::Mark('!')));
                if matches!(tokens.get(at), Some(Token::Mark('.'))) && runs {
                    calls.push(Call::new("execute".into(), vec![value(command)]));
                }
            }
            // `["rm", "x"].execute()`
            Token::Mark(']') if last_name(&tokens, at + 2).0 == "execute" => {
                let list = tokens.get(..at).unwrap_or_default();
                let open = list.iter().rposition(|token| *token == Token::Mark('[')).unwrap_or(at);
                let words = list.iter().skip(open).filter_map(|token| match token {
                    Token::Text(text) => Some(value(text)),
                    _ => None,
                });
                calls.push(Call::new("execute".into(), words.collect()));
                at += 1;
            }
            _ => at += 1,
        }
    }
    calls
}

/// Returns the text behind the mark of a shell command.
fn shell_command(line: &str) -> Option<&str> {
    line.trim_start().trim_start_matches(':').strip_prefix('!').map(str::trim_start)
}

/// A described call with evaluated arguments.
struct ToldCall {
    call: Call,
    /// The position after its name.
    next: usize,
    /// Whether the call has no other meaning.
    whole: bool,
}

/// Returns the described call that begins at `at`, if the code determines its arguments. `last` are the arguments of the
/// call before it.
fn told(tokens: &[Token], at: usize, constants: &Constants<'_>, last: &[Value]) -> Option<ToldCall> {
    let evaluation = constants.evaluation();
    let (dotted, next) = evaluation.dotted(at);
    // A method of the value of a name.
    let method = dotted.split_once('.').and_then(|(of, method)| Some((evaluation.named(of)?, method)));
    // `file:delete`, `delete-file`
    let (joined, behind) = whole(tokens, at);
    let named = |name, next| languages().acts(Language::Other, name).map(move |act| (act, next));
    let methods = method.into_iter().flat_map(|(_, name)| named(name, next));
    let others =
        Some(joined.as_str()).filter(|joined| *joined != dotted).into_iter().flat_map(|name| named(name, behind));
    named(&dotted, next).chain(methods).chain(others).find_map(|(described, next)| {
        // `rm! "x"`
        let next = next + usize::from(evaluation.mark(next, '!') && evaluation.is_argument(next + 1));
        let open = evaluation.opens(next).filter(|open| !is_in_brackets(tokens, at, evaluation.closing(*open)));
        let args: Vec<Value> = match described.on {
            ActObject::Assigned if !evaluation.assigns(next) => return None,
            ActObject::Assigned | ActObject::Receiver => match method {
                Some((of, _)) => of.iter().map(Item::value).collect(),
                None => receiver(tokens, at, last)?,
            },
            ActObject::Arguments => {
                // `(with-open-file (s "x" …) …)`
                let is_bound = described.described == OPENS && evaluation.mark(next, '(');
                let bound = || evaluation.juxtaposed(next + 1).into_iter().nth(1).filter(|_| is_bound)?;
                let items = match open {
                    Some(open) => {
                        let (arguments, _) = evaluation.list(open, ')', 0);
                        let told = chosen(described, &arguments, || evaluation.keyword(open, &described.keywords));
                        let own = || method.filter(|_| described.arguments.is_empty()).map(|(of, _)| of.to_vec());
                        told.or_else(own).or_else(bound)?
                    }
                    None if evaluation.is_argument(next) || is_first(tokens, at) => {
                        chosen(described, &evaluation.juxtaposed(next), || None).or_else(bound)?
                    }
                    None if is_handed_on(tokens, at) => constants.found()?.to_vec(),
                    None => return None,
                };
                items.iter().map(Item::value).collect()
            }
        };
        let name = match described.described.as_str() {
            OPENS => mode(tokens, next),
            OPENS_TO_WRITE => Some(mode(tokens, next)).filter(|mode| *mode == WRITES)?,
            name => name,
        };
        let whole = described.arguments.is_empty() && open.is_some();
        Some(ToldCall { call: Call::new(name.to_owned(), args), next, whole })
    })
}

/// Reports whether the name at `at` is the first thing in brackets.
fn is_first(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).and_then(|at| tokens.get(at)) == Some(&Token::Mark('('))
}

/// Reports whether the name at `at` is in the brackets of its call, as in Lisp, although a bracket follows it, which
/// `close` ends: `(copy (file "x") (file "y"))`.
fn is_in_brackets(tokens: &[Token], at: usize, close: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    matches!(before, Some(Token::Mark('(' | '/')))
        && matches!(tokens.get(close + 1), Some(Token::Text(_) | Token::Name(_) | Token::Mark('(')))
}

/// Returns the arguments that an act falls on, if one of them is known. `keyword` is called for the argument that
/// stands for the last of them.
fn chosen(act: &ActOfCalls, arguments: &[Values], keyword: impl FnOnce() -> Values) -> Values {
    let at = |position: usize| arguments.get(position).cloned().flatten();
    let (last, before) = act.arguments.split_last().unwrap_or((&0, &[]));
    let mut all: Vec<Values> = before.iter().map(|position| at(*position)).collect();
    all.push(keyword().or_else(|| at(*last)));
    let unknown = || vec![Item::Text(Gap::Value.into())];
    let is_told = all.iter().any(Option::is_some);
    is_told.then(|| all.into_iter().flat_map(|values| values.unwrap_or_else(unknown)).collect())
}

/// Returns the object of the method at `at`: a text, or the arguments of the call before it.
fn receiver(tokens: &[Token], at: usize, last: &[Value]) -> Option<Vec<Value>> {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    match before(2).filter(|_| before(1) == Some(&Token::Mark('.')))? {
        Token::Text(text) => Some(vec![value(text)]),
        Token::Mark(')') if !last.is_empty() => Some(last.to_vec()),
        _ => None,
    }
}

/// Reports whether a name is passed as a function.
fn is_handed_on(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    matches!(before, Some(Token::Mark('&' | '(' | ',')))
}

/// Returns a call that deletes or runs something, on an unknown argument, if the name at `at` describes one. Only code on
/// a command line is read so. `full_name` has all its parts; `next` is the position of the token after it.
fn unseen(tokens: &[Token], at: usize, (full_name, next): (&str, usize), world: World<'_>) -> Option<Call> {
    if !world.file.is_empty() {
        return None;
    }
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    // `it.delete()`, `(.delete it)`, `.unlink for dir`, `@delete`
    let empty = tokens.get(next) == Some(&Token::Mark('(')) && tokens.get(next + 1) == Some(&Token::Mark(')'));
    let of = full_name.contains('.') || before(1) == Some(&Token::Mark('.'));
    let is_bare = !matches!(before(2), Some(Token::Name(_) | Token::Text(_) | Token::Mark(')' | ']' | '}')));
    let is_method = of && empty || before(1) == Some(&Token::Mark('.')) && is_bare;
    let name = last_part(full_name);
    let handle = name.strip_prefix('@');
    let by_place =
        || languages().acts(Language::Other, handle.unwrap_or(name)).next().filter(|_| is_method || handle.is_some());
    let described =
        languages().mentioned(Language::Other, full_name).or_else(|| Some(by_place()?.described.as_str()))?;
    (world.acts)(described).then(|| Call::new(described.to_owned(), vec![unknown()]))
}

/// Returns the call for opening a file, by the mode in its arguments.
fn mode(tokens: &[Token], at: usize) -> &'static str {
    let writes = |token: &Token| match token {
        Token::Text(text) => word_lists::WRITING_MODES.contains(&text.rough()),
        Token::Name(name) => word_lists::WRITING_MODE_NAMES.iter().any(|word| name.contains(word)),
        _ => false,
    };
    let arguments =
        tokens.iter().skip(at).take(REACH).take_while(|token| !matches!(token, Token::Mark(';' | '{') | Token::Line));
    let mut open: u32 = 0;
    // Words that are common elsewhere count only in the arguments.
    let inside = tokens.iter().skip(at).take(REACH).take_while(|token| {
        match token {
            Token::Mark('(' | '[') => open += 1,
            Token::Mark(')' | ']') if open <= 1 => return false,
            Token::Mark(')' | ']') => open -= 1,
            Token::Line => return false,
            _ => {}
        }
        true
    });
    let mut inside = inside.filter_map(|token| match token {
        Token::Name(name) => Some(name.as_str()),
        _ => None,
    });
    let written =
        arguments.into_iter().any(writes) || inside.any(|name| word_lists::WRITING_MODE_WORDS.contains(&name));
    if written { WRITES } else { "readFile" }
}

/// Returns the last part of a name with several parts (`Sys.command`, `os:cmd`, `shell-command`), and the position
/// after it.
fn last_name(tokens: &[Token], at: usize) -> (String, usize) {
    let (whole, next) = whole(tokens, at);
    (last_part(&whole).to_owned(), next)
}

/// Returns a name with its parts joined by dots, and the position after it.
fn whole(tokens: &[Token], mut at: usize) -> (String, usize) {
    let mut whole = String::new();
    while let Some(Token::Name(part)) = tokens.get(at) {
        whole.push_str(part);
        at += 1;
        let behind = matches!(tokens.get(at + 1), Some(Token::Name(_)));
        match tokens.get(at) {
            Some(Token::Mark('.' | ':')) if behind => whole.push('.'),
            Some(Token::Mark('-')) if behind => whole.push('-'),
            _ => break,
        }
        at += 1;
    }
    (whole, at)
}

/// Reports whether a list of words runs as a command, as `Seq("rm", "x").!` of Scala. `at` is after the name of the
/// list.
fn is_run_list(tokens: &[Token], at: usize, name: &str) -> bool {
    let mut open: u32 = 0;
    let closes = |token: &Token| {
        match token {
            Token::Mark('(') => open += 1,
            Token::Mark(')') => open = open.saturating_sub(1),
            _ => {}
        }
        open == 0
    };
    let end = tokens.iter().skip(at).take(REACH).position(closes).map_or(at, |length| at + length);
    word_lists::COMMAND_LISTS.contains(&name)
        && tokens.get(end + 1) == Some(&Token::Mark('.'))
        && (tokens.get(end + 2) == Some(&Token::Mark('!'))
            || matches!(tokens.get(end + 2), Some(Token::Name(run)) if run == "run" || run == "lazyLines"))
}

/// Evaluates all arguments of a call; `None` if one is unknown.
fn told_arguments(at: usize, evaluation: &Evaluation<'_>) -> Option<Vec<Value>> {
    let (all, _) = evaluation.list(evaluation.opens(at)?, ')', 0);
    let told: Option<Vec<Vec<Item>>> = all.into_iter().collect();
    let told: Vec<Value> = told?.iter().flatten().map(Item::value).collect();
    (!told.is_empty()).then_some(told)
}

/// Returns the strings that directly follow a name, with or without brackets, and the values of names among them.
fn arguments(tokens: &[Token], at: usize, evaluation: &Evaluation<'_>, world: World<'_>) -> Vec<Value> {
    let mut args = Vec::new();
    let mut open: u32 = 0;
    let mut index = at;
    while let Some(token) = tokens.get(index).filter(|_| index < at + REACH) {
        match token {
            Token::Mark('(' | '[' | '{') => open += 1,
            Token::Mark(')' | ']' | '}') => {
                if open <= 1 {
                    break;
                }
                open -= 1;
            }
            Token::Text(text) | Token::Shell(text) => args.push(value(&world.at_home(text.slice()))),
            // `cat(x, file = "y")` of R: the file that it writes.
            Token::Name(name)
                if name == "file"
                    && tokens.get(index + 1) == Some(&Token::Mark('='))
                    && let Some(Token::Text(text)) = tokens.get(index + 2) =>
            {
                args.push(option("file", &world.at_home(text.slice())));
                index += 2;
            }
            Token::Name(name) if name == "homedir" || name == "home" => args.push(Value::text(world.home)),
            Token::Name(name) if name == "recursive" => {
                let yes = matches!(tokens.get(index + 2), Some(Token::Name(yes)) if yes.eq_ignore_ascii_case("true"));
                if yes {
                    args.push(option("recursive", "true"));
                }
            }
            Token::Name(name)
                if open > 0
                    && let Some(items) = evaluation.named(name)
                    && !matches!(tokens.get(index + 1), Some(Token::Mark('(' | '.' | '='))) =>
            {
                args.extend(items.iter().map(Item::value));
            }
            Token::Name(name) if matches!(name.as_str(), "nil" | "t" | "c" | "list") => {}
            Token::Name(_) if open == 0 => break,
            Token::Line | Token::Mark(';' | '|') => break,
            _ => {}
        }
        index += 1;
    }
    args
}
