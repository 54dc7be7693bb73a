//! Describes what each part of a command does: converts acts to the tree for [`super::explain`].

use super::explain::PartView;
use crate::judge::Judgment;
use crate::judge::analysis::act::{
    Act, Disguise, Effect, Facts, Input, Operand, Piece, RemoteKind, Source, Unknown, UnknownReason, Value, Verb,
};
use crate::judge::risk::{Finding, Tier};
use crate::judge::sort;
use crate::judge::syntax::tree::Span;

/// Returns the parts of a command: each program that would run, in the order of the text, below its enclosing part,
/// with its effects; then the parts that could not be analysed.
#[must_use]
pub fn parts(command: &[u8], judgment: &Judgment) -> Vec<PartView> {
    let (facts, findings) = (&judgment.facts, judgment.risk.findings.as_slice());
    let mut programs: Vec<(usize, &Act)> =
        facts.acts.iter().enumerate().filter(|(_, act)| matches!(act.verb, Verb::Program { .. })).collect();
    // An enclosing part comes first; for equal positions, the one that was found first.
    sort::sort_by_key(&mut programs, |(number, act)| (act.span.start, std::cmp::Reverse(act.span.end), *number));
    // If everything runs as root, the card says so once.
    let root_is_news = !programs.iter().any(|(_, act)| act.root && act.wrappers.is_empty());
    let mut parts: Vec<PartView> = Vec::new();
    let mut spans: Vec<Span> = Vec::new();
    // The number of times that each part occurs outside of the command.
    let mut times: Vec<u64> = Vec::new();
    let mut enclosing: Vec<Span> = Vec::new();
    for (number, act) in programs {
        while enclosing.pop_if(|outer| *outer != act.span && !encloses(*outer, act.span)).is_some() {}
        let effects: Vec<usize> = (0..facts.acts.len())
            .filter(|other| facts.acts.get(*other).is_some_and(|effect| effect.parent == Some(number)))
            .collect();
        let mut does: Vec<String> = Vec::new();
        let summary = summary(act, facts, &effects);
        does.push(summary);
        does.extend(circumstances(act, root_is_news));
        let about = |finding: &Finding| finding.act.is_some_and(|act| act == number || effects.contains(&act));
        let found = findings.iter().enumerate().filter(|(_, finding)| about(finding)).map(|(index, _)| index);
        let same = enclosing.last() == Some(&act.span);
        // A part may be reached by several branches, and a script may call a program several times.
        let twin = spans.iter().zip(&parts).position(|(span, part)| same && *span == act.span && part.does == does);
        match twin.and_then(|twin| parts.get_mut(twin).zip(times.get_mut(twin))) {
            Some((part, times)) => {
                part.findings.extend(found);
                *times += 1;
            }
            None => {
                // A part from a script or code is at the position of its call, without a text.
                let text = if same { Vec::new() } else { slice(command, act.span).to_vec() };
                parts.push(PartView { depth: enclosing.len(), text, does, findings: found.collect() });
                spans.push(act.span);
                times.push(1_u64);
                if !same {
                    enclosing.push(act.span);
                }
            }
        }
    }
    for (part, times) in parts.iter_mut().zip(times).filter(|(part, times)| *times > 1 && part.text.is_empty()) {
        part.does.insert(1, format!("{times} times"));
    }
    // A redirection without a program: `> file`.
    for (number, act) in facts.acts.iter().enumerate() {
        if let (Verb::Effect(effect), None) = (&act.verb, act.parent) {
            parts.push(PartView {
                depth: 0,
                text: slice(command, act.span).to_vec(),
                does: vec![effect_words(*effect, &act.operands)],
                findings: about_act(findings, number),
            });
        }
    }
    for opaque in &facts.opaque {
        let at = |finding: &Finding| finding.act.is_none() && finding.span == opaque.span;
        let found = findings.iter().enumerate().filter(|(_, finding)| at(finding)).map(|(index, _)| index);
        let does = format!("cannot be analysed: {}", opaque.detail);
        // The innermost enclosing part.
        let part = spans.iter().rposition(|span| *span == opaque.span || encloses(*span, opaque.span));
        match part.and_then(|part| parts.get_mut(part)) {
            Some(part) => {
                part.does.push(does);
                part.findings.extend(found);
            }
            None => parts.push(PartView {
                depth: 0,
                text: slice(command, opaque.span).to_vec(),
                does: vec![does],
                findings: found.collect(),
            }),
        }
    }
    parts
}

/// Returns the findings of an act.
fn about_act(findings: &[Finding], act: usize) -> Vec<usize> {
    findings.iter().enumerate().filter(|(_, finding)| finding.act == Some(act)).map(|(index, _)| index).collect()
}

/// Reports whether a part is inside another.
const fn encloses(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && (outer.start != inner.start || outer.end != inner.end)
}

/// Returns the bytes of a span, limited to the command.
fn slice(command: &[u8], span: Span) -> &[u8] {
    let end = (span.end as usize).min(command.len());
    command.get((span.start as usize).min(end)..end).unwrap_or_default()
}

