//! Determines which programs are consoles, and the language that they read from their standard input.
//!
//! Out of scope: names of programs, which are in their descriptions (`[[consoles]]`), and the meaning of a console for
//! a host that does not see the input that is typed into it ([`crate::judge::consoles`]).

use super::act::{Act, Verb};
use super::program::is_shell;
use crate::judge::rules::catalog::Catalog;
use crate::judge::rules::glob;
use crate::judge::rules::model::{Console, Program};

/// Returns the language that an act reads from its standard input because it is a console (`flask shell`), unless it
/// reads only from the keyboard. The languages of interpreters are in `runs` of their descriptions.
pub(super) fn input_language(act: &Act, catalog: &Catalog) -> Option<String> {
    let Verb::Program { name, .. } = &act.verb else { return None };
    let program = catalog.program(name).filter(|_| !act.dry_run)?;
    let of_name = |console: &&Console| console.programs.iter().any(|known| glob::text(known, name));
    let reads = |console: &&Console| !console.keyboard && !is_shell(&console.language);
    let mut all = program.consoles.iter().filter(of_name).filter(reads);
    let console = all.find(|console| waits(console, program, act, catalog))?;
    Some(if console.language.is_empty() { "other".to_owned() } else { console.language.clone() })
}

/// Reports whether an act starts the console: its arguments are those of the description.
pub(in crate::judge) fn waits(console: &Console, program: &Program, act: &Act, catalog: &Catalog) -> bool {
    let given = |option: &String| is_given(option, program, act);
    if console.unless.iter().any(given) || is_replaced(console, act, catalog) {
        return false;
    }
    if act.args.is_empty() {
        return console.bare || console.words.is_empty();
    }
    let most = console.operands.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    let few = |words: usize| most.is_none_or(|most| (act.sub.len() + act.operands.len()).saturating_sub(words) <= most);
    if console.words.is_empty() {
        return few(0);
    }
    let fits = |words: &String| {
        few(words.split(' ').filter(|word| !word.starts_with('-')).count()) && says(words, program, act)
    };
    console.words.iter().any(fits)
}

/// Reports whether the arguments begin with these words, and contain these options.
fn says(words: &str, program: &Program, act: &Act) -> bool {
    let operands = act.operands.iter().filter_map(|operand| operand.value.known().map(|text| text.into_owned()));
    let mut front = act.sub.iter().cloned().chain(operands);
    words.split(' ').all(|word| match word.starts_with('-') {
        true => is_given(word, program, act),
        false => front.next().is_some_and(|said| said == word),
    })
}

/// Reports whether an option is given, in any of its spellings.
pub(in crate::judge) fn is_given(option: &str, program: &Program, act: &Act) -> bool {
    let specs = || program.options.iter().chain(program.subs.iter().flat_map(|sub| &sub.options));
    let same = |name: &str| {
        name == option
            || specs().any(|spec| {
                spec.names.iter().any(|known| known == name) && spec.names.iter().any(|known| known == option)
            })
    };
    let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
    // If the options of a program are not described, short ones may be combined in one word.
    let in_cluster = |word: &str| {
        let cluster =
            word.strip_prefix('-').filter(|rest| rest.len() <= 3 && rest.chars().all(|one| one.is_ascii_lowercase()));
        letter.is_some_and(|letter| cluster.is_some_and(|cluster| cluster.contains(letter)))
    };
    act.flags.iter().any(|flag| same(&flag.name))
        || act
            .args
            .iter()
            .filter_map(|arg| arg.known())
            .any(|arg| arg == option || specs().next().is_none() && in_cluster(&arg))
}

/// Reports whether a variable names a program that replaces the console and does not wait for input.
fn is_replaced(console: &Console, act: &Act, catalog: &Catalog) -> bool {
    let set = console.variables.iter().find_map(|name| Some(act.env.named(name).next()?.1.known()?.into_owned()));
    let Some(line) = set else { return false };
    let word = line.split_whitespace().next().unwrap_or_default();
    let name = word.rsplit('/').next().unwrap_or(word);
    name == ":" || catalog.program(name).is_some_and(|program| program.consoles.is_empty() && program.runs.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::inquiry::Answers;
    use crate::judge::invocation::Origin;
    use crate::judge::judge;
    use crate::judge::policy::Policy;
    use crate::judge::testing::line;

    #[test]
    fn a_console_reads_code_from_its_input_unless_it_reads_the_keyboard() {
        let catalog = Catalog::builtin();
        let language = |text: &str| {
            let facts = judge(&line(Origin::Agent, text), &catalog, &Policy::default(), &Answers::none()).facts;
            facts.acts.first().and_then(|act| input_language(act, &catalog))
        };
        for (text, expected) in [
            ("flask shell", Some("python")),
            ("flask run", None),
            ("flask shell --help", None),
            ("jupyter console", Some("ipython")),
            ("python manage.py dbshell", None),
            ("./manage.py dbshell", Some("sql")),
            ("dlv debug", Some("other")),
            ("tmux new", None),
            ("vi x", None),
            ("less x", None),
            ("cat x", None),
        ] {
            assert_eq!(language(text).as_deref(), expected, "{text}");
        }
    }
}
