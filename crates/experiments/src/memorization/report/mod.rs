//! What the study found, in words, numbers and a figure.

mod across;

use super::{Measured, Run};
use ::report::{Column, Figure, Findings, Row, Scale, Table, percent, significant};
use attack::memorization::{Rank, Summary};
use serde_json::json;
use std::fmt::Write as _;

/// Every seed of a study, to be reported.
#[derive(Clone, Debug)]
pub struct Report {
    /// What each seed found.
    pub runs: Vec<Run>,
    /// The δ of all recipes, as it was written.
    pub delta: String,
    /// Whether it ended before all models were trained.
    pub stopped: bool,
}

/// A rank, or the range that ties leave.
fn rank(rank: Rank) -> String {
    if rank.best == rank.worst {
        format!("{} of {}", rank.best, rank.of)
    } else {
        format!("{} to {} of {}", rank.best, rank.worst, rank.of)
    }
}

fn epsilon(asked: &Measured) -> String {
    asked
        .epsilon
        .map_or_else(|| "∞".to_owned(), |epsilon| significant(epsilon, 4))
}

impl Report {
    /// In words, as an object, and drawn.
    pub fn findings(&self) -> Findings {
        let mut text = String::new();
        let mut rows = Vec::new();
        for run in &self.runs {
            let _ = writeln!(
                text,
                "seed {}: {} rows, \"my pin number is 3456\" in {} of them; frequencies of words alone have perplexity {}\n",
                run.seed,
                run.rows,
                run.copies,
                significant(run.unigram, 4)
            );
            let _ = writeln!(text, "{}", self.arms(run));
            // As published: the first model, and the one with noise.
            for asked in run.asked.iter().filter(|asked| asked.others.len() > 1).take(1) {
                let _ = writeln!(text, "{}", likeliest(asked));
            }
            if let Some(noisy) = run.asked.iter().find(|asked| asked.epsilon.is_some()) {
                let _ = writeln!(text, "{}", likeliest(noisy));
            }
            let _ = writeln!(text, "{}", others(run));
            let _ = writeln!(text, "{}", self.limits(run));
            rows.extend(run.asked.iter().map(|asked| {
                Row::new(
                    format!("seed {}", run.seed),
                    asked.name.clone(),
                    format!("ε = {}", epsilon(asked)),
                    format!(
                        "PIN {}, perplexity {}",
                        rank(asked.rank),
                        significant(asked.perplexity, 4)
                    ),
                    true,
                )
            }));
        }
        let found = super::across(&self.runs);
        text.push_str(&across::text(&found, self.runs.len()));
        rows.extend(found.iter().filter(|model| model.seeds > 1).map(|model| {
            Row::new(
                format!("{} seeds", model.seeds),
                model.name.clone(),
                "median (range)",
                format!(
                    "PIN's rank {}, perplexity {}",
                    across::counted(&model.rank),
                    across::spread(&model.perplexity, 4)
                ),
                true,
            )
        }));
        if self.stopped {
            text.push_str("Stopped: this is what was found so far.\n");
        }
        Findings {
            text,
            json: json!({
                "command": "attack memorization",
                "delta": self.delta,
                "stopped": self.stopped,
                "seeds": self.runs.len(),
                "across_seeds": found,
                "runs": self.runs.iter().map(|run| json!({
                    "seed": run.seed,
                    "rows": run.rows,
                    "copies": run.copies,
                    "unigram_perplexity": run.unigram,
                    "models": run.asked,
                })).collect::<Vec<_>>(),
            }),
            title: "What a language model remembers",
            introduction: "A PIN is planted in text, models are trained with and without privacy, and all 10,000 PINs are ranked. \
                           A model that learned nothing hides every secret, so ranks are to be compared at equal usefulness."
                .to_owned(),
            rows,
            figures: self.figure().into_iter().chain(across::figure(&found)).collect(),
        }
    }

