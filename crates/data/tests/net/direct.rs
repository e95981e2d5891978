//! The machine of a dataset's owner as a source: its folder, sealed again as it is asked for.
use super::house::*;
use super::world::*;
use gleaner_data::index::Index;
use gleaner_data::net::bring;
use gleaner_data::net::fetch::Pace;
use gleaner_data::net::schedule::Route;
use gleaner_data::net::{Bring, BringControl, Brought, Error, Folders, Offer, Right, Server, StoreSource, Swarm};
use gleaner_data::pack::{self, Packed};
use gleaner_data::resealed::Resealed;
use gleaner_data::squeeze::Level;
use gleaner_data::store::{Chunk, Store, Verify};
use gleaner_data::tree::Case;
use gleaner_data::{PortError, Sink, unpack};
use gleaner_wire::BlobRef;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A store that takes what is packed.
struct Filling<'a>(&'a Store);

impl Sink for Filling<'_> {
    fn put(&self, blob: BlobRef, sealed: Vec<u8>) -> Result<(), PortError> {
        self.0.put(vec![Chunk { id: blob.id, bytes: sealed.into() }])?;
        Ok(())
    }

    fn flush(&self) -> Result<(), PortError> {
        Ok(self.0.flush()?)
    }
}

/// Packs the folder `data` of a home into a store, squeezed.
fn pack_into(home: &Path, store: &Store, level: Option<Level>) -> Packed {
    let mut index = Index::open(&home.join("index"), &keys()).unwrap();
    let options = pack::Options { threads: 2, level, adapt: false, checksum: false };
    let sink = Filling(store);
    let packed =
        pack::pack(&home.join("data"), &keys(), &mut index, &sink, options, &pack::Progress::default()).unwrap();
    sink.put(packed.sealed.blob, packed.sealed.bytes.clone()).unwrap();
    packed
}

fn reseal(home: &Path, store: &Arc<Store>, packed: &Packed) -> Resealed {
    let source = StoreSource(Arc::clone(store));
    Resealed::open(&home.join("data"), &keys(), packed.sealed.blob, &packed.sealed.key, &source).unwrap()
}

/// Every chunk of a dataset, in the order of its list.
fn listed(packed: &Packed, store: &Arc<Store>) -> Vec<BlobRef> {
    let mut all = vec![packed.sealed.blob];
    all.extend(unpack::manifest_chunks(&packed.root));
    unpack::list(&packed.root, &StoreSource(Arc::clone(store)), |blob| {
        all.push(blob);
        true
    })
    .unwrap();
    all
}

#[test]
fn a_folder_gives_every_chunk_as_it_was_sealed_and_none_of_a_file_that_changed() {
    for level in [None, Some(Level::new(1)), Some(Level::new(9))] {
        let home = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&home.path().join("store"), LIMIT).unwrap());
        furnish(&home.path().join("data"), 1, 2, 300);
        std::fs::create_dir_all(home.path().join("data/deep/er")).unwrap();
        std::fs::write(home.path().join("data/deep/er/text"), gleaner_data::measure::words(4, 300_000)).unwrap();
        let packed = pack_into(home.path(), &store, level);
        let folder = reseal(home.path(), &store, &packed);
        let all = listed(&packed, &store);
        assert!(folder.holds().is_full());
        assert_eq!(folder.holds().len(), all.len());
        for blob in &all {
            assert_eq!(folder.chunk(&blob.id), store.get(&blob.id, Verify::Here).unwrap(), "level {level:?}");
        }
        std::fs::write(home.path().join("data/deep/er/text"), gleaner_data::measure::words(5, 300_000)).unwrap();
        let gone = all.iter().filter(|blob| folder.chunk(&blob.id).is_none()).count();
        assert!((2..20).contains(&gone), "{gone} of {}", all.len());
    }
}

#[test]
fn what_only_an_older_version_of_a_file_had_is_not_promised() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(Store::open(&home.path().join("store"), LIMIT).unwrap());
    furnish(&home.path().join("data"), 1, 4, 10);
    pack_into(home.path(), &store, None);
    let large = home.path().join("data/large-0");
    let mut edited = std::fs::read(&large).unwrap();
    edited[1_000_000..1_000_010].copy_from_slice(b"overwrites");
    std::fs::write(&large, edited).unwrap();
    let packed = pack_into(home.path(), &store, None);
    let folder = reseal(home.path(), &store, &packed);
    let all = listed(&packed, &store);
    assert!(!folder.holds().is_full() && folder.holds().count() + 5 > all.len(), "{}", folder.holds().count());
    for (position, blob) in all.iter().enumerate() {
        assert_eq!(folder.chunk(&blob.id).is_some(), folder.holds().contains(position), "{position}");
    }
}

