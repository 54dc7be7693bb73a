//! Reads program descriptions, and adds to descriptions that already exist.

use std::borrow::Cow;

use super::body::Body;
use super::shape::{BuildShape, FetchShape, LoadShape, ProgramShape, ReadsShape, TreeShape, UnpackShape, WorksInShape};
use super::spelling::{all_spellings, expand_braces};
use super::{SourceFile, Vocabulary, values};
use crate::judge::document::Located;
use crate::judge::rules::glob;
use crate::judge::rules::model::{
    Build, Console, Fetch, Load, OptionSpec, OutputTaint, Program, Sub, Target, Tree, Unpack, WorksIn,
};
use crate::judge::rules::problem::Problem;
use crate::judge::tier::Tier;

/// Converts a `[[program]]` to its checked form: one description for all new programs, and one for each program that a
/// lower layer already describes, which it extends.
pub fn describe(
    place: SourceFile<'_>,
    given: &Located<ProgramShape>,
    vocabulary: &Vocabulary<'_>,
) -> Result<Vec<Program>, Vec<Problem>> {
    let shape = given.get_ref();
    let owner = format!("program {}", shape.name.get_ref().first().map_or("", String::as_str));
    let mut problems = check_names(place, &owner, shape, vocabulary);
    if !vocabulary.known.may_loosen() {
        let mut fault = |key: &str, what: &str, remedy: &str| {
            problems.push(place.problem(&given.span(), &format!("{owner}: {key}"), what, remedy));
        };
        if shape.tier == Some(Tier::Safe) {
            fault("tier", "a project's pattern file may only tighten", "leave it out");
        }
        if !shape.notes.is_empty() {
            fault("notes", "a project's pattern file may only tighten, and this loosens", "leave it out");
        }
        for (key, given) in [("generated", &shape.generated), ("defaults", &shape.defaults)] {
            if !given.is_empty() {
                fault(key, "a project's pattern file may only tighten, and this loosens", "leave it out");
            }
        }
        let clean = |output: &Located<OutputTaint>| matches!(output.get_ref(), OutputTaint::Own | OutputTaint::Code);
        let outputs = shape.sub.iter().map(|sub| sub.get_ref().output.as_ref()).chain([shape.output.as_ref()]);
        let mut outputs = outputs.flatten();
        let says = !shape.dry_run.is_empty() || !shape.prints_code.is_empty() || outputs.any(clean);
        let moves_nothing = shape.renames == Some(false);
        let makes = shape.makes == Some(true)
            || shape.copies == Some(true)
            || moves_nothing
            || shape.sub.iter().any(|sub| sub.get_ref().makes);
        let files = shape.files.is_some() || shape.sub.iter().any(|sub| sub.get_ref().files.is_some());
        let terminals = shape.sub.iter().any(|sub| sub.get_ref().terminal.is_some());
        if says || makes || files || terminals || !shape.prints.is_empty() || shape.works_in.is_some() {
            let what = "a project's pattern file may only tighten; \
                        `dry_run`, `prints`, `prints_code`, `output`, `makes`, `copies`, `renames = false`, `files`, `terminal` \
                        and `works_in` loosen";
            fault("dry_run or output", what, "move the description to your own pattern files");
        }
    }
    // A project's description of an unknown program does not prove that the program leaves the user's work in place.
    let mut fresh = Program { renames: !vocabulary.known.may_loosen(), ..Program::default() };
    let mut programs = Vec::new();
    for entry in shape.name.get_ref() {
        let known = entry.split('|').find_map(|name| Some((name, vocabulary.known.program(name)?)));
        match known {
            None => add_names(&mut fresh, entry),
            Some((name, known)) => {
                let mut program = known.into_owned();
                let same: Vec<String> =
                    program.names.iter().filter(|other| program.is_same(name, other)).cloned().collect();
                program.aliases = (1..same.len()).filter_map(|index| Some((u16::try_from(index).ok()?, 0))).collect();
                program.names = same;
                let first = program.names.first().cloned().unwrap_or_default();
                let more = entry.split('|').filter(|name| !program.names.iter().any(|known| known == name));
                let all = std::iter::once(first.as_str()).chain(more).collect::<Vec<_>>().join("|");
                add_names(&mut program, &all);
                programs.push(program);
            }
        }
    }
    if !fresh.names.is_empty() {
        programs.insert(0, fresh);
    }
    for program in &mut programs {
        let mut body =
            Body { place, owner: owner.clone(), style: shape.style.unwrap_or(program.style), problems: Vec::new() };
        extend(program, shape, &mut body);
        // The same errors for another program are not reported again.
        if problems.is_empty() {
            problems = body.problems;
        }
    }
    if problems.is_empty() { Ok(programs) } else { Err(problems) }
}

