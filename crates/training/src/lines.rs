//! Language models of lines, for an audit: how likely each line is to a model, and small models to try that
//! on.

use crate::Error;
use crate::description::{self, Description, Language, read_language};
use crate::examples::{Texts, started};
use crate::language::{predicted, public_vocabulary};
use crate::origin::file_name;
use accounting::{Budget, Delta, Epsilon};
use device::Cpu;
use mechanism::{Account, MemoryLedger};
use std::cell::Cell;
use std::path::Path;
use train::PlainTrainer;
use train::model::Model;
use train::models::{AnyLanguageModel, LanguageModel, Network, Sharded, Tokens};
use train::private::{
    Ended, ModelReceipt, Parameters, PrivateData, Recipe, SavedModel, Task, Trainer, Units,
};
use train::text::{Rows, Vocabulary, read_private_text};

/// A language model from its file, asked about lines.
pub struct LineModel(Language);

impl LineModel {
    /// Reads one that `deniable train lm` wrote.
    pub fn read(path: &Path) -> Result<Self, Error> {
        read_language(path).map(Self)
    }

    /// What it guarantees; `None` for one that was trained without privacy.
    pub fn receipt(&self) -> Option<&ModelReceipt> {
        self.0.receipt.as_ref()
    }

    /// ln P of each line, cut into rows as in training. Reports how many lines more it has asked about.
    pub fn log_likelihoods(&mut self, lines: &[&str], mut report: impl FnMut(u64)) -> Vec<f64> {
        const AT_ONCE: usize = 50;
        let Language {
            model,
            parameters,
            vocabulary,
            length,
            ..
        } = &mut self.0;
        let mut found = Vec::with_capacity(lines.len());
        for some in lines.chunks(AT_ONCE) {
            let (mut rows, mut owners) = (Vec::new(), Vec::new());
            for (owner, line) in some.iter().enumerate() {
                for row in vocabulary.encode(line).chunks((*length).max(1)) {
                    rows.push(started(row));
                    owners.push(owner);
                }
            }
            let mut sums = vec![0.0; some.len()];
            match Tokens::ragged(model.vocabulary(), &rows) {
                Ok(batch) => {
                    let losses = model.token_losses(parameters, &batch);
                    for (owner, losses) in owners.into_iter().zip(losses) {
                        sums[owner] -= losses.iter().sum::<f64>();
                    }
                }
                // A vocabulary that the model does not have.
                Err(_) => sums.fill(f64::NAN),
            }
            found.extend(sums);
            report(some.len() as u64);
        }
        found
    }

    /// How well it predicts text that it has not seen.
    pub fn perplexity(&mut self, text: &str) -> Result<f64, Error> {
        let rows = Rows::of_text(text, &self.0.vocabulary, self.0.length)?;
        Ok(predicted(&mut self.0.model, &self.0.parameters, &rows).perplexity())
    }
}

/// Small models of the lines of one text, trained with privacy and without, otherwise alike: for audits and
/// demonstrations.
///
/// Its ledger is in memory and gone with it, so what it trains is charged to nobody. It is for synthetic
/// text, and for text that only its curator sees the results of; models of private data that leave the house
/// are trained by a [`Session`](crate::Session).
pub struct SmallModels {
    /// Synthetic text with canaries, or text whose curator audits it: also trained on without privacy, so it
    /// is not closed.
    texts: Texts,
    units: Units,
    vocabulary: Vocabulary,
    threads: usize,
}

type Small = Sharded<Cpu<f32>, AnyLanguageModel<Cpu<f32>>>;

const NETWORK: Network = Network::Lstm {
    embedding: 24,
    hidden: 96,
    dropout: 0.0,
};
/// Tokens a row: most lines are one row.
const LENGTH: usize = 20;
const TOKENS: usize = 300;
/// Lines in a step, on average.
pub const BATCH: u64 = 64;
/// Learning rates. Noise wants smaller steps.
const RATE: f64 = 1e-2;
const PRIVATE_RATE: f64 = 3e-3;

impl SmallModels {
    /// Reads the text as `train lm --each-line` does.
    pub fn read(text: &Path) -> Result<Self, Error> {
        let vocabulary = public_vocabulary(TOKENS)?;
        let (texts, units) = Texts::lines(file_name(text), &read_private_text(text)?, &vocabulary, LENGTH);
        Ok(Self {
            texts,
            units,
            vocabulary,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        })
    }

