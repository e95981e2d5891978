//! From something in the inbox to a dataset: packed and sealed here, because whoever brought it had nothing to do it with.
use super::{Inbox, Top};
use crate::clock::wall_ms;
use crate::data::{Data, Dataset, Kind, Whole, hold_listed};
use gleaner_data::index::Index;
use gleaner_data::pack::{self, Packed};
use gleaner_data::seal::Keys;
use gleaner_data::squeeze::Level;
use gleaner_data::store::{self, Store, Verified};
use gleaner_data::{PortError, Sink};
use gleaner_wire::{BlobRef, DataRef, Hash};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, linkat, openat, statat};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What stands before a name that is not sealed.
pub(crate) const PLAIN: &[u8] = b"plain:";
/// Chunks that are pinned together.
const PINNED_TOGETHER: u64 = 4096;
/// Bytes of chunks that are stored together.
const PUT_TOGETHER_BYTES: usize = 8 * 1024 * 1024;
/// How long an older version of a dataset is kept after a newer one has taken its name.
const SUPERSEDED_MS: u64 = 24 * 3600 * 1000;

/// Why something did not become a dataset.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("it could not be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is a link, or neither a file nor a folder")]
    Kind,
    #[error("{}", words(.0))]
    Pack(#[from] pack::Error),
    #[error("the hub's store did not take it: {0}")]
    Store(#[from] store::Error),
    #[error("the hub's store lost chunks while they were put there: is it too small?")]
    Lost,
    #[error(transparent)]
    Hub(#[from] crate::Error),
}

/// An error with its reasons.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::Read(error.into())
    }
}

/// The hub's store. Chunks go there many at a time, because each time waits for the disk.
struct StoreSink<'a> {
    store: &'a Store,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    chunks: BTreeMap<Hash, Verified>,
    bytes: usize,
}

impl<'a> StoreSink<'a> {
    fn new(store: &'a Store) -> Self {
        Self { store, waiting: Mutex::default() }
    }

    fn take(&self, bytes_min: usize) -> Vec<Verified> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.bytes < bytes_min {
            return Vec::new();
        }
        std::mem::take(&mut *waiting).chunks.into_values().collect()
    }
}

impl Sink for StoreSink<'_> {
    fn put(&self, _: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        let chunk = Verified::of(sealed.into())?;
        {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.bytes += chunk.bytes().len();
            waiting.chunks.insert(chunk.id(), chunk);
        }
        self.store.put_verified(self.take(PUT_TOGETHER_BYTES))?;
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        self.store.put_verified(self.take(0))?;
        Ok(self.store.flush()?)
    }
}

/// What is packed. It cannot become a link to somewhere else while that is done.
enum Source {
    Folder(OwnedFd, PathBuf),
    /// A folder of the hub's own, with the file in it.
    File(PathBuf),
}

impl Source {
    fn path(&self) -> PathBuf {
        match self {
            // The open folder itself, whatever its name has come to mean.
            Self::Folder(open, _) if cfg!(target_os = "linux") => format!("/proc/self/fd/{}", open.as_raw_fd()).into(),
            Self::Folder(_, path) | Self::File(path) => path.clone(),
        }
    }
}

impl Inbox {
    /// Makes a dataset of a top; none if it is gone. Blocks for as long as it takes.
    pub(super) fn seal(&self, data: &Data, top: &Top) -> Result<Option<DataRef>, Failure> {
        let Some(source) = self.source(top)? else { return Ok(None) };
        let keys = self.secret.derive(top.user.as_str().as_bytes()).keys();
        let index = self.index.join(format!("{}.db", top.user));
        let sealed = match pack_and_pin(data, &source.path(), &index, &keys) {
            Err(Failure::Lost) => {
                // The store has forgotten something that is remembered here: everything is read once more.
                forget(&index)?;
                pack_and_pin(data, &source.path(), &index, &keys)
            }
            sealed => sealed,
        };
        if let Source::File(folder) = &source {
            std::fs::remove_dir_all(folder)?;
        }
        let (packed, chunks) = sealed?;
        for notice in &packed.notices {
            tracing::info!(user = %top.user, path = %notice.path.display(), "{}", notice.text);
        }
        self.list(data, top, &packed, chunks).map(Some)
    }

