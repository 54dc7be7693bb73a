//! The gateway's listening sockets, from systemd or the configuration, and the limit of open files.
//!
//! Out of scope: the identity of clients.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use listenfd::ListenFd;
use tokio::net::{TcpListener, UnixListener};

use super::ServeError;
use crate::config::Config;

/// The largest limit of open files, and so of connections, that the gateway requests.
const FILES: u64 = 65_536;

/// Open files reserved for other uses than connections: the record, messengers, judging.
pub(super) const SPARE: usize = 200;

/// Raises the limit of open files as far as permitted, and returns it. The limit of most shells is enough for a
/// thousand listeners.
pub(super) fn take_files() -> usize {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return SPARE };
    let wanted = hard.min(FILES);
    // If this is forbidden, the limit stays, and further clients wait.
    let raised = soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    usize::try_from(if raised { wanted } else { soft }).unwrap_or(usize::MAX)
}

/// Returns the sockets from systemd, or else those of the configuration.
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

/// Binds the Unix socket. Fails if a gateway still listens on it.
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
