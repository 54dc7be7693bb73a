//! The server: checks the setup before it starts, accepts connections, and holds the state that all connections share.

use std::collections::HashMap;
use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{getegid, geteuid, getgid, getuid};

use super::connection::Connection;
use super::error::{RecordLimit, ServeError};
use super::place;
use crate::config::approvers::{self, Enrolled};
use crate::config::{self, Roots, Service};
use crate::judge::invocation::Environment;
use crate::judge::policy::Policy;
use crate::service::client::line;
use crate::service::line::Lines;
use crate::service::message::Reply;
use crate::service::notify;
use crate::service::socket::{credentials, listen};
use crate::store::{Paths, Store};
use crate::world::identity::Account;
use crate::world::peer::Peer;

/// The largest number of simultaneous connections of one account, and of all accounts together.
const MAX_OF_ACCOUNT: u32 = 32;
const MAX_TOGETHER: u32 = 512;

/// The largest number of bytes that one account may have recorded per hour: more than the commands of any build need,
/// and less than would fill a disk.
const MAX_WRITTEN: usize = 256 << 20;
const HOUR: Duration = Duration::from_secs(60 * 60);

/// The ID that a listener uses for the events of all requests. No request has this ID.
pub(super) const ALL: &str = "";

/// The stack size of a connection's thread, in bytes.
const STACK: usize = 1 << 20;

/// The service.
#[derive(Debug)]
pub(super) struct Server {
    pub service: Service,
    pub policy: Policy,
    pub paths: Paths,
    roots: Roots,
    socket: PathBuf,
    /// The user IDs of the approvers.
    approvers: Vec<u32>,
    /// The user ID of the gateway's account.
    pub gateway: Option<u32>,
    accounts: Mutex<HashMap<u32, AccountUsage>>,
    /// The listeners for events, by request.
    listeners: Mutex<HashMap<String, Vec<(u64, UnixStream)>>>,
}

/// An account's use of the service.
#[derive(Debug)]
struct AccountUsage {
    connections: u32,
    since: Instant,
    written: usize,
}

impl Server {
    /// Opens the record and the socket, and checks that both are safe.
    ///
    /// # Errors
    /// A check failed. The error names the remedy.
    pub fn open(directory: &Path, socket: Option<&Path>) -> Result<Arc<Self>, ServeError> {
        if getuid() != geteuid() || getgid() != getegid() {
            return Err(ServeError::Setuid);
        }
        let uid = geteuid().as_raw();
        let roots = Roots::of(&Environment::default(), None, uid, Path::new("/"));
        let loaded = config::load(&roots);
        if let Some(problem) = loaded.problems.first() {
            return Err(ServeError::Config(problem.clone()));
        }
        let file = roots.machine.join("config.toml");
        let Some(service) = loaded.service else {
            return Err(ServeError::NoTable(file));
        };
        let name = &service.account;
        let account = Account::named(name).ok_or_else(|| ServeError::NoAccount(name.clone()))?;
        if account.uid != uid {
            let own = Account::of(uid).name;
            return Err(ServeError::WrongAccount { own, file, name: name.clone() });
        }
        if uid == 0 {
            return Err(ServeError::Root);
        }
        if service.approvers.is_empty() {
            return Err(ServeError::NoApprovers(file));
        }
        let mut approvers = Vec::new();
        for name in &service.approvers {
            let Some(approver) = Account::named(name) else {
                return Err(ServeError::UnknownApprover { name: name.clone(), file });
            };
            approvers.push(approver.uid);
        }
        let gateway = service.gateway.as_deref().map(|name| gateway(name, uid, &approvers, &file)).transpose()?;
        place::check_directory(directory, uid)?;
        let socket = socket.unwrap_or(&service.socket).to_owned();
        place::check_place(&socket, uid)?;
        let paths = Paths::new(directory);
        // Report a problem of the record when the service starts, not when the first client needs it.
        Store::open(&paths).and_then(|store| store.head())?;
        Ok(Arc::new(Self {
            service,
            policy: loaded.policy,
            paths,
            roots,
            socket,
            approvers,
            gateway,
            accounts: Mutex::default(),
            listeners: Mutex::default(),
        }))
    }

