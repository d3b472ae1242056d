//! The people: one row each.

use super::PEOPLE;
use super::random::SplitMix64;
use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// 2026-01-01, the day on which everybody was asked, in days since 1970-01-01.
const TODAY: i32 = 20_454;

const REGIONS: [(&str, u64); 12] = [
    ("Ashford", 6),
    ("Brightwater", 14),
    ("Caldermoor", 9),
    ("Dunmere", 4),
    ("Eastvale", 18),
    ("Fenwick", 7),
    ("Glenrock", 5),
    ("Harrowgate", 11),
    ("Ironbridge", 8),
    ("Juniper Coast", 10),
    ("Kestrel Isles", 2),
    ("Larkspur", 6),
];

/// Schooling, how common it is among adults, and what it earns in the middle of a career.
const EDUCATION: [(&str, u64, f64); 7] = [
    ("none", 3, 15_000.0),
    ("primary", 9, 18_000.0),
    ("secondary", 30, 27_000.0),
    ("vocational", 26, 32_000.0),
    ("bachelor", 18, 44_000.0),
    ("master", 11, 56_000.0),
    ("doctorate", 3, 68_000.0),
];

/// Occupations, and how common they are for those with little, middling and much schooling.
const OCCUPATIONS: [(&str, [u64; 3]); 9] = [
    ("agriculture", [16, 5, 1]),
    ("construction", [20, 12, 1]),
    ("service", [28, 22, 6]),
    ("transport", [14, 10, 2]),
    ("office", [8, 22, 18]),
    ("health", [6, 14, 20]),
    ("teaching", [1, 5, 20]),
    ("technology", [2, 8, 24]),
    ("management", [1, 4, 12]),
];

/// What the visits need to know of a person.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visitor {
    pub(super) person: i64,
    pub(super) age: i64,
    pub(super) smoker: bool,
}

pub(super) fn schema() -> SchemaRef {
    let field = |name: &str, data_type: DataType, nullable| Field::new(name, data_type, nullable);
    Arc::new(Schema::new(vec![
        field("person_id", DataType::Int64, false),
        field("age", DataType::Int64, false),
        field("sex", DataType::Utf8, false),
        field("region", DataType::Utf8, false),
        field("education", DataType::Utf8, false),
        field("occupation", DataType::Utf8, false),
        field("hours", DataType::Int64, false),
        field("income", DataType::Float64, true),
        field("smoker", DataType::Boolean, false),
        field("born", DataType::Date32, false),
    ]))
}

/// Makes them one batch after the other.
pub(super) struct People {
    random: SplitMix64,
    ages: Vec<(i64, u64)>,
    next: i64,
}

impl People {
    pub(super) fn new() -> Self {
        // As many of each age up to 55; from there ever fewer, down to a few of a hundred years.
        let ages = (0..=100).map(|age| (age, if age <= 55 { 45 } else { 101 - age as u64 }));
        Self {
            random: SplitMix64::new(1),
            ages: ages.collect(),
            next: 1,
        }
    }

    /// The next this many people, of whom `visitors` learns; `None` when there are no more.
    pub(super) fn batch(&mut self, most: usize, visitors: &mut Vec<Visitor>) -> Option<RecordBatch> {
        let last = (self.next + most as i64 - 1).min(PEOPLE as i64);
        if self.next > last {
            return None;
        }
        let mut columns = Columns::default();
        for person in self.next..=last {
            let someone = self.person();
            visitors.push(Visitor {
                person,
                age: someone.age,
                smoker: someone.smoker,
            });
            columns.push(person, &someone);
        }
        self.next = last + 1;
        RecordBatch::try_new(schema(), columns.finish()).ok()
    }

    fn person(&mut self) -> Person {
        let random = &mut self.random;
        let age = random.choose(&self.ages);
        let sex = random.choose(&[("female", 505), ("male", 488), ("other", 7)]);
        let region = random.choose(&REGIONS);
        let level = education(random, age);
        let occupation = occupation(random, age, level);
        let working = OCCUPATIONS.iter().any(|(name, _)| *name == occupation);
        let hours = match occupation {
            "student" => random.below(16) as i64,
            _ if working && random.happens(0.24) => 10 + random.below(21) as i64,
            _ if working => 33 + random.below(7) as i64 + random.below(7) as i64 + random.below(5) as i64,
            _ => 0,
        };
        let income = income(random, age, level, occupation, hours);
        let smokers = if age < 15 { 0.0 } else { 0.30 - 0.03 * level as f64 };
        let smoker = random.happens(if age > 60 { smokers * 0.6 } else { smokers });
        let born = TODAY - (age as i32) * 365 - (age as i32) / 4 - 1 - random.below(365) as i32;
        Person {
            age,
            sex,
            region,
            education: EDUCATION[level].0,
            occupation,
            hours,
            // A few would rather not say.
            income: (!random.happens(0.02)).then_some(income),
            smoker,
            born,
        }
    }
}

