//! Parses the tables `[[support]]` and `[[grant]]`.

use jiff::civil;
use jiff::tz::TimeZone;
use toml::de::{DeTable, DeValue};

use super::entries::directory;
use crate::config::document::{Document, SpannedValue};
use crate::config::errors::ConfigProblem;
use crate::config::keys::{ConfigType, Field, Key, nearest};
use crate::judge::approved::{Grant, GrantExpiry, GrantId, GrantPlace, GrantSubject, ShapeScope};
use crate::judge::policy::Support;

/// Parses the tables of `key`. One with errors is omitted and reported.
pub(super) fn read_tables(
    document: &mut Document,
    key: Key,
    value: &SpannedValue<'_>,
    problems: &mut Vec<ConfigProblem>,
) {
    let row = key.entry();
    let ConfigType::Tables(fields) = row.kind else { return };
    let DeValue::Array(array) = value.get_ref() else {
        problems.push(document.wrong(row.name, &row.expected(), value));
        return;
    };
    for item in array {
        let DeValue::Table(table) = item.get_ref() else {
            problems.push(document.wrong(row.name, &row.expected(), item));
            continue;
        };
        let reader = GrantReader { document, name: row.name, fields, line: document.line(item.span().start), table };
        let result = reader.only_known().and_then(|()| match key {
            Key::Support => reader.support().map(ParsedEntry::Support),
            _ => reader.grant().map(ParsedEntry::Grant),
        });
        match result {
            Ok(ParsedEntry::Support(support)) => document.support.push(support),
            Ok(ParsedEntry::Grant(grant)) if document.grants.iter().any(|other| other.id == grant.id) => {
                let line = document.line(item.span().start);
                problems.push(document.problem(line, "grant.name", format!("duplicate name \"{}\"", grant.id)));
            }
            Ok(ParsedEntry::Grant(grant)) => document.grants.push(grant),
            Err(problem) => problems.push(*problem),
        }
    }
}

enum ParsedEntry {
    Support(Support),
    Grant(Grant),
}

type Result<T> = std::result::Result<T, Box<ConfigProblem>>;

/// A table with its position.
struct GrantReader<'a> {
    document: &'a Document,
    name: &'static str,
    fields: &'static [Field],
    line: u32,
    table: &'a DeTable<'a>,
}

