//! Clauses, and the few shapes that the encoding is made of: numbers in order encoding, counters, binary
//! sums.

use rustsat::types::Lit;
use std::collections::BTreeMap;

/// Clauses under construction. Every function that makes a literal defines it in both directions.
pub(super) struct Formula {
    clauses: Vec<Vec<Lit>>,
    variables: u32,
    conjunctions: BTreeMap<Vec<Lit>, Lit>,
}

/// Always true; its opposite is always false. Clauses never hold either.
pub(super) const TRUE: Lit = Lit::positive(0);

/// A number between two bounds, as the literals "at most v": each implies the next.
#[derive(Clone)]
pub(super) struct Number {
    low: i64,
    high: i64,
    at_most: Vec<Lit>,
}

impl Number {
    /// "At most v".
    pub(super) fn at_most(&self, value: i64) -> Lit {
        if value < self.low {
            !TRUE
        } else if value >= self.high {
            TRUE
        } else {
            self.at_most[(value - self.low) as usize]
        }
    }

    /// "At least v".
    pub(super) fn at_least(&self, value: i64) -> Lit {
        !self.at_most(value - 1)
    }

    /// The values at which "at most v" is not known beforehand.
    pub(super) fn cuts(&self) -> std::ops::Range<i64> {
        self.low..self.high
    }

    /// The value in a model: the bounds, less the cuts that hold.
    pub(super) fn value(&self, holds: impl Fn(Lit) -> bool) -> i64 {
        let held = self.at_most.iter().filter(|lit| holds(**lit)).count();
        self.high - held as i64
    }
}

impl Formula {
    pub(super) fn new() -> Self {
        Self {
            clauses: vec![vec![TRUE]],
            variables: 1,
            conjunctions: BTreeMap::new(),
        }
    }

    pub(super) fn clauses(&self) -> &[Vec<Lit>] {
        &self.clauses
    }

    pub(super) fn variables(&self) -> u32 {
        self.variables
    }

    /// A literal that may be anything.
    pub(super) fn free(&mut self) -> Lit {
        self.variables += 1;
        Lit::positive(self.variables - 1)
    }

    /// At least one of these holds.
    pub(super) fn clause(&mut self, lits: &[Lit]) {
        if lits.contains(&TRUE) {
            return;
        }
        self.clauses
            .push(lits.iter().copied().filter(|lit| *lit != !TRUE).collect());
    }

    /// Whenever all of `when` hold, so does `then`.
    pub(super) fn implies(&mut self, when: &[Lit], then: Lit) {
        let mut clause: Vec<Lit> = when.iter().map(|lit| !*lit).collect();
        clause.push(then);
        self.clause(&clause);
    }

    /// All of them hold. Equal conjunctions are one literal.
    pub(super) fn and(&mut self, lits: &[Lit]) -> Lit {
        let mut lits: Vec<Lit> = lits.iter().copied().filter(|lit| *lit != TRUE).collect();
        lits.sort_unstable();
        lits.dedup();
        if lits.contains(&!TRUE) || lits.iter().any(|lit| lits.binary_search(&!*lit).is_ok()) {
            return !TRUE;
        }
        match lits.as_slice() {
            [] => return TRUE,
            [only] => return *only,
            _ => {}
        }
        if let Some(known) = self.conjunctions.get(&lits) {
            return *known;
        }
        let all = self.free();
        for lit in &lits {
            self.clause(&[!all, *lit]);
        }
        self.implies(&lits, all);
        self.conjunctions.insert(lits, all);
        all
    }

    /// At least one of them holds.
    pub(super) fn or(&mut self, lits: &[Lit]) -> Lit {
        let opposites: Vec<Lit> = lits.iter().map(|lit| !*lit).collect();
        !self.and(&opposites)
    }

    /// A number between these bounds.
    pub(super) fn number(&mut self, low: i64, high: i64) -> Number {
        let at_most: Vec<Lit> = (low..high).map(|_| self.free()).collect();
        for pair in at_most.windows(2) {
            self.clause(&[!pair[0], pair[1]]);
        }
        Number { low, high, at_most }
    }

    /// The number lies in one of the ranges.
    pub(super) fn within(&mut self, number: &Number, ranges: &[(i64, i64)]) -> Lit {
        let each: Vec<Lit> = ranges
            .iter()
            .map(|(low, high)| self.and(&[number.at_least(*low), number.at_most(*high)]))
            .collect();
        self.or(&each)
    }

    /// Running counts: `[i][k]` says that more than k of the first i+1 literals hold, for k up to `most` − 1.
    ///
    /// The i-th count is above k when the one before is, or when it reaches k and literal i holds.
    pub(super) fn counter(&mut self, lits: &[Lit], most: usize) -> Vec<Vec<Lit>> {
        let mut rows: Vec<Vec<Lit>> = Vec::with_capacity(lits.len());
        for (place, &lit) in lits.iter().enumerate() {
            let before = |k: usize| rows.last().and_then(|row| row.get(k)).copied().unwrap_or(!TRUE);
            let mut row = Vec::new();
            let reach: Vec<(Lit, Lit)> = (0..most.min(place + 1))
                .map(|k| (before(k), if k == 0 { TRUE } else { before(k - 1) }))
                .collect();
            for (above, reached) in reach {
                let stepped = self.and(&[reached, lit]);
                row.push(self.or(&[above, stepped]));
            }
            rows.push(row);
        }
        rows
    }

