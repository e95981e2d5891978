//! Receipts whose money and whose chance come from a chain: a real one, embedded.
use std::rc::Rc;

use gleaner_chain::Node;
use gleaner_chain::beacon::{self, Found};
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::primitives::keccak256;
use gleaner_chain::sender::{Call, Policy, Sender};
use gleaner_receipt::sample::{Case, World, hub_account};
use gleaner_receipt::{Verifier, guilty_by_document, seal, verify, verify_job};
use gleaner_wire::receipt::{Bytes, Seed, TaskReceipt};
use gleaner_wire::{Address, Hash, encode};
use tokio::runtime::Runtime;

use crate::alter::leaves;
use crate::cases::verdict;

/// A hub whose rounds are anchored on an embedded chain.
struct Anchored {
    world: World,
    _folder: tempfile::TempDir,
}

fn anchored() -> Anchored {
    let runtime = Rc::new(Runtime::new().expect("a runtime"));
    let folder = tempfile::tempdir().expect("a folder");
    let within = runtime.enter();
    let chain = Chain::open(&Options::testing(folder.path())).expect("a chain");
    drop(within);
    let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
    let chain_id = runtime.block_on(sender.node.chain_id()).expect("asked");
    let draw = move |root| runtime.block_on(seed(&sender, root));
    Anchored { world: World::on_chain(chain_id, Box::new(draw)), _folder: folder }
}

/// Anchors a root and waits for the block after.
async fn seed(sender: &Sender, root: Hash) -> (Seed, Hash) {
    let hub = hub_account();
    let receipt = sender.send(&hub, &beacon::call(hub.address(), root)).await.expect("anchored");
    let block = sender.node.sealed_block(receipt.block_number).await.expect("read").expect("a block");
    let transaction = keccak256(&block.transactions[0]);
    sender.send(&hub, &Call { to: hub.address(), data: Default::default() }).await.expect("sent");
    match beacon::fetch(&sender.node, transaction, root, 0).await.expect("asked") {
        Found::Beacon(found) => (Seed::Chain(Bytes(encode(&*found))), found.seed),
        other => panic!("both blocks are there: {other:?}"),
    }
}

#[test]
fn receipts_with_orders_and_seeds_of_a_chain_hold() {
    let mut anchored = anchored();
    let receipts: Vec<TaskReceipt> = Case::ALL.map(|case| anchored.world.receipt(case)).into();
    for (case, receipt) in Case::ALL.into_iter().zip(&receipts) {
        assert_eq!(receipt.facts.verdict, verdict(case));
        verify(receipt).unwrap_or_else(|faults| panic!("{case:?}: {faults:#?}"));
    }
    let checked = verify_job(&receipts, &mut Verifier::default()).expect("all of them hold");
    assert!(checked.believed.iter().all(|what| !what.contains("drew the seed")), "{checked:?}");
}

#[test]
fn no_altered_receipt_of_a_chain_holds_not_even_if_the_hub_signs_it_again() {
    let mut anchored = anchored();
    let receipt = anchored.world.receipt(Case::Refuted);
    let mut verifier = Verifier::default();
    verifier.verify(&receipt).expect("it holds as it is");
    for altered in leaves(&receipt) {
        assert!(verifier.verify(&altered.receipt).is_err(), "another {}", altered.path);
        let bound = ["facts.order", "facts.job", "facts.draw.seed", "facts.draw.source", "facts.commitment"];
        let resealed = seal(altered.receipt.facts, &anchored.world.hub);
        if resealed != receipt && bound.iter().any(|name| altered.path.starts_with(name)) {
            assert!(verifier.verify(&resealed).is_err(), "another {} that the hub signed", altered.path);
        }
    }
}

#[test]
fn every_byte_of_a_beacon_counts() {
    let mut anchored = anchored();
    let receipt = anchored.world.receipt(Case::NotDrawn);
    let mut verifier = Verifier::default();
    verifier.verify(&receipt).expect("it holds as it is");
    let Some(Seed::Chain(Bytes(beacon))) = receipt.facts.draw.as_ref().map(|draw| draw.source.clone()) else {
        panic!("the seed is the chain's")
    };
    for place in 0..beacon.len() {
        let mut facts = receipt.facts.clone();
        let mut bytes = beacon.clone();
        bytes[place] ^= 1 << (place % 8);
        facts.draw.as_mut().expect("drawn").source = Seed::Chain(Bytes(bytes));
        assert!(verifier.verify(&seal(facts, &anchored.world.hub)).is_err(), "byte {place} of the beacon");
    }
}

#[test]
fn a_document_shows_guilt_of_those_who_lost_for_this_order_only() {
    let mut anchored = anchored();
    let receipt = anchored.world.receipt(Case::Refuted);
    let order = receipt.facts.order.as_ref().expect("an order").id;
    let worker = receipt.facts.placement.provider.expect("an owner");
    let document = serde_json::to_vec(&receipt).expect("plain data");
    assert_eq!(guilty_by_document(&order, &worker, &document), Ok(true));
    assert_eq!(guilty_by_document(&order, &worker, &encode(&receipt)), Ok(true));
    let friend = receipt.facts.deductions[1].provider.expect("an owner");
    assert_eq!(guilty_by_document(&order, &friend, &document), Ok(true));
    assert_eq!(guilty_by_document(&order, &Address([7; 20]), &document), Ok(false));
    assert_eq!(guilty_by_document(&Hash([7; 32]), &worker, &document), Ok(false));
    let mut altered = receipt;
    altered.facts.number = 8;
    assert_eq!(guilty_by_document(&order, &worker, &encode(&altered)), Ok(false));
    let own_seed = encode(&World::new().receipt(Case::Refuted));
    assert!(guilty_by_document(&order, &worker, &own_seed).is_err_and(|why| why.contains("drew the jurors itself")));
}
