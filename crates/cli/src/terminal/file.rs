//! Writing files whole or not at all, with errors that say what to do.

use super::CliError;
use files::{Readable, Whole};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Writes `bytes` to `path`, whole or not at all: an interruption or a full disk leaves the old file as it
/// was.
pub(crate) fn write_file_atomically(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let file = Whole::at(path, Readable::AsBefore);
    reported(path, file.write(|file| file.write_all(bytes)))
}

/// Makes a new file that nobody else can read (on Unix), whole or not at all. A file that is there stays:
/// what is secret is not written over.
pub(crate) fn write_new_secret_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let file = Whole::at(path, Readable::ByOwner).new_only();
    reported(path, file.write(|file| file.write_all(bytes)))
}

fn reported(path: &Path, written: io::Result<()>) -> Result<(), CliError> {
    written.map_err(|cause| {
        if cause.kind() == ErrorKind::AlreadyExists {
            return CliError::bad_input(format!("`{}` is there already", path.display()))
                .with_hint("name another file, or delete this one if it is of no more use");
        }
        let error = CliError::bad_input(format!("cannot write `{}`: {cause}", path.display()));
        match cause.kind() {
            ErrorKind::NotFound => error.with_hint("create the folder first, or choose another path"),
            ErrorKind::IsADirectory => error.with_hint("that is a folder; name a file in it"),
            ErrorKind::PermissionDenied => error.with_hint("choose a folder that you may write to"),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                error.with_hint("free some space; nothing was changed")
            }
            _ => error.with_hint("choose another path; nothing was changed"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// An empty folder that is gone after the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("deniable-file-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder for the test");
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).expect("the folder");
            let name = |entry: io::Result<fs::DirEntry>| {
                entry.expect("an entry").file_name().into_string().expect("text")
            };
            let mut names: Vec<String> = entries.map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_made_and_then_replaced_and_nothing_else_is_left() {
        let folder = Folder::new("replace");
        let path = folder.0.join("report.html");
        write_file_atomically(&path, b"a longer first text").expect("made");
        write_file_atomically(&path, b"second").expect("replaced");
        assert_eq!(fs::read(&path).expect("readable"), b"second");
        assert_eq!(folder.names(), ["report.html"]);
    }

    #[test]
    fn a_folder_stays_and_no_litter_is_left() {
        let folder = Folder::new("rename");
        let target = folder.0.join("taken");
        fs::create_dir_all(target.join("inside")).expect("a folder");
        let error = write_file_atomically(&target, b"new").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("that is a folder; name a file in it"));
        assert_eq!(folder.names(), ["taken"]);
        assert!(target.join("inside").is_dir());
    }

    #[test]
    fn a_missing_folder_is_an_error_with_a_hint() {
        let folder = Folder::new("missing");
        let error = write_file_atomically(&folder.0.join("none").join("file"), b"").unwrap_err();
        assert_eq!(
            error.hint.as_deref(),
            Some("create the folder first, or choose another path")
        );
        assert!(write_file_atomically(Path::new(""), b"").is_err());
    }

    #[test]
    fn a_secret_is_for_its_owner_and_never_written_over() {
        let folder = Folder::new("secret");
        let path = folder.0.join("secrets.json");
        write_new_secret_file(&path, b"coins").expect("made");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(&path).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let error = write_new_secret_file(&path, b"other coins").unwrap_err();
        assert!(error.message.contains("is there already"), "{error}");
        assert_eq!(fs::read(&path).expect("readable"), b"coins");
        assert_eq!(folder.names(), ["secrets.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_permissions_kept_and_devices_left_in_place() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = Folder::new("unix");
        let (path, link) = (folder.0.join("real"), folder.0.join("link"));
        fs::write(&path, b"old").expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("allowed");
        symlink(&path, &link).expect("linked");
        write_file_atomically(&link, b"new").expect("written");
        assert!(fs::symlink_metadata(&link).expect("still there").is_symlink());
        assert_eq!(fs::read(&path).expect("readable"), b"new");
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );

        write_file_atomically(Path::new("/dev/null"), b"nothing").expect("written");
        assert!(
            fs::metadata("/dev/null")
                .expect("there")
                .file_type()
                .is_char_device()
        );
    }
}
