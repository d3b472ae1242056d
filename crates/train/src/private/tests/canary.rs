//! A canary sees every update: right loops pass, and planted defects do not.

use super::*;

/// What the canary tells at a confidence of 1 − 1e-9, against the certified ε of the plan.
fn audited(
    plan: &TrainingPlan,
    others: usize,
    defect: Option<Defect>,
    runs: u64,
    delta: f64,
) -> FindingVerdict {
    verdict(
        plan,
        CanaryAudit::new(plan, others, 9, defect).unwrap(),
        defect,
        runs,
        delta,
    )
}

fn verdict(
    plan: &TrainingPlan,
    mut audit: CanaryAudit,
    defect: Option<Defect>,
    runs: u64,
    delta: f64,
) -> FindingVerdict {
    let cell = |value: f64| (value * 32.0).round() as i64;
    let features = [
        Feature::ordered("sum", move |view: &CanaryView| cell(view.sum)),
        Feature::ordered("largest", move |view: &CanaryView| cell(view.largest)),
        Feature::ordered("across", move |view: &CanaryView| cell(view.across.ln())),
        Feature::ordered("silence", |view: &CanaryView| i64::from(view.sum == 0.0)),
    ];
    let found = BlackBox {
        samples_per_side: runs,
        delta,
        confidence: 1.0 - 1e-9,
    }
    .audit(|side| audit.observe(side == Side::Second).unwrap(), &features)
    .unwrap();
    let delta = Delta::parse(&delta.to_string()).unwrap();
    let event = plan.parameters().sampling.event(
        &Ratio::at_most(
            &(plan.parameters().multiplier.as_rational() * plan.parameters().multiplier.as_rational()),
        ),
        plan.parameters().steps,
    );
    let claimed = Curve::of(&event.unwrap(), &plan.unit())
        .unwrap()
        .epsilon(&delta)
        .unwrap()
        .upper;
    println!(
        "{defect:?}: at least {:.3}, claimed {:.3}",
        found.epsilon_lower,
        claimed.to_f64_up()
    );
    found.verdict(claimed.to_f64_up(), delta.to_f64_up())
}

/// False alarm 1e-9 a look.
#[test]
fn a_canary_catches_what_is_wrong() {
    let plan = |rate: (u64, u64), steps, multiplier: &str, summation| {
        let mut parameters =
            Parameters::poisson("row", rate.0, rate.1, 1.5, steps, Delta::parse("1e-5").unwrap()).unwrap();
        parameters.summation = summation;
        parameters
            .with_multiplier(Ratio::parse(multiplier).unwrap())
            .unwrap()
    };
    for summation in [Summation::Float, Summation::Exact] {
        let one = plan((1, 1), 1, "1", summation);
        assert_eq!(audited(&one, 3, None, 6_000, 0.01), FindingVerdict::Consistent);
        let three = plan((1, 1), 3, "2", summation);
        assert_eq!(audited(&three, 0, None, 4_000, 0.01), FindingVerdict::Consistent);
        for defect in [Defect::ClipTwiceTooLarge, Defect::HalfTheNoise] {
            assert_eq!(
                audited(&one, 3, Some(defect), 6_000, 0.05),
                FindingVerdict::Refuted,
                "{defect:?}"
            );
        }
        // Everybody is in: the batch has two units or one.
        let loud = plan((1, 1), 1, "4", summation);
        assert_eq!(audited(&loud, 1, None, 3_000, 0.01), FindingVerdict::Consistent);
        let divided = Defect::DividedByRealBatch;
        assert_eq!(
            audited(&loud, 1, Some(divided), 3_000, 0.01),
            FindingVerdict::Refuted
        );
    }
    let half = plan((1, 2), 1, "1", Summation::Exact);
    assert_eq!(audited(&half, 0, None, 4_000, 0.01), FindingVerdict::Consistent);
    let empty = Defect::NoNoiseOnEmptyBatch;
    assert_eq!(
        audited(&half, 0, Some(empty), 3_000, 0.01),
        FindingVerdict::Refuted
    );
    // Ten batches of one, in a random order: the canary is in one of them for certain, where ten Poisson samples miss it in a third of all runs.
    let epoch = plan((1, 10), 10, "0.25", Summation::Exact);
    assert_eq!(audited(&epoch, 9, None, 3_000, 0.66), FindingVerdict::Consistent);
    let shuffled = Defect::ShuffledAsPoisson;
    assert_eq!(
        audited(&epoch, 9, Some(shuffled), 3_000, 0.66),
        FindingVerdict::Refuted
    );
}

/// The same where rows are made one by one. False alarm 1e-9 a look.
#[test]
fn a_canary_catches_what_is_wrong_row_by_row() {
    let mut parameters = Parameters::poisson("row", 1, 1, 1.5, 1, Delta::parse("1e-5").unwrap()).unwrap();
    parameters.summation = Summation::Exact;
    let plan = parameters.with_multiplier(Ratio::parse("1").unwrap()).unwrap();
    let found = |defect, delta| {
        let audit = CanaryAudit::new(&plan, 3, 9, defect).unwrap().row_by_row();
        verdict(&plan, audit, defect, 6_000, delta)
    };
    assert_eq!(found(None, 0.01), FindingVerdict::Consistent);
    for defect in [Defect::ClipTwiceTooLarge, Defect::HalfTheNoise] {
        assert_eq!(found(Some(defect), 0.05), FindingVerdict::Refuted, "{defect:?}");
    }
}

/// A clip that follows a quantile: the count that it follows is part of what is published. With h = C the count alone tells as much as the gradient. False alarm 1e-9 a look.
#[test]
fn a_canary_sees_the_count_of_an_adaptive_clip() {
    for summation in [Summation::Float, Summation::Exact] {
        let mut parameters = Parameters::poisson("row", 1, 1, 1.5, 1, Delta::parse("1e-5").unwrap()).unwrap();
        parameters.summation = summation;
        parameters.clip = Clip::Adaptive {
            start: 1.5,
            quantile: 0.5,
            rate: 0.2,
            share: 1.0,
        };
        let plan = parameters.with_multiplier(Ratio::parse("1").unwrap()).unwrap();
        assert_eq!(audited(&plan, 3, None, 30_000, 0.05), FindingVerdict::Consistent);
        for defect in [
            Defect::CountNotPaidFor,
            Defect::ClipTwiceTooLarge,
            Defect::HalfTheNoise,
        ] {
            assert_eq!(
                audited(&plan, 3, Some(defect), 30_000, 0.05),
                FindingVerdict::Refuted,
                "{defect:?}"
            );
        }
    }
}
