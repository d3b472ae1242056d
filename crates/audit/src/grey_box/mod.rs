//! Does a computation spend what it says? Records its calls on one input and replays them on a neighbour.
//!
//! Private programs are made of a few mechanisms with proofs and much code without one: code that counts,
//! clips, branches and asks again. Errors are in that code. A branch looks at the data and not at the
//! answers. A sum moves further than was declared. One more query is asked when somebody rare is in the data.
//! None of that shows in any single answer, and a lower bound from samples sees it only when it is gross. But
//! it shows at once when the same program runs on a neighbour *with the same answers*:
//!
//! ```text
//! run on D    ──► call 1, answer y₁ ──► call 2, answer y₂ ──► … ──► result
//! run on D′   ──► call 1, given  y₁ ──► call 2, given  y₂ ──► … ──► result
//!                 same statement? moved within its limits?          same?
//! ```
//!
//! A computation is a function of the data and a [`Recorder`], which it asks for every random thing it does.
//! [`Recorder::draw`] takes what is called ([`Call`]: mechanism, parameters, limits on how far a neighbour
//! may move the input, cost), the exact input, and how to draw.
//!
//! # What it proves
//! Let A be a computation that is deterministic but for calls to mechanisms, each of which is (εₖ,
//! δₖ)-private for inputs within its stated limits. A transcript y = (y₁, …, yₙ) is a sequence of answers;
//! given the data it determines every call and the result. For neighbours D and D′ let B be the set of *bad*
//! transcripts: those on which the two runs differ in a statement or in the number of calls, an input moves
//! further than its limits, the results differ, or the costs add up to more than ε and δ.
//!
//! **Theorem.** P[A(D) ∈ S] ≤ e^ε·P[A(D′) ∈ S] + δ + P[A(D) makes a transcript in B], for every S.
//!
//! Proof. Let A* stop with the result ⊥ before the first call at which the two runs part (a statement or an
//! input beyond its limits, a call too many, a cost too much), and at the end if the results differ. Whether
//! it stops depends on the answers so far and on the pair, which is fixed. So A* is an adaptive composition
//! in which each call has the same statement on D and D′ and inputs within its limits, and whose costs never
//! exceed (ε, δ). For δ = 0 multiply along a transcript: p(y|D) = Πₖ p(yₖ | xₖ(D, y₁…yₖ₋₁)) ≤ Πₖ e^εₖ·p(yₖ |
//! xₖ(D′, y₁…yₖ₋₁)) ≤ e^ε·p(y|D′); for δ > 0 it is basic composition (Dwork and Roth 2014; with adaptively
//! chosen costs Rogers, Roth, Ullman and Vadhan 2016). The result is a function of the transcript, the same
//! for both. Hence P[A(D) ∈ S] ≤ P[A*(D) ∈ S∖⊥] + P[B] ≤ e^ε·P[A*(D′) ∈ S∖⊥] + δ + P[B] ≤ e^ε·P[A(D′) ∈ S] +
//! δ + P[B]. ∎
//!
//! So the verdict for one pair is
//! - *proved*, when every call has a finite list of answers ([`Recorder::choose`]), all transcripts were
//!   tried, and none is bad;
//! - *refuted*, when a bad transcript was seen and δ leaves no room for it: then the stated costs do not
//!   cover this pair, and the [`Witness`] says why. With δ > 0 a share of bad transcripts is allowed, and it
//!   is refuted when their probability certainly exceeds what is left of δ, at the stated confidence;
//! - *consistent*, otherwise, with a bound on P[B] from the number of runs: what was seen costs no more than
//!   it says.
//!
//! The verdict is about the argument. A bad transcript does not say that an attack exists. It says that the
//! costs that the program states are not the costs of what it does.
//!
//! A [`search`](GreyBox::search) drops, adds and changes units, keeps the worst pair and shrinks it.
//!
//! As in "Testing differential privacy with dual interpreters" (Zhang, Roth, Haeberlen, Pierce and Roth
//! 2020). A witness quotes the inputs: run this on synthetic data.
//!
//! ```
//! use audit::grey_box::{Call, GreyBox, Limits, Recorder};
//! use audit::report::ClaimVerdict;
//! use exact::Rational;
//!
//! // Forgets to clip: one person may earn more than the declared 100.
//! let sum = |incomes: &[i64], recorder: &mut Recorder| {
//!     let call = Call::new("Laplace", Rational::ONE).moving(Limits::l1(Rational::from(100)));
//!     recorder.draw(call, incomes.iter().sum::<i64>(), || 0)
//! };
//! let auditor = GreyBox::new(Rational::ONE, Rational::ZERO);
//! let found = auditor.compare(&[50, 90][..], &[50, 90, 4000][..], sum);
//! assert_eq!(found.verdict(), ClaimVerdict::Refuted);
//! assert_eq!(
//!     found.witness.expect("there is one").to_string(),
//!     "call 1 (Laplace): its input moves by 4000 in ℓ₁, declared was 100; it is 140 on one input and 4140 on the other"
//! );
//! ```

