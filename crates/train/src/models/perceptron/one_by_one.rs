//! The gradient of one row at a time.

use super::{Mlp, Task};
use crate::layers::Linear;
use crate::model::{OneByOne, Room};
use crate::models::{Features, Targets};
use device::{Activation, Device, Scalar, one_row};

/// A perceptron at some parameters, on this machine's processor.
pub(super) struct RowByRow<'m, S> {
    layers: Vec<&'m Linear>,
    activation: Activation,
    task: Task,
    inputs: usize,
    parameters: Vec<S>,
}

impl<D: Device> Mlp<D> {
    /// `None` where activations are dropped: masks are made by the device.
    pub(super) fn row_by_row(&self, parameters: &D::Buffer) -> Option<RowByRow<'_, D::Scalar>> {
        (self.shape.dropout == 0.0).then(|| RowByRow {
            layers: self.layers.iter().map(|layer| &layer.linear).collect(),
            activation: self.shape.activation,
            task: self.shape.task,
            inputs: self.shape.inputs,
            parameters: self.device.download(parameters),
        })
    }
}

/// # Privacy
///
/// Claim: what [`OneByOne::gradient`] leaves is a function of the row, its target and the parameters.
/// Proof: of the batch only the row's own numbers and its own target are read. Of `room` nothing is read before it was written: the gradient is cleared, each vector of activations and values is filled from its start
/// to its length in the forward pass, and the scratch vector by the layer that is behind it. ∎
/// Audited by: `what_is_made_of_a_row_is_its_own`, bit for bit, with a mutant that does not clear.
impl<S: Scalar> OneByOne<S, Features> for RowByRow<'_, S> {
    fn gradient(&self, batch: &Features, example: usize, room: &mut Room<S>) -> f64 {
        let Room {
            gradient,
            activations,
            values,
            scratch,
        } = room;
        assert_eq!(
            (batch.inputs(), batch.outputs()),
            (self.inputs, self.task.outputs()),
            "rows of another shape"
        );
        let count = self.layers.len();
        activations.resize_with(count, Vec::new);
        values.resize_with(count, Vec::new);
        gradient.clear();
        let row = &batch.values()[example * self.inputs..][..self.inputs];
        activations[0].clear();
        activations[0].extend(row.iter().map(|&value| S::from_f64(f64::from(value))));
        for (number, layer) in self.layers.iter().enumerate() {
            layer.single(&self.parameters, &activations[number], &mut values[number]);
            if let Some(next) = activations.get_mut(number + 1) {
                next.clear();
                next.resize(values[number].len(), S::ZERO);
                one_row::activate(self.activation, &values[number], next);
            }
        }
        let last = &mut values[count - 1];
        let loss = match (batch.targets(), self.task) {
            (Targets::Classes(classes), Task::Classes(_)) => one_row::cross_entropy(classes[example], last),
            (Targets::Numbers(numbers), Task::Numbers(outputs)) => {
                scratch.clear();
                let numbers = &numbers[example * outputs..][..outputs];
                scratch.extend(numbers.iter().map(|&number| S::from_f64(f64::from(number))));
                one_row::squared_error(scratch, last)
            }
            _ => panic!("targets of another task"),
        };
        for number in (1..count).rev() {
            self.layers[number].single_backward(&self.parameters, &values[number], scratch);
            one_row::activate_backward(self.activation, scratch, &mut values[number - 1]);
        }
        for ((layer, input), values) in self.layers.iter().zip(activations).zip(values) {
            layer.single_gradient(input, values, gradient);
        }
        loss.to_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::models::{MlpShape, Part};
    use device::Cpu;
    use noise::{Entropy, Keyed};

    fn shapes() -> Vec<MlpShape> {
        let shape = |hidden: &[usize], activation, task| MlpShape {
            inputs: 9,
            hidden: hidden.to_vec(),
            activation,
            task,
            dropout: 0.0,
        };
        vec![
            shape(&[], Activation::Relu, Task::Classes(2)),
            shape(&[], Activation::Relu, Task::Numbers(1)),
            shape(&[7], Activation::Relu, Task::Classes(3)),
            shape(&[33, 5], Activation::Tanh, Task::Numbers(2)),
            shape(&[20, 20], Activation::Gelu, Task::Classes(19)),
        ]
    }

    /// Rows of which half of the numbers are 0. With `strange`, some numbers are not finite, very large or very small.
    fn rows(shape: &MlpShape, count: usize, strange: bool) -> Features {
        let mut bits = Keyed::new([5; 32], count as u64);
        let odd = [f32::NAN, f32::INFINITY, f32::MAX, f32::from_bits(1), -0.0];
        let mut number = || match bits.bits(5) {
            draw if draw < 16 => 0.0,
            draw if draw < 21 && strange => odd[draw as usize - 16],
            _ => bits.bits(20) as f32 / (1 << 19) as f32 - 1.0,
        };
        let values = (0..count * shape.inputs).map(|_| number()).collect();
        let outputs = shape.task.outputs();
        let targets = match shape.task {
            Task::Classes(_) => Targets::Classes((0..count).map(|row| (row % outputs) as u32).collect()),
            Task::Numbers(_) => Targets::Numbers((0..count * outputs).map(|_| number()).collect()),
        };
        Features::new(shape.inputs, outputs, values, targets).unwrap()
    }

    fn model(shape: &MlpShape) -> (Mlp<Cpu<f32>>, Vec<f32>) {
        let model = Mlp::new(Cpu::new(), shape.clone()).unwrap();
        let mut parameters = model.initial(3);
        // Biases too.
        parameters
            .iter_mut()
            .enumerate()
            .for_each(|(place, value)| *value += (place % 7) as f32 * 0.01);
        (model, parameters)
    }

    /// Of a row: its loss, and its gradient with the places of its runs, in bits.
    fn made(
        single: &dyn OneByOne<f32, Features>,
        batch: &Features,
        row: usize,
        room: &mut Room<f32>,
    ) -> Vec<u64> {
        let loss = single.gradient(batch, row, room);
        let gradient = &room.gradient;
        let runs = gradient.runs_of(gradient.values());
        let runs = runs.flat_map(|(start, values)| {
            std::iter::once(start as u64).chain(values.iter().map(|value| u64::from(value.to_bits())))
        });
        std::iter::once(loss.to_bits()).chain(runs).collect()
    }

    /// Whether each row is made as it is when it is alone, bit for bit: among others, in any order, with memory that held others before.
    fn each_is_its_own(single: &dyn OneByOne<f32, Features>, batch: &Features) -> bool {
        let mut room = Room::default();
        let count = batch.len();
        (0..3 * count).all(|turn| {
            let row = turn * 5 % count;
            let alone = batch.pick(&[row]);
            made(single, batch, row, &mut room) == made(single, &alone, 0, &mut Room::default())
        })
    }

    /// The mutant: what the memory held before stays in it.
    struct Uncleared<'m>(RowByRow<'m, f32>);

    impl OneByOne<f32, Features> for Uncleared<'_> {
        fn gradient(&self, batch: &Features, example: usize, room: &mut Room<f32>) -> f64 {
            let before = std::mem::take(&mut room.gradient);
            let loss = self.0.gradient(batch, example, room);
            let values = room.gradient.values_mut().iter_mut();
            values
                .zip(before.values())
                .for_each(|(value, before)| *value += before);
            loss
        }
    }

    #[test]
    fn what_is_made_of_a_row_is_its_own() {
        for shape in shapes() {
            let (model, parameters) = model(&shape);
            let made = || model.row_by_row(&parameters).unwrap();
            for strange in [false, true] {
                let batch = rows(&shape, 37, strange);
                assert!(each_is_its_own(&made(), &batch), "{shape:?}");
                assert!(!each_is_its_own(&Uncleared(made()), &batch));
            }
        }
    }

    /// The same gradients and losses as by a pass of the model.
    #[test]
    fn rows_one_by_one_are_what_a_pass_makes_of_them() {
        for shape in shapes() {
            let (mut model, parameters) = model(&shape);
            let batch = rows(&shape, 24, false);
            for row in 0..batch.len() {
                let mut room = Room::default();
                let loss = model
                    .row_by_row(&parameters)
                    .unwrap()
                    .gradient(&batch, row, &mut room);
                let mut single = vec![0.0f32; parameters.len()];
                for (start, values) in room.gradient.runs_of(room.gradient.values()) {
                    let places = single[start..][..values.len()].iter_mut();
                    places.zip(values).for_each(|(place, value)| *place += value);
                }
                let mut passed = vec![0.0f32; parameters.len()];
                let losses = model.backward(&parameters, &batch.pick(&[row]));
                model.accumulate(&[1.0], &mut passed);
                assert!((loss - losses[0]).abs() < 1e-5 * (1.0 + loss.abs()), "{shape:?}");
                for (one, other) in single.iter().zip(&passed) {
                    assert!((one - other).abs() < 1e-5, "{shape:?}: {one} {other}");
                }
            }
        }
    }

    #[test]
    fn rows_go_through_the_model_where_activations_are_dropped() {
        let mut shape = shapes().remove(2);
        shape.dropout = 0.5;
        let (model, parameters) = model(&shape);
        assert!(Model::one_by_one(&model, &parameters).is_none());
    }
}
