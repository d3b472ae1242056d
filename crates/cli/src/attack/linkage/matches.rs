//! Links as a file.

use crate::terminal::{CliError, explained, write_file_atomically};
use std::path::Path;

/// Writes links, one a line.
pub(super) fn write<'cell>(
    path: &Path,
    header: [&str; 3],
    links: impl Iterator<Item = [std::borrow::Cow<'cell, [u8]>; 3]>,
) -> Result<(), CliError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header).map_err(explained)?;
    for link in links {
        writer
            .write_record(link.iter().map(|cell| &cell[..]))
            .map_err(explained)?;
    }
    let bytes = writer.into_inner().map_err(explained)?;
    write_file_atomically(path, &bytes)?;
    eprintln!("wrote {}", path.display());
    Ok(())
}
