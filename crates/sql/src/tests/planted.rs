//! Defects in what understanding, pricing and running a question make: the verifier alone refuses each of them, before anything is charged. They are planted behind all other checks.

use super::movement::{question, runtime};
use super::neighbours::{Row, Unit, catalog, write};
use crate::Error;
use crate::catalog::{Catalog, Owner};
use crate::mutants::{Mutant, with_verifier};
use crate::price::Noise;
use crate::price::question::Question;
use crate::run::engine::{BoundedPlans, bounded_plans};
use crate::run::engines::Engines;
use crate::run::exact::prepare;
use crate::run::publics::Publics;
use crate::understand::aggregation::Measure;
use crate::understand::relation::{Rows, UNIT};
use accounting::{Delta, Epsilon};
use bound::{Meeting, OwnerJoin};
use datafusion::common::Column;
use datafusion::functions::expr_fn::{lower, random};
use datafusion::functions_aggregate::expr_fn::{count, max};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, cast, col, lit};
use datafusion::prelude::SessionConfig;
use mechanism::{Laplace, LaplaceThreshold, Sensitivity};
use noise::Grid;

const ALL: &str = "SELECT g, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY g";
const WITHOUT_KEYS: &str = "SELECT COUNT(*), SUM(x) FROM t";
const SINGLE: &str = "SELECT o, MEDIAN(x), COUNT(DISTINCT g) FROM t GROUP BY o";
const JOINED: &str = "SELECT COUNT(*) FROM t JOIN own ON t.u = own.u";

/// Whether the plans that a question becomes are refused, and by which number, after `spoil` and `bend` were there.
fn number(
    sql: &str,
    spoil: impl Fn(&mut Question, &mut Catalog),
    bend: impl Fn(&mut Vec<BoundedPlans>),
    open: bool,
) -> Result<(), u8> {
    let here = tempfile::tempdir().unwrap();
    let row = Row {
        group: "a",
        other: 1,
        x: "5",
        y: "1",
        day: "",
    };
    let unit = Unit {
        rows: vec![row; 7],
        own: Some(("a", "1")),
    };
    write(here.path(), &[(0, &unit)], 0, 1);
    let mut catalog = catalog(here.path(), "add_remove");
    let mut question = question(sql, &catalog).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let secret = bound::Secret::new("0123456789abcdef").unwrap();
    spoil(&mut question, &mut catalog);
    let mut asked = bounded_plans(&question.split.aggregations, &question.cuts, &secret).unwrap();
    bend(&mut asked);
    // The engine with all of its rules, and without the list of operators.
    let engines = match open {
        true => with_verifier(Mutant::SignedZero, || Engines::new(SessionConfig::new())),
        false => Engines::new(SessionConfig::new()),
    };
    let publics = Publics::default();
    let claims = question.claims(&catalog).unwrap();
    match runtime().block_on(prepare(asked, &claims, &publics, &engines, &catalog)) {
        Ok(_) => Ok(()),
        Err(Error::Unverified(defect)) => Err(defect.number()),
        Err(error) => panic!("{sql}: another check refuses it: {error}"),
    }
}

#[test]
fn what_has_no_defect_is_verified() {
    for sql in [ALL, WITHOUT_KEYS, SINGLE, JOINED] {
        assert_eq!(number(sql, |_, _| {}, |_| {}, false), Ok(()), "{sql}");
    }
}

/// The statistics of the question are 0: rows (or units), and so on.
fn priced(sql: &str, spoil: impl Fn(&mut Question)) -> Result<(), u8> {
    number(sql, |question, _| spoil(question), |_| {}, false)
}

fn laplace(sensitivity: &Sensitivity, grid: Grid) -> Noise {
    Noise::Laplace(Laplace::new(Epsilon::parse("1").unwrap(), sensitivity.clone(), grid).unwrap())
}

