use crate::judge::analysis::inquiry::{Answers, Inquiry};
use crate::judge::analysis::question::{FileFacts, PathFacts, PathKind, Question, WorldAnswer};
use crate::judge::analysis::testing::line;
use crate::judge::analysis::work_out;
use crate::judge::rules::catalog::Catalog;

const PROJECT: &str = "/home/dev/project/";

/// Returns the acts of a line as `verb operand`, one for each operand, if the project has these links and a binary
/// `elf`.
fn found(text: &str, links: &[(&str, &str)]) -> Vec<String> {
    let led = |path: &str| {
        let below = path.strip_prefix(PROJECT)?;
        let (link, target) = links.iter().find(|(link, _)| below.split('/').next() == Some(*link))?;
        Some(format!("{target}{}", below.strip_prefix(link)?))
    };
    let source = |question: &Question| match question {
        Question::Path(path) => WorldAnswer::Path(PathFacts {
            kind: PathKind::File,
            canonical: led(path).unwrap_or_else(|| path.clone()),
            symlink: led(path).is_some(),
            bytes: 1,
        }),
        Question::File(path) if path.ends_with("/elf") => {
            WorldAnswer::File(FileFacts::Text { bytes: b"\x7fELF\0\xff\n".to_vec(), digest: [0; 32] })
        }
        Question::File(_) => WorldAnswer::File(FileFacts::Missing),
        _ => WorldAnswer::Unavailable,
    };
    let catalog = Catalog::builtin();
    let facts = work_out(&line(text), &catalog, &Inquiry::new(&Answers::of(&source)));
    let on = |operand: &crate::judge::analysis::act::Operand| operand.value.rough().into_owned();
    facts
        .acts
        .iter()
        .flat_map(|act| act.operands.iter().map(move |o| format!("{} {}", act.verb.key(), on(o))))
        .collect()
}

#[test]
fn a_link_is_what_it_leads_to_for_whatever_program() {
    let links = [("rc", "/home/dev/.bashrc"), ("le", "/etc"), ("pw", "/etc/shadow"), ("lib", "/home/dev/project/src")];
    for (text, expected) in [
        ("frobnicate rc", "unknown:touch /home/dev/.bashrc"),
        ("frobnicate le/cron.d/job", "unknown:touch /etc/cron.d/job"),
        ("frobnicate pw", "unknown:read /etc/shadow"),
        ("pytype a.py --junit-xml le/cron.d/job", ":overwrite /etc/cron.d/job"),
    ] {
        let all = found(text, &links);
        assert!(all.iter().any(|found| found == expected), "{text}: {all:?}");
        let none = found(text, &[]);
        assert!(!none.iter().any(|found| found.starts_with("unknown:") || found == expected), "{text}: {none:?}");
    }
    assert!(!found("frobnicate lib/a.rs", &links).iter().any(|found| found.starts_with("unknown:")));
}

#[test]
fn a_binary_of_the_project_is_not_known_to_use_a_secret_rightly() {
    for text in ["build/elf ~/.ssh/id_ed25519", "./build/elf < ~/.ssh/id_ed25519", "./elf --in=$HOME/.ssh/id_ed25519"] {
        let all = found(text, &[]);
        assert!(all.iter().any(|found| found.starts_with("unknown:read ")), "{text}: {all:?}");
    }
    assert!(found("./elf /etc/cron.d/job", &[]).contains(&"unknown:touch /etc/cron.d/job".to_owned()));
    assert!(!found("./elf README.md", &[]).iter().any(|found| found.starts_with("unknown:")));
}

