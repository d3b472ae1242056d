//! Everything at once on synthetic people, whose truth is known.

use super::{Beside, Search, Uniqueness, linked, rated};
use ::report::Findings;
use attack::linkage::{Census, Matching, Reviewer, census, judge, link, matched, reviews};
use attack::{Error, Watch};
use serde_json::json;

/// Records of ratings and reviewers: as many for this many people.
const PEOPLE_A_RECORD: u64 = 20;
const PEOPLE_A_REVIEWER: u64 = 1_000;

const CENSUS: &str = "\
Synthetic people: whole ZIP codes, whose populations are log-normal with a mean of 8,800 and at most 115,000; ages as in the census of the United States of 2000; birthdays even over \
the years; sexes equally many. Sweeney found 87 % singled out for 1990, Golle 63 % for 2000.";
const HOSPITAL: &str = "\
A hospital's table without names (one in ten of these people) and a voter list with names (seven in ten from 18 on):";
const REVIEWS: &str = "\
Ratings of 2,000 films without names, and eight public reviews each of people of whom a quarter are not in the data; one film is wrong, one rating in four is a star off, days are up to 14 off:";

/// Synthetic people: a census, a hospital beside a voter list, and ratings beside public reviews.
pub struct Synthetic<'asked> {
    data: Census,
    people: u64,
    seed: u64,
    /// What is looked for in the census.
    search: Search<'asked>,
}

impl<'asked> Synthetic<'asked> {
    /// About so many people; `seed` determines them.
    pub fn new(people: u64, seed: u64, search: Search<'asked>) -> Self {
        Self {
            data: census(people, seed),
            people,
            seed,
            search,
        }
    }

    /// How many sets of columns there are to look at.
    pub fn sets(&self) -> u64 {
        self.search.sets(&self.data.people)
    }

    /// The people that the columns of the census single out.
    ///
    /// # Errors
    /// When no release has this ε and δ.
    pub fn uniqueness(&self, watch: &Watch<'_>) -> Result<Uniqueness, Error> {
        Uniqueness::of(&self.data.people, &self.search, watch)
    }

    /// How many people with public reviews there are.
    pub fn reviewers(&self) -> u32 {
        (self.people / PEOPLE_A_REVIEWER).clamp(50, 5_000) as u32
    }

    /// The rest, and all of it together; a record is accepted when it is `eccentricity` standard deviations
    /// ahead, and `watch` is told of each reviewer.
    pub fn findings(&self, unique: &Uniqueness, eccentricity: f64, watch: &Watch<'_>) -> Findings {
        let beside = self.search.beside;
        let linked = self.hospital(unique, beside);
        let rated = self.ratings(eccentricity, beside, watch);
        Findings {
            text: format!(
                "{CENSUS}\n\n{}\n{HOSPITAL}\n{}\n{REVIEWS}\n{}\nSeed {}.\n",
                unique.text(),
                linked.text,
                rated.text,
                self.seed
            ),
            json: json!({
                "command": "attack linkage",
                "seed": self.seed,
                "census": unique.json("attack linkage"),
                "hospital": linked.json,
                "ratings": rated.json,
            }),
            title: "Deniable: whom do rows without names belong to?",
            introduction: format!("{CENSUS}\n\n{HOSPITAL}\n\n{REVIEWS}"),
            rows: [vec![unique.row()], linked.rows, rated.rows].concat(),
            figures: [vec![unique.figure()], rated.figures].concat(),
        }
    }

    fn hospital(&self, unique: &Uniqueness, beside: &Beside) -> Findings {
        let data = &self.data;
        let links = link(&data.both, data.patients);
        let judged = judge(&links.pairs, &data.who, data.patients);
        let rows = [data.patients, data.who.len() - data.patients];
        linked(&links, rows, &unique.columns, Some(&judged), beside)
    }

    fn ratings(&self, eccentricity: f64, beside: &Beside, watch: &Watch<'_>) -> Findings {
        let records = (self.people / PEOPLE_A_RECORD).max(100) as u32;
        let films = reviews(records, self.reviewers(), self.seed);
        let (reviewers, truth): (Vec<Reviewer>, Vec<Option<u32>>) = films
            .reviewers
            .into_iter()
            .map(|(reviews, record)| {
                let reviewer = Reviewer {
                    reviews,
                    findable: Some(record.is_some()),
                };
                (reviewer, record)
            })
            .unzip();
        let matching = Matching {
            eccentricity,
            ..Matching::default()
        };
        let found = matched(&films.ratings, &reviewers, &matching, watch);
        let judged = found.judged(&reviewers, |reviewer, record| truth[reviewer] == Some(record));
        rated(
            &found,
            films.ratings.records(),
            judged.as_ref(),
            &matching,
            beside,
        )
    }
}
