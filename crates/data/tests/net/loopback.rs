//! Two and more machines that do what they should.
use super::world::*;
use gleaner_data::net::schedule::{Holds, Role, Route};
use gleaner_data::net::{Code, Error, Grant, Peer, Right, Update, public};
use gleaner_wire::Millis;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn chunks_move_from_one_machine_to_another_and_are_signed_for() {
    let chunks = chunks(1, 300);
    let (one, server) = Machine::with(1, &chunks).await;
    let two = Machine::new(2).await;
    let done = two.fetch_from(&chunks, &[two.peer(&one)]).await.unwrap();
    assert!(two.has_all(&chunks));
    assert_eq!((done.chunks, done.bytes, done.twice_bytes), (300, bytes_of(&chunks), 0));
    assert_eq!(done.sources[0].route, Route::Lan);
    two.network.close().await;
    let mut sessions = BTreeMap::new();
    while sessions.values().sum::<u64>() < bytes_of(&chunks) {
        for claim in wait_for(|| Some(server.take_claims(1000)).filter(|claims| !claims.is_empty())).await {
            claim.check(&authority(), &one.network.key(), Millis(0)).unwrap();
            let receipt = claim.receipt.receipt;
            assert_eq!(receipt.receiver, two.network.key());
            sessions.insert(receipt.session, receipt.bytes);
        }
    }
    assert_eq!(sessions.values().sum::<u64>(), bytes_of(&chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_asks_only_for_what_is_not_here() {
    let chunks = chunks(2, 200);
    let (one, _server) = Machine::with(1, &chunks).await;
    let two = Machine::new(2).await;
    two.fill(&chunks[..150]);
    let done = two.fetch_from(&chunks, &[two.peer(&one)]).await.unwrap();
    assert_eq!((done.known, done.chunks), (150, 50));
    assert!(two.has_all(&chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sources_that_hold_different_parts_are_all_used() {
    let chunks = chunks(3, 600);
    let (one, _first) = Machine::with(1, &chunks[..400]).await;
    let (two, _second) = Machine::with(2, &chunks[200..]).await;
    let three = Machine::new(3).await;
    let done = three.fetch_from(&chunks, &[three.peer(&one), three.peer(&two)]).await.unwrap();
    assert!(three.has_all(&chunks));
    assert!(done.sources.iter().all(|source| source.figures.bytes > bytes_of(&chunks) / 5), "{done:?}");
    assert!(done.twice_bytes * 50 <= bytes_of(&chunks).max(50 * 256 * 1024), "{} twice", done.twice_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_says_what_it_holds_of_a_dataset() {
    let chunks = chunks(4, 20);
    let (one, _server) = Machine::with(1, &chunks[..5]).await;
    let two = Machine::new(2).await;
    let peer = two.peer(&one);
    assert_eq!(peer.held().await.unwrap(), None, "it does not know the dataset");
    one.store.remember(ROOT, chunks.iter().map(|chunk| chunk.id)).unwrap();
    let held = peer.held().await.unwrap().unwrap();
    assert_eq!(held.positions(true).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(held.len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_grant_nothing_is_given() {
    let chunks = chunks(5, 4);
    let (one, _server) = Machine::with(1, &chunks).await;
    let two = Machine::new(2).await;
    two.network.learn(one.network.address());
    let stolen = grant(public(&key(9)), Right::Fetch);
    let late = Grant { root: ROOT, peer: two.network.key(), right: Right::Fetch, until: Millis(1) }.sign(&hub());
    let own = Grant { root: ROOT, peer: two.network.key(), right: Right::Fetch, until: Millis(u64::MAX) }.sign(&key(2));
    for bad in [stolen, late, own] {
        let peer = Arc::new(Peer::new(two.network.clone(), one.network.key(), bad));
        let refused = peer.held().await;
        assert!(matches!(refused, Err(Error::Refused(Code::NotGranted))), "{refused:?}");
        let refused = two.fetch_from(&chunks, &[peer]).await;
        assert!(matches!(refused, Err(Error::NoSource { chunks: 4 })), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_holds_can_be_changed_and_a_fetch_can_be_stopped_and_gone_on_with() {
    let chunks = chunks(6, 300);
    let (one, _server) = Machine::with(1, &chunks).await;
    let two = Machine::new(2).await;
    let (fetch, control) = two.fetch(&chunks);
    control.set_limit(Some(2_000_000));
    control.tell(joined(&two.peer(&one))).await;
    let begun = Instant::now();
    let running = tokio::spawn(fetch.run());
    let mut progress = control.progress();
    progress.wait_for(|progress| progress.bytes > 1_000_000).await.unwrap();
    let (taken, bytes) = (begun.elapsed().as_secs_f64(), progress.borrow().bytes);
    assert!(taken > 0.35, "{bytes} bytes in {taken:.2} s");
    control.stop();
    assert!(matches!(running.await.unwrap(), Err(Error::Stopped)));
    let kept = progress.borrow().chunks;
    assert!(kept > 5 && kept < 300, "{kept}");
    let done = two.fetch_from(&chunks, &[two.peer(&one)]).await.unwrap();
    assert_eq!(done.known, kept, "what had arrived was kept");
    assert!(two.has_all(&chunks));
}

#[tokio::test(flavor = "multi_thread")]
async fn four_machines_fetch_from_one_and_from_each_other_and_it_sends_about_one_copy() {
    let chunks = chunks(7, 512);
    let (origin, server) = Machine::with(1, &chunks).await;
    let mut machines = Vec::new();
    for number in 2..6 {
        machines.push(Machine::new(number).await);
    }
    let servers: Vec<_> = machines.iter().map(Machine::serve).collect();
    let mut running = Vec::new();
    for machine in &machines {
        machine.store.remember(ROOT, chunks.iter().map(|chunk| chunk.id)).unwrap();
        let (fetch, control) = machine.fetch(&chunks);
        // Slow enough that machines hear of each other before it is over.
        control.set_limit(Some(12_000_000));
        let source = machine.peer(&origin);
        control.tell(Update::Joined { carrier: source, role: Role::Origin, holds: Holds::All }).await;
        for other in machines.iter().filter(|other| other.network.key() != machine.network.key()) {
            let empty = Holds::These(gleaner_data::store::Bitmap::new(chunks.len()));
            let carrier = machine.peer(other);
            control.tell(Update::Joined { carrier, role: Role::Peer, holds: empty }).await;
            control.tell(Update::Member { key: other.network.key(), held: 0, complete: false }).await;
        }
        running.push((tokio::spawn(fetch.run()), control));
    }
    // What a hub does: it tells everybody what the others hold.
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    while running.iter().any(|(task, _)| !task.is_finished()) {
        tick.tick().await;
        for other in &machines {
            let bits = other.store.holdings(&ROOT).unwrap().unwrap();
            let (key, held, complete) = (other.network.key(), bits.count() as u64, bits.is_full());
            for (_, control) in &running {
                control.tell(Update::Member { key, held, complete }).await;
                control.tell(Update::Holds { name: key.to_string(), holds: Holds::These(bits.clone()) }).await;
            }
        }
    }
    for (task, _) in running {
        task.await.unwrap().unwrap();
    }
    assert!(machines.iter().all(|machine| machine.has_all(&chunks)));
    for machine in &machines {
        machine.network.close().await;
    }
    drop(servers);
    let mut sessions = BTreeMap::new();
    for _ in 0..8 {
        let some = wait_for(|| Some(server.take_claims(1000)).filter(|claims| !claims.is_empty())).await;
        let signed = some.iter().map(|claim| claim.receipt.receipt);
        sessions.extend(signed.map(|receipt| ((receipt.receiver, receipt.session), receipt.bytes)));
        if sessions.values().sum::<u64>() >= bytes_of(&chunks) {
            break;
        }
    }
    let sent: u64 = sessions.values().sum();
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let copies = sent as f64 / bytes_of(&chunks) as f64;
    assert!((1.0..1.15).contains(&copies), "the origin sent {copies:.3} copies");
}

/// Waits for what happens soon, without saying when.
async fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not happen");
}
