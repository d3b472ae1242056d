use super::*;
use crate::Seeded;
use std::time::Duration;

fn block(sizes: &[usize]) -> Block {
    let categories = sizes.iter().enumerate().map(|(number, size)| Category {
        name: format!("c{number}"),
        values: (0..*size).map(|value| value.to_string()).collect(),
    });
    Block {
        categories: categories.collect(),
        margins: Vec::new(),
    }
}

/// All blocks with these margins, by trying every number in every cell.
fn brute_force(block: &Block, most: i64) -> Vec<Vec<i64>> {
    let sums = block.sums();
    let bounds = block.cell_bounds(&sums).unwrap();
    let mut found = Vec::new();
    let mut cells: Vec<i64> = Vec::new();
    // Depth first, cutting a branch as soon as a sum is too large already.
    fn descend(
        cells: &mut Vec<i64>,
        bounds: &[(i64, i64)],
        sums: &[Sum],
        most: i64,
        found: &mut Vec<Vec<i64>>,
    ) {
        let fits = sums.iter().all(|sum| {
            let known = sum.cells.iter().filter(|&&cell| cell < cells.len());
            let total: i64 = known.clone().map(|&cell| cells[cell]).sum();
            let done = known.count() == sum.cells.len();
            total <= sum.bounds.1 && (!done || total >= sum.bounds.0)
        });
        if !fits {
            return;
        }
        if cells.len() == bounds.len() {
            found.push(cells.clone());
            return;
        }
        for value in 0..=bounds[cells.len()].1.min(most) {
            cells.push(value);
            descend(cells, bounds, sums, most, found);
            cells.pop();
        }
    }
    descend(&mut cells, &bounds, &sums, most, &mut found);
    found
}

/// The true ranges against ours, on random blocks.
fn agrees_with_brute_force(sizes: &[usize], margins: &[&[usize]], seed: u64, widen: u64) {
    let mut random = Seeded::new(seed);
    let mut contradictions = 0;
    for round in 0..60 {
        let mut block = block(sizes);
        let truth: Vec<i64> = (0..block.cells()).map(|_| random.below(3) as i64).collect();
        for by in margins {
            let margin = block.margin(&truth, by.to_vec());
            block.margins.push(margin);
        }
        for margin in &mut block.margins {
            for count in &mut margin.counts {
                let (low, high) = count.unwrap();
                let spoiled = round % 3 == 0 && random.below(10) == 0;
                let (below, above) = (random.below(widen + 1) as i64, random.below(widen + 1) as i64);
                *count = match random.below(10) {
                    0 if widen > 0 => Some((0, high + above + 1)),
                    _ => Some(((low - below).max(0), high + above + i64::from(spoiled))),
                };
                if spoiled && widen == 0 {
                    *count = Some((high + 1, high + 1));
                }
            }
        }
        let all = brute_force(&block, 100);
        match ranges(&block, &Effort::default(), |_| {}).unwrap() {
            Found::Contradiction(labels) => {
                contradictions += 1;
                assert!(all.is_empty() && !labels.is_empty(), "seed {seed}, round {round}");
            }
            Found::Consistent { example, ranges } => {
                assert!(all.contains(&example), "seed {seed}, round {round}");
                for (cell, range) in ranges.iter().enumerate() {
                    let values = || all.iter().map(|cells| cells[cell]);
                    let exact = (values().min().unwrap(), values().max().unwrap());
                    assert_eq!(
                        (range.possible, range.proved()),
                        (exact, true),
                        "seed {seed}, round {round}, cell {cell}"
                    );
                }
            }
        }
    }
    assert!(widen > 0 || contradictions > 0);
}

#[test]
fn brute_force_agrees_on_two_ways() {
    agrees_with_brute_force(&[3, 3], &[&[0], &[1]], 1, 0);
    agrees_with_brute_force(&[2, 3], &[&[0], &[1]], 2, 2);
}

#[test]
fn brute_force_agrees_on_three_ways() {
    agrees_with_brute_force(&[2, 2, 3], &[&[0, 1], &[0, 2], &[1, 2]], 3, 0);
    agrees_with_brute_force(&[2, 2, 2], &[&[0, 1], &[0, 2], &[1, 2]], 4, 1);
}

#[test]
fn fractions_are_split() {
    // Cubes of side three have margins whose best points are not whole. Whatever the linear program says,
    // what is proved must be seen.
    let mut random = Seeded::new(5);
    for round in 0..20 {
        let mut block = block(&[3, 3, 3]);
        let truth: Vec<i64> = (0..27).map(|_| random.below(2) as i64).collect();
        for by in [[0, 1], [0, 2], [1, 2]] {
            let margin = block.margin(&truth, by.to_vec());
            block.margins.push(margin);
        }
        let all = brute_force(&block, 100);
        let Found::Consistent { ranges, .. } = ranges(&block, &Effort::default(), |_| {}).unwrap() else {
            panic!("made from a block, so there is one");
        };
        for (cell, range) in ranges.iter().enumerate() {
            let values = || all.iter().map(|cells| cells[cell]);
            assert_eq!(
                (range.seen, range.possible),
                (
                    (values().min().unwrap(), values().max().unwrap()),
                    (values().min().unwrap(), values().max().unwrap())
                ),
                "round {round}, cell {cell}"
            );
        }
    }
}

