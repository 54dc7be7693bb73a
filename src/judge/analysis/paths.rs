//! Classifies paths.
//!
//! Out of scope: I/O. The classes depend on the text of a path, the working directory, and answers about the system. An
//! unknown path has the class [`PathClass::Dynamic`].

pub use crate::judge::path_class::{PathClass, PathClasses};

mod glob_targets;
mod normal;
mod reader;
mod system;

pub(in crate::judge) use system::names_sink;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

pub use normal::{Component, NormalPath, Relation, Start};

use super::act::{Piece, Value};
use super::fuel::cost;
use super::inquiry::Inquiry;
use super::place::Place;
use crate::judge::invocation::Invocation;
use crate::judge::rules::catalog::{Catalog, covers};
use crate::judge::rules::word_lists;

/// The classifier of paths of an invocation: its directories, and caches.
#[derive(Debug)]
pub struct Placer {
    /// The home directory of `~`, and that of the account.
    homes: Vec<String>,
    /// The working directory at the start of the command.
    cwd: String,
    /// Temporary directories in addition to the usual ones.
    temp: Vec<String>,
    /// Directories that contain files of guard, by the environment.
    bases: Vec<String>,
    /// The paths of guard's own files, computed on first use.
    own: OnceCell<Vec<String>>,
    /// The classes of known texts, by the directory to which they are relative.
    texts: RefCell<Texts>,
    /// The classes of completely known absolute paths. The catalog and the answers do not change during its lifetime.
    known: RefCell<HashMap<String, PathClasses>>,
    /// The classes of all other paths.
    others: RefCell<HashMap<NormalPath, PathClasses>>,
    /// The globs in the catalog at which a glob of the command may aim, with their classes.
    listed: OnceCell<Vec<(PathClass, Box<str>)>>,
    /// Whether the first working directory may be a project.
    works: OnceCell<bool>,
    /// The project directory, by the answers.
    project: OnceCell<Option<String>>,
}

/// The classes of known texts.
#[derive(Debug, Default)]
struct Texts {
    /// By the directory to which they are relative.
    from: HashMap<Place, HashMap<String, PathClasses>>,
    /// Relative to an unknown directory.
    unplaced: HashMap<String, PathClasses>,
}

/// The classes of a path that was not classified.
const ANYTHING: PathClasses = PathClasses::NONE.with(PathClass::Dynamic).with(PathClass::Outside);

impl Placer {
    /// Creates the classifier of an invocation.
    #[must_use]
    pub fn new(invocation: &Invocation) -> Self {
        let absolute = |path: &str| path.starts_with('/').then(|| tidy(path));
        let mut homes: Vec<String> = Vec::new();
        let account = invocation.home.as_deref().and_then(std::path::Path::to_str);
        for home in [invocation.env.get("HOME"), account].into_iter().flatten().filter_map(absolute) {
            if home != "/" && !homes.contains(&home) {
                homes.push(home);
            }
        }
        let cwd = tidy(&invocation.cwd.to_string_lossy());
        let temp = invocation.env.get("TMPDIR").and_then(absolute).filter(|temp| {
            // A directory that contains a home or the project is not a temporary directory.
            let holds = |path: &String| is_within(path, temp);
            !holds(&cwd) && !homes.iter().any(holds) && !system::is_system(temp)
        });
        let bases = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"];
        let bases = bases.into_iter().filter_map(|name| invocation.env.get(name).and_then(absolute)).collect();
        let temp = temp.into_iter().collect();
        Self {
            homes,
            cwd,
            temp,
            bases,
            own: OnceCell::new(),
            texts: RefCell::default(),
            known: RefCell::default(),
            others: RefCell::default(),
            listed: OnceCell::new(),
            works: OnceCell::new(),
            project: OnceCell::new(),
        }
    }

