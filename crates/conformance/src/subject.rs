//! What the gate must know about a mechanism, and the checks that follow from it.
//!
//! A [`Subject`] says how a mechanism is built, what its output distribution is by its definition, and on
//! which inputs its claim is closest to breaking. Five checks follow from that:
//!
//! ```text
//! exact      the distribution on every pair                          must be proved
//! exact      the distribution of a mechanism with too little noise   must be refuted
//! black box  draws on the closest pair                      nothing may be found
//! black box  draws of one with too little noise             must be refuted
//! fit        draws against the distribution                          the distribution that was proved is the distribution that is drawn
//! ```

use crate::FALSE_ALARM;
use crate::check::{Check, Effort, Expected, Work};
use crate::{Error, explained};
use accounting::{Neighbors, PrivacyUnit};
use audit::black_box::{BlackBox, Feature, Side};
use audit::exact_audit::Finite;
use audit::goodness::categorical_test;
use audit::report::{Claim, Distributions, Judgement, Method};
use exact::{Rational, ratio, to_f64_up};
use mechanism::{Account, Aggregate, Ledger, Mechanism, Sensitive, Stated, UnlimitedLedger};
use noise::Grid;
use std::fmt::Debug;

/// How hard each check tries; the first of two numbers is for a quick look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Percent of the noise that the mutant of the exact audit lacks.
    pub(crate) exact_lack: u32,
    /// Percent of the noise that the mutant of the black box lacks.
    pub(crate) drawn_lack: [u32; 2],
    /// Draws from each input for the black box.
    pub(crate) draws: [u64; 2],
    /// Draws for the fit.
    pub(crate) fitted: [u64; 2],
}

/// A mechanism that Deniable ships, and synthetic data for it.
pub(crate) trait Subject: Clone + Send + Sync + 'static {
    /// Its name in the closed list of the crate `mechanism`.
    const NAME: &'static str;
    /// Which neighbours it is for.
    const NEIGHBORS: Neighbors;

    /// What is given to it, before it is private.
    type Data: Clone + Debug;
    /// What it takes.
    type Input;
    /// What comes out.
    type Output;
    /// The mechanism.
    type Mechanism: Mechanism<Self::Input, Output = Self::Output>;

    /// What it claims.
    fn claim(&self) -> Result<Claim, Error>;

    /// Built for `stretch` times the ε of its claim, or with that much less noise.
    fn build(&self, stretch: &Rational) -> Result<Self::Mechanism, Error>;

    /// The input.
    fn input(&self, data: &Self::Data) -> Self::Input;

    /// Neighbours, whose distributions are compared: those for which the claim is closest to breaking, and
    /// others.
    fn pairs(&self) -> Vec<[Self::Data; 2]>;

    /// The distribution of the output on both sides of a pair: that of its cells, unless a better one is
    /// known.
    fn distributions(
        &self,
        mechanism: &Self::Mechanism,
        pair: &[Self::Data; 2],
    ) -> Result<Distributions, Error> {
        let [first, second] = pair;
        let cells = [self.cells(mechanism, first)?, self.cells(mechanism, second)?];
        Ok(Distributions::new(words(pair), cells))
    }

    /// The neighbours whose outputs tell most in few draws.
    fn drawn(&self) -> [Self::Data; 2];

    /// What to look at in an output.
    fn features(&self) -> Vec<Feature<Self::Output>>;

    /// A distribution over finitely many cells for this data, by the definition of the mechanism.
    fn cells(&self, mechanism: &Self::Mechanism, data: &Self::Data) -> Result<Finite, Error>;

    /// The cell that an output falls into.
    fn cell(&self, mechanism: &Self::Mechanism, output: &Self::Output) -> usize;

    /// How hard to try.
    fn plan(&self) -> Plan;
}

/// Two inputs as people read them.
pub(crate) fn words<D: Debug>(pair: &[D; 2]) -> [String; 2] {
    [format!("{:?}", pair[0]), format!("{:?}", pair[1])]
}

/// So much of the noise is missing: ε is stretched by 1/(1−lack).
fn stretch(lack: u32) -> Rational {
    ratio(100, u64::from(100 - lack.min(99)))
}

