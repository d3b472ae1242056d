//! Every kernel on the processor in `f32` and on a GPU, held against the processor in `f64` on the same inputs.
//!
//! An output may be off by `tolerance` times the largest number of the reference: 2e-5 where sums are made in `f32`, 3e-3 for products of activations that are rounded to
//! TF32. Where there is no GPU that half is left out, and says so.

#![allow(missing_docs, unsafe_code)]

use device::{
    Activation, Adam, Cpu, Cuda, Device, Mask, Matrix, MatrixMut, Momentum, Numbers, Order, Product,
    Products, Rows, Scalar, Sequences, Span, SpanMut,
};

/// Names of kernels with what they gave.
type Outputs = Vec<(String, Vec<f64>)>;

/// Inputs that are the same on every device: numbers that `f32` holds.
struct Inputs<'a, D: Device> {
    device: &'a D,
    state: u64,
    outputs: Outputs,
}

impl<D: Device> Inputs<'_, D> {
    fn word(&mut self) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as u32
    }

    fn values(&mut self, len: usize) -> Vec<f64> {
        (0..len)
            .map(|_| f64::from((f64::from(self.word()) / f64::from(1u32 << 30) - 1.0) as f32))
            .collect()
    }

    fn upload(&self, values: &[f64]) -> D::Buffer {
        let values: Vec<_> = values.iter().map(|&value| D::Scalar::from_f64(value)).collect();
        self.device.upload(&values)
    }

    fn vector(&mut self, len: usize) -> D::Buffer {
        let values = self.values(len);
        self.upload(&values)
    }

    fn tokens(&mut self, len: usize, below: u32) -> D::Indices {
        let tokens: Vec<u32> = (0..len).map(|_| self.word() % below).collect();
        let mut indices = self.device.indices(len);
        self.device.write_indices(&tokens, &mut indices);
        indices
    }

    fn keep(&mut self, name: impl Into<String>, buffer: &D::Buffer) {
        let values = self
            .device
            .download(buffer)
            .into_iter()
            .map(Scalar::to_f64)
            .collect();
        self.outputs.push((name.into(), values));
    }

    fn keep_sums(&mut self, name: impl Into<String>, sums: &D::Sums, len: usize) {
        let values = self.device.download_sums(sums, len);
        self.outputs.push((name.into(), values));
    }
}

fn memory<D: Device>(inputs: &mut Inputs<'_, D>) {
    let device = inputs.device;
    let (x, mut y) = (inputs.vector(100), inputs.vector(120));
    device.copy(Span::new(&x, 10), SpanMut::new(&mut y, 30), 50);
    device.add(Span::new(&x, 0), SpanMut::new(&mut y, 5), 90);
    device.clear_span(SpanMut::new(&mut y, 100), 7);
    inputs.keep("memory", &y);
    let part = device.download_span(Span::new(&y, 3), 9);
    let rest = device.download_span(Span::new(&y, 120), 0);
    assert_eq!((part.len(), rest.len(), device.len(&y)), (9, 0, 120));
    let part = part.into_iter().map(Scalar::to_f64).collect();
    inputs.outputs.push(("download_span".into(), part));
    device.clear(&mut y);
    inputs.keep("clear", &y);
    assert_eq!(device.indices_len(&device.indices(4)), 4);
    assert!(device.download(&device.zeros(0)).is_empty());
}

