//! Does the trainer keep its guarantee? A canary that is in the data or not, and everything that a run publishes (Nasr et al. 2023, "Tight auditing of differentially private machine learning").

use super::plan::{Clip, GRID_BITS, TrainingPlan};
use super::summation::Work;
use super::trainer::private_sum;
use super::units::{Examples, Units};
use crate::Error;
use crate::model::{Model, OneByOne, Parameter, Room};
use accounting::Ratio;
use device::{Cpu, Device};
use mechanism::{Account, Aggregate, SampledGaussian, Sensitive, Stated, Training, UnlimitedLedger};
use noise::{Keyed, random_order};

/// A mistake to plant, so that one sees that it would be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Gradients are cut to 2C.
    ClipTwiceTooLarge,
    /// Noise of half the deviation.
    HalfTheNoise,
    /// A step without units is published without noise.
    NoNoiseOnEmptyBatch,
    /// Sums are divided by the number of units in the batch.
    DividedByRealBatch,
    /// Units come in shuffled batches, and are accounted for as a Poisson sample.
    ShuffledAsPoisson,
    /// The count of an adaptive clip is released beside the sum, and the noise is that of the sum alone.
    CountNotPaidFor,
}

/// What an observer of all steps sees along what the canary adds, its part of the count of an adaptive clip included, in units of C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CanaryView {
    /// Summed over all steps.
    pub sum: f64,
    /// The largest of all steps.
    pub largest: f64,
    /// The mean square across all other directions and steps.
    pub across: f64,
}

/// The real step of a plan, on synthetic gradients: those of the others are longer than C and have no part in the canary's direction, the canary's is along it alone and longer than C.
///
/// ```
/// use accounting::{Delta, Ratio};
/// use train::private::{CanaryAudit, Parameters};
///
/// let parameters = Parameters::poisson("row", 1, 1, 1.0, 1, Delta::parse("1e-5")?)?;
/// let plan = parameters.with_multiplier(Ratio::parse("0.01")?)?;
/// let mut audit = CanaryAudit::new(&plan, 3, 9, None)?;
/// // With hardly any noise one sees whether the canary is in the data.
/// assert!(audit.observe(true)?.sum > 0.5 && audit.observe(false)?.sum < 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Whoever calls this has the statistics: see the crate `audit`. What they find at a stated confidence is at most the plan's ε, unless something is wrong.
pub struct CanaryAudit {
    plan: TrainingPlan,
    mechanism: SampledGaussian,
    account: Account<UnlimitedLedger>,
    sides: [(Gradients, Units); 2],
    shuffling: Keyed,
    defect: Option<Defect>,
    row_by_row: bool,
}

impl std::fmt::Debug for CanaryAudit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "CanaryAudit({:?})", self.defect)
    }
}

impl CanaryAudit {
    /// Of runs of this plan with `others` other units, on vectors of `coordinates` numbers.
    ///
    /// # Errors
    /// When there are fewer than two coordinates, or the plan has no noise.
    pub fn new(
        plan: &TrainingPlan,
        others: usize,
        coordinates: usize,
        defect: Option<Defect>,
    ) -> Result<Self, Error> {
        if coordinates < 2 {
            return Err(Error::OutOfRange {
                what: "the number of coordinates",
                range: "at least 2",
            });
        }
        let mut parameters = plan.parameters().clone();
        // Numbers of a sum besides its count.
        let mut numbers = coordinates;
        match defect {
            Some(Defect::HalfTheNoise) => {
                let half = parameters.multiplier.as_rational() * exact::ratio(1, 2);
                parameters.multiplier = Ratio::at_most(&half);
            }
            Some(Defect::CountNotPaidFor) => {
                numbers += usize::from(parameters.clip.count_steps().is_some());
                parameters.clip = Clip::Fixed {
                    norm: parameters.clip.start(),
                };
            }
            _ => {}
        }
        let drawn = TrainingPlan::try_from(parameters)?;
        let clip = plan.parameters().clip.start();
        let gradients = |canary: bool| {
            let mut rows = vec![vec![0.0f32; coordinates]; others + 1];
            for (place, row) in rows.iter_mut().take(others).enumerate() {
                row[1 + place % (coordinates - 1)] = (3.0 * clip) as f32;
            }
            // Without the canary its place is a unit without a gradient: nobody, under a sampler that takes each unit by itself.
            if canary {
                rows[others][0] = (5.0 * clip) as f32;
            }
            Gradients(rows)
        };
        let without = match plan.parameters().sampling {
            mechanism::Sampling::Poisson { .. } => others,
            _ => others + 1,
        };
        Ok(Self {
            mechanism: drawn.mechanism(numbers)?,
            plan: plan.clone(),
            account: Account::open(UnlimitedLedger::new(plan.unit()))?,
            sides: [
                (gradients(false), Units::each_example(without)),
                (gradients(true), Units::each_example(others + 1)),
            ],
            shuffling: Keyed::new([77; 32], 0),
            defect,
            row_by_row: false,
        })
    }

