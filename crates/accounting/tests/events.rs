//! Events: what they promise, and that hostile records are refused rather than trusted.

use accounting::{
    Delta, Epsilon, Error, Event, Grid, MAXIMUM_DEPTH, Promise, Ratio, Rho, epsilon_of_discrete_gaussian,
    epsilon_of_gaussian,
};
use exact::ratio;
use proptest::prelude::*;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

fn laplace(text: &str) -> Event {
    Event::Laplace {
        ratio: Ratio::parse(text).unwrap(),
    }
}

fn gaussian(text: &str) -> Event {
    Event::Gaussian {
        multiplier_squared: Ratio::parse(text).unwrap(),
        on: Grid::Rounded,
    }
}

#[test]
fn pure_stays_pure() {
    let events = Event::Composed(vec![
        laplace("0.25"),
        Event::Repeated {
            event: Box::new(laplace("1/3")),
            times: 3,
        },
        Event::RandomizedResponse {
            answers: 2,
            epsilon: epsilon("0.5"),
        },
        Event::Exponential {
            epsilon: epsilon("0.1"),
        },
        Event::Pure {
            epsilon: epsilon("0.15"),
        },
    ]);
    assert_eq!(events.promise(&Delta::ZERO).unwrap(), Promise::Pure(epsilon("2")));
    assert_eq!(
        laplace("1/3").promise(&Delta::ZERO).unwrap(),
        Promise::Pure(epsilon("0.333333333333334"))
    );
    assert_eq!(
        Event::Composed(vec![]).promise(&Delta::ZERO).unwrap(),
        Promise::Pure(Epsilon::ZERO)
    );
}

#[test]
fn gaussians_share_what_is_left_of_delta() {
    let own = Event::Approximate {
        epsilon: epsilon("0.5"),
        delta: delta("2e-6"),
    };
    let four = Event::Repeated {
        event: Box::new(gaussian("16")),
        times: 4,
    };
    let promise = Event::Composed(vec![own.clone(), four])
        .promise(&delta("1e-5"))
        .unwrap();
    let each = epsilon_of_gaussian(&ratio(16, 1), &delta("2e-6")).unwrap();
    assert_eq!(
        promise,
        Promise::Approximate(each.times(4) + epsilon("0.5"), delta("1e-5"))
    );
    assert!(matches!(
        own.promise(&delta("1e-6")),
        Err(Error::DeltaExceeded { .. })
    ));
    assert_eq!(gaussian("16").promise(&Delta::ZERO), Err(Error::NeedsDelta));
    assert_eq!(gaussian("0").promise(&delta("1e-6")), Err(Error::NoNoise));
}

#[test]
fn each_gaussian_has_its_own_curve() {
    let at = |on| {
        let event = Event::Gaussian {
            multiplier_squared: Ratio::parse("1").unwrap(),
            on,
        };
        match event.promise(&delta("0.13")).unwrap() {
            Promise::Approximate(epsilon, _) => epsilon,
            other => panic!("{other}"),
        }
    };
    let (rounded, vector) = (at(Grid::Rounded), at(Grid::Discrete));
    let (one_step, many_steps) = (
        at(Grid::DiscreteScalar { sensitivity: 1 }),
        at(Grid::DiscreteScalar { sensitivity: 1000 }),
    );
    // At σ = Δ = 1 noise on the integers costs more than on the reals; on a fine grid they agree; ρ is the loosest.
    assert!(rounded < one_step && one_step < vector);
    let apart = many_steps.as_rational() - rounded.as_rational();
    assert!(apart.clone() * apart < ratio(1, 1_000_000));
    assert_eq!(
        one_step,
        epsilon_of_discrete_gaussian(&ratio(1, 1), 1, &delta("0.13")).unwrap(),
    );
}

#[test]
fn rho_adds_up() {
    let events = Event::Composed(vec![
        gaussian("4"),
        Event::Exponential {
            epsilon: epsilon("2"),
        },
        laplace("1"),
        Event::Concentrated {
            rho: Rho::parse("0.25").unwrap(),
        },
    ]);
    // 1/8 + 4/8 + 1/2 + 1/4.
    assert_eq!(
        events.promise(&Delta::ZERO).unwrap(),
        Promise::Concentrated(Rho::parse("1.375").unwrap())
    );
    let mixed = Event::Composed(vec![
        events,
        Event::Approximate {
            epsilon: epsilon("1"),
            delta: delta("1e-9"),
        },
    ]);
    assert_eq!(mixed.promise(&delta("1e-6")), Err(Error::MixedPromises));
}

#[test]
fn records_read_as_they_were_written() {
    let event = Event::Composed(vec![
        laplace("1/3"),
        Event::Repeated {
            event: Box::new(gaussian("2.25")),
            times: 7,
        },
        Event::Gaussian {
            multiplier_squared: Ratio::parse("4").unwrap(),
            on: Grid::DiscreteScalar { sensitivity: 3 },
        },
    ]);
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(
        text,
        r#"{"composed":[{"laplace":{"ratio":"1/3"}},{"repeated":{"event":{"gaussian":{"multiplier_squared":"2.25","on":"rounded"}},"times":7}},{"gaussian":{"multiplier_squared":"4","on":{"discrete_scalar":{"sensitivity":3}}}}]}"#
    );
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
}

#[test]
fn hostile_records_are_refused() {
    for text in [
        r#"{"laplace":{"ratio":"-1"}}"#,
        r#"{"laplace":{"ratio":"1/0"}}"#,
        r#"{"laplace":{"ratio":0.5}}"#,
        r#"{"laplace":{"ratio":"1","value":"17"}}"#,
        r#"{"approximate":{"epsilon":"1","delta":"1"}}"#,
        r#"{"repeated":{"event":{"pure":{"epsilon":"1"}},"times":-1}}"#,
        r#"{"unknown":{}}"#,
    ] {
        assert!(serde_json::from_str::<Event>(text).is_err(), "{text}");
    }
    let nested = |depth: usize| {
        format!(
            "{}{}{}",
            r#"{"composed":["#.repeat(depth),
            r#"{"pure":{"epsilon":"1"}}"#,
            "]}".repeat(depth)
        )
    };
    let deepest = MAXIMUM_DEPTH as usize - 1;
    assert!(serde_json::from_str::<Event>(&nested(deepest)).is_ok());
    let refusal = serde_json::from_str::<Event>(&nested(deepest + 1)).unwrap_err();
    assert!(refusal.to_string().contains("hint:"), "{refusal}");
    assert!(serde_json::from_str::<Event>(&nested(100_000)).is_err());
    // A refusal leaves nothing behind.
    assert!(serde_json::from_str::<Event>(&nested(deepest)).is_ok());
}

#[test]
fn enormous_repetition_is_a_number_and_not_a_loop() {
    let mut event = laplace("0.001");
    for _ in 0..20 {
        event = Event::Repeated {
            event: Box::new(event),
            times: u64::MAX,
        };
    }
    assert!(matches!(
        event.promise(&Delta::ZERO),
        Err(Error::OutOfRange { .. })
    ));
    let none = Event::Repeated {
        event: Box::new(gaussian("0")),
        times: 0,
    };
    assert_eq!(none.promise(&Delta::ZERO).unwrap(), Promise::Pure(Epsilon::ZERO));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_read_or_refused(text in "[\\[\\]{}a-z\":0-9,]{0,60}") {
        let _ = serde_json::from_str::<Event>(&text);
    }
}
