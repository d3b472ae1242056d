//! What is written down and read back, and what is refused.

use super::analyst::*;
use super::*;
use accounting::*;
use proptest::prelude::*;

#[test]
fn only_what_a_filter_wrote_is_read() {
    let mut gate = suited("1", "1e-6");
    while gate.charge(&gaussian("1000")).is_ok() {}
    let written = serde_json::to_value(&gate).unwrap();
    assert!(
        written["blend"].is_array(),
        "this state is proved by several orders"
    );
    let read: RenyiFilter = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(read, gate);
    let text = serde_json::to_string(&gate).unwrap();
    assert_eq!(serde_json::from_str::<RenyiFilter>(&text).unwrap(), gate);

    let with = |key: &str, value: serde_json::Value| {
        let mut state = written.clone();
        state[key] = value;
        state
    };
    let sums = |first: &str| {
        let mut sums = written["sums"].clone();
        sums[0] = first.into();
        with("sums", sums)
    };
    let count = written["sums"].as_array().unwrap().len();
    let mut shorter = written["sums"].clone();
    shorter.as_array_mut().unwrap().pop();
    let mut forgetful = written.clone();
    forgetful.as_object_mut().unwrap().remove("sums");
    for state in [
        sums("NaN"),
        sums("-0.1"),
        sums("inf"),
        sums("1e300"),
        sums("1e-19"),
        sums("1/3"),
        sums("many"),
        sums("1e9"),
        with("sums", shorter),
        with("sums", vec!["1000"; count].into()),
        with("sums", vec!["infinite"; count].into()),
        with("sums", serde_json::json!([])),
        with("sums", serde_json::json!([0.5])),
        with("orders", serde_json::json!([])),
        with("orders", serde_json::json!(["NaN"])),
        with("orders", serde_json::json!(["1"])),
        with("orders", serde_json::json!(["2", "2"])),
        with("own", "1e-9".into()),
        with("reserve", "1e-6".into()),
        with("blend", serde_json::json!([1, 2])),
        with("blend", serde_json::json!([u64::MAX, 1, 1u64 << 32])),
        with("blend", serde_json::json!([1u64 << 32])),
        with("blend", serde_json::Value::Null),
        with("more", 1.into()),
        forgetful,
    ] {
        assert!(
            serde_json::from_value::<RenyiFilter>(state.clone()).is_err(),
            "{state}"
        );
    }
    let message = serde_json::from_value::<RenyiFilter>(sums("NaN"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("\nhint: "), "{message}");

    let mut meter = odometer("1e-6", &[2.0, 8.5]);
    meter.charge(&gaussian("3")).unwrap();
    let written = serde_json::to_value(&meter).unwrap();
    assert_eq!(
        serde_json::from_value::<RenyiOdometer>(written.clone()).unwrap(),
        meter
    );
    for wrong in [
        serde_json::json!(["1"]),
        serde_json::json!(["-1", "1", "1"]),
        vec!["infinite"; 3].into(),
    ] {
        let mut state = written.clone();
        state["sums"] = wrong;
        assert!(serde_json::from_value::<RenyiOdometer>(state).is_err());
    }
}

#[test]
fn what_is_no_grid_or_no_target_is_refused() {
    let odd: [&[f64]; 9] = [
        &[],
        &[1.0],
        &[0.5],
        &[-2.0],
        &[f64::NAN],
        &[f64::INFINITY],
        &[2.0, 2.0],
        &[2e6],
        &[2.0; 257],
    ];
    for orders in odd {
        assert!(
            RenyiOrders::new(orders)
                .unwrap_err()
                .to_string()
                .contains("\nhint: ")
        );
    }
    let orders = RenyiOrders::new(&[9.0, 2.0]).unwrap();
    assert_eq!(orders.as_slice(), [2.0, 9.0]);
    for limit in [
        Promise::Pure(epsilon("1")),
        Promise::Approximate(epsilon("1"), Delta::ZERO),
        Promise::Concentrated(Rho::parse("1").unwrap()),
    ] {
        assert!(RenyiFilter::new(Budget::new(limit, person()), orders.clone()).is_err());
    }
    // Targets at the edges make grids, and filters that refuse.
    for (e, d) in [
        ("0", "1e-300"),
        ("1e-300", "0.5"),
        ("1e29", "1e-300"),
        ("1e29", "0.999"),
        ("1e-9", "1e-9"),
    ] {
        let mut gate = suited(e, d);
        let _ = gate.charge(&gaussian("1"));
        let _ = gate.charge(&gaussian("1e-200"));
        let read: RenyiFilter = serde_json::from_value(serde_json::to_value(&gate).unwrap()).unwrap();
        assert_eq!(read, gate);
    }
}

fn event() -> impl Strategy<Value = Event> {
    let simple = prop_oneof![
        (1u32..4000).prop_map(|variance| gaussian(&variance.to_string())),
        (1u32..200).prop_map(|hundredths| Event::Laplace {
            ratio: Ratio::parse(&format!("{hundredths}/100")).unwrap(),
            on: NoiseSupport::Rounded
        }),
        (1i64..900, 2u64..50).prop_map(|(thousandths, answers)| response(thousandths, answers).event),
        (0u32..100).prop_map(|thousandths| Event::Pure {
            epsilon: epsilon(&format!("{thousandths}e-3"))
        }),
    ];
    let several = proptest::collection::vec(simple.clone(), 0..3).prop_map(Event::Composed);
    let repeated = (simple.clone(), 0u64..4).prop_map(|(event, times)| Event::Repeated {
        event: Box::new(event),
        times,
    });
    prop_oneof![4 => simple, 1 => several, 1 => repeated]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn refusals_change_nothing_and_what_is_read_back_goes_on(events in proptest::collection::vec(event(), 1..24)) {
        let mut gate = suited("3", "1e-5");
        let mut refused = 0;
        for event in &events {
            let before = gate.clone();
            let mut read: RenyiFilter = serde_json::from_str(&serde_json::to_string(&gate).unwrap()).unwrap();
            let fits = gate.fits(event);
            let answer = gate.charge(event);
            prop_assert_eq!(fits, answer.is_ok());
            prop_assert_eq!(&read.charge(event), &answer);
            prop_assert_eq!(&read, &gate);
            if answer.is_err() {
                refused += 1;
                prop_assert_eq!(&gate, &before);
            }
        }
        let left = gate.remaining();
        prop_assert!(refused <= events.len() && left.iter().all(|(order, left)| *order > 1.0 && *left >= 0.0));
    }

    #[test]
    fn the_order_of_charges_does_not_matter(events in proptest::collection::vec(event(), 1..12)) {
        let mut forth = odometer("1e-6", &[1.5, 4.0, 20.0]);
        let mut back = forth.clone();
        let mut together = forth.clone();
        let mut previous = Epsilon::ZERO;
        for event in &events {
            forth.charge(event).unwrap();
            let now = forth.epsilon();
            // What was lost is not regained; the last of 15 digits may depend on the weights found.
            prop_assert!(now.to_f64_up() >= previous.to_f64_down() * (1.0 - 1e-9));
            previous = now;
        }
        for event in events.iter().rev() {
            back.charge(event).unwrap();
        }
        together.charge(&Event::Composed(events)).unwrap();
        prop_assert_eq!(&forth, &back);
        prop_assert_eq!(&forth, &together);
        prop_assert_eq!(forth.epsilon(), back.epsilon());
    }
}
