//! Which values rows may have. Declared, never read from data.

use crate::Error;
use serde::{Deserialize, Serialize};

/// The attributes of the rows, in an order that everything else refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    attributes: Vec<Attribute>,
}

/// One attribute: its values, as codes 0, 1, 2, …, and coarser levels of them.
///
/// A missing value or "other" is a value like any other: give it a code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    name: String,
    ordered: bool,
    levels: Vec<Level>,
}

/// The values of an attribute at one level. Level 0 is the finest, and each value has one parent in the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    name: String,
    size: u32,
    labels: Option<Vec<String>>,
    /// For each value of the level below, its parent here; empty at level 0.
    parents: Vec<u32>,
}

impl Domain {
    /// Of these attributes.
    ///
    /// # Errors
    /// When two have the same name, or there are more than 65,535.
    pub fn new(attributes: Vec<Attribute>) -> Result<Self, Error> {
        if attributes.len() > usize::from(u16::MAX) {
            return Err(Error::TooManyAttributes {
                count: attributes.len(),
            });
        }
        for (place, attribute) in attributes.iter().enumerate() {
            if attributes[..place]
                .iter()
                .any(|other| other.name == attribute.name)
            {
                return Err(Error::NameTwice {
                    name: attribute.name.clone(),
                });
            }
        }
        Ok(Self { attributes })
    }

    /// The attributes, in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The place of the attribute of this name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.attributes
            .iter()
            .position(|attribute| attribute.name == name)
    }
}

impl Attribute {
    /// An attribute with this many values, without an order.
    ///
    /// # Errors
    /// When it has no values.
    pub fn new(name: impl Into<String>, size: u32) -> Result<Self, Error> {
        let name = name.into();
        if size == 0 {
            return Err(Error::NoValues { name });
        }
        let values = Level {
            name: name.clone(),
            size,
            labels: None,
            parents: Vec::new(),
        };
        Ok(Self {
            name,
            ordered: false,
            levels: vec![values],
        })
    }

    /// An attribute with these values, in the order of their codes.
    ///
    /// # Errors
    /// When there are none, or one stands there twice.
    pub fn with_labels(name: impl Into<String>, labels: Vec<String>) -> Result<Self, Error> {
        let size = u32::try_from(labels.len()).unwrap_or(u32::MAX);
        let mut attribute = Self::new(name, size)?;
        check_labels(&attribute.name, &labels)?;
        attribute.levels[0].labels = Some(labels);
        Ok(attribute)
    }

    /// The same with values whose order means something, so that ranges of them can be asked for.
    #[must_use]
    pub fn ordered(self) -> Self {
        Self {
            ordered: true,
            ..self
        }
    }

    /// The same with a coarser level on top: the parent of each value of what is the coarsest level until now.
    ///
    /// # Errors
    /// When not every value has a parent, a parent is out of range, or a parent has no child.
    pub fn with_level(
        mut self,
        name: impl Into<String>,
        size: u32,
        parents: Vec<u32>,
        labels: Option<Vec<String>>,
    ) -> Result<Self, Error> {
        let name = name.into();
        let below = self.levels.last().expect("an attribute has values").size;
        if parents.len() != below as usize {
            return Err(Error::ParentsMissing {
                level: name,
                given: parents.len(),
                values: below,
            });
        }
        let mut seen = vec![false; size as usize];
        for parent in &parents {
            match seen.get_mut(*parent as usize) {
                Some(seen) => *seen = true,
                None => return Err(Error::ParentOutOfRange { level: name, size }),
            }
        }
        if seen.contains(&false) {
            return Err(Error::Childless { level: name });
        }
        if let Some(labels) = &labels {
            if labels.len() != size as usize {
                return Err(Error::LabelsMissing {
                    level: name,
                    given: labels.len(),
                    values: size,
                });
            }
            check_labels(&name, labels)?;
        }
        self.levels.push(Level {
            name,
            size,
            labels,
            parents,
        });
        Ok(self)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the order of its values means something.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// How many values it has at the finest level.
    pub fn size(&self) -> u32 {
        self.levels[0].size
    }

    /// Its levels, from the finest, which is level 0.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// For each value of the finest level, its code at this one.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn codes_at(&self, level: usize) -> Vec<u32> {
        let mut codes: Vec<u32> = (0..self.size()).collect();
        for coarser in &self.levels[1..=level] {
            for code in &mut codes {
                *code = coarser.parents[*code as usize];
            }
        }
        codes
    }
}

impl Level {
    /// Its name: that of the attribute at level 0.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many values it has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// What its values are called, where that was said.
    pub fn labels(&self) -> Option<&[String]> {
        self.labels.as_deref()
    }

    /// For each value of the level below, its parent at this level; empty at level 0.
    pub fn parents(&self) -> &[u32] {
        &self.parents
    }
}

fn check_labels(name: &str, labels: &[String]) -> Result<(), Error> {
    let mut sorted: Vec<&String> = labels.iter().collect();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::LabelTwice {
            name: name.to_owned(),
            label: pair[0].clone(),
        }),
        None => Ok(()),
    }
}