/// The owner's machine, on a network of its own.
struct Owner {
    server: Server,
    _offer: Offer,
}

impl Owner {
    async fn new(hub: &Hub, folder: Resealed) -> Self {
        let machine = Machine::new(99).await;
        let (folders, root) = (Arc::new(Folders::default()), folder.root());
        folders.add(Arc::new(folder));
        let server = Server::start(&machine.network, Arc::clone(&folders), authority());
        let swarm = Swarm { network: machine.network, hub: (*hub.cache()).clone() };
        Self { server, _offer: Offer::start(swarm, folders, root) }
    }
}

/// A hub that has lost all but the root and the manifest, and an owner that has not.
async fn forgetful(home: &Path) -> (Hub, Owner, Packed, u64) {
    furnish(&home.join("data"), 3, 8, 700);
    let whole = Arc::new(Store::open(&home.join("whole"), LIMIT).unwrap());
    let packed = pack_into(home, &whole, Some(Level::new(1)));
    let hub = Hub::new();
    let kept = std::iter::once(packed.sealed.blob).chain(unpack::manifest_chunks(&packed.root));
    for blob in kept {
        hub.store.put(vec![Chunk::of(whole.get(&blob.id, Verify::Here).unwrap().unwrap())]).unwrap();
    }
    let owner = Owner::new(&hub, reseal(home, &hub.store, &packed)).await;
    (hub, owner, packed, whole.usage().bytes)
}

fn bring(machine: &Machine, hub: &Hub, packed: &Packed) -> (Bring, BringControl) {
    let (bring, control) = Bring::new(Arc::clone(&machine.store), machine.network.key(), dataset(packed));
    let swarm = Swarm { network: machine.network.clone(), hub: (*hub.cache()).clone() };
    (bring.in_swarm(swarm).with_patience(Duration::from_secs(20)), control)
}

fn unpack_to(machine: &Machine, brought: &Brought, to: &Path) {
    let options = unpack::Options { threads: 2, case: Case::Unknown, bytes_max: u64::MAX };
    let source = StoreSource(Arc::clone(&machine.store));
    unpack(&brought.root, &source, to, options, &unpack::Progress::default()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_cache_has_lost_comes_from_its_owner_and_four_machines_cost_it_about_one_copy() {
    let home = tempfile::tempdir().unwrap();
    let (hub, owner, packed, total) = forgetful(home.path()).await;
    let (mut machines, mut running, mut servers) = (Vec::new(), Vec::new(), Vec::new());
    for number in 2..6 {
        let machine = Machine::new(number).await;
        servers.push(machine.serve());
        let (bring, control) = bring(&machine, &hub, &packed);
        // Slow enough that machines hear of each other before it is over.
        control.set_limit(Some(4_000_000));
        control.tell(from_hub(hub.cache())).await;
        running.push(tokio::spawn(bring.run()));
        machines.push(machine);
    }
    for (number, (machine, running)) in machines.iter().zip(running).enumerate() {
        let brought = running.await.unwrap().unwrap();
        assert!(brought.progress.sources.iter().any(|source| source.route == Route::Lan), "{:?}", brought.progress);
        let out = home.path().join(format!("out-{number}"));
        unpack_to(machine, &brought, &out);
        assert_eq!(files(&home.path().join("data")), files(&out));
    }
    let sent = owner.server.sent_bytes();
    println!("the owner sent {sent} bytes of a dataset of {total}");
    assert!(sent * 2 < total * 3, "the owner sent {sent} bytes of a dataset of {total}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_takes_nothing_and_what_it_cannot_give_any_more_is_missed() {
    let home = tempfile::tempdir().unwrap();
    let (hub, owner, packed, _) = forgetful(home.path()).await;
    std::fs::write(home.path().join("data/large-1"), b"something else").unwrap();
    let machine = Machine::new(2).await;
    let (bring, control) = bring(&machine, &hub, &packed);
    control.tell(from_hub(hub.cache())).await;
    let missed = bring.with_patience(Duration::from_secs(2)).run().await.map(|_| ());
    assert!(matches!(missed, Err(bring::Error::Net(Error::NoSource { .. }))), "{missed:?}");
    assert!(machine.store.usage().bytes > 8_000_000, "what is as it was came");
    assert!(owner.server.sent_bytes() > 8_000_000);
    let other = Machine::new(3).await;
    let folders = Arc::new(Folders::default());
    let _server = Server::start(&other.network, folders, authority());
    let peer = machine.peer_at(other.network.address(), Right::Give);
    let refused = gleaner_data::net::Taker::give(&*peer, vec![vec![1; 100].into()], Arc::new(Pace::new(None))).await;
    assert!(refused.is_err(), "a folder takes no gifts");
}
