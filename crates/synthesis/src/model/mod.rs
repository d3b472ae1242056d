//! The joint distribution of all attributes that fits what was measured, with as little beyond it as can be: a graphical model.
//!
//! Of all distributions that give the measured tables, the one of largest entropy is a product of a factor for each table. It is kept as counts on the cliques of a junction tree, from which everything
//! follows by sums. Factors are found by mirror descent on the weighted squared distance to the noisy counts, with belief propagation in each step (McKenna, Sheldon and Miklau 2019).

mod math;
mod rows;
pub(crate) use rows::tabulated;
pub(crate) mod shape;
pub(crate) mod tree;

use crate::impossible::{self, Impossible};
use math::{exp, ln};
use shape::{Shape, summed, within};
use tree::Tree;

/// Below this a sum of weights counts as nothing.
const NOTHING: f64 = 1e-280;

/// A table with noise.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    /// By which attributes, ascending.
    pub(crate) attributes: Vec<usize>,
    /// Its counts.
    pub(crate) counts: Vec<f64>,
    /// The variance of the noise of each.
    pub(crate) variance: f64,
}

/// Where a table is summed up from.
#[derive(Clone, Copy, Debug)]
enum Source {
    Clique(usize),
    /// A measured table by more attributes, which comes before it.
    Table(usize),
}

/// What is known of one table.
#[derive(Clone, Debug)]
struct Known {
    attributes: Vec<usize>,
    counts: Vec<f64>,
    /// One over the variance.
    precision: f64,
    /// The logarithm of its factor.
    potential: Vec<f64>,
    source: Source,
    /// For each cell of its source, its own.
    places: Vec<u32>,
}

/// Expected counts of all cells, as a product of factors.
#[derive(Clone, Debug)]
pub struct Model {
    sizes: Vec<u32>,
    /// Which rows cannot be.
    rules: Vec<Impossible>,
    total: f64,
    /// The standard deviation of the noise on it.
    total_deviation: f64,
    /// Tables by more attributes first.
    known: Vec<Known>,
    tree: Tree,
    /// For each clique, which of its cells some possible row has; empty where all have, because there are no rules.
    possible: Vec<Vec<bool>>,
    /// The counts of each clique.
    counts: Vec<Vec<f64>>,
    /// The length of the last step that helped.
    step: f64,
}

/// A point on the way: counts of cliques and of tables, and how far off they are.
struct Point {
    cliques: Vec<Vec<f64>>,
    tables: Vec<Vec<f64>>,
    loss: f64,
}

impl Model {
    /// Of attributes with so many values each, of which nothing is known yet but which rows cannot be: rules that leave some row.
    pub(crate) fn new(sizes: &[u32], rules: &[Impossible]) -> Self {
        let mut model = Self {
            sizes: sizes.to_vec(),
            rules: rules.to_vec(),
            total: 1.0,
            total_deviation: 0.0,
            known: Vec::new(),
            tree: Tree::new(&[], sizes),
            possible: Vec::new(),
            counts: Vec::new(),
            step: 0.0,
        };
        model.rebuild();
        model
    }

    /// How many rows there seem to be.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The standard deviation of the noise on that number.
    pub fn total_deviation(&self) -> f64 {
        self.total_deviation
    }

    /// How many values each attribute has.
    pub fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    /// How many cells its cliques have together.
    pub fn cells(&self) -> usize {
        self.counts.iter().map(Vec::len).sum()
    }

    /// The attributes of each clique.
    pub fn cliques(&self) -> impl Iterator<Item = &[usize]> {
        self.tree.cliques.iter().map(|clique| &clique.attributes[..])
    }

    /// The sets of attributes that were measured.
    pub(crate) fn sets(&self) -> Vec<Vec<usize>> {
        self.known.iter().map(|known| known.attributes.clone()).collect()
    }

