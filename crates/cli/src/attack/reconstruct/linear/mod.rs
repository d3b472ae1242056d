//! `deniable attack reconstruct linear`: a column of secret bits from noisy sums over random sets of people.

use crate::delivery::{Outputs, labelled};
use crate::terminal::{CliError, Interrupt, explained, fail};
use accounting::Delta;
use clap::ValueEnum;
use experiments::linear::{self, Setting, Study, Way};

/// Rebuild a column of secret bits from noisy sums over random sets of people (Dinur and Nissim)
///
/// Everybody has one secret bit. Each query asks how many people of a random set have theirs set, and gets an answer with noise. Four times as
/// many answers as people are enough to get nearly every bit back by least squares or linear programming, unless the noise is of the order of
/// √n. Noise that keeps (ε, δ) for all the answers together is: then no attack of any kind gets more than (e^ε + δ)/(1 + e^ε) of the bits.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How many people have a secret bit each [default: 256, or 64 against Deniable]
    #[arg(long, value_name = "N")]
    people: Option<usize>,
    /// How many random sets are asked about [default: four times as many as people]
    #[arg(long, value_name = "M")]
    queries: Option<usize>,
    /// Which noise the model adds, one kind or several [default: uniform,gaussian]
    #[arg(long, value_enum, value_name = "KIND", value_delimiter = ',')]
    noise: Vec<Kind>,
    /// How far uniform noise goes, in multiples of √n [default: 0.1,0.2,0.5,1,2,5]
    #[arg(long, value_name = "α", value_delimiter = ',', allow_negative_numbers = true)]
    alpha: Vec<f64>,
    /// The ε of all answers together, for gaussian and laplace, and the budget of Deniable [default: 0.1,1,10,100]
    #[arg(long, value_name = "ε", value_delimiter = ',', allow_negative_numbers = true)]
    epsilon: Vec<String>,
    /// The δ that goes with it; laplace is without
    #[arg(long, value_name = "δ", default_value = "1e-6", allow_negative_numbers = true)]
    delta: String,
    /// How the bits are computed
    #[arg(long, value_enum, default_value = "both")]
    method: MethodName,
    /// Whom to attack: a model that answers everything, or Deniable with a ledger
    #[arg(long, value_enum, default_value = "model")]
    against: Against,
    /// How many data sets are attacked at each noise [default: enough for 1024 people]
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Where the synthetic secrets, queries and the model's noise start
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    outputs: Outputs,
}

const EXAMPLES: &str = "\
Examples:
  Where is the phase change? Noise without a guarantee, and with one
    deniable attack reconstruct linear --plot recovered.svg
  A larger table, by least squares alone
    deniable attack reconstruct linear --people 4096 --method ls --noise uniform --alpha 0.2
  The same attack on Deniable itself: its ledger ends it
    deniable attack reconstruct linear --against deniable --epsilon 0.5,2,8
  For a program
    deniable attack reconstruct linear --people 128 --noise gaussian --epsilon 1 --json

Of --json, `recovered` is the part of the bits that came out right by each method, and `at_most` the most that (ε, δ) allows, or null
where nothing is promised. Exit code 4 if more came out than was promised, beyond what chance explains (1e-9).";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// The true counts
    None,
    /// Up to ±α√n, every size equally likely
    Uniform,
    /// Normal noise for (ε, δ) in all
    Gaussian,
    /// Laplace noise for ε in all
    Laplace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Least squares
    Ls,
    /// Linear programming
    Lp,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Against {
    /// Noise as stated, and an answer to every question
    Model,
    /// Private SQL with a budget
    Deniable,
}

impl From<Against> for linear::Against {
    fn from(against: Against) -> Self {
        match against {
            Against::Model => Self::Model,
            Against::Deniable => Self::Deniable,
        }
    }
}

