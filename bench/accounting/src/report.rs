//! What is kept (JSON with every call and the machine) and what a person reads (the table).

use crate::common::{aligned, machine, significant};
use crate::ours::TOOL;
use crate::{Case, Row};

/// The truths are known to about 13 digits; a claim this close to one is not called wrong.
const KNOWN: f64 = 1e-12;

/// What one row is worth, beside the truth and our row of the same case.
struct Judged<'a> {
    case: &'a Case,
    row: &'a Row,
    ours: Option<&'a Row>,
}

impl Judged<'_> {
    /// The best call: everything that disturbs one only slows it down.
    fn best(row: &Row) -> f64 {
        row.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median of the calls after the first, or the first where it was the only one.
    fn median(&self) -> f64 {
        let mut later = self.row.seconds.get(1..).unwrap_or(&[]).to_vec();
        later.sort_by(f64::total_cmp);
        later.get(later.len() / 2).copied().unwrap_or(self.first())
    }

    fn first(&self) -> f64 {
        self.row.seconds.first().copied().unwrap_or(f64::NAN)
    }

    /// How many times our CPU time it took, when we had an answer too.
    fn times_ours(&self) -> Option<f64> {
        let ours = self.ours.filter(|ours| ours.upper.is_some())?;
        self.row.upper.map(|_| Self::best(self.row) / Self::best(ours))
    }

    /// Certainly at most the truth, and certainly at least it, in that order. Our own ends for a peer; for ours only the truth
    /// that came from elsewhere counts.
    fn bounds(&self) -> (Option<f64>, Option<f64>) {
        let ours = self.ours.filter(|_| self.row.tool != TOOL);
        let known = |direction: f64| self.case.truth.map(|truth| truth * (1.0 + direction * KNOWN));
        (
            ours.and_then(|ours| ours.lower).or(known(-1.0)),
            // Where we claim an upper end only, as in `cal`, it says nothing against a lower one.
            ours.filter(|ours| ours.lower.is_some())
                .and_then(|ours| ours.upper)
                .or(known(1.0)),
        )
    }

    /// How far the upper end is above the truth, or above our lower end where that is all that is known.
    fn excess(&self) -> Option<f64> {
        let truth = self.case.truth.or(self.bounds().0)?;
        self.row.upper.map(|upper| upper - truth)
    }

    fn width(&self) -> Option<f64> {
        Some(self.row.upper? - self.row.lower?)
    }

    /// Would a promise of the upper end hold? And is the interval one?
    fn sound(&self) -> &'static str {
        let (least, most) = self.bounds();
        match (self.row.upper, least) {
            (None, _) => "-",
            (_, None) => "unknown",
            (Some(upper), Some(least)) if upper < least => "NO: below the truth",
            _ if self.row.lower.zip(most).is_some_and(|(lower, most)| lower > most) => {
                "yes, but the lower end is wrong"
            }
            _ => "yes",
        }
    }

    fn claim(&self) -> String {
        match (&self.row.error, self.row.lower, self.row.upper) {
            (Some(error), ..) => format!("error: {}", error.lines().next().unwrap_or_default()),
            (None, Some(lower), Some(upper)) => format!("{lower:.9} .. {upper:.9}"),
            (None, _, Some(upper)) => format!("{upper:.9}"),
            _ => "-".into(),
        }
    }
}

/// Every row, in the order of the cases.
fn judged<'a>(cases: &'a [Case], rows: &'a [Row]) -> impl Iterator<Item = Judged<'a>> {
    cases.iter().flat_map(move |case| {
        let of_case = move |row: &&Row| row.case == case.name;
        let ours = rows.iter().filter(of_case).find(|row| row.tool == TOOL);
        rows.iter()
            .filter(of_case)
            .map(move |row| Judged { case, row, ours })
    })
}

