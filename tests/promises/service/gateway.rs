//! Tests the gateway's account, which sees requests and passes on answers: what it may do, what it may not, and that no
//! other account may.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use base64ct::{Base64, Encoding as _};
use guard::judge::approver::{Approver, Cost};
use guard::service::message::ServiceRequest;
use guard::store::queue::RequestState;
use serde_json::{Value, json};

use super::lying::{Mouth, row};
use super::machine::{FLAGGED, Machine, Running, until};
use crate::queue::stage::MEDIUM;

const GATEWAY: &str = "guard-gateway";

/// The lines of root's configuration besides the account and the socket.
pub const LINES: &str = "approvers = [\"ada\"]\ngateway = \"guard-gateway\"\n";

/// A command of tier 4.
const DISK: [&str; 2] = ["mkfs.ext4", "/dev/sda1"];

fn machine(more: &str) -> Option<Machine> {
    let mut machine = Machine::with(&format!("{LINES}{more}"))?;
    machine.start();
    Some(machine)
}

/// A connection of an account that speaks the gateway's protocol.
struct GatewayClient(Mouth);

impl GatewayClient {
    fn new(machine: &Machine) -> Self {
        Self(Mouth::new(machine, GATEWAY))
    }

    fn ask(&mut self, ask: Value) -> Value {
        self.0.ask(json!({ "gateway": ask }))
    }

    /// Returns all requests.
    fn list(&mut self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        let mut after = Value::Null;
        loop {
            let part = self.ask(json!({ "list": { "after": after } }))["ok"].clone();
            all.extend(part["requests"].as_array().unwrap().clone());
            if part["more"] == false {
                return all;
            }
            let last = &all.last().unwrap()["pending"];
            after = json!([last["filed"], last["id"]]);
        }
    }

    fn shown(&mut self, id: &str) -> Value {
        self.list().into_iter().find(|one| one["pending"]["id"] == id).unwrap()
    }

    fn answer(&mut self, id: &str, change: impl FnOnce(&mut Value)) -> Value {
        let mut given = json!({ "shown": self.shown(id), "yes": true, "by": "phone", "words": null, "signed": null,
            "scope": "once" });
        change(&mut given);
        self.ask(json!({ "answer": given }))
    }

    /// Returns the reason why an approval is refused.
    #[track_caller]
    fn refused(&mut self, machine: &Machine, id: &str, change: impl FnOnce(&mut Value)) -> String {
        let heard = self.answer(id, change);
        assert!(heard["ok"]["Done"].is_null(), "{heard}");
        assert_eq!(machine.state(id), RequestState::Waiting);
        heard.to_string()
    }
}

#[test]
fn the_gateway_sees_all_requests_denies_each_and_approves_what_wants_no_signature() {
    let Some(machine) = machine("") else { return };
    let (two, three, four) =
        (machine.asker("agent", &MEDIUM), machine.asker("bob", &FLAGGED), machine.asker("agent", &DISK));
    let mut gateway = GatewayClient::new(&machine);
    let users: Vec<Value> = gateway.list().iter().map(|one| one["pending"]["user"].clone()).collect();
    assert_eq!(users, ["agent", "bob", "agent"]);
    let done = json!({ "ok": { "Done": { "late": false } } });

    for scope in ["session", "always"] {
        let why = gateway.refused(&machine, &two.id, |given| given["scope"] = scope.into());
        assert!(why.contains("an unsigned approval through the gateway is valid once only"), "{why}");
    }
    assert_eq!(gateway.answer(&two.id, |_| {}), done);
    let id = two.id.clone();
    two.ran();
    assert_eq!(machine.ran(), 1);
    assert_eq!(machine.request(&id).decided_by.as_deref(), Some("phone via guard-gateway"));
    let rows = machine.rows();
    assert!(rows.iter().any(|row| row.user.as_deref() == Some("phone via guard-gateway")), "{rows:?}");

    let why = gateway.refused(&machine, &three.id, |_| {});
    assert!(why.contains("at most tier 2 (service.gateway_unsigned_tier)"), "{why}");
    // The gateway's own data about the request is ignored.
    let lower = |given: &mut Value| given["shown"]["pending"]["tier"] = 1.into();
    assert!(gateway.refused(&machine, &three.id, lower).contains("at most tier 2"));
    let why = gateway.refused(&machine, &four.id, lower);
    assert!(why.contains("tier 4 requests can only be answered at a terminal"), "{why}");
    for asker in [three, four] {
        let no = |given: &mut Value| (given["yes"], given["words"]) = (false.into(), "use a branch".into());
        assert_eq!(gateway.answer(&asker.id, no), done);
        let (status, said) = asker.end();
        assert_eq!(status.code(), Some(126), "{said}");
        assert!(said.contains("use a branch"), "{said}");
    }
    assert_eq!(machine.ran(), 1);
}

