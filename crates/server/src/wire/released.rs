//! Tables that were released, as tables of the schema `releases`: readable for nothing.
//!
//! Their rows lie in the database of the system catalogs, of which there are a few copies, and statements over
//! them have the limits of statements over the catalogs. So those that are there are limited in number, since
//! clients list them all, and in cells, since they lie in memory; the others are read over HTTP. What is there
//! is loaded once for everybody, when the server makes a release, and looked up once a minute at most, in case
//! that another program has made one: nobody's statement makes it happen more often.

use super::catalogs::Catalogs;
use super::system::{Cell, Column, ColumnType, Table};
use crate::service::Service;
use sql::{Answer, CellValue, ReleasedTables};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Tables of all releases together. Clients ask about each of them when they connect, and a statement over the
/// catalogs does a limited amount of work.
const MOST_TABLES: usize = 100;
/// Cells of all of them together.
const MOST_CELLS: u64 = 100_000;
/// How often other programs' releases are looked up.
const BETWEEN_LOOKS: Duration = Duration::from_secs(60);
/// Names in PostgreSQL have so many bytes at most.
const LONGEST_NAME: usize = 63;

/// Which releases the system catalogs show.
#[derive(Debug, Default)]
pub(super) struct Released {
    state: Mutex<State>,
    /// One load at a time.
    loading: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    /// How many releases this server had made when it was looked, and when that was.
    looked: Option<(u64, Instant)>,
    /// The releases that are shown, with the charges that paid for them.
    shown: Vec<(String, u64)>,
}

impl Released {
    /// Loads what this server has released since it was last looked, and has looked for what others released.
    /// If that fails, the catalogs stay what they are, and it is tried again in a minute.
    pub(super) async fn refresh(this: &Arc<Self>, service: &Arc<Service>, catalogs: &Arc<Catalogs>) {
        if service.dataset().catalog().releases.is_empty() {
            return;
        }
        let made = service.releases_made();
        let looked = this.lock().looked;
        match looked {
            Some((known, since)) if known == made && since.elapsed() < BETWEEN_LOOKS => {}
            Some((known, _)) if known == made => {
                // Nobody waits for it, and nobody else begins it.
                this.lock().looked = Some((made, Instant::now()));
                let (this, service, catalogs) = (Arc::clone(this), Arc::clone(service), Arc::clone(catalogs));
                tokio::spawn(async move {
                    let _one = this.loading.lock().await;
                    this.load(&service, &catalogs, made).await;
                });
            }
            _ => {
                let _one = this.loading.lock().await;
                let known = this.lock().looked;
                if known.is_none_or(|(known, _)| known < made) {
                    this.load(service, catalogs, made).await;
                }
            }
        }
    }

    /// Shows what was made by now. One at a time: an older look never takes the place of a newer one.
    async fn load(&self, service: &Arc<Service>, catalogs: &Catalogs, made: u64) {
        // What cannot be read now stays as it was, and is tried again.
        let Ok(found) = service.made_releases().await else {
            return;
        };
        let is_new = found != self.lock().shown;
        if is_new {
            let mut tables = Vec::new();
            let mut cells = 0;
            let mut taken = BTreeSet::new();
            let mut all_read = true;
            for (release, _) in &found {
                let room = (MOST_TABLES.saturating_sub(tables.len()), MOST_CELLS - cells);
                let Ok(read) = service
                    .read_for_everybody(release, move |released| tables_of(released, room))
                    .await
                else {
                    all_read = false;
                    continue;
                };
                for mut table in read {
                    cells += table.cells();
                    table.name = distinct(&table.name, &mut taken);
                    tables.push(table);
                }
            }
            let service = Arc::clone(service);
            let built = tokio::task::spawn_blocking(move || {
                super::described(service.dataset().catalog(), tables).ok()
            });
            if let Ok(Some(system)) = built.await {
                catalogs.replace(system);
                if all_read {
                    self.lock().shown = found;
                }
            }
        }
        let mut state = self.lock();
        let known = state.looked.map_or(0, |(known, _)| known);
        state.looked = Some((made.max(known), Instant::now()));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tables of a release, as far as there is room for so many tables and cells.
fn tables_of(released: &ReleasedTables, (mut tables, mut cells): (usize, u64)) -> Vec<Table> {
    let mut shown = Vec::new();
    for by in released.by() {
        let names: Vec<&str> = by.iter().map(String::as_str).collect();
        let Ok(size) = released.cells_of(&names) else {
            continue;
        };
        if tables == 0 {
            break;
        }
        if size > cells {
            continue;
        }
        if let Ok(answer) = released.table(&names) {
            (tables, cells) = (tables - 1, cells - size);
            shown.push(table_of(&name_of(&released.release, &by), &answer));
        }
    }
    shown
}

/// A name that is written without quotes: the release, and what the table is by.
fn name_of(release: &str, by: &[String]) -> String {
    let by = match by.is_empty() {
        true => "total".to_owned(),
        false => by.join("_"),
    };
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => '_',
    };
    let name: String = format!("{release}_{by}").chars().map(plain).collect();
    match name.starts_with(|letter: char| letter.is_ascii_digit()) {
        true => format!("_{name}"),
        false => name,
    }
}

/// The name, no longer than names are, and different from those that were taken.
fn distinct(name: &str, taken: &mut BTreeSet<String>) -> String {
    let cut = |ending: &str| {
        let mut kept = name.to_owned();
        kept.truncate(LONGEST_NAME - ending.len());
        kept + ending
    };
    let mut shown = cut("");
    let mut number = 2;
    while !taken.insert(shown.clone()) {
        shown = cut(&format!("_{number}"));
        number += 1;
    }
    shown
}

fn table_of(name: &str, answer: &Answer) -> Table {
    let mut columns = Vec::new();
    let mut taken = BTreeSet::new();
    for column in &answer.columns {
        let measured = column.has_intervals();
        let kind = if measured {
            ColumnType::Float8
        } else {
            ColumnType::Text
        };
        let endings: &[&str] = if measured { &["", "_low", "_high"] } else { &[""] };
        for ending in endings {
            let mut name = format!("{}{ending}", column.name);
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            columns.push(Column {
                name,
                kind,
                nullable: !measured,
            });
        }
    }
    let rows = answer.rows.iter().map(|row| {
        let cells = answer.columns.iter().zip(row).flat_map(|(column, cell)| {
            let number = |value: Option<f64>| value.map_or(Cell::Null, Cell::Float);
            match column.has_intervals() {
                true => vec![number(cell.value.as_f64()), number(cell.low), number(cell.high)],
                false => vec![match &cell.value {
                    CellValue::Null => Cell::Null,
                    CellValue::Text(text) => Cell::Text(text.clone()),
                    other => Cell::Text(other.to_string()),
                }],
            }
        });
        cells.collect()
    });
    Table {
        name: name.to_owned(),
        columns,
        released: Some(Arc::new(rows.collect())),
    }
}

impl Table {
    fn cells(&self) -> u64 {
        self.released.as_ref().map_or(0, |rows| rows.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes_and_are_distinct() {
        let by = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            name_of("Census-2", &by(&["Region", "ältere"])),
            "census_2_region__ltere"
        );
        assert_eq!(name_of("2024", &[]), "_2024_total");
        let mut taken = BTreeSet::new();
        let long = "x".repeat(100);
        let first = distinct(&long, &mut taken);
        let second = distinct(&long, &mut taken);
        assert_eq!((first.len(), second.len()), (63, 63));
        assert!(second.ends_with("_2") && first != second);
    }
}
