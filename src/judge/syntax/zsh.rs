//! What zsh reads otherwise than bash.

use super::parser::{Parser, Read};
use super::tree::{Command, Compound, CompoundKind, Part, RedirectOp, Script, Word};
use super::word::Until;

impl Parser<'_> {
    pub(super) fn zsh_arm_end(&self) -> bool {
        false
    }
    pub(super) fn anonymous_function(&mut self, _: &mut Vec<Command>) -> Read {
        Err(self.unexpected())
    }
    pub(super) fn zsh_closing_brace(&mut self) -> bool {
        false
    }
    pub(super) fn zsh_command_word(&mut self, _: &mut Word) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_short_body(&mut self, _: &mut Compound) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_arguments(&mut self) -> Read<Vec<Word>> {
        Ok(Vec::new())
    }
    pub(super) fn zsh_repeat(&mut self, _: &mut CompoundKind) -> Read {
        Err(self.unexpected())
    }
    pub(super) fn zsh_foreach(&mut self, _: usize, _: &mut CompoundKind) -> Read {
        Err(self.unexpected())
    }
    pub(super) fn zsh_always(&mut self, _: &mut CompoundKind) -> Read {
        Ok(())
    }
    pub(super) fn zsh_brace_body(&mut self, _: &mut Script) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_elif(&mut self, _: &mut Option<Script>) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_whole_pattern(&mut self, _: &mut Vec<Word>) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_begins_word(&self, _: u8) -> bool {
        false
    }
    pub(super) fn zsh_more_names(&mut self, _: &mut Vec<String>) -> Read {
        Ok(())
    }
    pub(super) fn zsh_parenthesized_words(&mut self) -> Read<Option<Vec<Word>>> {
        Ok(None)
    }
    pub(super) fn zsh_sublist(&mut self, _: &mut Script) -> Read {
        Err(self.unexpected())
    }
    pub(super) fn zsh_number_range(&self) -> bool {
        false
    }
    pub(super) fn zsh_operator(&mut self, op: RedirectOp) -> RedirectOp {
        op
    }
    pub(super) fn zsh_groups(&self, _: Until) -> bool {
        false
    }
    pub(super) fn zsh_group(&mut self, _: &mut Vec<Part>) -> Read {
        Err(self.unexpected())
    }
    pub(super) fn zsh_plain_parameter(&mut self, _: u8, _: usize, _: &mut Vec<Part>) -> Read<bool> {
        Ok(false)
    }
    pub(super) fn zsh_subscripts(&mut self, _: &mut Vec<Part>) -> Read {
        Ok(())
    }
    pub(super) fn zsh_brace(&mut self, _: usize, _: bool, _: &mut Vec<Part>) -> Read {
        Err(self.unexpected())
    }
}
