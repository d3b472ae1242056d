//! From gradients to weights: norms, clipped sums, optimizers and grids.

use crate::inputs::Inputs;
use device::*;

/// Norms and sums. Rows have strides, and the second example is not a number: that reaches its own sum alone, and with weight 0 nothing.
pub(crate) fn gradients<D: Device>(
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
        (inputs.factors(&values), inputs.upload(&values))
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
    let full = strided(&g.1, width);
    let embedded = strided(&a.1, height);
    let (a, other, g) = (
        strided(&a.0, height),
        strided(&other.0, height),
        strided(&g.0, width),
    );
    let tokens = inputs.tokens(count, (height as u32).min(width as u32).min(5));
    let mut sums = device.sums(examples);
    let run = |inputs: &mut Inputs<'_, D>, name: &str, sums: &mut D::Sums, run: &dyn Fn(&mut D::Sums)| {
        device.clear_sums(sums, examples);
        run(sums);
        run(sums);
        inputs.keep_sums(label(name), sums, examples);
    };
    let mut chosen = device.indices(count);
    let places: Vec<u32> = (0..count as u32)
        .map(|row| (row * 7 + 3) % count as u32)
        .collect();
    device.write_indices(&places, &mut chosen);
    let (mut rows, mut picked) = (device.zeros(count * width), device.indices(count));
    device.choose_rows(count, &chosen, g, &mut rows);
    inputs.keep(label("choose_rows"), &rows);
    device.choose_tokens(count, &chosen, &tokens, &mut picked);
    run(inputs, "token_norms of chosen tokens", &mut sums, &|sums| {
        device.token_norms(sequences, &picked, full, sums)
    });
    run(inputs, "square_norms", &mut sums, &|sums| {
        device.square_norms(sequences, g, sums)
    });
    run(inputs, "token_norms", &mut sums, &|sums| {
        device.token_norms(sequences, &tokens, full, sums)
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
        device.tied_norms(sequences, &tokens, embedded, other, g, sums)
    });

    let mut weights = inputs.values(examples);
    if !finite {
        weights[1] = 0.0;
    }
    let known = weights.iter().map(|&weight| D::Scalar::from_f64(weight));
    let mut known_weights = device.zeros(0);
    device.weigh(&known.collect::<Vec<_>>(), &mut known_weights);
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
        let into = SpanMut::new(&mut total, start);
        device.weighted_product(sequences, &known_weights, left, right, into, stride, Some(4));
        inputs.keep(label(name), &total);
    }
    let mut total = inputs.vector(width + 6);
    device.weighted_sum(sequences, &weights, g, SpanMut::new(&mut total, 6));
    inputs.keep(label("weighted_sum"), &total);
    let mut table = inputs.vector(1 + 5 * width);
    device.scatter_add(sequences, &weights, &tokens, full, SpanMut::new(&mut table, 1));
    inputs.keep(label("scatter_add"), &table);
}

pub(crate) fn optimizers<D: Device>(inputs: &mut Inputs<'_, D>) {
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
pub(crate) fn grids<D: Device>(inputs: &mut Inputs<'_, D>) -> Vec<i64> {
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
