//! Workers in this process, over real connections, against the engine of one machine.

mod panics;

use crate::spread::{Mutant, is_partitioned};
use crate::{Cluster, Credentials, NotSpread, Signed, Worker, certificates};
use bound::{Bounding, Form, Partial, RowBounding, Secret, is_not_clustered, session};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{Partitioning, PhysicalExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, displayable};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext, col, lit};
use panics::PanicsAlone;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

fn credentials(authority: &str, signed: &Signed) -> Credentials {
    let bytes = |text: &str| text.as_bytes().to_vec();
    Credentials::new(bytes(authority), bytes(&signed.certificate), bytes(&signed.key)).unwrap()
}

/// Workers that run while this lives.
struct Running {
    cluster: Cluster,
    workers: Vec<JoinHandle<()>>,
    _scratch: tempfile::TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

async fn running(workers: usize, data: &Path, memory: usize) -> Running {
    let made = certificates(&["localhost".to_owned()]).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let mut addresses = Vec::new();
    let mut tasks = Vec::new();
    for _ in 0..workers {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        addresses.push(format!("https://localhost:{port}").parse().unwrap());
        let worker = Worker {
            credentials: credentials(&made.authority, &made.worker),
            functions: Arc::new(PanicsAlone),
            stores: Arc::new(PanicsAlone),
            directories: vec![data.canonicalize().unwrap()],
            threads: 2,
            memory,
            scratch: scratch.path().to_owned(),
            ends_at_panic: false,
        };
        tasks.push(tokio::spawn(async move {
            worker.serve(listener, std::future::pending()).await.unwrap();
        }));
    }
    let credentials = credentials(&made.authority, &made.coordinator);
    Running {
        cluster: Cluster::new(addresses, credentials, Arc::new(PanicsAlone)),
        workers: tasks,
        _scratch: scratch,
    }
}

/// Visits of 60 people, scattered over three files of several parts each.
fn visits(directory: &Path) {
    write_visits(directory, |_, random| random as i64 % 60);
}

/// The same, sorted by person: 17 visits each, wherever parts and files end.
fn sorted_visits(directory: &Path) {
    write_visits(directory, |row, _| row as i64 / 17);
}

/// Visits, each of the person that a function of its place and of a random number names.
fn write_visits(directory: &Path, person: impl Fn(usize, u64) -> i64) {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let schema = Arc::new(Schema::new(vec![
        field("person", DataType::Int64),
        field("ward", DataType::Utf8),
        field("cost", DataType::Int64),
    ]));
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        state >> 33
    };
    for file in 0..3 {
        let rows = 400;
        let people = Int64Array::from_iter((0..rows).map(|row| match next() {
            nobody if nobody % 61 == 60 => None,
            random => Some(person(file * rows + row, random / 61)),
        }));
        let wards: StringViewArray = (0..rows)
            .map(|_| match next() % 9 {
                8 => None,
                ward => Some(format!("ward {ward}")),
            })
            .collect();
        let costs = Int64Array::from_iter((0..rows).map(|_| match next() % 20 {
            19 => None,
            cost => Some(cost as i64 * 7 - 30),
        }));
        let wards = cast(&wards, &DataType::Utf8).unwrap();
        let columns: Vec<ArrayRef> = vec![Arc::new(people), wards, Arc::new(costs)];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let path = directory.join(format!("part{file}.parquet"));
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(50))
            .build();
        let target = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(target, Arc::clone(&schema), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

async fn local(directory: &Path, partitions: usize) -> SessionContext {
    let mut config = SessionConfig::new().with_target_partitions(partitions);
    config.options_mut().optimizer.repartition_file_min_size = 0;
    config.options_mut().execution.parquet.schema_force_view_types = true;
    let context = session(config, Arc::default());
    let path = directory.to_str().unwrap();
    context
        .register_parquet("visits", path, ParquetReadOptions::default())
        .await
        .unwrap();
    context
}

fn bounding(input: LogicalPlan, form: Form, keys: bool, groups: Option<u64>) -> LogicalPlan {
    let ward = keys.then(|| "visits.ward".into());
    Bounding {
        input,
        unit: "visits.person".into(),
        keys: ward.into_iter().collect(),
        arguments: vec!["visits.cost".into()],
        partials: vec![
            Partial::Units,
            Partial::Rows { most: 3 },
            Partial::Sum {
                argument: 0,
                low: -40,
                high: 90,
            },
            Partial::Mean {
                argument: 0,
                most: 2,
                low: -40,
                high: 90,
            },
        ],
        groups,
        lengths: Vec::new(),
        beside: None,
        secret: Secret::new("00112233445566778899aabbccddeeff").unwrap(),
    }
    .plan(form)
    .unwrap()
}

fn rows(input: LogicalPlan, distinct: bool) -> LogicalPlan {
    let bounding = RowBounding {
        input,
        unit: "visits.person".into(),
        keys: vec!["visits.ward".into()],
        value: "visits.cost".into(),
        rows: 2,
        groups: Some(3),
        in_all: None,
        secret: Secret::new("00112233445566778899aabbccddeeff").unwrap(),
    };
    match distinct {
        true => bounding.distinct(false).unwrap(),
        false => bounding.histogram(false).unwrap(),
    }
}

/// The plans that are compared, each with whether an exchange by unit is what makes it right.
async fn plans(context: &SessionContext) -> Vec<(&'static str, LogicalPlan)> {
    let visits = || async { context.table("visits").await.unwrap().into_unoptimized_plan() };
    let dear = context
        .table("visits")
        .await
        .unwrap()
        .filter(col("cost").gt(lit(5i64)));
    let dear = dear.unwrap().into_unoptimized_plan();
    vec![
        (
            "partitioned",
            bounding(visits().await, Form::Partitioned, true, Some(2)),
        ),
        (
            "without keys",
            bounding(visits().await, Form::Partitioned, false, None),
        ),
        ("filtered", bounding(dear, Form::Partitioned, true, Some(1))),
        (
            "relational",
            bounding(visits().await, Form::Relational, true, Some(2)),
        ),
        (
            "all groups",
            bounding(visits().await, Form::Partitioned, true, None),
        ),
        ("plain", bounding(visits().await, Form::Plain, true, Some(2))),
        ("histogram", rows(visits().await, false)),
        ("distinct", rows(visits().await, true)),
    ]
}

/// The rows by the names of their groups; of a name that is there twice, both.
type Table = BTreeMap<String, Vec<Vec<i64>>>;

fn table(batches: &[RecordBatch]) -> Table {
    let mut table = Table::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let (mut name, mut numbers) = (String::new(), Vec::new());
            for (place, column) in batch.columns().iter().enumerate() {
                match column.as_primitive_opt::<Int64Type>() {
                    Some(values) if place > 0 || batch.num_columns() == 4 => numbers.push(values.value(row)),
                    _ if column.is_null(row) => name.push_str("NULL"),
                    _ => name.push_str(
                        cast(column, &DataType::Utf8)
                            .unwrap()
                            .as_string::<i32>()
                            .value(row),
                    ),
                }
            }
            // The bin of a histogram is part of the name.
            if batch.schema().field(1).name() == "value" {
                name = format!("{name} {}", numbers.remove(0));
            }
            table.entry(name).or_default().push(numbers);
        }
    }
    table
}

