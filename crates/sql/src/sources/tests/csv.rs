use super::{count, rows, shown, table};
use crate::catalog::Source;
use crate::values::facts::Kind;
use std::path::{Path, PathBuf};

fn file(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn values_that_do_not_fit_are_null() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(
        directory.path(),
        "all.csv",
        "b,i,f,t,d,m\n\
         true,1,1.5,x,2020-01-01,2020-01-01T00:00:01\n\
         yes, 2 ,1e3, y ,1969-12-31,2020-01-01T02:00:00+02:00\n\
         maybe,two,one,,today,now\n\
         ,,,,,\n\
         1,99999999999999999999,1e999,\"a,b\",99999-01-01,9999999-01-01T00:00:00\n\
         0,1.0,0x10,NaN,2020-02-30,2020-02-30T00:00:00\n",
    );
    let table = table(
        Source::Csv(path),
        &[
            ("b", Kind::Bool),
            ("i", Kind::Int),
            ("f", Kind::Float),
            ("t", Kind::Text),
            ("d", Kind::Date),
            ("m", Kind::Timestamp),
        ],
    );
    assert_eq!(
        shown(&rows(&table).unwrap()),
        [
            "true 1 1.5 x 2020-01-01 2020-01-01T00:00:01",
            "true 2 1000.0 y 1969-12-31 2020-01-01T00:00:00",
            "- - -  - -",
            "- - -  - -",
            "true - - a,b - -",
            "false - - NaN - -",
        ]
    );
}

#[test]
fn broken_rows_raise_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(
        directory.path(),
        "ragged.csv",
        b"a,b,c\n1\n1,2,3,4,5\n\n\xff,\"2\n2\",3\r\n1,\"2" as &[u8],
    );
    let columns = [("c", Kind::Int), ("a", Kind::Text)];
    let table = table(Source::Csv(path), &columns);
    assert_eq!(shown(&rows(&table).unwrap()), ["- 1", "3 1", "3 -", "- 1"]);
    assert!(count(&table).contains("| 4 "), "{}", count(&table));
}

/// A quote that one row never closes takes no other row with it.
#[test]
fn an_unclosed_quote_stays_in_its_row() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = "id,name\n".to_owned();
    for id in 0..1000 {
        text += &format!("{id},person {id}\n");
        if id == 499 {
            text += "5000,\"unfinished\n";
        }
    }
    let path = file(directory.path(), "people.csv", text);
    let table = table(Source::Csv(path), &[("id", Kind::Int), ("name", Kind::Text)]);
    assert!(count(&table).contains("| 1001 "), "{}", count(&table));
    assert!(shown(&rows(&table).unwrap()).contains(&"5000 \"unfinished".to_owned()));
}

#[test]
fn directories_are_read_whole_and_by_name() {
    let directory = tempfile::tempdir().unwrap();
    file(directory.path(), "1.csv", "a,b\n1,x\n");
    file(directory.path(), "2.csv", "b,a\ny,2\n");
    file(directory.path(), "3.tsv", "b\ta\nz,z\t3\n");
    file(directory.path(), "notes.txt", "not a table");
    file(directory.path(), ".4.csv", "a,b\n4,hidden\n");
    std::fs::create_dir(directory.path().join("5.csv")).unwrap();
    let mut table = table(
        Source::Csv(directory.path().to_owned()),
        &[("a", Kind::Int), ("b", Kind::Text)],
    );
    let mut found = shown(&rows(&table).unwrap());
    found.sort();
    assert_eq!(found, ["1 x", "2 y", "3 z,z"]);
    assert!(count(&table).contains("| 3 "), "{}", count(&table));
    table.columns.truncate(1);
    let mut found = shown(&rows(&table).unwrap());
    found.sort();
    assert_eq!(found, ["1", "2", "3"], "what is not declared is left out");
    file(directory.path(), "6.csv", "a,c\n1,2\n");
    let error = rows(&table).unwrap_err().to_string();
    assert!(error.contains("different columns"), "{error}");
}

#[test]
fn many_rows_come_in_order_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let text: String = std::iter::once("a\n".to_owned())
        .chain((0..20_000).map(|row| format!("{row}\n")))
        .collect();
    let path = file(directory.path(), "many.csv", text);
    let found = rows(&table(Source::Csv(path), &[("a", Kind::Int)])).unwrap();
    let expected: Vec<_> = (0..20_000).map(|row| row.to_string()).collect();
    assert_eq!(shown(&found), expected);
}

#[test]
fn what_is_wrong_with_a_file_is_reported_without_its_content() {
    let directory = tempfile::tempdir().unwrap();
    let asks = |path: PathBuf| {
        let error = rows(&table(Source::Csv(path), &[("age", Kind::Int)])).unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(!said.contains("Lovelace"), "{said}");
        error.to_string()
    };
    let missing = asks(directory.path().join("none.csv"));
    assert!(missing.contains("none.csv cannot be read"), "{missing}");
    let empty = asks(file(directory.path(), "a.csv", ""));
    assert!(empty.contains("a file is empty"), "{empty}");
    let double = asks(file(directory.path(), "b.csv", "Lovelace,lovelace\n1,2\n"));
    assert!(double.contains("two columns have the same name"), "{double}");
    let unnamed = asks(file(directory.path(), "c.csv", "Lovelace,,\n"));
    assert!(unnamed.contains("a name in the first line is empty"), "{unnamed}");
    let lacking = asks(file(directory.path(), "d.csv", "Lovelace,Age\n1,2\n"));
    assert!(lacking.contains("table `t` has no column `age`"), "{lacking}");
    let directory = tempfile::tempdir().unwrap();
    let none = asks(directory.path().to_owned());
    assert!(none.contains("has no files that end in .csv or .tsv"), "{none}");
}
