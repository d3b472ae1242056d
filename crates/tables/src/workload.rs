//! Which tables are wanted.

use crate::{Domain, Error};
use serde::{Deserialize, Serialize};

/// The tables that are wanted, and what is to be small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    wanted: Vec<Wanted>,
    objective: Objective,
}

/// One table that is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wanted {
    /// Its shape.
    pub shape: Shape,
    /// How much its variance counts, next to that of the others.
    pub weight: f64,
}

/// What is to be small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The sum of the variances of all cells of all tables, each table times its weight.
    #[default]
    Sum,
    /// The largest variance of any cell of any table, each table times its weight.
    Worst,
}

/// How tables are weighted when a constructor makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Every cell counts the same, so large tables count more.
    #[default]
    Cells,
    /// Every table counts the same: one over the number of its cells.
    Tables,
}

/// The shape of a table: its attributes, each at a level and in a form. Without any it is the total.
///
/// Axes are sorted by attribute, and each attribute stands there once. Cells are in row-major order, the last axis fastest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape {
    axes: Vec<Axis>,
}

/// One attribute of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Axis {
    /// The place of the attribute in the domain.
    pub attribute: u16,
    /// At which level; 0 is the finest.
    pub level: u16,
    /// What is asked about its values.
    pub form: Form,
}

/// What is asked about the values of an attribute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// One number a value.
    #[default]
    Cells,
    /// One number a value: how many rows have this value or one before it. For ordered attributes, at level 0.
    Prefixes,
    /// One number for each range from a value to a later one, by first value and then last. For ordered attributes, at level 0.
    Ranges,
}

impl Axis {
    /// The values of an attribute at the finest level.
    pub fn of(attribute: usize) -> Self {
        Self::at(attribute, 0)
    }

    /// The values of an attribute at a level.
    ///
    /// # Panics
    /// If either is above 65,535.
    pub fn at(attribute: usize, level: usize) -> Self {
        Self {
            attribute: u16::try_from(attribute).expect("a domain has at most 65,535 attributes"),
            level: u16::try_from(level).expect("an attribute has at most 65,535 levels"),
            form: Form::Cells,
        }
    }

    /// The same in another form.
    #[must_use]
    pub fn in_form(self, form: Form) -> Self {
        Self { form, ..self }
    }
}

impl Shape {
    /// The total: a table of one cell.
    pub fn total() -> Self {
        Self::default()
    }

    /// Of these axes, in any order.
    ///
    /// # Errors
    /// When an attribute stands there twice.
    pub fn new(mut axes: Vec<Axis>) -> Result<Self, Error> {
        axes.sort();
        if axes.windows(2).any(|pair| pair[0].attribute == pair[1].attribute) {
            return Err(Error::AttributeTwice);
        }
        Ok(Self { axes })
    }

    /// Of these attributes, each at its finest level.
    ///
    /// # Errors
    /// When an attribute stands there twice.
    pub fn of(attributes: &[usize]) -> Result<Self, Error> {
        Self::new(attributes.iter().map(|attribute| Axis::of(*attribute)).collect())
    }

    /// Its axes, by attribute.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// How many numbers each axis has.
    pub fn sizes(&self, domain: &Domain) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.size(domain)).collect()
    }

    /// How many numbers the table has; saturates.
    pub fn cells(&self, domain: &Domain) -> u64 {
        self.sizes(domain)
            .iter()
            .fold(1u64, |product, size| product.saturating_mul(*size as u64))
    }

    /// Refuses what the domain does not have.
    ///
    /// # Errors
    /// When an attribute or a level does not exist, or prefixes or ranges are asked of values without an order.
    pub fn check(&self, domain: &Domain) -> Result<(), Error> {
        for axis in &self.axes {
            let Some(attribute) = domain.attributes().get(usize::from(axis.attribute)) else {
                return Err(Error::NoAttribute {
                    place: axis.attribute.into(),
                });
            };
            if usize::from(axis.level) >= attribute.levels().len() {
                return Err(Error::NoLevel {
                    name: attribute.name().to_owned(),
                    level: axis.level.into(),
                });
            }
            if axis.form != Form::Cells && (!attribute.is_ordered() || axis.level != 0) {
                return Err(Error::NotOrdered {
                    name: attribute.name().to_owned(),
                });
            }
        }
        Ok(())
    }
}

