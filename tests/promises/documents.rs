//! Tests that the manual pages, the completions and the README match the program.
//!
//! `GUARD_UPDATE=1 cargo test documents` rewrites the generated files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory;
use guard::cli::Cli;
use guard::config::manual;

#[path = "documents/shown.rs"]
mod shown;

use shown::Shown;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a generated file with the committed one, or writes it if `GUARD_UPDATE` is set.
fn is_current(name: &str, generated: &str) {
    let path = root().join(name);
    if std::env::var_os("GUARD_UPDATE").is_some() {
        replace(&path, generated);
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "{name} is not what the command line says: GUARD_UPDATE=1 cargo test documents");
}

/// Replaces a file atomically: other tests read it meanwhile, and must find the old or the new text whole.
fn replace(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|kept| kept == text) {
        return;
    }
    let directory = path.parent().unwrap();
    fs::create_dir_all(directory).unwrap();
    let new = tempfile::NamedTempFile::new_in(directory).unwrap();
    fs::write(new.path(), text).unwrap();
    fs::set_permissions(new.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    new.persist(path).unwrap();
}

#[test]
fn a_reader_never_finds_half_of_a_file_that_is_written_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page");
    let texts = ["a".repeat(1 << 20), "b".repeat(1 << 20)];
    replace(&path, &texts[0]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..60).for_each(|turn| replace(&path, &texts[turn % 2])));
        while !writer.is_finished() {
            let read = fs::read_to_string(&path).unwrap();
            assert!(texts.contains(&read), "{} bytes", read.len());
        }
    });
}

/// The date of the last change of guard(1).
const DATE: &str = "2026-11-27";

/// The lines that clap_mangen writes at the head of each part. The page needs them once.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

fn man_page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).date(DATE).manual("guard manual");
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    man.render_options_section(&mut page).unwrap();
    let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
    let (internal, public): (Vec<_>, Vec<_>) = verbs.partition(|verb| verb.is_hide_set());
    for verb in public {
        sections("guard", ".SH", verb, &mut page);
    }
    page.extend_from_slice(INTERNAL.as_bytes());
    for verb in internal {
        sections("guard", ".SS", verb, &mut page);
    }
    let page = String::from_utf8(page).unwrap();
    let mut page = format!("{APOSTROPHE}{}", page.replace(APOSTROPHE, ""));
    page.push_str(&manual::section());
    page.push_str(TERMS);
    page.push_str(EXIT_STATUS);
    page.push_str(ENVIRONMENT);
    page.push_str(FILES);
    page.push_str(SEE_ALSO);
    page
}

/// Appends the section of a command, and those of all its subcommands.
fn sections(above: &str, heading: &str, verb: &clap::Command, page: &mut Vec<u8>) {
    let name = format!("{above} {}", verb.get_name());
    page.extend(format!("{heading} \"{name}\"\n").into_bytes());
    verb_section(verb, page);
    for inner in verb.get_subcommands().filter(|inner| inner.get_name() != "help") {
        sections(&name, ".SS", inner, page);
    }
}

fn verb_section(verb: &clap::Command, page: &mut Vec<u8>) {
    if let Some(about) = verb.get_about() {
        page.extend(format!("{about}\n").into_bytes());
    }
    let man = clap_mangen::Man::new(verb.clone());
    let mut options = Vec::new();
    man.render_options_section(&mut options).unwrap();
    let options = String::from_utf8(options).unwrap();
    page.extend(options.replace(".SH OPTIONS\n", ".PP\n").into_bytes());
    if let Some(after) = verb.get_after_help() {
        let after = after.to_string().replace('\\', "\\e").replace('-', "\\-");
        page.extend(format!(".PP\n.nf\n{after}\n.fi\n").into_bytes());
    }
}

const INTERNAL: &str = ".SH \"INTERNAL COMMANDS\"
The hooks, shell integrations and gateway of guard run these commands. Do not run them yourself: their arguments and output can change
with any version.
";

