//! People with hostile values, and the ways in which they are stored.

use super::Seeded;
use crate::catalog::Catalog;
use crate::values::facts::Kind;
use datafusion::arrow::array::{
    Array, ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    x: Option<f64>,
    y: Option<i64>,
    s: Option<String>,
    d: Option<i32>,
}

/// The rows of one person.
#[derive(Clone, Debug)]
pub(super) struct Person(Vec<Row>);

/// How people are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    Csv,
    /// With statistics, page index, Bloom filters and dictionaries; few rows a part.
    ParquetInParts,
    /// The same in one part.
    ParquetWhole,
    /// Batches that the program holds, a few rows each.
    Memory,
}

impl Storage {
    pub(super) const ALL: [Self; 4] = [Self::Csv, Self::ParquetInParts, Self::ParquetWhole, Self::Memory];
}

fn floats() -> Vec<Option<f64>> {
    let mut floats = vec![0.0, -0.0, 1.0, 50.0, -3.25, 2.5, 1e300, -1e300, 5e-324, -5e-324];
    floats.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::NAN, 1.0]);
    floats.extend(
        [
            0x7ff8_0000_0000_beef_u64,
            0xfff8_0000_0000_0001,
            0x7ff0_0000_0000_0001,
        ]
        .map(f64::from_bits),
    );
    floats.into_iter().map(Some).chain([None]).collect()
}

const INTEGERS: [Option<i64>; 9] = [
    Some(0),
    Some(1),
    Some(-1),
    Some(5),
    Some(100),
    Some(i64::MIN),
    Some(i64::MAX),
    Some(1 << 53),
    None,
];

const DAYS: [Option<i32>; 8] = [
    Some(0),
    Some(-1),
    Some(19_753),
    Some(-719_162),
    Some(2_932_896),
    Some(i32::MIN),
    Some(i32::MAX),
    None,
];

fn texts() -> Vec<Option<String>> {
    let mut texts: Vec<String> = [
        "", "a", "A", "n9", "n1", "7", "-0", "NaN", "e\u{301}", "é", "E\u{301}", "a\u{0}b", "ß", "İ",
    ]
    .map(str::to_owned)
    .into();
    texts.push("x".repeat(5000));
    texts.push("é".repeat(3000));
    texts.push("\u{1d15e}".repeat(2000));
    texts.into_iter().map(Some).chain([None]).collect()
}

/// A person: of no rows, of a few, or of many alike.
pub(super) fn person(seeded: &mut Seeded) -> Person {
    let (floats, texts) = (floats(), texts());
    let row = |seeded: &mut Seeded| Row {
        x: *seeded.pick(&floats),
        y: *seeded.pick(&INTEGERS),
        s: seeded.pick(&texts).clone(),
        d: *seeded.pick(&DAYS),
    };
    if seeded.once_in(9) {
        let one = row(seeded);
        return Person(vec![one; 30]);
    }
    Person((0..seeded.below(5)).map(|_| row(seeded)).collect())
}

/// A person with one row, of this name.
pub(super) fn named(name: &str) -> Person {
    Person(vec![Row {
        x: Some(1.0),
        y: Some(1),
        s: Some(name.to_owned()),
        d: Some(0),
    }])
}

/// A person with these numbers.
pub(super) fn with_numbers(numbers: &[f64]) -> Person {
    let row = |x: &f64| Row {
        x: Some(*x),
        y: Some(1),
        s: None,
        d: Some(0),
    };
    Person(numbers.iter().map(row).collect())
}

/// A person with very many rows, all of them different.
pub(super) fn crowd(rows: usize) -> Person {
    let row = |place: usize| Row {
        x: Some(place as f64),
        y: Some(place as i64),
        s: Some(format!("a text that differs in its number {place}")),
        d: Some(0),
    };
    Person((0..rows).map(row).collect())
}

