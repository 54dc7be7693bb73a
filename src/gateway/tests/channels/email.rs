//! Tests e-mail with a small SMTP server: the delivered mail, the page that its link opens, and faults of the server.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::server::Server;
use crate::browser::MEDIUM;
use crate::browser::chromium::Browser;
use crate::test_gateway::TestGateway;

/// A mail server.
#[derive(Clone, Default)]
struct Mail {
    port: u16,
    /// The received messages, decoded.
    came: Arc<Mutex<Vec<String>>>,
    /// The received AUTH credentials.
    logins: Arc<Mutex<Vec<String>>>,
    /// Scripted responses that take precedence, by the first word of the command that they answer; an empty one closes
    /// the connection.
    faults: Arc<Mutex<VecDeque<(String, String)>>>,
}

impl Mail {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mail = Self { port: listener.local_addr().unwrap().port(), ..Self::default() };
        let shared = mail.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || shared.serve_connection(&stream));
            }
        });
        mail
    }

    /// Serves one client until it disconnects or the connection is closed.
    fn serve_connection(&self, mut stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines().map_while(Result::ok);
        stream.write_all(b"220 here\r\n").ok()?;
        while let Some(line) = lines.next() {
            let word = line.split(' ').next()?.to_uppercase();
            let fault = {
                let mut faults = self.faults.lock().unwrap();
                let at = faults.iter().position(|(known, _)| *known == word);
                at.and_then(|at| faults.remove(at))
            };
            let answer = match (fault, word.as_str()) {
                (Some((_, answer)), _) if answer.is_empty() => return None,
                (Some((_, answer)), _) => answer,
                (None, "EHLO") => "250-here\r\n250-AUTH PLAIN\r\n250 8BITMIME".to_owned(),
                (None, "AUTH") => {
                    self.logins.lock().unwrap().push(line.clone());
                    "235 fine".to_owned()
                }
                (None, "DATA") => {
                    stream.write_all(b"354 go on\r\n").ok()?;
                    let text: Vec<String> = lines.by_ref().take_while(|line| line != ".").collect();
                    let text = text.join("\n").replace("=\n", "").replace("=3D", "=");
                    self.came.lock().unwrap().push(text);
                    "250 taken".to_owned()
                }
                (None, "QUIT") => return stream.write_all(b"221 bye\r\n").ok(),
                (None, _) => "250 fine".to_owned(),
            };
            stream.write_all(format!("{answer}\r\n").as_bytes()).ok()?;
        }
        Some(())
    }

    fn fail(&self, word: &str, answer: &str) {
        self.faults.lock().unwrap().push_back((word.to_owned(), answer.to_owned()));
    }

    fn came(&self) -> Vec<String> {
        self.came.lock().unwrap().clone()
    }

    fn config(&self, more: &str) -> String {
        format!(
            "page = \"https://guard.example.org\"\n{more}\n[[channel]]\nname = \"mail\"\nkind = \"email\"\n\
             url = \"smtp://127.0.0.1:{}\"\nfrom = \"guard@example.org\"\nto = \"ada@example.org\"\napprover = \"ada\"\n",
            self.port
        )
    }
}

