//! `deniable attack bits`: outputs that the neighbour cannot have produced.

use crate::delivery::{Outputs, count, watched};
use crate::terminal::{CliError, Interrupt, explained, fail};
use accounting::Epsilon;
use exact::to_f64_nearest;
use experiments::bits::Study;
use report::Findings;

/// Does one noisy answer give the truth away by its low bits? Floats against a grid
///
/// A count of 0 or of 1 is answered with Laplace noise, many times. Of every answer it is decided whether any random bits would have made it from the other
/// count. If none would, that one answer reveals the truth for certain, whatever ε was claimed (Mironov 2012). First the textbook's noise, computed in
/// floats as most programs do; then Deniable's, exact on a grid, by the same code as every release.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable attack bits                       a million answers each
  deniable attack bits --draws 1e9           a thousand times as many of ours; Ctrl-C shows what was found so far
  deniable attack bits --epsilon 0.1         wider noise gives less away, and still far too much
  deniable attack bits --plot bits.svg       which answers give themselves away

Exit code: 0 when none of Deniable's answers gives the truth away, 4 when one does.")]
pub(super) struct Arguments {
    /// The ε that both claim; noise has scale 1/ε
    #[arg(long, value_name = "E", default_value = "1")]
    epsilon: String,
    /// Answers of ours on each count (the textbook's are at most a million)
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = count)]
    draws: u64,
    /// What determines the textbook's draws; ours come from the operating system
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

/// Exact limits are computed for fewer than 2³² answers on both counts together.
const MOST_DRAWS: u64 = 2_000_000_000;
/// Noise that is compared point by point.
const EPSILONS: std::ops::RangeInclusive<f64> = 0.01..=100.0;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let (findings, sound) = findings(arguments)?;
    arguments.outputs.give(&findings)?;
    if sound {
        Ok(())
    } else {
        Err(CliError::check_failed(
            "answers of Deniable give the truth away: this is a fault, please report it",
        ))
    }
}

/// What was found, and whether nothing was found of ours.
fn findings(arguments: &Arguments) -> Result<(Findings, bool), CliError> {
    if !(1..=MOST_DRAWS).contains(&arguments.draws) {
        return fail(
            "--draws must lie between 1 and 2e9",
            "1e6 take a second, 1e9 some minutes",
        );
    }
    let epsilon = Epsilon::parse(&arguments.epsilon).map_err(explained)?;
    let claimed = to_f64_nearest(epsilon.as_rational());
    if !EPSILONS.contains(&claimed) {
        return fail("--epsilon must lie between 0.01 and 100", "1 is a usual choice");
    }
    let study = Study::new(epsilon, arguments.seed).map_err(explained)?;
    let (outputs, draws) = (&arguments.outputs, arguments.draws);
    let interrupt = Interrupt::listen();
    let floats = {
        let progress = outputs.progress("floats", study.steps_of_floats(draws));
        study.floats(draws, &watched(&progress, &interrupt))
    };
    let grid = {
        let progress = outputs.progress("grid", study.steps_of_grid(draws));
        study
            .grid(draws, &watched(&progress, &interrupt))
            .map_err(explained)?
    };
    let found = study.found(floats, grid, interrupt.was_pressed());
    Ok((found.findings(), found.is_sound()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::parsed;
    use attack::bits::TextbookLaplace;

    fn ask(words: &str) -> Result<(Findings, bool), CliError> {
        findings(&parsed::<Arguments>(words)?)
    }

    #[test]
    fn floats_give_two_thirds_away_and_the_grid_nothing() {
        let (findings, sound) = ask("--draws 20000 --seed 1").expect("an answer");
        assert!(sound);
        let share = |name: &str| findings.json[name]["share"].as_f64().expect("a number");
        assert!((0.6..0.72).contains(&share("textbook_on_0")), "{}", findings.json);
        assert!((0.5..0.7).contains(&share("textbook_on_1")), "{}", findings.json);
        assert_eq!(findings.json["grid"]["give_away"], 0);
        assert_eq!(findings.json["grid"]["answers"], 40_000);
        // 0 of 40,000 at 95 %, both sides: 1 − 0.025^(1/40000).
        let upper = findings.json["grid"]["share_upper"].as_f64().expect("a number");
        assert!((upper - 9.22e-5).abs() < 1e-7, "{upper}");
        // The example is one.
        let example = findings.json["textbook_example"]["answer"]
            .as_f64()
            .expect("a number");
        let laplace = TextbookLaplace::new(1.0).expect("a scale");
        assert!(laplace.can_produce(example, 0.0) && !laplace.can_produce(example, 1.0));
        assert!(
            findings
                .text
                .contains("it comes from 0, and from 1 by no random bits"),
            "{}",
            findings.text
        );
        assert_eq!(findings.rows.len(), 3);
        assert!(findings.figures[0].to_svg().contains("truth is 1"));
        // The same seed tells the same.
        let (again, _) = ask("--draws 20000 --seed 1").expect("an answer");
        assert_eq!(again.json["textbook_on_0"], findings.json["textbook_on_0"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for (words, expected) in [
            ("--draws 0", "--draws must lie"),
            ("--draws 3e9", "--draws must lie"),
            ("--draws many", "whole number"),
            ("--epsilon 0", "--epsilon must lie between"),
            ("--epsilon -1", "unexpected argument"),
            ("--epsilon 1e-9", "--epsilon must lie between"),
            ("--epsilon 500", "--epsilon must lie between"),
        ] {
            let error = ask(words).expect_err(words);
            assert_eq!(error.code, 2);
            assert!(error.to_string().contains(expected), "{words}: {error}");
        }
    }
}
