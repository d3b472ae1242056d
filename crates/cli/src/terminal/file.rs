//! Writing files so that a reader, or the same command run again, never meets half of one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::CliError;

/// Writes `bytes` to `path`, whole or not at all: an interruption or a full disk leaves the old file as it was.
///
/// The bytes go to a temporary file beside `path`, which then takes its name and keeps the old file's permissions. A
/// link is followed. Something that is not a file, such as `/dev/stdout`, cannot be replaced and is written in place.
pub(crate) fn write_file_atomically(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    told(path, write(path, bytes))
}

/// Makes a new file that nobody else can read (on Unix), whole or not at all. A file that is there stays: what is secret is not written over.
pub(crate) fn write_new_secret_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if path.symlink_metadata().is_ok() {
        return Err(
            CliError::bad_input(format!("`{}` is there already", path.display()))
                .with_hint("name another file, or delete this one if it is of no more use"),
        );
    }
    told(path, replace(path, bytes, None, true))
}

fn told(path: &Path, written: io::Result<()>) -> Result<(), CliError> {
    written.map_err(|cause| {
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

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = fs::metadata(path).ok();
    match &old {
        Some(old) if old.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Some(old) if !old.is_file() => return OpenOptions::new().write(true).open(path)?.write_all(bytes),
        _ => {}
    }
    let target = if old.is_some() {
        fs::canonicalize(path)?
    } else {
        path.to_path_buf()
    };
    replace(&target, bytes, old.map(|old| old.permissions()), false)
}

fn replace(target: &Path, bytes: &[u8], permissions: Option<Permissions>, secret: bool) -> io::Result<()> {
    let (temporary, mut file) = create_sibling(target, secret)?;
    let replaced = (|| {
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        // Without this a power cut could keep the rename and lose the bytes.
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, target)
    })();
    if replaced.is_err() {
        // The first error is the one worth telling; a leftover file is only litter.
        let _ = fs::remove_file(&temporary);
    }
    replaced
}

/// A new, empty file in the folder of `target`, because a rename is atomic only within one file system.
fn create_sibling(target: &Path, secret: bool) -> io::Result<(PathBuf, File)> {
    let Some(name) = target.file_name() else {
        return Err(io::Error::new(ErrorKind::InvalidInput, "the path names no file"));
    };
    let mut attempt = 0_u32;
    loop {
        let mut sibling = std::ffi::OsString::from(".");
        sibling.push(name);
        sibling.push(format!(".{}-{attempt}.partial", std::process::id()));
        let sibling = target.with_file_name(sibling);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if secret {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        match options.open(&sibling) {
            Ok(file) => return Ok((sibling, file)),
            // Left by a run that was interrupted, or in use by another thread.
            Err(cause) if cause.kind() == ErrorKind::AlreadyExists && attempt < 1000 => attempt += 1,
            Err(cause) => return Err(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_failure_before_the_rename_leaves_the_old_file_and_no_litter() {
        let folder = Folder::new("failure");
        let path = folder.0.join("report.html");
        write_file_atomically(&path, b"old").expect("made");
        // Every temporary name is taken, so the write stops before it begins.
        for attempt in 0..=1000 {
            let taken = format!(".report.html.{}-{attempt}.partial", std::process::id());
            fs::write(folder.0.join(taken), b"").expect("taken");
        }
        let error = write_file_atomically(&path, b"new").unwrap_err();
        assert_eq!(error.code, 2);
        assert_eq!(fs::read(&path).expect("readable"), b"old");
    }

    #[test]
    fn a_failure_at_the_rename_leaves_what_was_there_and_no_litter() {
        let folder = Folder::new("rename");
        let target = folder.0.join("taken");
        fs::create_dir_all(target.join("inside")).expect("a folder");
        // A file cannot take the name of a folder, so all is written and then the rename fails.
        assert!(replace(&target, b"new", None, false).is_err());
        assert_eq!(folder.names(), ["taken"]);
        assert!(target.join("inside").is_dir());

        let error = write_file_atomically(&target, b"new").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("that is a folder; name a file in it"));
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
