//! What was typed before: queries and commands, never answers. Only their owner can read them.

use files::{Readable, Whole};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Older lines are forgotten.
const MOST: usize = 1000;

/// The lines, and the file that keeps them; without one, they are gone with the shell.
#[derive(Debug)]
pub(super) struct History {
    file: Option<PathBuf>,
}

impl History {
    /// One that is kept in the state directory of the user, if there is such a one.
    pub(super) fn kept() -> Self {
        let (state, home) = (std::env::var_os("XDG_STATE_HOME"), std::env::var_os("HOME"));
        Self {
            file: state_directory(state, home).map(|directory| directory.join("shell_history")),
        }
    }

    /// One that is not kept.
    pub(super) fn forgotten() -> Self {
        Self { file: None }
    }

    /// The lines, the oldest first.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = self
            .file
            .as_ref()
            .and_then(|file| std::fs::read_to_string(file).ok());
        text.unwrap_or_default().lines().map(unescaped).collect()
    }

    /// Keeps one more line. The file is read again first: another shell may have added to it.
    pub(super) fn add(&self, line: &str) -> std::io::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut lines = self.lines();
        if lines.last().is_some_and(|last| last == line) {
            return Ok(());
        }
        lines.push(line.to_owned());
        let oldest = lines.len().saturating_sub(MOST);
        let text: String = lines[oldest..].iter().map(|line| escaped(line) + "\n").collect();
        make_folder(file)?;
        let whole = Whole::at(file, Readable::ByOwner).or_the_old_one();
        whole.write(|file| file.write_all(text.as_bytes()))
    }
}

fn make_folder(file: &Path) -> std::io::Result<()> {
    let Some(folder) = file.parent() else {
        return Ok(());
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Where programs keep what they remember between runs, by the specification of these variables: what is not
/// absolute is ignored.
fn state_directory(state: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: OsString| Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    let state = state
        .and_then(absolute)
        .or_else(|| Some(home.and_then(absolute)?.join(".local/state")))?;
    Some(state.join("deniable"))
}

/// A question of several lines, in one.
fn escaped(line: &str) -> String {
    line.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescaped(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        text.push(match letter {
            '\\' => match letters.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_kept_for_their_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("deniable/shell_history");
        let history = History {
            file: Some(file.clone()),
        };
        assert!(history.lines().is_empty());
        let several = "SELECT 'a\\n'\nFROM people;";
        for line in ["\\tables", several, several] {
            history.add(line).expect("kept");
        }
        assert_eq!(history.lines(), ["\\tables", several], "twice in a row is once");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!(mode(&file), 0o600);
            assert_eq!(mode(file.parent().expect("a folder")), 0o700);
            // One that others could read is theirs no more.
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("allowed");
            history.add("\\budget").expect("kept");
            assert_eq!(mode(&file), 0o600);
        }
        let full: String = (0..MOST).map(|number| format!("SELECT {number};\n")).collect();
        std::fs::write(&file, full).expect("written");
        history.add("\\quit").expect("kept");
        let lines = history.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (MOST, "SELECT 1;"));
        let forgotten = History::forgotten();
        forgotten.add("SELECT 1;").expect("nothing to do");
        assert!(forgotten.lines().is_empty());
    }

    #[test]
    fn it_lies_where_state_lies() {
        let text = |text: &str| Some(OsString::from(text));
        let directory = |state, home| state_directory(state, home).map(|path| path.display().to_string());
        assert_eq!(
            directory(text("/state"), text("/home/ann")).as_deref(),
            Some("/state/deniable")
        );
        let at_home = Some("/home/ann/.local/state/deniable".to_owned());
        assert_eq!(directory(None, text("/home/ann")), at_home);
        assert_eq!(directory(text("relative"), text("/home/ann")), at_home);
        assert_eq!(directory(None, None), None);
    }
}
