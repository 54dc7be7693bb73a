use super::*;
use crate::judge::invocation::Origin;

const CHEAP: Cost = Cost { memory: 64, passes: 1 };

fn ada() -> Approver {
    Approver::with_passphrase("ada", "correct horse battery", [7; 16], CHEAP).unwrap()
}

#[test]
fn a_signature_holds_for_its_message_and_its_approver_alone() {
    let (ada, bob) = (ada(), Approver::with_passphrase("bob", "another long one", [8; 16], CHEAP).unwrap());
    let signed = ada.sign_with_passphrase("correct horse battery", b"this").unwrap();
    assert_eq!(ada.verify(b"this", &signed), Ok(()));
    assert_eq!(ada.verify(b"that", &signed), Err(BadSignature::Wrong("ada".to_owned())));
    assert_eq!(bob.verify(b"this", &signed), Err(BadSignature::Wrong("bob".to_owned())));
    let all = [ada.clone(), bob];
    assert_eq!(signers(&all, b"this", &[signed.clone(), signed.clone()]), Ok(vec!["ada"]));
    let forged = Signed { approver: "bob".to_owned(), ..signed.clone() };
    assert!(signers(&all, b"this", &[signed.clone(), forged]).is_err());
    let nobody = Signed { approver: "eve".to_owned(), ..signed };
    assert_eq!(signers(&all, b"this", &[nobody]), Err(BadSignature::Unknown("eve".to_owned())));
}

#[test]
fn each_part_of_what_is_signed_tells_it_from_others() {
    let invocation = crate::judge::testing::argv(Origin::Cli, &["rm", "x"]);
    let fresh = ApprovalNonce::of([7; 16], &invocation, &Risk::default());
    let (digest, bindings) = (Digest([1; 32]), Bindings::of(&crate::judge::Judgment::default(), None));
    let scope = AnswerScope::Once;
    let one =
        Approval { request: "r1", filed: 5, fresh: &fresh, digest: &digest, bindings: &bindings, approvals: 1, scope };
    let text = String::from_utf8(one.message()).unwrap();
    assert!(text.starts_with("guard approval 3\nrequest r1\nfiled 5\nnonce 07070707"), "{text}");
    assert!(text.ends_with("approvals 1\nscope once\n"), "{text}");
    let elsewhere = Bindings::of(&crate::judge::Judgment::default(), Some((1, 2)));
    let other_card =
        ApprovalNonce::of([7; 16], &crate::judge::testing::argv(Origin::Cli, &["rm", "y"]), &Risk::default());
    let other_nonce = ApprovalNonce { nonce: [8; 16], ..fresh };
    for other in [
        Approval { request: "r2", ..one },
        Approval { filed: 6, ..one },
        Approval { fresh: &other_nonce, ..one },
        Approval { fresh: &other_card, ..one },
        Approval { digest: &Digest([2; 32]), ..one },
        Approval { bindings: &elsewhere, ..one },
        Approval { approvals: 2, ..one },
        Approval { scope: AnswerScope::Session, ..one },
        Approval { scope: AnswerScope::Until(9), ..one },
        Approval { scope: AnswerScope::Until(10), ..one },
        Approval { scope: AnswerScope::Always, ..one },
    ] {
        assert_ne!(other.message(), one.message(), "{other:?}");
    }
    let times = [9, 10].map(|at| Approval { scope: AnswerScope::Until(at), ..one }.message());
    assert_ne!(times[0], times[1]);
    for (number, earlier) in (1..).zip(one.earlier_messages()) {
        let earlier = String::from_utf8(earlier).unwrap();
        assert!(earlier.starts_with(&format!("guard approval {number}\nrequest r1\n")), "{earlier}");
        assert!(!earlier.contains("scope"), "{earlier}");
    }
}

#[test]
fn one_key_under_two_names_is_one_approver() {
    let ada = ada();
    let signed = ada.sign_with_passphrase("correct horse battery", b"this").unwrap();
    let eve = Approver { name: "eve".to_owned(), ..ada.clone() };
    let also = Signed { approver: "eve".to_owned(), ..signed.clone() };
    let all = [ada, eve];
    assert_eq!(people(&all), 1);
    assert_eq!(signers(&all, b"this", &[also, signed]), Ok(vec!["eve"]));
    let ssh = |text: &str| ApproverKey::Ssh { public: text.to_owned() };
    let public = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes();
    let blob = Base64::encode_string(&[b"\0\0\0\x0bssh-ed25519\0\0\0\x20".as_slice(), &public].concat());
    assert!(ssh(&format!("ssh-ed25519 {blob} ada@a")).is_same(&ssh(&format!("ssh-ed25519 {blob} eve@b"))));
    assert!(!ssh("ssh-ed25519 AAAA").is_same(&ssh("ssh-ed25519 AAAB")));
}

#[test]
fn another_passphrase_signs_nothing() {
    let refused = ada().sign_with_passphrase("correct horse batterz", b"this");
    assert_eq!(refused, Err(BadSignature::Passphrase("ada".to_owned())));
    assert!(ada().sign_with_passphrase(" correct horse battery\n", b"this").is_ok());
}

#[test]
fn codes_are_those_of_the_standard() {
    // RFC 6238, appendix B, truncated to six digits.
    let secret = b"12345678901234567890";
    for (time, code) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")] {
        assert_eq!(totp(secret, time / TOTP_STEP), code);
    }
}

#[test]
fn a_code_holds_for_a_minute_and_a_half_at_most() {
    let secret = [9; 20];
    let approver =
        Approver { name: "ada".to_owned(), key: ApproverKey::Totp { secret: Base64::encode_string(&secret) } };
    let code = totp(&secret, 1000);
    for (step, holds) in [(998, false), (999, true), (1000, true), (1001, true), (1002, false)] {
        let signed = approver.sign_with_code(&code, b"this", step * TOTP_STEP);
        assert_eq!(signed.is_ok(), holds, "{step}");
        if let Ok(signed) = signed {
            assert_eq!(approver.verify(b"this", &signed), Ok(()));
            assert!(approver.verify(b"that", &signed).is_err());
        }
    }
}

#[test]
fn a_name_can_stand_in_the_name_of_a_file() {
    assert!(ada().check().is_ok());
    for name in ["", ".a", "-a", "A", "a b", "a/b", "ä"] {
        assert!(!Approver::is_name(name), "{name}");
    }
}
