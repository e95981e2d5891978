//! Who is let in.
use crate::place::Place;
use crate::worker::{Connection, Worker};
use gleaner_wire::{PROTOCOL, ToHub};

#[tokio::test]
async fn a_worker_that_proves_its_key_is_welcome_and_keeps_its_number() {
    let place = Place::new().await;
    let mut first = Worker::join(&place.api, 1).await;
    let second = Worker::join(&place.api, 2).await;
    assert_ne!(first.id, second.id);
    assert_eq!(first.heartbeat_ms, place.config.params.heartbeat_ms);
    first.connection.send(&ToHub::Leaving).await;
    first.connection.closed().await;
    assert_eq!(Worker::join(&place.api, 1).await.id, first.id);
}

#[tokio::test]
async fn another_protocol_is_refused_with_what_to_update() {
    let place = Place::new().await;
    let mut connection = Connection::open(&place.api).await;
    let ToHub::Hello { key, signature, offer, owner_proof, resting, held, .. } = connection.hello(1, Vec::new()) else {
        unreachable!("a hello")
    };
    connection.send(&ToHub::Hello { protocol: PROTOCOL + 1, key, signature, offer, owner_proof, resting, held }).await;
    let reason = connection.refusal().await;
    assert!(reason.contains("update the hub"), "{reason}");
}

#[tokio::test]
async fn a_signature_by_another_key_is_refused() {
    let place = Place::new().await;
    let mut connection = Connection::open(&place.api).await;
    let ToHub::Hello { signature, .. } = connection.hello(2, Vec::new()) else { unreachable!("a hello") };
    let ToHub::Hello { protocol, key, offer, owner_proof, resting, held, .. } = connection.hello(1, Vec::new()) else {
        unreachable!("a hello")
    };
    connection.send(&ToHub::Hello { protocol, key, signature, offer, owner_proof, resting, held }).await;
    let reason = connection.refusal().await;
    assert!(reason.contains("does not match the key"), "{reason}");
}

#[tokio::test]
async fn a_signature_of_an_earlier_challenge_is_refused() {
    let place = Place::new().await;
    let earlier = Connection::open(&place.api).await;
    let mut connection = Connection::open(&place.api).await;
    connection.send(&earlier.hello(1, Vec::new())).await;
    let reason = connection.refusal().await;
    assert!(reason.contains("does not match the key"), "{reason}");
}

#[tokio::test]
async fn an_offer_no_honest_worker_makes_is_refused() {
    let place = Place::new().await;
    let mut connection = Connection::open(&place.api).await;
    let hello = connection.hello(1, Vec::new());
    let ToHub::Hello { protocol, key, signature, mut offer, owner_proof, resting, held } = hello else {
        unreachable!("a hello")
    };
    offer.devices.clear();
    connection.send(&ToHub::Hello { protocol, key, signature, offer, owner_proof, resting, held }).await;
    let reason = connection.refusal().await;
    assert!(reason.contains("devices"), "{reason}");
}

#[tokio::test]
async fn a_second_connection_with_the_same_key_replaces_the_first() {
    let place = Place::new().await;
    let mut first = Worker::join(&place.api, 1).await;
    let second = Worker::join(&place.api, 1).await;
    assert_eq!(first.id, second.id);
    let reason = first.connection.refusal().await;
    assert!(reason.contains("taken over"), "{reason}");
    assert_eq!(place.api.health().await.workers_online, 1);
}
