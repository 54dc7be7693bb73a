//! Whether the guard that waits for an answer is still there.
//!
//! What may not enter: anything else about processes.

/// Whether a process of this name lives: its number, when it started, and since which start of the machine.
#[must_use]
pub fn lives(name: &str) -> bool {
    let mut parts = name.split('.');
    let (Some(pid), started, boot) = (parts.next().and_then(|pid| pid.parse::<u32>().ok()), parts.next(), parts.next())
    else {
        return false;
    };
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return !cfg!(target_os = "linux") && is_there(pid);
    };
    // The name of the program stands in brackets and may hold anything; the 20th field after it is the start.
    let found = text.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(19).map(str::to_owned));
    let same_start = started.is_none_or(|wanted| wanted.is_empty() || found.as_deref() == Some(wanted));
    let same_boot = boot.is_none_or(|wanted| wanted.is_empty() || self::boot().is_none_or(|now| now == wanted));
    same_start && same_boot
}

fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    text.get(..8).map(str::to_owned)
}

fn is_there(pid: u32) -> bool {
    let pid = i32::try_from(pid).unwrap_or(-1);
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start_too() {
        let pid = std::process::id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let start = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().to_owned();
        assert!(lives(&format!("{pid}.{start}.{}", boot().unwrap())));
        assert!(lives(&format!("{pid}..")));
        assert!(!lives(&format!("{pid}.1{start}.{}", boot().unwrap())));
        assert!(!lives(&format!("{pid}.{start}.of-another-start")));
        assert!(!lives("no number") && !lives("4294967295.."));
    }
}