impl Axis {
    /// How many numbers it has.
    pub fn size(&self, domain: &Domain) -> usize {
        let level = &domain.attributes()[usize::from(self.attribute)].levels()[usize::from(self.level)];
        let size = level.size() as usize;
        match self.form {
            Form::Cells | Form::Prefixes => size,
            Form::Ranges => size * (size + 1) / 2,
        }
    }
}

impl Workload {
    /// These tables, each with its weight.
    ///
    /// # Errors
    /// When there are none, or a weight is not a positive number.
    pub fn new(wanted: Vec<Wanted>) -> Result<Self, Error> {
        if wanted.is_empty() {
            return Err(Error::NothingWanted);
        }
        if wanted
            .iter()
            .any(|table| !(table.weight > 0.0 && table.weight.is_finite()))
        {
            return Err(Error::BadWeight);
        }
        Ok(Self {
            wanted,
            objective: Objective::Sum,
        })
    }

    /// These tables, weighted alike.
    ///
    /// # Errors
    /// As [`Workload::new`].
    pub fn listed(shapes: Vec<Shape>, domain: &Domain, weights: Weights) -> Result<Self, Error> {
        let weigh = |shape: &Shape| match weights {
            Weights::Cells => 1.0,
            Weights::Tables => 1.0 / shape.cells(domain) as f64,
        };
        for shape in &shapes {
            shape.check(domain)?;
        }
        Self::new(
            shapes
                .into_iter()
                .map(|shape| Wanted {
                    weight: weigh(&shape),
                    shape,
                })
                .collect(),
        )
    }

    /// All tables of at least `least` and at most `most` attributes, at their finest levels, in the form given for each attribute.
    ///
    /// # Errors
    /// As [`Workload::listed`].
    pub fn all_ways(
        domain: &Domain,
        least: usize,
        most: usize,
        forms: &[Form],
        weights: Weights,
    ) -> Result<Self, Error> {
        let count = domain.attributes().len();
        let axes: Vec<Axis> = (0..count)
            .map(|place| Axis::of(place).in_form(forms.get(place).copied().unwrap_or_default()))
            .collect();
        let mut shapes = Vec::new();
        for ways in least..=most.min(count) {
            choose(&axes, ways, &mut Vec::new(), &mut shapes);
        }
        Self::listed(shapes, domain, weights)
    }

    /// Each level of one attribute, and the total over it, crossed with each of these shapes of others: as statistical offices publish by region.
    ///
    /// # Errors
    /// As [`Workload::listed`], or when a shape has the attribute already.
    pub fn by_levels_of(
        domain: &Domain,
        attribute: usize,
        others: &[Shape],
        weights: Weights,
    ) -> Result<Self, Error> {
        let levels = domain
            .attributes()
            .get(attribute)
            .ok_or(Error::NoAttribute { place: attribute })?
            .levels()
            .len();
        let mut shapes = Vec::new();
        for other in others {
            shapes.push(other.clone());
            for level in (0..levels).rev() {
                let mut axes = other.axes.clone();
                axes.push(Axis::at(attribute, level));
                shapes.push(Shape::new(axes)?);
            }
        }
        Self::listed(shapes, domain, weights)
    }

    /// The same with another objective.
    #[must_use]
    pub fn minimizing(self, objective: Objective) -> Self {
        Self { objective, ..self }
    }

    /// The tables, in the order in which they were given.
    pub fn wanted(&self) -> &[Wanted] {
        &self.wanted
    }

    /// What is to be small.
    pub fn objective(&self) -> Objective {
        self.objective
    }
}

/// All choices of `ways` of the axes, in order.
fn choose(axes: &[Axis], ways: usize, chosen: &mut Vec<Axis>, shapes: &mut Vec<Shape>) {
    if ways == 0 {
        shapes.push(Shape { axes: chosen.clone() });
        return;
    }
    for place in 0..axes.len().saturating_sub(ways - 1) {
        chosen.push(axes[place]);
        choose(&axes[place + 1..], ways - 1, chosen, shapes);
        chosen.pop();
    }
}
