//! What is written into each agent's configuration, in the agent's own words: `@GUARD@` stands for the program, `@LINE@`
//! for the command line.

use super::{Entry, Form, When, Wire};

pub(super) const fn json(path: &'static str, entries: &'static [Entry]) -> Wire {
    Wire { path, when: When::Always, form: Form::Json { needs: &[], entries } }
}

pub(super) const fn versioned(path: &'static str, entries: &'static [Entry]) -> Wire {
    Wire { path, when: When::Always, form: Form::Json { needs: &[("version", "1")], entries } }
}

pub(super) const CLAUDE: &[Entry] = &[
    Entry {
        keys: &["hooks", "PreToolUse"],
        entry: r#"{"matcher":"Bash|PowerShell|Monitor|Write|Edit|MultiEdit|NotebookEdit","hooks":[{"type":"command","command":"@GUARD@","args":["hook","--agent","claude","--timeout","3600"],"timeout":3600,"onFailure":"block"}]}"#,
    },
    Entry {
        keys: &["hooks", "PermissionRequest"],
        entry: r#"{"matcher":"Bash","hooks":[{"type":"command","command":"@GUARD@","args":["hook","--agent","claude","--timeout","3600"],"timeout":3600}]}"#,
    },
];

pub(super) const CODEX: &[Entry] = &[
    Entry {
        keys: &["hooks", "PreToolUse"],
        entry: r#"{"matcher":"^(Bash|apply_patch)$","hooks":[{"type":"command","command":"@LINE@ || exit 2","timeout":3600,"statusMessage":"guard"}]}"#,
    },
    Entry {
        keys: &["hooks", "PermissionRequest"],
        entry: r#"{"matcher":"^(Bash|apply_patch)$","hooks":[{"type":"command","command":"@LINE@ || exit 2","timeout":3600}]}"#,
    },
];

pub(super) const GEMINI: &[Entry] = &[Entry {
    keys: &["hooks", "BeforeTool"],
    entry: r#"{"matcher":"^(run_shell_command|write_file|replace)$","hooks":[{"name":"guard","type":"command","command":"@LINE@ || exit 2","timeout":3600000}]}"#,
}];

pub(super) const ANTIGRAVITY: &[Entry] = &[Entry {
    keys: &["guard", "PreToolUse"],
    entry: r#"{"matcher":"run_command","hooks":[{"type":"command","command":"@LINE@","timeout":600}]}"#,
}];

pub(super) const CURSOR: &[Entry] = &[
    Entry {
        keys: &["hooks", "beforeShellExecution"],
        entry: r#"{"command":"@LINE@","timeout":600,"failClosed":true}"#,
    },
    Entry {
        keys: &["hooks", "preToolUse"],
        entry: r#"{"matcher":"Write|Edit|StrReplace|Delete","command":"@LINE@","timeout":600,"failClosed":true}"#,
    },
];

pub(super) const COPILOT: &[Entry] = &[Entry {
    keys: &["hooks", "preToolUse"],
    entry: r#"{"type":"command","exec":"@GUARD@","args":["hook","--agent","copilot","--timeout","3600"],"matcher":"bash|powershell|create|edit|apply_patch","timeoutSec":3600}"#,
}];

const WINDSURF_ENTRY: &str = r#"{"command":"@LINE@","show_output":true}"#;
pub(super) const WINDSURF: &[Entry] = &[
    Entry { keys: &["hooks", "pre_run_command"], entry: WINDSURF_ENTRY },
    Entry { keys: &["hooks", "pre_write_code"], entry: WINDSURF_ENTRY },
];

const DROID_ENTRY: &str = r#"{"matcher":"Execute|Create|Edit|MultiEdit|ApplyPatch","hooks":[{"type":"command","command":"@LINE@ || exit 2","timeout":600}]}"#;
pub(super) const DROID: &[Entry] = &[Entry { keys: &["hooks", "PreToolUse"], entry: DROID_ENTRY }];
pub(super) const DROID_OWN_FILE: &[Entry] = &[Entry { keys: &["PreToolUse"], entry: DROID_ENTRY }];

pub(super) const QWEN: &[Entry] = &[Entry {
    keys: &["hooks", "PreToolUse"],
    entry: r#"{"matcher":"^(run_shell_command|write_file|edit)$","hooks":[{"type":"command","command":"@LINE@ || exit 2","name":"guard","timeout":600000}]}"#,
}];

pub(super) const GROK: &[Entry] = &[Entry {
    keys: &["hooks", "PreToolUse"],
    entry: r#"{"matcher":"Bash|Write|Edit","hooks":[{"type":"command","command":"@LINE@ || exit 2","timeout":600}]}"#,
}];

const GOOSE: &[Entry] = &[Entry {
    keys: &["hooks", "PreToolUse"],
    entry: r#"{"matcher":"^developer__(shell|write|edit|text_editor)$","hooks":[{"type":"command","command":"@LINE@","timeout":600,"on_failure":"block"}]}"#,
}];

/// What makes a folder a plugin of Goose.
const GOOSE_MANIFEST: Form = Form::Own {
    text: "{\n  \"name\": \"guard\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Asks guard before each command\"\n}\n",
    executable: false,
};

pub(super) const GOOSE_FILES: &[Wire] = &[
    Wire { path: "~/.agents/plugins/guard/plugin.json", when: When::Always, form: GOOSE_MANIFEST },
    json("~/.agents/plugins/guard/hooks/hooks.json", GOOSE),
];

pub(super) const CLINE_SCRIPT: Form = Form::Own {
    text: "#!/bin/sh\n@LINE@ || echo '{\"cancel\":true,\"errorMessage\":\"guard failed, or is gone\"}'\n",
    executable: true,
};

pub(super) const GOOSE_PROJECT: &[Wire] = &[
    Wire { path: ".agents/plugins/guard/plugin.json", when: When::Always, form: GOOSE_MANIFEST },
    json(".agents/plugins/guard/hooks/hooks.json", GOOSE),
];
