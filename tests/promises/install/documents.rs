//! Tests that guard can be written into any configuration and removed without a trace.

use super::*;

/// Generates JSON as people write it: with comments, trailing commas, tabs and either line ending.
fn document() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(String::new()),
        2 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // a, [ { \"\n".to_owned()),
        1 => Just(" /* } ] */ ".to_owned()),
    ];
    let leaf = prop_oneof![
        Just("1".to_owned()),
        Just("null".to_owned()),
        Just("-2.5e3".to_owned()),
        Just("\"a \\\" // b\"".to_owned()),
        Just("\"ü\"".to_owned()),
    ];
    let blank_too = blank.clone();
    let value = leaf.prop_recursive(3, 24, 4, move |inner| {
        let blank = blank_too.clone();
        let list = (prop::collection::vec((blank.clone(), inner.clone(), blank.clone()), 0..4), any::<bool>());
        let array = (list, blank.clone()).prop_map(|((items, trailing), end)| {
            let parts: Vec<String> = items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            format!("[{}{comma}{end}]", parts.join(","))
        });
        let members = (prop::collection::vec((blank.clone(), inner, blank.clone()), 0..4), any::<bool>());
        let object = (members, blank).prop_map(|((items, trailing), end)| {
            let part = |(index, (a, item, b)): (usize, &(String, String, String))| format!("{a}\"k{index}\":{b}{item}");
            let parts: Vec<String> = items.iter().enumerate().map(part).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", parts.join(","))
        });
        prop_oneof![array, object]
    });
    let event = prop_oneof![Just("PreToolUse"), Just("BeforeTool"), Just("preToolUse"), Just("other")];
    let list = (prop::collection::vec((blank.clone(), value.clone()), 0..3), any::<bool>(), blank.clone());
    (value, event, list, any::<[bool; 3]>(), blank.clone(), blank).prop_map(
        |(other, event, (items, trailing, end), [has_hooks, has_other, last], a, b)| {
            let parts: Vec<String> = items.iter().map(|(blank, item)| format!("{blank}{item}")).collect();
            let comma = if trailing && !parts.is_empty() { "," } else { "" };
            let hooks = format!("{a}\"hooks\":{b}{{{a}\"{event}\": [{}{comma}{end}]{b}}}", parts.join(","));
            let other = format!("{b}\"other\":{a}{other}");
            let mut members = Vec::new();
            members.extend(has_hooks.then_some(hooks));
            members.extend(has_other.then_some(other));
            let comma = if last && !members.is_empty() { "," } else { "" };
            format!("{a}{{{}{comma}{b}}}{a}", members.join(","))
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_file_it_parses_afterwards_and_taking_guard_out_brings_back_its_meaning(text in document()) {
        for host in HOSTS.iter() {
            for wire in host.user.iter().filter(|wire| matches!(wire.form, Form::Json { .. })) {
                let wiring = Wiring::of(host, "/usr/local/bin/guard", None);
                prop_assert_eq!(wiring.state(wire, Some(&text)).unwrap(), WiredState::Absent);
                let installed = wiring.installed(wire, Some(&text)).unwrap();
                let (old, new) = (json::parse(&text).unwrap(), json::parse(&installed).unwrap());
                for member in old.members() {
                    prop_assert!(new.get(&member.key).is_some(), "{}", installed);
                }
                prop_assert_eq!(wiring.state(wire, Some(&installed)).unwrap(), WiredState::Present);
                prop_assert_eq!(&wiring.installed(wire, Some(&installed)).unwrap(), &installed);
                let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap();
                prop_assert!(json::parse(&restored).unwrap().same(&old), "{}\n{}", text, restored);
                // All comments are kept, in their order.
                prop_assert_eq!(comments(&restored), comments(&text), "{}\n{}", text, restored);
            }
        }
    }

    #[test]
    fn whatever_the_toml_it_parses_afterwards_and_taking_guard_out_restores_it(text in toml_document()) {
        let host = hosts::by_name("kimi").unwrap();
        let (wiring, wire) = (Wiring::of(host, "/g/guard", None), &host.user[0]);
        let installed = wiring.installed(wire, Some(&text)).unwrap();
        let mut table: toml::Table = installed.parse().unwrap();
        let hooks = table["hooks"].as_array_mut().unwrap();
        let mine = hooks.pop().unwrap();
        prop_assert_eq!(mine["command"].as_str(), Some("/g/guard hook --agent kimi --timeout 600 || exit 2"));
        if hooks.is_empty() {
            table.remove("hooks");
        }
        prop_assert_eq!(&table, &text.parse::<toml::Table>().unwrap());
        prop_assert_eq!(&wiring.installed(wire, Some(&installed)).unwrap(), &installed);
        let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap();
        prop_assert_eq!(restored.trim_end(), text.trim_end());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_file_the_program_restores_it_to_the_byte(
        json in document(), toml in toml_document(), yaml in yaml_document(),
    ) {
        for (agent, name, text) in [
            ("qwen", ".qwen/settings.json", &json),
            ("kimi", ".kimi-code/config.toml", &toml),
            ("hermes", ".hermes/config.yaml", &yaml),
        ] {
            let home = home();
            let path = write(&home, name, text);
            home.prints(&["install", agent, "--yes"], 0);
            prop_assert_ne!(&fs::read_to_string(&path).unwrap(), text);
            let (screen, end) = at_a_terminal(&home, &["install", agent, "--uninstall", "--yes"], None);
            prop_assert_eq!(&end, "exit 0", "{}", screen);
            prop_assert_eq!(&fs::read_to_string(&path).unwrap(), text);
        }
    }
}

/// Generates TOML as people write it.
fn toml_document() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("[[hooks]]\nevent = \"Stop\"\ncommand = \"\"\"\nbell\n\"\"\" # ring\n"),
        Just("[[hooks]]\nevent = \"PreToolUse\"\nmatcher = \"x\" \n"),
        Just("[[other]]\nlist = [\n  [1, 2], # [[hooks]]\n  [3],\n]\n"),
        Just("# [[hooks]]\n# command = \"guard hook --agent kimi\"\n"),
        Just("\n"),
        Just("[[other]]\ntext = '''\n[[hooks]]\n'''\n"),
    ];
    let head = prop_oneof![Just(""), Just("a = 1 # one\n"), Just("\n\nb = \"[[hooks]]\"\n")];
    (head, prop::collection::vec(part, 0..6), any::<bool>(), any::<bool>()).prop_map(|(head, parts, crlf, cut)| {
        let text = format!("{head}{}", parts.concat());
        let text = if cut { text.trim_end().to_owned() } else { text };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// Generates YAML as people write it, with the list of hooks in every supported form.
fn yaml_document() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("model: x   # hooks: none\n"),
        Just("list:\n- a\n- hooks: b\n"),
        Just("text: |\n  hooks:\n    pre_tool_call:\n\n  more\n"),
        Just("nested:\n  hooks:\n    pre_tool_call: []\n"),
        Just("# hooks:\n#   pre_tool_call:\n"),
        Just("\n"),
        Just("quoted: \"a: b\n  hooks: c\"\n"),
        Just("flow: {hooks: [a], b: c}\n"),
        Just("hooks_auto_accept: false\n"),
    ];
    let hooks = prop_oneof![
        Just(""),
        Just("hooks:\n"),
        Just("hooks: {}   # none\n"),
        Just("hooks: ~\n"),
        Just("hooks:  # mine\n  # nothing yet\n"),
        Just("hooks:\n  stop:\n    - command: \"x\"\n"),
        Just("hooks:\n    stop:\n    - command: |\n        a: b\n        c\n      timeout: 3\n"),
        Just("hooks:\n  pre_tool_call:\n    - matcher: a\n      command: b # c\n\n    # end\n"),
        Just("hooks:\n  pre_tool_call:\n  - {matcher: a, command: b}\n  - command: c\n  stop: []\n"),
        Just("hooks:\n  pre_tool_call: []  # none\n  stop:\n  - command: x\n"),
        Just("hooks:\n  pre_tool_call:\n  stop: [{command: x}]\n"),
        Just("hooks:\n   pre_tool_call:\n       - command: >\n           a\n           b\n"),
    ];
    let parts = || prop::collection::vec(part.clone(), 0..4);
    (parts(), hooks, parts(), any::<bool>(), any::<bool>()).prop_map(|(before, hooks, after, crlf, cut)| {
        let mut seen: Vec<&'static str> = Vec::new();
        let once = |part: &&'static str| {
            let key = part.split(':').next().unwrap_or_default();
            let new = part.starts_with(['#', '\n']) || !seen.contains(&key);
            seen.push(key);
            new
        };
        let all: Vec<&'static str> = before.into_iter().chain([hooks]).chain(after).filter(once).collect();
        let text = all.concat();
        let text = if cut { text.trim_end().to_owned() } else { text };
        if crlf { text.replace('\n', "\r\n") } else { text }
    })
}

