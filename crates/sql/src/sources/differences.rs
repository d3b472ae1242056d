//! Where data and catalog differ, in words, with what to do about it. For the curator alone.

use super::checkup::{ColumnCheck, TableCheck, UnitCheck};

/// Something that is not as the catalog says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What is.
    pub what: String,
    /// What to do about it.
    pub hint: String,
}

/// How many of a whole there are, with their noun: 1 row (0.12 %), 3 rows (0.36 %).
pub fn counted(part: u64, whole: u64, noun: &str) -> String {
    let noun = format!("{noun}{}", one_or_many(part, "", "s"));
    match part_of(part, whole).split_once(' ') {
        Some((number, per_cent)) => format!("{number} {noun} {per_cent}"),
        None => format!("{part} {noun}"),
    }
}

/// The word for one, or that for another number.
pub fn one_or_many<'w>(number: u64, one: &'w str, many: &'w str) -> &'w str {
    if number == 1 { one } else { many }
}

/// A part of a whole, as people read it: 3 (0.12 %).
pub fn part_of(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return part.to_string();
    }
    let per_cent = part as f64 * 100.0 / whole as f64;
    let digits = if per_cent < 0.01 {
        "< 0.01".to_owned()
    } else {
        format!("{per_cent:.2}")
    };
    format!("{part} ({digits} %)")
}

impl TableCheck {
    /// Everything that is not as the catalog says.
    pub fn differences(&self) -> Vec<Difference> {
        differences(self)
    }

    /// What is as the catalog says, and good to know.
    pub fn remarks(&self) -> Vec<String> {
        remarks(self)
    }
}

fn differences(check: &TableCheck) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |what: String, hint: &str| {
        found.push(Difference {
            what,
            hint: hint.to_owned(),
        });
    };
    if check.rows == 0 {
        add(
            "there are no rows".to_owned(),
            "is `source` the right file, and is its first line a header?",
        );
        return found;
    }
    if let Some(units) = &check.units {
        of_units(units, check.rows, &mut add);
    }
    for key in check.keys.iter().filter(|key| key.repeated > 0) {
        add(
            format!(
                "{} {} with another one in {}, which is said to be a key",
                counted(key.repeated, check.rows, "row"),
                one_or_many(key.repeated, "agrees", "agree"),
                key.columns.join(", ")
            ),
            if key.leads_to_units {
                "rows of another table find their unit by it: as it is, somebody's rows may count as somebody else's"
            } else {
                "drop it from `keys`, or join by another key"
            },
        );
    }
    for column in &check.columns {
        of_column(column, check.rows, &mut add);
    }
    found
}

fn of_units(units: &UnitCheck, rows: u64, add: &mut impl FnMut(String, &str)) {
    let column = &units.column;
    if units.rows_of_nobody > 0 {
        add(
            format!(
                "unit `{column}` is NULL in {}, which queries leave out",
                counted(units.rows_of_nobody, rows, "row")
            ),
            "is it the right column, of the right kind?",
        );
    }
    if units.written_alike > 0 {
        add(
            format!(
                "unit `{column}`: {} {} from another one only in blanks, upper and lower case, leading zeros or the form of its characters",
                counted(units.written_alike, units.units, "identifier"),
                one_or_many(units.written_alike, "differs", "differ"),
            ),
            "each spelling counts as a person of its own: if one person is written in two ways, give them one identifier before anybody asks anything",
        );
    }
    if let Some(promised) = units.promised_rows
        && units.units_above_promise > 0
    {
        add(
            format!(
                "{} {} more than {promised} {}, which is what `rows_per_unit` promises",
                counted(units.units_above_promise, units.units, "unit"),
                one_or_many(units.units_above_promise, "has", "have"),
                one_or_many(promised, "row", "rows")
            ),
            "their privacy is weaker than stated: raise `rows_per_unit`, or drop it, before anybody asks anything",
        );
    }
    if units.said_to_be_clustered && !units.clustered {
        add(
            "the rows of a unit do not lie next to each other, as `clustered` says".to_owned(),
            "answers are right all the same, and slow: sort the rows with `deniable init --cluster`, or drop `clustered`",
        );
    }
}