    /// The sets of attributes that a tree has to hold together: those that were measured, and those of rules.
    pub(crate) fn held(&self) -> Vec<Vec<usize>> {
        let mut sets = self.sets();
        sets.extend(impossible::sets(&self.rules));
        sets
    }

    /// Whether two attributes are connected, so that the model can have them depend on each other.
    pub(crate) fn parts(&self) -> Vec<usize> {
        self.tree.parts(self.sizes.len())
    }

    /// Takes in one more table; tables by the same attributes are averaged by their precision. The model fits it only after [`Model::fit`].
    pub(crate) fn add(&mut self, measured: &Measured) {
        let precision = 1.0 / measured.variance;
        if let Some(known) = self
            .known
            .iter_mut()
            .find(|known| known.attributes == measured.attributes)
        {
            let both = known.precision + precision;
            for (count, more) in known.counts.iter_mut().zip(&measured.counts) {
                *count = (*count * known.precision + more * precision) / both;
            }
            known.precision = both;
        } else {
            let place = self
                .known
                .iter()
                .position(|known| known.attributes.len() < measured.attributes.len())
                .unwrap_or(self.known.len());
            let table = Known {
                attributes: measured.attributes.clone(),
                counts: measured.counts.clone(),
                precision,
                potential: vec![0.0; measured.counts.len()],
                source: Source::Clique(0),
                places: Vec::new(),
            };
            self.known.insert(place, table);
        }
    }

    /// Makes the tree anew for what is known, and the number of rows.
    pub(crate) fn rebuild(&mut self) {
        self.tree = Tree::new(&self.held(), &self.sizes);
        self.possible = match self.rules.is_empty() {
            true => Vec::new(),
            false => impossible::possible(&self.tree, &self.rules, &self.sizes),
        };
        for place in 0..self.known.len() {
            let attributes = &self.known[place].attributes;
            // The smallest table before it that has all of its attributes.
            let table = (0..place)
                .filter(|other| within(attributes, &self.known[*other].attributes))
                .min_by_key(|other| self.known[*other].counts.len());
            let (source, shape) = match table {
                Some(other) => (
                    Source::Table(other),
                    Shape::of(&self.known[other].attributes, &self.sizes),
                ),
                None => {
                    let clique = self
                        .tree
                        .clique_with(attributes)
                        .expect("a tree of all that is known");
                    (Source::Clique(clique), self.tree.cliques[clique].clone())
                }
            };
            let places = shape.places_in(attributes);
            let known = &mut self.known[place];
            (known.source, known.places) = (source, places);
        }
        (self.total, self.total_deviation) = self.estimated_total();
        self.counts = self.believed(&self.potentials());
    }

    /// The sums of the tables, each weighted by one over its variance. At least one row, so that there is something to share out. With its standard deviation.
    fn estimated_total(&self) -> (f64, f64) {
        let (mut sum, mut weight) = (0.0, 0.0);
        for known in &self.known {
            let precision = known.precision / known.counts.len() as f64;
            sum += precision * known.counts.iter().sum::<f64>();
            weight += precision;
        }
        if weight > 0.0 {
            ((sum / weight).max(1.0), (1.0 / weight).sqrt())
        } else {
            (1.0, 0.0)
        }
    }

