//! Named arrays of numbers in one file, in the format that everybody reads: a length, a header in JSON, then the numbers.

use crate::Error;
use files::{Readable, Whole};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

/// A header longer than this is no header.
const LONGEST_HEADER: u64 = 100 << 20;

/// An array of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
    /// Whether it is saved in 64 bits; in 32 otherwise.
    pub(crate) wide: bool,
}

/// Arrays, and words about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) words: BTreeMap<String, String>,
}

/// Writes a file as a whole or not at all. Nobody else may read it unless `public`.
pub(crate) fn write_whole(
    path: &Path,
    public: bool,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Error> {
    let fail = |source| Error::File {
        path: path.display().to_string(),
        source,
    };
    let readable = if public {
        Readable::AsBefore
    } else {
        Readable::ByOwner
    };
    Whole::at(path, readable).write(write).map_err(fail)
}

impl Contents {
    pub(crate) fn write(&self, path: &Path, public: bool) -> Result<(), Error> {
        write_whole(path, public, |file| {
            let mut header = Map::new();
            if !self.words.is_empty() {
                header.insert("__metadata__".into(), json!(self.words));
            }
            let mut end = 0usize;
            for tensor in &self.tensors {
                let start = end;
                end += tensor.values.len() * if tensor.wide { 8 } else { 4 };
                let kind = if tensor.wide { "F64" } else { "F32" };
                let entry = json!({ "dtype": kind, "shape": tensor.shape, "data_offsets": [start, end] });
                header.insert(tensor.name.clone(), entry);
            }
            let mut header = serde_json::to_vec(&header)?;
            // Numbers begin at a multiple of eight bytes.
            header.resize(header.len().next_multiple_of(8), b' ');
            file.write_all(&(header.len() as u64).to_le_bytes())?;
            file.write_all(&header)?;
            for tensor in &self.tensors {
                for value in &tensor.values {
                    if tensor.wide {
                        file.write_all(&value.to_le_bytes())?;
                    } else {
                        file.write_all(&(*value as f32).to_le_bytes())?;
                    }
                }
            }
            Ok(())
        })
    }

    pub(crate) fn read(path: &Path, what: &'static str) -> Result<Self, Error> {
        let io = |source| Error::Unreadable {
            path: path.display().to_string(),
            what,
            source,
        };
        let bad = |reason: &str| Error::BadFile {
            path: path.display().to_string(),
            what,
            reason: reason.to_owned(),
        };
        let mut file = std::fs::File::open(path).map_err(io)?;
        let all = file.metadata().map_err(io)?.len();
        let mut length = [0u8; 8];
        file.read_exact(&mut length).map_err(|_| bad("it is too short"))?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADER || length + 8 > all {
            return Err(bad("it has no header"));
        }
        let mut header = vec![0u8; length as usize];
        file.read_exact(&mut header).map_err(io)?;
        let mut data = Vec::new();
        file.read_to_end(&mut data).map_err(io)?;
        let header: Map<String, Value> =
            serde_json::from_slice(&header).map_err(|_| bad("its header is no JSON"))?;
        let mut contents = Contents::default();
        for (name, entry) in header {
            if name == "__metadata__" {
                contents.words = serde_json::from_value(entry).map_err(|_| bad("its metadata is invalid"))?;
                continue;
            }
            contents
                .tensors
                .push(tensor(name, &entry, &data).ok_or_else(|| bad("numbers are missing"))?);
        }
        Ok(contents)
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Tensor> {
        let place = self.tensors.iter().position(|tensor| tensor.name == name)?;
        Some(self.tensors.swap_remove(place))
    }
}

fn tensor(name: String, entry: &Value, data: &[u8]) -> Option<Tensor> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let wide = match entry.get("dtype")?.as_str()? {
        "F32" => false,
        "F64" => true,
        _ => return None,
    };
    let shape: Vec<usize> = entry
        .get("shape")?
        .as_array()?
        .iter()
        .map(number)
        .collect::<Option<_>>()?;
    let [start, end] = entry.get("data_offsets")?.as_array()?.as_slice() else {
        return None;
    };
    let bytes = data.get(number(start)?..number(end)?)?;
    let values: Vec<f64> = if wide {
        let eight = bytes
            .chunks_exact(8)
            .map(|bytes| bytes.try_into().expect("eight bytes"));
        eight.map(f64::from_le_bytes).collect()
    } else {
        let four = bytes
            .chunks_exact(4)
            .map(|bytes| bytes.try_into().expect("four bytes"));
        four.map(|bytes| f64::from(f32::from_le_bytes(bytes))).collect()
    };
    let count = shape
        .iter()
        .try_fold(1usize, |count, side| count.checked_mul(*side))?;
    let fits = count == values.len() && bytes.len() == count.checked_mul(if wide { 8 } else { 4 })?;
    fits.then_some(Tensor {
        name,
        shape,
        values,
        wide,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        let tensor = |name: &str, wide| Tensor {
            name: name.to_owned(),
            shape: vec![2, 3],
            values: vec![0.0, -1.5, 2.25, f64::from(f32::MAX), 1e-3f32.into(), -0.0],
            wide,
        };
        Contents {
            tensors: vec![tensor("narrow", false), tensor("wide", true)],
            words: [("about".to_owned(), "a \"test\"".to_owned())].into(),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.safetensors");
        contents().write(&path, false).unwrap();
        assert_eq!(Contents::read(&path, "model").unwrap(), contents());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "nobody else reads it");
        }
        // Cut anywhere, it is refused and nothing panics.
        let whole = std::fs::read(&path).unwrap();
        for length in [0, 7, 8, 20, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let error = Contents::read(&path, "model").unwrap_err();
            assert!(error.to_string().contains("hint:"), "{error}");
        }
        std::fs::write(&path, [[0xffu8; 8], [0; 8]].concat()).unwrap();
        assert!(Contents::read(&path, "model").is_err());
    }

    #[test]
    fn a_failed_write_leaves_the_older_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.safetensors");
        contents().write(&path, false).unwrap();
        let full = |file: &mut dyn Write| {
            file.write_all(&[0; 100])?;
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        };
        let error = write_whole(&path, false, full).unwrap_err();
        assert!(error.to_string().contains("hint:"), "{error}");
        assert_eq!(Contents::read(&path, "model").unwrap(), contents());
        assert_eq!(
            std::fs::read_dir(directory.path()).unwrap().count(),
            1,
            "nothing is left lying about"
        );
    }
}
