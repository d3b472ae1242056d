//! Releases described in a document: TOML for people, JSON as a ledger keeps its events.

use super::{MOST_TIMES, Mechanism, Mistake, Part, fail, flattened};
use crate::Event;
use files::document::{self, Advice, Document, Node};
use std::path::Path;

/// How to write such a document, for people to read.
pub const FORMAT: &str = "\
Files (--events plan.toml). Each table has the options of the command line, and how often it runs:

    [[event]]
    laplace = \"0.1\"
    times = 1000

    [[event]]
    gaussian = \"5\"

    [[event]]
    approximate = [\"0.5,1e-7\", \"0.1,1e-9x20\"]

The same in JSON (--events plan.json) is the form in which a ledger keeps events: one, or a list of them.

    [{\"repeated\": {\"event\": {\"laplace\": {\"ratio\": \"0.1\", \"on\": \"rounded\"}}, \"times\": 1000}},
     {\"gaussian\": {\"multiplier_squared\": \"25\", \"on\": \"rounded\"}},
     {\"sampled_gaussian\": {\"sampler\": {\"fixed_size\": {\"batch\": 256, \"of\": 60000}}, \"multiplier_squared\": \"4\"}}]

Numbers are whole, or text that is read exactly: \"0.1\", \"1/3\", \"1e-6\".";

/// A plan is a page of text; this is room for tens of thousands of events.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// What a plan is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Tables `[[event]]`.
    Toml,
    /// An event as a ledger keeps it, or a list of them.
    Json,
}

/// Reads the file; its name says its format, or else its text does.
pub fn read(path: &Path) -> Result<Vec<Part>, Mistake> {
    let advice = Advice {
        unreadable: "it must be a text file that you may read",
        too_large: "write equal releases once, with how often they run; --help shows the format",
    };
    let text = document::text_of(path, LARGEST_FILE, advice)?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => Format::Toml,
        Some("json") => Format::Json,
        _ => guessed(&text),
    };
    parse(&text, format).map_err(|mistake| mistake.in_file(path))
}

/// The format that the text looks like: `[[` opens a table in TOML, and no list of events in JSON.
pub(super) fn guessed(text: &str) -> Format {
    let text = text.trim_start();
    if text.starts_with('{') || (text.starts_with('[') && !text.starts_with("[[")) {
        Format::Json
    } else {
        Format::Toml
    }
}

/// The releases that a text describes.
pub fn parse(text: &str, format: Format) -> Result<Vec<Part>, Mistake> {
    if text.trim().is_empty() {
        return fail("the file is empty", HINT);
    }
    let parts = match format {
        Format::Toml => from_toml(text)?,
        Format::Json => from_json(text)?,
    };
    if parts.is_empty() {
        return fail("it describes no releases", HINT);
    }
    Ok(parts)
}

fn from_toml(text: &str) -> Result<Vec<Part>, Mistake> {
    let document = Document::parse(text).map_err(|mistake| not_toml(mistake, text))?;
    let mut root = document.root();
    let events = root.take("event").map_or(Ok(Vec::new()), |node| several(&node));
    root.finish().map_err(|mistake| {
        let hint = format!("{}; {HINT}", mistake.hint());
        mistake.with_hint(hint)
    })?;
    let mut parts = Vec::new();
    for event in events? {
        parts.extend(one_table(&event)?);
    }
    Ok(parts)
}

/// What is no TOML: perhaps it is the other format.
fn not_toml(mistake: Mistake, text: &str) -> Mistake {
    // A header `[event]` begins like a list in JSON.
    let list = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if text.trim_start().starts_with('{') || list() {
        return mistake
            .reworded(|_| "this is JSON, and a file whose name ends in .toml holds TOML".to_owned())
            .with_hint("give the file a name that ends in .json");
    }
    if mistake.what() == document::DUPLICATE_KEY {
        return mistake.with_hint("keep one of the two; another release is another `[[event]]`");
    }
    mistake.with_hint(HINT)
}

/// The events: `[[event]]`, and not `[event]`.
fn several<'d>(node: &Node<'d>) -> Result<Vec<Node<'d>>, Mistake> {
    if node.section().is_ok() {
        return Err(node.wrong(
            "an event has two brackets on each side, because there may be several",
            "write [[event]] in place of [event]",
        ));
    }
    node.list().map_err(|mistake| mistake.with_hint(HINT))
}

/// One `[[event]]`: mechanisms by their names, and how often all of them run.
fn one_table(node: &Node<'_>) -> Result<Vec<Part>, Mistake> {
    let mut section = node.section()?;
    let mut found = Vec::new();
    for mechanism in Mechanism::ALL {
        if let Some(node) = section.take(mechanism.name()) {
            found.extend(texts(&node)?.into_iter().map(|text| (mechanism, text)));
        }
    }
    let times = section.take("times").map(|node| times(&node)).transpose()?;
    section.finish()?;
    let within = |mistake: Mistake| mistake.within(format!("the event at line {}", node.line()));
    let mut parts = Vec::new();
    for (mechanism, text) in found {
        parts.push(mechanism.release(&text).map_err(within)?);
    }
    if parts.is_empty() {
        return fail(
            format!("the event at line {} names no mechanism", node.line()),
            HINT,
        );
    }
    for part in &mut parts {
        part.repeat(times.unwrap_or(1)).map_err(within)?;
    }
    Ok(parts)
}

fn times(node: &Node<'_>) -> Result<u64, Mistake> {
    match node.as_integer().map(u64::try_from) {
        Some(Ok(0)) => Err(node.wrong(
            "times: an event that runs 0 times is none",
            "leave it out, or write times = 1",
        )),
        Some(Ok(times)) if times <= MOST_TIMES => Ok(times),
        None if !node.is_number() => {
            Err(node.wrong("`times` is not a whole number", "write it as times = 1000"))
        }
        _ => Err(node.wrong(
            format!("`times` is not a whole number from 1 to {MOST_TIMES}"),
            "write how often the event runs, as times = 1000",
        )),
    }
}

/// One text or several. A whole number is text too; a float is refused, because it looks as if it were not read exactly.
fn texts(node: &Node<'_>) -> Result<Vec<String>, Mistake> {
    let one = |node: &Node<'_>| {
        node.as_text()
            .map(str::to_owned)
            .or_else(|| node.as_integer().map(|number| number.to_string()))
    };
    let texts = match node.list() {
        Ok(elements) => elements.iter().map(one).collect(),
        Err(_) => one(node).map(|text| vec![text]),
    };
    texts.ok_or_else(|| {
        node.wrong(
            "expected text as on the command line, such as \"0.1\", or a list of such texts",
            HINT,
        )
    })
}

fn from_json(text: &str) -> Result<Vec<Part>, Mistake> {
    if guessed(text) == Format::Toml && Document::parse(text).is_ok() {
        return fail(
            "this is TOML, and a file whose name ends in .json holds JSON",
            "give the file a name that ends in .toml",
        );
    }
    let events: Vec<Event> = if text.trim_start().starts_with('[') {
        document::from_json(text, JSON_HINT)?
    } else {
        vec![document::from_json(text, JSON_HINT)?]
    };
    let mut parts = Vec::new();
    for event in events {
        parts.extend(flattened(event)?);
    }
    Ok(parts)
}

const JSON_HINT: &str = "an event is written as {\"laplace\": {\"ratio\": \"0.1\", \"on\": \"rounded\"}}, and several in a list; `deniable account --help` shows all";
const HINT: &str = "an event is written as `[[event]]`, `laplace = \"0.1\"`, `times = 1000` on three lines; `deniable account --help` shows all";
