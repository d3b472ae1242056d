//! The exact verifier against values computed by other arithmetic (mpmath, 50 digits).

use audit::exact_audit::{
    Answer, Distribution, Finite, Gaussian, Lattice, Piecewise, smallest_delta, smallest_delta_at,
    smallest_epsilon,
};
use exact::{Interval, Rational, parse_decimal, power_of_two, ratio};
use serde_json::Value;

struct Row {
    family: String,
    params: Value,
    value: Rational,
}

impl Row {
    fn number(&self, name: &str) -> Rational {
        match &self.params[name] {
            Value::String(text) => parse_decimal(text).unwrap(),
            Value::Number(number) => parse_decimal(&number.to_string()).unwrap(),
            other => panic!("{name} is {other}"),
        }
    }

    fn count(&self, name: &str) -> usize {
        self.params[name].as_u64().unwrap() as usize
    }
}

/// All rows of a family whose values a decimal of this kind can hold (exponents down to −1000).
fn rows(family: &str) -> Vec<Row> {
    let text = include_str!("reference.json");
    let all: Value = serde_json::from_str(text).unwrap();
    let rows = all["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["family"] == family);
    let rows: Vec<Row> = rows
        .filter_map(|row| {
            let value = parse_decimal(row["value"].as_str().unwrap()).ok()?;
            Some(Row {
                family: family.to_string(),
                params: row["params"].clone(),
                value,
            })
        })
        .collect();
    assert!(!rows.is_empty(), "no rows of {family}");
    rows
}

/// The interval contains the reference value, up to that value's own last digit, is narrow, and would have
/// noticed a planted error of a millionth.
fn agrees(row: &Row, interval: &Interval) {
    let slack = &row.value * parse_decimal("1e-49").unwrap();
    let contains =
        |value: &Rational| interval.lower() <= value + &slack && value - &slack <= interval.upper();
    assert!(
        contains(&row.value),
        "{} {} misses its value",
        row.family,
        row.params
    );
    if row.value > power_of_two(-256) {
        assert!(
            !contains(&(&row.value * ratio(1_000_001, 1_000_000))),
            "{} {} is too wide",
            row.family,
            row.params
        );
        assert!(interval.upper() - interval.lower() <= parse_decimal("1e-12").unwrap());
    }
}

fn check(row: &Row, p: impl Into<Distribution>, q: impl Into<Distribution>, epsilon: &str) {
    agrees(
        row,
        &smallest_delta(&p.into(), &q.into(), &row.number(epsilon)).unwrap(),
    );
}

#[test]
fn laplace() {
    for row in rows("laplace_delta") {
        let scale = Rational::ONE / row.number("eps0");
        let distribution = |center: i64| Piecewise::laplace(&ratio(center, 1), &scale).unwrap();
        check(&row, distribution(0), distribution(1), "eps_prime");
    }
}

#[test]
fn discrete_laplace() {
    for row in rows("discrete_laplace_delta") {
        let distribution = Lattice::discrete_laplace(&row.number("scale")).unwrap();
        check(
            &row,
            distribution.clone(),
            distribution.shifted(&row.number("sensitivity")),
            "eps",
        );
    }
}

/// The closed form and the sum over a window are different code; they must agree.
#[test]
fn discrete_laplace_term_by_term() {
    for row in rows("discrete_laplace_delta").into_iter().take(5) {
        let distribution = Lattice::discrete_laplace(&row.number("scale")).unwrap();
        let (inner, outer) = (distribution.clone(), distribution);
        let custom = Lattice::custom(
            move |k, bits| inner.mass(k, bits),
            move |bits| outer.window(bits).unwrap(),
        );
        let (p, q) = (
            Distribution::from(custom.clone()),
            Distribution::from(custom.shifted(&row.number("sensitivity"))),
        );
        agrees(&row, &smallest_delta_at(&p, &q, &row.number("eps"), 128).unwrap());
    }
}

#[test]
fn discrete_gaussian() {
    for row in rows("discrete_gaussian_delta") {
        let sigma = row.number("sigma");
        let distribution = Lattice::discrete_gaussian(&(&sigma * &sigma)).unwrap();
        check(
            &row,
            distribution.clone(),
            distribution.shifted(&row.number("sensitivity")),
            "eps",
        );
    }
}

#[test]
fn gaussian() {
    for row in rows("gaussian_delta") {
        let distribution = |mean: &Rational| Gaussian::new(mean, &Rational::ONE).unwrap();
        check(
            &row,
            distribution(&Rational::ZERO),
            distribution(&row.number("mu")),
            "eps",
        );
    }
    for row in rows("group_gdp_exact") {
        let distribution = |mean: &Rational| Gaussian::new(mean, &Rational::ONE).unwrap();
        check(
            &row,
            distribution(&Rational::ZERO),
            distribution(&(row.number("mu") * row.number("k"))),
            "eps",
        );
    }
}

#[test]
fn gaussian_epsilon() {
    for row in rows("gaussian_eps") {
        let sigma = row.number("sigma");
        let distribution =
            |mean: i64| Distribution::from(Gaussian::new(&ratio(mean, 1), &(&sigma * &sigma)).unwrap());
        let Answer::Finite(epsilon) =
            smallest_epsilon(&distribution(0), &distribution(1), &row.number("delta")).unwrap()
        else {
            panic!("a Gaussian has an epsilon for every positive delta");
        };
        agrees(&row, &epsilon);
    }
}

/// Randomized response over k answers, when the truth is `truth`.
fn randomized_response(epsilon: &Rational, answers: usize, truth: usize) -> Finite {
    let exponents: Vec<Rational> = (0..answers)
        .map(|answer| {
            if answer == truth {
                epsilon.clone()
            } else {
                Rational::ZERO
            }
        })
        .collect();
    Finite::from_exponents(&exponents).unwrap()
}

#[test]
fn randomized_responses() {
    for row in rows("rr_binary_delta") {
        let distribution = |truth| randomized_response(&row.number("eps0"), 2, truth);
        check(&row, distribution(0), distribution(1), "eps_prime");
    }
    for row in rows("rr_kary_delta") {
        let distribution = |truth| randomized_response(&row.number("eps0"), row.count("k"), truth);
        check(&row, distribution(0), distribution(1), "eps_prime");
    }
}

/// k-fold composition: the product of finite distributions for small k; for larger k only the number of
/// truthful answers is kept after each step, which is all that the likelihood ratio depends on.
#[test]
fn composition() {
    for row in rows("optimal_comp_pure_delta") {
        let (epsilon, times) = (row.number("eps"), row.count("k"));
        if times > 100 {
            continue;
        }
        let counted = |truth| {
            let single = randomized_response(&epsilon, 2, truth);
            (1..times).fold(single.clone(), |distribution, step| {
                distribution
                    .product(&single)
                    .map(step + 2, |outcome| outcome / 2 + outcome % 2)
            })
        };
        check(&row, counted(0), counted(1), "eps_prime");
        if times <= 10 {
            let whole = |truth| randomized_response(&epsilon, 2, truth).power(times as u32);
            check(&row, whole(0), whole(1), "eps_prime");
        }
    }
}

#[test]
fn mutants_are_noticed() {
    // A scale wrong by one part in a million, for every kind of distribution.
    let nearly = |value: &Rational| value * ratio(1_000_001, 1_000_000);
    let wrong = |row: &Row, p: Distribution, q: Distribution, epsilon: &str| {
        let interval = smallest_delta(&p, &q, &row.number(epsilon)).unwrap();
        assert!(!interval.contains(&row.value), "{} {}", row.family, row.params);
    };
    let row = &rows("laplace_delta")[2];
    let distribution = |center: i64| {
        Piecewise::laplace(&ratio(center, 1), &nearly(&row.number("eps0")))
            .unwrap()
            .into()
    };
    wrong(row, distribution(0), distribution(1), "eps_prime");
    let row = &rows("discrete_laplace_delta")[3];
    let distribution = Lattice::discrete_laplace(&nearly(&row.number("scale"))).unwrap();
    wrong(
        row,
        distribution.clone().into(),
        distribution.shifted(&row.number("sensitivity")).into(),
        "eps",
    );
    let row = &rows("discrete_gaussian_delta")[1];
    let distribution = Lattice::discrete_gaussian(&nearly(&row.number("sigma"))).unwrap();
    wrong(
        row,
        distribution.clone().into(),
        distribution.shifted(&row.number("sensitivity")).into(),
        "eps",
    );
    let row = &rows("gaussian_delta")[9];
    let distribution = |mean: &Rational| Gaussian::new(mean, &nearly(&Rational::ONE)).unwrap().into();
    wrong(
        row,
        distribution(&Rational::ZERO),
        distribution(&row.number("mu")),
        "eps",
    );
    let row = &rows("rr_binary_delta")[9];
    let distribution = |truth| randomized_response(&nearly(&row.number("eps0")), 2, truth).into();
    wrong(row, distribution(0), distribution(1), "eps_prime");
}
