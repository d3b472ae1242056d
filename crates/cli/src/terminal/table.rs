//! Tables of text in aligned columns.

use std::fmt;

const BETWEEN: &str = "  ";

/// The heading of a column, and the side its cells are aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// For words.
    Left(&'static str),
    /// For numbers.
    Right(&'static str),
}

/// Rows under headings. A row with the wrong number of cells does not compile.
#[derive(Clone, Debug)]
pub(crate) struct Table<const COLUMNS: usize> {
    columns: [Column; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table without rows.
    pub(crate) fn new(columns: [Column; COLUMNS]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row. A line break or other control character in a cell becomes a space, so that a row is one line.
    pub(crate) fn row(&mut self, cells: [impl Into<String>; COLUMNS]) {
        let tame = |character: char| if character.is_control() { ' ' } else { character };
        self.rows
            .push(cells.map(|cell| cell.into().chars().map(tame).collect()));
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    /// Headings, a rule, and the rows, each line ended and without trailing space.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.columns.map(|column| match column {
            Column::Left(heading) | Column::Right(heading) => heading.to_string(),
        });
        let lines = || std::iter::once(&headings).chain(&self.rows);
        let widths: [usize; COLUMNS] =
            std::array::from_fn(|index| lines().map(|cells| width(&cells[index])).max().unwrap_or(0));
        let rule = widths.map(|width| "─".repeat(width));
        let body = std::iter::once(&headings)
            .chain(std::iter::once(&rule))
            .chain(&self.rows);
        for cells in body {
            let padded: [String; COLUMNS] = std::array::from_fn(|index| {
                let space = " ".repeat(widths[index] - width(&cells[index]));
                match self.columns[index] {
                    Column::Left(_) => format!("{}{space}", cells[index]),
                    Column::Right(_) => format!("{space}{}", cells[index]),
                }
            });
            writeln!(formatter, "{}", padded.join(BETWEEN).trim_end())?;
        }
        Ok(())
    }
}

/// Columns that `text` takes: one a character, and none for an accent over the character before it (`x̄`).
fn width(text: &str) -> usize {
    text.chars()
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .count()
}

#[cfg(test)]
mod tests {
    use super::{Column, Table};

    #[test]
    fn columns_align_with_greek_letters_and_accents() {
        let mut table = Table::new([
            Column::Left("mechanism"),
            Column::Right("ε"),
            Column::Left("note"),
        ]);
        table.row(["Laplace", "0.5", "λ = Δ/ε"]);
        table.row(["randomized response", "ln 3", ""]);
        table.row(["mean x̄", "10", "two\nlines"]);
        let expected = "\
mechanism               ε  note
───────────────────  ────  ─────────
Laplace               0.5  λ = Δ/ε
randomized response  ln 3
mean x̄                 10  two lines
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_table_without_rows_has_its_headings() {
        let table = Table::new([Column::Left("id"), Column::Right("measured")]);
        assert_eq!(table.to_string(), "id  measured\n──  ────────\n");
    }
}
