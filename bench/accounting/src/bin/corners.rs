//! Random cases of private training, drawn when it runs: how long the certified accountant takes and how far its ends are apart.
//!
//! ```text
//! corners [--cases 2000] [--calibrations 200] [--seed N] [--show 5] [--out cases.jsonl]
//! ```
//!
//! Rate, noise, steps and δ are drawn independently, each uniform in its logarithm: q in [1e-6, 1], σ in [0.25, 50], T in [1, 1e6],
//! δ in [1e-12, 1e-3]; calibrations draw ε in [0.05, 200] in place of σ. Prints the worst time and the worst relative width
//! (upper − lower)/upper, and the quantiles of both. Times are CPU time of the one thread. With `--out`, one JSON object a case, which `corners.py` holds against peers.

use accounting::{
    Curve, Delta, Epsilon, Event, Neighbors, PrivacyUnit, Ratio, Sampler, smallest_training_multiplier,
};
use exact::{Rational, from_f64};
use cpu_time::ProcessTime;
use std::error::Error;
use std::io::Write as _;

/// SplitMix64: cases that a seed brings back.
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in its logarithm, with four digits, so that a case can be typed again.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let value = low * (high / low).powf(self.uniform());
        format!("{value:.3e}").parse().unwrap_or(value)
    }
}

/// One case and what was found.
struct Case {
    rate: f64,
    /// σ, or for a calibration the ε that is aimed at.
    given: f64,
    steps: u64,
    delta: f64,
    lower: f64,
    upper: f64,
    seconds: f64,
}

impl Case {
    fn width(&self) -> f64 {
        if self.upper > 0.0 {
            (self.upper - self.lower) / self.upper
        } else {
            0.0
        }
    }

    fn line(&self, given: &str) -> String {
        format!(
            "q = {:e}, {given} = {}, T = {}, δ = {:e}: [{:.9}, {:.9}], width {:.1e}, {:.1} ms",
            self.rate,
            self.given,
            self.steps,
            self.delta,
            self.lower,
            self.upper,
            self.width(),
            self.seconds * 1e3
        )
    }
}

fn decimal(value: f64) -> Result<Rational, Box<dyn Error>> {
    // The decimal that was drawn, not the float next to it.
    let text = format!("{value:e}");
    Ok(exact::parse_decimal(&text).map_err(|_| "not a decimal")?)
}

fn curve(rate: f64, sigma: &Rational, steps: u64) -> Result<Curve, Box<dyn Error>> {
    let step = Event::SampledGaussian {
        sampler: Sampler::Poisson {
            rate: Ratio::at_least(&decimal(rate)?),
        },
        multiplier_squared: Ratio::at_most(&(sigma * sigma)),
    };
    let plan = Event::Repeated { event: Box::new(step), times: steps };
    Ok(Curve::of(&plan, &PrivacyUnit::new("person", Neighbors::AddRemove))?)
}

fn epsilon(draw: &mut Draw) -> Result<Case, Box<dyn Error>> {
    let rate = draw.between(1e-6, 1.0);
    let sigma = draw.between(0.25, 50.0);
    let steps = draw.between(1.0, 1e6) as u64;
    let delta = draw.between(1e-12, 1e-3);
    measure(rate, sigma, steps, delta)
}

fn measure(rate: f64, sigma: f64, steps: u64, delta: f64) -> Result<Case, Box<dyn Error>> {
    let asked = Delta::rounded_down(&decimal(delta)?)?;
    let start = ProcessTime::now();
    let found = curve(rate, &decimal(sigma)?, steps)?.epsilon(&asked)?;
    let seconds = start.elapsed().as_secs_f64();
    let (lower, upper) = (found.lower.to_f64_down(), found.upper.to_f64_up());
    Ok(Case { rate, given: sigma, steps, delta, lower, upper, seconds })
}

/// The ends are those of σ: what was found, and what its ε says that it may be too large.
fn calibration(draw: &mut Draw) -> Result<Option<Case>, Box<dyn Error>> {
    let rate = draw.between(1e-6, 1.0);
    let target = draw.between(0.05, 200.0);
    let steps = draw.between(1.0, 1e6) as u64;
    let delta = draw.between(1e-12, 1e-3);
    calibrate(rate, target, steps, delta)
}

