//! Tables of text in aligned columns.

use std::fmt;

const BETWEEN: &str = "  ";

/// The heading of a column, and the side its cells are aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// For words.
    Left(&'static str),
    /// For numbers.
    Right(&'static str),
}

/// Rows under headings. A row with the wrong number of cells does not compile.
#[derive(Clone, Debug)]
pub struct Table<const COLUMNS: usize> {
    columns: [Column; COLUMNS],
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// A table without rows.
    pub fn new(columns: [Column; COLUMNS]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row. A line break or other control character in a cell becomes a space, so that a row is one
    /// line.
    pub fn row(&mut self, cells: [impl Into<String>; COLUMNS]) {
        self.rows.push(cells.map(|cell| tame(&cell.into())));
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    /// Headings, a rule, and the rows, each line ended and without trailing space.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headings = self.columns.map(|column| match column {
            Column::Left(heading) => Heading::left(heading),
            Column::Right(heading) => Heading::right(heading),
        });
        let rows: Vec<&[String]> = self.rows.iter().map(|row| row.as_slice()).collect();
        lay_out(&headings, &rows, formatter)
    }
}

/// The heading of a column that is known only when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    text: String,
    right: bool,
}

impl Heading {
    /// Over words.
    pub fn left(text: &str) -> Self {
        Self {
            text: tame(text),
            right: false,
        }
    }

    /// Over numbers.
    pub fn right(text: &str) -> Self {
        Self {
            right: true,
            ..Self::left(text)
        }
    }
}

/// The same as [`Table`] where the columns are known only when it runs, as those of an answer are.
/// ```
/// use report::{DynamicTable, Heading};
///
/// let mut table = DynamicTable::new(vec![Heading::left("ward"), Heading::right("visits")]);
/// table.row(vec!["eyes".to_owned(), "12".to_owned()]);
/// table.row(vec!["heart\nand lungs".to_owned()]);
/// let text = table.to_string();
/// assert_eq!(text.lines().count(), 4, "a row is one line, whatever is in it");
/// ```
#[derive(Clone, Debug)]
pub struct DynamicTable {
    headings: Vec<Heading>,
    rows: Vec<Vec<String>>,
}

impl DynamicTable {
    /// A table without rows.
    pub fn new(headings: Vec<Heading>) -> Self {
        Self {
            headings,
            rows: Vec::new(),
        }
    }

    /// Adds a row, as [`Table::row`] does. What it has too little is empty, and what it has too much is left
    /// out.
    pub fn row(&mut self, cells: Vec<String>) {
        let mut cells: Vec<String> = cells.iter().map(|cell| tame(cell)).collect();
        cells.resize(self.headings.len(), String::new());
        self.rows.push(cells);
    }
}

impl fmt::Display for DynamicTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<&[String]> = self.rows.iter().map(Vec::as_slice).collect();
        lay_out(&self.headings, &rows, formatter)
    }
}

fn tame(text: &str) -> String {
    let tame = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().map(tame).collect()
}

/// Every row has as many cells as there are headings.
fn lay_out(headings: &[Heading], rows: &[&[String]], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(place, heading)| {
            let cells = rows.iter().map(|cells| width(&cells[place]));
            cells.fold(width(&heading.text), usize::max)
        })
        .collect();
    let mut line = |cells: Vec<&str>| {
        let padded: Vec<String> = cells
            .iter()
            .zip(headings)
            .zip(&widths)
            .map(|((cell, heading), most)| {
                let space = " ".repeat(most - width(cell));
                if heading.right {
                    format!("{space}{cell}")
                } else {
                    format!("{cell}{space}")
                }
            })
            .collect();
        writeln!(formatter, "{}", padded.join(BETWEEN).trim_end())
    };
    line(headings.iter().map(|heading| heading.text.as_str()).collect())?;
    let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    line(rule.iter().map(String::as_str).collect())?;
    for cells in rows {
        line(cells.iter().map(String::as_str).collect())?;
    }
    Ok(())
}

/// Columns that `text` takes: one a character, and none for an accent over the character before it (`x̄`).
fn width(text: &str) -> usize {
    text.chars()
        .filter(|character| !('\u{300}'..='\u{36f}').contains(character))
        .count()
}

/// `text` in at most this many columns, with `…` where something is left out.
///
/// ```
/// use report::cut;
///
/// assert_eq!(cut("cardiology", 20), "cardiology");
/// assert_eq!(cut("cardiology", 5), "card…");
/// ```
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut kept: String = text.chars().take(most.saturating_sub(1)).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::{Column, DynamicTable, Heading, Table, cut};

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

    #[test]
    fn columns_that_are_known_late_align_alike() {
        let mut table = DynamicTable::new(vec![
            Heading::left("region"),
            Heading::right("n"),
            Heading::right("±"),
        ]);
        table.row(vec!["Ash\tford".to_owned(), "1203".to_owned(), "6".to_owned()]);
        table.row(vec!["∅".to_owned(), "7".to_owned()]);
        let expected = "\
region       n  ±
────────  ────  ─
Ash ford  1203  6
∅            7
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn what_is_too_long_is_cut() {
        assert_eq!(cut("SELECT 1", 8), "SELECT 1");
        assert_eq!(cut("SELECT 12", 8), "SELECT …");
        assert_eq!(cut("ε = 1", 3), "ε …");
    }
}
