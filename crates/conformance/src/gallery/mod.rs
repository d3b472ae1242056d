//! The auditor on mechanisms whose standing is known: what it found beside the exact ε.
//!
//! ```
//! use audit::gallery::{Draws, Exhibit};
//! use conformance::gallery::{Asked, findings};
//!
//! let asked = Asked { draws: Some(Draws::of(20_000)), ..Asked::within(5.0, &|| 0.0) };
//! let exhibit = Exhibit::named("reused-noise").expect("it is there");
//! let found = [asked.audit(exhibit, 7)?];
//! assert!(found[0].is_right() && findings(&found, 0).text.contains("refuted"));
//! # Ok::<(), audit::Error>(())
//! ```

mod seeds;

pub use seeds::OverSeeds;

use crate::witness::{curve_figure, event_lines, names, verdict_word};
use ::report::{Column, Figure, Findings, Row, Scale, Table, significant};
use audit::Error;
use audit::black_box::{FindingVerdict, Lens, Witness};
use audit::gallery::{Allowance, AuditPlan, CLAIM, Draws, EXHIBITS, Exactly, Exhibit, Standing};
use serde_json::{Value, json};

/// Threads; a fixed number, so that a seed means the same everywhere.
const WORKERS: u64 = 2;
/// Fewer draws than this tell nothing.
pub const FEWEST_DRAWS: u64 = 4096;

/// How each mechanism is audited.
#[derive(Clone, Copy)]
pub struct Asked<'clock> {
    /// So many draws; without, as many as the seconds allow.
    pub draws: Option<Draws>,
    /// CPU seconds for each mechanism.
    pub seconds: f64,
    /// One minus the probability that a bound is above the truth.
    pub confidence: f64,
    /// What to look at.
    pub lens: Lens,
    /// The CPU seconds that this process has taken since any moment.
    pub clock: &'clock dyn Fn() -> f64,
}

impl<'clock> Asked<'clock> {
    /// So many CPU seconds for each mechanism, by this clock, with a confidence of 0.9999.
    pub fn within(seconds: f64, clock: &'clock dyn Fn() -> f64) -> Self {
        Self {
            draws: None,
            seconds,
            confidence: 0.9999,
            lens: Lens::Everything,
            clock,
        }
    }

    /// Audits one mechanism with one seed.
    ///
    /// # Errors
    /// When the auditor cannot audit it.
    pub fn audit(&self, exhibit: &'static Exhibit, seed: u64) -> Result<Finding, Error> {
        let plan = AuditPlan {
            seed,
            draws: self.draws.unwrap_or(Draws::of(FEWEST_DRAWS)),
            workers: WORKERS,
            confidence: self.confidence,
            lens: self.lens,
        };
        let (plan, witness) = match self.draws {
            Some(_) => (plan, plan.audit(exhibit)?),
            None => {
                let allowance = Allowance {
                    seconds: self.seconds,
                    clock: self.clock,
                };
                let outcome = plan.audit_within(exhibit, allowance)?;
                (outcome.plan, outcome.witness)
            }
        };
        Ok(Finding {
            exhibit,
            exact: exhibit.exact_epsilon(),
            plan,
            witness,
        })
    }
}

/// The exhibits that these names or parts of names mean, or all if there are none.
///
/// # Errors
/// The first name that means none.
pub fn exhibits(chosen: &[String]) -> Result<Vec<&'static Exhibit>, String> {
    for name in chosen {
        let means = |exhibit: &Exhibit| exhibit.name.contains(name.as_str());
        if !EXHIBITS.iter().any(means) {
            return Err(name.clone());
        }
    }
    let wanted = |exhibit: &&Exhibit| {
        let exact = chosen.iter().any(|name| name == exhibit.name);
        exact
            || chosen.is_empty()
            || chosen
                .iter()
                .any(|name| Exhibit::named(name).is_none() && exhibit.name.contains(name.as_str()))
    };
    Ok(EXHIBITS.iter().filter(wanted).collect())
}

/// An exhibit and what was found.
#[derive(Clone, Debug)]
pub struct Finding {
    exhibit: &'static Exhibit,
    exact: Exactly,
    plan: AuditPlan,
    witness: Witness,
}

impl Finding {
    fn verdict(&self) -> FindingVerdict {
        self.witness.verdict(CLAIM, 0.0)
    }

    /// Broken ones are refuted, correct ones are not, and nothing is found that is not there. An audit that
    /// does not look at low bits does not see what only they reveal.
    pub fn is_right(&self) -> bool {
        let refuted = self.verdict() == FindingVerdict::Refuted;
        refuted == (self.exhibit.standing == Standing::Broken)
            && self.witness.epsilon_lower <= self.exact.to_f64_up()
    }

    fn exact_words(&self) -> String {
        significant(self.exact.to_f64_up(), 4)
    }

