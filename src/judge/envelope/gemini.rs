//! Gemini CLI: the command stands as it is in a subshell whose exit writes down what runs in the background.

use super::scan::Scan;
use super::{Opened, Places};
use crate::judge::invocation::Line;
use crate::judge::syntax::{self, Completeness};

pub(super) fn open(line: &Line, places: &Places<'_>) -> Option<Opened> {
    let mut scan = Scan::of(&line.text);
    let _ = scan.may("shopt -u promptvars nullglob extglob nocaseglob dotglob; ");
    scan.text("_bgpids_file=")?;
    let path = scan.path()?;
    let name = places.in_temporary(&path)?.strip_prefix("gemini-shell-")?.strip_suffix("/bgpids.tmp")?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(())?;
    scan.text("\n(\n  trap 'jobs -p > \"$_bgpids_file\"' EXIT\n")?;
    let inner = scan.rest().strip_suffix(b"\n)\n__code=$?\nexit $__code")?;
    // What closes the subshell itself would stand outside of it.
    syntax::parse(inner, line.dialect).ok()?;
    let whole = [inner, b"\n"].concat();
    (syntax::completeness(&whole, line.dialect) == Completeness::Complete).then_some(())?;
    Some(Opened { inner: inner.to_vec(), ..Opened::default() })
}
