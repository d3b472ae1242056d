//! M1: tracing from means, and the limit on its success with noise.

use crate::claims::local::FALSE_ALARM;
use crate::claims::{Fault, Outcome};
use accounting::{Delta, Epsilon};
use attack::membership::{Accusations, Experiment, Limit, Noise, Population, Scores};
use audit::binomial::{lower_limit, upper_limit};
use noise::{Entropy, OsEntropy};
use report::{Figure, Scale};

/// A study of this many people and attributes, and how many studies.
const PEOPLE: u32 = 50;
const ATTRIBUTES: usize = 1_000;
const STUDIES: u64 = 600;
/// The share of strangers that a threshold is chosen for.
const RATE: f64 = 0.05;

/// The fewest members and the most strangers that a threshold accuses, each but for a chance of 1e-9.
fn surely(counts: &Accusations) -> (f64, f64) {
    (
        lower_limit(counts.true_positives, counts.trials, FALSE_ALARM),
        upper_limit(counts.false_positives, counts.trials, FALSE_ALARM),
    )
}

/// Whether a test certainly does better than a limit allows.
fn exceeds(scores: &Scores, limit: &Limit) -> bool {
    let (members, strangers) = surely(&scores.accusations(RATE));
    members > limit.true_positives(strangers)
}

pub(super) fn traced() -> Result<Outcome, Fault> {
    let delta = Delta::parse("1e-5")?;
    let noises = [
        Noise::None,
        Noise::Gaussian(Epsilon::parse("10")?, delta.clone()),
        Noise::Gaussian(Epsilon::parse("1")?, delta),
    ];
    let seed = OsEntropy::new()?.bits(64);
    let population = Population::uniform(ATTRIBUTES, seed);
    let experiment = Experiment {
        population: &population,
        people: PEOPLE,
        noises: &noises,
        trials: STUDIES,
        seed,
    };
    let found = experiment.run(&|_| true)?;
    let limits = [noises[1].limit(), noises[2].limit()].map(|limit| limit.ok_or("a limit"));
    let [Ok(weak), Ok(strong)] = limits else {
        return Err("noise has a limit".into());
    };
    let best = |scores: &[Scores; 2]| scores[0].area().max(scores[1].area());
    // Without noise the tests are far above the line of ε = 1; with it they are under it, and under that of
    // its own noise.
    let traced = found[0].iter().any(|scores| exceeds(scores, &strong));
    let kept = found[1].iter().all(|scores| !exceeds(scores, &weak))
        && found[2].iter().all(|scores| !exceeds(scores, &strong));
    // An attack that finds nothing at all shows nothing: at ε = 10 it is seven standard errors better than a
    // coin.
    let sees = found[1][0].area() > 0.5 + 7.0 * found[1][0].area_error();
    let gaussian = noises[2].gaussian_limit()?.ok_or("Gaussian noise has a limit")?;
    let below = found[2]
        .iter()
        .all(|scores| scores.area() < gaussian.area() + 7.0 * scores.area_error());
    let accused = found[0][0].accusations(RATE);
    let measured = format!(
        "AUC {:.3} without noise, {:.3} at ε = 10, {:.3} at ε = 1 (of at most {:.3}); without noise {} of {} members and {} strangers accused",
        best(&found[0]),
        best(&found[1]),
        best(&found[2]),
        strong.area(),
        accused.true_positives,
        accused.trials,
        accused.false_positives
    );
    let figure = Figure::new("Tracing from means: members accused against strangers accused")
        .x_axis("strangers accused", Scale::Linear)
        .y_axis("members accused", Scale::Linear)
        .y_at_most(1.0)
        .line("no noise", &found[0][0].curve())
        .line("ε = 10", &found[1][0].curve())
        .line("ε = 1", &found[2][0].curve())
        .line("(1, 1e-5) allows", &strong.corners())
        .line("this Gaussian noise allows", &gaussian.curve(100));
    Ok(Outcome::new(
        "without noise above e^ε·p_fp + δ for ε = 1; with noise of ε = 10 and 1 under it",
        measured,
        traced && kept && sees && below,
    )
    .note(format!(
        "{STUDIES} synthetic studies of {PEOPLE} people and {ATTRIBUTES} attributes, each tried on one member and one stranger; seed {seed}."
    ))
    .figure(figure))
}
