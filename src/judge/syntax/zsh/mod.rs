//! The zsh constructs that bash parses differently. A construct is parsed if the commands in it become subtrees, and
//! rejected if it could run something that the tree would not contain.

mod commands;
mod parameters;
mod qualifiers;
mod words;