/// A Python program that reads pairs of texts and reports for each whether the second is the first with one more hook.
const YAML_READER: &str = r#"
import json, sys, yaml
def rest(doc):
    doc = dict(doc or {})
    hooks = dict(doc.pop("hooks", None) or {})
    calls = list(hooks.pop("pre_tool_call", None) or [])
    return doc, hooks, calls
for before, after in json.load(sys.stdin):
    # A last line without an end gets one, which a block of text there takes for its own.
    old, new = (rest(yaml.safe_load(text.rstrip() + "\n")) for text in (before, after))
    assert old[0] == new[0] and old[1] == new[1], (before, after)
    assert new[2][:-1] == old[2], (before, after)
    import shlex
    guarded = "'/my \"dir\"/guard' hook --agent hermes --timeout 300"
    said = '{"decision":"block","reason":"guard: refused: guard failed, or is gone"}'
    line = new[2][-1]["command"]
    wanted = ["sh", "-c", guarded + " || echo '" + said + "'"]
    assert shlex.split(line) == wanted, (before, after)
    mine = {"matcher": ".*", "command": line, "timeout": 300, "fail_closed": True}
    assert new[2][-1] == mine, (before, after)
print("all")
"#;

#[test]
fn whatever_the_yaml_a_reader_finds_one_more_hook_and_taking_guard_out_restores_it() {
    let host = hosts::by_name("hermes").unwrap();
    let (wiring, wire) = (Wiring::of(host, "/my \"dir\"/guard", None), &host.user[0]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut pairs = Vec::new();
    for _ in 0..600 {
        let text = yaml_document().new_tree(&mut runner).unwrap().current();
        let installed = wiring.installed(wire, Some(&text)).unwrap_or_else(|trouble| panic!("{trouble:?}: {text}"));
        assert_eq!(wiring.installed(wire, Some(&installed)).unwrap(), installed);
        let restored = wiring.uninstalled(wire, &installed, Some(Some(&text))).unwrap().unwrap_or_default();
        // An empty list or map may be restored with another spelling.
        let plain = |text: &str| {
            text.replace([' ', '\r'], "")
                .replace(":[]", ":")
                .replace(":{}", ":")
                .replace(":~", ":")
                .trim_end()
                .to_owned()
        };
        assert_eq!(plain(&restored), plain(&text), "{installed}");
        pairs.push([text, installed]);
    }
    let home = home();
    fs::write(home.path("pairs"), serde_json::to_string(&pairs).unwrap()).unwrap();
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let reads = |python: &PathBuf| {
        let mut python = std::process::Command::new(python);
        python.args(["-c", "import yaml"]).output().is_ok_and(|output| output.status.success())
    };
    let python = std::env::split_paths(&directories).map(|directory| directory.join("python3")).find(reads);
    let run = |script: &str| {
        let input = fs::File::open(home.path("pairs")).unwrap();
        let command = python.as_ref().map(std::process::Command::new);
        command.and_then(|mut python| python.args(["-c", script]).stdin(input).output().ok())
    };
    if !run("import yaml").is_some_and(|output| output.status.success()) {
        crate::harness::tools::skip("python3 has no module yaml");
        return;
    }
    let read = run(YAML_READER).unwrap();
    assert_eq!(String::from_utf8_lossy(&read.stdout), "all\n", "{}", String::from_utf8_lossy(&read.stderr));
}

fn comments(text: &str) -> Vec<&str> {
    let wanted = [" // a, [ { \"", "/* } ] */"];
    let mut found: Vec<(usize, &str)> = wanted.iter().flat_map(|comment| text.match_indices(comment)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, comment)| comment).collect()
}
