//! How much a filter admits: closed forms, sums, training, a million charges.

use super::analyst::{response, single_budget};
use super::*;
use accounting::*;

#[test]
fn one_order_of_gaussian_noise_is_the_closed_form() {
    for (order, e, d, variance) in [
        (8.0, 1.0, 1e-6, 400.0),
        (30.0, 1.0, 1e-6, 900.0),
        (2.5, 9.0, 1e-5, 30.0),
    ] {
        let mut gate = filter(&e.to_string(), &d.to_string(), &[order]);
        let mut count = 0u32;
        while gate.charge(&gaussian(&variance.to_string())).is_ok() {
            count += 1;
        }
        let expected = (single_budget(order, e, d) / (order / (2.0 * variance)))
            .floor()
            .max(0.0);
        assert_eq!(f64::from(count), expected);
        let refusal = gate.charge(&gaussian("1")).unwrap_err();
        assert!(matches!(refusal, Error::OverBudget { .. }) && refusal.to_string().contains("\nhint: "));

        let mut meter = odometer(&d.to_string(), &[order]);
        meter
            .charge(&Event::Repeated {
                event: Box::new(gaussian(&variance.to_string())),
                times: 100,
            })
            .unwrap();
        let expected = 100.0 * order / (2.0 * variance) - d.ln() / (order - 1.0);
        let read = meter.epsilon().to_f64_up();
        assert!(
            read >= expected * (1.0 - 1e-14) && read < expected * (1.0 + 1e-12),
            "{read} {expected}"
        );
    }
}

/// What adaptivity costs: against the best order for a plan that is fixed beforehand and known to be Gaussian, and against the union
/// bound over the same orders.
#[test]
fn orders_together_prove_more_than_the_best_of_them() {
    for (e, d) in [("0.5", "1e-6"), ("1", "1e-6"), ("1", "1e-9"), ("4", "1e-6")] {
        let (near, target) = (epsilon(e).to_f64_up(), delta(d).to_f64_down());
        let mut gate = suited(e, d);
        let unit = 1e-5;
        let event = Event::Concentrated {
            rho: Rho::parse("1e-5").unwrap(),
        };
        let mut count = 0;
        while gate.charge(&event).is_ok() {
            count += 1;
        }
        let orders = RenyiOrders::suited_to(&epsilon(e), &delta(d)).unwrap();
        let share = target / orders.as_slice().len() as f64;
        let union = orders
            .as_slice()
            .iter()
            .map(|&order| single_budget(order, near, share) / order)
            .fold(0.0, f64::max);
        let planned = (1..4000).map(|step| 1.0 + f64::from(step) / 16.0);
        let planned = planned
            .map(|order| single_budget(order, near, target) / order)
            .fold(0.0, f64::max);
        let reached = f64::from(count) * unit;
        assert!(
            reached > union * 1.03 && reached < planned,
            "{e} {d}: {union} {reached} {planned}"
        );
        assert!(reached > 0.84 * planned, "{e} {d}: {reached} {planned}");
    }
}

#[test]
fn pure_events_are_never_worse_than_their_sum() {
    let mut gate = suited("1", "1e-9");
    let mut meter = odometer("1e-9", &[20.0]);
    let tenth = Event::Pure {
        epsilon: epsilon("0.1"),
    };
    for _ in 0..10 {
        gate.charge(&tenth).unwrap();
        meter.charge(&tenth).unwrap();
    }
    assert_eq!(meter.epsilon(), epsilon("1"));
    assert!(!gate.fits(&tenth));
    gate.charge(&Event::Pure {
        epsilon: Epsilon::ZERO,
    })
    .unwrap();
    gate.charge(&Event::Composed(Vec::new())).unwrap();
}

