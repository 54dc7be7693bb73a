//! Judges any command: no panic, the same verdict twice, and neither a `sh -c` around the command nor another command
//! beside it lowers the tier.

#![no_main]

use std::sync::LazyLock;

use guard::judge::analysis::inquiry::Answers;
use guard::judge::invocation::{Environment, Invocation, Line, Origin, Request, Session};
use guard::judge::policy::Policy;
use guard::judge::rules::catalog::Catalog;
use guard::judge::tier::Tier;
use guard::judge::{Judgment, judge};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static CATALOG: Catalog = Catalog::builtin();
}

static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

fn judged(text: Vec<u8>) -> Judgment {
    let invocation = Invocation {
        request: Request::Line(Line::of_bash(text)),
        cwd: "/home/me/project".into(),
        env: Environment::from_iter([("HOME".into(), "/home/me".into()), ("PATH".into(), "/usr/bin:/bin".into())]),
        home: Some("/home/me".into()),
        uid: 1000,
        user: "me".into(),
        origin: Origin::Agent,
        session: Session::default(),
    };
    CATALOG.with(|catalog| judge(&invocation, catalog, &POLICY, &Answers::none()))
}

/// Quotes the text as one shell word.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut word = vec![b'\''];
    for &byte in text {
        match byte {
            b'\'' => word.extend(b"'\\''"),
            _ => word.push(byte),
        }
    }
    word.push(b'\'');
    word
}

fuzz_target!(|text: &[u8]| {
    let plain = judged(text.to_vec());
    assert_eq!(plain.risk, judged(text.to_vec()).risk, "the same command, the same verdict");
    // A command that is too long or too deep by itself is refused. Wrapping reaches the limit earlier, and that verdict
    // is tier 3.
    if plain.risk.tier < Tier::High {
        // Without `--`, text that begins with a dash would be parsed as an option.
        let wrapped = judged([b"sh -c -- ".as_slice(), &quoted(text)].concat());
        assert!(wrapped.risk.tier >= plain.risk.tier, "{:?} < {:?}", wrapped.risk, plain.risk);
    }
    // `$_` is the last argument of the previous command, so prepending a command changes its value.
    if text.windows(2).any(|two| two == b"$_" || two == b"{_") {
        return;
    }
    let beside = judged([b"true\n".as_slice(), text].concat());
    assert!(beside.risk.tier >= plain.risk.tier, "{:?} < {:?}", beside.risk, plain.risk);
});
