//! What the worst analyst reaches, with the filters and with mutants of them.

use super::analyst::*;
use super::{delta, epsilon, filter, odometer, person};
use accounting::{
    Budget, Delta, Error, Event, Guarantee, Promise, RenyiFilter, RenyiOrders, Rho, Spending,
    epsilon_of_concentrated, renyi_divergence,
};
use exact::Rational;

#[test]
fn the_worst_analyst_of_small_questions_keeps_the_target() {
    let menu = [response(100, 2), response(500, 2)];
    for (e, d, orders) in [
        ("1", "0.05", vec![4.0, 8.0]),
        ("2", "0.01", vec![3.0, 6.0, 12.0]),
        ("1.5", "0.02", (2..20).map(f64::from).collect()),
        ("0.3", "0.001", vec![64.0]),
    ] {
        let gate = filter(e, d, &orders);
        let worst = worst_delta(&gate, &menu, epsilon(e).as_rational(), 9);
        assert!(
            worst.certainly_at_most(delta(d).as_rational()),
            "{e} {d} {}",
            worst.to_f64_nearest()
        );
        // And it was the filter that stopped them, not the depth: more than the target is in reach.
        let all = worst_delta(
            &Mutant {
                ran: Vec::new(),
                judges: |_: &[Event]| true,
            },
            &menu,
            epsilon(e).as_rational(),
            9,
        );
        assert!(all.certainly_at_least(delta(d).as_rational()));
    }
}

#[test]
fn the_worst_analyst_who_branches_keeps_the_target() {
    let twelve = Rational::from(12u8);
    let mut most = 0f64;
    for part in [0.3, 0.35, 0.4, 0.45, 0.8, 0.95] {
        let gate = filter("12", "0.0003", &ORDERS);
        let worst = worst_delta(&gate, &branching_menu(part), &twelve, 4);
        assert!(worst.certainly_at_most(delta("0.0003").as_rational()));
        most = most.max(times(&worst, 3e-4));
    }
    // The test has teeth only if the analyst gets near the target.
    assert!(most > 0.75, "{most}");
}

/// The mutant gives each order the whole δ: any one order alone would be right, but the analyst uses one after the large
/// loss and the other after the small one.
#[test]
fn orders_that_do_not_share_the_delta_are_caught() {
    let judges = |ran: &[Event]| {
        ORDERS.iter().any(|&order| {
            let spent: f64 = ran
                .iter()
                .map(|event| renyi_divergence(event, &person(), order).unwrap())
                .sum();
            spent <= single_budget(order, 12.0, 3e-4)
        })
    };
    let mutant = Mutant {
        ran: Vec::new(),
        judges,
    };
    let worst = worst_delta(&mutant, &branching_menu(0.8), &Rational::from(12u8), 4);
    assert!(times(&worst, 3e-4) > 1.5, "{}", times(&worst, 3e-4));
    // With one order the same rule is right.
    for order in ORDERS {
        let judges = move |ran: &[Event]| {
            let spent: f64 = ran
                .iter()
                .map(|event| renyi_divergence(event, &person(), order).unwrap())
                .sum();
            spent <= single_budget(order, 12.0, 3e-4)
        };
        for part in [0.8, 0.9, 0.95] {
            let worst = worst_delta(
                &Mutant {
                    ran: Vec::new(),
                    judges,
                },
                &branching_menu(part),
                &Rational::from(12u8),
                4,
            );
            assert!(worst.certainly_at_most(delta("0.0003").as_rational()));
        }
    }
}

/// The example in the documentation: the mutant admits what keeps the exact curve of "what ran so far" below δ, as if it had been the
/// plan all along.
#[test]
fn a_curve_that_is_continued_is_caught() {
    let menu = branching_menu(0.95);
    let (twelve, target) = (Rational::from(12u8), delta("0.0003"));
    for next in [1, 2] {
        assert!(planned_delta(&[&menu[0], &menu[next]], &twelve).certainly_at_most(target.as_rational()));
    }
    let by_event = menu.clone();
    let judges = |ran: &[Event]| {
        let plan: Vec<&Question> = ran
            .iter()
            .map(|event| by_event.iter().find(|question| question.event == *event).unwrap())
            .collect();
        planned_delta(&plan, &Rational::from(12u8)).certainly_at_most(delta("0.0003").as_rational())
    };
    let worst = worst_delta(
        &Mutant {
            ran: Vec::new(),
            judges,
        },
        &menu,
        &twelve,
        4,
    );
    assert!(times(&worst, 3e-4) > 1.88, "{}", times(&worst, 3e-4));
}

impl Gate for Spending {
    fn admits(&mut self, event: &Event) -> bool {
        let promise = match self.budget().limit() {
            Promise::Concentrated(_) => Promise::Concentrated(event.concentrated().unwrap()),
            _ => event.promise(&Delta::ZERO).unwrap(),
        };
        self.charge(&Guarantee::new(promise, person())).is_ok()
    }