fn products<D: Device>(inputs: &mut Inputs<'_, D>) {
    let device = inputs.device;
    let (a, b) = (inputs.vector(9000), inputs.vector(9000));
    for (name, beta) in [("gemm", 0.0), ("gemm adding", 0.5)] {
        for (left, right) in [(false, false), (false, true), (true, false), (true, true)] {
            // 3 products of 17 × 40 by 40 × 23.
            let a = Matrix::new(&a, 7, if left { 19 } else { 43 }).batched(800);
            let b = Matrix::new(&b, 5, if right { 41 } else { 29 }).batched(1250);
            let mut c = inputs.vector(3 * 500 + 11);
            device.gemm(
                Product::new(17, 40, 23).times(3),
                0.75,
                if left { a.transposed() } else { a },
                if right { b.transposed() } else { b },
                beta,
                MatrixMut::new(&mut c, 11, 25).batched(500),
            );
            inputs.keep(format!("{name} {left} {right}"), &c);
        }
    }
    let mut c = inputs.vector(6);
    let product = Product::new(2, 0, 3);
    device.gemm(
        product,
        1.0,
        Matrix::new(&a, 0, 1),
        Matrix::new(&b, 0, 3),
        0.0,
        MatrixMut::new(&mut c, 0, 3),
    );
    inputs.keep("gemm of nothing", &c);
    // A column by a row, both with strides of 1, and no rows at all.
    let mut c = inputs.vector(20);
    let (column, row) = (Matrix::new(&a, 0, 1), Matrix::new(&b, 0, 1).transposed());
    device.gemm(
        Product::new(4, 1, 5),
        1.0,
        column,
        row,
        0.0,
        MatrixMut::new(&mut c, 0, 5),
    );
    device.gemm(
        Product::new(0, 1, 5),
        1.0,
        column,
        row,
        0.0,
        MatrixMut::new(&mut c, 0, 5),
    );
    inputs.keep("gemm of columns", &c);
}

fn pointwise<D: Device>(inputs: &mut Inputs<'_, D>, sequences: Sequences, width: usize) {
    let device = inputs.device;
    let rows = sequences.rows();
    let label = |name: &str| format!("{name} {:?} {width}", sequences.order);
    let tokens = inputs.tokens(rows, 9);
    let table = inputs.vector(3 + 9 * width);
    let mut output = inputs.vector(rows * width);
    device.gather(rows, width, &tokens, Span::new(&table, 3), true, &mut output);
    inputs.keep(label("gather adding"), &output);
    device.gather(rows, width, &tokens, Span::new(&table, 3), false, &mut output);
    inputs.keep(label("gather"), &output);

    let bias = inputs.vector(width + 1);
    device.add_bias(rows, width, Span::new(&bias, 1), &mut output);
    inputs.keep(label("add_bias"), &output);
    for activation in [Activation::Gelu, Activation::Relu, Activation::Tanh] {
        let (mut values, gradient) = (inputs.vector(rows * width), inputs.vector(rows * width));
        let mut result = device.zeros(rows * width);
        device.activate(
            activation,
            rows,
            width,
            Some(Span::new(&bias, 1)),
            &mut values,
            &mut result,
        );
        inputs.keep(label(&format!("{activation:?}")), &result);
        device.activate(activation, rows, width, None, &mut values, &mut result);
        inputs.keep(label(&format!("{activation:?} alone")), &result);
        device.activate_backward(activation, rows * width, &gradient, &mut values);
        inputs.keep(label(&format!("{activation:?} backward")), &values);
    }
    let keys = inputs.tokens(sequences.examples, u32::MAX);
    let mask = Mask {
        seed: 0x9876_5432_1234_5678,
        keep: 0.7,
    };
    device.dropout(sequences, width, mask, &keys, &mut output);
    inputs.keep(label("dropout"), &output);

    let (x, mut y) = (inputs.vector(777), inputs.vector(777));
    device.axpy(-0.3, &x, &mut y);
    inputs.keep(label("axpy"), &y);
}

