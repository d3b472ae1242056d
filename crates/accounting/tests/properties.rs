//! What must hold for all parameters, not only for those in a table.

use accounting::{
    Budget, Delta, Epsilon, Error, Guarantee, Neighbors, PrivacyUnit, Promise, Ratio, Rho, Spending, distance,
};
use exact::{Interval, Rational, ratio};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn decimal() -> impl Strategy<Value = String> {
    (0u64..1_000_000_000, 0u32..30).prop_map(|(digits, places)| format!("{digits}e-{places}"))
}

fn epsilon() -> impl Strategy<Value = Epsilon> {
    decimal().prop_map(|text| Epsilon::parse(&text).unwrap())
}

fn delta() -> impl Strategy<Value = Delta> {
    (0u64..1_000_000, 8u32..30)
        .prop_map(|(digits, places)| Delta::parse(&format!("{digits}e-{places}")).unwrap())
}

fn rho() -> impl Strategy<Value = Rho> {
    decimal().prop_map(|text| Rho::parse(&text).unwrap())
}

fn without_rho() -> impl Strategy<Value = Promise> {
    prop_oneof![
        epsilon().prop_map(Promise::Pure),
        (epsilon(), delta()).prop_map(|(epsilon, delta)| Promise::Approximate(epsilon, delta)),
    ]
}

fn promise() -> impl Strategy<Value = Promise> {
    prop_oneof![without_rho(), rho().prop_map(Promise::Concentrated)]
}

#[test]
fn what_is_no_quantity_is_refused_with_a_hint() {
    for text in [
        "-0.1",
        "NaN",
        "inf",
        "",
        "one",
        "1/3",
        "0x1",
        "1e31",
        "1e-301",
        "1e9999999999",
        "0.1.2",
        "½",
    ] {
        let message = Epsilon::parse(text).expect_err(text).to_string();
        assert!(message.contains("\nhint: "), "{message}");
    }
    for text in ["1", "1.0", "2", "1e300", "-1e-9"] {
        let message = Delta::parse(text).expect_err(text).to_string();
        assert!(message.contains("\nhint: "), "{message}");
    }
    assert!(matches!(Delta::parse("1"), Err(Error::DeltaTooLarge { .. })));
    assert!(matches!(Epsilon::parse("-1"), Err(Error::Negative { .. })));
    assert!(matches!(Epsilon::parse("1/3"), Err(Error::NotADecimal { .. })));
    assert_eq!(Epsilon::parse("1/4").unwrap(), Epsilon::parse("0.25").unwrap());
    assert!(Epsilon::parse(&"9".repeat(399)).unwrap_err().to_string().len() < 300);
}

