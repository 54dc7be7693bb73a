//! The agents themselves, one after another.
//!
//! What may not enter: what is done with them.

use super::written::{
    ANTIGRAVITY, CLAUDE, CLINE_SCRIPT, CODEX, COPILOT, CURSOR, DROID, DROID_OWN_FILE, GEMINI, GOOSE_FILES,
    GOOSE_PROJECT, GROK, QWEN, WINDSURF, json, versioned,
};
use super::{Folder, Form, Host, Reads, Runs, When, Wire};
use crate::app::hook::plugin::Plugin;

const fn below_home(path: &'static str) -> Folder {
    Folder { variable: "", config: false, path }
}

const fn below_config(path: &'static str) -> Folder {
    Folder { variable: "", config: true, path }
}

const fn named(variable: &'static str, path: &'static str) -> Folder {
    Folder { variable, config: false, path }
}

/// What happens without an answer, where nothing else is to be said of it.
pub const OPEN: &str = "the command runs";
const UNKNOWN: &str = "not known";
const BLOCKED_BY_A_PLUGIN: &str = "blocked; a plugin that is not loaded asks nobody";
pub const BLOCKED: &str = "the command is blocked";

/// What most of them are, and what is said of each where it differs. What happens without an answer is nobody's usual: it
/// is said of each, or not known.
const USUAL: Host = Host {
    name: "",
    title: "",
    programs: &[],
    packages: &[],
    folder: below_home(""),
    user: &[],
    project: &[],
    runs: Runs::Sh,
    says: "",
    reads: Reads::Claude,
    waits: 600,
    on_failure: UNKNOWN,
    on_timeout: UNKNOWN,
    on_missing: UNKNOWN,
    tried: "",
    next: "",
    shell: "",
};

