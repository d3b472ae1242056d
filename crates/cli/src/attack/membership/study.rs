//! Tracing named people from a file of published means.

use super::Arguments;
use crate::attack::table::Source;
use crate::terminal::{CliError, Progress, explained, fail};
use ::report::{Findings, grouped, percent};
use attack::membership::{Noise, Published, Suspect, Tracing};
use csv::ByteRecord;
use report::{Column, Row, Table, significant};
use serde_json::{Value, json};
use std::path::Path;

/// People that the text shows; the object has all.
const SHOWN: usize = 40;

/// What was published.
struct Means {
    attributes: Vec<String>,
    means: Vec<f64>,
    frequencies: Vec<f64>,
}

/// Traces everybody in a file.
pub(super) fn findings(
    arguments: &Arguments,
    means: &Path,
    targets: &Path,
    noises: Vec<Noise>,
) -> Result<Findings, CliError> {
    let noise = match &noises[..] {
        [only] | [Noise::None, only] => only.clone(),
        _ => {
            return fail(
                "a published table has one noise, and --epsilon names several",
                "give the one that it was released with, or none",
            );
        }
    };
    let published = Means::read(means)?;
    let size = noise
        .size(published.attributes.len(), arguments.people)
        .map_err(explained)?;
    let study = Published {
        people: arguments.people,
        means: &published.means,
        frequencies: &published.frequencies,
        noise: &noise,
        size,
    };
    let source = Source::open(targets)?;
    let progress = arguments.outputs.progress("targets", source.bytes());
    let suspects = suspects(
        &study,
        &published.attributes,
        (targets, source),
        arguments.names.as_deref(),
        &progress,
    )?;
    drop(progress);
    Ok(listed(
        &suspects,
        &noise,
        arguments.people,
        published.attributes.len(),
    ))
}

impl Means {
    fn read(path: &Path) -> Result<Self, CliError> {
        let mut source = Source::open(path)?;
        let places = ["attribute", "mean", "frequency"].map(|name| source.column(name));
        let [attribute, mean, frequency] = places;
        let (attribute, mean, frequency) = (attribute?, mean?, frequency?);
        let mut means = Self {
            attributes: Vec::new(),
            means: Vec::new(),
            frequencies: Vec::new(),
        };
        source.each(&Progress::new("means", 0, true), |line, record| {
            means
                .attributes
                .push(String::from_utf8_lossy(record.get(attribute).unwrap_or_default()).into_owned());
            means.means.push(number(path, line, "mean", record.get(mean))?);
            let frequency = number(path, line, "frequency", record.get(frequency))?;
            if frequency <= 0.0 || frequency >= 1.0 {
                return fail(
                    format!(
                        "`{}`, line {line}: the frequency is not strictly between 0 and 1",
                        path.display()
                    ),
                    "leave out attributes that everybody has, or nobody",
                );
            }
            means.frequencies.push(frequency);
            Ok(())
        })?;
        if means.attributes.is_empty() {
            return fail(
                format!("`{}` has no attributes", path.display()),
                "one line an attribute: its name, its published mean, its frequency in the population",
            );
        }
        Ok(means)
    }
}

/// The field as a number, or an error that names the place and not the value.
fn number(path: &Path, line: u64, column: &str, field: Option<&[u8]>) -> Result<f64, CliError> {
    let parsed = field
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .and_then(|text| text.trim().parse::<f64>().ok())
        .filter(|value| value.is_finite());
    match parsed {
        Some(value) => Ok(value),
        None => fail(
            format!("`{}`, line {line}: `{column}` is not a number", path.display()),
            "write it as 0.25",
        ),
    }
}