/// One line for each row.
pub fn table(cases: &[Case], rows: &[Row]) -> String {
    let header = [
        "case", "tool", "claim", "sound?", "truth", "excess", "width", "CPU ms", "median", "first", "× ours",
    ];
    let mut lines = vec![header.map(String::from)];
    let or_dash = |number: Option<f64>, show: fn(f64) -> String| number.map_or(String::from("-"), show);
    for row in judged(cases, rows) {
        // How long it took to have no answer is in the JSON.
        let milliseconds = |seconds: f64| match row.row.upper {
            Some(_) => significant(seconds * 1e3),
            None => "-".into(),
        };
        lines.push([
            row.case.name.clone(),
            row.row.tool.clone(),
            row.claim(),
            row.sound().into(),
            or_dash(row.case.truth, |truth| format!("{truth:.9}")),
            or_dash(row.excess(), |excess| format!("{excess:.1e}")),
            or_dash(row.width(), |width| format!("{width:.1e}")),
            milliseconds(Judged::best(row.row)),
            milliseconds(row.median()),
            milliseconds(row.first()),
            or_dash(row.times_ours(), significant),
        ]);
    }
    format!(
        "\none thread; CPU ms is the best call, median is of the calls after the first; excess is upper end − truth\n\n{}",
        aligned(&lines, 4)
    )
}

/// Every call of every row, with the machine and the versions.
pub fn document(cases: &[Case], rows: &[Row]) -> serde_json::Value {
    let rows: Vec<_> = judged(cases, rows)
        .map(|judged| {
            serde_json::json!({
                "case": judged.case.name, "truth": judged.case.truth,
                "tool": judged.row.tool, "version": judged.row.version,
                "lower": judged.row.lower, "estimate": judged.row.estimate, "upper": judged.row.upper,
                "error": judged.row.error, "sound": judged.sound(),
                "excess": judged.excess(), "width": judged.width(),
                "best_ms": Judged::best(judged.row) * 1e3, "median_ms": judged.median() * 1e3,
                "times_ours": judged.times_ours(), "seconds": judged.row.seconds,
            })
        })
        .collect();
    serde_json::json!({
        "what": "accountants on one thread, CPU time of the process, all measured in one run; the cases are in accounting/cases.json",
        "machine": machine(),
        "rows": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    #[test]
    fn a_claim_is_judged_by_our_ends_and_ours_by_the_truth() {
        let plan = Plan::Calibration {
            rate: "1".into(),
            steps: 1,
            epsilon: "1".into(),
        };
        let cases = [Case {
            name: "case".into(),
            truth: Some(2.0),
            delta: "0.1".into(),
            plan,
        }];
        let row = |tool: &str, lower, upper, milliseconds: f64| Row {
            case: "case".into(),
            tool: tool.into(),
            version: "1".into(),
            lower,
            estimate: None,
            upper,
            error: None,
            seconds: vec![milliseconds / 500.0, milliseconds / 1000.0],
        };
        let rows = [
            row(TOOL, Some(1.999), Some(2.001), 1.0),
            row("good", Some(1.5), Some(2.5), 10.0),
            row("low", None, Some(1.9), 1.0),
            row("high", Some(2.1), Some(2.2), 1.0),
            row("none", None, None, 1.0),
        ];
        let verdicts: Vec<&str> = judged(&cases, &rows).map(|row| row.sound()).collect();
        let wrong_end = "yes, but the lower end is wrong";
        assert_eq!(verdicts, ["yes", "yes", "NO: below the truth", wrong_end, "-"]);
        let ratios: Vec<Option<f64>> = judged(&cases, &rows).map(|row| row.times_ours()).collect();
        assert_eq!(ratios, [Some(1.0), Some(10.0), Some(1.0), Some(1.0), None]);
        // Ours has no certificate but the truth from elsewhere.
        let wrong = [row(TOOL, Some(1.0), Some(1.9), 1.0)];
        let verdicts: Vec<&str> = judged(&cases, &wrong).map(|row| row.sound()).collect();
        assert_eq!(verdicts, ["NO: below the truth"]);
    }
}
