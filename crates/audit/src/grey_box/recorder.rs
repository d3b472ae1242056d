//! The calls of one run, and the same answers for another.

use super::movement::{Input, Limits, number};
use super::witness::Witness;
use exact::Rational;
use std::any::Any;
use std::fmt;

/// What a call states before it sees data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    mechanism: String,
    parameters: Vec<(String, String)>,
    limits: Limits,
    epsilon: Rational,
    delta: Rational,
}

impl Call {
    /// A call of this mechanism that costs ε for inputs within its limits. Without [`Call::moving`] the input
    /// must not move.
    pub fn new(mechanism: impl Into<String>, epsilon: Rational) -> Self {
        Self {
            mechanism: mechanism.into(),
            parameters: Vec::new(),
            limits: Limits::default(),
            epsilon,
            delta: Rational::ZERO,
        }
    }

    /// For inputs that a neighbour moves no further than this.
    #[must_use]
    pub fn moving(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// It costs δ as well.
    #[must_use]
    pub fn with_delta(self, delta: Rational) -> Self {
        Self { delta, ..self }
    }

    /// With a parameter, such as the scale of the noise: it must be the same on both inputs.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.parameters.push((name.into(), value.to_string()));
        self
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self
            .parameters
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = std::iter::once(format!("ε = {}", number(&self.epsilon)))
            .chain(parameters)
            .collect();
        write!(formatter, "{}({})", self.mechanism, all.join(", "))
    }
}

/// One call as it was made.
struct Made {
    call: Call,
    input: Input,
    answer: Box<dyn Any>,
}

/// Which listed answer is given at each choice: all of them are tried in the order of an odometer.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// The place of the answer given, and how many there are.
    taken: Vec<(usize, usize)>,
}

impl Ways {
    pub(super) fn new() -> Self {
        Self::default()
    }

    fn next(mut self) -> Option<Self> {
        while let Some((place, of)) = self.taken.pop() {
            if place + 1 < of {
                self.taken.push((place + 1, of));
                return Some(self);
            }
        }
        None
    }
}

/// The calls of one run.
#[derive(Default)]
pub(super) struct Transcript {
    made: Vec<Made>,
    ways: Ways,
    /// Some answer was drawn and not taken from a list.
    open: bool,
}

impl Transcript {
    pub(super) fn len(&self) -> usize {
        self.made.len()
    }

    /// The sums of ε and δ.
    pub(super) fn cost(&self) -> (Rational, Rational) {
        self.made
            .iter()
            .fold((Rational::ZERO, Rational::ZERO), |sum, made| {
                (sum.0 + &made.call.epsilon, sum.1 + &made.call.delta)
            })
    }

    /// The ways after this one, none when all were gone, or an error when there is no end of them.
    pub(super) fn next(&self) -> Result<Option<Ways>, ()> {
        if self.open {
            Err(())
        } else {
            Ok(self.ways.clone().next())
        }
    }
}

enum Mode {
    /// Answers are drawn.
    Fresh,
    /// Answers are taken from their lists.
    Along(Ways),
    /// Answers are given again.
    Replaying(Box<Replay>),
}

/// What was recorded, how far the replay is, and the first place where it parted from what was recorded.
struct Replay {
    recorded: Transcript,
    place: usize,
    parted: Option<Witness>,
}

/// A computation asks it for everything random that it does.
///
/// It does not tell which run it is: a computation that behaves differently when it is watched twice is
/// caught like any other.
pub struct Recorder {
    mode: Mode,
    transcript: Transcript,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Recorder({} calls)", self.transcript.len())
    }
}

impl Recorder {
    pub(super) fn fresh() -> Self {
        Self {
            mode: Mode::Fresh,
            transcript: Transcript::default(),
        }
    }

    pub(super) fn along(ways: Ways) -> Self {
        Self {
            mode: Mode::Along(ways),
            transcript: Transcript::default(),
        }
    }

    pub(super) fn replaying(recorded: Transcript) -> Self {
        let replay = Replay {
            recorded,
            place: 0,
            parted: None,
        };
        Self {
            mode: Mode::Replaying(Box::new(replay)),
            transcript: Transcript::default(),
        }
    }

