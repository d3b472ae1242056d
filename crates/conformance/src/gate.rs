//! The results of the checks, for people and programs.

use crate::{Done, Effort, Error, Expected};
use ::report::{Column, Findings, Table, significant};
use audit::report::{Judgement, Method, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// One verdict and whether it is the right one.
#[derive(Clone, Debug)]
struct Row {
    mechanism: &'static str,
    method: Method,
    /// What was made wrong on purpose.
    mistake: Option<String>,
    judgement: Result<Judgement, Error>,
    is_right: bool,
    time: Duration,
}

/// All that was found, each verdict with the command that shows it again.
#[derive(Clone, Debug)]
pub struct Gate {
    rows: Vec<Row>,
    /// How many checks there were to be.
    asked: usize,
    seed: u64,
    quick: bool,
    elapsed: Duration,
}

/// Everything about one mechanism.
struct Summary<'a> {
    mechanism: &'static str,
    /// What was judged of the mechanism as it is.
    report: Report,
    mutants: Vec<&'a Row>,
    is_right: bool,
}

impl Gate {
    /// What was found of so many checks, with this seed and effort, in this time.
    pub fn new(done: Vec<Done>, asked: usize, seed: u64, effort: Effort, elapsed: Duration) -> Self {
        let quick = effort == Effort::Quick;
        let replay = |mechanism: &str| {
            let quick = if quick { " --quick" } else { "" };
            format!("deniable audit self --only {mechanism} --seed {seed}{quick}")
        };
        let row = |done: Done| Row {
            is_right: done.is_right(),
            mechanism: done.mechanism,
            method: done.method,
            mistake: match done.expected {
                Expected::Holds => None,
                Expected::Refuted(mistake) => Some(mistake),
            },
            judgement: done.judgement.map(|mut judgement| {
                judgement.evidence.replay = Some(replay(done.mechanism));
                judgement
            }),
            time: done.time,
        };
        Self {
            rows: done.into_iter().map(row).collect(),
            asked,
            seed,
            quick,
            elapsed,
        }
    }

    /// How many checks did not run to their end.
    pub fn missing(&self) -> usize {
        self.asked - self.rows.len()
    }

    /// How many verdicts are wrong.
    pub fn wrong(&self) -> usize {
        self.rows.iter().filter(|row| !row.is_right).count()
    }

