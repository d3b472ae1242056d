//! Values in canonical form: whatever means the same is the same, bit for bit.
//!
//! Operators that compare rows with each other (joins, GROUP BY, DISTINCT, sorts) have to agree on which values are equal, or what happens to one
//! person's row depends on other people's. Floats break that: a sort puts −0.0 before 0.0 while an equality calls them equal, NaN equals nothing or
//! itself, and file statistics leave it out. So private values are made canonical where they are read, and every computed value is canonical again:
//!
//! - **Floats**: there is one zero. NaN is NULL. An infinity in a column with declared bounds is the bound on its side; elsewhere it is NULL.
//! - **Text** is in Unicode normal form C and at most [`MOST_TEXT`] bytes long; longer text is cut at the last whole character that fits. The normal form is that of
//!   Unicode 14, whatever version the library has: a database that normalises text itself, with tables of its own, then comes to the same (see [`NEWER`]).
//! - **Identifiers** (the columns that name a privacy unit, or the key that leads to one) are compared byte for byte, so that two people whose names only
//!   look the same stay two. One that is longer than [`MOST_TEXT`] bytes is NULL: cutting it could make two people one. So is an empty one, which stands for everybody whose name is not known. A whole number that is kept as text names a unit in its one
//!   canonical spelling: `7` does, and `007`, `+7` and `-0` are NULL, because whoever else is called `7` would become one person with them.
//!
//! The limit on text is also what bounds the memory that one cell can take, whatever a query concatenates in however many steps. How many cells there are at once is bounded
//! by [`MOST_TEXT_BYTES`]: the more columns of text a plan has, the fewer rows it handles at a time.

use crate::Kind;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringViewArray,
    StringViewBuilder,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::borrow::Cow;
use std::sync::Arc;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// No text over private rows has more bytes than this.
pub const MOST_TEXT: usize = 4096;

/// The texts of one batch of rows, or of one owner's rows that are held, take at most so much memory; the number of rows follows from the number of columns of text.
pub const MOST_TEXT_BYTES: usize = 64 << 20;

/// How many rows of this many columns of text are held at once.
pub fn rows_of_texts(columns: usize) -> usize {
    (MOST_TEXT_BYTES / MOST_TEXT / columns.max(1)).max(1)
}

/// The columns of a schema that hold text.
pub fn texts_in(schema: &Schema) -> usize {
    let is_text = |field: &&FieldRef| Kind::of(field.data_type()) == Some(Kind::Text);
    schema.fields().iter().filter(is_text).count()
}

/// The same rows with texts of their own. A batch that was cut or picked out of another one shares its texts, and keeps all of them in memory: an operator that
/// accounts for what it holds would count the texts of rows that it does not have.
pub(crate) fn with_own_texts(batch: &RecordBatch) -> Result<RecordBatch> {
    let own = |column: &ArrayRef| match column.as_string_view_opt() {
        Some(texts) => Arc::new(texts.gc()) as ArrayRef,
        None => Arc::clone(column),
    };
    let columns = batch.columns().iter().map(own).collect();
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &rows)?)
}

/// A computed value in canonical form: a float that is not finite is NULL.
pub fn canonical(value: Expr, kind: Kind) -> Expr {
    match kind {
        Kind::Float => called(Form::Float { bounds: None }, value),
        Kind::Text => called(Form::Text, value),
        _ => value,
    }
}

/// A float of a column with declared bounds in canonical form: an infinity is the bound on its side.
pub fn canonical_within(value: Expr, low: f64, high: f64) -> Expr {
    let bounds = Some([low.to_bits(), high.to_bits()]);
    called(Form::Float { bounds }, value)
}

/// The name of a privacy unit, or of the key that leads to one, in canonical form.
pub fn canonical_identifier(value: Expr, kind: Kind) -> Expr {
    match kind {
        Kind::Text => called(Form::Identifier, value),
        _ => canonical(value, kind),
    }
}

/// The whole number that a text spells in the one canonical way, as an identifier; NULL for every other text. Two texts never become one number.
pub fn canonical_integer(text: Expr) -> Expr {
    called(Form::Integer, text)
}

