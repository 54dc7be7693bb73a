//! The exact command of a request (except hidden parts of a tool's input), with its environment.
//!
//! It is stored so that the process of an approver can assess it again and show what would run.
//! Out of scope: keeping it. It is erased when the request is settled.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::judge::approver::ApprovalNonce;
use crate::judge::bindings::Bindings;
use crate::judge::invocation::{ChangeKind, Digest, FileChange, Invocation, Line, Origin, Request, Session};
use crate::judge::syntax::tree::Dialect;

/// An invocation, and the data to which its approval is bound, in a serialisable form.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Exact {
    argv: Vec<Vec<u8>>,
    line: Option<ExactLine>,
    /// The changes of files: the name of the kind, and the path.
    files: Option<Vec<(String, String)>>,
    cwd: Vec<u8>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    home: Option<Vec<u8>>,
    uid: u32,
    user: String,
    origin: Origin,
    session: (String, String, Option<String>),
    pub(super) bindings: Bindings,
    pub(super) fresh: ApprovalNonce,
    /// The processes between the guard that waits and the root of its session, under unique names.
    pub(super) above: Vec<String>,
    pub(super) digest: [u8; 32],
    /// The call of a tool, as JSON.
    tool: Option<Vec<u8>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ExactLine {
    text: Vec<u8>,
    dialect: Dialect,
    shell: Vec<u8>,
    options: Vec<Vec<u8>>,
    positional: Vec<Vec<u8>>,
    before: Vec<u8>,
    /// Whether the command had an envelope, which is parsed again from the text.
    wrapped: bool,
}

fn bytes(text: impl AsRef<OsStr>) -> Vec<u8> {
    text.as_ref().as_bytes().to_vec()
}

fn all(words: &[OsString]) -> Vec<Vec<u8>> {
    words.iter().map(bytes).collect()
}

fn words(all: Vec<Vec<u8>>) -> Vec<OsString> {
    all.into_iter().map(OsString::from_vec).collect()
}

