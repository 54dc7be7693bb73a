//! Cursor: the state of the shell comes in on descriptor 3 and goes out on 4; the command is the first parameter.

use super::{Opened, Places, positional};
use crate::judge::invocation::Line;

const BEGIN: &[&str] = &[
    "snap=$(command cat <&3) && builtin shopt -s extglob && builtin eval -- \"$snap\" && { ",
    "snap=$(command cat <&3) && builtin shopt -s extglob && builtin eval \"$snap\" && { ",
];
const MIDDLE: &[&str] = &[
    "builtin set +u 2>/dev/null || true; ",
    "builtin eval \"${__CURSOR_SANDBOX_ENV_RESTORE:-}\" 2>/dev/null; ",
    "builtin export PWD=\"$(builtin pwd)\"; ",
    "builtin shopt -s expand_aliases 2>/dev/null; ",
];
const EVAL: &[&str] = &["builtin eval \"$1\" < /dev/null", "builtin eval \"$1\""];
const END: &str = "; }; COMMAND_EXIT_CODE=$?; dump_bash_state >&4; builtin exit $COMMAND_EXIT_CODE";

pub(super) fn open(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let text = std::str::from_utf8(&line.text).ok()?;
    let mut rest = BEGIN.iter().find_map(|begin| text.strip_prefix(begin))?;
    for part in MIDDLE {
        rest = rest.strip_prefix(part).unwrap_or(rest);
    }
    let rest = EVAL.iter().find_map(|eval| rest.strip_prefix(eval))?;
    (rest == END && line.positional.len() == 2).then_some(())?;
    // What the sandbox gives back is code too.
    let lead = places.environment.get("__CURSOR_SANDBOX_ENV_RESTORE").unwrap_or_default().as_bytes().to_vec();
    Some(Opened { inner: positional(line, 1)?.to_vec(), lead, is_preparation: false })
}