fn one_draw<S: Subject, L: Ledger>(
    subject: &S,
    mechanism: &S::Mechanism,
    account: &mut Account<L>,
    data: &S::Data,
) -> Result<S::Output, Error> {
    let terms = mechanism.terms();
    let input = Aggregate::claimed(
        Sensitive::new(subject.input(data)),
        terms.sensitivity().clone(),
        PrivacyUnit::new("person", S::NEIGHBORS),
        terms.grid().unwrap_or(Grid::new(0)),
    );
    let release = account
        .release_by(mechanism, input, "audit self")
        .map_err(explained)?;
    Ok(release.into_value())
}

/// The five checks of a subject.
pub(crate) fn checks<S: Subject>(subject: S, effort: Effort) -> Vec<Check> {
    let plan = subject.plan();
    let lacking = |lack: u32| Expected::Refuted(format!("{lack} % of the noise missing"));
    let (exact_lack, drawn_lack) = (plan.exact_lack, effort.pick(plan.drawn_lack));
    let draws = effort.pick(plan.draws);
    let of = || subject.clone();
    vec![
        Check::new(S::NAME, Method::Exact, Expected::Holds, exact(of(), 0)),
        Check::new(
            S::NAME,
            Method::Exact,
            lacking(exact_lack),
            exact(of(), exact_lack),
        ),
        Check::new(
            S::NAME,
            Method::BlackBox,
            Expected::Holds,
            black_box(of(), 0, draws),
        ),
        Check::new(
            S::NAME,
            Method::BlackBox,
            lacking(drawn_lack),
            black_box(of(), drawn_lack, draws),
        ),
        Check::new(
            S::NAME,
            Method::Fit,
            Expected::Holds,
            fit(of(), effort.pick(plan.fitted)),
        ),
    ]
}

fn exact<S: Subject>(subject: S, lack: u32) -> Work {
    Box::new(move |_| {
        let mechanism = subject.build(&stretch(lack))?;
        let pairs = subject.pairs();
        let distributions: Result<Vec<Distributions>, Error> = pairs
            .iter()
            .map(|pair| subject.distributions(&mechanism, pair))
            .collect();
        Judgement::exact(subject.claim()?, &distributions?).map_err(explained)
    })
}

fn black_box<S: Subject>(subject: S, lack: u32, draws: u64) -> Work {
    Box::new(move |seed| {
        let claim = subject.claim()?;
        let mechanism = subject.build(&stretch(lack))?;
        let pair = subject.drawn();
        let mut account = UnlimitedLedger::replayable(S::NEIGHBORS, seed);
        // What a mechanism refuses it refuses whatever the values: once it has drawn, it draws.
        for data in &pair {
            one_draw(&subject, &mechanism, &mut account, data)?;
        }
        let draw = |side| {
            let data = &pair[usize::from(side == Side::Second)];
            one_draw(&subject, &mechanism, &mut account, data).expect("it has drawn before")
        };
        let auditor = BlackBox {
            samples_per_side: draws,
            delta: to_f64_up(&claim.delta),
            confidence: 1.0 - FALSE_ALARM,
        };
        let finding = auditor.audit(draw, &subject.features()).map_err(explained)?;
        Ok(Judgement::black_box(claim, words(&pair), &finding, Some(seed)))
    })
}

fn fit<S: Subject>(subject: S, draws: u64) -> Work {
    Box::new(move |seed| {
        let mechanism = subject.build(&Rational::ONE)?;
        let [data, _] = subject.drawn();
        let distribution = subject.cells(&mechanism, &data)?;
        let probabilities: Vec<f64> = distribution
            .enclose(64)
            .iter()
            .map(|mass| mass.to_f64_nearest())
            .collect();
        let mut counts = vec![0u64; probabilities.len()];
        let mut account = UnlimitedLedger::replayable(S::NEIGHBORS, seed);
        for _ in 0..draws {
            let output = one_draw(&subject, &mechanism, &mut account, &data)?;
            let Some(count) = counts.get_mut(subject.cell(&mechanism, &output)) else {
                return Err(Error::new(format!(
                    "{} drew what its distribution does not have",
                    S::NAME
                )));
            };
            *count += 1;
        }
        let fit = categorical_test(&counts, &probabilities, FALSE_ALARM);
        Ok(Judgement::fit(
            subject.claim()?,
            format!("{data:?}"),
            &fit,
            FALSE_ALARM,
            Some(seed),
        ))
    })
}
