//! Rows that cannot be, as the catalog declares them: structural zeros.
//!
//! A rule follows from the catalog and never from data, so it costs nothing. What is measured and the noise on it do not depend on rules: they decide what the model may say of it. In every model each rule lies in one
//! clique, whose cells that it names have probability 0, and so have all cells that no possible row has.

use crate::Error;
use crate::model::tree::{self, Tree};
use serde::{Deserialize, Serialize};

/// Rows that cannot be: those whose codes are among these, for each attribute that is named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impossible {
    /// By place, in ascending order; at least one.
    pub parts: Vec<CodesOf>,
}

/// Some codes of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodesOf {
    /// The place of the attribute.
    pub attribute: usize,
    /// The codes, in ascending order.
    pub codes: Vec<u32>,
}

impl Impossible {
    /// The attributes that it names.
    pub fn attributes(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.attribute).collect()
    }

    /// Whether this row, a code for each attribute, cannot be.
    pub fn forbids(&self, row: &[u32]) -> bool {
        self.parts.iter().all(|part| {
            row.get(part.attribute)
                .is_some_and(|code| part.codes.contains(code))
        })
    }

    /// Whether it is of attributes with so many values.
    fn is_of(&self, sizes: &[u32]) -> bool {
        !self.parts.is_empty()
            && self
                .parts
                .windows(2)
                .all(|pair| pair[0].attribute < pair[1].attribute)
            && self.parts.iter().all(|part| {
                let size = sizes.get(part.attribute);
                part.codes.windows(2).all(|pair| pair[0] < pair[1])
                    && part
                        .codes
                        .last()
                        .zip(size)
                        .is_some_and(|(last, size)| last < size)
            })
    }

    /// For each cell of a table by its attributes, whether it is one of those that cannot be.
    fn cells(&self, sizes: &[u32]) -> Vec<bool> {
        let mut cells = vec![true];
        for part in &self.parts {
            let mut longer = Vec::with_capacity(cells.len() * sizes[part.attribute] as usize);
            for cell in &cells {
                longer.extend((0..sizes[part.attribute]).map(|code| *cell && part.codes.contains(&code)));
            }
            cells = longer;
        }
        cells
    }
}

/// The sets of attributes that rules hold together.
pub(crate) fn sets(rules: &[Impossible]) -> impl Iterator<Item = Vec<usize>> {
    rules.iter().map(Impossible::attributes)
}

/// That rules are of these attributes, leave some row, and fit into a model of so many cells.
pub(crate) fn check(rules: &[Impossible], sizes: &[u32], most: u64) -> Result<(), Error> {
    if rules.is_empty() {
        return Ok(());
    }
    if !rules.iter().all(|rule| rule.is_of(sizes)) {
        return Err(Error::NoSuchRule);
    }
    let sets: Vec<Vec<usize>> = sets(rules).collect();
    let cells = tree::size(&sets, sizes);
    if cells > most as f64 {
        // The rule that needs the most by itself says what to make smaller.
        let widest = sets.iter().max_by(|one, other| {
            let cells = |set: &[usize]| tree::size(std::slice::from_ref(&set.to_vec()), sizes);
            cells(one).total_cmp(&cells(other))
        });
        return Err(Error::RulesTooLarge {
            cells,
            most,
            widest: widest.cloned().unwrap_or_default(),
        });
    }
    let tree = Tree::new(&sets, sizes);
    let possible = possible(&tree, rules, sizes);
    match possible.iter().all(|cells| cells.contains(&true)) {
        true => Ok(()),
        false => Err(Error::NoRowIsPossible),
    }
}

/// For each clique, which of its cells some possible row has. Each rule lies in a clique.
///
/// A cell stays if no rule in its clique names it, and if each neighbouring clique has a cell that stays and agrees with it. One pass up and one down find these: in a tree of which the cliques with an attribute are connected, a
/// choice for one clique that agrees with some choice of each neighbour extends to all of them. So from a cell that stays, a row can be completed clique by clique without ever meeting a rule.
pub(crate) fn possible(tree: &Tree, rules: &[Impossible], sizes: &[u32]) -> Vec<Vec<bool>> {
    let mut possible: Vec<Vec<bool>> = tree
        .cliques
        .iter()
        .map(|clique| vec![true; clique.cells()])
        .collect();
    for rule in rules {
        let attributes = rule.attributes();
        let clique = tree.clique_with(&attributes).expect("a tree of all rules");
        let impossible = rule.cells(sizes);
        let places = tree.cliques[clique].places_in(&attributes);
        for (cell, place) in possible[clique].iter_mut().zip(places) {
            *cell &= !impossible[place as usize];
        }
    }
    for place in tree.order.iter().rev() {
        if let Some(link) = &tree.links[*place] {
            let some = some_of(&possible[*place], &link.of_child, link.cells);
            keep(&mut possible[link.parent], &link.of_parent, &some);
        }
    }
    for place in &tree.order {
        if let Some(link) = &tree.links[*place] {
            let some = some_of(&possible[link.parent], &link.of_parent, link.cells);
            keep(&mut possible[*place], &link.of_child, &some);
        }
    }
    possible
}

