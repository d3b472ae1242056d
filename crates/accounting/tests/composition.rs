//! Composition: the exact curve against a sum written down from the theorem, and what must hold between accountants.

use accounting::{
    Accountant, Curve, Delta, Epsilon, Error, Event, Neighbors, NoiseSupport, PrivacyUnit, Promise, Ratio,
    Rho, Sampler, advanced_epsilon, closed_form_epsilon, delta_of_discrete_laplace, delta_of_pure,
    epsilon_of_concentrated, epsilon_of_gaussian, epsilon_of_renyi, optimal_epsilon, rho_of_pure,
};
use exact::{Integer, Interval, Rational, ratio};
use proptest::prelude::*;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn delta(text: &str) -> Delta {
    Delta::parse(text).unwrap()
}

fn person() -> PrivacyUnit {
    PrivacyUnit::new("person", Neighbors::AddRemove)
}

fn pure(text: &str) -> Event {
    Event::Pure {
        epsilon: epsilon(text),
    }
}

fn gaussian(text: &str) -> Event {
    Event::Gaussian {
        multiplier_squared: Ratio::parse(text).unwrap(),
        on: NoiseSupport::Rounded,
    }
}

fn times(event: Event, times: u64) -> Event {
    Event::Repeated {
        event: Box::new(event),
        times,
    }
}

/// Σ_l C(k,l)·e^((k−l)ε₀)/(1+e^ε₀)^k·[1 − e^(ε−(k−2l)ε₀)]₊, term by term.
fn written_down(k: u64, one: &Rational, asked: &Rational) -> Interval {
    const BITS: u32 = 600;
    let exp = |x: &Rational| Interval::exp_of(x, BITS);
    let unit = Interval::from_integer(1, BITS);
    let p = unit.div(&unit.add(&exp(&-one.clone()))).unwrap();
    let power = |base: &Interval, n: u64| (0..n).fold(unit.clone(), |product, _| product.mul(base));
    let mut binomial = Integer::ONE;
    let mut sum = Interval::from_integer(0, BITS);
    for l in 0..=k {
        let loss = one * (Rational::from(k) - Rational::from(2 * l));
        if loss > *asked {
            let weight = power(&p, k - l).mul(&power(&unit.sub(&p), l)).scale(&binomial);
            sum = sum.add(&weight.mul(&unit.sub(&exp(&(asked - loss)))));
        }
        binomial = binomial * Integer::from(k - l) / Integer::from(l + 1);
    }
    sum
}

#[test]
fn equal_ones_compose_as_the_theorem_says() {
    for (k, one) in [
        (1, "0.7"),
        (2, "1"),
        (7, "0.3"),
        (40, "0.1"),
        (40, "2"),
        (60, "0.001"),
    ] {
        let event = times(pure(one), k);
        let one = epsilon(one);
        for part in [0, 1, 13, 50, 77, 99] {
            let asked =
                Epsilon::rounded_up(&(one.as_rational() * Rational::from(k) * ratio(part, 100))).unwrap();
            let truth = written_down(k, one.as_rational(), asked.as_rational());
            let found = Accountant::Optimal.delta(&event, &person(), &asked).unwrap();
            let slack = Rational::ONE + ratio(1, 10_000_000_000_000);
            assert!(*found.as_rational() >= truth.lower(), "{k} {one} {asked}");
            assert!(
                *found.as_rational() <= truth.upper() * slack,
                "{k} {one} {asked}: {found}"
            );
            // And back: the ε of that δ is not above, and keeps it.
            let back = optimal_epsilon(&event, &found).unwrap();
            assert!(
                back <= Epsilon::rounded_up(
                    &(asked.as_rational() * (Rational::ONE + ratio(1, 1_000_000_000)))
                )
                .unwrap(),
                "{k} {one} {asked}: {back}"
            );
            let kept = written_down(k, one.as_rational(), back.as_rational());
            assert!(kept.certainly_at_most(found.as_rational()), "{k} {one} {asked}");
        }
    }
}