fn cells<D: Device>(inputs: &mut Inputs<'_, D>, examples: usize, hidden: usize) {
    let device = inputs.device;
    let len = examples * hidden;
    let bias = inputs.vector(4 * hidden + 2);
    let mut gates = inputs.vector(4 * len + 5);
    let (mut cells, mut states) = (inputs.vector(2 * len), inputs.vector(len + 3));
    let bias = Span::new(&bias, 2);
    device.lstm_forward(
        examples,
        hidden,
        bias,
        SpanMut::new(&mut gates, 5),
        &mut cells,
        0,
        len,
        SpanMut::new(&mut states, 3),
    );
    inputs.keep("lstm gates", &gates);
    inputs.keep("lstm cells", &cells);
    inputs.keep("lstm states", &states);
    let (gradient, mut cell_gradient) = (inputs.vector(len), inputs.vector(len));
    device.lstm_backward(
        examples,
        hidden,
        SpanMut::new(&mut gates, 5),
        &cells,
        0,
        len,
        Span::new(&gradient, 0),
        &mut cell_gradient,
    );
    inputs.keep("lstm backward", &gates);
    inputs.keep("lstm backward cells", &cell_gradient);

    let mut gates = inputs.vector(4 * len + 5);
    let mut states = inputs.vector(2 * len);
    device.gru_forward(
        examples,
        hidden,
        bias,
        SpanMut::new(&mut gates, 5),
        &mut states,
        len,
        0,
    );
    inputs.keep("gru gates", &gates);
    inputs.keep("gru states", &states);
    let mut last_gradient = inputs.vector(len);
    device.gru_backward(
        examples,
        hidden,
        SpanMut::new(&mut gates, 5),
        &states,
        len,
        Span::new(&gradient, 0),
        &mut last_gradient,
    );
    inputs.keep("gru backward", &gates);
    inputs.keep("gru backward states", &last_gradient);
}

fn rows<D: Device>(inputs: &mut Inputs<'_, D>, sequences: Sequences, width: usize) {
    let device = inputs.device;
    let count = sequences.rows();
    let label = |name: &str| format!("{name} {:?} {width}", sequences.order);
    let parameters = inputs.vector(2 * width);
    let (scale, shift) = (Span::new(&parameters, 0), Span::new(&parameters, width));
    let input = inputs.vector(count * width);
    let (mut output, mut statistics) = (device.zeros(count * width), device.zeros(2 * count));
    device.normalize(
        count,
        width,
        1e-5,
        scale,
        shift,
        &input,
        &mut output,
        &mut statistics,
    );
    inputs.keep(label("normalize"), &output);
    inputs.keep(label("statistics"), &statistics);
    let (gradient, residual) = (inputs.vector(count * width), inputs.vector(count * width));
    let mut examples = device.zeros(sequences.examples * 2 * width);
    for residual in [None, Some(&residual)] {
        device.normalize_backward(
            sequences,
            width,
            scale,
            &input,
            &statistics,
            &gradient,
            residual,
            &mut output,
            &mut examples,
        );
        inputs.keep(
            label(&format!("normalize_backward {}", residual.is_some())),
            &output,
        );
        inputs.keep(label("normalize_backward of examples"), &examples);
    }

    let (targets, bias) = (inputs.tokens(count, width as u32), inputs.vector(width));
    // A row that does not count is 0, whatever it holds.
    let mut scales = inputs.values(count);
    scales[0] = 0.0;
    let mut values = inputs.values(count * width);
    values[0] = f64::NAN;
    let scales = inputs.upload(&scales);
    let mut losses = device.zeros(count);
    for bias in [None, Some(Span::new(&bias, 0))] {
        let mut logits = inputs.upload(&values);
        device.cross_entropy(
            count,
            width,
            bias,
            &targets,
            &scales,
            true,
            &mut logits,
            &mut losses,
        );
        inputs.keep(label("cross_entropy"), &logits);
        inputs.keep(label("cross_entropy losses"), &losses);
        let mut logits = inputs.upload(&values);
        device.cross_entropy(
            count,
            width,
            bias,
            &targets,
            &scales,
            false,
            &mut logits,
            &mut losses,
        );
        inputs.keep(label("cross_entropy losses alone"), &losses);
        let (targets, mut values) = (inputs.vector(count * width), inputs.vector(count * width));
        device.squared_error(count, width, bias, &targets, &mut values, &mut losses);
        inputs.keep(label("squared_error"), &values);
        inputs.keep(label("squared_error losses"), &losses);
    }
}

