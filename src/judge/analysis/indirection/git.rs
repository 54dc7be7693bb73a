//! git: aliases, settings in variables, and the addresses of remotes.

use crate::judge::analysis::act::{Act, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::indirection::describes;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::state::{Build as _, State};
use crate::judge::analysis::wrappers::quoted_words;
use crate::judge::rules::model::Follow;
use crate::judge::rules::word_lists;

/// Maximum number of settings in variables.
const MAX_SETTINGS: usize = 64;

/// The settings that a command line and its environment give.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GitSettings {
    /// The names and values of `-c` and `--config-env`.
    options: Vec<(String, String)>,
    /// The names and values in `GIT_CONFIG_*` variables.
    variables: Vec<(String, String)>,
}

/// The command for which an alias stands.
#[derive(Debug)]
pub(super) struct AliasCommand<'r> {
    pub alias: &'r str,
    pub text: String,
    /// The top-level directory of the repository whose settings define the alias.
    pub root: Option<String>,
    /// The directory in which the command runs.
    pub dir: Option<Place>,
    /// The arguments behind the alias.
    pub rest: &'r [Field],
}

impl GitSettings {
    /// Reads the settings of a command. `variable` returns the text of a variable.
    pub fn of(reading: &Reading, variable: &mut dyn FnMut(&str) -> Option<String>) -> Self {
        let mut options = Vec::new();
        for flag in &reading.flags {
            let by_name = flag.name == "--config-env";
            let text = flag.value.as_ref().filter(|_| by_name || flag.name == "-c").and_then(Value::known_text);
            let Some((name, value)) = text.as_deref().and_then(|text| split(text, by_name)) else { continue };
            // The option names the variable with the value.
            let value = if by_name { variable(value) } else { Some(value.to_owned()) };
            options.extend(value.map(|value| (name.to_owned(), value)));
        }
        let mut variables = Vec::new();
        let count: usize = variable("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
        for index in 0..count.min(MAX_SETTINGS) {
            let key = variable(&format!("GIT_CONFIG_KEY_{index}"));
            variables.extend(key.zip(variable(&format!("GIT_CONFIG_VALUE_{index}"))));
        }
        let parameters = variable("GIT_CONFIG_PARAMETERS").unwrap_or_default();
        let quoted = quoted_words(&parameters);
        let pairs = quoted.iter().filter_map(|word| word.split_once('='));
        variables.extend(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Self { options, variables }
    }

    /// Returns the value of the last option, or the first variable, that `is_key` accepts.
    fn value(&self, is_key: &dyn Fn(&str) -> bool) -> Option<&str> {
        let option = self.options.iter().rev().find(|(name, _)| is_key(name));
        option.or_else(|| self.variables.iter().find(|(name, _)| is_key(name))).map(|(_, value)| value.as_str())
    }

    /// Returns the command with the settings of variables as options, if there are any.
    #[inline(never)]
    pub fn as_options(&self, ran: ProgramRun<'_>) -> Option<Vec<Field>> {
        let ProgramRun { name, args, span, .. } = ran;
        let options = self
            .variables
            .iter()
            .flat_map(|(key, value)| [Field::text("-c", span), Field::text(format!("{key}={value}"), span)]);
        let fields = std::iter::once(Field::text(name, span)).chain(options).chain(args.iter().cloned());
        (!self.variables.is_empty()).then(|| fields.collect())
    }
}

/// Splits `NAME=VALUE`. In `url.BASE.insteadOf=PREFIX` the base may contain `=`.
fn split(text: &str, by_name: bool) -> Option<(&str, &str)> {
    if by_name || text.get(..4).is_some_and(|front| front.eq_ignore_ascii_case("url.")) {
        text.rsplit_once('=')
    } else {
        text.split_once('=')
    }
}

impl WalkProgress<'_, '_> {
    /// Returns the command for which an alias stands, if the subcommand is one.
    #[inline(never)]
    pub(super) fn git_alias<'r>(
        &self,
        state: &State,
        ran: ProgramRun<'r>,
        settings: &GitSettings,
    ) -> Option<AliasCommand<'r>> {
        let ProgramRun { known: program, reading, args, .. } = ran;
        let alias = reading.sub.first().filter(|alias| !describes(program, alias))?;
        let at = args.iter().position(|field| field.value.is(alias))?;
        let rest = args.get(at + 1..).unwrap_or_default();
        let mut dir = state.cwd.clone();
        for value in reading.flags.iter().filter(|flag| flag.name == "-C").filter_map(|flag| flag.value.as_ref()) {
            dir = value.known().and_then(|path| Place::at(dir.as_ref(), &path));
        }
        let key = format!("alias.{alias}");
        let is_key = |name: &str| name.eq_ignore_ascii_case(&key);
        let given = settings.value(&is_key).map(str::to_owned).or_else(|| self.set_before(&is_key));
        let (text, root) = match given {
            Some(text) => (text, None),
            None => {
                let repository = self.input.inquiry.repository(dir.as_ref().and_then(Place::text)?)?;
                let is_it = |name: &str| name.trim_start_matches("alias.").eq_ignore_ascii_case(alias);
                let (_, text) = repository.aliases.iter().find(|(name, _)| is_it(name))?;
                (text.clone(), Some(repository.root.clone()))
            }
        };
        Some(AliasCommand { alias, text, root, dir, rest })
    }

