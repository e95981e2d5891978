//! Two machines that can reach each other through the hub's relay only.
use super::world::*;
use gleaner_data::net::relay::Relay;
use gleaner_data::net::schedule::Route;
use gleaner_data::net::{Network, Peer, Right, Server, Setup, public};
use gleaner_data::store::Store;
use iroh::EndpointAddr;
use std::sync::Arc;
use std::time::Duration;

async fn relayed(number: u8, relay: &Relay) -> (Network, Arc<Store>, tempfile::TempDir) {
    let relays = vec![relay.at().unwrap()];
    // No address to listen on: nothing but the relay is left.
    let network = Network::open(Setup { key: key(number), listen: Vec::new(), relays }).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(dir.path(), LIMIT).unwrap());
    (network, store, dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_move_through_the_relay_and_strangers_do_not_get_in() {
    let members = [public(&key(1)), public(&key(2))];
    let relay = Relay::start(loopback()[0], &hub(), move |key| members.contains(key)).await.unwrap();
    let chunks = chunks(50, 200);
    let (one, store, _one) = relayed(1, &relay).await;
    store.put(chunks.clone()).unwrap();
    let _server = Server::start(&one, store, authority());
    let (two, store, _two) = relayed(2, &relay).await;
    let online = async { tokio::join!(one.online(), two.online()) };
    tokio::time::timeout(Duration::from_secs(20), online).await.expect("both reach the relay");
    two.learn(EndpointAddr::new(one.address().id).with_relay_url(relay.at().unwrap().url));
    let peer = Arc::new(Peer::new(two.clone(), one.key(), grant(two.key(), Right::Fetch)));
    let (fetch, control) = gleaner_data::net::Fetch::new(Arc::clone(&store), two.key(), wishes(&chunks).into_iter());
    control.tell(joined(&peer)).await;
    let done = tokio::time::timeout(Duration::from_secs(60), fetch.run()).await.expect("it ends").unwrap();
    assert!(has_all(&store, &chunks));
    assert_eq!(done.sources[0].route, Route::Relay);

    let (stranger, _, _three) = relayed(3, &relay).await;
    let refused = tokio::time::timeout(Duration::from_secs(2), stranger.online()).await;
    assert!(refused.is_err(), "a stranger may not use the relay");
    relay.stop().await.unwrap();
}