fn suspects(
    study: &Published<'_>,
    attributes: &[String],
    (path, mut source): (&Path, Source),
    names: Option<&str>,
    progress: &Progress,
) -> Result<Vec<Suspect>, CliError> {
    let places = attributes
        .iter()
        .map(|attribute| source.column(attribute))
        .collect::<Result<Vec<usize>, CliError>>()?;
    let named = names.map(|name| source.column(name)).transpose()?;
    let tracing = Tracing::new(study);
    let mut suspects = Vec::new();
    let mut row = 0u64;
    source.each(progress, |line, record| {
        row += 1;
        let bits = places
            .iter()
            .zip(attributes)
            .map(|(place, attribute)| bit(path, line, attribute, record, *place))
            .collect::<Result<Vec<bool>, CliError>>()?;
        let name = match named {
            Some(place) => String::from_utf8_lossy(record.get(place).unwrap_or_default()).into_owned(),
            None => row.to_string(),
        };
        suspects.push(tracing.suspect(name, &bits));
        Ok(())
    })?;
    suspects.sort_by(|one, other| other.above.total_cmp(&one.above));
    Ok(suspects)
}

fn bit(path: &Path, line: u64, attribute: &str, record: &ByteRecord, place: usize) -> Result<bool, CliError> {
    match record.get(place).map(<[u8]>::trim_ascii) {
        Some(b"1") => Ok(true),
        Some(b"0") => Ok(false),
        _ => fail(
            format!(
                "`{}`, line {line}: `{attribute}` is neither 0 nor 1",
                path.display()
            ),
            "attributes are 1 for who has them and 0 for who has not",
        ),
    }
}

fn listed(suspects: &[Suspect], noise: &Noise, people: u32, attributes: usize) -> Findings {
    let mut table = Table::new([
        Column::Left("who"),
        Column::Right("deviations above a stranger"),
        Column::Right("strangers as high"),
        Column::Right("likelihood ratio"),
    ]);
    for suspect in suspects.iter().take(SHOWN) {
        table.row([
            suspect.name.clone(),
            significant(suspect.above, 3),
            significant(suspect.chance, 2),
            if suspect.ratio.is_finite() {
                format!("10^{:.1}", suspect.ratio)
            } else {
                "0".to_owned()
            },
        ]);
    }
    let bound = match noise.limit() {
        Some(limit) => format!(
            "With ε = {} and δ = {} no test that accuses 1 % of strangers accuses more than {} of members, however high a score looks.",
            significant(limit.epsilon, 3),
            significant(limit.delta, 1),
            percent(limit.true_positives(0.01))
        ),
        None => "Without noise nothing bounds what the means tell; with ε = 1 and δ = 1e-5 a test that accuses 1 % of strangers would accuse at most 2.7 % \
                 of members."
            .to_owned(),
    };
    let left_out = match suspects.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("{} more are lower; --json has them all.\n", grouped(more as u64)),
    };
    let introduction = format!(
        "{} attributes of {people} people were published. A stranger has each attribute with its frequency, independently.",
        grouped(attributes as u64)
    );
    let json: Vec<Value> = suspects
        .iter()
        .map(|suspect| {
            json!({
                "who": suspect.name,
                "deviations_above": suspect.above,
                "stranger_probability": suspect.chance,
                "log10_likelihood_ratio": suspect.ratio.is_finite().then_some(suspect.ratio),
            })
        })
        .collect();
    Findings {
        text: format!("{introduction}\n\n{table}{left_out}\n{bound}\n"),
        json: json!({
            "command": "attack membership",
            "people": people,
            "attributes": attributes,
            "members_allowed_at_1_percent": noise.limit().map_or(1.0, |limit| limit.true_positives(0.01)),
            "targets": json,
        }),
        title: "Deniable: tracing people from published means",
        introduction,
        rows: suspects
            .iter()
            .take(SHOWN)
            .map(|suspect| {
                Row::new(
                    &suspect.name,
                    "how often a stranger scores as high",
                    "not rare",
                    significant(suspect.chance, 2),
                    suspect.chance > 1e-3,
                )
            })
            .collect(),
        figures: Vec::new(),
    }
}
