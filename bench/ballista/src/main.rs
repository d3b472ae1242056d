//! Scheduler, executor and client of Apache Ballista, and DataFusion in one process, each with the defaults of its library.
//!
//! ```text
//! ballista-measured scheduler PORT
//! ballista-measured executor PORT GRPC_PORT SCHEDULER_PORT CORES WORK_DIRECTORY
//! ballista-measured client SCHEDULER_PORT PARQUET SQL
//! ballista-measured local CORES PARQUET SQL
//! ```

use ballista::prelude::*;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::prelude::*;
use std::sync::Arc;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // What Ballista's own programs have.
        .thread_stack_size(32 << 20)
        .build()?;
    runtime.block_on(run())
}

async fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["scheduler", port] => {
            let config = SchedulerConfig {
                bind_port: port.parse()?,
                ..Default::default()
            };
            let cluster = BallistaCluster::new_from_config(&config).await?;
            start_server(cluster, format!("127.0.0.1:{port}").parse()?, Arc::new(config)).await?;
            Ok(())
        }
        ["executor", port, grpc_port, scheduler_port, cores, work] => {
            let config = ExecutorProcessConfig {
                port: port.parse()?,
                grpc_port: grpc_port.parse()?,
                scheduler_port: scheduler_port.parse()?,
                vcores: cores.parse()?,
                work_dir: Some(work.to_owned()),
                external_host: Some("127.0.0.1".to_owned()),
                scheduler_connect_timeout_seconds: 10,
                ..Default::default()
            };
            start_executor_process(Arc::new(config)).await?;
            Ok(())
        }
        ["client", port, file, sql] => {
            let session = SessionContext::remote(&format!("df://localhost:{port}")).await?;
            ask(&session, file, sql).await
        }
        ["local", cores, file, sql] => {
            let config = SessionConfig::new().with_target_partitions(cores.parse()?);
            ask(&SessionContext::new_with_config(config), file, sql).await
        }
        _ => Err("expected scheduler, executor, client or local\nhint: bench/ballista-run calls this".into()),
    }
}

/// Asks a question of a file, and prints how many rows come out.
async fn ask(session: &SessionContext, file: &str, sql: &str) -> Result<(), Failure> {
    session
        .register_parquet("visits", file, ParquetReadOptions::default())
        .await?;
    let batches = session.sql(sql).await?.collect().await?;
    println!("{}", batches.iter().map(|batch| batch.num_rows()).sum::<usize>());
    Ok(())
}
