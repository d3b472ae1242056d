//! Regression and hypothesis tests from tables with noise.
//!
//! Whoever fits a model to noisy tables as if they were exact gets errors that are too small, and tests that find what is not there. Here the noise counts:
//! its covariance is known, so standard errors, intervals and p-values have a part for sampling and a part for noise, and say which is which.
//!
//! All input is released already, so nothing here can cost privacy: it is post-processing, in floats. The crate knows no data, no SQL and no ledger.
//!
//! - [`Formula`] is parsed from `income ~ age + education`.
//! - [`Model`] puts it together with what the catalog declares ([`Variable`]): which cells rows are counted in, which products are summed in each
//!   ([`Model::statistics`]), and the columns of the design.
//! - [`Cells`] is what was released for it. [`fit()`] is least squares, logistic or Poisson regression; [`Fit`] has coefficients, means and contrasts.
//! - [`fit_release`] does the same from a planned release that was made before.
//! - [`hypothesis`] tests independence, and differences of means and proportions.
//! - [`summary`] writes the table of R's `summary(lm)`, LaTeX and a forest plot.
//!
//! What has to be measured is chosen so that little is trusted: counts and sums of clamped products by declared groups, which the ordinary query
//! `SELECT …, COUNT(*), SUM(x), SUM(x * y) … GROUP BY …` releases. No mechanism and no sampler is new. In units in which bounds are −1 and 1, a row moves each
//! statistic of one cell by at most 1 and no other cell, because every product of numbers in [−1, 1] is in [−1, 1]; that is the whole argument about
//! sensitivity, and the verifier checks it again for each query.

mod cells;
mod distribution;
mod error;
mod fit;
mod formula;
mod generalized;
pub mod hypothesis;
mod linear;
mod matrix;
mod model;
mod moments;
mod planned;
pub mod summary;

pub use cells::Cells;
pub use error::Error;
pub use fit::{CONFIDENCE, Coefficient, Fit, Overall, Rows};
pub use formula::{Formula, Outcome, Part, Term};
pub use model::{Axis, Family, Listed, MOST_CELLS, MOST_COLUMNS, Model, Summed, Variable};
pub use planned::fit_release;

/// Fits a model to what was released for it.
///
/// # Errors
/// When the noise is too large for the model, or it does not converge.
pub fn fit(model: &Model, cells: &Cells) -> Result<Fit, Error> {
    let mut fit = match model.family() {
        Family::Linear => linear::fit(model, cells)?,
        Family::Logistic | Family::Poisson => generalized::fit(model, cells)?,
    };
    note_bins(model, &mut fit);
    Ok(fit)
}

/// Says which numbers are only the middles of bins.
fn note_bins(model: &Model, fit: &mut Fit) {
    let binned = model.binned();
    if !binned.is_empty() {
        fit.notes.push(format!(
            "{} counts as the middle of its bin: a coefficient is off by what varies within bins, which no interval covers; narrower bins lower it",
            binned.join(", ")
        ));
    }
}