fn check_names(place: SourceFile<'_>, owner: &str, shape: &ProgramShape, vocabulary: &Vocabulary<'_>) -> Vec<Problem> {
    let span = shape.name.span();
    let mut problems = Vec::new();
    let mut fault = |what: &str, remedy: &str| {
        problems.push(place.problem(&span, &format!("{owner}: name"), what, remedy));
    };
    let (names, _) = spellings(shape.name.get_ref());
    if names.is_empty() || names.iter().any(|name| name.is_empty() || name.contains(' ')) {
        fault("a name is missing or holds a blank", "name the program without a directory");
    }
    if names.first().is_some_and(|name| glob::is_glob(name)) {
        fault("the first name is a glob", "put a plain name first");
    }
    for (index, name) in names.iter().enumerate() {
        if names.iter().take(index).any(|other| other == name) {
            fault(&format!("`{name}` is named twice"), "keep one");
        }
        if vocabulary.own.contains_key(name) {
            fault(&format!("`{name}` is described twice"), "keep one description");
        } else if vocabulary.known.closed(name) {
            let what = format!("`{name}` is described by this machine's own pattern files");
            fault(&what, "ask who administers it");
        } else if !vocabulary.known.may_loosen() && vocabulary.known.program(name).is_some() {
            let what = format!("`{name}` is described already, and a project's pattern file may only tighten");
            fault(&what, "add rules instead");
        }
    }
    problems
}

/// Adds `name|other spelling` to the names of a program. The first may already be one of them.
fn add_names(program: &mut Program, entry: &str) {
    let mut first = None;
    for name in entry.split('|') {
        let index = program.names.iter().position(|known| known == name).unwrap_or_else(|| {
            program.names.push(name.to_owned());
            program.names.len() - 1
        });
        match (first, u16::try_from(index)) {
            (None, Ok(index)) => first = Some(index),
            (Some(first), Ok(index)) => program.aliases.push((index, first)),
            (_, Err(_)) => {}
        }
    }
}

