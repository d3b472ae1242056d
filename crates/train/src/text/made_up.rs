//! Made-up English, for experiments that anybody can repeat.
//!
//! Sentences come from a small grammar: subjects agree with their verbs, a document keeps to its topic, its tense, its person and its century, words follow Zipf's
//! law, and numbers are mostly years, of which 1919, 1200, 2001 and 2002 are frequent. So there is something to learn at every
//! distance, and a number after "is" is not uniform before any secret is planted.

mod words;

use super::Seeded;
use words::TOPICS;

/// So many bytes of text or a little more, always the same for one seed. Lower case; documents end with a line feed.
pub fn made_up_text(bytes: usize, seed: u64) -> String {
    let lexicon = Lexicon::new();
    let mut author = Author {
        lexicon: &lexicon,
        entropy: Seeded::numbered(seed, 0),
        text: String::with_capacity(bytes + 4096),
    };
    while author.text.len() < bytes {
        author.document();
    }
    author.text
}

/// Everybody whom the lists can name, first and family name, in a fixed order.
pub(super) fn owners() -> Vec<String> {
    let families = || words::FAMILIES.split(' ');
    let names = words::WOMEN.split(' ').chain(words::MEN.split(' '));
    names
        .flat_map(|name| families().map(move |family| format!("{name} {family}")))
        .collect()
}

/// Words to choose from, the frequent ones first.
struct List<Word> {
    words: Vec<Word>,
    /// Σ 1/(rank + 2) up to each, by which choices follow Zipf's law.
    sums: Vec<f64>,
}

