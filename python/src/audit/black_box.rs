//! Black-box audits of a Python callable.

use super::claimed;
use crate::errors::{Class, of_parameter};
use audit::black_box::{FindingVerdict, Hunt, Lens, Pair, Side, Subject, Witness, word};
use exact::to_f64_up;
use noise::{Entropy as _, OsEntropy};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(audit_black_box, module)?)?;
    Ok(())
}

/// What the black box found.
#[derive(IntoPyObject)]
struct BlackBox {
    epsilon_lower: f64,
    refuted: Option<bool>,
    event: String,
    mirror: Option<String>,
    likely_first: bool,
    draws: [u64; 2],
    hits: [u64; 2],
    confidence: f64,
    anytime: bool,
    made: u64,
    seconds: f64,
}

/// What the search asks of the thread that has the callable.
enum Message {
    /// So many outputs on one input.
    Draw { input: usize, times: u64 },
    /// It is over.
    Done(Result<Witness, Failure>),
}

/// Rows one after the other, in one piece of memory.
#[derive(Default)]
struct Batch {
    entries: Vec<f64>,
    ends: Vec<usize>,
}

/// Why a search ended without a result.
enum Failure {
    /// Nobody hands out outputs any more: the callable raised, or Ctrl-C was pressed.
    Stopped,
    Audit(audit::Error),
}

impl From<audit::Error> for Failure {
    fn from(error: audit::Error) -> Self {
        Self::Audit(error)
    }
}

/// What outputs look like, so that an event can be told to a person.
#[derive(Default)]
struct Words {
    texts: BTreeMap<u64, String>,
    /// Whether the first output was text.
    text_first: bool,
}

/// Words that are remembered; an event is told with a few of them at most.
const MOST_WORDS: usize = 1 << 12;
/// Letters of each.
const LONGEST_WORD: usize = 40;
/// Entries of a row; a longer one is refused, as nothing would be learned of its end.
const MOST_ENTRIES: usize = 1024;
/// Outputs asked for at once: few enough to hold, and many enough that asking costs nothing.
const AT_ONCE: u64 = 4096;

/// The callable as the search sees it.
struct Asked {
    asks: Sender<Message>,
    rows: Receiver<Batch>,
    words: Arc<Mutex<Words>>,
    entropy: OsEntropy,
}

