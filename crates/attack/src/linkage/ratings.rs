//! Fuzzy matching of ratings, after Narayanan and Shmatikov ("Robust De-anonymization of Large Sparse
//! Datasets", 2008).

use super::Judged;
use crate::Watch;

/// One opinion about one item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Which item.
    pub item: u32,
    /// How it was rated.
    pub value: f32,
    /// When, in days from any fixed day; NaN if that is not known.
    pub day: f32,
}

/// How close ratings must be, and how much a record must stand out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matching {
    /// Ratings this far apart count 1/e.
    pub value_scale: f64,
    /// Days this far apart count 1/e.
    pub day_scale: f64,
    /// The best record is accepted if it is this many standard deviations of all scores ahead of the second.
    pub eccentricity: f64,
}

impl Default for Matching {
    /// What the authors used on the Netflix data: ρ₀ = 1.5, d₀ = 30 days, φ = 1.5.
    fn default() -> Self {
        Self {
            value_scale: 1.5,
            day_scale: 30.0,
            eccentricity: 1.5,
        }
    }
}

/// Ratings without names, by item.
#[derive(Clone, Debug, Default)]
pub struct Ratings {
    by_item: Vec<Vec<Entry>>,
    records: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    record: u32,
    value: f32,
    day: f32,
}

/// The record that fits best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Which record.
    pub record: u32,
    /// How far it is ahead of the second best, in standard deviations of all scores.
    pub eccentricity: f64,
    /// Whether that is enough to accept it.
    pub accepted: bool,
}

impl Ratings {
    /// Adds a rating to a record. Records are numbered from 0.
    pub fn add(&mut self, record: u32, rating: Rating) {
        let item = rating.item as usize;
        if item >= self.by_item.len() {
            self.by_item.resize(item + 1, Vec::new());
        }
        self.by_item[item].push(Entry {
            record,
            value: rating.value,
            day: rating.day,
        });
        self.records = self.records.max(record + 1);
    }

    /// How many records there are.
    pub fn records(&self) -> u32 {
        self.records
    }

    /// The record that fits these public ratings best, or none if nothing of them is rated here.
    ///
    /// Score(r) = Σ wt(i)·(e^(−|ρ−ρ′|/ρ₀) + e^(−|d−d′|/d₀)) over the items that both rated, with wt(i) =
    /// 1/ln(how many rated i): what few have rated tells more. An item that one record alone has rated counts
    /// as if two had. A rating without a day has the first term only.
    pub fn best(&self, public: &[Rating], matching: &Matching) -> Option<Candidate> {
        let mut scores = vec![0f64; self.records as usize];
        for rating in public {
            let Some(entries) = self.by_item.get(rating.item as usize) else {
                continue;
            };
            let weight = 1.0 / (entries.len().max(2) as f64).ln();
            for entry in entries {
                let near = |distance: f32, scale: f64| {
                    if distance.is_nan() {
                        0.0
                    } else {
                        (-f64::from(distance.abs()) / scale).exp()
                    }
                };
                scores[entry.record as usize] += weight
                    * (near(entry.value - rating.value, matching.value_scale)
                        + near(entry.day - rating.day, matching.day_scale));
            }
        }
        let (mut best, mut second) = ((0u32, 0f64), 0f64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (record, score) in (0u32..).zip(&scores) {
            sum += score;
            squares += score * score;
            if *score > best.1 {
                second = best.1;
                best = (record, *score);
            } else if *score > second {
                second = *score;
            }
        }
        if best.1 == 0.0 {
            return None;
        }
        let records = f64::from(self.records);
        let deviation = (squares / records - (sum / records).powi(2)).max(0.0).sqrt();
        let eccentricity = if deviation > 0.0 {
            (best.1 - second) / deviation
        } else {
            0.0
        };
        Some(Candidate {
            record: best.0,
            eccentricity,
            accepted: eccentricity > matching.eccentricity,
        })
    }
}

/// Somebody's public reviews.
#[derive(Clone, Debug)]
pub struct Reviewer {
    /// What they reviewed.
    pub reviews: Vec<Rating>,
    /// Whether the truth has a record for them at all; `None` if it is not known.
    pub findable: Option<bool>,
}

/// What matching found: for each reviewer the best record, if any was near.
#[derive(Clone, Debug)]
pub struct Matched {
    /// In the order of the reviewers; fewer if somebody stopped it.
    pub candidates: Vec<Option<Candidate>>,
    /// Whether somebody did.
    pub stopped: bool,
}

/// Matches every reviewer.
pub fn matched(ratings: &Ratings, reviewers: &[Reviewer], matching: &Matching, watch: &Watch<'_>) -> Matched {
    let mut candidates = Vec::with_capacity(reviewers.len());
    let mut stopped = !watch(0);
    for reviewer in reviewers {
        if stopped {
            break;
        }
        candidates.push(ratings.best(&reviewer.reviews, matching));
        stopped = !watch(1);
    }
    Matched { candidates, stopped }
}

impl Matched {
    /// Reviewers and records that were accepted as the same.
    pub fn accepted(&self) -> impl Iterator<Item = (usize, &Candidate)> {
        self.candidates
            .iter()
            .enumerate()
            .filter_map(|(reviewer, found)| Some((reviewer, found.as_ref()?)))
            .filter(|(_, found)| found.accepted)
    }

