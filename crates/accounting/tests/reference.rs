//! Every closed form and every calibration against values computed elsewhere (mpmath, 50 digits), and wrong formulas that
//! the same rows must reject.

use accounting::{
    Accountant, Delta, Epsilon, Event, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio, Rho,
    advanced_epsilon, amplified_epsilon, classic_multiplier, closed_form_epsilon, delta_of_discrete_gaussian,
    delta_of_discrete_laplace, delta_of_gaussian, delta_of_pure, epsilon_of_concentrated,
    epsilon_of_gaussian, optimal_epsilon, rho_of_laplace, rho_of_pure, smallest_multiplier,
};
use exact::{Interval, Rational, parse_decimal, ratio};
use serde_json::Value;

/// Precision at which curves are evaluated: more than the 50 digits they are compared with.
const BITS: u32 = 200;

struct Row {
    params: Value,
    value: String,
}

impl Row {
    fn text(&self, name: &str) -> &str {
        self.params[name].as_str().expect("a parameter")
    }

    fn number(&self, name: &str) -> Rational {
        parse_decimal(self.text(name)).unwrap()
    }

    fn count(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap()
    }

    fn epsilon(&self) -> Epsilon {
        Epsilon::parse(self.text("eps")).unwrap()
    }

    fn delta(&self) -> Delta {
        Delta::parse(self.text("delta")).unwrap()
    }

    /// Whether the enclosure contains the printed value, give or take its last digit, and is narrow enough to mean it.
    ///
    /// In logarithms, because the smallest value is 1e-5428680.
    fn agrees(&self, enclosure: &Interval) -> bool {
        let (mantissa, exponent) = self.value.split_once('e').unwrap_or((&self.value, "0"));
        let ten = Interval::ln_of(&ratio(10, 1), 300).scale(&exponent.parse::<i64>().unwrap().into());
        let printed = Interval::ln_of(&parse_decimal(mantissa).unwrap(), 300).add(&ten);
        let two = Interval::ln_of(&ratio(2, 1), 300).scale(&(-i64::from(enclosure.bits())).into());
        let ends = |end: &exact::Integer| Interval::ln_of(&Rational::from(end.clone()), 300).add(&two);
        let slack = parse_decimal("1e-48").unwrap();
        let (low, high) = (ends(enclosure.lo()).lower(), ends(enclosure.hi()).upper());
        low <= printed.upper() + &slack && printed.lower() - &slack <= high && high - low < slack
    }

    /// Whether a number is at least the printed value and above it by at most this part of it.
    fn is_just_above(&self, value: &Rational, tolerance: &str) -> bool {
        let printed = parse_decimal(&self.value).unwrap();
        let last_digit = parse_decimal("1e-48").unwrap() * &printed;
        let most = &printed * (Rational::ONE + parse_decimal(tolerance).unwrap());
        *value >= printed - last_digit && *value <= most
    }
}

