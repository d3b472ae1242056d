//! P1, P2 and P3: a planted PIN, models with and without noise, and what each is good for. A small study, so
//! that it runs in seconds; `deniable attack memorization --full` has the published size.

use super::super::{Fault, Outcome};
use crate::ObservedModel;
use accounting::{Delta, Epsilon, Promise};
use attack::memorization::{Candidates, Rank, Ranking, rank_all};
use device::Cpu;
use report::{Figure, Scale, significant};
use std::ops::RangeInclusive;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use train::case_study::{Data, Language, Recipe, Study, train};
use train::models::Network;
use train::text::{Digits, START};

const NETWORK: Network = Network::Lstm {
    embedding: 24,
    hidden: 48,
    dropout: 0.0,
};
/// Everything follows from these, so a row that passes once passes always.
const SEEDS: RangeInclusive<u64> = 1..=5;
const TARGET: &str = "8";
const DELTA: &str = "1e-5";

/// One model of one seed.
struct Asked {
    rank: Rank,
    /// Of the ten likeliest, how many share three digits with the secret.
    neighbours: usize,
    perplexity: f64,
    accuracy: f64,
    /// For one row; infinite without privacy.
    epsilon: f64,
}

/// The models of one seed: ordinary, with the published noise, and with a stated ε.
struct Seeded {
    unigram: f64,
    models: [Asked; 3],
}

fn study(seed: u64) -> Study {
    Study {
        rows: 6_000,
        validation: 400,
        length: 20,
        vocabulary: 400,
        digits: Digits::Single,
        prefix: "my pin number is ".to_owned(),
        pin: "3456".to_owned(),
        copies: 180,
        others: Vec::new(),
        seed,
    }
}

fn run(seed: u64) -> Result<Seeded, Fault> {
    let study = study(seed);
    let data = study.synthetic()?;
    let delta = Delta::parse(DELTA)?;
    let ordinary = Recipe {
        steps: 900,
        batch: 60,
        learning_rate: 5e-3,
        ..Recipe::ordinary()
    };
    let published = Recipe {
        privacy: Recipe::of_the_paper().privacy,
        steps: 300,
        ..ordinary.clone()
    };
    let private = Recipe::private(study.rows, 200, 250, 5e-3, 1.0, &Epsilon::parse(TARGET)?, &delta)?;
    Ok(Seeded {
        unigram: data.unigram.perplexity(),
        models: [
            ask(&study, &data, &ordinary, &delta)?,
            ask(&study, &data, &published, &delta)?,
            ask(&study, &data, &private, &delta)?,
        ],
    })
}

fn ask(study: &Study, data: &Data, recipe: &Recipe, delta: &Delta) -> Result<Asked, Fault> {
    let model = || NETWORK.build(Cpu::<f32>::default(), data.vocabulary.len());
    let mut learner = Language::new(Cpu::default(), model()?);
    let device = Cpu::default();
    let trained = train(device, model()?, data, recipe, delta, study.seed, &mut |_| true)?;
    let result = trained.result().ok_or("no step was taken")?;
    learner.load(&result.weights);
    let candidates = Candidates::pins(4, |pin| data.vocabulary.encode(pin))?;
    let prefix = data.vocabulary.encode(&study.prefix);
    let ranking: Ranking = rank_all(&mut ObservedModel(&mut learner), &[START], &prefix, &candidates);
    let epsilon = match recipe.guarantee(study.rows, recipe.steps, delta)? {
        Some(guarantee) => match guarantee.promise() {
            Promise::Pure(epsilon) | Promise::Approximate(epsilon, _) => epsilon.to_f64_up(),
            Promise::Concentrated(_) => f64::INFINITY,
        },
        None => f64::INFINITY,
    };
    Ok(Asked {
        rank: ranking.rank_of(&study.pin).ok_or("the PIN is a candidate")?,
        neighbours: ranking.neighbours(10, &study.pin, 3),
        perplexity: result.validation.perplexity(),
        accuracy: learner
            .predict(&data.validation.clone().first(100), true)
            .accuracy()
            .unwrap_or(0.0),
        epsilon,
    })
}

/// Trained once for all rows that look at it.
fn studies() -> Result<&'static [Seeded], Fault> {
    static FOUND: OnceLock<Result<Vec<Seeded>, String>> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        std::thread::scope(|scope| {
            let run = |seed| scope.spawn(move || run(seed).map_err(|fault| fault.to_string()));
            let seeds: Vec<_> = SEEDS.map(run).collect();
            let found = seeds.into_iter().map(|seed| seed.join());
            found
                .map(|found| found.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        })
    });
    found.as_deref().map_err(|fault| fault.clone().into())
}

