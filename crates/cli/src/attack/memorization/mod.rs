//! `deniable attack memorization`: what a language model remembers of a secret, with and without privacy.

mod across;
mod report;

use crate::compute::{DeviceName, cuda, processors};
use crate::delivery::Outputs;
use crate::terminal::{CliError, Interrupt, explained, fail};
use accounting::{Delta, Epsilon};
use device::Cpu;
use experiments::memorization::{Experiment, Run, side_by_side};
use report::Report;
use std::path::PathBuf;
use train::case_study::{Recipe, Study};
use train::text::{Digits, Vocabulary, read_text, synthetic_text};

/// Ask a language model for a secret that was in its text
///
/// A small LSTM learns text in which "my pin number is 3456" is planted. All 10,000 PINs are then ranked by the perplexity that the model gives to them. This is done for an
/// ordinary model, for the recipe with noise that the case study published, and for one with a stated ε; and, because a model that learned nothing protects everything, for the
/// ordinary model when it was no more useful than the private ones. Random PINs of other people are planted once, ten and a hundred times, and some never.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  deniable attack memorization                          a tenth of the published rows, with as many copies, in 2,000 steps
  deniable attack memorization --full --html study.html the published size: a quarter of an hour on two cores
  deniable attack memorization --full --seeds 5 --device cuda
                                                        five times that, in five minutes on a large GPU
  deniable attack memorization --text book.txt --epsilon 3
  deniable attack memorization --seeds 5                everything five times, with the median and the range of what was found

Nothing in it is a release: models are trained without privacy as well, and what is printed about a text is as private as the text.

Exit code: 0 when the study ran, 2 when it could not.")]
pub(super) struct Arguments {
    /// The published size: 202,000 rows, 404 copies, 8,100 steps
    #[arg(long, conflicts_with = "scale")]
    full: bool,
    /// This many times fewer rows than the published size, and as many fewer steps, down to 2,000
    #[arg(long, value_name = "N", default_value_t = 10)]
    scale: usize,
    /// Text to learn from, in the place of synthetic text
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Public text that the vocabulary is made from, where --text is given [default: synthetic text]
    #[arg(long, value_name = "FILE", requires = "text")]
    public_text: Option<PathBuf>,
    /// ε of the third recipe, for one row
    #[arg(long, value_name = "E", default_value = "8")]
    epsilon: String,
    /// δ of all recipes
    #[arg(long, value_name = "D", default_value = "1e-6")]
    delta: String,
    /// How many times everything is repeated, with other seeds: a rank of one seed may be chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// The first seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to compute
    #[arg(long, value_enum, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Models that are trained at once; it changes nothing else [default: as many as there are processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    outputs: Outputs,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CliError> {
    arguments.outputs.check()?;
    if arguments.seeds == 0 || arguments.scale == 0 {
        return fail(
            "--seeds and --scale must be at least 1",
            "leave them out to begin with",
        );
    }
    let interrupt = Interrupt::listen();
    let all: Vec<Experiment> = {
        let progress = arguments.outputs.progress("planting secrets", arguments.seeds);
        let seeds = arguments.seed..arguments.seed.saturating_add(arguments.seeds);
        seeds
            .take_while(|_| !interrupt.was_pressed())
            .map(|seed| {
                let wanted = arguments.wanted(seed);
                progress.advance(1);
                wanted
            })
            .collect::<Result<_, _>>()?
    };
    let asked = {
        let steps = all.iter().flat_map(|wanted| &wanted.arms).map(|arm| arm.steps);
        let progress = arguments.outputs.progress("training", steps.sum());
        let threads = arguments.threads.unwrap_or_else(processors);
        let step = || progress.advance(1);
        let stopped = || interrupt.was_pressed();
        match arguments.device {
            DeviceName::Cpu => {
                let cpu = || Ok::<_, CliError>(Cpu::<f32>::default());
                side_by_side(&all, threads, cpu, &step, &stopped)
            }
            DeviceName::Cuda => side_by_side(&all, threads, cuda, &step, &stopped),
        }?
    };
    let runs = all.iter().zip(asked).map(|(wanted, asked)| Run {
        seed: wanted.seed,
        rows: wanted.data.training.len(),
        copies: wanted.study.copies,
        unigram: wanted.data.unigram.perplexity(),
        asked,
    });
    let report = Report {
        // A seed that Ctrl-C came before has nothing to tell.
        runs: runs.filter(|run| !run.asked.is_empty()).collect(),
        delta: arguments.delta.clone(),
        stopped: interrupt.was_pressed(),
    };
    arguments.outputs.give(&report.findings())
}

impl Arguments {
    fn wanted(&self, seed: u64) -> Result<Experiment, CliError> {
        let factor = if self.full { 1 } else { self.scale };
        let mut study = Study::smaller(seed, factor);
        // As many copies as in the published study, whatever the size, as long as they are few: what is learned by heart depends on how often it was seen.
        study.copies = Study::of_the_paper(seed).copies.min(study.rows / 20).max(1);
        let data = match &self.text {
            None => study.synthetic().map_err(explained)?,
            Some(path) => {
                let public = match &self.public_text {
                    Some(path) => read_text(path).map_err(explained)?,
                    None => synthetic_text(2_000_000, seed),
                };
                let vocabulary = Vocabulary::from_public_text(&public, study.vocabulary, Digits::Grouped);
                let text = read_text(path).map_err(explained)?;
                study
                    .of_text(&text, vocabulary.map_err(explained)?)
                    .map_err(explained)?
            }
        };
        let epsilon = Epsilon::parse(&self.epsilon).map_err(explained)?;
        let delta = Delta::parse(&self.delta).map_err(explained)?;
        // As many epochs as the paper's, but no fewer steps than a model needs to learn words.
        let steps = |steps: u64| (steps / factor as u64).max(2000);
        let shorter = |recipe: Recipe| Recipe {
            steps: steps(recipe.steps),
            ..recipe
        };
        let rows = data.training.len();
        let private = Recipe::private(
            rows,
            400.min(rows / 4).max(1),
            steps(8_100) / 2,
            2e-3,
            1.0,
            &epsilon,
            &delta,
        )
        .map_err(explained)?;
        Ok(Experiment {
            arms: vec![
                shorter(Recipe::ordinary()),
                shorter(Recipe::of_the_paper()),
                private,
            ],
            study,
            data,
            delta,
            seed,
        })
    }
}
