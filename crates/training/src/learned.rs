//! What is learned, and from what: everything in a session that is particular to its kind.

use crate::description::shape;
use crate::examples::{Numbers, Texts, synthetic};
use crate::language::{PUBLIC, predicted};
use crate::{Error, Origin, Source};
use device::Device;
use sql::blocking::Dataset;
use train::model::Model;
use train::models::{AnyLanguageModel, Features, Mlp, MlpShape, Network, Part, Tokens};
use train::private::{Examples, PrivateData};
use train::text::{Rows, Vocabulary, read_text};

/// Rows of public text that are measured on during a run.
const MEASURED_ROWS: usize = 500;

/// A kind of model, with the public data that it is measured on.
pub(crate) trait Learned {
    type Batch: Part + Send + 'static;
    type Examples: Examples<Batch = Self::Batch>;
    type Model<D: Device<Scalar = f32> + 'static>: Model<D, Batch = Self::Batch> + Send + 'static;

    /// The usual learning rate.
    const RATE: f64;
    /// What is measured on public data.
    const MEASURED: &'static str;

    /// The model, with no parameters yet.
    fn build<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<Self::Model<D>, Error>;

    /// Measures on public data, if there is some.
    fn measure<D: Device<Scalar = f32> + 'static>(
        &self,
        model: &mut Self::Model<D>,
        parameters: &D::Buffer,
    ) -> Option<f64>;
}

/// A language model, and public text to measure it on.
pub(crate) struct LearnedText {
    network: Network,
    vocabulary: usize,
    validation: Option<Rows>,
}

impl LearnedText {
    pub(crate) fn read(
        origin: &Origin,
        dataset: Option<&Dataset>,
        network: &Network,
        length: usize,
        vocabulary: &str,
    ) -> Result<(PrivateData<Texts>, Self), Error> {
        let vocabulary = Vocabulary::from_json(vocabulary)?;
        let data = Texts::read(&origin.source, dataset, &vocabulary, length)?;
        let learned = Self {
            network: network.clone(),
            vocabulary: vocabulary.len(),
            validation: validation(origin, &vocabulary, length)?,
        };
        Ok((data, learned))
    }
}

/// Public rows to measure perplexity on; synthetic ones where the text is synthetic.
fn validation(origin: &Origin, vocabulary: &Vocabulary, length: usize) -> Result<Option<Rows>, Error> {
    let text = match (&origin.validation, &origin.source) {
        (Some(path), _) => read_text(path)?,
        (None, Source::Synthetic { .. }) => synthetic(MEASURED_ROWS, length, PUBLIC + 1),
        (None, _) => return Ok(None),
    };
    let rows = Rows::of_text(&text, vocabulary, length)?;
    Ok(Some(rows.first(MEASURED_ROWS)))
}

impl Learned for LearnedText {
    type Batch = Tokens;
    type Examples = Texts;
    type Model<D: Device<Scalar = f32> + 'static> = AnyLanguageModel<D>;

    const RATE: f64 = 1e-3;
    const MEASURED: &'static str = "perplexity";

    fn build<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<AnyLanguageModel<D>, Error> {
        Ok(self.network.build(device, self.vocabulary)?)
    }

    fn measure<D: Device<Scalar = f32> + 'static>(
        &self,
        model: &mut AnyLanguageModel<D>,
        parameters: &D::Buffer,
    ) -> Option<f64> {
        let rows = self.validation.as_ref()?;
        Some(predicted(model, parameters, rows).perplexity())
    }
}

/// A classifier or a regressor of rows of a declared table.
pub(crate) struct LearnedTable {
    shape: MlpShape,
}

impl LearnedTable {
    pub(crate) fn read(
        origin: &Origin,
        dataset: Option<&Dataset>,
        encoding: &sql::Encoding,
        hidden: &[usize],
    ) -> Result<(PrivateData<Numbers>, Self), Error> {
        let data = Numbers::read(&origin.source, dataset, encoding)?;
        let learned = Self {
            shape: shape(encoding, hidden),
        };
        Ok((data, learned))
    }
}

impl Learned for LearnedTable {
    type Batch = Features;
    type Examples = Numbers;
    type Model<D: Device<Scalar = f32> + 'static> = Mlp<D>;

    const RATE: f64 = 1e-2;
    // No part of a declared table is public.
    const MEASURED: &'static str = "nothing";

    fn build<D: Device<Scalar = f32> + 'static>(&self, device: D) -> Result<Mlp<D>, Error> {
        Ok(Mlp::new(device, self.shape.clone())?)
    }

    fn measure<D: Device<Scalar = f32> + 'static>(&self, _: &mut Mlp<D>, _: &D::Buffer) -> Option<f64> {
        None
    }
}
