//! Every body and message of the API is read without a panic, and a decision is a yes only in the words for one.
#![no_main]

use guard_gateway::api::answers::Said;
use guard_gateway::api::channels::Which;
use guard_gateway::api::events::Decision;
use guard_gateway::api::pages::Login;
use guard_gateway::api::submit::{Ended, New, read};
use guard_gateway::backend::Scope;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    let _ = (read::<New>(bytes), read::<Said>(bytes), read::<Ended>(bytes), read::<Login>(bytes), read::<Which>(bytes));
    for one in read::<Vec<&RawValue>>(bytes).unwrap_or_default() {
        let _ = read::<New>(one.get().as_bytes());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(scope) = Scope::named(text) {
        assert_eq!(scope.name(), text);
    }
    if let Ok(said) = Decision::read(text) {
        let value: Value = serde_json::from_str(text).expect("what was read is JSON");
        assert_eq!(value["action_id"], said.action_id);
        assert_eq!(value["type"], "tier3_decision");
        let word = value["decision"].as_str().unwrap_or_default();
        assert_eq!(said.yes, word == "approve" || word == "approved");
    }
});