    /// Returns the paths of guard's own files.
    fn own(&self) -> Vec<String> {
        let mut own = vec!["/etc/guard".to_owned()];
        for bin in ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"] {
            own.extend(BINARIES.map(|name| format!("{bin}/{name}")));
        }
        for home in &self.homes {
            for bin in [".cargo/bin", ".local/bin", "bin"] {
                own.extend(BINARIES.map(|name| format!("{home}/{bin}/{name}")));
            }
            own.push(format!("{home}/.config/guard"));
            own.push(format!("{home}/.local/share/guard"));
            own.push(format!("{home}/.local/state/guard"));
            own.push(format!("{home}/.cache/guard"));
            own.push(format!("{home}/Library/Application Support/guard"));
        }
        own.extend(self.bases.iter().map(|base| format!("{base}/guard")));
        own
    }

    /// Returns the path that a value names, relative to `cwd`. `None` if it is not a path: empty, `-`, a URL.
    #[must_use]
    pub fn path(&self, value: &Value, cwd: Option<&Place>) -> Option<NormalPath> {
        let leading = value.leading();
        // `file:PATH?mode=ro` is a path for clients of SQLite.
        if leading.starts_with("file:")
            && !leading.starts_with("file://")
            && let Some(text) = value.known()
        {
            let path = text.get("file:".len()..).and_then(|rest| rest.split('?').next()).unwrap_or_default();
            return NormalPath::of(&Value::text(path), cwd, self.homes.first().map(String::as_str));
        }
        if let Some((scheme, rest)) = leading.split_once("://")
            && !scheme.is_empty()
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        {
            if scheme != "file" {
                return None;
            }
            let host = rest.find('/').unwrap_or(0);
            return NormalPath::of(&value.without_leading(scheme.len() + 3 + host), None, None);
        }
        if value.is_empty() || value.is("-") {
            return None;
        }
        NormalPath::of(value, cwd, self.homes.first().map(String::as_str))
    }

    /// Returns all classes of the path that a value names. It asks for the repository of the working directory only if
    /// the path is not obviously in the project.
    #[must_use]
    pub fn classes(&self, value: &Value, cwd: Option<&Place>, catalog: &Catalog, inquiry: &Inquiry<'_>) -> PathClasses {
        // Without fuel the path is not classified.
        if inquiry.fuel.is_empty() {
            return ANYTHING;
        }
        let [Piece::Text(text)] = value.pieces() else { return self.of_value(value, cwd, catalog, inquiry) };
        let known = |texts: &Texts| match cwd {
            Some(dir) => texts.from.get(dir)?.get(text.as_str()).copied(),
            None => texts.unplaced.get(text.as_str()).copied(),
        };
        if let Some(classes) = known(&self.texts.borrow()) {
            return classes;
        }
        let classes = self.of_value(value, cwd, catalog, inquiry);
        let mut texts = self.texts.borrow_mut();
        let known = match cwd {
            Some(dir) => texts.from.entry(dir.clone()).or_default(),
            None => &mut texts.unplaced,
        };
        known.insert(text.clone(), classes);
        classes
    }

    fn of_value(&self, value: &Value, cwd: Option<&Place>, catalog: &Catalog, inquiry: &Inquiry<'_>) -> PathClasses {
        let mut classes = self.path(value, cwd).map_or(PathClasses::NONE, |path| self.of(&path, catalog, inquiry));
        let leading = value.leading();
        // `-d @file`, `-F name=@file`: the path after the `@`.
        if let Some(mark) = leading.find('@').filter(|mark| *mark == 0 || leading[..*mark].ends_with('='))
            && let Some(path) = self.path(&value.without_leading(mark + 1), cwd)
        {
            classes = classes.and(self.of(&path, catalog, inquiry));
        }
        if is_remote(&leading) {
            classes = classes.with(PathClass::Remote);
        }
        if value.pieces().iter().any(|piece| matches!(piece, Piece::Glob(_))) {
            classes = classes.with(PathClass::Glob);
        }
        classes
    }

    /// Returns the classes of a normalised path.
    #[must_use]
    pub fn of(&self, path: &NormalPath, catalog: &Catalog, inquiry: &Inquiry<'_>) -> PathClasses {
        if !path.is_plain() {
            if let Some(known) = self.others.borrow().get(path) {
                return *known;
            }
            let classes = self.worked_out(path, catalog, inquiry);
            self.others.borrow_mut().insert(path.clone(), classes);
            return classes;
        }
        let text = path.rough();
        let known = self.known.borrow().get(&text).copied();
        known.unwrap_or_else(|| {
            let classes = self.worked_out(path, catalog, inquiry);
            self.known.borrow_mut().insert(text, classes);
            classes
        })
    }

    fn worked_out(&self, path: &NormalPath, catalog: &Catalog, inquiry: &Inquiry<'_>) -> PathClasses {
        let names = path.components.len() as u64;
        if inquiry.fuel.is_empty() {
            return ANYTHING;
        }
        inquiry.fuel.spend_reserve(if path.globbed { cost::GLOB_TARGETS } else { cost::CLASSES } + names * names / 4);
        let mut classes = PathClasses::NONE;
        let mut add = |class: PathClass, holds: bool| {
            if holds {
                classes = classes.with(class);
            }
        };
        add(PathClass::Dynamic, path.dynamic);
        add(PathClass::Glob, path.globbed || path.found);
        add(PathClass::Repository, path.components.iter().any(|component| component.may_be(".git")));
        add(PathClass::Guard, self.is_own(path));
        if path.start == Start::Temporary {
            add(PathClass::Temp, true);
        }
        if path.start == Start::Root {
            let whole = !path.found;
            let home = self.is_home(path);
            let top = system::is_top(path);
            let temp = self.is_temp(path, inquiry);
            add(PathClass::Root, path.components.is_empty());
            add(PathClass::SystemTop, top);
            add(PathClass::System, (top || system::is_below(path)) && !temp);
            add(PathClass::Device, system::is_device(path));
            add(PathClass::Sink, system::is_sink(path));
            add(PathClass::Kernel, system::is_kernel(path));
            add(PathClass::Home, home);
            add(PathClass::HomeUnnamed, path.dynamic && self.homes.iter().any(|home| is_unnamed(path, home)));
            add(PathClass::InHome, self.homes.iter().any(|home| path.relation(home) == Relation::Below));
            add(PathClass::Temp, temp);
            let lies = self.lies(path, inquiry);
            add(PathClass::ProjectRoot, lies == Relation::Same && whole);
            add(PathClass::ProjectParent, lies == Relation::Above);
            add(PathClass::Project, lies.within());
            add(PathClass::Outside, !lies.within() && !temp && !system::is_sink(path));
        }
        classes.and(self.listed(path, catalog))
    }

    /// Returns the project directory: the top level of the repository of the first working directory, or that
    /// directory. It is never a home directory, a temporary directory or `/`.
    #[must_use]
    pub fn project(&self, inquiry: &Inquiry<'_>) -> Option<String> {
        self.worked_in(inquiry).map(str::to_owned)
    }

    fn worked_in(&self, inquiry: &Inquiry<'_>) -> Option<&str> {
        let found = || {
            let answer = inquiry.repository(&self.cwd).map(|repository| tidy(&repository.root));
            answer
                .filter(|root| is_within(&self.cwd, root) && self.may_be_project(root))
                .or_else(|| self.works_here().then(|| self.cwd.clone()))
        };
        self.project.get_or_init(found).as_deref()
    }

    /// Reports whether the first working directory may be a project.
    fn works_here(&self) -> bool {
        *self.works.get_or_init(|| self.may_be_project(&self.cwd))
    }

    /// Reports whether a glob in the syntax of path lists matches an absolute, normalised path.
    #[must_use]
    pub fn is_covered(&self, glob: &str, path: &str) -> bool {
        let homes: Vec<&str> = self.homes.iter().map(String::as_str).collect();
        covers(glob, path, &homes)
    }

    /// Returns the first working directory, lexically normalised.
    #[must_use]
    pub fn cwd(&self) -> &str {
        &self.cwd
    }

    /// Reports whether a path is a temporary directory itself, or everything in it.
    #[must_use]
    pub fn is_temp_top(&self, path: &NormalPath) -> bool {
        self.temp_directories().any(|temp| matches!(path.relation(temp), Relation::Same | Relation::Above))
    }

    fn may_be_project(&self, path: &str) -> bool {
        let Some(place) = NormalPath::absolute(path) else { return false };
        !place.components.is_empty() && !self.is_home(&place) && !self.is_temp_top(&place)
    }

    /// Returns the relation of a path to the project directory.
    fn lies(&self, path: &NormalPath, inquiry: &Inquiry<'_>) -> Relation {
        // A path below the working directory is in the project.
        if path.relation(&self.cwd) == Relation::Below && self.works_here() {
            return Relation::Below;
        }
        self.worked_in(inquiry).map_or(Relation::Apart, |project| path.relation(project))
    }

    fn temp_directories(&self) -> impl Iterator<Item = &str> {
        word_lists::TEMPORARY_DIRECTORIES.iter().copied().chain(self.temp.iter().map(String::as_str))
    }

    /// Reports whether a path is a temporary directory, or in one. The project, home directories and their parents
    /// never are. It asks for the repository only if the working directory is in a temporary directory.
    #[must_use]
    pub fn is_temp(&self, path: &NormalPath, inquiry: &Inquiry<'_>) -> bool {
        if !self.temp_directories().any(|temp| path.relation(temp).within()) {
            return false;
        }
        let holds = |place: &str| path.relation(place) != Relation::Apart;
        if self.homes.iter().any(|home| holds(home)) {
            return false;
        }
        let works_here = self.temp_directories().any(|temp| is_within(&self.cwd, temp));
        !(works_here && self.worked_in(inquiry).is_some_and(holds))
    }

    /// Reports whether a path is a whole home directory, or the directory of all homes.
    fn is_home(&self, path: &NormalPath) -> bool {
        let same = |home: &str| matches!(path.relation(home), Relation::Same);
        if self.homes.iter().any(|home| same(home)) || ["/root", "/var/root", "/home", "/Users"].into_iter().any(same) {
            return true;
        }
        let mut texts = path.components.iter();
        let one_below = |above: &str| {
            path.components.len() == 2
                && path.relation(above) == Relation::Below
                && path.components.last().is_some_and(|last| !last.is_unknown() || last.name.begins_unknown())
        };
        let windows = texts.next().is_some_and(|first| first.text() == "mnt")
            && texts.next().is_some_and(|drive| drive.text().len() == 1)
            && texts.next().is_some_and(|users| users.may_be("Users"))
            && path.components.len() <= 4;
        // macOS has the directory for all accounts next to the homes.
        let shared = path.components.last().is_some_and(|last| last.text() == "Shared");
        one_below("/home") || one_below("/Users") && !shared || windows
    }

    /// Reports whether a path is one of guard's own files.
    fn is_own(&self, path: &NormalPath) -> bool {
        // The paths of all of them contain such a name.
        let is_named = |component: &Component| component.text().trim_start_matches('.').starts_with("guard");
        if path.is_plain() && !path.components.iter().any(is_named) {
            return false;
        }
        if self.own.get_or_init(|| self.own()).iter().any(|place| path.relation(place).within()) {
            return true;
        }
        let components = &path.components;
        let named = |name: &str| components.iter().any(|component| component.may_be(name));
        // The rules of a project.
        if named(".guard") || components.last().is_some_and(|last| last.may_be(".guard.toml")) {
            return true;
        }
        let configured = components.windows(2).any(|pair| match pair {
            [above, name] => above.text() == ".config" && name.text() == "guard",
            _ => false,
        });
        let socket =
            path.relation("/run") == Relation::Below && components.last().is_some_and(|last| last.may_be("guard.sock"));
        configured || socket
    }

    /// Reports whether a value names a directory that contains guard's configuration or data, and is not a home
    /// directory.
    #[must_use]
    pub fn holds_own(&self, value: &Value, cwd: Option<&Place>) -> bool {
        self.path(value, cwd).is_some_and(|path| self.is_above_own(&path))
    }

    /// Reports whether a path is an ancestor of guard's configuration or data, below a home directory or a directory
    /// that the environment names.
    #[must_use]
    pub fn is_above_own(&self, path: &NormalPath) -> bool {
        const KEPT: [&str; 4] =
            [".config/guard", ".local/share/guard", ".local/state/guard", "Library/Application Support/guard"];
        let below_home = self.homes.iter().any(|home| {
            path.relation(home) == Relation::Below
                && KEPT.iter().any(|kept| path.relation(&format!("{home}/{kept}")) == Relation::Above)
        });
        below_home || self.bases.iter().any(|base| path.relation(base) == Relation::Same && !self.is_home(path))
    }

    /// Returns the classes in the catalog of a path, of the path without a glob at its end and, for generated files, of
    /// its parents.
    fn listed(&self, path: &NormalPath, catalog: &Catalog) -> PathClasses {
        let homes: Vec<&str> = self.homes.iter().map(String::as_str).collect();
        let text = path.rough();
        let lists = catalog.paths();
        let mut classes = lists.classes(&text, &homes);
        if path.everything {
            classes = classes.and(lists.classes(&format!("{text}/*"), &homes));
        }
        if path.globbed {
            let target = glob_targets::GlobTarget::new(path, &homes);
            let listed =
                self.listed.get_or_init(|| lists.of_worth().map(|(class, glob)| (class, glob.into())).collect());
            let aimed = listed.iter().filter(|(_, glob)| target.at(glob));
            classes = aimed.fold(classes, |classes, (class, _)| classes.with(*class));
        }
        if !classes.has(PathClass::Generated) && self.generated_above(&text, catalog, &homes) {
            classes = classes.with(PathClass::Generated);
        }
        classes
    }

    /// Reports whether a directory between the working directory and the path is classified as generated.
    fn generated_above(&self, path: &str, catalog: &Catalog, homes: &[&str]) -> bool {
        let Some(below) = path.strip_prefix(self.cwd.as_str()).filter(|rest| rest.starts_with('/')) else {
            return false;
        };
        let ends = below.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0).take(MAX_ABOVE);
        ends.into_iter().any(|end| {
            let above = path.get(..self.cwd.len() + end).unwrap_or(path);
            catalog.paths().classes(above, homes).has(PathClass::Generated)
        })
    }
}

