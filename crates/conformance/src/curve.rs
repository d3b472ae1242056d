//! δ against ε, drawn.

use audit::document::{Number, Pair, Verified, delta_words, epsilon_words};
use audit::exact_audit::{Answer, smallest_delta_at, smallest_epsilon};
use exact::{Interval, Rational, from_f64, ratio};
use report::{Figure, Scale};

/// How many points the curve is drawn through, besides those that are marked.
const POINTS: u32 = 64;
/// Precision of each, and where that does not tell it from zero; the line is thicker than its error.
const BITS: [u32; 2] = [128, 512];
/// The axis ends here whatever is asked for: beyond it nothing is protected.
const FARTHEST: f64 = 4000.0;
/// Where a curve that never reaches its end is followed to, unless a smaller δ is marked.
const SMALL_DELTA: f64 = 1e-6;
/// A mark this many times farther out than the curve would squeeze the curve into a corner.
const FAR: f64 = 3.0;

/// A point to mark.
#[derive(Debug)]
struct Highlight {
    name: &'static str,
    epsilon: f64,
    delta: f64,
    /// What it says, for where it has no place in the figure.
    words: String,
}

/// The smallest δ at each ε, drawn, with the claim and what was found marked on it.
///
/// ```
/// use audit::document::{Format, Question, answer, parse};
///
/// let pair = parse("[mechanism]\nkind = \"laplace\"\nscale = 2\n", Format::Toml)?;
/// let figure = conformance::curve(&answer(pair, Question::default())?);
/// assert!(figure.to_svg().contains("smallest ε"));
/// # Ok::<(), audit::document::Mistake>(())
/// ```
pub fn curve(verified: &Verified) -> Figure {
    draw(&verified.pair, &highlights(verified))
}

/// Points worth marking on the curve.
fn highlights(verified: &Verified) -> Vec<Highlight> {
    let nearest = |number: &Number| exact::to_f64_nearest(&number.0);
    let mut highlights = Vec::new();
    if let Some((claim, _)) = &verified.verdict
        && let Some(epsilon) = &claim.epsilon
    {
        highlights.push(Highlight {
            name: "the claim",
            epsilon: nearest(epsilon),
            delta: nearest(&claim.delta_or_zero()),
            words: format!("claim: {}", claim.words()),
        });
    }
    if let Some((delta, Answer::Finite(epsilon))) = &verified.epsilon {
        highlights.push(Highlight {
            name: "smallest ε",
            epsilon: epsilon.to_f64_nearest(),
            delta: nearest(delta),
            words: epsilon_words(delta, &Answer::Finite(epsilon.clone())),
        });
    }
    if let Some((epsilon, delta)) = &verified.delta
        && drawable(delta)
    {
        highlights.push(Highlight {
            name: "smallest δ",
            epsilon: nearest(epsilon),
            delta: delta.to_f64_nearest(),
            words: delta_words(epsilon, delta),
        });
    }
    highlights
}

/// The figure, with the highlights marked on it.
fn draw(pair: &Pair, highlights: &[Highlight]) -> Figure {
    let answer = smallest_epsilon(&pair.first, &pair.second, &Rational::ZERO).ok();
    // A δ that falls towards zero and never gets there is worth following down its decades.
    let endless =
        matches!(&answer, Some(Answer::NoFinite { smallest_delta }) if smallest_delta.upper().is_zero());
    let pure = match &answer {
        Some(Answer::Finite(epsilon)) => Some(epsilon.to_f64_nearest()),
        _ => None,
    };
    let marked = || highlights.iter().map(|highlight| highlight.epsilon);
    let least = highlights.iter().map(|highlight| highlight.delta);
    let least = least.filter(|delta| *delta > 0.0).fold(SMALL_DELTA, f64::min);
    let reach = end_of_curve(pair, answer.as_ref(), least);
    let reach = if reach > 0.0 { reach.min(FARTHEST) } else { 1.0 };
    let near = |epsilon: &f64| *epsilon <= FAR * reach;
    let end = 1.15 * marked().filter(near).fold(reach, f64::max);

    let grid = (0..=POINTS).map(|step| end * f64::from(step) / f64::from(POINTS));
    let mut places: Vec<f64> = grid.chain(marked().filter(near)).chain(pure).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let curve: Vec<(f64, f64)> = places
        .into_iter()
        .map(|epsilon| (epsilon, height(pair, epsilon, pure)))
        .collect();
    let scale = if endless { Scale::Log10 } else { Scale::Linear };
    let figure = Figure::new(pair.words.clone())
        .x_axis("ε", Scale::Linear)
        .y_axis("smallest δ", scale)
        .y_at_most(1.0)
        .line("smallest δ at each ε", &curve);
    highlights.iter().fold(figure, |figure, highlight| {
        let Highlight {
            name,
            epsilon,
            delta,
            words,
        } = highlight;
        if !near(epsilon) {
            figure.vertical(format!("{words} (beyond this edge)"), end)
        } else if endless && *delta == 0.0 {
            // A logarithmic axis has no zero.
            figure.vertical(words.clone(), *epsilon)
        } else {
            figure.points(*name, &[(*epsilon, *delta)])
        }
    })
}

