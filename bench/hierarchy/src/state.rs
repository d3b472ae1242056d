//! A synthetic state: who lives where. Nobody in it is real.

use noise::Seeded;

/// Residence, age, ethnicity and race, as in the redistricting file of 2020: 8 · 2 · 2 · 63.
pub const CELLS: usize = 2016;
/// Cells of one kind of residence.
const KIND: usize = CELLS / 8;
/// Cells of one kind of residence and one age.
const AGE: usize = KIND / 2;
/// Block groups of three tracts in turn: ten.
const GROUPS: [usize; 3] = [3, 3, 4];
/// Tracts of a county.
pub const TRACTS: usize = 30;
/// Blocks of a block group.
pub const BLOCKS: usize = 60;

/// Which cells are possible, declared without looking at anybody: no adult in a home for juveniles, no child in a nursing home, in barracks or in student housing.
pub fn possible() -> Vec<usize> {
    let is_possible = |cell: &usize| {
        let (kind, adult) = (cell / KIND, cell / AGE % 2 == 1);
        match kind {
            2 => !adult,
            3 | 5 | 6 => adult,
            _ => true,
        }
    };
    (0..CELLS).filter(is_possible).collect()
}

/// The parents of tracts, block groups and blocks of one county.
pub fn county_parents() -> [Vec<u32>; 3] {
    let tracts = vec![0; TRACTS];
    let groups: Vec<u32> = (0..TRACTS)
        .flat_map(|tract| vec![tract as u32; GROUPS[tract % 3]])
        .collect();
    let blocks = (0..groups.len())
        .flat_map(|group| vec![group as u32; BLOCKS])
        .collect();
    [tracts, groups, blocks]
}

/// Draws from weights in proportion.
struct Choice(Vec<f64>);

impl Choice {
    fn new(weights: &[f64]) -> Self {
        let mut sum = 0.0;
        Self(
            weights
                .iter()
                .map(|weight| {
                    sum += weight;
                    sum
                })
                .collect(),
        )
    }

    fn draw(&self, random: &mut Seeded) -> usize {
        let point = random.unit() * self.0.last().expect("there are weights");
        self.0.partition_point(|sum| *sum <= point).min(self.0.len() - 1)
    }
}

/// People by cell, as place among the possible ones, for each block of a county. A third of blocks are empty, most are small, few are large.
pub fn people(seed: u64, county: u64, possible: &[usize]) -> Vec<Vec<(u32, u32)>> {
    let mut random = Seeded::numbered(seed, county);
    let [_, groups, blocks] = county_parents();
    let mut made = Vec::with_capacity(blocks.len());
    let mut mix = Choice::new(&[1.0]);
    for (block, group) in blocks.iter().enumerate() {
        if block % BLOCKS == 0 && (*group == 0 || groups[*group as usize] != groups[*group as usize - 1]) {
            mix = neighbourhood(&mut random, possible);
        }
        let size = if random.chance(0.35) {
            0
        } else {
            (3.0 + random.normal()).exp().min(2000.0) as usize
        };
        let mut cells: Vec<u32> = (0..size).map(|_| mix.draw(&mut random) as u32).collect();
        cells.sort_unstable();
        let counted = cells
            .chunk_by(|one, other| one == other)
            .map(|same| (same[0], same.len() as u32));
        made.push(counted.collect());
    }
    made
}

/// How likely each cell is in a tract: some races are common and most combinations rare, and tracts differ.
fn neighbourhood(random: &mut Seeded, possible: &[usize]) -> Choice {
    let race: Vec<f64> = (0..63)
        .map(|race| (-0.9 * f64::from(race as u32)).exp().max(2e-5) * (0.8 * random.normal()).exp())
        .collect();
    let adults = 0.65 + 0.2 * random.unit();
    let hispanic = 0.3 * random.unit();
    let weight = |cell: &usize| {
        let kind = if cell / KIND == 0 { 1.0 } else { 0.004 };
        let age = if cell / AGE % 2 == 1 { adults } else { 1.0 - adults };
        let ethnicity = if cell / 63 % 2 == 1 {
            hispanic
        } else {
            1.0 - hispanic
        };
        kind * age * ethnicity * race[cell % 63]
    };
    Choice::new(&possible.iter().map(weight).collect::<Vec<_>>())
}
