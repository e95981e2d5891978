//! From a folder or file here to sealed chunks on a hub: only what it does not have.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use gleaner_data::index::{self, Index};
use gleaner_data::manifest::Totals;
use gleaner_data::net::{self, PushControl, Uplink};
use gleaner_data::pack::{self, Counts, Packed};
use gleaner_data::seal::{DatasetKey, Keys};
use gleaner_data::squeeze::Level;
use gleaner_data::{PortError, Sink};
use gleaner_wire::{BlobRef, DataRef};
use tokio::sync::watch;

use super::Account;
use super::hub::{HubData, Kept, List};
use super::level;
use crate::Error;

const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long another push from the same folder is waited for.
const BUSY_TIME_MAX: Duration = Duration::from_secs(600);

/// Workers take datasets up to this size straight from the hub, so they are always there.
const SMALL_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// What a running push or pull is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steer {
    /// Bytes a second at most.
    pub limit: Option<u64>,
    /// Whether it is to stand still.
    pub paused: bool,
}

/// How far a push is.
#[derive(Clone, Copy, Debug, Default)]
pub struct PushProgress {
    /// What was read and squeezed.
    pub counts: Counts,
    /// What was brought.
    pub sent: net::Pushed,
    /// Whether it stands still because it was told to.
    pub paused: bool,
}

/// A dataset that is on a hub.
#[derive(Clone, Debug)]
pub struct Pushed {
    /// What names it.
    pub data: DataRef,
    /// What opens it.
    pub key: DatasetKey,
    /// What it amounts to.
    pub totals: Totals,
    /// What had to be read.
    pub counts: Counts,
    /// What had to be sent.
    pub sent: net::Pushed,
    /// What its owner should know: files that kept changing, or were left out.
    pub notices: Vec<(PathBuf, &'static str)>,
}

/// A push that has not begun.
#[derive(Clone, Debug)]
pub struct Push<'a> {
    /// Whose data it is.
    pub account: &'a Account,
    /// Where it goes.
    pub hub: &'a HubData,
    /// In whose name.
    pub owner: &'a str,
    /// The name under which it is kept; none: it is an input of a job.
    pub name: Option<&'a str>,
    /// Whether files are read although they look unchanged.
    pub checksum: bool,
    /// What it is told while it runs.
    pub steer: Option<watch::Receiver<Steer>>,
    /// Whether the hub gets only root and manifest, and workers the rest from this machine. What is small is pushed all the
    /// same.
    pub direct: bool,
}

