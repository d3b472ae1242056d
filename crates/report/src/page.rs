//! A report in one HTML file: what was claimed, what was measured, and the figures, without any external
//! asset.
//!
//! The caller gives text and [`Figure`]s, never markup, so everything in the page is escaped by construction.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure::{Figure, HeatMap};
use crate::markup::legal;

/// A page of claims and what became of them.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    introduction: String,
    heat_maps: Vec<HeatMap>,
    figures: Vec<Figure>,
    rows: Vec<Row>,
}

/// One claim: a line of the table, and a section below it when there is more to say.
#[derive(Clone, Debug)]
pub struct Row {
    id: String,
    claim: String,
    expected: String,
    measured: String,
    pass: bool,
    details: Vec<Detail>,
}

#[derive(Clone, Debug)]
enum Detail {
    Note(String),
    Figure(Figure),
}

impl Row {
    /// A claim, what it predicts, what was measured, and whether they agree.
    pub fn new(
        id: impl Into<String>,
        claim: impl Into<String>,
        expected: impl Into<String>,
        measured: impl Into<String>,
        pass: bool,
    ) -> Self {
        let (id, claim, expected, measured) = (id.into(), claim.into(), expected.into(), measured.into());
        Self {
            id,
            claim,
            expected,
            measured,
            pass,
            details: Vec::new(),
        }
    }

    /// Adds text to the claim's section; a blank line in it starts a new paragraph.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.details.push(Detail::Note(text.into()));
        self
    }

    /// Adds a figure to the claim's section, after what is already there.
    pub fn figure(mut self, figure: Figure) -> Self {
        self.details.push(Detail::Figure(figure));
        self
    }
}

