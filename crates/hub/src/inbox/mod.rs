//! The inbox: data of people without the program, who bring it by SFTP or from a page in their browser.
//!
//! The hub can read what comes this way: it lies in `inbox/USER/NAME` on the hub's disk as it was sent, and stays there
//! so that an upload can be continued and changed, until its dataset is removed. Once a top has been quiet for a moment
//! it is packed and sealed with keys of the hub, and from then on a dataset like any other. Who wants to keep data from
//! the hub pushes it with the program.
mod seal;
#[cfg(target_os = "linux")]
mod sftp;
mod tops;

pub(crate) use gleaner_uploads::{Arrived, Arriving, Limits, Piece, Spot, Taken, Top, User, part_name};
pub(crate) use seal::PLAIN;
#[cfg(target_os = "linux")]
pub(crate) use sftp::open as open_sftp;
pub(crate) use tops::Stage;

use crate::Error;
use crate::data::{Data, secret_bytes};
use gleaner_data::seal::AccountSecret;
use gleaner_uploads::{Books, discard, scan};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;
use tops::Tops;

/// The SFTP door of a hub, as its users find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sftp {
    /// Where it listens.
    pub address: SocketAddr,
    /// What users compare when their program asks whether this is the right server.
    pub fingerprint: String,
}

/// The page for uploads; `NONCE` in it is another word for each visit.
pub(crate) const PAGE: &str = include_str!("upload.html");

/// The inbox of a hub.
pub(crate) struct Inbox {
    pub(crate) dir: PathBuf,
    index: PathBuf,
    secret: AccountSecret,
    pub(crate) tops: Arc<Tops>,
    pub(crate) books: Arc<Books>,
    is_arriving: OnceLock<IsArriving>,
}

/// Whether a top is being written, broke off, or has just changed, by a way in that says so only once it is quiet.
type IsArriving = Box<dyn Fn(&Top) -> bool + Send + Sync>;

impl Inbox {
    /// Opens or makes the inbox in the hub's folder. What lies there is sealed again, unless it is known.
    pub(crate) fn open(hub: &Path, limits: Limits) -> Result<Self, Error> {
        let (dir, index) = (hub.join("inbox"), hub.join("inbox.index"));
        for folder in [&dir, &index] {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.map_err(|source| Error::Folder { path: folder.clone(), source })?;
        }
        let secret = AccountSecret::from_bytes(secret_bytes(&hub.join("inbox.secret"))?);
        let books = Arc::new(Books::new(dir.clone(), limits));
        let inbox = Self { dir, index, secret, tops: Arc::default(), books, is_arriving: OnceLock::new() };
        // Before anybody can bring something, so that nothing half written is found.
        match scan(&inbox.dir) {
            Ok(tops) => note(&inbox.tops, &tops),
            Err(error) => tracing::warn!(%error, "the inbox could not be looked through"),
        }
        Ok(inbox)
    }

    /// Lets a way in say what is arriving by it. Only the first one is asked.
    fn ask_whether_arriving(&self, is_arriving: impl Fn(&Top) -> bool + Send + Sync + 'static) {
        let _ = self.is_arriving.set(Box::new(is_arriving));
    }

    fn is_arriving(&self, top: &Top) -> bool {
        self.is_arriving.get().is_some_and(|is_arriving| is_arriving(top))
    }

    /// How far a top is, if anything has happened to it. What is still arriving is never said to be ready.
    pub(crate) fn stage(&self, top: &Top) -> Option<Stage> {
        // In this order: what stops arriving is noted as waiting first.
        if self.is_arriving(top) { Some(Stage::Waiting) } else { self.tops.stage(top) }
    }

    /// A file that arrives.
    pub(crate) fn arriving(&self, spot: Spot, modified: Option<u64>) -> Arriving {
        Arriving { dir: self.dir.clone(), books: Arc::clone(&self.books), spot, modified }
    }

    /// Removes the files of a dataset that was removed. Blocks on the disk.
    pub(crate) fn discard(&self, top: &Top) -> std::io::Result<()> {
        discard(&self.dir, top)?;
        self.books.recount(&top.user)
    }

    /// The top that a label of the hub's own stands for.
    pub(crate) fn top_of(owner: &str, label: &[u8]) -> Option<Top> {
        Top::new(User::parse(owner)?, label.strip_prefix(PLAIN)?)
    }

    fn seal_and_note(&self, data: &Data, top: &Top) {
        if self.is_arriving(top) {
            // It is noted again once it is quiet.
            return self.tops.put_off(top);
        }
        let stage = match self.seal(data, top) {
            Ok(sealed) => sealed.map(Stage::Ready),
            Err(failure) => {
                tracing::warn!(user = %top.user, name = ?top.name, %failure, "an upload did not become a dataset");
                Some(Stage::Failed(failure.to_string()))
            }
        };
        self.tops.done(top, stage);
        if let Err(error) = self.books.recount(&top.user) {
            tracing::warn!(user = %top.user, %error, "an inbox could not be counted");
        }
    }
}

fn note(waiting: &Tops, tops: &[Top]) {
    for top in tops {
        if !waiting.settled(top) {
            tracing::warn!(user = %top.user, "too much waits in the inbox; the next start of the hub looks again");
        }
    }
}

/// Seals what becomes quiet, one after the other, until the hub stops.
pub(crate) async fn attend(inbox: Arc<Inbox>, data: Arc<Data>, mut stopping: watch::Receiver<bool>) {
    loop {
        let top = tokio::select! {
            biased;
            _ = stopping.changed() => return,
            top = inbox.tops.next() => top,
        };
        let (inbox, data) = (Arc::clone(&inbox), Arc::clone(&data));
        if tokio::task::spawn_blocking(move || inbox.seal_and_note(&data, &top)).await.is_err() {
            tracing::error!("sealing an upload ended by a defect");
        }
    }
}
