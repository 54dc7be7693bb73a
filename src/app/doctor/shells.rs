//! Checks of the shells that guard replaces: which variables and names lead to guard, and whether it refuses there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{CANARY, CheckContext, Finding};
use crate::app::engine;
use crate::app::install::json;
use crate::app::install::{file, hosts};
use crate::judge::agents;
use crate::judge::agents::model::Agent;
use crate::world::programs::ProgramSearch;

/// Checks every entry point of a shell that can lead to guard.
pub fn check(context: &CheckContext) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, path, must, of) in ways(context) {
        let check = format!("shell.{name}");
        if !context.wants(&check) {
            continue;
        }
        if !context.is_guard(&path) {
            if must && !path.exists() {
                let says = format!("{} is configured but does not exist", path.display());
                findings
                    .push(Finding::fail(check, says, "run guard install shims, or remove the setting").about(&path));
            }
            continue;
        }
        let text = path.to_string_lossy();
        let passed_over = |of: &&Agent| {
            let named = &of.shell.named;
            !named.is_empty() && !named.iter().any(|name| text.contains(name.as_str()))
        };
        if let Some(of) = of.filter(passed_over) {
            let names = of.shell.named.join(" nor ");
            let says =
                format!("{} ignores a shell whose path contains neither {names}, and runs without guard", of.title);
            findings.push(
                Finding::fail(check, says, "run guard install shims, and configure the link called bash").about(&path),
            );
            continue;
        }
        findings.push(tried(context, check, &path));
    }
    if findings.is_empty() && context.wants("shells") {
        findings.push(Finding::ok("shells", "none is replaced by guard (guard install shims)"));
    }
    findings
}

/// Returns the entry points: the name, the path it leads to, whether it was configured on purpose, and the agent.
fn ways(context: &CheckContext) -> Vec<(String, PathBuf, bool, Option<&'static Agent>)> {
    let caller = &context.engine.caller;
    let mut ways = Vec::new();
    let own = agents::all().flat_map(|agent| agent.shell.from.iter().map(move |name| (name.as_str(), Some(agent))));
    let own = own.filter(|(name, _)| !matches!(*name, "SHELL" | "passwd"));
    for (name, of) in [("SHELL", None)].into_iter().chain(own) {
        if let Some(path) = caller.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute()) {
            ways.push((name.to_owned(), path, name != "SHELL", of));
        }
    }
    let search = ProgramSearch::new(&caller.env, &caller.cwd);
    for name in ["bash", "sh", "zsh"] {
        if let Ok(Some(path)) = search.find(name) {
            ways.push((format!("PATH.{name}"), PathBuf::from(path), false, None));
        }
    }
    let text_at = |path: &Path, keys: &[String]| {
        let root = json::parse(&file::read(path).ok()??).ok()?;
        keys.iter().try_fold(&root, |node, key| node.get(key))?.text().map(PathBuf::from)
    };
    for host in hosts::HOSTS.iter() {
        let Some((file, keys)) = &host.agent.shell.settings else { continue };
        let named = text_at(&context.places.directory(host).join(file), keys);
        // A variable has the same name for every agent.
        let name = keys.last().filter(|key| key.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
        let name = name.map_or_else(|| host.name.to_owned(), |name| format!("{name}.settings"));
        ways.extend(named.map(|path| (name, path, true, Some(host.agent))));
    }
    if let Ok(paths) = engine::paths() {
        let directory = paths.directory().join("shims");
        let links = ["bash", "sh", "zsh"].map(|name| directory.join(name));
        let there = links.into_iter().filter(|link| link.symlink_metadata().is_ok());
        ways.extend(
            there.map(|link| (format!("shims.{}", link.file_name().unwrap_or_default().display()), link, true, None)),
        );
    }
    ways
}

/// Runs this shell as a program would, once with the command that must be refused and once with one that must pass.
fn tried(context: &CheckContext, check: String, path: &Path) -> Finding {
    let argv = |text: &str| [path.as_os_str().to_owned(), "-c".into(), text.into()] as [OsString; 3];
    let remedy = "see the other findings; guard install shims creates the links again";
    let refused = match context.tried(&argv(CANARY), "") {
        Ok(seen) => seen,
        Err(error) => return Finding::fail(check, format!("cannot start it: {error}"), remedy).about(path),
    };
    if refused.code != Some(126) || !refused.stderr.contains("guard.canary") {
        let first = refused.stderr.lines().next().unwrap_or_default();
        let code = refused.code.map_or("none".to_owned(), |code| code.to_string());
        let says =
            format!("as this shell guard did not refuse a command that it must refuse: exit code {code}, {first}");
        return Finding::fail(check, says, remedy).about(path);
    }
    match context.tried(&argv("echo free; exit 7"), "") {
        Ok(seen) if seen.code == Some(7) && seen.stdout == "free\n" => {
            Finding::ok(check, "a dangerous test command was refused, and a harmless one ran").about(path)
        }
        Ok(seen) => {
            let first = seen.stderr.lines().next().unwrap_or_default();
            Finding::fail(check, format!("as this shell guard did not run a command that it must run: {first}"), remedy)
                .about(path)
        }
        Err(error) => Finding::fail(check, format!("cannot start it: {error}"), remedy).about(path),
    }
}
