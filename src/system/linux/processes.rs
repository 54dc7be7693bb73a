//! Reads information about processes from `/proc`.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};
use nix::unistd::{SysconfVar, sysconf};

use crate::{Process, Seat};

/// Maximum number of bytes that are read of a process's arguments.
const MAX_ARGUMENTS: u64 = 8 * 1024;

/// Maximum number of bytes that are read of a process's environment.
const MAX_ENVIRONMENT: u64 = 1024 * 1024;

/// Returns what is known about a process; `None` if it does not exist or may not be inspected.
#[must_use]
pub fn process(pid: i32) -> Option<Process> {
    // The file is read at once, because the kernel generates it for each read, and it is read for every ancestor of
    // every command.
    let mut buffer = [0; 1024];
    let count = std::fs::File::open(format!("/proc/{pid}/stat")).and_then(|mut file| file.read(&mut buffer)).ok()?;
    parse(pid, &String::from_utf8_lossy(buffer.get(..count)?))
}

/// Parses the content of `stat`. The name is in parentheses and may contain anything, parentheses too; the numbers come
/// after the last one.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.split_once('(')?;
    let (name, numbers) = rest.rsplit_once(')')?;
    let mut numbers = numbers.split_ascii_whitespace();
    // proc_pid_stat(5): the state is field 3, the parent 4, the start time 22.
    let parent = numbers.nth(1)?.parse().ok()?;
    let started = numbers.nth(17)?.parse().ok()?;
    Some(Process { pid, parent, name: name.to_owned(), started })
}

/// Returns the session and the terminal of a process of this account; `None` if it has another owner or does not exist.
#[must_use]
pub fn seat(pid: i32, uid: u32) -> Option<Seat> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let owners = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    // Real, effective, saved, file system.
    if owners.split_ascii_whitespace().nth(1)?.parse() != Ok(uid) {
        return None;
    }
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let numbers = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // proc_pid_stat(5): process group 5, session 6, terminal 7, foreground process group 8.
    let numbers: Vec<i32> = numbers.skip(2).take(4).map_while(|number| number.parse().ok()).collect();
    let [group, leader, terminal, foreground] = numbers.try_into().ok()?;
    Some(Seat { leader, terminal: terminal != 0 && group == foreground })
}

/// Returns the arguments of a process; none if they may not be read.
#[must_use]
pub fn arguments(pid: i32) -> Vec<String> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(format!("/proc/{pid}/cmdline"))
        .and_then(|file| file.take(MAX_ARGUMENTS).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    split(&bytes)
}

/// Splits the arguments, each of which ends in a NUL. If the last one may be truncated, it is omitted, because it would
/// have another meaning.
fn split(bytes: &[u8]) -> Vec<String> {
    let is_cut = bytes.len() as u64 >= MAX_ARGUMENTS;
    let whole = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let mut arguments: Vec<String> =
        whole.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
    if is_cut {
        arguments.pop();
    }
    arguments
}

/// Returns the environment with which a process was started; empty if it may not be read.
#[must_use]
pub fn environment(pid: i32) -> Vec<(OsString, OsString)> {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(format!("/proc/{pid}/environ"))
        .and_then(|file| file.take(MAX_ENVIRONMENT).read_to_end(&mut bytes));
    if read.is_err() {
        return Vec::new();
    }
    let variable = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'=')?;
        let part = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        Some((part(line.get(..at)?), part(line.get(at + 1..)?)))
    };
    bytes.split(|byte| *byte == 0).filter_map(variable).collect()
}

/// Returns the device and inode of the file that a process runs.
#[must_use]
pub fn executable(pid: i32) -> Option<(u64, u64)> {
    std::fs::metadata(format!("/proc/{pid}/exe")).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Returns the processes that run this file.
#[must_use]
pub fn running(file: (u64, u64)) -> Vec<i32> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| executable(*pid) == Some(file)).collect()
}

