//! Segments as objects of an S3-compatible bucket: packs of up to 32 MiB, read by ranges.
//!
//! HTTP is the workspace's `reqwest` and TLS its `rustls` on ring.
use super::{Backend, Error};
use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};
use std::fmt;
use std::ops::Range;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Threads that move bytes to and from the bucket.
const THREADS: usize = 2;
/// How often a request is tried again, and for how long; what still fails is tried again with the next put.
const RETRIES_MAX: usize = 4;
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);

/// Where objects are kept, and with which keys.
#[derive(Clone, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The address of the service.
    pub endpoint: String,
    /// Its region; most services but Amazon's take any.
    pub region: String,
    /// The bucket's name. It has to be there.
    pub name: String,
    /// What the names of objects begin with. Several stores may share it: each has its own folder in it.
    #[serde(default)]
    pub prefix: String,
    /// Who asks.
    pub access_key: String,
    /// What proves that.
    pub secret_key: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { endpoint, region, name, prefix, access_key, secret_key: _ } = self;
        f.debug_struct("Bucket")
            .field("endpoint", endpoint)
            .field("region", region)
            .field("name", name)
            .field("prefix", prefix)
            .field("access_key", access_key)
            .field("secret_key", &"[redacted]")
            .finish()
    }
}

/// The objects of one store.
pub(super) struct Objects {
    client: AmazonS3,
    folder: Path,
    runtime: Runtime,
}

impl Objects {
    /// Takes the folder of a store in a bucket.
    pub(super) fn connect(bucket: &Bucket, store: u128) -> Result<Self, Error> {
        // Whoever was first has chosen the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = AmazonS3Builder::new()
            .with_endpoint(&bucket.endpoint)
            .with_allow_http(bucket.endpoint.starts_with("http://"))
            .with_region(&bucket.region)
            .with_bucket_name(&bucket.name)
            .with_access_key_id(&bucket.access_key)
            .with_secret_access_key(&bucket.secret_key)
            .with_retry(RetryConfig {
                max_retries: RETRIES_MAX,
                retry_timeout: RETRY_TIME_MAX,
                ..RetryConfig::default()
            })
            .build()
            .map_err(failed("be reached"))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .map_err(|error| Error::Objects { what: "be reached", why: error.to_string() })?;
        let folder = Path::from(format!("{}/{store:032x}", bucket.prefix));
        Ok(Self { client, folder, runtime })
    }

    fn path(&self, segment: u64) -> Path {
        self.folder.clone().join(format!("{segment:016x}"))
    }
}

impl Backend for Objects {
    fn keep(&self, segment: u64, bytes: Bytes) -> Result<(), Error> {
        let path = self.path(segment);
        let put = self.client.put(&path, bytes.into());
        self.runtime.block_on(put).map(|_| ()).map_err(failed("store a segment"))
    }

    fn read(&self, segment: u64, range: Range<u64>) -> Result<Option<Bytes>, Error> {
        let length = range.end - range.start;
        if length == 0 {
            return Ok(Some(Bytes::new()));
        }
        match self.runtime.block_on(self.client.get_range(&self.path(segment), range)) {
            Ok(bytes) => Ok(Some(bytes).filter(|bytes| bytes.len() as u64 == length)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("read a segment")(error)),
        }
    }

    fn punch(&self, _segment: u64, _range: Range<u64>) -> Result<(), Error> {
        // An object is whole or gone; what is dead in it goes when it is compacted.
        Ok(())
    }

    fn remove(&self, segment: u64) -> Result<(), Error> {
        match self.runtime.block_on(self.client.delete(&self.path(segment))) {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("remove a segment")(error)),
        }
    }

    fn list(&self) -> Result<Vec<(u64, u64)>, Error> {
        let listed = self.runtime.block_on(self.client.list_with_delimiter(Some(&self.folder)));
        let objects = listed.map_err(failed("list segments"))?.objects;
        let segment = |object: object_store::ObjectMeta| {
            let name = object.location.filename()?;
            Some((u64::from_str_radix(name, 16).ok()?, object.size))
        };
        Ok(objects.into_iter().filter_map(segment).collect())
    }
}

fn failed(what: &'static str) -> impl FnOnce(object_store::Error) -> Error {
    move |error| Error::Objects { what, why: error.to_string() }
}