    /// At most so many steps of mirror descent. Stops earlier where they help no more.
    pub(crate) fn fit(&mut self, steps: usize) {
        if self.known.is_empty() {
            return;
        }
        let mut potentials = self.potentials();
        let mut point = self.point(&potentials);
        let precise = self.known.iter().map(|known| known.precision).fold(0.0, f64::max);
        if self.step == 0.0 {
            self.step = 1.0 / (self.total * precise);
        }
        let mut idle = 0;
        for _ in 0..steps {
            let slopes = self.slopes(&point);
            let directions = self.directions(&slopes);
            let mut found = None;
            for _ in 0..30 {
                let trial: Vec<Vec<f64>> = potentials
                    .iter()
                    .zip(&directions)
                    .map(|(values, slopes)| moved(values, slopes, self.step))
                    .collect();
                let next = self.point(&trial);
                let promised: f64 = slopes
                    .iter()
                    .zip(point.tables.iter().zip(&next.tables))
                    .map(|(slopes, (before, after))| promised(slopes, before, after))
                    .sum();
                if point.loss - next.loss >= 0.5 * promised {
                    found = Some((trial, next));
                    break;
                }
                self.step *= 0.5;
            }
            let Some((trial, next)) = found else {
                break;
            };
            for (known, slopes) in self.known.iter_mut().zip(&slopes) {
                for (potential, slope) in known.potential.iter_mut().zip(slopes) {
                    *potential -= self.step * slope;
                }
            }
            let gained = point.loss - next.loss;
            (potentials, point) = (trial, next);
            idle = if gained < 1e-4 * point.loss { idle + 1 } else { 0 };
            if idle >= 5 {
                break;
            }
            self.step *= 1.5;
        }
        self.counts = point.cliques;
    }

    /// The logarithms of the factors, on the cliques.
    fn potentials(&self) -> Vec<Vec<f64>> {
        let own: Vec<Vec<f64>> = self.known.iter().map(|known| known.potential.clone()).collect();
        self.directions(&own)
    }

    /// Numbers for the cells of tables, spread over the cells of cliques: of tables within others first.
    fn directions(&self, own: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut cliques: Vec<Vec<f64>> = self
            .tree
            .cliques
            .iter()
            .map(|clique| vec![0.0; clique.cells()])
            .collect();
        let mut tables = own.to_vec();
        for (place, known) in self.known.iter().enumerate().rev() {
            let values = std::mem::take(&mut tables[place]);
            let into = match known.source {
                Source::Clique(clique) => &mut cliques[clique],
                Source::Table(other) => &mut tables[other],
            };
            for (sum, place) in into.iter_mut().zip(&known.places) {
                *sum += values[*place as usize];
            }
        }
        cliques
    }

    fn point(&self, potentials: &[Vec<f64>]) -> Point {
        let cliques = self.believed(potentials);
        let mut tables: Vec<Vec<f64>> = Vec::with_capacity(self.known.len());
        let mut loss = 0.0;
        for known in &self.known {
            let source = match known.source {
                Source::Clique(clique) => &cliques[clique],
                Source::Table(other) => &tables[other],
            };
            let table = summed(source, &known.places, known.counts.len());
            let squares: f64 = table
                .iter()
                .zip(&known.counts)
                .map(|(one, other)| (one - other) * (one - other))
                .sum();
            loss += 0.5 * known.precision * squares;
            tables.push(table);
        }
        Point {
            cliques,
            tables,
            loss,
        }
    }

    /// The derivative of the loss by the counts of each table.
    fn slopes(&self, point: &Point) -> Vec<Vec<f64>> {
        self.known
            .iter()
            .zip(&point.tables)
            .map(|(known, table)| {
                let pairs = table.iter().zip(&known.counts);
                pairs
                    .map(|(one, other)| known.precision * (one - other))
                    .collect()
            })
            .collect()
    }