#[test]
fn defects_of_pricing() {
    let small = || Sensitivity::scalar(1u64).unwrap();
    for sql in [ALL, WITHOUT_KEYS, SINGLE] {
        let statistics = priced_statistics(sql);
        for place in 0..statistics {
            let moved = |question: &Question| question.prices[0].sensitivities[place].clone();
            // A sensitivity of one step, where the plan enforces no such thing.
            let refused = priced(sql, |question| {
                if moved(question) != small() {
                    question.prices[0].sensitivities[place] = small();
                } else {
                    question.prices[0].sensitivities[place] =
                        Sensitivity::scalar(exact::ratio(1, 2)).unwrap();
                }
            });
            assert_eq!(refused, Err(16), "{sql}: sensitivity {place}");
            // Noise for half of what is claimed.
            let refused = priced(sql, |question| {
                let of = moved(question);
                let half =
                    Sensitivity::vector(of.coordinates(), of.l_infinity() * exact::ratio(1, 2)).unwrap();
                question.prices[0].noise[place] = match question.prices[0].noise[place] {
                    Noise::LaplaceThreshold(_) | Noise::GaussianThreshold(_) => {
                        let one = (Epsilon::parse("1").unwrap(), Delta::parse("1e-9").unwrap());
                        Noise::LaplaceThreshold(LaplaceThreshold::new(one.0, one.1, small()).unwrap())
                    }
                    _ => laplace(&half, Grid::new(0)),
                };
            });
            assert_eq!(refused, Err(17), "{sql}: noise {place}");
        }
    }
}

fn priced_statistics(sql: &str) -> usize {
    let here = tempfile::tempdir().unwrap();
    let unit = Unit {
        rows: Vec::new(),
        own: None,
    };
    write(here.path(), &[(0, &unit)], 0, 1);
    question(sql, &catalog(here.path(), "add_remove")).unwrap().prices[0]
        .noise
        .len()
}

/// Bounds that were widened after they were priced.
#[test]
fn limits_that_are_wider_than_what_is_priced() {
    // The estimate of what is cut has a check of its own.
    let groups = |question: &mut Question| {
        question.cuts.clear();
        question.split.aggregations[0].groups.per_unit += 1;
    };
    for sql in [ALL, SINGLE] {
        assert_ne!(priced(sql, |question| question.cuts.clear()), Err(16), "{sql}");
        assert_eq!(priced(sql, groups), Err(16), "{sql}: groups");
    }
    for (sql, measures) in [(ALL, 4), (SINGLE, 3)] {
        let mut widened = 0;
        for place in 0..measures {
            let refused = priced(sql, |question| {
                question.cuts.clear();
                let Some(one) = question.split.aggregations[0].statistics.get_mut(place) else {
                    return;
                };
                match &mut one.measure {
                    Measure::Rows { most }
                    | Measure::Present { most, .. }
                    | Measure::Mean { most, .. }
                    | Measure::Tree { most, .. }
                    | Measure::Histogram { most, .. }
                    | Measure::Distinct { most, .. } => *most += 1,
                    Measure::Sum { high, .. } => *high *= 2,
                    Measure::Units | Measure::OfAllUnits => {}
                }
            });
            widened += usize::from(refused == Err(16));
        }
        assert!(widened >= 2, "{sql}: {widened}");
    }
}

/// Rows as understanding them may get them wrong.
fn understood(change: impl Fn(&Rows) -> LogicalPlan, open: bool) -> Result<(), u8> {
    let spoil = |question: &mut Question, _: &mut Catalog| {
        let rows = &mut question.split.aggregations[0].rows;
        rows.plan = change(rows);
    };
    number(ALL, spoil, |_| {}, open)
}

/// The columns of rows, the owner in the place of the last.
fn with_owner(rows: &Rows, owner: Expr) -> LogicalPlan {
    let mut columns = rows.all();
    columns.pop();
    columns.push(owner.alias(UNIT));
    let plan = LogicalPlanBuilder::from(rows.plan.clone()).project(columns);
    plan.unwrap().build().unwrap()
}

#[test]
fn owners_that_are_lost_or_replaced() {
    for (name, owner) in [
        ("another column", col("o")),
        ("one for all", lit(1i64)),
        ("several become one", col("u") % lit(10i64)),
        ("one more", col("u") + lit(1i64)),
        (
            "by a condition",
            datafusion::logical_expr::when(col("o").gt(lit(1i64)), col("u"))
                .otherwise(lit(0i64))
                .unwrap(),
        ),
        (
            "rounded",
            cast(
                cast(col("u"), datafusion::arrow::datatypes::DataType::Float64),
                datafusion::arrow::datatypes::DataType::Int64,
            ),
        ),
        (
            "of text",
            cast(lower(col("g")), datafusion::arrow::datatypes::DataType::Utf8View),
        ),
    ] {
        let refused = understood(|rows| with_owner(rows, owner.clone()), false);
        assert!(matches!(refused, Err(4 | 11 | 16)), "{name}: {refused:?}");
    }
}

