//! What people read of a fit.

mod support;

use noise::Seeded;
use regression::{Family, Variable, fit, hypothesis, summary};
use support::{Noise, cells, listed, model};

#[test]
fn a_fit_is_written_as_text_latex_json_and_a_figure() {
    let bounded = |low, high| Variable::Bounded { low, high };
    let model = model(
        "pay ~ g",
        Family::Linear,
        &[("g", listed(&["a_1", "b & c"])), ("pay", bounded(0.0, 100.0))],
    );
    let mut seeded = Seeded::new(2);
    let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..3_000)
        .map(|row| {
            (
                vec![row % 2],
                vec![40.0 + 9.0 * (row % 2) as f64 + 8.0 * seeded.normal()],
            )
        })
        .collect();
    let of = Noise {
        deviation: 6.0,
        gaussian: true,
    };
    let cells = cells(&model, &rows, of, &mut seeded);
    let fit = fit(&model, &cells).unwrap();
    let text = summary::text(&fit);
    for part in [
        "pay ~ g",
        "(Intercept)",
        "g b & c",
        "***",
        "residual standard error",
        "R²",
        "F = ",
        "of it noise",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let latex = summary::latex(&fit, "ε = 1 for each person");
    assert!(
        latex.contains("g b \\& c") && latex.contains("$\\varepsilon$ = 1") && latex.contains("\\bottomrule"),
        "{latex}"
    );
    let figure = summary::forest(&fit);
    assert!(
        figure.contains("difference of pay") && figure.contains("b &amp; c"),
        "{figure}"
    );
    let json = serde_json::to_value(&fit).unwrap();
    assert_eq!(json["coefficients"].as_array().unwrap().len(), 2);
    let means = hypothesis::means(&model, &cells).unwrap();
    let text = summary::means_text(&means, &fit.contrasts());
    assert!(text.contains("a_1") && text.contains("b & c − a_1"), "{text}");
    let test = hypothesis::difference_of_means(&model, &cells, ("b & c", "a_1")).unwrap();
    let text = summary::test_text(&test);
    assert!(text.contains("Welch") && text.contains("< 2e-16"), "{text}");
    let effect = fit.contrast("b", &[("g b & c", 1.0)]).unwrap();
    assert!((effect.estimate - fit.coefficients[1].estimate).abs() < 1e-9);
    assert!(fit.contrast("z", &[("none", 1.0)]).is_err());
}
