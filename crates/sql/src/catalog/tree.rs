//! Tables of many Parquet files: in an object store, or in directories that are named by values of columns.

use std::path::PathBuf;

/// Parquet files below one place, possibly in directories that are named by values of columns, as Hive, Spark and others lay them out: `year=2026/region=north/part-0.parquet`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParquetTree {
    /// What all of them are below.
    pub root: Root,
    /// The columns whose values the directories name, from the outermost to the innermost; where there are none, the files lie directly below the root.
    pub partitions: Vec<String>,
}

/// Where the files of a [`ParquetTree`] are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// A directory of this machine.
    Directory(PathBuf),
    /// An object store.
    Objects(ObjectAddress),
}

/// The address of an object, or of what the names of several begin with: `s3://bucket/people`, `gs://…`, `az://container/…`. It never holds credentials, which come from the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAddress {
    scheme: &'static str,
    bucket: String,
    prefix: String,
}

/// The object stores, by what their addresses begin with.
const SCHEMES: [&str; 3] = ["s3", "gs", "az"];

impl ObjectAddress {
    /// Whether a text is meant as such an address.
    pub fn is_meant(text: &str) -> bool {
        text.split_once("://")
            .is_some_and(|(scheme, _)| SCHEMES.contains(&scheme))
    }

    /// Reads an address; `None` where it names no bucket, or holds more than a bucket and a name: a user, a password, a port or options.
    /// ```
    /// use sql::catalog::ObjectAddress;
    ///
    /// let address = ObjectAddress::parse("s3://clinic/visits/2026").unwrap();
    /// assert_eq!((address.bucket(), address.prefix()), ("clinic", "visits/2026"));
    /// assert!(ObjectAddress::parse("s3://key:secret@clinic/visits").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = SCHEMES.into_iter().find(|known| *known == scheme)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let in_bucket = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
        let plain = !bucket.is_empty() && bucket.chars().all(in_bucket);
        // Both would begin the options of an address.
        let named = !prefix.contains(['?', '#']) && object_store::path::Path::parse(prefix).is_ok();
        (plain && named).then(|| Self {
            scheme,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        })
    }

    /// `s3`, `gs` or `az`.
    pub fn scheme(&self) -> &'static str {
        self.scheme
    }

    /// The bucket, which Azure calls a container.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// What the names of the objects begin with, or the name of one; empty for the whole bucket.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl std::fmt::Display for ObjectAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}://{}/{}", self.scheme, self.bucket, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for (text, written) in [
            ("s3://b/x", "s3://b/x"),
            ("gs://a-b.c_d/x/y=1/", "gs://a-b.c_d/x/y=1"),
            ("az://container", "az://container/"),
            ("s3://b/people.parquet", "s3://b/people.parquet"),
        ] {
            assert!(ObjectAddress::is_meant(text));
            let address = ObjectAddress::parse(text).map(|address| address.to_string());
            assert_eq!(address.as_deref(), Some(written), "{text}");
        }
    }

    #[test]
    fn addresses_with_more_in_them_are_refused() {
        for text in [
            "s3://",
            "s3:///x",
            "s3://user@b/x",
            "s3://key:secret@b/x",
            "s3://b:9000/x",
            "s3://b/x?versionId=1",
            "s3://b/x#1",
            "s3://b/x//y",
            "s3://b/../y",
            "http://b/x",
            "people.parquet",
        ] {
            assert_eq!(ObjectAddress::parse(text), None, "{text}");
        }
    }
}
