//! Their visits to the clinic: many rows for few people, sorted by person.

use super::people::Visitor;
use super::random::SplitMix64;
use datafusion::arrow::array::{
    ArrayRef, Date32Builder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// 2024-01-01, a Monday, in days since 1970-01-01; visits are in the two years from there.
const FIRST: i32 = 19_723;
const DAYS: u64 = 731;
/// Nobody comes more often.
const MOST: f64 = 300.0;

/// Departments, how common they are for the young, the middle-aged and the old, minutes of a visit, and what a minute costs.
const DEPARTMENTS: [(&str, [u64; 3], u64, f64); 10] = [
    ("general", [30, 26, 22], 15, 2.4),
    ("pediatrics", [40, 0, 0], 20, 2.6),
    ("emergency", [12, 10, 9], 70, 6.5),
    ("cardiology", [1, 6, 16], 35, 5.2),
    ("dermatology", [6, 8, 5], 15, 3.1),
    ("gynecology", [2, 14, 5], 25, 3.4),
    ("neurology", [1, 4, 8], 40, 5.0),
    ("oncology", [1, 4, 11], 60, 9.0),
    ("orthopedics", [5, 12, 15], 30, 4.1),
    ("psychiatry", [2, 16, 9], 50, 2.9),
];

pub(super) fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("person_id", DataType::Int64, false),
        Field::new("day", DataType::Date32, false),
        Field::new("department", DataType::Utf8, false),
        Field::new("minutes", DataType::Int64, false),
        Field::new("cost", DataType::Float64, false),
    ]))
}

/// Makes them one batch after the other.
pub(super) struct Visits<'v> {
    random: SplitMix64,
    visitors: std::slice::Iter<'v, Visitor>,
    /// Who is visiting, and how often they still will.
    now: Option<(Visitor, u64)>,
}

impl<'v> Visits<'v> {
    pub(super) fn new(visitors: &'v [Visitor]) -> Self {
        Self {
            random: SplitMix64::new(2),
            visitors: visitors.iter(),
            now: None,
        }
    }

    /// The next this many visits; `None` when there are no more.
    pub(super) fn batch(&mut self, most: usize) -> Option<RecordBatch> {
        let mut person = Int64Builder::with_capacity(most);
        let mut day = Date32Builder::with_capacity(most);
        let mut department = StringBuilder::new();
        let mut minutes = Int64Builder::with_capacity(most);
        let mut cost = Float64Builder::with_capacity(most);
        let mut rows = 0;
        while rows < most {
            let Some(visitor) = self.visitor() else { break };
            rows += 1;
            let random = &mut self.random;
            person.append_value(visitor.person);
            day.append_value(FIRST + workday(random));
            let age_group = match visitor.age {
                0..=15 => 0,
                16..=59 => 1,
                _ => 2,
            };
            let choices: [(usize, u64); 10] =
                std::array::from_fn(|index| (index, DEPARTMENTS[index].1[age_group]));
            let (name, _, usual, rate) = DEPARTMENTS[random.choose(&choices)];
            let took = (usual as f64 * random.factor(0.5)).round().clamp(3.0, 480.0);
            department.append_value(name);
            minutes.append_value(took as i64);
            let price = 12.0 + took * rate * random.factor(0.3);
            cost.append_value((price * 100.0).round() / 100.0);
        }
        if rows == 0 {
            return None;
        }
        let columns: Vec<ArrayRef> = vec![
            Arc::new(person.finish()),
            Arc::new(day.finish()),
            Arc::new(department.finish()),
            Arc::new(minutes.finish()),
            Arc::new(cost.finish()),
        ];
        RecordBatch::try_new(schema(), columns).ok()
    }

    /// Whose visit is next.
    fn visitor(&mut self) -> Option<Visitor> {
        loop {
            match self.now {
                Some((visitor, left)) if left > 0 => {
                    self.now = Some((visitor, left - 1));
                    return Some(visitor);
                }
                _ => {
                    let visitor = *self.visitors.next()?;
                    self.now = Some((visitor, how_often(&mut self.random, &visitor)));
                }
            }
        }
    }
}

/// A quarter never come; of the others, one in k² comes more than about k times as often as usual.
fn how_often(random: &mut SplitMix64, visitor: &Visitor) -> u64 {
    if random.happens(0.25) {
        return 0;
    }
    let frail = 1.4 + 0.025 * visitor.age as f64 + if visitor.smoker { 0.4 } else { 0.0 };
    (frail / (1.0 - random.uniform()).sqrt()).clamp(1.0, MOST) as u64
}

/// Weekends are rare.
fn workday(random: &mut SplitMix64) -> i32 {
    let day = random.below(DAYS) as i32;
    let weekend = day % 7 >= 5;
    if weekend && random.happens(0.7) {
        random.below(DAYS) as i32
    } else {
        day
    }
}