fn attention<D: Device>(inputs: &mut Inputs<'_, D>, count: usize, steps: usize) {
    let device = inputs.device;
    let len = count * steps * steps;
    let mut values = inputs.values(len);
    // What is right of the diagonal is not read.
    (0..count)
        .filter(|_| steps > 1)
        .for_each(|number| values[number * steps * steps + 1] = f64::NAN);
    let mut scores = inputs.upload(&values);
    device.causal_softmax(count, steps, 0.4, &mut scores);
    inputs.keep(format!("causal_softmax {steps}"), &scores);
    let mut gradient = inputs.upload(&values);
    device.causal_softmax_backward(count, steps, 0.4, &scores, &mut gradient);
    inputs.keep(format!("causal_softmax_backward {steps}"), &gradient);
}

/// Norms and sums. Rows have strides, and the second example is not a number: that reaches its own sum alone, and with weight 0 nothing.
fn gradients<D: Device>(
    inputs: &mut Inputs<'_, D>,
    sequences: Sequences,
    height: usize,
    width: usize,
    finite: bool,
) {
    let device = inputs.device;
    let (count, examples) = (sequences.rows(), sequences.examples);
    let label = |name: &str| {
        format!(
            "{name} {:?} {}×{height}×{width}",
            sequences.order, sequences.steps
        )
    };
    let padded = |inputs: &mut Inputs<'_, D>, width: usize| {
        let mut values = inputs.values(2 + count * (width + 3));
        if !finite {
            values[2 + sequences.row(1, sequences.steps - 1) * (width + 3)] = f64::NAN;
        }
        inputs.upload(&values)
    };
    let (a, other, g) = (
        padded(inputs, height),
        padded(inputs, height),
        padded(inputs, width),
    );
    let strided = |buffer, width| Rows {
        buffer,
        start: 2,
        stride: width + 3,
        width,
    };
    let (a, other, g) = (strided(&a, height), strided(&other, height), strided(&g, width));
    let tokens = inputs.tokens(count, (height as u32).min(width as u32).min(5));
    let mut sums = device.sums(examples);
    let run = |inputs: &mut Inputs<'_, D>, name: &str, sums: &mut D::Sums, run: &dyn Fn(&mut D::Sums)| {
        device.clear_sums(sums, examples);
        run(sums);
        run(sums);
        inputs.keep_sums(label(name), sums, examples);
    };
    run(inputs, "square_norms", &mut sums, &|sums| {
        device.square_norms(sequences, g, sums)
    });
    run(inputs, "token_norms", &mut sums, &|sums| {
        device.token_norms(sequences, &tokens, g, sums)
    });
    run(inputs, "pair_norms", &mut sums, &|sums| {
        device.pair_norms(sequences, &[a, other], true, &[g], sums)
    });
    run(inputs, "pair_norms of parts", &mut sums, &|sums| {
        device.pair_norms(sequences, &[a], false, &[g, g.columns(1, width - 2)], sums);
    });
    run(inputs, "pair_norms of a bias", &mut sums, &|sums| {
        device.pair_norms(sequences, &[], true, &[g], sums)
    });
    for one in [false, true] {
        run(inputs, "product_norms", &mut sums, &|sums| {
            device.product_norms(sequences, a, one, g, sums)
        });
    }
    run(inputs, "tied_norms", &mut sums, &|sums| {
        device.tied_norms(sequences, &tokens, a, other, g, sums)
    });

    let mut weights = inputs.values(examples);
    if !finite {
        weights[1] = 0.0;
    }
    let weights = inputs.upload(&weights);
    for (name, left, right) in [
        ("weighted_product", a, g),
        ("weighted_product of a wide input", g, a),
    ] {
        let stride = right.width + 2;
        let start = 4 + right.width;
        let mut total = inputs.vector(start + left.width * stride);
        let into = SpanMut::new(&mut total, start);
        device.weighted_product(sequences, &weights, left, right, into, stride, Some(4));
        inputs.keep(label(name), &total);
    }
    let mut total = inputs.vector(width + 6);
    device.weighted_sum(sequences, &weights, g, SpanMut::new(&mut total, 6));
    inputs.keep(label("weighted_sum"), &total);
    let mut table = inputs.vector(1 + 5 * width);
    device.scatter_add(sequences, &weights, &tokens, g, SpanMut::new(&mut table, 1));
    inputs.keep(label("scatter_add"), &table);
}

