//! The accounts of the machine.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::paths::{self, Content};

/// Maximum length of the account file that is read.
const MAX_PASSWD: usize = 4 * 1024 * 1024;

/// An account of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub name: String,
    pub home: Option<PathBuf>,
    pub shell: Option<PathBuf>,
}

/// The directory that replaces the home of every account in this process.
static STAND_IN: OnceLock<PathBuf> = OnceLock::new();

/// A source of accounts besides `/etc/passwd`, which returns entries in the format of that file for a name or a number.
type LookUp = fn(&str) -> std::io::Result<Vec<u8>>;

static LOOK_UP: OnceLock<LookUp> = OnceLock::new();

impl Account {
    /// Sets the function that looks up accounts which are not in `/etc/passwd`. Name services are queried by a program,
    /// which this module does not run. Only the first call has an effect.
    pub fn look_up_with(look_up: LookUp) {
        let _ = LOOK_UP.set(look_up);
    }

    /// Sets the home of every account that is looked up from now on, for a process that must neither read nor write
    /// files of the account. Only the first call has an effect.
    pub fn live_in(home: PathBuf) {
        let _ = STAND_IN.set(home);
    }

    /// Returns the account with this number, from `/etc/passwd` or else from the name services.
    #[must_use]
    pub fn of(uid: u32) -> Self {
        let local = match paths::read(Path::new("/etc/passwd"), MAX_PASSWD) {
            Content::Bytes(bytes) => Self::in_passwd(&bytes, |_, number| number == uid),
            _ => None,
        };
        let found = local.or_else(|| Self::from_name_service(&uid.to_string(), |_, number| number == uid));
        let mut found = found.unwrap_or_else(|| Self { uid, name: uid.to_string(), home: None, shell: None });
        if let Some(home) = STAND_IN.get() {
            found.home = Some(home.clone());
        }
        found
    }

    /// Returns the account of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let local = match paths::read(Path::new("/etc/passwd"), MAX_PASSWD) {
            Content::Bytes(bytes) => Self::in_passwd(&bytes, |found, _| found == name),
            _ => None,
        };
        local.or_else(|| Self::from_name_service(name, |found, _| found == name))
    }

    /// Returns the account from the system's name services.
    fn from_name_service(key: &str, is_wanted: impl Fn(&str, u32) -> bool) -> Option<Self> {
        match guard_system::account(key) {
            Some(found) => is_wanted(&found.name, found.uid).then_some(Self {
                uid: found.uid,
                name: found.name,
                home: Some(found.home),
                shell: Some(found.shell),
            }),
            None => Self::in_passwd(&LOOK_UP.get()?(key).ok()?, is_wanted),
        }
    }

    pub(super) fn in_passwd(passwd: &[u8], is_wanted: impl Fn(&str, u32) -> bool) -> Option<Self> {
        let mut lines = passwd.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        lines.find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty())?;
            let number: u32 = fields.nth(1)?.parse().ok()?;
            let path = |text: &str| Some(PathBuf::from(text)).filter(|path| path.is_absolute());
            let home = path(fields.nth(2)?);
            let shell = fields.next().and_then(path);
            is_wanted(name, number).then(|| Self { uid: number, name: name.to_owned(), home, shell })
        })
    }
}
