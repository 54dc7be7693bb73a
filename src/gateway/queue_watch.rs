//! Watches the queue for changes: through the system if the account owns the queue's file, or through the service that
//! keeps it.
//!
//! Out of scope: the kind of change. The receiver reads the queue again.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use guard_config::config::Service;
use tokio::sync::mpsc;

use crate::backend::remote;

/// The wait before the connection to a service is retried.
const AWAY: Duration = Duration::from_secs(1);

/// Reports each change of the queue's file. If the system cannot watch it, only the periodic refresh detects changes.
pub fn queue(directory: PathBuf, changed: mpsc::Sender<()>) {
    let told = move || !matches!(changed.try_send(()), Err(mpsc::error::TrySendError::Closed(())));
    let _ = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || guard_system::watch(&directory, "queue.db", told));
}

/// Reports each change that the service announces, and reconnects when the connection is lost. Meanwhile only the
/// periodic refresh detects changes.
pub fn service(service: Service, changed: mpsc::Sender<()>) {
    let told = move || !matches!(changed.try_send(()), Err(mpsc::error::TrySendError::Closed(())));
    let watch = move || {
        let client = remote::client(&service);
        loop {
            if let Ok(mut stream) = client.watch() {
                // Changes from before the connection are reported too.
                let mut goes_on = told();
                let mut bytes = [0; 256];
                while goes_on && matches!(stream.read(&mut bytes), Ok(1..)) {
                    goes_on = told();
                }
            }
            if !told() {
                return;
            }
            std::thread::sleep(AWAY);
        }
    };
    let _ = std::thread::Builder::new().name("watch".into()).spawn(watch);
}
