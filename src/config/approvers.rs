//! The enrolled approvers, each in a file `approvers/NAME.toml` next to the configuration.
//!
//! If the directory of the machine contains any, only these are enrolled; otherwise those of the account's own
//! directory, and then of the one that HOME names: a process that can set a variable must not select the approvers. An
//! error in one file invalidates all of them, because it is then unknown who is enrolled, and no required signature is
//! accepted.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::de::DeTable;

use super::Roots;
use super::errors::ConfigProblem;
use super::layer::Layer;
use super::paths::{Finder, is_same};
use crate::judge::approver::{Approver, ApproverKey, BadSignature, Cost, Passkey};
use crate::judge::document::{self, Fault, Fields, quoted};

/// The enrolled approvers.
#[derive(Clone, Debug, Default)]
pub struct Enrolled {
    pub approvers: Vec<Approver>,
    /// The directory that applies, or in which the first approver would be enrolled.
    pub directory: PathBuf,
    /// Whether the account that runs guard can enrol approvers.
    pub changeable: bool,
    pub problems: Vec<ConfigProblem>,
}

impl Enrolled {
    /// Reports whether approvals of tier 3 and above require a signature.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        !self.approvers.is_empty() || !self.problems.is_empty()
    }

    /// Returns the approver with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Approver> {
        self.approvers.iter().find(|approver| approver.name == name)
    }

    /// Returns the path of an approver's file.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(format!("{name}.toml"))
    }
}

/// Reads the enrolled approvers.
#[must_use]
pub fn load(roots: &Roots) -> Enrolled {
    let below = |directory: &Path| directory.join("approvers");
    let account = roots.account();
    let named = roots.named.clone().filter(|named| account.as_ref().is_none_or(|account| !is_same(account, named)));
    let own = account.iter().map(|directory| (Layer::User, below(directory)));
    let places = [(Layer::Machine, below(&roots.machine))].into_iter().chain(own);
    let places = places.chain(named.iter().map(|directory| (Layer::Redirected, below(directory))));
    let mut first = None;
    for (layer, directory) in places {
        let found = load_from(layer, roots, directory);
        if found.is_any() {
            return found;
        }
        if layer != Layer::Machine {
            // A user who sets HOME wants their files there.
            first = Some(found);
        }
    }
    first.unwrap_or_default()
}

fn load_from(layer: Layer, roots: &Roots, directory: PathBuf) -> Enrolled {
    let mut finder = Finder::new(layer, roots);
    let files = finder.list(&directory);
    let mut enrolled = Enrolled { changeable: is_changeable(&directory, roots.uid), directory, ..Enrolled::default() };
    for path in files {
        match finder.read(&path) {
            Ok(Some(text)) => match read(&path, &text) {
                Ok(approver) => enrolled.approvers.push(approver),
                Err(why) => finder.problems.push(ConfigProblem::of_file(layer, &path, why.to_string())),
            },
            Ok(None) => {}
            Err(problem) => finder.problems.push(*problem),
        }
    }
    enrolled.problems = finder.problems;
    enrolled
}

