//! Who writes: a small grammar that remembers what its document is about.

use super::lexicon::{Lexicon, Subject};
use crate::text::Seeded;

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

pub(super) struct Author<'words> {
    lexicon: &'words Lexicon,
    entropy: Seeded,
    text: String,
}

impl<'words> Author<'words> {
    pub(super) fn new(lexicon: &'words Lexicon, seed: u64) -> Self {
        Self {
            lexicon,
            entropy: Seeded::numbered(seed, 0),
            text: String::new(),
        }
    }

    /// Whole documents, so many bytes or a little more.
    pub(super) fn write(mut self, bytes: usize) -> String {
        self.text.reserve(bytes + 4096);
        while self.text.len() < bytes {
            self.document();
        }
        self.text
    }

    fn document(&mut self) {
        let words = self.lexicon;
        let entropy = &mut self.entropy;
        let woman = entropy.chance(0.4);
        let document = Document {
            topic: &words.topics[entropy.index(words.topics.len())],
            past: entropy.chance(0.65),
            woman,
            first: words.names[usize::from(!woman)].choose(entropy),
            family: words.families.choose(entropy),
            place: words.places.choose(entropy),
            year: *words.years.choose(entropy),
        };
        self.introduction(&document);
        for _ in 0..4 + self.entropy.index(14) {
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
            let (born, years) = (document.year as usize, 20 + self.entropy.index(70));
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
            let (day, month) = (1 + self.entropy.index(28), self.entropy.index(12));
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
            document.year as usize + self.entropy.index(30)
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
        let determiner = match (many, self.entropy.index(10)) {
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
        match self.entropy.index(4) {
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
        match self.entropy.index(10) {
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
        match self.entropy.index(6) {
            0 | 1 => {
                let year = self.year(document);
                self.word("in");
                self.number(year);
            }
            2 => {
                let (day, month, year) = (
                    1 + self.entropy.index(28),
                    self.entropy.index(12),
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
        match self.entropy.index(5) {
            0 => 100 * (1 + self.entropy.index(90)),
            1 => 1000 * (1 + self.entropy.index(12)),
            2 => 10 * (1 + self.entropy.index(30)),
            _ => 2 + self.entropy.index(40),
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
        match self.entropy.index(14) {
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
                match self.entropy.index(3) {
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
                let conjunction = ["and", "but", "while", "because"][self.entropy.index(4)];
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
