//! Kernels on activations, forward and backward.

use crate::inputs::Inputs;
use device::*;

pub(crate) fn memory<D: Device>(inputs: &mut Inputs<'_, D>) {
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

pub(crate) fn products<D: Device>(inputs: &mut Inputs<'_, D>) {
    let device = inputs.device;
    let (a, b) = (inputs.factor(9000), inputs.factor(9000));
    let plain = inputs.vector(9000);
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
    // One factor that is kept rounded and one that is not, and what they become either.
    for (name, left, right) in [
        ("gemm of the left", &a, &plain),
        ("gemm of the right", &plain, &b),
    ] {
        for mut c in [inputs.factor(60 * 70), inputs.vector(60 * 70)] {
            let (a, b) = (Matrix::new(left, 8, 64), Matrix::new(right, 3, 64).transposed());
            device.gemm(
                Product::new(60, 62, 68),
                1.5,
                a,
                b,
                1.0,
                MatrixMut::new(&mut c, 0, 70),
            );
            inputs.keep(name, &c);
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

pub(crate) fn pointwise<D: Device>(inputs: &mut Inputs<'_, D>, sequences: Sequences, width: usize) {
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
        let (mut values, gradient) = (inputs.factor(rows * width), inputs.factor(rows * width));
        let mut result = inputs.factor(rows * width);
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
    let from = inputs.factor(rows * width);
    let mut result = inputs.factor(rows * width);
    for (name, bias, from) in [
        ("spread", Some(Span::new(&bias, 1)), Some(&from)),
        ("spread alone", None, Some(&from)),
        ("spread bias", Some(Span::new(&bias, 0)), None),
    ] {
        device.spread(rows, width, bias, from, &mut result);
        inputs.keep(label(name), &result);
    }
    let keys = inputs.tokens(sequences.examples, u32::MAX);
    let mask = Mask {
        seed: 0x9876_5432_1234_5678,
        keep: 0.7,
    };
    device.dropout(sequences, width, mask, &keys, &mut output);
    inputs.keep(label("dropout"), &output);
    device.dropout(sequences, width, mask, &keys, &mut result);
    inputs.keep(label("dropout of factors"), &result);

    let (x, mut y) = (inputs.vector(777), inputs.vector(777));
    device.axpy(-0.3, &x, &mut y);
    inputs.keep(label("axpy"), &y);
}

pub(crate) fn cells<D: Device>(inputs: &mut Inputs<'_, D>, examples: usize, hidden: usize) {
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

pub(crate) fn rows<D: Device>(inputs: &mut Inputs<'_, D>, sequences: Sequences, width: usize) {
    let device = inputs.device;
    let count = sequences.rows();
    let label = |name: &str| format!("{name} {:?} {width}", sequences.order);
    let parameters = inputs.vector(2 * width);
    let (scale, shift) = (Span::new(&parameters, 0), Span::new(&parameters, width));
    let input = inputs.vector(count * width);
    let (mut output, mut statistics) = (inputs.factor(count * width), device.zeros(2 * count));
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
    let (gradient, residual) = (inputs.factor(count * width), inputs.factor(count * width));
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
        let mut logits = inputs.factors(&values);
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
        let mut logits = inputs.factors(&values);
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

pub(crate) fn attention<D: Device>(inputs: &mut Inputs<'_, D>, count: usize, steps: usize) {
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
