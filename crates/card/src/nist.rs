//! The points by which NIST SP 800-226 evaluates a claim of differential privacy, in our words, and the
//! answers for this dataset.
//!
//! Twenty-three follow from the catalog, the ledger and how the system works. Five are asked of people:
//! nothing in a program knows why an ε was chosen.

use crate::Card;
use crate::words::QUESTIONS;
use serde::Serialize;

/// A point and its answer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) point: u8,
    pub(crate) topic: &'static str,
    /// `computed`, `asserted` or `not answered`.
    pub(crate) how: &'static str,
    pub(crate) answer: String,
}

/// What people are asked: the point, and the key of the answer in `card.toml`.
pub(crate) const ASKED: [(u8, &str); 5] = [
    (1, "epsilon_chosen"),
    (8, "exact_releases"),
    (11, "small_groups"),
    (26, "security"),
    (28, "collected"),
];

const TOPICS: [&str; 28] = [
    "how ε was chosen, and whether it still means something",
    "a measure that composes well, and not a bare (ε, δ)",
    "a small δ, and the original parameters",
    "the unit of privacy, and whether it covers the harm",
    "protection of events only",
    "bounds that start anew with time",
    "comparisons with other guarantees",
    "exact releases of the same data",
    "a tested implementation",
    "usefulness, stated",
    "systemic bias: small groups",
    "human bias: negative and fractional counts",
    "statistical bias: clamping and cut rows",
    "what bounding of contributions costs",
    "groups that must not come from the data",
    "bounds of sums that must not come from the data",
    "least and largest values",
    "models that learn by heart",
    "synthetic data",
    "unstructured data, whose unit is unclear",
    "interactive questions, and analysts who mean harm",
    "assumptions about trust",
    "floating point",
    "time",
    "errors of what runs below",
    "security of the data itself",
    "access control",
    "collecting less",
];

/// All points in order. Reads every other part of the card.
pub(crate) fn points(card: &Card) -> Vec<Point> {
    let numbered = (1u8..).zip(TOPICS);
    numbered
        .map(|(point, topic)| {
            let asked = ASKED.iter().find(|(asked, _)| *asked == point);
            let (how, answer) = match asked {
                Some((_, key)) => match card.asserted.of(key) {
                    Some(said) => ("asserted", said),
                    None => ("not answered", format!("Only people can say. {}", asks(key))),
                },
                None => ("computed", computed(point, card)),
            };
            Point {
                point,
                topic,
                how,
                answer,
            }
        })
        .collect()
}

fn asks(key: &str) -> &'static str {
    QUESTIONS
        .iter()
        .find(|question| question.key == key)
        .map_or("", |question| question.asks)
}

