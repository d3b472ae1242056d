use super::*;

fn epsilon(text: &str) -> Epsilon {
    Epsilon::parse(text).unwrap()
}

fn gaussian(text: &str) -> Noise {
    Noise::Gaussian(epsilon(text), Delta::parse("1e-5").unwrap())
}

fn run(people: u32, attributes: usize, noises: &[Noise], trials: u64, seed: u64) -> Vec<[Scores; 2]> {
    let population = Population::uniform(attributes, seed);
    let experiment = Experiment {
        population: &population,
        people,
        noises,
        trials,
        seed,
    };
    experiment.run(&|_| true).unwrap()
}

/// The area that theory predicts for inner products. A member's score is Σ v/n more than a stranger's on
/// average, v = p(1−p), and both vary by about Σ v·(v/n + σ²), so the area is Φ of the difference over √2
/// deviations.
fn predicted(frequencies: &[f64], people: f64, deviation: f64) -> f64 {
    let spreads = frequencies.iter().map(|frequency| frequency * (1.0 - frequency));
    let shift: f64 = spreads.clone().sum::<f64>() / people;
    let variance: f64 = spreads.map(|v| v * (v / people + deviation * deviation)).sum();
    roc::normal_distribution(shift / (2.0 * variance).sqrt())
}

#[test]
fn areas_are_the_predicted_ones() {
    let noises = [Noise::None, gaussian("10"), gaussian("1")];
    let (people, attributes) = (100, 1000);
    let found = run(people, attributes, &noises, 400, 11);
    let population = Population::uniform(attributes, 11);
    for (noise, scores) in noises.iter().zip(&found) {
        let size = noise.size(attributes, people).unwrap();
        let expected = predicted(population.frequencies(), f64::from(people), size);
        let inner = &scores[0];
        assert_eq!((inner.inside.len(), inner.outside.len()), (400, 400));
        // With this seed; the margin is four standard errors of the experiment.
        let margin = 4.0 * inner.area_error().max(0.001);
        assert!(
            (inner.area() - expected).abs() < margin,
            "{noise:?}: {} not {expected} ± {margin}",
            inner.area()
        );
        // The likelihood ratio is no worse.
        assert!(
            scores[1].area() > inner.area() - margin,
            "{noise:?}: {}",
            scores[1].area()
        );
    }
    // Without noise everybody is distinguished, with it hardly anybody.
    assert!(found[0][0].area() > 0.98 && found[0][1].area() > 0.98);
    assert!(found[2][0].area() < 0.65);
}

#[test]
fn no_score_beats_what_its_noise_allows() {
    let noises = [gaussian("2"), Noise::Laplace(epsilon("2"))];
    let found = run(10, 200, &noises, 600, 12);
    for (noise, scores) in noises.iter().zip(&found) {
        for scores in scores {
            // With this seed; four standard errors.
            let most = noise.limit().unwrap().area() + 4.0 * scores.area_error();
            assert!(scores.area() < most);
            if let Some(limit) = noise.gaussian_limit().unwrap() {
                assert!(scores.area() < limit.area() + 4.0 * scores.area_error());
            }
        }
    }
}

#[test]
fn noise_has_the_stated_size() {
    // ℓ₁ of the sums is d, so Laplace noise on a mean has scale d/(n·ε).
    let laplace = Noise::Laplace(epsilon("2"));
    assert!((laplace.size(500, 100).unwrap() - 500.0 / 100.0 / 2.0).abs() < 1e-12);
    // ℓ₂ is √d: the smallest multiplier at (1, 1e-5) is 3.7306…
    let size = gaussian("1").size(400, 100).unwrap();
    assert!(
        (size - 3.730_631_634_815_942 * 20.0 / 100.0).abs() < 1e-9,
        "{size}"
    );
    assert!(
        (gaussian("1").gaussian_limit().unwrap().unwrap().shift - 1.0 / 3.730_631_634_815_942).abs() < 1e-9
    );
    assert_eq!(Noise::None.size(500, 100).unwrap(), 0.0);
    // And the published sums really have it: 40,000 draws, with this seed.
    let protection = Protection::new(&gaussian("1"), 400).unwrap();
    let mut squares = 0.0;
    for seed in 0..100 {
        let sums = protection.release(&[50; 400], Seeded::new(seed)).unwrap();
        squares += sums.iter().map(|sum| (*sum as f64 - 50.0).powi(2)).sum::<f64>();
    }
    let deviation = (squares / 40_000.0).sqrt();
    assert!((deviation / (size * 100.0) - 1.0).abs() < 0.02, "{deviation}");
}

#[test]
fn a_member_of_a_study_of_one_is_certain() {
    let population = [0.25, 0.5, 0.75, 0.5];
    let member = [true, false, true, true];
    let means: Vec<f64> = member.iter().map(|has| f64::from(u8::from(*has))).collect();
    let published = Published {
        people: 1,
        means: &means,
        frequencies: &population,
        noise: &Noise::None,
        size: 0.0,
    };
    let weights = published.weights(Score::LikelihoodRatio);
    // ln(1/p) for each: the study is her for certain, and was a coincidence with probability Π p.
    let expected = -(0.25f64 * 0.5 * 0.75 * 0.5).ln();
    assert!((weights.score(member) - expected).abs() < 1e-12);
    assert_eq!(weights.score([true, true, true, true]), f64::NEG_INFINITY);
    let inner = published.weights(Score::InnerProduct);
    assert!((inner.score(member) - (0.5625 + 0.25 + 0.0625 + 0.25)).abs() < 1e-12);
    // A stranger's inner product is zero on average.
    let (mean, deviation) = inner.of_a_stranger(&population);
    assert!(mean.abs() < 1e-12 && deviation > 0.0);
}

#[test]
fn a_seed_gives_the_same_again() {
    let noises = [Noise::None, gaussian("1"), Noise::Laplace(epsilon("1"))];
    assert_eq!(run(10, 50, &noises, 20, 1), run(10, 50, &noises, 20, 1));
    assert_ne!(run(10, 50, &noises, 20, 1), run(10, 50, &noises, 20, 2));
}

#[test]
fn nonsense_is_refused() {
    let population = Population::uniform(10, 1);
    let experiment = Experiment {
        population: &population,
        people: 0,
        noises: &[Noise::None],
        trials: 5,
        seed: 1,
    };
    assert!(experiment.run(&|_| true).is_err());
    let noises = [Noise::Laplace(Epsilon::ZERO)];
    let experiment = Experiment {
        people: 5,
        noises: &noises,
        ..experiment
    };
    assert!(experiment.run(&|_| true).is_err());
}
