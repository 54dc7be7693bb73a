//! The man page, the completions and the README say what the program does.
//!
//! `GUARD_UPDATE=1 cargo test documents` writes the generated files anew.

use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_complete::Shell;
use guard::cli::Cli;
use guard::config::manual;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a generated file with the one that is kept, or writes it where that is asked for.
fn is_current(name: &str, generated: &str) {
    let path = root().join(name);
    if std::env::var_os("GUARD_UPDATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == generated, "{name} is not what the command line says: GUARD_UPDATE=1 cargo test documents");
}

fn man_page() -> String {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone()).date("").manual("guard manual");
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    man.render_options_section(&mut page).unwrap();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        page.extend(format!(".SH \"guard {}\"\n", verb.get_name()).into_bytes());
        verb_section(verb, &mut page);
        for inner in verb.get_subcommands().filter(|inner| inner.get_name() != "help") {
            page.extend(format!(".SS \"guard {} {}\"\n", verb.get_name(), inner.get_name()).into_bytes());
            verb_section(inner, &mut page);
        }
    }
    let mut page = String::from_utf8(page).unwrap();
    page.push_str(&manual::section());
    page.push_str(EXIT_STATUS);
    page
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

const EXIT_STATUS: &str = ".SH \"EXIT STATUS\"
The command's own when it ran; a command that died of a signal ends guard by the same signal.
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
.SH \"SEE ALSO\"
guard-agents(7), guard-patterns(5)
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
fn the_completions_are_made_from_the_command_line() {
    for (shell, name) in [(Shell::Bash, "guard.bash"), (Shell::Zsh, "_guard"), (Shell::Fish, "guard.fish")] {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "guard", &mut script);
        is_current(&format!("completions/{name}"), &String::from_utf8(script).unwrap());
    }
}

#[test]
fn every_verb_that_the_readme_shows_is_one() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let command = Cli::command();
    let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let (mut seen, mut fenced) = (0, false);
    let shown = readme.lines().filter_map(|line| {
        fenced ^= line.starts_with("```");
        line.strip_prefix("    ").or(fenced.then_some(line))?.strip_prefix("guard ")
    });
    for line in shown {
        let Some(word) =
            line.split_whitespace().next().filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
        else {
            continue;
        };
        assert!(verbs.contains(&word), "the README shows `guard {word}`, which is no verb");
        seen += 1;
    }
    assert!(seen > 20, "the README shows hardly any verb");
}

#[test]
fn the_readme_names_the_test_command() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().any(|line| line.starts_with("cargo test")));
}

/// What may not be imported from where: every arrow points down.
#[test]
fn imports_point_downward() {
    let floors: [(&str, &[&str]); 9] = [
        ("judge", &["ui", "world", "config", "store", "channel", "collector", "exec", "service", "app", "cli"]),
        ("ui", &["world", "config", "store", "channel", "collector", "exec", "service", "app", "cli"]),
        ("world", &["config", "store", "channel", "collector", "exec", "service", "app", "cli"]),
        ("config", &["world", "store", "channel", "collector", "exec", "service", "app", "cli"]),
        ("store", &["world", "config", "channel", "collector", "exec", "service", "app", "cli"]),
        ("channel", &["world", "config", "store", "collector", "exec", "service", "app", "cli"]),
        ("exec", &["world", "config", "store", "channel", "collector", "service", "app", "cli"]),
        ("collector", &["world", "config", "store", "channel", "exec", "service", "app", "cli"]),
        ("service", &["world", "config", "store", "channel", "collector", "exec", "app", "cli"]),
    ];
    for (floor, above) in floors {
        for file in files(&root().join("src").join(floor)) {
            let text = fs::read_to_string(&file).unwrap();
            for line in text.lines().take_while(|line| !line.contains("#[cfg(test)]")) {
                for name in above {
                    let upward = format!("crate::{name}::");
                    let whole = format!("crate::{name};");
                    assert!(!line.contains(&upward) && !line.contains(&whole), "{}: {line}", file.display());
                }
            }
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}
