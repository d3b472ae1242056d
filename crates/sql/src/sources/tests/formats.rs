//! Files as they come: raw, with other delimiters, quotes, encodings and numbers.

use super::{rows, shown};
use crate::Error;
use crate::catalog::Catalog;
use std::path::Path;

/// A catalog of one table `t`.
pub(super) fn catalog(directory: &Path, table: &str, columns: &str) -> Result<Catalog, Error> {
    let text = format!(
        "name = \"n\"\n[unit]\nwhose = \"person\"\n[budget]\nepsilon = 1\n[tables.t]\n{table}\n[tables.t.columns]\n{columns}\n"
    );
    Catalog::parse(&text, directory)
}

/// The rows of a file, as text.
fn read(file: &str, bytes: impl AsRef<[u8]>, table: &str, columns: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), bytes).unwrap();
    let table = format!("source = \"{file}\"\n{table}");
    let catalog = catalog(directory.path(), &table, columns).unwrap();
    shown(&rows(&catalog.tables["t"]).unwrap())
}

/// What is said of a file that cannot be read so.
fn refused(file: &str, bytes: impl AsRef<[u8]>, table: &str, columns: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), bytes).unwrap();
    let table = format!("source = \"{file}\"\n{table}");
    match catalog(directory.path(), &table, columns) {
        Err(error) => error.to_string(),
        Ok(catalog) => rows(&catalog.tables["t"]).unwrap_err().to_string(),
    }
}

/// As the file of the UCI is: no header, a comma and a space, `?` for what is missing, an empty line at the end, and labels with and without a period.
const ADULT: &str = "39, State-gov, 77516, Male, <=50K\n\
     50, ?, 83311, Female, >50K\n\
     38, Private, 215646, Male, <=50K.\n\
     ?, Private, 234721, ?, >50K.\n\n";

const ADULT_COLUMNS: &str = "age = { kind = \"int\", bounds = [17, 90] }\n\
     workclass = { kind = \"text\" }\n\
     fnlwgt = { kind = \"int\" }\n\
     sex = { kind = \"text\", values = [\"Male\", \"Female\"] }\n\
     income = { kind = \"text\", values = [\"<=50K\", \"<=50K.\", \">50K\", \">50K.\"] }";

#[test]
fn a_raw_file_without_a_header_is_read() {
    let expected = [
        "39 State-gov 77516 Male <=50K",
        "50 - 83311 Female >50K",
        "38 Private 215646 Male <=50K.",
        "- Private 234721 - >50K.",
    ];
    let format = "each_row = true\nheader = false\nnulls = [\"?\"]";
    assert_eq!(read("adult.csv", ADULT, format, ADULT_COLUMNS), expected);
    // Some of the columns, by the names of all.
    let some = "income = { kind = \"text\" }\nage = { kind = \"int\" }";
    let named = "each_row = true\nformat = \"csv\"\nheader = [\"age\", \"workclass\", \"fnlwgt\", \"sex\", \"income\"]";
    assert_eq!(
        read("adult.data", ADULT, named, some),
        ["<=50K 39", ">50K 50", "<=50K. 38", ">50K. -"]
    );
    // Where blanks belong to values, they do.
    let untrimmed = format!("{named}\ntrim = false");
    assert_eq!(read("adult.data", ADULT, &untrimmed, some)[0], " <=50K 39");
    // With a header, names and values are treated alike.
    let with_header = format!("age, workclass, fnlwgt, sex, income\n{ADULT}");
    let format = "each_row = true\nnulls = [\"?\"]";
    assert_eq!(read("adult.csv", &with_header, format, ADULT_COLUMNS), expected);
    let untrimmed = "each_row = true\ntrim = false";
    let said = refused("adult.csv", &with_header, untrimmed, ADULT_COLUMNS);
    assert!(said.contains("has no column `workclass`"), "{said}");
    let spaced = "\" sex\" = { kind = \"text\" }";
    assert_eq!(read("adult.csv", &with_header, untrimmed, spaced)[0], " Male");
}

#[test]
fn a_german_file_is_read() {
    let bytes = b"Kunde;Stra\xdfe;Umsatz;St\xfcck\n\
        1;M\xfcnchner Stra\xdfe;1.234,50;1.000\n\
        2;\"A; B\";-0,5;12\n\
        3;\x80uroplatz ; ;1,5\n\
        4;x;1.5;7\n";
    let columns = "Kunde = { kind = \"int\" }\n\"Straße\" = { kind = \"text\" }\nUmsatz = { kind = \"float\", bounds = [0, 1e6] }\n\"Stück\" = { kind = \"int\" }";
    let format = "unit = \"Kunde\"\nencoding = \"latin1\"\ndecimal = \",\"";
    let expected = [
        "1 Münchner Straße 1234.5 1000",
        "2 A; B -0.5 12",
        "3 €uroplatz - -",
        "4 x - 7",
    ];
    assert_eq!(read("kunden.csv", bytes, format, columns), expected);
    let declared = format!("{format}\ndelimiter = \";\"\nquote = '\"'");
    assert_eq!(read("kunden.csv", bytes, &declared, columns), expected);
    // In UTF-8 the names are no text, and the hint says what to do.
    let said = refused("kunden.csv", bytes, "unit = \"Kunde\"", columns);
    assert!(
        said.contains("is no text") && said.contains("encoding = \"latin1\""),
        "{said}"
    );
    let latin9 = "each_row = true\nencoding = \"iso-8859-15\"";
    assert_eq!(
        read("a.csv", b"a\n\xa4\n", latin9, "a = { kind = \"text\" }"),
        ["€"]
    );
}

