//! The loop on a small model, from end to end.

mod canary;
mod people;
mod rows;
mod sums;

use super::*;
use crate::model::{Model, Parameter};
use crate::optimizer::{Rule, Schedule};
use crate::{Error, PlainTrainer};
use accounting::{Budget, Curve, Delta, Epsilon, Neighbors, PrivacyUnit, Promise, Ratio};
use audit::black_box::{BlackBox, Feature, FindingVerdict, Side};
use device::Cpu;
use mechanism::{Account, MemoryLedger, Sampling};
use noise::{Entropy, Keyed};

const WIDTH: usize = 4;

/// Logistic regression, written out.
#[derive(Debug)]
struct Logistic {
    layout: Vec<Parameter>,
    kept: Vec<(Vec<f32>, f64)>,
}

impl Logistic {
    fn new() -> Self {
        let part = |name: &str, shape: Vec<usize>, start| Parameter {
            name: name.to_owned(),
            shape,
            start,
        };
        Self {
            layout: vec![part("weight", vec![WIDTH], 0), part("bias", vec![1], WIDTH)],
            kept: Vec::new(),
        }
    }

    fn score(parameters: &[f32], features: &[f32]) -> f64 {
        let products = parameters
            .iter()
            .zip(features)
            .map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum::<f64>() + f64::from(parameters[WIDTH])
    }
}

impl Model<Cpu<f32>> for Logistic {
    type Batch = Vec<(Vec<f32>, bool)>;

    fn layout(&self) -> &[Parameter] {
        &self.layout
    }

    fn initial(&self, _: u64) -> Vec<f32> {
        vec![0.0; WIDTH + 1]
    }

    fn examples(&self, batch: &Self::Batch) -> usize {
        batch.len()
    }

    fn backward(&mut self, parameters: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        let score = |(features, _): &(Vec<f32>, bool)| Self::score(parameters, features);
        let error = |example: &(Vec<f32>, bool)| {
            1.0 / (1.0 + (-score(example)).exp()) - f64::from(u8::from(example.1))
        };
        self.kept = batch
            .iter()
            .map(|example| (example.0.clone(), error(example)))
            .collect();
        self.losses(parameters, batch)
    }

    fn squared_norms(&mut self) -> Vec<f64> {
        let square = |features: &[f32]| 1.0 + features.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        self.kept
            .iter()
            .map(|(features, error)| error * error * square(features))
            .collect()
    }

    fn accumulate(&mut self, weights: &[f64], gradient: &mut Vec<f32>) {
        for (weight, (features, error)) in weights
            .iter()
            .zip(&self.kept)
            .filter(|(weight, _)| **weight != 0.0)
        {
            for (total, value) in gradient.iter_mut().zip(features.iter().chain(&[1.0])) {
                *total += (weight * error * f64::from(*value)) as f32;
            }
        }
    }

    fn losses(&mut self, parameters: &Vec<f32>, batch: &Self::Batch) -> Vec<f64> {
        let loss = |(features, label): &(Vec<f32>, bool)| {
            let score = Self::score(parameters, features);
            (if *label { -score } else { score }).exp().ln_1p()
        };
        batch.iter().map(loss).collect()
    }
}

struct Table(Vec<(Vec<f32>, bool)>);

impl Table {
    /// The label is whether the first feature, less half the second, is positive.
    fn new(rows: usize) -> Self {
        let mut bits = Keyed::new([1; 32], 0);
        let mut feature = || bits.bits(20) as f32 / (1 << 19) as f32 - 1.0;
        let row = |_| {
            let features: Vec<f32> = (0..WIDTH).map(|_| feature()).collect();
            let label = features[0] - 0.5 * features[1] > 0.0;
            (features, label)
        };
        Self((0..rows).map(row).collect())
    }

    fn accuracy(&self, parameters: &[f32]) -> f64 {
        let right = self
            .0
            .iter()
            .filter(|(features, label)| (Logistic::score(parameters, features) > 0.0) == *label);
        right.count() as f64 / self.0.len() as f64
    }
}

impl Examples for Table {
    type Batch = Vec<(Vec<f32>, bool)>;

    fn count(&self) -> usize {
        self.0.len()
    }

    fn gather(&self, chosen: &[usize]) -> Self::Batch {
        chosen.iter().map(|place| self.0[*place].clone()).collect()
    }

    fn bytes(&self, example: usize) -> Vec<u8> {
        let (features, label) = &self.0[example];
        let numbers = features.iter().flat_map(|number| number.to_le_bytes());
        numbers.chain([u8::from(*label)]).collect()
    }

    fn name(&self) -> String {
        "a table".to_owned()
    }

