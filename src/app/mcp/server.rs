//! The server's process: what it is called, and how it ends.

use std::ffi::OsString;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::McpArgs;
use super::error::McpError;
use crate::app::gateway;
use crate::exec::tool::Tool;

/// How long a server may take to end when its client has gone.
const TO_END: Duration = Duration::from_secs(5);

/// What is started: the server's own program, or the one that carries messages to a server behind HTTP.
pub(super) fn command(args: &McpArgs) -> Result<(OsString, Vec<OsString>), McpError> {
    let Some(url) = &args.http else {
        let (program, rest) = args.server.split_first().ok_or(McpError::NoServer)?;
        return Ok((program.clone(), rest.to_vec()));
    };
    let held = |header: &String| match header.split_once('=') {
        Some((name, variable)) => Ok(format!("{name}: ${{{variable}}}")),
        None => Err(McpError::HeaderEnv(header.clone())),
    };
    let held = args.header_env.iter().map(held).collect::<Result<Vec<String>, McpError>>()?;
    let all = args.header.iter().cloned().chain(held);
    let headers = all.flat_map(|header| [OsString::from("--header"), header.into()]);
    let words = [OsString::from("mcp")].into_iter().chain(headers).chain(["--".into(), url.into()]);
    Ok((gateway::find()?.into(), words.collect()))
}

/// Becomes the gateway, which starts this without `--listen` for each session of a client.
pub(super) fn listen(args: &McpArgs, address: SocketAddr) -> Result<u8, McpError> {
    let program = gateway::find()?;
    let become_it = |tool: Tool| {
        let tool = tool.arg("mcp-listen").arg(address.to_string()).arg(format!("--idle={}", args.idle));
        tool.arg("--").args(words(args)).replace()
    };
    let error = Tool::at(&program).map_or_else(|error| error, become_it);
    Err(McpError::Listen { program, error })
}

/// What this was called with, without `--listen`.
fn words(args: &McpArgs) -> Vec<OsString> {
    let McpArgs { command: _, name, wait, redact_results, http, header, header_env, listen: _, idle: _, server } = args;
    let mut words = vec!["mcp".into(), format!("--wait={wait}").into()];
    let mut put = |option: &str, value: &str| words.push(OsString::from(format!("--{option}={value}")));
    name.iter().for_each(|name| put("name", name));
    http.iter().for_each(|url| put("http", url));
    header.iter().for_each(|header| put("header", header));
    header_env.iter().for_each(|header| put("header-env", header));
    words.extend(redact_results.then(|| "--redact-results".into()));
    if !server.is_empty() {
        words.push("--".into());
        words.extend(server.iter().cloned());
    }
    words
}

/// The command of a server in one line: its name where it is given none.
pub(super) fn line(words: &[OsString]) -> String {
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

/// The names that the server may be known by: the one that is given, and the words of its command that are no options.
pub(super) fn names(args: &McpArgs) -> Vec<String> {
    let words = args.server.iter().map(|word| word.to_string_lossy().into_owned());
    let plain = words.filter(|word| !word.starts_with('-') && word.len() <= 128);
    let base = |word: String| word.rsplit('/').next().map_or_else(|| word.clone(), str::to_owned);
    let host = args.http.as_deref().and_then(host);
    // The first is what runs it (npx, uvx, python), and what stands behind the package is its own arguments.
    args.name.iter().cloned().chain(host).chain(plain.take(3).flat_map(|word| [word.clone(), base(word)])).collect()
}

/// An address without what may be a secret in it: the name of a server that is given none.
pub(super) fn place(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    match path.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, behind) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{behind}")
        }
        None => path.to_owned(),
    }
}

/// The host of an address.
fn host(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let bare = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    Some(bare.map_or(host, |(name, _)| name).to_owned()).filter(|host| !host.is_empty())
}

/// Waits for a server whose output has ended.
pub(super) fn end(child: &mut Child) -> io::Result<u8> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1));
        }
        if begun.elapsed() >= TO_END {
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Throws away the rest of a line.
pub(super) fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        from.consume(length);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Parsed {
        #[command(flatten)]
        args: McpArgs,
    }

    #[test]
    fn each_session_is_begun_with_all_that_this_was_called_with() {
        use clap::Parser as _;
        for line in [
            vec!["--name=-x y", "--redact-results", "--", "npx", "--listen", "127.0.0.1:1"],
            vec!["--wait", "7", "--http", "https://x", "--header", "A: b", "--header", "C: d", "--header-env", "E=F"],
        ] {
            let with = |more: &[&str]| {
                let all = [&["mcp"], more, line.as_slice()].concat();
                Parsed::try_parse_from(all).unwrap().args
            };
            let (before, listening) = (with(&[]), with(&["--listen", "127.0.0.1:9"]));
            let again = Parsed::try_parse_from(words(&listening)).unwrap().args;
            assert_eq!(format!("{again:?}"), format!("{before:?}"));
        }
    }

    #[test]
    fn the_name_of_a_server_behind_http_holds_no_secret() {
        for (url, wanted) in [
            ("https://x.example/mcp?key=s3cret#part", "https://x.example/mcp"),
            ("https://me:s3cret@x.example:8443/a@b", "https://x.example:8443/a@b"),
            ("http://localhost", "http://localhost"),
        ] {
            assert_eq!(place(url), wanted);
        }
    }

    #[test]
    fn a_server_behind_http_is_known_by_its_host() {
        for (url, wanted) in [
            ("https://mcp.example.com/sse?x=1", Some("mcp.example.com")),
            ("http://127.0.0.1:8080", Some("127.0.0.1")),
            ("http://[::1]:8080/mcp", Some("[::1]")),
            ("http://[::1]/mcp", Some("[::1]")),
            ("https://me@host/x", Some("host")),
            ("nonsense", None),
            ("https:///x", None),
        ] {
            assert_eq!(host(url).as_deref(), wanted, "{url}");
        }
    }
}
