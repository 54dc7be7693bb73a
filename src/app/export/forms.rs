//! Converts a row to each export format. No I/O.

use serde_json::{Value, json};

use crate::judge::risk::Tier;
use crate::store::{Entry, RowKind};
use crate::ui::visible::hides;

/// Returns the action of a row for all formats: hyphenated words that say what happened.
pub(super) fn action(entry: &Entry) -> &'static str {
    let is_call = entry.tool.is_some();
    match (entry.kind, entry.decision.as_deref()) {
        (RowKind::Intent | RowKind::Advised, Some("allow")) if is_call => "call-allowed",
        (RowKind::Intent | RowKind::Advised, Some("deny")) if is_call => "call-denied",
        (RowKind::Intent | RowKind::Advised, _) if is_call => "call-asked",
        (RowKind::Intent | RowKind::Advised, Some("allow")) => "command-allowed",
        (RowKind::Intent | RowKind::Advised, Some("deny")) => "command-denied",
        (RowKind::Intent | RowKind::Advised, _) => "command-asked",
        (RowKind::Result, _) => "command-ended",
        (RowKind::Grant, _) => "grant-given",
        (RowKind::Revoked, _) => "grant-revoked",
        (RowKind::Pruned, _) => "record-pruned",
        (RowKind::Answered, Some("allow")) => "request-approved",
        (RowKind::Answered, _) => "request-denied",
        (RowKind::Resumed, _) => "session-resumed",
        (RowKind::Taken, _) => "request-used",
    }
}

/// Returns the head of the chain at this row, in the format of `guard verify --head`.
pub(super) fn head(entry: &Entry) -> String {
    format!("{}:{}", entry.id, entry.hash)
}

/// Reports whether the row is a decision about a command or a tool call.
fn is_decided(entry: &Entry) -> bool {
    matches!(entry.kind, RowKind::Intent | RowKind::Advised)
}

fn is_command(entry: &Entry) -> bool {
    is_decided(entry) && entry.tool.is_none()
}

/// Returns the command line of a process, or `None` for a tool call: its text is not a command line that a consumer
/// could parse.
fn command_line(entry: &Entry) -> Option<&str> {
    entry.command.as_deref().filter(|_| entry.tool.is_none())
}

/// Returns a tool call with its input, as the record stores it.
fn call(entry: &Entry) -> Option<&str> {
    entry.command.as_deref().filter(|_| entry.tool.is_some())
}

pub(super) fn rules(entry: &Entry) -> Vec<&str> {
    entry.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

/// Returns the reason of the worst finding, followed by the words that came with the answer.
pub(super) fn reason(entry: &Entry) -> String {
    let worst = entry.findings.iter().max_by_key(|finding| (finding.tier, finding.weight));
    let parts = [worst.map(|finding| finding.reason.as_str()), entry.words.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Removes empty values, so that every field has content.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.values_mut().for_each(|value| *value = without_nulls(value.take()));
            let says = |value: &Value| match value {
                Value::Null => false,
                Value::Object(fields) => !fields.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::String(text) => !text.is_empty(),
                _ => true,
            };
            fields.retain(|_, value| says(value));
            Value::Object(fields)
        }
        other => other,
    }
}

/// Converts a row to the Elastic Common Schema.
pub(super) fn ecs(entry: &Entry, host: &str) -> Value {
    let (what, name) = match entry.tool {
        Some(_) => ("api", "call-approval"),
        None => ("process", "command-approval"),
    };
    let (category, kinds, outcome) = match (is_decided(entry), entry.decision.as_deref()) {
        (true, Some("allow")) => (what, vec!["start", "allowed"], "success"),
        (true, Some("deny")) => (what, vec!["start", "denied"], "failure"),
        (true, _) => (what, vec!["start", "info"], "unknown"),
        (false, Some("deny")) => ("iam", vec!["denied"], "failure"),
        (false, _) => ("configuration", vec!["change"], "success"),
    };
    let result = entry.result.as_ref();
    without_nulls(json!({
        "@timestamp": entry.time,
        "ecs": { "version": "9.2.0" },
        "event": {
            "kind": "event", "category": [category], "type": kinds, "outcome": outcome, "module": "guard",
            "action": if is_decided(entry) { name } else { action(entry) },
            "id": entry.id.to_string(), "reason": reason(entry),
            "severity": entry.tier.map(Tier::number),
            "duration": result.map(|result| result.duration_ms.saturating_mul(1_000_000)),
        },
        "process": {
            "command_line": command_line(entry), "working_directory": entry.cwd,
            "exit_code": result.and_then(|result| result.exit),
        },
        "user": { "name": entry.user },
        "host": { "name": host },
        "rule": { "id": rules(entry) },
        "gen_ai": { "agent": { "name": entry.agent }, "tool": { "name": entry.tool } },
        "guard": guard(entry),
    }))
}

