//! Hermes: a snapshot of the environment is sourced, the directory entered, the command evaluated, the snapshot
//! written.

use super::scan::Scan;
use super::{Opened, Places, quoted};
use crate::judge::invocation::Line;

/// How newer versions write the snapshot anew; `S` stands for it. Blanks and line ends in it count alike.
const REWRITE: &str = "__hermes_snap_tmp=$(mktemp S.tmp.XXXXXXXXXX) && { { ( unset ${!HERMES_SESSION_*} \
    ${!HERMES_CRON_AUTO_DELIVER_*} ${!HERMES_BROWSER_CONTROL_*} AI_AGENT HERMES_AGENT HERMES_DELEGATED_CHILD_CONTEXT \
    HERMES_CRON_SESSION ${!HERMES_RPC_*} HERMES_KERNEL_DIR HERMES_UI_SESSION_ID 2>/dev/null; export -p; ) || true; } > \
    \"$__hermes_snap_tmp\" && mv -f \"$__hermes_snap_tmp\" S; } 2>/dev/null || rm -f \"$__hermes_snap_tmp\" 2>/dev/null || \
    true";

/// How versions after that write it; `S` and `T` stand for the snapshot and what becomes of it.
const LATER: &str = "{ export -p > T && mv -f T S; } 2>/dev/null || rm -f T 2>/dev/null || true\n";

/// How the first snapshot is made, and how that ends.
const MADE: &str = "umask 077\nexport -p > T\n__hermes_fns=$(declare -F | awk '{print $3}' | grep -vE '^_[^_]') || true\n\
    [ -n \"$__hermes_fns\" ] && declare -f $__hermes_fns >> T 2>/dev/null || true\nalias -p >> T\n\
    echo 'shopt -s expand_aliases' >> T\necho 'set +e' >> T\necho 'set +u' >> T\n\
    mv -f T S || rm -f T\n";

/// A text with the snapshot in its places.
fn with(text: &str, snapshot: &str) -> String {
    let temporary = format!("{snapshot}.tmp.$BASHPID");
    let mut filled = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\n', ';']) {
        let end = word.len() - usize::from(word.ends_with([' ', '\n', ';']));
        let (name, after) = word.split_at(end);
        filled.push_str(match name {
            "S" => snapshot,
            "T" => &temporary,
            other => other,
        });
        filled.push_str(after);
    }
    filled
}

/// The script that makes a snapshot of the environment, before the first command.
pub(super) fn snapshot(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let text = std::str::from_utf8(&line.text).ok()?;
    let named = text.split_once("\nmv -f ")?.1.split_once(".tmp.$BASHPID ")?.0;
    let id = id(places, named, "hermes-snap-", ".sh")?;
    let rest = text.strip_prefix(with(MADE, named).as_str())?;
    let mut scan = Scan::of(rest.as_bytes());
    scan.one_of(&["builtin cd -- ", "cd -- ", "cd "])?;
    scan.path()?;
    scan.text(" 2>/dev/null || true\n")?;
    scan.text(&format!("printf '\\n__HERMES_CWD_{id}__%s__HERMES_CWD_{id}__\\n' \"$(pwd -P)\""))?;
    let _ = scan.may("\n");
    scan.end()?;
    Some(Opened { inner: line.text.clone(), lead: Vec::new(), is_preparation: true })
}

