//! Tests lines typed to a real bash, zsh and fish with guard loaded: each runs exactly once, or not at all.

use std::process::Command;
use std::time::Duration;

use crate::harness::home::Home;
use crate::harness::pty::{OnTerminal, Terminal};
use crate::harness::tools;

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];
const FLAGGED: &str = "git push --force origin main";

/// A shell that a person types to, in a home where `mark` and `git` record their arguments.
struct Typed {
    home: Home,
    terminal: Terminal,
    shell: &'static str,
}

impl Typed {
    /// Starts the shell with its start-up file, with these lines before and after guard's.
    fn new(shell: &'static str, before: &str, after: &str) -> Self {
        Self::of_size(shell, before, after, (80, 24))
    }

    /// Like [`Self::new`], in a window of `size` columns and rows.
    fn of_size(shell: &'static str, before: &str, after: &str, size: (u16, u16)) -> Self {
        let home = home();
        let guard = env!("CARGO_BIN_EXE_guard");
        let (file, text) = match shell {
            "bash" => (".bashrc", format!("PS1='P> '\n{before}\neval \"$('{guard}' init bash)\"\n{after}\n")),
            "zsh" => (".zshrc", format!("PS1='P> '\n{before}\neval \"$('{guard}' init zsh)\"\n{after}\n")),
            _ => {
                let prompt = "function fish_prompt; echo -n 'P> '; end\nset -g fish_greeting";
                (".config/fish/config.fish", format!("{prompt}\n{before}\n'{guard}' init fish | source\n{after}\n"))
            }
        };
        let path = home.path("home").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        let mut command = home.program(&format!("/usr/bin/{shell}"));
        command.arg("-i");
        Self::sized(home, command, shell, size)
    }

    fn started(home: Home, command: Command, shell: &'static str) -> Self {
        Self::sized(home, command, shell, (80, 24))
    }

    fn sized(home: Home, mut command: Command, shell: &'static str, (columns, rows): (u16, u16)) -> Self {
        command.env("TERM", "xterm-256color").env_remove("GUARD_WAIT");
        let terminal = Terminal::spawn_with(command, columns, rows, OnTerminal::ALL);
        let mut typed = Self { home, terminal, shell };
        typed.terminal.wait_for("P>");
        // fish may query the terminal's features, and waits a while for the answer.
        if typed.terminal.raw.windows(4).any(|bytes| bytes == b"\x1b[0c") {
            typed.terminal.send("\x1b[?62;22c");
        }
        typed.terminal.settle(Duration::from_millis(300));
        typed
    }

    fn ran(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.home.path("ran")).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("mark ") || line.contains("push")).map(str::to_owned).collect()
    }

    /// Types a line that runs, and waits until it has.
    #[track_caller]
    fn runs(&mut self, line: &str, wanted: &[&str]) {
        self.terminal.send(line);
        self.terminal.send("\r");
        self.until_ran(wanted);
    }

    #[track_caller]
    fn until_ran(&mut self, wanted: &[&str]) {
        for _ in 0..200 {
            if self.ran() == wanted {
                break;
            }
            self.terminal.settle(Duration::from_millis(50));
        }
        // If the line ran twice, the second run would follow soon.
        self.terminal.settle(Duration::from_millis(300));
        assert_eq!(self.ran(), wanted, "{}:\n{}", self.shell, self.terminal.screen());
    }

    /// Types a line about which guard asks.
    #[track_caller]
    fn asks(&mut self, line: &str) {
        self.terminal.send(line);
        self.terminal.settle(Duration::from_millis(200));
        self.terminal.send("\r");
        self.terminal.wait_for("answer means no");
        self.terminal.read_question();
    }

    /// Denies, and deletes the line that the shell restored.
    #[track_caller]
    fn no(&mut self) {
        self.terminal.send("n");
        self.terminal.wait_for("Why not?");
        self.terminal.send("\r");
        self.terminal.wait_for("refused: denied by a person");
        self.terminal.wait_gone("answer means no");
        // Keys that arrive before the shell reads again are echoed by the terminal.
        for _ in 0..100 {
            let screen = self.terminal.screen();
            if screen.rsplit_once("denied by a person").is_some_and(|(_, after)| after.contains("P>")) {
                break;
            }
            self.terminal.settle(Duration::from_millis(50));
        }
        self.terminal.settle(Duration::from_millis(300));
    }

    fn clear(&mut self) {
        self.terminal.send("\x15");
        self.terminal.settle(Duration::from_millis(200));
    }
}

