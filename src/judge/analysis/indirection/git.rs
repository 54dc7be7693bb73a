//! git: aliases, settings in variables, and the addresses of remotes.

use std::rc::Rc;

use crate::judge::analysis::act::{Act, Value};
use crate::judge::analysis::analysis_input::AnalysisInput;
use crate::judge::analysis::arguments::Reading;
use crate::judge::analysis::builtins::within;
use crate::judge::analysis::command_context::Context;
use crate::judge::analysis::expand::Field;
use crate::judge::analysis::indirection::describes;
use crate::judge::analysis::place::Place;
use crate::judge::analysis::program_run::ProgramRun;
use crate::judge::analysis::progress::WalkProgress;
use crate::judge::analysis::recursion::{ActiveCall, Callee};
use crate::judge::analysis::resolve::Lookup;
use crate::judge::analysis::state::{Build as _, State, VariableValue};
use crate::judge::analysis::walk::Walker;
use crate::judge::analysis::wrappers::quoted_words;
use crate::judge::rules::model::Follow;
use crate::judge::rules::word_lists;

impl Walker<'_> {
    #[inline(never)]
    pub(super) fn git_alias(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, known: program, reading, args, env, span } = ran;
        let Some(alias) = reading.sub.first() else { return };
        if describes(program, alias) {
            return;
        }
        let Some(at) = args.iter().position(|field| field.value.is(alias)) else { return };
        let rest = args.get(at + 1..).unwrap_or_default();
        let mut dir = state.cwd.clone();
        for value in reading.flags.iter().filter(|flag| flag.name == "-C").filter_map(|flag| flag.value.as_ref()) {
            dir = value.known().and_then(|path| Place::at(dir.as_ref(), &path));
        }
        let (text, root) = match self.given_alias(state, reading, env, alias) {
            Some(text) => (text, None),
            None => {
                let Some(repository) =
                    dir.as_ref().and_then(Place::text).and_then(|dir| self.input.inquiry.repository(dir))
                else {
                    return;
                };
                let key = |name: &str| name.trim_start_matches("alias.").eq_ignore_ascii_case(alias);
                let Some((_, text)) = repository.aliases.iter().find(|(name, _)| key(name)) else { return };
                (text.clone(), Some(repository.root.clone()))
            }
        };
        let Some(inner) = self.definition(
            state,
            context,
            name,
            (format!("{name} alias {alias}"), &rest.iter().map(|field| &field.value).collect::<Vec<_>>()),
            span,
        ) else {
            return;
        };
        let mut child = state.child(env);
        if dir != child.cwd {
            child.move_to(dir);
        }
        if let Some(line) = text.strip_prefix('!') {
            if let Some(root) = root {
                child.move_to(Some(Place::of(root)));
            }
            child.zero = Value::text(line);
            child.positional = Rc::new(rest.iter().map(|field| field.value.clone()).collect());
            self.text(&mut child, &inner, &format!("{line} \"$@\""));
            return;
        }
        let mut fields = vec![Field::text(name, span)];
        fields.extend(quoted_words(&text).into_iter().map(|word| Field::text(word, span)));
        fields.extend(rest.iter().cloned());
        self.run(&mut child, &inner, fields, Vec::new(), span, Lookup::Programs);
    }

    /// Returns an alias that the command itself defines (`-c alias.x=…`, `--config-env`, `GIT_CONFIG_*`), or an earlier
    /// one.
    fn given_alias(
        &mut self,
        state: &State,
        reading: &Reading,
        env: &[(String, Value)],
        alias: &str,
    ) -> Option<String> {
        let key = format!("alias.{alias}");
        let is_key = |name: &str| name.eq_ignore_ascii_case(&key);
        for flag in reading.flags.iter().rev() {
            let Some(text) = flag.value.as_ref().and_then(|value| value.known_text()) else { continue };
            let Some((name, value)) = text.split_once('=') else { continue };
            match flag.name.as_str() {
                "-c" if is_key(name) => return Some(value.to_owned()),
                "--config-env" if is_key(name) => return self.variable_of(state, env, value),
                _ => {}
            }
        }
        let brought = self.configured(state, env).into_iter().find(|(name, _)| is_key(name)).map(|(_, value)| value);
        brought.or_else(|| self.progress().set_before(&is_key))
    }

    /// Returns the settings in `GIT_CONFIG_*` variables.
    fn configured(&mut self, state: &State, env: &[(String, Value)]) -> Vec<(String, String)> {
        let mut variable = |name: &str| self.variable_of(state, env, name);
        let mut all = Vec::new();
        let count: usize = variable("GIT_CONFIG_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
        for index in 0..count.min(64) {
            let key = variable(&format!("GIT_CONFIG_KEY_{index}"));
            all.extend(key.zip(variable(&format!("GIT_CONFIG_VALUE_{index}"))));
        }
        let parameters = variable("GIT_CONFIG_PARAMETERS").unwrap_or_default();
        for word in quoted_words(&parameters) {
            if let Some((name, value)) = word.split_once('=') {
                all.push((name.to_owned(), value.to_owned()));
            }
        }
        all
    }

    fn variable_of(&mut self, state: &State, env: &[(String, Value)], name: &str) -> Option<String> {
        match env.iter().rev().find(|(own, _)| own == name) {
            Some((_, value)) => value.known_text(),
            None => match self.expand().lookup(state, name) {
                VariableValue::Scalar(value) => value.known_text(),
                _ => None,
            },
        }
    }

    /// Walks the command with the settings of variables as options.
    #[inline(never)]
    pub(super) fn git_settings(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, args, env, span, .. } = ran;
        const CALL: Callee = Callee::Step("settings of variables");
        if context.is_called(&CALL) {
            return;
        }
        let settings = self.configured(state, env);
        if settings.is_empty() {
            return;
        }
        let mut inner = within(context, name).elsewhere(span);
        inner.called(ActiveCall::of(CALL));
        let mut fields = vec![Field::text(name, span)];
        for (key, value) in settings {
            fields.extend([Field::text("-c", span), Field::text(format!("{key}={value}"), span)]);
        }
        fields.extend(args.iter().cloned());
        self.run(&mut state.child(env), &inner, fields, Vec::new(), span, Lookup::Programs);
    }

    /// Walks a command for a remote whose address, or whose refs, the command line itself sets, with these as
    /// arguments.
    #[inline(never)]
    pub(super) fn git_push(&mut self, state: &State, context: &Context, ran: ProgramRun<'_>) {
        let ProgramRun { name, reading, args, env, span, .. } = ran;
        const CALL: Callee = Callee::Step("a remote by its address");
        let is = |wanted: &str| reading.sub.first().is_some_and(|sub| sub == wanted);
        if !word_lists::REMOTE_SUBCOMMANDS.into_iter().any(is) || context.is_called(&CALL) {
            return;
        }
        let named = reading.operands.first().and_then(|operand| operand.value.known_text());
        let remote = named.clone().unwrap_or_else(|| "origin".to_owned());
        let mut settings: Vec<(String, String)> = Vec::new();
        for flag in &reading.flags {
            let by_name = flag.name == "--config-env";
            let text = flag.value.as_ref().filter(|_| by_name || flag.name == "-c").and_then(Value::known_text);
            let Some((name, value)) = text.as_deref().and_then(|text| text.rsplit_once('=')) else { continue };
            // The option names the variable with the value.
            let value = if by_name { self.variable_of(state, env, value) } else { Some(value.to_owned()) };
            settings.extend(value.map(|value| (name.to_owned(), value)));
        }
        let given = |wanted: &dyn Fn(&str) -> bool| settings.iter().find(|(name, _)| wanted(name)).cloned();
        let set = |key: &str| {
            let is_key = |name: &str| name.eq_ignore_ascii_case(&format!("remote.{remote}.{key}"));
            given(&is_key).map(|(_, value)| value).or_else(|| self.progress().set_before(&is_key))
        };
        // `url.BASE.insteadOf=PREFIX`: an address with the prefix is that of the base.
        let stands = |name: &str| {
            let name = name.to_ascii_lowercase();
            name.starts_with("url.") && (name.ends_with(".insteadof") || name.ends_with(".pushinsteadof"))
        };
        let base = given(&stands).and_then(|(name, _)| Some(name.get(4..name.rfind('.')?)?.to_owned()));
        self.input.spend(self.facts.acts.len() as u64 / 4);
        let added = self.facts.acts.iter().rev().find_map(|act| {
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
            return;
        }
        let mut inner = within(context, name).elsewhere(span);
        inner.called(ActiveCall::of(CALL));
        let mut fields = vec![Field::text(name, span)];
        fields.extend(args.iter().cloned());
        let at = fields.iter().position(|field| named.as_ref().is_some_and(|name| field.value.is(name)));
        let place = Field::word(url.unwrap_or_else(|| Value::text(remote.as_str())), span);
        match at.and_then(|at| fields.get_mut(at)) {
            Some(field) => *field = place,
            None => fields.push(place),
        }
        fields.extend(refs.map(|refs| Field::text(refs, span)));
        self.run(&mut state.child(&[]), &inner, fields, Vec::new(), span, Lookup::Programs);
    }
}

impl AnalysisInput<'_> {
    /// Reports whether the program of an act uses the settings and remotes of git.
    fn keeps_git_settings(&self, act: &Act) -> bool {
        self.catalog.program(act.verb.key()).is_some_and(|program| program.follows.contains(&Follow::Git))
    }
}

impl WalkProgress<'_, '_> {
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