    /// Belief propagation: the counts of every clique, for these factors.
    fn believed(&self, potentials: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let tree = &self.tree;
        let mut weights: Vec<Vec<f64>> = potentials.to_vec();
        let mut shared: Vec<Vec<f64>> = vec![Vec::new(); weights.len()];
        // From the leaves up: what each clique says of what it shares with its parent.
        for place in tree.order.iter().rev() {
            if let Some(possible) = self.possible.get(*place) {
                for (weight, possible) in weights[*place].iter_mut().zip(possible) {
                    // The exponential of it is 0, whatever its factors are.
                    *weight = if *possible { *weight } else { f64::NEG_INFINITY };
                }
            }
            let most = weights[*place].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for weight in &mut weights[*place] {
                *weight = exp(*weight - most);
            }
            let Some(link) = &tree.links[*place] else {
                continue;
            };
            let sums = summed(&weights[*place], &link.of_child, link.cells);
            let said: Vec<f64> = sums.iter().map(|sum| ln(sum.max(NOTHING)) + most).collect();
            for (weight, cell) in weights[link.parent].iter_mut().zip(&link.of_parent) {
                *weight += said[*cell as usize];
            }
            shared[*place] = sums;
        }
        // And down: the counts of what is shared, spread as the clique has them.
        for place in &tree.order {
            let Some(link) = &tree.links[*place] else {
                let sum: f64 = weights[*place].iter().sum();
                let each = self.total / sum.max(NOTHING);
                for weight in &mut weights[*place] {
                    *weight *= each;
                }
                continue;
            };
            let counts = summed(&weights[link.parent], &link.of_parent, link.cells);
            let factors: Vec<f64> = counts
                .iter()
                .zip(&shared[*place])
                .map(|(count, sum)| if *sum > NOTHING { count / sum } else { 0.0 })
                .collect();
            for (weight, cell) in weights[*place].iter_mut().zip(&link.of_child) {
                *weight *= factors[*cell as usize];
            }
        }
        weights
    }

    /// The expected counts of a table, if each of its parts that depend on each other lies in one clique.
    pub(crate) fn table(&self, attributes: &[usize]) -> Option<Vec<f64>> {
        let parts = self.parts();
        let mut pieces: Vec<Vec<usize>> = Vec::new();
        for attribute in attributes {
            match pieces
                .iter_mut()
                .find(|piece| parts[piece[0]] == parts[*attribute])
            {
                Some(piece) => piece.push(*attribute),
                None => pieces.push(vec![*attribute]),
            }
        }
        let shape = Shape::of(attributes, &self.sizes);
        let mut table = vec![self.total; shape.cells()];
        for piece in &pieces {
            let clique = self.tree.clique_with(piece)?;
            let cells = Shape::of(piece, &self.sizes).cells();
            let places = self.tree.cliques[clique].places_in(piece);
            let sums = summed(&self.counts[clique], &places, cells);
            for (value, place) in table.iter_mut().zip(shape.places_in(piece)) {
                *value *= sums[place as usize] / self.total;
            }
        }
        Some(table)
    }

    /// The loss of what it is now, for tests.
    #[cfg(test)]
    pub(crate) fn loss(&self) -> f64 {
        self.point(&self.potentials()).loss
    }
}

fn moved(values: &[f64], slopes: &[f64], step: f64) -> Vec<f64> {
    values
        .iter()
        .zip(slopes)
        .map(|(value, slope)| value - step * slope)
        .collect()
}