    /// How right they are, if `is_right` knows.
    pub fn judged(&self, reviewers: &[Reviewer], is_right: impl Fn(usize, u32) -> bool) -> Option<Judged> {
        // Known only if it is known of every reviewer.
        let known = reviewers.iter().take(self.candidates.len());
        let findable: Vec<bool> = known
            .map(|reviewer| reviewer.findable)
            .collect::<Option<Vec<bool>>>()?;
        let right = self
            .accepted()
            .filter(|(reviewer, found)| is_right(*reviewer, found.record))
            .count();
        Some(Judged {
            right,
            wrong: self.accepted().count() - right,
            findable: findable.iter().filter(|findable| **findable).count(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rating(item: u32, value: f32, day: f32) -> Rating {
        Rating { item, value, day }
    }

    /// Ten records that rated item 0 alike, of which record 3 also rated item 1 and record 4 item 2.
    fn ratings() -> Ratings {
        let mut ratings = Ratings::default();
        for record in 0..10 {
            ratings.add(record, rating(0, 3.0, 100.0));
        }
        ratings.add(3, rating(1, 5.0, 200.0));
        ratings.add(4, rating(2, 5.0, 200.0));
        ratings
    }

    #[test]
    fn a_rare_item_gives_a_record_away_and_a_common_one_does_not() {
        let matching = Matching::default();
        let found = ratings()
            .best(&[rating(0, 3.0, 100.0), rating(1, 4.0, 210.0)], &matching)
            .unwrap();
        assert_eq!((found.record, found.accepted), (3, true));
        let common = ratings().best(&[rating(0, 3.0, 100.0)], &matching).unwrap();
        assert_eq!((common.eccentricity, common.accepted), (0.0, false));
        assert_eq!(ratings().best(&[rating(7, 3.0, 100.0)], &matching), None);
        assert_eq!(Ratings::default().best(&[rating(0, 1.0, 1.0)], &matching), None);
    }

    #[test]
    fn scores_are_the_papers() {
        // One item that both records rated: wt = 1/ln 2. Record 0 is exact, record 1 is 1.5 stars and 30 days
        // off: 2 against 2/e.
        let mut ratings = Ratings::default();
        ratings.add(0, rating(0, 4.0, 50.0));
        ratings.add(1, rating(0, 2.5, 80.0));
        let found = ratings
            .best(&[rating(0, 4.0, 50.0)], &Matching::default())
            .unwrap();
        // Two scores a and b have a standard deviation of (a − b)/2, so the eccentricity is 2.
        assert_eq!(found.record, 0);
        assert!((found.eccentricity - 2.0).abs() < 1e-9);
        // With a third record the weights show: scores 2w, 2w/e and 0, with w = 1/ln 2 still.
        ratings.add(2, rating(1, 1.0, 1.0));
        let found = ratings
            .best(&[rating(0, 4.0, 50.0)], &Matching::default())
            .unwrap();
        let (a, b) = (2.0, 2.0 / std::f64::consts::E);
        let deviation = ((a * a + b * b) / 3.0 - ((a + b) / 3.0f64).powi(2)).sqrt();
        assert!((found.eccentricity - (a - b) / deviation).abs() < 1e-6);
    }

    #[test]
    fn a_missing_day_counts_nothing() {
        let mut ratings = Ratings::default();
        ratings.add(0, rating(0, 4.0, f32::NAN));
        ratings.add(1, rating(0, 4.0, 50.0));
        let found = ratings
            .best(&[rating(0, 4.0, 50.0)], &Matching::default())
            .unwrap();
        assert_eq!(found.record, 1);
        let blind = ratings
            .best(&[rating(0, 4.0, f32::NAN)], &Matching::default())
            .unwrap();
        assert_eq!(blind.eccentricity, 0.0);
    }
}
