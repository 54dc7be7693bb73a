//! The directories of the operating system: Linux, macOS, and Windows drives that WSL mounts.

use super::normal::{NormalPath, Relation};
use crate::judge::rules::word_lists;

/// Reports whether the first name of a path may be that of a system directory. This excludes most paths quickly.
fn may_be_system(path: &NormalPath) -> bool {
    let Some(first) = path.components.first().filter(|_| path.is_plain()) else { return true };
    word_lists::SYSTEM_TOPS.iter().any(|top| top.as_bytes().get(1..) == Some(first.text().as_bytes()))
}

/// Reports whether a path is a system directory or a drive, or everything in it.
pub(super) fn is_top(path: &NormalPath) -> bool {
    // One unknown name, or no name, below the root.
    if let [only] = path.components.as_slice()
        && (only.is_unknown() || only.glob.is_some())
    {
        return only.is_unknown() || word_lists::SYSTEM_TOPS.iter().any(|top| path.relation(top) == Relation::Same);
    }
    if !may_be_system(path) {
        return false;
    }
    let drive = match path.components.as_slice() {
        [mnt, drive] => mnt.text() == "mnt" && drive.text().len() == 1,
        _ => false,
    };
    drive || word_lists::SYSTEM_TOPS.iter().any(|top| path.relation(top) == Relation::Same)
}

/// Reports whether a path is below a system directory.
pub(super) fn is_below(path: &NormalPath) -> bool {
    if !may_be_system(path) {
        return false;
    }
    let below = |top: &str| path.relation(top) == Relation::Below;
    if word_lists::MOUNT_DIRECTORIES.into_iter().any(below) {
        let windows = path.components.get(2).is_some_and(|third| {
            ["Windows", "Program Files", "Program Files (x86)", "ProgramData"].iter().any(|name| third.may_be(name))
        });
        return windows && path.components.get(1).is_some_and(|drive| drive.text().len() == 1);
    }
    // Devices have other classes.
    !path
        .components
        .first()
        .is_some_and(|first| first.text() == "dev" || first.text() == "proc" || first.text() == "sys")
        && word_lists::SYSTEM_TOPS.into_iter().any(below)
        && !word_lists::HOSTED_DIRECTORIES.into_iter().any(below)
}

/// Reports whether a path is in a system directory.
pub(super) fn is_system(path: &str) -> bool {
    NormalPath::absolute(path).is_some_and(|path| {
        let temp = word_lists::TEMPORARY_DIRECTORIES.iter().any(|temp| path.relation(temp) == Relation::Below);
        !temp && (path.components.is_empty() || is_top(&path) || is_below(&path))
    })
}

/// Returns the part after `/dev`.
fn device_name(path: &NormalPath) -> Option<&str> {
    match path.components.as_slice() {
        [dev, name, ..] if dev.may_be("dev") => Some(name.text()),
        _ => None,
    }
}

/// Reports whether writing to the path loses nothing.
pub(super) fn is_sink(path: &NormalPath) -> bool {
    device_name(path).is_some_and(is_sink_name)
}

/// Reports the same for a path as text.
pub fn names_sink(text: &str) -> bool {
    text.strip_prefix("/dev/").and_then(|rest| rest.split('/').next()).is_some_and(is_sink_name)
}

fn is_sink_name(name: &str) -> bool {
    word_lists::SINK_DEVICES.contains(&name)
}

/// Reports whether a path is a disk or another device with data; terminals, sinks and shared memory are not.
pub(super) fn is_device(path: &NormalPath) -> bool {
    device_name(path).is_some_and(|name| {
        !is_sink(path) && !word_lists::DEVICES_WITHOUT_DATA.iter().any(|other| name.starts_with(other))
    })
}

/// Reports whether a path is in `/proc` or `/sys`.
pub(super) fn is_kernel(path: &NormalPath) -> bool {
    path.relation("/proc").within() || path.relation("/sys").within()
}