    /// Accepts connections until the process is terminated.
    ///
    /// # Errors
    /// The socket cannot accept connections.
    pub fn serve(self: &Arc<Self>) -> Result<u8, ServeError> {
        let place = self.socket.display();
        let mut ends = SigSet::empty();
        ends.add(Signal::SIGTERM);
        ends.add(Signal::SIGINT);
        ends.thread_block()?;
        let listener =
            listen(&self.socket).map_err(|error| ServeError::Listen { socket: self.socket.clone(), error })?;
        let socket = self.socket.clone();
        std::thread::spawn(move || {
            if ends.wait().is_ok() {
                let _ = notify::tell("STOPPING=1");
                let _ = std::fs::remove_file(socket);
                // Exiting at any time leaves the record consistent: each row and each answer is one transaction.
                std::process::exit(0);
            }
        });
        let directory = self.paths.directory().display();
        let _ = writeln!(std::io::stderr(), "guard: record service started, directory {directory}, socket {place}");
        notify::tell("READY=1").map_err(ServeError::Notify)?;
        loop {
            match listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                // Too many files are open. Wait until some are closed.
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let Ok(other) = credentials(&stream) else { return };
        let Ok(mut lines) = Lines::new(stream) else { return };
        let Some(place) = self.place(other.uid) else {
            let why = format!("too many connections (limit {MAX_OF_ACCOUNT} for an account, {MAX_TOGETHER} in total)");
            let _ = lines.stream().set_nonblocking(true);
            let _ = lines.send(line(&Reply::<()>::Error(why)));
            return;
        };
        let begun = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            if let Some(peer) = Peer::of(other.pid, other.uid) {
                Connection::new(&place.server, peer).run(lines);
            }
        });
        // If no thread can be started, the connection closes, which the client sees.
        drop(begun);
    }

    /// Reserves a connection for an account. Returns `None` if a limit is reached.
    fn place(self: &Arc<Self>, uid: u32) -> Option<ConnectionSlot> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let together: u32 = accounts.values().map(|one| one.connections).sum();
        let own =
            accounts.entry(uid).or_insert_with(|| AccountUsage { connections: 0, since: Instant::now(), written: 0 });
        // The total limit does not apply to root, approvers and the gateway, so that others cannot lock them out.
        let may_wait = uid != 0 && !self.approvers.contains(&uid) && self.gateway != Some(uid);
        if own.connections >= MAX_OF_ACCOUNT || (may_wait && together >= MAX_TOGETHER) {
            return None;
        }
        own.connections += 1;
        Some(ConnectionSlot { server: self.clone(), uid })
    }

    /// Counts this many bytes against the hourly limit of an account.
    ///
    /// # Errors
    /// The limit is reached.
    pub fn spend(&self, uid: u32, bytes: usize) -> Result<(), RecordLimit> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = accounts.get_mut(&uid) else { return Ok(()) };
        if own.since.elapsed() >= HOUR {
            (own.since, own.written) = (Instant::now(), 0);
        }
        own.written = own.written.saturating_add(bytes);
        if own.written > MAX_WRITTEN {
            return Err(RecordLimit { mib: MAX_WRITTEN >> 20 });
        }
        Ok(())
    }

    /// Returns the approvers' enrolled keys. Only root can enrol them.
    pub fn enrolled(&self) -> Enrolled {
        approvers::load(&self.roots)
    }

    /// Registers a connection as a listener for the events of a request, until [`Self::forget`].
    pub fn remember(&self, id: &str, key: u64, stream: UnixStream) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.entry(id.to_owned()).or_default().push((key, stream));
    }

    pub fn forget(&self, id: &str, key: u64) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = listeners.get_mut(id) {
            all.retain(|(known, _)| *known != key);
            if all.is_empty() {
                listeners.remove(id);
            }
        }
    }

    /// Reports whether any connection listens for the events of a request.
    pub fn is_heard(&self, id: &str) -> bool {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// Notifies the listeners of a request, or of [`ALL`], that something happened.
    pub fn ring(&self, id: &str) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let names = if id == ALL { &[ALL][..] } else { &[id, ALL] };
        for name in names {
            for (_, stream) in listeners.get_mut(*name).into_iter().flatten() {
                // A listener that has not yet read the last byte does not need another.
                let _ = stream.set_nonblocking(true);
                let _ = stream.write(b".");
                let _ = stream.set_nonblocking(false);
            }
        }
    }
}

/// Returns the user ID of the gateway's account, which must be an account of its own.
fn gateway(name: &str, own: u32, approvers: &[u32], file: &Path) -> Result<u32, ServeError> {
    let (named, file) = (name.to_owned(), file.to_owned());
    match Account::named(name) {
        None => Err(ServeError::UnknownGateway { name: named, file }),
        Some(account) if account.uid == 0 || account.uid == own || approvers.contains(&account.uid) => {
            Err(ServeError::SharedGateway { name: named, file })
        }
        Some(account) => Ok(account.uid),
    }
}

/// A reserved connection. Dropping it releases the reservation.
struct ConnectionSlot {
    server: Arc<Server>,
    uid: u32,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut accounts = self.server.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = accounts.get_mut(&self.uid) {
            own.connections = own.connections.saturating_sub(1);
        }
    }
}