fn optimizers<D: Device>(inputs: &mut Inputs<'_, D>) {
    let device = inputs.device;
    let len = 5000;
    let (gradient, mut parameters) = (inputs.vector(len), inputs.vector(len));
    let (mut first, mut second) = (device.zeros(len), device.zeros(len));
    for (noise, floor) in [(0.0, 0.0), (0.01, 0.002)] {
        let step = Adam {
            rate: 0.01,
            first: 0.9,
            second: 0.999,
            first_correction: 10.0,
            second_correction: 1000.0,
            epsilon: 1e-3,
            decay: 0.1,
            noise,
            floor,
        };
        device.adam(step, &gradient, &mut parameters, &mut first, &mut second);
        inputs.keep("adam", &parameters);
        inputs.keep("adam moments", &second);
    }
    let step = Momentum {
        rate: 0.1,
        momentum: 0.9,
        decay: 0.01,
    };
    device.momentum(step, &gradient, &mut parameters, &mut first);
    inputs.keep("momentum", &parameters);
    inputs.keep("momentum velocity", &first);
}

/// Whole numbers, which are the same on every device.
fn grids<D: Device>(inputs: &mut Inputs<'_, D>) -> Vec<i64> {
    let device = inputs.device;
    let len = 1 << 18;
    let mut values = inputs.values(len);
    for (place, strange) in [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.5 / 1024.0,
        1.5 / 1024.0,
        -2e12,
        3e30,
    ]
    .into_iter()
    .enumerate()
    {
        values[5 + place] = strange;
    }
    let (scale, unit) = (1024.0, 1.0 / 1024.0);
    let mut integers = device.integers(len + 1);
    device.write_integers(&[77, 78], len - 1, &mut integers);
    let mut buffer = inputs.upload(&values);
    device.put_on_grid(scale, &buffer, &mut integers);
    let mut all = device.read_integers(&integers, 0, device.integers_len(&integers));
    assert_eq!((all.len(), all[len]), (len + 1, 78), "what lies behind stays");
    assert_eq!(all[5..9], [0, 1 << 50, -(1 << 50), 0]);
    device.take_off_grid(unit, &integers, &mut buffer);
    inputs.keep("from_grid", &buffer);
    let large = [i64::MAX, i64::MIN, (1 << 53) + 1, -(1 << 60) - 1];
    device.write_integers(&large, 3, &mut integers);
    device.take_off_grid(unit, &integers, &mut buffer);
    inputs.keep("from_grid large", &buffer);
    all.extend(device.read_integers(&integers, 2, 6));
    all
}

fn all<D: Device>(device: &D, large: bool) -> (Outputs, Vec<i64>) {
    let mut inputs = Inputs {
        device,
        state: 7,
        outputs: Vec::new(),
    };
    memory(&mut inputs);
    products(&mut inputs);
    cells(&mut inputs, 7, 33);
    cells(&mut inputs, 40, 300);
    attention(&mut inputs, 6, 1);
    attention(&mut inputs, 5, 37);
    optimizers(&mut inputs);
    for order in [Order::Steps, Order::Examples] {
        let of = |examples, steps| Sequences {
            examples,
            steps,
            order,
        };
        pointwise(&mut inputs, of(5, 9), 70);
        pointwise(&mut inputs, of(20, 3), 1100);
        rows(&mut inputs, of(6, 5), 37);
        rows(&mut inputs, of(3, 2), 1500);
        for finite in [true, false] {
            gradients(&mut inputs, of(5, 9), 20, 70, finite);
            gradients(&mut inputs, of(4, 70), 11, 6, finite);
            gradients(&mut inputs, of(30, 1), 40, 300, finite);
        }
        // Nothing at all is allowed.
        gradients(&mut inputs, of(0, 4), 5, 6, true);
        gradients(&mut inputs, of(4, 0), 5, 6, true);
        if large {
            // More than is done at once: pairs of steps, and rows of weighted products.
            gradients(&mut inputs, of(20, 1000), 4, 6, true);
            gradients(&mut inputs, of(1500, 10), 10, 2400, false);
        }
    }
    let integers = grids(&mut inputs);
    (inputs.outputs, integers)
}

