//! Counts of people by 2,016 cells in each node of a state's hierarchy, measured with exact discrete Gaussian noise, made to add up by generalised least squares in two passes, then made whole from the top down.
//!
//! 600 million numbers are not held: a county at a time is measured, and measured again with the same noise from a key when the levels above are done.

mod state;

use noise::{DiscreteGaussian, Keyed};
use serde_json::{Value, json};
use state::{county_parents, people, possible};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tables::consistent::{Fit, LevelPlan, Tree, planned_shares, root, split, top_down_under};

/// State, county, tract, block group, block.
const LEVELS: [&str; 5] = ["state", "county", "tract", "block group", "block"];
/// Shares of ρ = 2.56 in the production of 2020 (people, the states): of 4,099 parts the country itself had 104.
const PUBLISHED: [f64; 5] = [1440.0, 447.0, 687.0, 1256.0, 165.0];
const PUBLISHED_RHO: f64 = 2.56;
const PARTS: f64 = 4099.0;
/// The sizes of true cells, for bias.
const SIZES: [(i64, &str); 5] = [
    (0, "0"),
    (2, "1-2"),
    (9, "3-9"),
    (99, "10-99"),
    (i64::MAX, "100 and more"),
];

/// Squared and plain errors of some numbers.
#[derive(Clone, Copy, Default)]
struct Errors {
    count: f64,
    sum: f64,
    absolute: f64,
    square: f64,
}

impl Errors {
    fn add(&mut self, off: f64) {
        self.count += 1.0;
        self.sum += off;
        self.absolute += off.abs();
        self.square += off * off;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.absolute += other.absolute;
        self.square += other.square;
    }

    fn json(&self) -> Value {
        let count = self.count.max(1.0);
        json!({"numbers": self.count, "bias": self.sum / count, "mean_absolute": self.absolute / count, "root_mean_square": (self.square / count).sqrt()})
    }
}

/// What came out of a run: for each level the errors of measurements, estimates and whole numbers, of cells and of totals; and the bias of whole blocks by size.
#[derive(Clone, Default)]
struct Found {
    cells: [[Errors; 3]; 5],
    totals: [[Errors; 3]; 5],
    by_size: [Errors; 5],
}

impl Found {
    fn merge(&mut self, other: &Self) {
        for level in 0..5 {
            for kind in 0..3 {
                self.cells[level][kind].merge(&other.cells[level][kind]);
                self.totals[level][kind].merge(&other.totals[level][kind]);
            }
            self.by_size[level].merge(&other.by_size[level]);
        }
    }

    fn add(&mut self, level: usize, width: usize, truth: &[i64], kind: usize, number: impl Fn(usize) -> f64) {
        let base = truth.len() / width;
        for node in 0..base {
            let mut total = 0.0;
            for cell in node * width..(node + 1) * width {
                let off = number(cell) - truth[cell] as f64;
                total += off;
                self.cells[level][kind].add(off);
            }
            self.totals[level][kind].add(total);
        }
    }
}

/// What all counties share.
struct Setting {
    seed: u64,
    width: usize,
    possible: Vec<usize>,
    variances: Vec<f64>,
    noise: Vec<DiscreteGaussian>,
}

impl Setting {
    fn new(rho: &[f64]) -> Self {
        // One person is in one cell of one node of each level: Δ₂ = 1, σ² = 1/2ρ.
        let variances: Vec<f64> = rho.iter().map(|rho| 0.5 / rho).collect();
        let sampler = |variance: &f64| {
            DiscreteGaussian::new(&exact::from_f64(*variance).expect("finite")).expect("a variance")
        };
        let possible = possible();
        Self {
            seed: 20,
            width: possible.len(),
            possible,
            noise: variances.iter().map(sampler).collect(),
            variances,
        }
    }

    /// The truth of a county: its own row, tracts, block groups, blocks.
    fn truth(&self, county: u64) -> Vec<Vec<i64>> {
        let parents = county_parents();
        let sizes = [1, parents[0].len(), parents[1].len(), parents[2].len()];
        let mut levels: Vec<Vec<i64>> = sizes.iter().map(|size| vec![0; size * self.width]).collect();
        for (block, counts) in people(self.seed, county, &self.possible).iter().enumerate() {
            let (group, tract) = (
                parents[2][block] as usize,
                parents[1][parents[2][block] as usize] as usize,
            );
            for (cell, count) in counts {
                for (level, node) in [0, tract, group, block].into_iter().enumerate() {
                    levels[level][node * self.width + *cell as usize] += i64::from(*count);
                }
            }
        }
        levels
    }