fn home() -> Home {
    let home = Home::new();
    let ran = home.path("ran").display().to_string();
    home.stand_in("mark", &format!("echo \"mark $*\" >> '{ran}'"));
    home.stand_in("git", &format!("echo \"git $*\" >> '{ran}'"));
    home
}

/// Tests a promise with each of these shells in parallel, because most of the time is spent waiting.
fn each(shells: &[&'static str], promise: impl Fn(&'static str) + Sync) {
    let (promise, here) = (&promise, tools::installed(shells));
    std::thread::scope(|scope| {
        for shell in here {
            scope.spawn(move || promise(shell));
        }
    });
}

#[test]
fn a_safe_line_runs_once_and_a_refused_one_not_at_all() {
    each(&SHELLS, |shell| {
        let mut typed = Typed::new(shell, "", "");
        typed.runs("mark one", &["mark one"]);
        typed.asks(FLAGGED);
        typed.no();
        assert_eq!(typed.ran(), ["mark one"], "{shell}");
        // The restored line can be edited: with another word in front it is another command.
        assert!(typed.terminal.screen().trim_end().ends_with(FLAGGED), "{shell}:\n{}", typed.terminal.screen());
        typed.terminal.send("\x01echo changed: ");
        typed.terminal.settle(Duration::from_millis(300));
        typed.terminal.send("\r");
        typed.terminal.wait_for(&format!("\nchanged: {FLAGGED}"));
        typed.runs("mark two", &["mark one", "mark two"]);
    });
}

#[test]
fn a_refusal_stays_on_the_screen_in_windows_of_every_width() {
    const RULE: &str = "family = \"own\"\nabout = \"What this account does not do.\"\n[[rule]]\nid = \"own.deploy\"\ntier = 3\n\
                        deny = true\nreversibility = \"hard\"\nreason = \"Deployed by the pipeline.\"\nprogram = \"deploy\"\n\
                        bad = [\"deploy\"]\ngood = [\"ls deploy\"]\n\
                        [[rule]]\nid = \"own.release\"\ntier = 3\ndeny = true\nreversibility = \"hard\"\n\
                        reason = \"Released by the pipeline.\"\nprogram = \"release\"\nbad = [\"release\"]\n\
                        good = [\"ls release\"]\n";
    for size in [(40, 24), (80, 24), (230, 50)] {
        each(&SHELLS, |shell| {
            // A prompt of two lines is redrawn completely.
            let before = match shell {
                "zsh" => "PS1=$'top\\nP> '",
                "fish" => "function fish_prompt; printf 'top\\nP> '; end",
                _ => "",
            };
            let mut typed = Typed::of_size(shell, before, "", size);
            let own = typed.home.path("home/.config/guard/patterns");
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("own.toml"), RULE).unwrap();
            let flat = |screen: String| screen.replace('\n', "");
            // A line that is wider than the window takes several rows.
            let long = format!("release {}", "to-the-other-side ".repeat(6).trim_end());
            for (line, said) in [
                ("deploy now", "guard: refused: denied by rule own.deploy"),
                (&long, "guard: refused: denied by rule own.release"),
                ("git push --force origin main:refs/heads/main", "denied by a person"),
            ] {
                if line.starts_with("git ") {
                    typed.asks(line);
                    typed.no();
                } else {
                    typed.terminal.send(line);
                    typed.terminal.settle(Duration::from_millis(200));
                    typed.terminal.send("\r");
                }
                typed.terminal.settle(Duration::from_millis(1500));
                let screen = flat(typed.terminal.screen());
                // The line is shown completely and once, and below it the editable line.
                assert_eq!(screen.matches(said).count(), 1, "{shell} {size:?}:\n{}", typed.terminal.screen());
                let after = screen.split(said).nth(1).unwrap();
                assert!(
                    after.contains("P> ") && after.ends_with(line),
                    "{shell} {size:?}:\n{}",
                    typed.terminal.screen()
                );
                typed.clear();
            }
            typed.runs("mark then", &["mark then"]);
        });
    }
}

#[test]
fn what_a_shell_wraps_around_everyday_programs_is_not_asked_about() {
    each(&SHELLS, |shell| {
        let mut typed = Typed::new(shell, "", "");
        typed.runs("ls -la | head -1 && cd . && mark one", &["mark one"]);
        typed.runs("echo x | grep x && mark two", &["mark one", "mark two"]);
    });
}

#[test]
fn a_function_of_the_same_name_as_one_of_fish_is_judged_by_what_it_does() {
    let mut typed = Typed::new("fish", "function ls; git push --force origin main; end", "");
    typed.asks("ls");
    typed.no();
    assert_eq!(typed.ran(), [""; 0]);
}

