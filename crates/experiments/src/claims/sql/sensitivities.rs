//! How far one person moves an answer, as the SQL layer derives it.

use super::super::{Fault, Outcome};
use super::data::{Data, column, sum_of_exponentials};
use accounting::{Neighbors, Promise};
use report::significant;
use sql::{Error, Explanation, StatisticLine};
use std::f64::consts::SQRT_2;

/// In the order in which they are reported.
const BOTH: [Neighbors; 2] = [Neighbors::AddRemove, Neighbors::ChangeOne];

/// Everything that is released, in one list.
fn statistics(explanation: &Explanation) -> Vec<&StatisticLine> {
    explanation
        .parts
        .iter()
        .flat_map(|part| &part.statistics)
        .collect()
}

/// The one statistic of a query that has one.
fn only(explanation: &Explanation) -> Result<&StatisticLine, Fault> {
    match statistics(explanation).as_slice() {
        [one] => Ok(one),
        _ => Err("expected one statistic".into()),
    }
}

/// Prices are split in parts of 2⁻³⁰, and rounded so that nothing costs more than was said.
fn close(measured: f64, expected: f64) -> bool {
    (measured - expected).abs() <= 1e-7 * expected.abs()
}

/// The ε that everything together costs.
fn cost(explanation: &Explanation) -> Result<f64, Fault> {
    match explanation.guarantee.promise() {
        Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => Ok(epsilon.to_f64_up()),
        Promise::Concentrated(_) => Err("no ε in the guarantee".into()),
    }
}

pub(super) fn counts() -> Result<Outcome, Fault> {
    let columns = "party = { kind = \"text\", values = [\"red\", \"green\", \"blue\"] }\n";
    let csv = "party\nred\nblue\nred\n";
    let data = |neighbors| Data::new(csv, columns, neighbors, "10");
    let (mut one, mut histogram) = (Vec::new(), Vec::new());
    for neighbors in BOTH {
        let data = data(neighbors)?;
        one.push(only(&data.explain("SELECT COUNT(*) FROM data", "0.5")?)?.l1);
        let by_party = data.explain("SELECT party, COUNT(*) FROM data GROUP BY party", "0.5")?;
        histogram.push(only(&by_party)?.l1);
    }
    // With noise as small as that of one count at ε = 0.5, m counts cost 0.5·m; at that price together, each
    // has the noise of one.
    let data = data(Neighbors::AddRemove)?;
    let alone = only(&data.explain("SELECT COUNT(*) FROM data", "0.5")?)?.deviation;
    let mut together = true;
    for many in 1..=5usize {
        let conditions: Vec<String> = (0..many)
            .map(|place| format!("COUNT(*) FILTER (WHERE LENGTH(party) > {place}) AS n{place}"))
            .collect();
        let price = 0.5 * many as f64;
        let explanation = data.explain(
            &format!("SELECT {} FROM data", conditions.join(", ")),
            &price.to_string(),
        )?;
        let all = statistics(&explanation);
        together &= all.len() == many && close(cost(&explanation)?, price);
        together &= all
            .iter()
            .all(|line| line.l1 == 1.0 && close(line.deviation, alone));
    }
    let pass = one == [1.0, 1.0] && histogram == [1.0, 2.0] && together;
    let measured = format!(
        "one count: {} and {}; histogram: {} and {}; for the noise of one at ε = 0.5, m counts cost 0.5·m for m = 1..5{}",
        one[0],
        one[1],
        histogram[0],
        histogram[1],
        if together { "" } else { " (NOT SO)" }
    );
    Ok(Outcome::new(
        "one count: 1 and 1; histogram: 1 under add/remove and 2 under change-one; m times the cost",
        measured,
        pass,
    ))
}

