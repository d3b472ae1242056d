//! Many tables from one measurement of what they share: the residuals of a plan.

mod cells;
mod cost;
mod draw;
mod part;
#[cfg(test)]
mod tests;

pub use cells::Cells;
pub use part::PlannedPart;

use crate::gaussian::recorded;
use crate::{Accuracy, Aggregate, Error, Mechanism, Permit, Stated, Terms};
use accounting::{Delta, Epsilon, Event, Neighbors, NoiseSupport, Promise, Ratio, smallest_multiplier};
pub(crate) use cells::sensitivity_of_rows;
use draw::Noises;
use exact::{Rational, power_of_two, ratio};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The ways in which one attribute can be measured.
pub type PlannedAttribute = Vec<PlannedPart>;

/// No plan has more numbers with noise than this.
const MOST_CELLS: u64 = 1 << 40;

/// One measurement: of some attributes, each in one of its ways, with noise.
///
/// Noise has variance `mantissa`·4^`exponent`. Counts are multiplied by 2^`shift` first, so that rounding is as fine as wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSet {
    /// Attributes and the way of each, by attribute.
    pub parts: Vec<(usize, usize)>,
    /// The variance of the noise on counts is `mantissa`·4^`exponent`; for Laplace noise, its scale.
    pub mantissa: u64,
    /// See `mantissa`.
    pub exponent: i32,
    /// Counts are multiplied by 2^`shift` before noise is added.
    pub shift: u32,
}

impl PlannedSet {
    /// The variance of the noise, in squared rows; for Laplace noise, its scale in rows.
    pub fn variance(&self) -> Rational {
        Rational::from(self.mantissa) * power_of_two(2 * self.exponent)
    }

    /// The same in steps of the grid.
    fn in_steps(&self) -> Rational {
        self.variance() * power_of_two(2 * i32::try_from(self.shift).unwrap_or(i32::MAX / 4))
    }
}

/// Measures many marginals at once: for each set of attributes, what its table has beyond the tables of fewer attributes.
///
/// # Privacy
/// Claim: with Gaussian noise, μ-GDP with μ² = (1 + 2^-40)·r²·Σ_A c_A/σ_A² where a unit has at most r rows: all that is promised, and all curves of one Gaussian of σ²/Δ² = 1/μ². With Laplace noise,
/// ε-DP with ε = Σ_A d·r/b_A, d = 1 under add/remove and 2 under change-one.
/// Proof: for a set A let x_A = M_A·x·2^g: the marginal on A, combined along the axes of A that say so, in steps. It consists of integers. Z has independent N(0, s²) on each of its N numbers, s² = 4^g·σ_A².
/// H takes away, along each axis of differences, the first cell of each group; V is its kernel, P the projection on the orthogonal complement of V. What leaves is H·(x_A + round(Z)) modulo 2⁶⁴.
/// (1) H·(x_A + Z), or P(x_A + Z), which is the same, is Gaussian noise of deviation s in all directions of P's image. Neighbours move it by P·M_A(x − x')·2^g. One row moves P·M_A·x by a product over axes, of
/// e_c − (mean of its group) for differences and a column for combinations, so its square is at most c_A, the product of the largest 1 − 1/|group| and of the largest squares of columns; r rows move it by at most r
/// times as much; for a changed unit see `cost::moved`. Independent Gaussians add up to μ² = Σ_A r²·c_A/σ_A² (Dong, Roth and Su 2022).
/// (2) Given t = P(x_A + Z), the output is H·round(t + u) with u = (x_A)_V + Z_V, where Z_V ~ N(0, s²) on V is independent of t. For k in K = V ∩ ℤᴺ, H·round(t + u + k) = H·round(t + u), so only u modulo K
/// matters. Its density relative to the uniform one is Σ_{w∈K*} e^(−2π²s²‖w‖²)·cos(2π⟨w, u − (x_A)_V⟩) (Poisson summation), which is within 1 ± η_A, η_A = Σ_{w≠0} e^(−2π²s²‖w‖²). So the mechanism is within
/// factors 1 ± η_A of one that draws u uniformly, which is post-processing of (1) by a kernel that does not depend on x.
/// (3) K has a basis of vectors of length at most L, L² the size of the largest group: the indicator of a group along one axis, at one place of the others that is not first along the axes before.
/// Subtracting multiples of these, axis by axis, makes any k in K zero wherever one of its coordinates is first; what is left is H·k = 0. Along the Gram-Schmidt vectors of the basis, the dual
/// is sums over shifted integers over ‖b̃_i‖ ≤ L, and a shifted sum of e^(−ck²) is at most the centered one, so 1 + η_A ≤ (1 + 2Σ_{k≥1} q^(k²))ᴺ with q = e^(−2π²s²/L²). s² ≥ 6L² gives q < 2^-170, and with at most 2⁴⁰
/// numbers in all, everything together is within factors 1 − η and 1/(1 − η), η = 2^-127.
/// (4) Whoever is within such factors of a μ-GDP mechanism is (μ + 3η)-GDP: a probability α ≤ ½ that changes by such a factor moves Φ⁻¹(α) by at most −ln(1 − η)·√(π/2), because φ/Φ ≥ √(2/π) on the left half; above ½ the
/// complement does; and it happens twice. With μ ≥ 2^-40, (μ + 3η)² ≤ (1 + 2^-40)·μ². Multiplying by 2^g and taking differences modulo 2⁶⁴ is a homomorphism of groups, so it is post-processing of the same without.
/// Laplace: discrete Laplace noise of scale b on integers that move by d·r in ℓ₁ in each set (`crate::Laplace`), and sets add up.
/// Source: Xiao, He, Zhang and Kifer 2023 (residuals and their cost); Dong, Roth and Su 2022; the discrete form is proved here. Assumes: exact sampler; the bound r holds; 256 bits of a key are as good as random.
/// Audited by: `audit_planned_tables` (false alarm 1e-9, rejects 0.9 σ, noise that is dropped along one axis, and a residual that is not charged; the gate rejects 0.95 σ exactly).
#[derive(Clone, Debug)]
pub struct PlannedTables {
    terms: Terms,
    rows: u64,
    attributes: Vec<PlannedAttribute>,
    sets: Vec<PlannedSet>,
    kind: Kind,
    noises: Arc<Noises>,
    /// How many numbers get noise.
    numbers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Gaussian,
    Laplace,
}