    /// Exact sums are made row by row, as of tables, and not by passes of the model.
    pub fn row_by_row(mut self) -> Self {
        self.row_by_row = true;
        self
    }

    /// One run of all steps, with the canary or without.
    ///
    /// # Errors
    /// When the process forked.
    pub fn observe(&mut self, with_canary: bool) -> Result<CanaryView, Error> {
        let device = Cpu::<f32>::new();
        let (gradients, units) = &self.sides[usize::from(with_canary)];
        let coordinates = gradients.0[0].len();
        let mut work = Work::new(
            device.clone(),
            Planted::new(coordinates, self.row_by_row),
            gradients,
            units.clone(),
            64,
        );
        let parameters = device.zeros(coordinates);
        let mut run = self
            .account
            .begin_training(&self.mechanism, "audit", "synthetic gradients")?;
        let clip = self.plan.parameters().clip.start();
        let mut view = CanaryView {
            sum: 0.0,
            largest: f64::NEG_INFINITY,
            across: 0.0,
        };
        let steps = self.plan.parameters().steps;
        let order = match self.defect {
            Some(Defect::ShuffledAsPoisson) => random_order(steps, &mut self.shuffling),
            _ => Vec::new(),
        };
        for number in 0..steps {
            let (sum, divisor) = match self.defect {
                None | Some(Defect::HalfTheNoise | Defect::CountNotPaidFor) => {
                    private_sum(&mut run, &mut work, &self.plan, &parameters, clip)?;
                    (work.sum.numbers(), None)
                }
                Some(defect) => planted_sum(
                    &mut run,
                    &mut work,
                    &self.plan,
                    &parameters,
                    defect,
                    (&order, number),
                )?,
            };
            // As the loop divides, times the normaliser, so that all is in units of C.
            let scale = match divisor {
                Some(real) => self.plan.parameters().normaliser / real,
                None => 1.0,
            } / f64::from(1 << GRID_BITS);
            let along = along(&sum, coordinates, self.plan.parameters().clip.count_steps()) * scale;
            view.sum += along;
            view.largest = view.largest.max(along);
            let others = sum[1..coordinates]
                .iter()
                .map(|value| (*value as f64 * scale).powi(2));
            view.across += others.sum::<f64>() / ((coordinates - 1) as f64 * steps as f64);
        }
        Ok(view)
    }
}

/// How far a sum goes in the canary's direction: it adds C along the first coordinate and, being longer than that, takes h off the count.
fn along(sum: &[i64], coordinates: usize, count: Option<i64>) -> f64 {
    let Some(steps) = count else {
        return sum[0] as f64;
    };
    let (clip, steps) = (f64::from(1 << GRID_BITS), steps as f64);
    (clip * sum[0] as f64 - steps * sum[coordinates] as f64) / clip.hypot(steps)
}