const TERMS: &str = r#".SH "TERMS"
.TP
approver
A person who may answer requests. An enrolled approver has a key and signs (guard\-approvals(7)); an approver account is listed in service.approvers; a channel approver is a user of a messenger (guard\-gateway(8)).
.TP
card
The display of one request for the person who answers it: on the terminal, in guard review, on the web page or in a message.
.TP
command
What guard is asked to run or to judge: a command string, or a program with its arguments.
.TP
finding
A match of a rule. It has a tier and a reason.
.TP
grant
A standing permission: commands that it covers run without a prompt.
.TP
origin
Where a command comes from: cli (a person's own terminal), agent, api, discord or telegram. Each has a threshold.
.TP
record
guard's audit database (guard\-record(7)).
.TP
request
A command that waits for an answer. It has an ID, such as k7m2, of which an unambiguous prefix is sufficient.
.TP
requester
The guard process that filed a request and waits for the answer.
.TP
reviewer
A second model that can decide some commands of tier 2 (guard\-reviewer(7)).
.TP
score
The tier of the most severe finding plus weights for the context. guard asks if it reaches the threshold.
.TP
session
The commands of one run of an agent, or of one terminal. guard session lists sessions.
.TP
tier
The severity of a finding: 0 safe, 1 low, 2 medium, 3 high, 4 critical. guard help tiers describes them.
"#;

const ENVIRONMENT: &str = r#".SH "ENVIRONMENT"
.TP
GUARD_WAIT
The number of seconds that a request waits in the queue, if this is shorter than queue.wait. With 0 guard refuses the command at once.
.TP
GUARD_SESSION
Splits a session: grants for a session apply only to commands with the same value.
.TP
GUARD_MCP_TOKEN
The token that clients of guard mcp \-\-listen must send.
.TP
GUARD_MCP_HEADER_N
Headers that guard install mcp moved from the configuration of a client into its environment.
.TP
HOME, XDG_CONFIG_HOME, XDG_DATA_HOME
The directories of guard's files. If the home directory that the account database names contains .config/guard, the configuration that these variables point to can only tighten the policy, and the record stays in that home directory.
.TP
XDG_RUNTIME_DIR
The directory of the locks of terminals (default: /tmp/guard\-UID).
.TP
SUDO_UID
Under sudo, guard uses only the directories of the target account.
.TP
SHELL
The shell that runs guard \-c, and the shell that guard setup and guard doctor examine.
.TP
ZDOTDIR
The directory of zsh's start\-up files.
.TP
PATH
The programs of commands. guard starts the programs that it needs itself from the system's directories.
.TP
PAGER, LESS, LESSCHARSET, LV
The pager of guard log, and its settings. An empty PAGER, or cat, uses no pager.
.TP
VISUAL, EDITOR
The editor of guard config edit (default: vi).
.TP
TERM, NO_COLOR, CLICOLOR, CLICOLOR_FORCE
Whether guard uses colours and moves the cursor.
.TP
LC_ALL, LC_CTYPE, LANG
If the first of these that is set does not name UTF\-8, guard prints only ASCII characters.
.TP
TZ
The time zone of the times that guard prints.
.TP
GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM, GIT_CONFIG_NOSYSTEM, GIT_CONFIG_COUNT, GIT_CONFIG_PARAMETERS
As for git, where guard reads git's configuration.
.TP
DISPLAY, WAYLAND_DISPLAY, XAUTHORITY, DBUS_SESSION_BUS_ADDRESS
Passed to the program of queue.notify; DBUS_SESSION_BUS_ADDRESS also to the helper that reads the keyring.
.TP
NOTIFY_SOCKET
guard serve reports to systemd on it that it is ready.
.TP
RUST_LOG
What the gateway writes to standard error (guard\-gateway(8)).
"#;

const FILES: &str = r#".SH "FILES"
If XDG_CONFIG_HOME or XDG_DATA_HOME is set, it replaces ~/.config or ~/.local/share.
.TP
/etc/guard/config.toml, /etc/guard/patterns/*.toml
The policy and the pattern files of the machine.
.TP
/etc/guard/approvers/*.toml
The approvers of the machine.
.TP
/etc/guard/gateway.toml
The configuration of the machine's gateway.
.TP
~/.config/guard/config.toml, ~/.config/guard/patterns/*.toml
The user's configuration and pattern files.
.TP
~/.config/guard/approvers/*.toml
The approvers of the account, if the machine has none.
.TP
~/.config/guard/gateway.toml, ~/.config/guard/*.secret
The configuration of the gateway, and the secrets of its channels.
.TP
~/.config/guard/reviewer\-examples.toml
Examples for the reviewer.
.TP
\&.guard.toml, .guard/patterns/*.toml
The configuration and the pattern files of a project.
.TP
~/.local/share/guard/guard.db, guard.key, guard.blocks, export/
The record, the local key, the search index, and the positions of the collectors (guard\-record(7)).
.TP
~/.local/share/guard/queue.db, queue/
The waiting requests (guard\-approvals(7)).
.TP
~/.local/share/guard/installed/, mcp/
Copies of files as they were before guard install and guard setup changed them.
.TP
~/.local/share/guard/mcp\-pins.json
The pinned descriptions of MCP tools.
.TP
~/.local/share/guard/shims/, init/
Links to guard with the names of shells, and start\-up files for them.
.TP
~/.local/share/guard/newest\-version.json
The last output of update.command.
.TP
~/.local/share/guard/reviewer.json
The state of the reviewer (guard\-reviewer(7)).
.TP
~/.local/share/guard/gateway.db, gateway.key, gateway.sock
The files of the gateway (guard\-gateway(8)).
.TP
~/.local/share/man/, ~/.local/share/bash\-completion/, ~/.local/share/zsh/site\-functions/, ~/.config/fish/completions/
Manual pages and completions that guard setup installs.
.TP
/run/guard/guard.sock, /var/lib/guard/
The socket and the data of the system service.
.TP
/var/lib/guard\-gateway/, /run/guard\-gateway/
The data and the socket of the machine's gateway.
.TP
$XDG_RUNTIME_DIR/guard/tty\-*.lock, /tmp/guard\-UID/tty\-*.lock
Locks, so that a terminal shows one card at a time.
"#;

const EXIT_STATUS: &str = ".SH \"EXIT STATUS\"
The exit status of the command if it ran. If a signal killed the command, guard ends by the same signal.
.TP
75
queued without waiting
.TP
125
guard itself failed, or was called wrongly
.TP
126
refused, or found and not executable
.TP
127
not found
.PP
guard check and guard explain: 0 allow, 1 ask, 2 deny.
.br
guard hook: as the agent understands it; 2 is always a denial.
";

const SEE_ALSO: &str = ".SH \"SEE ALSO\"
guard-patterns(5), guard-agents(7), guard-approvals(7), guard-record(7), guard-reviewer(7), guard-gateway(8)
";

#[test]
fn the_man_page_is_made_from_the_command_line() {
    is_current("man/guard.1", &man_page());
}

#[test]
fn the_page_about_agents_is_made_from_the_table_that_the_installer_uses() {
    is_current("man/guard-agents.7", &guard::app::install::manual::page());
}

#[test]
fn the_readme_has_the_agents_that_the_installer_knows() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (before, rest) = readme.split_once("| agent |").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    is_current("README.md", &format!("{before}{}\n{after}", guard::app::install::manual::markdown()));
}

/// Returns the documents that are written by hand.
fn documents() -> Vec<(String, Shown)> {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let mut all: Vec<_> = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md"]
        .map(|page| (page.to_owned(), Shown::in_markdown(&read(page))))
        .into();
    all.extend(pages().into_iter().map(|page| {
        let shown = Shown::in_mdoc(&read(&page));
        (page, shown)
    }));
    all
}

/// Returns the manual pages that are written by hand, in mdoc.
fn pages() -> Vec<String> {
    let named = manuals().into_iter().map(|name| format!("man/{name}"));
    named.filter(|page| fs::read_to_string(root().join(page)).unwrap().starts_with(".Dd ")).collect()
}

/// Returns the file names of all manual pages, such as `guard.1`.
fn manuals() -> Vec<String> {
    let directory = fs::read_dir(root().join("man")).unwrap();
    let mut names: Vec<String> = directory.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_command_that_a_document_shows_is_one() {
    for (name, shown) in documents() {
        for command in &shown.commands {
            let fault = shown::fault(command);
            assert_eq!(fault, None, "{name} shows `guard {}`", command.join(" "));
        }
        // The options that guard-gateway(8) names belong to the gateway.
        for option in shown.options.iter().filter(|_| name != "man/guard-gateway.8") {
            assert!(shown::is_option(option), "{name} shows {option}, which no verb has");
        }
        let least = match name.as_str() {
            "CONTRIBUTING.md" | "man/guard-patterns.5" | "man/guard-reviewer.7" => 4,
            "SECURITY.md" | "docs/architecture.md" => 1,
            "man/guard-gateway.8" => 0,
            _ => 20,
        };
        assert!(shown.commands.len() >= least, "{name} shows hardly any command: {:?}", shown.commands);
    }
}

#[test]
fn every_key_that_a_document_names_is_one() {
    // guard-patterns(5) and CONTRIBUTING name keys of pattern files, which tests/promises/patterns.rs checks.
    // guard-gateway(8) names keys of the gateway's own file, guard-reviewer(7) fields of one table.
    let of_patterns = ["man/guard-gateway.8", "man/guard-reviewer.7", "man/guard-patterns.5", "CONTRIBUTING.md"];
    let configures = |name: &str| !of_patterns.contains(&name) && (name == "README.md" || name.starts_with("man/"));
    for (name, shown) in documents().into_iter().filter(|(name, _)| configures(name)) {
        for key in &shown.keys {
            assert!(shown::is_key(key), "{name} names {key}, which is no key of the configuration");
        }
        assert!(shown.keys.len() >= 4, "{name} names hardly any key: {:?}", shown.keys);
    }
}

#[test]
fn what_is_no_command_and_no_key_is_found() {
    let shown = Shown::in_markdown(
        "Say `guard pend` or `guard log --sinec 2h`:\n\n    guard export --format xml | guard verify\n    [queue]\n    wiat = 3\n\nwith `retention_dais`.\n",
    );
    let faults = shown.commands.iter().filter_map(|command| shown::fault(command));
    assert_eq!(faults.collect::<Vec<_>>(), ["format is never xml", "guard has no pend", "log has no option --sinec"]);
    assert_eq!(shown.keys, ["queue.wiat", "retention_dais"]);
    assert!(!shown.keys.iter().any(|key| shown::is_key(key)));
    let page = ".Ic guard log Fl -since Ar TIME\n.It Ic guard deny Fl r Qq no such\n.Fl -wtach\n.Pq Cm queue.wait , queue.wiat\n\
                .Ic guard Fl -no-wait Fl - Ar COMMAND\n.Ic guard Fl -no-wait -- Ar COMMAND\n";
    let mut shown = Shown::in_mdoc(page);
    // `Fl` prepends a dash to its argument, as `man` shows it.
    assert_eq!(shown.commands.pop().unwrap(), ["--no-wait", "---", "COMMAND"]);
    assert_eq!(shown.commands.pop().unwrap(), ["--no-wait", "--", "COMMAND"]);
    assert_eq!(shown.commands, [vec!["log", "--since", "TIME"], vec!["deny", "-r", "no", "such"]]);
    assert_eq!(shown.commands.iter().find_map(|command| shown::fault(command)), None);
    assert!(shown.options == ["--wtach"] && !shown::is_option("--wtach"));
    assert_eq!(shown.keys.iter().map(|key| shown::is_key(key)).collect::<Vec<_>>(), [true, false]);
}

/// Returns the inline configuration examples of a manual page, as `man` shows them: a `"` at the beginning of a word is
/// not shown, `\\(dq` is.
fn inline_toml(page: &str) -> Vec<String> {
    let is_macro = |line: &&str| line.starts_with('.') && line.contains("Ql ");
    let pieces = page.lines().filter(is_macro).filter_map(|line| {
        let words: Vec<&str> = line.split_once("Ql ")?.1.split(' ').map(|word| word.trim_start_matches('"')).collect();
        let text = words.join(" ").replace("\\(dq", "\"");
        let text = text.trim_end_matches(['.', ',', ';', ':', ' ']);
        let is_value = (text.starts_with('{') && text.ends_with('}') && text.contains(" = "))
            || (text.starts_with('[')
                && text.ends_with(']')
                && !text.chars().all(|c| c.is_alphanumeric() || "[].-_=".contains(c)));
        is_value.then(|| text.to_owned())
    });
    pieces.collect()
}

#[test]
fn every_table_and_list_inside_a_sentence_is_one_as_man_shows_it() {
    let mut count = 0;
    for name in manuals() {
        for piece in inline_toml(&fs::read_to_string(root().join("man").join(&name)).unwrap()) {
            count += 1;
            let parsed = format!("value = {piece}").parse::<toml::Table>();
            assert!(parsed.is_ok(), "{name} shows {piece}, which is no TOML");
        }
    }
    assert!(count >= 20, "{count}");
    assert_eq!(
        inline_toml(".Ql { option = \"-T\" } ;\n.Ql { option = \\(dq-T\\(dq }"),
        ["{ option = -T\" }", "{ option = \"-T\" }"]
    );
}

#[test]
fn every_manual_page_is_named_by_the_readme_and_by_guard_1() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let start = fs::read_to_string(root().join("docs/start.md")).unwrap();
    for name in manuals() {
        let (page, section) = name.rsplit_once('.').unwrap();
        let reference = format!("{page}({section})");
        assert!(readme.contains(&format!("[{reference}](man/{name})")), "the README does not name {reference}");
        assert!(page == "guard" || SEE_ALSO.contains(&reference), "guard(1) does not name {reference}");
        // Every list of the pages describes this page in the same words.
        let (_, about, _) = guard::app::man::PAGES.iter().find(|(known, ..)| *known == name).unwrap();
        assert!(readme.contains(&format!("| [{reference}](man/{name}) | {about} |")), "{reference}: {about}");
        assert!(start.contains(&format!("- [{reference}](man/{name}.html): {about}\n")), "{reference}: {about}");
    }
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        for at in (0..words.len()).filter(|at| words[*at].trim_start_matches('.') == "Xr") {
            let named = format!("{}.{}", words[at + 1], words[at + 2]);
            assert!(manuals().contains(&named), "{page} refers to {named}");
        }
    }
}

#[test]
fn mandoc_warns_of_nothing_in_the_pages_that_are_written_by_hand() {
    for page in pages() {
        let lint =
            Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).arg(root().join(&page)).output().unwrap();
        let said = String::from_utf8_lossy(&lint.stdout);
        assert!(lint.status.success() && said.is_empty(), "{said}");
    }
}

#[test]
fn the_readme_names_the_test_command() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().any(|line| line.starts_with("cargo test")));
}

#[test]
fn every_link_to_a_file_leads_to_one() {
    let mut pages = all_files(&root().join("docs"));
    pages.extend(["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"].map(|page| root().join(page)));
    let mut links = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(page).unwrap();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target) {
            let file = target.split('#').next().unwrap_or_default();
            if let Some(manual) = file.strip_prefix("man/").and_then(|file| file.strip_suffix(".html")) {
                // A link to a manual page in the layout of the site.
                assert!(root().join("man").join(manual).is_file(), "{}: {target}", page.display());
                continue;
            }
            if !file.is_empty() && !file.contains("://") {
                links += 1;
                assert!(page.parent().unwrap().join(file).exists(), "{}: {target}", page.display());
            }
        }
    }
    assert!(links > 10, "{links}");
    // The start page of the site links to every page.
    let start = fs::read_to_string(root().join("docs/start.md")).unwrap();
    for manual in manuals() {
        assert!(start.contains(&format!("](man/{manual}.html)")), "{manual}");
    }
    assert!(start.contains("](contributing.md)") && start.contains("](security.md)"));
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    for page in fs::read_dir(root().join("docs")).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        assert!(!name.ends_with(".md") || name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name}");
    }
}

/// Checks that no package embeds a file from outside its directory: a package is published without the files beside it.
#[test]
fn what_is_built_into_a_package_lies_in_it() {
    let mut built_in = 0;
    for file in files(&root().join("src")) {
        let package = file.ancestors().find(|directory| directory.join("Cargo.toml").is_file()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        for kind in ["include_str!(\"", "include_bytes!(\""] {
            for name in text.split(kind).skip(1).filter_map(|rest| rest.split('"').next()) {
                let mut path = file.parent().unwrap().to_path_buf();
                for part in Path::new(name).components() {
                    match part {
                        std::path::Component::ParentDir => drop(path.pop()),
                        part => path.push(part),
                    }
                }
                let inside = path.strip_prefix(package);
                let kept =
                    inside.is_ok_and(|name| !["docs", "tests"].iter().any(|left_out| name.starts_with(left_out)));
                assert!(path.is_file() && kept, "{}: {name}", file.display());
                built_in += 1;
            }
        }
    }
    assert!(built_in > 20, "{built_in}");
    for manifest in ["Cargo.toml", "src/config/Cargo.toml", "src/gateway/Cargo.toml", "src/judge/Cargo.toml"] {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        assert!(text.contains("description = ") && text.contains("license") && !text.contains("invalid"), "{manifest}");
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    all_files(directory)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn all_files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(all_files(&path)) } else { all.push(path) }
    }
    all
}

#[test]
fn every_package_that_guard_is_built_with_has_its_reason() {
    let table = fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let named: Vec<&str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
        .flat_map(|cell| cell.split(", "))
        .skip(2)
        .collect();
    let mut wanted: Vec<String> = Vec::new();
    for package in [
        "Cargo.toml",
        "src/config/Cargo.toml",
        "src/judge/Cargo.toml",
        "src/service/Cargo.toml",
        "src/store/Cargo.toml",
        "src/ui/Cargo.toml",
    ] {
        let manifest: toml::Table = fs::read_to_string(root().join(package)).unwrap().parse().unwrap();
        wanted.extend(
            manifest["dependencies"].as_table().unwrap().keys().filter(|name| !name.starts_with("guard-")).cloned(),
        );
    }
    for name in &wanted {
        assert!(named.contains(&name.as_str()), "docs/dependencies.md does not say what {name} is for");
    }
}

#[test]
fn the_examples_are_in_order() {
    use crate::harness::home::Home;
    let examples = root().join("docs/examples");
    let index = fs::read_to_string(examples.join("README.md")).unwrap();
    for file in all_files(&examples) {
        let name = file.strip_prefix(&examples).unwrap().display().to_string();
        assert!(name == "README.md" || index.contains(&format!("]({name})")), "{name} is in no table");
    }
    for policy in all_files(&examples.join("policies")) {
        let home = Home::new();
        fs::create_dir_all(home.path("home/.config/guard")).unwrap();
        // Only the machine's file may set locks; the rest of the file is valid for an account too.
        let text = fs::read_to_string(&policy).unwrap();
        let own: String =
            text.lines().filter(|line| !line.starts_with("locked")).map(|line| format!("{line}\n")).collect();
        fs::write(home.path("home/.config/guard/config.toml"), own).unwrap();
        let output = home.guard(&["config", "check"]).output().unwrap();
        assert!(output.status.success(), "{}: {}", policy.display(), String::from_utf8_lossy(&output.stderr));
    }
    // The commands of other programs must be parsed by guard as their shells parse them, and those of guard must be
    // valid.
    let home = Home::new();
    for (name, lead, is_guards) in [
        ("ci.yml", "run: ", true),
        ("Containerfile", "RUN ", true),
        ("devcontainer.json", "\"postCreateCommand\": \"", true),
        ("Makefile", "\t", false),
        ("pre-commit-config.yaml", "entry: ", true),
    ] {
        let text = fs::read_to_string(examples.join(name)).unwrap();
        let commands: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(lead))
            .map(|(_, command)| command.trim_end_matches("\",").trim())
            .collect();
        assert!(!commands.is_empty(), "{name} shows no command");
        let mut of_guard = 0;
        for command in commands {
            let output = home.guard(&["check", "--json", command]).output().unwrap();
            let verdict: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(!verdict.to_string().contains("opaque.syntax"), "{name}: {command}: {verdict}");
            for part in command.split("guard ").skip(1) {
                let words: Vec<&str> =
                    part.split_whitespace().take_while(|word| !"&|;>".contains(&word[..1])).collect();
                // A quoted text is one word.
                let words = match words.iter().position(|word| word.starts_with('"')) {
                    Some(at) => [&words[..at], &["one"]].concat(),
                    None => words,
                };
                if Cli::command().find_subcommand(words.first().unwrap_or(&"")).is_none() {
                    continue;
                }
                let read = Cli::command().try_get_matches_from([&["guard"], &words[..]].concat());
                assert!(read.is_ok(), "{name}: guard {part}: {}", read.unwrap_err());
                of_guard += 1;
            }
        }
        assert!(of_guard > 0 || !is_guards, "{name} shows no verb of guard");
    }
}

#[path = "../../benches/sources.rs"]
mod sources;

/// Checks that the README's figures were measured for this version. If the sources have changed since, the end of a
/// local run reports it; if no test may be left out, as in CI, the run fails.
#[test]
fn the_figures_of_the_readme_are_those_of_these_sources() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains("sends no telemetry and does not look for new versions"));
    let (_, rest) = readme.split_once("<!-- figures of ").expect("the README has figures");
    let (named, table) = rest.split_once(" -->\n").unwrap();
    let (version, measured) = named.split_once(", sources ").expect("the figures name the sources that they speak of");
    assert_eq!(version, env!("CARGO_PKG_VERSION"), "measure them anew");
    if measured != sources::digest(&root()) {
        let how = "GUARD_UPDATE=1 cargo bench --bench processes";
        crate::harness::tools::skip(&format!("the README's figures are older than the sources: {how}"));
    }
    assert!(table.lines().skip(2).take_while(|line| line.starts_with("| ")).count() > 5, "there is no table");
}

#[test]
fn the_design_compares_its_budgets_with_the_figures_of_the_readme() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let (readme, design) = (read("README.md"), read("docs/design.md"));
    let (_, figures) = readme.split_once("<!-- figures of ").unwrap();
    let (_, budgets) = design.split_once("| what | budget | measured |").unwrap();
    let rows: Vec<&str> = budgets.lines().skip(2).take_while(|line| line.starts_with("| ")).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows {
        let measured = row.trim_end_matches(" |").rsplit(" | ").next().unwrap().trim_end_matches(" (exceeded)");
        assert!(figures.contains(&format!("| {measured} |")), "the README measures something else: {row}");
    }
}