/// Returns the values for which the schemas have no field.
fn guard(entry: &Entry) -> Value {
    json!({
        "kind": entry.kind.name(), "tool": entry.tool, "call": call(entry), "decision": entry.decision, "settled_by": entry.settled_by,
        "provenance": entry.provenance, "score": entry.score, "reversibility": entry.reversibility,
        "session": entry.session, "origin": entry.origin, "answer_ms": entry.answer_ms, "redacted": entry.redacted,
        "signal": entry.result.as_ref().and_then(|result| result.signal), "hash": entry.hash, "head": head(entry),
    })
}

/// Converts a row to the Open Cybersecurity Schema Framework: Process Activity for a command, API Activity for
/// everything else.
pub(super) fn ocsf(entry: &Entry, host: &str) -> Value {
    let person = entry.settled_by.as_deref() == Some("person");
    let (action_id, disposition_id) = match (entry.decision.as_deref(), entry.settled_by.as_deref()) {
        (Some("allow"), _) if person => (1, 8),
        (Some("allow"), _) => (1, 1),
        (Some("deny"), Some("unrecorded")) => (2, 27),
        (Some("deny"), _) if person => (2, 25),
        (Some("deny"), _) => (2, 2),
        (Some("ask"), _) => (0, 14),
        _ => (0, 0),
    };
    let (class, category, activity) = if is_command(entry) { (1007, 1, 1) } else { (6003, 6, 99) };
    let level = entry.tier.map(Tier::number);
    let result = entry.result.as_ref();
    let status = match entry.decision.as_deref() {
        Some("deny") => 2,
        Some("allow") => 1,
        _ => 0,
    };
    without_nulls(json!({
        "class_uid": class, "category_uid": category, "activity_id": activity, "type_uid": class * 100 + activity,
        "activity_name": action(entry),
        "time": entry.time.as_millisecond(),
        "severity_id": level.map_or(1, |level| level + 1),
        "risk_level_id": level,
        "status_id": status, "action_id": action_id, "disposition_id": disposition_id,
        "message": reason(entry),
        "metadata": {
            "version": "1.9.0-dev", "uid": entry.id.to_string(),
            "product": { "name": "guard", "vendor_name": "guard", "version": env!("CARGO_PKG_VERSION") },
            "profiles": ["security_control", "host", "ai_operation"],
        },
        "policy": { "name": rules(entry).first() },
        "launch_type_id": is_command(entry).then_some(3),
        "exit_code": result.and_then(|result| result.exit),
        "duration": result.map(|result| result.duration_ms),
        "process": { "cmd_line": command_line(entry), "working_directory": entry.cwd, "user": { "name": entry.user } },
        "actor": { "user": { "name": entry.user }, "session": { "uid": entry.session } },
        "api": { "operation": entry.tool },
        "ai_agent": { "name": entry.agent, "instance_uid": entry.agent.as_ref().and(entry.session.as_ref()) },
        "device": { "hostname": host },
        "unmapped": guard(entry),
    }))
}

/// Returns an OpenTelemetry attribute, or `None` if the value is empty.
fn attribute(name: &str, value: Value) -> Option<Value> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| json!({ "key": name, "value": { "stringValue": text } })),
        // OTLP encodes 64-bit integers as strings.
        Value::Number(number) => Some(json!({ "key": name, "value": { "intValue": number.to_string() } })),
        _ => None,
    }
}