/// Returns the processes that hold the other end of a terminal, by its device number: the emulators, multiplexers and
/// servers that show it and type into it. Those of other accounts are not found.
#[must_use]
pub fn holders(terminal: u64) -> Vec<i32> {
    let index = format!("tty-index:\t{}\n", libc::minor(terminal));
    let holds = |pid: i32| {
        let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
        open.flatten().any(|fd| {
            let is_master = std::fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str().as_bytes().ends_with(b"/ptmx"));
            let about = format!("/proc/{pid}/fdinfo/{}", fd.file_name().to_string_lossy());
            is_master && std::fs::read_to_string(about).is_ok_and(|about| about.contains(&index))
        })
    };
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<i32> = numbers.filter(|pid| holds(*pid)).collect();
    // A process that was just forked has its parent's descriptors until it executes another program.
    for _ in 0..5 {
        if found.len() < 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
        found.retain(|pid| holds(*pid));
    }
    found
}

/// Returns the children of this process.
#[must_use]
pub fn children() -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    listed.flat_map(|text| text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Reports whether a process is alive, by its [`Process::unique_name`]. All parts but the number may be empty or
/// missing.
#[must_use]
pub fn lives(name: &str) -> bool {
    let mut parts = name.split('.');
    let process = parts.next().and_then(|pid| pid.parse().ok()).and_then(process);
    let is = |part: Option<&str>, now: String| part.is_none_or(|part| part.is_empty() || now.is_empty() || part == now);
    process.is_some_and(|process| is(parts.next(), process.started.to_string()) && is(parts.next(), boot()))
}

/// Returns an identifier of this start of the machine.
#[must_use]
pub fn boot() -> String {
    let mut buffer = [0; 8];
    let read = std::fs::File::open("/proc/sys/kernel/random/boot_id").and_then(|mut file| file.read_exact(&mut buffer));
    read.map_or_else(|_| String::new(), |()| String::from_utf8_lossy(&buffer).into_owned())
}

/// Returns the time of day at this number of clock ticks after the machine started.
#[must_use]
pub fn time_of(ticks: u64) -> Option<SystemTime> {
    let a_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
    let after = Duration::from_millis(ticks.checked_mul(1000)?.checked_div(a_second)?);
    let up = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
    SystemTime::now().checked_sub(up.checked_sub(after)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_brackets_and_blanks_does_not_shift_the_numbers() {
        let stat = "77 (a) R 1 (b) S 12 77 77 34816 77 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 9 9 9";
        let process = parse(77, stat);
        let expected = Process { pid: 77, parent: 12, name: "a) R 1 (b".to_owned(), started: 4242 };
        assert_eq!(process, Some(expected));
    }

    #[test]
    fn the_last_argument_is_the_last_one_and_one_that_was_cut_is_left_out() {
        assert_eq!(split(b"sh\0-c\0guard hook || exit 2\0"), ["sh", "-c", "guard hook || exit 2"]);
        assert_eq!(split(b"a\0\0"), ["a", ""]);
        let long = [b"sh\0-c\0".as_slice(), &[b'x'; MAX_ARGUMENTS as usize]].concat();
        assert_eq!(split(&long[..MAX_ARGUMENTS as usize]), ["sh", "-c"]);
    }

    #[test]
    fn this_process_is_the_child_of_its_parent_and_runs_its_own_file() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let process = process(pid).unwrap();
        assert_eq!(process.parent, nix::unistd::getppid().as_raw());
        assert!(process.started > 0);
        let own = std::env::current_exe().unwrap().metadata().unwrap();
        assert_eq!(executable(pid), Some((own.dev(), own.ino())));
        assert!(running((own.dev(), own.ino())).contains(&pid));
        assert_eq!(running((own.dev(), 0)), Vec::<i32>::new());
        assert_eq!(arguments(pid), std::env::args().collect::<Vec<_>>());
    }

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let pid = std::process::id();
        let own = process(i32::try_from(pid).unwrap()).unwrap();
        let (started, boot) = (own.started, boot());
        assert!(lives(&own.unique_name().unwrap()));
        assert!(lives(&format!("{pid}..")) && lives(&format!("{pid}")));
        assert!(!lives(&format!("{pid}.1{started}.{boot}")));
        assert!(!lives(&format!("{pid}.{started}.of-another-start")));
        assert!(!lives("no number") && !lives("4294967295.."));
    }
}
