//! What an engine says when it fails may quote data. It is kept for the curator under a random name, and only the name is reported.

use crate::Error;
use noise::{Entropy, OsEntropy};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;

/// The error to show for a failure of the engine while it did `what`.
///
/// `error` goes to a file of that name in the directory that `DENIABLE_INCIDENTS` names, when it does, and nowhere else. `what` must be public: the name
/// of a table or of a step.
pub fn incident(what: impl Into<String>, error: impl Display) -> Error {
    let directory = std::env::var_os("DENIABLE_INCIDENTS");
    incident_in(directory.as_deref().map(Path::new), what, error)
}

fn incident_in(directory: Option<&Path>, what: impl Into<String>, error: impl Display) -> Error {
    let what = what.into();
    let id = name();
    if let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
        // If it cannot be kept, the failure itself is still reported: there is nobody else to tell.
        let _ = keep(directory, &id, &what, &error);
    }
    Error::Engine { what, id }
}

fn keep(directory: &Path, id: &str, what: &str, error: &dyn Display) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // It may quote data: for the curator's eyes only.
        options.mode(0o600);
    }
    let mut file = options.open(directory.join(format!("{id}.txt")))?;
    writeln!(file, "{what}\n\n{error}")
}

/// 64 random bits. Nothing that happened can be read from the name.
fn name() -> String {
    match OsEntropy::new() {
        Ok(mut entropy) => format!("{:016x}", entropy.bits(64)),
        Err(_) => "without-a-name".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_and_not_reported() {
        let directory = tempfile::tempdir().unwrap();
        let error = incident_in(
            Some(directory.path()),
            "table `people`",
            "cannot parse 'Ada Lovelace'",
        );
        assert!(!error.to_string().contains("Lovelace"));
        assert!(!format!("{error:?}").contains("Lovelace"));
        let Error::Engine { what, id } = error else {
            panic!("expected an incident");
        };
        assert_eq!(what, "table `people`");
        let kept = std::fs::read_to_string(directory.path().join(format!("{id}.txt"))).unwrap();
        assert!(kept.contains("Ada Lovelace") && kept.contains("table `people`"));
    }

    #[test]
    fn without_a_directory_nothing_is_kept() {
        let one = incident_in(None, "a step", "words");
        let other = incident_in(Some(Path::new("/nowhere/at/all")), "a step", "words");
        let (Error::Engine { id: one, .. }, Error::Engine { id: other, .. }) = (one, other) else {
            panic!("expected incidents");
        };
        assert_ne!(one, other);
    }
}
