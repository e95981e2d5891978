//! From sealed chunks on a hub to a folder here. Run again, it goes on with what is missing.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use gleaner_data::Source;
use gleaner_data::manifest::{Root, Totals};
use gleaner_data::net::{Carrier, Control, Downlink, downlink};
use gleaner_data::seal::DatasetKey;
use gleaner_data::tree::Case;
use gleaner_data::unpack::{self, Counts};
use gleaner_wire::BlobRef;
use gleaner_wire::api::DatasetView;
use tokio::sync::watch;

use super::{HubData, Steer};
use crate::Error;

const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How far a pull is.
#[derive(Clone, Debug, Default)]
pub struct PullProgress {
    /// What was written.
    pub counts: Counts,
    /// What there is to write.
    pub totals: Totals,
    /// What came from whom.
    pub from: gleaner_data::net::Progress,
    /// Whether it stands still because it was told to.
    pub paused: bool,
}

/// What a pull brought.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// What the dataset amounts to.
    pub totals: Totals,
    /// What was written, and what was there before.
    pub counts: Counts,
    /// What came from whom.
    pub from: gleaner_data::net::Progress,
}

/// What opens a dataset.
#[derive(Clone, Debug)]
pub enum Opens<'a> {
    /// Its own key.
    Key(DatasetKey),
    /// The keys of who sealed it.
    Keys(&'a gleaner_data::seal::Keys),
    /// The hub has sealed it, and tells the key.
    Uploaded,
}

impl<'a> Opens<'a> {
    /// What opens a dataset that a hub lists: the account's keys, or the hub's key for what came by its inbox.
    pub fn of(view: &DatasetView, keys: &'a gleaner_data::seal::Keys) -> Self {
        if super::account::plain_name(&view.label).is_some() { Self::Uploaded } else { Self::Keys(keys) }
    }
}

/// A pull that has not begun.
#[derive(Clone, Debug)]
pub struct Pull<'a> {
    /// Where the chunks are.
    pub hub: &'a HubData,
    /// The root of the dataset.
    pub root: BlobRef,
    /// What opens it.
    pub opens: Opens<'a>,
    /// What it is told while it runs.
    pub steer: Option<watch::Receiver<Steer>>,
}

/// The sealed root of a dataset.
pub async fn root_of(hub: &HubData, root: BlobRef) -> Result<Vec<u8>, Error> {
    root_within(hub, root, downlink::PATIENCE).await
}

/// The same, if the hub gives it within some time.
pub async fn root_within(hub: &HubData, root: BlobRef, patience: Duration) -> Result<Vec<u8>, Error> {
    let carriers = vec![Arc::clone(hub.cache()) as Arc<dyn Carrier>];
    let (downlink, _control) = Downlink::with_patience(carriers, patience);
    let fetching = tokio::task::spawn_blocking(move || downlink.chunk(root));
    let fetched = fetching.await.map_err(|_| Error::answer(hub.url(), "a root that cannot be read"))?;
    fetched.map_err(|error| Error::Fetch { what: root.id, source: error })
}

impl Pull<'_> {
    /// Opens the root.
    pub async fn open(&self) -> Result<Root, Error> {
        self.opened().await.map(|(root, _)| root)
    }

    /// What opens the dataset, once it has opened its root.
    pub(crate) async fn key(&self) -> Result<DatasetKey, Error> {
        self.opened().await.map(|(_, key)| key)
    }

    async fn opened(&self) -> Result<(Root, DatasetKey), Error> {
        let sealed = root_of(self.hub, self.root).await?;
        let key = match &self.opens {
            Opens::Key(key) => key.clone(),
            Opens::Keys(keys) => keys.dataset_key(&sealed).map_err(|error| self.shut(error.into()))?,
            Opens::Uploaded => {
                let missing = || Error::answer(self.hub.url(), "it has no key of a dataset that was uploaded to it");
                self.hub.key(self.root.id).await?.ok_or_else(missing)?
            }
        };
        Root::open(&key, sealed).map(|root| (root, key)).map_err(|error| self.shut(error))
    }

    fn shut(&self, error: gleaner_data::manifest::Error) -> Error {
        Error::Fetch { what: self.root.id, source: Box::new(error) }
    }

    /// Pulls everything into a folder, which is made if it is not there.
    pub async fn run(&self, folder: &Path, progress: impl FnMut(&PullProgress)) -> Result<Pulled, Error> {
        let root = Arc::new(self.open().await?);
        let mut progress = progress;
        loop {
            self.wait_while_paused(root.totals, &mut progress).await;
            let (downlink, control) = Downlink::open(vec![Arc::clone(self.hub.cache()) as Arc<dyn Carrier>]);
            let counters = Arc::new(unpack::Progress::default());
            let work = Work { root: Arc::clone(&root), folder: folder.to_owned(), counters: Arc::clone(&counters) };
            let unpacking = tokio::task::spawn_blocking(move || work.run(&downlink));
            let (outcome, paused) = self.watch(unpacking, &control, &counters, root.totals, &mut progress).await;
            match outcome {
                Err(_) if paused => {}
                outcome => {
                    let totals = outcome.map_err(|source| Error::Unpack { folder: folder.to_owned(), source })?;
                    let from = control.progress().borrow().clone();
                    return Ok(Pulled { totals, counts: counters.counts(), from });
                }
            }
        }
    }

    async fn wait_while_paused(&self, totals: Totals, progress: &mut impl FnMut(&PullProgress)) {
        let Some(steer) = &self.steer else { return };
        let mut steer = steer.clone();
        while steer.borrow_and_update().paused {
            progress(&PullProgress { paused: true, totals, ..PullProgress::default() });
            if steer.changed().await.is_err() {
                return;
            }
        }
    }

    async fn watch(
        &self,
        unpacking: tokio::task::JoinHandle<Result<Totals, unpack::Error>>,
        control: &Control,
        counters: &unpack::Progress,
        totals: Totals,
        progress: &mut impl FnMut(&PullProgress),
    ) -> (Result<Totals, unpack::Error>, bool) {
        let (mut unpacking, mut paused) = (unpacking, false);
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
                unpacked = &mut unpacking => return (unpacked.unwrap_or(Err(unpack::Error::Stopped)), paused),
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            progress(&PullProgress {
                counts: counters.counts(),
                totals,
                from: control.progress().borrow().clone(),
                paused,
            });
        }
    }
}

/// What the unpacking thread has.
struct Work {
    root: Arc<Root>,
    folder: PathBuf,
    counters: Arc<unpack::Progress>,
}

impl Work {
    fn run(self, source: &Downlink) -> Result<Totals, unpack::Error> {
        let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let options = unpack::Options { threads, case: Case::Unknown, bytes_max: u64::MAX };
        unpack::unpack(&self.root, source, &self.folder, options, &self.counters)
    }
}