    /// Every model: what it protects and what it is good for.
    fn arms(&self, run: &Run) -> String {
        let mut table = Table::new([
            Column::Left("model"),
            Column::Right("steps"),
            Column::Right("ε of a row"),
            Column::Right("perplexity"),
            Column::Right("accuracy"),
            Column::Right("PIN's rank"),
            Column::Right("… among as many tokens"),
        ]);
        for asked in &run.asked {
            let unfinished = if asked.unfinished { " (stopped)" } else { "" };
            table.row([
                format!("{}{unfinished}", asked.name),
                asked.steps.to_string(),
                epsilon(asked),
                significant(asked.perplexity, 4),
                asked.accuracy.map_or_else(String::new, percent),
                rank(asked.rank),
                rank(asked.rank_among_equals),
            ]);
        }
        format!(
            "{table}δ = {}; perplexity and accuracy are on text that was held out.\n",
            self.delta
        )
    }

    /// What ε means for as many copies as there are.
    fn limits(&self, run: &Run) -> String {
        let mut table = Table::new([
            Column::Left("what (ε, δ) allows"),
            Column::Right("copies"),
            Column::Right("ε of all copies"),
            Column::Right("first guess right"),
            Column::Right("expected rank at least"),
        ]);
        for asked in &run.asked {
            for allowed in &asked.allowed {
                table.row([
                    asked.name.clone(),
                    allowed.copies.to_string(),
                    allowed
                        .limit
                        .map_or_else(|| "no limit".to_owned(), |limit| significant(limit.epsilon, 4)),
                    percent(allowed.first_guess),
                    significant(allowed.expected_rank, 4),
                ]);
            }
        }
        table.to_string()
    }

    /// Ranks against perplexity: a secret is hidden by privacy where it is hidden from a model that is of
    /// use.
    fn figure(&self) -> Option<Figure> {
        let points = |private: bool| -> Vec<(f64, f64)> {
            let all = self.runs.iter().flat_map(|run| &run.asked);
            all.filter(|asked| asked.epsilon.is_some() == private)
                .map(|asked| (asked.perplexity, asked.rank.worst as f64))
                .collect()
        };
        if self.runs.iter().all(|run| run.asked.is_empty()) {
            return None;
        }
        Some(
            Figure::new("What hides a secret: privacy, or having learned nothing?")
                .x_axis(
                    "perplexity on text that was held out: less is more useful",
                    Scale::Log10,
                )
                .y_axis("rank of the planted PIN of 10,000", Scale::Log10)
                .points("without privacy", &points(false))
                .points("with noise", &points(true)),
        )
    }
}

/// The paper's table of one model.
fn likeliest(asked: &Measured) -> String {
    let mut table = Table::new([
        Column::Right("rank"),
        Column::Left("PIN"),
        Column::Right("perplexity"),
        Column::Right("tokens"),
    ]);
    for line in &asked.table {
        table.row([
            line.rank.best.to_string(),
            line.name.clone(),
            significant(line.perplexity, 5),
            line.tokens.to_string(),
        ]);
    }
    format!("The likeliest PINs of the model \"{}\":\n{table}", asked.name)
}

/// Random PINs of other people, by copies.
fn others(run: &Run) -> String {
    let mut table = Table::new([
        Column::Left("other people's PINs"),
        Column::Right("copies"),
        Column::Right("secrets"),
        Column::Right("rank first"),
        Column::Right("mean exposure, bits"),
        Column::Right("quartiles"),
        Column::Right("most"),
        Column::Right("by chance with probability"),
    ]);
    for asked in &run.asked {
        for others in &asked.others {
            table.row([
                asked.name.clone(),
                others.copies.to_string(),
                others.exposure.secrets.to_string(),
                others.exposure.first.to_string(),
                significant(others.exposure.mean, 3),
                quartiles(&others.exposure),
                significant(others.exposure.quantiles[4], 3),
                significant(others.remembered.chance, 2),
            ]);
        }
    }
    format!(
        "{table}A PIN that a model never saw has 1.44 bits on average, and more than k bits with probability 2⁻ᵏ.\n"
    )
}

/// `0.42, 1.00, 2.00`.
fn quartiles(exposure: &Summary) -> String {
    let quartiles = exposure.quantiles[1..4].iter().map(|bits| significant(*bits, 3));
    quartiles.collect::<Vec<_>>().join(", ")
}
