//! Rows from a model: clique by clique, each given what it shares with the one before.

use super::Model;
use super::shape::Shape;
use noise::Seeded;

impl Model {
    /// So many rows, as a column of codes for each attribute. The same seed gives the same rows.
    ///
    /// In each clique, rows that agree on what it shares with its parent are dealt to its cells in proportion to their counts: each cell gets as many as expected, rounded up or down at random, so that
    /// tables of the rows are as near to those of the model as whole rows can be.
    ///
    /// No row is one of those that cannot be. In each clique, rows are dealt to cells that some possible row has and to no others. After the first clique, what a row has is such a cell; every such cell agrees with one in each
    /// clique that follows (see `impossible::possible`), so there is always a cell to be dealt to. Each rule lies in a clique, and none of the cells that it names is one of those.
    pub fn rows(&self, count: usize, seed: u64) -> Vec<Vec<u32>> {
        let mut columns = vec![vec![0u32; count]; self.sizes.len()];
        for (number, place) in self.tree.order.iter().enumerate() {
            let mut random = Seeded::numbered(seed, number as u64);
            let (shape, counts) = (&self.tree.cliques[*place], &self.counts[*place]);
            let (groups, places) = match &self.tree.links[*place] {
                None => (1, vec![0u32; counts.len()]),
                Some(link) => (link.cells, link.of_child.clone()),
            };
            let given = self.shared_with_parent(*place);
            let rows = grouped(&columns, &given, groups, count);
            // The cells of each group, in order.
            let cells = listed(&places, self.possible.get(*place), groups);
            let mut cell_of_row = vec![0u32; count];
            for (rows, cells) in rows.into_iter().zip(cells) {
                deal(rows, &cells, counts, &mut random, &mut cell_of_row);
            }
            write(shape, &given.attributes, &cell_of_row, &mut columns);
        }
        columns
    }

    /// What a clique shares with its parent.
    fn shared_with_parent(&self, place: usize) -> Shape {
        let shared: Vec<usize> = match &self.tree.links[place] {
            None => Vec::new(),
            Some(link) => {
                let parent = &self.tree.cliques[link.parent].attributes;
                let own = self.tree.cliques[place].attributes.iter();
                own.filter(|attribute| parent.contains(attribute))
                    .copied()
                    .collect()
            }
        };
        Shape::of(&shared, &self.sizes)
    }
}

/// The rows of each group: by the values that are there already.
fn grouped(columns: &[Vec<u32>], given: &Shape, groups: usize, count: usize) -> Vec<Vec<u32>> {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); groups];
    let mut group_of = vec![0; count];
    for (attribute, size) in given.attributes.iter().zip(&given.sizes) {
        for (group, code) in group_of.iter_mut().zip(&columns[*attribute]) {
            *group = *group * size + *code as usize;
        }
    }
    for (row, group) in group_of.into_iter().enumerate() {
        rows[group].push(row as u32);
    }
    rows
}

/// The cells of each group that a row may be dealt to.
fn listed(places: &[u32], possible: Option<&Vec<bool>>, groups: usize) -> Vec<Vec<u32>> {
    let mut cells: Vec<Vec<u32>> = vec![Vec::new(); groups];
    for (cell, group) in places.iter().enumerate() {
        if possible.is_none_or(|possible| possible[cell]) {
            cells[*group as usize].push(cell as u32);
        }
    }
    cells
}

/// Deals rows to cells: systematic sampling with one random start, after a random order of the rows.
fn deal(mut rows: Vec<u32>, cells: &[u32], counts: &[f64], random: &mut Seeded, cell_of_row: &mut [u32]) {
    if rows.is_empty() {
        return;
    }
    for last in (1..rows.len()).rev() {
        rows.swap(last, random.index(last + 1));
    }
    let sum: f64 = cells.iter().map(|cell| counts[*cell as usize]).sum();
    let start = random.unit();
    let (mut at, mut reached, mut last) = (0, 0.0, cells[0]);
    for cell in cells {
        let share = if sum > 0.0 {
            counts[*cell as usize] / sum
        } else {
            1.0 / cells.len() as f64
        };
        reached += share * rows.len() as f64;
        if share > 0.0 {
            last = *cell;
        }
        while at < rows.len() && (at as f64) + start < reached {
            cell_of_row[rows[at] as usize] = *cell;
            at += 1;
        }
    }
    // What rounding left over goes where something is.
    for row in &rows[at..] {
        cell_of_row[*row as usize] = last;
    }
}

