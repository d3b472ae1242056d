//! A folder, a home and a shell.

use crate::masked;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// How long a server may take to say what the page says.
const PATIENCE: Duration = Duration::from_secs(120);

/// The sample data of the command, made once: making it takes longer than most pages.
pub(crate) struct Sample(Session);

impl Sample {
    pub(crate) fn new() -> Self {
        let mut session = Session::empty();
        session.run("deniable query 'SHOW TABLES'", &[]);
        let made = session.data().join("sample");
        assert!(
            made.join("people.parquet").exists(),
            "there is no sample in {}",
            made.display()
        );
        Self(session)
    }
}

pub(crate) struct Session {
    home: TempDir,
    serving: Vec<Child>,
}

impl Session {
    /// With the sample, under both names that commands make it under. Nothing was asked of it.
    pub(crate) fn new(sample: &Sample) -> Self {
        let session = Self::empty();
        for name in ["sample", "demo"] {
            let folder = session.data().join(name);
            std::fs::create_dir_all(&folder).unwrap();
            for entry in std::fs::read_dir(sample.0.data().join("sample")).unwrap() {
                let entry = entry.unwrap();
                if !entry.file_name().to_string_lossy().contains("ledger") {
                    std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
                }
            }
        }
        session
    }

    fn empty() -> Self {
        let session = Self {
            home: tempfile::tempdir().unwrap(),
            serving: Vec::new(),
        };
        std::fs::create_dir(session.folder()).unwrap();
        session
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("here")
    }

    fn data(&self) -> PathBuf {
        self.home.path().join(".local/share/deniable")
    }

    fn shell(&self, command: &str) -> Command {
        let programs = PathBuf::from(env!("CARGO_BIN_EXE_deniable"));
        let programs = programs.parent().unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths(std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path)));
        let mut shell = Command::new("bash");
        shell
            .arg("-c")
            .arg(format!("exec 2>&1\n{command}"))
            .current_dir(self.folder())
            .env("PATH", path.unwrap())
            .env("HOME", self.home.path())
            .env("DENIABLE_ANALYST", "ann")
            .env_remove("XDG_DATA_HOME")
            .env_remove("DENIABLE_CATALOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        shell
    }

    /// Runs a command and returns its lines. Of one that stays, as many as the page has.
    pub(crate) fn run(&mut self, command: &str, expected: &[String]) -> Vec<String> {
        let text = match command.strip_suffix('&') {
            Some(command) => self.stays(command.trim_end(), expected),
            None => {
                let mut child = self.shell(command).spawn().unwrap();
                let mut text = String::new();
                child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
                child.wait().unwrap();
                text
            }
        };
        let mut lines = self.lines(&text);
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Without the home's own name.
    fn lines(&self, text: &str) -> Vec<String> {
        let home = self.home.path().to_string_lossy().into_owned();
        let text = text.replace(&format!("{home}/here/"), "").replace(&home, "~");
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// On ports that are free, whatever the page says.
    fn stays(&mut self, command: &str, expected: &[String]) -> String {
        let places = " --http 127.0.0.1:0 --wire 127.0.0.1:0 --curators 127.0.0.1:0";
        let mut child = self.shell(&format!("exec {command}{places}")).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        self.serving.push(child);
        let (said, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        let mut text = String::new();
        while expected.is_empty() || !masked::matches(expected, &self.lines(&text)) {
            // A page that says nothing yet is to be written: the server speaks until it has nothing more to
            // say.
            let patience = match expected.is_empty() && !text.is_empty() {
                true => Duration::from_secs(5),
                false => PATIENCE,
            };
            let Ok(line) = lines.recv_timeout(patience) else {
                break;
            };
            text += &line;
            text += "\n";
        }
        text
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        for child in &mut self.serving {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
