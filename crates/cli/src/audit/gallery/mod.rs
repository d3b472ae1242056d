//! `deniable audit gallery`: the auditor on mechanisms whose standing is known.

mod seeds;

use super::look::Look;
use super::run::{curve_figure, verdict_word};
use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, exit_code, explained, fail};
use audit::black_box::{FindingVerdict, Witness};
use audit::document::Number;
use audit::gallery::{Allowance, AuditPlan, CLAIM, Draws, EXHIBITS, Exactly, Exhibit, Standing};
use cpu_time::ProcessTime;
use exact::to_f64_up;
use noise::{Entropy, OsEntropy};
use report::{Column, Figure, Findings, Row, Scale, Table, significant};
use serde_json::{Value, json};

/// Run the auditor on known mechanisms, broken and correct, and compare what it finds with the exact ε
///
/// Each mechanism claims ε = 0.1, and its exact ε on the audited neighbours is known by a proof. Broken ones must be refuted; nothing may be found against
/// correct ones; and no bound may be above the exact ε. The auditor knows nothing of this: it sees outputs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable audit gallery                                 all of them, with 5 CPU seconds each
  deniable audit gallery sparse-vector-6 --seconds 60    one, with its witness
  deniable audit gallery --seeds 20 --seconds 60         medians and worst cases over twenty fresh seeds
  deniable audit gallery --list                          what there is
  deniable audit gallery --html gallery.html             a report with figures
  deniable audit gallery float-laplace --look values     without the low bits nothing is found

Seconds are those of all threads together, so that a busy machine makes an audit slower and not weaker. The same seed and draws give the same result.

Exit code: 0 when every verdict is right, 4 when one is wrong, 130 when it was interrupted and audits are missing.")]
pub(super) struct Arguments {
    /// Only these (a part of a name will do)
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Say what there is, and audit nothing
    #[arg(long)]
    list: bool,
    /// CPU seconds for each mechanism
    #[arg(long, value_name = "N", default_value = "5")]
    seconds: Number,
    /// Draws for each mechanism, instead of seconds
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    draws: Option<u64>,
    /// Those of the draws that choose the pair and the event [default: a sixth; more of few]
    #[arg(long, value_name = "N", requires = "draws")]
    choosing: Option<u64>,
    /// The seed of all draws [default: a fresh one, which is printed]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Audit with this many fresh seeds, and print the median and the worst of what is found
    #[arg(long, value_name = "N", conflicts_with_all = ["seed", "html", "plot"], value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// One minus the probability that a bound is above the truth
    #[arg(long, value_name = "C", default_value = "0.9999")]
    confidence: Number,
    /// What to look at
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    look: Look,
    #[command(flatten)]
    outputs: Outputs,
}

/// Threads; a fixed number, so that a seed means the same everywhere.
const WORKERS: u64 = 2;
const FEWEST_DRAWS: u64 = 4096;

/// An exhibit and what was found.
struct Finding {
    exhibit: &'static Exhibit,
    exact: Exactly,
    plan: AuditPlan,
    witness: Witness,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let exhibits = arguments.exhibits()?;
    if arguments.list {
        return terminal::print(&list(&exhibits));
    }
    if let Some(seeds) = arguments.seeds {
        return seeds::run(arguments, &exhibits, seeds);
    }
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => fresh_seed()?,
    };
    arguments.outputs.check()?;
    let findings = arguments.audit(&exhibits, &[seed], &Interrupt::listen())?;
    let missing = exhibits.len() - findings.len();
    let reported = reported(&findings, missing);
    if missing > 0 {
        // A page about a part of what was asked would look like one about all of it.
        arguments.outputs.print(&reported)?;
        return Err(interrupted(findings.len(), exhibits.len()));
    }
    arguments.outputs.give(&reported)?;
    let wrong = findings.iter().filter(|finding| !finding.is_right()).count();
    if wrong > 0 {
        let all = findings.len();
        return Err(
            CliError::check_failed(format!("{wrong} of {all} mechanisms were judged wrongly"))
                .with_hint("with few draws a broken mechanism may pass: try --seconds 60"),
        );
    }
    Ok(())
}