    /// One for each mechanism, in the order of the gate.
    fn summaries(&self) -> Vec<Summary<'_>> {
        let mut names: Vec<&'static str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.mechanism) {
                names.push(row.mechanism);
            }
        }
        let summary = |mechanism: &'static str| {
            let of = || self.rows.iter().filter(move |row| row.mechanism == mechanism);
            let right = of().filter(|row| row.mistake.is_none());
            Summary {
                mechanism,
                report: Report {
                    subject: mechanism.to_string(),
                    judgements: right.filter_map(|row| row.judgement.clone().ok()).collect(),
                },
                mutants: of().filter(|row| row.mistake.is_some()).collect(),
                is_right: of().all(|row| row.is_right),
            }
        };
        names.into_iter().map(summary).collect()
    }

    /// The probability that some check by sampling refutes a mechanism that is right: at most the sum.
    fn false_alarm(&self) -> f64 {
        let reports = self.summaries();
        reports.iter().map(|summary| summary.report.false_alarm()).sum()
    }

    fn passed(&self) -> bool {
        self.rows.len() == self.asked && self.rows.iter().all(|row| row.is_right)
    }

    /// A line a mechanism, what went wrong in full, and what it rests on.
    fn to_text(&self) -> String {
        let mut table = Table::new([
            Column::Left("mechanism"),
            Column::Left("claim"),
            Column::Left("verdict"),
            Column::Left("exact"),
            Column::Left("grey box"),
            Column::Left("black box"),
            Column::Left("fit"),
            Column::Left("mutants refuted"),
        ]);
        for summary in self.summaries() {
            let verdict = summary.report.verdict();
            let refuted = summary.mutants.iter().filter(|row| row.is_right).count();
            table.row([
                summary.mechanism.to_string(),
                summary.claim(),
                verdict.map_or("-".to_string(), |verdict| verdict.to_string()),
                summary.cell(Method::Exact),
                summary.cell(Method::GreyBox),
                summary.cell(Method::BlackBox),
                summary.cell(Method::Fit),
                format!("{refuted} of {}", summary.mutants.len()),
            ]);
        }
        let mut text = table.to_string();
        for row in self.rows.iter().filter(|row| !row.is_right) {
            text.push('\n');
            text += &row.in_full();
        }
        let _ = write!(
            text,
            "\n{} of {} verdicts are right, in {:.1} s; seed {}{}\n\
             exact verdicts are theorems about the pairs compared; a right mechanism fails by chance with probability {:.1e} at most\n",
            self.rows.iter().filter(|row| row.is_right).count(),
            self.asked,
            self.elapsed.as_secs_f64(),
            self.seed,
            if self.quick { ", quick" } else { "" },
            self.false_alarm(),
        );
        if self.rows.len() < self.asked {
            let _ = writeln!(text, "{} checks did not run", self.asked - self.rows.len());
        }
        text
    }

    /// Everything, for a program.
    fn to_json(&self) -> Value {
        let mechanisms: Vec<Value> = self
            .summaries()
            .iter()
            .map(|summary| {
                let checks: Vec<Value> = self
                    .rows
                    .iter()
                    .filter(|row| row.mechanism == summary.mechanism)
                    .map(Row::to_json)
                    .collect();
                json!({
                    "name": summary.mechanism,
                    "verdict": summary.report.verdict().map(|verdict| verdict.to_string()),
                    "passed": summary.is_right,
                    "checks": checks,
                })
            })
            .collect();
        json!({
            "passed": self.passed(),
            "checks": self.asked,
            "right": self.rows.iter().filter(|row| row.is_right).count(),
            "seed": self.seed,
            "quick": self.quick,
            "seconds": self.elapsed.as_secs_f64(),
            "false_alarm_at_most": self.false_alarm(),
            "mechanisms": mechanisms,
        })
    }

    /// In words, as an object, and on a page with a section for each mechanism.
    pub fn findings(&self) -> Findings {
        let introduction = format!(
            "Every mechanism that Deniable ships, judged by every method there is. Exact verdicts are theorems about the pairs of neighbours compared. Black-box and \
             fit verdicts come from draws through a real account: a right mechanism fails one of them with probability {:.1e} at most, all together. Beside each stands a \
             mutant that must be refuted, for a gate that cannot fail proves nothing.\n\n{} of {} verdicts are right. Seed {}, {:.1} seconds.",
            self.false_alarm(),
            self.rows.iter().filter(|row| row.is_right).count(),
            self.asked,
            self.seed,
            self.elapsed.as_secs_f64(),
        );
        let row = |summary: &Summary<'_>| {
            let verdict = summary.report.verdict();
            let refuted = summary.mutants.iter().filter(|row| row.is_right).count();
            let row = ::report::Row::new(
                summary.mechanism,
                summary.claim(),
                format!("it holds, and {} mutants are refuted", summary.mutants.len()),
                format!(
                    "{}, and {refuted} are",
                    verdict.map_or("not judged".to_string(), |verdict| verdict.to_string())
                ),
                summary.is_right,
            );
            let details = self.rows.iter().filter(|row| row.mechanism == summary.mechanism);
            details.fold(row, |row, detail| row.note(detail.in_full()))
        };
        Findings {
            text: self.to_text(),
            json: self.to_json(),
            title: "Deniable audits itself",
            introduction,
            rows: self.summaries().iter().map(row).collect(),
            figures: Vec::new(),
        }
    }
}

impl Summary<'_> {
    fn of(&self, method: Method) -> Option<&Judgement> {
        self.report
            .judgements
            .iter()
            .find(|judgement| judgement.method == method)
    }

    fn claim(&self) -> String {
        let exact = self.of(Method::Exact).or(self.report.judgements.first());
        exact.map_or("-".to_string(), |judgement| judgement.claim.to_string())
    }

    /// The verdict of one method in a word or two.
    fn cell(&self, method: Method) -> String {
        let Some(judgement) = self.of(method) else {
            return "-".to_string();
        };
        match (method, judgement.evidence.epsilon_at_least) {
            (Method::Exact, Some(epsilon)) => {
                format!("{}, ε = {}", judgement.verdict, significant(epsilon, 4))
            }
            (Method::BlackBox, Some(epsilon)) => {
                format!("{}, ε ≥ {}", judgement.verdict, significant(epsilon, 3))
            }
            _ => judgement.verdict.to_string(),
        }
    }
}

