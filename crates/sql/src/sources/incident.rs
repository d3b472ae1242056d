//! What an engine says when it fails may quote data. It is kept for the curator under a random name, and only the name is reported.

use crate::Error;
use noise::{Entropy, OsEntropy};
use std::fmt::Display;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The error to show for a failure of the engine while it did `what`.
///
/// `error` goes to a file of that name in the directory that `DENIABLE_INCIDENTS` names, when it does, and nowhere else. `what` must be public: the name
/// of a table or of a step. The newest hundred are kept, 64 KiB of each, and none where the disk is nearly full.
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

/// Files that are kept. Whoever finds a way to make incidents makes the oldest ones go, and does not fill the disk, which the ledger may be on.
const MOST_KEPT: usize = 100;
/// The longest text of one.
const LONGEST: usize = 64 << 10;
/// Bytes that are left on the disk for others.
#[cfg(unix)]
const LEFT_TO_OTHERS: u64 = 64 << 20;

fn keep(directory: &Path, id: &str, what: &str, error: &dyn Display) -> std::io::Result<()> {
    // One at a time, so that there are never more than there may be.
    static KEEPING: Mutex<()> = Mutex::new(());
    let _keeping = KEEPING.lock().unwrap_or_else(PoisonError::into_inner);
    make_place(directory)?;
    if !has_room(directory) {
        return Ok(());
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // It may quote data: for the curator's eyes only.
        options.mode(0o600);
    }
    let mut file = options.open(directory.join(format!("{id}.txt")))?;
    let text = format!("{what}\n\n{error}\n");
    file.write_all(&text.as_bytes()[..text.floor_char_boundary(LONGEST)])
}

/// Removes the oldest files of incidents until there is a place for one more. Other files are not ours.
fn make_place(directory: &Path) -> std::io::Result<()> {
    let mut kept: Vec<_> = std::fs::read_dir(directory)?
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_of_incident))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    kept.sort();
    let too_many = (kept.len() + 1).saturating_sub(MOST_KEPT);
    for (_, path) in kept.iter().take(too_many) {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

fn is_of_incident(name: &str) -> bool {
    name.strip_suffix(".txt")
        .is_some_and(|id| id == UNNAMED || id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether the disk has more room than others need.
fn has_room(directory: &Path) -> bool {
    #[cfg(unix)]
    if let Ok(disk) = rustix::fs::statvfs(directory) {
        return disk.f_bavail.saturating_mul(disk.f_frsize) > LEFT_TO_OTHERS;
    }
    directory.is_dir()
}

/// What is called so where the system has no random bits.
const UNNAMED: &str = "without-a-name";

/// 64 random bits. Nothing that happened can be read from the name.
fn name() -> String {
    match OsEntropy::new() {
        Ok(mut entropy) => format!("{:016x}", entropy.bits(64)),
        Err(_) => UNNAMED.to_owned(),
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
    fn many_and_long_ones_do_not_fill_the_disk() {
        let directory = tempfile::tempdir().unwrap();
        let of_others = ["notes.txt", "0123456789abcdef.txt.gz", "town.ledger"];
        for name in of_others {
            std::fs::write(directory.path().join(name), "not ours").unwrap();
        }
        let mut ids = Vec::new();
        for _ in 0..MOST_KEPT + 20 {
            let Error::Engine { id, .. } = incident_in(Some(directory.path()), "a step", "é".repeat(LONGEST))
            else {
                panic!("expected an incident");
            };
            ids.push(id);
        }
        let kept = |id: &String| directory.path().join(format!("{id}.txt"));
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, MOST_KEPT + of_others.len());
        assert!(of_others.iter().all(|name| directory.path().join(name).exists()));
        // The newest is kept, cut where a character ends.
        let text = std::fs::read_to_string(kept(&ids[MOST_KEPT + 19])).unwrap();
        assert!(text.len() <= LONGEST && text.len() > LONGEST - 4);
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
