//! Private examples with their owners, closed to everybody but the trainer.

use super::units::{Examples, Units};
use mechanism::Sensitive;

/// Examples, and whose they are: what a private run is about.
///
/// It is as closed as the [`Sensitive`] that it comes from: the examples have no getter, and are not printed, compared or serialized. A [`Trainer`](super::Trainer) computes on them, and what its steps release leaves through the noise
/// of a charged run. As with `Sensitive`, this stops accidents and not a program that means to look: a closure given to `Sensitive::map` sees the rows, and the model inside a trainer holds the gradients of the last batch.
///
/// ```
/// use mechanism::Sensitive;
/// use train::models::{Features, Targets};
/// use train::private::{Dataset, PrivateData, Units};
///
/// let read = Sensitive::new(vec![0.5f32, -0.5]);
/// let data: PrivateData<_> = read
///     .map(|values| {
///         let rows = Features::new(1, 2, values, Targets::Classes(vec![0, 1])).expect("two rows");
///         (Dataset::new("rows", rows), Units::each_example(2))
///     })
///     .into();
/// assert_eq!(format!("{data:?}"), "PrivateData(..)");
/// ```
/// ```compile_fail,E0616
/// use train::models::{Features, Targets};
/// use train::private::{Dataset, PrivateData, Units};
///
/// let rows = Features::new(1, 2, vec![0.5, -0.5], Targets::Classes(vec![0, 1])).unwrap();
/// let data = PrivateData::new(Dataset::new("rows", rows), Units::each_example(2));
/// println!("{:?}", data.examples);
/// ```
pub struct PrivateData<E> {
    examples: E,
    units: Units,
}

impl<E> std::fmt::Debug for PrivateData<E> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PrivateData(..)")
    }
}

impl<E: Examples> PrivateData<E> {
    /// Closes examples that the caller holds.
    pub fn new(examples: E, units: Units) -> Self {
        Self { examples, units }
    }

    /// How many units there are, for a caller who has declared that this number is public: because units are replaced and never added, because the curator says so, or because the data is synthetic.
    /// Where units come and go it is private, and a run under Poisson sampling needs no such number.
    pub fn public_count(&self) -> u64 {
        self.units.count() as u64
    }

    /// The public name of the examples.
    pub fn name(&self) -> String {
        self.examples.name()
    }

    pub(crate) fn examples(&self) -> &E {
        &self.examples
    }

    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    pub(crate) fn into_parts(self) -> (E, Units) {
        (self.examples, self.units)
    }
}

/// Rows that were read as private stay closed: they move from one closed type into the other.
impl<E: Examples> From<Sensitive<(E, Units)>> for PrivateData<E> {
    fn from(rows: Sensitive<(E, Units)>) -> Self {
        let mut moved = None;
        // The one place where training opens a `Sensitive`.
        let _: Sensitive<()> = rows.map(|rows| moved = Some(rows));
        let (examples, units) = moved.expect("`map` calls its closure once");
        Self { examples, units }
    }
}
