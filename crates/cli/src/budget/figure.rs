//! What was spent, charge by charge.

use crate::account::figure::counts;
use crate::terminal::{CliError, Progress, fail};
use accounting::{Accountant, Epsilon, Event, Promise};
use ledger::{Spent, composed, epsilon_of, plus};
use report::{Figure, Scale};

/// ε after each charge, by sums and by the best proof, and where the budget ends.
pub(super) fn of(spent: &Spent, quiet: bool) -> Result<Figure, CliError> {
    if spent.charges.is_empty() {
        return fail(
            "nothing was charged yet, so there is nothing to draw",
            "ask something first, or leave out --plot",
        );
    }
    let delta = spent.delta();
    let unit = spent.rules.budget.unit();
    let mut sums = vec![(0.0, 0.0)];
    let mut sum = Some(Promise::Pure(Epsilon::ZERO));
    for (place, charge) in spent.charges.iter().enumerate() {
        sum = sum.and_then(|sum| plus(&sum, charge));
        let epsilon = sum
            .as_ref()
            .and_then(epsilon_of)
            .map_or(f64::NAN, Epsilon::to_f64_up);
        sums.push(((place + 1) as f64, epsilon));
    }
    let events: Vec<&Event> = spent.charges.iter().map(|charge| &charge.event).collect();
    // A curve for each of thousands of charges would take long, and look the same.
    let counts = counts(events.len() as u64);
    let progress = Progress::new("drawing", counts.len() as u64, quiet);
    let mut certified = vec![(0.0, 0.0)];
    for count in counts {
        let all = composed(&events[..count as usize]);
        let best = [Accountant::Numerical, Accountant::Renyi]
            .into_iter()
            .filter_map(|accountant| accountant.epsilon(&all, unit, &delta).ok())
            .min();
        certified.push((count as f64, best.map_or(f64::NAN, |epsilon| epsilon.to_f64_up())));
        progress.advance(1);
    }
    drop(progress);
    let mut figure = Figure::new(format!("{}: {}", spent.dataset, spent.rules.budget))
        .x_axis("charges", Scale::Linear)
        .y_axis("ε", Scale::Linear)
        .line("sums", &sums)
        .line("certified, or Rényi where that is less", &certified);
    if let Some(limit) = epsilon_of(spent.rules.budget.limit()) {
        figure = figure.horizontal("budget", limit.to_f64_down());
    }
    Ok(figure)
}
