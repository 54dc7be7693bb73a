//! Tests the drawing of cards, verdicts and explanations from values.

use guard::judge::analysis::inquiry::Answers;
use guard::judge::invocation::{Environment, Invocation, Line as CommandLine, Origin, Request, Session};
use guard::judge::policy::{Policy, Prompt, Refusal};
use guard::judge::risk::{Circumstance, CircumstanceFact, Finding, Reversibility, Risk, Tier, Weight};
use guard::judge::rules::catalog::Catalog;
use guard::judge::syntax::tree::Span;
use guard::ui::card::{Size, card, plain};
use guard::ui::card_view::{CardInput, CardState, CardView};
use guard::ui::explain::{ExplainView, PartView, explain};
use guard::ui::parts::parts;
use guard::ui::style::{Line, Look, render};
use guard::ui::{verdict, visible};
use proptest::prelude::*;

use crate::harness::home::Home;

const ROOMY: Size = Size { columns: 80, rows: 24 };
const NARROW: Size = Size { columns: 40, rows: 24 };
const COLOR: Look = Look { color: true, ascii: false, dumb: false };
const ASCII: Look = Look { color: false, ascii: true, dumb: false };

/// Compares a text with its snapshot in `tests/snapshots`.
fn picture(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

fn finding(
    rule: &str,
    tier: Tier,
    reason: &str,
    instead: Option<&str>,
    span: (usize, usize),
    touches: &[&str],
) -> Finding {
    Finding {
        rule: rule.to_owned(),
        tier,
        weight: Weight::of_tier(tier),
        reversibility: Reversibility::Irreversible,
        reason: reason.to_owned(),
        instead: instead.map(str::to_owned),
        span: Span::new(u32::try_from(span.0).unwrap(), u32::try_from(span.1).unwrap()),
        touches: touches.iter().map(|&text| text.to_owned()).collect(),
        deny: false,
        yolo: false,
        reversible: false,
        approvals: 1,
        notes: Vec::new(),
        lowered: None,
        act: None,
    }
}

/// Returns a view in which each of `dangerous` is marked, with one finding each.
fn view(command: &[u8], tier: Tier, dangerous: &[&str]) -> CardView {
    let text = String::from_utf8_lossy(command).into_owned();
    let findings = dangerous
        .iter()
        .map(|part| {
            let start = text.find(part).unwrap();
            finding(
                "filesystem.recursive-delete",
                tier,
                "Deletes a directory and everything in it; what git does not track cannot be brought back.",
                Some("git clean -n shows what would go; trash-put keeps it"),
                (start, start + part.len()),
                &["build"],
            )
        })
        .collect();
    CardView {
        command: command.to_vec(),
        words: Vec::new(),
        cwd: b"/home/ada/work/api".to_vec(),
        home: Some(b"/home/ada".to_vec()),
        user: "ada".to_owned(),
        root: false,
        host: None,
        origin: Origin::Agent,
        agent: Some("claude".to_owned()),
        risk: Risk {
            tier,
            score: Weight::of_tier(tier),
            reversibility: Reversibility::Irreversible,
            findings,
            context: Vec::new(),
        },
        threshold: Weight(200),
        evidence: Vec::new(),
        opinion: None,
        session_grant: Some("exactly this command, in this directory, until this session ends".to_owned()),
        standing_grant: Some("exactly this command, in ~/work/api and below, until you revoke it".to_owned()),
        lasts: false,
        queued: false,
        first: false,
    }
}

/// Returns a view with every optional part.
fn full() -> CardView {
    let command = b"rm -rf build && git push --force origin main";
    let mut view = view(command, Tier::High, &["rm -rf build"]);
    view.risk.findings.push(finding(
        "git.push-force",
        Tier::High,
        "Replaces the branch on the remote: commits that others pushed there are lost.",
        Some("git push --force-with-lease"),
        (16, 44),
        &["origin", "main"],
    ));
    view.risk.score = Weight(450);
    view.risk.context = vec![
        Circumstance { fact: CircumstanceFact::Root, weight: Weight(50), detail: None },
        Circumstance { fact: CircumstanceFact::Production, weight: Weight(100), detail: Some("main".to_owned()) },
    ];
    view.root = true;
    view.host = Some("web-1".to_owned());
    view.evidence = vec![
        "build: 214 files, 3.1 MB; 3 of them are in no commit".to_owned(),
        "origin/main has 2 commits that this push would drop".to_owned(),
    ];
    view
}

fn prompt(tier: Tier) -> Prompt {
    let critical = tier == Tier::Critical;
    Prompt {
        tier,
        seconds: 30,
        finish_seconds: 20,
        word: critical,
        may_grant: !critical,
        approvals: 1,
        decision: false,
    }
}

fn draw(view: &CardView, entry: CardInput<'_>, hint: Option<&str>, size: Size, look: &Look) -> Vec<Line> {
    let prompt = prompt(view.risk.tier);
    let state = CardState { prompt: &prompt, left: 19, total: 30, entry, hint, asking: None };
    card(view, &state, size, look)
}

fn text(view: &CardView, entry: CardInput<'_>, size: Size) -> String {
    render(&draw(view, entry, None, size, &Look::PLAIN), &Look::PLAIN)
}

#[test]
fn a_card_says_what_where_why_and_which_keys() {
    picture("card_80", &text(&full(), CardInput::Key, ROOMY));
}

#[test]
fn a_card_fits_forty_columns() {
    picture("card_40", &text(&full(), CardInput::Key, NARROW));
}

#[test]
fn a_small_card_shows_the_command_first() {
    picture("card_small", &text(&full(), CardInput::Key, Size { columns: 60, rows: 12 }));
}

#[test]
fn the_header_of_a_low_card_is_one_line_and_says_what_fits() {
    for (columns, said) in [
        (100, "guard: claude wants to run a high-risk command that cannot be undone"),
        (60, "guard: high-risk command that cannot be undone"),
        (40, "guard: high-risk, cannot be undone"),
        (34, "guard: high-risk command"),
    ] {
        let shown = text(&full(), CardInput::Key, Size { columns, rows: 12 });
        assert_eq!(shown.lines().next().unwrap().trim_end(), format!("┃ {said}"), "{shown}");
    }
}

#[test]
fn escape_denies_nothing_on_the_card_of_a_request_that_waits() {
    let entry = CardInput::Word { word: "walnut", typed: "", started: false };
    for (queued, said) in [(false, "Esc denies"), (true, "Esc leaves it")] {
        let shown = text(&CardView { queued, ..full() }, entry, ROOMY);
        assert!(shown.contains(&format!("press Enter; {said}: ")), "{shown}");
    }
}

#[test]
fn a_card_has_colours() {
    picture("card_color", &render(&draw(&full(), CardInput::Key, None, ROOMY, &COLOR), &COLOR).replace('\x1b', "␛"));
}

#[test]
fn a_card_can_be_drawn_in_ascii() {
    let shown = render(&draw(&full(), CardInput::Key, None, ROOMY, &ASCII), &ASCII);
    assert!(shown.is_ascii());
    picture("card_ascii", &shown);
}

#[test]
fn a_grant_is_shown_in_words_before_it_is_given() {
    picture("card_confirm", &text(&full(), CardInput::Confirm, ROOMY));
}

#[test]
fn a_no_may_have_words() {
    picture("card_words", &text(&full(), CardInput::Words("build is mine, ask me first"), ROOMY));
}

#[test]
fn a_critical_command_needs_a_word() {
    let mut view = view(b"rm -rf --no-preserve-root /", Tier::Critical, &["rm -rf --no-preserve-root /"]);
    view.risk.findings[0].reason = "Deletes everything on this machine.".to_owned();
    view.risk.findings[0].rule = "filesystem.delete-root".to_owned();
    view.risk.findings[0].instead = None;
    view.risk.findings[0].touches = vec!["/".to_owned()];
    let entry = CardInput::Word { word: "walnut", typed: "", started: false };
    picture("card_word", &text(&view, entry, ROOMY));
    let entry = CardInput::Word { word: "walnut", typed: "waln", started: true };
    picture("card_word_40", &text(&view, entry, NARROW));
}

#[test]
fn a_person_is_told_of_a_key_that_means_nothing() {
    let lines = draw(&full(), CardInput::Key, Some("unknown key; n denies"), ROOMY, &Look::PLAIN);
    assert!(lines.last().unwrap().plain().ends_with("19 s · unknown key; n denies"));
}

/// Returns a command of a hundred lines, with the dangerous one in the middle.
fn long() -> Vec<u8> {
    let mut lines: Vec<String> = (1..=100).map(|number| format!("echo step {number} of the release")).collect();
    lines[56] = "  rm -rf build".to_owned();
    lines.join("\n").into_bytes()
}

#[test]
fn a_long_command_shows_its_beginning_and_the_part_that_matters_and_says_what_is_missing() {
    let view = view(&long(), Tier::High, &["rm -rf build"]);
    picture("card_long", &text(&view, CardInput::Key, ROOMY));
}

#[test]
fn hidden_characters_are_shown_and_named() {
    let command =
        "rm -rf b\u{200b}uild \u{202e}gpj.exe \x1b[2K\x1b[1A; с\u{0443}rl\texample.org | \u{2013}rf\r\n echo caf\u{e9}";
    let mut bytes = command.as_bytes().to_vec();
    bytes.extend_from_slice(b" \xff\xfe\x9b");
    let view = view(&bytes, Tier::High, &["rm -rf"]);
    picture("card_hidden", &text(&view, CardInput::Key, Size { columns: 80, rows: 40 }));
}

#[test]
fn a_terminal_without_a_cursor_gets_everything_in_lines() {
    picture("card_plain", &render(&plain(&full(), true, 80, &Look::PLAIN), &Look::PLAIN));
}

fn explained() -> ExplainView {
    let part = |depth: usize, text: &str, does: &str, findings: Vec<usize>| PartView {
        depth,
        text: text.as_bytes().to_vec(),
        does: vec![does.to_owned()],
        findings,
    };
    ExplainView {
        card: full(),
        parts: vec![
            part(0, "rm -rf build", "deletes build and everything in it", vec![0]),
            part(0, "git push --force origin main", "git push sends to origin", vec![1]),
        ],
        outcome: vec!["A person at the terminal would be asked, for 30 s. No answer means no.".to_owned()],
    }
}

#[test]
fn an_explanation_reads_from_the_parts_to_the_score() {
    picture("explain_80", &render(&explain(&explained(), 80, &Look::PLAIN), &Look::PLAIN));
    picture("explain_40", &render(&explain(&explained(), 40, &Look::PLAIN), &Look::PLAIN));
}

#[test]
fn a_refusal_names_its_kind() {
    let line = |refusal: Refusal| verdict::refusal(&refusal).plain();
    assert_eq!(
        line(Refusal::Person { words: Some("not on a friday\x1b[2J".to_owned()) }),
        "guard: refused: denied by a person: not on a friday⟨ESC⟩[2J"
    );
    assert_eq!(line(Refusal::Timeout { seconds: 30 }), "guard: refused: timed out: nobody answered within 30 s");
}

#[test]
fn a_settled_card_leaves_one_line_that_says_when_it_is_cut() {
    assert_eq!(
        verdict::settled("allowed once by you", b"rm -rf build", 80).plain(),
        "guard: allowed once by you: rm -rf build"
    );
    let cut = verdict::settled("allowed once by you", &long(), 60).plain();
    assert!(cut.ends_with('…') && cut.chars().count() <= 59, "{cut}");
}

/// Reports whether a drawing must not send this character to a terminal. Only the line end is allowed.
fn is_raw(c: char) -> bool {
    c != '\n'
        && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}'))
}