fn extend(program: &mut Program, shape: &ProgramShape, body: &mut Body<'_>) {
    program.facts_alone = false;
    program.tier = shape.tier.unwrap_or(program.tier);
    program.style = body.style;
    program.options.extend(body.options(&shape.options));
    let globals = program.options.clone();
    let scope: Vec<&OptionSpec> = globals.iter().collect();
    program.dry_run.extend(body.flags("dry_run", &shape.dry_run, &scope));
    program.effects.extend(shape.effects.iter().filter_map(|effect| body.effect(effect, &scope)));
    program.wraps.extend(shape.wraps.iter().filter_map(|wrap| body.wrap(wrap, &scope)));
    program.runs = shape.runs.as_ref().map(|runs| body.runs(runs.get_ref(), &scope)).or(program.runs.take());
    let command: Vec<String> = values(&shape.command).map(|(word, _)| word.to_owned()).collect();
    program.command = if command.is_empty() { std::mem::take(&mut program.command) } else { command };
    program.prints_code.extend(body.flags("prints_code", &shape.prints_code, &scope));
    program.output = shape.output.as_ref().map_or(program.output, |output| *output.get_ref());
    let spelled =
        |given: &[Located<String>]| all_spellings(given.iter().flat_map(|name| name.get_ref().split('|')), &scope);
    program.chdir.extend(spelled(&shape.chdir));
    program.mounts.extend(spelled(&shape.mounts));
    program.defaults.extend(shape.defaults.iter().cloned());
    program.generated.extend(shape.generated.iter().cloned());
    program.notes.extend(shape.notes.iter().flat_map(|glob| expand_braces(glob)));
    program.resumes.extend(body.flags("resumes", &shape.resumes, &scope));
    program.prints.extend(shape.prints.iter().map(|prints| body.prints(prints.get_ref())));
    program.bins.extend(shape.bins.iter().cloned());
    program.follows.extend(&shape.follows);
    program.lists = shape.lists.as_ref().map(|lists| lists.get_ref().clone()).or(program.lists.take());
    program.makes = shape.makes.unwrap_or(program.makes);
    program.renames = shape.renames.unwrap_or(program.renames);
    program.chooses |= shape.chooses.unwrap_or_default();
    program.copies = shape.copies.unwrap_or(program.copies);
    program.parents.extend(spelled(&shape.parents));
    program.merges = shape.merges.unwrap_or(program.merges);
    program.as_argument = shape.as_argument.clone().or(program.as_argument.take());
    program.files = shape.files.as_ref().map_or(program.files, |files| *files.get_ref());
    if let Some(place) = &shape.works_in {
        let WorksInShape { flags, env, here } = place.get_ref();
        program.works_in = Some(WorksIn { flags: spelled(flags), env: env.clone(), here: *here });
    }
    if let Some(tree) = &shape.tree {
        let TreeShape { changes, moves } = tree.get_ref();
        program.tree = Some(Tree { changes: changes.clone(), moves: moves.clone() });
    }
    if let Some(target) = &shape.target {
        let target = target.get_ref();
        program.target = Some(Target {
            flags: all_spellings(values(&target.flags).map(|(name, _)| name), &scope),
            operands: target.operands,
            env: target.env.clone(),
        });
    }
    program.compiles = shape.compiles.unwrap_or(program.compiles);
    if !shape.sub.is_empty() {
        let mut subs: Vec<Sub> = program.subs.iter().cloned().collect();
        for sub in &shape.sub {
            add_sub(&mut subs, body.sub(sub, &globals));
        }
        program.subs = subs.into();
    }
}

/// Returns the description of a program in this set of files, for changes: its own, else a copy of that from the layers
/// below, else an empty one.
fn own<'a>(name: &str, vocabulary: &mut Vocabulary<'_>, programs: &'a mut Vec<Program>) -> Option<&'a mut Program> {
    let number = vocabulary.own.get(name).copied().unwrap_or_else(|| {
        let known = vocabulary.known.program(name).map(Cow::into_owned);
        let fresh = Program { tier: Tier::Low, facts_alone: true, ..Program::default() };
        programs.push(Program { names: vec![name.to_owned()], aliases: Vec::new(), ..known.unwrap_or(fresh) });
        vocabulary.own.insert(name.to_owned(), programs.len() - 1);
        programs.len() - 1
    });
    programs.get_mut(number)
}

/// Adds a fact to a list in the descriptions of these programs, once in each.
fn add<T: Clone + PartialEq>(
    names: &[String],
    fact: &T,
    list: impl Fn(&mut Program) -> &mut Vec<T>,
    vocabulary: &mut Vocabulary<'_>,
    programs: &mut Vec<Program>,
) {
    for name in names {
        if let Some(list) = own(name, vocabulary, programs).map(&list)
            && !list.contains(fact)
        {
            list.push(fact.clone());
        }
    }
}

