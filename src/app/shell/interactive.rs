//! A shell that a person types to: the real one.

use super::ShellCall;
use super::called::Called;
use super::request::request;
use crate::app::road::Road;
use crate::app::run;
use crate::app::settle::Manner;
use crate::exec::Inherited;
use crate::world::shell::Shell;

pub(super) fn start(road: &Road, _called: &Called, shell: &Shell, call: ShellCall, mut inherited: Inherited) -> u8 {
    run::one(road, request(shell, call), Manner::default(), &mut inherited)
}
