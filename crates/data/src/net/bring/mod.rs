//! A whole dataset into the store of a machine that needs it: its root, its manifest, everything.
//!
//! What is in the store already is not fetched. The list of the dataset is remembered, so that others can be told what is
//! held of it, and pinned for as long as it is needed. In a swarm, the machine is told of others who fetch or have the
//! same and they of it; it goes on being there for them until what [`Bring::run`] returned is dropped.
mod error;
mod listed;
mod pin;
mod world;

pub use error::Error;
pub use listed::StoreSource;
pub use pin::let_go;

use super::fetch::{Control, Fetch, Progress, Update, Wish};
use super::member::{Seat, Swarm};
use super::serve::blocking;
use crate::manifest::Root;
use crate::seal::DatasetKey;
use crate::store::{Store, Verify};
use crate::unpack;
use gleaner_wire::{BlobRef, WorkerKey};
use listed::Listed;
use pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use world::World;

/// Updates that may wait to be noticed.
const UPDATES_MAX: usize = 64;
/// How long it waits when nobody has what is missing.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which dataset, and what opens it.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Its sealed root.
    pub root: BlobRef,
    /// Opens the root.
    pub key: DatasetKey,
}

/// Steers a bring while it runs. Clones steer the same one.
#[derive(Clone)]
pub struct BringControl {
    updates: mpsc::Sender<Update>,
    limit: Arc<watch::Sender<Option<u64>>>,
    stop: Arc<watch::Sender<bool>>,
    progress: watch::Receiver<Progress>,
}

impl BringControl {
    /// Tells it something, a source that can be asked above all.
    pub async fn tell(&self, update: Update) {
        let _ = self.updates.send(update).await;
    }

    /// At most this many bytes a second from now on.
    pub fn set_limit(&self, limit: Option<u64>) {
        self.limit.send_replace(limit);
    }

    /// Ends it; what has arrived is stored first, and the next one goes on from there.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// How far it is, several times a second.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }
}

/// A dataset that is here. It stays, and in a swarm it is offered to others, until this is dropped.
pub struct Brought {
    /// Its root, for [`unpack()`](crate::unpack()) with a [`StoreSource`].
    pub root: Arc<Root>,
    /// What came from whom.
    pub progress: Progress,
    _pin: Pin,
    _seat: Option<Seat>,
}

/// A dataset that is to be brought.
pub struct Bring {
    store: Arc<Store>,
    me: WorkerKey,
    dataset: Dataset,
    swarm: Option<Swarm>,
    patience: Duration,
    world: World,
    updates: mpsc::Receiver<Update>,
    limit: watch::Receiver<Option<u64>>,
    stop: watch::Receiver<bool>,
    shown: watch::Sender<Progress>,
    /// What the parts of it that are done amount to.
    done: Progress,
    control: BringControl,
}

impl Bring {
    /// Brings a dataset into this store, for the machine with this key.
    pub fn new(store: Arc<Store>, me: WorkerKey, dataset: Dataset) -> (Self, BringControl) {
        let (updates, told) = mpsc::channel(UPDATES_MAX);
        let (limit, limited) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let (shown, progress) = watch::channel(Progress::default());
        let control = BringControl { updates, limit: Arc::new(limit), stop: Arc::new(stop), progress };
        let bring = Self {
            store,
            me,
            dataset,
            swarm: None,
            patience: PATIENCE,
            world: World::default(),
            updates: told,
            limit: limited,
            stop: stopped,
            shown,
            done: Progress::default(),
            control: control.clone(),
        };
        (bring, control)
    }

    /// Together with others who fetch or have the same.
    #[must_use]
    pub fn in_swarm(mut self, swarm: Swarm) -> Self {
        self.swarm = Some(swarm);
        self
    }