    /// The bits of number − low, from the lowest; each follows the runs of values in which it is constant.
    pub(super) fn bits(&mut self, number: &Number) -> Vec<Lit> {
        let width = 64 - (number.high.abs_diff(number.low)).leading_zeros();
        (0..width)
            .map(|place| {
                let bit = self.free();
                let run = 1i64 << place;
                let mut start = number.low;
                let mut set = false;
                while start <= number.high {
                    let inside = [number.at_least(start), number.at_most(start + run - 1)];
                    self.implies(&inside, if set { bit } else { !bit });
                    start += run;
                    set = !set;
                }
                bit
            })
            .collect()
    }

    /// The binary sum of binary numbers, column by column with full adders.
    pub(super) fn sum(&mut self, numbers: &[Vec<Lit>]) -> Vec<Lit> {
        let mut columns: Vec<Vec<Lit>> = Vec::new();
        for bits in numbers {
            for (place, bit) in bits.iter().enumerate() {
                if columns.len() <= place {
                    columns.resize(place + 1, Vec::new());
                }
                columns[place].push(*bit);
            }
        }
        let mut result = Vec::new();
        let mut place = 0;
        while place < columns.len() {
            let mut column = std::collections::VecDeque::from(std::mem::take(&mut columns[place]));
            while column.len() > 1 {
                // Taking from the front and adding to the back keeps the tree of adders shallow.
                let three: Vec<Lit> = (0..column.len().min(3))
                    .filter_map(|_| column.pop_front())
                    .collect();
                let (low, carry) = self.add(&three);
                column.push_back(low);
                if columns.len() <= place + 1 {
                    columns.push(Vec::new());
                }
                columns[place + 1].push(carry);
            }
            result.push(column.pop_front().unwrap_or(!TRUE));
            place += 1;
        }
        result
    }

    /// The low bit and the carry of two or three bits.
    fn add(&mut self, bits: &[Lit]) -> (Lit, Lit) {
        let low = self.free();
        let carry = self.free();
        // Every assignment of the bits decides both outputs.
        for pattern in 0..1u32 << bits.len() {
            let when: Vec<Lit> = bits
                .iter()
                .enumerate()
                .map(|(place, bit)| if pattern >> place & 1 == 1 { *bit } else { !*bit })
                .collect();
            self.implies(&when, if pattern.count_ones() & 1 == 1 { low } else { !low });
        }
        // Two bits alone decide the carry, whatever the third.
        let third = bits.get(2).copied().unwrap_or(!TRUE);
        for [one, two] in [[bits[0], bits[1]], [bits[0], third], [bits[1], third]] {
            self.implies(&[one, two], carry);
            self.implies(&[!one, !two], !carry);
        }
        // Follows from the above; saves the solver two steps.
        self.implies(&[carry, low], bits[0]);
        self.implies(&[carry, low], bits[1]);
        self.implies(&[carry, low], third);
        self.implies(&[!carry, !low], !bits[0]);
        self.implies(&[!carry, !low], !bits[1]);
        self.implies(&[!carry, !low], !third);
        (low, carry)
    }

    /// Under the guard, the binary number is at most `bound`: where it has a bit that the bound lacks, it
    /// lacks a higher one that the bound has.
    pub(super) fn at_most(&mut self, guard: &[Lit], bits: &[Lit], bound: i128) {
        if bound < 0 {
            let never: Vec<Lit> = guard.iter().map(|lit| !*lit).collect();
            self.clause(&never);
            return;
        }
        let has = |place: usize| place < 127 && bound >> place & 1 == 1;
        if bits.len() < 127 && bound >> bits.len() > 0 {
            return;
        }
        for place in (0..bits.len()).filter(|place| !has(*place)) {
            let mut clause: Vec<Lit> = guard.iter().map(|lit| !*lit).collect();
            clause.push(!bits[place]);
            clause.extend(
                (place + 1..bits.len())
                    .filter(|higher| has(*higher))
                    .map(|higher| !bits[higher]),
            );
            self.clause(&clause);
        }
    }

    /// Under the guard, the binary number is at least `bound`: its complement is at most the complement of
    /// the bound.
    pub(super) fn at_least(&mut self, guard: &[Lit], bits: &[Lit], bound: i128) {
        if bound <= 0 {
            return;
        }
        let opposites: Vec<Lit> = bits.iter().map(|bit| !*bit).collect();
        let most = (1i128 << bits.len()) - 1;
        self.at_most(guard, &opposites, most - bound);
    }
}
