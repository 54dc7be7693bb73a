//! Converts a manual page to plain text, for systems without `man`. Supports the macros and escapes of guard's own
//! pages.
//!
//! Out of scope: other pages.

use crate::ui::wrap;

/// The indentation of text, and of each list in addition.
const INDENT: usize = 4;

/// The largest width of prose, because wider lines are hard to read.
const WIDEST: usize = 100;

/// Converts a page. Prose is wrapped to this many columns.
#[must_use]
pub fn page(source: &str, columns: usize) -> String {
    let mut page = Page { columns: columns.min(WIDEST), indent: INDENT, ..Page::default() };
    for line in source.lines() {
        page.line(line);
    }
    page.flush();
    page.out.trim_end().to_owned() + "\n"
}

#[derive(Debug, Default)]
struct Page {
    out: String,
    columns: usize,
    indent: usize,
    /// The words of the current paragraph.
    words: String,
    /// The mark of an item, before its paragraph.
    mark: String,
    /// Whether lines are kept unchanged.
    verbatim: bool,
    /// The rows of the current table, if any.
    table: Option<Vec<Vec<String>>>,
    /// Whether the next line is the term of an item.
    is_term: bool,
    /// Whether the items have a bullet, for each open list.
    bullets: Vec<bool>,
}

impl Page {
    fn line(&mut self, line: &str) {
        let request = line.strip_prefix(['.', '\'']);
        if let Some(rows) = &mut self.table
            && request.is_none_or(|request| !request.starts_with("TE"))
        {
            if line.contains('\t') {
                rows.push(line.split('\t').map(shown).collect());
            }
            return;
        }
        match request {
            Some(request) => self.request(request.trim()),
            None if self.is_term => self.term(&shown(line)),
            None if self.verbatim => self.kept(&shown(line)),
            None if line.trim().is_empty() => self.paragraph(),
            None => self.say(&shown(line)),
        }
    }

    fn request(&mut self, request: &str) {
        let (name, rest) = request.split_once(char::is_whitespace).unwrap_or((request, ""));
        let words = inline(rest);
        match name {
            "SH" | "Sh" => self.heading(&words, 0),
            "SS" | "Ss" => self.heading(&words, INDENT / 2),
            "PP" | "Pp" | "LP" | "P" => self.paragraph(),
            "TP" => {
                self.paragraph();
                self.indent = INDENT;
                self.is_term = true;
            }
            "IP" => {
                self.paragraph();
                self.mark = format!("{} ", quoted(rest).first().cloned().unwrap_or_default());
            }
            "RS" | "Bd" | "nf" => {
                self.flush();
                self.gap();
                self.verbatim = name != "RS";
                self.indent += if name == "nf" { 0 } else { INDENT };
            }
            "RE" | "Ed" | "fi" => {
                self.flush();
                self.verbatim = false;
                self.indent = self.indent.saturating_sub(if name == "fi" { 0 } else { INDENT }).max(INDENT);
                self.gap();
            }
            "Bl" => {
                self.flush();
                self.gap();
                self.bullets.push(rest.contains("-bullet"));
                self.indent += INDENT;
            }
            "El" => {
                self.flush();
                self.bullets.pop();
                self.indent = self.indent.saturating_sub(INDENT).max(INDENT);
                self.gap();
            }
            "It" => {
                self.flush();
                if self.bullets.last() == Some(&true) {
                    self.mark = "- ".to_owned();
                } else {
                    self.put(self.indent.saturating_sub(INDENT), &words);
                }
            }
            "TS" => {
                self.flush();
                self.table = Some(Vec::new());
            }
            "TE" => self.tabulate(),
            "Dl" => {
                self.flush();
                self.kept(&words);
            }
            "br" => self.flush(),
            "Nd" => self.say(&format!("- {words}")),
            // Ignore titles, string definitions and conditionals.
            "TH" | "Dd" | "Dt" | "Os" | "ie" | "el" | "ds" | "\\\"" | "" => {}
            _ if self.is_term => self.term(&inline(request)),
            _ => self.say(&inline(request)),
        }
    }

    fn say(&mut self, text: &str) {
        let closes = text.starts_with(['.', ',', ';', ':', ')']) && text.len() == 1;
        if !self.words.is_empty() && !closes {
            self.words.push(' ');
        }
        self.words.push_str(text);
    }

    fn term(&mut self, text: &str) {
        self.is_term = false;
        self.put(self.indent, text);
        self.indent = INDENT * 2;
    }

    fn heading(&mut self, text: &str, indent: usize) {
        self.flush();
        self.gap();
        (self.indent, self.verbatim) = (INDENT, false);
        self.put(indent, text);
    }

    fn paragraph(&mut self) {
        self.flush();
        self.gap();
    }

    /// Appends a line without wrapping it.
    fn kept(&mut self, text: &str) {
        self.out.push_str(format!("{}{text}", " ".repeat(self.indent)).trim_end());
        self.out.push('\n');
    }

    /// Appends the current paragraph.
    fn flush(&mut self) {
        let (words, mark) = (std::mem::take(&mut self.words), std::mem::take(&mut self.mark));
        if !words.is_empty() {
            self.put(self.indent, &format!("{mark}{words}"));
        }
    }

