//! The server's process: its command line, its names, and its end.

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

/// The time that a server may take to exit after its client has gone.
const TO_END: Duration = Duration::from_secs(5);

/// Returns the command to start: the server's own program, or the gateway that forwards messages to a server over HTTP.
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

/// Replaces this process by the gateway, which starts the proxy without `--listen` for each session of a client.
pub(super) fn listen(args: &McpArgs, address: SocketAddr) -> Result<u8, McpError> {
    let program = gateway::find()?;
    let become_it = |tool: Tool| {
        let tool = tool.arg("mcp-listen").arg(address.to_string()).arg(format!("--idle={}", args.idle));
        tool.arg("--").args(words(args)).replace()
    };
    let error = Tool::at(&program).map_or_else(|error| error, become_it);
    Err(McpError::Listen { program, error })
}

/// Returns the arguments of this process without `--listen`.
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

/// Returns the command of a server in one line, which serves as the name of an unnamed server.
pub(super) fn line(words: &[OsString]) -> String {
    let line = words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    line.chars().take(200).collect()
}

/// Returns the names by which the server may be known: the given name, and the words of its command that are not
/// options.
pub(super) fn names(args: &McpArgs) -> Vec<String> {
    let words = args.server.iter().map(|word| word.to_string_lossy().into_owned());
    let plain = words.filter(|word| !word.starts_with('-') && word.len() <= 128);
    let base = |word: String| word.rsplit('/').next().map_or_else(|| word.clone(), str::to_owned);
    let host = args.http.as_deref().and_then(host);
    // The first word is often a launcher (npx, uvx, python), and the words after the package are its own arguments.
    args.name.iter().cloned().chain(host).chain(plain.take(3).flat_map(|word| [word.clone(), base(word)])).collect()
}

/// Returns an address without parts that may contain a secret. It serves as the name of an unnamed server.
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

/// Returns the host of an address.
fn host(url: &str) -> Option<String> {
    let rest = url.split_once("://")?.1;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let bare = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    Some(bare.map_or(host, |(name, _)| name).to_owned()).filter(|host| !host.is_empty())
}

/// Waits for a server whose output has ended, and returns its exit code.
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

/// Discards the rest of a line.
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
