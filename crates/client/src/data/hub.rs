//! What a hub has of data, as requesters and workers ask for it.
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ed25519_dalek::SigningKey;
use gleaner_data::net::http::{Access, Cache};
use gleaner_data::net::{Claim, Discovery, RelayAt};
use gleaner_data::pack::Listing;
use gleaner_data::seal::{DatasetKey, SignedTaskKeys};
use gleaner_wire::api::{
    CheckView, DatasetView, DatasetsPage, KeysLeft, KeysView, KeysWanted, NetworkView, SeedingTaken, SeedingView,
};
use gleaner_wire::{DataRef, Hash, JobId, WorkerKey};
use reqwest::Method;
use tokio::sync::watch;

use crate::connection::Connection;
use crate::{Error, HubAddress, Token};

/// How long an answer is waited for on the hub's side.
const WAIT: Duration = Duration::from_secs(20);
/// Datasets that are listed at most: nobody reads more, and a hub may not keep us busy for ever.
const DATASETS_LISTED_MAX: usize = 100_000;
/// Lists up to this many bytes are sent from memory, and can be sent again.
const LIST_BYTES_AT_ONCE: u64 = 8 * 1024 * 1024;

/// The data of a hub. Clones share their connections.
#[derive(Clone, Debug)]
pub struct HubData {
    connection: Connection,
    cache: Arc<Cache>,
    token: Arc<watch::Sender<String>>,
}

impl HubData {
    /// The data of this hub.
    pub fn new(hub: &HubAddress, token: Token) -> Result<Self, Error> {
        Self::over(Connection::new(hub, token)?)
    }

    pub(crate) fn over(connection: Connection) -> Result<Self, Error> {
        let (sender, receiver) = watch::channel(connection.token().reveal().to_owned());
        let url = format!("{}/api/v1", connection.url());
        let cache = Cache::encrypted(&url, Access::Token(receiver), connection.hub().tls());
        let cache = cache.map_err(|error| Error::unreachable(&url, error))?;
        Ok(Self { connection, cache: Arc::new(cache), token: Arc::new(sender) })
    }

    /// The same with another token, for everybody who uses it.
    #[must_use]
    pub fn with_token(&self, token: Token) -> Self {
        self.token.send_replace(token.reveal().to_owned());
        Self { connection: self.connection.with_token(token), ..self.clone() }
    }

    /// Where the hub is.
    pub fn url(&self) -> &str {
        self.connection.url()
    }