const CATALOG: &str = r#"
name = "hunted"
[unit]
whose = "person"
neighbors = "add_remove"
[budget]
epsilon = 1000
delta = 1e-6
ledger = "unused.ledger"
[budget.query]
delta = 1e-9
[limits]
groups = 2
rows_per_group = 3
[tables.t]
source = "SOURCE"
format = "FORMAT"
unit = "u"
[tables.t.columns]
u = { kind = "int" }
x = { kind = "float", bounds = [-10, 50] }
y = { kind = "int", bounds = [-5, 1000] }
s = { kind = "text" }
d = { kind = "date" }
[tables.p]
source = "PUBLIC/p.csv"
public = true
[tables.p.columns]
x = { kind = "float" }
y = { kind = "int" }
s = { kind = "text" }
d = { kind = "date" }
[tables.k]
source = "PUBLIC/k.csv"
public = true
keys = [["s"]]
[tables.k.columns]
s = { kind = "text" }
x = { kind = "float", bounds = [0, 9] }
"#;

/// The same catalog, in which people are named by this kind of column.
pub(super) fn named_by(catalog: &Catalog, kind: Kind) -> Catalog {
    let mut catalog = catalog.clone();
    let table = catalog.tables.get_mut("t").unwrap();
    table.columns[0].1.kind = kind;
    catalog
}

fn with_places(source: &str, format: &str, public: &Path) -> Catalog {
    let text = CATALOG
        .replace("SOURCE", source)
        .replace("FORMAT", format)
        .replace("PUBLIC", &public.display().to_string());
    Catalog::parse(&text, public).unwrap()
}

/// The catalog of people whom [`write_directories`] wrote, wherever they were put.
pub(super) fn directories_catalog(source: &str, public: &Path) -> Catalog {
    let text = CATALOG
        .replacen(
            "format = \"FORMAT\"\n",
            "format = \"parquet\"\npartitions = [\"y\", \"d\"]\n",
            1,
        )
        .replace("SOURCE", source)
        .replace("PUBLIC", &public.display().to_string());
    Catalog::parse(&text, public).unwrap()
}

/// Writes some people to files in directories that are named by two of their values, one of which many directories lack.
pub(super) fn write_directories(directory: &Path, people: &[(usize, &Person)]) {
    let null = || "__HIVE_DEFAULT_PARTITION__".to_owned();
    let mut files: BTreeMap<String, Vec<(i64, &Row)>> = BTreeMap::new();
    // Where nobody is there is still a table.
    files.insert(format!("y={}/d={}", null(), null()), Vec::new());
    for (id, row) in people
        .iter()
        .flat_map(|(id, person)| person.0.iter().map(move |row| (*id, row)))
    {
        let y = row.y.map_or_else(null, |y| y.to_string());
        let d = row.d.map_or_else(null, |d| written(d).to_owned());
        files
            .entry(format!("y={y}/d={d}"))
            .or_default()
            .push((id as i64, row));
    }
    for (place, rows) in files {
        let place = directory.join(place);
        std::fs::create_dir_all(&place).unwrap();
        parquet(&place.join("0.parquet"), numbers(&rows), &rows, 4);
    }
    std::fs::write(directory.join("_SUCCESS"), "").unwrap();
}

/// The catalog of a database that [`write`] wrote.
pub(super) fn catalog(directory: &Path, storage: Storage) -> Catalog {
    match storage {
        Storage::Csv => with_places("t", "csv", directory),
        Storage::ParquetInParts | Storage::ParquetWhole => with_places("t", "parquet", directory),
        Storage::Memory => {
            let text = CATALOG
                .replacen(
                    "source = \"SOURCE\"\nformat = \"FORMAT\"\n",
                    "source = \"memory\"\n",
                    1,
                )
                .replace("PUBLIC", &directory.display().to_string());
            let mut catalog = Catalog::parse(&text, directory).unwrap();
            catalog
                .provide_batches("t", batches(&directory.join("t")))
                .unwrap();
            catalog
        }
    }
}

