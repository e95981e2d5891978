//! Bids of an auction: what a worker is invited to, what it sends sealed, and what opens the seal.
//!
//! A bid is sealed by a hash over its price and 32 bytes of chance, so that nobody, the hub included, learns it before all
//! bids are in, and nobody changes it afterwards.
use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::market::Tier;
use crate::{Amount, AuctionId, ByteSize, Hash, JobId, Micros, Millis, Runtime, WorkerKey};

/// The most bids in one message.
pub const BIDS_MAX: usize = 256;

/// What a worker may bid for with one of its devices: one task of a lot of equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The auction.
    pub auction: AuctionId,
    /// The position of the device in the worker's offer.
    pub device: u16,
    /// The job.
    pub job: JobId,
    /// The name of its `[[task]]`.
    pub task: String,
    /// How many tasks are sold together; a device gets at most one of them.
    pub lot: u32,
    /// What runs it.
    pub runtime: Runtime,
    /// Its memory limit.
    pub memory: ByteSize,
    /// Its time limit.
    pub time_ms: Millis,
    /// How long it should take on this device; none before the first task of its kind has run.
    pub predicted: Option<Micros>,
    /// What the device's standing offer asks for a second. A bid may be lower, never higher.
    pub standing: Amount,
    /// The middle of what the invited devices ask for a second.
    pub market: Amount,
    /// How firm the place is: what is paid is 125 % of the price that wins for a reserved one, 85 % for an interruptible one.
    pub tier: Tier,
    /// How soon the sealed bid must be there.
    pub within_ms: Millis,
}

/// A sealed bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedBid {
    /// The auction.
    pub auction: AuctionId,
    /// The position of the device in the worker's offer.
    pub device: u16,
    /// The seal ([`seal_bid`]); none from a worker that does not bid.
    pub seal: Option<Hash>,
}

/// What opens a sealed bid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedBid {
    /// The auction.
    pub auction: AuctionId,
    /// The position of the device in the worker's offer.
    pub device: u16,
    /// What the worker asks for a second.
    pub price: Amount,
    /// The chance in the seal.
    pub nonce: [u8; 32],
}

/// The seal of a bid: bound to one auction, one worker and one of its devices, so that nobody can use another's.
pub fn seal_bid(bid: &OpenedBid, key: &WorkerKey) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gleaner bid 1");
    hasher.update(&bid.auction.0.to_le_bytes());
    hasher.update(&key.0);
    hasher.update(&bid.device.to_le_bytes());
    hasher.update(&bid.price.0.to_le_bytes());
    hasher.update(&bid.nonce);
    Hash(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const BID: OpenedBid = OpenedBid { auction: AuctionId(7), device: 1, price: Amount(300), nonce: [9; 32] };

    #[test]
    fn a_seal_is_bound_to_everything_in_the_bid_and_to_its_worker() {
        let key = WorkerKey([2; 32]);
        let seal = seal_bid(&BID, &key);
        for other in [
            OpenedBid { auction: AuctionId(8), ..BID },
            OpenedBid { device: 0, ..BID },
            OpenedBid { price: Amount(301), ..BID },
            OpenedBid { nonce: [8; 32], ..BID },
        ] {
            assert_ne!(seal_bid(&other, &key), seal, "{other:?}");
        }
        assert_ne!(seal_bid(&BID, &WorkerKey([3; 32])), seal);
    }

    #[test]
    fn the_seal_is_the_one_that_workers_make() {
        let seal = seal_bid(&BID, &WorkerKey([2; 32])).to_string();
        assert_eq!(seal, "8a61941cb29f77b05c73721834d2e6725439075511ec45d0301f483766240b94");
    }
}
