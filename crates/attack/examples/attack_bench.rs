//! How long linear reconstruction takes: one JSON object a line, for bench/attack-run.
//!
//!   attack_bench n = 4,096 by least squares, n = 1,024 by either linear program attack_bench clarabel the
//!   second program at n = 256 and 512, beside a general solver for sparse problems

use accounting::{Delta, Epsilon};
use attack::Seeded;
use attack::linear::{Fit, Method, Model, Noise, Queries, estimate, interrogate, right, rounded, secrets};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SupportedConeT};
use std::time::Instant;

type Fault = Box<dyn std::error::Error>;

/// Processor time of this process so far, from Linux in hundredths of a second: unlike the clock on the wall
/// it does not see who else is busy.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th words after it.
    let words: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |place: usize| {
        words
            .get(place)
            .and_then(|word| word.parse::<f64>().ok())
            .unwrap_or(f64::NAN)
    };
    (ticks(11) + ticks(12)) / 100.0
}

/// One line of results.
fn print(what: &str, people: usize, queries: usize, start: (Instant, f64), recovered: f64) {
    let (seconds, busy) = (start.0.elapsed().as_secs_f64(), processor_seconds() - start.1);
    println!(
        "{{\"case\": \"{what}\", \"people\": {people}, \"queries\": {queries}, \"seconds\": {seconds:.3}, \
         \"processor_seconds\": {busy:.2}, \"recovered\": {recovered:.4}}}"
    );
}

struct Case {
    queries: Queries,
    answers: Vec<f64>,
    bits: Vec<bool>,
}

impl Case {
    fn new(people: usize, noise: Noise) -> Result<Self, Fault> {
        let mut seeded = Seeded::new(1);
        let bits = secrets(people, &mut seeded);
        let queries = Queries::random(people, 4 * people, &mut seeded)?;
        let Ok(answers) = interrogate(&mut Model::new(&bits, noise, seeded), &queries, || ());
        Ok(Self {
            queries,
            answers,
            bits,
        })
    }

    /// Solves, and prints how long it took.
    fn measured(&self, what: &str, method: Method) -> Result<(), Fault> {
        let start = (Instant::now(), processor_seconds());
        let estimates = estimate(&self.queries, &self.answers, method)?;
        let people = self.queries.people();
        let recovered = right(&rounded(&estimates), &self.bits) as f64 / people as f64;
        print(what, people, self.queries.count(), start, recovered);
        Ok(())
    }

    /// The program of least absolute distances as a sparse one: ±(A·x + u − answers) in one row each, u split
    /// in two.
    fn measured_by_clarabel(&self) {
        let (people, count) = (self.queries.people(), self.queries.count());
        let variables = people + 2 * count;
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut entry = |row: usize, column: usize, value: f64| {
            rows.push(row);
            columns.push(column);
            values.push(value);
        };
        for index in 0..count {
            for person in self.queries.subset(index).people() {
                entry(index, person, 1.0);
            }
            entry(index, people + index, 1.0);
            entry(index, people + count + index, -1.0);
        }
        for variable in 0..variables {
            entry(count + variable, variable, -1.0);
        }
        for person in 0..people {
            entry(count + variables + person, person, 1.0);
        }
        let inequalities = variables + people;
        let matrix = CscMatrix::new_from_triplets(count + inequalities, variables, rows, columns, values);
        let mut bounds = self.answers.clone();
        bounds.extend(vec![0.0; variables]);
        bounds.extend(vec![1.0; people]);
        let mut costs = vec![0.0; people];
        costs.extend(vec![1.0; 2 * count]);
        let quadratic = CscMatrix::zeros((variables, variables));
        let cones = [
            SupportedConeT::ZeroConeT(count),
            SupportedConeT::NonnegativeConeT(inequalities),
        ];
        let settings = DefaultSettings {
            verbose: false,
            ..DefaultSettings::default()
        };
        let start = (Instant::now(), processor_seconds());
        let mut solver = match DefaultSolver::new(&quadratic, &costs, &matrix, &bounds, &cones, settings) {
            Ok(solver) => solver,
            Err(error) => return eprintln!("clarabel: {error}"),
        };
        solver.solve();
        let recovered = right(&rounded(&solver.solution.x[..people]), &self.bits) as f64 / people as f64;
        print(
            "least absolute distance by clarabel",
            people,
            count,
            start,
            recovered,
        );
    }
}

fn main() -> Result<(), Fault> {
    let least_absolute = Method::LinearProgram(Fit::LeastAbsolute);
    let private = |people: usize| {
        Noise::gaussian_for(&Epsilon::parse("10")?, &Delta::parse("1e-6")?, 4 * people as u64)
            .map_err(Fault::from)
    };
    if std::env::args().nth(1).as_deref() == Some("clarabel") {
        for people in [256, 512] {
            let case = Case::new(people, private(people)?)?;
            case.measured("least absolute distance", least_absolute)?;
            case.measured_by_clarabel();
        }
        return Ok(());
    }
    let noise = Noise::uniform(0.5, 4096);
    Case::new(4096, noise)?.measured("least squares, uniform noise of 0.5 √n", Method::LeastSquares)?;
    let noise = Noise::uniform(0.5, 1024);
    let within = Method::LinearProgram(Fit::Within(16.0));
    Case::new(1024, noise)?.measured("linear program within uniform noise of 0.5 √n", within)?;
    Case::new(1024, private(1024)?)?.measured(
        "linear program of least absolute distance, ε = 10",
        least_absolute,
    )
}
