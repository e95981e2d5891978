//! A dataset into the stores of several machines at once.
use super::house::*;
use super::world::*;
use gleaner_data::manifest::Root;
use gleaner_data::net::bring::{self, let_go};
use gleaner_data::net::schedule::Route;
use gleaner_data::net::{Bring, BringControl, Brought, Dataset, Error, Progress, Server, StoreSource, Swarm};
use gleaner_data::tree::Case;
use gleaner_data::{pack, unpack};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

async fn pushed(hub: &Hub, home: &Path) -> pack::Packed {
    furnish(&home.join("data"), 4, 8, 1500);
    push(home, hub.cache()).0.await.unwrap().unwrap()
}

struct Worker {
    machine: Machine,
    _server: Server,
}

impl Worker {
    async fn new(number: u8) -> Self {
        let machine = Machine::new(number).await;
        let server = machine.serve();
        Self { machine, _server: server }
    }

    fn bring(&self, hub: &Hub, dataset: Dataset) -> (Bring, BringControl) {
        let (bring, control) = Bring::new(Arc::clone(&self.machine.store), self.machine.network.key(), dataset);
        let swarm = Swarm { network: self.machine.network.clone(), hub: (*hub.cache()).clone() };
        (bring.in_swarm(swarm).with_patience(Duration::from_secs(20)), control)
    }

    fn unpack(&self, root: &Root, to: &Path) {
        let source = StoreSource(Arc::clone(&self.machine.store));
        let options = unpack::Options { threads: 2, case: Case::Unknown, bytes_max: u64::MAX };
        unpack(root, &source, to, options, &unpack::Progress::default()).unwrap();
    }
}

fn from(progress: &Progress, is_hub: bool) -> u64 {
    let sources = progress.sources.iter().filter(|source| (source.route == Route::Hub) == is_hub);
    sources.map(|source| source.figures.bytes + source.figures.wasted).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn four_machines_bring_a_dataset_and_the_cache_sends_about_one_copy() {
    let (hub, home) = (Hub::new(), tempfile::tempdir().unwrap());
    let packed = pushed(&hub, home.path()).await;
    let total = hub.store.usage().bytes;
    let (mut workers, mut running) = (Vec::new(), Vec::new());
    for number in 2..6 {
        workers.push(Worker::new(number).await);
    }
    for worker in &workers {
        let (bring, control) = worker.bring(&hub, dataset(&packed));
        // Slow enough that machines hear of each other before it is over.
        control.set_limit(Some(6_000_000));
        control.tell(from_hub(hub.cache())).await;
        running.push(tokio::spawn(bring.run()));
    }
    let mut brought: Vec<Brought> = Vec::new();
    for running in running {
        brought.push(running.await.unwrap().unwrap());
    }
    let sent: u64 = brought.iter().map(|brought| from(&brought.progress, true)).sum();
    println!("the cache sent {sent} bytes of a dataset of {total}");
    assert!(sent * 2 < total * 3, "the cache sent {sent} bytes of a dataset of {total}");
    for (number, (worker, brought)) in workers.iter().zip(&brought).enumerate() {
        let out = home.path().join(format!("out-{number}"));
        worker.unpack(&brought.root, &out);
        assert_eq!(files(&home.path().join("data")), files(&out));
        let held = worker.machine.store.holdings(&packed.sealed.id()).unwrap().unwrap();
        assert!(held.is_full() && held.len() > 100, "{} of {}", held.count(), held.len());
    }
    // They go on giving it to others: a fifth needs no cache at all.
    let fifth = Worker::new(6).await;
    let (bring, _) = fifth.bring(&hub, dataset(&packed));
    let late = bring.run().await.unwrap();
    assert_eq!(from(&late.progress, true), 0);
    assert!(from(&late.progress, false) > total / 2, "{:?}", late.progress);
    fifth.unpack(&late.root, &home.path().join("late"));
    assert_eq!(files(&home.path().join("data")), files(&home.path().join("late")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bring_that_is_stopped_goes_on_and_what_it_brought_is_pinned_until_it_is_dropped() {
    let (hub, home) = (Hub::new(), tempfile::tempdir().unwrap());
    let packed = pushed(&hub, home.path()).await;
    let worker = Worker::new(2).await;
    let store = &worker.machine.store;
    let (bring, control) = worker.bring(&hub, dataset(&packed));
    control.set_limit(Some(8_000_000));
    control.tell(from_hub(hub.cache())).await;
    let running = tokio::spawn(bring.run());
    bytes_came(&control, 4_000_000).await;
    assert_eq!(store.owners().unwrap().len(), 1, "what is on its way is pinned");
    control.stop();
    assert!(matches!(running.await.unwrap(), Err(bring::Error::Net(Error::Stopped))));
    let kept = store.usage().bytes;
    assert!(kept > 3_000_000);
    let (bring, control) = worker.bring(&hub, dataset(&packed));
    control.tell(from_hub(hub.cache())).await;
    let brought = bring.run().await.unwrap();
    assert_eq!(brought.progress.bytes + kept, store.usage().bytes, "what was here was not fetched");
    assert!(!store.owners().unwrap().is_empty());
    drop(brought);
    for _ in 0..500 {
        if store.owners().unwrap().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(store.owners().unwrap().is_empty());
    store.pin("bring by a process that is no more", &[packed.sealed.id()]).unwrap();
    let_go(store).unwrap();
    assert!(store.owners().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dataset_that_nobody_has_or_that_the_key_does_not_open_is_refused() {
    let (hub, home) = (Hub::new(), tempfile::tempdir().unwrap());
    let packed = pushed(&hub, home.path()).await;
    let worker = Worker::new(2).await;
    let mut unknown = dataset(&packed);
    unknown.root.id = ROOT;
    let (bring, control) = worker.bring(&hub, unknown);
    control.tell(from_hub(hub.cache())).await;
    let refused = bring.with_patience(Duration::from_millis(300)).run().await.map(|_| ());
    assert!(matches!(refused, Err(bring::Error::Net(Error::NoSource { chunks: 1 }))), "{refused:?}");
    std::fs::write(home.path().join("data/more"), b"more").unwrap();
    let other = push(home.path(), hub.cache()).0.await.unwrap().unwrap();
    let mixed = Dataset { key: other.sealed.key.clone(), ..dataset(&packed) };
    let (bring, control) = worker.bring(&hub, mixed);
    control.tell(from_hub(hub.cache())).await;
    assert!(matches!(bring.run().await.map(|_| ()), Err(bring::Error::Root(_))));
}
