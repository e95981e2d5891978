//! Whatever comes from outside is checked or refused, and breaks nothing.
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Verifier, guilty_by_document, read, verify, verify_job};
use gleaner_wire::receipt::{Seed, TaskReceipt};
use gleaner_wire::{Address, Hash, encode};
use proptest::prelude::*;

use crate::alter::leaves;

fn look_at(bytes: &[u8]) {
    if let Ok(receipts) = read(bytes) {
        for receipt in &receipts {
            let _verdict = verify(receipt);
        }
        let _together = verify_job(&receipts, &mut Verifier::default());
    }
    let _guilt = guilty_by_document(&Hash([0; 32]), &Address([0; 20]), bytes);
}

fn samples() -> Vec<TaskReceipt> {
    let mut world = World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0))));
    [Case::Refuted, Case::NotDrawn, Case::Close].map(|case| world.receipt(case)).into()
}

#[test]
fn two_things_altered_at_once_break_nothing() {
    for receipt in samples() {
        let altered = leaves(&receipt);
        for (at, one) in altered.iter().enumerate().step_by(499) {
            let twice = leaves(&one.receipt);
            let mut verifier = Verifier::default();
            for other in twice.iter().skip(at % 17).step_by(17) {
                let _verdict = verifier.verify(&other.receipt);
            }
        }
    }
}

#[test]
fn a_receipt_cut_off_anywhere_is_refused() {
    let bytes = encode(&samples()[0]);
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        look_at(&bytes);
    }

    #[test]
    fn damaged_receipts_are_looked_at(
        which in 0..3_usize,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        thread_local!(static BYTES: Vec<Vec<u8>> = samples().iter().map(encode).collect());
        let mut bytes = BYTES.with(|all| all[which].clone());
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        look_at(&bytes);
    }
}
