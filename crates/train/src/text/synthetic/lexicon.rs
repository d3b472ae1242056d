//! Words with their forms, and how often each is chosen.

use super::words::{self, TOPICS};
use crate::text::Seeded;

/// Words to choose from, the frequent ones first.
pub(super) struct List<Word> {
    words: Vec<Word>,
    /// Σ 1/(rank + 2) up to each, by which choices follow Zipf's law.
    sums: Vec<f64>,
}

impl<Word> List<Word> {
    pub(super) fn new(words: Vec<Word>) -> Self {
        let mut sum = 0.0;
        let sums = (0..words.len()).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.0);
            sum
        });
        Self {
            sums: sums.collect(),
            words,
        }
    }

    pub(super) fn choose(&self, entropy: &mut Seeded) -> &Word {
        let all = self.sums.last().copied().unwrap_or_default();
        let place = entropy.unit() * all;
        let rank = self.sums.partition_point(|sum| *sum <= place);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

pub(super) fn list(words: &'static str) -> List<&'static str> {
    List::new(words.split(' ').collect())
}

pub(super) struct Noun {
    pub(super) one: &'static str,
    pub(super) many: String,
}

/// Infinitive, third person, past, participle.
pub(super) type Verb = [String; 4];

pub(super) struct Subject {
    pub(super) nouns: List<Noun>,
    pub(super) verbs: List<Verb>,
    pub(super) adjectives: List<&'static str>,
    pub(super) trades: List<Noun>,
}

pub(super) struct Lexicon {
    pub(super) topics: Vec<Subject>,
    pub(super) common: Subject,
    pub(super) adverbs: List<&'static str>,
    pub(super) openings: List<&'static str>,
    pub(super) prepositions: List<&'static str>,
    pub(super) names: [List<&'static str>; 2],
    pub(super) families: List<&'static str>,
    pub(super) places: List<&'static str>,
    pub(super) months: Vec<&'static str>,
    pub(super) units: List<&'static str>,
    pub(super) years: List<u32>,
}

impl Lexicon {
    pub(super) fn new() -> Self {
        let irregular = words::IRREGULAR.iter().map(|forms| forms.map(str::to_owned));
        let mut common: Vec<Verb> = words::VERBS.split(' ').map(regular).collect();
        // Both kinds are frequent.
        for (place, verb) in irregular.enumerate() {
            common.insert(2 * place, verb);
        }
        Self {
            topics: TOPICS
                .iter()
                .map(|topic| Subject {
                    nouns: nouns(topic.nouns),
                    verbs: List::new(topic.verbs.split(' ').map(regular).collect()),
                    adjectives: list(topic.adjectives),
                    trades: nouns(topic.trades),
                })
                .collect(),
            common: Subject {
                nouns: nouns(words::NOUNS),
                verbs: List::new(common),
                adjectives: list(words::ADJECTIVES),
                trades: nouns("man woman child friend member leader"),
            },
            adverbs: list(words::ADVERBS),
            openings: list(words::OPENINGS),
            prepositions: list(words::PREPOSITIONS),
            names: [list(words::WOMEN), list(words::MEN)],
            families: list(words::FAMILIES),
            places: list(words::PLACES),
            months: words::MONTHS.split(' ').collect(),
            units: list(words::UNITS),
            years: List::new(years()),
        }
    }
}

/// Years as encyclopedias have them: a few that everybody writes about, then the last two centuries, then the rest.
pub(super) fn years() -> Vec<u32> {
    let famous = [
        1919, 2001, 1200, 2002, 1945, 1918, 2003, 1939, 2000, 1914, 1819, 1989, 1969, 1848, 1812, 1500,
    ];
    let recent = (0..90).map(|back| 2008 - back);
    let older = (0..25).map(|back| 1915 - 4 * back);
    let round = (11..20).map(|hundreds| 100 * hundreds);
    let mut seen = std::collections::BTreeSet::new();
    let all = famous.into_iter().chain(recent).chain(older).chain(round);
    all.filter(|year| seen.insert(*year)).collect()
}

pub(super) fn nouns(words: &'static str) -> List<Noun> {
    List::new(
        words
            .split(' ')
            .map(|one| Noun {
                one,
                many: plural(one),
            })
            .collect(),
    )
}

pub(super) fn plural(one: &str) -> String {
    let known = words::PLURALS.iter().find(|(word, _)| *word == one);
    known.map_or_else(|| with_s(one), |(_, many)| (*many).to_owned())
}

/// With the s of a plural or of the third person.
pub(super) fn with_s(word: &str) -> String {
    let vowel_before_y = ["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

pub(super) fn regular(word: &'static str) -> Verb {
    let vowel_before_y = ["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end));
    let past = match word.strip_suffix('y') {
        _ if word == "teach" => "taught".to_owned(),
        _ if word == "eat" => "ate".to_owned(),
        _ if word == "feed" => "fed".to_owned(),
        _ if word == "hide" => "hid".to_owned(),
        Some(stem) if !vowel_before_y => format!("{stem}ied"),
        _ if word.ends_with('e') => format!("{word}d"),
        _ => format!("{word}ed"),
    };
    [word.to_owned(), with_s(word), past.clone(), past]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_inflected() {
        for (one, many) in [
            ("city", "cities"),
            ("day", "days"),
            ("church", "churches"),
            ("child", "children"),
            ("fish", "fish"),
        ] {
            assert_eq!(plural(one), many);
        }
        for (verb, past) in [
            ("marry", "married"),
            ("play", "played"),
            ("use", "used"),
            ("call", "called"),
            ("teach", "taught"),
        ] {
            assert_eq!(regular(verb)[2], past);
        }
    }
}
