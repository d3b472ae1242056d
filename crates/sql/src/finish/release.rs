//! From exact statistics to released ones: the only place where measured numbers meet noise.

use crate::Error;
use crate::price::{Noise, Price, grid};
use crate::run::measured::Measured;
use crate::understand::aggregation::{Aggregation, Measure, Selection, TREE_BRANCHES, TREE_LEAVES};
use crate::values::facts::Value;
use crate::values::group_name::{decode, encode};
use mechanism::{Account, Ledger, Ticket};
use noise::Grid;
use std::collections::HashMap;
use verify::Verified;

/// Nodes of a tree, level by level, the root left out: 16, 256, 4096.
pub(crate) const TREE_NODES: usize = 16 + 256 + 4096;

/// More numbers than this are not drawn for one statistic: 2 GiB of them.
const MOST_NUMBERS: usize = 1 << 28;

/// Released statistics: public.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    /// The groups that appear, in the order of their names as declared, or as bytes.
    pub(crate) groups: Vec<Vec<Value>>,
    /// For each statistic, its number in each group, in steps; for a tree or a histogram, all nodes of each group.
    pub(crate) numbers: Vec<Vec<i64>>,
}

/// Draws what was reserved: one ticket for each statistic. `first` is the place of the first among all that the question draws.
pub(crate) fn release<L: Ledger>(
    aggregation: &Aggregation,
    price: &Price,
    mut measured: Measured,
    account: &mut Account<L>,
    tickets: Vec<Ticket>,
    (verified, first): (&Verified, usize),
) -> Result<Released, Error> {
    let statistics = &aggregation.statistics;
    let mut tickets: Vec<Option<Ticket>> = tickets.into_iter().map(Some).collect();
    let mut ticket = |place: usize| {
        let ticket = tickets.get_mut(place).and_then(Option::take);
        ticket.ok_or(mechanism::Error::NotReserved)
    };
    let mut numbers: Vec<Vec<i64>> = vec![Vec::new(); statistics.len()];
    let places: HashMap<Vec<u8>, usize> = std::mem::take(&mut measured.groups);
    let units = statistics.iter().position(|statistic| {
        aggregation.groups.selection == Selection::Threshold && statistic.measure == Measure::Units
    });
    // Which groups appear: public knowledge, or a release of its own.
    let names: Vec<Vec<u8>> = match (&aggregation.groups.selection, units) {
        (Selection::Listed(groups), _) => groups.iter().map(|values| encode(values)).collect(),
        (Selection::Threshold, Some(place)) => {
            let counts: Vec<(Vec<u8>, i64)> = places
                .iter()
                .map(|(name, group)| (name.clone(), measured.numbers[place][*group]))
                .collect();
            let input = verified.aggregate(first + place, counts, Grid::new(0))?;
            let kept: Vec<(Vec<u8>, i64)> = match &price.noise[place] {
                Noise::LaplaceThreshold(mechanism) => {
                    account.draw(ticket(place)?, mechanism, input)?.into_value()
                }
                Noise::GaussianThreshold(mechanism) => {
                    account.draw(ticket(place)?, mechanism, input)?.into_value()
                }
                _ => return Err(mechanism::Error::NotReserved.into()),
            };
            // A query may ask for larger groups than privacy does; the counts are public now.
            let least = aggregation.options.min_privacy_units_per_group.unwrap_or(0);
            let (names, counts) = kept
                .into_iter()
                .filter(|(_, count)| u64::try_from(*count).is_ok_and(|count| count >= least))
                .unzip();
            numbers[place] = counts;
            names
        }
        (Selection::Threshold, None) => return Err(mechanism::Error::NotReserved.into()),
    };
    for (place, statistic) in statistics.iter().enumerate() {
        if Some(place) == units {
            continue;
        }
        // How many numbers a group has.
        let nodes = match statistic.measure {
            Measure::Tree { .. } => Some(TREE_NODES),
            Measure::Histogram { bins, .. } => Some(bins),
            _ => None,
        };
        let each = names.len().saturating_mul(nodes.unwrap_or(1));
        if nodes.is_some() && each > MOST_NUMBERS {
            return Err(Error::refused(
                "quantiles or modes of this many groups would take too much memory",
                "group by fewer values, or filter",
            ));
        }
        let exact: Vec<i64> = if let Some(width) = nodes {
            let mut nodes = vec![0i64; each];
            let shown: HashMap<usize, usize> = names
                .iter()
                .enumerate()
                .filter_map(|(at, name)| places.get(name).map(|group| (*group, at)))
                .collect();
            for ((group, bin), rows) in &measured.bins[place] {
                if let Some(at) = shown.get(group) {
                    let of_group = &mut nodes[at * width..(at + 1) * width];
                    match statistic.measure {
                        Measure::Tree { .. } => add_to_tree(of_group, *bin, *rows),
                        _ => add_to_bin(of_group, *bin, *rows),
                    }
                }
            }
            nodes
        } else {
            let value = |name: &Vec<u8>| {
                places
                    .get(name)
                    .map_or(0, |group| measured.numbers[place][*group])
            };
            names.iter().map(value).collect()
        };
        let input = verified.aggregate(first + place, exact, grid(statistic))?;
        numbers[place] = match &price.noise[place] {
            Noise::Laplace(mechanism) => account.draw(ticket(place)?, mechanism, input)?.into_value(),
            Noise::Gaussian(mechanism) => account.draw(ticket(place)?, mechanism, input)?.into_value(),
            _ => return Err(mechanism::Error::NotReserved.into()),
        };
    }
    Ok(Released {
        groups: names.iter().map(|name| decode(name)).collect(),
        numbers,
    })
}

/// Adds rows to a bin. There are no others: the bin is a place in a list.
fn add_to_bin(bins: &mut [i64], bin: i64, rows: i64) {
    if let Some(count) = usize::try_from(bin).ok().and_then(|bin| bins.get_mut(bin)) {
        *count = count.wrapping_add(rows);
    }
}

/// Adds rows of a leaf to it and to the nodes above it.
fn add_to_tree(nodes: &mut [i64], bin: i64, rows: i64) {
    let leaf = bin.clamp(0, TREE_LEAVES - 1);
    let mut offset = 0;
    let mut width = TREE_LEAVES / TREE_BRANCHES;
    while width >= 1 {
        let node = (leaf / width) as usize;
        nodes[offset + node] = nodes[offset + node].wrapping_add(rows);
        offset += (TREE_LEAVES / width) as usize;
        width /= TREE_BRANCHES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_one_node_of_each_level() {
        let mut nodes = vec![0; TREE_NODES];
        add_to_tree(&mut nodes, 0, 1);
        add_to_tree(&mut nodes, 4095, 2);
        add_to_tree(&mut nodes, 257, 4);
        assert_eq!((nodes[0], nodes[1], nodes[15]), (1, 4, 2));
        assert_eq!((nodes[16], nodes[16 + 16], nodes[16 + 255]), (1, 4, 2));
        assert_eq!((nodes[272], nodes[272 + 257], nodes[272 + 4095]), (1, 4, 2));
        assert_eq!(
            nodes.iter().sum::<i64>(),
            3 * 7,
            "three levels, each row once in each"
        );
    }
}