impl Push<'_> {
    /// Pushes a folder or a file.
    pub async fn run(&self, path: &Path, progress: impl FnMut(&PushProgress)) -> Result<Pushed, Error> {
        let mut progress = progress;
        let (mut fresh, mut sent, mut direct) = (false, net::Pushed::default(), self.direct);
        loop {
            let sending = if direct { Sending::Manifest } else { Sending::Whole { fresh } };
            let (packed, counts) = self.pack(path, sending, &mut sent, &mut progress).await?;
            let root = packed.sealed.blob;
            let data = DataRef { root, bytes: packed.listing.bytes + root.bytes };
            if direct && data.bytes <= SMALL_BYTES_MAX {
                direct = false;
                continue;
            }
            let kind = if self.name.is_some() { "pushed" } else { "input" };
            let label = self.name.map(|name| self.account.seal_label(name));
            let list = List::from_listing(root.id, &packed.listing).map_err(Error::file("list the chunks of", path))?;
            let kept = Kept { data, kind, label, job: None, owner: self.owner, direct };
            if self.hub.register(&kept, list).await? {
                if let Ok(whole) = std::fs::canonicalize(path) {
                    self.account.note_place(&root.id, &whole);
                    self.name.iter().for_each(|name| self.account.note_pushed(name, &whole));
                }
                let notices = packed.notices.into_iter().map(|notice| (notice.path, notice.text)).collect();
                let (key, totals) = (packed.sealed.key, packed.root.totals);
                return Ok(Pushed { data, key, totals, counts, sent, notices });
            }
            if fresh {
                return Err(Error::answer(
                    self.hub.url(),
                    "it loses chunks while they are pushed: is its store too small?",
                ));
            }
            // The hub has forgotten something that is remembered here: everything is read once more.
            fresh = true;
        }
    }

    /// What a folder or file would be on the hub; nothing is sent, and nothing remembered. What was pushed before and has
    /// not changed gets the name that it has there.
    pub async fn reckon(&self, path: &Path) -> Result<DataRef, Error> {
        let (level, adapt) = level::begin_with(path, &self.account.level(self.hub.url()));
        let (path, account, checksum) = (path.to_owned(), self.account.clone(), self.checksum);
        let index = self.account.index(self.hub.url());
        let reckoning = tokio::task::spawn_blocking(move || {
            let keys = account.keys();
            let mut index = open_index(&path, || Index::open_forgetful(&index, &keys))?;
            let options = pack::Options { threads: threads(), level, adapt, checksum };
            let packed = pack::pack(&path, &keys, &mut index, &Nowhere, options, &pack::Progress::default());
            let packed = packed.map_err(|error| Error::pack(&path, &error))?;
            let root = packed.sealed.blob;
            Ok(DataRef { root, bytes: packed.listing.bytes + root.bytes })
        });
        reckoning.await.unwrap_or_else(|_| Err(Error::answer("the packer", "it ended by a defect")))
    }

    async fn pack(
        &self,
        path: &Path,
        sending: Sending,
        sent: &mut net::Pushed,
        progress: &mut impl FnMut(&PushProgress),
    ) -> Result<(Packed, Counts), Error> {
        let kept = self.account.level(self.hub.url());
        let (level, adapt) = level::begin_with(path, &kept);
        loop {
            self.wait_while_paused(progress).await;
            let (uplink, control) = Uplink::open(Arc::clone(self.hub.cache()) as Arc<_>);
            let counters = Arc::new(pack::Progress::default());
            let work = Work {
                path: path.to_owned(),
                account: self.account.clone(),
                index: self.account.index(self.hub.url()),
                sending,
                checksum: self.checksum,
                level,
                adapt,
                counters: Arc::clone(&counters),
                uplink,
            };
            let packing = tokio::task::spawn_blocking(move || work.run());
            let (outcome, paused) = self.watch(packing, &control, &counters, progress).await;
            add(sent, *control.progress().borrow());
            match outcome {
                Err(_) if paused => {}
                outcome => {
                    let packed = outcome?;
                    if adapt {
                        level::keep(packed.level, &kept);
                    }
                    return Ok((packed, counters.counts()));
                }
            }
        }
    }

    async fn wait_while_paused(&self, progress: &mut impl FnMut(&PushProgress)) {
        let Some(steer) = &self.steer else { return };
        let mut steer = steer.clone();
        while steer.borrow_and_update().paused {
            progress(&PushProgress { paused: true, ..PushProgress::default() });
            if steer.changed().await.is_err() {
                return;
            }
        }
    }

    /// Shows how far it is, and does what it is told, until it ends. Says also whether it was told to stand still.
    async fn watch(
        &self,
        packing: tokio::task::JoinHandle<Result<Packed, Error>>,
        control: &PushControl,
        counters: &pack::Progress,
        progress: &mut impl FnMut(&PushProgress),
    ) -> (Result<Packed, Error>, bool) {
        let mut packing = packing;
        let mut paused = false;
        loop {
            if let Some(steer) = &self.steer {
                let now = *steer.borrow();
                control.set_limit(now.limit);
                if now.paused && !paused {
                    paused = true;
                    control.stop();
                }
            }
            tokio::select! {
                packed = &mut packing => {
                    let died = |_| Err(Error::answer("the packer", "it ended by a defect"));
                    return (packed.unwrap_or_else(died), paused);
                }
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            progress(&PushProgress { counts: counters.counts(), sent: *control.progress().borrow(), paused });
        }
    }
}

