//! Generates the section of the manual page about the configuration from the table of keys.

use super::defaults::locks;
use super::keys::{ConfigType, KEYS, Key};
use crate::judge::policy::Policy;

/// The description of the layers.
const LAYERS: &str = "\
guard reads /etc/guard/config.toml, then ~/.config/guard/config.toml, then .guard.toml in the project: at the git top \
level and in each directory from there down to the working directory. Later files override earlier ones. Lists are \
merged; an entry that \
begins with ! removes one. Keys that /etc locks can only be tightened, and a project can only tighten. If the \
account's own home has a configuration, another one that HOME or XDG_CONFIG_HOME point to can only tighten. If \
any file has an error, no flagged command runs without asking until it is fixed: see guard config check.";

/// Returns the section in roff, including its heading.
#[must_use]
pub fn section() -> String {
    let mut roff = format!(".SH CONFIGURATION\n{}\n", escape(LAYERS));
    let policy = Policy::default();
    for row in KEYS.iter().filter(|row| row.kind != ConfigType::LockOnly) {
        let default = match (row.key.get(&policy), row.key.list(&policy)) {
            (Some(value), _) => format!("; default {}", row.show(value)),
            (None, Some(list)) if !list.is_empty() => format!("; default {}", list.join(", ")),
            _ => String::new(),
        };
        roff.push_str(&format!(".TP\n\\fB{}\\fR\n", escape(row.name)));
        roff.push_str(&format!("{}\n.br\n", escape(row.what)));
        let expected = row.expected();
        let mut letters = expected.chars();
        let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
        roff.push_str(&format!("{}\n", escape(&format!("{first}{}{default}.", letters.as_str()))));
        if let ConfigType::Tables(fields) | ConfigType::Table(fields) = row.kind {
            for field in fields {
                roff.push_str(&format!(".br\n\\fI{}\\fR: {}\n", field.name, escape(field.what)));
            }
        }
        if row.key == Key::Locked {
            let preset: Vec<_> = locks("preset").iter().map(|key| key.entry().name).collect();
            let all = format!(
                "A locked preset also locks {}.",
                preset.iter().filter(|name| **name != "preset").copied().collect::<Vec<_>>().join(", ")
            );
            roff.push_str(&format!(".br\n{}\n", escape(&all)));
        }
    }
    roff
}

/// Escapes text for roff.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('…', "...");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_names_every_key_with_its_default() {
        let section = section();
        for row in KEYS.iter().filter(|row| row.kind != ConfigType::LockOnly) {
            assert!(section.contains(&format!("\\fB{}\\fR", row.name.replace('-', "\\-"))), "{}", row.name);
        }
        assert!(section.contains("A number from 0.0 to 5.0; default 2.0."));
    }

    #[test]
    fn no_line_of_text_is_taken_for_a_request() {
        for line in section().lines() {
            let request = line.starts_with('.');
            assert!(!request || [".SH", ".TP", ".br"].iter().any(|known| line.starts_with(known)), "{line}");
        }
    }
}