#[test]
fn leaks_multiply() {
    let one = Event::Approximate {
        epsilon: epsilon("0.3"),
        delta: delta("1e-4"),
    };
    let event = times(one.clone(), 7);
    let asked = epsilon("1");
    let found = Accountant::Optimal.delta(&event, &person(), &asked).unwrap();
    // 1 − (1−δ₀)^7·(1−δ').
    let kept = (0..7).fold(Rational::ONE, |kept, _| kept * ratio(9999, 10_000));
    let truth =
        Rational::ONE - kept * (Rational::ONE - written_down(7, &ratio(3, 10), asked.as_rational()).upper());
    assert!(*found.as_rational() >= truth);
    assert!(*found.as_rational() <= truth * (Rational::ONE + ratio(1, 10_000_000_000_000)));
    assert!(optimal_epsilon(&event, &found).unwrap() <= epsilon("1.0000000001"));
    // δs of different size, and of things without ε, join the same way.
    let mixed = Event::Composed(vec![
        event,
        Event::Approximate {
            epsilon: Epsilon::ZERO,
            delta: delta("1e-3"),
        },
        pure("0.3"),
    ]);
    assert!(optimal_epsilon(&mixed, &delta("0.01")).unwrap() < epsilon("2.4"));
    assert!(matches!(
        optimal_epsilon(&mixed, &delta("1e-3")),
        Err(Error::DeltaExceeded { .. })
    ));
    // One alone is what it says.
    assert_eq!(
        Accountant::Optimal
            .delta(&one, &person(), &epsilon("0.3"))
            .unwrap(),
        delta("1e-4")
    );
    assert_eq!(optimal_epsilon(&one, &delta("1e-4")).unwrap(), epsilon("0.3"));
    // A little more than Σδ fits, because two leaks at once are one.
    let leaks = times(
        Event::Approximate {
            epsilon: epsilon("1"),
            delta: delta("0.1"),
        },
        5,
    );
    assert!(optimal_epsilon(&leaks, &delta("0.4096")).unwrap() < epsilon("5"));
    assert!(optimal_epsilon(&leaks, &delta("0.4095")).is_err());
    assert!(advanced_epsilon(&leaks, &delta("0.4096")).is_err());
}

#[test]
fn wrong_sums_are_rejected() {
    // The mean of the loss is ε·tanh(ε/2); without it, or with one run less, the closed forms would be below the optimum.
    let (k, one, allowed) = (10_000, "0.1", delta("1e-6"));
    let optimum = optimal_epsilon(&times(pure(one), k), &allowed).unwrap();
    let closed = closed_form_epsilon(&times(pure(one), k), &allowed).unwrap();
    let advanced = advanced_epsilon(&times(pure(one), k), &allowed).unwrap();
    assert!(optimum < closed && closed < advanced);
    let mean = rho_of_pure(epsilon(one).as_rational()).unwrap().times(k);
    assert!(closed.as_rational() - mean.as_rational() < *optimum.as_rational());
    let fewer = optimal_epsilon(&times(pure(one), k - 1), &allowed).unwrap();
    assert!(fewer < optimum);
}

#[test]
fn a_pure_plan_needs_no_delta_for_its_sum() {
    let plan = times(pure("0.1"), 10);
    let at = |accountant: Accountant| accountant.epsilon(&plan, &person(), &Delta::ZERO);
    assert_eq!(at(Accountant::Basic).unwrap(), epsilon("1"));
    assert_eq!(at(Accountant::Optimal).unwrap(), epsilon("1"));
    for accountant in [Accountant::Advanced, Accountant::Concentrated, Accountant::Renyi] {
        let refusal = at(accountant).unwrap_err().to_string();
        assert!(refusal.contains("\nhint: "), "{refusal}");
    }
    for accountant in [Accountant::Basic, Accountant::Optimal] {
        assert_eq!(
            accountant.delta(&plan, &person(), &epsilon("1")).unwrap(),
            Delta::ZERO
        );
    }
    assert!(matches!(
        Accountant::Basic.delta(&plan, &person(), &epsilon("0.99")),
        Err(Error::NoDelta { .. })
    ));
}

