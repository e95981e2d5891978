//! The market: how fast prices are found, each figure beside what the least work for it would take.
use std::hint::black_box;

use anyhow::{Result, ensure};
use gleaner_core::market::auction::{Bid, Outcome, clear};
use gleaner_wire::{Amount, AuctionId, Hash, Micros, OpenedBid, WorkerKey, seal_bid};

use super::figure::Figure;
use super::process::thread_time;

/// Rounds of which the middle is taken.
const ROUNDS: usize = 9;
/// Tasks of a lot.
const LOT: u32 = 64;
/// Bids whose seals are checked in a round.
const SEALS: usize = 100_000;

/// All figures of the market.
pub fn measure(bids: u32) -> Result<Vec<Figure>> {
    let mut figures = auctions(bids)?;
    figures.push(seals());
    Ok(figures)
}

/// Auctions cleared a second, of one task and of a lot, against one look at every bid for the least price.
fn auctions(count: u32) -> Result<Vec<Figure>> {
    let bids: Vec<Bid> = (0..count).map(bid).collect();
    let least = rate(|| black_box(black_box(&bids).iter().map(|bid| bid.price).min()).is_some())?;
    let mut figures = Vec::new();
    for (tasks, what) in [(1, "of one task".to_owned()), (LOT, format!("of a lot of {LOT}"))] {
        let won = |outcome| matches!(outcome, Outcome::Won(won) if won.len() == tasks as usize);
        let cleared = rate(|| won(clear(black_box(&bids), tasks, Some(1))))?;
        let name = format!("auction {what}, {count} bids");
        figures.push(Figure::rate(name, cleared, "cleared/CPU-s", "passes for the least price/CPU-s", least));
    }
    Ok(figures)
}

/// Opened bids that are checked against their seals, against one hash of as many bytes.
fn seals() -> Figure {
    let key = WorkerKey([7; 32]);
    let opened =
        |price: usize| OpenedBid { auction: AuctionId(1), device: 0, price: Amount(price as u64), nonce: [9; 32] };
    let per_second = |check: &dyn Fn(usize) -> Hash| {
        let start = thread_time();
        (0..SEALS).for_each(|price| _ = black_box(check(price)));
        SEALS as f64 / thread_time().saturating_sub(start).as_secs_f64()
    };
    let checked = per_second(&|price| seal_bid(&opened(price), &key));
    let hashed = per_second(&|price| Hash::of(&[price as u8; 95]));
    Figure::rate("bids opened and checked", checked, "bids/CPU-s", "hashes of 95 bytes/CPU-s", hashed)
}

/// A bid like no other, by a rule that repeats.
fn bid(bidder: u32) -> Bid {
    let mixed = u64::from(bidder).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let price = Amount(20_000 + (mixed >> 40) % 780_000);
    let until_finished = Micros(1_000_000 + (mixed >> 20) % 60_000_000);
    let (standing, ceiling) = (Amount(price.0 * 2), Amount(u64::MAX));
    Bid { bidder, owner: bidder, price, until_finished, standing, ceiling }
}

/// How often a second of processor time this can be done: the middle of several rounds.
fn rate(mut work: impl FnMut() -> bool) -> Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = thread_time();
        ensure!(work(), "what is measured went wrong");
        rates.push(1.0 / thread_time().saturating_sub(start).as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[ROUNDS / 2])
}
