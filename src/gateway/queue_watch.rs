//! Hearing of changes of the queue: from the system, where the queue's file is this account's, or from the service that
//! keeps it.
//!
//! Out of scope: what changed. Whoever hears of a change looks.

use std::io::Read as _;
use std::path::PathBuf;
use std::time::Duration;

use guard_config::config::Service;
use tokio::sync::mpsc;

use crate::backend::remote;

/// How long a service that is away is left alone.
const AWAY: Duration = Duration::from_secs(1);

/// Tells of each change of the queue's file. Where the system cannot, the clock does alone.
pub fn queue(directory: PathBuf, changed: mpsc::Sender<()>) {
    let told = move || !matches!(changed.try_send(()), Err(mpsc::error::TrySendError::Closed(())));
    let _ = std::thread::Builder::new()
        .name("watch".into())
        .spawn(move || guard_system::watch(&directory, "queue.db", told));
}

/// Tells of each change that the service tells of, and connects anew when it came back. While it is away the clock does
/// alone.
pub fn service(service: Service, changed: mpsc::Sender<()>) {
    let told = move || !matches!(changed.try_send(()), Err(mpsc::error::TrySendError::Closed(())));
    let watch = move || {
        let client = remote::client(&service);
        loop {
            if let Ok(mut stream) = client.watch() {
                // What happened before it listened is looked at too.
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
