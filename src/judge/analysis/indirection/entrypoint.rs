//! Containers that are started with another program than that of the image: the arguments after the image are its
//! arguments.

use crate::judge::analysis::act::{Remote, RemoteKind};
use crate::judge::analysis::arguments::{Arg, InnerCommand, InnerText, Reading};
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::state::State;
use crate::judge::analysis::walk::Walker;
use crate::judge::rules::model::Added;

impl Walker<'_> {
    /// Walks `docker run --entrypoint PROGRAM IMAGE ARGUMENT…`.
    #[inline(never)]
    pub(super) fn entrypoint(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, reading, args, span, .. } = ran;
        let Some(flag) = reading.flags.iter().rev().find(|flag| flag.name == "--entrypoint") else { return };
        let Some(program) = flag.value.as_ref().filter(|program| !program.is_empty()) else { return };
        let Some(image) = reading.operands.first() else { return };
        let Some(at) = args.iter().position(|arg| arg.span == image.span && arg.value == image.value) else { return };
        let started = Arg::word(program.clone(), flag.span);
        let rest = args.iter().skip(at + 1).map(|arg| Arg::word(arg.value.clone(), arg.span));
        let inner = InnerCommand {
            what: InnerText::Argv(std::iter::once(started).chain(rest).collect()),
            words: Vec::new(),
            positional: Vec::new(),
            env: Vec::new(),
            root: false,
            remote: Some(Remote { kind: RemoteKind::Container, name: None, fresh: true }),
            adds: Added::Nothing,
            replace: None,
        };
        let reading = Reading { inner: vec![inner], ..Reading::default() };
        self.inner(state, context, ProgramRun::in_place_of(name, &reading, span));
    }
}