    /// Returns a command for a remote whose address, or whose refs, the command line itself sets, with these as
    /// arguments.
    #[inline(never)]
    pub(super) fn git_remote(&self, ran: ProgramRun<'_>, settings: &GitSettings) -> Option<Vec<Field>> {
        let ProgramRun { name, reading, args, span, .. } = ran;
        let is = |wanted: &str| reading.sub.first().is_some_and(|sub| sub == wanted);
        if !word_lists::REMOTE_SUBCOMMANDS.into_iter().any(is) {
            return None;
        }
        let named = reading.operands.first().and_then(|operand| operand.value.known_text());
        let remote = named.clone().unwrap_or_else(|| "origin".to_owned());
        let given = |wanted: &dyn Fn(&str) -> bool| settings.options.iter().find(|(name, _)| wanted(name)).cloned();
        let set = |key: &str| {
            let is_key = |name: &str| name.eq_ignore_ascii_case(&format!("remote.{remote}.{key}"));
            given(&is_key).map(|(_, value)| value).or_else(|| self.set_before(&is_key))
        };
        // `url.BASE.insteadOf=PREFIX`: an address with the prefix is that of the base.
        let stands = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.starts_with("url.") && (name.ends_with(".insteadof") || name.ends_with(".pushinsteadof"))
        };
        let base = given(&stands).and_then(|(name, _)| Some(name.get(4..name.rfind('.')?)?.to_owned()));
        self.input.spend(self.acts.len() as u64 / 4);
        let added = self.acts.iter().rev().find_map(|act| {
            let is_it = act.sub.first().is_some_and(|sub| sub == "remote") && self.input.keeps_git_settings(act);
            let [name, url] = act.operands.as_slice() else { return None };
            (is_it && name.value.is(&remote)).then(|| url.value.clone())
        });
        // A clone names its address as an argument.
        let own = || set("pushurl").filter(|_| is("push")).or_else(|| set("url").filter(|_| !is("clone")));
        let url = own().or(base).map(Value::text).or(added.filter(|_| is("push")));
        let refs = || set("push").or_else(|| set("mirror").filter(|on| on == "true").map(|_| "--mirror".to_owned()));
        let refs = if is("push") { refs() } else { None };
        if url.is_none() && refs.is_none() {
            return None;
        }
        let mut fields = vec![Field::text(name, span)];
        fields.extend(args.iter().cloned());
        let at = fields.iter().position(|field| named.as_ref().is_some_and(|name| field.value.is(name)));
        let place = Field::word(url.unwrap_or_else(|| Value::text(remote.as_str())), span);
        match at.and_then(|at| fields.get_mut(at)) {
            Some(field) => *field = place,
            None => fields.push(place),
        }
        fields.extend(refs.map(|refs| Field::text(refs, span)));
        Some(fields)
    }

    /// Returns the value that an earlier `git config` sets.
    fn set_before(&self, is_key: &dyn Fn(&str) -> bool) -> Option<String> {
        self.input.spend(self.acts.len() as u64 / 4);
        self.acts.iter().rev().find_map(|act| {
            let configures = act.sub.first().is_some_and(|sub| sub == "config") && self.input.keeps_git_settings(act);
            let [key, value] = act.operands.as_slice() else { return None };
            (configures && key.value.known().is_some_and(|key| is_key(&key))).then(|| value.value.pattern())?
        })
    }
}

