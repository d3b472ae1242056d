//! Rebuilds a yes or no about everybody from counts over random sets of people (Dinur and Nissim 2003):
//! without noise, with noise alone, and with a ledger.
//!
//! The people are those of the dummy, so the truth is known and is nobody's.

use super::Setting;
use super::attribute::Attribute;
use crate::failure::Failure;
use attack::Seeded;
use attack::linear::{Fit, Method, Model, Noise, Queries, estimate, interrogate, right, rounded};
use report::{Figure, Scale, percent};

/// People who are attacked together, and how many such groups.
pub(super) const PEOPLE: usize = 64;
const GROUPS: usize = 4;
/// The least and the largest number of queries: as many as let the noise of one query average out, if that is
/// not too many to compute while somebody waits.
const FEWEST: usize = 512;
const MOST: usize = 16_384;

/// How it went.
#[derive(Debug)]
pub(super) struct Reconstructed {
    /// What is asked about.
    pub(super) attribute: Attribute,
    /// Attacks, each on other people.
    pub(super) groups: usize,
    /// Questions after which the attacker looks at what is known.
    asked: Vec<usize>,
    exact: Vec<f64>,
    noisy: Vec<f64>,
    kept: Vec<f64>,
    /// Questions that the ledger answers.
    pub(super) answered: usize,
    /// The share of right guesses of an attacker who guesses the same for everybody.
    guessing: f64,
}

impl Reconstructed {
    /// The attack on the people of the dummy, the same for everybody who looks.
    pub(super) fn new(setting: &Setting, attribute: Attribute) -> Result<Self, Failure> {
        let groups: Vec<Vec<bool>> = attribute
            .of_people
            .chunks_exact(PEOPLE)
            .take(GROUPS)
            .map(<[bool]>::to_vec)
            .collect();
        let noise = Noise::laplace_for(&setting.epsilon, 1).map_err(super::failed)?;
        let most = enough(noise.deviation());
        let answered = usize::try_from(setting.admitted).unwrap_or(usize::MAX).min(most);
        let asked = looks(most);
        let people: usize = groups.iter().map(Vec::len).sum();
        let set = groups.iter().flatten().filter(|bit| **bit).count();
        let mut found = Self {
            attribute,
            groups: groups.len(),
            exact: vec![0.0; asked.len()],
            noisy: vec![0.0; asked.len()],
            kept: vec![0.0; asked.len()],
            asked,
            answered,
            guessing: set.max(people - set) as f64 / people.max(1) as f64,
        };
        for (seed, secrets) in (1..).zip(&groups) {
            let queries =
                Queries::random(secrets.len(), most, &mut Seeded::new(seed)).map_err(super::failed)?;
            let part = |answers: &[f64], noise: Noise| -> Result<f64, Failure> {
                let estimates = solved(&queries, answers, noise).map_err(super::failed)?;
                Ok(right(&rounded(&estimates), secrets) as f64 / people as f64)
            };
            let ask = |noise: Noise| {
                let Ok(answers) = interrogate(
                    &mut Model::new(secrets, noise, Seeded::new(1000 + seed)),
                    &queries,
                    || (),
                );
                answers
            };
            let (exact, noisy) = (ask(Noise::None), ask(noise));
            let at_the_end = part(&noisy[..answered], noise)?;
            for (place, count) in found.asked.clone().into_iter().enumerate() {
                let with_noise = part(&noisy[..count], noise)?;
                // Of exact answers these tell everything, and more of them nothing new.
                found.exact[place] += part(&exact[..count.min(4 * PEOPLE)], Noise::None)?;
                found.noisy[place] += with_noise;
                // What is refused teaches nothing: the attacker keeps what the answers before said.
                found.kept[place] += if count < answered { with_noise } else { at_the_end };
            }
        }
        Ok(found)
    }

