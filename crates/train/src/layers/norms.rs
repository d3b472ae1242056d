//! Norms of the gradients of examples, or of all examples of a unit.
//!
//! A unit with several texts is clipped as one, so the norm that counts is that of the sum of their gradients: Σ over all pairs of steps of all its texts of ⟨a_t, a_s⟩⟨g_t, g_s⟩. To a kernel for norms that is one
//! example with more steps. So the rows of a unit are brought side by side, some units of one size at a time, and the kernels for examples see units. No unit's gradient is kept, and the bound on rounding errors
//! (`rounding.rs` of the crate `device`) holds for units as it does for examples: it is about rows, wherever they came from.

use super::{reserve, reserve_indices};
use device::{Device, Order, Rows, Sequences};
use std::ops::Range;

/// Where squared norms are added up, one sum an example or a unit.
pub struct Norms<'a, D: Device> {
    /// Where it runs.
    pub device: &'a D,
    /// The shape of what norms are of: for units, each is an example with all its rows.
    pub sequences: Sequences,
    /// One sum each.
    pub sums: &'a mut D::Sums,
    /// How rows are brought together; `None` where each example is by itself.
    together: Option<Together<'a, D>>,
}

/// Rows of some units, one unit after the other.
struct Together<'a, D: Device> {
    chosen: &'a D::Indices,
    /// The same for what has one row an example.
    examples: &'a D::Indices,
    /// Examples of each unit.
    size: usize,
    rows: &'a mut [D::Buffer; PARTS],
    tokens: &'a mut D::Indices,
}

/// The most factors of one kernel.
const PARTS: usize = 4;

impl<'a, D: Device> Norms<'a, D> {
    /// Of examples, each by itself.
    pub fn new(device: &'a D, sequences: Sequences, sums: &'a mut D::Sums) -> Self {
        Self {
            device,
            sequences,
            sums,
            together: None,
        }
    }

    /// See [`Device::pair_norms`].
    pub fn pairs(&mut self, inputs: &[Rows<'_, D::Buffer>], one: bool, gradients: &[Rows<'_, D::Buffer>]) {
        let (device, sequences) = (self.device, self.sequences);
        let Some(together) = &mut self.together else {
            return device.pair_norms(sequences, inputs, one, gradients, self.sums);
        };
        let all: Vec<_> = inputs.iter().chain(gradients).copied().collect();
        let all = together.rows(device, sequences.rows(), &all);
        let (inputs, gradients) = all.split_at(inputs.len());
        device.pair_norms(sequences, inputs, one, gradients, self.sums);
    }

    /// See [`Device::product_norms`].
    pub fn products(&mut self, input: Rows<'_, D::Buffer>, one: bool, gradient: Rows<'_, D::Buffer>) {
        let (device, sequences) = (self.device, self.sequences);
        let Some(together) = &mut self.together else {
            return device.product_norms(sequences, input, one, gradient, self.sums);
        };
        let all = together.rows(device, sequences.rows(), &[input, gradient]);
        device.product_norms(sequences, all[0], one, all[1], self.sums);
    }

    /// See [`Device::token_norms`]. `distinct` says that no token comes twice in an example; in a unit it may.
    pub fn tokens(&mut self, tokens: &D::Indices, distinct: bool, gradient: Rows<'_, D::Buffer>) {
        let (device, sequences) = (self.device, self.sequences);
        let Some(together) = &mut self.together else {
            return if distinct {
                device.square_norms(sequences, gradient, self.sums)
            } else {
                device.token_norms(sequences, tokens, gradient, self.sums)
            };
        };
        together.choose_tokens(device, sequences.rows(), tokens);
        let (rows, tokens) = together.rows_and_tokens(device, sequences.rows(), &[gradient]);
        device.token_norms(sequences, tokens, rows[0], self.sums);
    }

    /// See [`Device::tied_norms`].
    pub fn tied(
        &mut self,
        tokens: &D::Indices,
        embedded: Rows<'_, D::Buffer>,
        input: Rows<'_, D::Buffer>,
        logits: Rows<'_, D::Buffer>,
    ) {
        let (device, sequences) = (self.device, self.sequences);
        let Some(together) = &mut self.together else {
            return device.tied_norms(sequences, tokens, embedded, input, logits, self.sums);
        };
        together.choose_tokens(device, sequences.rows(), tokens);
        let (rows, tokens) = together.rows_and_tokens(device, sequences.rows(), &[embedded, input, logits]);
        device.tied_norms(sequences, tokens, rows[0], rows[1], rows[2], self.sums);
    }

