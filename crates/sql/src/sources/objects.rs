//! Objects of S3, Google Cloud Storage and Azure, which are read and never written.
//!
//! Credentials, endpoints and regions come from the environment, under the names that the tools of these clouds use. What a store or its client says about a failure may quote an address with a signature
//! in it, or what a proxy answered; so every failure becomes one of a few words of our own before anybody else sees it.

use super::tree::{self, Values};
use crate::Error;
use crate::catalog::ObjectAddress;
use async_trait::async_trait;
use datafusion::execution::object_store::ObjectStoreUrl;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, RetryConfig,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long a request that fails is tried again. A store that is not there is to be noticed before people give up.
const RETRIES: usize = 4;
const RETRYING: Duration = Duration::from_secs(60);

/// A store, and what the engine calls it.
#[derive(Clone, Debug)]
pub(super) struct Store {
    pub(super) url: ObjectStoreUrl,
    pub(super) objects: Arc<dyn ObjectStore>,
}

/// The store of an address, with what the environment says about it. Asks it nothing.
pub(super) fn store(what: &str, address: &ObjectAddress) -> Result<Store, Error> {
    let place = format!("{}://{}", address.scheme(), address.bucket());
    let unusable = || {
        Error::catalog(
            format!("{what}: the object store cannot be used with what the environment says about it"),
            environment(address),
        )
    };
    let url = ObjectStoreUrl::parse(&place).map_err(|_| unusable())?;
    let objects = ReadOnly {
        store: opened(address, &place).map_err(|_| unusable())?,
        bucket: bucket_of(address),
    };
    Ok(Store {
        url,
        objects: Arc::new(objects),
    })
}

/// Which variables say what is needed.
fn environment(address: &ObjectAddress) -> &'static str {
    match address.scheme() {
        "s3" => {
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role; AWS_REGION, AWS_ENDPOINT_URL and AWS_ALLOW_HTTP=true say where another store is"
        }
        "gs" => "let GOOGLE_APPLICATION_CREDENTIALS name a file of credentials, or give the machine a role",
        _ => "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or give the machine an identity",
    }
}

fn opened(address: &ObjectAddress, place: &str) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retries = RetryConfig {
        max_retries: RETRIES,
        retry_timeout: RETRYING,
        ..RetryConfig::default()
    };
    Ok(match address.scheme() {
        "s3" => {
            let builder = AmazonS3Builder::from_env().with_url(place).with_retry(retries);
            Arc::new(builder.build()?)
        }
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env()
                .with_url(place)
                .with_retry(retries);
            Arc::new(builder.build()?)
        }
        _ => {
            let builder = MicrosoftAzureBuilder::from_env()
                .with_url(place)
                .with_retry(retries);
            Arc::new(builder.build()?)
        }
    })
}

/// The Parquet objects at an address in the order of their names, with what their directories say. Reads names, and no object.
pub(super) async fn listed(
    what: &str,
    address: &ObjectAddress,
    partitions: &[String],
    store: &Store,
) -> Result<Vec<(ObjectMeta, Values)>, Error> {
    let prefix = name_of(address).map_err(|error| failed(what, address, &error.into()))?;
    let below = Some(&prefix);
    let objects: Result<Vec<ObjectMeta>, _> = match partitions.is_empty() {
        true => store
            .objects
            .list_with_delimiter(below)
            .await
            .map(|listed| listed.objects),
        false => store.objects.list(below).try_collect().await,
    };
    let objects = match objects {
        Ok(objects) => objects,
        Err(error) => return Err(unlisted(what, address, &prefix, store, error).await),
    };
    // As for files of this machine: directories that are named by values have more names that writers hide.
    let hidden = |part: &&String| match partitions.is_empty() {
        true => part.starts_with('.'),
        false => tree::is_hidden(part),
    };
    let mut found = Vec::new();
    for object in objects {
        let parts = parts_below(&object.location, &prefix);
        // A store may keep a mark for a directory: an object without content, by the directory's own name.
        if parts.is_empty() || object.size == 0 || parts.iter().any(|part| hidden(&part)) {
            continue;
        }
        if !is_parquet(&object.location) {
            continue;
        }
        let directories: Vec<&str> = parts[..parts.len() - 1].iter().map(String::as_str).collect();
        let values =
            tree::values(&directories, partitions).ok_or_else(|| tree::misplaced(what, partitions))?;
        found.push((object, values));
    }
    // What has nothing below it may be an object itself. (What looks like a file may also be a directory of them, as Spark writes it.)
    if found.is_empty() && partitions.is_empty() && is_parquet(&prefix) {
        match store.objects.head(&prefix).await {
            Ok(object) => found.push((object, Vec::new())),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(failed(what, address, &error)),
        }
    }
    if found.is_empty() {
        return Err(Error::catalog(
            format!("{what}: there are no Parquet files at this address of the object store"),
            "check the bucket and the name in the table's `source`; files of tables end in .parquet",
        ));
    }
    found.sort_by(|(one, _), (other, _)| one.location.cmp(&other.location));
    Ok(found)
}

/// What the store calls an address: see [`ReadOnly`].
pub(super) fn name_of(address: &ObjectAddress) -> Result<Path, object_store::path::Error> {
    let inside = Path::parse(address.prefix())?;
    Ok(bucket_of(address).parts().chain(inside.parts()).collect())
}

fn bucket_of(address: &ObjectAddress) -> Path {
    Path::from_iter([address.scheme(), address.bucket()])
}

/// The parts of a name after a prefix; none where it is the prefix.
fn parts_below(name: &Path, prefix: &Path) -> Vec<String> {
    let parts = name.prefix_match(prefix).into_iter().flatten();
    parts.map(|part| part.as_ref().to_owned()).collect()
}