#[test]
fn operators_that_are_not_inside_of_one_owner() {
    type Change = fn(&Rows) -> LogicalPlan;
    let changes: [(&str, Change, bool); 7] = [
        (
            "a limit",
            |rows| built(LogicalPlanBuilder::from(rows.plan.clone()).limit(0, Some(5))),
            true,
        ),
        (
            "chance",
            |rows| built(LogicalPlanBuilder::from(rows.plan.clone()).filter(random().gt(lit(0.5)))),
            false,
        ),
        (
            "a place among all rows",
            |rows| {
                let place = row_number()
                    .order_by(vec![col("x").sort(true, false)])
                    .build()
                    .unwrap()
                    .alias("place");
                built(
                    built(
                        LogicalPlanBuilder::from(rows.plan.clone())
                            .window(vec![place])
                            .map(|plan| plan.filter(col("place").lt_eq(lit(3u64))).unwrap()),
                    )
                    .into_projected(rows),
                )
            },
            true,
        ),
        (
            "GROUP BY without the owner",
            |rows| {
                let others = rows.all().into_iter().filter(|expr| *expr != rows.unit_expr());
                let largest = max(rows.unit_expr()).alias(UNIT);
                built(
                    LogicalPlanBuilder::from(rows.plan.clone())
                        .aggregate(others.collect::<Vec<_>>(), vec![largest]),
                )
            },
            true,
        ),
        (
            "all rows with all rows",
            |rows| {
                let other = LogicalPlanBuilder::from(rows.plan.clone())
                    .project([col("x").alias("other")])
                    .unwrap()
                    .alias("others")
                    .unwrap()
                    .build()
                    .unwrap();
                built(LogicalPlanBuilder::from(rows.plan.clone()).cross_join(other)).into_projected_plan(rows)
            },
            true,
        ),
        (
            "columns exchanged in a union",
            |rows| {
                let mut columns = rows.all();
                let (unit, o) = (columns.pop().unwrap(), col("o"));
                for column in &mut columns {
                    if *column == col("t.o") {
                        *column = unit.clone().alias("o");
                    }
                }
                columns.push(o.alias(UNIT));
                let other = LogicalPlanBuilder::from(rows.plan.clone())
                    .project(columns)
                    .unwrap()
                    .build()
                    .unwrap();
                built(LogicalPlanBuilder::from(rows.plan.clone()).union(other)).into_projected_plan(rows)
            },
            false,
        ),
        (
            "a join on another column",
            |rows| {
                let right = LogicalPlanBuilder::from(rows.plan.clone())
                    .project([col("o").alias("other")])
                    .unwrap()
                    .alias("others")
                    .unwrap()
                    .build()
                    .unwrap();
                let join = OwnerJoin {
                    left: rows.plan.clone(),
                    right,
                    left_key: Column::from_name("o"),
                    right_key: Column::from_name("other"),
                    filter: None,
                    meeting: Meeting::Pairs,
                    most_left: 3,
                    most_right: 3,
                };
                join.plan().unwrap().into_projected_plan(rows)
            },
            false,
        ),
    ];
    for (name, change, open) in changes {
        let refused = understood(change, open);
        assert!(refused.is_err(), "{name} is accepted");
    }
}

fn built(plan: datafusion::common::Result<LogicalPlanBuilder>) -> LogicalPlan {
    plan.unwrap().build().unwrap()
}

trait Projected {
    /// The columns that the rows have.
    fn into_projected_plan(self, rows: &Rows) -> LogicalPlan;
    fn into_projected(self, rows: &Rows) -> datafusion::common::Result<LogicalPlanBuilder>;
}

impl Projected for LogicalPlan {
    fn into_projected_plan(self, rows: &Rows) -> LogicalPlan {
        built(self.into_projected(rows))
    }

    fn into_projected(self, rows: &Rows) -> datafusion::common::Result<LogicalPlanBuilder> {
        let columns = self.schema().columns().into_iter().zip(rows.all());
        let columns = columns.map(|(column, called)| match called {
            Expr::Column(called) => Expr::Column(column).alias_qualified(called.relation, called.name),
            other => other,
        });
        let columns: Vec<Expr> = columns.collect();
        LogicalPlanBuilder::from(self).project(columns)
    }
}

