//! Tests that agents ask and named people answer.

use guard::judge::approver::{Approver, Cost};
use guard::store::RowKind;
use guard::store::queue::RequestState;

use super::machine::{FLAGGED, Machine};
use crate::harness::pty::Terminal;
use crate::queue::stage::{MEDIUM, answer_card, apart};

#[test]
fn what_an_agent_asks_for_runs_once_a_named_person_says_yes() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    let id = asker.id.clone();
    assert!(machine.prints("ada", &["pending"], 0).contains(&id));
    let mut ada = machine.person("ada", &["approve", &id]);
    answer_card(&mut ada, "y");
    ada.wait_exit();
    let screen = ada.screen();
    assert!(screen.contains("approved: git push --force"), "{screen}");
    asker.ran();
    assert_eq!((machine.ran(), machine.state(&id)), (1, RequestState::Used));
    let rows = machine.rows();
    let users: Vec<_> = rows.iter().map(|row| row.user.as_deref().unwrap_or("-")).collect();
    assert_eq!(users, ["ada", "agent"], "{rows:?}");
    assert_eq!(rows[1].words.as_deref(), Some(format!("request {id}, approved by ada in row 1").as_str()));
    assert!(rows[1].result.as_ref().is_some_and(|result| result.exit == Some(0)), "{rows:?}");
    assert_eq!(machine.store().verify().unwrap().faults, []);
    assert!(!machine.path("home/agent/.local").exists() && !machine.path("home/ada/.local").exists());
}

#[test]
fn what_is_filed_without_waiting_is_used_once_by_the_account_that_asked() {
    let Some(machine) = Machine::new() else { return };
    let command = |account: &str| {
        let mut command = machine.program(account, "sh");
        command.args(["-c", "\"$0\" --no-wait -- \"$@\"; exit $?"]).arg(machine.path("bin/guard")).args(FLAGGED);
        command.env_remove("GUARD_WAIT");
        apart(command)
    };
    assert_eq!(command("agent").output().unwrap().status.code(), Some(75));
    let id = machine.all().first().unwrap().id.clone();
    let mut waits = machine.guard("agent", &["wait", &id]);
    let mut waits = waits.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut review = machine.person("ada", &["review"]);
    review.wait_for(&id);
    review.send("\r");
    answer_card(&mut review, "y");
    review.wait_for("approved");
    review.send("q");
    review.wait_exit();
    assert_eq!(waits.wait().unwrap().code(), Some(0));
    assert_eq!(command("bob").output().unwrap().status.code(), Some(75));
    assert_eq!(machine.ran(), 0);
    assert_eq!(command("agent").output().unwrap().status.code(), Some(0));
    assert_eq!((machine.ran(), machine.state(&id)), (1, RequestState::Used));
    assert_eq!(command("agent").output().unwrap().status.code(), Some(75));
}

#[test]
fn a_no_of_the_reviewer_is_overruled_once_by_a_named_person() {
    let Some(machine) = Machine::new() else { return };
    // A stand-in for the helper that queries the model, which plays a model that denies.
    let digest = r#"digest=$(sed 's/.*"digest":"\([0-9a-f]\{8\}\).*/\1/')"#;
    let opinion = r#"{"v":1,"opinion":{"says":"DENY","reason":"a name like another","by":"mill","about":"'$digest'"}}"#;
    let helper = format!("#!/bin/sh\n{digest}\necho '{opinion}'\n");
    crate::harness::program::write(&machine.path("bin/guard-gateway"), &helper);
    let directory = machine.path("home/agent/.config/guard");
    std::fs::create_dir_all(&directory).unwrap();
    let config = "mode = \"smart\"\n[thresholds]\ncli = 2.0\n[reviewer]\nprovider = \"ollama\"\nmodel = \"mill\"\n";
    std::fs::write(directory.join("config.toml"), config).unwrap();
    let mut owner = std::process::Command::new("chown");
    owner.arg("-R").arg(super::machine::uid("agent").to_string()).arg(machine.path("home/agent/.config"));
    assert!(owner.status().unwrap().success());
    let run = || {
        let mut command = machine.program("agent", "sh");
        command.args(["-c", "\"$0\" -- \"$@\"; exit $?"]).arg(machine.path("bin/guard")).args(MEDIUM);
        apart(command).env("GUARD_WAIT", "20").output().unwrap()
    };
    let refused = run();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), machine.ran()), (Some(126), 0), "{said}");
    assert!(said.contains("denied by the reviewer (mill): a name like another"), "{said}");
    let id = said.split("guard approve ").nth(1).unwrap_or_else(|| panic!("{said}")).split(')').next().unwrap();
    let mut ada = machine.person("ada", &["approve", id]);
    ada.wait_for("The reviewer denied it");
    ada.read_question();
    ada.type_slowly("it is ours");
    ada.send("\r");
    assert_eq!(ada.wait_exit().code(), Some(0), "{}", ada.screen());
    let again = run();
    assert_eq!((again.status.code(), machine.ran()), (Some(0), 1), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!((run().status.code(), machine.ran()), (Some(126), 1), "once");
}