#[test]
fn gaussians_alone_add_up_exactly() {
    let plan = Event::Composed(vec![
        times(gaussian("16"), 9),
        gaussian("4"),
        Event::SampledGaussian {
            sampler: Sampler::Shuffled,
            multiplier_squared: Ratio::parse("16/3").unwrap(),
        },
    ]);
    // 9/16 + 4/16 + 3/16 = 1.
    let changed = PrivacyUnit::new("person", Neighbors::ChangeOne);
    let allowed = delta("1e-6");
    let exact = epsilon_of_gaussian(&ratio(1, 1), &allowed).unwrap();
    assert_eq!(
        Accountant::Gaussian.epsilon(&plan, &changed, &allowed).unwrap(),
        exact
    );
    let concentrated = Accountant::Concentrated
        .epsilon(&plan, &changed, &allowed)
        .unwrap();
    assert_eq!(
        concentrated,
        epsilon_of_concentrated(&Rho::parse("0.5").unwrap(), &allowed).unwrap()
    );
    assert!(exact < concentrated);
    let back = Accountant::Gaussian.delta(&plan, &changed, &exact).unwrap();
    assert!(back <= allowed && *back.as_rational() > allowed.as_rational() * ratio(999_999, 1_000_000));
    for (other, unit) in [
        (pure("1"), person()),
        (
            Event::Gaussian {
                multiplier_squared: Ratio::parse("1").unwrap(),
                on: NoiseSupport::Discrete,
            },
            person(),
        ),
        (
            Event::SampledGaussian {
                sampler: Sampler::FixedSize { batch: 1, of: 9 },
                multiplier_squared: Ratio::parse("1").unwrap(),
            },
            changed.clone(),
        ),
        (
            Event::Concentrated {
                rho: Rho::parse("1").unwrap(),
            },
            person(),
        ),
    ] {
        let refusal = Accountant::Gaussian
            .epsilon(&Event::Composed(vec![gaussian("1"), other]), &unit, &allowed)
            .unwrap_err();
        assert!(matches!(refusal, Error::Unreadable { .. }), "{refusal}");
    }
    let nothing = Event::Composed(vec![]);
    assert_eq!(
        Accountant::Gaussian
            .epsilon(&nothing, &person(), &Delta::ZERO)
            .unwrap(),
        Epsilon::ZERO
    );
}

/// Why an event says where its Laplace noise lives: on a grid it is worse than on the reals.
#[test]
fn laplace_noise_on_a_grid_is_not_laplace_noise() {
    for steps in [1u64, 2, 3, 10] {
        for tenths in 0..20 {
            let (whole, at) = (ratio(2, 1), ratio(tenths, 10));
            let scale = Rational::from(steps) / &whole;
            let grid = delta_of_discrete_laplace(&at, &scale, steps, 128);
            let half = (&at - &whole) * ratio(1, 2);
            let real = Interval::from_integer(1, 128).sub(&Interval::exp_of(&half, 128));
            assert!(grid.upper() >= real.lower(), "{steps} {at}");
            if steps == 1 && tenths > 0 {
                assert!(grid.lower() > real.upper());
                let worst = delta_of_pure(&whole, &at, 128);
                assert!(grid.lower() <= worst.upper() && worst.lower() <= grid.upper());
            }
        }
    }
}

#[test]
fn many_runs_take_no_time() {
    let allowed = delta("1e-6");
    let begun = std::time::Instant::now();
    for k in [1_000, 30_000, 100_000, 1_000_000] {
        let found = optimal_epsilon(&times(pure("0.001"), k), &allowed).unwrap();
        assert!(found < closed_form_epsilon(&times(pure("0.001"), k), &allowed).unwrap());
    }
    let noisy = times(gaussian("10000"), 1_000_000_000_000);
    let sum = Accountant::Basic.epsilon(&noisy, &person(), &allowed).unwrap();
    assert!(Accountant::Advanced.epsilon(&noisy, &person(), &allowed).unwrap() <= sum);
    assert!(
        Accountant::Concentrated
            .epsilon(&noisy, &person(), &allowed)
            .unwrap()
            <= sum
    );
    assert!(Accountant::Gaussian.epsilon(&noisy, &person(), &allowed).unwrap() <= sum);
    // A loop over the runs would take days.
    assert!(begun.elapsed().as_secs() < 60);
}

/// Whether something could not be computed rather than being refused.
fn unanswered<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Undecided { .. } | Error::TooMany { .. }))
}

#[test]
fn renyi_finds_the_best_order() {
    let event = times(gaussian("16"), 9);
    let allowed = delta("1e-6");
    let found = epsilon_of_renyi(&event, &person(), &allowed);
    if unanswered(&found) {
        return;
    }
    let (found, order) = found.unwrap();
    // All divergences of Gaussian noise are ρα: the best order on the grid is nearly the best of all.
    let rho = Accountant::Concentrated
        .epsilon(&event, &person(), &allowed)
        .unwrap();
    assert!(found >= rho && *found.as_rational() < rho.as_rational() * ratio(1001, 1000));
    assert!((5.0..20.0).contains(&order), "{order}");
    let back = Accountant::Renyi.delta(&event, &person(), &found).unwrap();
    assert!(back <= allowed && *back.as_rational() > allowed.as_rational() * ratio(99, 100));
}

fn decimal(most: u32) -> impl Strategy<Value = Epsilon> {
    (1u32..1000, 0..=most).prop_map(|(digits, places)| epsilon(&format!("{digits}e-{places}")))
}

