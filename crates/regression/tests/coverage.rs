//! Intervals of 95 % hold the truth in 95 % of samples, noise included. Each assertion alarms falsely with probability below 2e-9 were the coverage exactly 95 %; the
//! approximation may cost another half of a percent, which is allowed on top. Planted: errors without their part for noise, which have to be caught.

mod support;

use noise::Seeded;
use regression::{Cells, Coefficient, Family, Fit, Model, Variable, fit};
use support::{Noise, cells, listed, model, scored, six_errors};

const RUNS: usize = 3_000;
/// What second-order terms and t may shift.
const APPROXIMATION: f64 = 0.005;

/// How often intervals hold, for each coefficient, and how often intervals of the sampling error alone would.
fn coverage(truth: &[f64], run: impl Fn(&mut Seeded) -> Fit) -> Vec<(f64, f64)> {
    let mut held = vec![(0usize, 0usize); truth.len()];
    for seed in 0..RUNS {
        let fit = run(&mut Seeded::numbered(2026, seed as u64));
        assert_eq!(fit.coefficients.len(), truth.len());
        for ((known, truth), held) in fit.coefficients.iter().zip(truth).zip(&mut held) {
            held.0 += usize::from((known.low..=known.high).contains(truth));
            held.1 += usize::from((known.estimate - truth).abs() <= 1.96 * known.sampling_error);
        }
    }
    held.iter()
        .map(|(all, some)| (*all as f64 / RUNS as f64, *some as f64 / RUNS as f64))
        .collect()
}

fn hold(name: &str, found: &[(f64, f64)], noise_matters: bool) {
    println!("{name}: {found:?}");
    let allowed = six_errors(0.95, RUNS) + APPROXIMATION;
    for (place, (coverage, naive)) in found.iter().enumerate() {
        assert!(
            (coverage - 0.95).abs() < allowed,
            "{name}, coefficient {place}: {coverage}"
        );
        if noise_matters {
            // The mutant: the same intervals without noise.
            assert!(
                *naive < 0.95 - allowed,
                "{name}, coefficient {place}: without noise {naive}"
            );
        }
    }
}

fn mixed() -> Model {
    model(
        "y ~ x + g",
        Family::Linear,
        &[
            ("x", Variable::Bounded { low: 0.0, high: 10.0 }),
            ("g", listed(&["a", "b", "c"])),
            (
                "y",
                Variable::Bounded {
                    low: -50.0,
                    high: 50.0,
                },
            ),
        ],
    )
}

fn people(model: &Model, rows: usize, of: Noise, seeded: &mut Seeded) -> Cells {
    let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..rows)
        .map(|_| {
            let x = 10.0 * seeded.unit();
            let g = seeded.below(3) as usize;
            let y = 2.0 + 1.5 * x + [0.0, 4.0, -3.0][g] + 5.0 * seeded.normal();
            (vec![g], vec![x, y])
        })
        .collect();
    cells(model, &rows, of, seeded)
}

#[test]
fn least_squares_with_and_without_noise() {
    let model = mixed();
    let truth = [2.0, 1.5, 4.0, -3.0];
    for (deviation, gaussian, matters) in [(0.0, true, false), (8.0, true, true), (8.0, false, true)] {
        let of = Noise { deviation, gaussian };
        let found = coverage(&truth, |seeded| {
            fit(&model, &people(&model, 2_000, of, seeded)).unwrap()
        });
        hold(&format!("linear, noise {deviation}"), &found, matters);
    }
}

