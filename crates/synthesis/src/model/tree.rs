//! Junction trees: cliques of attributes, in which everything that was measured has its place.

use super::shape::{Shape, within};

/// A set of attributes, a bit each.
type Mask = u128;

/// Attributes beyond this many do not fit in a mask.
pub(crate) const MOST_ATTRIBUTES: usize = 128;

/// Cliques such that each measured set lies in one, and the cliques with any attribute are connected through cliques that have it.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) cliques: Vec<Shape>,
    /// To its parent, for each clique; none for the root of a part.
    pub(crate) links: Vec<Option<Link>>,
    /// Cliques, parents before children.
    pub(crate) order: Vec<usize>,
}

/// What a clique shares with its parent.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) parent: usize,
    /// How many cells the shared attributes have together.
    pub(crate) cells: usize,
    /// The shared cell of each cell of the child.
    pub(crate) of_child: Vec<u32>,
    /// The shared cell of each cell of the parent.
    pub(crate) of_parent: Vec<u32>,
}

fn mask_of(attributes: &[usize]) -> Mask {
    attributes.iter().fold(0, |mask, place| mask | 1 << place)
}

fn attributes_of(mask: Mask) -> Vec<usize> {
    (0..MOST_ATTRIBUTES)
        .filter(|place| mask >> place & 1 == 1)
        .collect()
}

/// The number of cells by the attributes of a mask; as a float, since it may be huge.
fn size_of(mask: Mask, sizes: &[u32]) -> f64 {
    let mut rest = mask;
    let mut size = 1.0;
    while rest != 0 {
        size *= f64::from(sizes[rest.trailing_zeros() as usize]);
        rest &= rest - 1;
    }
    size
}

/// How attributes are eliminated one by one.
#[derive(Clone, Copy)]
enum Next {
    /// The one whose clique is smallest.
    Smallest,
    /// The one that joins the fewest attributes that were apart.
    FewestJoined,
}

/// The cliques of one elimination, those within others left out.
fn eliminated(sets: &[Mask], sizes: &[u32], next: Next) -> Vec<Mask> {
    let count = sizes.len();
    let mut neighbors: Vec<Mask> = (0..count).map(|place| 1 << place).collect();
    for set in sets {
        let mut rest = *set;
        while rest != 0 {
            neighbors[rest.trailing_zeros() as usize] |= set;
            rest &= rest - 1;
        }
    }
    let mut left: Vec<usize> = (0..count).collect();
    let mut cliques: Vec<Mask> = Vec::new();
    while !left.is_empty() {
        let cost = |place: &usize| match next {
            Next::Smallest => size_of(neighbors[*place], sizes),
            Next::FewestJoined => {
                let around = neighbors[*place];
                let joined: u32 = attributes_of(around)
                    .iter()
                    .map(|other| (around & !neighbors[*other]).count_ones())
                    .sum();
                f64::from(joined) * 1e6 + size_of(around, sizes).min(1e11) * 1e-6
            }
        };
        let (at, place) = left
            .iter()
            .enumerate()
            .min_by(|(_, one), (_, other)| cost(one).total_cmp(&cost(other)))
            .map(|(at, place)| (at, *place))
            .expect("some are left");
        left.remove(at);
        let clique = neighbors[place];
        if !cliques.iter().any(|other| clique & !other == 0) {
            cliques.push(clique);
        }
        for other in &left {
            if clique >> other & 1 == 1 {
                neighbors[*other] = (neighbors[*other] | clique) & !(1 << place);
            }
        }
    }
    cliques
}

/// The cliques of a small tree for these sets.
fn cliques(sets: &[Mask], sizes: &[u32]) -> Vec<Mask> {
    let total = |cliques: &Vec<Mask>| cliques.iter().map(|clique| size_of(*clique, sizes)).sum::<f64>();
    let one = eliminated(sets, sizes, Next::Smallest);
    let other = eliminated(sets, sizes, Next::FewestJoined);
    if total(&other) < total(&one) { other } else { one }
}

/// How many cells a tree for these sets has, all cliques together.
pub(crate) fn size(sets: &[Vec<usize>], sizes: &[u32]) -> f64 {
    let masks: Vec<Mask> = sets.iter().map(|set| mask_of(set)).collect();
    cliques(&masks, sizes)
        .iter()
        .map(|clique| size_of(*clique, sizes))
        .sum()
}

