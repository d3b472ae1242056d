//! P4: the loop of private training keeps its promise against an adversary who sees every update.

use super::super::{Fault, Outcome};
use accounting::{Curve, Delta, Ratio};
use audit::black_box::{BlackBox, Feature, FindingVerdict, Side};
use report::significant;
use train::private::{CanaryAudit, CanaryView, Defect, Parameters, TrainingPlan};

const DELTA: &str = "0.05";
const RUNS: u64 = 10_000;
const CONFIDENCE: f64 = 1.0 - 1e-9;

fn plan() -> Result<TrainingPlan, Fault> {
    let parameters = Parameters::poisson("example", 1, 1, 1.0, 1, Delta::parse("1e-5")?)?;
    Ok(parameters.with_multiplier(Ratio::parse("1")?)?)
}

/// A lower bound on ε at [`DELTA`] from runs with and without a canary, and whether it refutes the claim.
fn audited(
    plan: &TrainingPlan,
    claimed: f64,
    defect: Option<Defect>,
) -> Result<(f64, FindingVerdict), Fault> {
    let mut audit = CanaryAudit::new(plan, 3, 9, defect)?;
    let cell = |value: f64| (value * 32.0).round() as i64;
    let features = [
        Feature::ordered("sum", move |view: &CanaryView| cell(view.sum)),
        Feature::ordered("largest", move |view: &CanaryView| cell(view.largest)),
    ];
    let delta: f64 = DELTA.parse()?;
    let hunt = BlackBox {
        samples_per_side: RUNS,
        delta,
        confidence: CONFIDENCE,
    };
    let mut fault = None;
    let found = hunt.audit(
        |side| {
            audit.observe(side == Side::Second).unwrap_or_else(|error| {
                fault = Some(error.to_string());
                CanaryView {
                    sum: 0.0,
                    largest: 0.0,
                    across: 0.0,
                }
            })
        },
        &features,
    )?;
    match fault {
        Some(fault) => Err(fault.into()),
        None => Ok((found.epsilon_lower, found.verdict(claimed, delta))),
    }
}

pub(super) fn loop_keeps_its_promise() -> Result<Outcome, Fault> {
    let plan = plan()?;
    let parameters = plan.parameters();
    let multiplier = parameters.multiplier.as_rational();
    let event = parameters
        .sampling
        .event(&Ratio::at_most(&(multiplier * multiplier)), parameters.steps)?;
    let claimed = Curve::of(&event, &plan.unit())?
        .epsilon(&Delta::parse(DELTA)?)?
        .upper
        .to_f64_up();
    let (found, verdict) = audited(&plan, claimed, None)?;
    let (clipped, clip_verdict) = audited(&plan, claimed, Some(Defect::ClipTwiceTooLarge))?;
    let (halved, noise_verdict) = audited(&plan, claimed, Some(Defect::HalfTheNoise))?;
    let pass = verdict == FindingVerdict::Consistent
        && found > 0.25 * claimed
        && clip_verdict == FindingVerdict::Refuted
        && noise_verdict == FindingVerdict::Refuted;
    Ok(Outcome::new(
        "sampled, clipped per example, noised: a canary's lower bound stays under ε; twice the clip or half the noise goes over",
        format!(
            "ε ≥ {} of {} at δ = {DELTA}; clip twice too large: ≥ {}; half the noise: ≥ {}",
            significant(found, 3),
            significant(claimed, 4),
            significant(clipped, 3),
            significant(halved, 3)
        ),
        pass,
    )
    .note("The canary's gradient is longer than the clip norm, and all updates are seen (false alarm 1e-9)."))
}
