//! The same audits with many seeds: the median and the worst result, so that no figure is that of a lucky
//! run.

use super::{Finding, exact_to_json, finding_to_json, standing_word};
use ::report::{Column, Table, significant};
use audit::black_box::FindingVerdict;
use audit::gallery::{Exactly, Exhibit, Standing};
use serde_json::{Value, json};

/// Findings with many seeds, all seeds of a mechanism together.
pub struct OverSeeds<'a> {
    records: Vec<Record<'a>>,
    seeds: &'a [u64],
    missing: usize,
}

/// All findings about one exhibit.
struct Record<'a> {
    findings: &'a [Finding],
    /// The bounds on ε, the smallest first.
    bounds: Vec<f64>,
}

fn records(findings: &[Finding]) -> Vec<Record<'_>> {
    let same = |left: &Finding, right: &Finding| left.exhibit.name == right.exhibit.name;
    findings
        .chunk_by(same)
        .map(|findings| {
            let mut bounds: Vec<f64> = findings
                .iter()
                .map(|finding| finding.witness.epsilon_lower)
                .collect();
            bounds.sort_by(f64::total_cmp);
            Record { findings, bounds }
        })
        .collect()
}

impl Record<'_> {
    fn exhibit(&self) -> &'static Exhibit {
        self.findings[0].exhibit
    }

    /// The middle bound; of two in the middle their mean.
    fn median(&self) -> f64 {
        let (low, high) = ((self.bounds.len() - 1) / 2, self.bounds.len() / 2);
        f64::midpoint(self.bounds[low], self.bounds[high])
    }

    fn worst(&self) -> f64 {
        self.bounds[0]
    }

    /// A bound as a part of the exact ε, if that is finite.
    fn share(&self, bound: f64) -> Option<f64> {
        match &self.findings[0].exact {
            Exactly::Finite(exact) => Some(bound / exact.to_f64_up()),
            Exactly::Infinite => None,
        }
    }

    fn count(&self, holds: impl Fn(&Finding) -> bool) -> usize {
        self.findings.iter().filter(|finding| holds(finding)).count()
    }

    fn refuted(&self) -> usize {
        self.count(|finding| finding.verdict() == FindingVerdict::Refuted)
    }

    fn above_exact(&self) -> usize {
        self.count(|finding| finding.witness.epsilon_lower > finding.exact.to_f64_up())
    }

    fn is_right(&self) -> bool {
        self.findings.iter().all(Finding::is_right)
    }
}

impl<'a> OverSeeds<'a> {
    /// All findings with all seeds of one mechanism, then those of the next; `missing` audits were not made.
    pub fn new(findings: &'a [Finding], seeds: &'a [u64], missing: usize) -> Self {
        Self {
            records: records(findings),
            seeds,
            missing,
        }
    }

    /// A line a mechanism.
    pub fn to_text(&self) -> String {
        let Self { records, seeds, .. } = self;
        let mut table = Table::new([
            Column::Left("mechanism"),
            Column::Right("exact ε"),
            Column::Right("median ε ≥"),
            Column::Right("share"),
            Column::Right("worst ε ≥"),
            Column::Right("share"),
            Column::Right("refuted"),
            Column::Right("above exact"),
            Column::Left("right?"),
        ]);
        for record in records {
            let share = |bound| {
                let share = record.share(bound);
                share.map_or("–".to_string(), |share| format!("{:.1} %", 100.0 * share))
            };
            table.row([
                record.exhibit().name,
                &record.findings[0].exact_words(),
                &significant(record.median(), 4),
                &share(record.median()),
                &significant(record.worst(), 4),
                &share(record.worst()),
                &format!("{} of {}", record.refuted(), record.findings.len()),
                &record.above_exact().to_string(),
                if record.is_right() { "yes" } else { "NO" },
            ]);
        }
        let mut text = table.to_string();
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        text.push_str(&format!("\nseeds {}\n", seeds.join(", ")));
        if let Some(record) = records.first() {
            let failure = significant(1.0 - record.findings[0].plan.confidence, 2);
            text.push_str(&format!(
            "Each bound is above the truth with probability at most {failure}. --json has every run, and how to replay it.\n"
        ));
        }
        text
    }

    /// Everything, for a program.
    pub fn to_json(&self) -> Value {
        let Self {
            records,
            seeds,
            missing,
        } = self;
        let mechanisms: Vec<Value> = records
        .iter()
        .map(|record| {
            json!({
                "name": record.exhibit().name,
                "standing": standing_word(record.exhibit().standing),
                "exact_epsilon": exact_to_json(&record.findings[0].exact),
                "median_epsilon_at_least": record.median(),
                "worst_epsilon_at_least": record.worst(),
                "median_share": record.share(record.median()),
                "worst_share": record.share(record.worst()),
                "refuted": record.refuted(),
                "above_exact": record.above_exact(),
                "false_alarms": if record.exhibit().standing == Standing::Correct { record.refuted() } else { 0 },
                "right": record.is_right(),
                "runs": record.findings.iter().map(finding_to_json).collect::<Vec<_>>(),
            })
        })
        .collect();
        json!({
            "seeds": seeds,
            "passed": (*missing == 0).then(|| records.iter().all(Record::is_right)),
            "interrupted": *missing > 0,
            "mechanisms": mechanisms,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::audited;
    use super::*;

    #[test]
    fn medians_and_worst_cases_are_over_all_seeds() {
        let seeds = [3, 4, 5, 6];
        let findings = audited(&["reused-noise", "sparse-vector-4"], &seeds, 20_000);
        let over = OverSeeds::new(&findings, &seeds, 0);
        let [vector, reused] = over.records.as_slice() else {
            panic!("two mechanisms")
        };
        assert_eq!((vector.findings.len(), reused.findings.len()), (4, 4));
        assert!(reused.is_right() && reused.refuted() == 4 && reused.share(1.0).is_none());
        // So few draws are not enough for a small violation, and that is said.
        assert!(!vector.is_right() && vector.refuted() < 4 && vector.above_exact() == 0);
        let mut bounds: Vec<f64> = reused
            .findings
            .iter()
            .map(|one| one.witness.epsilon_lower)
            .collect();
        bounds.sort_by(f64::total_cmp);
        assert_eq!(
            (reused.worst(), reused.median()),
            (bounds[0], (bounds[1] + bounds[2]) / 2.0)
        );
        let text = over.to_text();
        assert!(
            text.contains("seeds 3, 4, 5, 6") && text.contains("NO") && text.contains("4 of 4"),
            "{text}"
        );
        let reported = over.to_json();
        assert_eq!(reported["passed"], false);
        assert_eq!(reported["mechanisms"][1]["runs"][2]["seed"], 5);
        assert_eq!(reported["mechanisms"][1]["median_share"], Value::Null);
    }
}
