//! What was spent, charge by charge.

use crate::terminal::{CliError, Progress, explained, fail};
use accounting::{Accountant, Epsilon, Event};
use ledger::{Spent, composed, epsilon_of, used_after};
use report::{Figure, Scale, counts};

/// ε after each charge, as it is enforced, by sums and by the best proof, and where the budget ends.
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
    let mut sum = spent.no_charges();
    for (place, charge) in spent.charges.iter().enumerate() {
        sum.add(charge);
        let promise = sum.promise();
        let epsilon = promise
            .as_ref()
            .and_then(epsilon_of)
            .map_or(f64::NAN, Epsilon::to_f64_up);
        sums.push(((place + 1) as f64, epsilon));
    }
    let events: Vec<&Event> = spent.charges.iter().map(|charge| &charge.event).collect();
    // A curve for each of thousands of charges would take long, and look the same.
    let places = counts(events.len() as u64);
    let progress = Progress::new("drawing", places.len() as u64, quiet);
    let mut certified = vec![(0.0, 0.0)];
    for &count in &places {
        let all = composed(&events[..count as usize]);
        let best = [Accountant::Numerical, Accountant::Renyi]
            .into_iter()
            .filter_map(|accountant| accountant.epsilon(&all, unit, &delta).ok())
            .min();
        certified.push((count as f64, best.map_or(f64::NAN, |epsilon| epsilon.to_f64_up())));
        progress.advance(1);
    }
    let places: Vec<usize> = places.into_iter().map(|count| count as usize).collect();
    let used = used_after(&spent.rules, &events, &places).map_err(explained)?;
    let mut enforced = vec![(0.0, 0.0)];
    for (count, used) in places.iter().zip(&used) {
        let epsilon = used.promise.as_ref().and_then(epsilon_of);
        enforced.push((*count as f64, epsilon.map_or(f64::NAN, Epsilon::to_f64_up)));
    }
    drop(progress);
    let mut figure = Figure::new(format!("{}: {}", spent.dataset, spent.rules.budget))
        .x_axis("charges", Scale::Linear)
        .y_axis("ε", Scale::Linear)
        .line("spent, as the ledger enforces it", &enforced)
        .line("sums", &sums)
        .line("certified, or Rényi where that is less", &certified);
    if let Some(limit) = epsilon_of(spent.rules.budget.limit()) {
        figure = figure.horizontal("budget: the most that may be spent", limit.to_f64_down());
    }
    Ok(figure)
}
