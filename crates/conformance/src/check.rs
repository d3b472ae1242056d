//! One thing to find out, and many of them on a few threads.

use crate::Error;
use audit::report::{ClaimVerdict, Judgement, Method};
use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How much work to put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Enough to notice gross mistakes, in a build that is not optimized.
    Quick,
    /// All of it.
    Full,
}

impl Effort {
    /// The first of two for a quick look.
    pub(crate) fn pick<T: Copy>(self, both: [T; 2]) -> T {
        match self {
            Effort::Quick => both[0],
            Effort::Full => both[1],
        }
    }
}

/// What must come out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The claim is true: proved, or nothing found against it.
    Holds,
    /// Something was made wrong, and it must be noticed.
    Refuted(String),
}

/// Does it, with bits from this seed.
pub(crate) type Work = Box<dyn FnOnce(u64) -> Result<Judgement, Error> + Send>;

/// One thing to find out.
pub struct Check {
    pub(crate) mechanism: &'static str,
    pub(crate) method: Method,
    pub(crate) expected: Expected,
    work: Work,
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Done {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// How it was judged.
    pub method: Method,
    /// What had to come out.
    pub expected: Expected,
    /// The result.
    pub judgement: Result<Judgement, Error>,
    /// How long it took.
    pub time: Duration,
    /// Its place in the list.
    place: usize,
}

impl Done {
    /// Whether the verdict is the one that had to come out.
    pub fn is_right(&self) -> bool {
        let Ok(judgement) = &self.judgement else {
            return false;
        };
        match self.expected {
            // What can be written down must be proved; where only samples are there, nothing may be found.
            Expected::Holds if self.method == Method::Exact => judgement.verdict == ClaimVerdict::Proved,
            Expected::Holds => judgement.verdict != ClaimVerdict::Refuted,
            Expected::Refuted(_) => judgement.verdict == ClaimVerdict::Refuted,
        }
    }
}

impl Check {
    pub(crate) fn new(mechanism: &'static str, method: Method, expected: Expected, work: Work) -> Self {
        Self {
            mechanism,
            method,
            expected,
            work,
        }
    }

    /// A seed of its own, whatever the others are and in whatever order they run: what one check finds can be
    /// shown without the rest.
    fn seed(&self, seed: u64) -> u64 {
        let name = format!("{} {} {:?}", self.mechanism, self.method, self.expected);
        // FNV-1a (Fowler, Noll and Vo); seeds need be distinct, not secret.
        name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    fn run(self, place: usize, seed: u64) -> Done {
        let seed = self.seed(seed);
        let start = Instant::now();
        let judgement = (self.work)(seed);
        Done {
            mechanism: self.mechanism,
            method: self.method,
            expected: self.expected,
            judgement,
            time: start.elapsed(),
            place,
        }
    }
}

/// How often the one who waits looks up.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the checks on some threads, and returns what was found in the order of the list: all of it, or as
/// much as there is when `stop` says so. `found` hears of each as it is done.
pub fn run(
    checks: Vec<Check>,
    seed: u64,
    threads: usize,
    found: &mut dyn FnMut(&Done),
    stop: &dyn Fn() -> bool,
) -> Vec<Done> {
    let mut waiting = checks.len();
    let queue: VecDeque<(usize, Check)> = checks.into_iter().enumerate().collect();
    let queue = Arc::new(Mutex::new(queue));
    let (sender, receiver) = channel();
    for _ in 0..threads.max(1) {
        let (queue, sender) = (Arc::clone(&queue), sender.clone());
        // Not joined: after an interruption nobody waits for a check that is half done.
        std::thread::spawn(move || work_off(&queue, seed, &sender));
    }
    // When every worker is gone, so is the last sender.
    drop(sender);
    let mut done: Vec<Done> = Vec::new();
    while waiting > 0 && !stop() {
        match receiver.recv_timeout(LOOK) {
            Ok(one) => {
                waiting -= 1;
                found(&one);
                done.push(one);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    done.sort_by_key(|one| one.place);
    done
}

fn work_off(queue: &Mutex<VecDeque<(usize, Check)>>, seed: u64, sender: &Sender<Done>) {
    loop {
        let next = queue.lock().map(|mut queue| queue.pop_front());
        let Ok(Some((place, check))) = next else {
            return;
        };
        // Nobody listens any more: it was interrupted.
        if sender.send(check.run(place, seed)).is_err() {
            return;
        }
    }
}