    /// The part of the exact ε that was found.
    fn share(&self) -> Option<f64> {
        match &self.exact {
            Exactly::Finite(exact) => Some(self.witness.epsilon_lower / exact.to_f64_up()),
            Exactly::Infinite => None,
        }
    }

    fn inputs(&self) -> [Vec<i64>; 2] {
        let inputs = self.exhibit.inputs();
        [self.witness.pair.first, self.witness.pair.second].map(|input| inputs[input].clone())
    }

    fn replay(&self) -> String {
        let look = match self.plan.lens {
            Lens::Everything => "",
            Lens::Values => " --look values",
            Lens::Bits => " --look bits",
        };
        let draws = self.plan.draws;
        let choosing = if draws == Draws::of(draws.all()) {
            String::new()
        } else {
            format!(" --choosing {}", draws.choosing)
        };
        format!(
            "deniable audit gallery {} --seed {} --draws {}{choosing}{look}",
            self.exhibit.name,
            self.plan.seed,
            draws.all()
        )
    }

    fn witness_lines(&self) -> Vec<String> {
        let witness = &self.witness;
        let [first, second] = self.inputs();
        let apart = match witness.steps {
            1 => String::new(),
            steps => {
                format!(", {steps} steps between neighbours apart: ε is the {steps}-th part of the logarithm")
            }
        };
        let mut lines = vec![
            format!("  what     {}", self.exhibit.what),
            format!("  inputs   {first:?} and {second:?}{apart}"),
        ];
        lines.extend(event_lines(witness));
        lines.push(format!("  seed     {}", self.plan.seed));
        lines.push(format!("  replay   {}", self.replay()));
        lines
    }
}

/// What there is, as a table.
pub fn list(exhibits: &[&Exhibit]) -> String {
    let mut table = Table::new([
        Column::Left("mechanism"),
        Column::Left("standing"),
        Column::Right("exact ε"),
        Column::Left("what it is"),
    ]);
    for exhibit in exhibits {
        table.row([
            exhibit.name,
            standing_word(exhibit.standing),
            &significant(exhibit.exact_epsilon().to_f64_up(), 4),
            exhibit.what,
        ]);
    }
    table.to_string()
}

fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Correct => "correct",
        Standing::Broken => "broken",
    }
}

fn to_text(findings: &[Finding]) -> String {
    let mut table = Table::new([
        Column::Left("mechanism"),
        Column::Right("exact ε"),
        Column::Right("found ε ≥"),
        Column::Right("share"),
        Column::Left("claim ε = 0.1"),
        Column::Left("right?"),
    ]);
    for finding in findings {
        table.row([
            finding.exhibit.name,
            &finding.exact_words(),
            &significant(finding.witness.epsilon_lower, 4),
            &finding
                .share()
                .map_or("–".to_string(), |share| format!("{:.1} %", 100.0 * share)),
            verdict_word(finding.verdict()),
            if finding.is_right() { "yes" } else { "NO" },
        ]);
    }
    let mut text = table.to_string();
    match findings {
        [only] => {
            for line in only.witness_lines() {
                text.push_str(&line);
                text.push('\n');
            }
        }
        [first, ..] => {
            text.push_str(&format!(
                "\nseed {}; each bound is above the truth with probability at most {}. For a witness, name one mechanism.\n",
                first.plan.seed,
                significant(1.0 - first.plan.confidence, 2)
            ));
        }
        [] => {}
    }
    text
}

/// `passed` is null where audits are missing.
fn to_json(findings: &[Finding], missing: usize) -> Value {
    json!({
        "confidence": findings.first().map(|finding| finding.plan.confidence),
        "passed": (missing == 0).then(|| findings.iter().all(Finding::is_right)),
        "interrupted": missing > 0,
        "mechanisms": findings.iter().map(finding_to_json).collect::<Vec<_>>(),
    })
}

fn finding_to_json(finding: &Finding) -> Value {
    let witness = &finding.witness;
    let curve: Vec<Value> = DELTAS
        .iter()
        .map(|delta| json!([delta, witness.epsilon_at(*delta)]))
        .collect();
    json!({
        "name": finding.exhibit.name,
        "what": finding.exhibit.what,
        "standing": standing_word(finding.exhibit.standing),
        "claimed_epsilon": CLAIM,
        "exact_epsilon": exact_to_json(&finding.exact),
        "epsilon_at_least": witness.epsilon_lower,
        "verdict": verdict_word(finding.verdict()),
        "right": finding.is_right(),
        "inputs": finding.inputs(),
        "steps": witness.steps,
        "event": witness.event,
        "mirror_event": witness.mirror,
        "likely_input": names(witness.likely).0,
        "hits": { "likely": witness.hits[0], "unlikely": witness.hits[1] },
        "draws": { "likely": witness.draws[0], "unlikely": witness.draws[1], "in_all": finding.plan.draws.all() },
        "epsilon_at_least_by_delta": curve,
        "seed": finding.plan.seed,
        "replay": finding.replay(),
    })
}