/// Generates any bytes, with troublesome ones more often than by chance.
fn nasty() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => "[ -~]{0,12}".prop_map(String::into_bytes),
        2 => proptest::collection::vec(any::<u8>(), 0..6),
        1 => any::<char>().prop_map(|c| c.to_string().into_bytes()),
        1 => proptest::sample::select(vec![
            "\x1b[31m", "\x1b]0;title\x07", "\u{9b}2J", "\u{202e}", "\u{200b}", "\u{e0041}", "\u{feff}", "\r", "\n", "\t", "\u{8}",
            "\u{301}", "\u{338}", "\u{ff52}", "\u{430}", "⟨ESC⟩", "漢字", "👩\u{200d}🚀",
        ]).prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Returns the text of a drawn command without the frame, to compare it with the glyphs.
fn shown_command(lines: &[Line]) -> String {
    lines.iter().map(|line| line.plain().trim_start_matches("┃ ").to_owned()).collect()
}

proptest! {
    #[test]
    fn no_drawing_carries_a_control_character(
        command in nasty(),
        reason in nasty(),
        columns in 1_usize..120,
        rows in 1_usize..60,
        span in (0_u32..80, 0_u32..80),
        color in any::<bool>(),
        ascii in any::<bool>(),
    ) {
        let look = Look { color, ascii, dumb: false };
        let mut view = view(&command, Tier::High, &[]);
        let words = String::from_utf8_lossy(&reason).into_owned();
        view.risk.findings.push(finding(&words, Tier::High, &words, Some(&words), (0, 0), &[&words]));
        view.risk.findings[0].span = Span { start: span.0, end: span.1 };
        view.words = vec![Span { start: span.1, end: span.0 }];
        view.cwd.clone_from(&reason);
        view.evidence = vec![words.clone()];
        view.agent = Some(words.clone());
        view.session_grant = Some(words.clone());
        let size = Size { columns, rows };
        for entry in [CardInput::Key, CardInput::Confirm, CardInput::Words(&words), CardInput::Word { word: "walnut", typed: &words, started: true }] {
            let lines = draw(&view, entry, Some("a hint"), size, &look);
            for line in &lines {
                prop_assert!(!line.plain().contains(is_raw), "{:?}", line.plain());
                prop_assert!(!ascii || line.render(&look).is_ascii());
            }
            if size.is_enough() {
                prop_assert!(lines.len() < rows, "{} lines in {rows} rows", lines.len());
                for line in &lines {
                    prop_assert!(line.width() < columns, "{:?} in {columns}", line.plain());
                }
            }
        }
        let explained = ExplainView {
            card: view.clone(),
            parts: vec![PartView { depth: usize::from(span.0 as u16), text: command.clone(), does: vec![words], findings: vec![0, 7] }],
            outcome: Vec::new(),
        };
        for line in explain(&explained, columns, &look) {
            prop_assert!(!line.plain().contains(is_raw));
        }
        for line in plain(&view, true, columns, &look) {
            prop_assert!(!line.plain().contains(is_raw));
        }
        prop_assert!(!verdict::settled("allowed", &command, columns).plain().contains(is_raw));
    }

    #[test]
    fn a_command_is_shown_whole_or_said_to_be_cut(command in nasty(), columns in 32_usize..120, rows in 9_usize..40) {
        let view = view(&command, Tier::High, &[]);
        let lines = draw(&view, CardInput::Key, None, Size { columns, rows }, &COLOR);
        let shown = shown_command(&lines).replace(' ', "");
        let whole: String = visible::glyphs(&command, &[], false).iter().map(|glyph| glyph.shown.to_string()).collect();
        let said = lines.iter().any(|line| line.plain().contains("more line"));
        prop_assert!(said || shown.contains(&whole.replace(' ', "")), "{whole:?} in {shown:?}");
    }

    #[test]
    fn the_end_of_a_command_is_on_every_card(
        before in "[a-z ;\n]{0,400}",
        blanks in "[ \n]{0,3}|[ ]{900}",
        from in 0_u32..400,
        columns in 32_usize..120,
        rows in 9_usize..40,
        color in any::<bool>(),
    ) {
        let command = format!("{}; rm -rf Zz{blanks}", before.repeat(20));
        let mut view = view(command.as_bytes(), Tier::High, &[]);
        view.risk.findings.push(finding("r", Tier::High, "Deletes it.", None, (0, 0), &["Zz"]));
        view.risk.findings[0].span = Span { start: from, end: from + 4 };
        let look = Look { color, ascii: false, dumb: false };
        let lines = draw(&view, CardInput::Key, None, Size { columns, rows }, &look);
        prop_assert!(lines.len() < rows, "{} lines in {rows} rows", lines.len());
        prop_assert!(shown_command(&lines).replace(' ', "").contains("Zz"), "{lines:?}");
    }

    #[test]
    fn glyphs_stand_for_every_byte_once(command in nasty(), ascii in any::<bool>()) {
        let mut at = 0;
        for glyph in visible::glyphs(&command, std::slice::from_ref(&(0..5)), ascii) {
            prop_assert_eq!(glyph.start, at);
            prop_assert!(glyph.end > glyph.start);
            at = glyph.end;
        }
        prop_assert_eq!(at, command.len());
    }

    #[test]
    fn making_text_visible_twice_changes_nothing(bytes in nasty()) {
        let text = String::from_utf8_lossy(&bytes);
        let once = visible::text(&text).into_owned();
        prop_assert_eq!(visible::text(&once), once.as_str());
    }
}