fn education(random: &mut SplitMix64, age: i64) -> usize {
    let adult: [(usize, u64); 7] = std::array::from_fn(|level| (level, EDUCATION[level].1));
    let level = random.choose(&adult);
    let most = match age {
        0..=10 => 0,
        11..=15 => 1,
        16..=18 => 2,
        19..=21 => 3,
        22..=23 => 4,
        24..=27 => 5,
        _ => 6,
    };
    // Half of those who went to school long ago left it a step earlier than they would today.
    let earlier = usize::from(age > 65 && level > 1 && random.happens(0.5));
    (level - earlier).min(most)
}

fn occupation(random: &mut SplitMix64, age: i64, level: usize) -> &'static str {
    match age {
        0..=5 => "child",
        6..=17 => "student",
        18..=25 if random.happens(0.1 + 0.08 * (26 - age) as f64) => "student",
        67.. => "retired",
        60..=66 if random.happens(0.14 * (age - 59) as f64) => "retired",
        _ if random.happens(0.09 - 0.01 * level as f64) => "unemployed",
        _ if random.happens(0.08) => "home",
        _ => {
            let schooling = match level {
                0 | 1 => 0,
                2 | 3 => 1,
                _ => 2,
            };
            let choices: [(&str, u64); 9] = std::array::from_fn(|index| {
                let (name, weights) = OCCUPATIONS[index];
                (name, weights[schooling])
            });
            random.choose(&choices)
        }
    }
}

/// In a year. Grows with schooling and with age up to about 50, and spreads like incomes do.
fn income(random: &mut SplitMix64, age: i64, level: usize, occupation: &str, hours: i64) -> f64 {
    let years = (age - 50) as f64;
    let career = EDUCATION[level].2 * (1.08 - 0.0005 * years * years).max(0.45);
    let spread = random.factor(0.42);
    let amount = match occupation {
        "child" => 0.0,
        "student" if age < 16 => 0.0,
        "student" => 400.0 * hours as f64 * spread,
        "retired" => 0.5 * EDUCATION[level].2 * spread,
        "unemployed" => 9_500.0 * spread,
        "home" => 5_000.0 * spread,
        "management" => 1.5 * career * spread,
        "technology" => 1.2 * career * spread,
        "agriculture" | "service" => 0.85 * career * spread,
        _ => career * spread * (hours as f64 / 38.0).min(1.2),
    };
    // One in two thousand has ten times as much: what bounds are for.
    let amount = if random.happens(0.0005) {
        amount * 10.0
    } else {
        amount
    };
    (amount * 100.0).round() / 100.0
}

struct Person {
    age: i64,
    sex: &'static str,
    region: &'static str,
    education: &'static str,
    occupation: &'static str,
    hours: i64,
    income: Option<f64>,
    smoker: bool,
    born: i32,
}

#[derive(Default)]
struct Columns {
    person: Int64Builder,
    age: Int64Builder,
    sex: StringBuilder,
    region: StringBuilder,
    education: StringBuilder,
    occupation: StringBuilder,
    hours: Int64Builder,
    income: Float64Builder,
    smoker: BooleanBuilder,
    born: Date32Builder,
}

impl Columns {
    fn push(&mut self, person: i64, someone: &Person) {
        self.person.append_value(person);
        self.age.append_value(someone.age);
        self.sex.append_value(someone.sex);
        self.region.append_value(someone.region);
        self.education.append_value(someone.education);
        self.occupation.append_value(someone.occupation);
        self.hours.append_value(someone.hours);
        self.income.append_option(someone.income);
        self.smoker.append_value(someone.smoker);
        self.born.append_value(someone.born);
    }

    fn finish(mut self) -> Vec<ArrayRef> {
        vec![
            Arc::new(self.person.finish()),
            Arc::new(self.age.finish()),
            Arc::new(self.sex.finish()),
            Arc::new(self.region.finish()),
            Arc::new(self.education.finish()),
            Arc::new(self.occupation.finish()),
            Arc::new(self.hours.finish()),
            Arc::new(self.income.finish()),
            Arc::new(self.smoker.finish()),
            Arc::new(self.born.finish()),
        ]
    }
}
