//! An open desk: what its parts share, and the tasks in its background.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gleaner_client::Client;
use gleaner_client::registry::Reach;
use gleaner_requester::has_chain;
use gleaner_wire::Asker;
use tokio::sync::{OnceCell, mpsc};
use tokio::task::JoinHandle;

use crate::account::{Account, make_folder};
use crate::bells::Bells;
use crate::books::{Books, Job};
use crate::follow::{self, BEGUN_MAX};
use crate::results::Opened;
use crate::turns::Turns;
use crate::{Config, Error, Limits};

/// An open desk. What it does in the background ends when it is dropped; another one on the same folder goes on with it.
pub struct Desk {
    pub(crate) inner: Arc<Inner>,
    attending: JoinHandle<()>,
}

/// What the parts of a desk share.
pub(crate) struct Inner {
    pub(crate) dir: PathBuf,
    pub(crate) limits: Limits,
    pub(crate) registries: Reach,
    /// The hub, as its operator sees it.
    pub(crate) client: Client,
    pub(crate) books: Books,
    /// How much the accounts' files take.
    pub(crate) uploads: Arc<gleaner_uploads::Books>,
    /// Files that are being written.
    pub(crate) writing: Mutex<BTreeSet<String>>,
    pub(crate) turns: Turns,
    pub(crate) bells: Bells,
    /// Jobs that are to be followed.
    pub(crate) begun: mpsc::Sender<Job>,
    pub(crate) opened: Opened,
    chain: OnceCell<bool>,
}

impl Desk {
    /// Opens a desk: takes its folder, and goes on with the jobs that have not ended. To be called within a runtime; the hub
    /// need not answer yet.
    pub fn open(config: Config) -> Result<Self, Error> {
        let Config { dir, hub, token, limits, registries } = config;
        for folder in [&dir, &dir.join("files"), &dir.join("accounts"), &dir.join("catalogue")] {
            make_folder(folder)?;
        }
        let files = dir.join("files");
        let quota = gleaner_uploads::Limits {
            user_bytes_max: limits.files_bytes_max,
            all_bytes_max: limits.all_files_bytes_max,
        };
        let (begun, following) = mpsc::channel(BEGUN_MAX);
        let inner = Arc::new(Inner {
            client: Client::new(&hub, token, "desk")?,
            books: Books::open(&dir.join("desk.db"))?,
            uploads: Arc::new(gleaner_uploads::Books::new(files, quota)),
            dir,
            limits,
            registries,
            writing: Mutex::default(),
            turns: Turns::default(),
            bells: Bells::default(),
            begun,
            opened: Opened::default(),
            chain: OnceCell::new(),
        });
        let attending = tokio::spawn(follow::attend(Arc::clone(&inner), following));
        Ok(Self { inner, attending })
    }

    /// Who asks, as the desk knows it.
    pub(crate) async fn account(&self, asker: &Asker) -> Result<Account, Error> {
        Account::open(&self.inner, &asker.account, &asker.name).await
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

impl Inner {
    /// The folder of all accounts' files.
    pub(crate) fn files_dir(&self) -> PathBuf {
        self.dir.join("files")
    }

    /// Whether the hub's money is on a chain. That does not change while a hub runs.
    pub(crate) async fn has_chain(&self) -> Result<bool, Error> {
        let asked = self.chain.get_or_try_init(|| has_chain(&self.client)).await;
        Ok(*asked?)
    }
}