impl Tree {
    /// Of these sets, over attributes of these sizes.
    pub(crate) fn new(sets: &[Vec<usize>], sizes: &[u32]) -> Self {
        let masks: Vec<Mask> = sets.iter().map(|set| mask_of(set)).collect();
        let masks = cliques(&masks, sizes);
        let cliques: Vec<Shape> = masks
            .iter()
            .map(|mask| Shape::of(&attributes_of(*mask), sizes))
            .collect();
        // A spanning tree that shares as many attributes as can be (Prim); where nothing is shared, another part begins.
        let mut links: Vec<Option<Link>> = vec![None; cliques.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut placed = vec![false; cliques.len()];
        while order.len() < cliques.len() {
            let mut best: Option<(u32, usize, usize)> = None;
            for child in (0..cliques.len()).filter(|child| !placed[*child]) {
                for parent in &order {
                    let shared = (masks[child] & masks[*parent]).count_ones();
                    if shared > best.map_or(0, |(shared, _, _)| shared) {
                        best = Some((shared, child, *parent));
                    }
                }
            }
            let Some((_, child, parent)) = best else {
                let root = placed.iter().position(|placed| !placed).expect("one is left");
                placed[root] = true;
                order.push(root);
                continue;
            };
            let shared = attributes_of(masks[child] & masks[parent]);
            links[child] = Some(Link {
                parent,
                cells: Shape::of(&shared, sizes).cells(),
                of_child: cliques[child].places_in(&shared),
                of_parent: cliques[parent].places_in(&shared),
            });
            placed[child] = true;
            order.push(child);
        }
        Self {
            cliques,
            links,
            order,
        }
    }

    /// The smallest clique that has all of these.
    pub(crate) fn clique_with(&self, attributes: &[usize]) -> Option<usize> {
        (0..self.cliques.len())
            .filter(|place| within(attributes, &self.cliques[*place].attributes))
            .min_by_key(|place| self.cliques[*place].cells())
    }

    /// The part of the forest that each attribute is in, by the number of its root.
    pub(crate) fn parts(&self, attributes: usize) -> Vec<usize> {
        let mut roots = vec![0; self.cliques.len()];
        let mut parts = vec![0; attributes];
        for clique in &self.order {
            roots[*clique] = match &self.links[*clique] {
                Some(link) => roots[link.parent],
                None => *clique,
            };
            for attribute in &self.cliques[*clique].attributes {
                parts[*attribute] = roots[*clique];
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever was measured: each set is in a clique, and the cliques with an attribute hang together.
    #[test]
    fn trees_are_junction_trees() {
        let sizes = [2, 3, 4, 2, 5, 2, 3];
        let mut random = noise::Seeded::new(4);
        for _ in 0..300 {
            let sets: Vec<Vec<usize>> = (0..random.index(9))
                .map(|_| (0..sizes.len()).filter(|_| random.chance(0.3)).collect())
                .collect();
            let tree = Tree::new(&sets, &sizes);
            assert!(sets.iter().all(|set| tree.clique_with(set).is_some()));
            assert_eq!(tree.order.len(), tree.cliques.len());
            for attribute in 0..sizes.len() {
                // Of the cliques that have it, one alone has no parent with it.
                let has = |clique: usize| tree.cliques[clique].attributes.contains(&attribute);
                let tops = (0..tree.cliques.len())
                    .filter(|clique| has(*clique))
                    .filter(|clique| !tree.links[*clique].as_ref().is_some_and(|link| has(link.parent)));
                assert_eq!(tops.count(), 1, "{sets:?}");
            }
            let cells: usize = tree.cliques.iter().map(Shape::cells).sum();
            assert!((size(&sets, &sizes) - cells as f64).abs() < 0.5);
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let tree = Tree::new(&[vec![0, 1], vec![1, 2], vec![3, 4]], &[2; 6]);
        let parts = tree.parts(6);
        assert!(parts[0] == parts[1] && parts[1] == parts[2] && parts[3] == parts[4]);
        assert!(parts[0] != parts[3] && parts[5] != parts[0] && parts[5] != parts[3]);
    }
}