fn calibrate(rate: f64, target: f64, steps: u64, delta: f64) -> Result<Option<Case>, Box<dyn Error>> {
    let asked = Delta::rounded_down(&decimal(delta)?)?;
    let sampler = Sampler::Poisson { rate: Ratio::at_least(&decimal(rate)?) };
    let aim = Epsilon::rounded_down(&from_f64(target).ok_or("not a number")?)?;
    let start = ProcessTime::now();
    let Ok(sigma) = smallest_training_multiplier(&sampler, steps, &aim, &asked) else {
        // So small a rate that hardly any noise suffices.
        return Ok(None);
    };
    let seconds = start.elapsed().as_secs_f64();
    let reached = curve(rate, sigma.as_rational(), steps)?.epsilon(&asked)?;
    if reached.upper > aim {
        return Err(format!("σ = {sigma} does not keep ε = {target}").into());
    }
    let (lower, upper) = (reached.lower.to_f64_down(), target);
    Ok(Some(Case { rate, given: target, steps, delta, lower, upper, seconds }))
}

fn report(name: &str, given: &str, cases: &mut [Case], show: usize) {
    let quantiles = |values: &mut Vec<f64>| -> String {
        values.sort_by(f64::total_cmp);
        let at = |part: f64| values[((values.len() - 1) as f64 * part) as usize];
        format!("median {:.2e}, 99% {:.2e}, worst {:.2e}", at(0.5), at(0.99), at(1.0))
    };
    println!("{name}: {} cases", cases.len());
    let mut seconds: Vec<f64> = cases.iter().map(|case| case.seconds).collect();
    println!("  seconds: {}", quantiles(&mut seconds));
    let mut widths: Vec<f64> = cases.iter().map(Case::width).collect();
    println!("  width:   {}", quantiles(&mut widths));
    println!(
        "  over 50 ms: {}, over 200 ms: {}, wider than 1e-6: {}, than 1e-4: {}",
        seconds.iter().filter(|time| **time > 0.05).count(),
        seconds.iter().filter(|time| **time > 0.2).count(),
        widths.iter().filter(|width| **width > 1e-6).count(),
        widths.iter().filter(|width| **width > 1e-4).count()
    );
    cases.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    println!("  slowest:");
    for case in cases.iter().take(show) {
        println!("    {}", case.line(given));
    }
    cases.sort_by(|a, b| b.width().total_cmp(&a.width()));
    println!("  widest:");
    for case in cases.iter().take(show) {
        println!("    {}", case.line(given));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    if let Some(text) = value("--case") {
        let parts: Vec<f64> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [rate, sigma, steps, delta] = parts[..] else {
            return Err("--case is q,σ,T,δ".into());
        };
        println!("{}", measure(rate, sigma, steps as u64, delta)?.line("σ"));
        return Ok(());
    }
    if let Some(text) = value("--calibrate") {
        let parts: Vec<f64> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        let [rate, target, steps, delta] = parts[..] else {
            return Err("--calibrate is q,ε,T,δ".into());
        };
        if let Some(case) = calibrate(rate, target, steps as u64, delta)? {
            println!("{}", case.line("ε"));
        }
        return Ok(());
    }
    let number = |name: &str, usual: u64| -> Result<u64, Box<dyn Error>> {
        Ok(value(name).map_or(Ok(usual), |text| text.parse())?)
    };
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let seed = number("--seed", clock.as_nanos() as u64)?;
    println!("seed {seed}");
    let show = number("--show", 5)? as usize;
    let mut draw = Draw(seed);
    let mut cases = Vec::new();
    for _ in 0..number("--cases", 2000)? {
        cases.push(epsilon(&mut draw)?);
    }
    if let Some(path) = value("--out") {
        let mut file = std::fs::File::create(path)?;
        for case in &cases {
            writeln!(
                file,
                "{{\"rate\": {:e}, \"sigma\": {}, \"steps\": {}, \"delta\": {:e}, \"lower\": {:e}, \"upper\": {:e}}}",
                case.rate, case.given, case.steps, case.delta, case.lower, case.upper
            )?;
        }
    }
    if !cases.is_empty() {
        report("ε of sampled Gaussian steps", "σ", &mut cases, show);
    }
    let mut cases = Vec::new();
    for _ in 0..number("--calibrations", 200)? {
        cases.extend(calibration(&mut draw)?);
    }
    if !cases.is_empty() {
        report("noise for a target", "ε", &mut cases, show);
    }
    Ok(())
}
