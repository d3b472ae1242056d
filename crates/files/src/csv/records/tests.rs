use super::*;
use crate::csv::{Encoding, LONGEST};
use proptest::prelude::*;
use std::io::{BufReader, Cursor};

type Fields = Vec<Option<String>>;

/// As the file of a usual program is, and blanks belong to fields.
const PLAIN: Format = Format {
    trim: false,
    ..Format::COMMAS
};

fn read_with(text: &[u8], capacity: usize, most: Option<usize>) -> Vec<Fields> {
    read_as(PLAIN, text, capacity, most)
}

fn read_as(format: Format, text: &[u8], capacity: usize, most: Option<usize>) -> Vec<Fields> {
    let input = BufReader::with_capacity(capacity, Cursor::new(text));
    let mut records = Records::new(input, format).unwrap();
    if let Some(most) = most {
        records.limit(most);
    }
    let mut record = Record::default();
    let mut all = Vec::new();
    while records.next(&mut record).unwrap() {
        all.push(
            (0..record.len())
                .map(|field| record.field(field).map(str::to_owned))
                .collect(),
        );
    }
    all
}

fn read_limited(text: &str, most: Option<usize>) -> Vec<Vec<String>> {
    let small = read_with(text.as_bytes(), 5, most);
    assert_eq!(
        small,
        read_with(text.as_bytes(), 1 << 16, most),
        "chunks do not matter"
    );
    small
        .into_iter()
        .map(|record| record.into_iter().map(Option::unwrap).collect())
        .collect()
}

fn read(text: &str) -> Vec<Vec<String>> {
    read_limited(text, None)
}

/// The planted mutant: as every usual reader does, and this one once did, a quote that is open at the end of
/// a line takes in whatever comes up to the next quote.
fn swallowing(text: &str) -> Vec<Vec<String>> {
    let (mut all, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut began) = (false, false);
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '"' if quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' if quoted => quoted = false,
            _ if quoted => field.push(next),
            '"' if !began => (quoted, began) = (true, true),
            ',' => {
                record.push(std::mem::take(&mut field));
                began = false;
            }
            '\n' => {
                record.push(std::mem::take(&mut field));
                all.push(std::mem::take(&mut record));
                began = false;
            }
            _ => {
                field.push(next);
                began = true;
            }
        }
    }
    if began || !record.is_empty() {
        record.push(field);
        all.push(record);
    }
    all
}

