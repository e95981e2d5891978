//! Bringing chunks to a machine.
use super::world::*;
use gleaner_data::net::{Code, Error, Push, Right};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn a_push_brings_what_is_missing_and_nothing_else() {
    let chunks = chunks(30, 400);
    let (hub, _server) = Machine::with(1, &chunks[..100]).await;
    let two = Machine::new(2).await;
    two.fill(&chunks);
    let to = two.peer_at(hub.network.address(), Right::Give);
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let (push, _) = Push::new(Arc::clone(&two.store), Arc::clone(&to) as _);
    let pushed = push.run(ids.clone().into_iter()).await.unwrap();
    assert_eq!((pushed.known, pushed.chunks, pushed.again), (100, 300, 0));
    assert_eq!(pushed.bytes, bytes_of(&chunks[100..]));
    assert!(hub.has_all(&chunks));
    let (push, _) = Push::new(Arc::clone(&two.store), to as _);
    assert_eq!(push.run(ids.into_iter()).await.unwrap().chunks, 0, "the second time there is nothing to do");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_is_stopped_goes_on_where_it_was() {
    let chunks = chunks(31, 400);
    let (hub, _server) = Machine::with(1, &[]).await;
    let two = Machine::new(2).await;
    two.fill(&chunks);
    let to = two.peer_at(hub.network.address(), Right::Give);
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let (push, control) = Push::new(Arc::clone(&two.store), Arc::clone(&to) as _);
    control.set_limit(Some(40_000_000));
    let running = tokio::spawn(push.run(ids.clone().into_iter()));
    control.progress().wait_for(|pushed| pushed.chunks > 0).await.unwrap();
    control.stop();
    assert!(matches!(running.await.unwrap(), Err(Error::Stopped)));
    let (push, _) = Push::new(Arc::clone(&two.store), to as _);
    let rest = push.run(ids.into_iter()).await.unwrap();
    assert!(rest.known > 0, "{rest:?}");
    assert!(hub.has_all(&chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_only_fetch_may_not_give() {
    let chunks = chunks(32, 3);
    let (hub, _server) = Machine::with(1, &[]).await;
    let two = Machine::new(2).await;
    two.fill(&chunks);
    let to = two.peer(&hub);
    let (push, _) = Push::new(Arc::clone(&two.store), to as _);
    let refused = push.run(chunks.iter().map(|chunk| chunk.id).collect::<Vec<_>>().into_iter()).await;
    assert!(matches!(refused, Err(Error::Refused(Code::NotGranted))), "{refused:?}");
    assert_eq!(hub.store.usage().chunks, 0);
}