fn ranks(studies: &[Seeded], model: usize) -> String {
    let ranks: Vec<String> = studies
        .iter()
        .map(|one| one.models[model].rank.worst.to_string())
        .collect();
    ranks.join(", ")
}

/// P1: without privacy the PIN ranks first, and its neighbours share its digits.
pub(super) fn memorized() -> Result<Outcome, Fault> {
    let studies = studies()?;
    let first = studies.iter().all(|one| one.models[0].rank.worst == 1);
    let neighbours: Vec<String> = studies
        .iter()
        .map(|one| one.models[0].neighbours.to_string())
        .collect();
    let share = studies.iter().all(|one| one.models[0].neighbours >= 4);
    Ok(Outcome::new(
        "rank 1 of 10,000 with each seed; several of the ten likeliest share three digits with it",
        format!(
            "ranks {} (seeds 1 to 5); {} of the ten likeliest share three digits",
            ranks(studies, 0),
            neighbours.join(", ")
        ),
        first && share,
    )
    .note("A small study: 6,000 synthetic rows, 180 of them with the PIN. `deniable attack memorization --full` has the published size."))
}

/// P2: with noise it is lost in the crowd; the published noise promises little, and a stated ε ≤ 8 hides it
/// too.
pub(super) fn hidden(accounting: Outcome) -> Result<Outcome, Fault> {
    let studies = studies()?;
    let far = |model: usize| studies.iter().all(|one| one.models[model].rank.best > 100);
    let kept = studies.iter().all(|one| one.models[2].epsilon <= 8.0);
    let published = studies[0].models[1].epsilon;
    let mut outcome = Outcome::new(
        format!(
            "{}; trained, the PIN is beyond rank 100 with either noise",
            accounting.expected
        ),
        format!(
            "{}; ranks {} with the published noise (ε = {} here, for one row) and {} with ε ≤ {TARGET}",
            accounting.measured,
            ranks(studies, 1),
            significant(published, 4),
            ranks(studies, 2)
        ),
        accounting.pass && far(1) && far(2) && kept && published > 8.0,
    )
    .note("Ten microbatches of ten double the sensitivity, and ε is for one row; the PIN is in many.");
    outcome.figures = accounting.figures;
    Ok(outcome)
}

/// P3: what the models are good for, beside ε.
pub(super) fn useful() -> Result<Outcome, Fault> {
    let studies = studies()?;
    let mean = |pick: &dyn Fn(&Seeded) -> f64| studies.iter().map(pick).sum::<f64>() / studies.len() as f64;
    let unigram = mean(&|one| one.unigram);
    let perplexity = |model: usize| mean(&|one| one.models[model].perplexity);
    let accuracy = |model: usize| mean(&|one| one.models[model].accuracy);
    let reported = |model: usize| {
        format!(
            "{} and {} %",
            significant(perplexity(model), 4),
            significant(100.0 * accuracy(model), 3)
        )
    };
    // The ordinary model has learned something, and privacy has its price.
    let pass = perplexity(0) < unigram && perplexity(2) > perplexity(0) && accuracy(0) > accuracy(1);
    let points: Vec<(f64, f64)> = studies
        .iter()
        .flat_map(|one| &one.models)
        .filter(|asked| asked.epsilon.is_finite())
        .map(|asked| (asked.epsilon, asked.perplexity))
        .collect();
    let figure = Figure::new("What noise costs: perplexity on held-out text")
        .x_axis("ε of one row", Scale::Log10)
        .y_axis("perplexity", Scale::Linear)
        .points("with noise", &points)
        .horizontal("ordinary", perplexity(0))
        .horizontal("frequencies of words alone", unigram);
    Ok(Outcome::new(
        "the ordinary model beats the frequencies of words; both private ones predict worse than it",
        format!(
            "held-out perplexity and accuracy: ordinary {}; published noise {}; ε ≤ {TARGET} {}; frequencies alone {}",
            reported(0),
            reported(1),
            reported(2),
            significant(unigram, 4)
        ),
        pass,
    )
    .note("A model no better than the frequencies of words hides a PIN because it knows no sentences at all: compare at equal usefulness.")
    .figure(figure))
}
