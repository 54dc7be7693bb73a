//! Tests that the code which judges and records names no program of the pattern files, except for words with another
//! meaning.

use std::collections::BTreeSet;
use std::process::Command;

use guard::judge::rules::catalog::Catalog;
use syn::visit::Visit;

use super::{Said, root, sources};

/// Words that are also names of programs, grouped by their meaning in the code.
const WORDS: [(&str, &str); 5] = [
    (
        "languages, by the names that descriptions give them",
        "ash awk bash cmd dash duckdb ex fish gdb ipython ksh lua mongo perl php powershell python robot ruby rzsh sed sh \
         sqlite3 zsh",
    ),
    ("names of source files and endings of file names", "m4 zip"),
    (
        "keys, columns and forms of guard's own data",
        "agent as at code defaults dir env file from granted host id init kind last llm named near one q script strip timeout tree \
         which write yes",
    ),
    ("what names are made of", "fd pass passwd pw sort sshpass ss trunk"),
    ("guard's own programs, and words that zsh has beside bash", "guard guard-canary guard-sh nocorrect noglob"),
];

/// Words that are no program in a file, with their meaning there.
const KNOWN: [(&str, &str, &str); 14] = [
    (
        "judge/analysis/indirection/path_floor.rs",
        "known:read unknown:device unknown:read unknown:root unknown:root-own unknown:touch",
        "entries of the patterns for what nothing describes, which no program is called",
    ),
    ("judge/analysis/indirection/loads.rs", "make", "the form of a file, as `loads` names it"),
    (
        "judge/analysis/indirection/packages.rs",
        "bun install npm pkg",
        "the two clients of one form whose own commands differ",
    ),
    ("judge/analysis/redirect.rs", "truncate", "the command as which `> file` is judged, which does the same"),
    ("judge/analysis/recipes.rs", "import", "a keyword of justfiles"),
    ("judge/analysis/tool.rs", "make", "a kind of verb of a tool"),
    ("judge/approver.rs", "ssh", "a kind of key"),
    ("judge/context.rs", "reset", "subcommands that move a branch, of any program with branches like git's"),
    ("judge/matcher/lowering/earlier_acts.rs", "cp mv rename", "parts of names of functions, in any language"),
    ("judge/rules/languages.rs", "open", "an entry of the tables of languages"),
    ("judge/rules/model/tool.rs", "fetch", "an effect, as descriptions of tools name it"),
    ("judge/tools/guess.rs", "GET", "a method of HTTP"),
    ("store/redact/programs.rs", "import", "words by which subcommands say that they store something"),
    ("store/sample.rs", "claude", "the agent of an example, which is shown and not looked up"),
];

/// Functions and keywords of the languages that a file parses, which are also names of programs.
const READ: [(&str, &str); 17] = [
    ("judge/analysis/code/call.rs", "find import unlink"),
    ("judge/analysis/code/statements.rs", "import open say"),
    ("judge/analysis/code/client.rs", "open"),
    ("judge/analysis/code/results.rs", "base64"),
    ("judge/analysis/code/opening.rs", "open"),
    ("judge/analysis/code/database.rs", "sqlite sudo"),
    ("judge/analysis/code/expression.rs", "open rmdir unlink"),
    ("judge/analysis/code/loops.rs", "sum"),
    ("judge/analysis/code/names.rs", "console fetch join locate"),
    ("judge/analysis/code/processes.rs", "basename"),
    ("judge/analysis/code/scan.rs", "m tr"),
    ("judge/analysis/code/sql.rs", "begin concurrently import install rename reset shutdown truncate"),
    ("judge/analysis/code/tcl.rs", "open"),
    ("judge/analysis/code/values.rs", "rename rmdir unlink"),
    ("judge/analysis/code/windows.rs", "cmd.exe"),
    ("judge/syntax/fish.rs", "begin query"),
    ("judge/syntax/zsh/qualifiers.rs", "bc"),
];