fn small_delta() -> impl Strategy<Value = Delta> {
    (1u32..1000, 4u32..14).prop_map(|(digits, places)| delta(&format!("{digits}e-{places}")))
}

/// What has an ε by itself, with a δ or without.
fn simple() -> impl Strategy<Value = Event> {
    prop_oneof![
        decimal(5).prop_map(|epsilon| Event::Pure { epsilon }),
        decimal(5).prop_map(|epsilon| Event::Exponential { epsilon }),
        decimal(5).prop_map(|epsilon| Event::RandomizedResponse { answers: 3, epsilon }),
        decimal(5).prop_map(|epsilon| Event::Laplace {
            ratio: Ratio::at_least(epsilon.as_rational()),
            on: NoiseSupport::Discrete
        }),
        (decimal(5), 1u32..100).prop_map(|(epsilon, units)| Event::Approximate {
            epsilon,
            delta: delta(&format!("{units}e-20"))
        }),
    ]
}

fn noisy() -> impl Strategy<Value = Event> {
    (1u32..1000).prop_map(|multiplier| gaussian(&multiplier.to_string()))
}

fn plan() -> impl Strategy<Value = Event> {
    let part = (prop_oneof![3 => simple(), 1 => noisy()], 0u64..300).prop_map(|(event, k)| times(event, k));
    prop::collection::vec(part, 0..4).prop_map(Event::Composed)
}

/// Any event at all, of any depth and with any numbers.
fn anything() -> impl Strategy<Value = Event> {
    let number = prop_oneof![
        Just("0".to_owned()),
        (1u64..1000, -290i32..20).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
        (1u64..1000, -3i32..2).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
    ];
    let fraction = (1u64..u64::MAX, 1u64..u64::MAX).prop_map(|(a, b)| format!("{a}/{b}"));
    let ratio = prop_oneof![number.clone(), fraction]
        .prop_map(|text| Ratio::parse(&text).unwrap_or_else(|_| Ratio::parse("1").unwrap()));
    let some = number
        .clone()
        .prop_map(|text| Epsilon::parse(&text).unwrap_or(Epsilon::ZERO));
    let leak = number
        .clone()
        .prop_map(|text| Delta::parse(&text).unwrap_or(Delta::ZERO));
    let rho = number.prop_map(|text| Rho::parse(&text).unwrap_or(Rho::ZERO));
    let grid = prop_oneof![
        Just(NoiseSupport::Rounded),
        Just(NoiseSupport::Discrete),
        (0u64..100).prop_map(|sensitivity| NoiseSupport::DiscreteScalar { sensitivity })
    ];
    let sampler = prop_oneof![
        ratio.clone().prop_map(|rate| Sampler::Poisson { rate }),
        (0u64..100, 0u64..100).prop_map(|(batch, of)| Sampler::FixedSize { batch, of }),
        Just(Sampler::Shuffled),
    ];
    let leaf = prop_oneof![
        (ratio.clone(), grid.clone()).prop_map(|(ratio, on)| Event::Laplace { ratio, on }),
        (ratio.clone(), grid).prop_map(|(multiplier_squared, on)| Event::Gaussian {
            multiplier_squared,
            on
        }),
        (sampler, ratio).prop_map(|(sampler, multiplier_squared)| Event::SampledGaussian {
            sampler,
            multiplier_squared
        }),
        (any::<u64>(), some.clone())
            .prop_map(|(answers, epsilon)| Event::RandomizedResponse { answers, epsilon }),
        some.clone().prop_map(|epsilon| Event::Exponential { epsilon }),
        some.clone().prop_map(|epsilon| Event::Pure { epsilon }),
        (some, leak).prop_map(|(epsilon, delta)| Event::Approximate { epsilon, delta }),
        rho.prop_map(|rho| Event::Concentrated { rho }),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Event::Composed),
            (inner, prop_oneof![0u64..5, any::<u64>()]).prop_map(|(event, k)| times(event, k)),
        ]
    })
}