#[test]
fn root_says_up_to_which_tier_the_gateway_needs_no_signature() {
    let Some(mut high) = machine("gateway_unsigned_tier = 3\n") else { return };
    let (three, four) = (high.asker("agent", &FLAGGED), high.asker("agent", &DISK));
    let mut gateway = GatewayClient::new(&high);
    gateway.refused(&high, &four.id, |_| {});
    assert!(gateway.answer(&three.id, |_| {})["ok"]["Done"].is_object());
    three.ran();
    high.kill();
    let Some(low) = machine("gateway_unsigned_tier = 0\n") else { return };
    let two = low.asker("agent", &MEDIUM);
    assert!(GatewayClient::new(&low).refused(&low, &two.id, |_| {}).contains("at most tier 0"));
}

#[test]
fn a_signature_holds_for_the_services_own_copy_of_the_request_and_for_nothing_else() {
    let Some(machine) = machine("") else { return };
    let ada = Approver::with_passphrase("ada", "correct horse", [1; 16], Cost { memory: 64, passes: 1 }).unwrap();
    let directory = machine.path("etc/guard/approvers");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("ada.toml"), toml::to_string(&ada).unwrap()).unwrap();
    let (asker, other) = (machine.asker("agent", &FLAGGED), machine.asker("bob", &FLAGGED));
    let mut gateway = GatewayClient::new(&machine);
    assert!(gateway.refused(&machine, &asker.id, |_| {}).contains("Unsigned"));

    let mut signed = |id: &str, scope: &str, change: &dyn Fn(&mut Value)| {
        let mut shown = gateway.shown(id);
        change(&mut shown);
        let heard = gateway.ask(json!({ "approval": { "shown": shown, "scope": scope } }));
        let message = Base64::decode_vec(heard["ok"].as_str()?).unwrap();
        Some(json!(ada.sign_with_passphrase("correct horse", &message).unwrap()))
    };
    let own = signed(&asker.id, "once", &|_| {}).unwrap();
    let of_other = signed(&other.id, "once", &|_| {}).unwrap();
    let lasting = signed(&asker.id, "always", &|_| {}).unwrap();
    let changed: [&dyn Fn(&mut Value); 2] =
        [&|shown| shown["pending"]["filed"] = "2020-01-01T00:00:00Z".into(), &|shown| {
            shown["digest"] = json!(vec![7; 32])
        }];
    for change in changed {
        assert_eq!(signed(&asker.id, "once", change), None);
    }
    let forged = json!({ "approver": "ada", "signature": Base64::encode_string(&[7; 64]) });
    let unknown = json!({ "approver": "eve", "signature": own["signature"] });
    for wrong in [of_other.clone(), lasting, forged, unknown] {
        let heard = gateway.refused(&machine, &asker.id, |given| given["signed"] = wrong.clone());
        assert!(heard.contains("error"), "{wrong}: {heard}");
    }
    // The message contains the other request's digest, but the queue compares its own.
    let digest = gateway.shown(&other.id)["digest"].clone();
    gateway.refused(&machine, &asker.id, |given| (given["shown"]["digest"], given["signed"]) = (digest, of_other));
    let rows = machine.rows();
    assert!(rows.iter().any(|row| row.findings.iter().any(|found| found.rule == "guard.approve")), "{rows:?}");

    let heard = gateway.answer(&asker.id, |given| (given["signed"], given["by"]) = (own.clone(), "root".into()));
    assert_eq!(heard, json!({ "ok": { "Done": { "late": false } } }));
    let id = asker.id.clone();
    asker.ran();
    assert_eq!(machine.ran(), 1);
    assert_eq!(machine.request(&id).decided_by.as_deref(), Some("ada (signed) via guard-gateway"));
}