/// The smallest δ at ε; NaN, which is not drawn, where all that is known is that it is small.
fn height(pair: &Pair, epsilon: f64, pure: Option<f64>) -> f64 {
    if pure.is_some_and(|pure| epsilon >= pure) {
        return 0.0;
    }
    let Some(epsilon) = from_f64(epsilon) else {
        return f64::NAN;
    };
    BITS.into_iter()
        .filter_map(|bits| smallest_delta_at(&pair.first, &pair.second, &epsilon, bits).ok())
        .find(drawable)
        .map_or(f64::NAN, |delta| delta.to_f64_nearest())
}

/// Whether the middle of an enclosure says where the number is: not when it may be zero or not.
fn drawable(delta: &Interval) -> bool {
    !delta.lower().is_zero() || delta.upper().is_zero()
}

/// An ε by which the curve has come down to within `least` of its end.
fn end_of_curve(pair: &Pair, pure: Option<&Answer>, least: f64) -> f64 {
    let least = from_f64(least).unwrap_or_else(|| ratio(1, 1_000_000));
    let near = |gap: Rational| match smallest_epsilon(
        &pair.first,
        &pair.second,
        &(gap + least).min(Rational::ONE),
    ) {
        Ok(Answer::Finite(epsilon)) => epsilon.to_f64_nearest(),
        _ => 10.0,
    };
    match pure {
        Some(Answer::Finite(epsilon)) => epsilon.to_f64_nearest(),
        Some(Answer::NoFinite { smallest_delta }) => near(smallest_delta.upper()),
        None => near(Rational::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::document::{Format, parse};

    fn pair(text: &str) -> Pair {
        parse(text, Format::Toml).expect("a mechanism")
    }

    fn gaussian() -> Pair {
        pair("[mechanism]\nkind = \"gaussian\"\nsigma = 1\n")
    }

    fn claim(epsilon: f64, delta: f64) -> Highlight {
        Highlight {
            name: "the claim",
            epsilon,
            delta,
            words: format!("claim: ε = {epsilon}, δ = {delta}"),
        }
    }

    /// The labels of the horizontal and the vertical axis as numbers, where they are plain.
    fn labels(svg: &str, anchor: &str) -> Vec<f64> {
        let group = svg
            .split(&format!("font-size=\"12\" text-anchor=\"{anchor}\">"))
            .nth(1);
        let group = group.expect("an axis").split("</g>").next().expect("its end");
        let texts = group.split("</text>").filter_map(|text| text.rsplit('>').next());
        texts.filter_map(|text| text.parse().ok()).collect()
    }

    #[test]
    fn what_may_be_zero_is_not_drawn_in_its_middle() {
        let wide = Interval::between(&Rational::ZERO, &ratio(1, 2), 64);
        assert!(!drawable(&wide) && drawable(&Interval::from_integer(0, 64)));
        assert!(drawable(&Interval::from_rational(&ratio(1, 3), 64)));
        // δ is near 1e-50 here, and below 1e-700 there.
        let height = |epsilon| height(&gaussian(), epsilon, None);
        assert!((1e-51..1e-49).contains(&height(15.2478654323)));
        assert!(height(60.0).is_nan());
    }

    #[test]
    fn a_claim_without_delta_shows_on_a_logarithmic_axis() {
        let svg = draw(&gaussian(), &[claim(1.0, 0.0)]).to_svg();
        assert!(svg.contains("claim: ε = 1, δ = 0"), "{svg}");
        let svg = draw(&gaussian(), &[claim(1.0, 0.001)]).to_svg();
        assert!(svg.contains("the claim"), "{svg}");
    }

    #[test]
    fn a_kink_between_two_steps_is_on_the_curve() {
        let laplace = pair("[mechanism]\nkind = \"laplace\"\nscale = 2\n");
        let marked = draw(&laplace, &[claim(0.123, 0.0)]).to_svg();
        let plain = draw(&laplace, &[]).to_svg();
        let corners = |svg: &str| {
            let paths = svg
                .split(" d=\"")
                .map(|path| path.split('"').next().unwrap_or("").matches('L').count());
            paths.max().unwrap_or(0)
        };
        // The steps, the pure ε, and the claim; this many lines join one point more.
        assert_eq!((corners(&plain), corners(&marked)), (65, 66));
    }

    #[test]
    fn axes_end_where_the_curve_and_what_is_possible_end() {
        let far = draw(&gaussian(), &[claim(1000.0, 0.1)]).to_svg();
        assert!(far.contains("beyond this edge"), "{far}");
        assert!(
            labels(&far, "middle").into_iter().all(|label| label < 20.0),
            "{far}"
        );
        let nothing = pair("[mechanism]\nkind = \"geometric\"\nscale = 4\nshift = \"1/2\"\n");
        let svg = draw(&nothing, &[]).to_svg();
        let heights = labels(&svg, "end");
        assert!(
            !heights.is_empty() && heights.iter().all(|label| *label <= 1.0),
            "{heights:?}"
        );
    }
}
