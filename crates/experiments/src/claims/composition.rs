//! D5 and D6: the promise to a group, and the cost of many releases together.

use super::local::person;
use super::{Claim, Fault, Outcome};
use accounting::{Accountant, Curve, Delta, Epsilon, Event, Promise, smallest_multiplier};
use audit::exact_audit::{Answer, Finite, Gaussian, Piecewise, satisfies, smallest_epsilon};
use exact::{Interval, Rational, ratio};
use report::{Figure, Scale, significant};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "D5",
        claim: "a group of k is promised (kε, k·e^((k−1)ε)·δ)",
        run: groups,
    },
    Claim {
        id: "D6",
        claim: "releases add up, also when each is chosen after the last; for many, ε grows like √k",
        run: sequences,
    },
];

/// Groups of 1 to this many.
const LARGEST_GROUP: u32 = 5;

/// A query that one person moves by 1 is moved by k by a group of k, so two distributions k apart must keep
/// the group's promise.
fn groups() -> Result<Outcome, Fault> {
    let (epsilon, delta) = (Epsilon::parse("0.5")?, Delta::parse("1e-6")?);
    let sigma = smallest_multiplier(&epsilon, &delta)?;
    let variance = &sigma * &sigma;
    let (mut within, mut exact, mut proved) = (0, 0, 0);
    for k in 1..=LARGEST_GROUP {
        let shift = Rational::from(k);
        // The calculator, beside the textbook.
        let pure = Promise::Pure(epsilon.clone()).for_group(k)?;
        let together = Promise::Approximate(epsilon.clone(), delta.clone()).for_group(k)?;
        let Promise::Approximate(group_epsilon, group_delta) = &together else {
            return Err("an (ε, δ) promise stays one".into());
        };
        let growth = Interval::exp_of(&(epsilon.as_rational() * Rational::from(k - 1)), 128).upper();
        let textbook = growth * Rational::from(k) * delta.as_rational();
        // 15 digits are kept, rounded up.
        let textbook = textbook * (Rational::ONE + ratio(1, 100_000_000_000_000));
        let right = pure == Promise::Pure(epsilon.times(k.into()))
            && *group_epsilon == epsilon.times(k.into())
            && *group_delta.as_rational() <= textbook;
        within += u32::from(right);
        // The verifier on Laplace noise of scale 1/ε: exactly kε, so the bound is tight.
        let here = Piecewise::laplace(&Rational::ZERO, &ratio(2, 1))?;
        let there = Piecewise::laplace(&shift, &ratio(2, 1))?;
        if let Answer::Finite(least) = smallest_epsilon(&here.into(), &there.into(), &Rational::ZERO)? {
            exact += u32::from(least.contains(epsilon.times(k.into()).as_rational()));
        }
        let here = Gaussian::new(&Rational::ZERO, &variance)?;
        let there = Gaussian::new(&shift, &variance)?;
        let holds = satisfies(
            &here.into(),
            &there.into(),
            group_epsilon.as_rational(),
            group_delta.as_rational(),
        )?;
        proved += u32::from(holds);
    }
    let say = |within: u32, exact: u32, proved: u32| {
        format!(
            "k = 1 to 5: {within} within the formula; Laplace noise: {exact} are kε exactly; Gaussian noise: {proved} proved"
        )
    };
    let pass = [within, exact, proved] == [LARGEST_GROUP; 3];
    Ok(Outcome::new(say(5, 5, 5), say(within, exact, proved), pass).note(
        "The calculator gives kε and δ·(1 + e^ε + … + e^((k−1)ε)), which the textbook rounds up to k·e^((k−1)ε)·δ.",
    ))
}