async fn on_one_machine(context: &SessionContext, plan: &LogicalPlan) -> Table {
    let frame = context.execute_logical_plan(plan.clone()).await.unwrap();
    table(&frame.collect().await.unwrap())
}

async fn on_workers(
    cluster: &Cluster,
    context: &SessionContext,
    plan: &LogicalPlan,
) -> Result<Table, NotSpread> {
    let state = context.state();
    let planned = state.create_physical_plan(plan).await?;
    let workers = cluster.available().await?;
    let prepared = cluster.prepare(&planned, &state, (&workers, 2), 0).await?;
    Ok(table(&prepared.collect().await?))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_give_what_one_machine_gives() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    for workers in [1, 2, 4] {
        let running = running(workers, directory.path(), 1 << 30).await;
        for (name, plan) in plans(&context).await {
            let expected = on_one_machine(&context, &plan).await;
            assert!(!expected.is_empty());
            let found = on_workers(&running.cluster, &context, &plan).await.unwrap();
            assert_eq!(found, expected, "{name} on {workers}");
        }
    }
}

/// Sorted rows are not exchanged, and what lies at the ends of parts is joined; rows that are not sorted are
/// an error that says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sorted_rows_stay_where_they_are() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [sorted, scattered] = &directories;
    sorted_visits(sorted.path());
    visits(scattered.path());
    for workers in [1, 2, 4] {
        for directory in &directories {
            let context = local(directory.path(), 2).await;
            let mut running = running(workers, directory.path(), 1 << 30).await;
            let mut caught = 0;
            for (keys, groups) in [(true, Some(2)), (true, None), (false, None), (true, Some(5))] {
                let visits = || async { context.table("visits").await.unwrap().into_unoptimized_plan() };
                let plan = bounding(visits().await, Form::Clustered, keys, groups);
                let state = context.state();
                let planned = state.create_physical_plan(&plan).await.unwrap();
                let words = displayable(planned.as_ref()).indent(false).to_string();
                assert!(words.contains("ContributionBoundExec: clustered"), "{words}");
                let found = on_workers(&running.cluster, &context, &plan).await;
                if directory.path() == scattered.path() {
                    let clustered =
                        matches!(&found, Err(NotSpread::Engine(error)) if !is_not_clustered(error));
                    assert!(found.is_err() && !clustered, "{found:?}");
                    continue;
                }
                let any_order = bounding(visits().await, Form::Partitioned, keys, groups);
                let expected = on_one_machine(&context, &any_order).await;
                assert_eq!(found.unwrap(), expected, "{keys} {groups:?} on {workers}");
                running.cluster.mutant = Some(Mutant::NoExchange);
                let other = on_workers(&running.cluster, &context, &plan).await;
                caught += usize::from(other.is_ok_and(|other| other != expected));
                running.cluster.mutant = None;
            }
            assert!(
                directory.path() == scattered.path() || workers == 1 || caught >= 3,
                "{caught} on {workers}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn planted_defects_are_found() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let mut running = running(3, directory.path(), 1 << 30).await;
    // A count of distinct values does not notice that rows are read twice.
    for (mutant, least) in [(Mutant::NoExchange, 5), (Mutant::AllFiles, 6)] {
        running.cluster.mutant = Some(mutant);
        let mut found = 0;
        for (_, plan) in plans(&context).await {
            let expected = on_one_machine(&context, &plan).await;
            let other = on_workers(&running.cluster, &context, &plan).await;
            found += usize::from(other.is_ok_and(|other| other != expected));
        }
        assert!(found >= least, "{mutant:?}: {found}");
    }
}

/// The engine takes one part for partitioned by anything, which it is on one machine; here there is one part
/// on every worker.
#[tokio::test]
async fn one_part_of_each_worker_is_not_partitioned() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let plan = bounding(
        context.table("visits").await.unwrap().into_unoptimized_plan(),
        Form::Relational,
        true,
        Some(2),
    );
    let mut plan = context.state().create_physical_plan(&plan).await.unwrap();
    // The first aggregation above an exchange: by unit and key.
    while plan.name() != "AggregateExec" || plan.children()[0].name() != "RepartitionExec" {
        plan = Arc::clone(plan.children()[0]);
    }
    let exchange = Arc::clone(plan.children()[0]);
    let rows = Arc::clone(exchange.children()[0]);
    let by = |column: usize, parts: usize| -> Arc<dyn ExecutionPlan> {
        let name = rows.schema().field(column).name().clone();
        let keys: Vec<Arc<dyn PhysicalExpr>> = vec![Arc::new(Column::new(&name, column))];
        Arc::new(RepartitionExec::try_new(Arc::clone(&rows), Partitioning::Hash(keys, parts)).unwrap())
    };
    let keys = exchange.output_partitioning().clone();
    assert!(
        matches!(&keys, Partitioning::Hash(keys, 2) if keys.len() == 1),
        "{keys}"
    );
    assert!(is_partitioned(&plan, &exchange));
    assert!(is_partitioned(&plan, &by(0, 2)) && is_partitioned(&plan, &by(0, 1)));
    let last = rows.schema().fields().len() - 1;
    assert!(!is_partitioned(&plan, &by(last, 2)) && !is_partitioned(&plan, &by(last, 1)));
    assert!(!is_partitioned(
        &plan,
        &(Arc::new(CoalescePartitionsExec::new(rows)) as _)
    ));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn little_memory_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let running = running(2, directory.path(), 1 << 10).await;
    let state = context.state();
    for (name, plan) in plans(&context).await {
        let planned = state.create_physical_plan(&plan).await.unwrap();
        let workers = running.cluster.available().await.unwrap();
        let attempt = async |attempt: usize| {
            let prepared = running
                .cluster
                .prepare(&planned, &state, (&workers, 2), attempt)
                .await;
            prepared.unwrap().collect().await
        };
        // Without enough memory there is no result, or the right one; a further attempt has as much as it
        // needs.
        let expected = on_one_machine(&context, &plan).await;
        if let Ok(found) = attempt(0).await {
            assert_eq!(table(&found), expected, "{name}");
        }
        assert_eq!(table(&attempt(1).await.unwrap()), expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_without_a_certificate_is_served() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let running = running(1, directory.path(), 1 << 30).await;
    assert_eq!(running.cluster.available().await.unwrap().len(), 1);
    // Of another authority.
    let other = certificates(&["localhost".to_owned()]).unwrap();
    let url = running.cluster.available().await.unwrap();
    let stranger = credentials(&other.authority, &other.coordinator);
    let cluster = Cluster::new(url, stranger, Arc::new(PanicsAlone));
    let refused = cluster.available().await.unwrap_err().to_string();
    assert!(refused.contains("1 refusing, or not to be reached"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn files_elsewhere_are_not_read() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let context = local(directory.path(), 2).await;
    let running = running(2, elsewhere.path(), 1 << 30).await;
    let (_, plan) = plans(&context).await.swap_remove(0);
    match on_workers(&running.cluster, &context, &plan).await {
        Err(NotSpread::Engine(error)) => {
            assert!(error.to_string().contains("not below a directory"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_that_is_gone_is_an_error_and_the_others_go_on() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let running = running(3, directory.path(), 1 << 30).await;
    let (_, plan) = plans(&context).await.swap_remove(0);
    let expected = on_one_machine(&context, &plan).await;
    let workers = running.cluster.available().await.unwrap();
    running.workers[1].abort();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let state = context.state();
    let planned = state.create_physical_plan(&plan).await.unwrap();
    let prepared = running
        .cluster
        .prepare(&planned, &state, (&workers, 2), 0)
        .await
        .unwrap();
    assert!(prepared.collect().await.is_err());
    assert_eq!(running.cluster.available().await.unwrap().len(), 2);
    let found = on_workers(&running.cluster, &context, &plan).await.unwrap();
    assert_eq!(found, expected);
}

/// A file that is not the one that the coordinator saw is not read.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_was_replaced_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let running = running(2, directory.path(), 1 << 30).await;
    let (_, plan) = plans(&context).await.swap_remove(0);
    let state = context.state();
    let planned = state.create_physical_plan(&plan).await.unwrap();
    let workers = running.cluster.available().await.unwrap();
    let prepared = running
        .cluster
        .prepare(&planned, &state, (&workers, 2), 0)
        .await
        .unwrap();
    let file = directory.path().join("part1.parquet");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, bytes).unwrap();
    let error = prepared.collect().await.unwrap_err().to_string();
    assert!(error.contains("not the one that the coordinator sees"), "{error}");
}
