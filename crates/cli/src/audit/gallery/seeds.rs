//! The same audits with many fresh seeds.

use super::{Arguments, fresh_seed, interrupted};
use crate::terminal::{self, CliError, Interrupt};
use audit::gallery::Exhibit;
use conformance::gallery::OverSeeds;

/// Draws the seeds, audits and prints.
pub(super) fn run(arguments: &Arguments, exhibits: &[&'static Exhibit], seeds: u64) -> Result<(), CliError> {
    let seeds: Vec<u64> = (0..seeds).map(|_| fresh_seed()).collect::<Result<_, _>>()?;
    let findings = arguments.audit(exhibits, &seeds, &Interrupt::listen())?;
    let all = exhibits.len() * seeds.len();
    let missing = all - findings.len();
    let found = OverSeeds::new(&findings, &seeds, missing);
    let text = if arguments.outputs.is_json() {
        format!("{}\n", found.to_json())
    } else {
        found.to_text()
    };
    terminal::print(&text)?;
    if missing > 0 {
        return Err(interrupted(findings.len(), all));
    }
    let wrong = findings.iter().filter(|finding| !finding.is_right()).count();
    if wrong > 0 {
        return Err(
            CliError::check_failed(format!("{wrong} of {all} audits judged wrongly"))
                .with_hint("with few draws a broken mechanism may pass: try --seconds 60"),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn arguments(words: &[&str]) -> Result<Arguments, clap::Error> {
        let command = Arguments::augment_args(Command::new("gallery").no_binary_name(true));
        Arguments::from_arg_matches(&command.try_get_matches_from(words)?)
    }

    #[test]
    fn seeds_are_drawn_and_not_given() {
        assert!(arguments(&["--seeds", "20"]).is_ok());
        for wrong in [["--seeds", "2", "--seed", "7"], ["--seeds", "2", "--html", "x"]] {
            assert!(arguments(&wrong).is_err());
        }
        assert!(arguments(&["--seeds", "0"]).is_err());
        let drawn: Vec<u64> = (0..4).map(|_| fresh_seed().expect("a seed")).collect();
        assert!(drawn.iter().any(|seed| *seed != drawn[0]), "{drawn:?}");
    }
}
