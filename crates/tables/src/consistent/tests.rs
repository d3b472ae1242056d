use super::*;
use crate::Attribute;
use noise::Seeded;

/// Solves A·x = b by elimination with pivots.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|i, j| a[*i][column].abs().total_cmp(&a[*j][column].abs()))
            .unwrap();
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..n {
            let factor = a[row][column] / a[column][column];
            let (above, below) = a.split_at_mut(row);
            for (entry, pivot) in below[0][column..].iter_mut().zip(&above[column][column..]) {
                *entry -= factor * pivot;
            }
            b[row] -= factor * b[column];
        }
    }
    for column in (0..n).rev() {
        let known: f64 = (column + 1..n).map(|other| a[column][other] * b[other]).sum();
        b[column] = (b[column] - known) / a[column][column];
    }
    b
}

fn random_tree(random: &mut Seeded) -> Tree {
    let mut parents = Vec::new();
    let mut above = 1u64;
    for _ in 0..1 + random.below(3) {
        let mut level: Vec<u32> = (0..above as u32).collect();
        for _ in 0..random.below(5) {
            level.push(random.below(above) as u32);
        }
        above = level.len() as u64;
        parents.push(level);
    }
    Tree::new(&parents).unwrap()
}

/// For each node, which leaves are below it.
fn leaves_below(tree: &Tree, level: usize, node: usize) -> Vec<usize> {
    if level + 1 == tree.levels() {
        return vec![node];
    }
    let below = |child: &u32| leaves_below(tree, level + 1, *child as usize);
    tree.children(level, node).iter().flat_map(below).collect()
}

/// Two passes give what the normal equations give, with the variances that their inverse has.
#[test]
fn two_passes_are_generalised_least_squares() {
    let mut random = Seeded::new(4);
    for _ in 0..60 {
        let tree = random_tree(&mut random);
        let leaves = tree.size(tree.levels() - 1);
        let mut variances: Vec<Vec<f64>> = Vec::new();
        let mut numbers: Vec<Vec<f64>> = Vec::new();
        for level in 0..tree.levels() {
            // Some nodes above the leaves were not measured.
            let missing = |random: &mut Seeded| level + 1 < tree.levels() && random.chance(0.2);
            let of = (0..tree.size(level)).map(|_| {
                if missing(&mut random) {
                    f64::INFINITY
                } else {
                    0.2 + 5.0 * random.unit()
                }
            });
            variances.push(of.collect());
            numbers.push(
                (0..tree.size(level))
                    .map(|_| 20.0 * random.unit() - 5.0)
                    .collect(),
            );
        }
        let (mut a, mut b) = (vec![vec![0.0; leaves]; leaves], vec![0.0; leaves]);
        for (level, (numbers, variances)) in numbers.iter().zip(&variances).enumerate() {
            for (node, (number, variance)) in numbers.iter().zip(variances).enumerate() {
                let below = leaves_below(&tree, level, node);
                for one in &below {
                    b[*one] += number / variance;
                    below.iter().for_each(|other| a[*one][*other] += 1.0 / variance);
                }
            }
        }
        let truth = solve(a.clone(), b);
        let fit = Fit::new(tree.clone(), &variances).unwrap();
        fit.estimates(&mut numbers, 1);
        for (level, numbers) in numbers.iter().enumerate() {
            for (node, number) in numbers.iter().enumerate() {
                let below = leaves_below(&tree, level, node);
                let expected: f64 = below.iter().map(|leaf| truth[*leaf]).sum();
                assert!((number - expected).abs() < 1e-8);
                let indicator = (0..leaves)
                    .map(|leaf| f64::from(u8::from(below.contains(&leaf))))
                    .collect();
                let column = solve(a.clone(), indicator);
                let variance: f64 = below.iter().map(|leaf| column[*leaf]).sum();
                assert!(
                    (fit.variance(level, node) - variance).abs() < 1e-8,
                    "{level} {node}"
                );
            }
        }
    }
}

