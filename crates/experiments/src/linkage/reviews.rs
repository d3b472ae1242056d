//! Ratings without names, matched to public reviews.

use super::Beside;
use super::judged::{judged_json, judged_words};
use ::report::{Figure, Findings, Scale, grouped, significant};
use attack::linkage::{Judged, Matched, Matching};
use serde_json::json;

/// What was matched with so many records, in words, as an object, and drawn.
pub fn rated(
    found: &Matched,
    records: u32,
    judged: Option<&Judged>,
    matching: &Matching,
    beside: &Beside,
) -> Findings {
    let accepted = found.accepted().count();
    let introduction = format!(
        "{} people with public reviews, {} records of ratings without names; a record is accepted when it is {} standard deviations ahead of the second best.",
        grouped(found.candidates.len() as u64),
        grouped(u64::from(records)),
        significant(matching.eccentricity, 2)
    );
    let stopped = if found.stopped {
        "\nStopped before the end: this is what was found by then."
    } else {
        ""
    };
    let mut ahead: Vec<f64> = found
        .candidates
        .iter()
        .flatten()
        .map(|candidate| candidate.eccentricity)
        .collect();
    ahead.sort_unstable_by(f64::total_cmp);
    let all = ahead.len().max(1) as f64;
    let curve: Vec<(f64, f64)> = (0u32..)
        .zip(&ahead)
        .map(|(below, eccentricity)| (*eccentricity, 1.0 - f64::from(below) / all))
        .collect();
    Findings {
        text: format!(
            "{introduction}\n\n{} of them got a record. {}\n{}{stopped}\n",
            grouped(accepted as u64),
            judged_words(judged),
            beside.words()
        ),
        json: json!({
            "command": "attack linkage",
            "reviewers": found.candidates.len(),
            "records": records,
            "eccentricity": matching.eccentricity,
            "accepted": accepted,
            "judged": judged_json(judged),
            "right_guesses_allowed": beside.right_guesses(),
            "stopped_early": found.stopped,
        }),
        title: "Deniable: matching ratings to public reviews",
        introduction,
        rows: vec![beside.row(
            "reviews",
            "people with public reviews whose record was found",
            accepted,
            judged,
        )],
        figures: vec![
            Figure::new("How far the best record is ahead of the second")
                .x_axis("standard deviations of all scores", Scale::Linear)
                .y_axis("share of reviewers at least so far ahead", Scale::Linear)
                .y_at_most(1.0)
                .line("reviewers", &curve)
                .vertical("accepted from here on", matching.eccentricity),
        ],
    }
}