impl AnalysisInput<'_> {
    /// Reports whether the program of an act uses the settings and remotes of git.
    fn keeps_git_settings(&self, act: &Act) -> bool {
        self.catalog.program(act.verb.key()).is_some_and(|program| program.follows.contains(&Follow::Git))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::analysis::act::Flag;
    use crate::judge::syntax::tree::Span;

    fn reading(flags: &[(&str, &str)]) -> Reading {
        let flag = |(name, value): &(&str, &str)| Flag {
            name: (*name).to_owned(),
            value: Some(Value::text(*value)),
            span: Span::default(),
        };
        Reading { flags: flags.iter().map(flag).collect(), ..Reading::default() }
    }

    fn settings(flags: &[(&str, &str)], variables: &[(&str, &str)]) -> GitSettings {
        let known = |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        GitSettings::of(&reading(flags), &mut |name| known(name))
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_give_settings_by_value_and_by_variable() {
        let found = settings(
            &[("-c", "a.b=c=d"), ("-C", "e.f=g"), ("--config-env", "h.i=V"), ("--config-env", "j.k=W"), ("-c", "l")],
            &[("V", "m=n")],
        );
        assert_eq!(found.options, pairs(&[("a.b", "c=d"), ("h.i", "m=n")]));
        let address = settings(&[("-c", "url.https://x/?y=z.insteadOf=https://q/")], &[]);
        assert_eq!(address.options, pairs(&[("url.https://x/?y=z.insteadOf", "https://q/")]));
    }

    #[test]
    fn variables_give_settings_up_to_their_number() {
        let found = settings(
            &[],
            &[
                ("GIT_CONFIG_COUNT", "2"),
                ("GIT_CONFIG_KEY_0", "a.b"),
                ("GIT_CONFIG_VALUE_0", "c"),
                ("GIT_CONFIG_KEY_1", "d.e"),
                ("GIT_CONFIG_KEY_2", "f.g"),
                ("GIT_CONFIG_VALUE_2", "h"),
                ("GIT_CONFIG_PARAMETERS", "'i.j=k' 'l.m=n=o'"),
            ],
        );
        assert_eq!(found.variables, pairs(&[("a.b", "c"), ("i.j", "k"), ("l.m", "n=o")]));
        assert_eq!(settings(&[], &[("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")]), GitSettings::default());
    }

    #[test]
    fn the_last_option_comes_before_variables() {
        let found = settings(
            &[("-c", "alias.x=a"), ("-c", "Alias.X=b")],
            &[("GIT_CONFIG_PARAMETERS", "'alias.x=c' 'alias.y=d'")],
        );
        let value = |wanted: &str| found.value(&|name| name.eq_ignore_ascii_case(wanted)).map(str::to_owned);
        assert_eq!(value("alias.x").as_deref(), Some("b"));
        assert_eq!(value("alias.y").as_deref(), Some("d"));
        assert_eq!(value("alias.z"), None);
    }
}
