//! The hub's cache over HTTP, alone and beside a peer.
use super::world::*;
use futures_util::{StreamExt, stream};
use gleaner_data::net::http::{Access, Admitted, Cache, Door, Refusal, router};
use gleaner_data::net::schedule::{Holds, Role, Route};
use gleaner_data::net::{Code, Error, Push, Right, Update};
use gleaner_data::store::{Chunk, Store};
use std::sync::Arc;
use std::time::Duration;

async fn hub_with(store: Arc<Store>) -> String {
    hub_behind(store, Arc::new(authority())).await
}

async fn hub_behind(store: Arc<Store>, door: Arc<dyn Door>) -> String {
    let listener = tokio::net::TcpListener::bind(loopback()[0]).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router(store, door)).await.unwrap() });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_are_pushed_to_the_hub_and_fetched_from_it_and_a_peer_at_once() {
    let chunks = chunks(40, 500);
    let hub = Machine::new(1).await;
    let url = hub_with(Arc::clone(&hub.store)).await;
    let (two, _server) = Machine::with(2, &chunks).await;
    let cache = Cache::new(&url, Access::Grant(grant(two.network.key(), Right::Give))).unwrap();
    let (push, _) = Push::new(Arc::clone(&two.store), Arc::new(cache));
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let pushed = push.run(ids.into_iter()).await.unwrap();
    assert_eq!((pushed.known, pushed.chunks), (0, 500));
    assert!(hub.has_all(&chunks));

    let three = Machine::new(3).await;
    let cache = Arc::new(Cache::new(&url, Access::Grant(grant(three.network.key(), Right::Fetch))).unwrap());
    let (fetch, control) = three.fetch(&chunks);
    control.tell(Update::Joined { carrier: cache, role: Role::Origin, holds: Holds::All }).await;
    control.tell(joined(&three.peer(&two))).await;
    let done = fetch.run().await.unwrap();
    assert!(three.has_all(&chunks));
    let from = |route| done.sources.iter().find(|source| source.route == route).unwrap().figures.bytes;
    assert!(from(Route::Hub) > 0 && from(Route::Lan) > 0, "{done:?}");
}

/// Everybody comes in.
struct NoDoor;

impl Door for NoDoor {
    fn admits(&self, _: &axum::http::HeaderMap, _: Right) -> Result<Admitted, Refusal> {
        Ok(Admitted::default())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_of_a_push_whose_line_fell_silent_is_kept() {
    let chunks = chunks(42, 3);
    let hub = Machine::new(1).await;
    let url = hub_behind(Arc::clone(&hub.store), Arc::new(NoDoor)).await;
    let frame = |chunk: &Chunk| [&u32::try_from(chunk.bytes.len()).unwrap().to_le_bytes()[..], &chunk.bytes].concat();
    let two_and_a_half = [frame(&chunks[0]), frame(&chunks[1]), frame(&chunks[2])[..1000].to_vec()].concat();
    let silent = stream::iter([Ok::<_, std::io::Error>(two_and_a_half)]).chain(stream::pending());
    // If another test has chosen already, that holds.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().post(format!("{url}/chunks"));
    let giving = tokio::spawn(request.body(reqwest::Body::wrap_stream(silent)).send());
    let kept = async {
        while hub.store.usage().chunks < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), kept).await.expect("what came whole is stored");
    assert!(hub.has_all(&chunks[..2]) && hub.store.usage().chunks == 2);
    assert!(!giving.is_finished(), "and the line may come back");
    giving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hub_refuses_who_has_no_right() {
    let chunks = chunks(41, 3);
    let hub = Machine::new(1).await;
    let url = hub_with(Arc::clone(&hub.store)).await;
    let two = Machine::new(2).await;
    two.fill(&chunks);
    let ids: Vec<_> = chunks.iter().map(|chunk| chunk.id).collect();
    let fetch_only = Cache::new(&url, Access::Grant(grant(two.network.key(), Right::Fetch))).unwrap();
    let (push, _) = Push::new(Arc::clone(&two.store), Arc::new(fetch_only));
    let refused = push.run(ids.into_iter()).await;
    assert!(matches!(refused, Err(Error::Refused(Code::NotGranted))), "{refused:?}");
    let bare = reqwest::Client::new().post(format!("{url}/chunks/want")).body(vec![0; 32]).send().await.unwrap();
    assert_eq!(bare.status(), 401);
    assert_eq!(hub.store.usage().chunks, 0);
}