pub(super) fn open(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let mut scan = Scan::of(&line.text);
    let mut lead = String::new();
    let mut snapshot = None;
    if scan.may("source ") {
        let path = scan.path().filter(|path| id(places, path, "hermes-snap-", ".sh").is_some())?;
        scan.one_of(&[" >/dev/null 2>&1 || true\n", " 2>/dev/null || true\n"])?;
        lead = format!("source {}\n", quoted(&path));
        snapshot = Some(path);
    }
    let _ = scan.may("export AI_AGENT=\"${AI_AGENT:-hermes-agent}\" HERMES_AGENT=\"${HERMES_AGENT:-true}\"\n");
    let _ = scan.may("export GIT_PAGER=\"${GIT_PAGER:-cat}\" PAGER=\"${PAGER:-cat}\"\n");
    scan.one_of(&["builtin cd -- ", "cd -- ", "cd "])?;
    let before = scan.rest();
    scan.path()?;
    let folder = before.get(..before.len() - scan.rest().len())?;
    lead.push_str("cd -- ");
    lead.push_str(std::str::from_utf8(folder).ok()?);
    scan.text(" || exit 126\neval ")?;
    let inner = scan.quoted()?;
    scan.text("\n__hermes_ec=$?\n")?;
    let _ = scan.may("umask 077\n");
    let rest = std::str::from_utf8(scan.rest()).ok()?;
    let end = rest.find("printf '\\n__HERMES_CWD_")?;
    let (writes, rest) = rest.split_at_checked(end)?;
    writes_its_own(places, snapshot.as_deref(), writes)?;
    let mut scan = Scan::of(rest.as_bytes());
    scan.text("printf '\\n__HERMES_CWD_")?;
    let rest = std::str::from_utf8(scan.rest()).ok()?;
    let id = rest.split("__").next()?;
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(())?;
    let marker = format!("{id}__%s__HERMES_CWD_{id}__\\n' \"$(pwd -P)\"\nexit $__hermes_ec");
    scan.text(&marker)?;
    let _ = scan.may("\n");
    scan.end()?;
    Some(Opened { inner, lead: lead.into_bytes(), is_preparation: false })
}

/// What is written after the command: the snapshot that was sourced, and the file that names the directory.
fn writes_its_own(places: &Places<'_>, snapshot: Option<&str>, writes: &str) -> Option<()> {
    let mut rest = writes;
    if let Some(snapshot) = snapshot {
        let plain = format!("export -p > {snapshot} 2>/dev/null || true\n");
        let rewrite = words(REWRITE, snapshot);
        let later = with(LATER, snapshot);
        rest = match rest.strip_prefix(plain.as_str()).or_else(|| rest.strip_prefix(later.as_str())) {
            Some(rest) => rest,
            None => {
                let end = rest.find("pwd -P > ").unwrap_or(rest.len());
                let (mine, after) = rest.split_at_checked(end)?;
                let given: Vec<&str> = mine.split_whitespace().collect();
                (given == rewrite.iter().map(String::as_str).collect::<Vec<_>>()).then_some(())?;
                after
            }
        };
    }
    if rest.is_empty() {
        return Some(());
    }
    let mut scan = Scan::of(rest.as_bytes());
    scan.text("pwd -P > ")?;
    let path = scan.path()?;
    id(places, &path, "hermes-cwd-", ".txt")?;
    scan.text(" 2>/dev/null || true\n")?;
    scan.end()
}

/// The words of the rewriting, with the snapshot in its places.
fn words(text: &str, snapshot: &str) -> Vec<String> {
    let place = |word: &str| match word {
        "S;" => format!("{snapshot};"),
        "S.tmp.XXXXXXXXXX)" => format!("{snapshot}.tmp.XXXXXXXXXX)"),
        other => other.to_owned(),
    };
    text.split_whitespace().map(place).collect()
}

/// The id in the name of a file that is Hermes' own: among temporary files, or below `~/.hermes`.
fn id<'p>(places: &Places<'_>, path: &'p str, prefix: &str, suffix: &str) -> Option<&'p str> {
    let below_home = |home: &&str| {
        let rest = path.strip_prefix(home.trim_end_matches('/'))?.strip_prefix("/.hermes/")?;
        rest.rsplit('/').next()
    };
    let name = places
        .in_temporary(path)
        .filter(|name| !name.contains('/'))
        .or_else(|| places.homes.iter().find_map(below_home))?;
    let id = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
    (!id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}