    /// Its store of chunks.
    pub fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// Tells the hub what belongs to a dataset, all of which it has got, so that it is kept. False if something is
    /// missing there.
    pub async fn register(&self, kept: &Kept<'_>, list: List) -> Result<bool, Error> {
        let body = match list {
            List::Here(ids) => reqwest::Body::from(ids),
            List::File(file) => reqwest::Body::from(tokio::fs::File::from_std(file)),
        };
        let DataRef { root, bytes } = kept.data;
        let request = self.connection.request(Method::PUT, &format!("/datasets/{}", root.id));
        let request = request.query(&[("root_bytes", root.bytes), ("bytes", bytes)]).query(&[("kind", kept.kind)]);
        let request = request.query(&[("direct", kept.direct)]);
        let request = if let Some(job) = kept.job { request.query(&[("job", job.to_string())]) } else { request };
        let request = if let Some(label) = &kept.label { request.query(&[("label", label)]) } else { request };
        let request = request.header("gleaner-requester", kept.owner).body(body);
        let sent = match request.try_clone() {
            Some(_) => self.connection.answer(request).await,
            None => self.connection.answer_once(request).await,
        };
        match sent {
            Ok(_) => Ok(true),
            Err(Error::Refused(problem)) if problem.status == 409 => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The outputs of every element of a group, in order, encoded as the hub has them for workers.
    pub async fn outputs(&self, job: JobId, group: u16) -> Result<Bytes, Error> {
        let path = format!("/jobs/{job}/outputs/{group}");
        self.connection.answer(self.connection.request(Method::GET, &path)).await
    }

    /// The keys of a task for the worker that asks, or for `receiver`; waits a while for somebody to leave them.
    pub async fn keys(&self, job: JobId, group: u16, receiver: Option<WorkerKey>) -> Result<Option<KeysFound>, Error> {
        let request = self.connection.request(Method::GET, &format!("/jobs/{job}/keys/{group}"));
        let request = request.query(&[("wait", WAIT.as_secs())]);
        let request = match receiver {
            Some(receiver) => request.query(&[("receiver", receiver.to_string())]),
            None => request,
        };
        let view: KeysView = match self.connection.json(request).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        let wrong = || Error::answer(self.url(), "no keys in it");
        let submission = u128::from_str_radix(&view.submission, 16).map_err(|_| wrong())?;
        let wrapped: Option<Vec<Vec<u8>>> = view.keys.iter().map(|keys| super::unhex(keys)).collect();
        let (owner, attended) = (view.owner, view.attended);
        Ok(Some(KeysFound { submission, owner, wrapped: wrapped.ok_or_else(wrong)?, attended }))
    }

    /// Who waits for keys of a job; waits a while for somebody.
    pub async fn keys_wanted(&self, job: JobId) -> Result<Vec<KeysWanted>, Error> {
        let request = self.connection.request(Method::GET, &format!("/jobs/{job}/keys"));
        self.connection.json(request.query(&[("wait", WAIT.as_secs())])).await
    }

    /// Leaves wrapped keys of a submission.
    pub async fn leave_keys(&self, submission: u128, giver: WorkerKey, keys: &[KeysLeft]) -> Result<(), Error> {
        let request = self.connection.request(Method::POST, &format!("/keys/{submission:032x}"));
        let request = request.query(&[("giver", giver.to_string())]).json(keys);
        self.connection.answer(request).await.map(|_| ())
    }

    /// What the hub keeps.
    pub async fn datasets(&self) -> Result<Vec<DatasetView>, Error> {
        self.all_datasets(&[]).await
    }

    async fn all_datasets(&self, of: &[(&str, String)]) -> Result<Vec<DatasetView>, Error> {
        let (mut all, mut cursor): (Vec<DatasetView>, Option<String>) = (Vec::new(), None);
        loop {
            let request = self.connection.request(Method::GET, "/datasets").query(of);
            let request = match &cursor {
                Some(cursor) => request.query(&[("cursor", cursor)]),
                None => request,
            };
            let DatasetsPage { items, next } = self.connection.json(request).await?;
            all.extend(items);
            cursor = next;
            if cursor.is_none() || all.len() >= DATASETS_LISTED_MAX {
                return Ok(all);
            }
        }
    }

    /// One dataset.
    pub async fn dataset(&self, root: Hash) -> Result<DatasetView, Error> {
        self.connection.json(self.connection.request(Method::GET, &format!("/datasets/{root}"))).await
    }

    /// What opens a dataset that the hub has sealed itself, because it came by its inbox.
    pub async fn key(&self, root: Hash) -> Result<Option<DatasetKey>, Error> {
        #[derive(serde::Deserialize)]
        struct KeyView {
            key: String,
        }
        let request = self.connection.request(Method::GET, &format!("/datasets/{root}/key"));
        let view: KeyView = match self.connection.json(request).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        let key = super::unhex(&view.key).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let key = key.ok_or_else(|| Error::answer(self.url(), "no key in it"))?;
        Ok(Some(DatasetKey::from_bytes(key)))
    }

    /// Lets the hub forget a dataset.
    pub async fn remove(&self, root: Hash) -> Result<(), Error> {
        let request = self.connection.request(Method::POST, &format!("/datasets/{root}/remove"));
        self.connection.answer(request).await.map(|_| ())
    }

    /// Has the hub read everything that it keeps. That takes as long as it takes.
    pub async fn check(&self) -> Result<CheckView, Error> {
        self.connection.json_slowly(self.connection.request(Method::POST, "/datasets/check")).await
    }

    /// What a job that has not ended reads and made.
    pub async fn datasets_of(&self, job: JobId) -> Result<Vec<DatasetView>, Error> {
        self.all_datasets(&[("job", job.to_string())]).await
    }

    /// Hands in receipts of what the worker that asks has sent to others.
    pub async fn hand_in(&self, claims: &[Claim]) -> Result<SeedingTaken, Error> {
        let body = postcard::to_allocvec(claims).map_err(|error| Error::answer(self.url(), error))?;
        self.connection.json(self.connection.request(Method::POST, "/seeding").body(body)).await
    }

    /// What workers have sent each other, of a worker or of a dataset.
    pub async fn seeding(&self, worker: Option<WorkerKey>, root: Option<Hash>) -> Result<SeedingView, Error> {
        let request = self.connection.request(Method::GET, "/seeding");
        let worker = worker.map(|key| ("worker", key.to_string()));
        let asked: Vec<_> = worker.into_iter().chain(root.map(|root| ("root", root.to_string()))).collect();
        self.connection.json(request.query(&asked)).await
    }

    /// The hub's relay, as this machine reaches it.
    pub fn relay(&self, view: &NetworkView) -> Option<RelayAt> {
        // What passes a relay is sealed between the two who speak; the relay itself need not be.
        let url = format!("http://{}:{}", self.connection.hub().host(), view.relay_port?).parse().ok()?;
        Some(RelayAt { url, discovery: view.discovery_port.map(|port| Discovery { port, key: view.hub }) })
    }

    /// How machines find each other. A requester's machine says who it is.
    pub async fn network(&self, me: Option<WorkerKey>) -> Result<NetworkView, Error> {
        let request = self.connection.request(Method::GET, "/network");
        let request = if let Some(key) = me { request.query(&[("key", key.to_string())]) } else { request };
        self.connection.json(request).await
    }
}

/// Keys that were left for somebody.
#[derive(Clone, Debug)]
pub struct KeysFound {
    /// The submission that they belong to.
    pub submission: u128,
    /// Whose it is.
    pub owner: WorkerKey,
    /// What was left; some of it may be of no use.
    pub wrapped: Vec<Vec<u8>>,
    /// Whether the owner answers questions.
    pub attended: bool,
}

impl KeysFound {
    /// The keys of a group, for the owner of `key`.
    pub fn open(&self, group: u16, key: &SigningKey) -> Option<SignedTaskKeys> {
        let open = |wrapped: &Vec<u8>| SignedTaskKeys::unwrap(wrapped, self.submission, group, key, self.owner).ok();
        self.wrapped.iter().find_map(open)
    }
}

/// What a hub is to keep, and why.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// The dataset.
    pub data: DataRef,
    /// `pushed`, `input` or `output`.
    pub kind: &'a str,
    /// Its sealed name.
    pub label: Option<String>,
    /// The job that made it.
    pub job: Option<JobId>,
    /// In whose name.
    pub owner: &'a str,
    /// Whether the hub has only its root and manifest, and workers get the rest from the owner's machine.
    pub direct: bool,
}

/// The names of a dataset's chunks, the root first.
#[derive(Debug)]
pub enum List {
    /// In memory.
    Here(Vec<u8>),
    /// In a file.
    File(std::fs::File),
}

impl List {
    /// The names of these.
    pub fn of(ids: &[Hash]) -> Self {
        Self::Here(ids.iter().flat_map(|id| id.0).collect())
    }

    /// The root, and what a pack has listed.
    pub(crate) fn from_listing(root: Hash, listing: &Listing) -> std::io::Result<Self> {
        use std::io::{Read, Seek, Write};
        let mut from = listing.file.try_clone()?;
        from.rewind()?;
        if listing.chunks * 32 <= LIST_BYTES_AT_ONCE {
            let mut ids = root.0.to_vec();
            from.read_to_end(&mut ids)?;
            return Ok(Self::Here(ids));
        }
        let mut whole = tempfile::tempfile()?;
        whole.write_all(&root.0)?;
        std::io::copy(&mut from, &mut whole)?;
        whole.rewind()?;
        Ok(Self::File(whole))
    }
}