/// Returns the parts of a command as the judge sees them: depth, text and effects.
fn parts_of(command: &str) -> Vec<(usize, String, Vec<String>)> {
    let invocation = Invocation {
        request: Request::Line(CommandLine::of_bash(command)),
        cwd: "/home/ada/work".into(),
        env: Environment::default(),
        home: Some("/home/ada".into()),
        uid: 1000,
        user: "ada".to_owned(),
        origin: Origin::Cli,
        session: Session::default(),
    };
    let catalog = Catalog::builtin();
    let judgment = guard::judge::judge(&invocation, &catalog, &Policy::default(), &Answers::default());
    let parts = parts(command.as_bytes(), &judgment);
    parts.into_iter().map(|part| (part.depth, String::from_utf8(part.text).unwrap(), part.does)).collect()
}

#[test]
fn what_a_script_calls_in_many_places_is_explained_once_with_a_count() {
    let home = Home::new();
    std::fs::write(home.path("work/x.sh"), "echo a\nls\necho b\ncp a b\necho c\n").unwrap();
    let said = home.guard(&["explain", "bash x.sh"]).output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said.matches("echo changes nothing\n      3 times\n").count(), 1, "{said}");
    assert_eq!(
        (said.matches("echo").count(), said.matches("ls changes nothing\n      through").count()),
        (1, 1),
        "{said}"
    );
}

