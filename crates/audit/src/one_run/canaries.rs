//! Canaries, their coins, and the text that they are planted in.
//!
//! # Why the coins are all that differs
//! Every canary gets its line and its place in the text before its coin is tossed, and keeps both whatever
//! the coin says. So two texts whose coins differ in one canary differ in that line and in nothing else: they
//! are neighbours, and coins are fair and independent of everything else. That is what the theorem in
//! [`crate::one_run`] asks for. The theorem also asks that the guesser sees the model and the canaries, and
//! nothing else that depends on the coins: neither the planted text nor this file.

use crate::document::{Mistake, fail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::Path;

/// Fewer could show next to nothing, and could not be distinguished from coins that somebody set.
pub const FEWEST: usize = 40;
/// More are hardly wanted: a million show an ε of 12.
pub const MOST: usize = 1_000_000;
/// A canary is this many words of this many random letters: 75 bits, so no two are alike, and no text has one
/// by chance.
const WORDS: usize = 4;
const LETTERS: usize = 4;
/// Coins so uneven are tossed by fair hands less than once in a billion times.
const UNEVEN: f64 = 1e-9;

/// What nobody who guesses may know. As private as the text, so it has no Debug.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Secrets {
    /// The planted text's file name, and its digest.
    pub text: String,
    digest: String,
    /// All canaries, in the text or not.
    pub canaries: Vec<Canary>,
}

/// One line, and whether it is in the text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canary {
    /// The line.
    pub line: String,
    /// Whether it is in the text.
    pub inside: bool,
}

/// A text with canaries in it.
pub struct Planted {
    /// The text.
    pub text: String,
    /// Which canaries are in it.
    pub secrets: Secrets,
}

/// Plants about half of `count` new canaries. `name` is what the text will be called; `bits` returns the
/// requested number of uniform random bits.
///
/// ```
/// use audit::one_run::plant;
///
/// let mut state = 1u64;
/// let planted = plant("a line\n", 100, "planted.txt", &mut |count| {
///     state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
///     state >> (64 - count)
/// })?;
/// assert_eq!(planted.text.lines().count(), 1 + planted.secrets.inside());
/// # Ok::<(), audit::document::Mistake>(())
/// ```
pub fn plant(
    text: &str,
    count: usize,
    name: &str,
    bits: &mut impl FnMut(u32) -> u64,
) -> Result<Planted, Mistake> {
    if !(FEWEST..=MOST).contains(&count) {
        return fail(
            format!("--canaries must lie between {FEWEST} and {MOST}"),
            "1000 can show an ε of 5; each unit of ε takes three times as many",
        );
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.is_empty() {
        return fail(
            "the text is empty",
            "canaries hide among other lines: name a text",
        );
    }
    let places = lines.len() as u64 + 1;
    // Line and place first, for all; then the coins.
    let drawn: Vec<(String, u64)> = (0..count).map(|_| (line(bits), below(places, bits))).collect();
    let coins: Vec<bool> = drawn.iter().map(|_| bits(1) == 1).collect();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|number| drawn[*number].1);
    let mut order = order.into_iter().peekable();
    let mut planted = String::with_capacity(text.len() + count * (WORDS * (LETTERS + 1)));
    for place in 0..=lines.len() {
        while let Some(number) = order.next_if(|number| drawn[*number].1 == place as u64) {
            if coins[number] {
                if !planted.is_empty() && !planted.ends_with('\n') {
                    planted.push('\n');
                }
                planted.push_str(&drawn[number].0);
                planted.push('\n');
            }
        }
        planted.push_str(lines.get(place).copied().unwrap_or_default());
    }
    let canaries = drawn.into_iter().zip(coins);
    let secrets = Secrets {
        text: name.to_owned(),
        digest: digest(planted.as_bytes()),
        canaries: canaries
            .map(|((line, _), inside)| Canary { line, inside })
            .collect(),
    };
    Ok(Planted {
        text: planted,
        secrets,
    })
}

fn line(bits: &mut impl FnMut(u32) -> u64) -> String {
    let mut word = || -> String {
        let letters = (0..LETTERS).map(|_| char::from(b'a' + below(26, bits) as u8));
        letters.collect()
    };
    let words: Vec<String> = (0..WORDS).map(|_| word()).collect();
    words.join(" ")
}

