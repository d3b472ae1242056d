//! The files in `fuzz/corpus`, and copies of them that are changed by a fixed seed: a fuzzer's starting
//! inputs, in every run of the tests.
//!
//! An input that ends the process (an overflow of the stack, memory) leaves no message. Each input is
//! therefore kept in a file while it runs: `deniable-fuzzed-NAME-PROCESS` in the folder for temporary files,
//! which is left there when the process dies.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Larger files are replayed as they are, and not changed: each of the copies would take as long.
const LARGEST_CHANGED: usize = 32 << 10;

/// Bytes that mean something to somebody.
const WORDS: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\"",
    b"'",
    b"\\",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\xc3\x28",
    "\u{202e}".as_bytes(),
    "İ".as_bytes(),
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b";",
    b"=",
    b"--",
    b"/*",
    b"-1",
    b"0",
    b"1e999",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"0.1e-400",
    b"1/0",
    b"nan",
    b"inf",
    b"NULL",
    b"((((((((((((((((",
];

/// The files of one target, by name.
///
/// # Panics
/// When the folder cannot be read, or holds too few to be a corpus.
pub fn files(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("an entry of a folder").path())
        .map(|path| (path.clone(), fs::read(&path).expect("a file of the corpus")))
        .collect();
    files.sort();
    assert!(
        files.len() >= 5,
        "{}: a corpus of {} files",
        folder.display(),
        files.len()
    );
    files
}

/// Runs a target on each file of its corpus.
///
/// # Panics
/// When the target does, with the name of the file.
pub fn replay(target: &str, run: impl Fn(&[u8])) {
    for (path, bytes) in files(target) {
        let name = path.file_name().unwrap_or_default().display().to_string();
        kept(target, &bytes, &format!("fuzz/corpus/{target}/{name}"), &run);
    }
}

/// Runs a target on this many copies of files of its corpus, each with a few changes. The same copies in
/// every run.
///
/// # Panics
/// When the target does, with the input.
pub fn replay_changed(target: &str, copies: u64, run: impl Fn(&[u8])) {
    let small: Vec<Vec<u8>> = files(target)
        .into_iter()
        .map(|(_, bytes)| bytes)
        .filter(|bytes| bytes.len() <= LARGEST_CHANGED)
        .collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..copies {
        let bytes = random.changed(&small);
        let shown = format!("changed copy {number}: \"{}\"", bytes.escape_ascii());
        kept(target, &bytes, &shown, &run);
    }
}

/// Runs the target on these bytes, which are in a file meanwhile.
fn kept(target: &str, bytes: &[u8], shown: &str, run: &impl Fn(&[u8])) {
    let place = std::env::temp_dir().join(format!("deniable-fuzzed-{target}-{}", std::process::id()));
    fs::write(&place, bytes).expect("room for the input");
    let outcome = catch_unwind(AssertUnwindSafe(|| run(bytes)));
    // A later run writes it anew, so nothing depends on whether it can be removed.
    let _ = fs::remove_file(&place);
    if outcome.is_err() {
        panic!("{target} panicked, see above, on {shown}");
    }
}

/// A generator of fixed numbers (xorshift64*): it decides which inputs are tried, and nothing private.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`, which is not zero.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Two places in the bytes, the first not after the second and at most 64 apart.
    fn span(&mut self, bytes: &[u8]) -> (usize, usize) {
        let start = self.below(bytes.len() + 1);
        let length = self.below(64).min(bytes.len() - start);
        (start, start + length)
    }

    /// One of the files with one to four changes.
    fn changed(&mut self, files: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = files[self.below(files.len())].clone();
        for _ in 0..=self.below(4) {
            let (start, end) = self.span(&bytes);
            match self.below(7) {
                0 if start < bytes.len() => bytes[start] ^= 1 << self.below(8),
                1 => drop(bytes.drain(start..end)),
                2 => {
                    let copied = bytes[start..end].to_vec();
                    let at = self.below(bytes.len() + 1);
                    drop(bytes.splice(at..at, copied));
                }
                3 => bytes.truncate(start),
                4 => {
                    let other = &files[self.below(files.len())];
                    let (from, _) = self.span(other);
                    bytes.truncate(start);
                    bytes.extend_from_slice(&other[from..]);
                }
                5 => {
                    let word = WORDS[self.below(WORDS.len())];
                    drop(bytes.splice(start..end, word.iter().copied()));
                }
                _ => {
                    let word = WORDS[self.below(WORDS.len())];
                    drop(bytes.splice(start..start, word.iter().copied()));
                }
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_copies_are_the_same_in_every_run() {
        let files = [b"SELECT 1".to_vec(), b"a,b\n1,2\n".to_vec(), Vec::new()];
        let copies = || {
            let mut random = Random(7);
            (0..200).map(|_| random.changed(&files)).collect::<Vec<_>>()
        };
        assert_eq!(copies(), copies());
        let different: std::collections::BTreeSet<_> = copies().into_iter().collect();
        assert!(different.len() > 100, "{}", different.len());
    }

    /// A planted defect is found, in a file and in a changed copy, and the message says which input it was.
    #[test]
    fn a_target_that_panics_is_reported() {
        let message = |outcome: std::thread::Result<()>| {
            let words = outcome.expect_err("the planted defect was not found");
            words.downcast_ref::<String>().expect("words").clone()
        };
        let reported = message(catch_unwind(|| {
            replay("csv", |bytes| {
                assert!(!bytes.starts_with(b"\xef\xbb\xbf"), "planted")
            });
        }));
        assert!(reported.contains("fuzz/corpus/csv/"), "{reported}");
        let reported = message(catch_unwind(|| {
            replay_changed("csv", 300, |bytes| assert!(!bytes.ends_with(b"inf"), "planted"));
        }));
        assert!(reported.contains("changed copy"), "{reported}");
    }
}
