//! The messengers that are connected now, and the turns of those who send something over them.
//!
//! Out of scope: who is asked where.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use tokio::sync::Semaphore;

use crate::channel::Channel;

/// How many cards may be on their way to one messenger at once. The others wait: each one that is sent holds a connection,
/// and messengers take no more than a few in a second.
const AT_ONCE: usize = 4;

/// The messengers as they are connected now.
#[derive(Default)]
pub struct ConnectedChannels {
    open: RwLock<HashMap<String, ConnectedChannel>>,
}

/// A messenger, and the turns of those who send something over it.
#[derive(Clone)]
pub struct ConnectedChannel {
    pub channel: Arc<dyn Channel>,
    pub turns: Arc<Semaphore>,
}

impl ConnectedChannels {
    /// The messenger of this name with its turns, if it is connected.
    #[must_use]
    pub fn connection(&self, name: &str) -> Option<ConnectedChannel> {
        self.open.read().unwrap_or_else(std::sync::PoisonError::into_inner).get(name).cloned()
    }

    /// Takes a messenger that is connected.
    pub fn add(&self, name: String, channel: Arc<dyn Channel>) {
        let connection = ConnectedChannel { channel, turns: Arc::new(Semaphore::new(AT_ONCE)) };
        self.open.write().unwrap_or_else(std::sync::PoisonError::into_inner).insert(name, connection);
    }

    /// The messenger of this name, if it is connected.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Channel>> {
        self.connection(name).map(|connection| connection.channel)
    }
}
