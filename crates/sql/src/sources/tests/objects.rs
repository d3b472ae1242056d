//! Tables in object stores: S3 and Google's in the test command, from one server that `scripts/with-object-store` starts, and Azure's beside `scripts/with-azure-store`.

use super::trees::write;
use super::{rows, shown, table};
use crate::catalog::{ObjectAddress, ParquetTree, Root, Source, Table};
use crate::sources::tests_support::run;
use crate::values::facts::Kind;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::path::Path as Name;
use object_store::{ObjectStore, ObjectStoreExt};
use std::path::{Path, PathBuf};

fn objects(address: &str, partitions: &[&str]) -> Table {
    let source = Source::ParquetTree(ParquetTree {
        root: Root::Objects(ObjectAddress::parse(address).unwrap()),
        partitions: partitions.iter().map(|name| (*name).to_owned()).collect(),
    });
    let mut columns = vec![("n", Kind::Int)];
    columns.extend(partitions.iter().map(|name| (*name, Kind::Text)));
    table(source, &columns)
}

/// A bucket of the store that keeps objects as files, as the directory that it is.
fn bucket(name: &str) -> PathBuf {
    let store = std::env::var_os("DENIABLE_TEST_OBJECTS").expect(
        "DENIABLE_TEST_OBJECTS is not set: run the tests as `scripts/with-object-store cargo nextest run --workspace`",
    );
    Path::new(&store).join(name)
}

/// Objects by which tables are read, and by which mistakes are noticed.
fn fill(root: &Path) {
    write(root, "one.parquet", vec![1]);
    write(root, "several/a.parquet", vec![2]);
    write(root, "several/b.parquet", (0..50_000).collect());
    write(root, "several/deeper/c.parquet", vec![9]);
    write(root, "several/_temporary/d.parquet", vec![9]);
    write(root, "several.parquet/a.parquet", vec![3]);
    write(root, "named/city=Rome/a.parquet", vec![4]);
    write(root, "named/city=New%20York/a.parquet", vec![5]);
}

fn are_read_by_name_and_by_directory(bucket: &str) {
    let of = |place: &str, partitions: &[&str]| {
        let mut found = shown(&rows(&objects(&format!("{bucket}/{place}"), partitions)).unwrap());
        found.sort();
        found
    };
    assert_eq!(of("one.parquet", &[]), ["1"]);
    // Spark names directories so.
    assert_eq!(of("several.parquet", &[]), ["3"]);
    assert_eq!(of("several/", &[]).len(), 50_001);
    assert_eq!(of("named", &["city"]), ["4 Rome", "5 New York"]);
}

fn mistakes_are_said_without_an_address(bucket: &str, no_such_bucket: &str) {
    let scheme = bucket.split_once("://").unwrap().0;
    for (place, partitions, expected) in [
        (format!("{bucket}/nothing"), &[][..], "no Parquet files"),
        (format!("{bucket}/nothing.parquet"), &[], "no Parquet files"),
        (format!("{bucket}/several"), &["city"], "city=…"),
        (format!("{bucket}/named"), &[], "no Parquet files"),
        (format!("{no_such_bucket}/x"), &[], "no such bucket"),
    ] {
        let error = rows(&objects(&place, partitions)).unwrap_err().to_string();
        assert!(error.contains(expected), "{place}: {error}");
        assert!(
            error.contains("hint: ") && !error.contains(&format!("{scheme}://")),
            "{error}"
        );
    }
}

#[test]
fn objects_of_s3_are_read_by_name_and_by_directory() {
    fill(&bucket("numbers"));
    are_read_by_name_and_by_directory("s3://numbers");
    mistakes_are_said_without_an_address("s3://numbers", "s3://no-such-bucket");
}

/// Google's stores answer the requests of this client in the words of S3, so that the same server answers for them, without signatures.
#[test]
fn objects_of_google_are_read_by_name_and_by_directory() {
    fill(&bucket("google-numbers"));
    are_read_by_name_and_by_directory("gs://google-numbers");
    mistakes_are_said_without_an_address("gs://google-numbers", "gs://no-such-bucket");
}

#[test]
#[ignore = "needs Node: run it as `scripts/with-azure-store cargo nextest run --workspace --run-ignored only -E 'test(azure)'`"]
fn objects_of_azure_are_read_by_name_and_by_directory() {
    let container = std::env::var("DENIABLE_TEST_AZURE")
        .expect("DENIABLE_TEST_AZURE is not set: run this test beside scripts/with-azure-store");
    let files = tempfile::tempdir().unwrap();
    fill(files.path());
    let store = MicrosoftAzureBuilder::from_env()
        .with_container_name(&container)
        .build()
        .unwrap();
    run(upload(&store, files.path()));
    are_read_by_name_and_by_directory(&format!("az://{container}"));
    mistakes_are_said_without_an_address(&format!("az://{container}"), "az://no-such-container");
}

/// Puts the files below a directory into a store, by the names that they have there.
async fn upload(store: &dyn ObjectStore, root: &Path) {
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let file = entry.unwrap().path();
            if file.is_dir() {
                left.push(file);
                continue;
            }
            let name = file.strip_prefix(root).unwrap().to_str().unwrap();
            let bytes = std::fs::read(&file).unwrap();
            store
                .put(&Name::parse(name).unwrap(), bytes.into())
                .await
                .unwrap();
        }
    }
}