impl Arguments {
    fn exhibits(&self) -> Result<Vec<&'static Exhibit>, CliError> {
        for name in &self.names {
            if !EXHIBITS
                .iter()
                .any(|exhibit| exhibit.name.contains(name.as_str()))
            {
                return fail(
                    format!("no mechanism is called `{name}`"),
                    "deniable audit gallery --list names them",
                );
            }
        }
        let wanted = |exhibit: &&Exhibit| {
            let exact = self.names.iter().any(|name| name == exhibit.name);
            exact
                || self.names.is_empty()
                || self
                    .names
                    .iter()
                    .any(|name| Exhibit::named(name).is_none() && exhibit.name.contains(name.as_str()))
        };
        Ok(EXHIBITS.iter().filter(wanted).collect())
    }

    /// Audits every exhibit with every seed: all seeds of one, then all of the next. An interrupt leaves out those that were not begun.
    fn audit(
        &self,
        exhibits: &[&'static Exhibit],
        seeds: &[u64],
        interrupt: &Interrupt,
    ) -> Result<Vec<Finding>, CliError> {
        let seconds = to_f64_up(&self.seconds.0);
        if !(seconds > 0.0 && seconds <= 3600.0) {
            return fail(
                "--seconds must lie between 0 and 3600",
                "60 is enough for every mechanism here",
            );
        }
        let draws = self.draws()?;
        let confidence = to_f64_up(&self.confidence.0);
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(explained(audit::Error::ConfidenceOutOfRange));
        }
        let all = exhibits.len() * seeds.len();
        let progress = self.outputs.progress("auditing", all as u64);
        // What the threads of this process have taken, however busy the machine is with others.
        let started = ProcessTime::now();
        let clock = || started.elapsed().as_secs_f64();
        let mut findings = Vec::new();
        let audits = exhibits
            .iter()
            .flat_map(|exhibit| seeds.iter().map(|seed| (*exhibit, *seed)));
        for (exhibit, seed) in audits {
            if interrupt.was_pressed() {
                break;
            }
            progress.label(exhibit.name);
            let plan = AuditPlan {
                seed,
                draws: draws.unwrap_or(Draws::of(FEWEST_DRAWS)),
                workers: WORKERS,
                confidence,
                lens: self.look.into(),
            };
            let (plan, witness) = match draws {
                Some(_) => (plan, plan.audit(exhibit).map_err(explained)?),
                None => {
                    let allowance = Allowance {
                        seconds,
                        clock: &clock,
                    };
                    let outcome = plan.audit_within(exhibit, allowance).map_err(explained)?;
                    (outcome.plan, outcome.witness)
                }
            };
            findings.push(Finding {
                exhibit,
                exact: exhibit.exact_epsilon(),
                plan,
                witness,
            });
            progress.advance(1);
        }
        Ok(findings)
    }

    /// The draws that were asked for, if any were.
    fn draws(&self) -> Result<Option<Draws>, CliError> {
        let Some(all) = self.draws else {
            return Ok(None);
        };
        if !(FEWEST_DRAWS..1 << 32).contains(&all) {
            return fail(
                format!("--draws must lie between {FEWEST_DRAWS} and 2^32"),
                "100000000 is a good number",
            );
        }
        let choosing = self.choosing.unwrap_or(Draws::of(all).choosing);
        if !(FEWEST_DRAWS / 2..all).contains(&choosing) {
            return fail(
                format!(
                    "--choosing must be at least {} and below --draws",
                    FEWEST_DRAWS / 2
                ),
                "a sixth of all draws is a good number",
            );
        }
        Ok(Some(Draws {
            choosing,
            testing: all - choosing,
        }))
    }
}

/// Audits that were not made: there is no verdict on what was asked.
pub(super) fn interrupted(made: usize, all: usize) -> CliError {
    CliError::bad_input(format!(
        "interrupted: {made} of {all} audits were made, so there is no verdict on all of them"
    ))
    .with_hint("run it again; --draws makes each audit shorter, and names choose a few")
    .with_code(exit_code::INTERRUPTED)
}

