//! Tests a service that is down, belongs to another account or sends nonsense: no flagged command runs, and nothing is
//! recorded elsewhere.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::UnixListener;

use super::machine::{ADA, FLAGGED, Machine, Running, uid};
use crate::harness::home::Home;

/// Replaces the service's socket by one that answers each line with this text.
fn stand_in(machine: &Machine, answer: &'static str) {
    let place = machine.path("run/guard.sock");
    let _ = std::fs::remove_file(&place);
    let listener = UnixListener::bind(&place).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap());
                let mut line = String::new();
                while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                    let _ = (&stream).write_all(answer.as_bytes());
                    line.clear();
                }
            });
        }
    });
}

#[test]
fn a_service_that_is_down_lets_nothing_flagged_through() {
    let Some(mut machine) = Machine::with(ADA) else { return };
    machine.holds_back("no such file or directory");
    machine.start();
    machine.kill();
    machine.holds_back("connection refused");
    machine.start();
    let said = machine.run("agent", &[&["--"], &FLAGGED[..]].concat());
    assert!(String::from_utf8_lossy(&said.stderr).contains("no one to ask"), "{said:?}");
}

#[test]
fn a_socket_that_another_account_put_up_is_not_believed() {
    let Some(machine) = Machine::with(ADA) else { return };
    // Makes the directory writable for every account, unlike that of a real service, so that the other account can
    // create a socket there.
    std::fs::set_permissions(machine.path("run"), std::fs::Permissions::from_mode(0o777)).unwrap();
    for account in ["bob", "agent"] {
        let place = machine.path("run/guard.sock");
        let _ = std::fs::remove_file(&place);
        let script = "import socket,sys,time\ns=socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n\
                      import os\nos.chmod(sys.argv[1],0o666)\nopen(sys.argv[2],'w').close()\n\
                      while True:\n c,_=s.accept()\n while c.recv(65536): c.sendall(b'{\"ok\":1}\\n')\n";
        let ready = machine.path("marks/ready");
        let _ = std::fs::remove_file(&ready);
        let mut command = machine.program(account, "python3");
        let _other = Running::start(command.args(["-c", script]).arg(&place).arg(&ready));
        super::machine::until("the other socket", || ready.exists());
        machine.holds_back(&format!("who listens there is {account}, and not guard"));
    }
}

#[test]
fn nonsense_is_no_answer() {
    let Some(machine) = Machine::with(ADA) else { return };
    // A socket of root is trusted, so only its answers are wrong.
    for answer in ["nonsense\n", "{}\n", "{\"ok\":{\"row\":1}}\n", "{\"ok\":null}\n", "{\"ok\":[]}\n\n{\"ok\":1}\n"] {
        stand_in(&machine, answer);
        machine.holds_back("guard's service");
    }
    stand_in(&machine, "{\"error\":\"the disk is full\"}\n");
    machine.holds_back("the disk is full");
}

#[test]
fn a_configuration_that_does_not_say_which_service_lets_nothing_flagged_through() {
    for lines in ["approvers = \"ada\"\n", "sockets = \"/x\"\n", "own_requests = 1\n", "[service\n"] {
        let Some(machine) = Machine::with(lines) else { return };
        machine.holds_back("which service keeps the record cannot be told");
    }
    let Some(machine) = Machine::with("approvers = [\"guard\"]\n") else { return };
    machine.holds_back("the service's own account cannot be an approver");
}

#[test]
fn no_other_layer_names_the_service() {
    let Some(mut machine) = Machine::with(ADA) else { return };
    machine.start();
    let own = machine.path("home/agent/.config/guard");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("config.toml"), "[service]\naccount = \"agent\"\napprovers = [\"agent\"]\n").unwrap();
    for path in ["home/agent/.config", "home/agent/.config/guard", "home/agent/.config/guard/config.toml"] {
        chown(machine.path(path), Some(uid("agent")), Some(uid("agent"))).unwrap();
    }
    let said = machine.run("agent", &["config", "check"]);
    let said = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.contains("only the machine's file can configure the service"), "{said}");
    let asker = machine.asker("agent", &FLAGGED);
    assert_eq!(machine.request(&asker.id).user, "agent");
    machine.kill_waiter(&asker.id);
    asker.end();
}

#[test]
fn a_service_that_comes_back_goes_on_with_what_waits() {
    let Some(mut machine) = Machine::new() else { return };
    let asker = machine.asker("agent", &FLAGGED);
    machine.kill();
    machine.start();
    let mut ada = machine.person("ada", &["approve", &asker.id]);
    crate::queue::stage::answer_card(&mut ada, "y");
    ada.wait_exit();
    asker.ran();
    assert_eq!(machine.ran(), 1);
}

#[test]
fn without_other_accounts_too_a_service_that_is_down_lets_nothing_flagged_through() {
    let home = Home::new();
    let script = "etc=\"$HOME/etc\" && mkdir \"$etc\" && { cp -r /etc/. \"$etc\" 2>/dev/null || true; } && rm -rf \"$etc/guard\" && mkdir \"$etc/guard\" \
        && printf '[service]\\naccount = \"root\"\\nsocket = \"/nowhere/guard.sock\"\\n' > \"$etc/guard/config.toml\" \
        && chmod -R go-w \"$etc/guard\" && mount --bind \"$etc\" /etc && shift; \
        GUARD_WAIT=5 exec \"$0\" -- \"$@\"";
    let Some(output) = home.in_a_namespace(script) else { return };
    home.holds_back(&output, "guard's service at /nowhere/guard.sock cannot be used: no such file or directory");
    assert!(!home.data().exists());
}
