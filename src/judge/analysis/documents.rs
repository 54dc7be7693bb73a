//! Code in documents that a program runs as it renders them: the cells of a notebook, the chunks of a report.
//!
//! What may not enter: what the code does, which its language's reader says.

use serde_json::Value as Json;

/// The code in a notebook of Jupyter, cell by cell; what is no notebook has none.
/// Source: the notebook format 4, `cells[].cell_type` and `cells[].source`.
pub fn code_cells(text: &str) -> String {
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

/// The chunks of a report in Markdown with the engine that each names (```` ```{r setup} ````), in order.
/// Source: R Markdown and Quarto; a fence without braces is shown and not run.
pub fn code_chunks(text: &str) -> Vec<(String, String)> {
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
    use super::code_chunks;

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