    fn put(&mut self, indent: usize, text: &str) {
        for line in wrap::prose(text, self.columns.saturating_sub(indent).max(16)) {
            self.out.push_str(format!("{}{line}", " ".repeat(indent)).trim_end());
            self.out.push('\n');
        }
    }

    fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// Appends the table. Its columns have the width of their widest cell; if that is too wide, the rows are wrapped.
    fn tabulate(&mut self) {
        let rows = self.table.take().unwrap_or_default();
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..count).map(|at| wide(at).unwrap_or(0) + 2).collect();
        let fits = self.indent + widths.iter().sum::<usize>() <= self.columns;
        for row in &rows {
            if fits {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
                self.kept(&cells.collect::<String>());
            } else {
                self.put(self.indent, &row.join("  "));
            }
        }
        self.gap();
    }
}

/// Formats a line with inline macros: removes their names, and inserts the punctuation that they add.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let (mut glue, mut dash, mut closing) = (false, false, Vec::new());
    let mut quote = false;
    for word in quoted(text) {
        match word.as_str() {
            "Fl" => {
                dash = true;
                continue;
            }
            "Ns" => {
                glue = true;
                continue;
            }
            "Op" | "Pq" | "Po" | "Pc" | "Dq" | "Sq" => {
                let (open, close) = match word.as_str() {
                    "Op" => ("[", "]"),
                    "Dq" | "Sq" => ("\"", "\""),
                    "Pc" => ("", ")"),
                    _ => ("(", ")"),
                };
                if word == "Pc" {
                    out.push_str(close);
                    continue;
                }
                if !out.is_empty() && !glue {
                    out.push(' ');
                }
                out.push_str(open);
                if word != "Po" {
                    closing.push(close);
                }
                glue = true;
                continue;
            }
            "Ql" | "Cm" | "Ic" | "Pa" | "Xr" | "Ev" | "Ar" | "Nm" | "Li" | "Em" | "Sy" | "Sx" | "B" | "I" | "BR" => {
                quote = word == "Xr";
                continue;
            }
            _ => {}
        }
        let closes = matches!(word.as_str(), "." | "," | ";" | ":" | ")" | "]");
        // `Xr guard 1` becomes guard(1).
        if quote && word.chars().all(|c| c.is_ascii_digit()) && word.len() == 1 {
            out.push_str(&format!("({word})"));
            quote = false;
            continue;
        }
        if closes {
            out.extend(closing.drain(..).rev());
        } else if !out.is_empty() && !glue {
            out.push(' ');
        }
        if std::mem::take(&mut dash) {
            out.push('-');
        }
        out.push_str(&shown(&word));
        glue = false;
    }
    out.extend(closing.into_iter().rev());
    out
}

/// Splits a request into words. Quotes group words.
fn quoted(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(inside) => inside.split_once('"').unwrap_or((inside, "")),
            None => {
                // A blank after a backslash is part of the word.
                let at = rest.char_indices().find(|(at, c)| c.is_whitespace() && !rest[..*at].ends_with('\\'));
                at.map_or((rest, ""), |(at, _)| rest.split_at(at))
            }
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// Replaces the escapes of a text.
fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut letters = after.chars();
        rest = match letters.next() {
            Some('f') => letters.as_str().get(1..).unwrap_or_default(),
            Some('&') => letters.as_str(),
            Some('e') => {
                out.push('\\');
                letters.as_str()
            }
            Some('(') => {
                let name = letters.as_str().get(..2).unwrap_or_default();
                out.push(match name {
                    "aq" => '\'',
                    "dq" => '"',
                    "bu" => '•',
                    _ => '?',
                });
                letters.as_str().get(2..).unwrap_or_default()
            }
            // `\*(Aq` is an apostrophe.
            Some('*') => {
                out.push('\'');
                letters.as_str().strip_prefix("(Aq").unwrap_or(letters.as_str())
            }
            Some('[') => {
                let (name, after) = letters.as_str().split_once(']').unwrap_or(("", ""));
                let code = name.strip_prefix('u').and_then(|code| u32::from_str_radix(code, 16).ok());
                out.push(code.and_then(char::from_u32).unwrap_or('?'));
                after
            }
            Some('"') => "",
            Some(letter) => {
                out.push(letter);
                letters.as_str()
            }
            None => "",
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{inline, page, shown};
    use crate::app::man::PAGES;
    use crate::ui::style::width;

    #[test]
    fn macros_and_escapes_become_what_they_stand_for() {
        assert_eq!(inline(r"Fl \-json , Ar FILE Pq see Xr guard 1 ."), "--json, FILE (see guard(1)).");
        assert_eq!(shown(r"\fB\-h\fR, it\(aqs \*(Aqhere\*(Aq \(bu \e"), "-h, it's 'here' • \\");
    }

    #[test]
    fn of_every_page_no_macro_is_left_and_prose_fits() {
        for (name, _, source) in PAGES {
            for columns in [40, 80] {
                let text = page(&source.text(), columns);
                assert!(text.contains("NAME") && text.lines().count() > 40, "{name}:\n{text}");
                for line in text.lines() {
                    assert!(!line.starts_with('.') && !line.contains("\\f") && !line.contains("\\-"), "{name}: {line}");
                }
                // Only a small part of a page, mainly examples, is not wrapped.
                let wide = text.lines().filter(|line| width(line) > columns).count();
                assert!(wide * 4 < text.lines().count(), "{name} at {columns}: {wide}");
            }
        }
    }
}
