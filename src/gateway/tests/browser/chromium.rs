//! A headless Chromium with one page. It reads commands from descriptor 3 and writes answers to 4, as JSON terminated
//! by a zero byte.

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
    events: Vec<Value>,
    _directory: tempfile::TempDir,
}

impl Browser {
    /// Opens a page with the screen of a phone.
    pub fn open(url: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (to, from) = (directory.path().join("to"), directory.path().join("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // Both pipes are opened for reading and writing, so that opening them does not block.
        let open = |path| OpenOptions::new().read(true).write(true).open(path).unwrap();
        let (to_file, mut from_file) = (open(&to), open(&from));
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage \
                      --remote-debugging-pipe --user-data-dir=\"$0\" about:blank 3<\"$1\" 4>\"$2\"";
        let child = Command::new("sh")
            .args(["-c", script])
            .arg(directory.path().join("profile"))
            .args([&to, &from])
            .env("HOME", directory.path())
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
            events: Vec::new(),
            _directory: directory,
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
                // Messages about a missing login and the intentionally missing RS256 are not errors of the page.
                "Log.entryAdded"
                    if !["401", "pubKeyCredParams"]
                        .iter()
                        .any(|known| value["params"]["entry"]["text"].as_str().unwrap_or_default().contains(known)) =>
                {
                    self.complaints.push(value["params"]["entry"].to_string());
                }
                "Runtime.exceptionThrown" => self.complaints.push(value["params"].to_string()),
                method if method.starts_with("ServiceWorker.") => self.events.push(value),
                _ => {}
            }
        }
    }

    /// Returns the value of an expression on the page.
    #[track_caller]
    pub fn run(&mut self, expression: &str) -> Value {
        let wanted =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true });
        let told = self.call("Runtime.evaluate", wanted);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {told}");
        told["result"]["value"].clone()
    }

    /// Waits until an expression is true.
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

    /// Returns the errors that the browser reported: policy violations and script errors.
    pub fn complaints(&mut self) -> Vec<String> {
        self.run("1");
        std::mem::take(&mut self.complaints)
    }

    /// Returns the roles and names that a screen reader sees.
    pub fn accessible(&mut self, roles: &[&str]) -> Vec<(String, String)> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == false);
        let pairs = nodes.map(|node| {
            let text = |name: &str| node[name]["value"].as_str().unwrap_or_default().to_owned();
            (text("role"), text("name"))
        });
        pairs.filter(|(role, _)| roles.contains(&role.as_str())).collect()
    }

    /// Presses a key at the current focus.
    pub fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// Sets the color scheme of the page.
    pub fn scheme(&mut self, scheme: &str) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }

    /// Sets the screen size of a desktop.
    pub fn desktop(&mut self) {
        let desktop = json!({ "width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", desktop);
    }

    /// Returns the violations that axe-core finds in the current page.
    #[track_caller]
    pub fn axe(&mut self) -> Vec<String> {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/axe/node_modules/axe-core/axe.min.js");
        let remedy = "npm install --prefix target/axe axe-core@4.14.1";
        let script = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("axe-core: {error}: {remedy}"));
        self.run(&format!("void (window.axe || (() => {{ {script} }})())"));
        self.wait_quiet();
        let found = self.run(
            "axe.run({ resultTypes: ['violations'] }).then((all) => all.violations.map((one) =>              one.id + ': ' + one.help + ' ' + one.nodes.map((node) => node.html + ' ' + node.failureSummary).join('; ')))",
        );
        serde_json::from_value(found).unwrap()
    }

    /// Waits for an event about service workers.
    #[track_caller]
    pub fn event(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            // The event may have arrived before the answer to a call.
            let value = if self.events.is_empty() {
                let value = self.from.recv_timeout(Duration::from_secs(30));
                value.unwrap_or_else(|_| panic!("{method} never came"))
            } else {
                self.events.remove(0)
            };
            if value["method"] == json!(method) && wanted(&value["params"]) {
                return value["params"].clone();
            }
        }
    }

    /// Waits until all animations have ended, because their intermediate colors would be checked otherwise.
    fn wait_quiet(&mut self) {
        self.run("Promise.all(document.getAnimations().map((one) => one.finished)).then(() => true)");
    }

    /// Stores a screenshot in the directory that `GUARD_PICTURES` names.
    pub fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("GUARD_PICTURES") else { return };
        self.wait_quiet();
        let data = self.call("Page.captureScreenshot", json!({ "format": "png" }))["data"].clone();
        let bytes = <base64ct::Base64 as base64ct::Encoding>::decode_vec(data.as_str().unwrap()).unwrap();
        std::fs::write(std::path::Path::new(&directory).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
