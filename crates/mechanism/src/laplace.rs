use crate::{Accuracy, Aggregate, Error, Mechanism, Permit, Points, Sensitivity, Stated, Terms};
use accounting::{Epsilon, Event, Promise, Ratio};
use exact::{Rational, to_f64_up};
use noise::{DiscreteLaplace, Grid};

/// Adds discrete Laplace noise of scale Δ₁/ε to each coordinate. On counts this is the geometric mechanism.
///
/// # Privacy
/// Claim: ε-DP for inputs on the grid that differ by at most Δ₁ in ℓ₁, scalar or vector.
/// Proof: with b = Δ₁/ε, P[z|x]/P[z|x'] = Π exp((|zᵢ−x'ᵢ|−|zᵢ−xᵢ|)/b) ≤ exp(‖x−x'‖₁/b) ≤ exp(Δ₁/b) = e^ε, by the triangle inequality;
/// the normalizing constants are equal because both sums run over all integers. Saturating at the ends of `i64` is post-processing.
/// Source: Dwork, McSherry, Nissim and Smith 2006; on the integers, Ghosh, Roughgarden and Sundararajan 2009. Assumes: exact sampler; b is the rational Δ₁/ε.
/// Audited by: `audit_laplace` (false alarm 1e-9, rejects 1.05 ε).
#[derive(Clone, Debug)]
pub struct Laplace {
    terms: Terms,
    scale: Rational,
    noise: DiscreteLaplace,
}

impl Laplace {
    /// Noise that is ε-DP for inputs of this sensitivity on this grid.
    pub fn new(epsilon: Epsilon, sensitivity: Sensitivity, grid: Grid) -> Result<Self, Error> {
        if epsilon == Epsilon::ZERO {
            return Err(Error::NoEpsilon);
        }
        let scale = sensitivity.l1() / epsilon.as_rational();
        let noise = DiscreteLaplace::new(&scale)?;
        let event = Event::Laplace {
            ratio: Ratio::at_least(epsilon.as_rational()),
            on: scalar_or_vector(&sensitivity),
        };
        let accuracy = Accuracy::Laplace {
            scale: to_f64_up(&scale),
        };
        let terms = Terms::new(sensitivity, event, Promise::Pure(epsilon), accuracy).on(grid);
        Ok(Self { terms, scale, noise })
    }

    /// The scale of the noise, in grid steps.
    pub fn scale(&self) -> &Rational {
        &self.scale
    }
}

/// What the accountant may know of where the noise lives: on one number its own curve holds, on several only ε does.
fn scalar_or_vector(sensitivity: &Sensitivity) -> accounting::NoiseSupport {
    match u64::try_from(sensitivity.l1().numerator()) {
        Ok(steps) if sensitivity.coordinates() == 1 && sensitivity.l1().is_int() => {
            accounting::NoiseSupport::DiscreteScalar { sensitivity: steps }
        }
        _ => accounting::NoiseSupport::Discrete,
    }
}

impl Stated for Laplace {
    fn terms(&self) -> &Terms {
        &self.terms
    }
}

impl<T: Points> Mechanism<T> for Laplace {
    type Output = T;

    fn draw(&self, input: Aggregate<T>, permit: Permit<'_>) -> T {
        let mut value = input.open();
        self.noise.add_to(value.as_mut_slice(), permit.entropy());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Account, MemoryLedger, Sensitive};
    use accounting::{Budget, Neighbors, PrivacyUnit};
    use audit::black_box::{BlackBox, Feature, FindingVerdict, Side};
    use audit::exact_audit::{Lattice, satisfies};
    use exact::ratio;

    fn person() -> PrivacyUnit {
        PrivacyUnit::new("person", Neighbors::AddRemove)
    }

    fn epsilon(text: &str) -> Epsilon {
        Epsilon::parse(text).unwrap()
    }

    fn plenty() -> Account<MemoryLedger> {
        Account::open(MemoryLedger::new(Budget::new(
            Promise::Pure(epsilon("1e9")),
            person(),
        )))
        .unwrap()
    }

    fn count(value: i64, sensitivity: &Sensitivity) -> Aggregate<i64> {
        Aggregate::claimed(Sensitive::new(value), sensitivity.clone(), person(), Grid::new(0))
    }

