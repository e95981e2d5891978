//! A machine's place among those who fetch or have a dataset: it says what it holds, and hears of the others.
use super::bring::BringControl;
use super::fetch::Update;
use super::http::{Announcement, Cache, GRANT_TIME, Other, WELCOME_BYTES_MAX, Welcome};
use super::schedule::{Holds, Role};
use super::serve::{blocking, now};
use super::{Error, Network, Peer, SignedGrant};
use crate::store::{Bitmap, Store};
use gleaner_wire::{Hash, Millis, WorkerKey};
use iroh::EndpointAddr;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How often a machine says that it is there.
pub const ANNOUNCE_TIME: Duration = Duration::from_secs(2);
/// How often at first: those who begin together are to hear of each other before each has fetched it all.
const ANNOUNCE_TIME_FIRST: Duration = Duration::from_millis(250);
const FIRST: Duration = Duration::from_secs(4);
/// Who has not been told of for this long is gone.
const UNSEEN_MAX: Duration = Duration::from_secs(15);
/// After this time somebody who failed is tried again, if the hub still tells of it.
const REJOIN_TIME: Duration = Duration::from_secs(15);

/// Where a machine finds others. It has to serve its store on that network, see [`super::Server`].
#[derive(Clone, Debug)]
pub struct Swarm {
    /// This machine in the network.
    pub network: Network,
    /// The hub that tells of the others; as it is let in there.
    pub hub: Cache,
}

/// A machine's place in a swarm. It leaves when this is dropped.
pub(super) struct Seat {
    swarm: Swarm,
    root: Hash,
    hurry: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Seat {
    pub(super) fn take(swarm: Swarm, store: Arc<Store>, root: Hash, control: BringControl) -> Self {
        let hurry = Arc::new(Notify::new());
        let others = Others { network: swarm.network.clone(), control, known: BTreeMap::new() };
        let task = tokio::spawn(announce(swarm.clone(), store, root, others, Arc::clone(&hurry)));
        Self { swarm, root, hurry, task }
    }

    /// Says at once what is held: much has changed.
    pub(super) fn hurry(&self) {
        self.hurry.notify_one();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.task.abort();
        let (swarm, root) = (self.swarm.clone(), self.root);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // If that does not get through, the hub notices the silence.
            runtime.spawn(async move { swarm.leave(root, false).await });
        }
    }
}

impl Swarm {
    /// Says that this machine does not fetch or have a dataset any more.
    pub(super) async fn leave(&self, root: Hash, owner: bool) {
        let _ = self.tell(self.announcement(&Bitmap::new(0), true, owner), root).await;
    }

    /// Says what this machine holds of a dataset.
    pub(super) async fn say(&self, root: Hash, holds: &Bitmap, owner: bool) -> Result<Welcome, Error> {
        self.tell(self.announcement(holds, false, owner), root).await
    }

    fn announcement(&self, holds: &Bitmap, leaves: bool, owner: bool) -> Announcement {
        Announcement {
            key: self.network.key(),
            address: postcard::to_allocvec(&self.network.address()).expect("an address can be encoded"),
            chunks: u32::try_from(holds.len()).expect("a store keeps shorter lists"),
            holds: holds.as_bytes().to_vec(),
            leaves,
            owner,
        }
    }

    async fn tell(&self, said: Announcement, root: Hash) -> Result<Welcome, Error> {
        let body = postcard::to_allocvec(&said).expect("an announcement can be encoded");
        let response = self.hub.post(&format!("/swarm/{root}"), body).await?;
        let body = self.hub.body(response, WELCOME_BYTES_MAX).await?;
        postcard::from_bytes(&body).map_err(|_| Error::Malformed("what the hub tells of others"))
    }
}

async fn announce(swarm: Swarm, store: Arc<Store>, root: Hash, mut others: Others, hurry: Arc<Notify>) {
    let begun = Instant::now();
    loop {
        let held = Arc::clone(&store);
        let holds = blocking(move || held.holdings(&root)).await.ok().flatten().unwrap_or_default();
        match swarm.say(root, &holds, false).await {
            Ok(welcome) => others.heard(welcome).await,
            Err(error) => tracing::debug!(%error, "the hub does not tell of others"),
        }
        let pause = if begun.elapsed() < FIRST { ANNOUNCE_TIME_FIRST } else { ANNOUNCE_TIME };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = hurry.notified() => {}
        }
    }
}

struct Known {
    address: Vec<u8>,
    until: Millis,
    joined: Instant,
    seen: Instant,
}

/// The others, as far as the bring has been told of them.
struct Others {
    network: Network,
    control: BringControl,
    known: BTreeMap<WorkerKey, Known>,
}

impl Others {
    async fn heard(&mut self, welcome: Welcome) {
        for other in welcome.others {
            self.heard_of(other, welcome.grant).await;
        }
        let silent = |known: &Known| known.seen.elapsed() > UNSEEN_MAX;
        let gone: Vec<WorkerKey> = self.known.iter().filter(|(_, known)| silent(known)).map(|(key, _)| *key).collect();
        for key in gone {
            self.known.remove(&key);
            self.control.tell(Update::Left { name: key.to_string() }).await;
            self.control.tell(Update::MemberLeft { key }).await;
        }
    }

    async fn heard_of(&mut self, other: Other, grant: SignedGrant) {
        let Other { key, address, chunks, holds, owner } = other;
        let Some(holds) = Bitmap::from_bytes(&holds, chunks as usize) else { return };
        let Ok(place) = postcard::from_bytes::<EndpointAddr>(&address) else { return };
        if key == self.network.key() || place.id.as_bytes() != &key.0 {
            return;
        }
        // Who has not read the list yet holds nothing, and does not have all of it either.
        let complete = !holds.is_empty() && holds.is_full();
        // An owner fetches nothing, so it takes no turns.
        if !owner {
            self.control.tell(Update::Member { key, held: holds.count() as u64, complete }).await;
        }
        let role = if owner { Role::Owner } else { Role::Peer };
        let holds = Holds::These(holds);
        if self.is_to_join(&key, &address) {
            self.network.learn(place);
            let carrier = Arc::new(Peer::new(self.network.clone(), key, grant));
            self.control.tell(Update::Joined { carrier, role, holds }).await;
            let now = Instant::now();
            self.known.insert(key, Known { address, until: grant.grant.until, joined: now, seen: now });
        } else {
            self.known.entry(key).and_modify(|known| known.seen = Instant::now());
            self.control.tell(Update::Holds { name: key.to_string(), holds }).await;
        }
    }

    /// Whether somebody is new, has moved, was given up some time ago, or was reached with a grant that ends soon.
    fn is_to_join(&self, key: &WorkerKey, address: &[u8]) -> bool {
        let Some(known) = self.known.get(key) else { return true };
        let soon = known.until.0 < now().0 + GRANT_TIME.0 / 2;
        let name = key.to_string();
        let is_used = self.control.progress().borrow().sources.iter().any(|source| source.name == name);
        known.address != address || soon || (!is_used && known.joined.elapsed() > REJOIN_TIME)
    }
}
