//! A synthetic block, and its margins with differential privacy.

use super::{Block, Category};
use crate::{Error, Seeded};
use accounting::{Budget, Epsilon, Neighbors, PrivacyUnit, Promise};
use mechanism::{Account, Aggregate, Laplace, MemoryLedger, Sensitive, Sensitivity};
use noise::{Entropy, Grid};

/// A block of this many synthetic people by sex, age, race and ethnicity (504 cells), and all of its two-way
/// margins.
///
/// The synthetic people are like real ones in what matters here: some races are rare, ages differ between
/// races, many cells are empty and many hold one person.
pub fn synthetic(people: u64, seed: u64) -> (Block, Vec<i64>) {
    let category = |name: &str, values: Vec<String>| Category {
        name: name.to_owned(),
        values,
    };
    let words = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let ages = (0..17)
        .map(|band| format!("{}-{}", 5 * band, 5 * band + 4))
        .chain(["85+".to_owned()]);
    let mut block = Block {
        categories: vec![
            category("sex", words(&["F", "M"])),
            category("age", ages.collect()),
            category(
                "race",
                words(&[
                    "white", "black", "asian", "native", "islander", "other", "several",
                ]),
            ),
            category("ethnicity", words(&["hispanic", "not"])),
        ],
        margins: Vec::new(),
    };
    let mut random = Seeded::new(seed);
    // Per mille: how common each race is, how many of it are hispanic, and how young it is.
    const RACES: [(u64, u64, f64); 7] = [
        (640, 150, 1.0),
        (160, 40, 0.85),
        (70, 10, 0.8),
        (15, 200, 0.75),
        (5, 60, 0.7),
        (70, 900, 0.6),
        (40, 250, 0.5),
    ];
    let mut cells = vec![0; block.cells()];
    for _ in 0..people {
        let mut ticket = random.below(1000);
        let race = RACES
            .iter()
            .position(|(share, ..)| {
                let hit = ticket < *share;
                ticket = ticket.saturating_sub(*share);
                hit
            })
            .unwrap_or(0);
        let (_, hispanic, reach) = RACES[race];
        // Two uniform numbers make the middle ages commonest.
        let age = ((random.unit() + random.unit()) / 2.0 * 110.0 * reach / 5.0) as usize;
        let ethnicity = usize::from(random.below(1000) >= hispanic);
        let sex = random.below(2) as usize;
        cells[((sex * 18 + age.min(17)) * 7 + race) * 2 + ethnicity] += 1;
    }
    for first in 0..block.categories.len() {
        for second in first + 1..block.categories.len() {
            let margin = block.margin(&cells, vec![first, second]);
            block.margins.push(margin);
        }
    }
    (block, cells)
}

/// The same margins with Laplace noise, of total privacy loss ε for one person who is added or removed: as
/// printed, and as a careful reader takes them, each within its margin of error, all at once with probability
/// 0.95.
///
/// One person is in one count of each margin, so the counts of all margins together move by at most the
/// number of margins in ℓ₁.
pub fn privately(
    block: &Block,
    epsilon: &Epsilon,
    entropy: impl Entropy + Send + 'static,
) -> Result<(Block, Block), Error> {
    let unit = PrivacyUnit::new("person", Neighbors::AddRemove);
    let counts: Vec<i64> = block
        .margins
        .iter()
        .flat_map(|margin| &margin.counts)
        .map(|count| match count {
            Some((low, high)) if low == high => Ok(*low),
            _ => Err(Error::bad_setting(
                "only a block whose counts are all known can be released with noise",
                "give every count of every margin",
            )),
        })
        .collect::<Result<_, _>>()?;
    let size = counts.len();
    let refused = |error: mechanism::Error| {
        let text = error.to_string();
        let (what, hint) = text
            .split_once("\nhint: ")
            .unwrap_or((&text, "choose an ε above 0, such as 1"));
        Error::bad_setting(what, hint)
    };
    let sensitivity = Sensitivity::vector(block.margins.len() as u64, 1).map_err(refused)?;
    let grid = Grid::new(0);
    let laplace = Laplace::new(epsilon.clone(), sensitivity.clone(), grid).map_err(refused)?;
    let budget = Budget::new(Promise::Pure(epsilon.clone()), unit.clone());
    let mut account = Account::with_entropy(MemoryLedger::new(budget), entropy);
    let input = Aggregate::claimed(Sensitive::new(counts), sensitivity, unit, grid);
    let release = account
        .release_by(&laplace, input, "the margins of a block")
        .map_err(refused)?;
    let error = release
        .accuracy()
        .half_width(0.95, size)
        .map_or(i64::MAX / 4, |width| width.ceil() as i64);
    let (mut printed, mut careful) = (block.clone(), block.clone());
    let mut noisy = release.value().iter();
    for (plain, wide) in printed.margins.iter_mut().zip(&mut careful.margins) {
        for ((plain, wide), noisy) in plain.counts.iter_mut().zip(&mut wide.counts).zip(&mut noisy) {
            *plain = Some((*noisy.max(&0), *noisy.max(&0)));
            *wide = Some(((noisy - error).max(0), (noisy + error).max(0)));
        }
    }
    Ok((printed, careful))
}