/// A text in canonical form.
/// ```
/// use bound::canonical_text;
///
/// // A letter with an accent, in one character and in two: one text.
/// assert_eq!(canonical_text("e\u{301}"), canonical_text("é"));
/// assert_eq!(canonical_text(&"x".repeat(5000)).len(), bound::MOST_TEXT);
/// ```
///
/// Of a text the first [`MOST_TEXT`] characters count, as many of them as have that many bytes in normal form. Whoever puts marks in order takes a time that grows with the square of how many there are, so
/// a text of marks alone would keep a program busy for hours.
pub fn canonical_text(text: &str) -> Cow<'_, str> {
    let text = match text.len() > MOST_TEXT {
        true => first_characters(text),
        false => text,
    };
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(&text[..text.floor_char_boundary(MOST_TEXT)]);
    }
    // Normalised first and cut then: what is left is in normal form, since every part of a text in normal form is.
    let mut normal = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_newer) {
        let old = piece.trim_end_matches(is_newer);
        normal.extend(old.nfc());
        normal.push_str(&piece[old.len()..]);
    }
    normal.truncate(normal.floor_char_boundary(MOST_TEXT));
    Cow::Owned(normal)
}

fn first_characters(text: &str) -> &str {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// Characters that Unicode 14 does not have, and that later versions (up to 18) decompose, compose or put in order.
///
/// A normal form never changes for text of characters that were there; so two programs whose tables are of versions from 14 to 18 can only disagree about text with one of
/// these. Unicode 14 knows nothing of them: they are characters like any other, and what is on either side of one is normalised by itself.
pub const NEWER: [(char, char); 38] = [
    ('\u{5c8}', '\u{5c9}'),
    ('\u{897}', '\u{897}'),
    ('\u{1acf}', '\u{1af0}'),
    ('\u{105c9}', '\u{105c9}'),
    ('\u{105d2}', '\u{105d2}'),
    ('\u{105da}', '\u{105da}'),
    ('\u{105e4}', '\u{105e4}'),
    ('\u{10d69}', '\u{10d6d}'),
    ('\u{10ecb}', '\u{10ecf}'),
    ('\u{10ef0}', '\u{10efb}'),
    ('\u{10efd}', '\u{10eff}'),
    ('\u{11382}', '\u{11385}'),
    ('\u{1138b}', '\u{1138b}'),
    ('\u{1138e}', '\u{1138e}'),
    ('\u{11390}', '\u{11391}'),
    ('\u{113b8}', '\u{113b8}'),
    ('\u{113bb}', '\u{113bb}'),
    ('\u{113c2}', '\u{113c2}'),
    ('\u{113c5}', '\u{113c5}'),
    ('\u{113c7}', '\u{113c9}'),
    ('\u{113ce}', '\u{113d0}'),
    ('\u{11f41}', '\u{11f42}'),
    ('\u{1611e}', '\u{16129}'),
    ('\u{1612f}', '\u{1612f}'),
    ('\u{16d63}', '\u{16d63}'),
    ('\u{16d67}', '\u{16d6a}'),
    ('\u{1d127}', '\u{1d128}'),
    ('\u{1d250}', '\u{1d252}'),
    ('\u{1d25b}', '\u{1d25c}'),
    ('\u{1d25f}', '\u{1d25f}'),
    ('\u{1d280}', '\u{1d281}'),
    ('\u{1e08f}', '\u{1e08f}'),
    ('\u{1e4ec}', '\u{1e4ef}'),
    ('\u{1e5ee}', '\u{1e5ef}'),
    ('\u{1e6e3}', '\u{1e6e3}'),
    ('\u{1e6e6}', '\u{1e6e6}'),
    ('\u{1e6ee}', '\u{1e6ef}'),
    ('\u{1e6f5}', '\u{1e6f5}'),
];

fn is_newer(character: char) -> bool {
    character >= NEWER[0].0
        && NEWER
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&character))
}

/// A float in canonical form, where it has one.
/// ```
/// use bound::canonical_float;
///
/// assert_eq!(canonical_float(-0.0).map(f64::to_bits), Some(0.0_f64.to_bits()));
/// assert_eq!((canonical_float(f64::NAN), canonical_float(f64::INFINITY)), (None, None));
/// ```
pub fn canonical_float(value: f64) -> Option<f64> {
    // Adding zero makes a zero of either sign positive, and changes nothing else.
    value.is_finite().then_some(value + 0.0)
}

