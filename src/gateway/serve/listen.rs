//! Where the gateway listens, and how many may come: sockets that systemd or the configuration names.
//!
//! Out of scope: who comes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use listenfd::ListenFd;
use tokio::net::{TcpListener, UnixListener};

use super::ServeError;
use crate::config::Config;

/// The most files, and so connections, that it asks the system for: each that listens holds one.
const FILES: u64 = 65_536;

/// Files that connections leave alone: those of the record, of messengers, of judges.
pub(super) const SPARE: usize = 200;

/// Takes as many files as the system gives without asking, and says how many: what most shells hand down is enough for a
/// thousand listeners.
pub(super) fn take_files() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return SPARE };
    let wanted = hard.min(FILES);
    // Where it is forbidden it stays as it was, and whoever comes too late waits.
    let raised = soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    usize::try_from(if raised { wanted } else { soft }).unwrap_or(usize::MAX)
}

/// What systemd listens at already, or else what the configuration names.
pub(super) async fn listeners(config: &Config) -> Result<Vec<TcpListener>, ServeError> {
    let mut passed = ListenFd::from_env();
    let mut all = Vec::new();
    for at in 0..passed.len() {
        let told = |error| ServeError::Passed { at, error };
        let Some(listener) = passed.take_tcp_listener(at).map_err(told)? else { continue };
        let address = listener.local_addr().map_err(told)?;
        config.may_listen(address).map_err(ServeError::PassedPlain)?;
        listener.set_nonblocking(true).map_err(told)?;
        all.push(TcpListener::from_std(listener).map_err(told)?);
    }
    if all.is_empty() {
        for address in &config.listen {
            let told = |error| ServeError::Listen { address: *address, error };
            all.push(TcpListener::bind(address).await.map_err(told)?);
        }
    }
    Ok(all)
}

/// The Unix socket; one that a gateway still listens at is left alone.
pub(super) async fn bind(path: &Path) -> Result<UnixListener, ServeError> {
    let told = |error| ServeError::Socket { path: path.to_owned(), error };
    if tokio::net::UnixStream::connect(path).await.is_ok() {
        return Err(ServeError::Runs(path.to_owned()));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(told(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(told)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).map_err(told)?;
    Ok(listener)
}
