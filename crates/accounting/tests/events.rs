//! Events: what they promise, and that hostile records are refused rather than trusted.

use accounting::{
    Accountant, Delta, Epsilon, Error, Event, MAXIMUM_DEPTH, Neighbors, NoiseSupport, PrivacyUnit, Promise,
    Ratio, Rho, Sampler, advanced_epsilon, amplified_epsilon, epsilon_of_discrete_gaussian,
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
        on: NoiseSupport::Discrete,
    }
}

fn gaussian(text: &str) -> Event {
    Event::Gaussian {
        multiplier_squared: Ratio::parse(text).unwrap(),
        on: NoiseSupport::Rounded,
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
    let (rounded, vector) = (at(NoiseSupport::Rounded), at(NoiseSupport::Discrete));
    let (one_step, many_steps) = (
        at(NoiseSupport::DiscreteScalar { sensitivity: 1 }),
        at(NoiseSupport::DiscreteScalar { sensitivity: 1000 }),
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
    // 1/8 + 4/8 + tanh(1/2) + 1/4, where tanh(1/2) = 0.46211715726000975… is rounded up.
    assert_eq!(
        events.promise(&Delta::ZERO).unwrap(),
        Promise::Concentrated(Rho::parse("1.33711715726001").unwrap())
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

fn sampled(sampler: Sampler, multiplier_squared: &str) -> Event {
    Event::SampledGaussian {
        sampler,
        multiplier_squared: Ratio::parse(multiplier_squared).unwrap(),
    }
}

fn poisson(rate: &str) -> Sampler {
    Sampler::Poisson {
        rate: Ratio::parse(rate).unwrap(),
    }
}

#[test]
fn samplers_say_whose_neighbours_they_are_about() {
    let change = PrivacyUnit::new("person", Neighbors::ChangeOne);
    let add = PrivacyUnit::new("person", Neighbors::AddRemove);
    let drawn = sampled(poisson("0.01"), "1");
    let batch = sampled(Sampler::FixedSize { batch: 10, of: 1000 }, "1");
    let epoch = sampled(Sampler::Shuffled, "1");
    assert_eq!(gaussian("1").neighbors(), Ok(None));
    assert_eq!(drawn.neighbors(), Ok(Some(Neighbors::AddRemove)));
    let both = Event::Composed(vec![batch.clone(), gaussian("1"), epoch]);
    assert_eq!(both.neighbors(), Ok(Some(Neighbors::ChangeOne)));
    assert_eq!(both.check_unit(&change), Ok(()));
    assert_eq!(gaussian("1").check_unit(&change), Ok(()));
    for (event, unit) in [(&both, &add), (&drawn, &change)] {
        let refusal = event.check_unit(unit).unwrap_err();
        assert!(matches!(refusal, Error::OtherNeighbors { .. }) && refusal.to_string().contains("\nhint: "));
    }
    let mixed = Event::Composed(vec![batch, drawn]);
    assert_eq!(mixed.neighbors(), Err(Error::MixedNeighbors));
    for accountant in Accountant::ALL {
        for unit in [&add, &change] {
            assert_eq!(
                accountant.epsilon(&mixed, unit, &delta("1e-6")),
                Err(Error::MixedNeighbors)
            );
            assert_eq!(
                accountant.delta(&mixed, unit, &epsilon("1")),
                Err(Error::MixedNeighbors)
            );
        }
    }
    assert!(Error::MixedNeighbors.to_string().contains("\nhint: "));
}

#[test]
fn a_sampled_step_costs_less_than_a_whole_one() {
    let promised = |event: &Event, allowed: &str| match event.promise(&delta(allowed)).unwrap() {
        Promise::Approximate(epsilon, _) => epsilon,
        other => panic!("{other}"),
    };
    let base = epsilon_of_gaussian(&ratio(4, 1), &delta("1e-4")).unwrap();
    let expected = amplified_epsilon(&base, &ratio(1, 10)).unwrap();
    let batch = sampled(Sampler::FixedSize { batch: 3, of: 30 }, "4");
    assert_eq!(promised(&sampled(poisson("0.1"), "4"), "1e-5"), expected);
    assert_eq!(promised(&batch, "1e-5"), expected);
    // Four steps and two plain Gaussians share δ evenly.
    let six = Event::Composed(vec![
        Event::Repeated {
            event: Box::new(batch.clone()),
            times: 4,
        },
        gaussian("4"),
        gaussian("4"),
    ]);
    let whole = epsilon_of_gaussian(&ratio(4, 1), &delta("1e-5")).unwrap();
    assert_eq!(promised(&six, "6e-5"), expected.times(4) + whole.times(2));
    // An epoch, a rate of one and a whole batch are Gaussians; a δ above the rate is all that can be lost.
    for sampler in [
        Sampler::Shuffled,
        poisson("1"),
        Sampler::FixedSize { batch: 7, of: 7 },
    ] {
        assert_eq!(
            sampled(sampler, "4").promise(&delta("1e-5")),
            gaussian("4").promise(&delta("1e-5"))
        );
    }
    assert_eq!(promised(&sampled(poisson("1e-6"), "4"), "1e-5"), Epsilon::ZERO);
    // A rate of zero is nothing, and needs no noise; one above one is refused.
    for sampler in [poisson("0"), Sampler::FixedSize { batch: 0, of: 0 }] {
        let nothing = sampled(sampler, "0");
        assert_eq!(
            nothing.promise(&Delta::ZERO).unwrap(),
            Promise::Pure(Epsilon::ZERO)
        );
        assert_eq!(nothing.concentrated().unwrap(), Rho::ZERO);
    }
    for sampler in [
        poisson("1.5"),
        Sampler::FixedSize { batch: 2, of: 1 },
        Sampler::FixedSize { batch: 1, of: 0 },
    ] {
        let refused = sampled(sampler, "4");
        assert!(matches!(
            refused.promise(&delta("1e-5")),
            Err(Error::NotAProbability { .. })
        ));
        assert!(matches!(
            refused.concentrated(),
            Err(Error::NotAProbability { .. })
        ));
    }
    assert_eq!(
        sampled(poisson("0.1"), "0").promise(&delta("0.5")),
        Err(Error::NoNoise)
    );
    // In ρ, sampling is not credited.
    assert_eq!(batch.concentrated(), gaussian("4").concentrated());
}

#[test]
fn many_leaves_are_read_or_refused_in_time() {
    let many = |event: &dyn Fn(u32) -> Event| Event::Composed((0..100_000).map(event).collect());
    let pure = many(&|i| laplace(&format!("{}/1000003", i + 1)));
    let begun = std::time::Instant::now();
    assert!(matches!(pure.promise(&Delta::ZERO), Ok(Promise::Pure(_))));
    assert!(pure.concentrated().is_ok());
    assert!(advanced_epsilon(&pure, &delta("1e-6")).is_ok());
    let noisy = many(&|i| gaussian(&format!("{}", i + 1)));
    let refusal = noisy.promise(&delta("1e-6")).unwrap_err();
    assert!(refusal.to_string().contains("\nhint: "), "{refusal}");
    assert!(noisy.concentrated().is_ok());
    assert!(advanced_epsilon(&noisy, &delta("1e-6")).is_err());
    // Wide of what a loaded machine needs: a loop over times or a search for each would take hours.
    assert!(begun.elapsed().as_secs() < 60);
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
            on: NoiseSupport::DiscreteScalar { sensitivity: 3 },
        },
    ]);
    let text = serde_json::to_string(&event).unwrap();
    assert_eq!(
        text,
        r#"{"composed":[{"laplace":{"ratio":"1/3","on":"discrete"}},{"repeated":{"event":{"gaussian":{"multiplier_squared":"2.25","on":"rounded"}},"times":7}},{"gaussian":{"multiplier_squared":"4","on":{"discrete_scalar":{"sensitivity":3}}}}]}"#
    );
    assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
}

#[test]
fn hostile_records_are_refused() {
    for text in [
        r#"{"laplace":{"ratio":"-1","on":"rounded"}}"#,
        r#"{"laplace":{"ratio":"1/0","on":"rounded"}}"#,
        r#"{"laplace":{"ratio":0.5,"on":"rounded"}}"#,
        r#"{"laplace":{"ratio":"1","on":"rounded","value":"17"}}"#,
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