    /// Adds the squared norm of gradients that were made, one row an example.
    pub fn made(&mut self, rows: Rows<'_, D::Buffer>) {
        let device = self.device;
        let examples = Sequences::single(self.sequences.examples);
        let Some(together) = &mut self.together else {
            return device.square_norms(examples, rows, self.sums);
        };
        // ‖Σ row‖² = Σ over pairs of 1·⟨row, row⟩.
        let units = Sequences {
            steps: together.size,
            order: Order::Examples,
            ..examples
        };
        reserve(device, &mut together.rows[0], units.rows() * rows.width);
        device.choose_rows(units.rows(), together.examples, rows, &mut together.rows[0]);
        let rows = Rows::new(&together.rows[0], rows.width);
        device.pair_norms(units, &[], true, &[rows], self.sums);
    }
}

impl<D: Device> Together<'_, D> {
    /// The chosen rows of each of these.
    fn rows<'r>(
        &'r mut self,
        device: &D,
        count: usize,
        all: &[Rows<'_, D::Buffer>],
    ) -> Vec<Rows<'r, D::Buffer>> {
        self.rows_and_tokens(device, count, all).0
    }

    fn rows_and_tokens<'r>(
        &'r mut self,
        device: &D,
        count: usize,
        all: &[Rows<'_, D::Buffer>],
    ) -> (Vec<Rows<'r, D::Buffer>>, &'r D::Indices) {
        assert!(all.len() <= PARTS, "a kernel with more factors");
        for (rows, into) in all.iter().zip(self.rows.iter_mut()) {
            reserve(device, into, count * rows.width);
            device.choose_rows(count, self.chosen, *rows, into);
        }
        let made = all.iter().zip(self.rows.iter());
        let made = made.map(|(rows, made)| Rows::new(made, rows.width)).collect();
        (made, self.tokens)
    }

    fn choose_tokens(&mut self, device: &D, count: usize, tokens: &D::Indices) {
        reserve_indices(device, self.tokens, count);
        device.choose_tokens(count, self.chosen, tokens, self.tokens);
    }
}

/// Which examples of a batch belong together, and memory for their norms.
pub struct Grouping<D: Device> {
    /// So many examples in a row to each unit; `None` where each is by itself.
    sizes: Option<Vec<usize>>,
    chosen: D::Indices,
    examples: D::Indices,
    rows: [D::Buffer; PARTS],
    tokens: D::Indices,
    sums: D::Sums,
    room: usize,
    /// Of some units each, and how many there is room for.
    of_units: Vec<(D::Sums, usize)>,
}

impl<D: Device> Grouping<D> {
    /// Each example by itself.
    pub fn new(device: &D) -> Self {
        Self {
            sizes: None,
            chosen: device.indices(0),
            examples: device.indices(0),
            rows: std::array::from_fn(|_| device.zeros(0)),
            tokens: device.indices(0),
            sums: device.sums(0),
            room: 0,
            of_units: Vec::new(),
        }
    }

    /// See [`crate::model::Model::group`].
    pub fn set(&mut self, sizes: Option<&[usize]>) {
        self.sizes = sizes.map(<[usize]>::to_vec);
    }

