//! Receipts for what workers sent each other: counted once, forged ones refused, and none lost with a killed hub.
use crate::kill::spawn;
use crate::place::{Api, Place};
use crate::worker::Worker;
use ed25519_dalek::SigningKey;
use gleaner_data::net::http::{Announcement, Welcome};
use gleaner_data::net::{Claim, Receipt, SignedGrant, public};
use gleaner_wire::api::{SeedingTaken, SeedingView};
use gleaner_wire::{BlobRef, Hash, WorkerKey};
use reqwest::StatusCode;

/// Keys of workers, as their seeds make them.
fn signer(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn key(seed: u8) -> WorkerKey {
    public(&signer(seed))
}

/// A dataset of this many bytes, as far as the hub is told.
async fn dataset(api: &Api, bytes: u64) -> Hash {
    let root = api.store(b"a root").await.root;
    let path = format!("/api/v1/datasets/{}?root_bytes={}&bytes={bytes}&kind=pushed", root.id, root.bytes);
    let kept = api.put(&path).body(BlobRef::of(b"a root").id.0.to_vec()).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::CREATED);
    root.id
}

/// What allows a worker to fetch the dataset, as it gets it when it joins those who do.
async fn grant(api: &Api, root: Hash, seed: u8) -> SignedGrant {
    let (address, holds) = (Vec::new(), Vec::new());
    let said = Announcement { key: key(seed), address, chunks: 0, holds, leaves: false, owner: false };
    let response = api.post(&format!("/api/v1/swarm/{root}")).body(postcard::to_allocvec(&said).unwrap());
    let body = response.send().await.unwrap().bytes().await.unwrap();
    postcard::from_bytes::<Welcome>(&body).unwrap().grant
}

fn claim(grant: SignedGrant, sender: u8, receiver: u8, bytes: u64) -> Claim {
    let receipt = Receipt { root: grant.grant.root, sender: key(sender), receiver: key(receiver), session: 7, bytes };
    Claim { grant, receipt: receipt.sign(&signer(receiver)) }
}

async fn hand_in(api: &Api, token: &str, claims: &[Claim]) -> SeedingTaken {
    let api = Api { token: token.to_owned(), ..api.clone() };
    let response = api.post("/api/v1/seeding").body(postcard::to_allocvec(claims).unwrap()).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

async fn seeded(api: &Api, query: &str) -> SeedingView {
    serde_json::from_value(api.json(&format!("/api/v1/seeding{query}")).await).unwrap()
}

fn taken(bytes: u64, refused: u64) -> SeedingTaken {
    SeedingTaken { bytes, refused }
}

#[tokio::test]
async fn receipts_count_once_and_what_a_lying_worker_hands_in_does_not() {
    let place = Place::new().await;
    let api = &place.api;
    let root = dataset(api, 1_000_000).await;
    let (one, _two) = (Worker::join(api, 1).await, Worker::join(api, 2).await);
    let granted = grant(api, root, 2).await;
    let good = claim(granted, 1, 2, 600_000);
    assert_eq!(hand_in(api, &one.token, &[good]).await, taken(600_000, 0));
    assert_eq!(hand_in(api, &one.token, &[good, good]).await, taken(0, 0), "once");
    let mut forged = claim(granted, 1, 2, 700_000);
    forged.receipt.receipt.bytes = 900_000;
    let own_signature = {
        let receipt = Receipt { bytes: 900_000, ..good.receipt.receipt };
        Claim { grant: granted, receipt: receipt.sign(&signer(1)) }
    };
    let other_hub = Claim { grant: granted.grant.sign(&signer(9)), ..claim(granted, 1, 2, 900_000) };
    let others = claim(granted, 3, 2, 100);
    let too_much = claim(granted, 1, 2, 1_000_001);
    let lies = [forged, own_signature, other_hub, others, too_much];
    assert_eq!(hand_in(api, &one.token, &lies).await, taken(0, 5));
    let view = seeded(api, &format!("?worker={}&root={root}", key(1))).await;
    assert_eq!((view.bytes, view.seeded.len()), (600_000, 1));
    assert_eq!(seeded(api, &format!("?worker={}", key(2))).await.bytes, 0);
    let of_worker = Api { token: one.token.clone(), ..api.clone() };
    assert_eq!(of_worker.get("/api/v1/seeding").send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let operator = api.post("/api/v1/seeding").body(postcard::to_allocvec(&[good]).unwrap()).send().await.unwrap();
    assert_eq!(operator.status(), StatusCode::FORBIDDEN, "who has not sent hands nothing in");
    let junk = of_worker.post("/api/v1/seeding").body(vec![7; 100]).send().await.unwrap();
    assert_eq!(junk.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn what_was_counted_survives_a_hub_that_is_killed_and_is_not_counted_again_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let (mut process, mut api) = spawn(dir.path());
    let root = dataset(&api, 1_000_000).await;
    let granted = grant(&api, root, 2).await;
    for round in 1..=4 {
        let worker = Worker::join(&api, 1).await;
        let before = (round - 1) * 100_000;
        let last = claim(granted, 1, 2, before.max(1));
        hand_in(&api, &worker.token, &[last]).await;
        let counted = hand_in(&api, &worker.token, &[claim(granted, 1, 2, round * 100_000)]).await;
        assert!(counted.bytes == 100_000 || round == 1, "{counted:?}");
        drop(process);
        (process, api) = spawn(dir.path());
        assert_eq!(seeded(&api, "").await.bytes, round * 100_000);
    }
    drop(process);
}