/// The reason why a file enrols no approver.
#[derive(Debug, Error)]
enum EnrolError {
    #[error("{}", .0.message())]
    Syntax(#[from] toml::de::Error),
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Fields(Vec<Fault>),
    #[error(transparent)]
    Key(#[from] BadSignature),
    #[error("contains approver {name}, so it must be named {name}.toml")]
    Name { name: String },
}

fn read(path: &Path, text: &str) -> Result<Approver, EnrolError> {
    let table = DeTable::parse(text)?;
    let approver = document::read(&table, approver).map_err(EnrolError::Fields)?;
    approver.check()?;
    if path.file_stem().is_none_or(|stem| stem != approver.name.as_str()) {
        return Err(EnrolError::Name { name: approver.name });
    }
    Ok(approver)
}

fn approver(from: &mut Fields<'_>) -> Approver {
    let name = from.need("name", Fields::text).into_inner();
    let kind = from.need("kind", Fields::text).into_inner();
    let mut text = |key| from.need(key, Fields::text).into_inner();
    let key = match kind.as_str() {
        "passphrase" => ApproverKey::Passphrase { public: text("public"), salt: text("salt"), cost: cost(from) },
        "ssh" => ApproverKey::Ssh { public: text("public") },
        "totp" => ApproverKey::Totp { secret: text("secret") },
        "passkey" => ApproverKey::Passkey(Passkey {
            rp_id: text("rp_id"),
            credential: text("credential"),
            public: text("public"),
            origins: from.lines("origins"),
            shared: from.flag("shared"),
        }),
        _ => {
            from.refuse("kind", "expected \"passphrase\", \"ssh\", \"totp\" or \"passkey\"");
            ApproverKey::Totp { secret: String::new() }
        }
    };
    Approver { name, key }
}

fn cost(from: &mut Fields<'_>) -> Cost {
    let cost = |from: &mut Fields<'_>| Cost {
        memory: from.need("memory", Fields::count_at).into_inner(),
        passes: from.need("passes", Fields::count_at).into_inner(),
    };
    from.need_table("cost", cost, Cost { memory: 0, passes: 0 })
}

/// Returns the content of an approver's file.
fn written(approver: &Approver) -> String {
    let mut text = format!("name = {}\nkind = \"{}\"\n", quoted(&approver.name), approver.key.kind());
    match &approver.key {
        ApproverKey::Passphrase { public, salt, cost: Cost { memory, passes } } => text.push_str(&format!(
            "public = {}\nsalt = {}\n\n[cost]\nmemory = {memory}\npasses = {passes}\n",
            quoted(public),
            quoted(salt)
        )),
        ApproverKey::Ssh { public } => text.push_str(&format!("public = {}\n", quoted(public))),
        ApproverKey::Totp { secret } => text.push_str(&format!("secret = {}\n", quoted(secret))),
        ApproverKey::Passkey(Passkey { rp_id, origins, credential, public, shared }) => {
            let origins: Vec<String> = origins.iter().map(|origin| quoted(origin).to_string()).collect();
            text.push_str(&format!(
                "rp_id = {}\norigins = [{}]\ncredential = {}\npublic = {}\nshared = {shared}\n",
                quoted(rp_id),
                origins.join(", "),
                quoted(credential),
                quoted(public)
            ));
        }
    }
    text
}

/// Reports whether an account can create files in a directory, or the directory.
fn is_changeable(directory: &Path, uid: u32) -> bool {
    let about = directory.ancestors().find_map(|place| fs::metadata(place).ok());
    about.is_none_or(|about| uid == 0 || about.uid() == uid || about.mode() & 0o002 != 0)
}

/// Enrols an approver. A file with a secret is readable only for the account.
///
/// # Errors
/// An approver with that name exists, or the file cannot be written.
pub fn enrol(enrolled: &Enrolled, approver: &Approver) -> io::Result<PathBuf> {
    let path = enrolled.file(&approver.name);
    fs::create_dir_all(&enrolled.directory)?;
    let draft = path.with_extension(format!("new-{:016x}", getrandom::u64().map_err(io::Error::other)?));
    // Public keys are readable for all, because the process that verifies a signature may run under another account.
    let mode = if matches!(approver.key, ApproverKey::Totp { .. }) { 0o600 } else { 0o644 };
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
    let written = io::Write::write_all(&mut file, written(approver).as_bytes()).and_then(|()| file.sync_all());
    // `link` fails if the file exists: no approver is replaced, and no incomplete file is read.
    let linked = written.and_then(|()| fs::hard_link(&draft, &path));
    let _ = fs::remove_file(&draft);
    linked.map(|()| path)
}

/// Removes an approver's file.
///
/// # Errors
/// It cannot be removed.
pub fn remove(enrolled: &Enrolled, name: &str) -> io::Result<()> {
    fs::remove_file(enrolled.file(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(directory: &Path) -> Roots {
        let uid = nix::unistd::getuid().as_raw();
        let (machine, home) = (directory.join("etc"), directory.join("home"));
        let (home, named) = (Some(home), Some(directory.join("other/guard")));
        Roots { machine, machine_owner: uid, home, named, named_home: None, cwd: directory.to_owned(), uid }
    }

    fn ada(name: &str) -> Approver {
        Approver::with_passphrase(name, "correct horse battery", [1; 16], Cost { memory: 64, passes: 1 }).unwrap()
    }

    fn put(directory: &Path, approver: &Approver) {
        let _ = enrol(&Enrolled { directory: directory.to_owned(), ..Enrolled::default() }, approver).unwrap();
    }

    fn names(enrolled: &Enrolled) -> Vec<&str> {
        enrolled.approvers.iter().map(|approver| approver.name.as_str()).collect()
    }

    #[test]
    fn the_strongest_place_with_anybody_counts_alone() {
        let directory = tempfile::tempdir().unwrap();
        let roots = roots(directory.path());
        assert!(!load(&roots).is_any());
        assert_eq!(load(&roots).directory, directory.path().join("other/guard/approvers"));
        put(&directory.path().join("other/guard/approvers"), &ada("led"));
        assert_eq!(names(&load(&roots)), ["led"]);
        put(&directory.path().join("home/.config/guard/approvers"), &ada("own"));
        assert_eq!(names(&load(&roots)), ["own"]);
        put(&directory.path().join("etc/approvers"), &ada("all"));
        assert_eq!(names(&load(&roots)), ["all"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_the_weaker_places_from_counting() {
        let directory = tempfile::tempdir().unwrap();
        let roots = roots(directory.path());
        put(&directory.path().join("home/.config/guard/approvers"), &ada("own"));
        let machine = directory.path().join("etc/approvers");
        for (name, text) in [
            ("x.toml", "name = 'x'\n"),
            ("y.toml", "name = 'x'\nkind = 'totp'\nsecret = 'AAAA'\n"),
            ("z.toml", "name = 'z'\nkind = 'ssh'\npublic = 'ssh-rsa AAAA'\n"),
            ("w.toml", "name = 'w'\nkind = 'totp'\nsecret = 'AAAA'\nmore = 1\n"),
        ] {
            fs::create_dir_all(&machine).unwrap();
            fs::write(machine.join(name), text).unwrap();
            let found = load(&roots);
            assert!(found.is_any() && found.approvers.is_empty(), "{name}");
            assert_eq!(found.problems.len(), 1, "{name}");
            fs::remove_file(machine.join(name)).unwrap();
        }
    }

    #[test]
    fn an_approver_reads_back_as_it_was_written() {
        for approver in [
            ada("ada"),
            Approver { name: "b.o-b_1".to_owned(), key: ApproverKey::Totp { secret: "AAAA".to_owned() } },
            Approver {
                name: "d".to_owned(),
                key: ApproverKey::Passkey(Passkey {
                    rp_id: "localhost".to_owned(),
                    origins: vec!["http://localhost:6180".to_owned(), "https://x\"y".to_owned()],
                    credential: "AAAA".to_owned(),
                    public: "AAAA".to_owned(),
                    shared: true,
                }),
            },
            Approver { name: "c".to_owned(), key: ApproverKey::Ssh { public: "ssh-ed25519 AAAA x\"\\".to_owned() } },
        ] {
            let text = written(&approver);
            let table = DeTable::parse(&text).unwrap();
            assert_eq!(document::read(&table, super::approver).unwrap(), approver, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_an_approvers_file_is_said() {
        let said = |text: &str| read(Path::new("/x/a.toml"), text).unwrap_err().to_string();
        assert_eq!(
            said("name = 'a'\nkind = 'card'\npublic = 'x'\n"),
            "kind: expected \"passphrase\", \"ssh\", \"totp\" or \"passkey\""
        );
        assert_eq!(said("name = 'a'\nkind = 'totp'\n"), "secret: it is missing");
        assert!(said("name = 'a'\nkind = 'totp'\nsecret = 'AAAA'\nmore = 1\n").starts_with("unknown field `more`"));
        assert!(said("name = 'a'\nkind = 'ssh'\npublic = 1\n").starts_with("public: expected a string, found 1"));
        let passphrase = "name = 'a'\nkind = 'passphrase'\npublic = 'AAAA'\nsalt = 'AAAA'\n";
        assert_eq!(said(passphrase), "cost: it is missing");
        assert_eq!(said(&format!("{passphrase}[cost]\nmemory = 64\n")), "passes: it is missing");
    }

    #[test]
    fn nobody_is_replaced_by_another_of_the_same_name() {
        let directory = tempfile::tempdir().unwrap();
        let enrolled = Enrolled { directory: directory.path().to_owned(), ..Enrolled::default() };
        enrol(&enrolled, &ada("ada")).unwrap();
        let other = Approver { name: "ada".to_owned(), key: ApproverKey::Totp { secret: "AAAA".to_owned() } };
        assert_eq!(enrol(&enrolled, &other).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let path = enrol(&enrolled, &Approver { name: "bob".to_owned(), ..other }).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