#[test]
fn quantities_read_and_print_as_what_they_are() {
    let tenth = Epsilon::parse("0.10").unwrap();
    assert_eq!(
        (tenth.to_string(), format!("{tenth:?}")),
        ("0.1".to_owned(), "Epsilon(0.1)".to_owned())
    );
    assert_eq!(
        &tenth + &Epsilon::parse("0.2").unwrap(),
        Epsilon::parse("0.3").unwrap()
    );
    assert_eq!(
        serde_json::to_string(&Delta::parse("1e-9").unwrap()).unwrap(),
        "\"1e-9\""
    );
    assert_eq!(
        serde_json::from_str::<Epsilon>("2").unwrap(),
        Epsilon::parse("2").unwrap()
    );
    for hostile in ["0.1", "-1", "\"-1\"", "\"NaN\"", "null", "[]", "{}"] {
        assert!(serde_json::from_str::<Epsilon>(hostile).is_err(), "{hostile}");
    }
    assert!(serde_json::from_str::<Delta>("1").is_err());
    assert_eq!(
        Epsilon::rounded_up(&exact::power_of_two(-2000))
            .unwrap()
            .to_string(),
        "1e-300"
    );
    assert_eq!(
        Epsilon::rounded_down(&exact::power_of_two(-2000)).unwrap(),
        Epsilon::ZERO
    );
    assert_eq!(Epsilon::rounded_up(&ratio(-1, 3)).unwrap(), Epsilon::ZERO);
    assert!(Epsilon::rounded_down(&ratio(-1, 3)).is_err());
    // Rounded up, this would be 1.
    assert!(Delta::rounded_up(&(Rational::ONE - exact::power_of_two(-200))).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,30}", number in "[-+]?[0-9.e/-]{0,12}") {
        for text in [&text, &number] {
            let _ = (Epsilon::parse(text), Delta::parse(text), Rho::parse(text), Ratio::parse(text));
            if let Ok(epsilon) = Epsilon::parse(text) {
                prop_assert_eq!(Epsilon::parse(&epsilon.to_string()).unwrap(), epsilon);
            }
        }
    }

    #[test]
    fn printing_and_reading_agree(epsilon in epsilon(), delta in delta(), rho in rho()) {
        prop_assert_eq!(&Epsilon::parse(&epsilon.to_string()).unwrap(), &epsilon);
        prop_assert_eq!(&Delta::parse(&delta.to_string()).unwrap(), &delta);
        prop_assert_eq!(&Rho::parse(&rho.to_string()).unwrap(), &rho);
        let text = serde_json::to_string(&(&epsilon, &delta, &rho)).unwrap();
        prop_assert_eq!(serde_json::from_str::<(Epsilon, Delta, Rho)>(&text).unwrap(), (epsilon, delta, rho));
    }

    #[test]
    fn rounding_goes_where_it_says(numerator in 0i64.., denominator in 1u64.., exponent in -900i32..60) {
        let value = ratio(numerator, denominator) * exact::power_of_two(exponent);
        if let (Ok(up), Ok(down)) = (Epsilon::rounded_up(&value), Epsilon::rounded_down(&value)) {
            prop_assert!(*down.as_rational() <= value && value <= *up.as_rational());
            let close = &value * ratio(1, 10_000_000_000_000) + exact::parse_decimal("1e-300").unwrap();
            prop_assert!(up.as_rational() - down.as_rational() <= close);
            prop_assert_eq!(&Epsilon::parse(&up.to_string()).unwrap(), &up);
            prop_assert_eq!(&Epsilon::parse(&down.to_string()).unwrap(), &down);
            let interval = Interval::from_rational(&value, 64);
            prop_assert!(*Epsilon::at_most(&interval).unwrap().as_rational() <= value);
            prop_assert!(*Epsilon::at_least(&interval).unwrap().as_rational() >= value);
            prop_assert!(exact::from_f64(up.to_f64_up()).unwrap() >= *up.as_rational());
            prop_assert!(exact::from_f64(down.to_f64_down()).unwrap() <= *down.as_rational());
        }
    }

    #[test]
    fn ratios_round_only_when_long(numerator in 0i64.., denominator in 1u64.., power in 0usize..40) {
        let value = (0..power).fold(ratio(1, 1), |product, _| product * ratio(numerator, denominator));
        if !value.is_zero() && exact::floor_log2(&value).abs() >= 664 {
            return Ok(());
        }
        let (up, down) = (Ratio::at_least(&value), Ratio::at_most(&value));
        prop_assert!(*down.as_rational() <= value && value <= *up.as_rational());
        prop_assert_eq!(&Ratio::parse(&up.to_string()).unwrap(), &up);
        let text = serde_json::to_string(&down).unwrap();
        prop_assert_eq!(serde_json::from_str::<Ratio>(&text).unwrap(), down);
    }

    #[test]
    fn subtraction_undoes_addition(a in epsilon(), b in epsilon()) {
        prop_assert_eq!((&a + &b).checked_sub(&b), Some(a.clone()));
        prop_assert_eq!(a.checked_sub(&(&a + &b)).is_some(), b == Epsilon::ZERO);
        prop_assert_eq!(a.times(3), &(&a + &a) + &a);
    }

    #[test]
    fn composition_is_a_sum(a in without_rho(), b in without_rho(), c in without_rho()) {
        let ab = a.compose(&b).unwrap();
        prop_assert_eq!(&ab, &b.compose(&a).unwrap());
        prop_assert_eq!(ab.compose(&c).unwrap(), a.compose(&b.compose(&c).unwrap()).unwrap());
        prop_assert!(ab.covers(&a) && ab.covers(&b));
    }

    #[test]
    fn composition_is_monotone(a in promise(), b in promise(), c in promise()) {
        if let (Ok(ab), Ok(ac)) = (a.compose(&b), a.compose(&c)) {
            prop_assert!(ab.covers(&a));
            let same_kind = std::mem::discriminant(&b) == std::mem::discriminant(&c);
            if same_kind && c.covers(&b) && !matches!(b, Promise::Approximate(..)) {
                prop_assert!(ac.covers(&ab));
            }
        }
    }

    #[test]
    fn a_group_of_one_is_oneself_and_larger_groups_get_less(a in promise(), k in 1u32..6) {
        prop_assert_eq!(&a.for_group(1).unwrap(), &a);
        if let (Ok(small), Ok(large)) = (a.for_group(k), a.for_group(k + 1)) {
            prop_assert!(large.covers(&small));
        }
    }

    #[test]
    fn guarantees_survive_storage(promise in promise(), whose in "[a-z]{1,9}", change in any::<bool>()) {
        let neighbors = if change { Neighbors::ChangeOne } else { Neighbors::AddRemove };
        let guarantee = Guarantee::new(promise.clone(), PrivacyUnit::new(whose, neighbors));
        let text = serde_json::to_string(&guarantee).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Guarantee>(&text).unwrap(), &guarantee);
        let spending = Spending::none(Budget::new(promise, guarantee.unit().clone()));
        let text = serde_json::to_string(&spending).unwrap();
        prop_assert_eq!(serde_json::from_str::<Spending>(&text).unwrap(), spending);
    }

    #[test]
    fn spending_never_passes_the_limit(limit in promise(), costs in prop::collection::vec(promise(), 0..8)) {
        let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
        let mut spending = Spending::none(Budget::new(limit.clone(), unit.clone()));
        for cost in costs {
            let next = Guarantee::new(cost, unit.clone());
            let (before, fits) = (spending.clone(), spending.fits(&next));
            let charged = spending.charge(&next).is_ok();
            prop_assert_eq!(charged, fits);
            prop_assert!(charged || spending == before);
            prop_assert!(limit.covers(spending.spent()));
            // What remains is exactly what still fits.
            let rest = Guarantee::new(spending.remaining(), unit.clone());
            prop_assert!(spending.fits(&rest));
        }
    }

    #[test]
    fn distances_are_distances(
        a in prop::collection::btree_map(0u8..5, 0u64..9, 0..5),
        b in prop::collection::btree_map(0u8..5, 0u64..9, 0..5),
        from in 0u8..5, to in 0u8..5,
    ) {
        let l1 = distance(&a, &b, Neighbors::AddRemove).unwrap();
        prop_assert_eq!(l1, distance(&b, &a, Neighbors::AddRemove).unwrap());
        if let Ok(changes) = distance(&a, &b, Neighbors::ChangeOne) {
            prop_assert_eq!(2 * changes, l1);
        }
        let mut changed: BTreeMap<u8, u64> = a.clone();
        if from != to && changed.get(&from).is_some_and(|&count| count > 0) {
            *changed.get_mut(&from).unwrap() -= 1;
            *changed.entry(to).or_default() += 1;
            prop_assert_eq!(distance(&a, &changed, Neighbors::ChangeOne).unwrap(), 1);
            prop_assert_eq!(distance(&a, &changed, Neighbors::AddRemove).unwrap(), 2);
        }
    }
}