/// A uniform number below `count`: as many bits as it has, drawn again where they are too large.
fn below(count: u64, bits: &mut impl FnMut(u32) -> u64) -> u64 {
    let needed = u64::BITS - (count - 1).leading_zeros();
    loop {
        let candidate = bits(needed);
        if candidate < count {
            return candidate;
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Secrets {
    /// Their file. It is as private as the text: let nobody else read it.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("secrets are plain data")
    }

    /// Reads them, and refuses coins that are none.
    pub fn read(path: &Path) -> Result<Self, Mistake> {
        let hint = "name the file that `deniable audit one-run plant --secrets` wrote";
        let text = std::fs::read_to_string(path).map_err(|cause| {
            Mistake::new(
                format!("cannot read `{}`: {}", path.display(), cause.kind()),
                hint,
            )
        })?;
        // What serde would quote is secret.
        let Ok(secrets) = serde_json::from_str::<Self>(&text) else {
            return fail(
                format!("`{}` holds no canaries and their coins", path.display()),
                hint,
            );
        };
        secrets.check()?;
        Ok(secrets)
    }

    fn check(&self) -> Result<(), Mistake> {
        let count = self.canaries.len();
        if !(FEWEST..=MOST).contains(&count) {
            return fail(
                format!("there must be between {FEWEST} and {MOST} canaries"),
                "plant them with `deniable audit one-run plant`",
            );
        }
        let mut lines: Vec<&str> = self.canaries.iter().map(|canary| canary.line.as_str()).collect();
        lines.sort_unstable();
        if lines.windows(2).any(|pair| pair[0] == pair[1]) {
            return fail(
                "two canaries have the same line, so nobody can tell their coins apart",
                "plant them with `deniable audit one-run plant`, which draws each by itself",
            );
        }
        let inside = self.inside() as u64;
        let rarer = inside.min(count as u64 - inside);
        if 2.0 * crate::binomial::at_most(rarer, count as u64, 0.5) < UNEVEN {
            return fail(
                "these coins were not fair: nearly all of them fell the same way",
                "the bound holds for fair coins only; plant again with `deniable audit one-run plant`",
            );
        }
        Ok(())
    }

    /// Whether this is the text that they were planted in.
    pub fn are_of(&self, text: &[u8]) -> bool {
        digest(text) == self.digest
    }

    /// How many canaries are in the text.
    pub fn inside(&self) -> usize {
        self.canaries.iter().filter(|canary| canary.inside).count()
    }

    /// The coins.
    pub fn coins(&self) -> Vec<bool> {
        self.canaries.iter().map(|canary| canary.inside).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::{Seeded, Words};
    use std::collections::BTreeSet;

    const TEXT: &str = "one\ntwo\r\nthree\n\nfive";

    /// Bits of a seed.
    fn seeded(seed: u64) -> impl FnMut(u32) -> u64 {
        let mut words = Seeded::new(seed, 0);
        move |count| words.word() >> (64 - count)
    }

    /// Planted with these bits, of which one coin is turned over.
    fn planted(seed: u64, turned: Option<usize>) -> Planted {
        let (mut bits, mut coins) = (seeded(seed), 0);
        let mut bits = move |count| {
            let bits = bits(count);
            if count != 1 {
                return bits;
            }
            coins += 1;
            bits ^ u64::from(Some(coins - 1) == turned)
        };
        plant(TEXT, 200, "planted.txt", &mut bits).expect("planted")
    }

    #[test]
    fn the_text_holds_its_own_lines_and_the_canaries_that_are_in() {
        let Planted { text, secrets } = planted(1, None);
        let canaries: BTreeSet<&str> = secrets
            .canaries
            .iter()
            .map(|canary| canary.line.as_str())
            .collect();
        assert_eq!(canaries.len(), 200);
        let (planted, own): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| canaries.contains(line));
        assert_eq!(own, ["one", "two", "three", "", "five"]);
        let inside = secrets.canaries.iter().filter(|canary| canary.inside);
        assert_eq!(
            planted.iter().copied().collect::<BTreeSet<_>>(),
            inside.map(|canary| canary.line.as_str()).collect()
        );
        assert_eq!(planted.len(), secrets.inside());
        assert!(secrets.are_of(text.as_bytes()) && !secrets.are_of(TEXT.as_bytes()));
        assert!(secrets.check().is_ok());
    }

    /// The neighbours of the theorem: one coin more or less is one line more or less, at its place.
    #[test]
    fn a_coin_moves_its_own_line_and_no_other() {
        let whole = planted(2, None);
        for coin in [0, 7, 199] {
            let other = planted(2, Some(coin));
            let line = &whole.secrets.canaries[coin].line;
            assert_eq!(*line, other.secrets.canaries[coin].line);
            let (with, without) = if whole.secrets.canaries[coin].inside {
                (&whole.text, &other.text)
            } else {
                (&other.text, &whole.text)
            };
            assert_eq!(with.lines().filter(|text| text == line).count(), 1);
            let rest: Vec<&str> = with.lines().filter(|text| text != line).collect();
            assert_eq!(rest, without.lines().collect::<Vec<_>>());
        }
    }

    #[test]
    fn coins_are_fair_and_places_are_everywhere() {
        let mut bits = seeded(3);
        let text: String = (0..99).map(|line| format!("{line}\n")).collect();
        let planted = plant(&text, 20_000, "", &mut bits).expect("planted");
        let inside = planted.secrets.inside() as f64;
        // Six deviations of a fair coin: a false alarm about once in a billion.
        assert!((inside - 10_000.0).abs() < 6.0 * 5000.0f64.sqrt(), "{inside}");
        let lines: Vec<&str> = planted.text.lines().collect();
        let before = |end: &str| lines.iter().take_while(|line| **line != end).count();
        // Half of what is in stands in the first half: 10 000 coins again, and the coin's own deviation is in
        // it.
        let half = before("49") as f64 - 49.0 + 0.5;
        assert!((half / inside - 0.5).abs() < 6.0 * 0.005, "{half}");
        assert!(before("0") > 0, "some stand before the first line");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_quoting_it() {
        let mut bits = seeded(4);
        for (text, count) in [("", 100), ("a\n", 39), ("a\n", 1_000_001)] {
            assert!(plant(text, count, "", &mut bits).is_err());
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secrets.json");
        let reported = |secrets: &Secrets| {
            let text = serde_json::to_string(secrets).expect("text");
            std::fs::write(&path, text).expect("written");
            Secrets::read(&path).err().expect("refused").to_string()
        };
        let mut equal = planted(5, None).secrets;
        equal.canaries.iter_mut().for_each(|canary| canary.inside = true);
        assert!(reported(&equal).contains("not fair"));
        let mut twice = planted(5, None).secrets;
        twice.canaries[3].line = twice.canaries[4].line.clone();
        assert!(reported(&twice).contains("the same line"));
        let mut few = planted(5, None).secrets;
        few.canaries.truncate(10);
        assert!(reported(&few).contains("between 40"));
        std::fs::write(&path, "{\"text\": \"my pin is 3456\"}").expect("written");
        let error = Secrets::read(&path).err().expect("refused").to_string();
        assert!(error.contains("hint:") && !error.contains("3456"), "{error}");
    }
}
