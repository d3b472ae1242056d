use super::*;
use crate::OwnerJoin;
use datafusion::common::{DataFusionError, TableReference};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_plan::{ExecutionPlanProperties, collect as run_plan};
use datafusion::prelude::ParquetReadOptions;
use datafusion::prelude::lit;
use std::path::Path;

/// Rows sorted by unit: units of one row, of a few, and one so large that it fills whole parts of a file.
fn batch() -> RecordBatch {
    let mut units = Vec::new();
    for unit in 0..4000i64 {
        let rows = if unit == 1500 { 9000 } else { unit % 7 + 1 };
        units.extend((0..rows).map(|_| unit));
    }
    let groups = (0..units.len()).map(|row| ["north", "east", "south", "west", LONG][row * row % 13 % 5]);
    let values = (0..units.len()).map(|row| (row % 13 != 0).then_some(row as i64 % 100));
    let columns: [(&str, ArrayRef); 3] = [
        ("k0", Arc::new(StringViewArray::from_iter_values(groups))),
        ("x0", Arc::new(Int64Array::from_iter(values))),
        ("u", Arc::new(Int64Array::from(units))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The rows in this many files, each in many parts that can be read on their own.
fn write(directory: &Path, files: usize) {
    let batch = batch();
    let rows = batch.num_rows().div_ceil(files);
    for file in 0..files {
        let part = batch.slice(file * rows, rows.min(batch.num_rows() - file * rows));
        let path = std::fs::File::create(directory.join(format!("{file}.parquet"))).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(700))
            .build();
        let mut writer = ArrowWriter::try_new(path, part.schema(), Some(properties)).unwrap();
        writer.write(&part).unwrap();
        writer.close().unwrap();
    }
}

async fn ask_files(directory: &Path, threads: usize, cut: bool, form: Form) -> (Answer, usize) {
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_batch_size(256);
    config.options_mut().optimizer.repartition_file_min_size = if cut { 0 } else { usize::MAX };
    let context = session(config, Arc::default());
    let options = ParquetReadOptions::default();
    context
        .register_parquet("t", directory.to_str().unwrap(), options)
        .await
        .unwrap();
    let bounding = Bounding {
        // A filter, too, would like to have the rows dealt out.
        input: context
            .sql("SELECT * FROM t WHERE x0 <> 7 OR x0 IS NULL")
            .await
            .unwrap()
            .into_unoptimized_plan(),
        unit: Column::new(Some("t"), "u"),
        keys: vec![Column::new(Some("t"), "k0")],
        arguments: vec![Column::new(Some("t"), "x0")],
        partials: vec![
            Partial::Units,
            Partial::Rows { most: 5 },
            Partial::Mean {
                argument: 0,
                most: 5,
                low: 0,
                high: 500,
            },
        ],
        groups: Some(2),
        lengths: Vec::new(),
        beside: None,
        secret: Secret::new("5ec2e7").unwrap(),
    };
    let plan = context
        .execute_logical_plan(bounding.plan(form).unwrap())
        .await
        .unwrap();
    let plan = plan.create_physical_plan().await.unwrap();
    let parts = operator(&plan, "ContributionBoundExec").map_or(0, |exec| {
        exec.children()[0].output_partitioning().partition_count()
    });
    let batches = run_plan(plan, context.task_ctx()).await.unwrap();
    (answer(&batches, 3), parts)
}

#[test]
fn units_may_straddle_the_parts_of_files() {
    wait(async {
        for files in [1, 3] {
            let directory = tempfile::tempdir().unwrap();
            write(directory.path(), files);
            let (expected, _) = ask_files(directory.path(), 1, true, Form::Relational).await;
            assert_eq!(expected.len(), 5);
            for threads in [1, 2, 3, 7] {
                let (clustered, parts) = ask_files(directory.path(), threads, true, Form::Clustered).await;
                assert_eq!(clustered, expected);
                assert_eq!(parts, threads);
                let (clustered, parts) = ask_files(directory.path(), threads, false, Form::Clustered).await;
                assert_eq!(clustered, expected);
                assert_eq!(parts, threads.min(files));
                let (partitioned, _) = ask_files(directory.path(), threads, true, Form::Partitioned).await;
                assert_eq!(partitioned, expected);
            }
        }
    });
}

/// The number of pairs, within so much memory.
async fn joined(directory: &Path, context: SessionContext, ours: bool) -> Result<i64> {
    for name in ["a", "b"] {
        let options = ParquetReadOptions::default();
        context
            .register_parquet(name, directory.to_str().unwrap(), options)
            .await?;
    }
    let pairs = match ours {
        false => context.sql("SELECT a.u FROM a JOIN b ON a.u = b.u").await?,
        true => {
            let side = async |name: &str| {
                Ok::<_, DataFusionError>(context.table(name).await?.into_unoptimized_plan())
            };
            let key = |name: &str| Column::new(Some(TableReference::bare(name)), "u");
            let join = OwnerJoin {
                left: side("a").await?,
                right: side("b").await?,
                left_key: key("a"),
                right_key: key("b"),
                filter: None,
                meeting: crate::Meeting::Pairs,
                most_left: 1000,
                most_right: 1000,
            };
            context.execute_logical_plan(join.plan()?).await?
        }
    };
    let batches = pairs.aggregate(vec![], vec![count(lit(1i64))])?.collect().await?;
    let counts = batches[0].column(0).as_any().downcast_ref::<Int64Array>();
    Ok(counts.unwrap().value(0))
}

/// A hash join holds one side in memory and fails where it does not fit, and that it failed would tell something of private rows.
#[test]
fn joins_of_two_files_go_to_disk() {
    const ROWS: i64 = 400_000;
    let directory = tempfile::tempdir().unwrap();
    let units = (0..ROWS).map(|row| row * 7919 % ROWS);
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(units));
    let batch = RecordBatch::try_from_iter([("u", column)]).unwrap();
    let file = std::fs::File::create(directory.path().join("0.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let setting = || {
        let mut config = SessionConfig::new()
            .with_target_partitions(2)
            .with_batch_size(512);
        config.options_mut().execution.sort_spill_reservation_bytes = 64 << 10;
        // Nothing is known of private rows, so that nothing of them decides how they are joined.
        config.options_mut().execution.collect_statistics = false;
        let pool = Arc::new(FairSpillPool::new(3 << 20));
        (
            config,
            RuntimeEnvBuilder::new()
                .with_memory_pool(pool)
                .build_arc()
                .unwrap(),
        )
    };
    wait(async {
        let (config, runtime) = setting();
        let stock = SessionContext::new_with_config_rt(config, runtime);
        assert!(
            joined(directory.path(), stock, false).await.is_err(),
            "this test is about too little memory"
        );
        let (config, runtime) = setting();
        assert_eq!(
            joined(directory.path(), session(config, runtime), true)
                .await
                .unwrap(),
            ROWS
        );
    });
}
