//! The blob cache of a worker: content-addressed files, the least recently used ones removed when there are too
//! many bytes. A blob that someone holds is never removed.
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gleaner_wire::{BlobRef, Cause, Hash};

use crate::failure::Failure;
use crate::hub_link::HubLink;

/// A blob in the cache; it stays there for as long as this lives.
#[derive(Debug)]
pub struct Blob {
    reference: BlobRef,
    path: PathBuf,
}

impl Blob {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes.
    pub fn bytes(&self) -> u64 {
        self.reference.bytes
    }
}

/// The cache.
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    bytes_max: u64,
    hub: HubLink,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    blobs: HashMap<Hash, Kept>,
    /// One lock for each blob on its way, so that it comes once.
    coming: HashMap<Hash, Arc<tokio::sync::Mutex<()>>>,
    bytes: u64,
    clock: u64,
}

#[derive(Debug)]
struct Kept {
    blob: Arc<Blob>,
    used: u64,
    /// Files of an earlier run are checked before their first use: a crash may have cut them.
    checked: bool,
}

impl Cache {
    /// Opens the cache in a folder, with what an earlier run left there.
    pub fn open(dir: PathBuf, bytes_max: u64, hub: HubLink) -> io::Result<Self> {
        std::fs::create_dir_all(&dir)?;
        let mut shelf = Shelf::default();
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(id) = name.to_str().and_then(|name| name.parse::<Hash>().ok()) else {
                // What was on its way when an earlier run ended; nobody counts these bytes.
                if let Err(error) = std::fs::remove_file(entry.path()) {
                    tracing::warn!(%error, path = %entry.path().display(), "a leftover could not be removed");
                }
                continue;
            };
            let reference = BlobRef { id, bytes: entry.metadata()?.len() };
            shelf.keep(Arc::new(Blob { reference, path: entry.path() }), false);
        }
        let cache = Self { dir, bytes_max, hub, shelf: Mutex::new(shelf) };
        cache.make_room(0);
        Ok(cache)
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A blob, fetched if it is not there.
    pub async fn blob(&self, reference: BlobRef) -> Result<Arc<Blob>, Failure> {
        if reference.bytes > self.bytes_max {
            let text = format!("an input of {} bytes is larger than this worker's blob cache", reference.bytes);
            return Err(Failure::new(Cause::RefusedByOwner, text));
        }
        if let Some(blob) = self.shelf().take(reference) {
            return Ok(blob);
        }
        let coming = self.shelf().coming.entry(reference.id).or_default().clone();
        let guard = coming.lock().await;
        let came_meanwhile = self.shelf().take(reference);
        let brought = match came_meanwhile {
            Some(blob) => Ok(blob),
            None => self.bring(reference).await,
        };
        drop(guard);
        let mut shelf = self.shelf();
        // The map and this call hold it: nobody else waits.
        if Arc::strong_count(&coming) == 2 {
            shelf.coming.remove(&reference.id);
        }
        drop(shelf);
        brought
    }

    /// A blob, if it is not larger than this.
    pub async fn blob_up_to(&self, reference: BlobRef, bytes_max: u64) -> Result<Arc<Blob>, Failure> {
        if reference.bytes > bytes_max {
            let text = format!("{} bytes are over the limit of {bytes_max}", reference.bytes);
            return Err(Failure::new(Cause::BadInput, text));
        }
        self.blob(reference).await
    }

    /// A blob's content in memory.
    pub async fn read(&self, reference: BlobRef, bytes_max: u64) -> Result<Vec<u8>, Failure> {
        let blob = self.blob_up_to(reference, bytes_max).await?;
        tokio::fs::read(blob.path()).await.map_err(|error| disk_fault(&error))
    }

    async fn bring(&self, reference: BlobRef) -> Result<Arc<Blob>, Failure> {
        let path = self.dir.join(reference.id.to_string());
        if !self.has_good_file(reference, &path).await {
            self.make_room(reference.bytes);
            self.hub.with(|client| fetch(client, reference, path.clone())).await?;
        }
        let blob = Arc::new(Blob { reference, path });
        self.shelf().keep(blob.clone(), true);
        Ok(blob)
    }

