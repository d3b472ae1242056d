use super::*;
use accounting::{Delta, Epsilon};

/// Which part of the bits comes out right, over several data sets with fixed seeds.
fn recovered(people: usize, noise: Noise, method: Method, runs: u64) -> f64 {
    let mut all_right = 0;
    for run in 0..runs {
        let mut seeded = Seeded::new(100 + run);
        let bits = secrets(people, &mut seeded);
        let queries = Queries::random(people, 4 * people, &mut seeded).unwrap();
        let answers = interrogate(&mut Model::new(&bits, noise, seeded), &queries, || ()).unwrap();
        let guesses = rounded(&estimate(&queries, &answers, method).unwrap());
        all_right += right(&guesses, &bits);
    }
    all_right as f64 / (people as u64 * runs) as f64
}

/// Published values for 256 people, 1,024 queries and uniform noise ±α√n, each from one run: three standard
/// errors of it are 0.09 at one half, and less towards 1.
const PEOPLE: usize = 256;

fn close(measured: f64, published: f64) -> bool {
    let standard_error = (published * (1.0 - published) / PEOPLE as f64).sqrt();
    (measured - published).abs() <= 3.0 * standard_error + 0.01
}

#[test]
fn least_squares_recovers_what_was_published() {
    for (alpha, published) in [(0.2, 1.0), (0.5, 0.94), (1.0, 0.77), (2.0, 0.63)] {
        let noise = Noise::uniform(alpha, PEOPLE);
        let measured = recovered(PEOPLE, noise, Method::LeastSquares, 8);
        assert!(
            close(measured, published),
            "α = {alpha}: {measured}, published {published}"
        );
        // Eight runs of 256: 0.035 are more than three standard errors.
        let expected = expected_of_least_squares(PEOPLE, 4 * PEOPLE, noise.deviation());
        assert!(
            (measured - expected).abs() < 0.035,
            "α = {alpha}: {measured}, expected {expected}"
        );
    }
}

#[test]
fn the_linear_program_recovers_what_was_published() {
    for (alpha, published) in [(0.2, 1.0), (0.5, 0.98), (1.0, 0.87), (2.0, 0.79)] {
        let noise = Noise::uniform(alpha, PEOPLE);
        let Noise::Uniform { most } = noise else {
            panic!("uniform")
        };
        let measured = recovered(PEOPLE, noise, Method::LinearProgram(Fit::Within(most)), 2);
        assert!(
            close(measured, published),
            "α = {alpha}: {measured}, published {published}"
        );
    }
}

#[test]
fn private_noise_hides_what_it_promises_to_hide() {
    let delta = Delta::parse("1e-6").unwrap();
    for (epsilon, published) in [("0.1", 0.50), ("1", 0.52), ("10", 0.69), ("100", 0.99)] {
        let parsed = Epsilon::parse(epsilon).unwrap();
        let noise = Noise::gaussian_for(&parsed, &delta, 4 * PEOPLE as u64).unwrap();
        let measured = recovered(PEOPLE, noise, Method::LeastSquares, 8);
        assert!(
            close(measured, published),
            "ε = {epsilon}: {measured}, published {published}"
        );
        let most = crate::bound::right_guesses(parsed.to_f64_up(), 1e-6);
        assert!(
            measured <= most + 0.035,
            "ε = {epsilon}: {measured}, at most {most}"
        );
    }
}

#[test]
fn without_noise_everything_comes_out_by_either_method() {
    assert_eq!(recovered(100, Noise::None, Method::LeastSquares, 1), 1.0);
    assert_eq!(
        recovered(64, Noise::None, Method::LinearProgram(Fit::LeastAbsolute), 1),
        1.0
    );
    assert_eq!(
        recovered(64, Noise::None, Method::LinearProgram(Fit::Within(0.5)), 1),
        1.0
    );
}

/// Refuses after this many answers.
struct Stingy(Model, usize);

impl Oracle for Stingy {
    type Error = std::convert::Infallible;

    fn answer(&mut self, subset: Subset<'_>) -> Result<Option<f64>, Self::Error> {
        if self.1 == 0 {
            return Ok(None);
        }
        self.1 -= 1;
        self.0.answer(subset)
    }
}

#[test]
fn a_refusal_ends_it_and_what_is_known_is_used() {
    let mut seeded = Seeded::new(4);
    let bits = secrets(50, &mut seeded);
    let queries = Queries::random(50, 200, &mut seeded).unwrap();
    let mut seen = 0;
    let mut oracle = Stingy(Model::new(&bits, Noise::None, seeded), 120);
    let answers = interrogate(&mut oracle, &queries, || seen += 1).unwrap();
    assert_eq!((answers.len(), seen), (120, 120));
    let guesses = rounded(&estimate(&queries, &answers, Method::LeastSquares).unwrap());
    assert_eq!(right(&guesses, &bits), 50);
    // With no answer at all, half of the guesses are right.
    let nothing = rounded(&estimate(&queries, &[], Method::LeastSquares).unwrap());
    assert_eq!(nothing.iter().filter(|guess| **guess).count(), 25);
}

#[test]
fn what_makes_no_sense_is_refused_with_a_hint() {
    let mut seeded = Seeded::new(5);
    let queries = Queries::random(4, 3, &mut seeded).unwrap();
    let hinted = |error: Error| assert!(error.to_string().contains("\nhint: "), "{error}");
    hinted(estimate(&queries, &[0.0; 4], Method::LeastSquares).unwrap_err());
    hinted(estimate(&queries, &[f64::NAN], Method::LeastSquares).unwrap_err());
    hinted(Queries::random(0, 3, &mut seeded).unwrap_err());
    hinted(Queries::random(3, 0, &mut seeded).unwrap_err());
    hinted(Queries::random(1 << 20, 3, &mut seeded).unwrap_err());
}

#[test]
fn the_expected_fraction_falls_from_all_to_half() {
    assert_eq!(expected_of_least_squares(256, 1024, 0.0), 1.0);
    assert!(expected_of_least_squares(256, 1024, 0.5) > 0.999_999);
    // Φ(0.75) of a table of the normal distribution: √768/(4·9.2376) = 0.75.
    assert!((expected_of_least_squares(256, 1024, 9.237_604) - 0.773_373).abs() < 1e-5);
    assert!((expected_of_least_squares(256, 1024, 1e9) - 0.5).abs() < 1e-8);
    assert_eq!(expected_of_least_squares(256, 100, 3.0), 0.5);
}
