//! A person at a browser, played by curl.

use crate::common::Running;
use std::process::Command;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A reply with its head.
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Somebody at a browser: a jar of cookies, and the headers that browsers send.
pub(crate) struct Browser<'a> {
    running: &'a Running,
    port: u16,
    jar: tempfile::NamedTempFile,
}

impl<'a> Browser<'a> {
    pub(crate) fn at(running: &'a Running, port: u16) -> Self {
        Self {
            running,
            port,
            jar: tempfile::NamedTempFile::new().unwrap(),
        }
    }

    pub(crate) fn of_analysts(running: &'a Running) -> Self {
        Self::at(running, running.addresses.http.port())
    }

    pub(crate) fn send(&self, path: &str, arguments: &[&str]) -> Reply {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--include", "--cacert"])
            .arg(&self.running.certificate)
            .arg("--cookie")
            .arg(self.jar.path())
            .arg("--cookie-jar")
            .arg(self.jar.path())
            .args(arguments)
            .arg(format!("https://localhost:{}{path}", self.port))
            .output()
            .expect("these tests need curl in PATH");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("{output:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send(path, &[])
    }

    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.post_from(path, fields, &format!("https://localhost:{}", self.port), &[])
    }

    pub(crate) fn post_from(
        &self,
        path: &str,
        fields: &[(&str, &str)],
        origin: &str,
        more: &[&str],
    ) -> Reply {
        let origin = format!("Origin: {origin}");
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut arguments = vec!["--header", &origin];
        arguments.extend(more);
        for field in &fields {
            arguments.extend(["--data-urlencode", field]);
        }
        if fields.is_empty() {
            arguments.extend(["--data", ""]);
        }
        self.send(path, &arguments)
    }

    pub(crate) fn sign_in(&self, name: &str, secret: &str) -> Reply {
        self.post(
            "/sign-in",
            &[("name", name), ("secret", secret), ("next", "/tables")],
        )
    }

    /// Asks, and the number of the answer.
    pub(crate) fn ask(&self, sql: &str, epsilon: &str) -> u64 {
        let asked = self.post("/ask", &[("sql", sql), ("epsilon", epsilon), ("key", "k")]);
        assert_eq!(asked.status, 303, "{}", asked.body);
        let location = asked.header("location").unwrap();
        location.strip_prefix("/answers/").unwrap().parse().unwrap()
    }
}