impl PlannedTables {
    /// With Gaussian noise that keeps this promise: (ε, δ) or ρ.
    ///
    /// # Errors
    /// When the noise does not suffice for the promise, when it is too fine or too wide for the proof or a sampler, or a set names what is not there.
    pub fn gaussian(
        promise: Promise,
        attributes: Vec<PlannedAttribute>,
        sets: Vec<PlannedSet>,
        rows: u64,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        check(&attributes, &sets)?;
        check_grids(&attributes, &sets)?;
        let loss = cost::squared_loss(&attributes, &sets, rows, neighbors) * slack();
        if loss < power_of_two(-80) {
            return Err(Error::OutOfRange {
                what: "the cost of a plan",
                range: "at least μ = 2^-40",
            });
        }
        let multiplier_squared = recorded(&(Rational::ONE / loss))?;
        if !suffices(&promise, &multiplier_squared)? {
            return Err(Error::OutOfRange {
                what: "the noise of a plan",
                range: "as much as its promise needs",
            });
        }
        let event = Event::Gaussian {
            multiplier_squared,
            on: NoiseSupport::Rounded,
        };
        let sensitivity = sensitivity_of_rows(rows, neighbors)?;
        // Cells of different tables have different errors: the plan predicts each.
        let terms = Terms::new(sensitivity, event, promise, Accuracy::DependsOnData);
        Self::with(terms, attributes, sets, rows, neighbors, Kind::Gaussian)
    }

    /// With Laplace noise on cells, where a pure promise is wanted. In `sets`, mantissa and exponent are those of the scale, and nothing is shifted.
    ///
    /// # Errors
    /// When a part is not cells, no sampler has such noise, or a set names what is not there.
    pub fn laplace(
        attributes: Vec<PlannedAttribute>,
        sets: Vec<PlannedSet>,
        rows: u64,
        neighbors: Neighbors,
    ) -> Result<Self, Error> {
        check(&attributes, &sets)?;
        let cells_only = sets.iter().all(|set| {
            let is_cells = |(place, part): &(usize, usize)| {
                matches!(attributes[*place][*part], PlannedPart::Cells { .. })
            };
            set.shift == 0 && set.parts.iter().all(is_cells)
        });
        if !cells_only {
            return Err(Error::OutOfRange {
                what: "the parts of a plan with Laplace noise",
                range: "cells",
            });
        }
        let loss = cost::absolute_loss(&sets, rows, neighbors);
        let epsilon = Epsilon::exactly_or_up(&loss)?;
        let event = Event::Laplace {
            ratio: Ratio::at_least(&loss),
            on: NoiseSupport::Discrete,
        };
        let sensitivity = sensitivity_of_rows(rows, neighbors)?;
        let terms = Terms::new(
            sensitivity,
            event,
            Promise::Pure(epsilon),
            Accuracy::DependsOnData,
        );
        Self::with(terms, attributes, sets, rows, neighbors, Kind::Laplace)
    }

    fn with(
        terms: Terms,
        attributes: Vec<PlannedAttribute>,
        sets: Vec<PlannedSet>,
        rows: u64,
        neighbors: Neighbors,
        kind: Kind,
    ) -> Result<Self, Error> {
        Ok(Self {
            terms: terms.on(noise::Grid::new(0)).only_for(neighbors),
            rows,
            numbers: usize::try_from(numbers(&attributes, &sets)).unwrap_or(usize::MAX),
            noises: Arc::new(Noises::of(&sets, kind)?),
            attributes,
            sets,
            kind,
        })
    }

    /// How many rows a unit may have.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// For which neighbours.
    pub fn neighbors(&self) -> Neighbors {
        self.terms.requires().expect("set when it was made")
    }

