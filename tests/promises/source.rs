//! Tests rules of the source: which part may use which other, and that knowledge of programs is in the patterns.

#[path = "source/names.rs"]
mod names;
#[path = "source/packages.rs"]
mod packages;
#[path = "source/systems.rs"]
mod systems;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, ItemMod, Lit, UseTree};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all Rust files below a directory, except tests.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !["tests", "gateway", "patterns", "properties"].contains(&name) {
                all.extend(sources(&path));
            }
        } else if name.ends_with(".rs") && !["tests.rs", "testing.rs", "limits.rs", "properties.rs"].contains(&name) {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// The paths that a file names, from the root of its package, and its string literals.
#[derive(Default)]
struct Said {
    /// The modules that enclose the current item.
    within: Vec<String>,
    paths: BTreeSet<Vec<String>>,
    /// The paths of other packages, and those that begin with an imported name. A glob import ends in `*`.
    foreign: BTreeSet<Vec<String>>,
    texts: BTreeSet<String>,
}

impl Said {
    fn of(file: &Path) -> Self {
        let inside = file.strip_prefix(root().join("src")).unwrap().with_extension("");
        let mut within: Vec<String> = inside.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
        if ["mod", "lib", "main"].contains(&within.last().unwrap().as_str()) {
            within.pop();
        }
        let mut said = Self { within, ..Self::default() };
        said.visit_file(&syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap());
        said
    }

    fn path(&mut self, names: &[String]) {
        let mut from = self.within.clone();
        let mut names = names.iter().map(String::as_str).peekable();
        match names.peek() {
            Some(&"crate") => {
                from.clear();
                names.next();
            }
            Some(&"self") => {
                names.next();
            }
            Some(&"super") => {}
            _ => {
                self.foreign.insert(names.map(str::to_owned).collect());
                return;
            }
        }
        while names.next_if_eq(&"super").is_some() {
            from.pop();
        }
        from.extend(names.map(str::to_owned));
        self.paths.insert(from);
    }

    fn tree(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &with(path.ident.to_string())),
            UseTree::Name(name) => self.path(&with(name.ident.to_string())),
            UseTree::Rename(name) => self.path(&with(name.ident.to_string())),
            UseTree::Glob(_) => {
                self.path(before);
                self.foreign.insert(with("*".to_owned()));
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => self.visit_lit(&Lit::new(literal)),
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Said {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_of_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.within.push(item.ident.to_string());
        syn::visit::visit_item_mod(self, item);
        self.within.pop();
    }

    fn visit_use_tree(&mut self, tree: &'a UseTree) {
        self.tree(tree, &[]);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.path(&names);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'a Attribute) {}

    fn visit_lit(&mut self, literal: &'a Lit) {
        match literal {
            Lit::Str(text) => drop(self.texts.insert(text.value())),
            Lit::ByteStr(text) => drop(self.texts.insert(String::from_utf8_lossy(&text.value()).into_owned())),
            _ => {}
        }
    }
}

#[test]
fn what_is_said_of_a_file_is_found() {
    let mut said = Said { within: vec!["a".into(), "b".into()], ..Said::default() };
    said.visit_file(
        &syn::parse_file(
            r#"
            use crate::{x::y, z::{self, w}};
            use super::super::up as other;
            mod inner { use super::near::*; }
            fn f() { crate::called::f(); if matches!(v, "word" | b"bytes") {} g!(["deep"]); std::fs::read("plain"); }
            #[cfg(test)]
            mod tests { use crate::not; const T: &str = "not"; }
            #[doc = "not"]
            fn g() {}
            "#,
        )
        .unwrap(),
    );
    let paths: Vec<String> = said.paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["a::b::near", "called::f", "up", "x::y", "z::self", "z::w"]);
    assert_eq!(said.texts.iter().collect::<Vec<_>>(), ["bytes", "deep", "plain", "word"]);
}

/// Checks the layers of the modules: no module uses one above it.
#[test]
fn imports_point_downward() {
    let floors: [(&str, &[&str]); 10] = [
        (
            "system",
            &["judge", "ui", "world", "config", "store", "prompt", "collector", "exec", "service", "app", "cli"],
        ),
        ("judge", &["ui", "world", "config", "store", "prompt", "collector", "exec", "service", "app", "cli"]),
        ("ui", &["world", "config", "store", "prompt", "collector", "exec", "service", "app", "cli"]),
        ("world", &["config", "store", "prompt", "collector", "exec", "service", "app", "cli"]),
        ("config", &["world", "store", "prompt", "collector", "exec", "service", "app", "cli"]),
        ("store", &["world", "config", "prompt", "collector", "exec", "service", "app", "cli"]),
        ("prompt", &["world", "config", "store", "collector", "exec", "service", "app", "cli"]),
        ("exec", &["world", "config", "store", "prompt", "collector", "service", "app", "cli"]),
        ("collector", &["world", "config", "store", "prompt", "exec", "service", "app", "cli"]),
        ("service", &["world", "config", "prompt", "collector", "exec", "app", "cli"]),
    ];
    for (floor, above) in floors {
        for file in sources(&root().join("src").join(floor)) {
            for path in &Said::of(&file).paths {
                let upward = path.first().is_some_and(|first| above.contains(&first.as_str()));
                assert!(!upward, "{} uses {}", file.display(), path.join("::"));
            }
        }
    }
}

/// Reports whether a path names a function or type that starts a process.
fn starts_a_process(path: &[String]) -> bool {
    const CALLS: [&str; 9] =
        ["fork", "execv", "execve", "execvp", "execvpe", "fexecve", "posix_spawn", "posix_spawnp", "popen"];
    let names: Vec<&str> = path.iter().map(String::as_str).collect();
    let of_processes =
        names.windows(2).any(|pair| matches!(pair, ["process", "Command" | "CommandExt" | "*"] | ["unistd", "*"]));
    of_processes || names.len() > 1 && names.last().is_some_and(|last| CALLS.contains(last))
}

#[test]
fn programs_are_started_in_one_place() {
    let place = root().join("src/exec");
    let mut started = Vec::new();
    let mut in_place = 0;
    for file in sources(&root().join("src")) {
        let said = Said::of(&file);
        let calls = said.foreign.iter().filter(|path| starts_a_process(path)).map(|path| path.join("::"));
        let calls: Vec<String> = calls.collect();
        if file.starts_with(&place) {
            in_place += calls.len();
        } else {
            started.extend(calls.iter().map(|call| format!("{}: {call}", file.display())));
        }
    }
    assert!(in_place > 5, "the search finds nothing where programs are started");
    assert!(started.is_empty(), "exec::tool starts programs, nothing else does:\n{}", started.join("\n"));
}

#[test]
fn each_way_to_start_a_process_is_seen() {
    let found = |text: &str| {
        let mut said = Said { within: vec!["app".into()], ..Said::default() };
        said.visit_file(&syn::parse_file(text).unwrap());
        said.foreign.iter().any(|path| starts_a_process(path))
    };
    for text in [
        "use std::process::Command;",
        "use std::process::{Child, Command as Other};",
        "use std::{io, process::{self, Command}};",
        "use std::process::*;",
        "use std::process; fn f() { process::Command::new(1); }",
        "fn f() -> std::process::Command { todo!() }",
        "use std::os::unix::process::CommandExt as _;",
        "fn f() { unsafe { libc::fork() }; }",
        "use nix::unistd::{self, execve};",
        "use nix::unistd::*;",
    ] {
        assert!(found(text), "{text}");
    }
    for text in [
        "use std::process::{Child, ExitCode, Stdio};",
        "use clap::Command; fn f() { clap::Command::new(1); }",
        "use crate::command::Command;",
        "#[cfg(test)] mod tests { use std::process::Command; }",
    ] {
        assert!(!found(text), "{text}");
    }
}

/// Returns the top-level module that a path belongs to: `app/ask` for all of `app/ask.rs` and `app/ask/`. For a package
/// that is a single directory, its own modules are returned.
fn unit(path: &[String]) -> Option<(String, String)> {
    let [first, second, ..] = path else { return None };
    let (top, src) = (first.clone(), root().join("src").join(first));
    let exists = src.join(second).is_dir() || src.join(second).with_extension("rs").is_file();
    exists.then(|| (top, second.clone()))
}

#[test]
fn no_two_modules_use_each_other() {
    const PACKAGES: [&str; 6] = ["judge", "ui", "config", "store", "service", "system"];
    let mut uses: BTreeSet<(String, String)> = BTreeSet::new();
    for file in sources(&root().join("src")) {
        let said = Said::of(&file);
        let Some((top, own)) = unit(&said.within) else { continue };
        for path in &said.paths {
            // `crate` means the package of the file's directory, or the program.
            let mut path = path.clone();
            if PACKAGES.contains(&top.as_str()) && path.first() != Some(&top) {
                path.insert(0, top.clone());
            }
            if let Some((there, other)) = unit(&path)
                && there == top
                && other != own
            {
                uses.insert((format!("{top}/{own}"), format!("{top}/{other}")));
            }
        }
    }
    assert!(uses.len() > 200, "the search finds only {} uses", uses.len());
    let mutual = uses.iter().filter(|(one, other)| one < other && uses.contains(&(other.clone(), one.clone())));
    let found: Vec<String> = mutual.map(|(one, other)| format!("{one} {other}")).collect();
    assert!(found.is_empty(), "these use each other; move what both need to the lower one: {found:#?}");
}
