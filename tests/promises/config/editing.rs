//! Tests `guard config`: a change is checked and shown, and is written only after an approval.

use super::*;

#[test]
fn a_change_is_checked_shown_and_written_after_a_yes_alone() {
    let home = Home::new();
    let file = home.path("home/.config/guard/config.toml");
    let typed = |arguments: &[&str], key: &str| {
        let mut terminal = Terminal::spawn(home.guard(arguments));
        if !key.is_empty() {
            terminal.wait_for("Save this change? [y/N]");
            terminal.send(&format!("{key}\r"));
        }
        let status = terminal.wait_exit();
        (status.code(), terminal.screen())
    };
    let text = || fs::read_to_string(&file).unwrap();
    assert_eq!(typed(&["config", "init"], "n").0, Some(126));
    assert!(!file.exists());
    assert_eq!(typed(&["config", "init"], "y").0, Some(0));
    let first = text();
    let (code, screen) = typed(&["config", "set", "thresholds.agent", "1.5"], "y");
    assert_eq!(code, Some(0));
    assert!(screen.contains("+ agent = 1.5"), "{screen}");
    assert!(home.prints(&["config", "show", "thresholds.agent"], 0).starts_with("thresholds.agent = 1.5  # user, "));
    let (code, screen) = typed(&["config", "set", "mode", "sometimes"], "");
    assert_eq!(code, Some(125));
    assert!(screen.contains("not changed") && screen.contains("expected \"off\""), "{screen}");
    assert_eq!(typed(&["config", "unset", "thresholds.agent"], "y").0, Some(0));
    assert_eq!(text().replace("\n[thresholds]\n", ""), first);
    // Without a terminal nobody can approve the change.
    let before = text();
    let output = home.guard(&["config", "set", "mode", "off"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126), "{output:?}");
    assert_eq!(text(), before);
}

#[test]
fn an_editor_changes_a_copy_and_what_is_wrong_is_never_kept() {
    let home = Home::new();
    let file = home.path("home/.config/guard/config.toml");
    let edited = |script: &str| {
        home.stand_in("editor", script);
        let mut command = home.guard(&["config", "edit"]);
        command.env("VISUAL", "editor --wait").env("EDITOR", "false");
        Terminal::spawn(command)
    };
    let ended = |mut terminal: Terminal| (terminal.wait_exit().code(), terminal.screen());

    // An unchanged template is not saved as a file.
    let (code, screen) = ended(edited("test \"$1\" = --wait && grep -q preset \"$2\" && : > \"$2\""));
    assert!(code == Some(0) && screen.contains("Not changed.") && !file.exists(), "{screen}");

    let mut terminal = edited("echo 'prompts_per_hour = 7' >> \"$2\"");
    terminal.wait_for("Save this change? [y/N]");
    assert!(terminal.screen().contains("+ prompts_per_hour = 7"), "{}", terminal.screen());
    terminal.send("y\r");
    assert_eq!(ended(terminal).0, Some(0));
    let kept = fs::read_to_string(&file).unwrap();
    assert!(kept.ends_with("prompts_per_hour = 7\n"), "{kept}");
    let (code, screen) = ended(edited("true"));
    assert!(code == Some(0) && screen.contains("Not changed."), "{screen}");

    // An invalid file is reported with the line, and can be edited again or discarded.
    let wrong = "grep -q sometimes \"$2\" && sed -i s/sometimes/off/ \"$2\" || echo 'mode = \"sometimes\"' >> \"$2\"";
    for (again, code) in [("n", 126), ("y", 126), ("y", 0)] {
        let mut terminal = edited(wrong);
        terminal.wait_for("Edit it again?");
        let line = format!("config.toml:{}: mode", kept.lines().count() + 1);
        assert!(terminal.screen().replace('\n', "").contains(&line), "{}", terminal.screen());
        terminal.send(&format!("{again}\r"));
        if again == "y" {
            terminal.wait_for("Save this change? [y/N]");
            terminal.send(if code == 0 { "y\r" } else { "n\r" });
        }
        assert_eq!(ended(terminal).0, Some(code));
        assert_eq!(fs::read_to_string(&file).unwrap() == kept, code != 0, "{again}");
    }
    let (code, screen) = ended(edited("exit 3"));
    assert!(code == Some(125) && screen.contains("not changed: editor --wait failed"), "{screen}");
    // Without a terminal no editor is started.
    home.stand_in("editor", &format!("echo ran >> '{}'", home.path("ran").display()));
    let output = home.guard(&["config", "edit"]).env("VISUAL", "editor").output().unwrap();
    assert_eq!((output.status.code(), home.ran()), (Some(126), 0), "{output:?}");
}

#[test]
fn a_tilde_is_the_home_that_leads_to_the_file() {
    let mut fixture = Fixture::new();
    let text = "mode = \"smart\"\n[reviewer]\nprovider = \"openai\"\nmodel = \"m\"\nkey = { file = \"~/key\" }\n";
    let key = |fixture: &Fixture| {
        let (reviewer, _) = fixture.load().reviewer.unwrap();
        match reviewer.voices[0].key.clone() {
            Some(guard::config::reviewer::KeySource::File(path)) => path,
            other => panic!("{other:?}"),
        }
    };
    fixture.roots.named = Some(fixture.path("elsewhere/.config/guard"));
    fixture.roots.named_home = Some(fixture.path("elsewhere"));
    fixture.write("elsewhere/.config/guard/config.toml", text);
    assert_eq!(key(&fixture), fixture.path("elsewhere/key"));
    assert_eq!(fixture.load().own_file(), Some(&*fixture.path("elsewhere/.config/guard/config.toml")));
    // Paths in the account's own file are relative to the account's home, even if HOME is another directory.
    fixture.user(text);
    fs::remove_file(fixture.path("elsewhere/.config/guard/config.toml")).unwrap();
    assert_eq!(key(&fixture), fixture.path("home/key"));
    assert_eq!(fixture.load().own_file(), Some(&*fixture.path("home/.config/guard/config.toml")));
}