    async fn has_good_file(&self, reference: BlobRef, path: &Path) -> bool {
        if !self.shelf().blobs.contains_key(&reference.id) {
            return false;
        }
        let path = path.to_path_buf();
        let check = move || hash_file(&path).is_ok_and(|found| found == reference);
        tokio::task::spawn_blocking(check).await.unwrap_or(false)
    }

    /// Removes what was not used for longest until so many bytes fit.
    fn make_room(&self, bytes: u64) {
        let mut shelf = self.shelf();
        while shelf.bytes.saturating_add(bytes) > self.bytes_max {
            let unused = shelf.blobs.iter().filter(|(_, kept)| Arc::strong_count(&kept.blob) == 1);
            let Some(oldest) = unused.min_by_key(|(_, kept)| kept.used).map(|(id, _)| *id) else { return };
            let kept = shelf.blobs.remove(&oldest).expect("the key was just found");
            shelf.bytes -= kept.blob.bytes();
            if let Err(error) = std::fs::remove_file(kept.blob.path()) {
                tracing::warn!(%error, path = %kept.blob.path().display(), "a cached blob could not be removed");
            }
        }
    }
}

async fn fetch(
    client: gleaner_client::blobs::BlobClient,
    reference: BlobRef,
    path: PathBuf,
) -> Result<(), gleaner_client::Error> {
    client.fetch(reference, &path).await
}

fn disk_fault(error: &io::Error) -> Failure {
    Failure::new(Cause::DeviceFault, format!("the blob cache cannot be read: {error}"))
}

fn hash_file(path: &Path) -> io::Result<BlobRef> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path)?)?;
    Ok(BlobRef { id: Hash(*hasher.finalize().as_bytes()), bytes: hasher.count() })
}

impl Shelf {
    /// A blob that is there and known to be good.
    fn take(&mut self, reference: BlobRef) -> Option<Arc<Blob>> {
        self.clock += 1;
        let kept = self.blobs.get_mut(&reference.id).filter(|kept| kept.checked && kept.blob.reference == reference)?;
        kept.used = self.clock;
        Some(kept.blob.clone())
    }

    fn keep(&mut self, blob: Arc<Blob>, checked: bool) {
        self.clock += 1;
        self.bytes += blob.bytes();
        let kept = Kept { blob, used: self.clock, checked };
        if let Some(replaced) = self.blobs.insert(kept.blob.reference.id, kept) {
            self.bytes -= replaced.blob.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(dir: &Path, bytes_max: u64) -> Cache {
        let hub = HubLink::new("http://127.0.0.1:9").expect("an address");
        Cache::open(dir.to_path_buf(), bytes_max, hub).expect("opens")
    }

    fn put(dir: &Path, content: &[u8]) -> BlobRef {
        let reference = BlobRef::of(content);
        std::fs::write(dir.join(reference.id.to_string()), content).expect("writes");
        reference
    }

    #[tokio::test]
    async fn files_of_an_earlier_run_are_used_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let reference = put(dir.path(), b"chaff and wheat");
        let cache = cache(dir.path(), 1000);
        assert_eq!(cache.read(reference, 1000).await.expect("is there"), b"chaff and wheat");
    }

    #[tokio::test]
    async fn the_least_recently_used_go_first_and_held_ones_stay() {
        let dir = tempfile::tempdir().expect("a folder");
        let references: Vec<_> = (0_u8..4).map(|number| put(dir.path(), &[number; 100])).collect();
        let cache = cache(dir.path(), 450);
        let held = cache.blob(references[0]).await.expect("is there");
        for reference in &references[1..] {
            cache.blob(*reference).await.expect("is there");
        }
        cache.make_room(250);
        assert!(held.path().exists());
        assert!(!cache.dir.join(references[1].id.to_string()).exists());
        assert!(cache.dir.join(references[3].id.to_string()).exists());
    }

    #[tokio::test]
    async fn what_can_never_fit_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let huge = BlobRef { id: Hash::of(b"huge"), bytes: 1001 };
        let failure = cache(dir.path(), 1000).blob(huge).await.expect_err("is refused");
        assert_eq!(failure.cause, Cause::RefusedByOwner);
    }
}
