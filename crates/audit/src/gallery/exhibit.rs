//! The collection: what each exhibit is, on which neighbours it is audited, and what is true about it.

use super::mechanism::{Mechanism, Noise, Player, SparseVector};
use super::truth::{Exactly, noisy_max, sparse_vector};
use super::words::Words;
use crate::black_box::Pair;

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// For all neighbours.
    Correct,
    /// The exact ε on the audited neighbours is above the claim.
    Broken,
}

/// A mechanism of known standing.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// How it is called on the command line.
    pub name: &'static str,
    /// What it is, and what is wrong with it.
    pub what: &'static str,
    /// Whether its claim holds.
    pub standing: Standing,
    mechanism: Mechanism,
    neighbours: Neighbours,
    truth: Truth,
}

/// The pairs that an exhibit is audited on.
#[derive(Clone, Copy, Debug)]
enum Neighbours {
    /// Exactly one pair.
    One(&'static [i64], &'static [i64]),
    /// This many entries, one of which moves by one.
    OneEntry(usize),
    /// This many entries, each of which may move by one: the patterns of StatDP and DP-Sniper.
    EveryEntry(usize),
    /// The same, and a pair in which one entry is far ahead of the others.
    EveryEntryOrLeader(usize),
}

/// How the exact ε is known.
#[derive(Clone, Copy, Debug)]
enum Truth {
    /// This many eightieths, derived in the exhibit's comment.
    Eightieths(u32),
    /// Infinite, derived there too.
    Infinite,
    /// The largest of certified integrals over the audited pairs.
    Integral,
}

impl Exhibit {
    /// The exhibit of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        EXHIBITS.iter().find(|exhibit| exhibit.name == name)
    }

    /// The inputs, which pairs name by number. Each is there once, so that pairs which share one say so.
    pub fn inputs(&self) -> Vec<Vec<i64>> {
        let mut inputs: Vec<Vec<i64>> = Vec::new();
        for input in self.neighbours().into_iter().flat_map(<[_; 2]>::from) {
            if !inputs.contains(&input) {
                inputs.push(input);
            }
        }
        inputs
    }

    /// The pairs of neighbours that are audited.
    pub fn pairs(&self) -> Vec<Pair> {
        let inputs = self.inputs();
        let number = |input: &Vec<i64>| inputs.iter().position(|other| other == input);
        let pairs = self.neighbours().into_iter().filter_map(|(first, second)| {
            Some(Pair {
                first: number(&first)?,
                second: number(&second)?,
            })
        });
        pairs.collect()
    }

    /// Ready to be run with one worker's words.
    pub fn play<W: Words>(&self, words: W) -> Player<W> {
        Player::new(self.mechanism, &self.inputs(), words)
    }

    /// The exact ε: the largest over the audited pairs.
    pub fn exact_epsilon(&self) -> Exactly {
        match (self.truth, self.mechanism) {
            (Truth::Infinite, _) => Exactly::Infinite,
            (Truth::Eightieths(rate), _) => Exactly::of_rate(rate),
            (Truth::Integral, Mechanism::NoisyMax { noise, rate, .. }) => {
                self.largest(|first, second| noisy_max(noise, rate, first, second))
            }
            (Truth::Integral, Mechanism::SparseVector(variant)) => match variant.query_rate {
                Some(rate) => self.largest(|first, second| sparse_vector(&variant, rate, first, second)),
                None => Exactly::Infinite,
            },
            (Truth::Integral, _) => unreachable!("only these have integrals"),
        }
    }

    fn largest(&self, of: impl Fn(&[i64], &[i64]) -> Exactly) -> Exactly {
        let all = self
            .neighbours()
            .into_iter()
            .map(|(first, second)| of(&first, &second));
        all.reduce(|left, right| match (left, right) {
            (Exactly::Finite(left), Exactly::Finite(right)) => Exactly::Finite(left.max(&right)),
            _ => Exactly::Infinite,
        })
        .unwrap_or(Exactly::of_rate(0))
    }

    fn neighbours(&self) -> Vec<(Vec<i64>, Vec<i64>)> {
        let led = |n: usize, ahead: i64, others: i64| {
            let mut input = vec![others; n];
            input[0] = ahead;
            input
        };
        let halves = |n: usize, left: i64, right: i64| [vec![left; n / 2], vec![right; n - n / 2]].concat();
        let one_entry = |n: usize| vec![(vec![1; n], led(n, 0, 1)), (vec![1; n], led(n, 2, 1))];
        let every_entry = |n: usize| {
            let more = [
                (vec![1; n], led(n, 2, 0)),
                (vec![1; n], led(n, 0, 2)),
                (vec![1; n], halves(n, 2, 0)),
                (vec![1; n], vec![2; n]),
                (vec![1; n], vec![0; n]),
                (halves(n, 1, 0), halves(n, 0, 1)),
            ];
            one_entry(n).into_iter().chain(more).collect::<Vec<_>>()
        };
        match self.neighbours {
            Neighbours::One(first, second) => vec![(first.to_vec(), second.to_vec())],
            Neighbours::OneEntry(n) => one_entry(n),
            Neighbours::EveryEntry(n) => every_entry(n),
            Neighbours::EveryEntryOrLeader(n) => {
                let leader = (led(n, 200, 0), led(n, 201, 0));
                every_entry(n).into_iter().chain([leader]).collect()
            }
        }
    }
}

