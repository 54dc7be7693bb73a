//! Tests that a submitter is not trusted: it can act only for its own commands.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64ct::{Base64, Encoding as _};
use guard::judge::Judgment;
use guard::judge::approver::ApprovalNonce;
use guard::judge::bindings::Bindings;
use guard::store::queue::{RequestState, pack};
use serde_json::{Value, json};

use super::machine::{FLAGGED, Machine, Running, uid, until};
use crate::queue::stage::{answer_card, apart};

/// A connection of an account to the service, which sends arbitrary messages.
pub(super) struct Mouth {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

const TALK: &str = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nf=s.makefile('rb')\n\
                    for l in sys.stdin.buffer:\n r=b''\n try: s.sendall(l)\n except OSError: pass\n \
                    try: r=f.readline()\n except OSError: pass\n \
                    sys.stdout.buffer.write(r or b'closed\\n')\n sys.stdout.buffer.flush()\n";

impl Mouth {
    pub fn new(machine: &Machine, account: &str) -> Self {
        let mut command = machine.program(account, "python3");
        command.args(["-c", TALK]).arg(machine.path("run/guard.sock"));
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, to, from }
    }

    fn raw(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").unwrap();
        let mut heard = String::new();
        self.from.read_line(&mut heard).unwrap();
        heard
    }

    pub fn ask(&mut self, ask: Value) -> Value {
        let heard = self.raw(&json!({ "v": 1, "ask": ask }).to_string());
        serde_json::from_str(&heard).unwrap_or_else(|_| panic!("{heard}"))
    }
}

impl Drop for Mouth {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a row as a submitter would send it.
pub(super) fn row(change: impl FnOnce(&mut Value)) -> Value {
    let mut row = json!({
        "advised": false, "handed": null, "command": "git push --force", "cwd": "Lw==", "session": "x",
        "root": "0@1.1.x", "agent": null, "origin": "agent", "digest": vec![7; 32],
        "risk": { "tier": 3, "score": 300, "reversibility": "hard", "findings": [], "context": [] },
        "settled": { "allowed": "Score" }, "answer_ms": null, "words": null, "parent": null, "waits": false,
        "shape": null
    });
    change(&mut row);
    json!({ "row": row })
}

#[test]
fn an_account_that_is_not_named_answers_nothing() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    for account in ["bob", "agent", "guard", "root"] {
        let mut terminal = machine.person(account, &["approve", &asker.id]);
        assert_eq!(terminal.wait_exit().code(), Some(126), "{account}: {}", terminal.screen());
        assert!(terminal.screen().contains("not an approver of this machine"), "{account}: {}", terminal.screen());
    }
    let told = json!({ "pending": Value::Null, "waiter": null, "root": "", "digest": [] });
    let mut mouth = Mouth::new(&machine, "ada");
    let shown = mouth.ask(json!({ "find": { "id": asker.id } }))["ok"].clone();
    assert!(shown["pending"]["id"] == asker.id.as_str() && told != shown);
    for (account, why) in [("agent", "agent may not answer"), ("bob", "Unknown"), ("ada", "foreground of a terminal")] {
        let mut mouth = Mouth::new(&machine, account);
        for yes in [Value::Null, json!([vec![7; 32], { "folder": null, "rests_on": [], "findings": vec![0; 16] }])] {
            let given =
                json!({ "answer": { "shown": shown, "yes": yes, "words": null, "signatures": [], "approvals": 1 } });
            let heard = mouth.ask(given).to_string();
            assert!(heard.contains(why), "{account}: {heard}");
        }
    }
    assert_eq!((machine.state(&asker.id), machine.ran()), (RequestState::Waiting, 0));
    let attempts = machine.rows().into_iter().filter(|row| row.settled_by.as_deref() == Some("attempt")).count();
    assert!(attempts >= 7, "{attempts}");
    let mut ada = machine.person("ada", &["deny", &asker.id, "--reason", "no"]);
    ada.wait_exit();
    asker.refused("denied by a person: no");
}

