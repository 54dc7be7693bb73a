//! Visits the nodes of a tree, including all nested scripts and commands.

use super::tree::{
    Arithmetic, ArrayElement, Assignment, AssignmentValue, Command, Compound, CompoundKind, CondToken, Parameter,
    ParameterOp, Part, Pipeline, Redirect, RedirectTarget, Script, Word,
};

/// A visited node. Nodes are visited in the order of the text, outer before inner.
#[derive(Clone, Copy, Debug)]
pub enum Node<'t> {
    Script(&'t Script),
    Pipeline(&'t Pipeline),
    Command(&'t Command),
    Compound(&'t Compound),
    Assignment(&'t Assignment),
    Redirect(&'t Redirect),
    Word(&'t Word),
    Part(&'t Part),
}

/// Calls `see` for every node of `script`, including itself.
pub fn nodes<'t>(script: &'t Script, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Script(script));
    for item in &script.items {
        pipeline(&item.first, see);
        for (_, next) in &item.rest {
            pipeline(next, see);
        }
    }
}

/// Calls `see` for every script in `script`: itself, the bodies of compound commands, substitutions.
pub fn scripts<'t>(script: &'t Script, see: &mut dyn FnMut(&'t Script)) {
    nodes(script, &mut |node| {
        if let Node::Script(inner) = node {
            see(inner);
        }
    });
}

/// Calls `see` for every command in `script`, at any depth.
pub fn commands<'t>(script: &'t Script, see: &mut dyn FnMut(&'t Command)) {
    nodes(script, &mut |node| {
        if let Node::Command(inner) = node {
            see(inner);
        }
    });
}

fn pipeline<'t>(pipeline: &'t Pipeline, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Pipeline(pipeline));
    for inner in &pipeline.commands {
        command(inner, see);
    }
}

fn command<'t>(command_: &'t Command, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Command(command_));
    match command_ {
        Command::Simple(simple) => {
            for assignment in &simple.assignments {
                assigned(assignment, see);
            }
            words(&simple.words, see);
            redirects(&simple.redirects, see);
        }
        Command::Compound(inner) => compound(inner, see),
        Command::Function(function) => {
            compound(&function.body, see);
            words(&function.arguments, see);
        }
        Command::Coprocess(coprocess) => command(&coprocess.body, see),
    }
}

fn assigned<'t>(assignment: &'t Assignment, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Assignment(assignment));
    words(assignment.subscript.as_slice(), see);
    match &assignment.value {
        AssignmentValue::Scalar(value) => word(value, see),
        AssignmentValue::Array(elements) => array(elements, see),
    }
}

fn compound<'t>(compound: &'t Compound, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Compound(compound));
    match &compound.kind {
        CompoundKind::Group(script) | CompoundKind::Subshell(script) => nodes(script, see),
        CompoundKind::Arithmetic(inner) => arithmetic(inner, see),
        CompoundKind::Conditional(tokens) => {
            for token in tokens {
                if let CondToken::Word(inner) = token {
                    word(inner, see);
                }
            }
        }
        CompoundKind::If { arms, otherwise } => {
            for (condition, body) in arms {
                nodes(condition, see);
                nodes(body, see);
            }
            if let Some(body) = otherwise {
                nodes(body, see);
            }
        }
        CompoundKind::Loop { condition, body, .. } | CompoundKind::Always { body: condition, finally: body } => {
            nodes(condition, see);
            nodes(body, see);
        }
        CompoundKind::For { words: list, body, .. } | CompoundKind::Select { words: list, body, .. } => {
            words(list.as_deref().unwrap_or_default(), see);
            nodes(body, see);
        }
        CompoundKind::ForArithmetic { header, body } => {
            for inner in header {
                arithmetic(inner, see);
            }
            nodes(body, see);
        }
        CompoundKind::Case { subject, arms } => {
            word(subject, see);
            for arm in arms {
                words(&arm.patterns, see);
                nodes(&arm.body, see);
            }
        }
        CompoundKind::Repeat { count, body } => {
            word(count, see);
            nodes(body, see);
        }
    }
    redirects(&compound.redirects, see);
}

fn redirects<'t>(redirects: &'t [Redirect], see: &mut dyn FnMut(Node<'t>)) {
    for redirect in redirects {
        see(Node::Redirect(redirect));
        match &redirect.target {
            RedirectTarget::Word(target) => word(target, see),
            RedirectTarget::Heredoc(heredoc) => word(&heredoc.body, see),
        }
    }
}

fn words<'t>(words: &'t [Word], see: &mut dyn FnMut(Node<'t>)) {
    for inner in words {
        word(inner, see);
    }
}

fn word<'t>(word: &'t Word, see: &mut dyn FnMut(Node<'t>)) {
    see(Node::Word(word));
    parts(&word.parts, see);
}

fn array<'t>(elements: &'t [ArrayElement], see: &mut dyn FnMut(Node<'t>)) {
    for element in elements {
        words(element.subscript.as_slice(), see);
        word(&element.value, see);
    }
}

fn arithmetic<'t>(arithmetic: &'t Arithmetic, see: &mut dyn FnMut(Node<'t>)) {
    parts(&arithmetic.parts, see);
}

fn parts<'t>(parts_: &'t [Part], see: &mut dyn FnMut(Node<'t>)) {
    for part in parts_ {
        see(Node::Part(part));
        match part {
            Part::Literal(_) | Part::Escaped(_) | Part::Single(_) | Part::AnsiC(_) | Part::Hole(_) => {}
            Part::Double { parts: inner, .. } => parts(inner, see),
            Part::Parameter(inner) => parameter(inner, see),
            Part::Command(substitution) => nodes(&substitution.script, see),
            Part::Process(substitution) => nodes(&substitution.script, see),
            Part::Arithmetic(inner) => arithmetic(inner, see),
            Part::ExtGlob { alternatives, .. } => words(alternatives, see),
            Part::Array(elements) => array(elements, see),
        }
    }
}

fn parameter<'t>(parameter: &'t Parameter, see: &mut dyn FnMut(Node<'t>)) {
    operands(parameter, &mut |inner| word(inner, see));
    if let Some(ParameterOp::Substring { offset, length }) = &parameter.operation {
        arithmetic(offset, see);
        if let Some(length) = length {
            arithmetic(length, see);
        }
    }
}

/// Calls `see` for the words of a parameter expansion: its subscript and its operands, except arithmetic.
pub fn operands<'t>(parameter: &'t Parameter, see: &mut dyn FnMut(&'t Word)) {
    if let Some(subscript) = &parameter.subscript {
        see(subscript);
    }
    match &parameter.operation {
        Some(
            ParameterOp::Default { word, .. }
            | ParameterOp::AssignDefault { word, .. }
            | ParameterOp::Error { word, .. }
            | ParameterOp::Alternative { word, .. }
            | ParameterOp::RemovePrefix { pattern: word, .. }
            | ParameterOp::RemoveSuffix { pattern: word, .. }
            | ParameterOp::Case { pattern: word, .. }
            | ParameterOp::Other(word),
        ) => see(word),
        Some(ParameterOp::Replace { pattern, replacement, .. }) => {
            see(pattern);
            see(replacement);
        }
        Some(ParameterOp::Substring { .. } | ParameterOp::Transform(_) | ParameterOp::NamesWithPrefix(_)) | None => {}
    }
}
