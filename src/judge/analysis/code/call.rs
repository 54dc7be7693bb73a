//! Calls in scripting languages: their arguments, with and without brackets, and their results.

use super::expression::{Expression, bare};
use super::scan::Token;
use super::statements::CallReader;
use super::{Call, Gap, Language, Text, database, file_text, globs};
use crate::judge::analysis::act::Value;
use crate::judge::rules::word_lists;

/// Maximum number of arguments that are kept of a chain of calls.
const MAX_CARRIED: usize = 32;

impl CallReader<'_> {
    /// Reports whether a call without brackets begins here, as in Ruby, Perl and Lua.
    pub fn takes_bare_arguments(&self, of: &Expression) -> bool {
        let Some(name) = of.name.as_deref() else { return false };
        let bare = match self.language {
            Language::Ruby | Language::Perl | Language::Lua => true,
            Language::Php => matches!(name, "echo" | "print" | "include" | "require" | "include_once" | "require_once"),
            // A tagged template passes its parts to a function.
            Language::Js => return matches!(self.peek(0), Some(Token::Text(_))) && !is_keyword(name),
            _ => false,
        };
        if self.language == Language::Lua && name == "require" {
            return matches!(self.peek(0), Some(Token::Text(_)));
        }
        if !bare || is_keyword(name) || name.starts_with(['$', '@']) {
            return false;
        }
        let last = name.rsplit('.').next().unwrap_or(name);
        match self.peek(0) {
            Some(Token::Text(_) | Token::Shell(_)) => true,
            Some(Token::Name(next)) => {
                let takes = word_lists::CALLS_WITHOUT_BRACKETS.contains(&last) || self.is_described(name);
                self.language != Language::Lua && takes && (!is_keyword(next) || matches!(next.as_str(), "my" | "our"))
            }
            // `rm_rf ["a", "b"]`, `rm *files`, `drop_table :users`: a list, a name, and no member or product.
            Some(Token::Mark('[')) => self.is_described(name),
            Some(Token::Mark('*')) => {
                self.is_described(name) && matches!(self.peek(1), Some(Token::Name(_) | Token::Mark('[')))
            }
            Some(Token::Mark(':')) => self.is_described(name) && self.named(1).is_some(),
            Some(Token::Number(_)) => {
                self.language != Language::Lua
                    && (word_lists::CALLS_WITHOUT_BRACKETS.contains(&last) || self.is_described(name))
            }
            Some(Token::Mark('<')) => self.language == Language::Perl && last == "unlink",
            Some(Token::Mark('{')) => self.language == Language::Perl && matches!(last, "exec" | "system"),
            _ => false,
        }
    }

    /// Reports whether a function of Ruby is described.
    fn is_described(&self, name: &str) -> bool {
        self.language == Language::Ruby && (self.world.knows)(name)
    }

    pub fn bare_arguments(&mut self, depth: usize) -> Vec<Expression> {
        // A tagged template is the only argument.
        if let (Language::Js, Some(Token::Text(text))) = (self.language, self.peek(0)) {
            let text = text.clone();
            self.at += 1;
            return vec![Expression::of_text(text)];
        }
        // `exec {"rm"} "ls", …`: the block names the program, and the first argument is only its `argv[0]`.
        let program = self.mark(0, '{').then(|| {
            self.at += 1;
            self.arguments(depth, '}').into_iter().next()
        });
        let mut all = vec![self.expression(depth)];
        if let (Some(program), Some(first)) = (program.flatten(), all.first_mut()) {
            match first.list.as_mut().and_then(|list| list.first_mut()) {
                Some(name) => program.values().into_iter().take(1).for_each(|program| *name = program),
                None => *first = program,
            }
        }
        while self.mark(0, ',') {
            self.at += 1;
            self.skip_lines();
            let setting = self.setting(depth);
            all.push(setting.unwrap_or_else(|| self.expression(depth)));
        }
        all
    }

    /// Parses `force: true` of Ruby. The name is kept with the value.
    fn setting(&mut self, depth: usize) -> Option<Expression> {
        let key =
            self.named(0).filter(|_| self.language == Language::Ruby && self.mark(1, ':') && !self.mark(2, ':'))?;
        self.at += 2;
        let word = self.named(0).unwrap_or_default();
        let value = self.expression(depth);
        let value = value.text.or(value.raw).unwrap_or_else(|| word.into());
        Some(Expression { setting: Some((key, value)), ..Expression::default() })
    }

    /// Parses expressions up to the closing bracket, and skips it.
    pub fn arguments(&mut self, depth: usize, close: char) -> Vec<Expression> {
        let mut all = Vec::new();
        loop {
            self.skip_lines();
            match self.peek(0) {
                None => return all,
                Some(Token::Mark(mark)) if *mark == close => {
                    self.at += 1;
                    return all;
                }
                Some(Token::Mark(',')) => self.at += 1,
                Some(_) => {
                    let begin = self.at;
                    // A keyword argument: the name is kept with the value, so that `shell=True` can be recognised.
                    let keyword = self.named(0).filter(|_| {
                        self.mark(1, '=')
                            && !self.mark(2, '=')
                            && !self.mark(2, '>')
                            && self.language == Language::Python
                    });
                    let expression = match keyword {
                        Some(keyword) => {
                            self.at += 2;
                            let raw = self.dotted_here();
                            let value = self.expression(depth);
                            if names_what_it_takes(&keyword, &value) {
                                all.push(value);
                                self.skip_to_comma(close);
                                continue;
                            }
                            let raw = value.text.or(value.raw).unwrap_or_else(|| raw.into());
                            Expression { setting: Some((keyword, raw)), ..Expression::default() }
                        }
                        None => self.setting(depth).unwrap_or_else(|| self.expression(depth)),
                    };
                    if self.at == begin {
                        self.at += 1;
                    } else {
                        let secret = expression.secret && self.ends();
                        all.push(Expression { secret, ..expression });
                        self.skip_to_comma(close);
                    }
                }
            }
        }
    }

    /// Returns the name at the current position, with its members.
    fn dotted_here(&self) -> String {
        let mut raw = self.named(0).unwrap_or_default();
        let mut ahead = 1;
        while let (false, true, Some(part)) = (raw.is_empty(), self.mark(ahead, '.'), self.named(ahead + 1)) {
            raw = format!("{raw}.{part}");
            ahead += 2;
        }
        raw
    }

    /// Skips the rest of an argument that is not a plain expression (operators, arrow functions). Calls in it are
    /// parsed.
    fn skip_to_comma(&mut self, close: char) {
        while let Some(token) = self.peek(0) {
            match token {
                Token::Mark(mark) if *mark == close || *mark == ',' => return,
                Token::Mark(';') if close != ')' => return,
                _ => {
                    let begin = self.at;
                    self.statement();
                    if self.at == begin {
                        self.at += 1;
                    }
                }
            }
        }
    }

    /// Reports whether a file is opened for writing and nothing is written to it.
    fn leaves_empty(&self, arguments: &[Expression]) -> bool {
        if self.mark(0, '.') {
            return self.named(1).as_deref() == Some("close");
        }
        if self.language == Language::Ruby && self.mark(0, '{') {
            return self.mark(1, '}');
        }
        // Perl writes to a handle by its name.
        let handle = arguments.first().and_then(|handle| handle.name.clone());
        let named = |token: &&Token| matches!(token, Token::Name(name) if Some(name) == handle.as_ref());
        let used = self.language == Language::Perl && self.tokens.iter().filter(named).count() > 1;
        !used && self.is_whole_statement() && matches!(self.peek(0), None | Some(Token::Line | Token::Mark(';')))
    }

    /// Reports whether the statement consists of the call that was just parsed.
    fn is_whole_statement(&self) -> bool {
        let begins = |token: &Token| matches!(token, Token::Line | Token::Mark(';' | '{' | '}'));
        let before = self.tokens.get(..self.at).unwrap_or_default();
        let start = before.iter().rposition(begins).map_or(0, |at| at + 1);
        let statement = before.get(start..).unwrap_or_default();
        !statement.contains(&Token::Mark('=')) && self.nesting <= 1
    }

    /// Adds a call and returns its result.
    pub fn call(&mut self, of: Expression, arguments: Vec<Expression>) -> Expression {
        let edited = of.name.as_deref().and_then(|callee| file_text::of_call(callee, &of, &arguments));
        let result = self.called(of, arguments);
        match edited {
            Some(edited) => Expression { edited: Some(edited), text: None, list: None, ..result },
            None => result,
        }
    }

    fn called(&mut self, of: Expression, arguments: Vec<Expression>) -> Expression {
        // The name of the function is in a variable.
        let of_text = of.text.clone().filter(|_| self.language == Language::Php && of.name.is_none());
        let Some(mut callee) = of.name.clone().or(of_text.map(|text| text.rough().to_owned())) else {
            return Expression::default();
        };
        let mut arguments = arguments;
        // `f.call(this, x)`, `method(:f).call(x)`
        for (language, suffix, skip) in word_lists::INDIRECT_CALLS {
            if language == self.language
                && let Some(name) = callee.strip_suffix(suffix).filter(|name| (self.world.knows)(name))
            {
                callee = name.to_owned();
                arguments.drain(..skip.min(arguments.len()));
            }
        }
        // `rmtree(path, True)`: a flag after the path.
        while arguments.len() > 1 && arguments.last().is_some_and(is_switch) {
            arguments.pop();
        }
        if callee == "constructor"
            && self.language == Language::Js
            && !self.mark(0, '{')
            && arguments.iter().any(|part| part.text.is_some())
        {
            callee = "Function".into();
        }
        // `timeit(lambda: f(x))`: the function is called; its code was parsed.
        let is_function = |argument: &Expression| {
            argument.lambda || argument.text.is_none() && argument.name.is_some() && !argument.called
        };
        if word_lists::CODE_OR_FUNCTION_CALLS.contains(&callee.as_str()) && arguments.first().is_some_and(is_function) {
            let function = arguments.remove(0);
            function.name.iter().for_each(|name| self.functions.called(name, &[]));
        }
        // `new Function("a", "b", "code")`
        if callee == "Function" && arguments.len() > 1 {
            arguments = arguments.split_off(arguments.len() - 1);
        }
        if let Some(meant) = self.meant(&callee, &arguments) {
            callee = meant;
        }
        let first = arguments.first().and_then(|argument| argument.text.clone());
        self.functions.called(&callee, &arguments);
        self.roots.extend(
            arguments
                .iter()
                .filter(|_| word_lists::MODULE_PATH_CALLS.contains(&callee.as_str()))
                .filter_map(|root| root.text.clone()),
        );
        // Modules that are named by a string.
        let module = match callee.as_str() {
            "require" | "__import__" | "importlib.import_module" | "import" | "sys.modules.get" | "modules.get" => {
                first.as_ref().map(|first| bare(first.rough()))
            }
            // A function that returns this module loads it, whatever its name is.
            _ if self.language == Language::Js && !(self.world.knows)(&callee) => {
                first.as_ref().map(|first| bare(first.rough())).filter(|name| name == "child_process")
            }
            _ => None,
        };
        if let Some(module) = module
            .filter(|_| matches!(self.language, Language::Js | Language::Python | Language::Mongo | Language::Lua))
        {
            if module.starts_with(['/', '.']) {
                self.calls.push(Call::new("run-file".into(), vec![super::value(&module)]));
            }
            // Code that is named by its address.
            if module.contains(':') {
                self.calls.push(Call::new(callee, vec![super::value(&module)]));
            }
            if matches!(self.language, Language::Python | Language::Lua) {
                self.imported(&module);
            } else if !module.starts_with(['/', '.']) && !module.contains([':', '\0']) {
                self.calls
                    .push(Call::new("import-package".into(), vec![super::value(&format!("node_modules/{module}"))]));
            }
            let name = super::names::plain_name(self.language, format!("{module}."));
            return Expression { name: Some(name.trim_end_matches('.').to_owned()), ..Expression::default() };
        }
        if super::names::prints(&callee) {
            self.printed(&arguments);
        }
        self.note_listing(&callee, &arguments);
        if let Some(reflected) = self.reflected(&callee, &of, &arguments) {
            return reflected;
        }
        if let Some(file) = read_here(&callee, &arguments) {
            self.calls.push(Call::new("run-file".into(), vec![file]));
            return Expression::default();
        }
        let secret = super::names::gives_secret(&callee, &of, &arguments);
        let counted = self.counts(&callee, &of, &arguments);
        if let Some(result) = counted.or_else(|| self.known_result(&callee, &of, &arguments)) {
            // `Dir.glob("*", &File.method(:delete))`
            let handed = self.hands_on(&callee, &of, &arguments).map(|(function, _)| function);
            handed.iter().for_each(|function| self.taken(function));
            if let (Some(list), Some(function)) = (&result.list, handed) {
                self.calls.push(Call::new(function, list.clone()));
            }
            return Expression { secret: secret || result.secret, ..result };
        }
        self.run_here(&callee, first.as_ref().map(Text::slice));
        if let Some((function, args)) = self.hands_on(&callee, &of, &arguments) {
            self.taken(&function);
            if args.is_empty() {
                return Expression::of_name(function);
            }
            self.calls.push(Call::new(function, args));
        }
        if let Some(call) = self.opens(&callee, of.subject.as_ref().map(Text::slice), &arguments) {
            let carried = call.args.clone();
            // A file that is opened for writing and closed at once is empty.
            if call.callee == "open.write" && self.leaves_empty(&arguments) {
                self.calls.push(Call::new("empty".into(), carried.clone()));
            }
            // Each of several files is opened separately.
            let files = if call.callee.starts_with("open.") { call.args.len() } else { 1 };
            match files {
                1 => self.calls.push(call),
                _ => self.calls.extend(call.args.into_iter().map(|path| Call::new(call.callee.clone(), vec![path]))),
            }
            return Expression { name: Some(callee), carried, called: true, ..Expression::default() };
        }
        // A method that is called by an unknown name.
        if let Some(receiver) = self.sends_unknown(&callee, first.as_ref().map(Text::slice)) {
            self.calls.push(Call::new("computed".into(), vec![Value::text(receiver)]));
        }
        if let Some((function, rest)) = self.handed_on(&callee, &arguments) {
            let args: Vec<Value> = rest.iter().cloned().flat_map(Expression::values).collect();
            self.calls.push(Call::new(function, args));
            return Expression::default();
        }
        if self.language == Language::Perl && matches!(callee.as_str(), "find" | "finddepth") {
            let place = arguments.last().and_then(|place| place.text.clone()).unwrap_or_default();
            for name in ["$_", "$File.Find.name"] {
                self.bound.insert(
                    name.to_owned(),
                    Expression::of_text(Text::joined([place.slice(), Text::from(Gap::Found).slice()])),
                );
            }
        }
        let signals = self.signals(&callee, &arguments);
        self.calls.extend(signals);
        // A statement is an argument of the client, and those of the connection are not part of it.
        let of_client = database::is_statement(&callee);
        let database = database::of_client(&of).filter(|_| of_client);
        let made = if of_client { self.tables_made(first.as_ref().map(Text::slice)) } else { None };
        let connection = of.carried.clone();
        let empty = arguments.last().is_some_and(|last| last.text.as_ref().is_some_and(Text::is_empty));
        // The mode of a pipe is not part of its command.
        let last = if callee.ends_with("popen") || callee == "proc_open" { 1 } else { arguments.len() };
        let carried: Vec<Value> = of
            .carried
            .into_iter()
            .filter(|_| !of_client && !database::is_of_repository(&callee))
            .chain(
                arguments
                    .into_iter()
                    .take(last)
                    .flat_map(Expression::values)
                    .flat_map(|value| if globs::takes(&callee) { globs::found([&value]) } else { vec![value] }),
            )
            .take(MAX_CARRIED)
            .collect();
        let noted = match self.language {
            Language::Mongo => callee.rsplit('.').next().unwrap_or_default().to_owned(),
            _ => callee.clone(),
        };
        let writes = callee.rsplit('.').next().is_some_and(|last| word_lists::TEXT_WRITING_CALLS.contains(&last));
        if writes && empty {
            self.calls.push(Call::new("empty".into(), carried.iter().take(1).cloned().collect()));
        }
        // If there are very many calls, undescribed ones are dropped.
        if self.calls.len() < super::MAX_CALLS / 2 || (self.world.knows)(&noted) {
            let mut args = carried.clone();
            if of_client {
                // Options of these calls are ignored.
                args.retain(|arg| {
                    !arg.is_option() || !["--made", "--database"].iter().any(|fact| arg.leading().starts_with(fact))
                });
            }
            let database = database.as_ref().map(|file| Value::join([&Value::text("--database="), file], ""));
            let facts = made.into_iter().chain(database).collect();
            self.calls.push(Call { facts, ..Call::new(noted, args) });
        }
        if database.is_some() {
            return Expression { name: Some(callee), carried: connection, called: true, ..Expression::default() };
        }
        if (self.world.fetches)(&callee) {
            return Expression { text: Some(Gap::Fetched.into()), name: Some(callee), ..Expression::default() };
        }
        Expression { name: Some(callee), carried, called: true, secret, ..Expression::default() }
    }
}

