//! Receipts whose money and whose chance come from a chain: a real one, embedded.
use std::rc::Rc;

use gleaner_chain::Node;
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::sender::{Policy, Sender};
use gleaner_receipt::sample::{self, Case, World};
use gleaner_receipt::{Verifier, guilty_by_document, seal, verify, verify_job};
use gleaner_wire::receipt::{Bytes, Seed, TaskReceipt};
use gleaner_wire::{Address, Hash, encode};
use tokio::runtime::Runtime;

use crate::alter::leaves;
use crate::cases::verdict;

/// A hub whose rounds are anchored on an embedded chain.
pub struct Anchored {
    pub world: World,
    _folder: tempfile::TempDir,
}

pub fn anchored() -> Anchored {
    let runtime = Rc::new(Runtime::new().expect("a runtime"));
    let folder = tempfile::tempdir().expect("a folder");
    let within = runtime.enter();
    let chain = Chain::open(&Options::testing(folder.path())).expect("a chain");
    drop(within);
    let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
    let chain_id = runtime.block_on(sender.node.chain_id()).expect("asked");
    let draw = move |root| runtime.block_on(sample::anchored(&sender, root));
    Anchored { world: World::on_chain(chain_id, Box::new(draw)), _folder: folder }
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
        let owned = ["facts.owners", "facts.placement.provider", "facts.audit.jurors.provider"];
        let resealed = seal(altered.receipt.facts, &anchored.world.hub);
        if resealed != receipt && bound.iter().chain(&owned).any(|name| altered.path.starts_with(name)) {
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
    let shown = |order: &Hash, provider: &Address, document: &[u8]| {
        guilty_by_document(order, provider, document).expect("it can be judged")
    };
    let evidence = shown(&order, &worker, &document).expect("guilty");
    assert_eq!(shown(&order, &worker, &encode(&receipt)), Some(evidence.clone()));
    let friend = receipt.facts.deductions[1].provider.expect("an owner");
    assert_eq!(shown(&order, &friend, &document), Some(evidence.clone()));
    assert_eq!(
        (evidence.beacon.seed, evidence.stake),
        (receipt.facts.draw.as_ref().expect("drawn").seed, receipt.facts.order.as_ref().expect("an order").stake,)
    );
    assert!(
        evidence.witnesses.len() > 8 && !evidence.witnesses.contains(&worker) && !evidence.witnesses.contains(&friend)
    );
    assert_eq!(shown(&order, &Address([7; 20]), &document), None);
    assert_eq!(shown(&Hash([7; 32]), &worker, &document), None);
    let mut altered = receipt;
    altered.facts.number = 8;
    assert_eq!(shown(&order, &worker, &encode(&altered)), None);
    let own_seed = encode(&World::new().receipt(Case::Refuted));
    assert!(guilty_by_document(&order, &worker, &own_seed).is_err_and(|why| why.contains("drew the jurors itself")));
}