    fn digest(&self) -> String {
        format!("{:?}", self.0.iter().map(|row| row.0[0]).sum::<f32>())
    }
}

fn account(neighbors: Neighbors) -> Account<MemoryLedger> {
    let limit = Promise::Approximate(Epsilon::parse("40").unwrap(), Delta::parse("0.1").unwrap());
    let unit = PrivacyUnit::new("row", neighbors);
    Account::with_entropy(
        MemoryLedger::new(Budget::new(limit, unit)),
        Keyed::new([4; 32], 0),
    )
}

fn plan(steps: u64, summation: Summation) -> TrainingPlan {
    let mut parameters =
        Parameters::poisson("row", 50, 1000, 1.0, steps, Delta::parse("1e-5").unwrap()).unwrap();
    parameters.summation = summation;
    parameters.with_multiplier(Ratio::parse("1").unwrap()).unwrap()
}

fn task<'a>(table: &'a Table, units: &Units) -> Task<Cpu<f32>, Logistic, &'a Table> {
    Task {
        device: Cpu::new(),
        model: Logistic::new(),
        data: PrivateData::new(table, units.clone()),
    }
}

type Small<'a> = Trainer<Cpu<f32>, Logistic, &'a Table>;

/// Takes all steps that are left.
fn finish(trainer: &mut Small<'_>) -> Ended {
    trainer.run(|| true, |_, _| Ok::<(), Error>(())).unwrap()
}

fn bits(trainer: &Small<'_>) -> Vec<u32> {
    trainer.parameters().iter().map(|value| value.to_bits()).collect()
}

/// Begins with the same key each time, so that runs can be compared.
fn begin<'a>(table: &'a Table, units: &Units, plan: TrainingPlan, recipe: Recipe) -> Small<'a> {
    Trainer::begin(
        &mut account(plan.unit().neighbors),
        task(table, units),
        plan,
        recipe,
        None,
        "a test",
    )
    .unwrap()
}

fn all(mut trainer: Small<'_>) -> Vec<u32> {
    while trainer.step().unwrap().is_some() {}
    bits(&trainer)
}

fn recipe() -> Recipe {
    Recipe {
        rule: Rule::noise_corrected_adam(1e-6),
        schedule: Schedule::WarmUpCosine { warm_up: 5 },
        ..Recipe::adam(0.1)
    }
}

#[test]
fn it_learns_and_pays() {
    let table = Table::new(1000);
    let units = Units::each_example(1000);
    for rule in [
        Rule::sgd(0.5),
        Rule::adam(),
        Rule::noise_corrected_adam(1e-6),
        Rule::adamw(1e-3),
    ] {
        let mut account = account(Neighbors::AddRemove);
        let recipe = Recipe {
            rule,
            ..Recipe::adam(0.1)
        };
        let plan = plan(80, Summation::Float);
        let mut trainer = Trainer::begin(
            &mut account,
            task(&table, &units),
            plan.clone(),
            recipe.clone(),
            None,
            "a test",
        )
        .unwrap();
        let charged = &account.ledger().charges()[0];
        assert_eq!(
            charged.guarantee,
            plan.guarantee(),
            "before the first step, for all of them"
        );
        let mut reported = 0;
        let ended = trainer.run(
            || true,
            |_, progress| {
                reported += 1;
                assert_eq!((progress.step, progress.not_private_loss), (reported, None));
                Ok::<(), Error>(())
            },
        );
        assert_eq!((ended.unwrap(), reported), (Ended::Finished, 80));
        assert!(trainer.step().unwrap().is_none());
        let accuracy = table.accuracy(trainer.parameters());
        assert!(accuracy > 0.85, "{rule:?} {accuracy}");
        assert_eq!(account.ledger().charges().len(), 1);
        let mut plain = PlainTrainer::new(Cpu::new(), Logistic::new(), &table, recipe, 50, 80).unwrap();
        while plain.step().is_some() {}
        assert!(table.accuracy(plain.model().1) > 0.93);
    }
}

