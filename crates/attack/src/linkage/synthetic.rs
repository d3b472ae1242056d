//! Synthetic tables with a known truth.

use super::{Rating, Ratings, Table};
use crate::Seeded;

/// People by age, in percent of all: ages from, below, and the share (census of the United States, 2000).
const AGES: [(u32, u32, f64); 13] = [
    (0, 5, 6.8),
    (5, 10, 7.3),
    (10, 15, 7.3),
    (15, 20, 7.2),
    (20, 25, 6.7),
    (25, 35, 14.2),
    (35, 45, 16.0),
    (45, 55, 13.4),
    (55, 60, 4.8),
    (60, 65, 3.8),
    (65, 75, 6.5),
    (75, 85, 4.4),
    (85, 100, 1.6),
];
/// People of a ZIP code on average: 281 million of them in some 32,000 ZIP codes.
const PEOPLE_A_ZIP: f64 = 8_800.0;
/// How much ZIP codes differ: the deviation of the logarithm of their population.
const ZIP_SPREAD: f64 = 1.2;
/// No ZIP code has more.
const LARGEST_ZIP: f64 = 115_000.0;
/// Days of a year.
const DAYS: f64 = 365.25;
/// Of how many people a hospital has a record, and a voter list those of age: one in this many, and this many
/// in ten.
const PATIENTS_ONE_IN: u64 = 10;
const VOTERS_IN_TEN: u64 = 7;
/// From this age on people vote.
const VOTING_AGE: u32 = 18;

/// A census, and two tables made of it: a hospital's without names and a voter list with them.
#[derive(Clone, Debug)]
pub struct Census {
    /// Everybody: ZIP code, sex, birth date in days.
    pub people: Table,
    /// The hospital's rows and then the voters': ZIP code, sex, birth date.
    pub both: Table,
    /// How many rows the hospital has.
    pub patients: usize,
    /// Who each row of `both` is.
    pub who: Vec<u32>,
}

/// Whole ZIP codes with about this many people in all.
///
/// Populations of ZIP codes are log-normal with a mean of 8,800, at most 115,000; ages are those of the
/// census of 2000, birthdays are spread evenly over their years, and sexes are equally many. One in ten is a
/// patient, and seven in ten from 18 on are on the voter list.
pub fn census(people: u64, seed: u64) -> Census {
    let mut entropy = Seeded::new(seed);
    let zips = (people as f64 / PEOPLE_A_ZIP).round().max(1.0) as u32;
    let middle = PEOPLE_A_ZIP.ln() - ZIP_SPREAD * ZIP_SPREAD / 2.0;
    let total: f64 = AGES.iter().map(|(_, _, share)| share).sum();
    let [mut zip, mut sex, mut birth] = [const { Vec::new() }; 3];
    let mut ages = Vec::new();
    for number in 0..zips {
        // Quantiles instead of draws: a few dozen ZIP codes are then as mixed as thousands.
        let rank = (f64::from(number) + 0.5) / f64::from(zips);
        let size = (middle + ZIP_SPREAD * normal_quantile(rank)).exp();
        for _ in 0..size.min(LARGEST_ZIP).round() as u64 {
            let mut place = entropy.unit() * total;
            let group = AGES.iter().find(|(_, _, share)| {
                place -= share;
                place < 0.0
            });
            let (from, below, _) = group.unwrap_or(&AGES[AGES.len() - 1]);
            let age = f64::from(*from) + entropy.unit() * f64::from(below - from);
            zip.push(number);
            sex.push(entropy.below(2) as u32);
            birth.push((age * DAYS) as u32);
            ages.push(age);
        }
    }
    let chosen = |take: &mut dyn FnMut(usize) -> bool| -> Vec<u32> {
        (0..zip.len() as u32).filter(|row| take(*row as usize)).collect()
    };
    let patients = chosen(&mut |_| entropy.below(PATIENTS_ONE_IN) == 0);
    let voters = chosen(&mut |row| entropy.below(10) < VOTERS_IN_TEN && ages[row] >= f64::from(VOTING_AGE));
    let who: Vec<u32> = patients.iter().chain(&voters).copied().collect();
    let of = |column: &[u32]| who.iter().map(|row| column[*row as usize]).collect::<Vec<u32>>();
    Census {
        both: Table::of_codes([("zip", of(&zip)), ("sex", of(&sex)), ("birth_date", of(&birth))]),
        people: Table::of_codes([("zip", zip), ("sex", sex), ("birth_date", birth)]),
        patients: patients.len(),
        who,
    }
}

