//! Tests properties that hold for every text.

use guard::judge::syntax::limits::{MAX_BYTES, MAX_DEPTH};
use guard::judge::syntax::parse;
use guard::judge::syntax::tree::{Command, Dialect, ParseErrorKind, Part, Script, Span};
use guard::judge::syntax::visit::{self, Node};
use proptest::prelude::*;

use super::executions::{Random, text};

const DIALECTS: [Dialect; 3] = [Dialect::Bash, Dialect::Sh, Dialect::Zsh];

/// Returns all samples.
fn samples() -> Vec<&'static str> {
    [super::VALID, super::INVALID, super::EVASION, super::ZSH].into_iter().flat_map(super::samples).collect()
}

fn spans(script: &Script) -> Vec<Span> {
    let mut spans = Vec::new();
    visit::nodes(script, &mut |node| {
        spans.push(match node {
            Node::Script(node) => node.span,
            Node::Pipeline(node) => node.span,
            Node::Compound(node) => node.span,
            Node::Assignment(node) => node.span,
            Node::Redirect(node) => node.span,
            Node::Word(node) => node.span,
            Node::Command(Command::Simple(node)) => node.span,
            Node::Command(Command::Function(node)) => node.span,
            Node::Command(Command::Coprocess(node)) => node.span,
            Node::Part(Part::Parameter(node)) => node.span,
            Node::Part(Part::Command(node)) => node.span,
            Node::Part(Part::Process(node)) => node.span,
            Node::Part(Part::Arithmetic(node)) => node.span,
            Node::Command(Command::Compound(_)) | Node::Part(_) => return,
        });
    });
    spans
}

/// Parses `text` in every dialect and checks the invariants of the result.
fn check(text: &[u8]) {
    for dialect in DIALECTS {
        match parse(text, dialect) {
            Ok(script) => {
                for span in spans(&script) {
                    assert!(span.start <= span.end && span.end as usize <= text.len(), "{span:?} in {text:?}");
                }
            }
            Err(error) => assert!(error.at as usize <= text.len(), "{error:?} in {text:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn arbitrary_shell_characters_are_read_or_refused(text in "[a-z01 \t\n$`\"'\\\\(){}\\[\\];&|<>#*?!@=+:/%^~,-]{0,120}") {
        check(text.as_bytes());
    }
}

#[test]
fn changed_samples_are_read_or_refused() {
    let samples = samples();
    let mut random = Random::new(7);
    for _ in 0..4000 {
        check(text(&mut random, &samples, true).as_bytes());
    }
}

#[test]
fn what_is_accepted_is_accepted_in_a_group() {
    let samples = samples();
    let mut random = Random::new(8);
    let mut tried = 0;
    while tried < 2000 {
        let text = if tried < samples.len() { samples[tried].to_owned() } else { text(&mut random, &samples, false) };
        tried += 1;
        // A here-document at the end of the text, and a final backslash, would continue into the appended text.
        if text.contains("<<") || text.ends_with('\\') {
            continue;
        }
        if parse(text.as_bytes(), Dialect::Bash).is_ok_and(|script| !script.items.is_empty()) {
            let group = format!("{{ {text}\n}}");
            if let Err(error) = parse(group.as_bytes(), Dialect::Bash) {
                panic!("{group:?}: {error}");
            }
        }
    }
}

#[test]
fn a_word_stands_where_its_span_says() {
    for sample in samples() {
        let Ok(script) = parse(sample.as_bytes(), Dialect::Bash) else { continue };
        visit::nodes(&script, &mut |node| {
            if let Node::Word(word) = node
                && let [Part::Literal(literal)] = word.parts.as_slice()
                && !sample.contains('\\')
                && !sample.contains("<<-")
                && word.span.end > word.span.start
                // The redirection that `|&` implies has no text.
                && !sample[word.span.start as usize..].starts_with("|&")
            {
                assert_eq!(&sample[word.span.start as usize..word.span.end as usize], literal, "in {sample:?}");
            }
        });
    }
}

#[test]
fn a_text_above_the_limit_is_refused_unread() {
    let text = vec![b'a'; MAX_BYTES + 1];
    assert_eq!(parse(&text, Dialect::Bash).map_err(|error| error.kind), Err(ParseErrorKind::TooLarge));
    assert!(parse(&text[..MAX_BYTES], Dialect::Bash).is_ok());
}

#[test]
fn nesting_is_read_up_to_the_limit_and_no_deeper() {
    let nested = |levels: u32| format!("{}x; {}", "{ ".repeat(levels as usize), "}; ".repeat(levels as usize));
    assert!(parse(nested(MAX_DEPTH - 1).as_bytes(), Dialect::Bash).is_ok());
    let error = parse(nested(MAX_DEPTH).as_bytes(), Dialect::Bash).map_err(|error| error.kind);
    assert_eq!(error, Err(ParseErrorKind::TooDeep));
}

#[test]
fn repeated_readings_hit_the_step_limit_and_not_the_clock() {
    // Each `((` is first tried as arithmetic up to the end of the text, and then parsed again.
    let text = "((a); ".repeat(40_000);
    let kind = parse(text.as_bytes(), Dialect::Bash).map_err(|error| error.kind);
    assert!(matches!(kind, Err(ParseErrorKind::TooMuchWork | ParseErrorKind::TooDeep)), "{kind:?}");
}

#[test]
fn a_nul_byte_is_refused() {
    for dialect in DIALECTS {
        let error = parse(b"echo a\0; rm x", dialect).expect_err("refused");
        assert_eq!((error.kind, error.at), (ParseErrorKind::Nul, 6));
    }
}

#[test]
fn a_carriage_return_is_data() {
    let script = parse(b"ls\r\n", Dialect::Bash).expect("read");
    assert_eq!(super::names(&script), ["ls\r"]);
}