/// The catalog of people in a database, which [`statements`] wrote, beside public tables.
pub(super) fn database_catalog(connection: &str, table: &str, public: &Path) -> Catalog {
    let place = format!("source = \"{connection}\"\ntable = \"{table}\"\n");
    let text = CATALOG
        .replacen("source = \"SOURCE\"\nformat = \"FORMAT\"\n", &place, 1)
        .replace("PUBLIC", &public.display().to_string());
    Catalog::parse(&text, public).unwrap()
}

/// Statements that write some people to a table of a database. It has no text with a zero byte, and other days at its ends.
pub(super) fn statements<'a>(
    schema: &str,
    table: &str,
    people: impl Iterator<Item = (usize, &'a Person)>,
) -> String {
    statements_named(schema, table, "int8", people, |id, _| id.to_string())
}

/// The same, with people who are named by a column of this type: of each row of each person, how the database writes the name.
pub(super) fn statements_named<'a>(
    schema: &str,
    table: &str,
    of: &str,
    people: impl Iterator<Item = (usize, &'a Person)>,
    named: impl Fn(usize, usize) -> String,
) -> String {
    let mut text = format!("CREATE TABLE {schema}.{table} (u {of}, x float8, y int8, s text, d date);");
    let rows = people.flat_map(|(id, person)| {
        let rows = person.0.iter().enumerate();
        rows.map(move |(place, row)| (id, place, row))
    });
    for (id, place, row) in rows {
        let id = named(id, place);
        let null = || "NULL".to_owned();
        let day = |day: i32| match day {
            i32::MIN => "'-infinity'".to_owned(),
            i32::MAX => "'infinity'".to_owned(),
            day => format!("'1970-01-01'::date + {day}"),
        };
        text += &format!(
            "INSERT INTO {schema}.{table} VALUES ({id}, {}, {}, {}, {});",
            row.x.map_or_else(null, |x| format!("'{x}'::float8")),
            row.y.map_or_else(null, |y| format!("'{y}'::int8")),
            row.s.as_ref().map_or_else(null, |s| format!(
                "'{}'",
                s.replace('\0', " ").replace('\'', "''")
            )),
            row.d.map_or_else(null, day),
        );
    }
    text
}

/// The rows of all files, as they lie there.
fn batches(directory: &Path) -> Vec<RecordBatch> {
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    let read = |file| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
        reader.with_batch_size(3).build().unwrap().map(Result::unwrap)
    };
    files.into_iter().flat_map(read).collect()
}

/// The catalog of a file that another program wrote, beside public tables.
pub(super) fn foreign_catalog(file: &Path, public: &Path) -> Catalog {
    with_places(&file.display().to_string(), "parquet", public)
}

/// The public tables.
pub(super) fn write_publics(directory: &Path) {
    let p = "x,y,s,d\n0,0,a,1970-01-01\n-0.0,1,n9,\nNaN,,é,2024-01-31\n50,5,,0001-01-01\ninf,1,A,\n";
    std::fs::write(directory.join("p.csv"), p).unwrap();
    std::fs::write(directory.join("k.csv"), "s,x\na,1\nn9,-0.0\né,NaN\n").unwrap();
}

fn rows_of<'a>(people: &[(usize, &'a Person)]) -> Vec<(i64, &'a Row)> {
    people
        .iter()
        .flat_map(|(id, person)| person.0.iter().map(|row| (*id as i64, row)))
        .collect()
}

/// Writes some people, in an order of their rows that is not theirs, to one or two files.
pub(super) fn write(directory: &Path, people: &[(usize, &Person)], storage: Storage, seeded: &mut Seeded) {
    let mut rows = rows_of(people);
    for place in (1..rows.len()).rev() {
        rows.swap(place, seeded.below(place + 1));
    }
    write_rows(directory, &rows, storage, seeded);
}

/// The same, sorted by person.
pub(super) fn write_sorted(
    directory: &Path,
    people: &[(usize, &Person)],
    storage: Storage,
    seeded: &mut Seeded,
) {
    let mut rows = rows_of(people);
    rows.sort_by_key(|(id, _)| *id);
    write_rows(directory, &rows, storage, seeded);
}