/// A push may take several lines, one after the other.
fn add(sent: &mut net::Pushed, more: net::Pushed) {
    let net::Pushed { known, known_bytes, chunks, bytes, again } = more;
    sent.known += known;
    sent.known_bytes += known_bytes;
    sent.chunks += chunks;
    sent.bytes += bytes;
    sent.again += again;
}

/// What the packing thread has.
struct Work {
    path: PathBuf,
    account: Account,
    index: PathBuf,
    sending: Sending,
    checksum: bool,
    level: Option<Level>,
    adapt: bool,
    counters: Arc<pack::Progress>,
    uplink: Uplink,
}

/// What of a dataset goes to the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// All of it; everything is read again if what is remembered here is not true.
    Whole { fresh: bool },
    /// Its manifest only.
    Manifest,
}

/// Lets the manifest through, and nothing else.
struct ManifestOnly<'a>(&'a Uplink);

impl Sink for ManifestOnly<'_> {
    fn put(&self, _: BlobRef, _: Vec<u8>) -> Result<(), PortError> {
        Ok(())
    }

    fn put_manifest(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.0.put(blob, sealed)
    }

    fn flush(&self) -> Result<(), PortError> {
        self.0.flush()
    }
}

/// Takes everything and keeps nothing.
struct Nowhere;

impl Sink for Nowhere {
    fn put(&self, _: BlobRef, _: Vec<u8>) -> Result<(), PortError> {
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(())
    }
}

impl Work {
    fn run(self) -> Result<Packed, Error> {
        let keys = self.account.keys();
        let packed = match self.sending {
            Sending::Whole { fresh } => {
                let mut index = self.open_index(&self.index, &keys)?;
                if fresh {
                    drop(index);
                    forget(&self.index)?;
                    index = self.open_index(&self.index, &keys)?;
                }
                self.pack(&keys, &mut index, &self.uplink)?
            }
            Sending::Manifest => {
                // What the hub has is of no use here, and chunks of older versions could not be given to workers.
                let folder = tempfile::tempdir().map_err(Error::file("make a temporary folder for", &self.path))?;
                let mut index = self.open_index(&folder.path().join("index"), &keys)?;
                self.pack(&keys, &mut index, &ManifestOnly(&self.uplink))?
            }
        };
        let stored =
            self.uplink.put(packed.sealed.blob, packed.sealed.bytes.clone()).and_then(|()| self.uplink.flush());
        stored.map_err(|error: PortError| Error::pack(&self.path, &pack::Error::Sink(error)))?;
        Ok(packed)
    }

    fn pack(&self, keys: &Keys, index: &mut Index, sink: &dyn Sink) -> Result<Packed, Error> {
        let options =
            pack::Options { threads: threads(), level: self.level, adapt: self.adapt, checksum: self.checksum };
        let packed = pack::pack(&self.path, keys, index, sink, options, &self.counters);
        packed.map_err(|error| Error::pack(&self.path, &error))
    }

    fn open_index(&self, path: &Path, keys: &Keys) -> Result<Index, Error> {
        open_index(&self.path, || Index::open(path, keys))
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get)
}

/// Opens an index that another push of the same account may have for a while.
fn open_index(path: &Path, open: impl Fn() -> Result<Index, index::Error>) -> Result<Index, Error> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(index::Error::Busy { .. }) if begun.elapsed() < BUSY_TIME_MAX => {
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => return opened.map_err(|error| Error::pack(path, &pack::Error::Index(error))),
        }
    }
}

fn forget(index: &Path) -> Result<(), Error> {
    for end in ["", "-wal", "-shm"] {
        let mut path = index.as_os_str().to_owned();
        path.push(end);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("remove", Path::new(&path))(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}
