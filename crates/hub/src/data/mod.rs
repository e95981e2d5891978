//! The hub's part in moving data: a bounded store of sealed chunks, a catalog of what they belong to, the desk where
//! wrapped keys are left and fetched, and the meeting place of those who fetch the same.
//!
//! Nothing here can be read by the hub: it knows names by their hashes, sizes, and who may have what. The exception is
//! what came by the inbox, which the hub has sealed itself: it keeps the keys of that.
mod catalog;
mod door;
mod keep;
mod keys;
mod pin;
mod quota;
mod seeding;

pub(crate) use catalog::{Catalog, Dataset, Keeps, Kind};
pub(crate) use door::{ChunkDoor, introduce};
pub(crate) use keep::{AFTER_JOB_MS, pin_name, sweep};
pub(crate) use keys::{Desk, Found, LEFT_AT_A_TIME_MAX, Wrapped};
pub(crate) use pin::{Listed, Whole, hold_listed, pin_listed};
pub(crate) use quota::{CHUNKS_MAX, Over, Quota};
pub(crate) use seeding::About;

use crate::Error;
use ed25519_dalek::SigningKey;
use gleaner_data::net::swarm::Registry;
use gleaner_data::store::{Options, Place, Store};
use gleaner_wire::{BlobRef, Output, WorkerKey};
use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Everything about data.
pub(crate) struct Data {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) desk: Desk,
    /// How much accounts may keep.
    pub(crate) quota: Arc<Quota>,
    pub(crate) swarm: Arc<Mutex<Registry>>,
    /// Signs what machines may fetch from each other.
    pub(crate) signer: SigningKey,
    /// Machines of requesters, which may use the relay as workers do.
    guests: Mutex<HashSet<WorkerKey>>,
}

/// Machines of requesters that are remembered; with one more, all are forgotten and come again when they ask.
const GUESTS_MAX: usize = 4096;
/// How long another one's store is waited for.
const LET_GO_TIME: Duration = Duration::from_secs(5);

impl Data {
    /// Opens or makes the store and the catalog in the hub's folder.
    pub(crate) fn open(
        dir: &Path,
        bytes_max: u64,
        account_bytes_max: Option<u64>,
        place: Place,
    ) -> Result<Self, Error> {
        let wrong = |source| Error::Store { path: dir.join("chunks"), source };
        let options = Options { place, ..Options::with_limit(bytes_max) };
        let store = open_store(&dir.join("chunks"), &options).map_err(wrong)?;
        pin::let_go_of_leftovers(&store).map_err(wrong)?;
        let catalog = Arc::new(Catalog::open(&dir.join("data.db"))?);
        let desk = Desk::new(Arc::clone(&catalog));
        let signer = SigningKey::from_bytes(&secret_bytes(&dir.join("data.key"))?);
        let (guests, quota) = (Mutex::default(), Arc::new(Quota::new(bytes_max, account_bytes_max)));
        Ok(Self { store: Arc::new(store), catalog, desk, quota, swarm: Arc::default(), signer, guests })
    }

    /// Lets a requester's machine use the relay.
    pub(crate) fn welcome(&self, guest: WorkerKey) {
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        if guests.len() >= GUESTS_MAX {
            guests.clear();
        }
        guests.insert(guest);
    }

    /// Whether a requester's machine may use the relay.
    pub(crate) fn is_guest(&self, key: &WorkerKey) -> bool {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    /// Whether the root of a dataset is here. What it is made of only its owner can tell.
    pub(crate) fn holds(&self, root: &BlobRef) -> bool {
        self.store.has_many(&[root.id]).is_ok_and(|held| held.count() == 1)
    }

    /// Whether everything that the hub can see of an output is here.
    pub(crate) fn holds_output(&self, output: &Output) -> bool {
        output.root().is_none_or(|root| self.holds(&root))
    }
}

/// Opens the store. A hub that was just ended in the same process may need a moment to let go of it.
fn open_store(folder: &Path, options: &Options) -> Result<Store, gleaner_data::store::Error> {
    let begun = Instant::now();
    loop {
        match Store::open_with(folder, options.clone()) {
            Err(gleaner_data::store::Error::Locked { .. }) if begun.elapsed() < LET_GO_TIME => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// A secret of the hub in a file that only its owner reads, made once.
pub(crate) fn secret_bytes(path: &Path) -> Result<[u8; 32], Error> {
    let folder = |source| Error::Folder { path: path.to_owned(), source };
    match std::fs::File::open(path) {
        Ok(mut file) => {
            let mut bytes = [0; 32];
            file.read_exact(&mut bytes).map_err(folder)?;
            Ok(bytes)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let bytes = crate::token::random_bytes()?;
            let made = path.with_extension("new");
            let mut options = std::fs::OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&made).map_err(folder)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(folder)?;
            std::fs::rename(&made, path).map_err(folder)?;
            Ok(bytes)
        }
        Err(error) => Err(folder(error)),
    }
}