    /// The measurements of rows of a level: the same whenever they are asked for.
    fn measured(&self, level: usize, part: u64, truth: &[i64]) -> Vec<f64> {
        let mut numbers = truth.to_vec();
        self.noise[level].add_to(&mut numbers, &mut Keyed::new([7; 32], part * 8 + level as u64));
        numbers.into_iter().map(|number| number as f64).collect()
    }

    fn county(&self, county: u64) -> (Vec<Vec<i64>>, Vec<Vec<f64>>) {
        let truth = self.truth(county);
        let numbers = truth
            .iter()
            .enumerate()
            .map(|(level, truth)| self.measured(level + 1, county, truth))
            .collect();
        (truth, numbers)
    }
}

/// Does the work of each county on some threads.
fn each_county(counties: u64, threads: u64, what: &str, work: impl Fn(u64) + Sync) {
    let (next, done, start) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let county = next.fetch_add(1, Ordering::Relaxed);
                    if county >= counties {
                        return;
                    }
                    work(county);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    eprintln!(
                        "{what}: {done} of {counties} counties, {:.0} s",
                        start.elapsed().as_secs_f64()
                    );
                }
            });
        }
    });
}

fn run(rho: &[f64], counties: u64, threads: u64, what: &str) -> (Found, f64) {
    let start = Instant::now();
    let setting = Setting::new(rho);
    let width = setting.width;
    let county_tree = Tree::new(&county_parents()).expect("a hierarchy");
    let county_fit = Fit::by_level(county_tree, &setting.variances[1..]).expect("variances");
    let tops: Mutex<Vec<(Vec<i64>, Vec<f64>)>> = Mutex::new(vec![Default::default(); counties as usize]);
    each_county(counties, threads, &format!("{what}, up"), |county| {
        let (mut truth, mut numbers) = setting.county(county);
        county_fit.upward(&mut numbers, width);
        tops.lock().expect("no thread fails")[county as usize] =
            (truth.swap_remove(0), numbers.swap_remove(0));
    });
    let tops = tops.into_inner().expect("no thread fails");
    let mut found = Found::default();

    // The state and its counties.
    let state: Vec<i64> = (0..width)
        .map(|cell| tops.iter().map(|(truth, _)| truth[cell]).sum())
        .collect();
    let measured = setting.measured(0, u64::MAX / 16, &state);
    found.add(0, width, &state, 0, |cell| measured[cell]);
    let tree = Tree::new(&[vec![0; counties as usize]]).expect("a hierarchy");
    let from_below = vec![county_fit.variance(0, 0); counties as usize];
    let fit = Fit::new(tree, &[vec![setting.variances[0]], from_below]).expect("variances");
    let mut numbers = vec![measured, tops.iter().flat_map(|(_, top)| top.clone()).collect()];
    fit.estimates(&mut numbers, width);
    found.add(0, width, &state, 1, |cell| numbers[0][cell]);
    let whole = root(&numbers[0]);
    found.add(0, width, &state, 2, |cell| whole[cell] as f64);
    let variances: Vec<f64> = (0..counties as usize)
        .map(|county| fit.variance(1, county))
        .collect();
    let parts = split(&whole, &numbers[1], &variances).expect("they fit");

    let counties_estimates = numbers.swap_remove(1);
    let below = county_fit.clone().under(fit.variance(1, 0));
    let all = Mutex::new(found);
    each_county(counties, threads, &format!("{what}, down"), |county| {
        let (truth, mut numbers) = setting.county(county);
        let mut found = Found::default();
        for (level, truth) in truth.iter().enumerate() {
            found.add(level + 1, width, truth, 0, |cell| numbers[level][cell]);
        }
        let row = county as usize * width..(county as usize + 1) * width;
        below.estimates_under(&counties_estimates[row.clone()], &mut numbers, width);
        let whole = top_down_under(&below, &parts[row], &numbers, width).expect("they fit");
        for (level, truth) in truth.iter().enumerate() {
            found.add(level + 1, width, truth, 1, |cell| numbers[level][cell]);
            found.add(level + 1, width, truth, 2, |cell| whole[level][cell] as f64);
        }
        for (truth, whole) in truth[3].iter().zip(&whole[3]) {
            let size = SIZES.iter().position(|(most, _)| truth <= most).unwrap_or(4);
            found.by_size[size].add((whole - truth) as f64);
        }
        all.lock().expect("no thread fails").merge(&found);
    });
    (
        all.into_inner().expect("no thread fails"),
        start.elapsed().as_secs_f64(),
    )
}

