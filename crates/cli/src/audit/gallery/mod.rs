//! `deniable audit gallery`: the auditor on mechanisms whose standing is known.

mod seeds;

use super::look::Look;
use crate::delivery::Outputs;
use crate::terminal::{self, CliError, Interrupt, exit_code, explained, fail};
use audit::document::Number;
use audit::gallery::{Draws, Exhibit};
use conformance::gallery::{self, Asked, FEWEST_DRAWS, Finding};
use cpu_time::ProcessTime;
use exact::to_f64_up;
use noise::{Entropy, OsEntropy};

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

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    let exhibits = arguments.exhibits()?;
    if arguments.list {
        return terminal::print(&gallery::list(&exhibits));
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
    let reported = gallery::findings(&findings, missing);
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
        gallery::exhibits(&self.names).or_else(|name| {
            fail(
                format!("no mechanism is called `{name}`"),
                "deniable audit gallery --list names them",
            )
        })
    }

    /// Audits every exhibit with every seed: all seeds of one, then all of the next. An interrupt leaves out
    /// those that were not begun.
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
        let asked = Asked {
            draws,
            seconds,
            confidence,
            lens: self.look.into(),
            clock: &clock,
        };
        let mut findings = Vec::new();
        let audits = exhibits
            .iter()
            .flat_map(|exhibit| seeds.iter().map(|seed| (*exhibit, *seed)));
        for (exhibit, seed) in audits {
            if interrupt.was_pressed() {
                break;
            }
            progress.label(exhibit.name);
            findings.push(asked.audit(exhibit, seed).map_err(explained)?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use audit::gallery::EXHIBITS;
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

    #[test]
    fn an_interrupted_audit_has_no_verdict() {
        let asked = arguments(&["reused-noise", "--seed", "7", "--draws", "4096", "--quiet"]);
        let interrupt = Interrupt::default();
        interrupt.press();
        let exhibits = asked.exhibits().expect("known");
        let findings = asked.audit(&exhibits, &[7], &interrupt).expect("stopped");
        assert!(findings.is_empty());
        let reported = gallery::findings(&findings, exhibits.len()).json;
        assert_eq!(
            (&reported["passed"], &reported["interrupted"]),
            (&serde_json::Value::Null, &true.into())
        );
        let error = interrupted(3, 20);
        assert_eq!(error.code, 130);
        assert!(error.message.contains("no verdict") && error.hint.is_some());
    }
}