    /// The squared norm of each example, or of each unit: `add` adds those of all layers.
    ///
    /// # Panics
    /// When the units have other examples than the batch.
    pub fn norms(
        &mut self,
        device: &D,
        sequences: Sequences,
        mut add: impl FnMut(&mut Norms<'_, D>),
    ) -> Vec<f64> {
        let most = sequences.examples;
        if self.room < most {
            self.sums = device.sums(most);
            self.room = most;
        }
        let Some(sizes) = &self.sizes else {
            device.clear_sums(&mut self.sums, most);
            add(&mut Norms::new(device, sequences, &mut self.sums));
            return device.download_sums(&self.sums, most);
        };
        assert_eq!(sizes.iter().sum::<usize>(), most, "units of another batch");
        let all = some_of_one_size(sizes, sequences.steps, D::ROWS_TOGETHER);
        for (number, (size, units)) in all.iter().enumerate() {
            if self.of_units.len() <= number {
                self.of_units.push((device.sums(0), 0));
            }
            let (sums, room) = &mut self.of_units[number];
            if *room < units.len() {
                (*sums, *room) = (device.sums(units.len()), units.len());
            }
            let examples = examples_of(*size, units);
            let rows = |example: &u32| -> Vec<u32> {
                let row = |step| match *example {
                    u32::MAX => u32::MAX,
                    example => sequences.row(example as usize, step) as u32,
                };
                (0..sequences.steps).map(row).collect()
            };
            let chosen: Vec<u32> = examples.iter().flat_map(rows).collect();
            for (into, values) in [(&mut self.chosen, chosen), (&mut self.examples, examples)] {
                reserve_indices(device, into, values.len());
                device.write_indices(&values, into);
            }
            device.clear_sums(sums, units.len());
            add(&mut Norms {
                device,
                sequences: Sequences {
                    examples: units.len(),
                    steps: size * sequences.steps,
                    order: Order::Examples,
                },
                sums,
                together: Some(Together {
                    chosen: &self.chosen,
                    examples: &self.examples,
                    size: *size,
                    rows: &mut self.rows,
                    tokens: &mut self.tokens,
                }),
            });
        }
        // Read at the end: until then nobody waits for the device.
        let mut squares = vec![0.0; sizes.len()];
        for ((_, units), (sums, _)) in all.iter().zip(&self.of_units) {
            for ((unit, _), sum) in units.iter().zip(device.download_sums(sums, units.len())) {
                squares[*unit] = sum;
            }
        }
        squares
    }
}

/// Rows at once from which on it is better to have few kinds of sizes than no rows in vain.
const MUCH: usize = 1024;

/// A unit by its number, with its examples.
type Unit = (usize, Range<usize>);

/// The examples of units, one unit after the other; what a unit is short of `size` is no example.
fn examples_of(size: usize, units: &[Unit]) -> Vec<u32> {
    let of = |(_, examples): &Unit| {
        let own = examples.clone().map(|example| example as u32);
        own.chain(std::iter::repeat(u32::MAX))
            .take(size)
            .collect::<Vec<_>>()
    };
    units.iter().flat_map(of).collect()
}

/// Units of about one size, with the largest size among them, about as many as have `rows` rows. Where a device takes much at once, units of several sizes go together: between powers of two there is one more. Units
/// without examples are left out.
fn some_of_one_size(sizes: &[usize], steps: usize, rows: usize) -> Vec<(usize, Vec<Unit>)> {
    let mut by_size = std::collections::BTreeMap::<usize, Vec<Unit>>::new();
    let mut start = 0;
    for (unit, &size) in sizes.iter().enumerate() {
        let power = size.next_power_of_two();
        let class = match power * 3 / 4 {
            _ if rows < MUCH => size,
            less if less >= size && power >= 4 => less,
            _ => power,
        };
        by_size
            .entry(class)
            .or_default()
            .push((unit, start..start + size));
        start += size;
    }
    by_size.retain(|_, units| {
        units.retain(|(_, examples)| !examples.is_empty());
        !units.is_empty()
    });
    let mut all = Vec::new();
    for (size, units) in by_size {
        let count = (rows / (size * steps).max(1)).max(1);
        all.extend(units.chunks(count).map(|units| (size, units.to_vec())));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_with_examples_comes_once_and_with_its_own() {
        let some = some_of_one_size(&[2, 0, 1, 2, 2, 1], 10, 45);
        assert_eq!(
            some,
            [
                (1, vec![(2, 2..3), (5, 7..8)]),
                (2, vec![(0, 0..2), (3, 3..5)]),
                (2, vec![(4, 5..7)]),
            ]
        );
        assert_eq!(some_of_one_size(&[3, 3], 0, 0).len(), 2);
        let few = some_of_one_size(&[1, 5, 6, 7, 0, 3, 4, 2], 10, 8192);
        let sizes: Vec<usize> = few.iter().map(|(size, _)| *size).collect();
        assert_eq!(sizes, [1, 2, 3, 4, 6, 8]);
        assert_eq!(
            examples_of(6, &few[4].1),
            [1, 2, 3, 4, 5, u32::MAX, 6, 7, 8, 9, 10, 11]
        );
    }
}