/// Without noise the numbers are those of R: lm(dist ~ speed, cars).
#[test]
fn without_noise_it_is_the_lm_of_r() {
    const CARS: [(f64, f64); 50] = [
        (4.0, 2.0),
        (4.0, 10.0),
        (7.0, 4.0),
        (7.0, 22.0),
        (8.0, 16.0),
        (9.0, 10.0),
        (10.0, 18.0),
        (10.0, 26.0),
        (10.0, 34.0),
        (11.0, 17.0),
        (11.0, 28.0),
        (12.0, 14.0),
        (12.0, 20.0),
        (12.0, 24.0),
        (12.0, 28.0),
        (13.0, 26.0),
        (13.0, 34.0),
        (13.0, 34.0),
        (13.0, 46.0),
        (14.0, 26.0),
        (14.0, 36.0),
        (14.0, 60.0),
        (14.0, 80.0),
        (15.0, 20.0),
        (15.0, 26.0),
        (15.0, 54.0),
        (16.0, 32.0),
        (16.0, 40.0),
        (17.0, 32.0),
        (17.0, 40.0),
        (17.0, 50.0),
        (18.0, 42.0),
        (18.0, 56.0),
        (18.0, 76.0),
        (18.0, 84.0),
        (19.0, 36.0),
        (19.0, 46.0),
        (19.0, 68.0),
        (20.0, 32.0),
        (20.0, 48.0),
        (20.0, 52.0),
        (20.0, 56.0),
        (20.0, 64.0),
        (22.0, 66.0),
        (23.0, 54.0),
        (24.0, 70.0),
        (24.0, 92.0),
        (24.0, 93.0),
        (24.0, 120.0),
        (25.0, 85.0),
    ];
    let bounded = |low, high| Variable::Bounded { low, high };
    let model = model(
        "dist ~ speed",
        Family::Linear,
        &[("speed", bounded(0.0, 30.0)), ("dist", bounded(0.0, 150.0))],
    );
    let rows: Vec<(Vec<usize>, Vec<f64>)> = CARS
        .iter()
        .map(|(speed, dist)| (vec![], vec![*speed, *dist]))
        .collect();
    let none = Noise {
        deviation: 0.0,
        gaussian: true,
    };
    let fit = fit(&model, &cells(&model, &rows, none, &mut Seeded::new(1))).unwrap();
    let near = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-4,
            "{found} against {expected}"
        )
    };
    let check = |known: &Coefficient, expected: [f64; 4]| {
        near(known.estimate, expected[0]);
        near(known.error, expected[1]);
        near(known.statistic, expected[2]);
        near(known.p, expected[3]);
    };
    check(&fit.coefficients[0], [-17.5791, 6.7584, -2.601_06, 0.012_318_8]);
    check(
        &fit.coefficients[1],
        [3.932_41, 0.415_513, 9.463_99, 1.489_84e-12],
    );
    near(fit.residual_error.unwrap(), 15.379_6);
    near(fit.r_squared.unwrap(), 0.651_079);
    near(fit.adjusted_r_squared.unwrap(), 0.643_81);
    let overall = fit.overall.unwrap();
    near(overall.statistic, 89.567_1);
    near(overall.p, 1.489_84e-12);
    near(fit.coefficients[1].low, 3.096_964);
    near(fit.coefficients[1].high, 4.767_853);
}

fn logistic() -> Model {
    model(
        "sick ~ age + g",
        Family::Logistic,
        &[
            ("age", scored(&[20.0, 30.0, 40.0, 50.0, 60.0, 70.0])),
            ("g", listed(&["a", "b"])),
            ("sick", listed(&["no", "yes"])),
        ],
    )
}

#[test]
fn logistic_regression_with_and_without_noise() {
    let model = logistic();
    let truth = [-2.0, 0.03, 0.8];
    for (deviation, gaussian, matters) in [(0.0, true, false), (12.0, true, true), (12.0, false, true)] {
        let of = Noise { deviation, gaussian };
        let found = coverage(&truth, |seeded| {
            let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..3_000)
                .map(|_| {
                    let (age, g) = (seeded.below(6) as usize, seeded.below(2) as usize);
                    let eta = truth[0] + truth[1] * (20.0 + 10.0 * age as f64) + truth[2] * g as f64;
                    let sick = seeded.chance(1.0 / (1.0 + (-eta).exp()));
                    (vec![age, g, usize::from(sick)], vec![])
                })
                .collect();
            fit(&model, &cells(&model, &rows, of, seeded)).unwrap()
        });
        hold(&format!("logistic, noise {deviation}"), &found, matters);
    }
}

