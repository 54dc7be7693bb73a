//! A headless Chromium and one page in it. It takes commands on descriptor 3 and answers on 4, JSON ended by a zero
//! byte.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    last: u64,
    complaints: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Browser {
    /// A page as a phone shows it.
    pub fn open(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (to, from) = (folder.path().join("to"), folder.path().join("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // Both ends open at once, so that neither waits for the other.
        let open = |path| OpenOptions::new().read(true).write(true).open(path).unwrap();
        let (to_file, mut from_file) = (open(&to), open(&from));
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
                      --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<\"$1\" 4>\"$2\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(folder.path().join("profile"))
            .args([&to, &from])
            .env("HOME", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (say, heard) = channel();
        std::thread::spawn(move || {
            let (mut text, mut part) = (Vec::new(), [0; 64 << 10]);
            while let Ok(read) = from_file.read(&mut part) {
                for byte in &part[..read] {
                    if *byte == 0 {
                        let value: Value = serde_json::from_slice(&text).unwrap();
                        text.clear();
                        if say.send(value).is_err() {
                            return;
                        }
                    } else {
                        text.push(*byte);
                    }
                }
            }
        });
        let mut browser = Self {
            child,
            to: to_file,
            from: heard,
            session: String::new(),
            last: 0,
            complaints: Vec::new(),
            _folder: folder,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
        browser.call("Emulation.setDeviceMetricsOverride", phone);
        browser.call("Page.navigate", json!({ "url": url }));
        browser
    }

    /// Calls a method of the protocol.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": params });
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.to.write_all(format!("{command}\0").as_bytes()).unwrap();
        loop {
            let value =
                self.from.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{method}: no answer"));
            if value["id"] == json!(self.last) {
                assert!(value["error"].is_null(), "{method}: {value}");
                return value["result"].clone();
            }
            match value["method"].as_str().unwrap_or_default() {
                // That somebody is not logged in yet is no complaint of the page's, and RS256 is left out on purpose.
                "Log.entryAdded"
                    if !["401", "pubKeyCredParams"]
                        .iter()
                        .any(|known| value["params"]["entry"]["text"].as_str().unwrap_or_default().contains(known)) =>
                {
                    self.complaints.push(value["params"]["entry"].to_string());
                }
                "Runtime.exceptionThrown" => self.complaints.push(value["params"].to_string()),
                _ => {}
            }
        }
    }

    /// The value of an expression on the page.
    #[track_caller]
    pub fn run(&mut self, expression: &str) -> Value {
        let wanted =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let told = self.call("Runtime.evaluate", wanted);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// Waits until an expression holds.
    #[track_caller]
    pub fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while self.run(&format!("Boolean({expression})")) != true {
            if begun.elapsed() > Duration::from_secs(30) {
                let text = self.run("document.body.innerText");
                panic!("{expression} never came: {text}\n{:?}", self.complaints);
            }
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// What the browser complained of: policies that were broken, errors of scripts.
    pub fn complaints(&mut self) -> Vec<String> {
        self.run("1");
        std::mem::take(&mut self.complaints)
    }

    /// Roles and names as a screen reader has them.
    pub fn accessible(&mut self, roles: &[&str]) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
        let pairs = nodes.map(|node| {
            let text = |name: &str| node[name]["value"].as_str().unwrap_or_default().to_owned();
            (text("role"), text("name"))
        });
        pairs.filter(|(role, _)| roles.contains(&role.as_str())).collect()
    }

    /// Keeps a picture in the directory that `GUARD_PICTURES` names.
    pub fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("GUARD_PICTURES") else { return };
        let data = self.call("Page.captureScreenshot", json!({ "format": "png" }))["data"].clone();
        let bytes = <base64ct::Base64 as base64ct::Encoding>::decode_vec(data.as_str().unwrap()).unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