/// The agents, in the order in which they are listed.
pub static HOSTS: &[Host] = &[
    Host {
        name: "claude",
        title: "Claude Code",
        programs: &["claude"],
        packages: &["@anthropic-ai/claude-code"],
        folder: named("CLAUDE_CONFIG_DIR", ".claude"),
        user: &[json("settings.json", CLAUDE)],
        project: &[json(".claude/settings.local.json", CLAUDE)],
        runs: Runs::Exec,
        says: r#"{"session_id":"@SESSION@","transcript_path":"/dev/null","cwd":"@CWD@","permission_mode":"default","hook_event_name":"@EVENT@","tool_name":"Bash","tool_input":{"command":"@COMMAND@","description":"guard doctor"},"tool_use_id":"toolu_doctor"}"#,
        waits: 3600,
        on_failure: "blocked from 2.1.295 on; before that the command runs",
        on_timeout: "blocked from 2.1.295 on; before that the command runs",
        on_missing: "blocked from 2.1.295 on; before that the command runs",
        tried: "2.1.197",
        next: "Sessions that are open pick it up when they are restarted. Check with /hooks.",
        shell: "CLAUDE_CODE_SHELL=DIR/bash",
        ..USUAL
    },
    Host {
        name: "codex",
        title: "Codex CLI",
        programs: &["codex"],
        packages: &["@openai/codex"],
        folder: named("CODEX_HOME", ".codex"),
        user: &[json("hooks.json", CODEX)],
        project: &[json(".codex/hooks.json", CODEX)],
        runs: Runs::LoginShell,
        says: r#"{"session_id":"@SESSION@","turn_id":"1","transcript_path":null,"cwd":"@CWD@","hook_event_name":"@EVENT@","model":"doctor","permission_mode":"default","tool_name":"Bash","tool_input":{"command":"@COMMAND@"},"tool_use_id":"1"}"#,
        waits: 3600,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        tried: "0.169.0",
        next: "Start codex and type /hooks to trust the hook: until then Codex skips it, and again after every change of it.",
        ..USUAL
    },
    Host {
        name: "gemini",
        title: "Gemini CLI",
        programs: &["gemini"],
        packages: &["@google/gemini-cli"],
        folder: below_home(".gemini"),
        user: &[json("settings.json", GEMINI)],
        project: &[json(".gemini/settings.json", GEMINI)],
        runs: Runs::Bash,
        says: r#"{"session_id":"@SESSION@","transcript_path":"/dev/null","cwd":"@CWD@","hook_event_name":"@EVENT@","timestamp":"2026-01-01T00:00:00Z","tool_name":"run_shell_command","tool_input":{"command":"@COMMAND@","description":"guard doctor"}}"#,
        reads: Reads::Gemini,
        waits: 3600,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        tried: "0.61.0",
        next: "Restart Gemini CLI.",
        shell: "PATH=DIR:$PATH",
    },
    Host {
        name: "antigravity",
        title: "Antigravity",
        programs: &["agy", "antigravity"],
        folder: below_home(".gemini/config"),
        user: &[json("hooks.json", ANTIGRAVITY)],
        project: &[json(".agents/hooks.json", ANTIGRAVITY)],
        says: r#"{"toolCall":{"name":"run_command","args":{"CommandLine":"@COMMAND@","Cwd":"@CWD@"}},"workspacePaths":["@CWD@"],"conversationId":"@SESSION@"}"#,
        reads: Reads::Key("decision", &["deny"]),
        next: "Restart Antigravity.",
        ..USUAL
    },
    Host {
        name: "cursor",
        title: "Cursor",
        programs: &["cursor-agent", "cursor"],
        folder: below_home(".cursor"),
        user: &[versioned("hooks.json", CURSOR)],
        project: &[versioned(".cursor/hooks.json", CURSOR)],
        says: r#"{"conversation_id":"@SESSION@","generation_id":"1","model":"doctor","hook_event_name":"@EVENT@","cursor_version":"0","workspace_roots":["@CWD@"],"command":"@COMMAND@","cwd":"@CWD@","sandbox":false,"tool_name":"Shell","tool_input":{"command":"@COMMAND@"}}"#,
        reads: Reads::KeyOrCode("permission", &["deny"]),
        on_failure: BLOCKED,
        on_timeout: BLOCKED,
        on_missing: BLOCKED,
        next: "Restart Cursor, and look for guard under Settings, Hooks.",
        ..USUAL
    },
    Host {
        name: "copilot",
        title: "GitHub Copilot CLI",
        programs: &["copilot"],
        packages: &["@github/copilot"],
        folder: named("COPILOT_HOME", ".copilot"),
        user: &[versioned("hooks/guard.json", COPILOT)],
        project: &[versioned(".github/hooks/guard.json", COPILOT)],
        runs: Runs::Exec,
        says: r#"{"sessionId":"@SESSION@","timestamp":1,"cwd":"@CWD@","toolName":"bash","toolArgs":{"command":"@COMMAND@","description":"guard doctor"}}"#,
        reads: Reads::Copilot,
        waits: 3600,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        next: "Restart Copilot CLI. It also reads Claude Code's settings: with both installed guard is called twice.",
        ..USUAL
    },
    Host {
        name: "windsurf",
        title: "Windsurf",
        programs: &["windsurf"],
        folder: below_home(".codeium/windsurf"),
        user: &[json("hooks.json", WINDSURF)],
        project: &[json(".windsurf/hooks.json", WINDSURF)],
        says: r#"{"agent_action_name":"@EVENT@","trajectory_id":"@SESSION@","execution_id":"1","timestamp":"2026-01-01T00:00:00Z","tool_info":{"command_line":"@COMMAND@","cwd":"@CWD@"}}"#,
        reads: Reads::KeyOrCode("", &[]),
        waits: 0,
        on_failure: OPEN,
        on_missing: OPEN,
        next: "Restart Windsurf.",
        ..USUAL
    },
    Host {
        name: "droid",
        title: "Factory Droid",
        programs: &["droid"],
        packages: &["@factory/cli"],
        folder: below_home(".factory"),
        user: &[
            json("settings.json", DROID),
            Wire { path: "hooks.json", when: When::There, form: Form::Json { needs: &[], entries: DROID_OWN_FILE } },
        ],
        project: &[json(".factory/settings.local.json", DROID)],
        says: r#"{"session_id":"@SESSION@","transcript_path":"/dev/null","cwd":"@CWD@","permission_mode":"off","hook_event_name":"@EVENT@","tool_name":"Execute","tool_input":{"command":"@COMMAND@"}}"#,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        next: "Restart Droid, and look for guard under /hooks.",
        ..USUAL
    },
    Host {
        name: "kimi",
        title: "Kimi CLI",
        programs: &["kimi"],
        folder: named("KIMI_SHARE_DIR", ".kimi"),
        user: &[Wire {
            path: "config.toml",
            when: When::Always,
            form: Form::Toml {
                array: "hooks",
                body: "event = \"PreToolUse\"\nmatcher = \"Shell|WriteFile|StrReplaceFile\"\ncommand = \"@LINE@ || exit 2\"\ntimeout = 600\n",
            },
        }],
        says: r#"{"session_id":"@SESSION@","cwd":"@CWD@","hook_event_name":"@EVENT@","tool_name":"Shell","tool_input":{"command":"@COMMAND@"},"tool_call_id":"1"}"#,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        next: "Restart Kimi CLI.",
        ..USUAL
    },
    Host {
        name: "qwen",
        title: "Qwen Code",
        programs: &["qwen"],
        packages: &["@qwen-code/qwen-code"],
        folder: below_home(".qwen"),
        user: &[json("settings.json", QWEN)],
        project: &[json(".qwen/settings.json", QWEN)],
        says: r#"{"session_id":"@SESSION@","transcript_path":"/dev/null","cwd":"@CWD@","permission_mode":"default","hook_event_name":"@EVENT@","tool_name":"run_shell_command","tool_input":{"command":"@COMMAND@"},"tool_use_id":"1"}"#,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        tried: "0.15.10",
        next: "Restart Qwen Code, and look for guard under /hooks.",
        ..USUAL
    },
    Host {
        name: "grok",
        title: "Grok CLI",
        programs: &["grok"],
        folder: below_home(".grok"),
        user: &[json("hooks/guard.json", GROK)],
        project: &[json(".grok/hooks/guard.json", GROK)],
        says: r#"{"hookEventName":"@EVENT@","sessionId":"@SESSION@","toolName":"run_terminal_command","toolInput":{"command":"@COMMAND@"},"workspaceRoot":"@CWD@","permissionMode":"default"}"#,
        reads: Reads::KeyOrCode("decision", &["deny"]),
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        next: "Restart Grok; in a project, type /hooks-trust. It also reads Claude Code's settings: with both installed guard is called twice.",
        ..USUAL
    },
    Host {
        name: "goose",
        title: "Goose",
        programs: &["goose"],
        folder: below_config("goose"),
        user: GOOSE_FILES,
        project: GOOSE_PROJECT,
        says: r#"{"event":"@EVENT@","session_id":"@SESSION@","matcher_context":"developer__shell","tool_call_id":"1","tool_name":"developer__shell","tool_input":{"command":"@COMMAND@"},"working_dir":"@CWD@"}"#,
        reads: Reads::KeyOrCode("decision", &["block"]),
        on_failure: BLOCKED,
        on_timeout: BLOCKED,
        on_missing: BLOCKED,
        next: "Restart Goose.",
        shell: "GOOSE_SHELL=DIR/bash",
        ..USUAL
    },
    Host {
        name: "cline",
        title: "Cline",
        programs: &["cline"],
        packages: &["cline"],
        folder: below_home(".cline"),
        user: &[
            Wire { path: "hooks/PreToolUse", when: When::Always, form: CLINE_SCRIPT },
            Wire { path: "~/Documents/Cline/Hooks/PreToolUse", when: When::FolderThere, form: CLINE_SCRIPT },
        ],
        project: &[Wire { path: ".cline/hooks/PreToolUse", when: When::Always, form: CLINE_SCRIPT }],
        runs: Runs::File,
        says: r#"{"clineVersion":"0","hookName":"tool_call","timestamp":"1","taskId":"@SESSION@","workspaceRoots":["@CWD@"],"tool_call":{"name":"run_commands","input":{"command":"@COMMAND@"}}}"#,
        reads: Reads::Cline,
        waits: 0,
        on_failure: BLOCKED,
        on_timeout: OPEN,
        on_missing: BLOCKED,
        next: "Restart Cline; in the editor, switch hooks on in its settings.",
        ..USUAL
    },
    Host {
        name: "hermes",
        title: "Hermes",
        programs: &["hermes"],
        folder: named("HERMES_HOME", ".hermes"),
        user: &[Wire {
            path: "config.yaml",
            when: When::Always,
            form: Form::Yaml {
                keys: ["hooks", "pre_tool_call"],
                item: &[
                    "matcher: \"terminal|write_file|patch\"",
                    "command: \"@LINE@\"",
                    "timeout: 300",
                    "fail_closed: true",
                ],
            },
        }],
        runs: Runs::Words,
        says: r#"{"hook_event_name":"@EVENT@","tool_name":"terminal","tool_input":{"command":"@COMMAND@"},"session_id":"@SESSION@","cwd":"@CWD@","extra":{}}"#,
        reads: Reads::Key("decision", &["block"]),
        waits: 300,
        on_failure: "blocked in newer versions; before that the command runs",
        on_timeout: "blocked in newer versions; before that the command runs",
        on_missing: "blocked in newer versions; before that the command runs",
        next: "Restart Hermes, and accept the hook when it asks; without a terminal: HERMES_ACCEPT_HOOKS=1.",
        shell: "PATH=DIR:$PATH",
        ..USUAL
    },
    Host {
        name: "opencode",
        title: "OpenCode",
        programs: &["opencode"],
        packages: &["opencode-ai"],
        folder: below_config("opencode"),
        user: &[Wire {
            path: "plugin/guard.js",
            when: When::Always,
            form: Form::Plugin(&[Plugin::OpenCode, Plugin::OpenCode2]),
        }],
        project: &[Wire {
            path: ".opencode/plugin/guard.js",
            when: When::Always,
            form: Form::Plugin(&[Plugin::OpenCode, Plugin::OpenCode2]),
        }],
        runs: Runs::Plugin,
        says: r#"{"tool":"bash","args":{"command":"@COMMAND@"},"cwd":"@CWD@","session":"@SESSION@"}"#,
        reads: Reads::Key("decision", &["deny"]),
        on_failure: BLOCKED,
        on_timeout: BLOCKED,
        on_missing: BLOCKED_BY_A_PLUGIN,
        tried: "1.18.33",
        next: "Restart OpenCode. After an update from 1.x to 2.x install again: its plugins are of another kind.",
        shell: "\"shell\": \"DIR/bash\" in opencode.json",
        ..USUAL
    },
    Host {
        name: "amp",
        title: "Amp",
        programs: &["amp"],
        packages: &["@sourcegraph/amp"],
        folder: below_config("amp"),
        user: &[Wire { path: "plugins/guard.ts", when: When::Always, form: Form::Plugin(&[Plugin::Amp]) }],
        project: &[Wire { path: ".amp/plugins/guard.ts", when: When::Always, form: Form::Plugin(&[Plugin::Amp]) }],
        runs: Runs::Plugin,
        says: r#"{"tool":"bash","args":{"command":"@COMMAND@"},"cwd":"@CWD@","session":"@SESSION@"}"#,
        reads: Reads::Key("decision", &["deny"]),
        on_failure: BLOCKED,
        on_timeout: BLOCKED,
        on_missing: BLOCKED_BY_A_PLUGIN,
        next: "Restart Amp.",
        ..USUAL
    },
];
