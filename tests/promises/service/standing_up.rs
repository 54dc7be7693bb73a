//! Tests that the service starts only if everything is in order, reports it, and ends cleanly.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::machine::{ADA, FLAGGED, Machine, Running, uid, until};
use crate::harness::home::Home;

fn fails(machine: &Machine, account: &str, more: &[&str], why: &str) {
    let output = machine.serve(account, more).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn it_does_not_begin_where_somebody_else_could_take_its_place() {
    let Some(machine) = Machine::with(ADA) else { return };
    let mode = |name: &str, mode: u32| {
        std::fs::set_permissions(machine.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    fails(&machine, "agent", &[], "running as agent, but /etc/guard/config.toml requires guard");
    fails(&machine, "root", &[], "running as root, but");
    fails(&machine, "guard", &["--socket", "relative"], "absolute path");
    mode("run", 0o777);
    fails(&machine, "guard", &[], "is writable by others (mode 777); change it: chmod go-w");
    mode("run", 0o755);
    chown(machine.path("run"), Some(uid("bob")), None).unwrap();
    fails(&machine, "guard", &[], "is owned by bob, who could replace the socket");
    chown(machine.path("run"), Some(uid("guard")), None).unwrap();
    chown(machine.path("var/guard"), Some(0), None).unwrap();
    fails(&machine, "guard", &[], "is owned by root; change it: chown -R guard");
    chown(machine.path("var/guard"), Some(uid("guard")), None).unwrap();
    mode("var/guard", 0o750);
    fails(&machine, "guard", &[], "is accessible to others (mode 750); change it: chmod 700");
    mode("var/guard", 0o700);
    std::fs::write(machine.path("run/guard.sock"), "").unwrap();
    fails(&machine, "guard", &[], "it is not a socket");
}

#[test]
fn it_does_not_begin_without_people_who_exist() {
    for (lines, why) in [
        ("", "has no approvers"),
        ("approvers = [\"nobody-there\"]\n", "account nobody-there"),
        ("approvers = [\"guard\"]\n", "the service's own account cannot be an approver"),
        ("approvers = [\"ada\"]\nfolder = \"/x\"\n", "unknown key"),
        ("approvers = [\"ada\"]\ngateway = \"nobody-there\"\n", "account nobody-there"),
        ("approvers = [\"ada\"]\ngateway = \"ada\"\n", "the gateway must not run as root"),
        ("approvers = [\"ada\"]\ngateway = \"guard\"\n", "the gateway must not run as root"),
        ("approvers = [\"ada\"]\ngateway = \"root\"\n", "the gateway must not run as root"),
        ("approvers = [\"ada\"]\ngateway_unsigned_tier = 4\n", "a tier from 0 to 3"),
    ] {
        let Some(machine) = Machine::with(lines) else { return };
        fails(&machine, "guard", &[], why);
    }
}

#[test]
fn it_ends_when_it_is_told_to_and_leaves_no_socket() {
    let Some(mut machine) = Machine::new() else { return };
    let second = machine.serve("guard", &[]).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("another process already listens there"), "{second:?}");
    let pid = Pid::from_raw(machine.service().id().cast_signed());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(machine.service().wait().unwrap().code(), Some(0));
    assert!(!machine.path("run/guard.sock").exists());
    // The start removes a socket that a killed service left behind.
    machine.start();
    machine.kill();
    assert!(machine.path("run/guard.sock").exists());
    machine.start();
    let asker = machine.asker("agent", &FLAGGED);
    assert_eq!(machine.request(&asker.id).user, "agent");
}

#[test]
fn approvers_read_the_record_and_the_service_prints_to_them() {
    let Some(machine) = Machine::new() else { return };
    machine.prints("agent", &["--", "git", "status"], 0);
    let log = machine.prints("ada", &["log", "-n", "5"], 0);
    assert!(log.contains("git status"), "{log}");
    let row: serde_json::Value = serde_json::from_str(&machine.prints("ada", &["log", "show", "--json"], 0)).unwrap();
    assert_eq!(row["user"], "agent");
    assert!(machine.prints("ada", &["stats"], 0).contains("1 commands"));
    machine.prints("ada", &["verify"], 0);
    assert_eq!(machine.prints("ada", &["export"], 0).lines().count(), 1);
    let pruned = machine.run("ada", &["log", "prune"]);
    assert!(String::from_utf8_lossy(&pruned.stderr).contains("without pruning"), "{pruned:?}");
    let sent = machine.run("ada", &["export", "--deliver"]);
    assert!(String::from_utf8_lossy(&sent.stderr).contains("pruning or sending"), "{sent:?}");
    let directory = machine.path("var/guard");
    let own = machine.prints("guard", &["serve", "--directory", directory.to_str().unwrap(), "--", "verify"], 0);
    assert!(own.contains("1 row"), "{own}");
    // A client that follows the record reports the end of the service.
    let mut follows = machine.person("ada", &["log", "-f"]);
    follows.wait_for("git status");
    machine.prints("agent", &["--", "git", "fetch"], 0);
    follows.wait_for("git fetch");
    let pid = follows.pid();
    kill(pid, Signal::SIGTERM).unwrap();
    follows.wait_exit();
    let reads = || {
        let found = Command::new("pgrep").args(["-u", "4100", "-f", "-c", "folder .* log -f"]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).trim() != "0"
    };
    until("the reader to end", || !reads());
}

#[test]
fn the_unit_names_guard_itself_and_is_one_that_systemd_takes() {
    let home = Home::new();
    let unit = home.prints(&["serve", "--unit"], 0);
    let program = env!("CARGO_BIN_EXE_guard");
    assert!(unit.contains(&format!("ExecStart={program} serve --system\n")), "{unit}");
    let file = home.path("guard.service");
    std::fs::write(&file, unit.replace("User=guard", "User=root").replace("Group=guard", "Group=root")).unwrap();
    let verified = Command::new("systemd-analyze").arg("verify").arg("--man=no").arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(verified.status.success() && !said.contains("guard.service"), "{said}");
    std::fs::write(&file, &unit).unwrap();
    let exposed = Command::new("systemd-analyze")
        .args(["security", "--no-pager", "--offline=true", "--threshold=20"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        exposed.status.success(),
        "it is exposed to more than two of ten: {}",
        String::from_utf8_lossy(&exposed.stdout)
    );
}

#[test]
fn what_the_unit_starts_serves_where_the_configuration_says_nothing_else() {
    let Some(machine) = Machine::with(ADA) else { return };
    let config = "[service]\naccount = \"guard\"\napprovers = [\"ada\"]\n";
    std::fs::write(machine.path("etc/guard/config.toml"), config).unwrap();
    let unit = machine.prints("root", &["serve", "--unit"], 0);
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let words: Vec<_> = start.split(' ').collect();
    let mut command = machine.program("guard", words[0]);
    let _service = Running::start(command.args(&words[1..]));
    until("the socket", || machine.path("runtime/guard/guard.sock").exists());
    machine.prints("agent", &["--", "git", "status"], 0);
    assert!(machine.prints("ada", &["log"], 0).contains("git status"));
    assert!(machine.path("lib/guard/guard.db").exists());
    let doctor = machine.run("agent", &["doctor", "record"]);
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("the record service runs as guard and answers at /run/guard/guard.sock"), "{said}");
}