#[test]
fn records_are_split() {
    assert_eq!(read("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
    assert_eq!(read("a,b\r\n1,2"), [["a", "b"], ["1", "2"]]);
    assert_eq!(read("\n\na,\r\r,b\n\n"), [["a", ""], ["", "b"]]);
    assert_eq!(read("\u{feff}a\n1\n"), [["a"], ["1"]]);
    assert_eq!(read("é,ü\n"), [["é", "ü"]]);
    assert!(read("").is_empty());
    assert!(read("\r\n\n").is_empty());
}

#[test]
fn quotes_hold_anything() {
    assert_eq!(
        read("\"a,b\nc\",\"say \"\"hi\"\"\"\n"),
        [["a,b\nc", "say \"hi\""]]
    );
    assert_eq!(read("\"\",\n"), [["", ""]]);
    assert_eq!(read("5\" pipe,x\n"), [["5\" pipe", "x"]]);
    assert_eq!(read("\"a\"b,x\n"), [["ab", "x"]]);
    assert_eq!(read("\"\""), [[""]]);
}

#[test]
fn a_record_spans_lines_if_it_is_well_formed() {
    let well_formed = "1,\"a\r\n\"\"b\"\"\n\n,c\"\n2,d";
    for most in [None, Some(2)] {
        assert_eq!(
            read_limited(well_formed, most),
            [["1", "a\r\n\"b\"\n\n,c"], ["2", "d"]]
        );
    }
    // Two fields with line breaks, the second closed by the end of the file.
    assert_eq!(read_limited("\"a\nb\",\"c\n\"", Some(2)), [["a\nb", "c\n"]]);
    // With another number of fields, with a stray quote before or after the line break, or with something
    // after a closing quote, it ends with its line.
    let lines = |text| read_limited(text, Some(2));
    assert_eq!(lines("\"a\nb\"\n"), [["\"a"], ["b\""]]);
    assert_eq!(lines("1,2,\"a\nb\"\n"), [vec!["1", "2"], vec!["b\""]]);
    assert_eq!(lines("1,\"a\nb\",3\n"), [vec!["1", "\"a"], vec!["b\"", "3"]]);
    assert_eq!(lines("5\",\"a\nb\"\n"), [vec!["5\"", "\"a"], vec!["b\""]]);
    assert_eq!(lines("\"5\"x,\"a\nb\"\n"), [vec!["5x", "\"a"], vec!["b\""]]);
    assert_eq!(lines("\"a\nb\"x,2\n"), [vec!["\"a"], vec!["b\"x", "2"]]);
    assert_eq!(lines("\"a\nb\",5\"\n"), [vec!["\"a"], vec!["b\"", "5\""]]);
}

#[test]
fn an_unclosed_quote_is_a_character_as_any_other() {
    assert_eq!(
        read("\"never closed,\nx"),
        [vec!["\"never closed", ""], vec!["x"]]
    );
    assert_eq!(
        read("1,\"never closed,\"\"2\"\",x\"\",\"\"\"\"y\r\nz,\n"),
        [
            vec!["1", "\"never closed", "2\"\"", "x\"\"", "\"y"],
            vec!["z", ""]
        ]
    );
    // At the end of a file without a line break.
    for text in ["a,b\n1,\"open", "a,b\n1,\"open\n", "a,b\n1,\"open\r\n\r\n"] {
        assert_eq!(read_limited(text, Some(2)), [["a", "b"], ["1", "\"open"]]);
    }
    assert_eq!(read("\""), [["\""]]);
    assert_eq!(read("a,\""), [["a", "\""]]);
}

/// The finding that this rule is for: a thousand rows, and one more with a quote that is not closed.
#[test]
fn one_line_takes_no_neighbours_with_it() {
    let people = |spoiled: bool| {
        let mut text = String::from("id,name\n");
        for id in 0..1000 {
            text += &format!("{id},person {id}\n");
            if spoiled && id == 499 {
                text += "5000,\"unfinished\n";
            }
        }
        text
    };
    let read = |text: &str| read_limited(text, Some(2));
    let (without, with) = (read(&people(false)), read(&people(true)));
    assert_eq!((without.len(), with.len()), (1001, 1002));
    let others: Vec<_> = with
        .iter()
        .filter(|record| record[0] != "5000")
        .cloned()
        .collect();
    assert_eq!(others, without);
    assert!(with.contains(&vec!["5000".to_owned(), "\"unfinished".to_owned()]));
    // The usual reader agrees if nothing is wrong, and loses five hundred people if something is.
    assert_eq!(swallowing(&people(false)), without);
    assert_eq!(swallowing(&people(true)).len(), 502);
}

/// What the module's documentation says remains.
#[test]
fn what_can_still_be_taken_in() {
    let read = |text: &str| read_limited(text, Some(2)).len();
    // Neither of these closes the quote of the first line.
    assert_eq!(read("1,\"open\n2,x\n3,\"text\nwith a break\"\n"), 3);
    assert_eq!(read("1,\"open\n2,x\n3,\",\"\n4,\"\"\n"), 4);
    assert_eq!(read("1,\"open\n2,x\n3,5\" wide\n"), 3);
    // These do: a second malformed line, and texts with line breaks that begin with a line break; one that
    // begins with a delimiter has a field too many.
    assert_eq!(read("1,\"open\n2,x\n3,5\"\n"), 1);
    assert_eq!(read("1,\"open\n2,x\n3,\"\ntext\"\n"), 2);
    assert_eq!(read("1,\"open\n2,x\n3,\",\ntext\"\n"), 3);
    assert_eq!(read("\"open\n2,x\n3,\",\ntext\"\n"), 2);
}

#[test]
fn ragged_long_and_broken_fields_raise_nothing() {
    let text = b"a,b\n1\n1,2,3,\"4\"\n\xff\xfe,ok\n\"\xff\n";
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        read_with(text, 7, Some(2)),
        [
            vec![some("a"), some("b")],
            vec![some("1")],
            vec![some("1"), some("2")],
            vec![None, some("ok")],
            vec![None],
        ]
    );
    let long = format!("{},x\n{},y\n", "a".repeat(LONGEST + 1), "b".repeat(LONGEST));
    let records = read_with(long.as_bytes(), 1000, Some(2));
    assert_eq!(records[0], [None, some("x")]);
    assert_eq!(records[1], [Some("b".repeat(LONGEST)), some("y")]);
    // Fields of a long line after a quote that nothing closes are not distinguished.
    let long = format!("\"{},x\nb,y\n", "a".repeat(LONGEST));
    assert_eq!(
        read_with(long.as_bytes(), 1000, Some(2)),
        [vec![None], vec![some("b"), some("y")]]
    );
}

/// However long a text in quotes is, its lines are nobody's records.
#[test]
fn a_long_text_makes_no_records() {
    let forged = "2,b\n".repeat(6 << 20);
    let file = format!("1,\"a\n{forged}\"\n3,c\n");
    let records = read_with(file.as_bytes(), 1 << 16, Some(2));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(records, [[some("1"), None], [some("3"), some("c")]]);
}

/// Many lines with a quote that nothing closes take time in proportion to their number.
#[test]
fn unclosed_quotes_take_no_longer_than_they_should() {
    let lines = 200_000;
    for line in ["\"a\n", "b\",\"a\n", "\"\"\",\n", "\"a\nb\n"] {
        let text = line.repeat(lines);
        let records = read_with(text.as_bytes(), 1 << 16, Some(3));
        assert!(records.len() >= lines / 3, "{line:?}: {}", records.len());
    }
}

/// What a file is in this format.
fn texts_as(format: Format, text: &str) -> Vec<Vec<String>> {
    let small = read_as(format, text.as_bytes(), 5, None);
    assert_eq!(small, read_as(format, text.as_bytes(), 1 << 16, None));
    let texts = |record: Fields| record.into_iter().map(Option::unwrap).collect();
    small.into_iter().map(texts).collect()
}

#[test]
fn blanks_around_fields_are_trimmed() {
    let read = |text: &str| texts_as(Format::COMMAS, text);
    assert_eq!(read("39, State-gov,\t77516 \n"), [["39", "State-gov", "77516"]]);
    assert_eq!(read(" \t\n\n 1 , \n"), [["1", ""]], "a line of blanks is empty");
    assert_eq!(
        read("1, \"a, \"\"b\"\" \" ,\" \"\t\n"),
        [["1", "a, \"b\" ", " "]],
        "inside of quotes they stay"
    );
    assert_eq!(read("\"a\" b ,\"a\" \"b\" \n"), [["a b", "a \"b\""]]);
    assert_eq!(read("1 , \"a\nb\" , 2\n"), [["1", "a\nb", "2"]]);
    assert_eq!(
        read(" \"open , \"\" ,x\nb\n"),
        [vec!["\"open", "", "x"], vec!["b"]]
    );
    assert_eq!(
        read("a b\u{a0},\u{2003}c\n"),
        [["a b\u{a0}", "\u{2003}c"]],
        "and nothing else is"
    );
    assert_eq!(texts_as(PLAIN, " 1 , \"a\" \n"), [[" 1 ", " \"a\" "]]);
}

#[test]
fn delimiters_quotes_and_encodings_are_chosen() {
    let tabs = Format {
        delimiter: b'\t',
        ..Format::COMMAS
    };
    assert_eq!(texts_as(tabs, "a \t b\t\t\"c\td\"\n"), [["a", "b", "", "c\td"]]);
    let single = Format {
        delimiter: b';',
        quote: Some(b'\''),
        ..Format::COMMAS
    };
    assert_eq!(
        texts_as(single, "'a;b''c';5\" pipe;'x\ny'\n"),
        [["a;b'c", "5\" pipe", "x\ny"]]
    );
    let none = Format {
        quote: None,
        ..Format::COMMAS
    };
    assert_eq!(
        texts_as(none, "\"a,b\"\n'c\n\"\n"),
        [vec!["\"a", "b\""], vec!["'c"], vec!["\""]]
    );
    let spaces = Format {
        delimiter: b' ',
        ..Format::COMMAS
    };
    assert_eq!(texts_as(spaces, "a  \"b c\"\t\n"), [["a", "", "b c"]]);
    let latin = Format {
        encoding: Encoding::Windows1252,
        ..Format::COMMAS
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        read_as(latin, b"M\xfcnchen, \x80,\xa0\n\xff,\"\xe9\n", 5, None),
        [
            vec![some("München"), some("€"), some("\u{a0}")],
            vec![some("ÿ"), some("\"é")]
        ]
    );
}

/// Formats that are unlike in every respect.
fn formats() -> impl Strategy<Value = Format> {
    let trimmed = Format { trim: true, ..PLAIN };
    let tabs = Format {
        delimiter: b'\t',
        trim: true,
        ..PLAIN
    };
    let single = Format {
        delimiter: b';',
        quote: Some(b'\''),
        trim: true,
        encoding: Encoding::Windows1252,
    };
    let none = Format {
        delimiter: b'|',
        quote: None,
        trim: true,
        ..PLAIN
    };
    let spaces = Format {
        delimiter: b' ',
        trim: true,
        encoding: Encoding::Latin9,
        ..PLAIN
    };
    prop::sample::select(vec![PLAIN, trimmed, tabs, single, none, spaces])
}

/// A text that was made for commas and double quotes, for another format.
fn translated(format: Format, bytes: &[u8]) -> Vec<u8> {
    let translate = |byte: u8| match byte {
        b',' => format.delimiter,
        b'"' => format.quote.unwrap_or(b'"'),
        b' ' if format.delimiter == b' ' => b'\t',
        _ => byte,
    };
    bytes.iter().copied().map(translate).collect()
}

/// A field as a program writes it: in quotes where it must be, and sometimes where it need not.
fn written(field: &str, quoted: bool) -> String {
    if quoted || field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn row(fields: &[(String, bool)]) -> String {
    let fields: Vec<_> = fields
        .iter()
        .map(|(field, quoted)| written(field, *quoted))
        .collect();
    fields.join(",")
}

proptest! {
    /// Trimming changes blanks around fields that are in no quotes, and nothing else.
    #[test]
    fn what_is_quoted_comes_back_between_blanks(
        rows in prop::collection::vec(prop::collection::vec("[a,\"\r\n é]{0,6}", 3), 1..6),
        blanks in "[ \t]{0,2}",
    ) {
        let line = |fields: &Vec<String>| {
            let field = |field: &String| format!("{blanks}{}{blanks}", written(field, true));
            fields.iter().map(field).collect::<Vec<_>>().join(",") + "\n"
        };
        let text: String = rows.iter().map(line).collect();
        prop_assert_eq!(texts_as(Format::COMMAS, &text), rows);
    }

    #[test]
    fn what_is_quoted_comes_back(
        rows in prop::collection::vec(prop::collection::vec(("[a,\"\r\n é]{0,6}", any::<bool>()), 3), 1..6),
        known in any::<bool>(),
        closed in any::<bool>(),
    ) {
        let mut text: String = rows.iter().map(|fields| row(fields) + "\n").collect();
        if !closed {
            text.pop();
        }
        let rows: Vec<Vec<_>> = rows.into_iter().map(|row| row.into_iter().map(|(field, _)| field).collect()).collect();
        prop_assert_eq!(read_limited(&text, known.then_some(3)), rows);
    }

    /// One line may hold anything: the others are read as without it, and it is read as by itself.
    #[test]
    fn one_line_spoils_no_other(
        rows in prop::collection::vec(prop::collection::vec(("[a,\" é]{0,4}", any::<bool>()), 1..4), 0..6),
        anything in prop::collection::vec(prop::sample::select(b"a,\" \xff".to_vec()), 0..12),
        place in any::<prop::sample::Index>(),
        most in prop::option::of(1..4usize),
        closed in any::<bool>(),
        format in formats(),
    ) {
        let mut lines: Vec<Vec<u8>> = rows.iter().map(|fields| translated(format, row(fields).as_bytes())).collect();
        let anything = translated(format, &anything);
        let place = place.index(lines.len() + 1);
        let file = |lines: &[Vec<u8>]| {
            let mut text = lines.join(&b"\n"[..]);
            if closed {
                text.push(b'\n');
            }
            text
        };
        let read = |lines: &[Vec<u8>]| read_as(format, &file(lines), 1 << 16, most);
        let mut apart = read(&lines[..place]);
        apart.extend(read(std::slice::from_ref(&anything)));
        apart.extend(read(&lines[place..]));
        lines.insert(place, anything);
        prop_assert_eq!(read(&lines), apart);
    }

    #[test]
    fn chunks_do_not_matter(
        bytes in prop::collection::vec(prop::sample::select(b"aa,,\"\"  \r\n\xff".to_vec()), 0..60),
        capacity in 3..9usize,
        most in prop::option::of(1..5usize),
        format in formats(),
    ) {
        let bytes = translated(format, &bytes);
        prop_assert_eq!(read_as(format, &bytes, capacity, most), read_as(format, &bytes, 1000, most));
    }
}