fn promised(slopes: &[f64], before: &[f64], after: &[f64]) -> f64 {
    slopes
        .iter()
        .zip(before.iter().zip(after))
        .map(|(slope, (before, after))| slope * (before - after))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u32; 4] = [2, 3, 2, 4];

    /// A joint table of all attributes, from factors on some of them.
    fn joint(seed: u64, sets: &[&[usize]]) -> (Shape, Vec<f64>) {
        let shape = Shape::of(&[0, 1, 2, 3], &SIZES);
        let mut random = noise::Seeded::new(seed);
        let mut values = vec![1.0; shape.cells()];
        for set in sets {
            let factors: Vec<f64> = (0..Shape::of(set, &SIZES).cells())
                .map(|_| 0.1 + random.unit())
                .collect();
            for (value, place) in values.iter_mut().zip(shape.places_in(set)) {
                *value *= factors[place as usize];
            }
        }
        let sum: f64 = values.iter().sum();
        values.iter_mut().for_each(|value| *value *= 1000.0 / sum);
        (shape, values)
    }

    fn fitted(seed: u64, sets: &[&[usize]]) -> (Model, Shape, Vec<f64>) {
        let (shape, values) = joint(seed, sets);
        let mut model = Model::new(&SIZES, &[]);
        for set in sets {
            model.add(&Measured {
                attributes: set.to_vec(),
                counts: summed(&values, &shape.places_in(set), Shape::of(set, &SIZES).cells()),
                variance: 4.0,
            });
        }
        model.rebuild();
        model.fit(2_000);
        (model, shape, values)
    }

    /// Measured without noise, a distribution that is a product of such factors comes back, also in tables that were not measured.
    #[test]
    fn products_are_found() {
        let all: [&[&[usize]]; 4] = [
            &[&[0], &[1], &[2], &[3]],
            &[&[0, 1], &[1, 2], &[3]],
            &[&[0, 1], &[1, 2], &[2, 3], &[2]],
            &[&[0, 1], &[1, 2], &[2, 3], &[0, 3], &[1]],
        ];
        for (seed, sets) in all.iter().enumerate() {
            let (model, shape, values) = fitted(seed as u64, sets);
            assert!((model.total() - 1000.0).abs() < 1e-6);
            for set in [&[0usize, 1][..], &[1, 2], &[0, 2], &[1, 3], &[0, 3]] {
                let Some(table) = model.table(set) else {
                    continue;
                };
                let right = summed(&values, &shape.places_in(set), table.len());
                for (one, other) in table.iter().zip(&right) {
                    assert!((one - other).abs() < 2.0, "{sets:?} {set:?}: {table:?} {right:?}");
                }
            }
            // Every clique has the same counts of what it shares.
            for clique in 0..model.counts.len() {
                assert!((model.counts[clique].iter().sum::<f64>() - 1000.0).abs() < 1e-6);
            }
        }
    }

    /// Belief propagation against the sum over all cells.
    #[test]
    fn beliefs_are_sums_over_all_cells() {
        let sets: [&[usize]; 3] = [&[0, 1], &[1, 2], &[2, 3]];
        let (mut model, shape, _) = fitted(9, &sets);
        let mut random = noise::Seeded::new(1);
        for known in &mut model.known {
            known
                .potential
                .iter_mut()
                .for_each(|value| *value = 20.0 * (random.unit() - 0.5));
        }
        model.counts = model.believed(&model.potentials());
        let mut weights = vec![1.0f64; shape.cells()];
        for known in &model.known {
            for (weight, place) in weights.iter_mut().zip(shape.places_in(&known.attributes)) {
                *weight *= known.potential[place as usize].exp();
            }
        }
        let sum: f64 = weights.iter().sum();
        for (clique, counts) in model.tree.cliques.iter().zip(&model.counts) {
            let right = summed(&weights, &shape.places_in(&clique.attributes), counts.len());
            for (one, other) in counts.iter().zip(&right) {
                assert!((one - other / sum * model.total).abs() < 1e-9 * model.total);
            }
        }
        assert!(model.table(&[0, 1, 3]).is_none() && model.table(&[0, 1]).is_some());
    }

    #[test]
    fn noise_is_averaged_and_more_steps_help() {
        let mut model = Model::new(&SIZES, &[]);
        let measured = |counts: [f64; 2], variance| Measured {
            attributes: vec![0],
            counts: counts.to_vec(),
            variance,
        };
        model.add(&measured([90.0, 30.0], 4.0));
        model.add(&measured([110.0, 10.0], 4.0));
        model.add(&Measured {
            attributes: vec![0, 2],
            counts: vec![60.0, 30.0, -5.0, 25.0],
            variance: 100.0,
        });
        model.rebuild();
        let before = model.loss();
        model.fit(500);
        assert!(model.loss() < before);
        let table = model.table(&[0]).unwrap();
        assert!(
            (table[0] - 100.0).abs() < 3.0 && (model.total() - 119.5).abs() < 1.0,
            "{table:?}"
        );
        assert!(model.table(&[0, 2]).unwrap().iter().all(|count| *count >= 0.0));
    }
}