    /// Waits this long when nobody has what is missing.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs until everything is in the store.
    pub async fn run(mut self) -> Result<Brought, Error> {
        let name = self.dataset.root;
        let pin = Arc::new(Pin::new(Arc::clone(&self.store), &name.id));
        let seat =
            self.swarm.take().map(|swarm| Seat::take(swarm, Arc::clone(&self.store), name.id, self.control.clone()));
        let root = Arc::new(self.root(&pin).await?);
        let (pins, opened) = (Arc::clone(&pin), Arc::clone(&root));
        let first = |(position, blob)| Wish { position, blob };
        let manifest: Vec<Wish> = (1..).zip(unpack::manifest_chunks(&root)).map(first).collect();
        let ids: Vec<_> = manifest.iter().map(|wish| wish.blob.id).collect();
        blocking(move || pins.add(&ids)).await?;
        self.fetch(manifest.into_iter()).await?;
        let (pins, store) = (Arc::clone(&pin), Arc::clone(&self.store));
        let keep = tokio::task::spawn_blocking(move || {
            pins.add_all(name, &opened)?;
            listed::remember(&store, name, &opened)
        });
        self.meanwhile(keep).await?;
        seat.iter().for_each(Seat::hurry);
        let listed = Listed::read(&self.store, name, &root);
        let failure = listed.failure();
        self.fetch(listed).await?;
        failure.take()?;
        seat.iter().for_each(Seat::hurry);
        let pin = Arc::into_inner(pin).expect("nobody else keeps it");
        Ok(Brought { root, progress: self.done, _pin: pin, _seat: seat })
    }

    async fn root(&mut self, pin: &Arc<Pin>) -> Result<Root, Error> {
        let (name, pin, store) = (self.dataset.root, Arc::clone(pin), Arc::clone(&self.store));
        blocking(move || pin.add(&[name.id])).await?;
        self.fetch(std::iter::once(Wish { position: 0, blob: name })).await?;
        let sealed = blocking(move || store.get(&name.id, Verify::Here)).await?;
        let sealed = sealed.ok_or(super::Error::NoSource { chunks: 1 })?;
        Ok(Root::open(&self.dataset.key, Vec::from(sealed))?)
    }

    /// Waits for work on the disk, and listens all the while.
    async fn meanwhile(&mut self, work: tokio::task::JoinHandle<Result<(), Error>>) -> Result<(), Error> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done.map_err(|_| super::Error::Malformed("what the store gave"))?,
                Some(update) = self.updates.recv() => self.world.note(&update),
            }
        }
    }

    /// Fetches a part of the dataset.
    async fn fetch(&mut self, wishes: impl Iterator<Item = Wish> + Send + 'static) -> Result<(), Error> {
        let (fetch, control) = Fetch::new(Arc::clone(&self.store), self.me, wishes);
        control.set_limit(*self.limit.borrow_and_update());
        // A set, so that it ends when nobody waits for it any more.
        let mut running = JoinSet::new();
        running.spawn(fetch.with_patience(self.patience).run());
        for update in self.world.updates() {
            control.tell(update).await;
        }
        let ended = self.steer(&control, &mut running).await;
        self.show(&control.progress().borrow());
        self.done = self.shown.borrow().clone();
        Ok(ended?)
    }

    async fn steer(
        &mut self,
        control: &Control,
        running: &mut JoinSet<Result<Progress, super::Error>>,
    ) -> Result<(), super::Error> {
        let mut progress = control.progress();
        let (mut stop, mut is_stopped) = (self.stop.clone(), false);
        loop {
            tokio::select! {
                ended = running.join_next() => return match ended {
                    Some(Ok(ended)) => ended.map(|_| ()),
                    Some(Err(_)) | None => Err(super::Error::Malformed("a fetch")),
                },
                Some(update) = self.updates.recv() => {
                    self.world.note(&update);
                    control.tell(update).await;
                }
                Ok(()) = self.limit.changed() => control.set_limit(*self.limit.borrow_and_update()),
                true = is_told(&mut stop), if !is_stopped => {
                    is_stopped = true;
                    control.stop();
                }
                Ok(()) = progress.changed() => self.show(&progress.borrow_and_update()),
            }
        }
    }

    /// Shows this part on top of those before.
    fn show(&self, part: &Progress) {
        let done = &self.done;
        self.shown.send_replace(Progress {
            chunks: done.chunks + part.chunks,
            bytes: done.bytes + part.bytes,
            known: done.known + part.known,
            twice_bytes: done.twice_bytes + part.twice_bytes,
            speed: part.speed,
            sources: part.sources.clone(),
        });
    }
}

/// Waits until it is to stop; false if nobody can say so any more. (What is waited for must not be held across a wait.)
async fn is_told(stop: &mut watch::Receiver<bool>) -> bool {
    stop.wait_for(|stop| *stop).await.is_ok()
}
