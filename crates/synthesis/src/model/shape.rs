//! Which attributes a table is by, and where its cells are in another.

/// Attributes in ascending order, with how many values each has. Cells are in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) attributes: Vec<usize>,
    pub(crate) sizes: Vec<usize>,
}

impl Shape {
    /// Of these attributes, which ascend, with the sizes of all.
    pub(crate) fn of(attributes: &[usize], sizes: &[u32]) -> Self {
        Self {
            attributes: attributes.to_vec(),
            sizes: attributes.iter().map(|place| sizes[*place] as usize).collect(),
        }
    }

    /// How many cells it has.
    pub(crate) fn cells(&self) -> usize {
        self.sizes.iter().product()
    }

    /// For each cell, the cell of a table by fewer attributes that it is in.
    pub(crate) fn places_in(&self, fewer: &[usize]) -> Vec<u32> {
        // The stride of each axis in the other table; 0 where it is summed over.
        let mut strides = vec![0usize; self.attributes.len()];
        let mut stride = 1;
        for attribute in fewer.iter().rev() {
            let axis = self
                .attributes
                .iter()
                .position(|other| other == attribute)
                .expect("by fewer of its attributes");
            strides[axis] = stride;
            stride *= self.sizes[axis];
        }
        let mut places = vec![0u32];
        for (size, stride) in self.sizes.iter().zip(&strides) {
            let mut longer = Vec::with_capacity(places.len() * size);
            for place in &places {
                longer.extend((0..*size).map(|code| place + (code * stride) as u32));
            }
            places = longer;
        }
        places
    }
}

/// Sums cells into those of a smaller table.
pub(crate) fn summed(values: &[f64], places: &[u32], cells: usize) -> Vec<f64> {
    let mut sums = vec![0.0; cells];
    for (value, place) in values.iter().zip(places) {
        sums[*place as usize] += value;
    }
    sums
}

/// Whether every one of these, which ascend, is among those, which ascend.
pub(crate) fn within(these: &[usize], those: &[usize]) -> bool {
    let mut rest = those.iter();
    these.iter().all(|one| rest.any(|other| other == one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_in_smaller_tables() {
        let shape = Shape::of(&[0, 2, 3], &[2, 9, 3, 2]);
        assert_eq!(shape.cells(), 12);
        assert_eq!(shape.places_in(&[2]), [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
        assert_eq!(shape.places_in(&[0, 3]), [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]);
        assert_eq!(shape.places_in(&[]), [0; 12]);
        let sums = summed(&[1.0, 2.0, 3.0, 4.0], &[0, 1, 0, 1], 2);
        assert_eq!(sums, [4.0, 6.0]);
        assert!(within(&[1, 3], &[0, 1, 2, 3]) && !within(&[1, 4], &[0, 1, 2, 3]) && within(&[], &[]));
    }
}
