//! Whole figures: what a reader sees, and what must never be in the text of one.

use super::*;

/// A fixed stream of bits for test data: Knuth's linear congruential generator. Nothing private depends on
/// it.
struct Bits(u64);

impl Bits {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 ^ (self.0 >> 29)
    }

    /// Any `f64` at all: ordinary, tiny, huge, infinite, not a number.
    fn float(&mut self) -> f64 {
        match self.next() % 4 {
            0 => f64::from_bits(self.next()),
            1 => [
                0.0,
                -0.0,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MAX,
                f64::MIN_POSITIVE,
                5e-324,
            ][(self.next() % 8) as usize],
            _ => (self.next() % 2001) as f64 / 10.0 - 100.0,
        }
    }

    fn pairs(&mut self) -> Vec<(f64, f64)> {
        (0..self.next() % 6)
            .map(|_| (self.float(), self.float()))
            .collect()
    }

    fn triples(&mut self) -> Vec<(f64, f64, f64)> {
        (0..self.next() % 6)
            .map(|_| (self.float(), self.float(), self.float()))
            .collect()
    }
}

/// Every attribute that a renderer reads as numbers, in order of appearance.
fn numbers(svg: &str) -> Vec<f64> {
    let body = svg.split_once("</style>").map_or(svg, |parts| parts.1);
    let attributes = [" d=\"", " x=\"", " y=\"", " width=\"", " height=\""];
    let mut numbers = Vec::new();
    for attribute in attributes {
        for value in body
            .split(attribute)
            .skip(1)
            .filter_map(|rest| rest.split('"').next())
        {
            let spaced = value.replace('-', " -");
            let tokens = spaced.split(|c: char| c.is_whitespace() || "MLHVZmlhvza%".contains(c));
            for token in tokens.filter(|token| !token.is_empty()) {
                numbers.push(
                    token
                        .parse()
                        .unwrap_or_else(|_| panic!("not a number: {token:?} in {value:?}")),
                );
            }
        }
    }
    numbers
}

#[test]
fn no_data_whatever_puts_a_bad_number_in_the_figure() {
    let mut bits = Bits(20_240_607);
    for round in 0..4000 {
        let scale = |bit: u64| {
            if bit.is_multiple_of(2) {
                Scale::Linear
            } else {
                Scale::Log10
            }
        };
        let values: Vec<f64> = (0..bits.next() % 9).map(|_| bits.float()).collect();
        let figure = Figure::new("any")
            .x_axis("x", scale(bits.next() >> 7))
            .y_axis("y", scale(bits.next() >> 7))
            .bars("bars", &bits.triples())
            .bars("counted", &histogram(&values, (bits.next() % 7) as usize))
            .band("band", &bits.triples())
            .line("line", &bits.pairs())
            .points("points", &bits.pairs())
            .vertical("reference", bits.float())
            .horizontal("reference", bits.float());
        let svg = figure.to_svg();
        for number in numbers(&svg) {
            assert!(
                number.is_finite() && number.abs() < 2000.0,
                "round {round}: {number} in {svg}"
            );
        }
        assert!(
            !svg.contains("NaN") && !svg.contains("inf"),
            "round {round}: {svg}"
        );
    }
}

#[test]
fn figures_without_usable_data_say_so() {
    let nothing = Figure::new("empty")
        .line("a", &[])
        .points("b", &[(f64::NAN, 1.0)])
        .vertical("c", f64::INFINITY);
    let svg = nothing.to_svg();
    assert!(svg.contains(">no data</text>"));
    assert!(!svg.contains("class=\"series-"));
    let something = nothing.points("d", &[(1.0, 1.0)]).to_svg();
    assert!(!something.contains("no data"));
}

#[test]
fn the_legend_appears_only_to_tell_names_apart() {
    let one = Figure::new("t")
        .line("alone", &[(0.0, 0.0), (1.0, 1.0)])
        .line("", &[(0.0, 1.0)]);
    assert!(!one.to_svg().contains("alone"));
    let same = one.clone().band("alone", &[(0.0, 0.0, 1.0)]);
    assert!(!same.to_svg().contains("alone"));
    let two = same.points("other", &[(0.5, 0.5)]).to_svg();
    assert_eq!(two.matches(">alone</text>").count(), 1);
    assert_eq!(two.matches(">other</text>").count(), 1);
}

#[test]
fn one_name_is_one_colour() {
    let svg = Figure::new("t")
        .line("measured", &[(0.0, 1.0)])
        .horizontal("bound", 2.0)
        .band("measured", &[(0.0, 0.0, 2.0)])
        .to_svg();
    let coloured = |class: &str| svg.matches(&format!("<g class=\"{class}\">")).count();
    // One group in the legend, and one for each series.
    assert_eq!(
        (coloured("series-0"), coloured("series-1"), coloured("series-2")),
        (3, 2, 0)
    );
}

#[test]
fn words_from_the_caller_are_text_and_never_markup() {
    let hostile = "</text><script>alert('&\"')</script>\u{0}";
    let svg = Figure::new(hostile)
        .x_axis(hostile, Scale::Linear)
        .y_axis(hostile, Scale::Linear)
        .line(hostile, &[(0.0, 1.0)])
        .line("another", &[(0.0, 1.0)])
        .to_svg();
    assert!(!svg.contains("<script"));
    assert!(!svg.contains('\u{0}'));
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;"));
}

#[test]
fn long_words_make_the_figure_taller_not_wider() {
    let height = |svg: &str| {
        svg.split_once("viewBox=\"0 0 720 ")
            .and_then(|(_, rest)| rest.split('"').next()?.parse().ok())
    };
    let short: Option<f64> = height(&Figure::new("t").to_svg());
    let long: Option<f64> = height(
        &Figure::new("a title ".repeat(40))
            .x_axis("an axis ".repeat(40), Scale::Linear)
            .to_svg(),
    );
    assert!(long > short && short.is_some(), "{short:?} {long:?}");
}

#[test]
fn a_small_figure() {
    let svg = Figure::new("Noise at ε = 1")
        .x_axis("noise", Scale::Linear)
        .y_axis("probability", Scale::Log10)
        .bars(
            "measured",
            &[(-1.5, -0.5, 0.17), (-0.5, 0.5, 0.46), (0.5, 1.5, 0.0)],
        )
        .line("distribution", &[(-1.0, 0.17), (0.0, 0.462), (1.0, 0.17)])
        .vertical("true answer", 0.0)
        .to_svg();
    insta::assert_snapshot!(svg);
}