    pub(super) fn finish(self) -> Transcript {
        self.transcript
    }

    /// What was recorded, and where the replay parted from it.
    pub(super) fn compared(self) -> (Transcript, Option<Witness>) {
        let Mode::Replaying(replay) = self.mode else {
            return (self.transcript, None);
        };
        let Replay {
            recorded,
            place,
            parted,
        } = *replay;
        let parted = parted.or_else(|| {
            recorded.made.get(place).map(|made| Witness::Extra {
                call: place + 1,
                mechanism: made.call.mechanism.clone(),
                recorded: true,
            })
        });
        (recorded, parted)
    }

    /// Makes a call: what is called, its exact input, and how to draw an answer. Randomness of the
    /// computation's own, such as a sample of rows, is a call too, of ε = 0 and an input that does not move.
    pub fn draw<O: Clone + 'static>(
        &mut self,
        call: Call,
        input: impl Into<Input>,
        draw: impl FnOnce() -> O,
    ) -> O {
        self.make(call, input.into(), None, draw)
    }

    /// The same where all possible answers can be listed: then every transcript can be tried.
    pub fn choose<O: Clone + 'static>(
        &mut self,
        call: Call,
        input: impl Into<Input>,
        answers: &[O],
        draw: impl FnOnce() -> O,
    ) -> O {
        self.make(call, input.into(), Some(answers), draw)
    }

    fn make<O: Clone + 'static>(
        &mut self,
        call: Call,
        input: Input,
        answers: Option<&[O]>,
        draw: impl FnOnce() -> O,
    ) -> O {
        let answer = match &mut self.mode {
            Mode::Replaying(replay) => {
                let Replay {
                    recorded,
                    place,
                    parted,
                } = &mut **replay;
                let number = *place + 1;
                let made = recorded.made.get(*place);
                *place += 1;
                let given = made.and_then(|made| made.answer.downcast_ref::<O>()).cloned();
                if parted.is_none() {
                    *parted = compare(number, made, &call, &input);
                }
                // An answer of another kind: the statements must tell the calls apart, and here they do not.
                if parted.is_none() && given.is_none() {
                    *parted = Some(Witness::Extra {
                        call: number,
                        mechanism: call.mechanism,
                        recorded: false,
                    });
                }
                // Once the runs have parted nothing more is compared, and any answer will do to come to an
                // end.
                return given.unwrap_or_else(draw);
            }
            Mode::Fresh => draw(),
            Mode::Along(ways) => match answers {
                Some(answers) if !answers.is_empty() => {
                    let taken = &mut self.transcript.ways.taken;
                    let place = ways
                        .taken
                        .get(taken.len())
                        .map_or(0, |way| way.0)
                        .min(answers.len() - 1);
                    taken.push((place, answers.len()));
                    answers[place].clone()
                }
                _ => {
                    self.transcript.open = true;
                    draw()
                }
            },
        };
        self.transcript.made.push(Made {
            call,
            input,
            answer: Box::new(answer.clone()),
        });
        answer
    }
}

/// Where a call parts from the one recorded in its place.
fn compare(number: usize, made: Option<&Made>, call: &Call, input: &Input) -> Option<Witness> {
    let Some(made) = made else {
        return Some(Witness::Extra {
            call: number,
            mechanism: call.mechanism.clone(),
            recorded: false,
        });
    };
    if made.call != *call {
        let calls = Box::new([made.call.clone(), call.clone()]);
        return Some(Witness::Stated { call: number, calls });
    }
    let mechanism = || call.mechanism.clone();
    let inputs = || Box::new([made.input.clone(), input.clone()]);
    let Some(movement) = made.input.movement(input) else {
        return Some(Witness::Shape {
            call: number,
            mechanism: mechanism(),
            inputs: inputs(),
        });
    };
    let (norm, declared, moved) = call.limits.exceeded(&movement)?;
    Some(Witness::Moved {
        call: number,
        mechanism: mechanism(),
        norm,
        declared,
        moved,
        inputs: inputs(),
    })
}
