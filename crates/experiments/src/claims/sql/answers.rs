//! Answers are close to the truth, and given once.

use super::super::local::FALSE_ALARM;
use super::super::{Fault, Outcome};
use super::data::{Data, number, sum_of_exponentials};
use accounting::Neighbors;
use audit::binomial;
use report::{Figure, Scale, significant};
use sql::Error;

const PEOPLE: u64 = 4000;
const QUERY: &str = "SELECT COUNT(*) FROM data WHERE age >= 40";

/// Synthetic ages, the same every time, and how many of them are 40 or more.
fn ages() -> (String, f64) {
    let mut state = 1u64;
    let mut csv = "age\n".to_owned();
    let mut truth = 0;
    for _ in 0..PEOPLE {
        // Knuth's generator of 64 bits; the upper ones are the better ones.
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let age = (state >> 33) % 90;
        truth += u64::from(age >= 40);
        csv += &format!("{age}\n");
    }
    (csv, truth as f64)
}

fn people(budget: &str) -> Result<(Data, f64), Fault> {
    let (csv, truth) = ages();
    let columns = "age = { kind = \"int\", bounds = [0, 120] }\n";
    Ok((Data::new(&csv, columns, Neighbors::AddRemove, budget)?, truth))
}

pub(super) fn forty() -> Result<Outcome, Fault> {
    let (data, truth) = people("1")?;
    let runs = 30u64;
    let (mut held, mut distance, mut answers) = (0, 0.0, Vec::new());
    for _ in 0..runs {
        let (value, low, high) = data.once(QUERY, "0.1")?;
        held += u64::from(low <= truth && truth <= high);
        distance += (value - truth).abs();
        answers.push(value);
    }
    // 95 % of the intervals hold the truth: as few as this would be a surprise of less than 1e-9.
    let enough = binomial::at_most(held, runs, 0.95) > FALSE_ALARM;
    // The distances are those of Laplace noise of scale 1/ε = 10: neither less nor more.
    let (below, above) = sum_of_exponentials(runs as u32, distance / 10.0);
    let scale = 2.0 * below.min(above) > FALSE_ALARM;
    answers.sort_by(f64::total_cmp);
    answers.dedup();
    let different = answers.len() > 10;
    let measured = format!(
        "truth {truth}; {held} of {runs} intervals hold it, mean distance {}, {} different answers",
        significant(distance / runs as f64, 3),
        answers.len()
    );
    Ok(Outcome::new(
        "95 % of the intervals hold the truth; mean distance 10; answers differ",
        measured,
        enough && scale && different,
    )
    .note(format!(
        "{PEOPLE} synthetic people in a CSV file, asked {runs} times with a fresh ledger each; each of the checks fails by chance with probability {FALSE_ALARM:e} or less. \
         On the built-in sample: deniable query --epsilon 0.1 \"SELECT COUNT(*) FROM people WHERE age >= 40\"."
    )))
}

/// How far the mean of `count` Laplace variables of scale 1 is from 0, except with probability 1e-9: P(|S| ≥
/// s) ≤ 2·e^(−us)·(1−u²)^(−count) for 0 < u < 1 (Chernoff). It holds on the integers too: there E e^(uX/b) =
/// 1/(1 − (cosh(u/b)−1)/(cosh(1/b)−1)), and (cosh x − 1)/x² grows with x.
fn far(count: f64) -> f64 {
    let surprise = (FALSE_ALARM / 2.0).ln();
    (1..100)
        .map(|step| {
            let tilt = f64::from(step) / 100.0;
            (-count * (1.0 - tilt * tilt).ln() - surprise) / tilt
        })
        .fold(f64::INFINITY, f64::min)
        / count
}

pub(super) fn averaging() -> Result<Outcome, Fault> {
    let (data, truth) = people("2")?;
    let (runs, epsilon, scale) = (40u32, "0.5", 2.0);
    // Without a ledger.
    let (mut sum, mut means) = (0.0, Vec::new());
    for run in 1..=runs {
        sum += data.once(QUERY, epsilon)?.0;
        means.push((f64::from(run), sum / f64::from(run)));
    }
    let error = (sum / f64::from(runs) - truth).abs();
    let most = far(f64::from(runs)) * scale;
    let converges = error <= most;
    // With one: the same question has one answer.
    let mut store = data.fresh_ledger()?;
    let first = number(&data.ask(&mut store, "ann", QUERY, epsilon)??)?;
    let mut same = true;
    for _ in 0..5 {
        let again = data.ask(&mut store, "bob", QUERY, epsilon)??;
        same &= again.repeated && number(&again)? == first;
    }
    same &= store.charges()?.len() == 1;
    // Rewritten, it is another query: charged, whoever asks, until nothing is left.
    let (mut answered, mut stopped) = (1, false);
    for form in 0..20 {
        let analyst = ["ann", "bob"][form % 2];
        let query = format!("{QUERY} AND age > -{}", form + 1);
        match data.ask(&mut store, analyst, &query, epsilon)? {
            Ok(_) => answered += 1,
            Err(Error::OverBudget(_)) => {
                stopped = true;
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    let shared = stopped && answered == 4;
    let figure = Figure::new("The mean of repeated answers, without a ledger")
        .x_axis("answers", Scale::Linear)
        .y_axis("mean", Scale::Linear)
        .line("mean", &means)
        .horizontal("truth", truth);
    let measured = format!(
        "without: the mean of {runs} answers is off by {}; with: the same answer 6 times{}, then {answered} answers for two analysts together{}",
        significant(error, 2),
        if same { "" } else { " (NOT SO)" },
        if stopped { "" } else { " AND NO END" }
    );
    Ok(Outcome::new(
        format!(
            "without a ledger off by at most {}; with one, one answer to one question, and 4 in all for ε = 2",
            significant(most, 2)
        ),
        measured,
        converges && same && shared,
    )
    .note(format!(
        "{} is exceeded by chance with probability {FALSE_ALARM:e}; a single answer is off by 2 on average.",
        significant(most, 2)
    ))
    .figure(figure))
}