/// What a function makes of a value, if it is one that [`canonical`] and its relatives call: for who writes a plan in another language.
pub fn canonical_form_of(function: &ScalarUDF) -> Option<CanonicalForm> {
    let canonical = function.inner().downcast_ref::<Canonical>()?;
    Some(match canonical.form {
        Form::Float { bounds } => CanonicalForm::Float(bounds.map(|ends| ends.map(f64::from_bits))),
        Form::Text => CanonicalForm::Text,
        Form::Identifier => CanonicalForm::Identifier,
        Form::Integer => CanonicalForm::Integer,
    })
}

/// A canonical form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CanonicalForm {
    /// One zero, and finite: an infinity is the bound on its side, where there are bounds.
    Float(Option<[f64; 2]>),
    /// Normal form C, and cut.
    Text,
    /// Byte for byte, and NULL where it is empty or too long.
    Identifier,
    /// The number of a text that is its canonical spelling, and NULL for other texts.
    Integer,
}

fn called(form: Form, value: Expr) -> Expr {
    ScalarUDF::new_from_impl(Canonical::new(form)).call(vec![value])
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    /// Bounds as bits, so that they can be compared.
    Float {
        bounds: Option<[u64; 2]>,
    },
    Text,
    Identifier,
    Integer,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Canonical {
    signature: Signature,
    form: Form,
}

impl Canonical {
    /// The function of a form.
    pub(crate) fn function(form: CanonicalForm) -> ScalarUDF {
        ScalarUDF::new_from_impl(Self::new(match form {
            CanonicalForm::Float(bounds) => Form::Float {
                bounds: bounds.map(|ends| ends.map(f64::to_bits)),
            },
            CanonicalForm::Text => Form::Text,
            CanonicalForm::Identifier => Form::Identifier,
            CanonicalForm::Integer => Form::Integer,
        }))
    }

    fn new(form: Form) -> Self {
        let kind = match form {
            Form::Float { .. } => Kind::Float,
            Form::Text | Form::Identifier | Form::Integer => Kind::Text,
        };
        Self {
            signature: Signature::exact(vec![kind.data_type()], Volatility::Immutable),
            form,
        }
    }
}

impl ScalarUDFImpl for Canonical {
    fn name(&self) -> &str {
        match self.form {
            Form::Float { .. } => "canonical_float",
            Form::Text => "canonical_text",
            Form::Identifier => "canonical_identifier",
            Form::Integer => "canonical_integer",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.form {
            Form::Float { .. } => DataType::Float64,
            Form::Text | Form::Identifier => DataType::Utf8View,
            Form::Integer => DataType::Int64,
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = arguments.args.as_slice() else {
            return exec_err!("a canonical form is that of one value");
        };
        let values = value.to_array(arguments.number_rows)?;
        Ok(ColumnarValue::Array(match self.form {
            Form::Float { bounds } => floats(&values, bounds.map(|ends| ends.map(f64::from_bits))),
            Form::Text => texts(&values),
            Form::Identifier => identifiers(&values),
            Form::Integer => integers(&values),
        }))
    }
}

fn floats(values: &ArrayRef, bounds: Option<[f64; 2]>) -> ArrayRef {
    let values = values.as_primitive::<datafusion::arrow::datatypes::Float64Type>();
    let settled: Float64Array = match bounds {
        None => values.unary(|value| value + 0.0),
        Some([low, high]) => values.unary(|value| {
            let value = value + 0.0;
            let value = if value == f64::INFINITY { high } else { value };
            if value == f64::NEG_INFINITY { low } else { value }
        }),
    };
    if settled.values().iter().all(|value| value.is_finite()) {
        return Arc::new(settled);
    }
    let finite = NullBuffer::from_iter(settled.values().iter().map(|value| value.is_finite()));
    let nulls = NullBuffer::union(settled.nulls(), Some(&finite));
    Arc::new(Float64Array::new(settled.values().clone(), nulls))
}

/// The bytes of a text of at most twelve, as the engine holds it beside its length.
const SHORT: u32 = 12;
const NOT_ASCII: u128 = 0x8080_8080_8080_8080_8080_8080 << 32;

/// Whether a text is canonical, decided as fast as can be where it is short and ASCII, which most are.
fn is_canonical(texts: &StringViewArray, row: usize, view: u128) -> bool {
    if view as u32 <= SHORT && view & NOT_ASCII == 0 {
        return true;
    }
    let text = texts.value(row);
    text.len() <= MOST_TEXT && (text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes)
}

fn texts(values: &ArrayRef) -> ArrayRef {
    let texts = values.as_string_view();
    let views = texts.views().iter().enumerate();
    let mut views = views.filter(|(row, _)| texts.is_valid(*row));
    if views.all(|(row, view)| is_canonical(texts, row, *view)) {
        return Arc::clone(values);
    }
    let mut builder = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        builder.append_option(text.map(canonical_text));
    }
    Arc::new(builder.finish())
}

fn identifiers(values: &ArrayRef) -> ArrayRef {
    let texts = values.as_string_view();
    let fits = |view: &u128| (1..=MOST_TEXT).contains(&(*view as u32 as usize));
    if texts.views().iter().all(fits) {
        return Arc::clone(values);
    }
    let short = NullBuffer::from_iter(texts.views().iter().map(fits));
    let nulls = NullBuffer::union(texts.nulls(), Some(&short));
    let kept = texts
        .iter()
        .enumerate()
        .map(|(row, text)| text.filter(|_| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))));
    Arc::new(StringViewArray::from_iter(kept))
}

