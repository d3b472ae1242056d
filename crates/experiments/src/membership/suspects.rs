//! Named people, traced from a table of published means.

use ::report::{Column, Findings, Row, Table, grouped, percent, significant};
use attack::membership::{Noise, Suspect};
use serde_json::{Value, json};

/// People that the text shows; the object has all.
const SHOWN: usize = 40;

/// The people who were traced from the means of `attributes` attributes of `people` people, in the order
/// given, beside what the noise allows.
pub fn suspects_findings(suspects: &[Suspect], noise: &Noise, people: u32, attributes: usize) -> Findings {
    let mut table = Table::new([
        Column::Left("who"),
        Column::Right("deviations above a stranger"),
        Column::Right("strangers as high"),
        Column::Right("likelihood ratio"),
    ]);
    for suspect in suspects.iter().take(SHOWN) {
        table.row([
            suspect.name.clone(),
            significant(suspect.above, 3),
            significant(suspect.chance, 2),
            if suspect.ratio.is_finite() {
                format!("10^{:.1}", suspect.ratio)
            } else {
                "0".to_owned()
            },
        ]);
    }
    let bound = match noise.limit() {
        Some(limit) => format!(
            "With ε = {} and δ = {} no test that accuses 1 % of strangers accuses more than {} of members, however high a score looks.",
            significant(limit.epsilon, 3),
            significant(limit.delta, 1),
            percent(limit.true_positives(0.01))
        ),
        None => "Without noise nothing bounds what the means tell; with ε = 1 and δ = 1e-5 a test that accuses 1 % of strangers would accuse at most 2.7 % \
                 of members."
            .to_owned(),
    };
    let left_out = match suspects.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("{} more are lower; --json has them all.\n", grouped(more as u64)),
    };
    let introduction = format!(
        "{} attributes of {people} people were published. A stranger has each attribute with its frequency, independently.",
        grouped(attributes as u64)
    );
    let json: Vec<Value> = suspects
        .iter()
        .map(|suspect| {
            json!({
                "who": suspect.name,
                "deviations_above": suspect.above,
                "stranger_probability": suspect.chance,
                "log10_likelihood_ratio": suspect.ratio.is_finite().then_some(suspect.ratio),
            })
        })
        .collect();
    Findings {
        text: format!("{introduction}\n\n{table}{left_out}\n{bound}\n"),
        json: json!({
            "command": "attack membership",
            "people": people,
            "attributes": attributes,
            "members_allowed_at_1_percent": noise.limit().map_or(1.0, |limit| limit.true_positives(0.01)),
            "targets": json,
        }),
        title: "Deniable: tracing people from published means",
        introduction,
        rows: suspects
            .iter()
            .take(SHOWN)
            .map(|suspect| {
                Row::new(
                    &suspect.name,
                    "how often a stranger scores as high",
                    "not rare",
                    significant(suspect.chance, 2),
                    suspect.chance > 1e-3,
                )
            })
            .collect(),
        figures: Vec::new(),
    }
}