#[test]
fn without_time_nothing_is_claimed() {
    let (block, truth) = synthetic(200, 1);
    let effort = Effort {
        patience: Patience::lasting(Duration::ZERO),
        ..Effort::default()
    };
    let Found::Consistent { ranges, .. } = ranges(&block, &effort, |_| {}).unwrap() else {
        panic!("made from a block, so there is one");
    };
    for (range, count) in ranges.iter().zip(truth) {
        assert!(range.possible.0 <= count && count <= range.possible.1);
    }
    assert!(ranges.iter().any(|range| !range.proved()));
}

#[test]
fn one_cell_moves_as_far_as_the_margins_let_it() {
    let mut random = Seeded::new(6);
    for _ in 0..20 {
        let mut block = block(&[2, 3]);
        let truth: Vec<i64> = (0..6).map(|_| random.below(4) as i64).collect();
        for by in [[0], [1]] {
            let mut margin = block.margin(&truth, by.to_vec());
            for count in margin.counts.iter_mut().flatten() {
                *count = (count.0 - random.below(3) as i64, count.1 + random.below(3) as i64);
            }
            block.margins.push(margin);
        }
        for (cell, (low, high)) in around(&block, &truth).unwrap().into_iter().enumerate() {
            let allowed = |value: i64| {
                let mut cells = truth.clone();
                cells[cell] = value;
                block.allows(&cells)
            };
            assert!((low..=high).all(allowed) && !allowed(low - 1) && !allowed(high + 1));
        }
        block.margins[0].counts[0] = Some((1000, 1000));
        assert_eq!(around(&block, &truth), None);
    }
}

#[test]
fn mistakes_are_reported() {
    let mut broken = block(&[2, 2]);
    let reported = |block: &Block| ranges(block, &Effort::default(), |_| {}).unwrap_err().to_string();
    assert!(reported(&broken).contains("no published count includes the cell 0, 0"));
    broken.margins.push(Margin {
        by: vec![0],
        counts: vec![Some((1, 1))],
    });
    assert!(reported(&broken).contains("one count for each combination"));
    broken.margins[0].counts = vec![Some((2, 1)), None];
    assert!(reported(&broken).contains("no possible value"));
}

#[test]
fn counts_that_contradict_each_other_are_named() {
    let mut block = block(&[2, 2]);
    block.margins = vec![
        Margin {
            by: vec![0],
            counts: vec![Some((3, 3)), Some((4, 4))],
        },
        Margin {
            by: vec![],
            counts: vec![Some((8, 8))],
        },
    ];
    let Found::Contradiction(mut labels) = ranges(&block, &Effort::default(), |_| {}).unwrap() else {
        panic!("3 and 4 are not 8");
    };
    labels.sort();
    assert_eq!(labels, ["c0 0", "c0 1", "everybody"]);
}

/// The same integer programs by another solver, in floating point.
#[test]
fn another_solver_agrees() {
    use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOutcome};
    let (block, truth) = synthetic(60, 7);
    let Found::Consistent { ranges, .. } = ranges(&block, &Effort::default(), |_| {}).unwrap() else {
        panic!("made from a block, so there is one");
    };
    assert_eq!(truth.iter().sum::<i64>(), 60);
    for cell in (0..block.cells())
        .filter(|cell| ranges[*cell].only().is_none())
        .step_by(12)
    {
        for up in [true, false] {
            let direction = if up {
                OptimizationDirection::Maximize
            } else {
                OptimizationDirection::Minimize
            };
            let mut problem = Problem::new(direction);
            let cells: Vec<_> = (0..block.cells())
                .map(|other| problem.add_integer_var(f64::from(u8::from(other == cell)), (0, 1000)))
                .collect();
            for sum in block.sums() {
                let terms = sum.cells.iter().map(|&cell| (cells[cell], 1.0));
                problem.add_constraint(terms.collect::<Vec<_>>(), ComparisonOp::Eq, sum.bounds.0 as f64);
            }
            let SolveOutcome::Solution(solution) = problem.solve().unwrap() else {
                panic!("no limit was set");
            };
            let best = solution.objective().round() as i64;
            let range = ranges[cell];
            assert!(range.proved());
            assert_eq!(
                best,
                if up { range.possible.1 } else { range.possible.0 },
                "cell {cell}"
            );
        }
    }
}