#[test]
fn each_part_of_a_command_is_listed_with_what_it_does_inside_what_it_stands_in() {
    let parts = parts_of("cd src && sudo rm -rf old > log; sh -c 'ls'");
    let tree: Vec<(usize, &str)> = parts.iter().map(|(depth, text, _)| (*depth, text.as_str())).collect();
    assert_eq!(tree, [(0, "cd src"), (0, "sudo rm -rf old > log"), (1, "rm -rf old"), (0, "sh -c 'ls'"), (1, "ls")]);
    let does = |number: usize| parts[number].2.join("; ");
    assert!(does(1).contains("overwrites log"), "{}", does(1));
    assert_eq!(does(2), "rm deletes old and everything in it; through sudo, as root");
    assert!(does(4).contains("through sh"), "{}", does(4));
}

#[test]
fn what_cannot_be_understood_is_said_of_its_part() {
    let parts = parts_of("echo a; $PROGRAM b");
    let (_, text, does) = parts.last().unwrap();
    assert_eq!(text, "$PROGRAM b");
    assert!(does.iter().any(|does| does.starts_with("cannot be analysed: ")), "{does:?}");
}

#[test]
fn a_command_of_thousands_of_findings_is_drawn_like_any_other() {
    let command = "rm -rf /x; ".repeat(12_000);
    let mut view = view(command.as_bytes(), Tier::High, &["rm -rf /x"]);
    let first = view.risk.findings[0].clone();
    view.risk.findings = (0..12_000_u32)
        .map(|number| Finding {
            span: Span::new(number * 11, number * 11 + 9),
            touches: vec![format!("/x{number}")],
            ..first.clone()
        })
        .collect();
    let shown = text(&view, CardInput::Key, ROOMY).replace('┃', " ");
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("/x0, /x1, /x2, /x3, /x4, /x5 and 11994 more"), "{shown}");
    assert!(shown.contains(" more lines: press ?"), "{shown}");
}