/// The codes of the attributes that are new.
fn write(shape: &Shape, given: &[usize], cell_of_row: &[u32], columns: &mut [Vec<u32>]) {
    let mut stride = 1u32;
    for (attribute, size) in shape.attributes.iter().zip(&shape.sizes).rev() {
        if !given.contains(attribute) {
            for (code, cell) in columns[*attribute].iter_mut().zip(cell_of_row) {
                *code = cell / stride % *size as u32;
            }
        }
        stride *= *size as u32;
    }
}

/// How many of these rows are in each cell of a table, times `each`.
pub(crate) fn tabulated(columns: &[Vec<u32>], shape: &Shape, each: f64) -> Vec<f64> {
    let count = columns.first().map_or(0, Vec::len);
    let mut places = vec![0usize; count];
    for (attribute, size) in shape.attributes.iter().zip(&shape.sizes) {
        for (place, code) in places.iter_mut().zip(&columns[*attribute]) {
            *place = *place * size + *code as usize;
        }
    }
    let mut table = vec![0.0; shape.cells()];
    for place in places {
        table[place] += each;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::Measured;
    use super::*;

    fn model() -> Model {
        let mut model = Model::new(&[2, 3, 2], &[]);
        let measured = |attributes: &[usize], counts: &[f64]| Measured {
            attributes: attributes.to_vec(),
            counts: counts.to_vec(),
            variance: 1.0,
        };
        model.add(&measured(&[0, 1], &[10.0, 20.0, 0.0, 5.0, 5.0, 60.0]));
        model.add(&measured(&[1, 2], &[15.0, 0.0, 5.0, 20.0, 30.0, 30.0]));
        model.rebuild();
        model.fit(3_000);
        model
    }

    /// Every table in a clique is met to within one row a cell and a shared cell.
    #[test]
    fn rows_are_as_the_model_says() {
        let model = model();
        for (count, seed) in [(100usize, 1), (1_000, 2), (7, 3), (0, 4)] {
            let rows = model.rows(count, seed);
            assert_eq!(rows, model.rows(count, seed));
            for set in [&[0usize, 1][..], &[1, 2], &[0], &[2]] {
                let table = tabulated(&rows, &Shape::of(set, &[2, 3, 2]), 1.0);
                let right = model.table(set).unwrap();
                for (one, other) in table.iter().zip(&right) {
                    let wanted = other / model.total() * count as f64;
                    assert!((one - wanted).abs() < 4.0, "{set:?}: {one} {wanted}");
                }
            }
        }
        assert_ne!(model.rows(100, 1), model.rows(100, 2));
    }

    /// What the first and the last attribute have in common is what the one between tells: none of it is made up.
    #[test]
    fn cliques_are_independent_given_what_they_share() {
        let model = model();
        let rows = model.rows(60_000, 5);
        let table = tabulated(&rows, &Shape::of(&[0, 1, 2], &[2, 3, 2]), 1.0);
        for middle in 0..3 {
            let cell = |first: usize, last: usize| table[first * 6 + middle * 2 + last];
            let sum = cell(0, 0) + cell(0, 1) + cell(1, 0) + cell(1, 1);
            for (first, last) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let expected = (cell(first, 0) + cell(first, 1)) * (cell(0, last) + cell(1, last)) / sum;
                assert!((cell(first, last) - expected).abs() < 6.0 * expected.sqrt() + 3.0);
            }
        }
    }
}
