//! Claude Code: `source SNAPSHOT && eval 'COMMAND' < /dev/null && pwd -P >| FILE`, and how the snapshot is made.

use super::scan::Scan;
use super::{Opened, Places, quoted};
use crate::judge::invocation::Line;

/// A command.
pub(super) fn open(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let mut scan = Scan::of(&line.text);
    let mut lead = String::new();
    if scan.may("source ") {
        let path = scan.path().filter(|path| is_snapshot(places, path))?;
        scan.text(" 2>/dev/null || true && ")?;
        lead = format!("source {}", quoted(&path));
    }
    let mut exports = Vec::new();
    while scan.may("export ") {
        let before = scan;
        let name = scan.name()?;
        scan.text("=")?;
        scan.quoted()?;
        let taken = before.rest().len() - scan.rest().len();
        exports.extend([b"\nexport ", before.rest().get(..taken)?].concat());
        debug_assert!(!name.is_empty(), "a name is not empty");
        scan.one_of(&[" && ", "; ", "\n", " "])?;
    }
    if !exports.is_empty() {
        scan.text(": && ")?;
    }
    let _ = scan.may("shopt -u extglob 2>/dev/null || true && ")
        || scan.may("setopt NO_EXTENDED_GLOB 2>/dev/null || true && ")
        || scan.may("\\builtin shopt -u extglob 2>/dev/null || true && ")
        || scan.may("{ shopt -u extglob || setopt NO_EXTENDED_GLOB; } >/dev/null 2>&1 || true && ");
    // Names that stand for the programs again, each twice.
    while scan.may("{ \\builtin unalias -- ") {
        let name = scan.quoted()?;
        scan.text("; \\builtin unset -f -- ")?;
        (scan.quoted()? == name).then_some(())?;
        scan.text("; } >/dev/null 2>&1 || true && ")?;
    }
    scan.text("eval ")?;
    let inner = scan.quoted()?;
    let _ = scan.may(" \\< /dev/null") || scan.may(" < /dev/null");
    scan.text(" && pwd -P >| ")?;
    let file = scan.path()?;
    scan.end()?;
    is_folder_file(places, &file).then_some(())?;
    Some(Opened { inner, lead: [lead.into_bytes(), exports].concat(), is_preparation: false })
}