/// Returns the secret in the link of a mail.
fn link(text: &str) -> String {
    let (_, rest) = text.split_once("https://guard.example.org/#mail=").unwrap_or_else(|| panic!("no link: {text}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

#[test]
fn the_link_of_a_mail_answers_one_request_once() {
    let mail = Mail::new();
    let gateway = TestGateway::new(&mail.config(""));
    let mut agent = gateway.agent(MEDIUM);
    gateway.until(|| mail.came().len() == 1);
    let text = mail.came().remove(0);
    for part in ["To: ada@example.org", "Auto-Submitted: auto-generated", MEDIUM, "tier 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut other = gateway.agent("npm install right-pad-of-somebody");
    gateway.until(|| mail.came().len() == 2);
    let code = link(&text);
    let mut page = Browser::open(&format!("http://localhost:{}/#mail={code}", gateway.port));
    // The page shows this request, and nothing of the other one.
    page.until("document.querySelectorAll('article').length === 1");
    assert_eq!(page.run("document.querySelector('article pre').textContent"), json!(MEDIUM));
    assert_eq!(page.run("location.hash"), "");
    for path in ["sessions", "stats", "record", "push", "status"] {
        let status = page.run(&format!("fetch('/v1/{path}').then((answer) => answer.status)"));
        assert_eq!(status, 403, "{path}");
    }
    let list = gateway.get("/v1/requests?status=pending", &gateway.person);
    let all = list.body["requests"].as_array().unwrap();
    let foreign = all.iter().find(|one| one["command"] != MEDIUM).unwrap()["action_id"].as_str().unwrap().to_owned();
    for (method, path) in
        [("GET", String::new()), ("GET", "/story".into()), ("POST", "/deny".into()), ("POST", "/approve".into())]
    {
        let told = page.run(&format!(
            "fetch('/v1/requests/{foreign}{path}', {{ method: '{method}', headers: {{ 'x-guard': '1' }} }}).then((answer) => answer.status)"
        ));
        assert_eq!(told, 404, "{method} {path}");
    }
    let again = json!({ "secret": code }).to_string();
    assert_eq!(gateway.send("POST", "/v1/login", &["X-Guard: 1"], &again).status, 409, "the link was used");
    page.run("document.querySelector('[data-do=approve]').click()");
    assert!(agent.wait().unwrap().success());
    let past = gateway.get("/v1/requests?status=approved", &gateway.person);
    assert_eq!(past.body["requests"][0]["decided_by"], "ada (mail)", "{}", past.text);
    // The link of a decided request does not answer it.
    gateway.post(&format!("/v1/requests/{foreign}/deny"), &gateway.person, &json!({}));
    other.wait().unwrap();
    let late = json!({ "secret": link(&mail.came()[1]) }).to_string();
    let late = gateway.send("POST", "/v1/login", &["X-Guard: 1"], &late);
    assert!(late.status == 409 && late.text.contains("denied by ada"), "{}", late.text);
    assert_eq!(gateway.send("POST", "/v1/login", &["X-Guard: 1"], "{\"secret\":\"made up\"}").status, 401);
}

#[test]
fn a_server_that_fails_is_named_and_the_next_channel_is_asked() {
    let (mail, taken) = (Mail::new(), Server::new(|_| Some((200, "{\"id\":\"1\"}".to_owned()))));
    let more = "[[route]]\nchannels = [\"mail\", \"phone\"]\n";
    let phone = format!("\n[[channel]]\nname = \"phone\"\nkind = \"ntfy\"\nurl = \"{}/topic\"\n", taken.url());
    let gateway = TestGateway::new(&format!("{}{phone}", mail.config(more)));
    let faults = [
        ("MAIL", "451 not now", "not now"),
        ("RCPT", "550 no such box", "no such box"),
        ("DATA", "", "incomplete response"),
    ];
    for (at, (word, answer, told)) in faults.into_iter().enumerate() {
        mail.fail(word, answer);
        let command = format!("npm install pad-{at}-of-somebody");
        let mut agent = gateway.agent(&command);
        let id = gateway.waiting()["action_id"].as_str().unwrap().to_owned();
        let mut why = String::new();
        gateway.until(|| {
            let story = gateway.get(&format!("/v1/requests/{id}/story"), &gateway.person);
            let events = story.body["events"].as_array().unwrap();
            let refused = events.iter().find(|event| event["type"] == "request.refused");
            refused.is_some_and(|event| {
                why = event["why"].as_str().unwrap().to_owned();
                true
            })
        });
        assert!(why.contains(told), "{word}: {why}");
        gateway.until(|| taken.asked("/").iter().any(|asked| asked.text.contains(&command)));
        gateway.post(&format!("/v1/requests/{id}/deny"), &gateway.person, &json!({}));
        agent.wait().unwrap();
    }
    assert_eq!(mail.came(), Vec::<String>::new());
}

#[test]
fn a_password_is_given_to_the_server_and_to_nobody_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let mail = Mail::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("password");
    std::fs::write(&file, "swordfish\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let login = format!("user = \"guard\"\npassword = {{ file = \"{}\" }}\n", file.display());
    let gateway = TestGateway::new(&format!("{}{login}", mail.config("")));
    mail.fail("AUTH", "535 wrong");
    let tested = gateway.command(&["channel", "test", "mail"]).output().unwrap();
    let said = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(!tested.status.success() && said.contains("wrong") && !said.contains("swordfish"), "{said}");
    let tested = gateway.command(&["channel", "test", "mail"]).output().unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stderr));
    let wanted = <base64ct::Base64 as base64ct::Encoding>::encode_string(b"\0guard\0swordfish");
    assert!(mail.logins.lock().unwrap().iter().any(|line| line.contains(&wanted)));
    assert!(mail.came().iter().all(|text| !text.contains("swordfish")));
}
