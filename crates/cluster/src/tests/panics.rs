//! Functions that panic on a worker: an error of the query, and never rows that are missing.

use super::{bounding, credentials, local, on_one_machine, on_workers, rows, running, visits};
use crate::spread::Mutant;
use crate::{Cluster, Credentials, Functions, NotSpread, Stores, Worker, certificates};
use bound::Form;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path as ObjectPath;
use datafusion::prelude::{col, lit};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use url::Url;

/// Workers that know one function, which panics on some values, and no stores.
#[derive(Debug)]
pub(super) struct PanicsAlone;

/// It panics on this value.
static UNLUCKY: AtomicI64 = AtomicI64::new(12);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Panics(Signature);

impl ScalarUDFImpl for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = arguments.args[0].to_array(arguments.number_rows)?;
        let unlucky = Some(UNLUCKY.load(Ordering::Relaxed));
        let unlucky = values
            .as_primitive::<Int64Type>()
            .iter()
            .any(|value| value == unlucky);
        assert!(!unlucky, "unlucky");
        Ok(ColumnarValue::Array(values))
    }
}

fn panics() -> ScalarUDF {
    ScalarUDF::new_from_impl(Panics(Signature::exact(
        vec![DataType::Int64],
        Volatility::Immutable,
    )))
}

impl Functions for PanicsAlone {
    fn encode(&self, function: &ScalarUDF) -> Option<Vec<u8>> {
        (*function == panics()).then(|| b"panics".to_vec())
    }

    fn decode(&self, _: &[u8]) -> Result<ScalarUDF> {
        Ok(panics())
    }
}

impl Stores for PanicsAlone {
    fn open(&self, _: &Url) -> Result<Arc<dyn ObjectStore>> {
        plan_err!("there are none")
    }

    fn may_read(&self, _: &Url, _: &ObjectPath) -> bool {
        false
    }
}

/// The exchange takes a stream whose task panicked for one that ended; what is missing must not look like
/// rows that never were.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_panic_is_an_error_wherever_it_happens() {
    let directory = tempfile::tempdir().unwrap();
    visits(directory.path());
    let context = local(directory.path(), 2).await;
    let mut running = running(2, directory.path(), 1 << 30).await;
    let lucky = |least: i64| {
        let visits = context.table("visits");
        async move {
            let condition = panics().call(vec![col("cost")]).gt_eq(lit(least));
            visits
                .await
                .unwrap()
                .filter(condition)
                .unwrap()
                .into_unoptimized_plan()
        }
    };
    for (name, plan) in [
        ("plain", bounding(lucky(0).await, Form::Plain, true, Some(2))),
        (
            "partitioned",
            bounding(lucky(1).await, Form::Partitioned, true, Some(2)),
        ),
        (
            "relational",
            bounding(lucky(2).await, Form::Relational, true, Some(2)),
        ),
        ("distinct", rows(lucky(3).await, true)),
    ] {
        let outcome = on_workers(&running.cluster, &context, &plan).await;
        assert!(
            matches!(outcome, Err(NotSpread::Engine(_))),
            "{name}: {outcome:?}"
        );
    }
    // One row that is in one part of one worker: without seals its part would be missing, and nobody would
    // notice.
    UNLUCKY.store(i64::MIN, Ordering::Relaxed);
    let code = || col("person") * lit(1000i64) + col("cost");
    let visits = context.table("visits").await.unwrap();
    let codes = visits.clone().select(vec![code().alias("code")]).unwrap();
    let codes = codes.collect().await.unwrap();
    let first = codes[0]
        .column(0)
        .as_primitive::<Int64Type>()
        .iter()
        .flatten()
        .next();
    let counted = visits
        .filter(panics().call(vec![code()]).is_not_null())
        .unwrap()
        .aggregate(Vec::new(), vec![count(lit(1i64)), count(col("ward"))])
        .unwrap()
        .into_unoptimized_plan();
    let expected = on_one_machine(&context, &counted).await;
    let asked = on_workers(&running.cluster, &context, &counted).await;
    assert_eq!(asked.unwrap(), expected);
    UNLUCKY.store(first.unwrap(), Ordering::Relaxed);
    let asked = on_workers(&running.cluster, &context, &counted).await;
    assert!(matches!(asked, Err(NotSpread::Engine(_))), "{asked:?}");
    running.cluster.mutant = Some(Mutant::NoSeal);
    let asked = on_workers(&running.cluster, &context, &counted).await;
    assert_ne!(asked.unwrap(), expected);
}

/// Run by the test below, in a process of its own: a worker that ends at a panic.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn worker_of_another_process() {
    let Some(data) = std::env::var_os("DENIABLE_TEST_WORKER") else {
        return;
    };
    let data = Path::new(&data);
    let read = |name: &str| std::fs::read(data.join(name)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    std::fs::write(
        data.join("port"),
        listener.local_addr().unwrap().port().to_string(),
    )
    .unwrap();
    let worker = Worker {
        credentials: Credentials::new(read("authority.pem"), read("worker.pem"), read("worker.key")).unwrap(),
        functions: Arc::new(PanicsAlone),
        stores: Arc::new(PanicsAlone),
        directories: vec![data.canonicalize().unwrap()],
        threads: 2,
        memory: 1 << 30,
        scratch: data.to_owned(),
        ends_at_panic: true,
    };
    worker.serve(listener, std::future::pending()).await.unwrap();
}

/// Streams between workers have no seal: they break because the process does.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_worker_ends_at_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    visits(&data);
    let made = certificates(&["localhost".to_owned()]).unwrap();
    for (name, text) in [
        ("authority.pem", &made.authority),
        ("worker.pem", &made.worker.certificate),
        ("worker.key", &made.worker.key),
    ] {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let mut process = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "tests::panics::worker_of_another_process",
            "--nocapture",
        ])
        .env("DENIABLE_TEST_WORKER", directory.path())
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let port = loop {
        match std::fs::read_to_string(directory.path().join("port")) {
            Ok(port) if !port.is_empty() => break port,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let url = format!("https://localhost:{port}").parse().unwrap();
    let credentials = credentials(&made.authority, &made.coordinator);
    let cluster = Cluster::new(vec![url], credentials, Arc::new(PanicsAlone));
    let context = local(&data, 2).await;
    let whole = context.table("visits").await.unwrap();
    let plan = bounding(
        whole.clone().into_unoptimized_plan(),
        Form::Partitioned,
        true,
        Some(2),
    );
    let expected = on_one_machine(&context, &plan).await;
    assert_eq!(on_workers(&cluster, &context, &plan).await.unwrap(), expected);
    let condition = panics().call(vec![col("cost")]).gt_eq(lit(0i64));
    let unlucky = whole.filter(condition).unwrap().into_unoptimized_plan();
    let plan = bounding(unlucky, Form::Partitioned, true, Some(2));
    assert!(on_workers(&cluster, &context, &plan).await.is_err());
    let ended = process.wait().unwrap();
    assert!(!ended.success() && ended.code().is_none(), "{ended}");
}