pub(super) fn slide() -> Result<Outcome, Fault> {
    const VALUES: [i64; 7] = [1, 3, 4, 4, 3, 55, 1];
    /// What the slide shows as possible answers.
    const ANSWERS: [f64; 7] = [82.4386, 66.1222, 79.5883, 66.4617, 51.2372, 101.7916, 64.7038];
    let columns = "x = { kind = \"int\", bounds = [-1, 60] }\n";
    let query = "SELECT SUM(x) FROM data";
    let data = |neighbors| Data::new(&column(&VALUES), columns, neighbors, "2000000");
    let (change, add) = (data(Neighbors::ChangeOne)?, data(Neighbors::AddRemove)?);
    let changed = change.explain(query, "2")?;
    let changed = only(&changed)?;
    let added = add.explain(query, "2")?;
    let added = only(&added)?.l1;
    let scale = changed.deviation / SQRT_2;
    // For so large an ε there is noise with probability e^−16000.
    let (truth, ..) = change.once(query, "1000000")?;
    // Under Laplace(b) noise, |answer − truth|/b are exponential with mean 1.
    let surprise = |scale: f64| {
        let total: f64 = ANSWERS.iter().map(|answer| (answer - truth).abs() / scale).sum();
        let (below, above) = sum_of_exponentials(ANSWERS.len() as u32, total);
        2.0 * below.min(above)
    };
    let plausible = surprise(scale);
    // The test can tell: with ten times the noise these answers would be far too close to the truth.
    let implausible = surprise(10.0 * scale);
    let pass = changed.l1 == 61.0
        && added == 60.0
        && close(scale, 30.5)
        && truth == 71.0
        && plausible > 1e-3
        && implausible < 1e-6;
    let measured = format!(
        "Δ = {} and {added}; {} noise of scale {}; sum {truth}; the slide's answers: p = {} (with ten times the noise {})",
        changed.l1,
        changed.noise,
        significant(scale, 4),
        significant(plausible, 2),
        significant(implausible, 1)
    );
    Ok(Outcome::new(
        "Δ = 61 under change-one, 60 under add/remove; scale 30.5; sum 71; the slide's seven answers plausible (p > 0.001)",
        measured,
        pass,
    )
    .note("p is two-sided, for the mean distance of the seven answers from 71: seven times it, over the scale, is a sum of seven exponentials."))
}

pub(super) fn mean() -> Result<Outcome, Fault> {
    let rows = 500;
    let columns = "x = { kind = \"float\", bounds = [-1, 1] }\n";
    // One person says −1, or 1; all others the same.
    let values = |first: i64| -> Vec<i64> {
        (0..rows)
            .map(|row| if row == 0 { first } else { row % 3 - 1 })
            .collect()
    };
    let query = "SELECT AVG(x) FROM data";
    let data = |first, neighbors| Data::new(&column(&values(first)), columns, neighbors, "2000000");
    let low = data(-1, Neighbors::ChangeOne)?;
    let high = data(1, Neighbors::ChangeOne)?;
    let derived = |data: &Data| -> Result<f64, Fault> {
        let explanation = data.explain(query, "1")?;
        let sums = statistics(&explanation);
        let sum = sums
            .iter()
            .find(|line| line.low < 0.0)
            .ok_or("no sum among the statistics")?;
        Ok(sum.l1 / rows as f64)
    };
    let under_change = derived(&low)?;
    let under_add = derived(&data(1, Neighbors::AddRemove)?)?;
    // And so far it does move, asked with next to no noise.
    let moved = high.once(query, "1000000")?.0 - low.once(query, "1000000")?.0;
    let expected = 2.0 / rows as f64;
    let pass =
        close(under_change, expected) && close(under_add, expected / 2.0) && (moved - expected).abs() < 1e-5;
    let measured = format!(
        "Δ = {} (add/remove {}); moved by {}",
        significant(under_change, 4),
        significant(under_add, 4),
        significant(moved, 4)
    );
    Ok(Outcome::new(
        format!("2/n = {expected} for n = {rows}, and so far the mean does move"),
        measured,
        pass,
    )
    .note("Under add/remove n is protected too: then the sum moves by 1, and the count beside it by 1."))
}

pub(super) fn unbounded() -> Result<Outcome, Fault> {
    let data = |columns: &str| Data::new(&column(&[3, 1, 2]), columns, Neighbors::AddRemove, "10");
    let free = data("x = { kind = \"int\" }\n")?;
    let bounded = data("x = { kind = \"int\", bounds = [0, 9] }\n")?;
    let mut store = free.fresh_ledger()?;
    let refusal = match free.ask(&mut store, "reader", "SELECT SUM(x) FROM data", "1")? {
        Err(Error::Refused { what, hint }) if hint.contains("bounds") => Some(format!("{what} ({hint})")),
        _ => None,
    };
    let spent = store.charges()?.len();
    let answered = bounded.once("SELECT SUM(x) FROM data", "1").is_ok();
    let stated = "SELECT SUM(x, contribution_bounds_per_row => (0, 9)) FROM data";
    let stated = free.once(stated, "1").is_ok();
    let pass = refusal.is_some() && spent == 0 && answered && stated;
    let yes = |answered: bool| if answered { "answered" } else { "REFUSED" };
    let measured = format!(
        "without: {}; {spent} charges; with bounds of the catalog: {}; of the query: {}",
        refusal.as_ref().map_or("NOT REFUSED", |_| "refused with a hint"),
        yes(answered),
        yes(stated)
    );
    let outcome = Outcome::new(
        "without bounds refused with a hint, and nothing charged; with bounds answered",
        measured,
        pass,
    );
    Ok(match refusal {
        Some(words) => outcome.note(words),
        None => outcome,
    })
}