/// Whether any cell with each shared value stays.
fn some_of(cells: &[bool], places: &[u32], shared: usize) -> Vec<bool> {
    let mut some = vec![false; shared];
    for (cell, place) in cells.iter().zip(places) {
        some[*place as usize] |= cell;
    }
    some
}

fn keep(cells: &mut [bool], places: &[u32], some: &[bool]) {
    for (cell, place) in cells.iter_mut().zip(places) {
        *cell &= some[*place as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shape::{Shape, summed};

    /// Rules on up to three of five attributes.
    fn rules(random: &mut noise::Seeded, sizes: &[u32]) -> Vec<Impossible> {
        (0..random.index(5))
            .map(|_| {
                let mut attributes: Vec<usize> = (0..1 + random.index(3)).map(|_| random.index(5)).collect();
                attributes.sort_unstable();
                attributes.dedup();
                let parts = attributes.into_iter().map(|attribute| {
                    let mut codes: Vec<u32> = (0..sizes[attribute]).filter(|_| random.chance(0.5)).collect();
                    if codes.is_empty() {
                        codes.push(0);
                    }
                    CodesOf { attribute, codes }
                });
                Impossible {
                    parts: parts.collect(),
                }
            })
            .collect()
    }

    /// By brute force over all rows: a cell of a clique stays exactly if some possible row has it.
    #[test]
    fn cells_that_stay_are_those_of_possible_rows() {
        let sizes = [2u32, 3, 2, 4, 3];
        let all = Shape::of(&[0, 1, 2, 3, 4], &sizes);
        let mut random = noise::Seeded::new(6);
        let mut refused = 0;
        for _ in 0..400 {
            let rules = rules(&mut random, &sizes);
            let others = (0..random.index(4)).map(|_| (0..5).filter(|_| random.chance(0.4)).collect());
            let mut wanted: Vec<Vec<usize>> = others.collect();
            wanted.extend(sets(&rules));
            let tree = Tree::new(&wanted, &sizes);
            let rows: Vec<f64> = (0..all.cells())
                .map(|cell| {
                    let mut rest = cell as u32;
                    let mut row = [0; 5];
                    for place in (0..5).rev() {
                        row[place] = rest % sizes[place];
                        rest /= sizes[place];
                    }
                    f64::from(u8::from(!rules.iter().any(|rule| rule.forbids(&row))))
                })
                .collect();
            let none = rows.iter().all(|row| *row == 0.0);
            let checked = check(&rules, &sizes, 1_000);
            assert_eq!(checked == Err(Error::NoRowIsPossible), none, "{rules:?}");
            refused += usize::from(none);
            if none {
                continue;
            }
            let possible = possible(&tree, &rules, &sizes);
            for (clique, possible) in tree.cliques.iter().zip(&possible) {
                let right = summed(&rows, &all.places_in(&clique.attributes), possible.len());
                for (one, other) in possible.iter().zip(&right) {
                    assert_eq!(*one, *other > 0.0, "{rules:?} {clique:?}");
                }
            }
        }
        assert!(refused > 0 && refused < 100, "{refused}");
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        let rule = |parts: &[(usize, &[u32])]| Impossible {
            parts: parts
                .iter()
                .map(|(attribute, codes)| CodesOf {
                    attribute: *attribute,
                    codes: codes.to_vec(),
                })
                .collect(),
        };
        let refused = |rule: Impossible| check(&[rule], &[2, 3], 100) == Err(Error::NoSuchRule);
        assert!(refused(rule(&[])) && refused(rule(&[(2, &[0])])) && refused(rule(&[(0, &[2])])));
        assert!(refused(rule(&[(0, &[])])) && refused(rule(&[(1, &[0]), (0, &[1])])));
        assert!(refused(rule(&[(1, &[1, 0])])));
        let good = rule(&[(0, &[1]), (1, &[0, 2])]);
        assert!(check(std::slice::from_ref(&good), &[2, 3], 100).is_ok());
        assert_eq!(
            check(&[good], &[2, 3], 5),
            Err(Error::RulesTooLarge {
                cells: 6.0,
                most: 5,
                widest: vec![0, 1]
            })
        );
    }
}
