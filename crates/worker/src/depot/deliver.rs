//! What a task has written, sealed and brought to the hub.
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use gleaner_client::data::{HubData, Kept, List};
use gleaner_data::net::fetch::Pace;
use gleaner_data::net::{Taker, Uplink};
use gleaner_data::parcel::{self, File, ONLY_FILE, Packed};
use gleaner_data::seal::Keys;
use gleaner_data::{PortError, Sink};
use gleaner_wire::{BlobRef, Cause, DataRef, JobId, Output};

use super::Depot;
use crate::failure::Failure;
use crate::product::{Body, Product, Written};

/// Outputs up to this size are sent at once, without asking what the hub has of them.
const AT_ONCE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The name that standard output has beside other files.
const STDOUT_NAME: &str = "stdout";

/// Chunks in memory, to be sent together.
#[derive(Default)]
struct Gathered(Mutex<Vec<Bytes>>);

impl Sink for Gathered {
    fn put(&self, _: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(sealed.into());
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }
}

impl Depot {
    /// Seals what a task has written and stores it on the hub.
    pub async fn deliver(&self, job: JobId, product: Product, keys: Arc<Keys>) -> Result<Output, Failure> {
        let is_file = product.files.is_empty();
        let files = Arc::new(files(product));
        loop {
            let hub = self.hub.connected().await?;
            let packed = send(&hub, Arc::clone(&files), Arc::clone(&keys)).await?;
            let data = DataRef { root: packed.sealed.blob, bytes: packed.sealed_bytes };
            let ids = packed.chunks;
            let kept = self.hub.with(|hub| {
                let list = List::of(&ids);
                async move {
                    let kept =
                        Kept { data, kind: "output", label: None, job: Some(job), owner: "worker", direct: false };
                    hub.register(&kept, list).await
                }
            });
            // What the hub has lost meanwhile is sent again.
            if kept.await? {
                return Ok(if is_file { Output::File(data.root) } else { Output::Files(data.root) });
            }
        }
    }
}

/// Standard output is one of the files, unless it is empty or a file has its name.
fn files(product: Product) -> Vec<(String, u64, Written)> {
    let Product { stdout, mut files } = product;
    if files.is_empty() {
        files.push((ONLY_FILE.to_owned(), stdout));
    } else if !stdout.is_empty() && !files.iter().any(|(name, _)| name == STDOUT_NAME) {
        files.push((STDOUT_NAME.to_owned(), stdout));
    }
    let written = |(name, body): (String, Body)| (name, body.len(), body.into_written());
    files.into_iter().map(written).collect()
}

async fn send(hub: &HubData, files: Arc<Vec<(String, u64, Written)>>, keys: Arc<Keys>) -> Result<Packed, Failure> {
    let bytes: u64 = files.iter().map(|(_, bytes, _)| *bytes).sum();
    if bytes <= AT_ONCE_BYTES_MAX {
        let (packed, gathered) = packing(move || {
            let gathered = Gathered::default();
            let packed = parcel::pack(&keys, opened(&files), &gathered)?;
            Ok((packed, gathered.0.into_inner().unwrap_or_else(PoisonError::into_inner)))
        })
        .await?;
        let pace = Arc::new(Pace::new(None));
        let given = hub.cache().give(gathered, pace).await;
        return given.map(|()| packed).map_err(|error| hub_fault(&error));
    }
    let (uplink, _control) = Uplink::open(Arc::clone(hub.cache()) as Arc<dyn Taker>);
    packing(move || parcel::pack(&keys, opened(&files), &uplink)).await
}

async fn packing<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, parcel::Error> + Send + 'static,
) -> Result<T, Failure> {
    let packed = tokio::task::spawn_blocking(work).await;
    let died = |_| Failure::new(Cause::DeviceFault, "an output could not be sealed");
    packed.map_err(died)?.map_err(|error| match &error {
        parcel::Error::Sink(_) => hub_fault(&error),
        parcel::Error::Manifest(_) => Failure::new(Cause::ProgramFault, format!("its output is refused: {error}")),
        parcel::Error::Read(_) | parcel::Error::Squeezer(_) | parcel::Error::Changed(_) => {
            Failure::new(Cause::DeviceFault, format!("an output could not be sealed: {error}"))
        }
    })
}

fn hub_fault(error: &dyn std::error::Error) -> Failure {
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    Failure::new(Cause::HubFault, format!("an output could not be delivered: {error}{source}"))
}

fn opened(files: &[(String, u64, Written)]) -> Vec<File<Reading<'_>>> {
    files
        .iter()
        .map(|(path, bytes, written)| File { path: path.clone(), bytes: *bytes, content: Reading::of(written) })
        .collect()
}

/// A file that is opened when it is read: of many, not all can be open at once.
enum Reading<'a> {
    Memory(&'a [u8]),
    Closed(&'a std::path::Path),
    Open(std::fs::File),
}

impl<'a> Reading<'a> {
    fn of(written: &'a Written) -> Self {
        match written {
            Written::Memory(bytes) => Self::Memory(bytes),
            Written::Disk(path) => Self::Closed(path),
        }
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Memory(bytes) => bytes.read(buffer),
            Self::Open(file) => file.read(buffer),
            Self::Closed(path) => {
                *self = Self::Open(std::fs::File::open(path)?);
                self.read(buffer)
            }
        }
    }
}