/// A hierarchy done part by part gives what it gives at once: that is how a large one fits into memory.
#[test]
fn parts_give_what_the_whole_gives() {
    let tree = Tree::new(&[vec![0, 0], vec![0, 0, 1], vec![0, 1, 1, 2, 2]]).unwrap();
    let levels = [1.0, 2.0, 3.0, 0.5];
    let whole = Fit::by_level(tree, &levels).unwrap();
    let start = vec![
        vec![9.0, 1.0],
        vec![5.0, 0.0, 3.0, 1.5],
        vec![2.0, 1.0, 2.5, -1.0, 4.0, 2.0],
        vec![1.0, 0.0, 2.0, 0.0, -1.0, 0.0, 3.0, 1.0, 1.0, 1.0],
    ];
    let mut expected = start.clone();
    whole.estimates(&mut expected, 2);
    // The two children of the root, each with what is below it.
    let parts = [
        (
            Tree::new(&[vec![0, 0], vec![0, 1, 1]]).unwrap(),
            [0..2, 0..4, 0..6],
        ),
        (Tree::new(&[vec![0], vec![0, 0]]).unwrap(), [2..4, 4..6, 6..10]),
    ];
    let fits: Vec<Fit> = parts
        .iter()
        .map(|(tree, _)| Fit::by_level(tree.clone(), &levels[1..]).unwrap())
        .collect();
    let cut = |part: &[std::ops::Range<usize>; 3]| -> Vec<Vec<f64>> {
        part.iter()
            .enumerate()
            .map(|(level, range)| start[level + 1][range.clone()].to_vec())
            .collect()
    };
    let mut top = vec![start[0].clone(), Vec::new()];
    for (fit, (_, part)) in fits.iter().zip(&parts) {
        let mut numbers = cut(part);
        fit.upward(&mut numbers, 2);
        top[1].extend(&numbers[0]);
    }
    let below: Vec<f64> = fits.iter().map(|fit| fit.variance(0, 0)).collect();
    let above = Fit::new(Tree::new(&[vec![0, 0]]).unwrap(), &[vec![1.0], below]).unwrap();
    above.estimates(&mut top, 2);
    for (number, (fit, (_, part))) in fits.into_iter().zip(&parts).enumerate() {
        let fit = fit.under(above.variance(1, number));
        let mut numbers = cut(part);
        fit.estimates_under(&top[1][2 * number..2 * number + 2], &mut numbers, 2);
        for (level, range) in part.iter().enumerate() {
            for (one, other) in numbers[level].iter().zip(&expected[level + 1][range.clone()]) {
                assert!((one - other).abs() < 1e-9);
            }
        }
        assert!((fit.variance(2, 0) - whole.variance(3, part[2].start / 2)).abs() < 1e-12);
    }
}

#[test]
fn exact_numbers_stay() {
    let tree = Tree::new(&[vec![0, 0, 0]]).unwrap();
    let fit = Fit::new(tree.clone(), &[vec![0.0], vec![1.0, 1.0, 4.0]]).unwrap();
    let mut numbers = vec![vec![12.0], vec![1.0, 2.0, 3.0]];
    fit.estimates(&mut numbers, 1);
    assert_eq!(numbers, [vec![12.0], vec![2.0, 3.0, 7.0]]);
    assert_eq!(fit.variance(0, 0), 0.0);
    // Refused: a leaf that was not measured, a variance below 0, too few of them, parents that are not there.
    assert!(Fit::by_level(tree.clone(), &[1.0, f64::INFINITY]).is_err());
    assert!(Fit::by_level(tree.clone(), &[-1.0, 1.0]).is_err() && Fit::by_level(tree, &[1.0]).is_err());
    assert!(
        Tree::new(&[vec![0], vec![0, 1]]).is_err()
            && Tree::new(&[vec![0, 0], vec![0]]).is_err()
            && Tree::new(&[vec![]]).is_err()
    );
    // Levels of an attribute are a hierarchy.
    let district = Attribute::new("district", 3)
        .unwrap()
        .with_level("region", 2, vec![0, 1, 1], None)
        .unwrap();
    let tree = Tree::of(&district).unwrap();
    assert_eq!(
        (tree.levels(), tree.size(2), tree.children(1, 1)),
        (3, 3, &[1, 2][..])
    );
}

fn noisy(truth: &[Vec<i64>], deviation: f64, random: &mut Seeded) -> Vec<Vec<f64>> {
    truth
        .iter()
        .map(|level| {
            level
                .iter()
                .map(|number| *number as f64 + deviation * random.normal())
                .collect()
        })
        .collect()
}

