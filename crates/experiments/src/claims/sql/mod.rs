//! L3 to L6, S1, S4 and A3: what the SQL layer derives from a query and a catalog, what it answers, and what
//! it refuses.
//!
//! No result is typed in. Sensitivities and noise are read from what `deniable explain` would say, and
//! answers from what `deniable query` would return, on small tables in temporary folders.

mod additivity;
mod answers;
mod data;
mod sensitivities;

use super::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "L3",
        claim: "one count moves by 1, m counts cost m times as much, a histogram moves by 2 under change-one and 1 under add/remove",
        run: sensitivities::counts,
    },
    Claim {
        id: "L4",
        claim: "the sum of x ∈ {−1..60} moves by 61 when one changes: at ε = 2 its noise is Lap(61/2)",
        run: sensitivities::slide,
    },
    Claim {
        id: "L5",
        claim: "how many people are 40 or older, at ε = 0.1: close to the truth, and never the same twice",
        run: answers::forty,
    },
    Claim {
        id: "L6",
        claim: "the mean of n numbers in [−1, 1] moves by 2/n when one changes",
        run: sensitivities::mean,
    },
    Claim {
        id: "S1",
        claim: "a sum without bounds has no finite sensitivity: refused; with bounds it is answered",
        run: sensitivities::unbounded,
    },
    Claim {
        id: "S4",
        claim: "the exact numbers before noise are additive: what one person adds is that person's own part",
        run: additivity::additive,
    },
    Claim {
        id: "A3",
        claim: "answers to one question average to the truth; a ledger answers it once, and colluding analysts share one budget",
        run: answers::averaging,
    },
];

#[cfg(test)]
mod tests {
    use super::CLAIMS;

    #[test]
    fn every_claim_about_queries_holds() {
        for claim in CLAIMS {
            let outcome = (claim.run)().unwrap_or_else(|fault| panic!("{}: {fault}", claim.id));
            assert!(
                outcome.pass,
                "{}: expected {}, measured {}",
                claim.id, outcome.expected, outcome.measured
            );
        }
    }
}