#[test]
fn an_approver_does_not_answer_what_their_own_account_asked_for_unless_root_says_so() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("ada", &FLAGGED);
    let mut ada = machine.person("ada", &["approve", &asker.id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    assert!(ada.screen().contains("an account cannot answer its own request"), "{}", ada.screen());
    assert_eq!(machine.state(&asker.id), RequestState::Waiting);
    let mut terminal = machine.person("ada", &[&["--"], &FLAGGED[..]].concat());
    assert_eq!(terminal.wait_exit().code(), Some(126), "{}", terminal.screen());
    drop((asker, machine));

    let Some(mut machine) = Machine::with("approvers = [\"ada\"]\nown_requests = true\n") else { return };
    machine.start();
    let asker = machine.asker("ada", &FLAGGED);
    let mut ada = machine.person("ada", &["approve", &asker.id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    asker.ran();
    let mut terminal = machine.person("ada", &[&["--"], &FLAGGED[..]].concat());
    answer_card(&mut terminal, "y");
    assert_eq!(terminal.wait_exit().code(), Some(0), "{}", terminal.screen());
    assert_eq!(machine.ran(), 2);
}

#[test]
fn nobody_reads_uses_or_ends_the_requests_of_another_account() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let id = &asker.id;
    assert_eq!(machine.prints("bob", &["pending", "--all"], 0), "No requests are waiting.\n");
    assert!(machine.prints("agent", &["pending"], 0).contains(id));
    let mut mouth = Mouth::new(&machine, "bob");
    let nothing = json!({ "ok": null });
    assert_eq!(mouth.ask(json!({ "find": { "id": id } })), nothing);
    assert_eq!(mouth.ask(json!({ "whole": { "id": id } })), nothing);
    assert_eq!(mouth.ask(json!("list")), json!({ "ok": [] }));
    let bindings = json!({ "folder": null, "rests_on": [], "findings": vec![0; 16] });
    for ask in [
        json!({ "take": { "id": id, "digest": vec![7; 32], "bindings": bindings } }),
        json!({ "give_up": { "id": id } }),
        json!({ "void": { "id": id, "what": "x" } }),
        json!({ "sessions": null }),
        json!("sessions"),
        json!({ "resume": { "root": "0@x", "session": "x", "why": "x" } }),
    ] {
        let mut mouth = Mouth::new(&machine, "bob");
        assert!(mouth.ask(ask.clone())["error"].is_string(), "{ask}");
    }
    let mut mouth = Mouth::new(&machine, "bob");
    assert!(mouth.ask(json!({ "listen": { "id": id } }))["error"].is_string());
    // Another process of the same account cannot give up the request for which the first one waits.
    let mut mouth = Mouth::new(&machine, "agent");
    let error = mouth.ask(json!({ "give_up": { "id": id } }))["error"].to_string();
    assert!(error.contains("another process already waits"), "{error}");
    assert_eq!(machine.state(id), RequestState::Waiting);
    for verb in ["log", "stats", "verify", "export"] {
        for account in ["bob", "agent"] {
            let output = machine.run(account, &[verb]);
            assert_eq!(output.status.code(), Some(125), "{verb}");
            assert!(String::from_utf8_lossy(&output.stderr).contains("may not read the record"), "{output:?}");
        }
    }
}

#[test]
fn a_yes_is_used_by_the_account_that_asked_alone() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let id = asker.id.clone();
    let mut mouth = Mouth::new(&machine, "ada");
    let whole = mouth.ask(json!({ "whole": { "id": id } }))["ok"].clone();
    assert!(whole[1].is_string());
    // The same command, filed by another account, is another request.
    let mut bob = Mouth::new(&machine, "bob");
    let risk = json!({ "tier": 3, "score": 300, "reversibility": "hard", "findings": [], "context": [] });
    let new = json!({ "file": { "exact": whole[1], "risk": risk, "waits": true, "approvals": 1,
        "expires": "2100-01-01T00:00:00Z" } });
    let filed = bob.ask(new)["ok"]["Waits"]["id"].as_str().unwrap().to_owned();
    assert_ne!(filed, id);
    let request = machine.request(&filed);
    assert_eq!(request.user, "bob");
    assert!(request.root.starts_with(&format!("{}@", uid("bob"))), "{}", request.root);
    assert!(request.waiter.as_deref().unwrap().starts_with(&format!("{}.", bob.child.id())), "{request:?}");
    drop(bob);
    let mut ada = machine.person("ada", &["approve", &id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    asker.ran();
    assert_eq!(machine.ran(), 1);
}

#[test]
fn no_row_says_that_a_person_said_yes_where_none_did() {
    let Some(machine) = Machine::new() else { return };
    let mut mouth = Mouth::new(&machine, "agent");
    let lies = [
        json!({ "allowed": "Person" }),
        json!({ "allowed": "YesInAdvance" }),
        json!({ "allowed": "Host" }),
        json!({ "allowed": { "Parent": 1 } }),
        json!({ "allowed": { "Grant": { "Stored": 1 } } }),
        json!("asked"),
    ];
    for settled in lies {
        let heard = mouth.ask(row(|row| row["settled"] = settled.clone()));
        assert!(heard["error"].to_string().contains("does not contain"), "{settled}: {heard}");
        let heard = mouth.ask(row(|row| (row["settled"], row["advised"]) = (settled.clone(), true.into())));
        assert!(heard["error"].is_string(), "{settled}: {heard}");
    }
    assert_eq!(machine.rows(), []);
    let heard = mouth.ask(json!({ "result": { "row": 1, "exit": 0, "signal": null, "duration_ms": 1 } }));
    assert!(heard["error"].to_string().contains("does not belong to this process"), "{heard}");
    let grant = json!({ "grant": { "what": { "kind": "upto", "tier": 2 }, "place": { "kind": "anywhere" },
        "until": { "kind": "revoked" }, "words": "x", "user": "agent", "session": "x" } });
    assert!(mouth.ask(grant)["error"].is_string());
    assert_eq!(machine.rows(), []);
}

#[test]
fn an_account_and_a_process_in_a_message_count_for_nothing() {
    let Some(machine) = Machine::new() else { return };
    let mut mouth = Mouth::new(&machine, "agent");
    let root = format!("{}@1.1.boot", uid("ada"));
    let heard = mouth.ask(row(|row| {
        (row["root"], row["parent"], row["waits"]) = (root.clone().into(), "1.1.boot".into(), true.into());
    }));
    assert_eq!(heard, json!({ "ok": 1 }));
    let rows = machine.rows();
    assert_eq!(rows[0].user.as_deref(), Some("agent"));
    assert!(rows[0].root.as_deref().unwrap().starts_with(&format!("{}@", uid("agent"))), "{rows:?}");
    assert_eq!(rows[0].about, None);
    // The messages have no such fields.
    for name in ["user", "uid", "pid", "process"] {
        let mut mouth = Mouth::new(&machine, "agent");
        let heard = mouth.ask(row(|row| row[name] = "ada".into()));
        assert!(heard["error"].to_string().contains("invalid request"), "{name}: {heard}");
        assert_eq!(mouth.raw("{}"), "closed\n");
    }
    assert_eq!(machine.rows().len(), 1);
}

#[test]
fn what_is_no_message_ends_that_connection_and_no_other() {
    let Some(machine) = Machine::new() else { return };
    let mut other = Mouth::new(&machine, "bob");
    let nested = "[".repeat(100_000);
    for line in ["nonsense", "{}", "{\"v\":1}", "{\"v\":1,\"ask\":\"everything\"}", "\0\u{1}", nested.as_str()] {
        let mut mouth = Mouth::new(&machine, "agent");
        assert!(mouth.raw(line).contains("error"), "{line:.20}");
        assert_eq!(mouth.raw("{\"v\":1,\"ask\":\"list\"}"), "closed\n", "{line:.20}");
        assert_eq!(other.ask(json!("list")), json!({ "ok": [] }));
    }
    let mut mouth = Mouth::new(&machine, "agent");
    assert!(mouth.raw("{\"v\":2,\"ask\":\"list\"}").contains("different versions (2 and 1)"));
    let mut mouth = Mouth::new(&machine, "agent");
    assert!(mouth.raw(&"x".repeat(4 << 20)).contains("longer than 3 MiB"));
    assert_eq!(other.ask(json!("list")), json!({ "ok": [] }));
}

#[test]
fn an_account_that_holds_all_its_connections_stalls_nobody_else() {
    let Some(machine) = Machine::new() else { return };
    let script = "import socket,sys,time\nall=[]\nfor i in range(200):\n s=socket.socket(socket.AF_UNIX)\n \
                  s.connect(sys.argv[1])\n all.append(s)\n try: s.sendall(b'{')\n except OSError: pass\n all.append(s)\nopen(sys.argv[2],'w').close()\ntime.sleep(3600)\n";
    let ready = machine.path("marks/ready");
    let mut command = machine.program("bob", "python3");
    let _many = Running::start(command.args(["-c", script]).arg(machine.path("run/guard.sock")).arg(&ready));
    until("many connections", || ready.exists());
    let asker = machine.asker("agent", &FLAGGED);
    let mut ada = machine.person("ada", &["approve", &asker.id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    asker.ran();
}

#[test]
fn the_directory_is_closed_to_everybody_else() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let directory = machine.path("var/guard");
    for account in ["agent", "ada", "bob"] {
        for file in ["guard.db", "queue.db", "guard.key"] {
            for words in [vec!["cat"], vec!["touch"], vec!["rm", "-f"]] {
                let mut command = machine.program(account, words[0]);
                let status = command.args(&words[1..]).arg(directory.join(file)).output().unwrap().status;
                assert!(!status.success(), "{account}: {words:?} {file}");
            }
        }
    }
    assert_eq!(machine.state(&asker.id), RequestState::Waiting);
}

#[test]
fn whoever_is_killed_while_waiting_has_given_up() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let id = asker.id.clone();
    machine.kill_waiter(&id);
    until("the request to be given up", || machine.state(&id) == RequestState::Late);
    asker.end();
    assert_eq!(machine.ran(), 0);
}

#[test]
fn as_many_of_an_account_wait_as_root_lets_wait_whatever_their_sessions() {
    let Some(mut machine) = Machine::with("approvers = [\"ada\"]\n[queue]\npending = 2\n") else { return };
    machine.start();
    let first = machine.asker("agent", &FLAGGED);
    let second = machine.asker("agent", &["git", "push", "--force", "origin", "other"]);
    let mut third = machine.guard("agent", &["--", "git", "push", "--force", "origin", "third"]);
    let said = third.env("GUARD_WAIT", "60").output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("rate limited: 2 requests"), "{said}");
    let other = machine.asker("bob", &FLAGGED);
    for asker in [first, second, other] {
        assert_eq!(machine.state(&asker.id), RequestState::Waiting);
    }
}

#[test]
fn one_yes_is_one_row_and_in_the_words_of_the_answer() {
    let Some(machine) = Machine::new() else { return };
    let words: Vec<&str> = FLAGGED.to_vec();
    let command = crate::harness::home::invocation(&words);
    let (digest, bindings) = (command.digest(&BTreeSet::new()), Bindings::of(&Judgment::default(), None));
    let exact = Base64::encode_string(&pack(&command, &digest, &bindings, ApprovalNonce::default(), &[]));
    let risk = json!({ "tier": 3, "score": 300, "reversibility": "hard", "findings": [], "context": [] });
    let mut mouth = Mouth::new(&machine, "agent");
    let filed = mouth.ask(json!({ "file": { "exact": exact, "risk": risk, "waits": false, "approvals": 1,
        "expires": "2100-01-01T00:00:00Z" } }));
    let id = filed["ok"]["Waits"]["id"].as_str().unwrap().to_owned();
    // This test is an ancestor of both processes, which the answering process must not be related to.
    let mut ada = machine.person("ada", &["approve", &id]);
    ada.wait_exit();
    assert!(ada.screen().contains("the same parent"), "{}", ada.screen());
    drop(mouth);

    let mut command = machine.program("agent", "sh");
    command.args(["-c", "python3 -c \"$1\" \"$2\"; exit $?", "sh", TALK]).arg(machine.path("run/guard.sock"));
    let mut mouth = Mouth::start(apart(command));
    let filed = mouth.ask(json!({ "file": { "exact": exact, "risk": risk, "waits": false, "approvals": 1,
        "expires": "2100-01-01T00:00:00Z" } }));
    let id = filed["ok"]["Waits"]["id"].as_str().unwrap().to_owned();
    let mut ada = machine.person("ada", &["approve", &id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    let take = json!({ "take": { "id": id, "digest": digest, "bindings": bindings } });
    let row_of_it = mouth.ask(take.clone())["ok"]["Yes"]["row"].as_i64().unwrap();
    let yes = |words: String| {
        row(|row| {
            row["settled"] = json!({ "allowed": "Person" });
            (row["digest"], row["words"]) = (json!(digest), words.into());
        })
    };
    let right = format!("request {id}, approved by ada in row {row_of_it}");
    for wrong in ["request x, approved by root in row 1".to_owned(), String::new()] {
        assert!(mouth.ask(yes(wrong))["error"].is_string());
    }
    assert!(mouth.ask(yes(right.clone()))["ok"].is_i64());
    assert!(mouth.ask(yes(right))["error"].is_string());
    let again = mouth.ask(take).to_string();
    assert!(again.contains("already used"), "{again}");
}

#[test]
fn a_session_that_was_stopped_is_let_go_on_by_an_approver_alone() {
    let Some(machine) = Machine::new() else { return };
    let mut command = machine.program("agent", "sh");
    let script = "for i in 1 2 3 4 5; do \"$0\" -- \"$@\"; while [ $i = 4 ] && ! [ -e $GO ]; do sleep 0.05; done; done";
    command.args(["-c", script]).arg(machine.path("bin/guard")).args(FLAGGED);
    command.env("GUARD_WAIT", "60").env("GO", machine.path("marks/go"));
    command.stderr(std::fs::File::create(machine.path("marks/said")).unwrap());
    let _agent = Running::start(&mut apart(command));
    let said = || std::fs::read_to_string(machine.path("marks/said")).unwrap();
    let waiting = || machine.all().into_iter().find(|one| one.state == RequestState::Waiting);
    for _ in 0..3 {
        until("a request", || waiting().is_some());
        let id = waiting().unwrap().id;
        machine.person("ada", &["deny", &id]).wait_exit();
        until("the no", || waiting().is_none_or(|one| one.id != id));
    }
    until("the breaker", || said().contains("3 denials in a row"));
    assert!(machine.prints("ada", &["session"], 0).contains("stopped"));
    let resume = ["session", "resume", "--reason", "looked at it"];
    for account in ["bob", "agent"] {
        assert_eq!(machine.person(account, &resume).wait_exit().code(), Some(126), "{account}");
        assert_eq!(machine.run(account, &["session"]).status.code(), Some(125), "{account}");
    }
    let mut ada = machine.person("ada", &resume);
    assert_eq!(ada.wait_exit().code(), Some(0), "{}", ada.screen());
    std::fs::write(machine.path("marks/go"), "").unwrap();
    until("the request after it", || waiting().is_some());
}
