//! Bringing what a task has written to the hub. Short outputs travel inside the result; the others are stored as
//! blobs first, so that a result never names what the hub does not have.
use std::sync::Arc;

use bytes::Bytes;
use gleaner_wire::{BlobRef, ByteSize, Cause, FILE_LIST_BYTES_MAX, Finished, Hash, Outcome, Output};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{End, Failure, Run};
use crate::hub_link::HubLink;
use crate::outbox::Outbox;
use crate::product::{Body, Product, Written};
use crate::watch::Cancels;

/// Output that waits in memory to be stored, in KiB. A program that ends when it is full waits with its slot.
const WAITING_KIB_MAX: u32 = 256 * 1024;
/// Outputs that are stored at a time.
const STORES_AT_A_TIME: usize = 32;
/// The name that standard output has beside other files.
const STDOUT_NAME: &str = "stdout";

/// The way of outputs and results to the hub.
pub struct Delivery {
    runtime: Handle,
    hub: HubLink,
    outbox: Arc<Outbox>,
    cancels: Arc<Cancels>,
    memory: Arc<Semaphore>,
    stores: Arc<Semaphore>,
}

impl Delivery {
    /// Stores on this runtime what is put into this outbox afterwards.
    pub fn new(runtime: Handle, hub: HubLink, outbox: Arc<Outbox>, cancels: Arc<Cancels>) -> Self {
        let memory = Arc::new(Semaphore::new(WAITING_KIB_MAX as usize));
        Self { runtime, hub, outbox, cancels, memory, stores: Arc::new(Semaphore::new(STORES_AT_A_TIME)) }
    }

    /// Hands over how an attempt ended; `last` says that no other will follow soon. Called from threads that run
    /// attempts, and blocks while too much output waits.
    pub fn hand_over(&self, attempt: gleaner_wire::AttemptId, run: Run, last: bool) {
        let Run { ran, end } = run;
        let finished = move |outcome| Finished { attempt, ran, outcome };
        let product = match end {
            End::Failed(failure) => return self.push(finished(failed(failure)), last),
            End::Cancelled => return self.push(finished(Outcome::Cancelled), last),
            End::Done(product) => product,
        };
        if let Some(output) = inline(&product) {
            return self.push(finished(Outcome::Done(output)), last);
        }
        let Some(room) = self.wait_for_room(&product) else { return };
        let (hub, outbox, cancels, stores) =
            (self.hub.clone(), self.outbox.clone(), self.cancels.clone(), self.stores.clone());
        self.runtime.spawn(async move {
            let turn = stores.acquire_owned().await;
            let outcome = store(&hub, product).await.map_or_else(failed, Outcome::Done);
            drop((room, turn));
            cancels.forget(attempt);
            outbox.push(finished(outcome), true);
        });
    }

    /// The worker ends: nobody waits for room any more.
    pub fn close(&self) {
        self.memory.close();
    }

    fn push(&self, finished: Finished, last: bool) {
        self.cancels.forget(finished.attempt);
        self.outbox.push(finished, last);
    }

    /// Room in memory for an output; `None` when the worker ends.
    fn wait_for_room(&self, product: &Product) -> Option<OwnedSemaphorePermit> {
        let bodies = std::iter::once(&product.stdout).chain(product.files.iter().map(|(_, body)| body));
        let bytes: usize = bodies.map(|body| body.in_memory().map_or(0, <[u8]>::len)).sum();
        let kib = u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX).clamp(1, WAITING_KIB_MAX);
        self.runtime.block_on(self.memory.clone().acquire_many_owned(kib)).ok()
    }
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { cause: failure.cause, detail: failure.detail }
}

/// The output, if it travels inside the result.
fn inline(product: &Product) -> Option<Output> {
    if !product.files.is_empty() {
        return None;
    }
    product.stdout.in_memory().and_then(Output::inline)
}

async fn store(hub: &HubLink, product: Product) -> Result<Output, Failure> {
    let Product { stdout, files } = product;
    if files.is_empty() {
        return store_body(hub, stdout).await.map(Output::Blob);
    }
    let files = with_stdout(files, stdout);
    check_list(&files)?;
    let mut listed: Vec<(String, BlobRef)> = Vec::with_capacity(files.len());
    for (name, body) in files {
        listed.push((name, store_body(hub, body).await?));
    }
    listed.sort_by(|one, other| one.0.cmp(&other.0));
    let list = Bytes::from(gleaner_wire::encode(&listed));
    store_bytes(hub, list).await.map(Output::Files)
}

/// Standard output is one of the files, unless it is empty or a file has its name.
fn with_stdout(mut files: Vec<(String, Body)>, stdout: Body) -> Vec<(String, Body)> {
    if !stdout.is_empty() && !files.iter().any(|(name, _)| name == STDOUT_NAME) {
        files.push((STDOUT_NAME.to_owned(), stdout));
    }
    files
}

/// Refuses files whose list would be too long, before the first of them is stored. A list is as long with any hashes.
fn check_list(files: &[(String, Body)]) -> Result<(), Failure> {
    let listed = files.iter().map(|(name, body)| (name, BlobRef { id: Hash([0; 32]), bytes: body.len() }));
    let bytes = gleaner_wire::encode(&listed.collect::<Vec<_>>()).len() as u64;
    if bytes <= FILE_LIST_BYTES_MAX {
        return Ok(());
    }
    let (count, limit) = (files.len(), ByteSize(FILE_LIST_BYTES_MAX));
    let text = format!("the list of its {count} files takes {bytes} bytes, over the limit of {limit}");
    Err(Failure::new(Cause::ProgramFault, text))
}

async fn store_body(hub: &HubLink, body: Body) -> Result<BlobRef, Failure> {
    match body.into_written() {
        Written::Memory(bytes) => store_bytes(hub, bytes.into()).await,
        Written::Disk(file) => {
            let path = file.to_path_buf();
            hub.with(|client| {
                let path = path.clone();
                async move { client.store_file(&path).await }
            })
            .await
        }
    }
}

async fn store_bytes(hub: &HubLink, bytes: Bytes) -> Result<BlobRef, Failure> {
    hub.with(|client| {
        let bytes = bytes.clone();
        async move { client.store_bytes(bytes).await }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(count: usize, name_bytes: usize) -> Vec<(String, Body)> {
        (0..count).map(|number| (format!("{number:0name_bytes$}"), Body::default())).collect()
    }

    #[test]
    fn a_list_of_files_over_the_limit_is_the_programs_fault() {
        assert_eq!(check_list(&files(4000, 4096)), Ok(()));
        let failure = check_list(&files(4096, 4096)).expect_err("is too long");
        assert_eq!(failure.cause, Cause::ProgramFault);
        assert!(failure.detail.contains("16MiB"), "{failure}");
    }

    #[test]
    fn a_list_is_as_long_as_it_was_checked_to_be() {
        let length = |id| gleaner_wire::encode(&vec![("a".to_owned(), BlobRef { id, bytes: 300 })]).len();
        assert_eq!(length(Hash([0; 32])), length(Hash([255; 32])));
    }
}
