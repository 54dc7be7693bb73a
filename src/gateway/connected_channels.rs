//! The connected messengers, and a limit of concurrent messages for each.
//!
//! Out of scope: the routing of requests.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use tokio::sync::Semaphore;

use crate::channel::Channel;

/// The number of cards that may be sent to one messenger concurrently. Others wait, because each uses a connection and
/// messengers accept only a few per second.
const AT_ONCE: usize = 4;

/// The connected messengers.
#[derive(Default)]
pub struct ConnectedChannels {
    open: RwLock<HashMap<String, ConnectedChannel>>,
}

/// A messenger and its limit of concurrent messages.
#[derive(Clone)]
pub struct ConnectedChannel {
    pub channel: Arc<dyn Channel>,
    pub turns: Arc<Semaphore>,
}

impl ConnectedChannels {
    /// Returns the messenger of this name with its limit, if it is connected.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<ConnectedChannel> {
        self.open.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(name).cloned()
    }

    /// Adds a connected messenger.
    pub fn add(&self, name: String, channel: Arc<dyn Channel>) {
        let connection = ConnectedChannel { channel, turns: Arc::new(Semaphore::new(AT_ONCE)) };
        self.open.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name, connection);
    }

    /// Returns the messenger of this name, if it is connected.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Channel>> {
        self.connection(name).map(|connection| connection.channel)
    }
}