mod movement;
mod recorder;
mod search;
mod witness;

pub use movement::{Input, Limits, Movement, Norm};
pub use recorder::{Call, Recorder};
pub use search::{Neighbours, Pair, Search};
pub use witness::Witness;

use crate::binomial::{lower_limit, upper_limit};
use crate::report::ClaimVerdict;
use exact::{Rational, from_f64, to_f64_up};
use recorder::{Transcript, Ways};

/// An audit by recording and replaying.
#[derive(Clone, Debug, PartialEq)]
pub struct GreyBox {
    /// The ε that is claimed for the whole computation.
    pub epsilon: Rational,
    /// The δ that is claimed.
    pub delta: Rational,
    /// How many transcripts are drawn in each direction, where they cannot all be tried.
    pub runs: u64,
    /// The most transcripts that are tried one by one.
    pub paths: u64,
    /// One minus the probability of a false refutation, which there can be only when δ > 0.
    pub confidence: f64,
}

/// The result of one pair of inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Whether every transcript was tried.
    pub exhaustive: bool,
    /// Transcripts drawn (or tried) in each direction.
    pub runs: u64,
    /// How many of them were bad, in the direction where more were.
    pub bad: u64,
    /// The worst of the bad ones.
    pub witness: Option<Witness>,
    /// The largest sum of ε over one transcript.
    pub epsilon: Rational,
    /// The largest sum of δ over one transcript.
    pub delta: Rational,
    /// The most calls in one transcript.
    pub calls: usize,
    /// What the claimed δ leaves for bad transcripts.
    allowance: Rational,
    failure: f64,
}

impl GreyBox {
    /// For a claimed (ε, δ), with 16 runs in each direction, up to 4,096 transcripts tried one by one, and a
    /// confidence of 1 − 1e-9.
    pub fn new(epsilon: Rational, delta: Rational) -> Self {
        Self {
            epsilon,
            delta,
            runs: 16,
            paths: 4096,
            confidence: 1.0 - 1e-9,
        }
    }

    /// The same with this many runs.
    #[must_use]
    pub fn with_runs(self, runs: u64) -> Self {
        Self {
            runs: runs.max(1),
            ..self
        }
    }

    /// Runs the computation on both inputs with the same answers, in both directions.
    pub fn compare<D: ?Sized, R: PartialEq>(
        &self,
        first: &D,
        second: &D,
        mut computation: impl FnMut(&D, &mut Recorder) -> R,
    ) -> Finding {
        let mut finding = Finding {
            exhaustive: true,
            runs: 0,
            bad: 0,
            witness: None,
            epsilon: Rational::ZERO,
            delta: Rational::ZERO,
            calls: 0,
            allowance: Rational::ZERO,
            failure: (1.0 - self.confidence) / 2.0,
        };
        for (here, there) in [(first, second), (second, first)] {
            let mut once =
                |recorder: Recorder| self.replay(here, there, recorder, &mut finding, &mut computation);
            let mut ways = Ways::new();
            let (mut tried, mut bad, mut all) = (0, 0, false);
            while tried < self.paths {
                let (transcript, is_bad) = once(Recorder::along(ways.clone()));
                tried += 1;
                bad += u64::from(is_bad);
                match transcript.next() {
                    // An answer that is not from a list: trying all of them is out of the question.
                    Err(()) => break,
                    Ok(Some(next)) => ways = next,
                    Ok(None) => {
                        all = true;
                        break;
                    }
                }
            }
            // How often a listed answer is given is not known, so a bad transcript among those tried has no
            // probability yet.
            let proved = all && bad == 0;
            if !proved {
                (tried, bad) = (0, 0);
                while tried < self.runs {
                    bad += u64::from(once(Recorder::fresh()).1);
                    tried += 1;
                }
            }
            finding.exhaustive &= proved;
            finding.bad = finding.bad.max(bad);
            finding.runs = finding.runs.max(tried);
        }
        if !finding.exhaustive {
            // A direction that is proved has more transcripts behind it, and says nothing of the other.
            finding.runs = self.runs;
        }
        finding.allowance = (&self.delta - &finding.delta).max(Rational::ZERO);
        finding
    }