fn exact_to_json(exact: &Exactly) -> Value {
    match exact {
        Exactly::Finite(exact) => json!(exact.to_f64_up()),
        Exactly::Infinite => json!("infinite"),
    }
}

/// Where a program is reported the bound.
const DELTAS: [f64; 6] = [0.0, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1];

/// Found against exact, or the curve of one.
fn figure(findings: &[Finding]) -> Figure {
    if let [only] = findings {
        return curve_figure(
            &format!("{}: what was found", only.exhibit.name),
            &only.witness,
            Some(CLAIM),
        );
    }
    let place = |finding: &Finding| match &finding.exact {
        Exactly::Finite(exact) => Some((exact.to_f64_up(), finding.witness.epsilon_lower)),
        Exactly::Infinite => None,
    };
    let of = |standing| -> Vec<(f64, f64)> {
        let all = findings
            .iter()
            .filter(|finding| finding.exhibit.standing == standing);
        all.filter_map(place).collect()
    };
    let largest = findings
        .iter()
        .filter_map(place)
        .map(|(exact, _)| exact)
        .fold(1.0, f64::max);
    Figure::new("ε found and exact ε (those with an infinite one are not drawn)")
        .x_axis("exact ε", Scale::Log10)
        .y_axis("found ε", Scale::Log10)
        .line("the most there is to find", &[(0.05, 0.05), (largest, largest)])
        .points("broken", &of(Standing::Broken))
        .points("correct", &of(Standing::Correct))
}

/// What was found in words, as an object, drawn, and on a page with a section for each; `missing` audits were
/// not made.
pub fn findings(findings: &[Finding], missing: usize) -> Findings {
    let row = |finding: &Finding| {
        let row = Row::new(
            finding.exhibit.name,
            finding.exhibit.what,
            format!(
                "{}, exact ε = {}",
                standing_word(finding.exhibit.standing),
                finding.exact_words()
            ),
            format!(
                "{}, ε ≥ {}",
                verdict_word(finding.verdict()),
                significant(finding.witness.epsilon_lower, 4)
            ),
            finding.is_right(),
        )
        .note(finding.witness_lines().join("\n"));
        // Of one alone this is the figure of all.
        if findings.len() == 1 {
            return row;
        }
        let title = format!("{}: what was found", finding.exhibit.name);
        row.figure(curve_figure(&title, &finding.witness, Some(CLAIM)))
    };
    Findings {
        text: to_text(findings),
        json: to_json(findings, missing),
        title: "The auditor on known mechanisms",
        introduction: "Each mechanism claims ε = 0.1. A broken one must be refuted, nothing may be found against a correct one, and no bound may be above the exact ε.".to_owned(),
        rows: findings.iter().map(row).collect(),
        figures: vec![figure(findings)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mechanisms of these names, audited with so many draws for each of these seeds.
    pub(super) fn audited(names: &[&str], seeds: &[u64], draws: u64) -> Vec<Finding> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let asked = Asked {
            draws: Some(Draws::of(draws)),
            ..Asked::within(5.0, &|| 0.0)
        };
        let exhibits = exhibits(&names).expect("known");
        let audits = exhibits
            .iter()
            .flat_map(|exhibit| seeds.iter().map(|seed| asked.audit(exhibit, *seed)));
        audits.collect::<Result<_, _>>().expect("found")
    }

    /// A seed and a number of draws say everything, so the report is always the same.
    #[test]
    fn one_mechanism_with_its_witness() {
        let found = audited(&["reused-noise"], &[7], 20_000);
        insta::assert_snapshot!(to_text(&found), @r"
        mechanism     exact ε  found ε ≥  share  claim ε = 0.1  right?
        ────────────  ───────  ─────────  ─────  ─────────────  ──────
        reused-noise        ∞      6.877      –  refuted        yes
          what     two counts with the same Laplace noise
          inputs   [0, 0] and [1, 0]
          event    which values are equal in {as in (7.6220703125 7.6220703125)} on the first input, or
                   which values are equal in {as in (-5.80078125 -6.80078125)} on the second input
          counted  10048 of 10048
                   0 with the inputs exchanged
          seed     7
          replay   deniable audit gallery reused-noise --seed 7 --draws 20000
        ");
        let page = findings(&found, 0);
        let reported = &page.json;
        assert_eq!(reported["passed"], true);
        assert_eq!(reported["mechanisms"][0]["exact_epsilon"], "infinite");
        assert!(page.to_html().contains("reused-noise") && page.figures[0].to_svg().contains("<svg"));
    }

    #[test]
    fn too_few_draws_are_said_to_be_wrong() {
        let found = audited(&["sparse-vector-4"], &[7], 4096);
        assert!(!found[0].is_right() && to_text(&found).contains("NO"));
    }
}
