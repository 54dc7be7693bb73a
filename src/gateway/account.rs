//! The account that the gateway runs as, and where its files are: its own, or those of the machine's gateway, where root
//! set up a service that keeps the record.
//!
//! Out of scope: what is in the files.

use std::path::{Path, PathBuf};

use guard_config::config::approvers::{self, Enrolled};
use guard_config::config::{self, Roots, Service};

use crate::config::Config;
use crate::judge::invocation::Environment;
use crate::store::{Paths, StoreError};

/// Where the machine's gateway keeps its own file, as its unit has systemd make it.
const STATE: &str = "/var/lib/guard-gateway";

/// Where it is spoken to.
const SOCKET: &str = "/run/guard-gateway/gateway.sock";

/// The account that this runs as.
#[derive(Clone, Debug)]
pub struct Account {
    pub uid: u32,
    pub name: String,
    pub home: Option<PathBuf>,
    /// The service that keeps the record of this machine, where root set one up.
    pub service: Option<Service>,
}

/// Why files of the gateway are not this account's.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    #[error("there is no home directory")]
    NoHome,
    /// Where the record is.
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
    /// Of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        let uid = nix::unistd::geteuid();
        let user = nix::unistd::User::from_uid(uid).ok().flatten();
        let name = user.as_ref().map_or_else(|| uid.to_string(), |user| user.name.clone());
        let mut account = Self { uid: uid.as_raw(), name, home: user.map(|user| user.dir), service: None };
        account.service = config::load(&account.machine()).service;
        account
    }

    /// Where its configuration is looked for.
    #[must_use]
    pub fn roots(&self) -> Roots {
        let env: Environment = std::env::vars_os().collect();
        Roots::of(&env, self.home.as_deref(), self.uid, Path::new("/"))
    }

    /// The same for what root alone says.
    fn machine(&self) -> Roots {
        Roots { named: None, home: None, ..self.roots() }
    }

    /// The name of the account of the machine's gateway.
    #[must_use]
    pub fn gateway(&self) -> Option<&str> {
        self.service.as_ref()?.gateway.as_deref()
    }

    /// The numbers of that account and of its group.
    #[must_use]
    pub fn gateway_ids(&self) -> Option<(nix::unistd::Uid, nix::unistd::Gid)> {
        let user = nix::unistd::User::from_name(self.gateway()?).ok().flatten()?;
        Some((user.uid, user.gid))
    }

    /// The directory of `gateway.toml`: that of the account's own configuration, or the machine's.
    ///
    /// # Errors
    /// There is no home.
    pub fn config_directory(&self) -> Result<PathBuf, AccountError> {
        let roots = self.roots();
        if self.gateway().is_some() {
            return Ok(roots.machine);
        }
        let account = roots.account().filter(|directory| directory.exists());
        account.or_else(|| roots.named.clone()).or_else(|| roots.account()).ok_or(AccountError::NoHome)
    }

    /// The directory of its own file, where the record is too unless a service keeps that.
    ///
    /// # Errors
    /// There is no home, or the gateway of this machine is another account's.
    pub fn directory(&self) -> Result<PathBuf, AccountError> {
        if self.service.is_none() {
            let paths = Paths::standard(self.home.as_deref())?;
            return Ok(paths.directory().to_owned());
        }
        self.is_the_gateway()?;
        Ok(STATE.into())
    }

    /// The socket of the gateway: where the configuration says, else in the directory for such things.
    ///
    /// # Errors
    /// There is no home, or this account may not speak to the gateway of this machine.
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

    /// That this is the account of the machine's gateway.
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

    /// Who is enrolled to sign; where a service keeps the record, by root's word alone.
    #[must_use]
    pub fn approvers(&self) -> Enrolled {
        approvers::load(&if self.service.is_some() { self.machine() } else { self.roots() })
    }
}
