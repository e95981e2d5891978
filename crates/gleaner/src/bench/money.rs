//! What the embedded chain and the vouchers do in a second, beside revm, hashes and signatures alone; and what work
//! costs in gas.
use anyhow::{Context, Result};
use gleaner_chain::measure::{self, Gas, Settlements, Tasks, Timing, Transfers};
use gleaner_chain::voucher::{self, Load};
use gleaner_wire::Amount;

use super::figure::Figure;

const TRANSFERS: u64 = 20_000;
const SETTLED_ORDERS: usize = 2_000;
const LARGE_ORDERS: usize = 200;
const TASKS_EACH: u32 = 1_000;
const SIGNATURES: u64 = 10_000;
const BATCHES: [usize; 3] = [1, 10, 50];
/// Tasks of an order, and the providers that share them.
const ORDERS: [(u32, usize); 5] = [(1, 1), (100, 1), (100, 10), (1_000, 1), (1_000, 100)];
const CHANNELS: u32 = 100;
const PAYMENTS: u64 = 2_000_000;
/// What a payee may lose in a crash: payments between two syncs.
const UNSYNCED_MAX: Amount = Amount(10_000);
const VOUCHERS_GOAL: &str = "≥ 160,000";

/// Measures everything in turn.
pub async fn measure() -> Result<Vec<Figure>> {
    let mut figures = transfers(&measure::transfers(TRANSFERS).await.context("cannot measure transfers")?);
    let settled = measure::settlements(SETTLED_ORDERS, &BATCHES).await.context("cannot measure settlements")?;
    figures.extend(settled.iter().flat_map(settlements));
    let settled = measure::tasks(LARGE_ORDERS, TASKS_EACH).await.context("cannot measure settled tasks")?;
    figures.extend(tasks(&settled));
    figures.extend(vouchers().context("cannot measure vouchers")?);
    figures.extend(gas(&measure::gas(&ORDERS, &BATCHES).await.context("cannot measure gas")?));
    Ok(figures)
}

/// By processor time where nothing waits for a disk, by the clock where something does; the floor likewise.
fn beside(name: String, count: u64, chain: Timing, synced: bool, alone: Timing, units: [&'static str; 2]) -> Figure {
    match synced {
        false => {
            let (value, floor) = (chain.per_cpu_second(count), alone.per_cpu_second(count));
            Figure::rate(name, value, units[0], "revm alone, by processor time", floor)
        }
        true => {
            let (value, floor) = (chain.per_second(count), alone.per_second(count));
            Figure::rate(name, value, units[1], "revm alone, by the clock", floor)
        }
    }
}

fn transfers(measured: &Transfers) -> Vec<Figure> {
    let Transfers { count, alone, vouched, vouched_synced, checked, checked_synced } = *measured;
    let figure = |what: &str, timing, synced| {
        let name = format!("transfers, {what}");
        beside(name, count, timing, synced, alone, ["transfers/CPU-s", "transfers/s"])
    };
    vec![
        figure("senders vouched for, not synced", vouched, false),
        figure("senders vouched for, synced", vouched_synced, true),
        figure("senders checked, not synced", checked, false),
        figure("senders checked, synced", checked_synced, true),
    ]
}

fn settlements(measured: &Settlements) -> Vec<Figure> {
    let Settlements { batch, orders, alone, unsynced, synced } = *measured;
    let figure = |what: &str, timing, is_synced| {
        let name = format!("settlements in batches of {batch}, {what}");
        beside(name, orders, timing, is_synced, alone, ["orders/CPU-s", "orders/s"])
    };
    vec![figure("not synced", unsynced, false), figure("synced", synced, true)]
}

fn tasks(measured: &Tasks) -> Vec<Figure> {
    let Tasks { tasks, orders, reckoning, settling, hashes } = *measured;
    let name = format!("settled tasks, {} an order, 50 orders a transaction", tasks / orders.max(1));
    let all = reckoning + settling;
    let hashing = "the hashes of their receipts alone";
    vec![
        Figure::rate(&*name, all.per_cpu_second(tasks), "tasks/CPU-s", hashing, hashes.per_cpu_second(tasks)),
        Figure::rate(format!("{name}, synced"), all.per_second(tasks), "tasks/s", hashing, hashes.per_second(tasks)),
    ]
}

fn vouchers() -> Result<Vec<Figure>> {
    let signatures = measure::signatures(SIGNATURES).per_cpu_second(SIGNATURES);
    let memory = voucher::measure(&Load { channels: CHANNELS, payments: PAYMENTS, store: None })?;
    let folder = tempfile::tempdir().context("cannot make a folder for the benchmark")?;
    let store = Some((folder.path().join("payee"), UNSYNCED_MAX));
    let disk = voucher::measure(&Load { channels: CHANNELS, payments: PAYMENTS, store })?;
    let (hashes, unit) = ("keccak of 32 bytes alone, by processor time", "payments/CPU-s");
    let by_the_clock = disk.payments as f64 / disk.wall.as_secs_f64();
    Ok(vec![
        Figure::rate("vouchers in memory", memory.per_second(), unit, hashes, memory.hashes_per_second())
            .goal(VOUCHERS_GOAL),
        Figure::rate("vouchers in memory", memory.per_second(), unit, "a signature for each", signatures)
            .goal(VOUCHERS_GOAL),
        Figure::rate("vouchers in a store", disk.per_second(), unit, hashes, disk.hashes_per_second())
            .goal(VOUCHERS_GOAL),
        Figure::rate("vouchers in a store, by the clock", by_the_clock, "payments/s", hashes, disk.hashes_per_second())
            .goal(VOUCHERS_GOAL),
    ])
}

fn gas(measured: &Gas) -> Vec<Figure> {
    let transfer = measured.transfer as f64;
    let figure = |name, value, unit| Figure::rate(name, value, unit, "a transfer of the token", transfer);
    let orders = measured.orders.iter().map(|order| {
        let name = format!("lock to settlement, tasks {}, providers {}", order.tasks, order.providers);
        figure(name, order.per_task(), "gas/task")
    });
    let batches = measured.batches.iter().flat_map(|batch| {
        let (count, size) = (batch.orders as f64, batch.orders);
        let money = figure(
            format!("lock and settle, orders a transaction {size}"),
            (batch.lock + batch.settle) as f64 / count,
            "gas/order",
        );
        let stake = figure(format!("engage, orders in all {size}"), batch.engage as f64 / count, "gas/order");
        [money, stake]
    });
    orders.chain(batches).collect()
}
