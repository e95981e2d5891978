//! Receipts checked in a second of processor time, beside the bare signatures in them.
use std::hint::black_box;

use anyhow::{Result, ensure};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use gleaner_chain::measure;
use gleaner_receipt::sample::{Case, World};
use gleaner_receipt::{Verifier, verify, verify_job};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{Seed, TaskReceipt};

use super::figure::Figure;
use super::process::thread_time;

/// Receipts of each kind.
const RECEIPTS: usize = 400;
/// How often they are checked; a neighbour's burst spoils some of the rounds.
const ROUNDS: usize = 5;
/// Signatures that are timed for the floor.
const SIGNATURES: u32 = 4_000;
const SIGNATURES_ALONE: &str = "their signatures alone";

/// Seconds that one signature of each kind takes.
struct Floor {
    ed25519: f64,
    secp256k1: f64,
}

/// Measures receipts that were not audited, that were, and those of a whole job.
pub fn measure() -> Result<Vec<Figure>> {
    let floor = Floor { ed25519: ed25519()?, secp256k1: secp256k1() };
    let kinds = [
        ("receipts not drawn", Case::NotDrawn),
        ("receipts with one audit", Case::Agreed),
        ("receipts of a vote", Case::Refuted),
    ];
    let mut figures = Vec::new();
    for (name, case) in kinds {
        let receipts = made(case);
        let signatures = signatures(&receipts[0])?;
        let name = format!("{name}, {signatures} signatures each");
        let alone = 1.0 / (floor.secp256k1 + (signatures - 1) as f64 * floor.ed25519);
        let seconds = timed(|| receipts.iter().all(|receipt| verify(receipt).is_ok()))?;
        figures.push(Figure::rate(name, per_second(seconds), "receipts/CPU-s", SIGNATURES_ALONE, alone));
    }
    let receipts = made(Case::NotDrawn);
    let together = timed(|| verify_job(&receipts, &mut Verifier::default()).is_ok())?;
    let alone = 1.0 / (floor.secp256k1 + 2.0 * floor.ed25519);
    let name = format!("receipts of a job of {RECEIPTS}, its order checked once");
    figures.push(Figure::rate(name, per_second(together), "receipts/CPU-s", SIGNATURES_ALONE, alone));
    Ok(figures)
}

/// Receipts of one job with an order; the hub draws the seeds.
fn made(case: Case) -> Vec<TaskReceipt> {
    let mut world = World::on_chain(1, Box::new(|root| (Seed::Hub, Hash::of(&root.0))));
    (0..RECEIPTS).map(|_| world.receipt(case)).collect()
}

fn signatures(receipt: &TaskReceipt) -> Result<usize> {
    let checked = verify(receipt);
    ensure!(checked.is_ok(), "a made-up receipt does not hold: {checked:?}");
    Ok(checked.map_or(0, |checked| checked.signatures))
}

fn per_second(seconds: f64) -> f64 {
    RECEIPTS as f64 / seconds
}

/// The least processor time of some rounds.
fn timed(mut check: impl FnMut() -> bool) -> Result<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = thread_time();
        let holds = black_box(check());
        least = least.min((thread_time() - start).as_secs_f64());
        ensure!(holds, "made-up receipts do not hold");
    }
    Ok(least)
}

fn ed25519() -> Result<f64> {
    let key = SigningKey::from_bytes(&[7; 32]);
    let sign = |number: u32| {
        let message = Hash::of(&number.to_le_bytes()).0;
        (message, key.sign(&message).to_bytes())
    };
    let signed: Vec<([u8; 32], [u8; 64])> = (0..SIGNATURES).map(sign).collect();
    let bytes = key.verifying_key().to_bytes();
    let holds = |(message, signature): &([u8; 32], [u8; 64])| {
        // The key is read anew, as it has to be for every receipt.
        let key = VerifyingKey::from_bytes(&bytes);
        key.is_ok_and(|key| key.verify_strict(message, &Signature::from_bytes(signature)).is_ok())
    };
    Ok(timed(|| signed.iter().all(holds))? / f64::from(SIGNATURES))
}

fn secp256k1() -> f64 {
    1.0 / measure::signatures(u64::from(SIGNATURES)).per_cpu_second(u64::from(SIGNATURES))
}
