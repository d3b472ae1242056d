//! V1 to V3: mechanisms of the section notes, answered by the exact verifier.

use super::{Claim, Fault, Outcome};
use audit::exact_audit::{Answer, Distribution, Lattice, Piecewise, smallest_epsilon};
use exact::{Interval, Rational, ratio};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "V1",
        claim: "sum + Uniform[−1, 1]: no finite ε, δ = 1/2",
        run: uniform,
    },
    Claim {
        id: "V2",
        claim: "real sum + Geo(5/n): no finite ε, δ = 1",
        run: geometric_on_reals,
    },
    Claim {
        id: "V3",
        claim: "(⌈100 s⌉ + Geo(4))/100: ε = 25",
        run: geometric_on_a_grid,
    },
];

fn uniform() -> Result<Outcome, Fault> {
    // Neighbouring sums 0 and 1.
    let here = Piecewise::uniform(&ratio(-1, 1), &ratio(1, 1))?;
    let there = Piecewise::uniform(&ratio(0, 1), &ratio(2, 1))?;
    no_finite_epsilon(&here.into(), &there.into(), &ratio(1, 2))
}

fn geometric_on_reals() -> Result<Outcome, Fault> {
    // n = 10, and neighbouring sums 0 and 1/2: the answers live on different grids.
    let here = Lattice::discrete_laplace(&ratio(5, 10))?;
    let there = here.clone().shifted(&ratio(1, 2));
    no_finite_epsilon(&here.into(), &there.into(), &Rational::ONE)
}

fn no_finite_epsilon(
    here: &Distribution,
    there: &Distribution,
    expected: &Rational,
) -> Result<Outcome, Fault> {
    let wanted = format!("no finite ε; δ = {expected}");
    Ok(match smallest_epsilon(here, there, &Rational::ZERO)? {
        Answer::NoFinite { smallest_delta } => {
            let pass = smallest_delta.contains(expected) && is_sharp(&smallest_delta);
            Outcome::new(
                wanted,
                format!("no finite ε; δ = {}", middle(&smallest_delta)),
                pass,
            )
        }
        Answer::Finite(epsilon) => Outcome::new(wanted, format!("ε = {}", middle(&epsilon)), false),
    })
}

fn geometric_on_a_grid() -> Result<Outcome, Fault> {
    // The sum moves by up to 1: a hundred steps of 1/100.
    let here = Lattice::discrete_laplace(&ratio(4, 1))?.on_grid(&Rational::ZERO, &ratio(1, 100))?;
    let there = here.clone().shifted(&Rational::ONE);
    Ok(
        match smallest_epsilon(&here.into(), &there.into(), &Rational::ZERO)? {
            Answer::Finite(epsilon) => {
                let pass = epsilon.contains(&ratio(25, 1)) && is_sharp(&epsilon);
                Outcome::new("ε = 25", format!("ε = {}", middle(&epsilon)), pass)
            }
            Answer::NoFinite { .. } => Outcome::new("ε = 25", "no finite ε", false),
        },
    )
}

/// Narrow enough to mean the number it contains.
fn is_sharp(interval: &Interval) -> bool {
    interval.upper() - interval.lower() < ratio(1, 1_000_000_000)
}

fn middle(interval: &Interval) -> String {
    let digits = report::significant(interval.to_f64_nearest(), 10);
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        digits
    }
}