#[test]
fn a_line_that_is_allowed_runs_once_and_in_the_shell_itself() {
    each(&SHELLS, |shell| {
        let mut typed = Typed::new(shell, "", "");
        let set = if shell == "fish" { "set -g here yes" } else { "here=yes" };
        typed.asks(&format!("{FLAGGED}; {set}"));
        typed.terminal.send("y");
        typed.until_ran(&["git push --force origin main"]);
        typed.runs("mark $here", &["git push --force origin main", "mark yes"]);
        assert!(typed.home.prints(&["log"], 0).contains(FLAGGED));
    });
}

#[test]
fn aliases_functions_and_variables_are_seen_for_what_they_are() {
    each(&SHELLS, |shell| {
        let (define, alias) = match shell {
            "fish" => ("function p; git push $argv; end; set how --force", "alias gp 'git push'"),
            _ => ("p() { git push \"$@\"; }; how=--force", "alias gp='git push'"),
        };
        let mut typed = Typed::new(shell, &format!("{define}\n{alias}"), "");
        for line in ["gp --force origin main", "p --force origin main", "git push $how origin main"] {
            typed.asks(line);
            typed.no();
            typed.clear();
            typed.terminal.send("clear\r");
            typed.terminal.wait_gone("refused");
        }
        assert_eq!(typed.ran(), [""; 0], "{shell}");
    });
}

#[test]
fn a_blank_in_front_and_an_empty_history_hide_nothing() {
    each(&SHELLS, |shell| {
        let before = match shell {
            "bash" => "HISTCONTROL=ignoreboth HISTSIZE=0; set +o history",
            "zsh" => "setopt hist_ignore_space; HISTSIZE=0",
            _ => "set -g fish_history ''",
        };
        let mut typed = Typed::new(shell, before, "");
        typed.asks(&format!(" {FLAGGED}"));
        typed.no();
        typed.clear();
        typed.runs(" mark after", &["mark after"]);
    });
}

#[test]
fn what_takes_several_lines_is_judged_whole_and_runs_once() {
    each(&SHELLS, |shell| {
        let mut typed = Typed::new(shell, "", "");
        let (begin, end) = if shell == "fish" { ("for i in a b", "end") } else { ("for i in a b; do", "done") };
        typed.terminal.send(&format!("{begin}\r"));
        typed.terminal.settle(Duration::from_millis(400));
        typed.terminal.send("mark $i\r");
        typed.terminal.settle(Duration::from_millis(400));
        assert_eq!(typed.ran(), [""; 0]);
        typed.runs(end, &["mark a", "mark b"]);
        typed.terminal.send(&format!("{begin}\r"));
        typed.terminal.settle(Duration::from_millis(400));
        typed.terminal.send(&format!("{FLAGGED}\r"));
        typed.terminal.settle(Duration::from_millis(400));
        typed.asks(end);
        typed.no();
        assert_eq!(typed.ran(), ["mark a", "mark b"], "{shell}");
    });
}

#[test]
fn a_here_document_is_read_to_its_end() {
    each(&["bash", "zsh"], |shell| {
        let mut typed = Typed::new(shell, "", "");
        for line in ["xargs mark <<E", "from here"] {
            typed.terminal.send(&format!("{line}\r"));
            typed.terminal.settle(Duration::from_millis(400));
        }
        typed.runs("E", &["mark from here"]);
    });
}

#[test]
fn lines_that_are_pasted_are_judged_together() {
    each(&SHELLS, |shell| {
        let mut typed = Typed::new(shell, "", "");
        typed.terminal.send("\x1b[200~mark first\ngit push --force origin main\nmark last\x1b[201~");
        typed.terminal.settle(Duration::from_millis(500));
        assert_eq!(typed.ran(), [""; 0], "{shell}");
        typed.asks("");
        typed.no();
        assert_eq!(typed.ran(), [""; 0], "{shell}");
        typed.terminal.send("\x03");
        typed.terminal.settle(Duration::from_millis(300));
        typed.runs("mark then", &["mark then"]);
    });
}

#[test]
fn history_is_expanded_before_it_is_judged() {
    each(&["bash", "zsh"], |shell| {
        let mut typed = Typed::new(shell, "HISTSIZE=100", "");
        typed.runs("echo one", &[]);
        typed.runs("mark push --force origin main", &["mark push --force origin main"]);
        typed.terminal.send("git !*\r");
        typed.terminal.wait_for("answer means no");
        typed.terminal.read_question();
        typed.no();
        assert_eq!(typed.ran(), ["mark push --force origin main"], "{shell}");
    });
}