impl Asked {
    fn words<T>(&self, read: impl FnOnce(&Words) -> T) -> T {
        read(&self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subject for Asked {
    type Error = Failure;

    fn draw(&mut self, input: usize, times: u64, mut each: impl FnMut(&[f64])) -> Result<(), Failure> {
        let mut left = times;
        while left > 0 {
            let times = left.min(AT_ONCE);
            self.asks
                .send(Message::Draw { input, times })
                .map_err(|_| Failure::Stopped)?;
            let batch = self.rows.recv().map_err(|_| Failure::Stopped)?;
            let mut start = 0;
            for end in batch.ends {
                each(&batch.entries[start..end]);
                start = end;
            }
            left -= times;
        }
        Ok(())
    }

    fn bits(&mut self) -> u64 {
        self.entropy.bits(64)
    }

    fn entry(&self, place: usize) -> String {
        match (self.words(|words| words.text_first), place) {
            (false, 0) => "value".to_owned(),
            (false, place) => format!("value {}", place + 1),
            (true, 0) => "the text".to_owned(),
            (true, 1) => "length in bytes".to_owned(),
            (true, place) => format!("word {}", place - 1),
        }
    }

    fn text(&self, word: f64) -> Option<String> {
        self.words(|words| words.texts.get(&word.to_bits()).cloned())
    }
}

/// The callable, and what was seen of it.
struct Callee<'py> {
    mechanism: Bound<'py, PyAny>,
    inputs: [Bound<'py, PyAny>; 2],
    progress: Option<Bound<'py, PyAny>>,
    words: Arc<Mutex<Words>>,
    made: u64,
    planned: u64,
    looked: Instant,
}

/// How often a long call is looked after.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl<'py> Callee<'py> {
    fn run(&mut self, py: Python<'py>, input: usize, times: u64) -> PyResult<Batch> {
        let mut batch = Batch::default();
        for _ in 0..times {
            let output = self.mechanism.call1((&self.inputs[input],))?;
            if self.made == 0 {
                self.remember(|words| words.text_first = is_text(&output));
            }
            self.read(&output, &mut batch.entries)?;
            batch.ends.push(batch.entries.len());
            self.made += 1;
            if self.looked.elapsed() >= BETWEEN_LOOKS {
                py.check_signals()?;
                if let Some(progress) = &self.progress {
                    progress.call1((self.made, self.planned))?;
                }
                self.looked = Instant::now();
            }
        }
        Ok(batch)
    }

    fn remember<T>(&self, write: impl FnOnce(&mut Words) -> T) -> T {
        write(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Appends an output to a row.
    fn read(&self, output: &Bound<'py, PyAny>, row: &mut Vec<f64>) -> PyResult<()> {
        let start = row.len();
        if output.is_instance_of::<PyFloat>() || output.is_instance_of::<PyInt>() {
            // What most mechanisms return is asked for first.
            self.read_one(output, row)?;
        } else if let Some(text) = text_of(output)? {
            self.read_text(&text, row);
        } else if let Some(items) = items_of(output)? {
            for item in items {
                if row.len() - start >= MOST_ENTRIES {
                    return Err(of_parameter(format!(
                        "the mechanism returned more than {MOST_ENTRIES} numbers at once\nhint: return a part of them, or a number that says what matters of them"
                    )));
                }
                self.read_one(&item, row)?;
            }
        } else {
            self.read_one(output, row)?;
        }
        Ok(())
    }

    /// A number, or a label.
    fn read_one(&self, value: &Bound<'py, PyAny>, row: &mut Vec<f64>) -> PyResult<()> {
        if let Ok(float) = value.cast::<PyFloat>() {
            row.push(plain(float.value()));
        } else if let Some(text) = text_of(value)? {
            row.push(self.word(text.as_bytes()));
        } else if value.is_none() {
            row.push(self.word(b"None"));
        } else if value.is_instance_of::<PyBool>() {
            row.push(f64::from(u8::from(value.is_truthy()?)));
        } else if value.is_instance_of::<PyInt>() {
            self.read_integer(value, row)?;
        } else if value.hasattr("tolist")? {
            let inner = value.call_method0("tolist")?;
            if inner.hasattr("tolist")? || inner.is_instance_of::<PyList>() {
                return Err(unreadable());
            }
            self.read_one(&inner, row)?;
        } else {
            // Fractions, decimals and the like.
            let float = value.extract::<f64>().map_err(|_| unreadable())?;
            row.push(plain(float));
        }
        Ok(())
    }

    /// An integer that no float holds is a float and a label, so that none of its digits is lost.
    fn read_integer(&self, value: &Bound<'py, PyAny>, row: &mut Vec<f64>) -> PyResult<()> {
        const EXACT: i64 = 1 << 53;
        match value.extract::<i64>() {
            Ok(integer) if (-EXACT..=EXACT).contains(&integer) => row.push(integer as f64),
            _ => {
                let float = value.extract::<f64>().unwrap_or(f64::INFINITY);
                row.push(float);
                row.push(self.word(value.str()?.to_string_lossy().as_bytes()));
            }
        }
        Ok(())
    }

    /// The text as a whole, its length, and its words and numbers where it has several.
    fn read_text(&self, text: &str, row: &mut Vec<f64>) {
        row.push(self.word(text.as_bytes()));
        row.push(text.len() as f64);
        let parts: Vec<&str> = text
            .split(|letter: char| letter.is_whitespace() || letter == ',')
            .filter(|part| !part.is_empty())
            .take(MOST_ENTRIES)
            .collect();
        if parts.len() > 1 {
            let entry = |part: &&str| part.parse().map_or_else(|_| self.word(part.as_bytes()), plain);
            row.extend(parts.iter().map(entry));
        }
    }

    fn word(&self, text: &[u8]) -> f64 {
        let value = word(text);
        self.remember(|words| {
            if words.texts.len() < MOST_WORDS {
                words.texts.entry(value.to_bits()).or_insert_with(|| {
                    let tame = |letter: char| if letter.is_control() { ' ' } else { letter };
                    let letters = String::from_utf8_lossy(text);
                    letters.chars().take(LONGEST_WORD).map(tame).collect()
                });
            }
        });
        value
    }
}

/// Every NaN is the same one: labels are NaNs of other bits.
fn plain(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

fn is_text(output: &Bound<'_, PyAny>) -> bool {
    output.is_instance_of::<PyString>() || output.is_instance_of::<PyBytes>()
}

fn text_of(output: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if let Ok(text) = output.cast::<PyString>() {
        return Ok(Some(text.to_string_lossy().into_owned()));
    }
    if let Ok(bytes) = output.cast::<PyBytes>() {
        return Ok(Some(String::from_utf8_lossy(bytes.as_bytes()).into_owned()));
    }
    Ok(None)
}

/// The entries of a list, a tuple, or a flat array.
fn items_of<'py>(output: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if let Ok(list) = output.cast::<PyList>() {
        return Ok(Some(list.iter().collect()));
    }
    if let Ok(tuple) = output.cast::<PyTuple>() {
        return Ok(Some(tuple.iter().collect()));
    }
    if output.hasattr("tolist")? {
        let inner = output.call_method0("tolist")?;
        if let Ok(list) = inner.cast::<PyList>() {
            return Ok(Some(list.iter().collect()));
        }
    }
    Ok(None)
}

fn unreadable() -> PyErr {
    of_parameter(
        "the mechanism returned something that is neither a number, a label, nor a flat list of them\nhint: return what an observer sees: a number, a text, or a list such as list(counts.values())",
    )
}

/// How the black box is asked, beyond the callable.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct HowToHunt {
    epsilon: Option<String>,
    delta: String,
    samples: u64,
    confidence: f64,
    look: String,
    seconds: Option<f64>,
}

/// The black box on a callable and two inputs.
#[pyfunction]
fn audit_black_box<'py>(
    py: Python<'py>,
    mechanism: Bound<'py, PyAny>,
    first: Bound<'py, PyAny>,
    second: Bound<'py, PyAny>,
    how: HowToHunt,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<BlackBox> {
    let claim = claimed(how.epsilon.as_deref(), Some(&how.delta))?;
    // Claims are rounded up, in favour of the mechanism.
    let claimed_epsilon = claim.epsilon.as_ref().map(|epsilon| to_f64_up(&epsilon.0));
    let delta = to_f64_up(&claim.delta_or_zero().0);
    let hunt = Hunt {
        choosing: how.samples,
        testing: how.samples,
        delta,
        confidence: how.confidence,
        lens: match how.look.as_str() {
            "everything" => Lens::Everything,
            "values" => Lens::Values,
            "bits" => Lens::Bits,
            _ => {
                return Err(of_parameter(
                    "look must be everything, values or bits\nhint: values leaves the low bits of floats out of account",
                ));
            }
        },
    };
    let started = Instant::now();
    let words = Arc::new(Mutex::new(Words::default()));
    let (asks, mut asked) = channel();
    let (rows, drawn) = channel();
    let subject = Asked {
        asks: asks.clone(),
        rows: drawn,
        words: Arc::clone(&words),
        entropy: OsEntropy::new().map_err(of_parameter)?,
    };
    let seconds = how.seconds;
    std::thread::spawn(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = asks.send(Message::Done(search(hunt, subject, seconds)));
    });
    let mut callee = Callee {
        mechanism,
        inputs: [first, second],
        progress,
        words,
        made: 0,
        planned: 2 * how.samples,
        looked: Instant::now(),
    };
    let witness = loop {
        // Borrowed mutably: a receiver may be sent to another thread, and not shared.
        let waits = &mut asked;
        match py.detach(move || waits.recv_timeout(BETWEEN_LOOKS)) {
            Ok(Message::Draw { input, times }) => {
                // Where the search is gone it says why in its last message.
                let _ = rows.send(callee.run(py, input, times)?);
            }
            Ok(Message::Done(Ok(witness))) => break witness,
            Ok(Message::Done(Err(Failure::Audit(error)))) => return Err(of_parameter(error)),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Ok(Message::Done(Err(Failure::Stopped))) | Err(RecvTimeoutError::Disconnected) => {
                return Err(Class::Engine.raise(
                    "the search for an event failed inside, which is a defect of Deniable\nhint: set DENIABLE_PANICS=1 to see what it said",
                ));
            }
        }
    };
    Ok(BlackBox {
        epsilon_lower: witness.epsilon_at(delta),
        refuted: claimed_epsilon.map(|epsilon| witness.verdict(epsilon, delta) == FindingVerdict::Refuted),
        event: witness.event.clone(),
        mirror: witness.mirror.clone(),
        likely_first: witness.likely == Side::First,
        draws: witness.draws,
        hits: witness.hits,
        confidence: witness.confidence,
        anytime: witness.anytime,
        made: callee.made,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Calls on each input whose time tells how many there is time for.
const REHEARSED: u64 = 32;
/// With fewer draws nothing is chosen.
const FEWEST: u64 = 64;

/// Chooses an event and tests it, on draws of its own. Where time is short there are fewer of them; how many is decided before the first, from the time that others took.
fn search(mut hunt: Hunt, mut subject: Asked, seconds: Option<f64>) -> Result<Witness, Failure> {
    let pairs = [Pair { first: 0, second: 1 }];
    if let Some(seconds) = seconds {
        let started = Instant::now();
        for input in 0..2 {
            subject.draw(input, REHEARSED, |_| ())?;
        }
        let each = started.elapsed().as_secs_f64().max(1e-9) / (2 * REHEARSED) as f64;
        // Half of the draws choose and half of them test.
        let affordable = (seconds / each / 2.0) as u64;
        hunt.choosing = hunt.choosing.min(affordable.max(FEWEST));
        hunt.testing = hunt.choosing;
    }
    let mut workers = [subject];
    hunt.choose(&mut workers, &pairs)?
        .test(&mut workers, hunt.testing)
}