/// Adds the downloads of programs to their descriptions.
pub fn add_fetches(given: &Located<FetchShape>, vocabulary: &mut Vocabulary<'_>, programs: &mut Vec<Program>) {
    let shape = given.get_ref();
    let fetch = Fetch {
        programs: shape.program.get_ref().clone(),
        words: shape.words.clone(),
        options: shape.options.clone(),
        into: shape.into.as_ref().map(|into| *into.get_ref()).unwrap_or_default(),
        directory: shape.directory.clone(),
        elsewhere: shape.elsewhere,
    };
    add(shape.program.get_ref(), &fetch, |program| &mut program.fetches, vocabulary, programs);
}

/// Adds what programs unpack to their descriptions.
pub fn add_unpacks(given: &Located<UnpackShape>, vocabulary: &mut Vocabulary<'_>, programs: &mut Vec<Program>) {
    let shape = given.get_ref();
    let unpack = Unpack {
        programs: shape.program.get_ref().clone(),
        kind: shape.kind.as_ref().map(|kind| *kind.get_ref()).unwrap_or_default(),
        words: shape.words.clone(),
        options: shape.options.clone(),
        unless: shape.unless.clone(),
        strip: shape.strip,
    };
    add(shape.program.get_ref(), &unpack, |program| &mut program.unpacks, vocabulary, programs);
}

/// Adds the runs in which programs execute the code of a project to their descriptions.
pub fn add_builds(
    place: SourceFile<'_>,
    given: &Located<BuildShape>,
    vocabulary: &mut Vocabulary<'_>,
    programs: &mut Vec<Program>,
) -> Result<(), Problem> {
    if !vocabulary.known.may_loosen() {
        // Files that were built no longer count as unpacked from an archive.
        let what = "a project's pattern file may only tighten, and this loosens";
        return Err(place.problem(&given.span(), "builds", what, "leave it out"));
    }
    let shape = given.get_ref();
    let build = Build {
        programs: shape.program.get_ref().clone(),
        words: shape.words.clone(),
        bare: shape.bare,
        named: shape.named,
        installs: shape.installs,
    };
    add(shape.program.get_ref(), &build, |program| &mut program.builds, vocabulary, programs);
    Ok(())
}

/// Adds the runs in which programs read commands from a terminal to their descriptions.
pub fn add_consoles(given: &Located<Console>, vocabulary: &mut Vocabulary<'_>, programs: &mut Vec<Program>) {
    let console = given.get_ref();
    add(&console.programs, console, |program| &mut program.consoles, vocabulary, programs);
}

/// Adds to the descriptions of programs that they do not run the code that they are given.
pub fn add_reads(
    place: SourceFile<'_>,
    given: &Located<ReadsShape>,
    vocabulary: &mut Vocabulary<'_>,
    programs: &mut Vec<Program>,
) -> Result<(), Problem> {
    if !vocabulary.known.may_loosen() {
        let what = "a project's pattern file may only tighten, and this loosens";
        return Err(place.problem(&given.span(), "reads", what, "leave it out"));
    }
    for name in given.get_ref().program.get_ref() {
        if let Some(program) = own(name, vocabulary, programs) {
            program.runs_nothing = true;
        }
    }
    Ok(())
}

