//! The variables that the command line adds to the environment of an act: those exported so far, and those set for this
//! act.
//!
//! Every act has one, and most have the same, which they share. Out of scope: the environment of the invocation.

use std::rc::Rc;

use super::act::{Taint, Value};
use super::map::Map;
use super::state::{Variable, VariableValue};
use crate::judge::rules::glob;

/// The variables that the command line adds to the environment of an act.
#[derive(Clone, Debug, Default)]
pub struct EnvView {
    exported: Map<Variable>,
    /// The variables set before the command or by wrappers; later ones take precedence.
    own: Rc<[(String, Value)]>,
    taint: Taint,
}

impl EnvView {
    /// Creates it from the exported variables and those set for one command. `tainted` names exported variables with
    /// taints.
    pub(super) fn new(exported: &Map<Variable>, tainted: &Map<()>, own: &[(String, Value)]) -> Self {
        let values = tainted.iter().filter_map(|(name, ())| one_text(exported.get(name)?));
        let taint =
            values.chain(own.iter().map(|(_, value)| value)).map(Value::taint).fold(Taint::default(), Taint::and);
        Self { exported: exported.clone(), own: own.into(), taint }
    }

    /// Reports whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.exported.values().all(|variable| one_text(variable).is_none())
    }

    /// Returns the variables whose names match a glob.
    pub fn named<'e>(&'e self, pattern: &'e str) -> impl Iterator<Item = (&'e str, &'e Value)> {
        let prefix = pattern.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default();
        self.beginning(prefix).filter(move |(name, _)| glob::text(pattern, name))
    }

    /// Reports whether a variable whose name matches a glob may be set.
    #[must_use]
    pub fn may_set(&self, pattern: &str) -> bool {
        let own = self.own.iter().map(|(name, _)| name.as_str());
        own.chain(self.exported.iter().map(|(name, _)| &**name)).any(|name| glob::text(pattern, name))
    }

    /// Reports whether no variable is set for this command only.
    #[must_use]
    pub fn is_exported(&self) -> bool {
        self.own.is_empty()
    }

    /// Reports whether another command has the same exported variables, because none changed in between.
    #[must_use]
    pub fn exports_as(&self, other: &Self) -> bool {
        self.exported.is_copy_of(&other.exported)
    }

    /// Returns the taints of all values.
    #[must_use]
    pub const fn taint(&self) -> Taint {
        self.taint
    }

    /// Returns the names and values of variables with one value: the exported ones by name, then those of this command.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.beginning("")
    }

    /// Returns the variables whose names begin with a prefix, without visiting the others.
    pub fn beginning<'e>(&'e self, prefix: &'e str) -> impl Iterator<Item = (&'e str, &'e Value)> {
        let exported = self.exported.beginning(prefix);
        let exported = exported.filter_map(|(name, variable)| Some((&**name, one_text(variable)?)));
        let own = self.own.iter().map(|(name, value)| (name.as_str(), value));
        exported.chain(own.filter(move |(name, _)| name.starts_with(prefix)))
    }
}

impl PartialEq for EnvView {
    fn eq(&self, other: &Self) -> bool {
        self.own == other.own && (self.exported.is_copy_of(&other.exported) || self.iter().eq(other.iter()))
    }
}

impl From<Vec<(String, Value)>> for EnvView {
    fn from(own: Vec<(String, Value)>) -> Self {
        Self::new(&Map::default(), &Map::default(), &own)
    }
}

fn one_text(variable: &Variable) -> Option<&Value> {
    match variable.values.as_slice() {
        [VariableValue::Scalar(value)] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::UnknownReason;
    use super::super::testing::facts;
    use super::*;

    fn names(env: &EnvView, prefix: &str) -> Vec<String> {
        env.beginning(prefix).map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn names_are_found_by_how_they_begin() {
        let facts = facts("export GIT_DIR=x A=y ZZ=z; C=1; GIT_SSH=s make");
        let make = facts.acts.iter().find(|act| act.verb.key() == "make").unwrap();
        assert_eq!(names(&make.env, ""), ["A", "GIT_DIR", "ZZ", "GIT_SSH"]);
        assert_eq!(names(&make.env, "GIT_"), ["GIT_DIR", "GIT_SSH"]);
        assert_eq!(names(&make.env, "ZZZ"), Vec::<String>::new());
    }

    #[test]
    fn what_was_set_before_it_was_exported_and_after_is_there() {
        for line in ["A=1; export A; make", "export A; A=1; make", "declare -x A=1; make", "export A=0; A=1; make"] {
            let facts = facts(line);
            let env = &facts.acts.last().unwrap().env;
            assert_eq!(
                env.iter().map(|(name, value)| (name, value.clone())).collect::<Vec<_>>(),
                [("A", Value::text("1"))]
            );
        }
        for line in ["A=1; make", "export A=1; unset A; make", "export A; make", "(export A=1); make"] {
            assert!(facts(line).acts.last().unwrap().env.is_empty(), "{line}");
        }
    }

    #[test]
    fn what_its_values_carry_is_kept_and_goes_with_them() {
        let secret = super::super::state::unknown(UnknownReason::Input, Taint::SECRET);
        assert!(EnvView::from(vec![("A".to_owned(), secret)]).taint().has(Taint::SECRET));
        let taint = |line: &str| facts(line).acts.last().unwrap().env.taint();
        assert!(taint("export A=$(curl x); make").has(Taint::FETCHED));
        assert_eq!(taint("export A=$(curl x); A=1; make"), Taint::default());
        assert_eq!(taint("export A=$(curl x); unset A; make"), Taint::default());
    }
}