/// Why names cannot be listed. The client does not tell from a listing what kind of failure it was, and does so for one object.
async fn unlisted(
    what: &str,
    address: &ObjectAddress,
    prefix: &Path,
    store: &Store,
    error: object_store::Error,
) -> Error {
    use object_store::Error as Failure;
    match store.objects.head(&prefix.clone().join("0")).await {
        Err(
            told @ (Failure::PermissionDenied { .. }
            | Failure::Unauthenticated { .. }
            | Failure::NotFound { .. }),
        ) => failed(what, address, &told),
        _ => failed(what, address, &error),
    }
}

/// The names of the directories on the way to the first Parquet object at an address.
pub(super) async fn way_down(what: &str, address: &ObjectAddress) -> Result<Vec<String>, Error> {
    let failed = |error: object_store::Error| failed(what, address, &error);
    let store = store(what, address)?;
    let prefix = name_of(address).map_err(|error| failed(error.into()))?;
    let mut objects = store.objects.list(Some(&prefix));
    while let Some(object) = objects.next().await {
        let location = match object {
            Ok(object) => object.location,
            Err(error) => return Err(unlisted(what, address, &prefix, &store, error).await),
        };
        let mut parts = parts_below(&location, &prefix);
        if is_parquet(&location) && !parts.iter().any(|part| tree::is_hidden(part)) {
            parts.pop();
            return Ok(parts);
        }
    }
    Ok(Vec::new())
}

fn is_parquet(path: &Path) -> bool {
    path.extension() == Some("parquet")
}

/// Why a store cannot be read, in words of our own.
pub(super) fn failed(what: &str, address: &ObjectAddress, error: &object_store::Error) -> Error {
    use object_store::Error as Failure;
    match error {
        Failure::NotFound { .. } => Error::catalog(
            format!("{what}: the object store has no such bucket or object"),
            "check the table's `source`, and the region and endpoint in the environment",
        ),
        Failure::PermissionDenied { .. } | Failure::Unauthenticated { .. } => Error::catalog(
            format!("{what}: the object store does not let us read there"),
            environment(address),
        ),
        _ => Error::catalog(
            format!("{what}: the object store cannot be read"),
            environment(address),
        ),
    }
}

/// A store that is only read, and whose failures hold nothing but what kind they are.
///
/// Names begin with the scheme and the bucket. The engine remembers the footers of files by their names alone, and objects of two buckets may have the same.
struct ReadOnly {
    store: Arc<dyn ObjectStore>,
    bucket: Path,
}

impl ReadOnly {
    /// The name inside of the bucket.
    fn inside(&self, name: &Path) -> Path {
        name.prefix_match(&self.bucket)
            .map_or_else(|| name.clone(), |parts| parts.collect())
    }

    /// What is said about an object, by its name here.
    fn named(bucket: &Path, mut object: ObjectMeta) -> ObjectMeta {
        object.location = bucket.parts().chain(object.location.parts()).collect();
        object
    }
}

/// What is left of a failure.
fn plain(failure: object_store::Error) -> object_store::Error {
    use object_store::Error as Failure;
    let words = |words: &'static str| words.into();
    match failure {
        Failure::NotFound { path, .. } => Failure::NotFound {
            path,
            source: words("there is no such object"),
        },
        Failure::PermissionDenied { path, .. } => Failure::PermissionDenied {
            path,
            source: words("the store refused it"),
        },
        Failure::Unauthenticated { path, .. } => Failure::Unauthenticated {
            path,
            source: words("the store does not know who asks"),
        },
        Failure::Precondition { path, .. } => Failure::Precondition {
            path,
            source: words("the object is another one now"),
        },
        _ => Failure::Generic {
            store: "object store",
            source: words("it could not be read"),
        },
    }
}

fn never_written() -> object_store::Error {
    object_store::Error::NotSupported {
        source: "tables are read and never written".into(),
    }
}

impl fmt::Debug for ReadOnly {
    /// Without what the client prints of itself, which may hold credentials.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ReadOnly(..)")
    }
}

impl fmt::Display for ReadOnly {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object store")
    }
}

#[async_trait]
impl ObjectStore for ReadOnly {
    async fn put_opts(
        &self,
        _: &Path,
        _: PutPayload,
        _: PutOptions,
    ) -> Result<PutResult, object_store::Error> {
        Err(never_written())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>, object_store::Error> {
        Err(never_written())
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult, object_store::Error> {
        let inside = self.inside(location);
        let mut got = self.store.get_opts(&inside, options).await.map_err(plain)?;
        got.meta = Self::named(&self.bucket, got.meta);
        got.payload = match got.payload {
            GetResultPayload::Stream(bytes) => GetResultPayload::Stream(bytes.map_err(plain).boxed()),
            file => file,
        };
        Ok(got)
    }

    fn delete_stream(
        &self,
        _: BoxStream<'static, Result<Path, object_store::Error>>,
    ) -> BoxStream<'static, Result<Path, object_store::Error>> {
        stream::iter([Err(never_written())]).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta, object_store::Error>> {
        let bucket = self.bucket.clone();
        let inside = prefix.map(|prefix| self.inside(prefix));
        let objects = self.store.list(inside.as_ref());
        objects
            .map(move |object| object.map(|object| Self::named(&bucket, object)).map_err(plain))
            .boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult, object_store::Error> {
        let inside = prefix.map(|prefix| self.inside(prefix));
        let mut listed = self
            .store
            .list_with_delimiter(inside.as_ref())
            .await
            .map_err(plain)?;
        let named = |object| Self::named(&self.bucket, object);
        listed.objects = listed.objects.into_iter().map(named).collect();
        Ok(listed)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<(), object_store::Error> {
        Err(never_written())
    }
}
