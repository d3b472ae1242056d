//! How much may be spent, and by whom.

use crate::analyst::normalised;
use crate::gate::Gate;
use crate::tally::Tally;
use crate::{Analyst, Error, More};
use accounting::{Budget, Delta, Epsilon, Event, Promise, Rho};
use exact::Rational;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The rules of a ledger: kept in it, and changed only by a further entry.
///
/// Two are the same when they say the same of the same analysts, however these are spelled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// What everybody together may learn, and about whom.
    pub budget: Budget,
    /// The part of the budget's δ that is set aside for events that carry a δ of their own. Zero for budgets
    /// without δ.
    pub reserve: Delta,
    /// The largest part of the budget that single analysts may spend, from 0 to 1. Shares promise nothing: an
    /// analyst who comes late finds what others left. If there are no shares, only the budget limits
    /// everybody. If there are some, nobody else may spend anything.
    #[serde(with = "fractions")]
    pub shares: BTreeMap<String, Rational>,
}

impl Rules {
    /// A budget, nothing set aside, and no shares.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            reserve: Delta::ZERO,
            shares: BTreeMap::new(),
        }
    }

    /// Whether a ledger can keep these rules.
    ///
    /// # Errors
    /// When a share is not between 0 and 1, or the reserve leaves no δ.
    pub fn check(&self) -> Result<(), Error> {
        let refused = |what: String| {
            Error::BadRules {
            what,
            hint: "give a budget such as ε = 1 and δ = 1e-6, a reserve below its δ, and shares from 0 to 1 such as 1/2".to_owned(),
        }
        };
        let budget = |error: accounting::Error| refused(first_line(&error));
        if !matches!(self.budget.limit(), Promise::Approximate(..)) && self.reserve != Delta::ZERO {
            return Err(refused("δ is set aside from a budget that has none".to_owned()));
        }
        self.dataset_gate().map_err(budget)?;
        self.check_names()?;
        for (analyst, share) in &self.shares {
            if *share < Rational::ZERO || *share > Rational::ONE {
                return Err(refused(format!(
                    "the share of {analyst:?} is not between 0 and 1"
                )));
            }
            if fractions::read(&fractions::write(share)).as_ref() != Some(share) {
                return Err(refused(format!("the share of {analyst:?} has too many digits")));
            }
            self.share_gate(share).map_err(budget)?;
        }
        Ok(())
    }

    /// How many charges like this one a new ledger with this budget admits, one after the other, up to
    /// `most`: what the filter allows, which is often more than a sum of ε would. Shares are left aside, as
    /// if one analyst had all of it.
    /// ```
    /// # use accounting::{Budget, Epsilon, Event, Neighbors, PrivacyUnit, Promise};
    /// let budget = Budget::new(Promise::Pure(Epsilon::parse("2")?), PrivacyUnit::new("person", Neighbors::AddRemove));
    /// let half = Event::Pure { epsilon: Epsilon::parse("0.5")? };
    /// assert_eq!(ledger::Rules::new(budget).admits(&half, 100)?, 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When no ledger can keep these rules.
    pub fn admits(&self, event: &Event, most: u64) -> Result<u64, Error> {
        let budget = Self {
            shares: BTreeMap::new(),
            ..self.clone()
        };
        let tally = Tally::new(&budget)?;
        Ok(More::of(event, most, |event| tally.fits_all(event)).count)
    }

    /// Whether every share has one analyst, and every analyst one share.
    pub(crate) fn check_names(&self) -> Result<(), Error> {
        let mut names = BTreeSet::new();
        for analyst in self.shares.keys() {
            if !names.insert(Analyst::named(analyst)?) {
                return Err(Error::BadRules {
                    what: format!("there are two shares of {analyst:?}, in different spellings"),
                    hint: "give each analyst one share; case, white space and what is not seen do not tell names apart".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The same, with names in their one spelling. Of several shares of one analyst, which earlier versions
    /// kept, the smallest counts.
    pub(crate) fn normalised(&self) -> Self {
        Self {
            shares: by_name(
                self.shares
                    .iter()
                    .map(|(name, share)| (name.as_str(), share.clone())),
            ),
            ..self.clone()
        }
    }

    /// The share of this analyst, in whatever spelling.
    pub fn share_of(&self, analyst: &str) -> Option<&Rational> {
        let wanted = normalised(analyst);
        let own = self.shares.iter().filter(|(name, _)| normalised(name) == wanted);
        own.map(|(_, share)| share).min()
    }

    /// The filter for everybody, with nothing spent.
    pub(crate) fn dataset_gate(&self) -> Result<Gate, accounting::Error> {
        Gate::new(self.budget.clone(), &self.reserve)
    }

    /// The filter for one analyst with a share, with nothing spent; `None` without a share. For a name in its
    /// one spelling, as in these rules.
    pub(crate) fn analyst_gate(&self, analyst: &str) -> Option<Result<Gate, accounting::Error>> {
        self.shares.get(analyst).map(|share| self.share_gate(share))
    }

    /// Every number of the budget is scaled, and rounded down.
    fn share_gate(&self, share: &Rational) -> Result<Gate, accounting::Error> {
        let limit = match self.budget.limit() {
            Promise::Pure(epsilon) => Promise::Pure(Epsilon::rounded_down(&(epsilon.as_rational() * share))?),
            Promise::Approximate(epsilon, delta) => Promise::Approximate(
                Epsilon::rounded_down(&(epsilon.as_rational() * share))?,
                Delta::rounded_down(&(delta.as_rational() * share))?,
            ),
            Promise::Concentrated(rho) => {
                Promise::Concentrated(Rho::rounded_down(&(rho.as_rational() * share))?)
            }
        };
        let reserve = Delta::rounded_down(&(self.reserve.as_rational() * share))?;
        Gate::new(Budget::new(limit, self.budget.unit().clone()), &reserve)
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        let parts = |rules: &Self| {
            let Self {
                budget,
                reserve,
                shares,
            } = rules.normalised();
            (budget, reserve, shares)
        };
        parts(self) == parts(other)
    }
}

impl Eq for Rules {}

fn by_name<'a>(shares: impl Iterator<Item = (&'a str, Rational)>) -> BTreeMap<String, Rational> {
    let mut named: BTreeMap<String, Rational> = BTreeMap::new();
    for (name, share) in shares {
        let kept = named.entry(normalised(name)).or_insert_with(|| share.clone());
        if share < *kept {
            *kept = share;
        }
    }
    named
}

/// What an error says, without its hint.
pub(crate) fn first_line(error: &dyn fmt::Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl fmt::Display for Rules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.budget)?;
        if self.reserve != Delta::ZERO {
            write!(formatter, "; δ = {} of it set aside", self.reserve)?;
        }
        for (analyst, share) in &self.shares {
            write!(formatter, "; {} of it for {analyst:?}", fractions::write(share))?;
        }
        Ok(())
    }
}

