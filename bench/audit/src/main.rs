//! Our auditor on the gallery, with many seeds that nobody chose: the median and the worst of what it finds beside the exact ε and beside DP-Sniper's published
//! figures, and what it cost.

use audit::black_box::{Lens, FindingVerdict};
use audit::gallery::{Allowance, CLAIM, Draws, EXHIBITS, Exactly, Exhibit, AuditPlan, Standing};
use cpu_time::ProcessTime;
use serde_json::{Value, json};
use std::io::Read;
use std::time::Instant;

/// What DP-Sniper's authors publish for the same mechanism in their repository: eval_sp2021/reference-results/dd_search_mlp_data.log and
/// floating_point_data.log. The lower confidence bound at 90 %, and seconds of search on their machine.
const DP_SNIPER: &[(&str, f64, f64)] = &[
    ("laplace", 0.0976, 200.2),
    ("histogram", 0.0977, 184.8),
    ("histogram-wrong-scale", 4.601, 230.4),
    ("noisy-max-laplace", 0.0925, 465.6),
    ("noisy-max-exponential", 0.0979, 399.9),
    ("noisy-max-value-laplace", 0.2488, 408.0),
    ("noisy-max-value-exponential", 0.3534, 428.3),
    ("sparse-vector-1", 0.0858, 921.5),
    ("sparse-vector-4", 0.1696, 774.3),
    ("sparse-vector-5", 1.761, 507.1),
    ("sparse-vector-6", 0.2698, 548.8),
    ("prefix-sums", 0.5774, 949.8),
    ("float-laplace", 0.2521, 1816.8),
];

const CONFIDENCE: f64 = 1.0 - 1e-4;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| arguments.iter().position(|word| word == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, default: f64| option(name).map_or(default, |text| text.parse().expect("a number"));
    let seconds = number("--seconds", 58.0);
    let count = number("--seeds", 20.0) as usize;
    // Fresh ones, unless a run is to be repeated.
    let seeds: Vec<u64> = match option("--seed") {
        Some(_) => vec![number("--seed", 1.0) as u64],
        None => (0..count).map(|_| fresh_seed()).collect(),
    };
    if let Some(runs) = option("--false-alarms") {
        let runs = runs.parse().expect("a number of runs");
        return false_alarms(runs, seeds[0]);
    }
    let only = option("--only");
    let wanted = |exhibit: &&Exhibit| only.is_none_or(|only| only.split(',').any(|part| exhibit.name.contains(part)));
    println!("{:28} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9} {:>11} {:>6}  {:>9} {:>8}", "mechanism", "exact ε", "median ≥", "part", "worst ≥", "part", "refuted", "above exact", "CPU s", "DP-Sniper", "its s");
    let mut rows = Vec::new();
    for exhibit in EXHIBITS.iter().filter(wanted) {
        rows.push(measure(exhibit, seconds, &seeds));
        // What is measured is kept, should the rest be stopped.
        if let Some(path) = option("--out") {
            let result = json!({
                "confidence": CONFIDENCE,
                "claimed_epsilon": CLAIM,
                "seconds": seconds,
                "seeds": seeds,
                "machine": machine(),
                "dp_sniper": "lower bounds at confidence 0.9 and seconds of search from the reference results in its authors' repository (eval_sp2021), on their machine",
                "mechanisms": rows,
            });
            std::fs::write(path, serde_json::to_string_pretty(&result).expect("JSON") + "\n").expect("a writable file");
        }
    }
}

/// From the operating system, so that no figure is that of a chosen run.
fn fresh_seed() -> u64 {
    let mut bytes = [0; 4];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.expect("random bytes");
    u64::from(u32::from_le_bytes(bytes))
}