/// Everything adds up, nothing is negative, and the bias that is told is the bias there is.
#[test]
fn whole_numbers_add_up_and_their_bias_is_told() {
    let mut random = Seeded::new(9);
    let (regions, districts, width) = (20u32, 10u32, 4usize);
    let parents: Vec<u32> = (0..regions * districts).map(|node| node / districts).collect();
    let tree = Tree::new(&[vec![0; regions as usize], parents]).unwrap();
    let leaf: Vec<i64> = (0..(regions * districts) as usize * width)
        .map(|cell| match cell % width {
            0 => 0,
            1 => random.below(3) as i64,
            2 => random.below(10) as i64,
            _ => 50 + random.below(100) as i64,
        })
        .collect();
    let sums = |below: &[i64], group: usize| -> Vec<i64> {
        below
            .chunks(group * width)
            .flat_map(|nodes| (0..width).map(|cell| nodes.iter().skip(cell).step_by(width).sum()))
            .collect()
    };
    let middle = sums(&leaf, districts as usize);
    let truth = vec![sums(&middle, regions as usize), middle, leaf];
    let variances: Vec<Vec<f64>> = (0..3).map(|level| vec![4.0; tree.size(level)]).collect();
    let fit = Fit::new(tree.clone(), &variances).unwrap();
    let (mut real, mut told) = (Vec::new(), Vec::new());
    for _ in 0..8 {
        let mut numbers = noisy(&truth, 2.0, &mut random);
        fit.estimates(&mut numbers, width);
        let whole = top_down(&fit, &numbers, width).unwrap();
        assert!(whole.iter().flatten().all(|number| *number >= 0));
        assert_eq!(sums(&whole[2], districts as usize), whole[1]);
        assert_eq!(sums(&whole[1], regions as usize), whole[0]);
        let zeros: Vec<f64> = whole[2]
            .iter()
            .zip(&truth[2])
            .filter(|(_, truth)| **truth == 0)
            .map(|(whole, _)| *whole as f64)
            .collect();
        real.push(zeros.iter().sum::<f64>() / zeros.len() as f64);
        let rows = bias_by_size(&fit, &variances, &whole, width, 10, 1).unwrap();
        told.push(
            rows.iter()
                .find(|row| row.level == 2 && row.to == 0)
                .unwrap()
                .mean,
        );
        let large = rows.iter().find(|row| row.level == 2 && row.from == 100).unwrap();
        assert!(
            large.mean.abs() < 0.2 && large.root_mean_square > 0.5,
            "{large:?}"
        );
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let (real, told) = (mean(&real), mean(&told));
    assert!(
        real > 0.1 && told > 0.3 * real && told < 2.0 * real,
        "zeros are {real} on average, {told} is told"
    );
    assert!(bias_by_size(&fit, &variances, &truth, width, 0, 1).is_err());
}

#[test]
fn simulated_maxima_cover_correlated_cells() {
    // Running sums of independent noise: strongly correlated, so less than Šidák is enough.
    let draw = |seed: u64, time: u32| {
        let mut random = Seeded::numbered(seed, u64::from(time));
        let mut sum = 0.0;
        (1..=100u32).fold(0.0f64, |largest, place| {
            sum += random.normal();
            largest.max((sum / f64::from(place).sqrt()).abs())
        })
    };
    let simulated = JointIntervals::simulated(0.95, 3000, |time| draw(1, time), 0.0).unwrap();
    let proved = JointIntervals::for_gaussian(0.95, 100, 0.0).unwrap();
    assert!(
        simulated.multiplier() < 0.95 * proved.multiplier(),
        "{simulated:?} {proved:?}"
    );
    let covered = (0..3000)
        .filter(|time| draw(2, *time) <= simulated.multiplier())
        .count();
    // 0.95 less 6 standard errors.
    assert!(covered > 2778, "{covered}");
}

#[test]
fn a_full_table_is_whole_and_close_to_its_marginals() {
    let sizes = [3usize, 4, 2];
    let mut random = Seeded::new(6);
    let impossible = |cell: usize| cell % 5 == 3;
    let truth: Vec<i64> = (0..24)
        .map(|cell| {
            if impossible(cell) {
                0
            } else {
                [0, 40, 3, 100][random.index(4)]
            }
        })
        .collect();
    let marginal = |table: &[i64], axes: &[usize]| -> Vec<i64> {
        let mut sums = vec![0; axes.iter().map(|axis| sizes[*axis]).product()];
        for (cell, value) in table.iter().enumerate() {
            let codes = [cell / 8, cell / 2 % 4, cell % 2];
            sums[axes
                .iter()
                .fold(0, |place, axis| place * sizes[*axis] + codes[*axis])] += value;
        }
        sums
    };
    let pairs: [&[usize]; 3] = [&[0, 1], &[0, 2], &[1, 2]];
    let released: Vec<Vec<f64>> = pairs
        .iter()
        .map(|axes| {
            marginal(&truth, axes)
                .iter()
                .map(|sum| *sum as f64 + random.normal())
                .collect()
        })
        .collect();
    let margins: Vec<Margin<'_>> = pairs
        .iter()
        .zip(&released)
        .map(|(axes, values)| Margin {
            axes,
            values,
            variance: 1.0,
        })
        .collect();
    let table = whole_table(&sizes, &margins, &impossible, 2000).unwrap();
    assert!(table.iter().all(|number| *number >= 0));
    assert!(
        (0..24)
            .filter(|cell| impossible(*cell))
            .all(|cell| table[cell] == 0)
    );
    for axes in pairs {
        for (one, other) in marginal(&table, axes).iter().zip(marginal(&truth, axes)) {
            assert!((one - other).abs() <= 6, "{one} {other}");
        }
    }
    assert!(whole_table(&[1 << 12, 1 << 12], &[], &impossible, 1).is_err());
    assert!(whole_table(&sizes, &[], &impossible, 1).is_err());
    assert!(
        whole_table(
            &sizes,
            &[Margin {
                axes: &[1],
                values: &[1.0],
                variance: 1.0
            }],
            &impossible,
            1
        )
        .is_err()
    );
}