    fn model(&self) -> Result<Small, Error> {
        let build = || NETWORK.build(Cpu::default(), self.vocabulary.len());
        Ok(Sharded::new(&Cpu::default(), self.threads, build)?)
    }

    fn recipe(&self, rate: f64) -> Recipe {
        Recipe {
            threads: self.threads,
            ..Recipe::adam(rate)
        }
    }

    fn notes(&self) -> std::collections::BTreeMap<String, String> {
        let described = Description::Language {
            network: NETWORK,
            length: LENGTH,
            vocabulary: self.vocabulary.to_json(),
        };
        [(description::NOTE.to_owned(), described.to_note())].into()
    }

    /// Trains with (ε, δ) for each line of about `size`, and writes the model with its receipt. `go_on` is
    /// asked after each step; `false` if it said no.
    pub fn train_privately(
        &self,
        (epsilon, delta): (&Epsilon, &Delta),
        size: u64,
        steps: u64,
        out: &Path,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let parameters = Parameters::poisson("line", BATCH.min(size), size, 1.0, steps, delta.clone())?;
        let plan = parameters.for_target(epsilon)?;
        // The text is synthetic: it is about nobody whose budget a ledger would have to remember.
        let ledger = MemoryLedger::new(Budget::new(plan.guarantee().promise().clone(), plan.unit()));
        let mut account = Account::open(ledger)?;
        let task = Task {
            device: Cpu::default(),
            model: self.model()?,
            data: PrivateData::new(&self.texts, self.units.clone()),
        };
        let mut trainer = Trainer::begin(
            &mut account,
            task,
            plan,
            self.recipe(PRIVATE_RATE),
            None,
            "an audit",
        )?;
        for (name, text) in self.notes() {
            trainer.note(&name, &text);
        }
        let wanted = Cell::new(true);
        let ended = trainer.run(
            || wanted.get(),
            |_, _| {
                wanted.set(go_on());
                Ok::<(), Error>(())
            },
        )?;
        if !wanted.get() || ended == Ended::Stopped {
            return Ok(false);
        }
        let saved = trainer.saved_model()?;
        let (model, _) = trainer.model();
        saved.write(model.layout(), out)?;
        Ok(true)
    }

    /// Trains without privacy, and writes the model, which has no receipt.
    pub fn train_plainly(
        &self,
        steps: u64,
        out: &Path,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let batch = (BATCH as usize).min(self.units.count());
        let mut trainer = PlainTrainer::new(
            Cpu::default(),
            self.model()?,
            &self.texts,
            self.recipe(RATE),
            batch,
            steps,
        )?;
        while trainer.step().is_some() {
            if !go_on() {
                return Ok(false);
            }
        }
        let (model, parameters) = trainer.model();
        let saved = SavedModel {
            parameters: parameters.clone(),
            receipt: None,
            notes: self.notes(),
        };
        saved.write(model.layout(), out)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is asked together, a line's likelihood is that of its own rows, one after the other.
    #[test]
    fn a_line_is_as_likely_as_its_tokens() {
        let folder = tempfile::tempdir().expect("a folder");
        let (text, out) = (folder.path().join("text.txt"), folder.path().join("model"));
        std::fs::write(&text, "a few words\nand a few more of them\n".repeat(40)).expect("a text");
        let models = SmallModels::read(&text).expect("models");
        assert!(!models.train_plainly(9, &out, || false).expect("stopped"));
        assert!(!out.exists(), "what was stopped leaves no model");
        assert!(models.train_plainly(3, &out, || true).expect("trained"));
        let mut model = LineModel::read(&out).expect("a model");
        assert_eq!(model.receipt(), None);
        let long = "xqzj wvkp ".repeat(12);
        let lines: Vec<&str> = (0..120)
            .map(|place| ["a few words", "", long.as_str()][place % 3])
            .collect();
        let mut reported = 0;
        let found = model.log_likelihoods(&lines, |lines| reported += lines);
        assert_eq!((found.len(), reported), (120, 120));
        let Language {
            model,
            parameters,
            vocabulary,
            ..
        } = &mut model.0;
        for (line, found) in lines.iter().zip(found) {
            let tokens = vocabulary.encode(line);
            let one = |row: &[u32]| -> f64 {
                let scores = model.score(parameters, &started(row)).expect("scores");
                scores.iter().sum()
            };
            let expected: f64 = tokens.chunks(LENGTH).map(one).sum();
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
        assert!(
            vocabulary.encode(&long).len() > LENGTH,
            "one line has several rows"
        );
    }
}
