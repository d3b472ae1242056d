//! Defects that tests plant on purpose: the hunter must find each of them, or it could find nothing.

use std::cell::Cell;

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Values are read as they are, and the engine passes over parts of files by their statistics.
    Pruning,
    /// Zeros keep their sign, and joins of private tables are merges on all equalities of the query.
    SignedZero,
    /// Texts grow without a limit.
    TextGrowth,
    /// ROW_NUMBER counts rows that are equal in the query's order as they come.
    WindowTies,
    /// Floats of one unit are summed in the order in which rows come.
    SumsInOrder,
    /// What was cut of a unit is not clamped.
    UnclampedCut,
    /// The question itself counts in as many groups of a unit as the estimate of what is cut.
    GroupsOfTheEstimate,
    /// What one unit adds to all groups together is priced as if it were bounded, and is not.
    UnscaledVector,
    /// A statement for a database counts the groups of a unit, and keeps all of them.
    LostWindowFilter,
    /// A statement for a database leaves values as the database has them.
    NotCanonical,
    /// Plans of a statement for a database share rows though their conditions differ.
    SharedCondition,
    /// A statement for a database takes rows for groups although several rows have the keys of one.
    GroupsOfOne,
    /// A statement for a database puts groups together that have the same key, and does not add up what they have.
    LostGroups,
    /// Identifiers are read as other columns are, so that several become one or one becomes several.
    LossyIdentifiers,
    /// Of a planned release the rows of a unit are limited in each group of cells, and not in all of them together.
    RowsOfEachGroup,
    /// Cells of synthetic rows are those between the bounds of the data.
    BinsOfData,
    /// Directories that name no value are left out of every query with a condition on what directories name.
    NullDirectories,
}

thread_local! {
    static PLANTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    static UNVERIFIED: Cell<bool> = const { Cell::new(false) };
}

/// Whether plans run that were not verified.
pub(crate) fn is_unverified() -> bool {
    UNVERIFIED.get()
}

/// Runs without the verifier, so that others are shown to find a defect, or that a plan is the same as another for which there are rules.
pub(crate) fn unverified<T>(run: impl FnOnce() -> T) -> T {
    struct Restored(bool);
    impl Drop for Restored {
        fn drop(&mut self) {
            UNVERIFIED.set(self.0);
        }
    }
    let _restored = Restored(UNVERIFIED.replace(true));
    run()
}

/// Whether this defect is planted on this thread.
pub(crate) fn planted(mutant: Mutant) -> bool {
    PLANTED.get() == Some(mutant)
}

/// Runs with a defect planted, without the verifier.
pub(crate) fn with<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
    unverified(|| with_verifier(mutant, run))
}

/// Runs with a defect planted.
pub(crate) fn with_verifier<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
    struct Removed;
    impl Drop for Removed {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }
    let _removed = Removed;
    PLANTED.set(Some(mutant));
    run()
}
