//! Generators side by side, in words, as an object, and drawn.

use super::{Audited, Study};
use ::report::{Column, Figure, Findings, Row, Scale, Table, significant};
use attack::membership::Limit;
use serde_json::{Value, json};

/// What was found; `stopped` where generators are missing.
pub fn findings(study: &Study, audited: &[Audited], stopped: bool) -> Findings {
    let limit = limit(study);
    Findings {
        text: text(study, audited, limit),
        json: json!({
            "epsilon": study.epsilon,
            "delta": study.delta,
            "canaries": study.canaries,
            "confidence": study.confidence,
            "most_area": limit.area(),
            "generators": audited.iter().map(to_json).collect::<Vec<Value>>(),
            "stopped": stopped,
        }),
        title: "Generators of synthetic rows, attacked and audited",
        introduction: text(study, audited, limit),
        rows: audited.iter().map(|one| row(study, one)).collect(),
        figures: vec![figure(audited, limit)],
    }
}

fn limit(study: &Study) -> Limit {
    Limit {
        epsilon: study.epsilon.to_f64_up(),
        delta: study.delta.to_f64_up(),
    }
}

fn verdict(one: &Audited) -> &'static str {
    match one.judged.refuted() {
        true => "refuted",
        false => "consistent",
    }
}

fn text(study: &Study, audited: &[Audited], limit: Limit) -> String {
    let mut text = format!(
        "{} canaries, each a person with a value that nobody else has, and in the data or not by the toss of a coin\nclaim ε = {}, δ = {} for each person; a generator that keeps it is refuted with a probability of at most {}\n\n",
        study.canaries,
        study.epsilon,
        study.delta,
        significant(1.0 - study.confidence, 2),
    );
    let mut table = Table::new([
        Column::Left("rows"),
        Column::Right("guesses"),
        Column::Right("right"),
        Column::Right("allowed"),
        Column::Right("ε is at least"),
        Column::Left("claim"),
        Column::Right("closest: area"),
        Column::Right("column guessed: members"),
        Column::Right("strangers"),
    ]);
    for one in audited {
        let best = one.judged.found.best;
        let (guesses, right) = one.judged.counts[best];
        let allowed = one.judged.claimed.as_ref().map(|claimed| claimed.allowed[best]);
        table.row([
            one.generator.name().to_owned(),
            guesses.to_string(),
            right.to_string(),
            allowed.map_or_else(String::new, |allowed| allowed.to_string()),
            significant(one.judged.found.epsilon, 3),
            verdict(one).to_owned(),
            significant(one.membership.area(), 3),
            percent(one.inferred[0].share()),
            percent(one.inferred[1].share()),
        ]);
    }
    text += &table.to_string();
    text += &format!(
        "\nGuesses: whose own value is in the most rows was in the data. All numbers of guesses were decided on beforehand, and each pays for its part of the confidence; \"consistent\" is no proof.\n\
         Closest: how often a member is closer to a synthetic row than a stranger is. 0.5 tells nothing, and the claim allows {}. It finds copies. Where it finds nothing, as with exact marginals of each column alone, rows may tell who was there all the same.\n\
         Column guessed: the last column of a person from the rows that agree with all others. What is guessed of strangers as well is about the population; only the difference is about members.\n",
        significant(limit.area(), 3)
    );
    text
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 3))
}

fn to_json(one: &Audited) -> Value {
    let guesses: Vec<Value> = one
        .judged
        .counts
        .iter()
        .map(|(guesses, right)| json!({ "guesses": guesses, "right": right }))
        .collect();
    json!({
        "rows": one.generator.name(),
        "private": one.generator.is_private(),
        "epsilon_at_least": one.judged.found.epsilon,
        "largest_epsilon": one.judged.largest,
        "verdict": verdict(one),
        "right": one.is_right(),
        "guesses": guesses,
        "closest": { "area": one.membership.area(), "error": one.membership.area_error() },
        "column_guessed": { "members": one.inferred[0].share(), "strangers": one.inferred[1].share() },
    })
}

fn row(study: &Study, one: &Audited) -> Row {
    Row::new(
        one.generator.name(),
        match one.generator.is_private() {
            true => "keeps its claim",
            false => "does not keep its claim, and is refuted",
        },
        format!("ε = {}, δ = {}", study.epsilon, study.delta),
        format!(
            "ε ≥ {} ({})",
            significant(one.judged.found.epsilon, 3),
            verdict(one)
        ),
        one.is_right(),
    )
}

/// Members and strangers by the distance of the closest row.
fn figure(audited: &[Audited], limit: Limit) -> Figure {
    let mut figure = Figure::new("Was she in the data? By the distance of the closest row")
        .x_axis("share of strangers who are accused", Scale::Linear)
        .y_axis("share of members who are accused", Scale::Linear);
    for one in audited {
        figure = figure.line(one.generator.name(), &one.membership.curve());
    }
    figure.line("the most that the claim allows", &limit.corners())
}