fn integers(values: &ArrayRef) -> ArrayRef {
    let spelled = values.as_string_view().iter();
    Arc::new(Int64Array::from_iter(
        spelled.map(|text| text.and_then(spelled_integer)),
    ))
}

/// The number that is written so, if this is how it is written: no sign but the minus of a negative number, and no zero in front.
fn spelled_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => digits.len() == text.len(),
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    // What does not fit into 64 bits is nobody's.
    canonical.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings(values: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringViewArray::from_iter(values.iter().copied()))
    }

    /// To put so many marks in order takes hours where the time grows with the square of their number.
    #[test]
    fn of_a_text_its_first_characters_count() {
        let marks = |count: usize| format!("a{}{}", "\u{301}".repeat(count), "\u{323}".repeat(count));
        let begin: String = marks(2_000_000).chars().take(MOST_TEXT).collect();
        assert_eq!(canonical_text(&marks(2_000_000)), canonical_text(&begin));
        // Fewer of them are put in order: the mark below comes first.
        assert!(canonical_text(&marks(10)).starts_with('\u{1ea1}'));
        let once = canonical_text(&marks(3000)).into_owned();
        assert!(once.len() <= MOST_TEXT && canonical_text(&once) == once);
    }

    #[test]
    fn floats_have_one_zero_and_are_finite() {
        let minus_nan = f64::from_bits(0xfff8_0000_0000_0001);
        let values = [
            -0.0,
            0.0,
            f64::NAN,
            minus_nan,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -1e-320,
            2.5,
        ];
        let array: ArrayRef = Arc::new(Float64Array::from(values.to_vec()));
        let bits = |array: ArrayRef| -> Vec<Option<u64>> {
            let floats = array.as_primitive::<datafusion::arrow::datatypes::Float64Type>();
            floats.iter().map(|value| value.map(f64::to_bits)).collect()
        };
        let some = |value: f64| Some(value.to_bits());
        let ends = [some(-1e-320), some(2.5)];
        let expected = [some(0.0), some(0.0), None, None, None, None, ends[0], ends[1]];
        assert_eq!(bits(floats(&array, None)), expected);
        let expected = [
            some(0.0),
            some(0.0),
            None,
            None,
            some(9.0),
            some(-1.0),
            ends[0],
            ends[1],
        ];
        assert_eq!(bits(floats(&array, Some([-1.0, 9.0]))), expected);
        for value in values {
            assert_eq!(
                canonical_float(value).map(f64::to_bits),
                (value.is_finite()).then(|| (value + 0.0).to_bits())
            );
        }
    }

    #[test]
    fn texts_have_one_form_and_a_length() {
        let long = "x".repeat(MOST_TEXT + 1);
        let wide = "é".repeat(MOST_TEXT);
        let values = [
            Some("e\u{301}"),
            Some("é"),
            None,
            Some(""),
            Some(long.as_str()),
            Some(wide.as_str()),
        ];
        let result = texts(&strings(&values));
        let result = result.as_string_view();
        assert_eq!((result.value(0), result.value(1)), ("é", "é"));
        assert!(result.is_null(2) && result.value(3).is_empty());
        assert_eq!(result.value(4), &long[..MOST_TEXT]);
        assert_eq!(result.value(5), "é".repeat(MOST_TEXT / 2));
    }

    #[test]
    fn the_normal_form_is_that_of_unicode_14() {
        // A vowel sign of Unicode 16 that composes there, and a mark of Unicode 15 that would change places with another.
        for text in [
            "\u{105d2}\u{307}",
            "a\u{301}\u{10efd}",
            "\u{10efd}e\u{301}\u{10efd}\u{10efd}e\u{301}",
        ] {
            let canonical = canonical_text(text);
            assert_eq!(canonical, canonical_text(&canonical), "{text:?}");
        }
        assert_eq!(canonical_text("\u{105d2}\u{307}"), "\u{105d2}\u{307}");
        assert_eq!(canonical_text("a\u{10efd}\u{301}"), "a\u{10efd}\u{301}");
        assert_eq!(canonical_text("e\u{301}\u{10efd}e\u{301}"), "é\u{10efd}é");
        assert!(NEWER.is_sorted() && NEWER.iter().all(|(first, last)| first <= last));
    }

    #[test]
    fn identifiers_are_whole_or_absent() {
        let long = "x".repeat(MOST_TEXT + 1);
        let fits = "x".repeat(MOST_TEXT);
        let result = identifiers(&strings(&[
            Some("e\u{301}"),
            None,
            Some(long.as_str()),
            Some(fits.as_str()),
            Some(""),
        ]));
        let result = result.as_string_view();
        assert_eq!(result.value(0), "e\u{301}");
        assert!(result.is_null(1) && result.is_null(2) && result.is_null(4));
        assert_eq!(result.value(3), fits);
    }

    #[test]
    fn whole_numbers_have_one_spelling() {
        let spelled = [
            ("7", Some(7)),
            ("0", Some(0)),
            ("-12", Some(-12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
        ];
        let others = [
            "",
            "-",
            "007",
            "+7",
            " 7",
            "7 ",
            "-0",
            "-07",
            "--7",
            "7.0",
            "7e0",
            "1_000",
            "٧",
            "7\0",
            "0x7",
            "9223372036854775808",
        ];
        let cases = spelled.into_iter().chain(others.map(|other| (other, None)));
        let (texts, expected): (Vec<&str>, Vec<Option<i64>>) = cases.unzip();
        let texts: Vec<Option<&str>> = texts.into_iter().map(Some).chain([None]).collect();
        let found = integers(&strings(&texts));
        let found = found.as_primitive::<datafusion::arrow::datatypes::Int64Type>();
        assert_eq!(found.iter().collect::<Vec<_>>(), [expected, vec![None]].concat());
    }

    proptest! {
        /// What is read is written the same: so two texts are never one number.
        #[test]
        fn a_whole_number_is_written_as_it_was_read(text in "[-+ 0-9.e]{0,21}", number: i64) {
            if let Some(read) = spelled_integer(&text) {
                prop_assert_eq!(read.to_string(), text);
            }
            prop_assert_eq!(spelled_integer(&number.to_string()), Some(number));
        }

        #[test]
        fn canonical_text_is_canonical(text in "[a-c\u{e9}\u{301}\u{1100}\u{1161}\u{ac00}\u{0}\u{1d15e}]{0,40}", copies in 0usize..400) {
            let text = text.repeat(copies % 7 + copies / 390 * copies);
            let once = canonical_text(&text).into_owned();
            prop_assert!(once.len() <= MOST_TEXT);
            prop_assert_eq!(canonical_text(&once), once.as_str());
            prop_assert!(is_nfc_quick(once.chars()) != IsNormalized::No);
            // Whether it is done text by text or for a whole column makes no difference.
            let column = texts(&strings(&[Some("a"), Some(&text)]));
            prop_assert_eq!(column.as_string_view().value(1), once.as_str());
        }
    }
}