    /// One transcript: recorded here, replayed there. Returns it, and whether it is bad.
    fn replay<D: ?Sized, R: PartialEq>(
        &self,
        here: &D,
        there: &D,
        mut recorder: Recorder,
        finding: &mut Finding,
        computation: &mut impl FnMut(&D, &mut Recorder) -> R,
    ) -> (Transcript, bool) {
        let recorded = computation(here, &mut recorder);
        let transcript = recorder.finish();
        let (epsilon, delta) = transcript.cost();
        finding.calls = finding.calls.max(transcript.len());
        let mut witness = (epsilon > self.epsilon || delta > self.delta).then(|| Witness::Cost {
            stated: [epsilon.clone(), delta.clone()],
            claimed: [self.epsilon.clone(), self.delta.clone()],
        });
        finding.epsilon = finding.epsilon.clone().max(epsilon);
        finding.delta = finding.delta.clone().max(delta);
        let mut replaying = Recorder::replaying(transcript);
        let replayed = computation(there, &mut replaying);
        let (transcript, parted) = replaying.compared();
        witness = witness.or(parted);
        if witness.is_none() && recorded != replayed {
            witness = Some(Witness::Result);
        }
        let bad = witness.is_some();
        if let Some(witness) = witness
            && finding
                .witness
                .as_ref()
                .is_none_or(|worst| witness.severity() > worst.severity())
        {
            finding.witness = Some(witness);
        }
        (transcript, bad)
    }
}

impl Finding {
    /// Proved, consistent or refuted, for this pair.
    pub fn verdict(&self) -> ClaimVerdict {
        if self.witness.is_none() {
            return if self.exhaustive {
                ClaimVerdict::Proved
            } else {
                ClaimVerdict::Consistent
            };
        }
        // One bad transcript has a probability above zero; for any more room the counts decide.
        let certainly = from_f64(lower_limit(self.bad, self.runs, self.failure)).unwrap_or(Rational::ZERO);
        if self.allowance.is_zero() || certainly > self.allowance {
            ClaimVerdict::Refuted
        } else {
            ClaimVerdict::Consistent
        }
    }

    /// The probability of a bad transcript is at most this, with the stated confidence: add it to δ, and the
    /// theorem holds for this pair.
    pub fn unseen_at_most(&self) -> f64 {
        if self.exhaustive {
            return 0.0;
        }
        upper_limit(self.bad, self.runs, self.failure)
    }

    /// How bad the worst transcript is: by what factor an input moved too far, infinite when the runs parted,
    /// zero when none is bad.
    pub fn severity(&self) -> f64 {
        self.witness.as_ref().map_or(0.0, Witness::severity)
    }

    /// In a sentence.
    pub fn words(&self) -> String {
        let calls = format!("{} call{}", self.calls, if self.calls == 1 { "" } else { "s" });
        match (&self.witness, self.exhaustive) {
            (None, true) => format!(
                "all {} transcripts of up to {calls} cost ε ≤ {}",
                self.runs,
                to_f64_up(&self.epsilon)
            ),
            (None, false) => format!(
                "{} transcripts of up to {calls} each way cost ε ≤ {}; others have probability at most {:.1e}",
                self.runs,
                to_f64_up(&self.epsilon),
                self.unseen_at_most()
            ),
            (Some(witness), _) if self.bad == 0 => {
                format!(
                    "a transcript is bad, though none of {} that were drawn: {witness}",
                    self.runs
                )
            }
            (Some(witness), _) => format!("{} of {} transcripts are bad: {witness}", self.bad, self.runs),
        }
    }
}
