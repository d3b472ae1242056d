//! A1, A2, A4 and M1: what an adversary learns from releases without privacy, and from ours.

mod census;
mod linear;
mod linkage;
mod membership;

use super::Claim;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "A1",
        claim: "enough accurate answers to subset queries rebuild the data; with noise of the size of √n they do not",
        run: linear::rebuilt,
    },
    Claim {
        id: "A2",
        claim: "the census table of seven people has one solution, and the males alone have 30",
        run: census::rebuilt,
    },
    Claim {
        id: "A4",
        claim: "ZIP code, sex and birth date single out most people; a few ratings link two tables",
        run: linkage::singled_out,
    },
    Claim {
        id: "M1",
        claim: "tracing from means: p_tp ≤ e^ε·p_fp + δ",
        run: membership::traced,
    },
];
