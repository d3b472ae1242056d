//! TRUSTED-BASE.md: which files it lists, and the figures in it.
//!
//! A heading ends with a folder: `## Samplers: `crates/noise/src``. The rows of the table under it begin with files and folders of it, and the number of their lines stands in the second cell; that of all of them
//! in a row that begins with `together`. Under a heading that begins with `Named, and not trusted` the second cell is a reason instead. The number of all lines stands between `<!-- lines -->` and `<!-- end -->`.

/// A row of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) line: usize,
    /// Files, and folders with `/` at the end, from the root.
    pub(crate) paths: Vec<String>,
}

impl Row {
    /// Whether the row lists a file.
    pub(crate) fn lists(&self, file: &str) -> bool {
        self.paths.iter().any(|path| match path.ends_with('/') {
            true => file.starts_with(path.as_str()),
            false => file == path,
        })
    }
}

const EXCUSED: &str = "Named, and not trusted";
const TOGETHER: &str = "| together ";
const OPEN: &str = "<!-- lines -->";
const END: &str = "<!-- end -->";

/// A row of what is named without being trusted.
pub(crate) struct Excused {
    pub(crate) row: Row,
    pub(crate) has_reason: bool,
}

/// The rows of trusted files.
pub(crate) fn rows(page: &str) -> Vec<Row> {
    all_rows(page, false)
}

/// The rows of files that are named without being trusted.
pub(crate) fn excused(page: &str) -> Vec<Excused> {
    let has_reason = |row: &Row| {
        let line = page.lines().nth(row.line - 1).unwrap_or_default();
        line.split('|')
            .nth(2)
            .is_some_and(|reason| !reason.trim().is_empty())
    };
    let rows = all_rows(page, true).into_iter();
    rows.map(|row| Excused {
        has_reason: has_reason(&row),
        row,
    })
    .collect()
}

fn all_rows(page: &str, excused: bool) -> Vec<Row> {
    let mut folder = None;
    let mut found = Vec::new();
    for (at, line) in page.lines().enumerate() {
        if line.starts_with('#') {
            let wanted = line.trim_start_matches(['#', ' ']).starts_with(EXCUSED) == excused;
            folder = folder_of(line).filter(|_| wanted);
        }
        let Some(folder) = &folder else { continue };
        let paths = paths_of(line, folder);
        if !paths.is_empty() {
            found.push(Row { line: at + 1, paths });
        }
    }
    found
}

fn folder_of(heading: &str) -> Option<String> {
    let (_, rest) = heading.split_once(": `")?;
    Some(rest.strip_suffix('`')?.to_owned())
}

/// The files that stand in the first cell of a row.
fn paths_of(line: &str, folder: &str) -> Vec<String> {
    let first = line.strip_prefix("| `").and_then(|rest| rest.split('|').next());
    let names = first.into_iter().flat_map(|cell| cell.split('`').step_by(2));
    let names = names.filter(|name| !name.trim().is_empty());
    names.map(|name| format!("{folder}/{name}")).collect()
}

/// The page with these figures in it.
pub(crate) fn with_figures(page: &str, lines: impl Fn(&Row) -> usize) -> String {
    let (mut written, mut all, mut together) = (Vec::new(), 0, 0);
    let rows = rows(page);
    for (at, line) in page.lines().enumerate() {
        if line.starts_with('#') {
            together = 0;
        }
        let row = rows.iter().find(|row| row.line == at + 1);
        written.push(match row {
            Some(row) => {
                let count = lines(row);
                (all, together) = (all + count, together + count);
                with_second_cell(line, count)
            }
            None if line.starts_with(TOGETHER) => with_second_cell(line, std::mem::take(&mut together)),
            None => line.to_owned(),
        });
    }
    let written = written.join("\n") + "\n";
    match (written.find(OPEN), written.find(END)) {
        (Some(open), Some(end)) if open < end => {
            format!(
                "{}{}{}",
                &written[..open + OPEN.len()],
                thousands(all),
                &written[end..]
            )
        }
        _ => written,
    }
}

fn with_second_cell(line: &str, count: usize) -> String {
    let mut cells: Vec<String> = line.split('|').map(str::to_owned).collect();
    if let Some(cell) = cells.get_mut(2) {
        *cell = format!(" {} ", thousands(count));
    }
    cells.join("|")
}

fn thousands(count: usize) -> String {
    match count {
        0..1000 => count.to_string(),
        _ => format!("{},{:03}", count / 1000, count % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Base
All: <!-- lines -->?<!-- end --> lines.
## Samplers: `crates/noise/src`
| module | lines | promises |
|---|--:|---|
| `a.rs`, `b/` | 0 | `exact` |
| `c.rs` |  | |
| together | | |
## Alone: `crates/exact/src`
| `e.rs` | | |
## Low: `crates/low/src`
| `f.rs` | | |
| together | | |
## Outside
| `d.rs` | 7 | |
";

    #[test]
    fn rows_are_read_and_figures_written() {
        let rows = rows(PAGE);
        assert_eq!(rows[0].paths, ["crates/noise/src/a.rs", "crates/noise/src/b/"]);
        assert_eq!((rows.len(), rows[1].line), (4, 7));
        assert!(rows[0].lists("crates/noise/src/b/mod.rs") && !rows[0].lists("crates/noise/src/b.rs"));
        let written = with_figures(PAGE, |row| 1200 / row.paths.len());
        assert!(written.contains("<!-- lines -->4,200<!-- end -->"), "{written}");
        assert!(
            written
                .contains("| `a.rs`, `b/` | 600 | `exact` |\n| `c.rs` | 1,200 | |\n| together | 1,800 | |")
        );
        assert!(written.contains("| `f.rs` | 1,200 | |\n| together | 1,200 | |"));
        assert!(written.contains("| `d.rs` | 7 | |"));
    }
}