fn computed(point: u8, card: &Card) -> String {
    let (promise, spent, declared) = (&card.promise, &card.spent, &card.declared);
    let whose = &promise.unit.whose;
    let names = |wanted: &dyn Fn(&crate::declared::TableLine) -> bool| -> String {
        let names: Vec<&str> = declared
            .private_tables()
            .filter(|table| wanted(table))
            .map(|table| table.name.as_str())
            .collect();
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let columns = |wanted: &dyn Fn(&crate::declared::ColumnLine) -> bool| {
        declared
            .private_tables()
            .flat_map(|table| &table.columns)
            .filter(|column| wanted(column))
            .count()
    };
    let ran = |name: &str| {
        let ran = card.mechanisms.iter().filter(|ran| ran.mechanism.contains(name));
        ran.map(|ran| ran.times).sum::<u64>()
    };
    match point {
        2 => format!(
            "Every release is kept as an event, so that it can be counted again by a better method. Enforced by {}. {}",
            spent.counted_by,
            match (&spent.rho, spent.renyi.is_empty()) {
                (Some(rho), false) => format!("All charges together are ρ = {rho} zCDP, beside a δ of {}; the Rényi curve is in this card.", spent.curves_beside_delta),
                (Some(rho), true) => format!("All charges together are ρ = {rho} zCDP, beside a δ of {}.", spent.curves_beside_delta),
                (None, _) => "Charges that carry both an ε and a δ have no ρ; the certified curve of (ε, δ) is in this card.".to_owned(),
            }
        ),
        3 => format!(
            "The limit is {}. Of δ, {} is set aside for groups whose names are private, and {} was used. The parameters of every release are in the ledger, and in this card.",
            promise.limit.in_words(),
            promise.reserved_delta,
            spent.carried_delta
        ),
        4 => format!(
            "Each guarantee is for {}; none can be written down without it. Whether that covers the harm is the curator's decision.",
            promise.unit
        ),
        5 => format!(
            "Tables in which each row is a unit, so that somebody with several rows is protected row by row: {}.",
            names(&|table| table.owner.starts_with("each row"))
        ),
        6 => format!(
            "Nothing starts anew: all {} charges count under one limit, whatever version of the data they are about. The limit was changed {} times, and everything charged before counts under the new one.",
            spent.charges, spent.rules_changed
        ),
        7 => format!(
            "This ε is for a {whose}, for these neighbours and with this δ. It compares with another one only where all three are the same."
        ),
        9 => "Each mechanism has its claim, proof and exact audit beside its code, and mutants that the audit must refute (`deniable audit self`). Nobody outside has reviewed it.".to_owned(),
        10 => "Before a question its cost and expected error are shown for nothing; each answer has 95 % intervals.".to_owned(),
        12 => "Noisy counts are released as they are drawn: they may be negative, and parts need not add up to their whole. Nothing is made consistent afterwards unless the question does it.".to_owned(),
        13 => "Values are clamped to declared bounds and rows beyond limits are left out. A part of a question's ε estimates how much that cut; where it is noticed, intervals include it.".to_owned(),
        14 => format!(
            "Limits where a table states none: {}. Noise follows from them, and each question says what it cut.",
            declared.limits.in_words()
        ),
        15 => format!(
            "{} columns have groups that follow from the catalog. Groups of other columns appear only above a noisy threshold, which takes δ: {} releases carried one.",
            columns(&|column| column.declared_groups.is_some()),
            ran("threshold")
        ),
        16 => format!(
            "{} columns have declared bounds; a column without any cannot be summed. Drafts of catalogs are made from names and types alone.",
            columns(&|column| column.low.is_some())
        ),
        17 => "Least and largest values are read from noisy counts over a tree of intervals: blunt, and said so in the answer.".to_owned(),
        18 => match ran("step of training") {
            0 => "No model was trained under this ledger.".to_owned(),
            steps => format!("{steps} steps of private training were charged. `deniable attack memorization` and `deniable audit one-run` show what a model learned by heart."),
        },
        19 => "No synthetic data is made of the private tables; the dummy that analysts may try questions on is made from the catalog alone.".to_owned(),
        20 => format!(
            "{} columns are text. A text is a value of the row that it is in and is protected with the {whose} who owns the row, and as nothing else.",
            columns(&|column| column.kind == "text")
        ),
        21 => "Questions may be chosen after seeing answers, by any number of analysts who share what they see: all are charged to one durable budget, and refusals depend on parameters alone. The same question again returns what was released.".to_owned(),
        22 => "Central model: the curator, the machine and its operating system are trusted with the data. Whoever sees answers, costs and errors is not, and may know everything else.".to_owned(),
        23..=25 => {
            let about = ["Floating point:", "Time:", "Errors:"][usize::from(point - 23)];
            let text = card.side_channels.iter().find_map(|text| text.strip_prefix(about));
            text.unwrap_or_default().trim().to_owned()
        }
        27 => format!(
            "{} Who can read the machine's files has the data.",
            match promise.shares {
                0 => "No analyst has a share of their own; all are held back by the one limit.".to_owned(),
                shares => format!("{shares} analysts have shares of the budget, and nobody else may spend anything. On a server everybody signs in, with a role and limits."),
            }
        ),
        _ => String::new(),
    }
}
