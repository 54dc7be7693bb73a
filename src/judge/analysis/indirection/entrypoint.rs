//! Containers that are started with another program than that of the image: the arguments after the image are its
//! arguments.

use crate::judge::analysis::act::{Remote, RemoteKind};
use crate::judge::analysis::arguments::{Arg, InnerCommand, InnerText};
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::rules::model::Added;

/// Returns the command in a container that is started with `run --entrypoint PROGRAM IMAGE ARGUMENT…`.
pub(super) fn started(ran: ProgramRun<'_>) -> Option<InnerCommand> {
    let ProgramRun { reading, args, .. } = ran;
    let flag = reading.flags.iter().rev().find(|flag| flag.name == "--entrypoint")?;
    let program = flag.value.as_ref().filter(|program| !program.is_empty())?;
    let image = reading.operands.first()?;
    let at = args.iter().position(|arg| arg.span == image.span && arg.value == image.value)?;
    let started = Arg::word(program.clone(), flag.span);
    let rest = args.iter().skip(at + 1).map(|arg| Arg::word(arg.value.clone(), arg.span));
    Some(InnerCommand {
        what: InnerText::Argv(std::iter::once(started).chain(rest).collect()),
        words: Vec::new(),
        positional: Vec::new(),
        env: Vec::new(),
        root: false,
        remote: Some(Remote { kind: RemoteKind::Container, name: None, fresh: true }),
        adds: Added::Nothing,
        replace: None,
    })
}