/// Lists every request of the protocol with its payload. A new one must be added to the list below, as allowed or not
/// allowed for the gateway.
fn is_listed(ask: &ServiceRequest) {
    match ask {
        ServiceRequest::Ledger { .. }
        | ServiceRequest::SessionState { .. }
        | ServiceRequest::Grants { .. }
        | ServiceRequest::Row(_)
        | ServiceRequest::IsHanded { .. }
        | ServiceRequest::Result { .. }
        | ServiceRequest::File(_)
        | ServiceRequest::Take { .. }
        | ServiceRequest::IsAnswered { .. }
        | ServiceRequest::GiveUp { .. }
        | ServiceRequest::Void { .. }
        | ServiceRequest::List
        | ServiceRequest::Find { .. }
        | ServiceRequest::Whole { .. }
        | ServiceRequest::Listen { .. }
        | ServiceRequest::Signatures { .. }
        | ServiceRequest::Answer(_)
        | ServiceRequest::Grant { .. }
        | ServiceRequest::Sessions
        | ServiceRequest::Resume { .. }
        | ServiceRequest::Show { .. }
        | ServiceRequest::Gateway(_) => {}
    }
}

#[test]
fn whoever_takes_the_gateway_over_runs_records_and_grants_nothing() {
    let Some(machine) = machine("") else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let (id, shown) = (asker.id.clone(), GatewayClient::new(&machine).shown(&asker.id));
    let before = machine.rows().len();
    let bindings = json!({ "folder": null, "rests_on": [], "findings": vec![0; 16] });
    let (digest, risk) = (
        json!(vec![7; 32]),
        json!({ "tier": 1, "score": 100, "reversibility": "soft", "findings": [], "context": [] }),
    );
    let all = [
        json!({ "ledger": { "session": "x" } }),
        json!({ "session_state": { "root": "x", "parent": null } }),
        json!({ "grants": { "session": "x", "command": "ls" } }),
        row(|_| {}),
        json!({ "is_handed": { "handed": "", "cwd": "Lw==", "root": "x", "tier": 1 } }),
        json!({ "result": { "row": 1, "exit": 0, "signal": null, "duration_ms": 1 } }),
        json!({ "file": { "exact": "", "risk": risk, "waits": false, "approvals": 1,
            "expires": "2100-01-01T00:00:00Z" } }),
        json!({ "take": { "id": id, "digest": digest, "bindings": bindings } }),
        json!({ "is_answered": { "digest": digest } }),
        json!({ "give_up": { "id": id } }),
        json!({ "void": { "id": id, "what": "x" } }),
        json!("list"),
        json!({ "find": { "id": id } }),
        json!({ "whole": { "id": id } }),
        json!({ "listen": { "id": id } }),
        json!({ "signatures": { "id": id, "digest": digest, "bindings": bindings } }),
        json!({ "answer": { "shown": shown, "yes": [digest, bindings], "words": null, "signatures": [],
            "approvals": 1 } }),
        json!({ "grant": { "what": { "kind": "upto", "tier": 2 }, "place": { "kind": "anywhere" },
            "until": { "kind": "revoked" }, "words": "x", "user": "agent", "session": "x" } }),
        json!("sessions"),
        json!({ "resume": { "root": "4102@x", "session": "x", "why": "x" } }),
        json!({ "show": { "words": ["log"], "environment": [] } }),
    ];
    let mut mouth = Mouth::new(&machine, GATEWAY);
    for ask in all {
        is_listed(&serde_json::from_value(ask.clone()).unwrap_or_else(|error| panic!("{ask}: {error}")));
        let heard = mouth.ask(ask.clone())["error"].to_string();
        assert!(heard.contains("is the gateway's account, which can only list requests"), "{ask}: {heard}");
    }
    assert_eq!(machine.state(&id), RequestState::Waiting);
    // The answer, the grant and the resumed session are each recorded with their kind.
    let rows = machine.rows();
    assert_eq!(rows.len(), before + 3, "{rows:?}");
    // A command of that account that must be recorded does not run either.
    let output = machine.run(GATEWAY, &[&["--"], &FLAGGED[..]].concat());
    assert_eq!(output.status.code(), Some(126));
    assert_eq!(machine.ran(), 0);
}

