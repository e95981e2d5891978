//! What a machine serves from: its store, or a folder that it seals again as it is asked.
use crate::resealed::Resealed;
use crate::store::{Bitmap, Error, Store, Verify};
use bytes::Bytes;
use gleaner_wire::Hash;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// What a machine serves from. Its functions may block on the disk.
pub trait Holder: Send + Sync + 'static {
    /// These chunks, in this order; nothing for those that are not here. Whoever receives them checks them.
    fn chunks(&self, ids: &[Hash]) -> Result<Vec<Option<Bytes>>, Error>;

    /// Which of these are here.
    fn having(&self, ids: &[Hash]) -> Result<Bitmap, Error>;

    /// Which chunks of a dataset are here, by their position in its list; nothing if it is not known.
    fn holdings(&self, root: &Hash) -> Result<Option<Bitmap>, Error>;

    /// Where chunks go that somebody brings; nowhere: none are taken.
    fn store(&self) -> Option<&Store>;
}

impl Holder for Store {
    fn chunks(&self, ids: &[Hash]) -> Result<Vec<Option<Bytes>>, Error> {
        self.get_many(ids, Verify::ByReceiver)
    }

    fn having(&self, ids: &[Hash]) -> Result<Bitmap, Error> {
        self.has_many(ids)
    }

    fn holdings(&self, root: &Hash) -> Result<Option<Bitmap>, Error> {
        Self::holdings(self, root)
    }

    fn store(&self) -> Option<&Store> {
        Some(self)
    }
}

/// Folders of this machine that are sealed again as they are asked for.
#[derive(Debug, Default)]
pub struct Folders(RwLock<BTreeMap<Hash, Arc<Resealed>>>);

impl Folders {
    /// Adds one.
    pub fn add(&self, folder: Arc<Resealed>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(folder.root(), folder);
    }

    fn all(&self) -> Vec<Arc<Resealed>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

impl Holder for Folders {
    fn chunks(&self, ids: &[Hash]) -> Result<Vec<Option<Bytes>>, Error> {
        let all = self.all();
        Ok(ids.iter().map(|id| all.iter().find_map(|folder| folder.chunk(id))).collect())
    }

    fn having(&self, ids: &[Hash]) -> Result<Bitmap, Error> {
        let (all, mut bits) = (self.all(), Bitmap::new(ids.len()));
        for (position, id) in ids.iter().enumerate() {
            bits.set(position, all.iter().any(|folder| folder.has(id)));
        }
        Ok(bits)
    }

    fn holdings(&self, root: &Hash) -> Result<Option<Bitmap>, Error> {
        let folders = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Ok(folders.get(root).map(|folder| folder.holds().clone()))
    }

    fn store(&self) -> Option<&Store> {
        None
    }
}