/// What is further from the reference than allowed.
fn differences(outputs: &Outputs, reference: &Outputs, tolerance: impl Fn(&str) -> f64) -> Vec<String> {
    assert_eq!(outputs.len(), reference.len());
    let mut wrong = Vec::new();
    for ((name, values), (_, truth)) in outputs.iter().zip(reference) {
        assert_eq!(values.len(), truth.len(), "{name}");
        let size = truth
            .iter()
            .filter(|value| value.is_finite())
            .fold(0.0f64, |most, value| most.max(value.abs()));
        let error = |(value, truth): (&f64, &f64)| match (value.is_finite(), truth.is_finite()) {
            (true, true) => (value - truth).abs(),
            // Infinite in one order of adding, not a number in another: both say that it is not finite.
            (false, false) => 0.0,
            _ => f64::INFINITY,
        };
        let worst = values.iter().zip(truth).map(error).fold(0.0, f64::max);
        if worst > tolerance(name) * size {
            wrong.push(format!("{name}: off by {:.2e} of the largest", worst / size));
        }
    }
    wrong
}

fn compare(who: &str, outputs: &Outputs, reference: &Outputs, tolerance: impl Fn(&str) -> f64) {
    let wrong = differences(outputs, reference, tolerance);
    assert!(wrong.is_empty(), "{who}:\n{}", wrong.join("\n"));
}

fn single(_: &str) -> f64 {
    2e-5
}

#[test]
fn single_precision_is_near_double_on_the_processor() {
    let (truth, integers) = all(&Cpu::<f64>::new(), false);
    let (outputs, own) = all(&Cpu::<f32>::new(), false);
    compare("the processor in f32", &outputs, &truth, single);
    assert!(integers == own, "grids are exact");
}

/// A number off by a thousandth, one that is not finite where it should be, or the reverse, does not pass.
#[test]
fn a_wrong_number_is_noticed() {
    let (mut truth, _) = all(&Cpu::<f64>::new(), false);
    truth.retain(|(_, values)| values.iter().any(|value| value.is_finite() && *value != 0.0));
    for (name, right) in truth {
        let finite = right.iter().enumerate().filter(|(_, value)| value.is_finite());
        let largest = finite
            .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
            .expect("some are finite")
            .0;
        let first = if right[0].is_finite() { f64::NAN } else { 0.0 };
        for (place, wrong) in [(largest, right[largest] * 1.001), (0, first)] {
            let mut values = right.clone();
            values[place] = wrong;
            let wrong = differences(
                &vec![(name.clone(), values)],
                &vec![(name.clone(), right.clone())],
                single,
            );
            assert_eq!(wrong.len(), 1, "{name}");
        }
    }
}

/// The GPU, or `None` with a word why.
fn gpu(products: Products) -> Option<Cuda> {
    match Cuda::open(0, products) {
        Ok(cuda) => {
            eprintln!("on {}, {products:?} products", cuda.name());
            Some(cuda)
        }
        Err(error) => {
            eprintln!("SKIPPED, nothing ran on a GPU: {error}");
            None
        }
    }
}

#[test]
fn a_gpu_computes_what_the_processor_does() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let (truth, integers) = all(&Cpu::<f64>::new(), true);
    let (outputs, own) = all(&cuda, true);
    compare("the GPU", &outputs, &truth, single);
    assert!(integers == own, "grids are exact");
    let (again, _) = all(&cuda, true);
    let bits = |outputs: &Outputs| -> Vec<Vec<u64>> {
        outputs
            .iter()
            .map(|(_, values)| values.iter().map(|value| value.to_bits()).collect())
            .collect()
    };
    assert!(
        bits(&outputs) == bits(&again),
        "the same work gives the same bits"
    );
}

#[test]
fn rounded_products_touch_products_of_activations_alone() {
    let Some(cuda) = gpu(Products::Rounded) else {
        return;
    };
    let (truth, integers) = all(&Cpu::<f64>::new(), false);
    let (outputs, own) = all(&cuda, false);
    assert!(integers == own, "grids are exact");
    compare("the GPU", &outputs, &truth, |name| {
        if name.starts_with("gemm") { 3e-3 } else { 2e-5 }
    });
}

