//! `deniable attack memorization`: what a language model remembers of a secret, with and without privacy.

use crate::compute::{DeviceName, cuda, processors};
use crate::delivery::Outputs;
use crate::terminal::{CliError, Interrupt, explained, fail};
use accounting::{Delta, Epsilon};
use device::Cpu;
use experiments::memorization::{Experiment, OwnText, Report, Run, side_by_side};
use std::path::PathBuf;
use train::text::read_text;

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
        let read = |path: &Option<PathBuf>| {
            let text = path.as_deref().map(read_text);
            text.transpose().map_err(explained)
        };
        let public = read(&self.public_text)?;
        let own = read(&self.text)?.map(|text| OwnText { text, public });
        let epsilon = Epsilon::parse(&self.epsilon).map_err(explained)?;
        let delta = Delta::parse(&self.delta).map_err(explained)?;
        let factor = if self.full { 1 } else { self.scale };
        Ok(Experiment::smaller(seed, factor, own, &epsilon, delta)?)
    }
}
