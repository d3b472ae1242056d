use super::*;

fn labels(scale: Scale, floor: Floor, values: &[f64]) -> Vec<String> {
    let coordinates: Vec<f64> = values
        .iter()
        .filter_map(|value| scale.coordinate(*value))
        .collect();
    let axis = Axis::fit(scale, floor, None, &coordinates, 500.0, |label| {
        8.0 * label.chars().count() as f64
    });
    axis.ticks.into_iter().map(|tick| tick.label).collect()
}

#[test]
fn linear_ticks_step_by_one_two_or_five() {
    assert_eq!(
        labels(Scale::Linear, Floor::Free, &[0.0, 10.0]),
        ["0", "2", "4", "6", "8", "10"]
    );
    assert_eq!(
        labels(Scale::Linear, Floor::Free, &[0.0, 0.3]),
        ["0", "0.05", "0.10", "0.15", "0.20", "0.25", "0.30"]
    );
    assert_eq!(
        labels(Scale::Linear, Floor::Free, &[-3.0, 3.0]),
        ["−3", "−2", "−1", "0", "1", "2", "3"]
    );
    assert_eq!(
        labels(Scale::Linear, Floor::Bars, &[60_000.0, 250_000.0]),
        ["0", "50,000", "100,000", "150,000", "200,000", "250,000"]
    );
}

#[test]
fn numbered_things_have_whole_ticks() {
    assert_eq!(labels(Scale::Whole, Floor::Free, &[0.75, 2.25]), ["1", "2"]);
    assert_eq!(
        labels(Scale::Whole, Floor::Free, &[0.75, 9.25]),
        ["2", "4", "6", "8"]
    );
}

#[test]
fn an_axis_ends_at_its_ceiling() {
    for (scale, ceiling, values) in [
        (Scale::Linear, 1.0, [1.0, 1.0]),
        (Scale::Log10, 0.0, [-200.0, 0.0]),
    ] {
        let axis = Axis::fit(scale, Floor::Free, Some(ceiling), &values, 500.0, |_| 8.0);
        assert_eq!(axis.fraction(ceiling), 1.0);
        assert_eq!(axis.high, ceiling);
    }
}

#[test]
fn very_large_and_very_small_ticks_share_a_power_of_ten() {
    assert_eq!(
        labels(Scale::Linear, Floor::Bars, &[2e9]),
        ["0", "0.5×10⁹", "1.0×10⁹", "1.5×10⁹", "2.0×10⁹"]
    );
    let small = labels(Scale::Linear, Floor::Free, &[1e-6, 3e-6]);
    assert_eq!(
        small,
        ["1.0×10⁻⁶", "1.5×10⁻⁶", "2.0×10⁻⁶", "2.5×10⁻⁶", "3.0×10⁻⁶"]
    );
}

#[test]
fn logarithmic_ticks_are_decades() {
    assert_eq!(
        labels(Scale::Log10, Floor::Free, &[0.01, 1000.0]),
        ["0.01", "0.1", "1", "10", "100", "1000"]
    );
    assert_eq!(
        labels(Scale::Log10, Floor::Free, &[1e-9, 1e-6]),
        ["10⁻⁹", "10⁻⁸", "10⁻⁷", "10⁻⁶"]
    );
    assert_eq!(labels(Scale::Log10, Floor::Free, &[2.0, 8.0]), ["1", "10"]);
    assert_eq!(
        labels(Scale::Log10, Floor::Free, &[1e-200, 1e200]),
        ["10⁻²⁰⁰", "10⁻¹⁰⁰", "10⁰", "10¹⁰⁰", "10²⁰⁰"]
    );
    assert_eq!(labels(Scale::Log10, Floor::Bars, &[1.0, 100.0])[0], "0.1");
}

#[test]
fn degenerate_data_still_has_an_axis() {
    for scale in [Scale::Linear, Scale::Log10] {
        for values in [
            &[][..],
            &[0.0],
            &[7.0],
            &[7.0, 7.0],
            &[-1e-300],
            &[1e300],
            &[-1e300, 1e300],
            &[f64::NAN],
        ] {
            for floor in [Floor::Free, Floor::Bars] {
                let labels = labels(scale, floor, values);
                assert!(labels.len() >= 2, "{scale:?} {values:?} {labels:?}");
                let mut distinct = labels.clone();
                distinct.dedup();
                assert_eq!(labels, distinct, "{scale:?} {values:?}");
            }
        }
    }
}

#[test]
fn what_has_no_place_has_no_coordinate() {
    assert_eq!(Scale::Linear.coordinate(f64::NAN), None);
    assert_eq!(Scale::Linear.coordinate(f64::NEG_INFINITY), None);
    assert_eq!(Scale::Log10.coordinate(0.0), None);
    assert_eq!(Scale::Log10.coordinate(-1.0), None);
    assert_eq!(Scale::Log10.coordinate(100.0), Some(2.0));
}