impl Page {
    /// A report without rows; a blank line in the introduction starts a new paragraph.
    pub fn new(title: impl Into<String>, introduction: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            introduction: introduction.into(),
            heat_maps: Vec::new(),
            figures: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a grid after the introduction, before the figures.
    pub fn heat_map(&mut self, map: HeatMap) {
        self.heat_maps.push(map);
    }

    /// Adds a figure after the introduction.
    pub fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Adds a claim.
    pub fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// The page as one file.
    pub fn to_html(&self) -> String {
        let held = self.rows.iter().filter(|row| row.pass).count();
        let anchors = anchors(&self.rows);
        let sections = self.rows.iter().zip(&anchors);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (legal(&self.title)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    main {
                        h1 { (legal(&self.title)) }
                        (paragraphs(&self.introduction))
                        @for map in &self.heat_maps {
                            div class="wide" { (PreEscaped(map.to_svg())) }
                        }
                        @for figure in &self.figures {
                            (drawn(figure))
                        }
                        @if !self.rows.is_empty() {
                            p class={ "tally " (word(held == self.rows.len())) } {
                                (held) " of " (self.rows.len()) " claims hold."
                            }
                            (self.table(&anchors))
                        }
                        @for (row, anchor) in sections.filter(|(row, _)| !row.details.is_empty()) {
                            (section(row, anchor))
                        }
                    }
                }
            }
        };
        page.into_string() + "\n"
    }

    fn table(&self, anchors: &[String]) -> Markup {
        html! {
            div class="wide" {
                table {
                    thead {
                        tr {
                            @for heading in ["id", "claim", "expected", "measured", "result"] {
                                th scope="col" { (heading) }
                            }
                        }
                    }
                    tbody {
                        @for (row, anchor) in self.rows.iter().zip(anchors) {
                            tr {
                                td class="id" {
                                    @if row.details.is_empty() {
                                        (legal(&row.id))
                                    } @else {
                                        a href={ "#" (anchor) } { (legal(&row.id)) }
                                    }
                                }
                                td { (legal(&row.claim)) }
                                td class="value" { (legal(&row.expected)) }
                                td class="value" { (legal(&row.measured)) }
                                td { (badge(row.pass)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn word(pass: bool) -> &'static str {
    if pass { "pass" } else { "fail" }
}

/// Words as well as colour: not everyone sees red and green apart, and paper may be grey.
fn badge(pass: bool) -> Markup {
    html! {
        span class={ "badge " (word(pass)) } {
            @if pass { "✓ pass" } @else { "✗ fail" }
        }
    }
}

/// A figure is markup of our own, escaped where it was made.
fn drawn(figure: &Figure) -> Markup {
    html! { figure { (PreEscaped(figure.to_svg())) } }
}

fn section(row: &Row, anchor: &str) -> Markup {
    html! {
        section id=(anchor) {
            h2 {
                span class="id" { (legal(&row.id)) }
                " " (legal(&row.claim)) " " (badge(row.pass))
            }
            p class="value" {
                "expected " (legal(&row.expected)) " · measured " (legal(&row.measured))
            }
            @for detail in &row.details {
                @match detail {
                    Detail::Note(text) => (paragraphs(text)),
                    Detail::Figure(figure) => (drawn(figure)),
                }
            }
        }
    }
}

/// Text as paragraphs; a table that was laid out with spaces, as terminals show it, becomes a table.
fn paragraphs(text: &str) -> Markup {
    let mut found: Vec<Markup> = Vec::new();
    for paragraph in text
        .split("\n\n")
        .filter(|paragraph| !paragraph.trim().is_empty())
    {
        let lines: Vec<&str> = paragraph.trim_matches('\n').lines().collect();
        let mut words: Vec<&str> = Vec::new();
        let mut next = 0;
        while next < lines.len() {
            let table = laid_out(&lines[next..]).or_else(|| listed(&lines[next..]));
            let Some((table, taken)) = table else {
                words.push(lines[next]);
                next += 1;
                continue;
            };
            found.extend(in_words(&mut words));
            found.push(table);
            next += taken;
        }
        found.extend(in_words(&mut words));
    }
    html! { @for part in found { (part) } }
}

fn in_words(words: &mut Vec<&str>) -> Option<Markup> {
    let text = std::mem::take(words).join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| html! { p { (legal(text)) } })
}

/// A table with headings and a rule under them at the start of `lines`, as [`crate::Table`] lays it out, and
/// how many lines it takes. The rule says where columns are; a line with anything between them is no more of
/// the table.
fn laid_out(lines: &[&str]) -> Option<(Markup, usize)> {
    let [heading, rule, ..] = lines else { return None };
    let indent = rule.len() - rule.trim_start().len();
    let is_rule = rule.contains('─') && rule.chars().all(|character| matches!(character, '─' | ' '));
    if !is_rule || heading.trim().is_empty() {
        return None;
    }
    let mut columns: Vec<(usize, usize)> = Vec::new();
    let mut end = indent;
    for dashes in rule.trim().split("  ") {
        let width = dashes.chars().count();
        columns.push((end, end + width));
        end += width + 2;
    }
    let first = cells(heading, &columns)?;
    let rows: Vec<Vec<String>> = lines[2..]
        .iter()
        .map_while(|line| cells(line, &columns).filter(|cells| cells.iter().any(|cell| !cell.is_empty())))
        .collect();
    let table = html! {
        div class="wide" {
            table {
                thead {
                    tr {
                        @for cell in &first { th scope="col" { (legal(cell)) } }
                    }
                }
                tbody {
                    @for row in &rows {
                        tr {
                            @for cell in row { td { (legal(cell)) } }
                        }
                    }
                }
            }
        }
    };
    Some((table, 2 + rows.len()))
}

/// What a line has in each of these columns; `None` if there is anything beside them. An accent takes no
/// place of its own, and the last column may be wider than its rule.
fn cells(line: &str, columns: &[(usize, usize)]) -> Option<Vec<String>> {
    let mut cells = vec![String::new(); columns.len()];
    let mut place = 0;
    for character in line.chars() {
        let accent = ('\u{300}'..='\u{36f}').contains(&character);
        let at = if accent {
            place - usize::from(place > 0)
        } else {
            place
        };
        match columns
            .iter()
            .position(|(start, end)| (*start..*end).contains(&at))
        {
            Some(column) => cells[column].push(character),
            None if character == ' ' => {}
            None => return None,
        }
        place += usize::from(!accent);
    }
    Some(cells.iter().map(|cell| cell.trim().to_owned()).collect())
}

/// At least two indented lines of a name, two spaces or more and what it is: a table of two columns without
/// headings.
fn listed(lines: &[&str]) -> Option<(Markup, usize)> {
    let pairs: Vec<(&str, &str)> = lines
        .iter()
        .map_while(|line| {
            let indented = line.strip_prefix("  ")?.trim_end();
            let (name, value) = indented.trim_start().split_once("  ")?;
            Some((name, value.trim()))
        })
        .collect();
    if pairs.len() < 2 {
        return None;
    }
    let table = html! {
        div class="wide" {
            table {
                tbody {
                    @for (name, value) in &pairs {
                        tr {
                            th scope="row" { (legal(name)) }
                            td { (legal(value)) }
                        }
                    }
                }
            }
        }
    };
    Some((table, pairs.len()))
}

/// One link target a row, from its id so that links survive a new row, and distinct even when the ids are
/// not.
fn anchors(rows: &[Row]) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for row in rows {
        let plain = |character: char| {
            if character.is_ascii_alphanumeric() {
                character
            } else {
                '-'
            }
        };
        let wanted: String = std::iter::once("claim-")
            .chain([row.id.as_str()])
            .flat_map(str::chars)
            .map(plain)
            .collect();
        let mut anchor = wanted.clone();
        let mut copy = 2;
        while anchors.contains(&anchor) {
            anchor = format!("{wanted}-{copy}");
            copy += 1;
        }
        anchors.push(anchor);
    }
    anchors
}

const STYLE: &str = "
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --quiet: #59636e; --rule: #d9dde2; --tint: #f5f7f9;
  --pass: #0b6b4f; --pass-tint: #dcf3ea; --fail: #a53a00; --fail-tint: #fde7da; --link: #0a5f94; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #14171c; --ink: #e6e8eb; --quiet: #9aa4af; --rule: #2d333b; --tint: #1b1f26;
    --pass: #5fdcb3; --pass-tint: #11372b; --fail: #ff9f6b; --fail-tint: #43230f; --link: #6fbdf0; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -.01em; margin: 0 0 1rem; text-wrap: balance; }
h2 { font-size: 1.15rem; line-height: 1.35; margin: 0 0 .4rem; }
p { max-width: 44rem; margin: 0 0 .9rem; white-space: pre-line; overflow-wrap: anywhere; }
a { color: var(--link); }
.tally { font-weight: 600; }
.tally.pass { color: var(--pass); } .tally.fail { color: var(--fail); }
.wide { overflow-x: auto; margin: 1.5rem 0 2rem; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--quiet); }
th, td { padding: .5rem .9rem .5rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
td:last-child, th:last-child { padding-right: 0; }
.id { font-weight: 600; white-space: nowrap; }
.value { color: var(--quiet); }
td.value { color: inherit; min-width: 8rem; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: 1rem; font-size: .82rem; font-weight: 600;
  white-space: nowrap; vertical-align: .1em; }
.badge.pass { color: var(--pass); background: var(--pass-tint); }
.badge.fail { color: var(--fail); background: var(--fail-tint); }
section { border-top: 1px solid var(--rule); padding: 1.6rem 0 .8rem; scroll-margin-top: 1rem; }
div + section { border-top: 0; padding-top: 0; }
section:target { background: var(--tint); box-shadow: -1rem 0 var(--tint), 1rem 0 var(--tint); }
/* A figure has a margin of its own; this lines its title up with the text. */
figure { margin: .4rem -1rem .8rem; }
@media print {
  body { font-size: 10.5pt; } main { max-width: none; padding: 0; }
  .badge { border: 1px solid; print-color-adjust: exact; }
  tr, figure { break-inside: avoid; } h2 { break-after: avoid; } a { color: inherit; text-decoration: none; }
  section:target { background: none; box-shadow: none; }
}
";

#[cfg(test)]
mod tests {
    use super::{Page, Row};
    use crate::figure::Figure;

    fn report() -> Page {
        let mut report = Page::new("Claims", "First.\n\nSecond.");
        report.row(Row::new("M1", "noise is ε-DP", "ε = 1", "ε ≤ 1.00", true));
        let figure = Figure::new("Noise").line("", &[(0.0, 1.0), (1.0, 2.0)]);
        report.row(
            Row::new("M 2", "planted mutant", "rejected", "accepted", false)
                .note("Why.")
                .figure(figure),
        );
        report
    }

    #[test]
    fn every_row_is_in_the_table_and_only_rows_with_more_to_say_have_a_section() {
        let page = report().to_html();
        assert_eq!(page.matches("<tr><td").count(), 2);
        assert_eq!(page.matches("<section").count(), 1);
        assert!(
            page.contains("<a href=\"#claim-M-2\">M 2</a>") && page.contains("<section id=\"claim-M-2\">")
        );
        assert!(page.contains("<td class=\"id\">M1</td>"));
        assert!(page.contains("<p class=\"tally fail\">1 of 2 claims hold.</p>"));
        assert!(page.contains("<p>First.</p><p>Second.</p>"));
        let (note, figure) = (page.find("<p>Why.</p>"), page.find("<figure><svg"));
        assert!(note.is_some() && note < figure);
    }

    #[test]
    fn tables_stay_tables() {
        use crate::table::{Column, Table};
        let mut table = Table::new([Column::Left("who"), Column::Right("x̄"), Column::Left("why")]);
        table.row(["<ann>", "0.5", "two words"]);
        table.row(["", "12", ""]);
        let text = format!("Before.\n{table}After it.\n  seen     often & well\n  ε ≥      2\nEnd.");
        let mut report = Page::new("t", text);
        report.row(Row::new("a", "", "", "", true).note(format!("Some words.\n\n{table}")));
        let page = report.to_html();
        assert_eq!(
            page.matches("<th scope=\"col\">x\u{304}</th>").count(),
            2,
            "{page}"
        );
        for part in [
            "<p>Before.</p>",
            "<tr><td>&lt;ann&gt;</td><td>0.5</td><td>two words</td></tr>",
            "<tr><td></td><td>12</td><td></td></tr>",
            "<p>After it.</p>",
            "<tr><th scope=\"row\">seen</th><td>often &amp; well</td></tr>",
            "<tr><th scope=\"row\">ε ≥</th><td>2</td></tr>",
            "<p>End.</p>",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains('─'), "{page}");
    }

    #[test]
    fn the_badge_says_the_result_in_words() {
        let page = report().to_html();
        // The failed row has one in the table and one over its section.
        assert_eq!(
            page.matches("<span class=\"badge pass\">✓ pass</span>").count(),
            1
        );
        assert_eq!(
            page.matches("<span class=\"badge fail\">✗ fail</span>").count(),
            2
        );
    }

    #[test]
    fn nothing_the_caller_says_becomes_markup() {
        let hostile = "\"><script>alert(1)</script>&<b>";
        let mut report = Page::new(hostile, hostile);
        report.row(
            Row::new(hostile, hostile, hostile, hostile, true)
                .note(hostile)
                .figure(Figure::new(hostile)),
        );
        let page = report.to_html();
        assert!(!page.contains("<script") && !page.contains("<b>"));
        assert!(page.contains("id=\"claim----script-alert-1---script---b-\""));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = report().to_html().replace("http://www.w3.org/2000/svg", "");
        for asset in ["http:", "https:", "src=", "@import", "url(", "<link", "<script"] {
            assert!(!page.contains(asset), "{asset}");
        }
    }

    #[test]
    fn equal_ids_still_link_apart() {
        let mut report = Page::new("t", "");
        for id in ["a b", "a-b", "a b-2"] {
            report.row(Row::new(id, "", "", "", true).note("n"));
        }
        let page = report.to_html();
        for anchor in ["claim-a-b", "claim-a-b-2", "claim-a-b-2-2"] {
            assert_eq!(
                page.matches(&format!("<section id=\"{anchor}\">")).count(),
                1,
                "{anchor}"
            );
        }
    }

    #[test]
    fn an_empty_report_is_a_page() {
        let page = Page::new("Nothing", "").to_html();
        assert!(
            page.starts_with("<!DOCTYPE html>") && !page.contains("<table") && page.ends_with("</html>\n")
        );
    }
}
