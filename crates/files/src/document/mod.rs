//! Documents that people write by hand: a plan, a published table, a catalog. TOML in which every value knows
//! its line, and JSON.
//!
//! A mistake is reported by its place and never by what is written there: the file may be the wrong one, and
//! full of data.
//!
//! ```
//! use files::document::{Document, Mistake};
//!
//! fn size_of(text: &str) -> Result<i64, Mistake> {
//!     let document = Document::parse(text)?;
//!     let mut root = document.root();
//!     let size = root.need("size", "write it as size = 3")?.integer()?;
//!     root.finish()?;
//!     Ok(size)
//! }
//! assert_eq!(size_of("size = 3")?, 3);
//!
//! let mistake = size_of("size = 3\ncolour = \"red\"").unwrap_err();
//! assert_eq!(mistake.message(), "line 2: there is no key `colour` here");
//! assert_eq!(mistake.hint(), "expected one of size");
//! # Ok::<(), Mistake>(())
//! ```

mod keys;
mod mistake;
mod tree;
mod typed;

pub use keys::{looks_like_a_key, nearly};
pub use mistake::{Mistake, Place};
pub use tree::{DUPLICATE_KEY, Document, Node, Section};
pub use typed::{expected, from_json, from_toml};

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What to do about a document that cannot be read at all.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// If there is no such file, or it is not text.
    pub unreadable: &'a str,
    /// Where it is larger than any such document.
    pub too_large: &'a str,
}

/// The text of a file of at most this many bytes.
///
/// ```
/// let advice = files::document::Advice { unreadable: "name a text file", too_large: "describe less" };
/// let mistake = files::document::text_of("no/such/file".as_ref(), 1024, advice).unwrap_err();
/// assert!(mistake.message().starts_with("cannot read `no/such/file`: "));
/// assert_eq!(mistake.hint(), "name a text file");
/// ```
pub fn text_of(path: &Path, most_bytes: u64, advice: Advice<'_>) -> Result<String, Mistake> {
    let name = path.display();
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(most_bytes + 1).read_to_string(&mut text))
        .map_err(|cause| Mistake::new(format!("cannot read `{name}`: {cause}"), advice.unreadable))?;
    if text.len() as u64 > most_bytes {
        let most = match most_bytes / 1024 {
            kib if kib >= 1024 && kib.is_multiple_of(1024) => format!("{} MiB", kib / 1024),
            kib => format!("{kib} KiB"),
        };
        return Err(Mistake::new(
            format!("`{name}` is larger than {most}"),
            advice.too_large,
        ));
    }
    Ok(text)
}
