//! Evidence about commits that would be dropped.

use super::{EvidenceWalk, has, texts, words};
use crate::judge::analysis::act::Act;
use crate::world::FactResult;
use crate::world::git::config::Config;
use crate::world::git::open::Repository;
use crate::world::git::{history, revision, settings};
use crate::world::paths::{self, Content};

/// Maximum number of commits that are read for one sentence.
const MAX_COMMITS: usize = 2_000;

/// Maximum length of the list of stashes that is read.
const MAX_STASHES: usize = 1024 * 1024;

/// Handles `git push` with force: the commits of the remote branch that would no longer be on it, according to the last
/// fetch.
pub(super) fn push(look: &mut EvidenceWalk<'_>, repository: &Repository, act: &Act) -> FactResult<()> {
    let config = look.world.git.config(repository)?;
    let operands = texts(act);
    let force = has(act, &["-f", "--force", "--force-with-lease", "--mirror"]);
    let delete = has(act, &["-d", "--delete"]);
    let branch = repository.branch();
    let remote = operands
        .first()
        .cloned()
        .or_else(|| branch.and_then(|branch| config.get_in("branch", branch, "remote")).map(str::to_owned));
    let remote = remote.unwrap_or_else(|| "origin".to_owned());
    let specs: Vec<String> = match operands.get(1..) {
        Some(specs) if !specs.is_empty() => specs.to_vec(),
        _ => branch.map(str::to_owned).into_iter().collect(),
    };
    for spec in &specs {
        let forced = force || spec.starts_with('+');
        let spec = spec.trim_start_matches('+');
        let (source, target) = spec.split_once(':').unwrap_or((spec, spec));
        let target = if target == "HEAD" { branch.unwrap_or(target) } else { target };
        let target = target.strip_prefix("refs/heads/").unwrap_or(target);
        let source = if delete || source.is_empty() { "HEAD" } else { source };
        if forced || delete || spec.starts_with(':') {
            dropped(look, repository, &config, &format!("{remote}/{target}"), source, ", as of the last fetch")?;
        }
    }
    Ok(())
}

/// Handles `git reset`: the commits of the branch that the target does not have.
pub(super) fn reset(look: &mut EvidenceWalk<'_>, repository: &Repository, act: &Act) -> FactResult<()> {
    let config = look.world.git.config(repository)?;
    let operands = texts(act);
    let Some(target) = operands.first().filter(|target| *target != "HEAD") else { return Ok(()) };
    dropped(look, repository, &config, "HEAD", target, "")
}

/// Handles `git branch -D`: the commits of each branch that HEAD does not have.
pub(super) fn branches(look: &mut EvidenceWalk<'_>, repository: &Repository, act: &Act) -> FactResult<()> {
    let config = look.world.git.config(repository)?;
    let remote = if has(act, &["-r", "--remotes"]) { "refs/remotes/" } else { "refs/heads/" };
    for branch in texts(act) {
        let name = format!("{remote}{branch}");
        let upstream = settings::upstream_of(&config, &branch);
        let pushed = upstream.map(|upstream| repository.refs.resolve(&upstream)).transpose()?.flatten();
        let Some(tip) = repository.refs.resolve(&name)? else { continue };
        if let Some(pushed) = pushed
            && history::compare(repository.objects()?, tip, pushed, MAX_COMMITS)?
                .is_some_and(|divergence| divergence.left == 0)
        {
            look.say(format!("all commits of {} are on its upstream", words::name(branch.as_ref())));
            continue;
        }
        dropped(look, repository, &config, &name, "HEAD", "")?;
    }
    Ok(())
}

/// Handles `git stash drop` and `clear`: the number of stashes.
pub(super) fn stashes(look: &mut EvidenceWalk<'_>, repository: &Repository, all: bool) -> FactResult<()> {
    let Content::Bytes(log) = paths::read(&repository.common_dir.join("logs/refs/stash"), MAX_STASHES) else {
        return Ok(());
    };
    let number = log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    if number > 0 {
        let count = words::count(number, "stash", "stashes");
        look.say(if all { format!("drops {count}") } else { format!("drops one of {count}") });
    }
    Ok(())
}

/// Adds a sentence about the number of commits that `from` reaches and `to` does not.
fn dropped(
    look: &mut EvidenceWalk<'_>,
    repository: &Repository,
    config: &Config,
    from: &str,
    to: &str,
    since: &str,
) -> FactResult<()> {
    let (Some(left), Some(right)) =
        (revision::commit(repository, config, from)?, revision::commit(repository, config, to)?)
    else {
        return Ok(());
    };
    let shown = |name: &str| words::name(name.trim_start_matches("refs/heads/").as_ref());
    let (from, to) = (shown(from), shown(to));
    let compared = history::compare(repository.objects()?, left, right, MAX_COMMITS)?;
    look.truncated |= compared.is_none();
    look.say(match compared {
        None => format!("{from} and {to} are too far apart to count what is dropped"),
        Some(divergence) if divergence.left == 0 => format!("{from} has no commit that {to} has not{since}"),
        Some(divergence) => {
            format!("{from} has {} that {to} has not{since}", words::count(divergence.left, "commit", "commits"))
        }
    });
    Ok(())
}