/// `~/.claude/shell-snapshots/snapshot-bash-1780808411821-wo7zkg.sh`
fn is_snapshot(places: &Places<'_>, path: &str) -> bool {
    let Some(name) = places.in_home(".claude/shell-snapshots", path) else { return false };
    let parts = name.strip_prefix("snapshot-").and_then(|rest| rest.strip_suffix(".sh")).map(|rest| rest.split('-'));
    let Some(parts) = parts.map(Iterator::collect::<Vec<_>>) else { return false };
    let [shell, time, random] = parts.as_slice() else { return false };
    matches!(*shell, "bash" | "zsh" | "sh")
        && !time.is_empty()
        && time.bytes().all(|byte| byte.is_ascii_digit())
        && !random.is_empty()
        && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// `/tmp/claude-7bb5-cwd`
fn is_folder_file(places: &Places<'_>, path: &str) -> bool {
    let random = places
        .in_temporary(path)
        .and_then(|name| name.strip_prefix("claude-"))
        .and_then(|name| name.strip_suffix("-cwd"));
    random.is_some_and(|random| !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Lines of the script that makes a snapshot, for bash and for zsh, in the spellings of its versions. `"$F"` stands for
/// the snapshot, which older versions write without quotes.
const LINES: &[&str] = &[
    "",
    "# No user config file to source",
    "# First, create/clear the snapshot file",
    "echo \"# Snapshot file\" >| \"$F\"",
    "# When this file is sourced, we first unalias to avoid conflicts",
    "# This is necessary because aliases get \"frozen\" inside function definitions at definition time,",
    "# which can cause unexpected behavior when functions use commands that conflict with aliases",
    "echo \"# Unset all aliases to avoid conflicts with functions\" >> \"$F\"",
    "echo \"unalias -a 2>/dev/null || true\" >> \"$F\"",
    "echo \"# Functions\" >> \"$F\"",
    "# Force autoload all functions first",
    "declare -f > /dev/null 2>&1",
    "typeset -f > /dev/null 2>&1",
    "# Now get user function names - filter system ones and give the rest to eval in b64 encoding",
    "# Now get user function names - filter system ones and write to file",
    "# Now get user function names - filter completion functions (single underscore prefix)",
    "# but keep double-underscore helpers (e.g. __zsh_like_cd from mise, __pyenv_init)",
    "declare -F | cut -d' ' -f3 | grep -vE '^(_|__)' | while read func; do",
    "declare -F | cut -d' ' -f3 | grep -vE '^_[^_]' | while read func; do",
    "typeset +f | grep -vE '^(_|__)' | while read func; do",
    "typeset +f | grep -vE '^_[^_]' | while read func; do",
    "typeset -f \"$func\" >> \"$F\"",
    "# Encode the function to base64, preserving all special characters",
    "encoded_func=$(declare -f \"$func\" | base64 )",
    "# Write the function definition to the snapshot",
    "echo \"eval \\\"\\$(echo '$encoded_func' | base64 -d)\\\" > /dev/null 2>&1\" >> \"$F\"",
    "done",
    "echo \"# Shell Options\" >> \"$F\"",
    "shopt -p | head -n 1000 >> \"$F\"",
    "set -o | grep \"on\" | awk '{print \"set -o \" $1}' | head -n 1000 >> \"$F\"",
    "setopt | sed 's/^/setopt /' | head -n 1000 >> \"$F\"",
    "echo \"shopt -s expand_aliases\" >> \"$F\"",
    "echo \"# Aliases\" >> \"$F\"",
    "# Filter out winpty aliases on Windows to avoid \"stdin is not a tty\" errors",
    "# Git Bash automatically creates aliases like \"alias node='winpty node.exe'\" for",
    "# programs that need Win32 Console in mintty, but winpty fails when there's no TTY",
    "if [[ \"$OSTYPE\" == \"msys\" ]] || [[ \"$OSTYPE\" == \"cygwin\" ]]; then",
    "alias | grep -v \"='winpty \" | sed 's/^alias //g' | sed 's/^/alias -- /' | head -n 1000 >> \"$F\"",
    "else",
    "alias | sed 's/^alias //g' | sed 's/^/alias -- /' | head -n 1000 >> \"$F\"",
    "fi",
    "# Check if rg is available, if not create an alias to bundled ripgrep",
    "# Check for rg availability",
    "# Shadow find/grep with embedded bfs/ugrep (ant-native only)",
    "echo \"# Shadow find/grep with embedded bfs/ugrep\" >> \"$F\"",
    "echo \"# Check for rg availability\" >> \"$F\"",
    "echo \"if ! command -v rg >/dev/null 2>&1; then\" >> \"$F\"",
    "echo \"if ! (unalias rg 2>/dev/null; command -v rg) >/dev/null 2>&1; then\" >> \"$F\"",
    "echo \"fi\" >> \"$F\"",
    "# Add PATH to the file",
    "# Exit silently on success, only report errors",
    "if [ ! -f \"$F\" ]; then",
    "echo \"Error: Snapshot file was not created at $F\" >&2",
    "exit 1",
];

/// The script that makes a snapshot: it reads the user's own start-up file and writes where snapshots are.
pub(super) fn snapshot(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let text = std::str::from_utf8(&line.text).ok()?;
    let text = without_functions(places, text)?;
    let mut lines = text.lines().map(str::trim);
    let mut scan = Scan::of(lines.next()?.as_bytes());
    scan.text("SNAPSHOT_FILE=")?;
    let path = scan.path()?;
    scan.end()?;
    let fits = is_snapshot(places, &path)
        && lines.all(|line| {
            let quoted = line.replace("\"$SNAPSHOT_FILE\"", "\"$F\"").replace("$SNAPSHOT_FILE", "$F");
            let old = if quoted.contains("\"$F\"") {
                quoted.clone()
            } else {
                quoted.replace(">> $F", ">> \"$F\"").replace(">| $F", ">| \"$F\"").replace("-f $F", "-f \"$F\"")
            };
            LINES.contains(&old.as_str()) || is_start_up(places, line) || is_path(&old) || is_ripgrep(&old)
        });
    // It is shown and judged as nothing but what it is.
    fits.then(|| Opened { inner: line.text.clone(), lead: Vec::new(), is_preparation: true })
}

/// The functions that newer versions write into the snapshot, each as a here-document whose text is known to the byte.
/// `@CLAUDE@` stands for where Claude Code installs itself.
const FUNCTIONS: [(&str, &str); 2] = [
    ("RIPGREP_FUNC_END", include_str!("claude/ripgrep.sh")),
    ("FIND_GREP_FUNC_END", include_str!("claude/find-grep.sh")),
];

/// What the newest versions write in one here-document: any of these, in this order, and the `PATH`. `@PROGRAM@` stands
/// for the program that runs, `@CLAUDE@` for where Claude Code installs itself.
const PARTS: [&str; 3] =
    [include_str!("claude/rg-later.sh"), include_str!("claude/find-grep-later.sh"), include_str!("claude/pkill.sh")];

/// Where Claude Code lies in a package that is installed for everybody: below the directory of a directory of the
/// `PATH`.
const PACKAGE: &str = "/lib/node_modules/@anthropic-ai/claude-code/";

/// Whether a here-document holds known parts alone, for a program that is Claude Code's own.
fn is_known(places: &Places<'_>, body: &str) -> bool {
    let path = |home: &&str| format!("{}/.local/bin/claude", home.trim_end_matches('/'));
    let is_own = |program: &str| {
        let searched = places.environment.get("PATH").unwrap_or_default();
        let packaged = program.split_once(PACKAGE).is_some_and(|(root, rest)| {
            !rest.contains("..") && searched.split(':').any(|folder| folder.strip_suffix("/bin") == Some(root))
        });
        let installed = |home: &&str| {
            let below = program.strip_prefix(home.trim_end_matches('/'));
            below.is_some_and(|rest| rest.starts_with("/.local/share/claude/versions/") && !rest.contains(".."))
        };
        is_plain(program) && (packaged || places.homes.iter().any(installed))
    };
    let named = body.split_once("[[ -x ").and_then(|(_, rest)| rest.split_once(" ]]")).map(|(program, _)| program);
    places.homes.iter().map(path).filter(|path| is_plain(path)).any(|claude| {
        let program = named.filter(|named| is_own(named) || *named == claude).unwrap_or(&claude);
        let mut rest = body;
        for part in PARTS {
            let part = part.replace("@PROGRAM@", program).replace("@CLAUDE@", &claude);
            rest = rest.strip_prefix(part.as_str()).unwrap_or(rest);
        }
        let value = rest.strip_prefix("export PATH=").and_then(|rest| rest.strip_suffix('\n'));
        rest.is_empty() || value.is_some_and(is_plain)
    })
}

/// The script without its here-documents. `None` when one of them holds anything that is not known.
fn without_functions(places: &Places<'_>, text: &str) -> Option<String> {
    let mut left = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let tag = line.trim().strip_prefix("cat >> \"$SNAPSHOT_FILE\" << '").and_then(|rest| rest.strip_suffix('\''));
        let Some(tag) = tag else {
            left.push_str(line);
            continue;
        };
        let end = format!("{tag}\n");
        let body: String = lines.by_ref().take_while(|line| *line != end).collect();
        let known = match tag.strip_prefix("PATH_END_") {
            Some(random) => {
                let value = body.strip_prefix("export PATH=").and_then(|rest| rest.strip_suffix('\n'));
                !random.is_empty()
                    && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
                    && value.is_some_and(is_plain)
            }
            None if tag.starts_with("CLAUDE_CODE_END_") => is_known(places, &body),
            None => {
                let known = FUNCTIONS.iter().find(|(known, _)| *known == tag);
                let path = |home: &&str| format!("{}/.local/bin/claude", home.trim_end_matches('/'));
                let mut paths = places.homes.iter().map(path).filter(|path| is_plain(path));
                known.is_some_and(|(_, known)| paths.any(|path| known.replace("@CLAUDE@", &path) == body))
            }
        };
        known.then_some(())?;
    }
    Some(left)
}

/// A `PATH` that a shell reads as it is written.
fn is_plain(value: &str) -> bool {
    value.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-+@%:,".contains(letter))
}

/// The environment, which Claude Code asks its shell for when it starts: nobody else sees it.
pub(super) fn environment(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let asked = line.text == b"env" && line.options == ["-c"] && line.positional.is_empty();
    (asked && places.agent == Some("claude")).then(|| Opened {
        inner: line.text.clone(),
        lead: Vec::new(),
        is_preparation: true,
    })
}

/// `source "/home/ada/.bashrc" < /dev/null`
fn is_start_up(places: &Places<'_>, line: &str) -> bool {
    let path = line.strip_prefix("source \"").and_then(|rest| rest.strip_suffix("\" < /dev/null"));
    path.is_some_and(|path| {
        places.homes.iter().any(|home| {
            let name = path.strip_prefix(home.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
            matches!(name, Some(".bashrc" | ".zshrc" | ".profile" | ".bash_profile"))
        })
    })
}

/// `echo "export PATH='/usr/bin:/bin'" >> "$F"`
fn is_path(line: &str) -> bool {
    let value = line.strip_prefix("echo \"export PATH=").and_then(|rest| rest.strip_suffix("\" >> \"$F\""));
    value.is_some_and(|value| {
        let value = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
        value.chars().all(|letter| letter.is_alphanumeric() || "/._-+@%~:, ".contains(letter))
    })
}

/// `echo '  alias rg='"'/usr/lib/…/rg'" >> "$F"`
fn is_ripgrep(line: &str) -> bool {
    let value = line
        .strip_prefix("echo '  alias rg='\"'")
        .or_else(|| line.strip_prefix("echo '  alias rg='\"'\"'"))
        .or_else(|| line.strip_prefix("echo \"  alias rg='"));
    let value =
        value.and_then(|rest| rest.strip_suffix("'\" >> \"$F\"").or_else(|| rest.strip_suffix("'\"'\" >> \"$F\"")));
    value.is_some_and(|value| value.chars().all(|letter| letter.is_alphanumeric() || "/._-+@%~ ".contains(letter)))
}
