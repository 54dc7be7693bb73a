//! Extracts the code that a program runs when it renders a document: the cells of a notebook, the chunks of a report.
//!
//! Out of scope: the analysis of the code.

use serde_json::Value as Json;

/// Returns the code in a document of this kind, each part with its language or engine; `None`: there is no such kind.
pub fn parts(kind: &str, text: &str) -> Option<Vec<(String, String)>> {
    let whole = |language: &str, code| vec![(language.to_owned(), code)];
    match kind {
        "notebook" => Some(whole("ipython", code_cells(text))),
        "report" => Some(code_chunks(text)),
        "doctest" => Some(whole("python", typed_lines(text))),
        "robot" => Some(whole("other", keyword_calls(text))),
        _ => None,
    }
}

/// Returns the Python code of examples, after `>>> ` and `... `. Source: the doctest module.
fn typed_lines(text: &str) -> String {
    let typed = |line: &str| {
        let line = line.trim_start();
        let code = [">>> ", "... "].iter().find_map(|mark| line.strip_prefix(mark));
        code.or_else(|| (line.trim_end() == "...").then_some("")).map(|code| format!("{code}\n"))
    };
    text.lines().filter_map(typed).collect()
}

/// Returns the keyword calls in a suite of Robot Framework, each as `the-keyword("argument", …)`. Cells are separated
/// by two blanks, a tab or a bar; case, blanks and underscores in a name are not significant. Source: the Robot
/// Framework User Guide.
fn keyword_calls(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines().filter(|line| line.starts_with([' ', '\t', '|'])) {
        let line = line.replace('\t', "  ").replace(" | ", "  ");
        let cells = line.trim_start_matches('|').split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        // A cell such as `${x}=` names the variable for the result.
        let mut cells = cells.skip_while(|cell| cell.starts_with(['$', '@', '&', '[']) || *cell == "...");
        let Some(keyword) = cells.next().filter(|cell| cell.starts_with(|c: char| c.is_ascii_alphabetic())) else {
            continue;
        };
        let keyword = keyword.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().replace([' ', '_'], "-");
        let text = |cell: &str| format!("\"{}\"", cell.replace('\\', "\\\\").replace('"', "\\\""));
        let arguments = cells.map(text).collect::<Vec<_>>().join(", ");
        code.push_str(&format!("{keyword}({arguments})\n"));
    }
    code
}

/// Returns the code in the cells of a Jupyter notebook; empty for another file. Source: the notebook format 4,
/// `cells[].cell_type` and `cells[].source`.
fn code_cells(text: &str) -> String {
    let notebook: Json = serde_json::from_str(text).unwrap_or_default();
    let cells = notebook.get("cells").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    let code = cells.iter().filter(|cell| cell.get("cell_type").and_then(Json::as_str) == Some("code"));
    let source = |cell: &Json| match cell.get("source") {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(lines)) => lines.iter().filter_map(Json::as_str).collect(),
        _ => String::new(),
    };
    code.map(source).collect::<Vec<_>>().join("\n")
}

/// Returns the chunks of a report in Markdown with their engines (```` ```{r setup} ````), in order. Code in a fence
/// without braces does not run. Source: R Markdown and Quarto.
fn code_chunks(text: &str) -> Vec<(String, String)> {
    let mut chunks: Vec<(String, String)> = Vec::new();
    let mut fence: Option<(usize, bool)> = None;
    for line in text.lines() {
        let bare = line.trim_start().trim_start_matches(['>', ' ']);
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match fence {
            Some((open, _)) if ticks >= open && bare.trim_end().len() == ticks => fence = None,
            Some((_, true)) => {
                if let Some((_, code)) = chunks.last_mut() {
                    code.push_str(line);
                    code.push('\n');
                }
            }
            Some((_, false)) => {}
            None if ticks >= 3 => {
                let (_, info) = bare.split_at(ticks);
                let engine = info.trim().strip_prefix('{').map(|info| info.trim_start_matches('.'));
                let engine = engine.and_then(|info| info.split([' ', ',', '}', '\t']).next());
                if let Some(engine) = engine {
                    chunks.push((engine.to_ascii_lowercase(), String::new()));
                }
                fence = Some((ticks, engine.is_some()));
            }
            None => {}
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::{code_chunks, parts};

    #[test]
    fn a_document_has_the_code_that_it_runs() {
        let of = |kind: &str, text: &str| parts(kind, text).unwrap_or_default();
        let one = |language: &str, code: &str| vec![(language.to_owned(), code.to_owned())];
        let typed =
            "def f():\n    \"\"\"x\n    >>> for a in b:\n    ...     c(a)\n    ...\n    1\n    >>> d\n    \"\"\"\n";
        assert_eq!(of("doctest", typed), one("python", "for a in b:\n    c(a)\n\nd\n"));
        let suite = "*** Test Cases ***\nRun Process\n    ${r}=    Run Process    rm    -r    a b\n    [Tags]    x\n\
            \tOperatingSystem.Remove_File\ta \"b\"\n| | Log | x |\n    # Run    x\n";
        let calls = "run-process(\"rm\", \"-r\", \"a b\")\nx()\nremove-file(\"a \\\"b\\\"\")\nlog(\"x |\")\n";
        assert_eq!(of("robot", suite), one("other", calls));
        let book =
            r#"{"cells": [{"cell_type": "code", "source": ["a\n", "b"]}, {"cell_type": "markdown", "source": "c"}]}"#;
        assert_eq!(of("notebook", book), one("ipython", "a\nb"));
        assert_eq!(parts("python", "x"), None);
    }

    #[test]
    fn the_chunks_that_run_are_taken_with_their_engine() {
        let text = "---\ntitle: x\n---\nIt's `r 1`.\n\n```{r setup, include=FALSE}\na()\nb()\n```\n\n```r\nshown()\n```\n\
            ````{python}\n```\nc\n````\n> ```{.bash}\nls\n```\n```{R}\nopen";
        let chunk = |engine: &str, code: &str| (engine.to_owned(), code.to_owned());
        let chunks =
            [chunk("r", "a()\nb()\n"), chunk("python", "```\nc\n"), chunk("bash", "ls\n"), chunk("r", "open\n")];
        assert_eq!(code_chunks(text), chunks);
        assert_eq!(code_chunks("no chunk\n~~~\nx\n"), []);
    }
}