/// Shares as text, `0.25` or `1/3`: exact for every reader.
mod fractions {
    use super::{BTreeMap, Rational};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn write(share: &Rational) -> String {
        exact::format_decimal(share)
    }

    pub(super) fn read(text: &str) -> Option<Rational> {
        exact::parse_decimal(text).ok()
    }

    pub(super) fn serialize<S: Serializer>(
        shares: &BTreeMap<String, Rational>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let texts: BTreeMap<&String, String> =
            shares.iter().map(|(name, share)| (name, write(share))).collect();
        texts.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<String, Rational>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let read = |(name, text): (String, String)| match read(&text) {
            Some(share) => Ok((name, share)),
            None => Err(D::Error::custom(
                "a share is not a number such as \"0.25\" or \"1/3\"",
            )),
        };
        let shares = texts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?;
        Ok(super::by_name(
            shares.iter().map(|(name, share)| (name.as_str(), share.clone())),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::{Neighbors, PrivacyUnit};
    use exact::ratio;

    fn rules(limit: Promise) -> Rules {
        Rules::new(Budget::new(
            limit,
            PrivacyUnit::new("person", Neighbors::AddRemove),
        ))
    }

    fn approximate() -> Rules {
        rules(Promise::Approximate(
            Epsilon::parse("1").unwrap(),
            Delta::parse("1e-6").unwrap(),
        ))
    }

    #[test]
    fn they_are_read_back_as_they_were_written() {
        let mut rules = approximate();
        rules.reserve = Delta::parse("3e-7").unwrap();
        rules.shares.insert("ann".to_owned(), ratio(1, 3));
        rules.shares.insert("böb".to_owned(), ratio(1, 4));
        rules.check().unwrap();
        let text = serde_json::to_string(&rules).unwrap();
        assert!(
            text.contains(r#""ann":"1/3""#) && text.contains(r#""böb":"0.25""#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), rules);
        assert_eq!(
            rules.to_string(),
            "at most ε = 1, δ = 0.000001 for each person, added or removed; δ = 0.0000003 of it set aside; 1/3 of it for \"ann\"; 0.25 of it for \"böb\""
        );
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut whole = approximate();
        whole.reserve = Delta::parse("1e-6").unwrap();
        let mut pure = rules(Promise::Pure(Epsilon::parse("1").unwrap()));
        pure.check().unwrap();
        pure.reserve = Delta::parse("1e-9").unwrap();
        let mut greedy = approximate();
        greedy.shares.insert("ann".to_owned(), ratio(3, 2));
        let mut negative = approximate();
        negative.shares.insert("ann".to_owned(), ratio(-1, 2));
        let mut endless = approximate();
        endless
            .shares
            .insert("ann".to_owned(), exact::power_of_two(-2000) / ratio(3, 1));
        for rules in [whole, pure, greedy, negative, endless] {
            let refusal = rules.check().unwrap_err();
            assert!(matches!(refusal, Error::BadRules { .. }), "{refusal}");
            assert!(refusal.to_string().contains("\nhint: "));
        }
    }

    #[test]
    fn a_budget_admits_what_its_filter_allows() {
        let event = |epsilon: &str| Event::Pure {
            epsilon: Epsilon::parse(epsilon).unwrap(),
        };
        let mut pure = rules(Promise::Pure(Epsilon::parse("1").unwrap()));
        assert_eq!(pure.admits(&event("0.1"), 1000).unwrap(), 10);
        assert_eq!(pure.admits(&event("0.1"), 7).unwrap(), 7);
        assert_eq!(pure.admits(&event("1.1"), 1000).unwrap(), 0);
        // Whose it is makes no difference to how much there is.
        pure.shares.insert("ann".to_owned(), ratio(1, 2));
        assert_eq!(pure.admits(&event("0.1"), 1000).unwrap(), 10);
        // With a δ, many small charges add up to less than their sum.
        let more = approximate().admits(&event("0.01"), 10_000).unwrap();
        assert!(more > 100, "{more}");
    }

    #[test]
    fn a_share_of_nothing_admits_nothing() {
        let mut rules = approximate();
        rules.shares.insert("ann".to_owned(), Rational::ZERO);
        rules.check().unwrap();
        let mut gate = rules.analyst_gate("ann").unwrap().unwrap();
        let event = accounting::Event::Pure {
            epsilon: Epsilon::parse("1e-9").unwrap(),
        };
        assert!(gate.charge(&event, rules.budget.unit()).is_err());
    }
}
