//! Inserts the bodies of here-documents into the tree. A body follows the line with its redirection, which is then
//! already deep in the unfinished tree. The redirection therefore stores a number, and the bodies are inserted after
//! everything has been parsed.

use super::tree::{
    Arithmetic, ArrayElement, AssignmentValue, Command, Compound, CompoundKind, CondToken, ParameterOp, Part, Pipeline,
    Redirect, RedirectTarget, Script, Word,
};

/// Inserts `bodies` into `script`. Returns immediately if there are none.
pub(super) fn bodies(script: &mut Script, bodies: &mut [Word]) {
    if !bodies.is_empty() {
        fill_script(script, bodies);
    }
}

fn fill_script(script: &mut Script, bodies: &mut [Word]) {
    for item in &mut script.items {
        fill_pipeline(&mut item.first, bodies);
        for (_, pipeline) in &mut item.rest {
            fill_pipeline(pipeline, bodies);
        }
    }
}

fn fill_pipeline(pipeline: &mut Pipeline, bodies: &mut [Word]) {
    for command in &mut pipeline.commands {
        fill_command(command, bodies);
    }
}

fn fill_command(command: &mut Command, bodies: &mut [Word]) {
    match command {
        Command::Simple(simple) => {
            for assignment in &mut simple.assignments {
                if let Some(subscript) = &mut assignment.subscript {
                    fill_parts(&mut subscript.parts, bodies);
                }
                match &mut assignment.value {
                    AssignmentValue::Scalar(word) => fill_parts(&mut word.parts, bodies),
                    AssignmentValue::Array(elements) => fill_array(elements, bodies),
                }
            }
            fill_words(&mut simple.words, bodies);
            fill_redirects(&mut simple.redirects, bodies);
        }
        Command::Compound(compound) => fill_compound(compound, bodies),
        Command::Function(function) => {
            fill_words(&mut function.arguments, bodies);
            fill_compound(&mut function.body, bodies);
        }
        Command::Coprocess(coprocess) => fill_command(&mut coprocess.body, bodies),
    }
}

fn fill_compound(compound: &mut Compound, bodies: &mut [Word]) {
    match &mut compound.kind {
        CompoundKind::Group(script) | CompoundKind::Subshell(script) => fill_script(script, bodies),
        CompoundKind::Arithmetic(arithmetic) => fill_parts(&mut arithmetic.parts, bodies),
        CompoundKind::Conditional(tokens) => {
            for token in tokens {
                if let CondToken::Word(word) = token {
                    fill_parts(&mut word.parts, bodies);
                }
            }
        }
        CompoundKind::If { arms, otherwise } => {
            for (condition, body) in arms {
                fill_script(condition, bodies);
                fill_script(body, bodies);
            }
            if let Some(body) = otherwise {
                fill_script(body, bodies);
            }
        }
        CompoundKind::Loop { condition, body, .. } | CompoundKind::Always { body: condition, finally: body } => {
            fill_script(condition, bodies);
            fill_script(body, bodies);
        }
        CompoundKind::For { words, body, .. } | CompoundKind::Select { words, body, .. } => {
            fill_words(words.as_deref_mut().unwrap_or_default(), bodies);
            fill_script(body, bodies);
        }
        CompoundKind::ForArithmetic { header, body } => {
            for arithmetic in header {
                fill_parts(&mut arithmetic.parts, bodies);
            }
            fill_script(body, bodies);
        }
        CompoundKind::Case { subject, arms } => {
            fill_parts(&mut subject.parts, bodies);
            for arm in arms {
                fill_words(&mut arm.patterns, bodies);
                fill_script(&mut arm.body, bodies);
            }
        }
        CompoundKind::Repeat { count, body } => {
            fill_parts(&mut count.parts, bodies);
            fill_script(body, bodies);
        }
    }
    fill_redirects(&mut compound.redirects, bodies);
}

fn fill_redirects(redirects: &mut [Redirect], bodies: &mut [Word]) {
    for redirect in redirects {
        match &mut redirect.target {
            RedirectTarget::Word(word) => fill_parts(&mut word.parts, bodies),
            RedirectTarget::Heredoc(heredoc) => {
                if let Some(body) = bodies.get_mut(heredoc.body.span.start as usize) {
                    heredoc.body = std::mem::take(body);
                }
                fill_parts(&mut heredoc.body.parts, bodies);
            }
        }
    }
}

fn fill_words(words: &mut [Word], bodies: &mut [Word]) {
    for word in words {
        fill_parts(&mut word.parts, bodies);
    }
}

fn fill_array(elements: &mut [ArrayElement], bodies: &mut [Word]) {
    for element in elements {
        if let Some(subscript) = &mut element.subscript {
            fill_parts(&mut subscript.parts, bodies);
        }
        fill_parts(&mut element.value.parts, bodies);
    }
}

fn fill_arithmetic(arithmetic: &mut Arithmetic, bodies: &mut [Word]) {
    fill_parts(&mut arithmetic.parts, bodies);
}

fn fill_parts(parts: &mut [Part], bodies: &mut [Word]) {
    for part in parts {
        match part {
            Part::Literal(_) | Part::Escaped(_) | Part::Single(_) | Part::AnsiC(_) | Part::Hole(_) => {}
            Part::Double { parts, .. } => fill_parts(parts, bodies),
            Part::Parameter(parameter) => {
                if let Some(subscript) = &mut parameter.subscript {
                    fill_parts(&mut subscript.parts, bodies);
                }
                if let Some(operation) = &mut parameter.operation {
                    fill_operation(operation, bodies);
                }
            }
            Part::Command(substitution) => fill_script(&mut substitution.script, bodies),
            Part::Process(substitution) => fill_script(&mut substitution.script, bodies),
            Part::Arithmetic(arithmetic) => fill_arithmetic(arithmetic, bodies),
            Part::ExtGlob { alternatives, .. } => fill_words(alternatives, bodies),
            Part::Array(elements) => fill_array(elements, bodies),
        }
    }
}

fn fill_operation(operation: &mut ParameterOp, bodies: &mut [Word]) {
    match operation {
        ParameterOp::Default { word, .. }
        | ParameterOp::AssignDefault { word, .. }
        | ParameterOp::Error { word, .. }
        | ParameterOp::Alternative { word, .. }
        | ParameterOp::Other(word) => fill_parts(&mut word.parts, bodies),
        ParameterOp::RemovePrefix { pattern, .. }
        | ParameterOp::RemoveSuffix { pattern, .. }
        | ParameterOp::Case { pattern, .. } => fill_parts(&mut pattern.parts, bodies),
        ParameterOp::Replace { pattern, replacement, .. } => {
            fill_parts(&mut pattern.parts, bodies);
            fill_parts(&mut replacement.parts, bodies);
        }
        ParameterOp::Substring { offset, length } => {
            fill_arithmetic(offset, bodies);
            if let Some(length) = length {
                fill_arithmetic(length, bodies);
            }
        }
        ParameterOp::Transform(_) | ParameterOp::NamesWithPrefix(_) => {}
    }
}
