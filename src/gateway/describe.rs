//! `guard-gateway describe`: prints the verbs and options of the gateway as JSON, for the completions of guard, which
//! forwards those verbs without parsing them.
//!
//! Out of scope: the syntax of individual shells.

use std::io::Write as _;

use clap::{Arg, Command};
use serde_json::{Value, json};

/// Prints the description.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn run(root: &Command) -> std::io::Result<u8> {
    let mut root = root.clone();
    root.build();
    writeln!(std::io::stdout().lock(), "{}", command(&root))?;
    Ok(0)
}

fn command(of: &Command) -> Value {
    let verbs = of.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help");
    json!({
        "name": of.get_name(),
        "about": of.get_about().map(ToString::to_string),
        "arguments": of.get_arguments().filter(|arg| !arg.is_hide_set()).map(argument).collect::<Vec<_>>(),
        "verbs": verbs.map(command).collect::<Vec<_>>(),
    })
}

fn argument(arg: &Arg) -> Value {
    let takes = arg.get_action().takes_values();
    // clap reports possible values for flags too, but a flag takes no value.
    let possible = if takes { arg.get_possible_values() } else { Vec::new() };
    json!({
        "name": arg.get_id().as_str(),
        "long": arg.get_long(),
        "help": arg.get_help().map(ToString::to_string),
        "takes": takes,
        "value": arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string),
        "values": possible.iter().filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_owned()).collect::<Vec<_>>(),
        "last": arg.is_last_set(),
    })
}