#[test]
fn what_others_hang_on_a_line_goes_on_working() {
    let after = |text: &str| (text.to_owned(), text.replace("first", "second"));
    let (before, behind) = after(
        "first() { mark widget-first; zle first-accept }; zle -A accept-line first-accept; zle -N accept-line first",
    );
    let mut typed = Typed::new("zsh", &before, &behind);
    typed.runs("mark line", &["mark widget-second", "mark widget-first", "mark line"]);
    let mut typed = Typed::new(
        "bash",
        "PROMPT_COMMAND='mark prompt'",
        "trap '[[ $BASH_COMMAND == mark\\ line ]] && mark debug' DEBUG",
    );
    typed.until_ran(&["mark prompt"]);
    typed.runs("mark line", &["mark prompt", "mark debug", "mark line", "mark prompt"]);
}

#[test]
fn a_guard_that_cannot_be_asked_lets_nothing_run() {
    for (shell, variable) in [
        ("bash", "__guard_program=/nonexistent"),
        ("zsh", "_guard_program=/nonexistent"),
        ("fish", "set -g __guard_program /nonexistent"),
    ] {
        if !tools::is_installed(shell) {
            continue;
        }
        let mut typed = Typed::new(shell, "", variable);
        typed.terminal.send("mark never\r");
        typed.terminal.wait_for("was not judged and does not run");
        typed.terminal.settle(Duration::from_millis(300));
        assert_eq!(typed.ran(), [""; 0], "{shell}");
    }
}

#[test]
fn guard_under_a_shells_name_loads_itself_behind_the_persons_own_files() {
    for (shell, file) in [("bash", ".bashrc"), ("zsh", ".zshrc")] {
        if !tools::is_installed(shell) {
            continue;
        }
        for name in [shell.to_owned(), format!("-{shell}")] {
            let home = home();
            let bin = home.path("bin");
            let text = format!("PS1='P> '\nPATH={}:$PATH\nmine() {{ mark mine; }}\n", bin.display());
            std::fs::write(home.path("home").join(file), text).unwrap();
            std::fs::write(home.path("home/.bash_profile"), ". ~/.bashrc\n").unwrap();
            let link = home.path("bin").join(shell);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_guard"), &link).unwrap();
            let mut command = home.program(link.to_str().unwrap());
            std::os::unix::process::CommandExt::arg0(&mut command, &name);
            let mut typed = Typed::started(home, command, shell);
            typed.runs("mine", &["mark mine"]);
            typed.asks(FLAGGED);
            typed.no();
            assert_eq!(typed.ran(), ["mark mine"], "{name}");
        }
    }
}

#[test]
fn the_lines_of_guard_init_are_good_in_their_shell() {
    let home = Home::new();
    each(&SHELLS, |shell| {
        let text = home.prints(&["init", shell], 0);
        assert!(text.contains(env!("CARGO_BIN_EXE_guard")) && !text.contains("@GUARD@"));
        let file = home.path("work").join(shell);
        std::fs::write(&file, text).unwrap();
        let checked = home.program(shell).arg("-n").arg(&file).output().unwrap();
        assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
    });
}

#[test]
fn what_only_the_shell_takes_for_whole_does_not_run_unjudged() {
    let mut typed = Typed::new("zsh", "setopt rc_quotes", "");
    for line in ["if [[ -n x ]] git push --force origin main", "mark ''' && git push --force origin main #'"] {
        typed.terminal.send(&format!("{line}\r"));
        typed.terminal.settle(Duration::from_secs(2));
        assert!(!typed.ran().iter().any(|ran| ran.starts_with("git ")), "{line}:\n{}", typed.terminal.screen());
        typed.terminal.send("\x03\x03");
        typed.terminal.settle(Duration::from_millis(500));
    }
}

#[test]
fn status_says_whether_the_shell_that_it_is_typed_to_asks_guard() {
    let guard = env!("CARGO_BIN_EXE_guard");
    for shell in tools::installed(&SHELLS) {
        let mut typed = Typed::new(shell, "", "");
        typed.terminal.send(&format!("'{guard}' status\r"));
        typed.terminal.wait_for("this shell asks guard before each line");
        typed.terminal.settle(Duration::from_millis(300));
        // The shell below has inherited the variable, but has not loaded guard and is another process.
        let (below, option) = match shell {
            "bash" => ("bash", "--norc"),
            "zsh" => ("zsh", "-f"),
            _ => ("fish", "--no-config"),
        };
        typed.terminal.send(&format!("'{guard}' -- {below} {option}\r"));
        typed.terminal.settle(Duration::from_millis(700));
        typed.terminal.send(&format!("'{guard}' status\r"));
        typed.terminal.wait_for("this shell does not ask guard; open a new one");
    }
}
