//! Names of keys: what looks like one, and which one was meant.

/// Whether this is made as keys are, so that it may be repeated in an error.
pub fn looks_like_a_key(name: &str) -> bool {
    name.len() <= 40
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'-')
        && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// Whether somebody who wrote the one may have meant the other.
///
/// ```
/// use files::document::nearly;
///
/// assert!(nearly("laplase", "laplace") && nearly("Rounded-To", "rounded_to"));
/// assert!(!nearly("average", "mean"));
/// ```
pub fn nearly(written: &str, known: &str) -> bool {
    let same = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let (written, known) = (same(written), same(known));
    if known.len() < 4 {
        return written == known;
    }
    distance(written.as_bytes(), known.as_bytes()) <= 1 + known.len() / 6
}

/// How many letters must be changed, added or left out to make one of the other; neighbours that changed
/// places count as one.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (rows[i][j] + usize::from(a != b))
                .min(rows[i][j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}
