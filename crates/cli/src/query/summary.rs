//! What an answer cost, what is left, and what its intervals leave out, in words.

use crate::dataset::readable;
use sql::Answered;

/// Lines for standard error.
pub(super) fn text(answered: &Answered, analyst: &str) -> String {
    let answer = &answered.answer;
    let cost = &answer.cost;
    let guarantee = readable(&cost.guarantee);
    let mut text = if answered.repeated {
        format!(
            "free: this was answered before, for {guarantee} (charge {}); nothing was charged now\n",
            cost.charge
        )
    } else if answered.resumed {
        format!(
            "cost: {guarantee}, charged before (charge {}): this finishes the run that was interrupted, and nothing was charged now\n",
            cost.charge
        )
    } else {
        format!(
            "cost: {guarantee} (charge {}); the same question again is free\n",
            cost.charge
        )
    };
    let left = &answered.left;
    text += &match &left.share {
        Some(share) if *share < left.dataset => format!(
            "left: {analyst} may spend ε = {} on one further release by their share, everybody together ε = {}\n",
            left.epsilon, left.dataset
        ),
        _ => format!(
            "left: {analyst} may spend ε = {} on one further release\n",
            left.epsilon
        ),
    };
    if answer.columns.iter().any(|column| column.has_intervals()) {
        text += &format!(
            "±: each interval holds the truth with {} % confidence, as far as noise goes\n",
            (answer.confidence * 1000.0).round() / 10.0
        );
    }
    for column in &answer.columns {
        if let Some(why) = &column.no_interval {
            text += &format!(
                "no ±: {} is noisy, and has no interval because {why}\n",
                column.name
            );
        }
    }
    for note in &answer.notes {
        text += &format!("note: {note}\n");
    }
    text
}
