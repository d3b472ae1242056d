use super::*;
use datafusion::execution::TaskContext;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::collect as run_plan;

const UNITS: i64 = 20_000;

/// Units in any order, each in several of 200 groups with names of any length.
fn batches(sorted: bool) -> Vec<Vec<RecordBatch>> {
    let mut rows: Vec<(i64, i64)> = (0..UNITS * 5)
        .map(|row| {
            let unit = row * 7919 % UNITS;
            (unit, (unit * 31 + row / UNITS * 17) % 200)
        })
        .collect();
    if sorted {
        rows.sort();
    }
    let parts = rows.chunks(rows.len() / 2 + 3).map(|part| {
        let batch = |rows: &[(i64, i64)]| {
            let names = rows
                .iter()
                .map(|(_, group)| Some("group ".repeat(*group as usize % 5) + &group.to_string()));
            let columns: [(&str, ArrayRef); 3] = [
                (
                    "u",
                    Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
                ),
                ("k0", Arc::new(StringViewArray::from_iter(names))),
                (
                    "x0",
                    Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0 - row.1))),
                ),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        part.chunks(1000).map(batch).collect()
    });
    parts.collect()
}

/// A plan over these rows, within this many bytes.
async fn plan_within(limit: Option<usize>, form: Form) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
    let runtime = match limit {
        Some(bytes) => RuntimeEnvBuilder::new().with_memory_limit(bytes, 1.0),
        None => RuntimeEnvBuilder::new(),
    };
    let mut config = SessionConfig::new()
        .with_target_partitions(2)
        .with_batch_size(512);
    config.options_mut().execution.sort_spill_reservation_bytes = 32 << 10;
    let context = session(config, runtime.build_arc()?);
    let parts = batches(form == Form::Clustered);
    let table = MemTable::try_new(parts[0][0].schema(), parts)?;
    context.register_table("t", Arc::new(table))?;
    let bounding = Bounding {
        input: input(&context).await,
        unit: Column::new(Some("t"), "u"),
        keys: vec![Column::new(Some("t"), "k0")],
        arguments: vec![Column::new(Some("t"), "x0")],
        partials: vec![
            Partial::Units,
            Partial::Rows { most: 2 },
            Partial::Sum {
                argument: 0,
                low: 10,
                high: 9_000,
            },
        ],
        groups: Some(3),
        lengths: Vec::new(),
        beside: None,
        secret: Secret::new("5ec2e7").unwrap(),
    };
    let plan = context.execute_logical_plan(bounding.plan(form)?).await?;
    Ok((plan.create_physical_plan().await?, context.task_ctx()))
}

/// The answer, how many rows the operator handed on for it, and how often it wrote states to disk. It runs alone, so it has all memory.
async fn bounded(limit: Option<usize>, form: Form) -> Result<(Answer, usize, usize)> {
    let (plan, context) = plan_within(limit, form).await?;
    let operator = operator(&plan, "ContributionBoundExec").unwrap();
    let batches = run_plan(Arc::clone(&operator), context).await?;
    let mut sums = Answer::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            for (name, numbers) in answer(&[batch.slice(row, 1)], 3) {
                let sum = sums.entry(name).or_insert_with(|| vec![0; 3]);
                sum.iter_mut()
                    .zip(numbers)
                    .for_each(|(sum, number)| *sum += number);
            }
        }
    }
    let spills = operator.metrics().and_then(|metrics| metrics.spill_count());
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    Ok((sums, rows, spills.unwrap_or(0)))
}

#[test]
fn states_on_disk_give_the_same_answer() {
    wait(async {
        let (expected, rows, spills) = bounded(None, Form::Partitioned).await.unwrap();
        // Two threads, both with all groups.
        assert_eq!((rows, spills), (400, 0));
        assert_eq!(expected.len(), 200);
        assert_eq!(
            expected.values().map(|numbers| numbers[0]).sum::<i64>(),
            UNITS * 3
        );
        for limit in [1, 300 << 10, 1 << 20] {
            let (limited, _, spills) = bounded(Some(limit), Form::Partitioned).await.unwrap();
            assert!(spills > 2, "{limit} bytes were enough");
            assert_eq!(limited, expected);
        }
        // The whole plan, with an aggregate that wants memory too.
        let (plan, context) = plan_within(Some(2 << 20), Form::Partitioned).await.unwrap();
        let batches = run_plan(Arc::clone(&plan), context).await.unwrap();
        assert_eq!(answer(&batches, 3), expected);
        let metrics = operator(&plan, "ContributionBoundExec")
            .unwrap()
            .metrics()
            .unwrap();
        assert!(metrics.spill_count() > Some(0));
    });
}

#[test]
fn totals_handed_on_early_give_the_same_answer() {
    wait(async {
        let (expected, _, _) = bounded(None, Form::Partitioned).await.unwrap();
        let (unlimited, rows, _) = bounded(None, Form::Clustered).await.unwrap();
        assert_eq!(unlimited, expected);
        // Two parts with all groups, and at most five groups of the units at their ends.
        assert!((400..=420).contains(&rows));
        let (limited, rows, _) = bounded(Some(1), Form::Clustered).await.unwrap();
        assert!(rows > 10_000, "{rows} rows were handed on");
        assert_eq!(limited, expected);
    });
}