#[test]
fn no_described_program_is_named_in_what_judges_and_records() {
    let catalog = Catalog::builtin();
    let described: BTreeSet<String> =
        catalog.all_programs().flat_map(|program| program.names.iter().cloned()).collect();
    let listed = Command::new("bash").args(["-c", "compgen -bk"]).output().unwrap().stdout;
    let builtins: BTreeSet<String> = String::from_utf8(listed).unwrap().lines().map(str::to_owned).collect();
    assert!(builtins.len() > 60, "{builtins:?}");
    let mut left: BTreeSet<(&str, &str)> = BTreeSet::new();
    let known = KNOWN.map(|(file, words, _)| (file, words));
    for (place, words) in WORDS.into_iter().chain(known).chain(READ) {
        left.extend(words.split_whitespace().map(|word| (place, word)));
    }
    let excused = left.clone();
    let mut named = Vec::new();
    for floor in ["judge", "store"] {
        for file in sources(&root().join("src").join(floor)) {
            let inside = file.strip_prefix(root().join("src")).unwrap().to_str().unwrap();
            for text in Said::of(&file).texts.intersection(&described).filter(|text| !builtins.contains(*text)) {
                let of_words = WORDS.iter().map(|(what, _)| *what).find(|what| excused.contains(&(*what, text)));
                let place = of_words.unwrap_or(inside);
                if excused.contains(&(place, text.as_str())) {
                    left.retain(|excuse| *excuse != (place, text.as_str()));
                } else {
                    named.push(format!("{inside}: {text}"));
                }
            }
        }
    }
    assert!(named.is_empty(), "what these are belongs into their descriptions:\n{}", named.join("\n"));
    assert!(left.is_empty(), "nothing says these any more: {left:?}");
}

/// The longest list of words that counts as a few alternatives instead of knowledge of programs.
const FEW: usize = 6;

/// Longer lists in the judge that belong to a parsed grammar, by file and constant.
const GRAMMAR: [(&str, &str); 6] = [
    ("judge/analysis/arithmetic.rs", "LEVELS"),
    ("judge/analysis/assignment.rs", "NUMBERS"),
    ("judge/analysis/builtins.rs", "OTHERS"),
    ("judge/analysis/builtin_output.rs", "SILENT"),
    ("judge/analysis/traps.rs", "HOOKS"),
    ("judge/matcher/lowering/earlier_acts.rs", "QUIET"),
];

/// The constants of a file that are lists of words, with their lengths.
#[derive(Default)]
struct WordConstants(Vec<(String, usize)>);

impl<'ast> Visit<'ast> for WordConstants {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let mut texts = Texts(0);
        texts.visit_expr(&item.expr);
        self.0.push((item.ident.to_string(), texts.0));
    }
}

/// The number of string literals in an expression.
struct Texts(usize);

impl<'ast> Visit<'ast> for Texts {
    fn visit_lit_str(&mut self, _: &'ast syn::LitStr) {
        self.0 += 1;
    }
}

#[test]
fn the_analysis_takes_its_lists_of_words_from_the_patterns() {
    let mut left = BTreeSet::from(GRAMMAR);
    let mut wrong = Vec::new();
    for floor in ["judge/analysis", "judge/matcher"] {
        for file in sources(&root().join("src").join(floor)) {
            let inside = file.strip_prefix(root().join("src")).unwrap().to_str().unwrap();
            let mut constants = WordConstants::default();
            constants.visit_file(&syn::parse_file(&std::fs::read_to_string(&file).unwrap()).unwrap());
            for (name, _) in constants.0.iter().filter(|(_, texts)| *texts > FEW) {
                match GRAMMAR.iter().find(|excuse| **excuse == (inside, name)) {
                    Some(excuse) => _ = left.remove(excuse),
                    None => wrong.push(format!("{inside}: {name}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "these belong into patterns/words or patterns/languages:\n{}", wrong.join("\n"));
    assert!(left.is_empty(), "nothing needs these any more: {left:?}");
}