/// Converts rows to OpenTelemetry log records in OTLP's JSON encoding.
pub(super) fn otlp(entries: &[Entry], host: &str) -> Value {
    let resource: Vec<Value> = [("service.name", json!("guard")), ("host.name", json!(host))]
        .into_iter()
        .filter_map(|(name, value)| attribute(name, value))
        .collect();
    json!({ "resourceLogs": [{
        "resource": { "attributes": resource },
        "scopeLogs": [{
            "scope": { "name": "guard", "version": env!("CARGO_PKG_VERSION") },
            "logRecords": entries.iter().map(otlp_record).collect::<Vec<_>>(),
        }],
    }] })
}

fn otlp_record(entry: &Entry) -> Value {
    let denied = entry.decision.as_deref() == Some("deny");
    let (severity, text) = match (entry.settled_by.as_deref(), denied) {
        (Some("attempt" | "edited"), _) => (17, "ERROR"),
        (_, true) => (13, "WARN"),
        _ => (9, "INFO"),
    };
    let result = entry.result.as_ref();
    let attributes = [
        ("guard.id", json!(entry.id)),
        ("guard.action", json!(action(entry))),
        ("guard.decision", json!(entry.decision)),
        ("guard.settled_by", json!(entry.settled_by)),
        ("guard.provenance", json!(entry.provenance)),
        ("guard.tier", json!(entry.tier.map(Tier::number))),
        ("guard.rules", json!(rules(entry).join(" "))),
        ("guard.reason", json!(reason(entry))),
        ("guard.session", json!(entry.session)),
        ("guard.answer_ms", json!(entry.answer_ms)),
        ("guard.about", json!(entry.about)),
        ("guard.hash", json!(entry.hash.to_string())),
        ("guard.head", json!(head(entry))),
        ("process.command_line", json!(command_line(entry))),
        ("process.working_directory", json!(entry.cwd)),
        ("process.exit.code", json!(result.and_then(|result| result.exit))),
        ("user.name", json!(entry.user)),
        ("gen_ai.agent.name", json!(entry.agent)),
        ("gen_ai.operation.name", json!(entry.tool.as_ref().map(|_| "execute_tool"))),
        ("gen_ai.tool.name", json!(entry.tool)),
    ];
    let attributes: Vec<Value> = attributes.into_iter().filter_map(|(name, value)| attribute(name, value)).collect();
    json!({
        "timeUnixNano": entry.time.as_nanosecond().to_string(),
        "severityNumber": severity, "severityText": text, "eventName": "guard.decision",
        "body": { "stringValue": entry.command.as_deref().unwrap_or_else(|| action(entry)) },
        "attributes": attributes,
    })
}

/// Converts a row to the Common Event Format.
pub(super) fn cef(entry: &Entry, host: &str) -> String {
    let name = action(entry);
    let severity = entry.tier.map_or(1, |tier| [0, 2, 5, 8, 10][usize::from(tier.number().min(4))]);
    let title = name.replace('-', " ");
    let title = title.get(..1).unwrap_or_default().to_uppercase() + title.get(1..).unwrap_or_default();
    let mut line = format!("CEF:0|guard|guard|{}|{name}|{title}|{severity}|", env!("CARGO_PKG_VERSION"));
    let outcome = match entry.decision.as_deref() {
        Some("deny") => "failure",
        Some("allow") => "success",
        _ => "unknown",
    };
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let number = |number: Option<String>| number.unwrap_or_default();
    let result = entry.result.as_ref();
    let fields = [
        ("rt", entry.time.as_millisecond().to_string()),
        ("act", optional(&entry.decision)),
        ("outcome", outcome.to_owned()),
        ("externalId", entry.id.to_string()),
        ("dvchost", host.to_owned()),
        ("suser", optional(&entry.user)),
        ("reason", reason(entry)),
        ("cs1Label", if entry.tool.is_some() { "call" } else { "command" }.to_owned()),
        ("cs1", optional(&entry.command)),
        ("cs2Label", "rule".to_owned()),
        ("cs2", rules(entry).join(",")),
        ("cs3Label", "directory".to_owned()),
        ("cs3", optional(&entry.cwd)),
        ("cs4Label", "session".to_owned()),
        ("cs4", optional(&entry.session)),
        ("cs5Label", "agent".to_owned()),
        ("cs5", optional(&entry.agent)),
        ("cs6Label", "settledBy".to_owned()),
        ("cs6", optional(&entry.settled_by)),
        ("guardHead", head(entry)),
        ("guardTool", optional(&entry.tool)),
        ("cn1Label", "tier".to_owned()),
        ("cn1", number(entry.tier.map(|tier| tier.number().to_string()))),
        ("cn2Label", "exitCode".to_owned()),
        ("cn2", number(result.and_then(|result| result.exit).map(|code| code.to_string()))),
    ];
    // Omit a label whose value is empty.
    let says = |at: usize| {
        fields.get(at).is_some_and(|(name, value)| {
            !value.is_empty()
                && (!name.ends_with("Label") || fields.get(at + 1).is_some_and(|(_, next)| !next.is_empty()))
        })
    };
    let told = fields.iter().enumerate().filter(|(at, _)| says(*at));
    let told: Vec<String> = told.map(|(_, (name, value))| format!("{name}={}", cef_value(value))).collect();
    line.push_str(&told.join(" "));
    line
}