fn path(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

impl Exact {
    pub(super) fn of(
        invocation: &Invocation,
        digest: Digest,
        bindings: Bindings,
        fresh: ApprovalNonce,
        above: Vec<String>,
    ) -> Self {
        let (argv, line, files) = match &invocation.request {
            Request::Argv(argv) => (all(argv), None, None),
            Request::Tool(_) => (Vec::new(), None, None),
            Request::Files(changes) => {
                let change = |change: &FileChange| (change.kind.word().to_owned(), change.path.clone());
                (Vec::new(), None, Some(changes.iter().map(change).collect()))
            }
            Request::Line(line) => {
                let envelope = line.envelope.as_deref();
                let line = ExactLine {
                    text: envelope.map_or(&line.text, |envelope| &envelope.whole).clone(),
                    dialect: line.dialect,
                    shell: bytes(&line.shell),
                    options: all(&line.options),
                    positional: all(envelope.map_or(&line.positional, |envelope| &envelope.positional)),
                    before: line.before.clone(),
                    wrapped: envelope.is_some(),
                };
                (Vec::new(), Some(line), None)
            }
        };
        let session = &invocation.session;
        let tool = match &invocation.request {
            // Serialisation of a value with text keys cannot fail.
            Request::Tool(call) => Some(serde_json::to_vec(&call.concealed()).unwrap_or_default()),
            Request::Argv(_) | Request::Line(_) | Request::Files(_) => None,
        };
        Self {
            argv,
            line,
            files,
            cwd: bytes(&invocation.cwd),
            env: invocation.env.variables.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            home: invocation.home.as_deref().map(Path::as_os_str).map(bytes),
            uid: invocation.uid,
            user: invocation.user.clone(),
            origin: invocation.origin,
            session: (session.id.clone(), session.root.clone(), session.agent.clone()),
            bindings,
            fresh,
            above,
            digest: digest.0,
            tool,
        }
    }

    /// Returns the invocation, the bindings, and the processes between guard and the root of the session.
    pub(super) fn into_parts(self) -> (Invocation, Bindings, Vec<String>) {
        let kinds = [ChangeKind::Write, ChangeKind::Edit, ChangeKind::Delete, ChangeKind::Move];
        let change = |(word, path): (String, String)| {
            let kind = kinds.into_iter().find(|kind| kind.word() == word).unwrap_or(ChangeKind::Delete);
            FileChange { kind, path }
        };
        let wrapped = self.line.as_ref().is_some_and(|line| line.wrapped);
        let tool = self.tool.map(|tool| serde_json::from_slice(&tool).unwrap_or_default());
        let request = match (self.line, self.files) {
            _ if tool.is_some() => Request::Tool(Box::new(tool.unwrap_or_default())),
            (None, None) => Request::Argv(words(self.argv)),
            (None, Some(files)) => Request::Files(files.into_iter().map(change).collect()),
            (Some(line), _) => Request::Line(Line {
                text: line.text,
                dialect: line.dialect,
                shell: path(line.shell),
                options: words(line.options),
                positional: words(line.positional),
                before: line.before,
                envelope: None,
            }),
        };
        let (id, root, agent) = self.session;
        let env = self.env.into_iter();
        let invocation = Invocation {
            request,
            cwd: path(self.cwd),
            env: env.map(|(name, value)| (OsString::from_vec(name), OsString::from_vec(value))).collect(),
            home: self.home.map(path),
            uid: self.uid,
            user: self.user,
            origin: self.origin,
            session: Session { id, root, agent },
        };
        // An envelope without a template was removed too.
        let invocation = if wrapped { invocation.unwrapped(&real).opened() } else { invocation };
        (invocation, self.bindings, self.above)
    }
}

/// Returns the canonical path of a directory.
fn real(directory: &str) -> Option<String> {
    std::fs::canonicalize(directory).ok()?.into_os_string().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::super::super::sample::invocation;
    use super::*;
    use crate::judge::Judgment;
    use crate::judge::tools::ToolCall;

    #[test]
    fn a_command_comes_back_to_the_byte() {
        let mut wanted = invocation(&["x", "a b"], "r");
        wanted.env.variables.insert("A".into(), OsString::from_vec(vec![0xff, b'=']));
        let bindings = Bindings::of(&Judgment::default(), Some((1, 2)));
        let again = |wanted: &Invocation| {
            let exact = Exact::of(
                wanted,
                Digest([7; 32]),
                bindings.clone(),
                ApprovalNonce::default(),
                vec!["1.2.3".to_owned()],
            );
            let bytes = postcard::to_allocvec(&exact).unwrap();
            postcard::from_bytes::<Exact>(&bytes).unwrap().into_parts()
        };
        assert_eq!(again(&wanted), (wanted.clone(), bindings.clone(), vec!["1.2.3".to_owned()]));
        wanted.request = Request::Line(Line {
            text: b"echo \xfe".to_vec(),
            dialect: Dialect::Zsh,
            shell: "/bin/zsh".into(),
            options: vec!["-c".into()],
            positional: vec!["zero".into()],
            before: b"x=1\n".to_vec(),
            envelope: None,
        });
        wanted.home = None;
        assert_eq!(again(&wanted).0, wanted);
        let kinds = [ChangeKind::Write, ChangeKind::Edit, ChangeKind::Delete, ChangeKind::Move];
        let call = ToolCall::new("mcp__a__b", serde_json::json!({"x": [1, "\u{202e}"]}));
        wanted.request = Request::Tool(Box::new(ToolCall { servers: vec!["a".to_owned()], ..call }));
        assert_eq!(again(&wanted).0, wanted);
        wanted.request = Request::Files(kinds.map(|kind| FileChange { kind, path: "x/y".to_owned() }).to_vec());
        assert_eq!(again(&wanted).0, wanted);
    }

    #[test]
    fn a_directory_really_lies_where_its_links_lead() {
        let directory = tempfile::tempdir().unwrap();
        let target = std::fs::canonicalize(directory.path()).unwrap().join("target");
        std::fs::create_dir(&target).unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert_eq!(real(link.to_str().unwrap()).as_deref(), target.to_str());
        assert_eq!(real(directory.path().join("none").to_str().unwrap()), None);
    }
}