fn write_rows(directory: &Path, rows: &[(i64, &Row)], storage: Storage, seeded: &mut Seeded) {
    std::fs::create_dir_all(directory.join("t")).unwrap();
    write_publics(directory);
    let cut = if seeded.once_in(2) { rows.len() / 3 } else { 0 };
    for (place, rows) in [&rows[..cut], &rows[cut..]].into_iter().enumerate() {
        let file = directory.join("t").join(format!(
            "{place}.{}",
            if storage == Storage::Csv { "csv" } else { "parquet" }
        ));
        match storage {
            Storage::Csv => std::fs::write(file, csv(rows, |id| id.to_string())).unwrap(),
            Storage::ParquetInParts => parquet(&file, numbers(rows), rows, 4),
            Storage::ParquetWhole | Storage::Memory => parquet(&file, numbers(rows), rows, 1 << 20),
        }
    }
}

/// Writes some people who are named by texts, each by the text at its place.
pub(super) fn write_named(directory: &Path, people: &[(usize, &Person)], storage: Storage, names: &[&str]) {
    std::fs::create_dir_all(directory.join("t")).unwrap();
    write_publics(directory);
    let rows = rows_of(people);
    let name = |id: i64| names[id as usize];
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        rows.iter().map(|(id, _)| name(*id)),
    ));
    let file = |extension: &str| directory.join("t").join(format!("0.{extension}"));
    match storage {
        // In quotes, so that blanks belong to the name.
        Storage::Csv => {
            std::fs::write(file("csv"), csv(&rows, |id| format!("\"{}\"", name(id)))).unwrap();
        }
        Storage::ParquetInParts => parquet(&file("parquet"), texts, &rows, 4),
        Storage::ParquetWhole | Storage::Memory => parquet(&file("parquet"), texts, &rows, 1 << 20),
    }
}

fn csv(rows: &[(i64, &Row)], named: impl Fn(i64) -> String) -> String {
    let mut text = String::from("u,x,y,s,d\n");
    for (id, row) in rows {
        let id = named(*id);
        let number = |value: Option<String>| value.unwrap_or_default();
        let day = row.d.map(|day| written(day).to_owned());
        text += &format!(
            "{id},{},{},{},{}\n",
            number(row.x.map(|x| format!("{x:?}"))),
            number(row.y.map(|y| y.to_string())),
            number(row.s.as_ref().map(|s| format!("\"{}\"", s.replace('"', "\"\"")))),
            number(day),
        );
    }
    text
}

/// Some days as text; the others as words that are no day.
fn written(day: i32) -> &'static str {
    match day {
        0 => "1970-01-01",
        -1 => "1969-12-31",
        19_753 => "2024-01-31",
        -719_162 => "0001-01-01",
        2_932_896 => "9999-12-31",
        i32::MIN => "-9999999-01-01",
        _ => "tomorrow",
    }
}

fn numbers(rows: &[(i64, &Row)]) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(rows.iter().map(|(id, _)| *id)))
}

fn parquet(file: &Path, names: ArrayRef, rows: &[(i64, &Row)], rows_a_group: usize) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("u", names.data_type().clone(), true),
        Field::new("x", DataType::Float64, true),
        Field::new("y", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("d", DataType::Date32, true),
    ]));
    let columns: Vec<ArrayRef> = vec![
        names,
        Arc::new(Float64Array::from_iter(rows.iter().map(|(_, row)| row.x))),
        Arc::new(Int64Array::from_iter(rows.iter().map(|(_, row)| row.y))),
        Arc::new(StringArray::from_iter(
            rows.iter().map(|(_, row)| row.s.as_deref()),
        )),
        Arc::new(Date32Array::from_iter(rows.iter().map(|(_, row)| row.d))),
    ];
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_max_row_group_row_count(Some(rows_a_group))
        .set_data_page_row_count_limit(2)
        .set_write_batch_size(1)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_bloom_filter_enabled(true)
        .build();
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(file).unwrap(), schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}