/// The largest memory of this process so far, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|text| text.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Where it ran.
fn machine() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    let processor = processors
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map(|text| text.trim_start_matches([' ', '\t', ':']).to_owned());
    let load = read("/proc/loadavg")
        .split_whitespace()
        .next()
        .and_then(|text| text.parse::<f64>().ok());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({"processor": processor, "cores": cores, "load": load, "system": format!("Linux {}", read("/proc/sys/kernel/osrelease").trim())})
}

fn report(name: &str, rho: &[f64], found: &Found, seconds: f64) -> Value {
    println!("\n{name}: {seconds:.0} s");
    println!(
        "{:<12} {:>7} | {:>9} {:>9} {:>9} | {:>9} {:>9} {:>9}",
        "level", "ρ", "cell: raw", "adds up", "whole", "total:raw", "adds up", "whole"
    );
    let mut levels = Vec::new();
    for (level, name) in LEVELS.iter().enumerate() {
        let rms = |errors: &Errors| (errors.square / errors.count.max(1.0)).sqrt();
        let (cells, totals) = (&found.cells[level], &found.totals[level]);
        println!(
            "{name:<12} {:>7.4} | {:>9.3} {:>9.3} {:>9.3} | {:>9.1} {:>9.1} {:>9.1}",
            rho[level],
            rms(&cells[0]),
            rms(&cells[1]),
            rms(&cells[2]),
            rms(&totals[0]),
            rms(&totals[1]),
            rms(&totals[2])
        );
        let of = |errors: &[Errors; 3]| json!({"measured": errors[0].json(), "estimates": errors[1].json(), "whole": errors[2].json()});
        levels.push(json!({"level": name, "rho": rho[level], "cells": of(cells), "totals": of(totals)}));
    }
    let mut sizes = Vec::new();
    println!("blocks' cells by true size: bias and root mean square of whole numbers");
    for ((_, size), errors) in SIZES.iter().zip(&found.by_size) {
        let count = errors.count.max(1.0);
        println!(
            "  {size:<12} {:>9.4} {:>9.3}  ({} cells)",
            errors.sum / count,
            (errors.square / count).sqrt(),
            errors.count
        );
        sizes.push(json!({"size": size, "whole": errors.json()}));
    }
    json!({"split": name, "seconds": seconds, "levels": levels, "block_cells_by_true_size": sizes})
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let after = |name: &str| {
        arguments
            .iter()
            .position(|argument| argument == name)
            .and_then(|place| arguments.get(place + 1))
    };
    let number = |name: &str, otherwise: u64| {
        after(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let (counties, threads) = (number("--counties", 50), number("--threads", 2));
    let published: Vec<f64> = PUBLISHED
        .iter()
        .map(|part| PUBLISHED_RHO * part / PARTS)
        .collect();
    let total: f64 = published.iter().sum();
    // What matters is the variance of one cell, at each level alike.
    let children = [1.0, counties as f64, 30.0, 10.0 / 3.0, 60.0];
    let plan: Vec<LevelPlan> = children
        .iter()
        .map(|children| LevelPlan {
            children: *children,
            weight: 1.0,
        })
        .collect();
    let planned: Vec<f64> = planned_shares(&plan)
        .expect("a hierarchy")
        .iter()
        .map(|share| total * share)
        .collect();
    let width = possible().len();
    println!(
        "{counties} counties, {} tracts, {} block groups, {} blocks × {} cells, of which {} are possible; ρ = {total:.4} for each person, added or removed; {threads} threads",
        counties * 30,
        counties * 100,
        counties * 6000,
        state::CELLS,
        width
    );
    let machine = machine();
    let mut splits = Vec::new();
    for (name, rho) in [("published", &published), ("planned", &planned)] {
        let (found, seconds) = run(rho, counties, threads, name);
        splits.push(report(name, rho, &found, seconds));
    }
    let memory = peak_memory();
    println!(
        "\nlargest memory: {:.2} GiB",
        memory as f64 / f64::from(1u32 << 30)
    );
    let result = json!({
        "what": "counts of a synthetic state in 2,016 cells over five levels; exact discrete Gaussian noise on each possible cell of each node; estimates that add up; whole numbers from the top down",
        "machine": machine,
        "published_split": "people in the states, production of 2020: 1440, 447, 687, 1256 and 165 of 4,099 parts of ρ = 2.56; the country had 104. There all queries of a level share its ρ; here it is spent on the cells alone",
        "counties": counties, "possible_cells": width, "threads": threads, "rho": total, "largest_memory_bytes": memory, "splits": splits
    });
    if let Some(path) = after("--out") {
        let text = serde_json::to_string_pretty(&result).expect("it is JSON");
        std::fs::write(path, text + "\n").expect("the file can be written");
    }
}