/// Nothing at all if the accountant was not asked, or could not answer yet.
fn at(accountant: Accountant, event: &Event, delta: &Delta) -> Option<Epsilon> {
    let found = accountant.epsilon(event, &person(), delta);
    if unanswered(&found) {
        return None;
    }
    Some(found.unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn better_accountants_say_less(event in plan(), allowed in small_delta()) {
        let basic = at(Accountant::Basic, &event, &allowed).unwrap();
        let advanced = at(Accountant::Advanced, &event, &allowed).unwrap();
        prop_assert!(advanced <= basic);
        let closed = closed_form_epsilon(&event, &allowed).unwrap();
        prop_assert!(closed <= advanced, "{closed} {advanced}");
        if let Some(optimal) = at(Accountant::Optimal, &event, &allowed) {
            prop_assert!(optimal <= basic);
            prop_assert!(optimal <= closed, "{optimal} {closed}");
            // The truth is at most the optimum for what is only known by its (ε, δ), so the curve's lower end is; and so is
            // the upper end, up to the width of the enclosure.
            let curve = Curve::of(&event, &person()).and_then(|curve| curve.epsilon(&allowed));
            if let Ok(numerical) = curve {
                let width = numerical.upper.as_rational() - numerical.lower.as_rational();
                prop_assert!(numerical.lower <= optimal, "{numerical:?} {optimal}");
                prop_assert!(*numerical.upper.as_rational() <= optimal.as_rational() + width);
            }
        }
    }

    #[test]
    fn more_runs_cost_more(event in simple(), k in 1u64..2000, allowed in small_delta()) {
        for accountant in [Accountant::Basic, Accountant::Advanced, Accountant::Optimal] {
            let (fewer, more) = (times(event.clone(), k), times(event.clone(), k + 1));
            let (fewer, more) = (at(accountant, &fewer, &allowed).unwrap(), at(accountant, &more, &allowed).unwrap());
            prop_assert!(fewer <= more, "{accountant:?} {fewer} {more}");
        }
    }

    #[test]
    fn order_does_not_matter(event in plan(), allowed in small_delta()) {
        let Event::Composed(mut events) = event.clone() else { unreachable!() };
        events.reverse();
        let other = Event::Composed(vec![Event::Composed(events), Event::Composed(vec![])]);
        for accountant in [Accountant::Basic, Accountant::Advanced, Accountant::Optimal] {
            prop_assert_eq!(
                accountant.epsilon(&event, &person(), &allowed),
                accountant.epsilon(&other, &person(), &allowed)
            );
        }
        prop_assert_eq!(
            Accountant::Concentrated.epsilon(&event, &person(), &allowed),
            Accountant::Concentrated.epsilon(&other, &person(), &allowed)
        );
    }

    #[test]
    fn what_is_found_for_a_delta_keeps_it(event in plan(), asked in decimal(2)) {
        // The optimum has a test of its own; where it asks the curve, it is as tight as that is.
        for accountant in [Accountant::Basic, Accountant::Advanced, Accountant::Concentrated] {
            if let Ok(found) = accountant.delta(&event, &person(), &asked) {
                let kept = accountant.epsilon(&event, &person(), &found).unwrap();
                let slack = asked.as_rational() * ratio(1_000_001, 1_000_000);
                prop_assert!(*kept.as_rational() <= slack, "{accountant:?} {kept} {asked}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_event_is_answered_or_refused(event in anything(), allowed in small_delta(), asked in decimal(2)) {
        // As it is read: what cannot be written and read back is no event.
        let text = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Event>(&text).unwrap(), &event);
        for neighbors in [Neighbors::AddRemove, Neighbors::ChangeOne] {
            let unit = PrivacyUnit::new("person", neighbors);
            for accountant in Accountant::ALL {
                for result in [
                    accountant.epsilon(&event, &unit, &allowed).map(|_| ()),
                    accountant.epsilon(&event, &unit, &Delta::ZERO).map(|_| ()),
                    accountant.delta(&event, &unit, &asked).map(|_| ()),
                ] {
                    if let Err(refusal) = result {
                        prop_assert!(refusal.to_string().contains("\nhint: "), "{refusal}");
                    }
                }
            }
        }
        let _: Result<Promise, Error> = event.promise(&allowed);
    }
}

#[test]
fn renyi_is_no_worse_than_its_sum_of_rhos_and_grows_with_the_plan() {
    let allowed = delta("1e-6");
    let mut last = Epsilon::ZERO;
    for times in [5, 10, 22, 40, 50, 60, 80, 200, 1000] {
        let plan = Event::Repeated {
            event: Box::new(Event::Laplace {
                ratio: Ratio::parse("0.1").unwrap(),
                on: NoiseSupport::Rounded,
            }),
            times,
        };
        let renyi = Accountant::Renyi.epsilon(&plan, &person(), &allowed).unwrap();
        let rho = Accountant::Concentrated
            .epsilon(&plan, &person(), &allowed)
            .unwrap();
        assert!(
            *renyi.as_rational() <= rho.as_rational() * ratio(1001, 1000),
            "{times}: {renyi} {rho}"
        );
        assert!(renyi >= last, "{times}: {renyi} {last}");
        last = renyi;
    }
}