/// The names of guard's program.
const BINARIES: [&str; 2] = ["guard", "guard-sh"];

/// Maximum number of parent directories that are examined.
const MAX_ABOVE: usize = 12;

/// Reports whether the first unknown name of a path is completely unknown, and is in a home directory or in a directory
/// of settings there.
fn is_unnamed(path: &NormalPath, home: &str) -> bool {
    if path.found || path.relation(home) != Relation::Below {
        return false;
    }
    let Some(below) = path.components.get(normal::names(home).count()..) else { return false };
    let Some(at) = below.iter().position(|component| component.is_unknown()) else { return false };
    let above: Vec<&str> = below.iter().take(at).map(|component| component.text()).collect();
    let whole = below.get(at).is_some_and(|component| component.name.is_all_unknown());
    whole && (above.is_empty() || word_lists::SETTINGS_DIRECTORIES.contains(&above.join("/").as_str()))
}

/// Reports whether `path` is `directory` or below it; both are normalised.
fn is_within(path: &str, directory: &str) -> bool {
    directory == "/" || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Normalises an absolute path.
fn tidy(path: &str) -> String {
    NormalPath::absolute(path).map_or_else(|| path.to_owned(), |path| path.rough())
}

/// Reports whether a text is a remote path in the syntax of `scp` and `rsync` (`host:path`, `user@host:path`).
pub(super) fn is_remote(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@[]".contains(c);
    host.len() > 1 && host.chars().all(plain) && !path.starts_with("//") && !host.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests;