impl<Word> List<Word> {
    fn new(words: Vec<Word>) -> Self {
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

    fn choose(&self, entropy: &mut Seeded) -> &Word {
        let all = self.sums.last().copied().unwrap_or_default();
        let place = entropy.unit() * all;
        let rank = self.sums.partition_point(|sum| *sum <= place);
        &self.words[rank.min(self.words.len() - 1)]
    }
}

fn list(words: &'static str) -> List<&'static str> {
    List::new(words.split(' ').collect())
}

struct Noun {
    one: &'static str,
    many: String,
}

/// Infinitive, third person, past, participle.
type Verb = [String; 4];

struct Subject {
    nouns: List<Noun>,
    verbs: List<Verb>,
    adjectives: List<&'static str>,
    trades: List<Noun>,
}

struct Lexicon {
    topics: Vec<Subject>,
    common: Subject,
    adverbs: List<&'static str>,
    openings: List<&'static str>,
    prepositions: List<&'static str>,
    names: [List<&'static str>; 2],
    families: List<&'static str>,
    places: List<&'static str>,
    months: Vec<&'static str>,
    units: List<&'static str>,
    years: List<u32>,
}

impl Lexicon {
    fn new() -> Self {
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
fn years() -> Vec<u32> {
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

fn nouns(words: &'static str) -> List<Noun> {
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

fn plural(one: &str) -> String {
    let known = words::PLURALS.iter().find(|(word, _)| *word == one);
    known.map_or_else(|| with_s(one), |(_, many)| (*many).to_owned())
}

/// With the s of a plural or of the third person.
fn with_s(word: &str) -> String {
    let vowel_before_y = ["ay", "ey", "oy", "uy"].iter().any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| word.ends_with(end)) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

fn regular(word: &'static str) -> Verb {
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

/// What stays the same within a document.
struct Document<'words> {
    topic: &'words Subject,
    /// Whether it tells of the past.
    past: bool,
    woman: bool,
    first: &'words str,
    family: &'words str,
    place: &'words str,
    year: u32,
}

struct Author<'words> {
    lexicon: &'words Lexicon,
    entropy: Seeded,
    text: String,
}

impl<'words> Author<'words> {
    fn document(&mut self) {
        let words = self.lexicon;
        let entropy = &mut self.entropy;
        let woman = entropy.chance(0.4);
        let document = Document {
            topic: &words.topics[entropy.below(words.topics.len())],
            past: entropy.chance(0.65),
            woman,
            first: words.names[usize::from(!woman)].choose(entropy),
            family: words.families.choose(entropy),
            place: words.places.choose(entropy),
            year: *words.years.choose(entropy),
        };
        self.introduction(&document);
        for _ in 0..4 + self.entropy.below(14) {
            self.sentence(&document);
        }
        self.text.pop();
        self.text.push('\n');
    }

    fn word(&mut self, word: &str) {
        if self.text.ends_with(" a ") && word.starts_with(['a', 'e', 'i', 'o', 'u']) {
            self.text.pop();
            self.text.push_str("n ");
        }
        self.text.push_str(word);
        self.text.push(' ');
    }

    fn words(&mut self, words: &[&str]) {
        words.iter().for_each(|word| self.word(word));
    }

    /// Puts a mark where the last space is, and a space behind it.
    fn mark(&mut self, mark: &str) {
        self.text.pop();
        self.word(mark);
    }

    fn number(&mut self, number: usize) {
        self.word(&number.to_string());
    }

    fn introduction(&mut self, document: &Document<'words>) {
        self.words(&[document.first, document.family]);
        if self.entropy.chance(0.7) {
            let (born, years) = (document.year as usize, 20 + self.entropy.below(70));
            self.word("( born");
            self.date(born);
            if self.entropy.chance(0.6) {
                self.word(", died");
                self.number(born + years);
            }
            self.word(")");
        }
        self.words(&[if document.past { "was" } else { "is" }, "a"]);
        if self.entropy.chance(0.5) {
            self.adjective(document);
        }
        let trade = document.topic.trades.choose(&mut self.entropy).one;
        self.words(&[trade, "from", document.place]);
        self.mark(".");
    }

    /// A year alone, or with a day.
    fn date(&mut self, year: usize) {
        if self.entropy.chance(0.5) {
            let (day, month) = (1 + self.entropy.below(28), self.entropy.below(12));
            self.number(day);
            self.word(self.lexicon.months[month]);
        }
        self.number(year);
    }

    /// A year near the document's, or one that everybody writes about.
    fn year(&mut self, document: &Document<'_>) -> usize {
        if self.entropy.chance(0.5) {
            *self.lexicon.years.choose(&mut self.entropy) as usize
        } else {
            document.year as usize + self.entropy.below(30)
        }
    }

    fn subject_of(&mut self, document: &Document<'words>) -> &'words Subject {
        if self.entropy.chance(0.7) {
            document.topic
        } else {
            &self.lexicon.common
        }
    }

    fn adjective(&mut self, document: &Document<'words>) {
        let adjective = self.subject_of(document).adjectives.choose(&mut self.entropy);
        self.word(adjective);
    }

    /// A noun with what belongs to it. Gives whether it is plural.
    fn thing(&mut self, document: &Document<'words>, deeper: bool) -> bool {
        let many = self.entropy.chance(0.3);
        let determiner = match (many, self.entropy.below(10)) {
            (_, 0..=4) => "the",
            (true, 5) => "some",
            (true, 6) => "these",
            (true, 7) => "many",
            (true, _) => "all",
            (false, 5..=7) => "a",
            (false, 8) if document.woman => "her",
            (false, 8) => "his",
            (false, _) => "this",
        };
        self.word(determiner);
        while self.entropy.chance(0.35) {
            self.adjective(document);
        }
        let noun = self.subject_of(document).nouns.choose(&mut self.entropy);
        self.word(if many { &noun.many } else { noun.one });
        if deeper && self.entropy.chance(0.35) {
            let preposition = self.lexicon.prepositions.choose(&mut self.entropy);
            self.word(preposition);
            self.place_or_thing(document);
        }
        many
    }

    fn place_or_thing(&mut self, document: &Document<'words>) {
        match self.entropy.below(4) {
            0 => self.word(document.place),
            1 => {
                let place = self.lexicon.places.choose(&mut self.entropy);
                self.word(place);
            }
            _ => {
                self.thing(document, false);
            }
        }
    }

    /// Somebody or something that acts, and whether it is plural.
    fn actor(&mut self, document: &Document<'words>) -> bool {
        match self.entropy.below(10) {
            0..=2 => {
                self.word(if document.woman { "she" } else { "he" });
                false
            }
            3 => {
                self.word(document.family);
                false
            }
            4 => {
                let trade = document.topic.trades.choose(&mut self.entropy);
                self.words(&["the", &trade.many]);
                true
            }
            _ => self.thing(document, true),
        }
    }

    fn verb(&mut self, document: &Document<'words>, many: bool) {
        let verb = self.subject_of(document).verbs.choose(&mut self.entropy);
        if self.entropy.chance(0.2) {
            let adverb = self.lexicon.adverbs.choose(&mut self.entropy);
            self.word(adverb);
        }
        let form = match (document.past, many) {
            (true, _) => 2,
            (false, true) => 0,
            (false, false) => 1,
        };
        self.word(&verb[form]);
    }

    /// When or where, behind a sentence.
    fn circumstance(&mut self, document: &Document<'words>) {
        match self.entropy.below(6) {
            0 | 1 => {
                let year = self.year(document);
                self.word("in");
                self.number(year);
            }
            2 => {
                let (day, month, year) = (
                    1 + self.entropy.below(28),
                    self.entropy.below(12),
                    self.year(document),
                );
                self.word("on");
                self.number(day);
                self.word(self.lexicon.months[month]);
                self.number(year);
            }
            3 => self.words(&["in", document.place]),
            _ => {
                let preposition = self.lexicon.prepositions.choose(&mut self.entropy);
                self.word(preposition);
                self.place_or_thing(document);
            }
        }
    }

    fn amount(&mut self) -> usize {
        match self.entropy.below(5) {
            0 => 100 * (1 + self.entropy.below(90)),
            1 => 1000 * (1 + self.entropy.below(12)),
            2 => 10 * (1 + self.entropy.below(30)),
            _ => 2 + self.entropy.below(40),
        }
    }

    fn be(document: &Document<'_>, many: bool) -> &'static str {
        match (document.past, many) {
            (true, true) => "were",
            (true, false) => "was",
            (false, true) => "are",
            (false, false) => "is",
        }
    }

    fn sentence(&mut self, document: &Document<'words>) {
        if self.entropy.chance(0.12) {
            let opening = self.lexicon.openings.choose(&mut self.entropy);
            self.word(opening);
            self.mark(",");
        } else if self.entropy.chance(0.12) {
            let year = self.year(document);
            self.word("in");
            self.number(year);
            self.mark(",");
        }
        match self.entropy.below(14) {
            0 => {
                let many = self.thing(document, true);
                self.word(Self::be(document, many));
                self.adjective(document);
            }
            1 => self.counted(document),
            2 => self.passive(document),
            3 => {
                // She said so herself.
                self.actor(document);
                self.words(&["said", "that", "my"]);
                let noun = self.subject_of(document).nouns.choose(&mut self.entropy);
                self.words(&[noun.one, "is"]);
                match self.entropy.below(3) {
                    0 => self.adjective(document),
                    1 => {
                        self.thing(document, false);
                    }
                    _ => {
                        let amount = self.amount();
                        self.number(amount);
                    }
                }
            }
            4 | 5 => {
                self.clause(document);
                self.mark(",");
                let conjunction = ["and", "but", "while", "because"][self.entropy.below(4)];
                self.word(conjunction);
                self.clause(document);
            }
            _ => {
                self.clause(document);
                if self.entropy.chance(0.55) {
                    self.circumstance(document);
                }
            }
        }
        self.mark(".");
    }

    fn clause(&mut self, document: &Document<'words>) {
        let many = self.actor(document);
        self.verb(document, many);
        self.thing(document, true);
    }

    fn counted(&mut self, document: &Document<'words>) {
        let amount = if self.entropy.chance(0.2) {
            self.year(document)
        } else {
            self.amount()
        };
        if self.entropy.chance(0.4) {
            let unit = self.lexicon.units.choose(&mut self.entropy);
            self.words(&["the number of", unit, Self::be(document, false)]);
            self.number(amount);
        } else {
            let many = self.thing(document, true);
            self.word(if document.past {
                "had"
            } else if many {
                "have"
            } else {
                "has"
            });
            self.number(amount);
            let unit = self.lexicon.units.choose(&mut self.entropy);
            self.word(unit);
        }
    }

    fn passive(&mut self, document: &Document<'words>) {
        let many = self.thing(document, true);
        self.word(Self::be(document, many));
        let verb = self.subject_of(document).verbs.choose(&mut self.entropy);
        self.words(&[&verb[3], "by"]);
        self.actor_by(document);
        self.circumstance(document);
    }

    fn actor_by(&mut self, document: &Document<'words>) {
        if self.entropy.chance(0.4) {
            let woman = self.entropy.chance(0.4);
            let first = self.lexicon.names[usize::from(!woman)].choose(&mut self.entropy);
            let family = self.lexicon.families.choose(&mut self.entropy);
            self.words(&[first, family]);
        } else {
            self.thing(document, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_seed_writes_the_same_text_again() {
        assert_eq!(made_up_text(20_000, 5), made_up_text(20_000, 5));
        assert_ne!(made_up_text(20_000, 5), made_up_text(20_000, 6));
        let text = made_up_text(20_000, 5);
        assert!(text.len() >= 20_000 && text.len() < 30_000);
        assert!(!text.contains("  ") && !text.contains(" .") && text.ends_with(".\n"));
    }

    #[test]
    fn there_is_variety() {
        let text = made_up_text(2_000_000, 1);
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
