//! The classes of paths that rules test, and sets of them.
//!
//! Only the list: the build script includes this file too, so it depends on `serde` alone. The module `analysis::paths`
//! computes the classes of a path.

use serde::{Deserialize, Serialize};

/// The classes of paths that rules test. A path can have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum PathClass {
    /// `/` itself, or everything in it (`/*`).
    Root,
    /// A directory of the operating system, or below it (`/etc`, `/usr`, `/boot`, `/var/lib`).
    System,
    /// The top of a system directory (`/etc`, `/usr`, `/var`), or everything in it.
    SystemTop,
    /// A disk or partition, or a kernel interface that writes through to hardware.
    Device,
    /// `/dev/null`, `/dev/stdout`, `/dev/stderr`, `/dev/tty`, `/dev/fd/N`: writing there loses nothing.
    Sink,
    /// `/proc` and `/sys`.
    Kernel,
    /// A whole home directory, or everything in it (`~`, `~/*`, `/home/x`, `/home`).
    Home,
    /// A path below the user's home directory.
    InHome,
    /// Keys, tokens, password stores, cloud credentials, `.env`.
    Secret,
    /// A file that is run when a shell or session starts (`.bashrc`, `/etc/profile.d`, autostart).
    Startup,
    /// A file that another program runs later (cron, systemd units, git hooks, `authorized_keys`, CI).
    Persistence,
    /// The configuration, patterns, database, socket and binary of guard.
    Guard,
    /// An agent's instructions, hooks, memory or configuration.
    Agent,
    /// The project directory itself, or everything in it (`.`, `*`, `./*`).
    ProjectRoot,
    /// An ancestor of the project directory.
    ProjectParent,
    /// Inside the project.
    Project,
    /// The data of a repository (`.git` and below).
    Repository,
    /// A path below `/tmp` and similar directories.
    Temp,
    /// Neither in the project nor under the temp directory.
    Outside,
    /// A path that a pattern classifies as generated (build output, dependency directories, caches, object files).
    Generated,
    /// A database or state file by name (`*.sqlite`, `terraform.tfstate`).
    State,
    /// A backup by name.
    Backup,
    /// A log by name.
    Log,
    /// An unquoted glob that matches more than one name.
    Glob,
    /// A path with an unknown part.
    Dynamic,
    /// A path on another host (`host:path`).
    Remote,
    /// An unknown name at the top of a home directory, or in a directory there that contains settings.
    HomeUnnamed,
}

/// A set of [`PathClass`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathClasses(u32);

impl PathClasses {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Returns the set with `class`.
    #[must_use]
    pub const fn with(self, class: PathClass) -> Self {
        Self(self.0 | 1 << class as u8)
    }

    /// Returns the set without `class`.
    #[must_use]
    pub const fn without(self, class: PathClass) -> Self {
        Self(self.0 & !(1 << class as u8))
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Reports whether the set contains `class`.
    #[must_use]
    pub const fn has(self, class: PathClass) -> bool {
        self.0 & (1 << class as u8) != 0
    }

    /// Reports whether the set contains any of `classes`.
    #[must_use]
    pub fn has_any(self, classes: &[PathClass]) -> bool {
        classes.iter().any(|class| self.has(*class))
    }
}
