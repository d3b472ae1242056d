//! A hierarchy: each node has one parent, and all nodes of a level are as deep.

use crate::{Attribute, Error};

/// A root, its children, theirs, and so on: a country, its regions, their districts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// For each level but the last, for each of its nodes: its children, as places in the next level.
    children: Vec<Vec<Vec<u32>>>,
    sizes: Vec<usize>,
}

impl Tree {
    /// From the parent of each node of each level below the root, given as its place in the level above.
    ///
    /// # Errors
    /// When a level is empty, a parent does not exist, or a node above the last level has no child.
    pub fn new(parents: &[Vec<u32>]) -> Result<Self, Error> {
        let mut sizes = vec![1usize];
        let mut children = Vec::new();
        for (place, parents) in parents.iter().enumerate() {
            let above = sizes[place];
            let mut of: Vec<Vec<u32>> = vec![Vec::new(); above];
            for (node, parent) in (0u32..).zip(parents) {
                match of.get_mut(*parent as usize) {
                    Some(list) => list.push(node),
                    None => return Err(Error::NoSuchParent { level: place + 1 }),
                }
            }
            if of.iter().any(Vec::is_empty) {
                return Err(Error::NoChildren { level: place });
            }
            sizes.push(parents.len());
            children.push(of);
        }
        Ok(Self { children, sizes })
    }

    /// The hierarchy of an attribute's levels, from the coarsest to the finest, under one root.
    ///
    /// # Errors
    /// As [`Tree::new`].
    pub fn of(attribute: &Attribute) -> Result<Self, Error> {
        let levels = attribute.levels();
        let coarsest = levels.last().map_or(0, |level| level.size());
        let mut parents = vec![vec![0; coarsest as usize]];
        parents.extend(
            levels
                .iter()
                .rev()
                .map(|level| level.parents().to_vec())
                .filter(|list| !list.is_empty()),
        );
        Self::new(&parents)
    }

    /// How many levels there are, with the root's, which is 0.
    pub fn levels(&self) -> usize {
        self.sizes.len()
    }

    /// How many nodes a level has.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn size(&self, level: usize) -> usize {
        self.sizes[level]
    }

    /// The children of a node, as places in the next level; none on the last level.
    ///
    /// # Panics
    /// When there is no such node.
    pub fn children(&self, level: usize, node: usize) -> &[u32] {
        assert!(node < self.sizes[level], "no such node");
        self.children.get(level).map_or(&[], |nodes| &nodes[node])
    }
}
