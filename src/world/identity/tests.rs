use super::*;

#[test]
fn an_account_is_found_by_its_number_among_damaged_lines() {
    let passwd = b"root:x:0:0:root:/root:/bin/bash\n\xff\xfe\n:x:7:7::/:/\nada:x:7:7:Ada,,,:/home/ada:/bin/zsh\n";
    let ada = Account::in_passwd(passwd, |_, uid| uid == 7).unwrap();
    assert_eq!((ada.name.as_str(), ada.home.as_deref()), ("ada", Some(Path::new("/home/ada"))));
    assert_eq!(ada.shell.as_deref(), Some(Path::new("/bin/zsh")));
    assert_eq!(Account::in_passwd(passwd, |_, uid| uid == 8), None);
    assert_eq!(Account::in_passwd(passwd, |name, _| name == "ada"), Some(ada));
}

#[test]
fn an_account_that_nobody_lists_is_called_by_its_number() {
    let account = Account::of(3_999_999_999);
    assert_eq!((account.name.as_str(), account.home), ("3999999999", None));
}

#[test]
fn a_wrong_pwd_is_not_believed() {
    let physical = std::env::current_dir().unwrap();
    for lie in ["/", "relative", "/nonexistent", ""] {
        let env = [("PWD".into(), lie.into())].into_iter().collect();
        assert_eq!(working_directory(&env).unwrap(), physical, "PWD={lie}");
    }
    let dotted = format!("{}/.", physical.display());
    let env = [("PWD".into(), dotted.into())].into_iter().collect();
    assert_eq!(working_directory(&env).unwrap(), physical);
}

#[test]
fn guard_session_narrows_the_session_and_leaves_its_root_alone() {
    let plain = session(&Environment::default(), 5, None, None, &[]);
    let env = [("GUARD_SESSION".into(), "part".into())].into_iter().collect();
    let narrowed = session(&env, 5, None, None, &[]);
    assert_eq!(narrowed.id, format!("{}/part", plain.id));
    assert_eq!(narrowed.root, plain.root);
}

#[test]
fn the_session_that_an_agent_names_is_its_own() {
    let env: Environment = [("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "abc")]
        .map(|(k, v)| (k.into(), v.into()))
        .into_iter()
        .collect();
    let agent = agents::by_marker(&env).unwrap();
    let session = session(&env, 5, Some(agent), None, &[]);
    assert_eq!((session.id.as_str(), session.agent.as_deref()), ("claude:abc", Some("claude")));
}

#[test]
fn an_agent_run_by_an_interpreter_is_known_by_its_program() {
    let arguments = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let gemini = arguments(&["node", "--no-warnings", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"]);
    assert_eq!(agents::by_program(&gemini).map(|agent| agent.name), Some("gemini"));
    let project = arguments(&["node", "/home/ada/gemini-notes/server.js", "/bin/gemini"]);
    assert_eq!(agents::by_program(&project).map(|agent| agent.name), None);
}
