//! The directories of the service's record and socket. No other account may write to them.

use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::world::identity::Account;

/// The reason why a directory of the service is unsafe, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("{0}: expected an absolute path")]
    Relative(String),
    #[error("cannot create {} ({error}); create it: install -d -m 700 -o {own} {}", name.display(), name.display())]
    NotMade { name: PathBuf, own: String, error: std::io::Error },
    #[error("{}: {error}", name.display())]
    Unread { name: PathBuf, error: std::io::Error },
    #[error("{} is not a directory", .0.display())]
    NoDirectory(PathBuf),
    #[error("{} is owned by {other}; change it: chown -R {own} {}", name.display(), name.display())]
    NotOurs { name: PathBuf, other: String, own: String },
    #[error("{} is accessible to others (mode {mode:o}); change it: chmod 700 {}", name.display(), name.display())]
    Open { name: PathBuf, mode: u32 },
    #[error(
        "{}: {error}; systemd creates it (RuntimeDirectory), or: install -d -m 755 -o {own} {}",
        name.display(),
        name.display()
    )]
    NoPlace { name: PathBuf, own: String, error: std::io::Error },
    #[error("{} is owned by {other}, who could replace the socket", name.display())]
    Replaceable { name: PathBuf, other: String },
    #[error("{} is writable by others (mode {mode:o}); change it: chmod go-w {}", name.display(), name.display())]
    Writable { name: PathBuf, mode: u32 },
}

/// Checks that the directory belongs to this account and that no other account can write to it. Creates it if it does
/// not exist.
pub(super) fn check_directory(directory: &Path, uid: u32) -> Result<(), PlaceError> {
    let name = || directory.to_owned();
    let owner = |uid| Account::of(uid).name;
    if !directory.is_absolute() {
        return Err(PlaceError::Relative(directory.display().to_string()));
    }
    if let Err(error) = std::fs::DirBuilder::new().mode(0o700).create(directory)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(PlaceError::NotMade { name: name(), own: owner(uid), error });
    }
    let about = std::fs::symlink_metadata(directory).map_err(|error| PlaceError::Unread { name: name(), error })?;
    if !about.is_dir() {
        return Err(PlaceError::NoDirectory(name()));
    }
    if about.uid() != uid {
        return Err(PlaceError::NotOurs { name: name(), other: owner(about.uid()), own: owner(uid) });
    }
    if about.mode() & 0o077 != 0 {
        return Err(PlaceError::Open { name: name(), mode: about.mode() & 0o7777 });
    }
    Ok(())
}

/// Checks that no other account can replace the socket.
pub(super) fn check_place(socket: &Path, uid: u32) -> Result<(), PlaceError> {
    let directory =
        socket.parent().filter(|_| socket.is_absolute()).ok_or_else(|| PlaceError::Relative("--socket".to_owned()))?;
    let name = || directory.to_owned();
    let owner = |uid| Account::of(uid).name;
    let about =
        std::fs::metadata(directory).map_err(|error| PlaceError::NoPlace { name: name(), own: owner(uid), error })?;
    if about.uid() != uid && about.uid() != 0 {
        return Err(PlaceError::Replaceable { name: name(), other: owner(about.uid()) });
    }
    if about.mode() & 0o022 != 0 {
        return Err(PlaceError::Writable { name: name(), mode: about.mode() & 0o7777 });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_directory_that_others_can_use_is_told_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let uid = nix::unistd::geteuid().as_raw();
        let place = directory.path().join("data");
        let said = |error: PlaceError| error.to_string();
        let relative = said(check_directory(Path::new("data"), uid).unwrap_err());
        assert_eq!(relative, "data: expected an absolute path");
        assert!(check_directory(&place, uid).is_ok() && check_place(&place.join("socket"), uid).is_ok());
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
        let name = place.display();
        let open = format!("{name} is accessible to others (mode 777); change it: chmod 700 {name}");
        assert_eq!(said(check_directory(&place, uid).unwrap_err()), open);
        let writable = format!("{name} is writable by others (mode 777); change it: chmod go-w {name}");
        assert_eq!(said(check_place(&place.join("socket"), uid).unwrap_err()), writable);
        let others = said(check_directory(&place, uid + 1).unwrap_err());
        assert!(others.starts_with(&format!("{name} is owned by ")) && others.contains("chown -R"), "{others}");
    }
}
