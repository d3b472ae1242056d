//! Synthetic rows beside what was measured, as people read it.

use super::{SyntheticCheck, SyntheticRelease, SyntheticRows};
use report::{Column, Figure, HeatMap, Page, Scale, Table, grouped, significant};
use synthesis::{Connection, MeasuredTable, PairReport, Report, Standing};

/// So many tables are listed for people.
const MOST_SHOWN: usize = 25;
/// So many tables that were never measured are named.
const MOST_NEVER: usize = 8;

impl SyntheticRelease {
    /// What came out: rows beside what was measured, and what may be concluded from them. `more` says where tables are that are not listed here.
    pub fn to_text(&self, report: &Report, more: &str) -> String {
        let mut text = format!(
            "{} synthetic rows of {}; the data seems to have {} rows\n\n",
            grouped(report.rows as u64),
            self.table,
            grouped(report.estimated_rows.max(0.0).round() as u64),
        );
        text += "tables that were measured, and how far the rows are from what was measured (the data itself was not looked at again):\n";
        text += &measured(&report.measured, MOST_SHOWN);
        let hidden = report.measured.len().saturating_sub(MOST_SHOWN);
        if hidden > 0 {
            text += &format!("… and {hidden} more{more}\n");
        }
        text += &pairs(report);
        text += &never(report);
        for line in self.conclusions(report) {
            text += &format!("- {line}\n");
        }
        text
    }

    /// What an analyst may and may not conclude from the rows.
    pub fn conclusions(&self, report: &Report) -> Vec<String> {
        conclusions(self, report)
    }

    /// The comparison as a page, and the check of the rows, if there was one.
    pub fn to_page(&self, report: &Report, check: Option<&SyntheticCheck>) -> String {
        page(self, report, check)
    }
}

impl SyntheticRows {
    /// What stands behind each pair of columns: 2 measured together, 1 connected through others, 0 nothing. Of the first columns, as many as are wanted.
    pub fn heat_map(&self, most: usize) -> HeatMap {
        heat_map(&self.report, most)
    }
}

fn measured(tables: &[MeasuredTable], most: usize) -> String {
    let mut table = Table::new([
        Column::Left("by"),
        Column::Right("cells"),
        Column::Right("noise of a count"),
        Column::Right("distance"),
        Column::Right("of noise alone"),
        Column::Left(""),
    ]);
    for one in tables.iter().take(most) {
        table.row([
            one.by.join(" × "),
            grouped(one.cells as u64),
            format!("± {}", significant(one.deviation, 3)),
            percent(one.distance),
            percent(one.distance_of_noise),
            in_a_word(one.standing).to_owned(),
        ]);
    }
    table.to_string()
}

fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share, 2))
}

fn in_a_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Good => "good",
        Standing::Noisy => "as good as its noise",
        Standing::Off => "further off than noise explains",
    }
}

fn pairs(report: &Report) -> String {
    if report.pairs.is_empty() {
        return String::new();
    }
    format!(
        "\nof {} pairs of columns, {} were measured together, {} are connected through others, and {} are independent in the rows, whatever the data\n",
        report.pairs.len(),
        report.pairs_with(Connection::Measured),
        report.pairs_with(Connection::Through),
        report.pairs_with(Connection::Independent),
    )
}

fn never(report: &Report) -> String {
    if report.never_measured_count == 0 {
        return String::new();
    }
    let named: Vec<String> = report
        .never_measured
        .iter()
        .take(MOST_NEVER)
        .map(|table| table.by.join(" × "))
        .collect();
    let more = report.never_measured_count.saturating_sub(named.len());
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    format!(
        "never measured, of the tables that matter: {}{more}; in the rows they follow from smaller tables\n",
        named.join(", ")
    )
}