/// Reports whether an argument is true, false or null.
fn is_switch(argument: &Expression) -> bool {
    let is = |name: &str| matches!(name, "True" | "False" | "None" | "true" | "false" | "null" | "undefined" | "nil");
    argument.text.is_none() && argument.setting.is_none() && argument.name.as_deref().is_some_and(is)
}

/// Returns the file whose content runs as code: `exec(open(path).read())`.
fn read_here(callee: &str, arguments: &[Expression]) -> Option<Value> {
    let runs = matches!(callee.rsplit('.').next(), Some("exec" | "eval" | "runInThisContext" | "instance_eval"));
    let argument = arguments.first().filter(|argument| runs && argument.called)?;
    let name = argument.name.as_deref()?;
    let ends = |read: &&str| name.strip_suffix(read).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    let path = argument.carried.first().filter(|_| word_lists::TEXT_READING_CALLS.iter().any(ends))?;
    path.known().is_some().then(|| path.clone())
}

/// Reports whether a keyword argument is an operand of the call and not an option.
fn names_what_it_takes(keyword: &str, value: &Expression) -> bool {
    word_lists::SUBJECT_KEYWORDS.contains(&keyword) && (value.text.is_some() || value.list.is_some())
        || word_lists::FUNCTION_KEYWORDS.contains(&keyword) && value.name.is_some()
}

fn is_keyword(name: &str) -> bool {
    const WORDS: &str = "if unless while until for foreach and or not return else elsif do then end my our local use no \
                         in when case puts p print say require require_relative raise die warn eq ne x printf";
    WORDS.split(' ').any(|word| word == name)
}
