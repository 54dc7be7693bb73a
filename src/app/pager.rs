//! Shows long output of a subcommand in a pager when standard output is a terminal, as git does.
//!
//! Output that fits on the screen is printed directly. Out of scope: the output itself.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Stdio};

use nix::sys::signal::{SigSet, Signal};

use crate::exec::tool::Tool;

/// Standard output, or a pager. Dropping it writes everything and waits until the person quits the pager.
pub(super) struct Output {
    to: PagerTarget,
}

enum PagerTarget {
    Stdout(io::BufWriter<io::StdoutLock<'static>>),
    /// The output so far fits on the screen.
    Held {
        text: Vec<u8>,
        /// The remaining cells of the last line, and the remaining lines of the screen.
        left: (usize, usize),
        columns: usize,
    },
    Pager(Child),
}

impl Output {
    /// Uses a pager if standard input and output are terminals and the environment does not disable it. When the
    /// machine's service prints for a client, only one of them is.
    pub(super) fn new(paged: bool) -> Self {
        let stands = paged && io::stdin().is_terminal() && io::stdout().is_terminal() && pager().is_some();
        match crossterm::terminal::size() {
            Ok((columns, lines)) if stands && columns > 0 && lines > 1 => {
                let columns = usize::from(columns);
                // The shell's prompt needs one line.
                let left = (columns, usize::from(lines) - 1);
                Self { to: PagerTarget::Held { text: Vec::new(), left, columns } }
            }
            _ => Self { to: PagerTarget::Stdout(io::BufWriter::new(io::stdout().lock())) },
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let PagerTarget::Held { text, left: (cells, lines), columns } = &mut self.to {
            text.extend_from_slice(bytes);
            for byte in bytes {
                if *byte == b'\n' || *cells == 0 {
                    (*cells, *lines) = (*columns, lines.saturating_sub(1));
                } else {
                    *cells -= 1;
                }
            }
            if *lines > 0 {
                return Ok(bytes.len());
            }
            let text = std::mem::take(text);
            match started() {
                Some(child) => self.to = PagerTarget::Pager(child),
                None => self.to = PagerTarget::Stdout(io::BufWriter::new(io::stdout().lock())),
            }
            return self.write_all(&text).map(|()| bytes.len());
        }
        match &mut self.to {
            PagerTarget::Stdout(out) => out.write(bytes),
            PagerTarget::Pager(child) => match &mut child.stdin {
                Some(pager) => pager.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            PagerTarget::Held { .. } => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            PagerTarget::Stdout(out) => out.flush(),
            // Held output is written at the end.
            PagerTarget::Pager(_) | PagerTarget::Held { .. } => Ok(()),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // The printing code has flushed where it matters, and a closed terminal reads nothing.
        match &mut self.to {
            PagerTarget::Stdout(out) => drop(out.flush()),
            PagerTarget::Held { text, .. } => drop(io::stdout().write_all(text)),
            PagerTarget::Pager(child) => {
                drop(child.stdin.take());
                let _ = child.wait();
            }
        }
    }
}

/// Returns the pager that the environment names, or `less` if it names none and the terminal is capable. `None` if no
/// pager should be used.
fn pager() -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    named(variable("PAGER"), variable("TERM"))
}

fn named(pager: Option<String>, term: Option<String>) -> Option<String> {
    match pager {
        Some(pager) => Some(pager).filter(|pager| !matches!(pager.trim(), "" | "cat")),
        None => term.filter(|term| !matches!(term.as_str(), "" | "dumb")).map(|_| "less".to_owned()),
    }
}

/// Starts the pager. From then on guard ignores Ctrl-C, which would otherwise end guard and leave the pager without
/// input.
fn started() -> Option<Child> {
    const OF_A_SHELL: &[char] =
        &['|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=', '%'];
    let pager = pager()?;
    let mut tool = if pager.contains(OF_A_SHELL) {
        Tool::line(&pager, &[]).ok()?
    } else {
        let mut words = pager.split_whitespace();
        Tool::named(words.next()?).ok()?.args(words)
    };
    // Pass colours through, keep the screen on exit, show the newest output, and expect UTF-8.
    for (name, value) in [("LESS", "FRX+G$"), ("LESSCHARSET", "utf-8"), ("LV", "-c")] {
        if std::env::var_os(name).is_none() {
            tool = tool.env(name, value);
        }
    }
    let child = tool.stdin(Stdio::piped()).start().ok()?;
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGQUIT);
    // The signals stay blocked: one that arrived meanwhile was for the pager, and guard only waits for it.
    let _ = signals.thread_block();
    Some(child)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn the_environment_names_the_pager_or_takes_it_away() {
        for (pager, term, meant) in [
            (Some("less -R"), Some("xterm"), Some("less -R")),
            (Some("most"), None, Some("most")),
            (Some(""), Some("xterm"), None),
            (Some(" cat "), Some("xterm"), None),
            (None, Some("xterm"), Some("less")),
            (None, Some("dumb"), None),
            (None, Some(""), None),
            (None, None, None),
        ] {
            let own = |text: Option<&str>| text.map(ToOwned::to_owned);
            assert_eq!(named(own(pager), own(term)).as_deref(), meant, "{pager:?} {term:?}");
        }
    }
}
