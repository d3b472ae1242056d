//! `deniable attack reconstruct linear`: a column of secret bits from noisy sums over random sets of people.

mod deniable;
mod model;
mod report;

use crate::account::figure;
use crate::terminal::{self, CliError, Interrupt, explained, fail};
use accounting::{Delta, Epsilon};
use attack::linear::{Fit, Method, Noise};
use clap::ValueEnum;
use std::path::PathBuf;

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
    method: Way,
    /// Whom to attack: a model that answers everything, or Deniable with a ledger
    #[arg(long, value_enum, default_value = "model")]
    against: Against,
    /// How many data sets are attacked at each noise [default: enough for 1024 people]
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// Where the synthetic secrets, queries and the model's noise start
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw the recovered part of the bits against the noise
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
    /// Write a self-contained report with the figure
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one object for a program to read
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
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

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Uniform => "uniform",
            Self::Gaussian => "Gaussian",
            Self::Laplace => "Laplace",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
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

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    figure::check(arguments.plot.as_deref())?;
    let plan = Plan::new(arguments)?;
    let interrupt = Interrupt::listen();
    let rows = match arguments.against {
        Against::Model => model::attack(&plan, &interrupt)?,
        Against::Deniable => deniable::attack(&plan, &interrupt)?,
    };
    if interrupt.was_pressed() {
        let bits: u64 = rows.iter().map(|row| row.bits).sum();
        eprintln!(
            "stopped: this is what was found in {bits} of {} bits",
            plan.people as u64 * plan.runs * plan.settings.len() as u64
        );
    }
    report::deliver(&plan, &rows, arguments)
}

/// What is attacked, checked.
struct Plan {
    people: usize,
    queries: usize,
    runs: u64,
    seed: u64,
    settings: Vec<Setting>,
    ways: Vec<Way>,
    delta: Delta,
    quiet: bool,
}

/// One size of noise.
struct Setting {
    kind: Kind,
    /// α or ε, as it was written.
    size: String,
    /// What the model adds. Deniable decides for itself.
    noise: Noise,
    /// What is promised about all answers together.
    promise: Option<Promise>,
}

struct Promise {
    epsilon: Epsilon,
    delta: Delta,
    /// ε and δ as they were written.
    words: String,
}

impl Promise {
    /// The most that anybody gets of the bits.
    fn at_most(&self) -> f64 {
        attack::bound::right_guesses(self.epsilon.to_f64_up(), self.delta.to_f64_up())
    }
}

impl Setting {
    /// In words, for a table.
    fn words(&self) -> String {
        match (self.kind, &self.promise) {
            (Kind::None, _) => "none".to_owned(),
            (kind, Some(promise)) => format!("{}, {}", kind.name(), promise.words),
            _ => format!("uniform, ±{}·√n", self.size),
        }
    }

    fn method(&self, way: Way) -> Method {
        match (way, self.noise) {
            (Way::Ls, _) => Method::LeastSquares,
            // Bounded noise leaves a body of points that are equally likely; any other asks for the least distance.
            (_, Noise::Uniform { most }) => Method::LinearProgram(Fit::Within(most)),
            (_, Noise::None) => Method::LinearProgram(Fit::Within(0.5)),
            _ => Method::LinearProgram(Fit::LeastAbsolute),
        }
    }
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self, CliError> {
        let deniable = arguments.against == Against::Deniable;
        let people = arguments.people.unwrap_or(if deniable { 64 } else { 256 });
        if people == 0 {
            return fail("there is nobody to attack", "take --people 1 or more");
        }
        if deniable && people > MOST_IN_A_QUERY {
            return fail(
                format!("a query cannot list the ids of {people} people"),
                format!("take --people {MOST_IN_A_QUERY} or fewer against Deniable"),
            );
        }
        let queries = arguments.queries.unwrap_or(4 * people);
        let runs = arguments
            .runs
            .unwrap_or((ENOUGH_PEOPLE / people as u64).clamp(1, if deniable { 1 } else { 16 }));
        if runs == 0 {
            return fail("no data set would be attacked", "take --runs 1 or more");
        }
        let delta = Delta::parse(&arguments.delta).map_err(explained)?;
        let kinds = match (deniable, arguments.noise.as_slice()) {
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
            settings.extend(arguments.settings_of(kind, people, queries as u64, &delta)?);
        }
        if deniable {
            // Its budget is (ε, δ) whatever the noise is.
            for promise in settings.iter_mut().filter_map(|setting| setting.promise.as_mut()) {
                promise.delta = delta.clone();
                promise.words = format!("{}, δ = {}", promise.words, arguments.delta.trim());
            }
        }
        Ok(Self {
            people,
            queries,
            runs,
            seed: arguments.seed,
            settings,
            ways: match arguments.method {
                Way::Both => vec![Way::Ls, Way::Lp],
                one => vec![one],
            },
            delta,
            quiet: arguments.json || arguments.quiet,
        })
    }
}

