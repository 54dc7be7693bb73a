//! Reads any bytes as each body and message of the API: no panic, and a decision counts as an approval only when its
//! text names one.
#![no_main]

use guard_gateway::api::answers::{AnswerBody, BatchBody, Verb};
use guard_gateway::api::channels::ChannelsBody;
use guard_gateway::api::events::GateDecision;
use guard_gateway::api::pages::Login;
use guard_gateway::api::passkeys::{PairingBody, PairingSecret, PasskeyBody};
use guard_gateway::api::push::Device;
use guard_gateway::api::record::SessionBody;
use guard_gateway::api::report::ReportBody;
use guard_gateway::api::submit::{SubmitBody, read};
use guard_gateway::backend::Scope;
use guard_gateway::backend::record::Cursor;
use guard_gateway::push::Subscription;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let _ = (
        read::<SubmitBody>(bytes),
        read::<AnswerBody>(bytes),
        read::<ReportBody>(bytes),
        read::<Login>(bytes),
        read::<ChannelsBody>(bytes),
    );
    let _ = (
        read::<PairingBody>(bytes),
        read::<PairingSecret>(bytes),
        read::<PasskeyBody>(bytes),
        read::<Device>(bytes),
        read::<SessionBody>(bytes),
    );
    if let Ok(BatchBody { answers }) = read::<BatchBody>(bytes) {
        let value: Value = serde_json::from_slice(bytes).expect("what was read is JSON");
        let told = value["answers"].as_array().expect("a list");
        assert_eq!(answers.len(), told.len());
        for (one, told) in answers.iter().zip(told) {
            assert_eq!(one.decision == Verb::Approve, told["decision"] == "approve");
            assert_eq!(told["action_id"], one.action_id);
        }
    }
    if let Ok(one) = read::<Subscription>(bytes) {
        let _ = one.check(&["push.example".to_owned()]);
    }
    for one in read::<Vec<&RawValue>>(bytes).unwrap_or_default() {
        let _ = read::<SubmitBody>(one.get().as_bytes());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(cursor) = Cursor::parse(text) {
        assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor));
    }
    if let Some(scope) = Scope::named(text) {
        assert_eq!(scope.name(), text);
    }
    if let Ok(said) = GateDecision::read(text) {
        let value: Value = serde_json::from_str(text).expect("what was read is JSON");
        assert_eq!(value["action_id"], said.action_id);
        assert_eq!(value["type"], "tier3_decision");
        let word = value["decision"].as_str().unwrap_or_default();
        assert_eq!(said.yes, word == "approve" || word == "approved");
    }
});
