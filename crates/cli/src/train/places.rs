//! Files of a run that must not be each other: what it reads, where it is charged, what it writes.

use crate::terminal::{CliError, fail};
use std::path::{Path, PathBuf};

/// A file, and what it is called.
pub(crate) type Named<'p> = (&'static str, &'p Path);

/// Refuses a run that would write over what it reads or over its own ledger, or whose files have no place: before anything is charged.
pub(crate) fn check(read: &[Named<'_>], written: &[Named<'_>]) -> Result<(), CliError> {
    for (number, (what, path)) in written.iter().enumerate() {
        let mut others = read.iter().chain(&written[..number]);
        if let Some((other, _)) = others.find(|(_, there)| resolved(there) == resolved(path)) {
            return fail(
                format!("{what} and {other} are the same file, {}", path.display()),
                "name another place for one of them",
            );
        }
        if path.is_dir() {
            return fail(
                format!("{what} is a folder: {}", path.display()),
                "name a file in it",
            );
        }
        if !folder(path).is_dir() {
            return fail(
                format!("the folder of {what} does not exist: {}", path.display()),
                "make it first, or name another",
            );
        }
    }
    Ok(())
}

/// The folder that a file lies in.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// One name for a file, whatever links lead to it; also for one that is not there yet.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    // A link to what is not there yet is followed by whoever makes it, so it is followed here; a ring of links ends somewhere.
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(there) = path.canonicalize() {
            return there;
        }
        let folder = folder(&path);
        let folder = folder.canonicalize().unwrap_or(folder);
        match path.read_link() {
            Ok(target) => path = folder.join(target),
            Err(_) => return folder.join(path.file_name().unwrap_or_default()),
        }
    }
    path
}

/// As many links as a system follows.
const LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_what_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("text"), "private").unwrap();
        let detour = at("text").parent().unwrap().join(".").join("text");
        let refused = |written: &Path| {
            let error = check(&[("--text", &at("text"))], &[("--out", written)]).unwrap_err();
            error.message
        };
        assert!(refused(&at("text")).contains("--out and --text are the same file"));
        assert!(refused(&detour).contains("the same file"));
        assert!(refused(directory.path()).contains("is a folder"));
        assert!(refused(&at("nowhere/model")).contains("does not exist"));
        let (model, ledger) = (at("model"), at("ledger"));
        check(
            &[("--text", &at("text"))],
            &[("--out", &model), ("the ledger", &ledger)],
        )
        .unwrap();
        let twice = check(&[], &[("the ledger", &ledger), ("--checkpoint", &ledger)]);
        assert!(twice.unwrap_err().message.contains("--checkpoint and the ledger"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
            assert!(refused(&at("link")).contains("the same file"));
            // A link to a file that somebody else makes first.
            std::os::unix::fs::symlink("later", at("dangling")).unwrap();
            let later = check(&[("the ledger", &at("dangling"))], &[("--out", &at("later"))]);
            assert!(later.unwrap_err().message.contains("the same file"));
            std::os::unix::fs::symlink("ring", at("ring")).unwrap();
            check(&[("the ledger", &at("ring"))], &[("--out", &at("later"))]).unwrap();
        }
    }
}
