//! The table of rules, each with the name of its proof.

macro_rules! rules {
    ($($rule:ident $proof:literal)*) => {
        /// A rule. Its proof is the constructor of the same name, with `j_` before it, of the relation `judged` in `proofs/Verified.v`; the last five are theorems, there and in
        /// `proofs/Lengths.v`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Rule { $($rule),* }

        impl Rule {
            /// The name of its proof.
            pub fn proof(self) -> &'static str {
                match self { $(Self::$rule => $proof),* }
            }
        }
    };
}

rules! {
    PublicGiven "public_given"
    PublicFilter "public_filter"
    PublicProject "public_project"
    PublicUnion "public_union"
    PublicMove "public_move"
    OwnedScan "owned_scan"
    OwnedFilter "owned_filter"
    OwnedProject "owned_project"
    OwnedUnion "owned_union"
    OwnedMove "owned_move"
    OwnedMeet "owned_meet"
    OwnedPartitioned "owned_partitioned"
    OwnedNumbered "owned_numbered"
    OwnedPaired "owned_paired"
    HoldsAnything "holds_anything"
    HoldsAsked "holds_asked"
    HoldsFilter "holds_filter"
    HoldsProject "holds_project"
    HoldsUnion "holds_union"
    HoldsMove "holds_move"
    HoldsMeet "holds_meet"
    HoldsPartitioned "holds_partitioned"
    HoldsPaired "holds_paired"
    AtMostFilter "at_most_filter"
    AtMostProject "at_most_project"
    AtMostMove "at_most_move"
    AtMostMeet "at_most_meet"
    AtMostPaired "at_most_paired"
    AtMostFiner "at_most_finer"
    AtMostGrouped "at_most_grouped"
    AtMostWidened "at_most_widened"
    AtMostNumbered "at_most_numbered"
    KindsFilter "kinds_filter"
    KindsProject "kinds_project"
    KindsMove "kinds_move"
    KindsCoarser "kinds_coarser"
    KindsOfRows "kinds_of_rows"
    KindsRanked "kinds_ranked"
    KindsWidened "kinds_widened"
    Native "native"
    Sums "sums"
    Distincts "distincts"
    LengthsOne "lengths_one"
    LengthsTwo "lengths_two"
}
