//! The account that the gateway runs as, and the location of its files: in the account's own directory or, if root set
//! up a service that keeps the record, in the directories of the machine's gateway.
//!
//! Out of scope: the contents of the files.

use std::path::{Path, PathBuf};

use guard_config::config::approvers::{self, Enrolled};
use guard_config::config::{self, Roots, Service};

use crate::config::Config;
use crate::judge::invocation::Environment;
use crate::store::{Paths, StoreError};

/// The directory in which the machine's gateway keeps its own file. systemd creates it as set in the unit.
const STATE: &str = "/var/lib/guard-gateway";

/// The Unix socket of the machine's gateway.
const SOCKET: &str = "/run/guard-gateway/gateway.sock";

/// The account that this process runs as.
#[derive(Clone, Debug)]
pub struct Account {
    pub uid: u32,
    pub name: String,
    pub home: Option<PathBuf>,
    /// The service that keeps the record of this machine, if root set one up.
    pub service: Option<Service>,
}

/// The reason why this account cannot use the files of the gateway.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("there is no home directory")]
    NoHome,
    /// The directory of the record cannot be determined.
    #[error(transparent)]
    Paths(#[from] StoreError),
    #[error("cannot read the service configuration of this machine: {0}")]
    Unreadable(String),
    #[error(
        "the gateway of this machine runs as {gateway}, but this account is {own}; use sudo -u {gateway} guard ..."
    )]
    Another { gateway: String, own: String },
    #[error(
        "a service keeps the record of this machine (guard serve --system), and [service] in /etc/guard/config.toml \
         names no account for the gateway: gateway = \"guard-gateway\""
    )]
    None,
}

impl Account {
    /// Returns the account of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let uid = nix::unistd::geteuid();
        let user = nix::unistd::User::from_uid(uid).ok().flatten();
        let name = user.as_ref().map_or_else(|| uid.to_string(), |user| user.name.clone());
        let mut account = Self { uid: uid.as_raw(), name, home: user.map(|user| user.dir), service: None };
        account.service = config::load(&account.machine()).service;
        account
    }

    /// Returns the directories that may contain the account's configuration.
    #[must_use]
    pub fn roots(&self) -> Roots {
        let env: Environment = std::env::vars_os().collect();
        Roots::of(&env, self.home.as_deref(), self.uid, Path::new("/"))
    }

    /// Returns only the directories that root controls.
    fn machine(&self) -> Roots {
        Roots { named: None, home: None, ..self.roots() }
    }

    /// Returns the name of the account of the machine's gateway.
    #[must_use]
    pub fn gateway(&self) -> Option<&str> {
        self.service.as_ref()?.gateway.as_deref()
    }

    /// Returns the user ID and group ID of that account.
    #[must_use]
    pub fn gateway_ids(&self) -> Option<(nix::unistd::Uid, nix::unistd::Gid)> {
        let user = nix::unistd::User::from_name(self.gateway()?).ok().flatten()?;
        Some((user.uid, user.gid))
    }

    /// Returns the directory of `gateway.toml`: the account's own configuration directory, or the machine's.
    ///
    /// # Errors
    /// Returns an error if there is no home directory.
    pub fn config_directory(&self) -> Result<PathBuf, AccountError> {
        let roots = self.roots();
        if self.gateway().is_some() {
            return Ok(roots.machine);
        }
        let account = roots.account().filter(|directory| directory.exists());
        account.or_else(|| roots.named.clone()).or_else(|| roots.account()).ok_or(AccountError::NoHome)
    }

    /// Returns the directory of the gateway's own file. It also contains the record, unless a service keeps that.
    ///
    /// # Errors
    /// Returns an error if there is no home directory, or if the gateway of this machine runs as another account.
    pub fn directory(&self) -> Result<PathBuf, AccountError> {
        if self.service.is_none() {
            let paths = Paths::standard(self.home.as_deref())?;
            return Ok(paths.directory().to_owned());
        }
        self.is_the_gateway()?;
        Ok(STATE.into())
    }

    /// Returns the path of the gateway's Unix socket: the configured path, or the default.
    ///
    /// # Errors
    /// Returns an error if there is no home directory, or if this account may not connect to the gateway of this
    /// machine.
    pub fn socket(&self, config: &Config) -> Result<PathBuf, AccountError> {
        let usual = match &self.service {
            None => self.directory()?.join("gateway.sock"),
            Some(_) if self.uid == 0 && self.gateway().is_some() => SOCKET.into(),
            Some(_) => {
                self.is_the_gateway()?;
                SOCKET.into()
            }
        };
        Ok(config.socket.clone().unwrap_or(usual))
    }

    /// Checks that this account is the account of the machine's gateway.
    fn is_the_gateway(&self) -> Result<(), AccountError> {
        let Some(service) = &self.service else { return Ok(()) };
        if let Some(why) = &service.broken {
            return Err(AccountError::Unreadable(why.clone()));
        }
        match &service.gateway {
            Some(name) if *name == self.name => Ok(()),
            Some(name) => Err(AccountError::Another { gateway: name.clone(), own: self.name.clone() }),
            None => Err(AccountError::None),
        }
    }

    /// Returns the enrolled approvers. If a service keeps the record, only root's configuration counts.
    #[must_use]
    pub fn approvers(&self) -> Enrolled {
        approvers::load(&if self.service.is_some() { self.machine() } else { self.roots() })
    }
}
