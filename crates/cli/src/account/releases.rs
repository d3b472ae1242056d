//! Releases on the command line.

use accounting::plan::{Mechanism, Mistake, Part};

/// The releases of a command line, each as a text such as `0.1x1000`.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct Releases {
    /// Laplace noise where one number can change: ε of one release, and how many there are. For a vector, or for geometric noise, say
    /// --pure, which costs a little more
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    laplace: Vec<String>,
    /// Gaussian noise: the noise multiplier σ/Δ₂, its standard deviation over the ℓ₂ sensitivity
    #[arg(long, value_name = "SIGMA[xTIMES]", allow_hyphen_values = true)]
    gaussian: Vec<String>,
    /// Randomized response: ε, and among how many answers [default: 2]
    #[arg(long, value_name = "EPS[/ANSWERS][xTIMES]", allow_hyphen_values = true)]
    randomized_response: Vec<String>,
    /// The exponential mechanism, or anything whose losses lie in a range of width ε
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    exponential: Vec<String>,
    /// Anything that is ε-DP
    #[arg(long, value_name = "EPS[xTIMES]", allow_hyphen_values = true)]
    pure: Vec<String>,
    /// Anything that is (ε, δ)-DP
    #[arg(long, value_name = "EPS,DELTA[xTIMES]", allow_hyphen_values = true)]
    approximate: Vec<String>,
    /// Anything that is ρ-zCDP
    #[arg(long, value_name = "RHO[xTIMES]", allow_hyphen_values = true)]
    concentrated: Vec<String>,
    /// Steps of private training: the Poisson sampling rate and the noise multiplier (see `account sgd`)
    #[arg(long, value_name = "RATE,SIGMA[xSTEPS]", allow_hyphen_values = true)]
    training: Vec<String>,
    /// The same for neighbours that change one unit; the noise multiplier is over two clipping norms
    #[arg(long, value_name = "RATE,SIGMA[xSTEPS]", allow_hyphen_values = true)]
    training_change_one: Vec<String>,
    /// The same as --training with batches of a fixed largest size: rate, noise multiplier, largest batch, and how many units there are
    #[arg(long, value_name = "RATE,SIGMA,MOST,OF[xSTEPS]", allow_hyphen_values = true)]
    truncated_training: Vec<String>,
    /// Binary trees of noisy sums (FTRL, counting over time): the noise multiplier of a node, the leaves, how often one unit is in a leaf of a
    /// tree [default: 1], and how many leaves lie between [default: 1]
    #[arg(
        long,
        value_name = "SIGMA,LEAVES[,IN[,APART]][xTREES]",
        allow_hyphen_values = true
    )]
    tree: Vec<String>,
}

impl Releases {
    /// Everything that is described, in the order of the options.
    pub(super) fn parts(&self) -> Result<Vec<Part>, Mistake> {
        let mut parts = Vec::new();
        for mechanism in Mechanism::ALL {
            for text in self.texts(mechanism) {
                parts.push(mechanism.release(text)?);
            }
        }
        Ok(parts)
    }

    fn texts(&self, mechanism: Mechanism) -> &[String] {
        match mechanism {
            Mechanism::Laplace => &self.laplace,
            Mechanism::Gaussian => &self.gaussian,
            Mechanism::RandomizedResponse => &self.randomized_response,
            Mechanism::Exponential => &self.exponential,
            Mechanism::Pure => &self.pure,
            Mechanism::Approximate => &self.approximate,
            Mechanism::Concentrated => &self.concentrated,
            Mechanism::Training => &self.training,
            Mechanism::TrainingChangeOne => &self.training_change_one,
            Mechanism::TruncatedTraining => &self.truncated_training,
            Mechanism::Tree => &self.tree,
        }
    }
}