impl Row {
    /// Several lines: what was judged, the verdict, and what it rests on.
    fn in_full(&self) -> String {
        let of = match &self.mistake {
            None => self.mechanism.to_string(),
            Some(mistake) => format!("{} with a mistake, {mistake}", self.mechanism),
        };
        let right = if self.is_right { "right" } else { "WRONG" };
        let judgement = match &self.judgement {
            Ok(judgement) => judgement,
            Err(error) => {
                return format!(
                    "{of}, {}: {right}, it did not run\n  error: {error}\n",
                    self.method
                );
            }
        };
        let evidence = &judgement.evidence;
        let mut text = format!(
            "{of}, {}: {} is {}, which is {right}\n  seen     {}\n",
            self.method, judgement.claim, judgement.verdict, evidence.seen
        );
        if let Some(epsilon) = evidence
            .epsilon_at_least
            .filter(|_| self.method == Method::BlackBox)
        {
            let _ = writeln!(text, "  ε ≥      {}", significant(epsilon, 4));
        }
        if let Some(counts) = evidence.counts {
            let _ = writeln!(
                text,
                "  counted  {} of {} on the likelier input, {} on the other",
                counts.likely, counts.trials, counts.unlikely
            );
        }
        let [first, second] = &evidence.inputs;
        if second.is_empty() {
            let _ = writeln!(text, "  input    {first}");
        } else {
            let _ = writeln!(text, "  inputs   {first} and {second}");
        }
        if let Some(replay) = &evidence.replay {
            let _ = writeln!(text, "  replay   {replay}");
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut row = json!({
            "method": self.method.to_string(),
            "mistake": self.mistake,
            "expected": if self.mistake.is_some() { "refuted" } else { "holds" },
            "right": self.is_right,
            "seconds": self.time.as_secs_f64(),
        });
        match &self.judgement {
            Err(error) => row["error"] = json!(error.to_string()),
            Ok(judgement) => {
                let evidence = &judgement.evidence;
                row["verdict"] = json!(judgement.verdict.to_string());
                row["claim"] = json!({
                    "epsilon": exact::to_f64_up(&judgement.claim.epsilon),
                    "delta": exact::to_f64_up(&judgement.claim.delta),
                });
                row["seen"] = json!(evidence.seen);
                row["inputs"] = json!(evidence.inputs);
                row["epsilon_at_least"] = json!(evidence.epsilon_at_least);
                row["counts"] = json!(evidence.counts.map(|counts| {
                    json!({ "likely": counts.likely, "unlikely": counts.unlikely, "trials": counts.trials })
                }));
                row["false_alarm"] = json!(judgement.false_alarm);
                row["seed"] = json!(evidence.seed);
                row["replay"] = json!(evidence.replay);
            }
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::report::{Claim, ClaimVerdict, Distributions};
    use exact::{Rational, ratio};

    fn judged(scale: i64) -> Judgement {
        let distribution =
            audit::exact_audit::Lattice::discrete_laplace(&ratio(scale, 2)).expect("a distribution");
        let moved = distribution.clone().shifted(&Rational::ONE);
        Judgement::exact(
            Claim::pure(Rational::ONE),
            &[Distributions::new(["0", "1"], [distribution, moved])],
        )
        .expect("judged")
    }

    fn row(mistake: Option<&str>, judgement: Result<Judgement, Error>, is_right: bool) -> Row {
        Row {
            mechanism: "Laplace",
            method: Method::Exact,
            mistake: mistake.map(str::to_string),
            judgement,
            is_right,
            time: Duration::from_millis(1),
        }
    }

    fn gate(rows: Vec<Row>, asked: usize) -> Gate {
        Gate {
            rows,
            asked,
            seed: 7,
            quick: true,
            elapsed: Duration::from_secs(2),
        }
    }

    #[test]
    fn a_gate_that_passes_is_short() {
        let rows = vec![
            row(None, Ok(judged(2)), true),
            row(Some("less noise"), Ok(judged(1)), true),
        ];
        insta::assert_snapshot!(gate(rows, 2).to_text(), @r"
        mechanism  claim  verdict  exact              grey box  black box  fit  mutants refuted
        ─────────  ─────  ───────  ─────────────────  ────────  ─────────  ───  ───────────────
        Laplace    ε = 1  proved   proved, ε = 1.000  -         -          -    1 of 1

        2 of 2 verdicts are right, in 2.0 s; seed 7, quick
        exact verdicts are theorems about the pairs compared; a right mechanism fails by chance with probability 0.0e0 at most
        ");
    }

    #[test]
    fn what_is_wrong_is_reported_in_full() {
        let failed = Error::Failed("no sampler has so little noise".to_owned());
        let rows = vec![
            row(None, Ok(judged(1)), false),
            row(Some("less noise"), Ok(judged(2)), false),
            row(None, Err(failed), false),
        ];
        let gate = gate(rows, 4);
        let text = gate.to_text();
        assert!(
            text.contains("Laplace, exact: ε = 1 is refuted, which is WRONG"),
            "{text}"
        );
        assert!(text.contains("Laplace with a mistake, less noise, exact: ε = 1 is proved, which is WRONG"));
        assert!(text.contains("it did not run\n  error: no sampler"), "{text}");
        assert!(text.contains("0 of 4 verdicts are right") && text.contains("1 checks did not run"));
        let object = gate.to_json();
        assert_eq!((&object["passed"], &object["checks"]), (&json!(false), &json!(4)));
        assert_eq!(object["mechanisms"][0]["verdict"], "refuted");
        assert_eq!(object["mechanisms"][0]["checks"][0]["inputs"], json!(["0", "1"]));
        assert!(gate.findings().to_html().contains("0 of 1 claims hold"));
    }

    #[test]
    fn verdicts_of_the_mechanism_and_of_its_mutants_are_apart() {
        let rows = vec![
            row(None, Ok(judged(2)), true),
            row(Some("less noise"), Ok(judged(1)), true),
        ];
        let summaries = gate(rows, 2);
        let summaries = summaries.summaries();
        assert_eq!(summaries[0].report.verdict(), Some(ClaimVerdict::Proved));
        assert_eq!(summaries[0].mutants.len(), 1);
    }
}