/// What an analyst may and may not conclude.
fn conclusions(made: &SyntheticRelease, report: &Report) -> Vec<String> {
    let mut lines = vec![
        "trust a table of the rows as far as it was measured: to the distance above, half the sum of differences of shares".to_owned(),
        "do not conclude that columns are independent because they are in the rows; nothing may have been measured of them".to_owned(),
        "do not compute standard errors from the rows as if they were data: more rows are not more information".to_owned(),
    ];
    if made.rows_per_unit > 1 {
        lines.push(format!(
            "each {} counted with at most {} rows, drawn at random, and the rows are not linked to each other",
            made.unit, made.rows_per_unit
        ));
    }
    let noisy = report
        .measured
        .iter()
        .filter(|table| table.distance_of_noise > 0.25)
        .count();
    if noisy * 2 > report.measured.len() {
        lines.push(
            "most of what was measured is mostly noise at this ε: ask for fewer columns, wider bins, a larger ε, or name the tables that matter"
                .to_owned(),
        );
    }
    if !made.impossible.is_empty() {
        lines.push(format!(
            "no row breaks a rule of the catalog: {}; where the data does, the tables above are further off",
            made.impossible.join("; ")
        ));
    }
    if !made.left_out.is_empty() {
        let names: Vec<&str> = made.left_out.iter().map(|(name, _)| name.as_str()).collect();
        lines.push(format!("columns that are not in the rows: {}", names.join(", ")));
    }
    lines
}

/// The comparison as a page.
fn page(made: &SyntheticRelease, report: &Report, check: Option<&SyntheticCheck>) -> String {
    let checked = check.map_or(String::new(), |check| format!("\n\n{}", check.paragraph()));
    let mut page = Page::new(
        format!("Synthetic rows of {}", made.table),
        format!(
            "{}. {} rows, made of {} measured tables; the data seems to have {} rows. Everything here compares the rows with noisy counts that were measured, and nothing with the data, so it cost nothing{}. {}. {}{}{checked}",
            made.header(),
            report.rows,
            report.measured.len(),
            report.estimated_rows.round(),
            check.map_or("", |_| "; the check at the end was paid for by itself"),
            conclusions(made, report).join(". "),
            pairs(report),
            never(report),
        ),
    );
    page.heat_map(heat_map(report, usize::MAX));
    let points = |wanted: &dyn Fn(&MeasuredTable) -> bool| -> Vec<(f64, f64)> {
        let tables = report.measured.iter().filter(|table| wanted(table));
        tables
            .map(|table| (100.0 * table.distance_of_noise, 100.0 * table.distance))
            .collect()
    };
    let figure = Figure::new(
        "Distance of rows from what was measured, beside what noise alone explains; a point a table",
    )
    .x_axis("of noise alone, %", Scale::Linear)
    .y_axis("distance, %", Scale::Linear)
    .points(
        "as noise explains",
        &points(&|table| table.standing != Standing::Off),
    )
    .points("further off", &points(&|table| table.standing == Standing::Off));
    page.figure(figure);
    page.to_html()
}

/// What stands behind each pair: 2 measured, 1 through others, 0 nothing.
fn heat_map(report: &Report, most: usize) -> HeatMap {
    let mut names: Vec<String> = Vec::new();
    for name in report.pairs.iter().flat_map(|pair| &pair.by) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.truncate(most);
    let value = |row: &String, column: &String| {
        let is_meant = |pair: &&PairReport| pair.by.contains(row) && pair.by.contains(column);
        let found = report.pairs.iter().find(is_meant).filter(|_| row != column);
        found.map(|pair| match pair.connection {
            Connection::Measured => 2.0,
            Connection::Through => 1.0,
            Connection::Independent => 0.0,
        })
    };
    let values = names
        .iter()
        .flat_map(|row| names.iter().map(move |column| (row, column)));
    let values = values.map(|(row, column)| value(row, column)).collect();
    HeatMap::new(
        "What stands behind each pair of columns: 2 measured together, 1 connected through others, 0 independent in the rows",
        names.clone(),
        names,
        values,
    )
}
