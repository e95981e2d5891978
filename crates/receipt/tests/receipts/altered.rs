//! Whoever alters a receipt of somebody else's is found out.
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Verifier, guilty, read, verify};
use gleaner_wire::encode;

use crate::alter::leaves;

#[test]
fn no_receipt_with_another_leaf_holds() {
    let (mut world, mut tried) = (World::new(), 0);
    for case in Case::ALL {
        let receipt = world.receipt(case);
        let mut verifier = Verifier::default();
        verifier.verify(&receipt).expect("it holds as it is");
        for altered in leaves(&receipt) {
            tried += 1;
            assert!(verifier.verify(&altered.receipt).is_err(), "{case:?} with another {}", altered.path);
        }
    }
    assert!(tried > 10_000, "{tried} alterations");
}

#[test]
fn no_receipt_with_another_bit_is_read_and_holds() {
    let mut world = World::new();
    for case in Case::ALL {
        let receipt = world.receipt(case);
        let (bytes, mut verifier) = (encode(&receipt), Verifier::default());
        verifier.verify(&receipt).expect("it holds as it is");
        for place in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[place] ^= 1 << (place % 8);
            let held = read(&altered).is_ok_and(|read| read.iter().any(|receipt| verifier.verify(receipt).is_ok()));
            assert!(!held, "{case:?} with another bit in byte {place}");
        }
    }
}

#[test]
fn a_receipt_says_exactly_what_does_not_fit() {
    let mut receipt = World::new().receipt(Case::NotDrawn);
    receipt.facts.payout.worker = gleaner_wire::Amount::gln(1);
    let faults: Vec<String> = verify(&receipt).expect_err("it was altered").iter().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].starts_with("the receipt's hash is "), "{faults:#?}");
    assert_eq!(
        faults[1],
        "the worker's payout is 1 GLN, but 1500 hundredths of a percent of the worker's sum of 0.7500003 GLN makes it \
         0.637500255 GLN"
    );
}

#[test]
fn a_receipt_of_another_hub_does_not_hold_where_one_is_named() {
    let mut world = World::new();
    let receipt = world.receipt(Case::Agreed);
    let other = gleaner_wire::WorkerKey([9; 32]);
    assert!(Verifier::default().of_hub(receipt.facts.hub).verify(&receipt).is_ok());
    let faults = Verifier::default().of_hub(other).verify(&receipt).expect_err("another hub's");
    assert!(faults[0].to_string().starts_with("the hub's key is "), "{faults:?}");
}

#[test]
fn an_altered_receipt_shows_nobodys_guilt() {
    let mut receipt = World::new().receipt(Case::Upheld);
    receipt.facts.verdict = gleaner_wire::receipt::Verdict::Refuted;
    assert!(guilty(&receipt).is_err());
}