#[test]
fn an_order_without_a_bound_is_lost_and_the_others_go_on() {
    // 10⁹ at order 10⁶ counts as infinite.
    let wide = gaussian("0.0005");
    let mut meter = odometer("1e-6", &[2.0, 1e6]);
    meter.charge(&wide).unwrap();
    meter.charge(&gaussian("1e6")).unwrap();
    assert!(meter.epsilon() > epsilon("2000"));
    let before = meter.clone();
    let exact = Event::Repeated {
        event: Box::new(wide),
        times: u64::MAX,
    };
    assert!(matches!(meter.charge(&exact), Err(Error::NothingBounds)));
    assert!(meter.charge(&gaussian("0")).is_err());
    assert_eq!(meter, before);
    // What is pure is bounded at every order, also where e^((α−1)ε) is beyond every float.
    let mut high = odometer("1e-6", &[1e5]);
    high.charge(&gaussian("1e9")).unwrap();
    high.charge(&response(1000, 2).event).unwrap();
    assert!(high.epsilon() < epsilon("1.001"));
    let mut pure = RenyiOdometer::new(Delta::ZERO, person(), RenyiOrders::new(&[2.0]).unwrap());
    assert!(matches!(pure.charge(&gaussian("1")), Err(Error::NothingBounds)));
    pure.charge(&Event::Pure {
        epsilon: epsilon("0.3"),
    })
    .unwrap();
    assert_eq!(pure.epsilon(), epsilon("0.3"));
}

#[test]
fn steps_of_private_training_are_charged_one_by_one() {
    let step = |rate: &str| Event::SampledGaussian {
        sampler: Sampler::Poisson {
            rate: Ratio::parse(rate).unwrap(),
        },
        multiplier_squared: Ratio::parse("4").unwrap(),
    };
    let mut gate = suited("1", "1e-6");
    let mut count = 0;
    // The rate falls as training goes on.
    while gate
        .charge(&step(if count < 500 { "0.01" } else { "0.005" }))
        .is_ok()
    {
        count += 1;
    }
    assert!(count > 1500, "{count}");
    let unit = PrivacyUnit::new("person", Neighbors::ChangeOne);
    let orders = RenyiOrders::new(&[4.0]).unwrap();
    let mut other = RenyiOdometer::new(delta("1e-6"), unit, orders);
    assert!(other.charge(&step("0.01")).is_err());
    assert_eq!(other.epsilon(), Epsilon::ZERO);
}

#[test]
fn a_million_charges() {
    let start = std::time::Instant::now();
    let step = gaussian("3e7");
    let mut gate = suited("1", "1e-6");
    let mut meter = odometer("1e-6", &[8.0, 16.0, 32.0]);
    for _ in 0..1_000_000 {
        gate.charge(&step).unwrap();
        meter.charge(&step).unwrap();
    }
    let whole = Event::Repeated {
        event: Box::new(step.clone()),
        times: 1_000_000,
    };
    let mut at_once = odometer("1e-6", &[8.0, 16.0, 32.0]);
    at_once.charge(&whole).unwrap();
    assert_eq!(meter, at_once);
    let planned = |order: f64| 1e6 / 6e7 * order + 3e6f64.ln() / (order - 1.0);
    let planned = planned(8.0).min(planned(16.0)).min(planned(32.0));
    let read = meter.epsilon().to_f64_up();
    assert!(
        read > 0.9 * planned && read <= planned * (1.0 + 1e-9),
        "{read} {planned}"
    );
    let mut more = 0;
    while gate.charge(&step).is_ok() {
        more += 1;
        assert!(more < 1_000_000);
    }
    // Refusals are no cheaper than a search, and no dearer.
    for _ in 0..100 {
        assert!(gate.charge(&step).is_err());
    }
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// What people read as spent is what is enforced: it grows, stays within the budget, and is above it for what is refused.
#[test]
fn what_is_used_is_what_is_enforced() {
    let mut gate = suited("4", "1e-6");
    assert_eq!(gate.used(), Epsilon::ZERO);
    let mut before = gate.used();
    loop {
        let event = gaussian("30");
        let after = gate.used_with(&event).unwrap().unwrap();
        match gate.charge(&event) {
            Ok(()) => {
                assert_eq!(gate.used(), after);
                assert!(before < after && after <= epsilon("4"), "{after}");
                before = after;
            }
            Err(_) => {
                assert!(after > epsilon("4"), "{after}");
                break;
            }
        }
    }
    assert!(before > epsilon("3.5"), "{before}");

    let mut pure = suited("4", "1e-6");
    for _ in 0..3 {
        pure.charge(&Event::Pure {
            epsilon: epsilon("1.2"),
        })
        .unwrap();
    }
    assert!(pure.used() <= epsilon("3.6"));
    assert_eq!(*pure.reserve_used(), Delta::ZERO);
}