/// The rows of a family, which must be as many as there were when they were copied.
fn rows(family: &str, count: usize) -> Vec<Row> {
    let all: Vec<Value> = serde_json::from_str(include_str!("reference.json")).unwrap();
    let rows: Vec<Row> = all
        .into_iter()
        .filter(|row| row["family"] == family)
        .map(|row| Row {
            params: row["params"].clone(),
            value: row["value"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(rows.len(), count, "{family}");
    rows
}

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn inverse_square(mu: &Rational) -> Rational {
    Rational::ONE / (mu * mu)
}

#[test]
fn gaussian_curve() {
    for row in rows("gaussian_delta", 52) {
        let delta = delta_of_gaussian(&row.number("eps"), &inverse_square(&row.number("mu")), BITS);
        assert!(row.agrees(&delta), "{} {}", row.params, row.value);
    }
}

#[test]
fn gaussian_calibration() {
    for row in rows("analytic_gaussian_sigma", 46) {
        let multiplier = smallest_multiplier(&row.epsilon(), &row.delta()).unwrap();
        assert!(
            row.is_just_above(&multiplier, "1e-12"),
            "{} {}",
            row.params,
            row.value
        );
    }
}

#[test]
fn gaussian_epsilon() {
    for row in rows("gaussian_eps", 2) {
        let sigma = row.number("sigma");
        let epsilon = epsilon_of_gaussian(&(&sigma * &sigma), &row.delta()).unwrap();
        assert!(
            row.is_just_above(epsilon.as_rational(), "1e-12"),
            "{} {epsilon}",
            row.params
        );
    }
    // Each calibration, turned around: the multiplier found for ε must give ε back.
    for row in rows("analytic_gaussian_sigma", 46) {
        let sigma = parse_decimal(&row.value).unwrap();
        let epsilon = epsilon_of_gaussian(&(&sigma * &sigma), &row.delta()).unwrap();
        let (found, expected) = (epsilon.as_rational(), row.number("eps"));
        let tolerance = parse_decimal("1e-11").unwrap() * &expected;
        assert!(
            *found > &expected - &tolerance && *found < &expected + &tolerance,
            "{} {epsilon}",
            row.params
        );
    }
}

#[test]
fn classic_calibration() {
    for row in rows("classical_gaussian_sigma", 2) {
        let multiplier = classic_multiplier(&row.epsilon(), &row.delta()).unwrap();
        assert!(row.is_just_above(&multiplier, "1e-13"), "{}", row.params);
        assert!(smallest_multiplier(&row.epsilon(), &row.delta()).unwrap() < multiplier);
    }
    let refusal =
        classic_multiplier(&Epsilon::parse("1.5").unwrap(), &Delta::parse("1e-5").unwrap()).unwrap_err();
    assert!(refusal.to_string().contains("hint: use smallest_multiplier"));
}

#[test]
fn groups() {
    for row in rows("group_pure", 3) {
        let group = Promise::Pure(row.epsilon())
            .for_group(row.count("k") as u32)
            .unwrap();
        assert_eq!(group, Promise::Pure(Epsilon::parse(&row.value).unwrap()));
    }
    for row in rows("group_zcdp", 3) {
        let rho = Rho::parse(row.text("rho")).unwrap();
        let group = Promise::Concentrated(rho)
            .for_group(row.count("k") as u32)
            .unwrap();
        assert_eq!(group, Promise::Concentrated(Rho::parse(&row.value).unwrap()));
    }
    for row in rows("group_approx_delta", 4) {
        let promise = Promise::Approximate(row.epsilon(), row.delta());
        let Promise::Approximate(epsilon, delta) = promise.for_group(row.count("k") as u32).unwrap() else {
            panic!("stays approximate")
        };
        assert_eq!(epsilon, row.epsilon().times(row.count("k")));
        assert!(
            row.is_just_above(delta.as_rational(), "1e-14"),
            "{} {delta}",
            row.params
        );
    }
}

#[test]
fn integer_curves() {
    for row in rows("discrete_laplace_delta", 18) {
        let delta = delta_of_discrete_laplace(
            &row.number("eps"),
            &row.number("scale"),
            row.count("sensitivity"),
            BITS,
        );
        assert!(row.agrees(&delta), "{} {}", row.params, row.value);
    }
    for row in rows("discrete_gaussian_delta", 10) {
        let sigma = row.number("sigma");
        let delta = delta_of_discrete_gaussian(
            &row.number("eps"),
            &(&sigma * &sigma),
            row.count("sensitivity"),
            BITS,
        );
        assert!(row.agrees(&delta), "{} {}", row.params, row.value);
    }
    for row in rows("rr_binary_delta", 15) {
        let delta = delta_of_pure(&row.number("eps0"), &row.number("eps_prime"), BITS);
        assert!(row.agrees(&delta), "{} {}", row.params, row.value);
    }
}

#[test]
fn concentrated() {
    for row in rows("pure_to_zcdp_tight", 5) {
        let rho = row.epsilon().concentrated().unwrap();
        assert!(
            row.is_just_above(rho.as_rational(), "1e-14"),
            "{} {rho}",
            row.params
        );
    }
    for row in rows("laplace_zcdp_exact", 5) {
        let rho = rho_of_laplace(&row.number("eps")).unwrap();
        assert!(
            row.is_just_above(rho.as_rational(), "1e-14"),
            "{} {rho}",
            row.params
        );
        assert!(rho < rho_of_pure(&row.number("eps")).unwrap());
    }
    // ε²/2 is looser; and where it is not, because 15 digits do not tell, it is what is used.
    for row in rows("pure_to_zcdp", 2) {
        assert!(row.epsilon().concentrated().unwrap() < Rho::parse(&row.value).unwrap());
    }
    assert_eq!(
        Epsilon::parse("1e-9").unwrap().concentrated().unwrap(),
        Rho::parse("5e-19").unwrap()
    );
    for row in rows("expmech_bounded_range_zcdp", 2) {
        let rho = Event::Exponential {
            epsilon: row.epsilon(),
        }
        .concentrated()
        .unwrap();
        assert_eq!(rho, Rho::parse(&row.value).unwrap());
    }
    for row in rows("zcdp_to_eps", 15) {
        let epsilon = epsilon_of_concentrated(&Rho::parse(row.text("rho")).unwrap(), &row.delta()).unwrap();
        assert!(
            row.is_just_above(epsilon.as_rational(), "1e-12"),
            "{} {epsilon}",
            row.params
        );
    }
}

/// `k` times what is ε-DP.
fn repeated(row: &Row) -> Event {
    Event::Repeated {
        event: Box::new(Event::Pure {
            epsilon: row.epsilon(),
        }),
        times: row.count("k"),
    }
}

#[test]
fn composition() {
    for row in rows("optimal_comp_pure", 2) {
        let epsilon = optimal_epsilon(&repeated(&row), &row.delta()).unwrap();
        assert!(
            row.is_just_above(epsilon.as_rational(), "1e-14"),
            "{} {epsilon}",
            row.params
        );
    }
    for row in rows("optimal_comp_pure_delta", 9) {
        let asked = Epsilon::parse(row.text("eps_prime")).unwrap();
        let delta = Accountant::Optimal
            .delta(&repeated(&row), &person(), &asked)
            .unwrap();
        assert!(
            row.is_just_above(delta.as_rational(), "1e-14"),
            "{} {delta}",
            row.params
        );
    }
    for row in rows("adv_comp_kov15_thm3.4", 4) {
        let delta = Delta::parse(row.text("delta_prime")).unwrap();
        let epsilon = closed_form_epsilon(&repeated(&row), &delta).unwrap();
        assert!(
            row.is_just_above(epsilon.as_rational(), "1e-14"),
            "{} {epsilon}",
            row.params
        );
    }
    for row in rows("adv_comp_drv10", 3) {
        let delta = Delta::parse(row.text("delta_prime")).unwrap();
        let epsilon = advanced_epsilon(&repeated(&row), &delta).unwrap();
        let sum = row.epsilon().times(row.count("k"));
        // The theorem's value, or the sum where that is smaller.
        if *sum.as_rational() < parse_decimal(&row.value).unwrap() {
            assert_eq!(epsilon, sum);
        } else {
            assert!(
                row.is_just_above(epsilon.as_rational(), "1e-14"),
                "{} {epsilon}",
                row.params
            );
        }
    }
    for row in rows("poisson_amp_eps", 1) {
        let epsilon = amplified_epsilon(&row.epsilon(), &row.number("q")).unwrap();
        assert!(row.is_just_above(epsilon.as_rational(), "1e-14"));
    }
}

/// A group of k of what is μ-GDP is kμ-GDP, as are k² of them in composition.
#[test]
fn gaussian_differential_privacy() {
    for row in rows("group_gdp_exact", 3) {
        let one = Event::Gaussian {
            multiplier_squared: Ratio::at_most(&inverse_square(&row.number("mu"))),
            on: NoiseSupport::Rounded,
        };
        let all = Event::Repeated {
            event: Box::new(one),
            times: row.count("k").pow(2),
        };
        let delta = Accountant::Gaussian
            .delta(&all, &person(), &row.epsilon())
            .unwrap();
        assert!(
            row.is_just_above(delta.as_rational(), "1e-14"),
            "{} {delta}",
            row.params
        );
    }
}

/// The erratum of one textbook definition: ln(1.25/δ²) for ln(1.25/δ).
#[test]
fn the_erratum_is_rejected() {
    for row in rows("classical_gaussian_sigma", 2) {
        let delta = row.number("delta");
        let logarithm = Interval::ln_of(&(ratio(5, 4) / (&delta * &delta)), 128).scale(&2.into());
        assert!(!row.is_just_above(&(logarithm.sqrt().upper() / row.number("eps")), "1e-13"));
    }
}

/// Φ(−μ/2 − ε/μ) − e^ε·Φ(μ/2 − ε/μ): the sign of μ/2 swapped; and the two tails added instead of subtracted.
#[test]
fn wrong_curves_are_rejected() {
    let mut compared = 0;
    for row in rows("gaussian_delta", 52) {
        let (mu, epsilon) = (row.number("mu"), row.number("eps"));
        let (half, quotient) = (&mu * ratio(1, 2), &epsilon / &mu);
        if quotient > ratio(12, 1) || epsilon > ratio(12, 1) {
            continue;
        }
        let phi = |x: Rational| Interval::from_rational(&x, 400).normal_cdf();
        let growth = Interval::exp_of(&epsilon, 400);
        let (near, far) = (phi(&half - &quotient), phi(-&half - &quotient));
        let right = near.sub(&growth.mul(&far));
        assert!(
            row.agrees(&right),
            "the formula as printed agrees: {}",
            row.params
        );
        let swapped = far.sub(&growth.mul(&near));
        assert!(
            *swapped.lo() <= exact::Integer::ZERO || !row.agrees(&swapped),
            "{}",
            row.params
        );
        assert!(!row.agrees(&near.add(&growth.mul(&far))), "{}", row.params);
        compared += 1;
    }
    assert!(compared > 20);
}