#[test]
fn a_grant_that_is_given_with_the_answer_holds_for_the_account_that_asked() {
    let Some(machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &MEDIUM);
    let mut ada = machine.person("ada", &["approve", &asker.id]);
    answer_card(&mut ada, "a");
    ada.wait_for("y allow always");
    ada.read_question();
    ada.send("y");
    ada.wait_exit();
    asker.ran();
    machine.prints("agent", &[&["--"], &MEDIUM[..]].concat(), 0);
    assert_eq!(machine.ran(), 2);
    let output = machine.run("bob", &[&["--"], &MEDIUM[..]].concat());
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    let rows = machine.rows();
    assert!(rows.iter().any(|row| row.settled_by.as_deref() == Some("grant") && row.user.as_deref() == Some("agent")));
    let given = rows.iter().find(|row| row.kind == RowKind::Grant).unwrap();
    assert!(given.words.as_deref().unwrap().ends_with("(given by ada)"), "{given:?}");
}

#[test]
fn no_terminal_prompt_or_word_of_the_one_who_asks_counts() {
    let Some(machine) = Machine::new() else { return };
    for words in [&["--"][..], &["--yes", "--"]] {
        let mut terminal = machine.person("agent", &[words, &FLAGGED[..]].concat());
        assert_eq!(terminal.wait_exit().code(), Some(126), "{}", terminal.screen());
        assert!(terminal.screen().contains("may answer (ada)"), "{}", terminal.screen());
    }
    let call = serde_json::json!({ "session_id": "s", "cwd": machine.path("work"), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": FLAGGED.join(" ") } });
    std::fs::write(machine.path("marks/call"), call.to_string()).unwrap();
    let mut hook = machine.guard("agent", &["hook", "--agent", "claude"]);
    let output = hook.stdin(std::fs::File::open(machine.path("marks/call")).unwrap()).output().unwrap();
    // The hook must print nothing that makes the agent ask, and its exit code must not let the agent continue.
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("may answer (ada)"), "{output:?}");
    assert_eq!(machine.ran(), 0);
}

#[test]
fn a_yes_that_an_approver_has_to_sign_is_checked_by_the_service_too() {
    let Some(machine) = Machine::new() else { return };
    let ada = Approver::with_passphrase("ada", "correct horse", [1; 16], Cost { memory: 64, passes: 1 }).unwrap();
    let directory = machine.path("etc/guard/approvers");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("ada.toml"), toml::to_string(&ada).unwrap()).unwrap();
    let asker = machine.asker("agent", &FLAGGED);
    // Talks to the service without guard, on her own terminal.
    let script = "import socket,sys,json\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nf=s.makefile('r')\n\
                  def a(q):\n s.sendall((json.dumps({'v':1,'ask':q})+'\\n').encode())\n return json.loads(f.readline())\n\
                  p=a({'find':{'id':sys.argv[2]}})['ok']\n\
                  y=[[7]*32,{'folder':None,'rests_on':[],'findings':[0]*16}]\n\
                  print(a({'answer':{'shown':p,'yes':y,'words':None,'signatures':[],'approvals':1}}))\n";
    let mut command = machine.program("ada", "python3");
    command.args(["-c", script]).arg(machine.path("run/guard.sock")).arg(&asker.id);
    let mut forged = Terminal::spawn(command);
    forged.wait_exit();
    assert!(forged.screen().contains("not signed by an approver"), "{}", forged.screen());
    assert_eq!(machine.state(&asker.id), RequestState::Waiting);
    let mut terminal = machine.person("ada", &["approve", &asker.id]);
    answer_card(&mut terminal, "y");
    terminal.wait_for("passphrase of ada");
    terminal.send("correct horse\r");
    terminal.wait_exit();
    asker.ran();
    assert_eq!(machine.ran(), 1);
}
