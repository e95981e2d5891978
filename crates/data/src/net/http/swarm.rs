//! Who fetches or has a dataset: each says so every few seconds, and is told of the others.
//!
//! Everything in an announcement is what a stranger says of itself; see [`Registry`] for what is made of it.
use super::refused::Refused;
use super::{Door, Refusal};
use crate::net::serve::now;
use crate::net::swarm::{Announced, Member, Registry};
use crate::net::{Error, Grant, Right, SignedGrant};
use crate::store::Bitmap;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::HeaderMap;
use axum::routing::post;
use ed25519_dalek::SigningKey;
use gleaner_wire::{Hash, Millis, WorkerKey};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// How long a grant holds that comes with an answer.
pub const GRANT_TIME: Millis = Millis(10 * 60 * 1000);
/// The longest announcement: a bit for each chunk of some terabytes, and a little.
const ANNOUNCEMENT_BYTES_MAX: usize = 8 * 1024 * 1024 + 4096;
/// What an answer says of others at most; of more, some are told of this time and others the next.
const OTHERS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest answer: one member more than fits may be in it.
pub(in crate::net) const WELCOME_BYTES_MAX: usize = OTHERS_BYTES_MAX + ANNOUNCEMENT_BYTES_MAX;

/// What a machine says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its key.
    pub key: WorkerKey,
    /// Where it can be reached; opaque to the hub.
    pub address: Vec<u8>,
    /// How many chunks are in the dataset's list; none before it has read it.
    pub chunks: u32,
    /// A bit for each: whether it holds it.
    pub holds: Vec<u8>,
    /// Whether it leaves: then it is told of nobody.
    pub leaves: bool,
    /// Whether it is its owner's own machine, which has the dataset and fetches nothing.
    pub owner: bool,
}

/// Another machine, as the hub knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// Its key.
    pub key: WorkerKey,
    /// Where it can be reached, as it says.
    pub address: Vec<u8>,
    /// How many chunks are in its list.
    pub chunks: u32,
    /// A bit for each: whether it holds it.
    pub holds: Vec<u8>,
    /// Whether it is the machine of the dataset's owner.
    pub owner: bool,
}

/// What the hub answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// What to show to others of the swarm.
    pub grant: SignedGrant,
    /// Who they are.
    pub others: Vec<Other>,
}

impl From<Member> for Other {
    fn from(member: Member) -> Self {
        let chunks = u32::try_from(member.holds.len()).expect("the registry refuses longer lists");
        let Member { key, address, holds, owner, .. } = member;
        Self { key, address, chunks, holds: holds.as_bytes().to_vec(), owner }
    }
}

#[derive(Clone)]
struct Hub {
    registry: Arc<Mutex<Registry>>,
    signer: Arc<SigningKey>,
    door: Arc<dyn Door>,
}

/// Tells those who fetch a dataset of each other, and signs what lets them fetch from each other.
pub fn swarm_router(registry: Arc<Mutex<Registry>>, signer: SigningKey, door: Arc<dyn Door>) -> Router {
    Router::new()
        .route("/swarm/{root}", post(announce))
        .layer(DefaultBodyLimit::max(ANNOUNCEMENT_BYTES_MAX))
        .with_state(Hub { registry, signer: Arc::new(signer), door })
}

async fn announce(
    State(hub): State<Hub>,
    Path(root): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Vec<u8>, Refused> {
    let admitted = hub.door.admits(&headers, Right::Fetch)?;
    let root: Hash = root.parse().map_err(|_| Error::Malformed("the name of a dataset"))?;
    let said: Announcement = postcard::from_bytes(&body).map_err(|_| Error::Malformed("an announcement"))?;
    // Who is let in under its own key is a worker, and no owner.
    if admitted.key.is_some_and(|key| key != said.key || said.owner) {
        return Err(Refusal::Forbidden.into());
    }
    hub.door.shares(&admitted, &root)?;
    let holds = Bitmap::from_bytes(&said.holds, said.chunks as usize).ok_or(Error::Malformed("a list of chunks"))?;
    let now = now();
    let grant = Grant { root, peer: said.key, right: Right::Fetch, until: now.after(GRANT_TIME) }.sign(&hub.signer);
    let others = hub.note(now, root, said, holds)?;
    Ok(postcard::to_allocvec(&Welcome { grant, others }).expect("an answer can be encoded"))
}

impl Hub {
    fn note(&self, now: Millis, root: Hash, said: Announcement, holds: Bitmap) -> Result<Vec<Other>, Error> {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if said.leaves {
            registry.leave(&root, &said.key);
            return Ok(Vec::new());
        }
        match registry.announce(now, root, said.key, said.address, holds, said.owner) {
            Announced::Noted(members) => Ok(some_of(members, now)),
            Announced::Refused(_) => {
                Err(Error::TooMuch { what: "a swarm", max: crate::net::swarm::MEMBERS_MAX as u64 })
            }
        }
    }
}

/// As many as fit into an answer, beginning somewhere else each time.
fn some_of(mut members: Vec<Member>, now: Millis) -> Vec<Other> {
    if !members.is_empty() {
        let start = usize::try_from(now.0 % members.len() as u64).expect("less than there are members");
        members.rotate_left(start);
        // Whose data it is may be the only one who has a chunk.
        members.sort_by_key(|member| !member.owner);
    }
    let mut bytes = 0;
    let fits = |member: &Member| {
        let before = bytes;
        bytes += member.holds.as_bytes().len();
        before < OTHERS_BYTES_MAX
    };
    members.into_iter().take_while(fits).map(Other::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_has_a_pinned_encoding() {
        let said = Announcement {
            key: WorkerKey([1; 32]),
            address: vec![2, 3],
            chunks: 9,
            holds: vec![0xff, 0x01],
            leaves: false,
            owner: true,
        };
        let bytes = postcard::to_allocvec(&said).expect("encoded");
        assert_eq!(bytes[32..], [2, 2, 3, 9, 2, 0xff, 0x01, 0, 1]);
        assert_eq!(postcard::from_bytes::<Announcement>(&bytes).expect("reads back"), said);
    }

    #[test]
    fn an_answer_is_bounded_and_tells_of_everybody_in_turn() {
        let mut registry = Registry::new();
        let mut others = Vec::new();
        for number in 0..10 {
            let holds = Bitmap::new(8 * 1024 * 1024);
            let key = WorkerKey([number; 32]);
            if let Announced::Noted(members) = registry.announce(Millis(0), Hash([1; 32]), key, vec![], holds, false) {
                others = members;
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for now in 0..9 {
            let some = some_of(others.clone(), Millis(now));
            assert_eq!(some.len(), 4);
            seen.extend(some.into_iter().map(|other| other.key));
        }
        assert_eq!(seen.len(), 9);
    }
}
