//! Webhooks: signed requests to addresses that people name, when something happens to their jobs.
//!
//! The keeper says what happened and never waits. What somebody wants to be told is on disk before anything is sent, and
//! stays there until it is delivered or was tried too often. After a restart the core and the archive say what happened
//! meanwhile, so nothing is left out.
mod courier;
mod guard;
mod sign;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use courier::Courier;
pub use guard::is_public;
pub(crate) use guard::read as read_url;

use crate::clock::wall_ms;
use crate::metrics::Metrics;
use crate::people::People;
use crate::token::random_bytes;
use gleaner_accounts::AccountId;
use gleaner_accounts::token::TokenId;
use gleaner_wire::Millis;
use gleaner_wire::api::JobSummary;
use gleaner_wire::webhook::{DeliveryView, JobEvent, NewWebhook, WebhookView};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::{Hook, Store};
use tokio::sync::{Notify, mpsc};

/// Things that happened and wait to be put down; beyond that they are looked for where they are kept.
const HAPPENED_MAX: usize = 16_384;

/// The owner of webhooks that are told of every job.
pub(crate) const OPERATOR: &str = "operator";
const ACCOUNT: &str = "account ";

/// The owner of an account's webhooks, which are told of its jobs.
pub(crate) fn account_owner(account: AccountId) -> String {
    format!("{ACCOUNT}{account}")
}

/// The account of an owner, if it is one.
fn owning_account(owner: &str) -> Option<AccountId> {
    owner.strip_prefix(ACCOUNT)?.parse().ok().map(AccountId)
}

/// Something that happened to a job.
pub(crate) type Happened = (JobEvent, Millis, JobSummary);

/// Where it is said; never waits.
pub(crate) struct Bell {
    sender: mpsc::Sender<Happened>,
    shared: Arc<Shared>,
}

struct Shared {
    store: Mutex<Store>,
    /// Whether something found no room on its way.
    behind: std::sync::atomic::AtomicBool,
    /// Rung when a webhook was made or removed.
    changed: Notify,
    private: bool,
}

/// The webhooks.
#[derive(Clone)]
pub(crate) struct Webhooks {
    shared: Arc<Shared>,
}

/// Why something about webhooks was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// The file.
    #[error("webhooks could not be read or written: {0}")]
    Store(#[from] rusqlite::Error),
    /// No secret could be drawn.
    #[error("no secret could be drawn: {0}")]
    Random(String),
    /// It ended by a defect.
    #[error("the request ended by a defect")]
    Defect,
}

/// Opens the file.
pub(crate) fn open(
    path: &Path,
    private: bool,
    metrics: Arc<Metrics>,
    people: Arc<People>,
) -> Result<(Webhooks, Bell, Courier), rusqlite::Error> {
    let store = Mutex::new(Store::open(path)?);
    let shared = Arc::new(Shared { store, behind: false.into(), changed: Notify::new(), private });
    let (sender, receiver) = mpsc::channel(HAPPENED_MAX);
    let webhooks = Webhooks { shared: Arc::clone(&shared) };
    let courier = Courier::new(webhooks.clone(), receiver, metrics, people);
    Ok((webhooks, Bell { sender, shared }, courier))
}

impl Bell {
    /// Something happened to a job.
    pub(crate) fn ring(&self, event: JobEvent, at: Millis, job: JobSummary) {
        if self.sender.try_send((event, at, job)).is_err() {
            self.shared.behind.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

impl Webhooks {
    /// Whether requests may go where only this machine reaches.
    pub(crate) fn private(&self) -> bool {
        self.shared.private
    }

    /// Makes a webhook and the secret that its requests are signed with; none if there are too many.
    /// One that was made with a token goes when that does.
    pub(crate) async fn make(
        &self,
        owner: &str,
        token: Option<TokenId>,
        new: NewWebhook,
    ) -> Result<Option<(WebhookView, String)>, Trouble> {
        let random = random_bytes().map_err(|error| Trouble::Random(error.to_string()))?;
        let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let secret = format!("whsec_{digits}");
        let events = new.events.unwrap_or_else(|| JobEvent::ALL.to_vec());
        let (url, requester, created) = (new.url, new.requester, wall_ms());
        let hook = Hook { id: 0, url, events, requester, created, token, of: None };
        let (owner, of, secret_too) = (owner.to_owned(), hook.clone(), secret.clone());
        let made = self.in_store(move |store| store.make(&owner, &secret_too, &of)).await?;
        self.shared.changed.notify_one();
        let Hook { url, events, requester, created, .. } = hook;
        let view = |id| WebhookView { id, url, events, requester, created_at: Millis(created), waiting: 0 };
        Ok(made.map(|id| (view(id), secret)))
    }

    /// The webhooks of an owner, after one.
    pub(crate) async fn list(&self, owner: &str, after: u64, count: u32) -> Result<Vec<WebhookView>, Trouble> {
        let owner = owner.to_owned();
        self.in_store(move |store| store.list(&owner, after, count)).await
    }

    /// Removes a webhook of an owner; false if there is none.
    pub(crate) async fn remove(&self, owner: &str, id: u64) -> Result<bool, Trouble> {
        let owner = owner.to_owned();
        let removed = self.in_store(move |store| store.remove(id, &owner)).await?;
        self.shared.changed.notify_one();
        Ok(removed)
    }

    /// Removes all webhooks of an owner.
    pub(crate) async fn remove_of(&self, owner: &str) -> Result<(), Trouble> {
        let owner = owner.to_owned();
        self.in_store(move |store| store.remove_of(&owner)).await?;
        self.shared.changed.notify_one();
        Ok(())
    }

    /// Something about accounts or their tokens has changed, so what webhooks may be told may have, too.
    pub(crate) fn look_again(&self) {
        self.shared.changed.notify_one();
    }

    /// What was sent to a webhook of an owner, before one; nothing if there is no such webhook.
    pub(crate) async fn log(
        &self,
        owner: &str,
        id: u64,
        before: u64,
        count: u32,
    ) -> Result<Option<Vec<DeliveryView>>, Trouble> {
        let owner = owner.to_owned();
        let log = move |store: &mut Store| match store.is_of(id, &owner)? {
            true => store.log(id, before, count).map(Some),
            false => Ok(None),
        };
        self.in_store(log).await
    }

    /// How many events wait to be delivered.
    pub(crate) async fn waiting(&self) -> Result<u64, Trouble> {
        self.in_store(|store| store.waiting()).await
    }

    async fn in_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Store) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, Trouble> {
        let shared = Arc::clone(&self.shared);
        let work = move || work(&mut shared.store.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(tokio::task::spawn_blocking(work).await.map_err(|_| Trouble::Defect)??)
    }
}
