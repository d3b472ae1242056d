//! Whether the data is still what its version says, for the curator alone.
//!
//! A version is a word, and files can change without it. So when the curator declares a version, a fingerprint of the content of each file is kept beside the ledger; later it shows whether
//! a file changed under the same version, and saved answers are about data that is no more. That a file changed is itself about the data: nothing that an analyst sees
//! depends on it, neither `query` nor `explain` look at fingerprints, and a fingerprint is keyed, so that it does not tell whether the data is one that somebody guesses.

use crate::dataset::blocking::Dataset;
use crate::{Error, sources};
use files::{Readable, Whole};
use noise::{Entropy, OsEntropy};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What was found of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its content is what it was when its version was declared.
    Same,
    /// Its content is another under the same version: saved answers are about data that is no more.
    Changed,
    /// No fingerprint of this version was taken.
    Unknown,
    /// It has no files on this machine to look at: it lies in a database or an object store, or in memory.
    NoFiles,
}

/// Fingerprints of the tables of a catalog, with the key that they were made with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprints {
    /// A secret, in hexadecimal.
    key: String,
    tables: BTreeMap<String, Fingerprint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fingerprint {
    version: String,
    content: String,
}

impl Dataset {
    /// Where fingerprints are kept: beside the ledger, or beside the catalog where the ledger is in a database.
    pub fn fingerprint_file(&self) -> PathBuf {
        match self.place().head_file() {
            Some(head) => head.with_extension("fingerprints"),
            None => self.catalog().directory.join("deniable.ledger.fingerprints"),
        }
    }

    /// Takes the fingerprint of every table as it is now, for the version that is declared now. For the curator.
    ///
    /// # Errors
    /// When a table or the file of fingerprints cannot be read or written.
    pub fn take_fingerprints(&self) -> Result<Vec<(String, State)>, Error> {
        let path = self.fingerprint_file();
        let mut kept = match read(&path)? {
            Some(kept) => kept,
            None => Fingerprints {
                key: new_key()?,
                tables: BTreeMap::new(),
            },
        };
        let mut states = Vec::new();
        for (name, table) in &self.catalog().tables {
            let Some(content) = content(&kept.key, table)? else {
                states.push((name.clone(), State::NoFiles));
                continue;
            };
            let version = self.catalog().version_of(table);
            kept.tables.insert(name.clone(), Fingerprint { version, content });
            states.push((name.clone(), State::Same));
        }
        kept.tables
            .retain(|name, _| self.catalog().tables.contains_key(name));
        write(&path, &kept)?;
        Ok(states)
    }

    /// Whether each table is what it was when its version was declared. For the curator: reads all of the data, and tells about it.
    ///
    /// # Errors
    /// When a table or the file of fingerprints cannot be read.
    pub fn check_fingerprints(&self) -> Result<Vec<(String, State)>, Error> {
        let kept = read(&self.fingerprint_file())?;
        let mut states = Vec::new();
        for (name, table) in &self.catalog().tables {
            let taken = kept.as_ref().and_then(|kept| {
                let taken = kept.tables.get(name)?;
                (taken.version == self.catalog().version_of(table)).then_some((&kept.key, taken))
            });
            let state = match taken {
                None if !sources::has_files(&table.source) => State::NoFiles,
                None => State::Unknown,
                Some((key, taken)) => match content(key, table)? {
                    None => State::NoFiles,
                    Some(content) if content == taken.content => State::Same,
                    Some(_) => State::Changed,
                },
            };
            states.push((name.clone(), state));
        }
        Ok(states)
    }
}

/// HMAC-SHA-256 of a table's files.
fn content(key: &str, table: &crate::catalog::Table) -> Result<Option<String>, Error> {
    let pad = |with: u8| {
        // The key's 64 digits are one block of the hash.
        let mut block = [with; 64];
        for (byte, digit) in block.iter_mut().zip(key.bytes()) {
            *byte ^= digit;
        }
        block
    };
    let mut inner = Sha256::new_with_prefix(pad(0x36));
    if !sources::read_whole(table, &mut |bytes| inner.update(bytes))? {
        return Ok(None);
    }
    let mut outer = Sha256::new_with_prefix(pad(0x5c));
    outer.update(inner.finalize());
    Ok(Some(
        outer
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    ))
}

fn new_key() -> Result<String, Error> {
    let mut entropy = OsEntropy::new().map_err(mechanism::Error::from)?;
    Ok((0..8).map(|_| format!("{:08x}", entropy.bits(32))).collect())
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::File {
        what: format!("{}, which keeps fingerprints of the data, cannot be used", path.display()),
        why: error.kind(),
        hint: "may you read and write it? If it is damaged, remove it and declare the version anew with `deniable data release`".to_owned(),
    }
}

fn read(path: &Path) -> Result<Option<Fingerprints>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|_| failed(path, &ErrorKind::InvalidData.into())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, &error)),
    }
}

/// Whole or not at all, and for the owner's eyes only.
fn write(path: &Path, kept: &Fingerprints) -> Result<(), Error> {
    let written = serde_json::to_string(kept)
        .map_err(std::io::Error::from)
        .and_then(|text| Whole::at(path, Readable::ByOwner).write(|file| file.write_all(text.as_bytes())));
    written.map_err(|error: std::io::Error| failed(path, &error))
}
