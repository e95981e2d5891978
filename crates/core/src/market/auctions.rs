//! The auctions that are open, and which seats take part in them.
use alloc::collections::BTreeMap;
use gleaner_wire::{Amount, AuctionId, Hash, JobId, Millis};
use serde::{Deserialize, Serialize};

use crate::place::SeatId;

/// Where a seat stands in an auction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Entry {
    /// It was asked for a bid.
    Invited,
    /// Its bid is in, sealed.
    Sealed(Hash),
    /// Its bid was opened.
    Opened(Amount),
    /// It does not bid, or its bid does not count.
    Out,
}

/// What an auction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Sealed bids.
    Sealing,
    /// Bids to be opened.
    Opening,
    /// A lot, because bids are equal.
    Drawing,
}

/// An auction of a lot of equal tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Auction {
    pub job: JobId,
    pub group: u16,
    /// How many tasks are given out at most.
    pub lot: u32,
    pub stage: Stage,
    /// When the stage ends at the latest.
    pub until: Millis,
    /// The middle of what the invited seats ask for a second.
    pub market: Amount,
    /// What each of them asked for a second when it was invited. It may ask something else meanwhile; its bid was made by
    /// this.
    pub standing: BTreeMap<SeatId, Amount>,
    pub entries: BTreeMap<SeatId, Entry>,
}

impl Auction {
    /// How many seats stand so.
    pub fn count(&self, stands: impl Fn(&Entry) -> bool) -> usize {
        self.entries.values().filter(|entry| stands(entry)).count()
    }
}

/// All auctions that are open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Auctions {
    made: u64,
    pub open: BTreeMap<AuctionId, Auction>,
    /// The auction that each seat takes part in: it gets nothing else meanwhile, so that it can do what it bids for.
    pub by_seat: BTreeMap<SeatId, AuctionId>,
}

impl Auctions {
    /// Opens an auction.
    pub fn insert(&mut self, auction: Auction) -> AuctionId {
        self.made += 1;
        let id = AuctionId(self.made);
        self.by_seat.extend(auction.entries.keys().map(|seat| (*seat, id)));
        self.open.insert(id, auction);
        id
    }

    /// Whether a seat takes part in an auction.
    pub fn hold(&self, seat: SeatId) -> bool {
        !self.by_seat.is_empty() && self.by_seat.contains_key(&seat)
    }

    /// A seat leaves the auction that it takes part in; says whether it did.
    pub fn leave(&mut self, seat: SeatId) -> bool {
        let Some(id) = self.by_seat.remove(&seat) else { return false };
        if let Some(auction) = self.open.get_mut(&id) {
            auction.entries.insert(seat, Entry::Out);
        }
        true
    }
}