/// A step with a mistake in it: the sum, and what it is divided by where that is not the public number.
fn planted_sum(
    run: &mut Training,
    work: &mut Work<Cpu<f32>, Planted, &Gradients>,
    plan: &TrainingPlan,
    parameters: &Vec<f32>,
    defect: Defect,
    (order, number): (&[u64], u64),
) -> Result<(Vec<i64>, Option<f64>), Error> {
    let sensitivity = run.mechanism().terms().sensitivity().clone();
    let step = run.step(work.units.count() as u64)?;
    let mut members = step.members().to_vec();
    if defect == Defect::ShuffledAsPoisson {
        // One unit a step, each once.
        let chosen = order.get(number as usize).copied();
        members = chosen
            .into_iter()
            .filter(|unit| *unit < work.units.count() as u64)
            .collect();
    }
    let clip = plan.parameters().clip.start();
    let wide = if defect == Defect::ClipTwiceTooLarge {
        2.0
    } else {
        1.0
    };
    work.clipped_sum(plan, parameters, &members, wide * clip);
    let mut sum = work.sum.numbers();
    if defect == Defect::ClipTwiceTooLarge {
        // Back to steps of C; a count has none.
        let gradient = work.device.len(&work.gradient);
        sum[..gradient].iter_mut().for_each(|value| *value *= 2);
    }
    let bare = sum.clone();
    let claimed = Aggregate::claimed(Sensitive::new(sum), sensitivity, plan.unit(), plan.grid());
    let noised = step.release(claimed)?;
    Ok(match defect {
        Defect::NoNoiseOnEmptyBatch if members.is_empty() => (bare, None),
        Defect::DividedByRealBatch => (noised, Some(members.len().max(1) as f64)),
        _ => (noised, None),
    })
}

/// Examples that are their own gradients.
struct Gradients(Vec<Vec<f32>>);

impl Examples for Gradients {
    type Batch = Vec<Vec<f32>>;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn gather(&self, chosen: &[usize]) -> Self::Batch {
        chosen.iter().map(|place| self.0[*place].clone()).collect()
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let numbers = self.0[example].iter();
        numbers.flat_map(|number| number.to_le_bytes()).collect()
    }

    fn name(&self) -> String {
        "synthetic gradients".to_owned()
    }

    fn digest(&self) -> String {
        String::new()
    }
}

/// A model whose gradient on an example is the example.
struct Planted {
    layout: Vec<Parameter>,
    batch: Vec<Vec<f32>>,
    row_by_row: bool,
}

impl Planted {
    fn new(coordinates: usize, row_by_row: bool) -> Self {
        let all = Parameter {
            name: "all".to_owned(),
            shape: vec![coordinates],
            start: 0,
        };
        Self {
            layout: vec![all],
            batch: Vec::new(),
            row_by_row,
        }
    }
}

impl Model<Cpu<f32>> for Planted {
    type Batch = Vec<Vec<f32>>;

    fn layout(&self) -> &[Parameter] {
        &self.layout
    }

    fn initial(&self, _: u64) -> Vec<f32> {
        vec![0.0; self.layout[0].len()]
    }

    fn examples(&self, batch: &Self::Batch) -> usize {
        batch.len()
    }

    fn backward(&mut self, _: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        self.batch.clone_from(batch);
        vec![0.0; batch.len()]
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        let square = |row: &Vec<f32>| row.iter().map(|value| f64::from(*value).powi(2)).sum();
        self.batch.iter().map(square).collect()
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut Vec<f32>) {
        for (weight, row) in weights
            .iter()
            .zip(&self.batch)
            .filter(|(weight, _)| **weight != 0.0)
        {
            for (total, value) in gradient.iter_mut().zip(row) {
                *total += (weight * f64::from(*value)) as f32;
            }
        }
    }

    fn losses(&mut self, _: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        vec![0.0; batch.len()]
    }

    fn one_by_one(&self, _: &Vec<f32>) -> Option<Box<dyn OneByOne<f32, Self::Batch> + '_>> {
        self.row_by_row.then(|| Box::new(Rows) as Box<_>)
    }
}

/// The same, row by row.
struct Rows;

impl OneByOne<f32, Vec<Vec<f32>>> for Rows {
    fn gradient(&self, batch: &Vec<Vec<f32>>, example: usize, room: &mut Room<f32>) -> f64 {
        room.gradient.clear();
        for (place, value) in batch[example].iter().enumerate() {
            if *value != 0.0 {
                room.gradient.push(place, std::iter::once(*value));
            }
        }
        0.0
    }
}