#[test]
fn a_person_who_became_the_gateways_account_is_one_and_a_program_of_that_account_is_none() {
    let Some(machine) = machine("") else { return };
    // Tokens for a machine's gateway are created this way: sudo -u guard-gateway guard token add.
    let words = ["person", "--", "guard", "token", "add"];
    let mut person = machine.person(GATEWAY, &words);
    assert_eq!(person.wait_exit().code(), Some(0), "{}", person.screen());
    assert_eq!(machine.run(GATEWAY, &words).status.code(), Some(126));
}

#[test]
fn nobody_else_passes_for_the_gateway() {
    let Some(machine) = machine("") else { return };
    let asker = machine.asker("agent", &MEDIUM);
    let shown = GatewayClient::new(&machine).shown(&asker.id);
    let given = json!({ "shown": shown, "yes": true, "by": "ada", "words": null, "signed": null, "scope": "once" });
    let asked = [
        json!({ "list": { "after": null } }),
        json!({ "approval": { "shown": shown, "scope": "once" } }),
        json!({ "answer": given }),
        json!({ "attempt": { "why": "x" } }),
        json!("watch"),
    ];
    for account in ["agent", "bob", "ada", "guard", "root"] {
        let mut mouth = Mouth::new(&machine, account);
        for ask in &asked {
            let heard = mouth.ask(json!({ "gateway": ask }))["error"].to_string();
            assert!(heard.contains("is not the gateway's account"), "{account}: {ask}: {heard}");
        }
    }
    assert_eq!(machine.state(&asker.id), RequestState::Waiting);
    drop(asker);
    // If root's configuration names no gateway, no account is one.
    let Some(machine) = Machine::new() else { return };
    let heard = Mouth::new(&machine, GATEWAY).ask(json!({ "gateway": "watch" }))["error"].to_string();
    assert!(heard.contains("is not the gateway's account"), "{heard}");
}

#[test]
fn the_gateway_is_told_of_every_change() {
    let Some(machine) = machine("") else { return };
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                  s.sendall(b'{\"v\":1,\"ask\":{\"gateway\":\"watch\"}}\\n')\n\
                  while True:\n b=s.recv(4096)\n if not b: break\n print(b,flush=True)\n";
    let mut command = machine.program(GATEWAY, "python3");
    command.args(["-c", script]).arg(machine.path("run/guard.sock")).stdout(Stdio::piped());
    let mut watching = Running::start(&mut command);
    let mut heard = BufReader::new(watching.0.stdout.take().unwrap()).lines();
    let mut next = || heard.next().unwrap().unwrap();
    assert!(next().contains("ok"));
    let asker = machine.asker("agent", &MEDIUM);
    assert!(next().starts_with("b'."), "it was filed");
    assert!(GatewayClient::new(&machine).answer(&asker.id, |_| {})["ok"]["Done"].is_object());
    assert!(next().starts_with("b'."), "it was answered");
    let id = asker.id.clone();
    asker.ran();
    // The use of the approval is reported with the answer or separately.
    until("the yes to be used", || machine.state(&id) == RequestState::Used);
    let second = machine.asker("agent", &FLAGGED);
    machine.kill_waiter(&second.id);
    until("a request to be late", || machine.state(&second.id) == RequestState::Late);
    second.end();
    assert!(next().starts_with("b'."));
}

#[test]
fn what_is_too_long_is_cut_and_denied_alone() {
    let Some(machine) = machine("") else { return };
    let long = "x".repeat(100_000);
    let words = ["npm", "install", &long];
    let accounts = ["agent", "bob", "ada"].into_iter().cycle().take(18);
    let askers: Vec<_> = accounts.map(|account| machine.asker(account, &words)).collect();
    let mut gateway = GatewayClient::new(&machine);
    let all = gateway.list();
    assert_eq!(all.len(), 18);
    assert!(all.iter().all(|one| one["pending"]["redacted"] == true));
    assert!(all.iter().all(|one| one["pending"]["command"].as_str().unwrap().len() < 70_000));
    assert!(gateway.refused(&machine, &askers[0].id, |_| {}).contains("are hidden outside a terminal"));
    // Many requests are split over several lines.
    let first = gateway.ask(json!({ "list": { "after": null } }));
    assert_eq!(first["ok"]["more"], true, "18 of 64 KiB do not go into one");
    assert!(gateway.answer(&askers[0].id, |given| given["yes"] = false.into())["ok"]["Done"].is_object());
}