#[test]
fn code_that_is_given_a_secret_may_print_it() {
    for text in ["ruby -pe 1 < ~/.ssh/id_ed25519", "python3 -c 'print(1)' < .env", "node x.js < ~/.aws/credentials"] {
        let all = found(text, &[]);
        assert!(all.iter().any(|found| found.starts_with("unknown:read ")), "{text}: {all:?}");
    }
    for text in ["sed 's/=.*//' < .env", "awk -F= '{print $1}' < .env", "python3 -c 'print(1)' < README.md"] {
        let all = found(text, &[]);
        assert!(!all.iter().any(|found| found.starts_with("unknown:read ")), "{text}: {all:?}");
    }
}

#[test]
fn an_option_that_names_a_host_is_one_of_any_program() {
    for text in
        ["frobnicate -h evil.example.org", "frobnicate --server evil.example.org x", "ldapsearch -h attacker.com"]
    {
        let all = found(text, &[]);
        assert!(all.iter().any(|found| found.starts_with(":fetch ")), "{text}: {all:?}");
    }
    for text in ["frobnicate -h", "frobnicate -h notes.txt", "frobnicate -h x", "frobnicate -x evil.example.org"] {
        let all = found(text, &[]);
        assert!(!all.iter().any(|found| found.starts_with(":fetch ")), "{text}: {all:?}");
    }
}

#[test]
fn variables_and_options_name_files_that_are_written() {
    const JOB: &str = "/etc/cron.d/job";
    let writes = |act: &str| act.starts_with(":write ") || act.starts_with(":overwrite ");
    for form in [
        "GIT_TRACE=@ git status",
        "GIT_TRACE2_EVENT=@ git status",
        "export GIT_TRACE=@; git status",
        "TF_LOG_PATH=@ terraform plan",
        "NODE_REDIRECT_WARNINGS=@ node a.js",
        "ASAN_OPTIONS=verbosity=1:log_path=@ ./a",
        "GOBIN=/etc/cron.d go install ./...",
        "semgrep -o @ .",
        "gitleaks detect -r @",
        "uv export -o @",
        "java -Xloggc:@ A",
        "java -Xlog:gc:@ A",
        "docker run --cidfile @ alpine",
        "nyc --report-dir @ npm test",
        "node --heap-prof-name @ a.js",
        "daemonize -o @ /bin/ls",
    ] {
        let command = form.replace('@', JOB);
        let wrote =
            found(&command, &[]).iter().any(|act| writes(act) && (act.ends_with(JOB) || act.ends_with("/etc/cron.d")));
        assert!(wrote, "{command}");
    }
    for harmless in [
        "GIT_TRACE=1 git status",
        "GIT_TRACE=/tmp/x git status",
        "TF_LOG_PATH=plan.log terraform plan",
        "LOG=/etc/cron.d/job; git status",
        "CONFIG=/etc/cron.d/job git status",
        "grep -o x /etc/cron.d/job",
        "ls -o /etc/cron.d/job",
        "tree -o out.txt",
    ] {
        assert!(!found(harmless, &[]).iter().any(|act| writes(act) && act.contains(" /etc")), "{harmless}");
    }
}

#[test]
fn hosts_are_found_in_every_spelling() {
    let fetches = |command: &str| found(command, &[]).iter().any(|act| act.starts_with(":fetch "));
    for command in [
        "foo --host=db.example.net",
        "foo db.example.net:8080",
        "foo host=db.example.net,port=1",
        "foo --endpoints=db.example.net:1",
        "psql 'host=db.example.net dbname=x'",
        "ansible all -i 'db.example.net,' -m ping",
        "systemctl -H db.example.net status",
        "etcdctl --endpoints=https://db.example.net get x",
        "virsh -c qemu+ssh://db.example.net/system list",
        "helm repo add x https://db.example.net",
        "adb connect db.example.net:5555",
        "s3cmd --host=db.example.net ls",
    ] {
        assert!(fetches(command), "{command}");
    }
    for command in
        ["foo main.rs:120", "foo src/main.swift:12", "foo --host=x", "foo a.b,c.d", "foo key=a.b", "helm repo list"]
    {
        assert!(!fetches(command), "{command}");
    }
}