/// A seed that nobody chose.
fn fresh_seed() -> Result<u64, CliError> {
    Ok(OsEntropy::new().map_err(explained)?.bits(32))
}

impl Finding {
    fn verdict(&self) -> FindingVerdict {
        self.witness.verdict(CLAIM, 0.0)
    }

    /// Broken ones are refuted, correct ones are not, and nothing is found that is not there. What only the low bits give away is
    /// not there for who does not look at them.
    fn is_right(&self) -> bool {
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
        let look = match Look::from(self.plan.lens) {
            Look::Everything => String::new(),
            look => format!(" --look {look}"),
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
        lines.extend(super::run::event_lines(witness));
        lines.push(format!("  seed     {}", self.plan.seed));
        lines.push(format!("  replay   {}", self.replay()));
        lines
    }
}

fn list(exhibits: &[&Exhibit]) -> String {
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
        "likely_input": super::run::names(witness.likely).0,
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

/// The same for people, for programs, and on a page with a section for each.
fn reported(findings: &[Finding], missing: usize) -> Findings {
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
    use clap::{Args, Command, FromArgMatches};

    fn arguments(words: &[&str]) -> Arguments {
        let command = Arguments::augment_args(Command::new("gallery").no_binary_name(true));
        let matches = command.try_get_matches_from(words).expect("arguments");
        Arguments::from_arg_matches(&matches).expect("arguments")
    }

    #[test]
    fn a_part_of_a_name_means_all_that_have_it_and_a_whole_name_one() {
        let names = |words: &[&str]| -> Vec<&str> {
            arguments(words)
                .exhibits()
                .expect("known")
                .iter()
                .map(|exhibit| exhibit.name)
                .collect()
        };
        assert_eq!(names(&["sparse"]).len(), 6);
        assert_eq!(names(&["laplace"]), ["laplace"]);
        assert_eq!(names(&[]).len(), EXHIBITS.len());
        assert!(arguments(&["nonsense"]).exhibits().is_err());
    }

    /// A seed and a number of draws say everything, so the report is always the same.
    #[test]
    fn one_mechanism_with_its_witness() {
        let asked = arguments(&["reused-noise", "--seed", "7", "--draws", "20000", "--quiet"]);
        let findings = asked
            .audit(&asked.exhibits().expect("known"), &[7], &Interrupt::default())
            .expect("found");
        insta::assert_snapshot!(to_text(&findings), @r"
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
        let page = reported(&findings, 0);
        let reported = &page.json;
        assert_eq!(reported["passed"], true);
        assert_eq!(reported["mechanisms"][0]["exact_epsilon"], "infinite");
        assert!(page.to_html().contains("reused-noise") && page.figures[0].to_svg().contains("<svg"));
    }

    #[test]
    fn an_interrupted_audit_has_no_verdict() {
        let asked = arguments(&["reused-noise", "--seed", "7", "--draws", "4096", "--quiet"]);
        let interrupt = Interrupt::default();
        interrupt.press();
        let exhibits = asked.exhibits().expect("known");
        let findings = asked.audit(&exhibits, &[7], &interrupt).expect("stopped");
        assert!(findings.is_empty());
        let reported = to_json(&findings, exhibits.len());
        assert_eq!(
            (&reported["passed"], &reported["interrupted"]),
            (&Value::Null, &true.into())
        );
        let error = interrupted(3, 20);
        assert_eq!(error.code, 130);
        assert!(error.message.contains("no verdict") && error.hint.is_some());
    }

    #[test]
    fn too_few_draws_are_said_to_be_wrong() {
        let asked = arguments(&["sparse-vector-4", "--seed", "7", "--draws", "4096", "--quiet"]);
        let findings = asked
            .audit(&asked.exhibits().expect("known"), &[7], &Interrupt::default())
            .expect("found");
        assert!(!findings[0].is_right() && to_text(&findings).contains("NO"));
    }
}