/// Horner's rule over the field with 2^61 − 1 elements, one number after the other.
fn polynomial(point: u64, numbers: &[i64]) -> u64 {
    let prime = (1u128 << 61) - 1;
    let digits = numbers
        .iter()
        .map(|number| (i128::from(*number) + (1 << 59)) as u128);
    digits.fold(0, |sum, digit| (sum * u128::from(point) + digit) % prime) as u64
}

#[test]
fn a_gpu_computes_polynomials() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let points = [0x1234_5678_9abc_def1, (1 << 61) - 1];
    for (len, chunk) in [
        (0, 8),
        (1, 8),
        (255, 256),
        (256, 256),
        (257, 300),
        (150_000, 1 << 16),
    ] {
        let mut values: Vec<i64> = (0..len as i64)
            .map(|place| (place - 7) * 1_000_003 * 1_000_003)
            .collect();
        let found = |values: &[i64]| {
            let mut integers = cuda.integers(len);
            cuda.write_integers(values, 0, &mut integers);
            match cuda.numbers(&mut integers) {
                Numbers::Here(_) => panic!("the host reaches a GPU's numbers"),
                Numbers::Elsewhere(elsewhere) => elsewhere.polynomials(points, chunk),
            }
        };
        let right = |values: &[i64]| -> Vec<_> {
            let both = |chunk: &[i64]| points.map(|point| polynomial(point, chunk));
            values.chunks(chunk).map(|chunk| Some(both(chunk))).collect()
        };
        assert_eq!(found(&values), right(&values), "{len}");
        if len > 0 {
            values[len / 2] += 1;
            assert_eq!(found(&values), right(&values));
            // Numbers so large that remainders do not tell them apart are left to the host.
            for large in [1 << 59, -(1 << 59), i64::MIN, i64::MAX] {
                values[len / 2] = large;
                let found = found(&values);
                assert_eq!(found[len / 2 / chunk], None);
                assert_eq!(found.iter().filter(|value| value.is_none()).count(), 1);
            }
        }
    }
}

#[test]
fn numbers_on_a_gpu_are_changed_where_they_are() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let mut integers = cuda.integers(1000);
    let values: Vec<i64> = (0..1000).map(|place| place * place).collect();
    cuda.write_integers(&values, 0, &mut integers);
    let Numbers::Elsewhere(mut elsewhere) = cuda.numbers(&mut integers) else {
        panic!("the host reaches a GPU's numbers")
    };
    let mut seen = Vec::new();
    elsewhere.change(&[3, 999, 500], &mut |place, value| {
        seen.push((place, value));
        -value
    });
    elsewhere.change(&[], &mut |_, _| panic!("nothing to change"));
    assert_eq!(seen, [(3, 9), (999, 998_001), (500, 250_000)]);
    drop(elsewhere);
    let mut changed = values;
    for place in [3, 999, 500] {
        changed[place] = -changed[place];
    }
    assert_eq!(cuda.read_integers(&integers, 0, 1000), changed);
}

#[test]
fn a_size_that_does_not_fit_is_refused_before_the_gpu_sees_it() {
    let Some(cuda) = gpu(Products::Full) else { return };
    let caught = std::panic::catch_unwind(|| {
        let (x, mut y) = (cuda.zeros(10), cuda.zeros(20));
        cuda.add(Span::new(&x, 5), SpanMut::new(&mut y, 0), 6);
    });
    assert!(caught.is_err());
    let caught = std::panic::catch_unwind(|| {
        let (x, mut y) = (cuda.zeros(11), cuda.zeros(20));
        let a = Matrix::new(&x, 0, 3);
        cuda.gemm(
            Product::new(4, 3, 3),
            1.0,
            a,
            a,
            0.0,
            MatrixMut::new(&mut y, 0, 3),
        );
    });
    assert!(caught.is_err());
    cuda.synchronize();
}