    /// How each attribute can be measured.
    pub fn attributes(&self) -> &[PlannedAttribute] {
        &self.attributes
    }

    /// What is measured, in the order in which it leaves.
    pub fn sets(&self) -> &[PlannedSet] {
        &self.sets
    }

    /// Whether noise is Gaussian, or else Laplace.
    pub fn is_gaussian(&self) -> bool {
        self.kind == Kind::Gaussian
    }

    /// What a squared noise multiplier must be so that the noise keeps a promise; `None` for a pure promise, which no Gaussian noise keeps.
    ///
    /// # Errors
    /// When ε or δ is zero, or ρ.
    pub fn squared_multiplier(promise: &Promise) -> Result<Option<Rational>, Error> {
        Ok(match promise {
            Promise::Pure(_) => None,
            Promise::Approximate(_, delta) if *delta == Delta::ZERO => None,
            Promise::Approximate(epsilon, delta) => {
                let multiplier = smallest_multiplier(epsilon, delta)?;
                Some(&multiplier * &multiplier)
            }
            Promise::Concentrated(rho) if *rho.as_rational() == Rational::ZERO => {
                return Err(Error::OutOfRange {
                    what: "ρ",
                    range: "positive",
                });
            }
            Promise::Concentrated(rho) => Some(ratio(1, 2) / rho.as_rational()),
        })
    }
}

/// What (4) in the proof adds.
fn slack() -> Rational {
    Rational::ONE + power_of_two(-40)
}

fn suffices(promise: &Promise, multiplier_squared: &Ratio) -> Result<bool, Error> {
    let needed = PlannedTables::squared_multiplier(promise)?;
    Ok(needed.is_some_and(|needed| *multiplier_squared.as_rational() >= needed))
}

/// Refuses sets of what is not there, and more numbers than the proof covers.
fn check(attributes: &[PlannedAttribute], sets: &[PlannedSet]) -> Result<(), Error> {
    let well_formed = attributes.iter().all(|attribute| {
        attribute
            .iter()
            .all(|part| part.is_well_formed() && part.values() == attribute[0].values())
    });
    let known = sets.iter().all(|set| {
        let there =
            |(place, part): &(usize, usize)| attributes.get(*place).is_some_and(|parts| *part < parts.len());
        set.mantissa > 0
            && set.exponent.unsigned_abs() <= 300
            && set.parts.iter().all(there)
            && set.parts.windows(2).all(|pair| pair[0].0 < pair[1].0)
    });
    if !well_formed || !known || sets.is_empty() {
        return Err(Error::OutOfRange {
            what: "the sets of a plan",
            range: "of attributes and parts that it has, each attribute once",
        });
    }
    if numbers(attributes, sets) > MOST_CELLS {
        return Err(Error::OutOfRange {
            what: "the numbers of a plan",
            range: "at most 2^40",
        });
    }
    Ok(())
}

/// Whether steps are as fine as the proof needs, and noise as a sampler has it. Many sets have the same noise: for each it is looked at once.
fn check_grids(attributes: &[PlannedAttribute], sets: &[PlannedSet]) -> Result<(), Error> {
    let group = |attribute: &PlannedAttribute| -> Vec<u64> {
        attribute.iter().map(PlannedPart::largest_group).collect()
    };
    let groups: Vec<Vec<u64>> = attributes.iter().map(group).collect();
    let mut largest = BTreeMap::new();
    for set in sets {
        let group = set
            .parts
            .iter()
            .map(|(place, part)| groups[*place][*part])
            .max()
            .unwrap_or(1);
        let (known, _) = largest
            .entry((set.mantissa, set.exponent, set.shift))
            .or_insert((1, set));
        *known = group.max(*known);
    }
    let widest = power_of_two(92);
    for (largest, set) in largest.values() {
        let steps = set.in_steps();
        if set.shift > 60 || steps < Rational::from(6 * largest) || steps > widest {
            return Err(Error::OutOfRange {
                what: "the noise of a planned table, in steps",
                range: "at least √6 times the square root of the largest group, and below 2^46",
            });
        }
    }
    Ok(())
}

/// How many numbers get noise; saturates.
fn numbers(attributes: &[PlannedAttribute], sets: &[PlannedSet]) -> u64 {
    sets.iter().fold(0u64, |sum, set| {
        let noised = set.parts.iter().fold(1u64, |product, (place, part)| {
            product.saturating_mul(attributes[*place][*part].noised() as u64)
        });
        sum.saturating_add(noised)
    })
}

impl Stated for PlannedTables {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl Mechanism<Cells> for PlannedTables {
    /// For each set its numbers, in row-major order of its attributes; in steps of 2^-`shift` rows, modulo 2⁶⁴.
    type Output = Vec<Vec<i64>>;

    fn draw(&self, input: Aggregate<Cells>, permit: Permit<'_>) -> Vec<Vec<i64>> {
        let key = crate::account::key_from(permit.entropy());
        draw::all(self, &input.open(), key)
    }
}
