//! Settled tasks: from the receipts of large orders to the settlement in a block.
use super::crew::{BATCH_MAX, Booked, Crew, SETTLED};
use super::play::{Manner, Script};
use super::stage::Stage;
use super::timing::Stopwatch;
use super::{Error, Timing, settlements};
use crate::order::Settlement;
use crate::receipt::Receipt;
use alloy_primitives::{B256, keccak256};
use std::hint::black_box;

/// Who works on one order.
const PROVIDERS_EACH: usize = 10;
const PROVIDERS: usize = 20;
/// Bytes of a receipt as it is hashed: eleven words.
const RECEIPT_BYTES: usize = 11 * 32;

/// How long it takes to settle many tasks.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    /// How many tasks there were.
    pub tasks: u64,
    /// In how many orders.
    pub orders: u64,
    /// Adding up the receipts and reckoning the roots of their trees.
    pub reckoning: Timing,
    /// The transactions, synced to disk.
    pub settling: Timing,
    /// Nothing but the hashes of those trees.
    pub hashes: Timing,
}

/// Settles orders of so many tasks each, all of them in the largest batches. The requesters' approvals are not timed:
/// their own machines give them.
pub async fn tasks(orders: usize, tasks_each: u32) -> Result<Tasks, Error> {
    let mut stage = Stage::open().await?;
    let mut crew = Crew::gather(&mut stage, PROVIDERS).await?;
    let booked = crew.order(&stage, orders, PROVIDERS_EACH);
    crew.lock(&mut stage, &booked).await?;
    let receipts: Vec<Vec<Receipt>> = booked.iter().map(|booked| booked.receipts(tasks_each)).collect();
    let tasks = orders as u64 * u64::from(tasks_each);
    let hashes = hashes(tasks);
    let watch = Stopwatch::start();
    let reckoned = booked.iter().zip(&receipts).map(|(booked, receipts)| booked.settlement(receipts));
    let reckoned: Vec<Settlement> = reckoned.collect::<Result<_, _>>()?;
    let reckoning = watch.stop();
    let script = script(&mut stage, &crew, &booked, reckoned)?;
    let manner = Manner { sync: true, checked: true, at_once: settlements::AT_ONCE };
    let settling = script.play(&stage.close(), manner).await?;
    Ok(Tasks { tasks, orders: orders as u64, reckoning, settling, hashes })
}

fn script(stage: &mut Stage, crew: &Crew, booked: &[Booked], reckoned: Vec<Settlement>) -> Result<Script, Error> {
    let approved = booked.iter().zip(reckoned).map(|(booked, settlement)| booked.approved(stage, settlement));
    let approved: Vec<_> = approved.collect();
    let mut lane = Vec::new();
    for part in approved.chunks(BATCH_MAX) {
        let call = stage.market.settle_many(part);
        lane.push(stage.sign(&crew.hub, &call)?);
    }
    Ok(Script { lanes: vec![lane], proof: (SETTLED, booked.len() as u64) })
}

/// A receipt is hashed, its hash is hashed, and each pair of hashes but the last gives another.
fn hashes(tasks: u64) -> Timing {
    let (record, pair) = ([7u8; RECEIPT_BYTES], [7u8; 64]);
    let watch = Stopwatch::start();
    for _ in 0..tasks {
        let leaf: B256 = keccak256(keccak256(black_box(record)));
        black_box((leaf, keccak256(black_box(pair))));
    }
    watch.stop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn tasks_are_counted_over_all_orders() {
        let measured = tasks(3, 25).await.expect("measured");
        assert_eq!((measured.tasks, measured.orders), (75, 3));
        for timing in [measured.reckoning, measured.settling, measured.hashes] {
            assert!(timing.wall.as_nanos() > 0 && timing.wall.as_secs() < 60, "{timing:?}");
        }
    }
}