    fn state(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

#[test]
fn a_spending_is_the_filter_of_pure_and_concentrated_budgets() {
    let menu = [response(100, 2), response(500, 2), response(1200, 9)];
    let rho = Rho::parse("0.7").unwrap();
    let gate = Spending::none(Budget::new(Promise::Concentrated(rho.clone()), person()));
    for d in ["0.1", "0.01", "0.0001"] {
        let at = epsilon_of_concentrated(&rho, &delta(d)).unwrap();
        let worst = worst_delta(&gate, &menu, at.as_rational(), 8);
        assert!(worst.certainly_at_most(delta(d).as_rational()), "{d}");
    }
    let gate = Spending::none(Budget::new(Promise::Pure(epsilon("1.5")), person()));
    let within = worst_delta(&gate, &menu, epsilon("1.5").as_rational(), 15);
    assert!(within.certainly_at_most(&Rational::ZERO));
    let below = worst_delta(&gate, &menu, epsilon("1.49").as_rational(), 15);
    assert!(!below.certainly_at_most(&Rational::ZERO));
}

#[test]
fn events_that_carry_a_delta_are_paid_from_the_reserve() {
    let orders = RenyiOrders::new(&[3.0, 6.0]).unwrap();
    let budget = Budget::new(Promise::Approximate(epsilon("2"), delta("0.05")), person());
    let gate = RenyiFilter::with_reserve(budget.clone(), orders.clone(), delta("0.02")).unwrap();
    let menu = [response(500, 2), leaky(500, "0.008"), leaky(200, "0.004")];
    let worst = worst_delta(&gate, &menu, &Rational::from(2u8), 7);
    assert!(
        worst.certainly_at_most(delta("0.05").as_rational()),
        "{}",
        worst.to_f64_nearest()
    );
    assert!(worst.to_f64_nearest() > 0.02, "the reserve was used");

    // Where the rest is tight: a filter that forgot to take the reserve out of δ would let 1.4 times the δ through.
    let budget_of_twelve = Budget::new(Promise::Approximate(epsilon("12"), delta("0.0003")), person());
    let orders_of_twelve = RenyiOrders::new(&[2.0]).unwrap();
    let tight = RenyiFilter::with_reserve(budget_of_twelve, orders_of_twelve, delta("0.00015")).unwrap();
    let menu_of_twelve = [
        leaky(0, "0.00015"),
        rare(12_693, 0.47 * 6e-4),
        rare(12_693, 0.95 * 6e-4),
    ];
    let worst = worst_delta(&tight, &menu_of_twelve, &Rational::from(12u8), 3);
    assert!(
        worst.certainly_at_most(delta("0.0003").as_rational()),
        "{}",
        times(&worst, 3e-4)
    );
    assert!(times(&worst, 3e-4) > 0.95);

    let mut gate = gate;
    gate.charge(&leaky(500, "0.008").event).unwrap();
    gate.charge(&Event::Composed(vec![leaky(200, "0.004").event; 3]))
        .unwrap();
    let before = gate.clone();
    let refusal = gate.charge(&leaky(0, "1e-300").event).unwrap_err();
    assert!(matches!(refusal, Error::ReserveExceeded { .. }) && refusal.to_string().contains("\nhint: "));
    let enormous = Event::Repeated {
        event: Box::new(leaky(0, "0.9").event),
        times: u64::MAX,
    };
    assert!(matches!(
        gate.charge(&enormous),
        Err(Error::ReserveExceeded { .. })
    ));
    assert_eq!(gate, before);
    gate.charge(&leaky(1, "0").event).unwrap();

    let mut without = RenyiFilter::new(budget.clone(), orders.clone()).unwrap();
    assert!(matches!(
        without.charge(&menu[1].event),
        Err(Error::ReserveExceeded { .. })
    ));
    let mut meter = odometer("0.05", &[3.0]);
    assert!(matches!(
        meter.charge(&menu[1].event),
        Err(Error::ReserveExceeded { .. })
    ));
    assert!(RenyiFilter::with_reserve(budget, orders, delta("0.05")).is_err());
}

#[test]
fn an_odometer_is_right_at_all_times_and_its_mutant_is_not() {
    let menu = {
        let mut menu = branching_menu(0.95 / 9.0);
        menu[2] = branching_menu(0.8 / 2.0).remove(2);
        menu
    };
    // The tally does not depend on the order of charges (a test below), so numbers suffice.
    let honest = |d: &str, orders: &[f64], menu: &[Question], ran: &[u64]| {
        let mut meter = odometer(d, orders);
        for (question, times) in menu.iter().zip(ran) {
            let event = Box::new(question.event.clone());
            meter.charge(&Event::Repeated { event, times: *times }).unwrap();
        }
        meter.epsilon().as_rational().clone()
    };
    let miss = worst_miss(&|ran| honest("0.0003", &ORDERS, &menu, ran), &menu, 3);
    assert!(
        miss.certainly_at_most(delta("0.0003").as_rational()),
        "{}",
        times(&miss, 3e-4)
    );
    // The mutant forgets that it looks at the best of two orders.
    let divergence =
        |question: &Question, order| renyi_divergence(&question.event, &person(), order).unwrap();
    let mutant = |ran: &[u64]| {
        let at = |order: f64| {
            let each = menu
                .iter()
                .zip(ran)
                .map(|(question, times)| *times as f64 * divergence(question, order));
            each.sum::<f64>() - 3e-4f64.ln() / (order - 1.0)
        };
        exact::from_f64(at(ORDERS[0]).min(at(ORDERS[1]))).unwrap()
    };
    let miss = worst_miss(&mutant, &menu, 3);
    assert!(times(&miss, 3e-4) > 1.5, "{}", times(&miss, 3e-4));

    let small = [response(100, 2), response(500, 2)];
    for d in ["0.3", "0.1", "0.01"] {
        let miss = worst_miss(&|ran| honest(d, &[1.5, 3.0, 9.0], &small, ran), &small, 12);
        assert!(
            miss.certainly_at_most(delta(d).as_rational()),
            "{d} {}",
            miss.to_f64_nearest()
        );
    }
}
