//! Planned releases and synthetic rows of a dataset that many ask at once.

use super::{
    CheckRequest, Dataset, ListedRelease, ReleaseExplanation, ReleaseRequest, ReleasedTables,
    SynthesisExplanation, SynthesisRequest, SyntheticCheck, SyntheticRelease, WantedTableError,
};
use crate::Error;
use crate::dataset::blocking::{self, Stage};
use accounting::Epsilon;

impl Dataset {
    /// The releases that the catalog plans, and by which charge each was made. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn releases(&self) -> Result<Vec<ListedRelease>, Error> {
        self.waiting(blocking::Dataset::releases).await
    }

    /// What a planned release measures, what it costs and how far off each of its tables will be. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When there is no such release, it does not fit, or there is no noise for its price.
    pub async fn explain_release(&self, wanted: &ReleaseRequest) -> Result<ReleaseExplanation, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.explain_release(&wanted))
            .await
    }

    /// The charge that paid for a release, if it was made for this price. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the ledger cannot be read.
    pub async fn release_charge(&self, wanted: &ReleaseRequest) -> Result<Option<u64>, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.release_charge(&wanted)).await
    }

    /// The smallest ε, to three digits, for which the expected error of a cell of every table is at most this. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when no ε is enough.
    pub async fn epsilon_for_release(
        &self,
        wanted: &ReleaseRequest,
        error: &WantedTableError,
    ) -> Result<Epsilon, Error> {
        let (wanted, error) = (wanted.clone(), error.clone());
        self.waiting(move |dataset| dataset.epsilon_for_release(&wanted, &error))
            .await
    }

    /// Makes a planned release, or finds it: what was released before is given again for nothing, and a charge whose run was interrupted is finished and not repeated. Goes on if its future is dropped.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the budget or the ledger refuses, or the data cannot be read.
    pub async fn release_tables(
        &self,
        wanted: &ReleaseRequest,
        mut watch: impl FnMut(Stage) + Send + 'static,
    ) -> Result<ReleasedTables, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.release_tables(&wanted, &mut watch))
            .await
    }

    /// A planned release, if it was made before. Never charges.
    ///
    /// # Errors
    /// As [`Dataset::explain_release`], or when the ledger cannot be read.
    pub async fn released_tables(&self, wanted: &ReleaseRequest) -> Result<Option<ReleasedTables>, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.released_tables(&wanted))
            .await
    }

    /// What synthetic rows will be made of and what they cost. Spends nothing, reads no private data.
    ///
    /// # Errors
    /// When there is no such table, its columns have no declared values or bounds, or there is no noise for the price.
    pub async fn explain_synthesis(&self, wanted: &SynthesisRequest) -> Result<SynthesisExplanation, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.explain_synthesis(&wanted))
            .await
    }

    /// Measures what synthetic rows are made of, or finds it: what was released before is given again for nothing, and a charge whose run was interrupted is finished and not repeated. Goes on if its future is dropped.
    ///
    /// # Errors
    /// As [`Dataset::explain_synthesis`], or when the budget or the ledger refuses, or the data cannot be read.
    pub async fn synthesize(
        &self,
        wanted: &SynthesisRequest,
        mut watch: impl FnMut(Stage) + Send + 'static,
    ) -> Result<SyntheticRelease, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.synthesize(&wanted, &mut watch))
            .await
    }

    /// Synthetic rows, if they were released before. Never charges.
    ///
    /// # Errors
    /// As [`Dataset::explain_synthesis`], or when the ledger cannot be read.
    pub async fn synthesized(&self, wanted: &SynthesisRequest) -> Result<Option<SyntheticRelease>, Error> {
        let wanted = wanted.clone();
        self.waiting(move |dataset| dataset.synthesized(&wanted)).await
    }

    /// Spends more for a private score of rows that were made: how far they are from the data, on tables that were not measured. The same check of the same rows gives the same score for nothing. Goes on if its future is dropped.
    ///
    /// # Errors
    /// When ε is zero, every table that matters was measured, the budget or the ledger refuses, or the data cannot be read.
    pub async fn check_synthesis(
        &self,
        wanted: &CheckRequest,
        made: &SyntheticRelease,
        mut watch: impl FnMut(Stage) + Send + 'static,
    ) -> Result<SyntheticCheck, Error> {
        let (wanted, made) = (wanted.clone(), made.clone());
        self.waiting(move |dataset| dataset.check_synthesis(&wanted, &made, &mut watch))
            .await
    }
}