/// This many ids fit into one query comfortably.
const MOST_IN_A_QUERY: usize = 1024;
/// With this many people in all, a part of them is known to about 1.6 % (one standard error at one half).
const ENOUGH_PEOPLE: u64 = 1024;

impl Arguments {
    fn settings_of(
        &self,
        kind: Kind,
        people: usize,
        queries: u64,
        delta: &Delta,
    ) -> Result<Vec<Setting>, CliError> {
        const ALPHAS: [f64; 6] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
        const EPSILONS: [&str; 4] = ["0.1", "1", "10", "100"];
        let alphas = if self.alpha.is_empty() {
            &ALPHAS[..]
        } else {
            &self.alpha
        };
        let epsilons: Vec<&str> = match self.epsilon.as_slice() {
            [] => EPSILONS.to_vec(),
            chosen => chosen.iter().map(|text| text.trim()).collect(),
        };
        let private = |laplace: bool| -> Result<Vec<Setting>, CliError> {
            epsilons
                .iter()
                .map(|text| {
                    let epsilon = Epsilon::parse(text).map_err(explained)?;
                    let delta = if laplace { Delta::ZERO } else { delta.clone() };
                    let noise = if laplace {
                        Noise::laplace_for(&epsilon, queries)
                    } else {
                        Noise::gaussian_for(&epsilon, &delta, queries)
                    };
                    Ok(Setting {
                        kind,
                        size: (*text).to_owned(),
                        noise: noise.map_err(explained)?,
                        promise: Some(Promise {
                            epsilon,
                            delta,
                            words: if laplace {
                                format!("ε = {text}")
                            } else {
                                format!("ε = {text}, δ = {}", self.delta.trim())
                            },
                        }),
                    })
                })
                .collect()
        };
        match kind {
            Kind::None => Ok(vec![Setting {
                kind,
                size: "0".to_owned(),
                noise: Noise::None,
                promise: None,
            }]),
            Kind::Uniform => alphas
                .iter()
                .map(|alpha| {
                    if !(alpha.is_finite() && *alpha > 0.0) {
                        return fail(
                            "α is how far the noise goes, so it is a positive number",
                            "take --alpha 0.5, or --noise none",
                        );
                    }
                    Ok(Setting {
                        kind,
                        size: alpha.to_string(),
                        noise: Noise::uniform(*alpha, people),
                        promise: None,
                    })
                })
                .collect(),
            Kind::Gaussian => private(false),
            Kind::Laplace => private(true),
        }
    }
}

/// What came out at one setting.
struct Row<'a> {
    setting: &'a Setting,
    /// Bits that came out right by each way, in the order of the plan, and out of how many.
    right: Vec<u64>,
    bits: u64,
    /// What the ledger did, where there is one.
    ledger: Option<Ledger>,
}

/// How the ledger answered.
#[derive(Clone)]
struct Ledger {
    /// ε of one question.
    each: Epsilon,
    /// Questions answered, in all runs.
    answered: u64,
    /// Whether every run ended with a refusal.
    refused: bool,
}

impl Row<'_> {
    fn fraction(&self, place: usize) -> f64 {
        self.right[place] as f64 / self.bits as f64
    }

    /// Whether more came out than was promised, so much that chance explains it with probability below 1e-9.
    ///
    /// With δ = 0 the number of right guesses is at most binomial ([`attack::bound::right_guesses`]); δ adds less than any of the digits here.
    fn broken(&self) -> bool {
        const FALSE_ALARM: f64 = 1e-9;
        self.setting.promise.as_ref().is_some_and(|promise| {
            let at_most = promise.at_most();
            self.right
                .iter()
                .any(|right| audit::binomial::at_least(*right, self.bits, at_most) < FALSE_ALARM)
        })
    }
}

/// A stream for one run of one setting: settings share secrets and queries, so that they differ in their noise alone.
fn stream(seed: u64, run: u64) -> noise::Seeded {
    noise::Seeded::new(seed.wrapping_mul(1_000_003).wrapping_add(run))
}

/// What went wrong in the library, or nothing could.
fn unusable(error: attack::Error) -> CliError {
    terminal::explained(error)
}

#[cfg(test)]
mod tests;