impl GrantReader<'_> {
    fn only_known(&self) -> Result<()> {
        for name in self.table.keys() {
            if self.fields.iter().any(|field| field.name == *name.get_ref()) {
                continue;
            }
            let line = self.document.line(name.span().start);
            let problem = self.document.problem(line, &format!("{}.{}", self.name, name.get_ref()), "unknown key");
            let near = nearest(name.get_ref(), self.fields.iter().map(|field| field.name));
            return Err(Box::new(match near {
                Some(near) => problem.with_remedy(format!("did you mean {near}?")),
                None => {
                    let all: Vec<_> = self.fields.iter().map(|field| field.name).collect();
                    problem.with_remedy(format!("there are {}", all.join(", ")))
                }
            }));
        }
        Ok(())
    }

    fn field(&self, name: &str) -> Result<&SpannedValue<'_>> {
        self.table.get(name).ok_or_else(|| {
            let kind = self.fields.iter().find(|field| field.name == name).map_or("", |field| field.kind);
            let problem = self.document.problem(self.line, self.name, format!("`{name}` is missing"));
            Box::new(problem.with_remedy(format!("add it: {kind}")))
        })
    }

    fn wrong(&self, name: &str, expected: &str, value: &SpannedValue<'_>) -> Box<ConfigProblem> {
        Box::new(self.document.wrong(&format!("{}.{name}", self.name), expected, value))
    }

    fn refuse(&self, name: &str, value: &SpannedValue<'_>, message: impl Into<String>) -> Box<ConfigProblem> {
        let line = self.document.line(value.span().start);
        Box::new(self.document.problem(line, &format!("{}.{name}", self.name), message))
    }

    fn text(&self, name: &str) -> Result<&str> {
        let value = self.field(name)?;
        match value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self.wrong(name, "a string that is not empty", value)),
        }
    }

    fn support(&self) -> Result<Support> {
        let value = self.field("argv")?;
        let expected = "a list of strings, program first";
        let DeValue::Array(words) = value.get_ref() else { return Err(self.wrong("argv", expected, value)) };
        let mut argv = Vec::new();
        for word in words {
            match word.get_ref() {
                DeValue::String(word) => argv.push(word.clone().into_owned()),
                _ => return Err(self.wrong("argv", "a string", word)),
            }
        }
        if argv.first().is_none_or(String::is_empty) {
            return Err(self.wrong("argv", expected, value));
        }
        Ok(Support { argv, why: self.text("why")?.to_owned() })
    }

    fn grant(&self) -> Result<Grant> {
        let name = self.text("name")?.to_owned();
        let what = self.what()?;
        let place = self.place()?;
        let until = self.until()?;
        let words = words(&what, &place, self.field("until")?);
        Ok(Grant { id: GrantId::Configured(name), what, place, until, given: 0, words })
    }

    fn what(&self) -> Result<GrantSubject> {
        let value = self.field("what")?;
        let expected = "one of { exact = \"…\" }, { shape = \"…\" }, { rule = \"…\" }";
        let DeValue::Table(table) = value.get_ref() else { return Err(self.wrong("what", expected, value)) };
        let mut pairs = table.iter();
        let (Some((kind, said)), None) = (pairs.next(), pairs.next()) else {
            return Err(self.wrong("what", expected, value));
        };
        let DeValue::String(text) = said.get_ref() else { return Err(self.wrong("what", "a string", said)) };
        if text.trim().is_empty() {
            return Err(self.wrong("what", "a string that is not empty", said));
        }
        let text = text.clone().into_owned();
        match &**kind.get_ref() {
            "exact" => Ok(GrantSubject::Exact { command: text }),
            "shape" => Ok(GrantSubject::Shape(ShapeScope::plain(&text))),
            "rule" if text.contains('*') => Err(self.refuse("what", said, "expected the complete id of a rule")),
            "rule" => Ok(GrantSubject::Rule { rule: text }),
            _ => Err(self.wrong("what", expected, value)),
        }
    }

    fn place(&self) -> Result<GrantPlace> {
        match self.text("where")? {
            "anywhere" => Ok(GrantPlace::Anywhere),
            // A grant in the machine's file applies to all accounts, for which `~/` would be different directories.
            path => match directory(path, None) {
                Ok(path) if path.contains('*') => {
                    Err(self.refuse("where", self.field("where")?, "one directory, without `*`"))
                }
                Ok(path) => Ok(GrantPlace::Directory { path }),
                Err(why) => Err(self.refuse("where", self.field("where")?, format!("\"{path}\": {why}"))),
            },
        }
    }

    fn until(&self) -> Result<GrantExpiry> {
        let value = self.field("until")?;
        match value.get_ref() {
            DeValue::String(word) if word == "revoked" => Ok(GrantExpiry::Revoked),
            DeValue::Datetime(when) => match end(when) {
                Some(at) => Ok(GrantExpiry::Date { at }),
                None => Err(self.refuse("until", value, "a time of day needs a date and an offset, `Z` or `+02:00`")),
            },
            _ => Err(self.wrong("until", "a date such as 2030-12-31, or \"revoked\"", value)),
        }
    }
}

/// Returns the end of a grant in seconds since 1970: the end of a date in UTC, or a time.
fn end(when: &toml::value::Datetime) -> Option<i64> {
    let date = when.date?;
    let narrow = |part: u8| i8::try_from(part).ok();
    let day = civil::Date::new(i16::try_from(date.year).ok()?, narrow(date.month)?, narrow(date.day)?).ok()?;
    let Some(time) = when.time else {
        return Some(day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    };
    let minutes = match when.offset? {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    let second = narrow(time.second.unwrap_or(0))?;
    let civil = day.at(narrow(time.hour)?, narrow(time.minute)?, second.min(59), 0);
    Some(civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second() - minutes * 60)
}

/// Describes what a grant covers.
fn words(what: &GrantSubject, place: &GrantPlace, until: &SpannedValue<'_>) -> String {
    let what = match what {
        GrantSubject::Exact { command } => format!("exactly `{command}`"),
        GrantSubject::Shape(scope) => format!("commands of the shape `{}`", scope.shape),
        GrantSubject::Rule { rule } => format!("commands that only the rule {rule} matches"),
        GrantSubject::UpTo { tier } => format!("all commands of tier {} and below", tier.number()),
    };
    let place = match place {
        GrantPlace::Directory { path } => format!("in {path} and below"),
        GrantPlace::Anywhere => "anywhere".to_owned(),
    };
    match until.get_ref() {
        DeValue::Datetime(when) => format!("{what}, {place}, until {when}"),
        _ => format!("{what}, {place}, until removed from the configuration"),
    }
}