/// Adds the files that programs load to their descriptions. A program without a description gets an empty one.
pub fn add_loads(
    place: SourceFile<'_>,
    given: &Located<LoadShape>,
    vocabulary: &mut Vocabulary<'_>,
    programs: &mut Vec<Program>,
) -> Result<(), Problem> {
    let shape = given.get_ref();
    let plain =
        |names: &[Located<String>]| values(names).flat_map(|(names, _)| names.split('|')).map(str::to_owned).collect();
    let load = Load {
        programs: shape.program.get_ref().clone(),
        language: shape.language.clone().unwrap_or_default(),
        options: plain(&shape.options),
        within: shape.within.clone(),
        operands: shape.operands,
        variables: shape.variables.clone(),
        arguments: shape.arguments.clone(),
        under: shape.under.clone(),
        search: shape.search.clone(),
        separator: shape.separator.clone().unwrap_or_default(),
        files: shape.files.clone(),
        endings: shape.endings.clone(),
        words: shape.words.clone(),
        unless: shape.unless.clone(),
        changed: shape.changed,
        session: shape.session,
        listed: shape.listed,
        compiles: shape.compiles,
        stdin: shape.stdin,
        lines: shape.lines.iter().map(|line| line.get_ref().clone()).collect(),
        file_keys: shape.file_keys.clone(),
        bases: shape.bases.clone(),
        code_keys: shape.code_keys.clone(),
        option_keys: shape.option_keys.clone(),
        requirements: shape.requirements.iter().map(|line| line.get_ref().clone()).collect(),
        locks: shape.locks.clone(),
        comment: shape.comment.clone().unwrap_or_default(),
        tasks: shape.tasks.as_ref().map(|tasks| *tasks.get_ref()).unwrap_or_default(),
        module: shape.module.as_ref().map(|module| module.get_ref().clone()),
    };
    let file = !load.options.is_empty() || load.operands || !load.variables.is_empty() || !load.files.is_empty();
    if !file && !load.stdin && load.module.is_none() && load.arguments.is_empty() {
        let (what, remedy) = (
            "it does not specify what is loaded",
            "give options, operands, variables, files, arguments, stdin or module",
        );
        return Err(place.problem(&given.span(), "loads", what, remedy));
    }
    for name in shape.program.get_ref() {
        let Some(program) = own(name, vocabulary, programs) else { continue };
        let scope: Vec<&OptionSpec> = program.options.iter().collect();
        let options = all_spellings(load.options.iter().map(String::as_str), &scope);
        let load = Load { options, ..load.clone() };
        if !program.loads.contains(&load) {
            program.loads.push(load);
        }
    }
    Ok(())
}

/// Returns the names of a list whose entries are `name` or `name|other spelling`, and the pairs of the indices of
/// another spelling and its canonical name.
pub fn spellings(given: &[String]) -> (Vec<String>, Vec<(usize, usize)>) {
    let (mut names, mut aliases) = (Vec::new(), Vec::new());
    for entry in given {
        let first = names.len();
        for name in entry.split('|') {
            if names.len() > first {
                aliases.push((names.len(), first));
            }
            names.push(name.to_owned());
        }
    }
    (names, aliases)
}

/// Adds a description of subcommands. It extends the existing descriptions of those that already have one.
fn add_sub(subs: &mut Vec<Sub>, sub: Sub) {
    let mut rest = sub.clone();
    for path in &sub.paths {
        let Some(at) = subs.iter().position(|known| known.paths.contains(path)) else { continue };
        rest.paths.retain(|other| other != path);
        rest.aliases.clear();
        let Some(known) = subs.get_mut(at) else { continue };
        if known.paths.len() == 1 {
            merge(known, sub.clone());
            continue;
        }
        // The existing description covers other subcommands too, so this one gets its own copy.
        let mut own = Sub { paths: vec![path.clone()], aliases: Vec::new(), ..known.clone() };
        if let Some(canonical) = known.canonical(path).filter(|canonical| *canonical != path.as_slice()) {
            own.paths = vec![canonical.to_vec(), path.clone()];
            own.aliases = vec![(1, 0)];
        }
        merge(&mut own, sub.clone());
        subs.insert(at, own);
    }
    if !rest.paths.is_empty() {
        subs.push(rest);
    }
}

/// Extends the description of a subcommand.
fn merge(known: &mut Sub, more: Sub) {
    known.tier = more.tier.or(known.tier);
    known.options.extend(more.options);
    known.dry_run.extend(more.dry_run);
    known.effects.extend(more.effects);
    known.wraps.extend(more.wraps);
    known.runs = more.runs.or(known.runs.take());
    known.output = more.output.or(known.output);
    known.makes |= more.makes;
    known.files = more.files.or(known.files);
    known.compiles = more.compiles.or(known.compiles);
    known.terminal = more.terminal.or(known.terminal.take());
}
