//! Parses the table `[service]`.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use crate::config::document::{Document, SpannedValue};
use crate::config::errors::ConfigProblem;
use crate::config::keys::{ConfigType, Key, nearest};
use crate::config::layer::Layer;
use crate::config::service::{SOCKET, Service};

/// Maximum length of the path of a socket.
const MAX_SOCKET: usize = 100;

/// The default of the highest tier that the gateway approves without a signature.
const UNSIGNED_TIER: u8 = 2;

/// The maximum of that tier: tier 4 is answered only at a terminal.
const MAX_UNSIGNED_TIER: u8 = 3;

const TIERS: &str = "a tier from 0 to 3";

/// Parses the table.
pub(super) fn read(document: &mut Document, line: u32, value: &SpannedValue<'_>, problems: &mut Vec<ConfigProblem>) {
    let row = Key::Service.entry();
    if document.layer != Layer::Machine {
        let problem = document.problem(line, row.name, "only the machine's file can configure the service");
        problems.push(problem.with_remedy("remove it"));
        return;
    }
    let before = problems.len();
    let mut service = Service { socket: SOCKET.into(), gateway_unsigned_tier: UNSIGNED_TIER, ..Service::default() };
    if let DeValue::Table(table) = value.get_ref() {
        for (name, value) in table {
            let full = format!("service.{}", name.get_ref());
            let wrong = |expected: &str| document.wrong(&full, expected, value);
            let problem = match (&**name.get_ref(), value.get_ref()) {
                ("account", DeValue::String(account)) if is_name(account) => {
                    service.account = account.to_string();
                    continue;
                }
                ("account", _) => wrong("the name of an account"),
                ("socket", DeValue::String(path)) if is_path(path) => {
                    service.socket = PathBuf::from(&**path);
                    continue;
                }
                ("socket", _) => wrong(&format!("an absolute path of at most {MAX_SOCKET} bytes")),
                ("approvers", DeValue::Array(list)) => {
                    for item in list {
                        match item.get_ref() {
                            DeValue::String(name) if is_name(name) => service.approvers.push(name.to_string()),
                            _ => problems.push(document.wrong(&full, "the name of an account", item)),
                        }
                    }
                    continue;
                }
                ("approvers", _) => wrong("a list of names of accounts"),
                ("own_requests", DeValue::Boolean(flag)) => {
                    service.own_requests = *flag;
                    continue;
                }
                ("own_requests", _) => wrong("true or false"),
                ("gateway", DeValue::String(account)) if is_name(account) => {
                    service.gateway = Some(account.to_string());
                    continue;
                }
                ("gateway", _) => wrong("the name of an account"),
                ("gateway_unsigned_tier", DeValue::Integer(whole)) => match whole.to_string().parse() {
                    Ok(tier @ 0..=MAX_UNSIGNED_TIER) => {
                        service.gateway_unsigned_tier = tier;
                        continue;
                    }
                    _ => wrong(TIERS),
                },
                ("gateway_unsigned_tier", _) => wrong(TIERS),
                (unknown, _) => {
                    let problem = document.problem(document.line(name.span().start), &full, "unknown key");
                    let fields = if let ConfigType::Table(fields) = row.kind { fields } else { &[] };
                    match nearest(unknown, fields.iter().map(|field| field.name)) {
                        Some(near) => problem.with_remedy(format!("did you mean {near}?")),
                        None => {
                            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                            problem.with_remedy(format!("there are {}", names.join(", ")))
                        }
                    }
                }
            };
            problems.push(problem);
        }
        if service.account.is_empty() && problems.len() == before {
            let problem = document.problem(line, row.name, "`account` is missing");
            problems.push(problem.with_remedy("add the account that guard serve runs as"));
        }
        if service.approves(&service.account) {
            let problem =
                document.problem(line, "service.approvers", "the service's own account cannot be an approver");
            problems.push(problem.with_remedy("list people's accounts"));
        }
        if let Some(gateway) = &service.gateway
            && (*gateway == service.account || service.approves(gateway) || gateway == "root")
        {
            let says = "the gateway must not run as root, the service's account or an approver";
            let problem = document.problem(line, "service.gateway", says);
            problems.push(problem.with_remedy("use a separate account: useradd --system guard-gateway"));
        }
    } else {
        problems.push(document.wrong(row.name, &row.expected(), value));
    }
    if let Some(problem) = problems.get(before) {
        service.broken = Some(problem.to_string());
    }
    document.service = Some(service);
}

/// Reports whether a text can be the name of an account.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == ':' || c == '/')
}

fn is_path(path: &str) -> bool {
    Path::new(path).is_absolute() && path.len() <= MAX_SOCKET && !path.contains('\0')
}
