//! Synthetic English, for experiments that anybody can repeat.
//!
//! Sentences come from a small grammar: subjects agree with their verbs, a document keeps to its topic, its tense, its person and its century, words follow Zipf's
//! law, and numbers are mostly years, of which 1919, 1200, 2001 and 2002 are frequent. So there is something to learn at every
//! distance, and a number after "is" is not uniform before any secret is planted.

mod author;
mod lexicon;
mod words;

use author::Author;
use lexicon::Lexicon;

/// Synthetic text of `bytes` bytes or a little more, always the same for one seed. Lower case; documents end with a line feed.
///
/// ```
/// let text = train::text::synthetic_text(1000, 7);
/// assert!(text.len() >= 1000 && text == train::text::synthetic_text(1000, 7));
/// ```
pub fn synthetic_text(bytes: usize, seed: u64) -> String {
    let lexicon = Lexicon::new();
    Author::new(&lexicon, seed).write(bytes)
}

/// Everybody whom the lists can name, first and family name, in a fixed order.
pub(super) fn owners() -> Vec<String> {
    let families = || words::FAMILIES.split(' ');
    let names = words::WOMEN.split(' ').chain(words::MEN.split(' '));
    names
        .flat_map(|name| families().map(move |family| format!("{name} {family}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_seed_writes_the_same_text_again() {
        assert_eq!(synthetic_text(20_000, 5), synthetic_text(20_000, 5));
        assert_ne!(synthetic_text(20_000, 5), synthetic_text(20_000, 6));
        let text = synthetic_text(20_000, 5);
        assert!(text.len() >= 20_000 && text.len() < 30_000);
        assert!(!text.contains("  ") && !text.contains(" .") && text.ends_with(".\n"));
    }

    #[test]
    fn there_is_variety() {
        let text = synthetic_text(2_000_000, 1);
        let mut counts = BTreeMap::<&str, u64>::new();
        for word in text
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            *counts.entry(word).or_default() += 1;
        }
        let words = counts
            .keys()
            .filter(|word| word.chars().all(char::is_alphabetic))
            .count();
        assert!(words > 2_000, "{words}");
        // Zipf: the most frequent word is no more than a tenth of all, and famous years stand out.
        let all: u64 = counts.values().sum();
        assert!(counts.values().max().is_some_and(|most| most * 8 < all));
        for year in ["1919", "2001", "1200", "2002"] {
            assert!(
                counts[year] > 20 * counts.get("3456").copied().unwrap_or(1),
                "{year}"
            );
        }
        let sentences = text.split(". ").collect::<std::collections::BTreeSet<_>>();
        assert!(sentences.len() * 10 > text.matches(". ").count() * 9);
    }
}