/// The joint distribution of two answers, the second mechanism chosen by the first answer. `truth` is what
/// the person's answer is.
fn adaptive(truth: bool) -> Result<Finite, Fault> {
    let gamma_first = ratio(1, 4);
    // After a yes, the same question again; after a no, one at half the γ and the other way around.
    let gamma_second = |first: bool| if first { ratio(1, 4) } else { ratio(-1, 8) };
    let says_yes = |gamma: &Rational| {
        if truth {
            ratio(1, 2) + gamma
        } else {
            ratio(1, 2) - gamma
        }
    };
    let mut masses = Vec::new();
    for first in [true, false] {
        let yes = says_yes(&gamma_first);
        let reached = if first { yes } else { Rational::ONE - yes };
        let yes = says_yes(&gamma_second(first));
        masses.extend([&reached * &yes, &reached * (Rational::ONE - yes)]);
    }
    Ok(Finite::from_rationals(masses)?)
}

fn sequences() -> Result<Outcome, Fault> {
    // Sums, adaptively: ln 3 + ln 3, and the worst path reaches it.
    let Answer::Finite(both) =
        smallest_epsilon(&adaptive(true)?.into(), &adaptive(false)?.into(), &Rational::ZERO)?
    else {
        return Ok(Outcome::new("ln 9", "no finite ε", false));
    };
    let sum = Interval::ln_of(&ratio(9, 1), 128);
    let mut pass = both.lower() <= sum.upper() && sum.lower() <= both.upper();

    // Many: the sum, the textbook's square root, the best closed form, and the certified numerical answer.
    let (unit, delta) = (person(), Delta::parse("1e-6")?);
    let each = Event::Pure {
        epsilon: Epsilon::parse("0.1")?,
    };
    let mut curves = [const { Vec::new() }; 4];
    let (mut ordered, mut equal, mut last) = (true, true, [0.0; 4]);
    for times in [1u64, 2, 5, 10, 20, 50, 100, 200, 500, 1000] {
        let event = Event::Repeated {
            event: Box::new(each.clone()),
            times,
        };
        let ask = |accountant: Accountant| accountant.epsilon(&event, &unit, &delta);
        let basic = ask(Accountant::Basic)?;
        let advanced = ask(Accountant::Advanced)?;
        let optimal = ask(Accountant::Optimal)?;
        let certified = Curve::of(&event, &unit)?.epsilon(&delta)?;
        pass &= basic == Epsilon::parse("0.1")?.times(times);
        ordered &= certified.lower <= optimal && optimal <= advanced && optimal <= basic;
        // Both compute the same number; a millionth is room for their rounding.
        let room = certified.upper.as_rational() * ratio(1_000_001, 1_000_000);
        equal &= *optimal.as_rational() <= room;
        last = [&basic, &advanced, &optimal, &certified.upper].map(Epsilon::to_f64_up);
        for (curve, epsilon) in curves.iter_mut().zip(last) {
            curve.push((times as f64, epsilon));
        }
    }
    pass &= ordered && equal;
    // From the closed form of Kairouz, Oh and Viswanath, in floating point by hand.
    pass &= (last[3] - 19.344_671_448).abs() < 1e-6;
    let [basic, advanced, optimal, certified] = curves;
    let figure = Figure::new("k releases at ε = 0.1 each, δ = 1e-6")
        .x_axis("k", Scale::Log10)
        .y_axis("ε of all together", Scale::Log10)
        .line("basic", &basic)
        .line("advanced", &advanced)
        .line("optimal", &optimal)
        .points("certified numerical", &certified);
    let measured = format!(
        "two adaptive answers: ε = {}; 1000 at 0.1: basic {}, advanced {}, optimal {}, certified {}",
        significant(both.to_f64_nearest(), 8),
        significant(last[0], 3),
        significant(last[1], 4),
        significant(last[2], 8),
        significant(last[3], 8),
    );
    Ok(Outcome::new(
        "two adaptive answers: ε = ln 9 = 2.1972246; 1000 at 0.1: basic 100, advanced less, optimal = certified = 19.344671",
        measured,
        pass,
    )
    .figure(figure))
}
