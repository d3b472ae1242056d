//! What a black box found, in words and drawn.

use ::report::{Figure, Scale};
use audit::black_box::{FindingVerdict, Side, Witness};

/// The event and how often it was counted. If an event and its mirror are counted as one, what counts for and
/// against comes from both inputs.
pub(crate) fn event_lines(witness: &Witness) -> Vec<String> {
    let (likely, unlikely) = names(witness.likely);
    let [hits, draws] = [witness.hits, witness.draws];
    match &witness.mirror {
        None => vec![
            format!("  event    {}", witness.event),
            format!("  counted  {} of {} on the {likely} input", hits[0], draws[0]),
            format!("           {} of {} on the {unlikely} input", hits[1], draws[1]),
        ],
        Some(mirror) => vec![
            format!("  event    {} on the {likely} input, or", witness.event),
            format!("           {mirror} on the {unlikely} input"),
            format!("  counted  {} of {}", hits[0], draws[0] + draws[1]),
            format!("           {} with the inputs exchanged", hits[1]),
        ],
    }
}

/// Where the curve is reported and drawn.
pub(crate) fn deltas() -> impl Iterator<Item = f64> {
    (-24..=0).map(|step| 10f64.powf(f64::from(step) / 4.0))
}

/// The bound on ε at every δ, and what is claimed. All points hold together.
pub(crate) fn curve_figure(title: &str, witness: &Witness, claimed: Option<f64>) -> Figure {
    let curve: Vec<(f64, f64)> = deltas().map(|delta| (delta, witness.epsilon_at(delta))).collect();
    let figure = Figure::new(title)
        .x_axis("δ", Scale::Log10)
        .y_axis("ε is at least", Scale::Linear)
        .line("found", &curve)
        .horizontal("found at δ = 0", witness.epsilon_at(0.0));
    match claimed {
        Some(epsilon) => figure.horizontal("claimed", epsilon),
        None => figure,
    }
}

/// What the inputs are called, the likely one first.
pub(crate) fn names(likely: Side) -> (&'static str, &'static str) {
    match likely {
        Side::First => ("first", "second"),
        Side::Second => ("second", "first"),
    }
}

/// One word for a program to read.
pub(crate) fn verdict_word(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Refuted => "refuted",
        FindingVerdict::Consistent => "consistent",
    }
}
