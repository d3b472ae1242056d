//! A browser, driven by its own driver: WebDriver is JSON over plain HTTP on loopback, which curl speaks.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long something may take to appear.
const PATIENCE: Duration = Duration::from_secs(30);
/// By which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(crate) const TAB: &str = "\u{e004}";
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const CONTROL: &str = "\u{e009}";
pub(crate) const ESCAPE: &str = "\u{e00c}";
pub(crate) const RIGHT: &str = "\u{e014}";
pub(crate) const DOWN: &str = "\u{e015}";
pub(crate) const HOME: &str = "\u{e011}";
pub(crate) const END: &str = "\u{e010}";
pub(crate) const BACKSPACE: &str = "\u{e003}";

/// A driver that runs while this lives.
pub(crate) struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    pub(crate) fn start() -> Self {
        let program = std::env::var_os("DENIABLE_TEST_DRIVER").unwrap_or_else(|| {
            panic!(
                "this test needs a browser\nhint: run the tests as `scripts/with-browser cargo nextest run …`"
            )
        });
        let mut child = Command::new(program)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the driver starts");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines
            .find_map(|line| {
                let line = line.ok()?;
                let (_, port) = line.split_once("started successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            })
            .expect("the driver says its port");
        // What it says later is read, so that it never waits.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    /// A window of its own, without cookies of others.
    pub(crate) fn browser(&self) -> Browser<'_> {
        self.browser_with(&[])
    }

    /// One that runs no script of pages.
    pub(crate) fn browser_without_script(&self) -> Browser<'_> {
        self.browser_with(&["--blink-settings=scriptEnabled=false"])
    }

    fn browser_with(&self, more: &[&str]) -> Browser<'_> {
        let mut arguments = vec![
            "--headless=new",
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--window-size=1280,960",
            "--hide-scrollbars",
            "--force-color-profile=srgb",
        ];
        arguments.extend(more);
        let options = json!({ "args": arguments });
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let made = self.send("POST", "/session", &wanted);
        let session = made["sessionId"].as_str().unwrap_or_else(|| panic!("{made}"));
        Browser {
            driver: self,
            session: session.to_owned(),
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--request", method]);
        if method == "POST" {
            command.args([
                "--header",
                "Content-Type: application/json",
                "--data-binary",
                &body.to_string(),
            ]);
        }
        let output = command
            .arg(format!("http://127.0.0.1:{}{path}", self.port))
            .output()
            .expect("these tests need curl in PATH");
        let reply: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        reply["value"].clone()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One window.
pub(crate) struct Browser<'a> {
    driver: &'a Driver,
    session: String,
}

impl Browser<'_> {
    fn post(&self, path: &str, body: &Value) -> Value {
        let value = self
            .driver
            .send("POST", &format!("/session/{}{path}", self.session), body);
        assert!(
            value["error"].is_null(),
            "{path} {body}: {} {}",
            value["error"],
            value["message"]
        );
        value
    }

    fn get(&self, path: &str) -> Value {
        self.driver
            .send("GET", &format!("/session/{}{path}", self.session), &Value::Null)
    }

    pub(crate) fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    pub(crate) fn address(&self) -> String {
        self.get("/url").as_str().unwrap().to_owned()
    }

    /// What a script in the page says.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    pub(crate) fn text(&self) -> String {
        self.run("return document.body.innerText")
            .as_str()
            .unwrap()
            .to_owned()
    }

    pub(crate) fn count(&self, selector: &str) -> u64 {
        let script = format!("return document.querySelectorAll({}).length", json!(selector));
        self.run(&script).as_u64().unwrap()
    }

    /// Waits until the page holds this.
    pub(crate) fn see(&self, wanted: &str) -> String {
        let since = Instant::now();
        loop {
            let text = self.text();
            if text.contains(wanted) {
                return text;
            }
            assert!(since.elapsed() < PATIENCE, "{wanted:?} never came:\n{text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn click(&self, selector: &str) {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found[ELEMENT].as_str().unwrap().to_owned();
        self.post(&format!("/element/{id}/click"), &json!({}));
    }

    /// Keys, one after the other, to whatever has the focus.
    pub(crate) fn keys(&self, text: &str) {
        let presses: Vec<Value> = text
            .chars()
            .flat_map(|key| {
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        self.act(presses);
    }

    /// A key while another is held.
    pub(crate) fn chord(&self, held: &str, key: &str) {
        let press = |kind: &str, key: &str| json!({ "type": kind, "value": key });
        self.act(vec![
            press("keyDown", held),
            press("keyDown", key),
            press("keyUp", key),
            press("keyUp", held),
        ]);
    }

    fn act(&self, presses: Vec<Value>) {
        self.post(
            "/actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] }),
        );
    }

    /// Goes to it with Tab, and presses Enter.
    pub(crate) fn press(&self, selector: &str) {
        self.tab_to(selector);
        self.keys(ENTER);
    }

    /// Presses Tab until this has the focus, as somebody without a mouse does.
    pub(crate) fn tab_to(&self, selector: &str) {
        let script = format!("return document.activeElement.matches({})", json!(selector));
        for _ in 0..90 {
            if self.run(&script) == true {
                return;
            }
            self.keys(TAB);
        }
        panic!("{selector} cannot be reached with Tab");
    }

    fn command(&self, name: &str, params: &Value) {
        self.post("/goog/cdp/execute", &json!({ "cmd": name, "params": params }));
    }

    pub(crate) fn is_dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.command("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    pub(crate) fn size(&self, width: u32, height: u32) {
        let params = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.command("Emulation.setDeviceMetricsOverride", &params);
    }

    /// Keeps files that pages offer in this folder.
    pub(crate) fn keeps_files_in(&self, folder: &std::path::Path) {
        self.command(
            "Browser.setDownloadBehavior",
            &json!({ "behavior": "allow", "downloadPath": folder }),
        );
    }

    /// Whether the page asks something in a window of the browser, as `alert` does.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.get("/alert/text")["error"] != "no such alert"
    }

    /// Checks that nothing is wider than the window, and that no table or figure needs to be moved sideways
    /// if it could be laid out otherwise.
    pub(crate) fn fits(&self, name: &str) {
        let wide = self.run(
            "const narrow = innerWidth < 640 ? [...document.querySelectorAll('.stacks, figure.line')] : [];
             const wide = narrow.filter((part) => part.scrollWidth > part.clientWidth + 1);
             wide.push(...[...document.querySelectorAll('svg.deniable-figure')].filter((part) => part.getBoundingClientRect().right > innerWidth));
             if (document.documentElement.scrollWidth > innerWidth) wide.push(document.documentElement);
             return wide.map((part) => part.outerHTML.slice(0, 200))",
        );
        assert_eq!(wide, json!([]), "{name} is wider than its window");
    }

    /// At phone and at full width, in light and in dark: pictures, and that nothing is wider than the window.
    pub(crate) fn pictures(&self, name: &str) {
        for (width, height, size) in [(390, 844, "phone"), (1280, 960, "wide")] {
            self.size(width, height);
            for (dark, scheme) in [(true, "dark"), (false, "light")] {
                self.is_dark(dark);
                self.picture(&format!("{name}-{size}-{scheme}"));
            }
            self.fits(&format!("{name} at {width}"));
        }
    }

    /// A picture of the page, where DENIABLE_TEST_SCREENSHOTS names a folder for them.
    pub(crate) fn picture(&self, name: &str) {
        use base64::Engine as _;
        let Some(folder) = std::env::var_os("DENIABLE_TEST_SCREENSHOTS") else {
            return;
        };
        let shot = self.get("/screenshot");
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(shot.as_str().unwrap())
            .unwrap();
        std::fs::write(std::path::Path::new(&folder).join(format!("{name}.png")), bytes).unwrap();
    }

    /// Checks that the page had no errors of script and no reports of its policy. A refused page is not one.
    pub(crate) fn has_no_errors(&self) {
        let entries = self.post("/se/log", &json!({ "type": "browser" }));
        let wrong: Vec<&Value> = entries
            .as_array()
            .unwrap()
            .iter()
            .filter(|entry| {
                !entry["message"]
                    .as_str()
                    .unwrap_or_default()
                    .contains("the server responded with a status of 4")
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        let _ = self
            .driver
            .send("DELETE", &format!("/session/{}", self.session), &Value::Null);
    }
}
