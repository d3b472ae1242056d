//! What strangers send to the server before they have signed in.

use crate::engine::sample;
use ::sql::Dataset;
use server::tls::Certificate;
use server::{Service, Settings, Wire};
use std::sync::LazyLock;
use tokio::runtime::Runtime;

static ENTRANCE: LazyLock<(tempfile::TempDir, Runtime, Wire)> = LazyLock::new(|| {
    let (folder, catalog) = sample();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("threads");
    let started = runtime.block_on(Service::start(Dataset::new(catalog), Settings::default()));
    let (service, _) = started.expect("a service");
    let certificate = Certificate::self_signed(&["localhost".to_owned()]).expect("a certificate");
    let entrance = Wire::new(service, &certificate).expect("an entrance");
    (folder, runtime, entrance)
});

/// Takes the bytes for what somebody says to the PostgreSQL entrance who has not signed in, and cannot.
///
/// # Panics
/// When the entrance does.
pub fn wire(bytes: &[u8]) {
    let (_, runtime, entrance) = &*ENTRANCE;
    runtime.block_on(entrance.hear(bytes));
}