#[test]
fn a_resumed_run_is_the_same_run() {
    let table = Table::new(1000);
    let units = Units::each_example(1000);
    for summation in [Summation::Float, Summation::Exact] {
        let directory = tempfile::tempdir().unwrap();
        let saving = |every| Saving {
            path: directory.path().join("run.safetensors"),
            every,
            notes: Default::default(),
        };
        let whole = all(begin(&table, &units, plan(30, summation), recipe()));

        let mut account = account(Neighbors::AddRemove);
        let mut trainer = Trainer::begin(
            &mut account,
            task(&table, &units),
            plan(30, summation),
            recipe(),
            Some(saving(7)),
            "a test",
        )
        .unwrap();
        trainer.note("model", "logistic");
        // Stops after step 11, and goes on; then crashes after step 25, whose last checkpoint was at 21.
        let taken = std::cell::Cell::new(0);
        let ended = trainer.run(
            || taken.get() < 11,
            |_, progress| {
                taken.set(progress.step);
                Ok::<(), Error>(())
            },
        );
        assert_eq!(ended.unwrap(), Ended::Stopped);
        let read = || Checkpoint::read(Logistic::new().layout(), &saving(7).path).unwrap();
        assert_eq!((read().steps_taken(), read().plan()), (11, trainer.plan()));
        assert_eq!(Checkpoint::notes(&saving(7).path).unwrap()["model"], "logistic");
        let mut trainer =
            Trainer::resume(&mut account, task(&table, &units), read(), Some(saving(7))).unwrap();
        for _ in 11..25 {
            trainer.step().unwrap();
            if trainer.checkpoint().steps_taken() == 21 {
                trainer.save().unwrap();
            }
        }
        drop(trainer);
        assert_eq!(read().steps_taken(), 21);
        let mut trainer =
            Trainer::resume(&mut account, task(&table, &units), read(), Some(saving(7))).unwrap();
        assert_eq!(finish(&mut trainer), Ended::Finished);
        assert_eq!(bits(&trainer), whole, "bit for bit");
        assert_eq!(account.ledger().charges().len(), 1, "charged once");

        // Other data, and a ledger that knows nothing of it.
        let other = Table::new(999);
        let fewer = Units::each_example(999);
        let refused = Trainer::resume(&mut account, task(&other, &fewer), read(), None).unwrap_err();
        assert!(matches!(refused, Error::OtherRun { .. }), "{refused}");
        let mut stranger = super::tests::account(Neighbors::AddRemove);
        let refused = Trainer::resume(&mut stranger, task(&table, &units), read(), None).unwrap_err();
        assert!(
            matches!(refused, Error::Mechanism(mechanism::Error::NotCharged)),
            "{refused}"
        );
    }
}

/// Whatever the step at which a run ends, its receipt is the same; and where nobody named that step beforehand there is no model.
#[test]
fn the_receipt_does_not_say_how_far_a_run_came() {
    let table = Table::new(1000);
    let units = Units::each_example(1000);
    let mut trainer = begin(&table, &units, plan(30, Summation::Float), recipe());
    for _ in 0..10 {
        trainer.step().unwrap();
    }
    let interrupted = trainer.saved_model().unwrap_err();
    assert!(matches!(interrupted, Error::Interrupted), "{interrupted}");
    for step in [0, 9, 31] {
        let refused = trainer.end_at(step).unwrap_err();
        assert!(matches!(refused, Error::NoSuchEnd { .. }), "{refused}");
    }
    let mut ended = |step: u64| {
        trainer.end_at(step).unwrap();
        assert_eq!(finish(&mut trainer), Ended::Finished);
        assert_eq!((trainer.steps_taken(), trainer.step().unwrap()), (step, None));
        trainer.saved_model().unwrap()
    };
    let (first, second, last) = (ended(10), ended(17), ended(30));
    assert!(first.receipt == second.receipt && second.receipt == last.receipt);
    assert_ne!(first.parameters, second.parameters);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    trainer.note("kind", "logistic");
    let model = trainer.saved_model().unwrap();
    model.write(Logistic::new().layout(), &path).unwrap();
    let read = SavedModel::read(Logistic::new().layout(), &path).unwrap();
    assert_eq!(read, model);
    let receipt = read.receipt.unwrap();
    assert_eq!((receipt.ledger_entry, &receipt.data[..]), (1, "a table"));
    assert_eq!(
        (receipt.plan.parameters().steps, &receipt.epsilon),
        (30, trainer.plan().epsilon())
    );
    let bytes = std::fs::read(&path).unwrap();
    let secret = trainer.checkpoint().run.to_secret_text();
    let key = secret.split(' ').nth(2).unwrap();
    assert!(
        !String::from_utf8_lossy(&bytes).contains(key),
        "no key in a public file"
    );
}