/// All of them, the correct first.
pub const EXHIBITS: &[Exhibit] = &[
    // P[z|x]/P[z|x′] = e^((|z−x′|−|z−x|)·8/80), and all of 8/80 where z lies outside of both.
    Exhibit {
        name: "laplace",
        what: "one count with Laplace noise of scale 10",
        standing: Standing::Correct,
        mechanism: Mechanism::Laplace { rate: 8 },
        neighbours: Neighbours::One(&[0], &[1]),
        truth: Truth::Eightieths(8),
    },
    // P[k] ∝ e^(−|k|·8/80): the same on integers.
    Exhibit {
        name: "geometric",
        what: "one count with two-sided geometric noise of scale 10",
        standing: Standing::Correct,
        mechanism: Mechanism::Geometric { rate: 8 },
        neighbours: Neighbours::One(&[0], &[1]),
        truth: Truth::Eightieths(8),
    },
    // One entry moves by one, the others have the same distribution on both sides.
    Exhibit {
        name: "histogram",
        what: "five counts of disjoint groups, each with Laplace noise of scale 10",
        standing: Standing::Correct,
        mechanism: Mechanism::Laplace { rate: 8 },
        neighbours: Neighbours::OneEntry(5),
        truth: Truth::Eightieths(8),
    },
    Exhibit {
        name: "noisy-max-laplace",
        what: "which of five queries is largest with Laplace noise of scale 20; only its place is released",
        standing: Standing::Correct,
        mechanism: Mechanism::NoisyMax {
            noise: Noise::Laplace,
            rate: 4,
            value: false,
        },
        neighbours: Neighbours::EveryEntry(5),
        truth: Truth::Integral,
    },
    Exhibit {
        name: "noisy-max-exponential",
        what: "the same with exponential noise of scale 20",
        standing: Standing::Correct,
        mechanism: Mechanism::NoisyMax {
            noise: Noise::Exponential,
            rate: 4,
            value: false,
        },
        neighbours: Neighbours::EveryEntry(5),
        truth: Truth::Integral,
    },
    // Algorithm 1: threshold Lap(1/ε₁), queries Lap(2c/ε₂), stop at the c-th above; ε₁ = ε₂ = 0.05, c = 1.
    Exhibit {
        name: "sparse-vector-1",
        what: "Lyu, Su and Li, algorithm 1: threshold noise of scale 20, query noise of scale 40, stops at the first above",
        standing: Standing::Correct,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 4,
            query_rate: Some(2),
            cutoff: Some(1),
            refresh: false,
            value: false,
        }),
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Integral,
    },
    // Algorithm 2 (Dwork and Roth 2014): threshold Lap(c/ε₁), drawn anew after each above, queries
    // Lap(2c/ε₁); ε₁ = 0.05, c = 2.
    Exhibit {
        name: "sparse-vector-2",
        what: "algorithm 2: threshold noise of scale 40, drawn anew after an answer above, query noise of scale 80, stops at the second above",
        standing: Standing::Correct,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 2,
            query_rate: Some(1),
            cutoff: Some(2),
            refresh: true,
            value: false,
        }),
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Integral,
    },
    // Scale 1/10 where 10 was meant: the loss of an entry that moves by one is 10.
    Exhibit {
        name: "histogram-wrong-scale",
        what: "five counts with Laplace noise of scale ε where 1/ε was meant",
        standing: Standing::Broken,
        mechanism: Mechanism::Laplace { rate: 800 },
        neighbours: Neighbours::OneEntry(5),
        truth: Truth::Eightieths(800),
    },
    // One person moves the sum by two: |z−x′|−|z−x| is up to 2.
    Exhibit {
        name: "wrong-sensitivity",
        what: "a sum with Laplace noise of scale 10 for a sensitivity of 1; one person moves it by 2",
        standing: Standing::Broken,
        mechanism: Mechanism::Laplace { rate: 8 },
        neighbours: Neighbours::One(&[0], &[2]),
        truth: Truth::Eightieths(16),
    },
    // Every difference of two neighbouring sums has its own Laplace noise of scale 10, and each may move by
    // one: ten losses of up to 8/80, all of it where every difference is beyond both centres.
    Exhibit {
        name: "prefix-sums",
        what: "ten prefix sums of noisy entries; noise of scale 10 as if one entry moved, and all may",
        standing: Standing::Broken,
        mechanism: Mechanism::PrefixSums { rate: 8 },
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Eightieths(80),
    },
    // The largest of five independent values with F(z) = ½·e^(z·4/80) left of all centres has the density
    // 5·F⁴·f ∝ e^(5z·4/80) there; moving all centres by one moves it by e^(5·4/80). Nowhere is it more: f and
    // F each change by at most e^(4/80).
    Exhibit {
        name: "noisy-max-value-laplace",
        what: "the value of the largest of five queries with Laplace noise of scale 20, instead of its place",
        standing: Standing::Broken,
        mechanism: Mechanism::NoisyMax {
            noise: Noise::Laplace,
            rate: 4,
            value: true,
        },
        neighbours: Neighbours::EveryEntry(5),
        truth: Truth::Eightieths(20),
    },
    // The value is never below the largest query. If that moves by one, all values between are impossible on
    // one side.
    Exhibit {
        name: "noisy-max-value-exponential",
        what: "the same with exponential noise, which is never negative",
        standing: Standing::Broken,
        mechanism: Mechanism::NoisyMax {
            noise: Noise::Exponential,
            rate: 4,
            value: true,
        },
        neighbours: Neighbours::EveryEntryOrLeader(5),
        truth: Truth::Infinite,
    },
    // Algorithm 3 (Roth 2011): threshold Lap(1/ε₁), queries Lap(c/ε₂), and the noisy query v where it is
    // above; c = 1. For a given threshold z the output (below, below, v) has the density
    // F(z−x₁)F(z−x₂)f(v−x₃) if z ≤ v; each factor changes by at most e^(4/80) when its query moves by one,
    // and all three do by exactly that in one direction where v, and with it z, lies left of every query. So
    // three queries lose 12/80, and n queries n·4/80: without bound in n.
    Exhibit {
        name: "sparse-vector-3",
        what: "algorithm 3: releases the noisy query where it is above, and with it a bound on the threshold; three queries",
        standing: Standing::Broken,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 4,
            query_rate: Some(4),
            cutoff: Some(1),
            refresh: false,
            value: true,
        }),
        neighbours: Neighbours::EveryEntry(3),
        truth: Truth::Eightieths(12),
    },
    // Algorithm 4 (Lee and Clifton 2014): threshold Lap(1/ε₁), queries Lap(1/ε₂), ε₁ = ε/4, ε₂ = 3ε/4;
    // (1+6c)/4·ε-private, here 0.175.
    Exhibit {
        name: "sparse-vector-4",
        what: "algorithm 4: threshold noise of scale 40, query noise of scale 13⅓ where twice that was needed; ten queries",
        standing: Standing::Broken,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 2,
            query_rate: Some(6),
            cutoff: Some(1),
            refresh: false,
            value: false,
        }),
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Integral,
    },
    // Algorithm 5 (Stoddard, Chen and Machanavajjhala 2014): queries without noise. Equal queries get equal
    // answers, so (2,…,2,0,…,0) gives above for the first half and below for the second where the threshold
    // falls between, and (1,…,1) never does.
    Exhibit {
        name: "sparse-vector-5",
        what: "algorithm 5: no noise on the queries",
        standing: Standing::Broken,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 4,
            query_rate: None,
            cutoff: None,
            refresh: false,
            value: false,
        }),
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Infinite,
    },
    // Algorithm 6 (Chen, Xiao, Zhang and Xu 2015): threshold Lap(1/ε₁), queries Lap(1/ε₂), ε₁ = ε₂ = ε/2, no
    // limit on answers above. Finite for ten queries, without bound in their number.
    Exhibit {
        name: "sparse-vector-6",
        what: "algorithm 6: any number of answers above for the price of one; ten queries",
        standing: Standing::Broken,
        mechanism: Mechanism::SparseVector(SparseVector {
            threshold_rate: 4,
            query_rate: Some(4),
            cutoff: None,
            refresh: false,
            value: false,
        }),
        neighbours: Neighbours::EveryEntry(10),
        truth: Truth::Integral,
    },
    // (0, 0, 0, 0, 1) has a local sensitivity of 0, hence no noise: any output but 0 is impossible. Its
    // neighbour has noise.
    Exhibit {
        name: "local-median",
        what: "the median of five values with noise for the sensitivity at this very data",
        standing: Standing::Broken,
        mechanism: Mechanism::LocalMedian { rate: 8 },
        neighbours: Neighbours::One(&[0, 0, 0, 1, 1], &[0, 0, 0, 0, 1]),
        truth: Truth::Infinite,
    },
    // Around 0 floats are finer than around 1, so a sum with 1 cannot have the low bits that a sum with 0
    // mostly has (Mironov 2012).
    Exhibit {
        name: "float-laplace",
        what: "the textbook sampler in floats, added and released with all bits",
        standing: Standing::Broken,
        mechanism: Mechanism::FloatLaplace { rate: 8 },
        neighbours: Neighbours::One(&[0], &[1]),
        truth: Truth::Infinite,
    },
    // The difference of the two answers is the difference of the two counts.
    Exhibit {
        name: "reused-noise",
        what: "two counts with the same Laplace noise",
        standing: Standing::Broken,
        mechanism: Mechanism::ReusedNoise { rate: 8 },
        neighbours: Neighbours::One(&[0, 0], &[1, 0]),
        truth: Truth::Infinite,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(name: &str) -> f64 {
        let exhibit = Exhibit::named(name).expect("an exhibit");
        let Exactly::Finite(epsilon) = exhibit.exact_epsilon() else {
            panic!("{name} is finite")
        };
        // Certified to far more digits than a float has.
        assert!(epsilon.to_f64_up() - epsilon.to_f64_down() <= f64::EPSILON * epsilon.to_f64_up());
        epsilon.to_f64_up()
    }

    /// The figures that DP-Sniper's authors list for their inputs, and our own quadrature in another
    /// language.
    #[test]
    fn exact_values() {
        for (name, expected) in [
            ("sparse-vector-1", 0.088230),
            ("sparse-vector-4", 0.17247),
            ("sparse-vector-6", 0.42003),
            ("prefix-sums", 1.0),
            ("noisy-max-value-laplace", 0.25),
            ("noisy-max-exponential", 0.1),
        ] {
            assert!((exact(name) - expected).abs() < 6e-6, "{name}: {}", exact(name));
        }
        assert!(exact("noisy-max-laplace") < 0.1 && exact("sparse-vector-2") < 0.1);
    }

    #[test]
    fn a_claim_is_broken_exactly_if_its_epsilon_is_larger() {
        for exhibit in EXHIBITS {
            let broken = exhibit.exact_epsilon().to_f64_up() > 0.1 + 1e-12;
            assert_eq!(broken, exhibit.standing == Standing::Broken, "{}", exhibit.name);
            for (first, second) in exhibit.neighbours() {
                assert_eq!(first.len(), second.len(), "{}", exhibit.name);
            }
        }
    }
}