/// Φ⁻¹ by bisection.
fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if libm::erfc(-middle / std::f64::consts::SQRT_2) / 2.0 < probability {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// Ratings without names, and a few public reviews of people of whom most are among them.
#[derive(Clone, Debug)]
pub struct Reviews {
    /// The ratings.
    pub ratings: Ratings,
    /// For each reviewer the public reviews, and which record is theirs, if any.
    pub reviewers: Vec<(Vec<Rating>, Option<u32>)>,
}

/// Films, and how many public reviews a reviewer has.
const FILMS: u32 = 2_000;
const REVIEWS: usize = 8;
/// Days that the collection spans.
const SPAN: u64 = 2_000;
/// One reviewer in this many is not in the data.
const STRANGERS_ONE_IN: u64 = 4;

/// This many records with at least eight ratings each, and this many reviewers.
///
/// Films are as popular as their rank is small (Zipf), a record has 8 + a log-normal number of ratings
/// (median 40) over the time since it was opened. A reviewer has made eight of his ratings public: one is of
/// a film that he did not rate in the data, one rating in four is off by a star, and all days are off by up
/// to 14. A quarter of the reviewers have no record in the data.
pub fn reviews(records: u32, reviewers: u32, seed: u64) -> Reviews {
    let mut entropy = Seeded::new(seed);
    let mut popularity = Vec::new();
    let mut sum = 0.0;
    for rank in 0..FILMS {
        sum += (f64::from(rank) + 10.0).powf(-0.9);
        popularity.push(sum);
    }
    let quality: Vec<f64> = (0..FILMS).map(|_| 3.5 + 0.6 * entropy.normal()).collect();
    let record = |entropy: &mut Seeded| -> Vec<Rating> {
        let count = (40f64.ln() + 0.8 * entropy.normal()).exp().min(400.0) as usize + REVIEWS;
        let joined = entropy.below(SPAN);
        let mut seen = std::collections::BTreeSet::new();
        while seen.len() < count {
            let place = entropy.unit() * sum;
            seen.insert(popularity.partition_point(|below| *below <= place) as u32);
        }
        seen.into_iter()
            .map(|item| Rating {
                item,
                value: (quality[item as usize] + entropy.normal())
                    .round()
                    .clamp(1.0, 5.0) as f32,
                day: (joined + entropy.below(SPAN - joined)) as f32,
            })
            .collect()
    };
    let mut ratings = Ratings::default();
    let all: Vec<Vec<Rating>> = (0..records).map(|_| record(&mut entropy)).collect();
    for (number, record) in (0u32..).zip(&all) {
        record.iter().for_each(|rating| ratings.add(number, *rating));
    }
    let reviewers = (0..reviewers)
        .map(|_| {
            let known = entropy.below(STRANGERS_ONE_IN) != 0;
            let number = entropy.below(u64::from(records.max(1))) as u32;
            let own = match all.get(number as usize) {
                Some(own) if known => own.clone(),
                _ => record(&mut entropy),
            };
            (
                public(own, &mut entropy),
                (known && !all.is_empty()).then_some(number),
            )
        })
        .collect();
    Reviews { ratings, reviewers }
}

/// Eight ratings of a record as their author publishes them elsewhere.
fn public(mut own: Vec<Rating>, entropy: &mut Seeded) -> Vec<Rating> {
    let mut reviews = Vec::with_capacity(REVIEWS);
    for place in 0..REVIEWS {
        let taken = entropy.below((own.len() - place) as u64) as usize;
        own.swap(place, place + taken);
        let mut review = own[place];
        if place == 0 {
            review.item = entropy.below(u64::from(FILMS)) as u32;
        }
        if entropy.below(4) == 0 {
            let step = if entropy.below(2) == 0 { -1.0 } else { 1.0 };
            review.value = (review.value + step).clamp(1.0, 5.0);
        }
        review.day += entropy.below(29) as f32 - 14.0;
        reviews.push(review);
    }
    reviews
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linkage::{Matching, Partition, identifying_sets, judge, link};

    #[test]
    fn zip_sex_and_birth_date_single_out_most_people() {
        let census = census(100_000, 3);
        let profile = Partition::of(&census.people, &[0, 1, 2]).profile();
        // Golle 2006 has 63 % for 2000, Sweeney 87 % for 1990.
        let singled_out = profile.singled_out();
        assert!((0.55..0.9).contains(&singled_out), "{singled_out}");
        // Two thirds of them by no fewer than all three columns.
        let least = profile.rows * 2 / 3;
        let sets = identifying_sets(&census.people, &[0, 1, 2], least, 3, &|_| true);
        assert_eq!(sets.len(), 1);
        assert_eq!(sets[0].columns, [0, 1, 2]);
        // Those on the voter list are linked, nearly all of them rightly: what is wrong is a namesake in
        // everything of somebody who does not vote.
        let links = link(&census.both, census.patients);
        let judged = judge(&links.pairs, &census.who, census.patients);
        assert!(
            judged.precision() > 0.8 && judged.recall() > 0.5,
            "{judged:?} {links:?}"
        );
    }

    #[test]
    fn eight_reviews_find_a_record() {
        let synthetic = reviews(1_000, 80, 4);
        let (mut right, mut wrong, mut findable) = (0, 0, 0);
        for (reviews, truth) in &synthetic.reviewers {
            assert_eq!(reviews.len(), REVIEWS);
            findable += usize::from(truth.is_some());
            let Some(found) = synthetic.ratings.best(reviews, &Matching::default()) else {
                continue;
            };
            if found.accepted && *truth == Some(found.record) {
                right += 1
            } else if found.accepted {
                wrong += 1
            }
        }
        // With this seed.
        assert!(
            right * 10 >= findable * 9 && wrong * 20 <= right,
            "{right} {wrong} of {findable}"
        );
    }

    #[test]
    fn quantiles_are_the_normal_ones() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-9);
        assert!(normal_quantile(0.5).abs() < 1e-9);
    }
}