/// Whichever bit of a checkpoint is damaged, in weights, moments, words or the seal itself: the file is refused, and the one that is whole is read. So are weights of another run under this one's key.
#[test]
fn a_damaged_checkpoint_is_noticed() {
    let (table, units) = (Table::new(60), Units::each_example(60));
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, steps: usize| {
        let mut trainer = begin(&table, &units, plan(9, Summation::Exact), recipe());
        for _ in 0..steps {
            trainer.step().unwrap();
        }
        let path = directory.path().join(name);
        let checkpoint = trainer.checkpoint();
        checkpoint.write(Logistic::new().layout(), &path).unwrap();
        (std::fs::read(&path).unwrap(), checkpoint)
    };
    let path = directory.path().join("damaged");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Checkpoint::read(Logistic::new().layout(), &path)
    };
    let (whole, first) = write("first", 3);
    assert!(read(&whole).is_ok());
    // Reading a plan takes a moment, so some places of the words, and some of the numbers behind them, in each of the vectors.
    let numbers = first.parameters.len() * 4;
    let behind = whole.len() - 3 * numbers..whole.len();
    let places: Vec<usize> = (8..behind.start).step_by(97).chain(behind.step_by(7)).collect();
    let mut noticed = 0;
    for &place in &places {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        // What JSON does not read, such as blanks between words, may be anything.
        if let Ok(read) = read(&damaged) {
            assert_eq!(read.parameters, first.parameters, "{place}");
            assert_eq!(read.moments, first.moments, "{place}");
            assert_eq!(read.run.to_secret_text(), first.run.to_secret_text(), "{place}");
        } else {
            noticed += 1;
        }
    }
    assert!(noticed + 2 >= places.len(), "{noticed} of {}", places.len());
    // The end of the file is weights and moments: those of another run, key and words of this one.
    let (other, _) = write("other", 4);
    assert_eq!(whole.len(), other.len());
    let mut mixed = whole.clone();
    mixed[whole.len() - numbers..].copy_from_slice(&other[whole.len() - numbers..]);
    assert_ne!(mixed, whole);
    assert!(read(&mixed).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn bad_input_is_refused_before_it_is_charged() {
    let table = Table::new(1000);
    let directory = tempfile::tempdir().unwrap();
    let mut account = account(Neighbors::AddRemove);
    let mut refuse =
        |table: &Table, units: &Units, plan: TrainingPlan, recipe: Recipe, saving: Option<Saving>| {
            let refused =
                Trainer::begin(&mut account, task(table, units), plan, recipe, saving, "x").unwrap_err();
            assert!(account.ledger().charges().is_empty());
            refused.to_string()
        };
    let (one, none) = (Table::new(1), Table::new(0));
    let units = Units::each_example(1000);
    let float = || plan(40, Summation::Float);
    // Where the number of units is public, too few are refused; where it is private, nothing tells how many there are.
    let counted = |of: u64| {
        let mut parameters = float().parameters().clone();
        parameters.sampling = Sampling::FixedSize { batch: 1, of };
        TrainingPlan::try_from(parameters).unwrap()
    };
    assert!(refuse(&one, &Units::each_example(1), counted(1), recipe(), None).contains("one unit"));
    assert!(refuse(&none, &Units::each_example(0), counted(1), recipe(), None).contains("no examples"));
    let bad = Recipe {
        rate: f64::NAN,
        ..recipe()
    };
    assert!(refuse(&table, &units, float(), bad, None).contains("learning rate"));
    let nowhere = Saving {
        path: directory.path().join("missing/run"),
        every: 1,
        notes: Default::default(),
    };
    assert!(refuse(&table, &units, float(), recipe(), Some(nowhere)).contains("hint:"));
    let mut parameters = float().parameters().clone();
    parameters.sampling = Sampling::FixedSize { batch: 10, of: 500 };
    let fixed = TrainingPlan::try_from(parameters).unwrap();
    assert!(refuse(&table, &units, fixed, recipe(), None).contains("number of units"));
    let mut parameters = float().parameters().clone();
    parameters.steps = 3000;
    let dear = parameters.with_multiplier(Ratio::parse("0.5").unwrap()).unwrap();
    assert!(dear.epsilon().to_f64_up() > 40.0);
    refuse(&table, &units, dear, recipe(), None);
}

#[test]
fn other_samplers_run_under_their_own_neighbours() {
    let table = Table::new(100);
    let units = Units::each_example(100);
    for sampling in [
        Sampling::FixedSize { batch: 10, of: 100 },
        Sampling::Shuffled { batch: 10, of: 100 },
    ] {
        let mut parameters = plan(20, Summation::Exact).parameters().clone();
        parameters.sampling = sampling;
        parameters.normaliser = 10.0;
        let plan = TrainingPlan::try_from(parameters).unwrap();
        assert_eq!(plan.unit().neighbors, Neighbors::ChangeOne);
        all(begin(&table, &units, plan.clone(), recipe()));
        let refused = Trainer::begin(
            &mut account(Neighbors::AddRemove),
            task(&table, &units),
            plan,
            recipe(),
            None,
            "x",
        );
        assert!(refused.is_err(), "an account for a unit that comes or goes");
    }
}
