//! Parses options and flag tests in the syntax of pattern files: `-o|--push-option=`, `--mode=0?777`.

use std::ops::Range;

use super::SourceFile;
use crate::judge::document::Located;
use crate::judge::rules::expression;
use crate::judge::rules::model::{FlagTest, HostClass, OptionSpec, TextTest, ValueKind};
use crate::judge::rules::problem::{Problem, nearest};

/// Parses an option: spellings separated by `|`, then `=` if it takes a value and `[=]` if it takes only an attached
/// one.
pub fn option(place: SourceFile<'_>, owner: &str, given: &Located<String>) -> Result<OptionSpec, Problem> {
    let text = given.get_ref().as_str();
    let (names, value) = if let Some(names) = text.strip_suffix("[=]") {
        (names, ValueKind::Optional)
    } else if let Some(names) = text.strip_suffix('=') {
        (names, ValueKind::Required)
    } else {
        (text, ValueKind::None)
    };
    let names: Vec<String> = names.split('|').map(str::to_owned).collect();
    if names.iter().any(|name| name.is_empty() || name.contains(['=', ' '])) {
        return Err(place.problem(
            &given.span(),
            &format!("{owner}: options"),
            &format!("`{text}` is no option"),
            "write `-o|--output=`: spellings with `|` between them, `=` at the end when it takes a value",
        ));
    }
    Ok(OptionSpec { names, value })
}

/// Parses an option of a program with `key=value` arguments: `of=`.
pub fn key_option(given: &str) -> OptionSpec {
    OptionSpec { names: given.split('|').map(str::to_owned).collect(), value: ValueKind::Required }
}

/// Returns all spellings of the options in `names`, so that a test matches independently of which one is canonical.
pub fn all_spellings<'a>(names: impl Iterator<Item = &'a str>, options: &[&OptionSpec]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !all.iter().any(|known| known == name) {
            all.push(name.to_owned());
        }
    };
    for name in names {
        let described = options.iter().filter(|option| option.names.iter().any(|known| known == name));
        described.for_each(|option| option.names.iter().for_each(|name| add(name)));
        add(name);
    }
    all
}

/// Parses a flag test: spellings separated by `|`, then optionally `=` and a glob, or `=~` and a regular expression,
/// for its value.
pub fn flag_test(
    place: SourceFile<'_>,
    owner: &str,
    text: &str,
    span: &Range<usize>,
    options: &[&OptionSpec],
) -> Result<FlagTest, Problem> {
    // An option of the form `key=value`, such as `of=`, keeps its `=`.
    let is_key = |name: &str| options.iter().any(|option| option.names.iter().any(|known| known == name));
    let (names, value) = match text.split_once('=') {
        Some((key, value)) if !key.contains('|') && is_key(&format!("{key}=")) => (format!("{key}="), value),
        Some((names, value)) => (names.to_owned(), value),
        None => (text.to_owned(), ""),
    };
    if names.split('|').any(|name| name.is_empty() || name.contains(' ')) {
        return Err(place.problem(
            span,
            owner,
            &format!("`{text}` is no flag"),
            "write `-f|--force`, or `--mode=GLOB` or `--mode=~REGEX` to test its value",
        ));
    }
    let takes_value = |name: &str| {
        options.iter().any(|option| option.value != ValueKind::None && option.names.iter().any(|known| known == name))
    };
    let value = match value.strip_prefix('~') {
        _ if value.is_empty() => None,
        Some(regex) => {
            if let Some(problem) = place.check_regex(span, owner, regex) {
                return Err(problem);
            }
            Some(TextTest {
                regex: Some(regex.to_owned()),
                literals: expression::literals(regex),
                ..TextTest::default()
            })
        }
        None => Some(match value.split_once(':') {
            Some(("package", index)) => {
                TextTest { package: index.split('|').map(str::to_owned).collect(), ..TextTest::default() }
            }
            Some(("host", class)) => {
                let Some(class) = HostClass::ALL.into_iter().find(|known| known.name() == class) else {
                    let what = format!("unknown host class `{class}`");
                    return Err(place.problem(span, owner, &what, "use local, known, unknown, metadata, drop or none"));
                };
                TextTest { host: vec![class], ..TextTest::default() }
            }
            _ => TextTest { glob: vec![value.to_owned()], ..TextTest::default() },
        }),
    };
    if value.is_some() && !options.is_empty() && !names.split('|').any(takes_value) {
        let known = options.iter().filter(|option| option.value != ValueKind::None);
        let remedy = match nearest(&names, known.flat_map(|option| option.names.iter().map(String::as_str))) {
            Some(name) => format!("did you mean `{name}`? Else list `{names}=` in its options"),
            None => format!("list `{names}=` in the options of the program or subcommand"),
        };
        let what = format!("the value of `{names}` is tested, but no option of that name takes one");
        return Err(place.problem(span, owner, &what, &remedy));
    }
    Ok(FlagTest { names: all_spellings(names.split('|'), options), value })
}

/// Expands braces: `a{b,c}d` becomes `abd` and `acd`. A text without braces is unchanged.
pub fn expand_braces(text: &str) -> Vec<String> {
    let whole = || vec![text.to_owned()];
    let Some((before, rest)) = text.split_once('{') else { return whole() };
    let Some((inside, after)) = rest.split_once('}') else { return whole() };
    inside.split(',').flat_map(|choice| expand_braces(&format!("{before}{choice}{after}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_each_of_their_choices() {
        assert_eq!(expand_braces("~/.{bash,zsh}rc"), ["~/.bashrc", "~/.zshrc"]);
        assert_eq!(expand_braces("{a,b}{c,d}"), ["ac", "ad", "bc", "bd"]);
        assert_eq!(expand_braces("a{b"), ["a{b"]);
    }

    #[test]
    fn a_flag_test_holds_for_every_spelling_of_its_option() {
        let place = SourceFile { file: "x", text: "" };
        let force = OptionSpec { names: vec!["-f".into(), "--force".into()], value: ValueKind::None };
        let test = flag_test(place, "flags", "--force", &(0..0), &[&force]).unwrap();
        assert_eq!(test.names, ["-f", "--force"]);
    }

    #[test]
    fn the_value_of_a_flag_is_tested_by_glob_or_by_regular_expression() {
        let place = SourceFile { file: "x", text: "" };
        let mode = OptionSpec { names: vec!["-m".into(), "--mode".into()], value: ValueKind::Required };
        let test = flag_test(place, "flags", "-m=~^a|b$", &(0..0), &[&mode]).unwrap();
        assert_eq!(test.value.unwrap().regex.as_deref(), Some("^a|b$"));
        let key = key_option("of=");
        let test = flag_test(place, "flags", "of=/dev/*", &(0..0), &[&key]).unwrap();
        assert_eq!((test.names, test.value.unwrap().glob), (vec!["of=".to_owned()], vec!["/dev/*".to_owned()]));
        let error = flag_test(place, "flags", "--mod=1", &(0..0), &[&mode]).unwrap_err();
        assert!(error.remedy.contains("`--mode`"), "{error}");
    }
}
