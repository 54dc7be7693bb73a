//! What zsh reads otherwise than bash. A form is read here where its commands become subtrees, and
//! refused where it could run something that the tree would not show.

mod commands;
mod parameters;
mod qualifiers;
mod words;
