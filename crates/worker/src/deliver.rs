//! Bringing what a task has written to the hub, sealed. Short outputs travel inside the result; the others are stored
//! first, so that a result never names what the hub does not have.
use std::sync::Arc;

use gleaner_data::seal::{Keys, SHORT_BYTES_MAX};
use gleaner_trace::Stage;
use gleaner_wire::{AttemptId, Cause, Finished, JobId, Outcome, Output, TaskSpec};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::Instrument;

use crate::depot::Depot;
use crate::failure::{End, Failure, Run};
use crate::lies::{Liar, Lie};
use crate::outbox::Outbox;
use crate::product::Product;
use crate::trail::Trails;
use crate::watch::Cancels;

/// Output that waits in memory to be stored, in KiB. A program that ends when it is full waits with its slot.
const WAITING_KIB_MAX: u32 = 256 * 1024;
/// Outputs that are stored at a time.
const STORES_AT_A_TIME: usize = 32;

/// Whose result it is, and what seals it.
#[derive(Clone)]
pub struct Sealing {
    /// The attempt.
    pub attempt: AttemptId,
    /// The job it belongs to.
    pub job: JobId,
    /// The position of its `[[task]]` in the job, and the element.
    pub element: (u16, u32),
    /// The number that its element stands for.
    pub place: u64,
    /// What seals its output.
    pub keys: Arc<Keys>,
}

/// The way of checkpoints to the hub.
#[derive(Clone)]
pub struct Saving {
    depot: Arc<Depot>,
    outbox: Arc<Outbox>,
}

impl Saving {
    /// Stores what an attempt has saved and tells the hub; says whether that went well.
    pub async fn save(&self, of: &Sealing, saved: Product) -> bool {
        match self.depot.deliver(of.job, saved, Arc::clone(&of.keys)).await {
            Ok(checkpoint) => {
                self.outbox.save(of.attempt, checkpoint);
                true
            }
            Err(failure) => {
                tracing::debug!(job = %of.job, attempt = %of.attempt, %failure, "a checkpoint is not saved");
                false
            }
        }
    }
}

/// The way of outputs and results to the hub.
pub struct Delivery {
    runtime: Handle,
    depot: Arc<Depot>,
    outbox: Arc<Outbox>,
    cancels: Arc<Cancels>,
    memory: Arc<Semaphore>,
    stores: Arc<Semaphore>,
    /// Only where the owner asked for one.
    liar: Option<Liar>,
    trails: Trails,
}

impl Delivery {
    /// Stores on this runtime what is put into this outbox afterwards.
    pub fn new(
        runtime: Handle,
        depot: Arc<Depot>,
        outbox: Arc<Outbox>,
        cancels: Arc<Cancels>,
        lie: Option<Lie>,
        trails: Trails,
    ) -> Self {
        let memory = Arc::new(Semaphore::new(WAITING_KIB_MAX as usize));
        Self {
            runtime,
            depot,
            outbox,
            cancels,
            memory,
            stores: Arc::new(Semaphore::new(STORES_AT_A_TIME)),
            liar: lie.map(Liar::new),
            trails,
        }
    }

    /// Hands over how an attempt ended; `last` says that no other will follow soon. Called from threads that run
    /// attempts, and blocks while too much output waits.
    pub fn hand_over(&self, of: Sealing, run: Run, last: bool) {
        let (Run { ran, end }, attempt) = (run, of.attempt);
        let finished = move |outcome| Finished { attempt, ran, outcome };
        let product = match end {
            End::Failed(failure) => return self.push(finished(failed(failure)), last),
            End::Cancelled if self.cancels.is_for_owner(attempt) => {
                return self.push(finished(failed(needed_by_owner())), last);
            }
            End::Cancelled => return self.push(finished(Outcome::Cancelled), last),
            // The hub reads it, so it is not sealed.
            End::Compared(compared) => return self.push(finished(Outcome::Done(compared.to_output())), last),
            End::Done(product) => match &self.liar {
                Some(liar) => liar.instead_of(of.job, product),
                None => product,
            },
        };
        if let Some(output) = inline(&product, &of) {
            return self.push(finished(Outcome::Done(output)), last);
        }
        let Some(room) = self.wait_for_room(&product) else { return };
        let (depot, outbox, cancels, stores) =
            (self.depot.clone(), self.outbox.clone(), self.cancels.clone(), self.stores.clone());
        let (trails, begun) = (self.trails.clone(), self.trails.now());
        let line = trails.line(of.job, of.element, attempt);
        let storing = async move {
            let turn = stores.acquire_owned().await;
            let outcome = depot.deliver(of.job, product, of.keys).await.map_or_else(failed, Outcome::Done);
            drop((room, turn));
            trails.passed(attempt, Stage::Store, begun);
            cancels.forget(attempt);
            outbox.push(finished(outcome), true);
        };
        self.runtime.spawn(storing.instrument(line));
    }

    /// Only a liar changes what it is asked to do.
    pub fn heed(&self, job: JobId, spec: &mut TaskSpec) {
        if let Some(liar) = &self.liar {
            liar.cheapen(job, spec);
        }
    }

    /// The way of checkpoints.
    pub fn saving(&self) -> Saving {
        Saving { depot: self.depot.clone(), outbox: self.outbox.clone() }
    }

    /// Whether an attempt has to stop and may save how far it is.
    pub fn is_recalled(&self, attempt: AttemptId) -> bool {
        self.cancels.is_recalled(attempt)
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

/// What becomes of an attempt whose device its owner needs.
pub fn needed_by_owner() -> Failure {
    Failure::new(Cause::RefusedByOwner, "the owner needs the device")
}

fn failed(failure: Failure) -> Outcome {
    Outcome::Failed { cause: failure.cause, detail: failure.detail }
}

/// The output, if it travels inside the result.
fn inline(product: &Product, of: &Sealing) -> Option<Output> {
    if !product.files.is_empty() {
        return None;
    }
    let short = product.stdout.in_memory().filter(|content| content.len() <= SHORT_BYTES_MAX)?;
    Output::inline(&of.keys.seal_short(of.place, short))
}
