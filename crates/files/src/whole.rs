//! Writes files so that a reader, or the same command run again, never finds half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Who may read a file that is written (on Unix).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Nobody but its owner: it holds a secret, or private data.
    ByOwner,
    /// As the file that it replaces; a new one as the process makes its files.
    AsBefore,
}

/// A file that is written whole or not at all: an interruption or a full disk leaves the old one as it was.
///
/// The bytes go to a temporary file in the same folder, with a name that nobody can guess, and to the disk;
/// then it takes the place of the old one. A link is followed. Something that is not a file, such as
/// `/dev/stdout`, cannot be replaced and is written in place.
///
/// ```
/// use files::{Readable, Whole};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("answer.txt");
/// Whole::at(&path, Readable::AsBefore).write(|file| file.write_all(b"42\n"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "42\n");
/// // What is there is not written over when a new file is wanted.
/// assert!(Whole::at(&path, Readable::ByOwner).new_only().write(|_| Ok(())).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Whole<'p> {
    path: &'p Path,
    readable: Readable,
    new_only: bool,
    name_on_disk: bool,
}

impl<'p> Whole<'p> {
    /// A file at this place.
    pub fn at(path: &'p Path, readable: Readable) -> Self {
        Self {
            path,
            readable,
            new_only: false,
            name_on_disk: true,
        }
    }

    /// Fails with [`ErrorKind::AlreadyExists`] if there is something already.
    #[must_use]
    pub fn new_only(self) -> Self {
        Self {
            new_only: true,
            ..self
        }
    }

    /// Does not wait until the folder is on the disk: after a power cut the old file may be there again,
    /// whole.
    #[must_use]
    pub fn or_the_old_one(self) -> Self {
        Self {
            name_on_disk: false,
            ..self
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// Whatever `write` returns, or the system says. The old file is as it was then.
    pub fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        if self.new_only && self.path.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let old = fs::metadata(self.path).ok();
        let target = match &old {
            Some(old) if old.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Some(old) if !old.is_file() => {
                return write(&mut OpenOptions::new().write(true).open(self.path)?);
            }
            Some(_) => fs::canonicalize(self.path)?,
            None => self.path.to_path_buf(),
        };
        if target.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "the path names no file"));
        }
        let folder = folder_of(&target);
        let temporary = self.temporary(&folder)?;
        {
            let mut buffered = BufWriter::with_capacity(1 << 18, temporary.as_file());
            write(&mut buffered)?;
            buffered.flush()?;
        }
        if let (Readable::AsBefore, Some(old)) = (self.readable, old) {
            temporary.as_file().set_permissions(old.permissions())?;
        }
        // Without this a power cut could keep the name and lose the bytes.
        temporary.as_file().sync_all()?;
        let placed = match self.new_only {
            true => temporary.persist_noclobber(&target),
            false => temporary.persist(&target),
        };
        placed.map_err(|error| error.error)?;
        // A name is on the disk when its folder is. Not every system can open a folder; where it cannot,
        // nothing more can be done.
        if self.name_on_disk
            && let Ok(folder) = File::open(&folder)
        {
            let _ = folder.sync_all();
        }
        Ok(())
    }

    fn temporary(&self, folder: &Path) -> io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(".deniable-").suffix(".partial");
        #[cfg(unix)]
        if self.readable == Readable::AsBefore {
            use std::os::unix::fs::PermissionsExt;
            // What the process's mask leaves of it, as for any new file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(folder)
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}