#[test]
fn tables_that_are_taken_for_others() {
    // Declared as something else when the plan is verified than when it was understood.
    let as_if = |owner: Owner| {
        number(
            ALL,
            move |_, catalog| catalog.tables.get_mut("t").unwrap().owner = owner.clone(),
            |_| {},
            false,
        )
    };
    assert_eq!(as_if(Owner::Public), Err(4));
    assert_eq!(as_if(Owner::Column("g".to_owned())), Err(4));
    assert_eq!(as_if(Owner::Column("o".to_owned())), Err(4));
    assert_eq!(as_if(Owner::EachRow), Err(4));
    let through = Owner::Through {
        column: "u".to_owned(),
        table: "own".to_owned(),
        key: "g".to_owned(),
    };
    assert_eq!(as_if(through), Err(4));
}

#[test]
fn one_row_of_each_unit_that_nobody_promised() {
    let refused = priced(ALL, |question| {
        let rows = &mut question.split.aggregations[0].rows;
        (rows.rows_per_unit, rows.promised) = (Some(1), true);
        question.cuts.clear();
    });
    assert_eq!(refused, Err(12));
    let refused = priced(WITHOUT_KEYS, |question| {
        question.split.aggregations[0].rows.has_unit = false;
        question.cuts.clear();
    });
    assert!(matches!(refused, Err(12 | 13)), "{refused:?}");
}

#[test]
fn defects_of_running() {
    let ran = |sql: &str, bend: &dyn Fn(&mut Vec<BoundedPlans>)| number(sql, |_, _| {}, bend, false);
    // Each statistic reads the number of the next.
    let exchanged = |plans: &mut Vec<BoundedPlans>| {
        let numbers = &mut plans[0].read[0].numbers;
        let first = numbers[0].1;
        for at in 0..numbers.len() {
            numbers[at].1 = numbers.get(at + 1).map_or(first, |next| next.1);
        }
    };
    assert_eq!(ran(ALL, &exchanged), Err(16));
    let of_all = |plans: &mut Vec<BoundedPlans>| plans[0].read[0].of_all = true;
    assert_eq!(ran(ALL, &of_all), Err(15));
    let of_groups = |plans: &mut Vec<BoundedPlans>| plans[0].read[1].of_all = false;
    assert_eq!(ran(ALL, &of_groups), Err(15));
    let keys = |plans: &mut Vec<BoundedPlans>| plans[0].keys = 0;
    assert_eq!(ran(ALL, &keys), Err(15));
    let twice = |plans: &mut Vec<BoundedPlans>| {
        let again = plans[0].read[0].numbers[0];
        plans[0].read[0].numbers.push(again);
    };
    assert_eq!(ran(ALL, &twice), Err(18));
    // What is done with totals.
    let doubled = |plans: &mut Vec<BoundedPlans>| {
        let columns = plans[0].totals.schema().columns();
        let columns = columns
            .into_iter()
            .map(|column| match column.name.starts_with("partial") {
                true => (Expr::Column(column.clone()) * lit(2i64)).alias(column.name),
                false => Expr::Column(column),
            });
        plans[0].totals =
            built(LogicalPlanBuilder::from(plans[0].totals.clone()).project(columns.collect::<Vec<_>>()));
    };
    assert_eq!(ran(ALL, &doubled), Err(14));
    let filtered = |plans: &mut Vec<BoundedPlans>| {
        let large = col("partial0").gt(lit(1i64));
        plans[0].totals = built(LogicalPlanBuilder::from(plans[0].totals.clone()).filter(large));
    };
    assert_eq!(ran(ALL, &filtered), Err(14));
    // A GROUP BY of the engine, without a bounding step.
    let unbounded = |plans: &mut Vec<BoundedPlans>| {
        let scan = plans[0].totals.clone();
        let inputs = bounded_rows(&scan);
        let counted = count(lit(1i64)).alias("partial0");
        plans[0].totals = built(LogicalPlanBuilder::from(inputs).aggregate(vec![col("key0")], vec![counted]));
    };
    assert!(matches!(ran(ALL, &unbounded), Err(8 | 13)));
    // The plan of bins is another's, and a number is counted of all rows.
    let swapped = |plans: &mut Vec<BoundedPlans>| {
        let [one, other] = &mut plans[0].single[..] else {
            panic!("two plans")
        };
        std::mem::swap(&mut one.0, &mut other.0);
    };
    assert_eq!(ran(SINGLE, &swapped), Err(15));
}

/// What the bounding step of a plan reads.
fn bounded_rows(plan: &LogicalPlan) -> LogicalPlan {
    match plan {
        LogicalPlan::Extension(extension) => extension.node.inputs()[0].clone(),
        other => bounded_rows(other.inputs()[0]),
    }
}
