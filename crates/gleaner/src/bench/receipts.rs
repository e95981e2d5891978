//! Receipts checked in a second of processor time, beside the bare signatures in them.
use std::hint::black_box;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use gleaner_chain::embedded::{Chain, Options};
use gleaner_chain::sender::{Policy, Sender};
use gleaner_chain::{Node, measure};
use gleaner_receipt::sample::{self, Case, World};
use gleaner_receipt::{Verifier, verify, verify_job};
use gleaner_wire::Hash;
use gleaner_wire::receipt::{Seed, TaskReceipt};
use tokio::runtime::Handle;

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
#[derive(Clone, Copy)]
struct Floor {
    ed25519: f64,
    secp256k1: f64,
}

/// How many signatures of each kind a receipt has.
#[derive(Clone, Copy)]
struct Signed {
    ed25519: usize,
    secp256k1: usize,
}

impl Floor {
    /// Receipts a second if nothing but their signatures had to be checked.
    fn alone(self, signed: Signed) -> f64 {
        1.0 / (signed.secp256k1 as f64 * self.secp256k1 + signed.ed25519 as f64 * self.ed25519)
    }
}

/// Measures receipts that were not audited, that were, and those of a whole job: of a hub without a chain, and of one whose
/// orders, seeds and owners of workers are on one.
pub async fn measure() -> Result<Vec<Figure>> {
    // Receipts are made by waiting for blocks, which no task of a runtime may do by itself.
    let handle = Handle::current();
    tokio::task::spawn_blocking(move || measure_all(&handle)).await.context("the measurement broke")?
}

fn measure_all(handle: &Handle) -> Result<Vec<Figure>> {
    let floor = Floor { ed25519: ed25519()?, secp256k1: secp256k1() };
    let folder = tempfile::tempdir().context("cannot make a folder for a chain")?;
    let mut figures = Vec::new();
    for (hub, is_on_chain) in [("no chain", false), ("a chain", true)] {
        let kinds = [("not drawn", Case::NotDrawn), ("with one audit", Case::Agreed), ("of a vote", Case::Refuted)];
        for (at, (name, case)) in kinds.into_iter().enumerate() {
            let chain = is_on_chain.then(|| folder.path().join(at.to_string()));
            let receipts = made(handle, chain.as_deref(), case)?;
            let signed = signatures(&receipts[0])?;
            let count = signed.ed25519 + signed.secp256k1;
            let seconds = timed(|| receipts.iter().all(|receipt| verify(receipt).is_ok()))?;
            let name = format!("receipts {name}, {hub}, {count} signatures each");
            let alone = floor.alone(signed);
            figures.push(Figure::rate(name, per_second(seconds), "receipts/CPU-s", SIGNATURES_ALONE, alone));
        }
    }
    let receipts = made(handle, Some(&folder.path().join("job")), Case::NotDrawn)?;
    let together = timed(|| verify_job(&receipts, &mut Verifier::default()).is_ok())?;
    let alone = floor.alone(signatures(&receipts[0])?);
    let name = format!("receipts of a job of {RECEIPTS}, a chain, its order and owner checked once");
    figures.push(Figure::rate(name, per_second(together), "receipts/CPU-s", SIGNATURES_ALONE, alone));
    Ok(figures)
}

/// Receipts of one job; with a folder for a chain, each round of it is anchored there.
fn made(handle: &Handle, chain: Option<&Path>, case: Case) -> Result<Vec<TaskReceipt>> {
    let mut world = match chain {
        None => World::new(),
        Some(folder) => on_chain(handle, folder)?,
    };
    Ok((0..RECEIPTS).map(|_| world.receipt(case)).collect())
}

fn on_chain(handle: &Handle, folder: &Path) -> Result<World> {
    let within = handle.enter();
    let chain = Chain::open(&Options { sync: false, ..Options::testing(folder) }).context("cannot open a chain")?;
    drop(within);
    let sender = Sender { node: Node::Embedded(chain), policy: Policy::EMBEDDED };
    let chain_id = handle.block_on(sender.node.chain_id()).context("cannot ask the chain")?;
    let handle = handle.clone();
    Ok(World::on_chain(chain_id, Box::new(move |root| handle.block_on(sample::anchored(&sender, root)))))
}

/// The signatures of a receipt: those of hub and workers are ed25519, those of accounts on a chain secp256k1.
fn signatures(receipt: &TaskReceipt) -> Result<Signed> {
    let checked = verify(receipt);
    ensure!(checked.is_ok(), "a made-up receipt does not hold: {checked:?}");
    let facts = &receipt.facts;
    let is_anchored = facts.draw.as_ref().is_some_and(|draw| draw.source != Seed::Hub);
    let secp256k1 = facts.owners.len() + usize::from(facts.order.is_some()) + usize::from(is_anchored);
    let all = checked.map_or(0, |checked| checked.signatures);
    Ok(Signed { ed25519: all.saturating_sub(secp256k1), secp256k1 })
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