    fn source(&self, top: &Top) -> Result<Option<Source>, Failure> {
        let user = gleaner_uploads::user_folder(&self.dir, &top.user)?;
        let name = top.name.as_bytes();
        let stat = match statat(&user, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            stat => stat?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let open = openat(&user, name, flags, Mode::empty())?;
                Ok(Some(Source::Folder(open, self.dir.join(top.user.as_str()).join(top.name.as_os()))))
            }
            FileType::RegularFile => {
                let beside = self.index.join(format!("{}.file", top.user));
                clear(&beside)?;
                std::fs::create_dir(&beside)?;
                linkat(&user, name, CWD, beside.join(top.name.as_os()), AtFlags::empty())?;
                let is_file = std::fs::symlink_metadata(beside.join(top.name.as_os()))?.is_file();
                if is_file { Ok(Some(Source::File(beside))) } else { Err(Failure::Kind) }
            }
            _ => Err(Failure::Kind),
        }
    }

    /// Adds it to the catalog; an older version of the same name is kept for a while.
    fn list(&self, data: &Data, top: &Top, packed: &Packed, chunks: u64) -> Result<DataRef, Failure> {
        let root = packed.sealed.blob;
        let whole = DataRef { root, bytes: packed.listing.bytes + root.bytes };
        let (owner, label) = (top.user.to_string(), [PLAIN, top.name.as_bytes()].concat());
        let known = data.catalog.find(&root.id)?;
        let is_listed = known.is_some_and(|known| known.kind == Kind::Pushed && known.label == label);
        if !is_listed || data.catalog.opened(&root.id)?.is_none() {
            let made = wall_ms();
            let dataset = Dataset { data: whole, chunks, owner, label, kind: Kind::Pushed, made, until: None };
            data.catalog.add_opened(&dataset, packed.sealed.key.expose())?;
            data.catalog.supersede(&dataset, made + SUPERSEDED_MS)?;
        }
        Ok(whole)
    }
}

fn pack_and_pin(data: &Data, path: &Path, index: &Path, keys: &Keys) -> Result<(Packed, u64), Failure> {
    let sink = StoreSink::new(&data.store);
    let mut index = Index::open(index, keys).map_err(pack::Error::Index)?;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let options = pack::Options { threads, level: Some(Level::new(3)), adapt: false, checksum: false };
    let packed = pack::pack(path, keys, &mut index, &sink, options, &pack::Progress::default())?;
    let stored = sink.put(packed.sealed.blob, packed.sealed.bytes.clone()).and_then(|()| sink.flush());
    stored.map_err(pack::Error::Sink)?;
    let (root, mut broken) = (packed.sealed.blob.id, None);
    let mut file = packed.listing.file.try_clone()?;
    let rest = std::iter::from_fn(|| match ids(&mut file) {
        Ok(ids) => (!ids.is_empty()).then_some(ids),
        Err(error) => {
            broken = Some(error);
            None
        }
    });
    let listed = hold_listed(&data.store, root, Whole::Yes, std::iter::once(vec![root]).chain(rest))?;
    if let Some(error) = broken {
        return Err(error.into());
    }
    if listed.found.missing > 0 {
        return Err(Failure::Lost);
    }
    let count = listed.keep()?.count;
    Ok((packed, count))
}

fn ids(file: &mut File) -> io::Result<Vec<Hash>> {
    let mut bytes = Vec::new();
    file.take(PINNED_TOGETHER * 32).read_to_end(&mut bytes)?;
    Ok(bytes.as_chunks::<32>().0.iter().map(|id| Hash(*id)).collect())
}

fn clear(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn forget(index: &Path) -> io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        let mut path = index.as_os_str().to_owned();
        path.push(end);
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
