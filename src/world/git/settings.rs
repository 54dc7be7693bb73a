//! Facts about a repository as a whole: branches, remotes, aliases.

use std::path::{Path, PathBuf};

use super::config::{Config, Setting};
use super::history;
use super::open::Repository;
use super::refs::Target;
use crate::judge::analysis::question::RepositoryFacts;
use crate::judge::invocation::Environment;
use crate::world::{FactResult, UnknownFact};

/// The system-wide configuration files of common installations.
const SYSTEM: &[&str] = &["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// Maximum number of settings in `GIT_CONFIG_COUNT`.
const MAX_ANNOUNCED: usize = 1000;

/// Maximum number of settings of aliases, of remotes and of rules that rewrite URLs.
const MAX_NAMES: usize = 1000;

/// Returns the facts about a repository.
///
/// # Errors
///
/// Its configuration, the user's or the system's cannot be read.
pub fn describe(repository: &Repository, env: &Environment) -> FactResult<RepositoryFacts> {
    let config = all(repository, env)?;
    if ["alias", "remote", "url"].iter().any(|section| config.section(section).count() > MAX_NAMES) {
        return Err(UnknownFact);
    }
    let root = repository.root.as_ref().unwrap_or(&repository.git_dir);
    let remotes = remotes(&config);
    Ok(RepositoryFacts {
        root: root.to_str().ok_or(UnknownFact)?.to_owned(),
        branch: repository.branch().map(str::to_owned),
        default_branch: default_branch(repository, &remotes)?,
        aliases: aliases(&config),
        pushed: pushed(repository, &config)?,
        remotes,
    })
}

/// Returns all settings that git would read: the system's, the user's and the repository's configuration, and the
/// environment.
///
/// # Errors
///
/// A part of it cannot be read.
pub fn all(repository: &Repository, env: &Environment) -> FactResult<Config> {
    let mut config = Config::default();
    let include_context = &repository.include_context;
    if env.get("GIT_CONFIG_NOSYSTEM").is_none_or(|value| matches!(value, "" | "0" | "false" | "no" | "off")) {
        match env.get("GIT_CONFIG_SYSTEM") {
            Some(file) => config.add_file(Path::new(file), include_context)?,
            None => SYSTEM.iter().try_for_each(|file| config.add_file(Path::new(file), include_context))?,
        }
    }
    let home = env.get("HOME").map(PathBuf::from);
    if let Some(file) = env.get("GIT_CONFIG_GLOBAL") {
        config.add_file(Path::new(file), include_context)?;
    } else {
        let xdg = env.get("XDG_CONFIG_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
        if let Some(dir) = xdg.or_else(|| home.as_ref().map(|home| home.join(".config"))) {
            config.add_file(&dir.join("git/config"), include_context)?;
        }
        if let Some(home) = &home {
            config.add_file(&home.join(".gitconfig"), include_context)?;
        }
    }
    config.add_file(&repository.common_dir.join("config"), include_context)?;
    if config.get("extensions", "worktreeconfig").is_some_and(|setting| setting.truth().unwrap_or(true)) {
        config.add_file(&repository.git_dir.join("config.worktree"), include_context)?;
    }
    announced(&mut config, env)?;
    Ok(config)
}

/// Adds the settings in the environment.
fn announced(config: &mut Config, env: &Environment) -> FactResult<()> {
    // `git -c` passes settings to its child processes in a quoting of its own, which is not parsed: only the absence of
    // relevant settings is checked.
    let says = |text: &str| ["alias.", "remote.", "branch.", "url."].iter().any(|section| text.contains(section));
    if env.get("GIT_CONFIG_PARAMETERS").is_some_and(|text| says(&text.to_ascii_lowercase())) {
        return Err(UnknownFact);
    }
    let Some(count) = env.get("GIT_CONFIG_COUNT").filter(|count| !count.is_empty()) else { return Ok(()) };
    let count: usize = count.parse().map_err(|_| UnknownFact)?;
    if count > MAX_ANNOUNCED {
        return Err(UnknownFact);
    }
    for number in 0..count {
        let key = env.get(&format!("GIT_CONFIG_KEY_{number}")).ok_or(UnknownFact)?;
        let value = env.get(&format!("GIT_CONFIG_VALUE_{number}")).ok_or(UnknownFact)?;
        config.add(key, Some(value));
    }
    Ok(())
}

/// Returns the aliases `alias.NAME` and `alias.NAME.command`, with names in lower case, because git ignores their case.
fn aliases(config: &Config) -> Vec<(String, String)> {
    let mut aliases: Vec<(String, String)> = Vec::new();
    for setting in config.section("alias") {
        let name = match (&setting.subsection, setting.key.as_str()) {
            (None, key) => key.to_owned(),
            (Some(name), "command") => name.to_ascii_lowercase(),
            _ => continue,
        };
        let Some(value) = setting.value.clone() else { continue };
        match aliases.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => aliases.push((name, value)),
        }
    }
    aliases
}

/// Returns each remote with every URL that it is fetched from or pushed to, rewritten by `url.….insteadOf`.
fn remotes(config: &Config) -> Vec<(String, String)> {
    let mut remotes = Vec::new();
    for setting in config.section("remote") {
        let (Some(name), Some(value)) = (&setting.subsection, &setting.value) else { continue };
        let rewritten = match setting.key.as_str() {
            "url" => [Some(rewrite(config, value, "insteadof")), Some(rewrite(config, value, "pushinsteadof"))],
            "pushurl" => [Some(rewrite(config, value, "insteadof")), None],
            _ => continue,
        };
        for (position, url) in rewritten.into_iter().flatten().enumerate() {
            // The second URL is the target of pushes, and is listed only if a rule rewrote it.
            let row = (name.clone(), url);
            if (position == 0 || row.1 != *value) && !remotes.contains(&row) {
                remotes.push(row);
            }
        }
    }
    remotes
}

/// Replaces the longest prefix of the URL for which there is a rule of this kind.
fn rewrite(config: &Config, url: &str, kind: &str) -> String {
    let rules = config.section("url").filter(|setting| setting.key == kind);
    let matching = rules.filter_map(|Setting { subsection, value, .. }| {
        let prefix = value.as_deref().filter(|prefix| url.starts_with(prefix))?;
        Some((prefix.len(), subsection.as_deref()?))
    });
    match matching.max_by_key(|(length, _)| *length) {
        Some((length, base)) => format!("{base}{}", url.get(length..).unwrap_or_default()),
        None => url.to_owned(),
    }
}

/// Returns the branch that the HEAD of `origin`, or else of the first remote, names.
fn default_branch(repository: &Repository, remotes: &[(String, String)]) -> FactResult<Option<String>> {
    let first = remotes.iter().find(|(name, _)| name == "origin").or(remotes.first());
    let Some((remote, _)) = first else { return Ok(None) };
    let prefix = format!("refs/remotes/{remote}/");
    match repository.refs.read(&format!("{prefix}HEAD")) {
        Ok(Some(Target::Symbolic(name))) => Ok(name.strip_prefix(&prefix).map(str::to_owned)),
        // The name of a remote may be invalid as the name of a reference.
        Ok(_) | Err(UnknownFact) => Ok(None),
    }
}

/// Reports whether the upstream contains all commits of HEAD. If the walk is too long, the answer is `true`, because
/// rewriting pushed commits is the more severe case.
fn pushed(repository: &Repository, config: &Config) -> FactResult<Option<bool>> {
    let Some(upstream) = upstream(repository, config) else { return Ok(None) };
    let (Some(head), Some(upstream)) = (repository.refs.resolve("HEAD")?, repository.refs.resolve(&upstream)?) else {
        return Ok(None);
    };
    let compared = history::compare(repository.objects()?, head, upstream, history::MAX_COMMITS)?;
    Ok(Some(compared.is_none_or(|divergence| divergence.left == 0)))
}

/// Returns the reference that tracks the upstream of the current branch; `None` without an upstream, or if it is a
/// local branch.
pub fn upstream(repository: &Repository, config: &Config) -> Option<String> {
    upstream_of(config, repository.branch()?)
}

/// Returns the reference that tracks the upstream of a local branch.
#[must_use]
pub fn upstream_of(config: &Config, branch: &str) -> Option<String> {
    let remote = config.get_in("branch", branch, "remote").filter(|remote| *remote != ".")?;
    let merge = config.get_in("branch", branch, "merge")?;
    let fetches = config
        .section("remote")
        .filter(|setting| setting.key == "fetch" && setting.subsection.as_deref() == Some(remote));
    fetches.filter_map(|setting| setting.value.as_deref()).find_map(|spec| follow(spec, merge))
}

/// Returns the name under which a fetch specification (`+refs/heads/*:refs/remotes/origin/*`) stores a reference of the
/// remote.
fn follow(spec: &str, name: &str) -> Option<String> {
    let (from, to) = spec.strip_prefix('+').unwrap_or(spec).split_once(':')?;
    match (from.split_once('*'), to.split_once('*')) {
        (Some((before, after)), Some((to_before, to_after))) => {
            let middle = name.strip_prefix(before)?.strip_suffix(after)?;
            Some(format!("{to_before}{middle}{to_after}"))
        }
        (None, None) => (from == name).then(|| to.to_owned()),
        _ => None,
    }
}
