//! How matrices and examples lie in flat vectors.

/// A vector from some place on.
#[derive(Debug)]
pub struct Span<'a, B> {
    /// The vector.
    pub buffer: &'a B,
    /// Its first number that counts.
    pub start: usize,
}

impl<B> Clone for Span<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Span<'_, B> {}

impl<'a, B> Span<'a, B> {
    /// `buffer` from `start` on.
    pub fn new(buffer: &'a B, start: usize) -> Self {
        Self { buffer, start }
    }
}

/// A vector from some place on, to write to.
#[derive(Debug)]
pub struct SpanMut<'a, B> {
    /// The vector.
    pub buffer: &'a mut B,
    /// Its first number that counts.
    pub start: usize,
}

impl<'a, B> SpanMut<'a, B> {
    /// `buffer` from `start` on.
    pub fn new(buffer: &'a mut B, start: usize) -> Self {
        Self { buffer, start }
    }
}

/// Rows inside a vector: row i is the `width` numbers from `start + i·stride` on.
#[derive(Debug)]
pub struct Rows<'a, B> {
    /// The vector.
    pub buffer: &'a B,
    /// Where row 0 starts.
    pub start: usize,
    /// From one row to the next; at least `width`.
    pub stride: usize,
    /// Numbers in a row.
    pub width: usize,
}

impl<B> Clone for Rows<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Rows<'_, B> {}

impl<'a, B> Rows<'a, B> {
    /// Rows that fill the vector from its start.
    pub fn new(buffer: &'a B, width: usize) -> Self {
        Self {
            buffer,
            start: 0,
            stride: width,
            width,
        }
    }

    /// `width` columns of these rows from column `first` on.
    pub fn columns(self, first: usize, width: usize) -> Self {
        Self {
            start: self.start + first,
            width,
            ..self
        }
    }

    /// Without the first `count` rows.
    pub fn skip(self, count: usize) -> Self {
        Self {
            start: self.start + count * self.stride,
            ..self
        }
    }
}

/// Matrices inside a vector: entry (i, j) of matrix b is at `start + b·batch + i·row + j·column`. One of `row` and `column` is 1.
#[derive(Debug)]
pub struct Matrix<'a, B> {
    /// The vector.
    pub buffer: &'a B,
    /// Where entry (0, 0) of matrix 0 is.
    pub start: usize,
    /// From one row to the next.
    pub row: usize,
    /// From one column to the next.
    pub column: usize,
    /// From one matrix to the next.
    pub batch: usize,
}

impl<B> Clone for Matrix<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Matrix<'_, B> {}

impl<'a, B> Matrix<'a, B> {
    /// One matrix by rows of `stride`.
    pub fn new(buffer: &'a B, start: usize, stride: usize) -> Self {
        Self {
            buffer,
            start,
            row: stride,
            column: 1,
            batch: 0,
        }
    }

    /// Rows and columns swapped.
    pub fn transposed(self) -> Self {
        Self {
            row: self.column,
            column: self.row,
            ..self
        }
    }

    /// Many, each `batch` after the one before.
    pub fn batched(self, batch: usize) -> Self {
        Self { batch, ..self }
    }
}

/// As [`Matrix`], to write to; its `column` is 1, and matrices of a batch do not overlap.
#[derive(Debug)]
pub struct MatrixMut<'a, B> {
    /// The vector.
    pub buffer: &'a mut B,
    /// Where entry (0, 0) of matrix 0 is.
    pub start: usize,
    /// From one row to the next.
    pub row: usize,
    /// From one matrix to the next.
    pub batch: usize,
}

impl<'a, B> MatrixMut<'a, B> {
    /// One matrix by rows of `stride`.
    pub fn new(buffer: &'a mut B, start: usize, stride: usize) -> Self {
        Self {
            buffer,
            start,
            row: stride,
            batch: 0,
        }
    }

    /// Many, each `batch` after the one before.
    pub fn batched(self, batch: usize) -> Self {
        Self { batch, ..self }
    }
}

/// The sizes of `count` products of a rows × inner by an inner × columns matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// How many products.
    pub count: usize,
    /// Rows of the result.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// What is summed over.
    pub inner: usize,
}

impl Product {
    /// A single one.
    pub fn new(rows: usize, inner: usize, columns: usize) -> Self {
        Self {
            count: 1,
            rows,
            columns,
            inner,
        }
    }

    /// `count` of them.
    pub fn times(self, count: usize) -> Self {
        Self { count, ..self }
    }
}

/// The sizes of attention. Rows are numbered by examples; a row of what was projected holds queries, then keys, then values of all heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// How many examples.
    pub examples: usize,
    /// Steps of each.
    pub steps: usize,
    /// How many heads.
    pub heads: usize,
    /// Numbers of each.
    pub size: usize,
}

impl Heads {
    /// Numbers of all heads together.
    pub fn width(&self) -> usize {
        self.heads * self.size
    }

    /// Rows of all heads.
    pub fn rows(&self) -> usize {
        self.examples * self.heads * self.steps
    }
}

/// Which comes first where rows are steps of examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Row `step · examples + example`: a step of all examples is one matrix, which is what recurrent layers multiply.
    Steps,
    /// Row `example · steps + step`: an example is one matrix, which is what attention multiplies.
    Examples,
}

/// Rows that are steps of examples: one row a step, the same number of steps for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequences {
    /// How many examples.
    pub examples: usize,
    /// Steps of each.
    pub steps: usize,
    /// How rows are numbered.
    pub order: Order,
}

impl Sequences {
    /// One row an example.
    pub fn single(examples: usize) -> Self {
        Self {
            examples,
            steps: 1,
            order: Order::Examples,
        }
    }

    /// How many rows.
    pub fn rows(&self) -> usize {
        self.examples * self.steps
    }

    /// The row of a step of an example.
    #[inline(always)]
    pub fn row(&self, example: usize, step: usize) -> usize {
        match self.order {
            Order::Steps => step * self.examples + example,
            Order::Examples => example * self.steps + step,
        }
    }

    /// Whose row it is.
    #[inline(always)]
    pub fn example(&self, row: usize) -> usize {
        match self.order {
            Order::Steps => row % self.examples,
            Order::Examples => row / self.steps,
        }
    }

    /// Which step of its example a row is.
    #[inline(always)]
    pub fn step(&self, row: usize) -> usize {
        match self.order {
            Order::Steps => row / self.examples,
            Order::Examples => row % self.steps,
        }
    }

    /// From one step of an example to its next, in rows.
    pub fn step_stride(&self) -> usize {
        match self.order {
            Order::Steps => self.examples,
            Order::Examples => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_steps_are_inverse_in_both_orders() {
        for order in [Order::Steps, Order::Examples] {
            let sequences = Sequences {
                examples: 3,
                steps: 5,
                order,
            };
            let mut seen = vec![false; sequences.rows()];
            for example in 0..3 {
                for step in 0..5 {
                    let row = sequences.row(example, step);
                    assert_eq!((sequences.example(row), sequences.step(row)), (example, step));
                    assert_eq!(row, sequences.row(example, 0) + step * sequences.step_stride());
                    seen[row] = true;
                }
            }
            assert!(seen.into_iter().all(|row| row));
        }
    }
}