/// Escapes the characters that end a CEF value.
fn cef_value(text: &str) -> String {
    plain(&text.replace('\\', "\\\\").replace('=', "\\="))
}

/// Replaces characters that a terminal or a line-based parser interprets, and those that are invisible, by `\n`, `\r`,
/// `\xHH` or `\u{HHHH}`.
fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        c if c.is_ascii_control() => format!("\\x{:02x}", u32::from(c)),
        c if c.is_control() || hides(c) => format!("\\u{{{:x}}}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

pub(super) const CSV_HEAD: &str = "id,time,kind,decision,settled_by,provenance,tier,score,reversibility,rules,command,directory,\
    user,origin,agent,session,answer_ms,exit,signal,duration_ms,words,hash,tool";

/// Converts a row to comma-separated values (RFC 4180), one line per row. A spreadsheet would compute a cell that begins
/// like a formula, so an apostrophe precedes it.
pub(super) fn csv(entry: &Entry) -> String {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let result = entry.result.as_ref();
    let number = |number: Option<i64>| number.map_or_else(String::new, |number| number.to_string());
    let cells = [
        entry.id.to_string(),
        entry.time.to_string(),
        entry.kind.name().to_owned(),
        optional(&entry.decision),
        optional(&entry.settled_by),
        optional(&entry.provenance),
        entry.tier.map_or_else(String::new, |tier| tier.number().to_string()),
        entry.score.map_or_else(String::new, |score| score.to_string()),
        entry.reversibility.map_or_else(String::new, |back| back.name().to_owned()),
        rules(entry).join(" "),
        optional(&entry.command),
        optional(&entry.cwd),
        optional(&entry.user),
        optional(&entry.origin),
        optional(&entry.agent),
        optional(&entry.session),
        number(entry.answer_ms),
        number(result.and_then(|result| result.exit).map(i64::from)),
        number(result.and_then(|result| result.signal).map(i64::from)),
        number(result.map(|result| result.duration_ms)),
        optional(&entry.words),
        entry.hash.to_string(),
        optional(&entry.tool),
    ];
    cells.iter().map(|text| csv_cell(text)).collect::<Vec<_>>().join(",")
}

fn csv_cell(text: &str) -> String {
    let text = plain(text);
    let apostrophe = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    match text.contains(['"', ',']) {
        true => format!("\"{apostrophe}{}\"", text.replace('"', "\"\"")),
        false => format!("{apostrophe}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_holds_a_raw_control() {
        assert_eq!(plain("a\u{1b}[31m\u{202e}\u{9b}b\u{200b}"), "a\\x1b[31m\\u{202e}\\u{9b}b\\u{200b}");
        assert_eq!(cef_value("a=\n\r\u{7}\\"), "a\\=\\n\\r\\x07\\\\");
    }

    #[test]
    fn a_cell_is_one_line_and_no_formula() {
        assert_eq!(csv_cell("a\n\"b\", c"), "\"a\\n\"\"b\"\", c\"");
        for start in ["=", "+", "-", "@"] {
            assert_eq!(csv_cell(&format!("{start}1")), format!("'{start}1"));
            assert_eq!(csv_cell(&format!("{start}1,2")), format!("\"'{start}1,2\""));
        }
        assert_eq!(csv_cell("rm -rf x"), "rm -rf x");
    }
}
