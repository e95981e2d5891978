//! Bids come in sealed and are opened when all are there, or when their time is over.
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use gleaner_wire::{AuctionId, OpenedBid, SealedBid, State, WorkerId, seal_bid};

use super::auctions::{Entry, Stage};
use super::invite::Seated;
use crate::effect::Effect;
use crate::place::SeatId;
use crate::state::Core;

/// Trouble points for a bid that was never opened.
const UNOPENED: u32 = 1;
/// Trouble points for a bid that was opened with another price than was sealed.
const CHANGED: u32 = 2;

impl Core {
    /// Sealed bids came in, or a worker said that it does not bid.
    pub(crate) fn on_bids_sealed(&mut self, worker: WorkerId, bids: &[SealedBid], effects: &mut Vec<Effect>) {
        self.hear(worker);
        let mut touched = BTreeSet::new();
        for bid in bids {
            let Some(seat) = self.bidder(worker, bid.device, bid.auction) else { continue };
            let auction = self.auctions.open.get_mut(&bid.auction).expect("a bidder's auction is open");
            if auction.stage != Stage::Sealing || auction.entries[&seat] != Entry::Invited {
                continue;
            }
            match bid.seal {
                Some(seal) => {
                    auction.entries.insert(seat, Entry::Sealed(seal));
                }
                None => self.release_seat(seat),
            }
            touched.insert(bid.auction);
        }
        for auction in touched {
            if self.auctions.open[&auction].count(|entry| *entry == Entry::Invited) == 0 {
                self.end_sealing(auction, effects);
            }
        }
    }

    /// Bids were opened.
    pub(crate) fn on_bids_opened(&mut self, worker: WorkerId, bids: &[OpenedBid], effects: &mut Vec<Effect>) {
        self.hear(worker);
        let mut touched = BTreeSet::new();
        for bid in bids {
            let Some(seat) = self.bidder(worker, bid.device, bid.auction) else { continue };
            let key = self.workers[worker.0 as usize].key;
            let auction = self.auctions.open.get_mut(&bid.auction).expect("a bidder's auction is open");
            let (Stage::Opening, Entry::Sealed(seal)) = (auction.stage, auction.entries[&seat]) else { continue };
            if seal_bid(bid, &key) == seal {
                auction.entries.insert(seat, Entry::Opened(bid.price));
            } else {
                self.release_seat(seat);
                self.add_trouble(worker, CHANGED, effects);
            }
            touched.insert(bid.auction);
        }
        for auction in touched {
            let open = self.auctions.open.get(&auction);
            if open.is_some_and(|open| open.count(|entry| matches!(entry, Entry::Sealed(_))) == 0) {
                self.clear_auction(auction, None, effects);
            }
        }
    }

    /// The time of an auction's stage is over.
    pub(crate) fn on_auction_alarm(&mut self, id: AuctionId, effects: &mut Vec<Effect>) {
        let Some(auction) = self.auctions.open.get(&id).filter(|auction| auction.until <= self.now) else { return };
        match auction.stage {
            Stage::Sealing => self.end_sealing(id, effects),
            Stage::Opening => self.end_opening(id, effects),
            Stage::Drawing => {
                effects.push(Effect::DrawLot { auction: id });
                self.ring_auction(id, self.now.after(self.params.reveal_ms));
            }
        }
    }

    /// No more bids: those that are in are asked for.
    fn end_sealing(&mut self, id: AuctionId, effects: &mut Vec<Effect>) {
        let entries = &self.auctions.open[&id].entries;
        let late = entries.iter().filter(|(_, entry)| **entry == Entry::Invited).map(|(seat, _)| *seat);
        let sealed = entries.iter().filter(|(_, entry)| matches!(entry, Entry::Sealed(_))).map(|(seat, _)| *seat);
        let (late, sealed): (Vec<_>, Vec<_>) = (late.collect(), sealed.collect());
        late.into_iter().for_each(|seat| self.release_seat(seat));
        if sealed.is_empty() {
            self.clear_auction(id, None, effects);
            return;
        }
        self.auctions.open.get_mut(&id).expect("it was just seen").stage = Stage::Opening;
        self.ring_auction(id, self.now.after(self.params.reveal_ms));
        for seat in sealed {
            let Seated { worker, device } = self.seated(seat);
            effects.push(Effect::AskReveal { worker, auction: id, device });
        }
    }

    /// Whoever sealed a bid and did not open it is out, and it counts against its worker if that is here.
    fn end_opening(&mut self, id: AuctionId, effects: &mut Vec<Effect>) {
        let entries = self.auctions.open[&id].entries.iter();
        let unopened = entries.filter(|(_, entry)| matches!(entry, Entry::Sealed(_))).map(|(seat, _)| *seat);
        for seat in unopened.collect::<Vec<_>>() {
            self.release_seat(seat);
            let worker = self.seats[seat.0 as usize].worker;
            if self.workers[worker.0 as usize].state != State::Offline {
                self.add_trouble(worker, UNOPENED, effects);
            }
        }
        self.clear_auction(id, None, effects);
    }

    /// The seat of a worker's device, if it takes part in this auction.
    fn bidder(&self, worker: WorkerId, device: u16, auction: AuctionId) -> Option<SeatId> {
        let seat = *self.workers.get(worker.0 as usize)?.seats.get(usize::from(device))?;
        (self.auctions.by_seat.get(&seat) == Some(&auction)).then_some(seat)
    }

    /// A seat leaves its auction and may have other work.
    pub(crate) fn release_seat(&mut self, seat: SeatId) {
        if self.auctions.leave(seat) {
            self.relist(seat);
            self.hungry.push(seat);
        }
    }
}