    #[test]
    fn audit_laplace() {
        // Exactly: the distribution of the noise, moved by the sensitivity, keeps ε and no less.
        for (step, claim) in [(1, "1"), (3, "0.5"), (61, "2")] {
            let sensitivity = Sensitivity::scalar(step).unwrap();
            let laplace = Laplace::new(epsilon(claim), sensitivity, Grid::new(0)).unwrap();
            let here = Lattice::discrete_laplace(laplace.scale()).unwrap();
            let there = here.clone().shifted(&ratio(step, 1));
            let claim = epsilon(claim).as_rational().clone();
            assert!(
                satisfies(
                    &here.clone().into(),
                    &there.clone().into(),
                    &claim,
                    &Rational::ZERO
                )
                .unwrap()
            );
            let less = &claim * ratio(20, 21);
            assert!(!satisfies(&here.into(), &there.into(), &less, &Rational::ZERO).unwrap());
        }
        // As a black box, through the account: draws on neighbours do not refute ε = 1, and do refute it for noise of 1.05 ε.
        for (drawn, verdict) in [
            ("1", FindingVerdict::Consistent),
            ("1.05", FindingVerdict::Refuted),
        ] {
            let mut account = plenty();
            let sensitivity = Sensitivity::scalar(1).unwrap();
            let laplace = Laplace::new(epsilon(drawn), sensitivity.clone(), Grid::new(0)).unwrap();
            let draw = |side: Side| {
                let input = count(i64::from(side == Side::Second), &sensitivity);
                account.release_by(&laplace, input, "audit").unwrap().into_value()
            };
            let auditor = BlackBox {
                samples_per_side: 400_000,
                delta: 0.0,
                confidence: 1.0 - 1e-9,
            };
            let finding = auditor.audit(draw, &Feature::<i64>::standard()).unwrap();
            assert_eq!(finding.verdict(1.0, 0.0), verdict, "{finding:?}");
        }
    }

    #[test]
    fn vectors_share_one_budget() {
        let mut account = plenty();
        let answers = Sensitive::new(vec![0u32, 1, 1, 7]);
        let histogram = Aggregate::histogram(&answers, 3, person()).unwrap();
        let laplace = Laplace::new(epsilon("50"), histogram.sensitivity().clone(), histogram.grid()).unwrap();
        let release = account.release_by(&laplace, histogram, "histogram").unwrap();
        assert_eq!(
            release.value(),
            &vec![1, 2, 0],
            "at ε = 50 the noise is zero with probability 1 − 1e-21"
        );
        assert_eq!(release.intervals(0.99).unwrap().len(), 3);
        assert_eq!(release.receipt().number, 1);
    }

    #[test]
    fn nothing_is_drawn_without_budget() {
        let budget = Budget::new(Promise::Pure(epsilon("1")), person());
        let mut account = Account::open(MemoryLedger::new(budget)).unwrap();
        let sensitivity = Sensitivity::scalar(1).unwrap();
        let laplace = Laplace::new(epsilon("0.6"), sensitivity.clone(), Grid::new(0)).unwrap();
        assert!(
            account
                .release_by(&laplace, count(5, &sensitivity), "first")
                .is_ok()
        );
        let refused = account
            .release_by(&laplace, count(5, &sensitivity), "second")
            .unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
        assert_eq!(
            account.ledger().charges().len(),
            1,
            "a refused charge leaves no trace"
        );
    }

    #[test]
    fn mismatches_are_refused_before_the_charge() {
        let mut account = plenty();
        let one = Sensitivity::scalar(1).unwrap();
        let laplace = Laplace::new(epsilon("1"), one.clone(), Grid::new(0)).unwrap();
        let wide = count(5, &Sensitivity::scalar(2).unwrap());
        assert_eq!(
            account.release_by(&laplace, wide, "").unwrap_err(),
            Error::SensitivityMismatch
        );
        let fine = Aggregate::claimed(Sensitive::new(5), one.clone(), person(), Grid::new(-3));
        assert_eq!(
            account.release_by(&laplace, fine, "").unwrap_err(),
            Error::GridMismatch
        );
        let row = PrivacyUnit::new("row", Neighbors::AddRemove);
        let other = Aggregate::claimed(Sensitive::new(5), one, row, Grid::new(0));
        assert_eq!(
            account.release_by(&laplace, other, "").unwrap_err(),
            Error::UnitMismatch
        );
        assert!(account.ledger().charges().is_empty());
        assert_eq!(
            Laplace::new(Epsilon::ZERO, Sensitivity::scalar(1).unwrap(), Grid::new(0)).unwrap_err(),
            Error::NoEpsilon
        );
    }
}