/// A Poisson number of this mean, by counting gaps.
fn poisson(seeded: &mut Seeded, mean: f64) -> f64 {
    let (mut at, mut count) = (0.0, 0.0);
    loop {
        at -= (1.0 - seeded.unit()).ln();
        if at > mean {
            return count;
        }
        count += 1.0;
    }
}

#[test]
fn poisson_regression_with_and_without_noise() {
    let model = model(
        "visits ~ g + h",
        Family::Poisson,
        &[
            ("g", listed(&["a", "b", "c"])),
            ("h", scored(&[0.0, 1.0, 2.0])),
            ("visits", Variable::Bounded { low: 0.0, high: 16.0 }),
        ],
    );
    let truth = [0.5, 0.4, -0.3, 0.2];
    for (deviation, matters) in [(0.0, false), (6.0, true)] {
        let of = Noise {
            deviation,
            gaussian: true,
        };
        let found = coverage(&truth, |seeded| {
            let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..2_000)
                .map(|_| {
                    let (g, h) = (seeded.below(3) as usize, seeded.below(3) as usize);
                    let eta = truth[0] + [0.0, truth[1], truth[2]][g] + truth[3] * h as f64;
                    (vec![g, h], vec![poisson(seeded, eta.exp())])
                })
                .collect();
            fit(&model, &cells(&model, &rows, of, seeded)).unwrap()
        });
        hold(&format!("poisson, noise {deviation}"), &found, matters);
    }
}

/// The mean of a group, and all differences, from one factor.
#[test]
fn means_and_contrasts_hold_too() {
    let model = model(
        "y ~ g",
        Family::Linear,
        &[
            ("g", listed(&["a", "b", "c"])),
            (
                "y",
                Variable::Bounded {
                    low: -50.0,
                    high: 50.0,
                },
            ),
        ],
    );
    let of = Noise {
        deviation: 5.0,
        gaussian: true,
    };
    let (mut means, mut differences, mut welch) = (0, 0, 0);
    for seed in 0..RUNS {
        let mut seeded = Seeded::numbered(7, seed as u64);
        let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..600)
            .map(|_| {
                let g = seeded.below(3) as usize;
                (vec![g], vec![[1.0, 2.0, 5.0][g] + 6.0 * seeded.normal()])
            })
            .collect();
        let cells = cells(&model, &rows, of, &mut seeded);
        let fit = fit(&model, &cells).unwrap();
        let within = |known: &Coefficient, truth: f64| usize::from((known.low..=known.high).contains(&truth));
        means += within(&fit.means()[2], 5.0);
        differences += within(&fit.contrasts()[2], 3.0);
        let test = regression::hypothesis::difference_of_means(&model, &cells, ("c", "b")).unwrap();
        welch += within(&test.estimates[2], 3.0);
    }
    let share = |held: usize| (held as f64 / RUNS as f64, 0.0);
    hold(
        "means, contrasts, Welch",
        &[share(means), share(differences), share(welch)],
        false,
    );
}

/// A model that is hardly more than noise is refused, and a value that few have is left out.
#[test]
fn too_much_noise_is_said() {
    let model = mixed();
    let of = Noise {
        deviation: 300.0,
        gaussian: true,
    };
    let error = fit(&model, &people(&model, 500, of, &mut Seeded::new(3))).unwrap_err();
    assert!(error.to_string().contains("times the ε"), "{error}");
    let mut seeded = Seeded::new(4);
    let rows: Vec<(Vec<usize>, Vec<f64>)> = (0..2_000)
        .map(|row| {
            let g = usize::from(row % 2 == 1) + usize::from(row % 500 == 1);
            (vec![g], vec![10.0 * seeded.unit(), 3.0 * seeded.normal()])
        })
        .collect();
    let of = Noise {
        deviation: 3.0,
        gaussian: true,
    };
    let fit = fit(&model, &cells(&model, &rows, of, &mut seeded)).unwrap();
    assert_eq!(fit.left_out, ["g c"]);
    assert_eq!(fit.coefficients.len(), 3);
}