fn of_column(column: &ColumnCheck, rows: u64, add: &mut impl FnMut(String, &str)) {
    let name = &column.column;
    if column.unreadable > 0 && column.names_units {
        add(
            format!(
                "column `{name}`: {} {} no identifier of kind {} in its one spelling, so {} nobody's, and queries leave {} out",
                counted(column.unreadable, rows, "value"),
                one_or_many(column.unreadable, "is", "are"),
                column.kind,
                one_or_many(column.unreadable, "its row is", "their rows are"),
                one_or_many(column.unreadable, "it", "them"),
            ),
            "a whole number is written 7, and not 007, +7 or 7.0; kind = \"text\" keeps identifiers as they are written",
        );
    } else if column.unreadable > 0 {
        add(
            format!(
                "column `{name}`: {} {} not of the declared kind, and {} read as NULL",
                counted(column.unreadable, rows, "value"),
                one_or_many(column.unreadable, "is", "are"),
                one_or_many(column.unreadable, "is", "are"),
            ),
            &fitting(column),
        );
    }
    if column.said_not_null && column.nulls > 0 {
        add(
            format!(
                "column `{name}`: {} {} NULL, and `nullable = false` says that none is",
                counted(column.nulls, rows, "value"),
                one_or_many(column.nulls, "is", "are"),
            ),
            "drop `nullable`",
        );
    }
    for (number, side) in [(column.below, "below"), (column.above, "above")] {
        if number > 0 {
            let summed = if matches!(column.kind.as_str(), "date" | "timestamp") {
                ""
            } else {
                "sums and averages count the bound, "
            };
            add(
                format!(
                    "column `{name}`: {} {} {side} the bounds: {summed}a WHERE sees {} as {}, and where groups are listed, {} in none",
                    counted(number, rows, "value"),
                    one_or_many(number, "lies", "lie"),
                    one_or_many(number, "it", "them"),
                    one_or_many(number, "it is", "they are"),
                    one_or_many(number, "it is", "they are"),
                ),
                "widen `bounds` if you know them to be too narrow; sums under wider ones need more noise",
            );
        }
    }
    if !column.never_seen.is_empty() {
        let number = column.never_seen.len() as u64;
        add(
            format!(
                "column `{name}`: {number} of {} listed values never {}: {}",
                column.listed,
                one_or_many(number, "occurs", "occur"),
                column.never_seen.join(", ")
            ),
            one_or_many(
                number,
                "is it spelled as in the data? If it is, there is nothing to do",
                "are they spelled as in the data? If they are, there is nothing to do",
            ),
        );
    }
    if column.not_listed > 0 && column.other.is_none() {
        add(
            format!(
                "{}: grouped by it, {} in no group; a WHERE sees {} as {}",
                not_listed(column, rows),
                one_or_many(column.not_listed, "its row is", "their rows are"),
                one_or_many(column.not_listed, "it", "them"),
                one_or_many(column.not_listed, "it is", "they are"),
            ),
            "list what you know may occur, what stands for NULL (`nulls`), or a group for all other texts (`other`)",
        );
    }
}

/// What to declare of a column whose values are not of the declared kind.
fn fitting(column: &ColumnCheck) -> String {
    let nulls: Vec<String> = column
        .fitting_nulls
        .iter()
        .map(|null| format!("\"{null}\""))
        .collect();
    let nulls = nulls.join(", ");
    match column.fitting_kind.as_deref() {
        Some("text") => "only text fits all of them: declare kind = \"text\", what stands for NULL (`nulls`) or how numbers are written (`decimal`), or leave mistakes as NULL".to_owned(),
        Some(kind) if kind == column.kind => {
            format!("what is left is of that kind if nulls = [{nulls}] says that these stand for NULL in every column")
        }
        Some(kind) if nulls.is_empty() => format!("every value is of another kind: declare kind = \"{kind}\""),
        Some(kind) => format!(
            "what is left is of another kind, if these stand for NULL in every column: declare kind = \"{kind}\" and nulls = [{nulls}]"
        ),
        None => "declare another kind, what stands for NULL (`nulls`), or how numbers are written (`decimal`)".to_owned(),
    }
}

/// How many values are not listed.
fn not_listed(column: &ColumnCheck, rows: u64) -> String {
    let different = match column.different_not_listed {
        _ if column.not_listed == 1 => String::new(),
        1 => ", all the same,".to_owned(),
        number if number >= 1000 => format!(", at least {number} different ones,"),
        number => format!(", {number} different ones,"),
    };
    format!(
        "column `{}`: {}{different} {} not listed",
        column.column,
        counted(column.not_listed, rows, "value"),
        one_or_many(column.not_listed, "is", "are"),
    )
}

fn remarks(check: &TableCheck) -> Vec<String> {
    let of_column = |column: &ColumnCheck| {
        let other = column.other.as_ref().filter(|_| column.not_listed > 0)?;
        Some(format!(
            "{}, and {} read as `{other}`, as the catalog says",
            not_listed(column, check.rows),
            one_or_many(column.not_listed, "is", "are"),
        ))
    };
    check
        .columns
        .iter()
        .flat_map(|column| [of_column(column), more_than_text(column)])
        .flatten()
        .collect()
}

/// That a text is something that queries could compute with.
fn more_than_text(column: &ColumnCheck) -> Option<String> {
    let kind = column.fitting_kind.as_ref().filter(|_| column.kind == "text")?;
    let nulls: Vec<String> = column
        .fitting_nulls
        .iter()
        .map(|null| format!("\"{null}\""))
        .collect();
    let left = match nulls.as_slice() {
        [] => "every value is".to_owned(),
        nulls => format!("if nulls = [{}] stand for NULL, every value is", nulls.join(", ")),
    };
    Some(format!(
        "column `{}`: it is declared as text, and {left} of kind {kind}; queries can compute with it if you declare kind = \"{kind}\"",
        column.column
    ))
}