    /// Each way of answering: in words, how many questions are answered, and the share of people that is
    /// found right after each look.
    fn rows(&self) -> [(&'static str, usize, &[f64]); 3] {
        let most = self.most();
        [
            ("no noise", most, &self.exact),
            ("noise, and no ledger", most, &self.noisy),
            ("noise, and the ledger", self.answered, &self.kept),
        ]
    }

    /// Questions that were asked.
    pub(super) fn most(&self) -> usize {
        self.asked.last().copied().unwrap_or(0)
    }

    /// For a table: in words, how many questions were answered and refused, and the share of people that was
    /// found right at the end.
    pub(super) fn ends(&self) -> impl Iterator<Item = (&'static str, usize, usize, f64)> {
        let most = self.most();
        let end = move |(words, answered, shares): (&'static str, usize, &[f64])| {
            (
                words,
                answered,
                most - answered,
                shares.last().copied().unwrap_or(0.5),
            )
        };
        self.rows().into_iter().map(end)
    }

    pub(super) fn figure(&self) -> Figure {
        let mut figure = Figure::new("How many people's answer is found")
            .x_axis("questions asked", Scale::Log10)
            .y_axis("people found right, %", Scale::Linear)
            .y_at_most(100.0);
        for (words, _, shares) in self.rows() {
            let points: Vec<(f64, f64)> = self
                .asked
                .iter()
                .zip(shares)
                .map(|(count, share)| (*count as f64, 100.0 * share))
                .collect();
            figure = figure.line(words, &points);
        }
        figure.horizontal("guessing", 100.0 * self.guessing)
    }

    /// What is seen, as far as it is so for this catalog.
    pub(super) fn verdict(&self) -> String {
        let [_, noisy, kept] = self.ends().map(|(_, _, _, share)| share).collect::<Vec<_>>()[..] else {
            return String::new();
        };
        if self.answered < self.most() {
            format!(
                "Without noise about as many questions as people tell everything, and noise on each answer only asks for more of them: {} of the people are found at the end. Under the ledger the budget ends it after {} questions, with {}; who guesses the same of everybody gets {}.",
                percent(noisy),
                report::grouped(self.answered as u64),
                percent(kept),
                percent(self.guessing)
            )
        } else {
            format!(
                "Without noise about as many questions as people tell everything, and with noise on each answer {} of the people are found at the end. The budget of this catalog is so large that it pays for all of these questions: the ledger does not end this attack, and a smaller budget would.",
                percent(noisy)
            )
        }
    }
}

/// What an attacker concludes from the answers. If there are about as many answers as people, least squares
/// follows their noise wherever it leads, and keeping estimates between 0 and 1 is much better. With many
/// answers there is no difference, and least squares is quick.
fn solved(queries: &Queries, answers: &[f64], noise: Noise) -> Result<Vec<f64>, attack::Error> {
    let within = Method::LinearProgram(Fit::LeastAbsolute);
    if noise != Noise::None
        && answers.len() <= 4 * PEOPLE
        && let Ok(estimates) = estimate(queries, answers, within)
    {
        return Ok(estimates);
    }
    estimate(queries, answers, Method::LeastSquares)
}

/// As many questions as bring least squares to about 97 % with noise of this deviation: it is right for Φ(√(m
/// − n)/4σ) of the people, and Φ(1.9) = 0.97.
fn enough(deviation: f64) -> usize {
    let wanted = PEOPLE as f64 + (4.0 * 1.9 * deviation).powi(2);
    (wanted as usize).clamp(FEWEST, MOST)
}

/// When the attacker looks: at equal distances on a logarithmic axis, up to all questions.
fn looks(most: usize) -> Vec<usize> {
    let mut looks: Vec<usize> = (0..)
        .map(|step| (8.0 * 2f64.powf(f64::from(step) / 2.0)).round() as usize)
        .take_while(|count| *count < most)
        .collect();
    looks.push(most);
    looks
}

#[cfg(test)]
mod tests {
    use super::*;
    use accounting::Epsilon;
    use attack::linear::secrets;

    fn attacked(epsilon: &str, admitted: u64) -> Reconstructed {
        let setting = Setting {
            epsilon: Epsilon::parse(epsilon).unwrap(),
            admitted,
        };
        let attribute = Attribute {
            words: maud::html! { "yes" },
            of_people: secrets(1000, &mut Seeded::new(7)),
        };
        Reconstructed::new(&setting, attribute).unwrap()
    }

    #[test]
    fn noise_alone_is_averaged_away_and_a_budget_is_not() {
        let found = attacked("0.5", 30);
        assert_eq!(found.groups, GROUPS);
        let [exact, noisy, kept] =
            [&found.exact, &found.noisy, &found.kept].map(|shares| *shares.last().unwrap());
        // 256 people: one standard error is 3 % at one half. With 522 questions at a deviation of 2.8 least
        // squares expects 97 %.
        assert_eq!(exact, 1.0);
        // More answers are never much worse than fewer.
        assert!(
            found.noisy.windows(2).all(|pair| pair[1] > pair[0] - 0.1),
            "{:?}",
            found.noisy
        );
        assert!(noisy > 0.9, "{noisy}");
        assert!((0.4..0.7).contains(&kept), "{kept}");
        assert!(noisy > kept + 0.2);
        assert_eq!(found.answered, 30);
        // The same again: it is a function of the catalog.
        let again = attacked("0.5", 30);
        assert_eq!(
            (again.noisy, again.kept),
            (found.noisy.clone(), found.kept.clone())
        );
        // What is refused changes nothing any more.
        let flat: Vec<f64> = found
            .kept
            .iter()
            .zip(&found.asked)
            .filter(|(_, count)| **count >= 30)
            .map(|(share, _)| *share)
            .collect();
        assert!(
            flat.len() > 3 && flat.windows(2).all(|pair| pair[0] == pair[1]),
            "{flat:?}"
        );
        assert!(
            found.verdict().contains("the budget ends it after 30 questions"),
            "{}",
            found.verdict()
        );
    }

    /// What a catalog that says nothing of a question's ε gets, and about the longest of all.
    #[test]
    fn small_answers_take_more_questions_and_not_another_way() {
        let found = attacked("0.1", 60);
        assert!(found.most() > 10_000);
        let (noisy, kept) = (found.noisy.last().unwrap(), found.kept.last().unwrap());
        assert!(*noisy > 0.9 && *kept < 0.7, "{noisy} {kept}");
    }

    #[test]
    fn a_budget_that_pays_for_everything_is_said_to_protect_nobody() {
        let found = attacked("1", 1_000_000);
        assert_eq!(found.kept, found.noisy);
        assert!(
            found.verdict().contains("does not end this attack"),
            "{}",
            found.verdict()
        );
        // And one that pays for nothing reveals nothing.
        let found = attacked("1", 0);
        assert!(
            found.kept.iter().all(|share| (0.35..0.65).contains(share)),
            "{:?}",
            found.kept
        );
    }

    #[test]
    fn there_are_questions_enough_and_not_too_many() {
        assert_eq!(enough(0.0), FEWEST);
        assert_eq!(enough(1e9), MOST);
        assert!((11_000..12_000).contains(&enough(14.14)));
        let looks = looks(600);
        assert!(
            looks.windows(2).all(|pair| pair[0] < pair[1]) && looks.last() == Some(&600),
            "{looks:?}"
        );
    }
}