/// Describes its effects, or that it runs.
fn summary(act: &Act, facts: &Facts, effects: &[usize]) -> String {
    let mut sentences: Vec<String> = Vec::new();
    let effects = || effects.iter().filter_map(|effect| facts.acts.get(*effect));
    for effect in effects() {
        let named = |other: &Act| other.verb == effect.verb && !other.operands.is_empty();
        if effect.operands.is_empty() && effects().any(named) {
            continue;
        }
        if let Verb::Effect(kind) = effect.verb {
            let all = if effect.recursive && kind == Effect::Delete { " and everything in it" } else { "" };
            let sentence = format!("{}{all}", effect_words(kind, &effect.operands));
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
    }
    let name = match &act.verb {
        Verb::Program { name, .. } => name.as_str(),
        Verb::Effect(effect) => return effect_words(*effect, &act.operands),
    };
    let name = std::iter::once(name).chain(act.sub.iter().map(AsRef::as_ref)).collect::<Vec<_>>().join(" ");
    if sentences.is_empty() {
        return match (act.tier, name.contains(':')) {
            (_, true) => format!("calls {name}"),
            (Tier::Safe, false) => format!("{name} changes nothing"),
            (_, false) => format!("runs {name}"),
        };
    }
    format!("{name} {}", sentences.join(", "))
}

/// Describes how it runs: through which wrapper, as whom, where, and under which condition.
fn circumstances(act: &Act, root_is_news: bool) -> Vec<String> {
    let mut all = Vec::new();
    let mut how = Vec::new();
    if !act.wrappers.is_empty() {
        how.push(format!("through {}", act.wrappers.iter().map(AsRef::<str>::as_ref).collect::<Vec<_>>().join(", ")));
    }
    if act.root && root_is_news {
        how.push("as root".to_owned());
    }
    if let Some(remote) = &act.remote {
        let kind = match remote.kind {
            RemoteKind::Ssh => "host",
            RemoteKind::Container => "container",
            RemoteKind::Cluster => "cluster",
        };
        let name = remote.name.as_ref().map_or_else(|| format!("another {kind}"), |name| format!("{kind} {name}"));
        how.push(format!("on {name}"));
    }
    if act.dry_run {
        how.push("as a dry run".to_owned());
    }
    if !how.is_empty() {
        all.push(how.join(", "));
    }
    match &act.source {
        Source::Command => {}
        Source::Script(name) => all.push(format!("from the script {name}")),
        Source::Code(language) => all.push(format!("from {language} code")),
        Source::Definition(name) => all.push(format!("from {name}")),
    }
    match &act.input {
        Input::Pipe(_) => all.push("reads the output of the previous part".to_owned()),
        Input::File(operand) => all.push(format!("reads {}", value_words(&operand.value))),
        Input::Inherited | Input::Nothing | Input::Text(_) => {}
    }
    if let Some(disguise) = act.disguise {
        all.push(
            match disguise {
                Disguise::Quoting => "obfuscated with quotes",
                Disguise::Encoding => "encoded",
                Disguise::Assembly => "assembled from pieces",
                Disguise::Characters => "written with invisible or lookalike characters",
            }
            .to_owned(),
        );
    }
    all
}

/// Describes an effect on operands.
fn effect_words(effect: Effect, operands: &[Operand]) -> String {
    let (on, alone) = match effect {
        Effect::Load => ("reads", "reads files"),
        Effect::Show => ("prints", "prints files"),
        Effect::Write => ("overwrites", "writes files"),
        Effect::Edit => ("edits", "edits files"),
        Effect::Append => ("adds to", "adds to files"),
        Effect::Delete => ("deletes", "deletes files"),
        Effect::Move => ("moves", "moves files"),
        Effect::Permit => ("changes permissions of", "changes permissions of files"),
        Effect::Link => ("links to", "makes links"),
        Effect::Send => ("sends to", "sends data out"),
        Effect::Fetch => ("fetches from", "fetches from the network"),
        Effect::Execute => ("runs", "runs code"),
    };
    if operands.is_empty() { alone.to_owned() } else { format!("{on} {}", list(operands)) }
}

/// Describes operands, the first few by name.
fn list(operands: &[Operand]) -> String {
    const NAMED: usize = 4;
    let mut names: Vec<String> = operands.iter().take(NAMED).map(|operand| value_words(&operand.value)).collect();
    if operands.len() > NAMED {
        names.push(format!("{} more", operands.len() - NAMED));
    }
    names.join(", ")
}

/// Describes a value: known parts literally, unknown parts by their origin.
fn value_words(value: &Value) -> String {
    let mut text = String::new();
    for piece in value.pieces() {
        match piece {
            Piece::Text(known) => text.push_str(known),
            Piece::Glob(glob) => text.push_str(glob),
            Piece::Unknown(unknown) => text.push_str(&unknown_words(unknown)),
        }
    }
    if text.is_empty() { "“”".to_owned() } else { text }
}

/// Describes the origin of an unknown piece.
fn unknown_words(unknown: &Unknown) -> String {
    match &unknown.why {
        UnknownReason::Variable(name) => format!("‹${name}, not known›"),
        UnknownReason::CommandOutput => "‹what a command prints›".to_owned(),
        UnknownReason::Input => "‹what is read›".to_owned(),
        UnknownReason::ShellCode => "‹the set-up code of a program›".to_owned(),
        UnknownReason::Number(_) => "‹a number›".to_owned(),
        UnknownReason::Temporary { .. } => "‹a new temporary file›".to_owned(),
        UnknownReason::Pipe => "‹a pipe›".to_owned(),
        UnknownReason::Found(Some(start)) => format!("‹what is found below {start}›"),
        UnknownReason::Found(None) => "‹what is found›".to_owned(),
        UnknownReason::Installation => "‹a directory of installed programs›".to_owned(),
        UnknownReason::FileText(edited) => format!("‹the text of {}›", edited.path),
        UnknownReason::Other(words) => format!("‹{words}›"),
    }
}
