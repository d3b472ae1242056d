//! Files of a run that must not be each other: what it reads, where it is charged, what it writes.

use crate::Error;
use std::path::{Path, PathBuf};

/// A file, and what it is called.
pub type Named<'p> = (&'static str, &'p Path);

/// Refuses a run that would write over what it reads or over its own ledger, or whose files have no place:
/// before anything is charged.
///
/// # Errors
/// When two of them are one file, or one that is written has no folder or is one.
pub fn check(read: &[Named<'_>], written: &[Named<'_>]) -> Result<(), Error> {
    for (number, (what, path)) in written.iter().enumerate() {
        let mut others = read.iter().chain(&written[..number]);
        if let Some((other, _)) = others.find(|(_, there)| resolved(there) == resolved(path)) {
            return Err(Error::input(
                format!("{what} and {other} are the same file, {}", path.display()),
                "name another place for one of them",
            ));
        }
        if path.is_dir() {
            return Err(Error::input(
                format!("{what} is a folder: {}", path.display()),
                "name a file in it",
            ));
        }
        if !folder(path).is_dir() {
            return Err(Error::input(
                format!("the folder of {what} does not exist: {}", path.display()),
                "make it first, or name another",
            ));
        }
    }
    Ok(())
}

/// Refuses to begin a run where another is saved: its steps are paid for.
///
/// # Errors
/// When there is a checkpoint.
pub fn check_new_checkpoint(checkpoint: &Path) -> Result<(), Error> {
    if checkpoint.exists() {
        return Err(Error::CheckpointExists {
            path: checkpoint.to_owned(),
        });
    }
    Ok(())
}

/// Refuses to write over a model: it was paid for, and cannot be made again.
///
/// # Errors
/// When there is a file.
pub fn check_new_model(out: &Path) -> Result<(), Error> {
    if out.exists() {
        return Err(Error::ModelExists { path: out.to_owned() });
    }
    Ok(())
}

/// Refuses private data that is declared public: a file that is one of the private ones, or has the same
/// content. What is made from public text, and what is measured on it, is published as it is.
///
/// # Errors
/// When a file that is called public is private, or has the same content.
pub fn check_public<'p>(
    private: &[PathBuf],
    public: impl IntoIterator<Item = Named<'p>>,
) -> Result<(), Error> {
    for (what, path) in public {
        for secret in private {
            let alike = if resolved(secret) == resolved(path) {
                "is the private data itself"
            } else if secret.is_dir() && resolved(path).starts_with(resolved(secret)) {
                "lies in a directory of private data"
            } else if same_content(secret, path) {
                "has the same content as the private data"
            } else {
                continue;
            };
            return Err(Error::input(
                format!("{what} {alike}: {}", path.display()),
                "a vocabulary, and what is measured on public data, are published without noise: name data that is public",
            ));
        }
    }
    Ok(())
}

/// Whether two files hold the same bytes, and any at all. A file that cannot be read equals no other; the
/// next reader of it reports that.
fn same_content(one: &Path, other: &Path) -> bool {
    let length = |path: &Path| {
        std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|data| data.len())
    };
    match (length(one), length(other)) {
        (Some(length), Some(same)) if length == same && length > 0 => {
            let read = |path: &Path| std::fs::read(path).ok();
            read(one).is_some_and(|bytes| read(other) == Some(bytes))
        }
        _ => false,
    }
}

/// The folder that a file lies in.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// One name for a file, whatever links lead to it; also for one that is not there yet.
pub fn resolved(path: &Path) -> PathBuf {
    // A program that creates the target of a link follows the link, so it is followed here too. A ring of
    // links ends somewhere.
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
    fn private_text_is_not_taken_for_public() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let written = [
            ("text", "private"),
            ("copy", "private"),
            ("longer", "private "),
            ("other", "another"),
            ("none", ""),
            ("empty", ""),
        ];
        for (name, content) in written {
            std::fs::write(at(name), content).unwrap();
        }
        let check = |private: &str, public: &Path| {
            check_public(&[at("unlike"), at(private)], [("--validation", public)])
                .map_err(|error| error.to_string())
        };
        assert!(
            check("text", &at("text"))
                .unwrap_err()
                .contains("--validation is the private data itself")
        );
        assert!(
            check("text", &directory.path().join("./text"))
                .unwrap_err()
                .contains("itself")
        );
        assert!(
            check("text", &at("copy"))
                .unwrap_err()
                .contains("has the same content")
        );
        for name in ["longer", "other", "nowhere", "none", "."] {
            assert_eq!(check("text", &at(name)), Ok(()), "{name}");
        }
        // All that lies in a directory of private data is private.
        std::fs::create_dir_all(at("tree/year=2026")).unwrap();
        std::fs::write(at("tree/year=2026/part"), "rows").unwrap();
        assert!(
            check("tree", &at("tree/year=2026/part"))
                .unwrap_err()
                .contains("in a directory of private data")
        );
        // Of two empty files nothing can be learned.
        assert_eq!(check("none", &at("empty")), Ok(()));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
            assert!(check("text", &at("link")).unwrap_err().contains("itself"));
        }
    }

    #[test]
    fn files_are_distinguished_by_what_they_are() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("text"), "private").unwrap();
        let detour = at("text").parent().unwrap().join(".").join("text");
        let refused = |written: &Path| {
            let error = check(&[("--text", &at("text"))], &[("--out", written)]).unwrap_err();
            error.to_string()
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
        assert!(
            twice
                .unwrap_err()
                .to_string()
                .contains("--checkpoint and the ledger")
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("text"), at("link")).unwrap();
            assert!(refused(&at("link")).contains("the same file"));
            // A link to a file that somebody else makes first.
            std::os::unix::fs::symlink("later", at("dangling")).unwrap();
            let later = check(&[("the ledger", &at("dangling"))], &[("--out", &at("later"))]);
            assert!(later.unwrap_err().to_string().contains("the same file"));
            std::os::unix::fs::symlink("ring", at("ring")).unwrap();
            check(&[("the ledger", &at("ring"))], &[("--out", &at("later"))]).unwrap();
        }
    }
}