/// This many ids fit into one query comfortably.
const MOST_IN_A_QUERY: usize = 1024;
/// With this many people in all, a part of them is known to about 1.6 % (one standard error at one half).
const ENOUGH_PEOPLE: u64 = 1024;

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    let study = arguments.study()?;
    let interrupt = Interrupt::listen();
    let rows = match arguments.against {
        Against::Model => {
            let progress = arguments
                .outputs
                .progress("reconstructing", study.steps_of_a_model());
            study.of_a_model(&labelled(&progress, &interrupt))?
        }
        Against::Deniable => {
            let progress = arguments.outputs.progress("asking", study.steps_of_deniable());
            study.of_deniable(&labelled(&progress, &interrupt))?
        }
    };
    if interrupt.was_pressed() {
        let bits: u64 = rows.iter().map(|row| row.bits).sum();
        eprintln!(
            "stopped: this is what was found in {bits} of {} bits",
            study.people as u64 * study.runs * study.settings.len() as u64
        );
    }
    let delta = Delta::parse(&arguments.delta).map_err(explained)?;
    arguments.outputs.give(&linear::findings(
        &study,
        &rows,
        arguments.against.into(),
        &delta,
    )?)?;
    match rows.iter().filter(|row| row.broken()).count() {
        0 => Ok(()),
        broken => Err(CliError::check_failed(format!(
            "at {broken} of the settings more bits came out than (ε, δ) allows"
        ))
        .with_hint("chance explains it with probability below 1e-9: the promise is not kept")),
    }
}

impl Arguments {
    /// What is attacked, checked.
    fn study(&self) -> Result<Study, CliError> {
        let deniable = self.against == Against::Deniable;
        let people = self.people.unwrap_or(if deniable { 64 } else { 256 });
        if people == 0 {
            return fail("there is nobody to attack", "take --people 1 or more");
        }
        if deniable && people > MOST_IN_A_QUERY {
            return fail(
                format!("a query cannot list the ids of {people} people"),
                format!("take --people {MOST_IN_A_QUERY} or fewer against Deniable"),
            );
        }
        let queries = self.queries.unwrap_or(4 * people);
        let most_runs = if deniable { 1 } else { 16 };
        let runs = self
            .runs
            .unwrap_or((ENOUGH_PEOPLE / people as u64).clamp(1, most_runs));
        if runs == 0 {
            return fail("no data set would be attacked", "take --runs 1 or more");
        }
        let kinds = match (deniable, self.noise.as_slice()) {
            (true, []) => vec![Kind::Laplace],
            (true, _) => {
                return fail(
                    "Deniable chooses its noise itself",
                    "leave out --noise, or attack the model",
                );
            }
            (false, []) => vec![Kind::Uniform, Kind::Gaussian],
            (false, chosen) => chosen.to_vec(),
        };
        let mut settings = Vec::new();
        for kind in kinds {
            settings.extend(self.settings_of(kind, people, queries as u64)?);
        }
        if deniable {
            // Its budget is (ε, δ) whatever the noise is.
            let delta = Delta::parse(&self.delta).map_err(explained)?;
            for promise in settings.iter_mut().filter_map(|setting| setting.promise.as_mut()) {
                promise.delta = delta.clone();
                promise.words = format!("{}, δ = {}", promise.words, self.delta.trim());
            }
        }
        Ok(Study {
            people,
            queries,
            runs,
            seed: self.seed,
            settings,
            ways: match self.method {
                MethodName::Both => vec![Way::LeastSquares, Way::LinearProgram],
                MethodName::Ls => vec![Way::LeastSquares],
                MethodName::Lp => vec![Way::LinearProgram],
            },
        })
    }

    fn settings_of(&self, kind: Kind, people: usize, queries: u64) -> Result<Vec<Setting>, CliError> {
        const ALPHAS: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        const EPSILONS: [&str; 4] = ["0.1", "1", "10", "100"];
        let alphas = match self.alpha.as_slice() {
            [] => &ALPHAS[..],
            chosen => chosen,
        };
        let epsilons: Vec<&str> = match self.epsilon.as_slice() {
            [] => EPSILONS.to_vec(),
            chosen => chosen.iter().map(|text| text.trim()).collect(),
        };
        let delta = self.delta.trim();
        let settings: Result<Vec<Setting>, _> = match kind {
            Kind::None => Ok(vec![Setting::without_noise()]),
            Kind::Uniform => alphas
                .iter()
                .map(|alpha| Setting::uniform(*alpha, people))
                .collect(),
            Kind::Gaussian => epsilons
                .iter()
                .map(|epsilon| Setting::gaussian(epsilon, delta, queries))
                .collect(),
            Kind::Laplace => epsilons
                .iter()
                .map(|epsilon| Setting::laplace(epsilon, queries))
                .collect(),
        };
        Ok(settings?)
    }
}

#[cfg(test)]
mod tests;