fn measure(exhibit: &Exhibit, seconds: f64, seeds: &[u64]) -> Value {
    let exact = exhibit.exact_epsilon().to_f64_up();
    let runs: Vec<Value> = seeds.iter().map(|seed| run(exhibit, seconds, *seed)).collect();
    let sorted = |name: &str| {
        let mut values: Vec<f64> = runs.iter().map(|run| run[name].as_f64().expect("a number")).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let median = |values: &[f64]| f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
    let bounds = sorted("epsilon_at_least");
    let (middle, worst, cpu) = (median(&bounds), bounds[0], median(&sorted("cpu_seconds")));
    let refuted = runs.iter().filter(|run| run["refuted"] == true).count();
    let above = bounds.iter().filter(|bound| **bound > exact).count();
    let theirs = DP_SNIPER.iter().find(|(name, _, _)| *name == exhibit.name);
    let share = |bound: f64| if exact.is_finite() { format!("{:.1} %", 100.0 * bound / exact) } else { "–".to_string() };
    println!(
        "{:28} {:>9} {:>9.4} {:>7} {:>9.4} {:>7} {:>9} {:>11} {:>6.1}  {:>9} {:>8}",
        exhibit.name,
        if exact.is_finite() { format!("{exact:.4}") } else { "∞".to_string() },
        middle,
        share(middle),
        worst,
        share(worst),
        format!("{refuted} of {}", runs.len()),
        above,
        cpu,
        theirs.map_or("–".to_string(), |(_, found, _)| format!("{found:.3}")),
        theirs.map_or("–".to_string(), |(_, _, took)| format!("{took:.0}")),
    );
    json!({
        "name": exhibit.name,
        "broken": exhibit.standing == Standing::Broken,
        "exact_epsilon": match exhibit.exact_epsilon() { Exactly::Finite(_) => json!(exact), Exactly::Infinite => json!("infinite") },
        "median_epsilon_at_least": middle,
        "worst_epsilon_at_least": worst,
        "refuted": refuted,
        "above_exact": above,
        "median_cpu_seconds": cpu,
        "dp_sniper": theirs.map(|(_, found, took)| json!({ "epsilon_at_least": found, "seconds": took })),
        "runs": runs,
    })
}

fn run(exhibit: &Exhibit, seconds: f64, seed: u64) -> Value {
    let (wall, started) = (Instant::now(), ProcessTime::now());
    let plan = AuditPlan { seed, draws: Draws::of(0), workers: 2, confidence: CONFIDENCE, lens: Lens::Everything };
    let clock = || started.elapsed().as_secs_f64();
    let outcome = plan.audit_within(exhibit, Allowance { seconds, clock: &clock }).expect("an audit");
    let witness = outcome.witness;
    let inputs = exhibit.inputs();
    json!({
        "seed": seed,
        "epsilon_at_least": witness.epsilon_lower,
        "refuted": witness.verdict(CLAIM, 0.0) == FindingVerdict::Refuted,
        "event": witness.event,
        "mirror": witness.mirror,
        "inputs": [inputs[witness.pair.first], inputs[witness.pair.second]],
        "steps": witness.steps,
        "hits": witness.hits,
        "draws": witness.draws,
        "draws_to_choose": outcome.plan.draws.choosing,
        "stopped_early": witness.draws.iter().sum::<u64>() < outcome.plan.draws.testing,
        "cpu_seconds": started.elapsed().as_secs_f64(),
        "cpu_seconds_to_choose": outcome.seconds_to_choose,
        "wall_seconds": wall.elapsed().as_secs_f64(),
    })
}

/// Small audits of the correct exhibits at a modest level: how often is one refuted? The same search and the same test as ever, on fewer draws.
fn false_alarms(runs: u64, seed: u64) {
    const LEVEL: f64 = 0.05;
    println!("{runs} audits each, at level {LEVEL}, of claims that hold exactly");
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    for exhibit in EXHIBITS.iter().filter(|exhibit| exhibit.standing == Standing::Correct) {
        let started = ProcessTime::now();
        let exact = exhibit.exact_epsilon().to_f64_up();
        let is_refuted = |run: u64| {
            let plan = AuditPlan {
                seed: seed.wrapping_add(run * 7919),
                draws: Draws::of(40_000),
                workers: 1,
                confidence: 1.0 - LEVEL,
                lens: Lens::Everything,
            };
            plan.audit(exhibit).expect("an audit").verdict(exact, 0.0) == FindingVerdict::Refuted
        };
        let count = |thread: u64| (thread..runs).step_by(threads as usize).filter(|run| is_refuted(*run)).count();
        let refuted: usize = std::thread::scope(|scope| {
            let counting: Vec<_> = (0..threads).map(|thread| scope.spawn(move || count(thread))).collect();
            counting.into_iter().map(|thread| thread.join().expect("a count")).sum()
        });
        let cpu = started.elapsed().as_secs_f64();
        println!("{:28} {refuted} of {runs} refuted ({:.2} %), {cpu:.1} CPU s", exhibit.name, 100.0 * refuted as f64 / runs as f64);
    }
}

fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo");
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("").trim_start_matches([' ', '\t', ':']);
    json!({
        "cpu": model,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "load": read("/proc/loadavg").split(' ').next().unwrap_or("").to_string(),
    })
}