#[test]
fn delimiters_and_quotes_are_found_in_the_header_alone() {
    let columns = "id = { kind = \"int\" }\nname = { kind = \"text\" }";
    let read = |file: &str, bytes: &str, format: &str| {
        read(file, bytes, &format!("unit = \"id\"\n{format}"), columns)
    };
    // Rows may hold more of another delimiter.
    let tabs = "id\tname\n1\ta,b,c\n2\t\"d\te\"\n";
    for file in ["a.tsv", "a.csv"] {
        assert_eq!(read(file, tabs, ""), ["1 a,b,c", "2 d\te"]);
    }
    assert_eq!(read("a.csv", "id|name\n1|a;b;c\n", ""), ["1 a;b;c"]);
    assert_eq!(
        read("a.csv", "'id';'name'\n1;'a; ''b'''\n2;5\" pipe\n", ""),
        ["1 a; 'b'", "2 5\" pipe"]
    );
    // A header that says nothing of quotes, and a declaration that does.
    assert_eq!(read("a.csv", "id,name\n1,'a, b'\n", "quote = \"'\""), ["1 a, b"]);
    assert_eq!(read("a.csv", "id,name\n1,\"a\n", "quote = \"none\""), ["1 \"a"]);
    assert_eq!(
        read("a.csv", "id name\n1 'a b'\n", "delimiter = \" \"\nquote = \"'\""),
        ["1 a b"]
    );
    // Without a header nothing is found in bytes.
    assert_eq!(read("a.csv", "1;2;3,x\n", "header = false"), ["- x"]);
    assert_eq!(read("a.tsv", "1\tx,y\n", "header = false"), ["1 x,y"]);
    assert_eq!(
        read("a.csv", "1;x\n", "header = false\ndelimiter = \";\""),
        ["1 x"]
    );
    // The mark of UTF-8 is passed over with and without a header.
    assert_eq!(read("a.csv", "\u{feff}id;name\n1;x\n", ""), ["1 x"]);
    assert_eq!(read("a.csv", "\u{feff}1,x\n", "header = false"), ["1 x"]);
}

#[test]
fn markers_of_null_are_null_in_every_column() {
    let columns = "id = { kind = \"int\" }\nname = { kind = \"text\" }\nseen = { kind = \"date\" }";
    let text = "id,name,seen\n1,NA,2020-01-01\nNA, x ,?\n3,,\n4,\"NA\",NA \n5,NaN,\n";
    let format = "unit = \"id\"\nnulls = [\"NA\", \"?\", \"\"]";
    assert_eq!(
        read("a.csv", text, format, columns),
        ["1 - 2020-01-01", "- x -", "3 - -", "4 - -", "5 NaN -"]
    );
}

#[test]
fn utf_16_is_refused_with_a_way_out() {
    let text: Vec<u8> = "\u{feff}id\n1\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let said = refused("a.csv", &text, "unit = \"id\"", "id = { kind = \"int\" }");
    assert!(said.contains("UTF-16") && said.contains("iconv"), "{said}");
    let said = refused(
        "a.csv",
        "id\n",
        "unit = \"id\"\nencoding = \"utf-16\"",
        "id = { kind = \"int\" }",
    );
    assert!(
        said.contains("tables.t.encoding") && said.contains("iconv"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_meant_is_reported_by_its_place() {
    let columns = "id = { kind = \"int\" }";
    for (format, expected) in [
        (
            "delimiter = \"ab\"",
            "tables.t.delimiter: expected one ASCII character",
        ),
        (
            "delimiter = \"\\n\"",
            "tables.t.delimiter: expected one ASCII character",
        ),
        ("quote = \"«\"", "tables.t.quote: expected one ASCII character"),
        (
            "quote = \",\"",
            "tables.t.quote: the quote and the delimiter are the same",
        ),
        ("trim = \"yes\"", "tables.t.trim: expected true or false"),
        ("nulls = \"?\"", "tables.t.nulls: expected a list"),
        (
            "encoding = \"ebcdic\"",
            "tables.t.encoding: there is no such encoding",
        ),
        (
            "header = \"no\"",
            "tables.t.header: expected true, false or a list of names",
        ),
        (
            "header = [\"a\", \"A\"]",
            "tables.t.header[1]: another column has this name",
        ),
        ("header = [\"ID\"]", "is not among the names in `header`"),
        ("decimal = \";\"", "tables.t.decimal: expected a point or a comma"),
    ] {
        let said = refused("a.csv", "id\n", &format!("unit = \"id\"\n{format}"), columns);
        assert!(said.contains(expected) && said.contains("\nhint: "), "{said}");
    }
    let parquet = "source = \"a.parquet\"\nunit = \"id\"\nheader = false";
    let said = catalog(Path::new("/"), parquet, columns).unwrap_err().to_string();
    assert!(
        said.contains("tables.t.header: this is about CSV files"),
        "{said}"
    );
}
