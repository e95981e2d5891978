//! An auction ends: its tasks go to the bids that won, or by posted prices if there was none.
use alloc::vec::Vec;
use gleaner_wire::{Amount, AuctionId, JobId, TaskId, WorkerId, market};
use serde::{Deserialize, Serialize};

use super::auction::{Bid, Outcome, Won, clear};
use super::auctions::{Auction, Entry, Stage};
use super::sale::Sale;
use super::tier;
use crate::assign::Placement;
use crate::attempt::Why;
use crate::effect::Effect;
use crate::job::{Group, Job};
use crate::place::{SeatId, Tier};
use crate::state::Core;

/// Awards that a job remembers.
pub(crate) const AWARDS_KEPT: usize = 256;
/// Owners are told apart by their account, or where money is on no chain by their worker; these numbers stand for accounts.
const ACCOUNTS: u32 = 1 << 31;

/// A task that went to the winner of an auction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Award {
    pub group: u16,
    pub index: u32,
    pub worker: WorkerId,
    /// How many bids there were.
    pub bids: u32,
    pub bid: Amount,
    /// The expected cost of a finished task by its bid, and by the best bid that lost.
    pub score: Amount,
    pub second: Option<Amount>,
    /// What is paid for a second.
    pub price: Amount,
}

impl Core {
    /// A lot was drawn for an auction with equal bids.
    pub(crate) fn on_lot_drawn(&mut self, id: AuctionId, seed: u64, effects: &mut Vec<Effect>) {
        if self.auctions.open.get(&id).is_some_and(|auction| auction.stage == Stage::Drawing) {
            self.clear_auction(id, Some(seed), effects);
        }
    }

    /// Decides an auction by the bids that were opened.
    pub(crate) fn clear_auction(&mut self, id: AuctionId, seed: Option<u64>, effects: &mut Vec<Effect>) {
        let auction = &self.auctions.open[&id];
        let (job, at, lot, invited) = (auction.job, auction.group, auction.lot, auction.entries.len() as u32);
        let bids = self.opened_bids(auction);
        let lot = lot.min(self.jobs[&job].groups[usize::from(at)].ready());
        let won = match clear(&bids, lot, seed) {
            Outcome::Tied => {
                self.auctions.open.get_mut(&id).expect("it was just seen").stage = Stage::Drawing;
                effects.push(Effect::DrawLot { auction: id });
                self.ring_auction(id, self.now.after(self.params.reveal_ms));
                return;
            }
            Outcome::Won(won) => won,
            Outcome::NoBids => Vec::new(),
        };
        self.close_auction(id, Sale::Closed);
        let bids = bids.len() as u32;
        let awarded = won.iter().filter(|won| self.award(job, at, won, bids, effects)).count();
        if let Some(state) = self.jobs.get_mut(&job).filter(|job| job.is_running()) {
            let group = &mut state.groups[usize::from(at)];
            if awarded == 0 {
                group.sale = Sale::FellBack(lot.clamp(1, invited));
            }
            self.totals.auctions_without_bids += u64::from(awarded == 0);
            self.opened.insert((job, at));
            effects.push(Effect::AnnounceJob { job });
        }
    }

    /// The bids that were opened, with what is known of their seats; those that could not start now are left out.
    fn opened_bids(&self, auction: &Auction) -> Vec<Bid> {
        let job = &self.jobs[&auction.job];
        let group = &job.groups[usize::from(auction.group)];
        let lot = auction.lot.min(group.ready()).max(1);
        let share = Amount(job.money_left().0 / u64::from(lot));
        let opened = auction.entries.iter().filter_map(|(seat, entry)| match entry {
            Entry::Opened(price) => Some((*seat, *price)),
            Entry::Invited | Entry::Sealed(_) | Entry::Out => None,
        });
        let able = opened.filter(|(seat, _)| self.room(*seat) == Some(Tier::Idle) && self.may_bid(job, group, *seat));
        let bid = |(seat, price)| self.bid_of(group, seat, price, auction.standing[&seat], (share, job.market.tier));
        able.map(bid).collect()
    }

    fn bid_of(
        &self,
        group: &Group,
        id: SeatId,
        price: Amount,
        standing: Amount,
        (share, tier): (Amount, market::Tier),
    ) -> Bid {
        let seat = &self.seats[id.0 as usize];
        let duration = self.duration(group, id);
        let record = &self.workers[seat.worker.0 as usize].reliability;
        let per_second = u128::from(share.0) * 1_000_000 / u128::from(duration.0);
        let per_second = Amount(u64::try_from(per_second).unwrap_or(u64::MAX));
        Bid {
            bidder: id.0,
            owner: self.owner_number(seat.worker),
            price,
            until_finished: record.until_finished(duration),
            standing,
            ceiling: tier::asked(per_second, tier),
        }
    }

    /// A number that all bidders of one owner have in common.
    fn owner_number(&self, worker: WorkerId) -> u32 {
        let Some(provider) = self.workers[worker.0 as usize].offer.provider else { return worker.0 };
        let bytes = blake3::hash(&provider.0);
        let first = bytes.as_bytes().first_chunk().expect("a hash is longer than four bytes");
        u32::from_le_bytes(*first) | ACCOUNTS
    }

    /// Gives one waiting task to a winner; says whether there was one that it could take.
    fn award(&mut self, id: JobId, at: u16, won: &Won, bids: u32, effects: &mut Vec<Effect>) -> bool {
        let seat = SeatId(won.bid.bidder);
        let worker = self.seats[seat.0 as usize].worker;
        if self.jobs[&id].is_running() && self.keeps_enough(seat, id, at) {
            return false;
        }
        loop {
            let admits = |job: &&Job| job.is_running() && job.admits(worker);
            let Some(job) = self.jobs.get(&id).filter(admits) else { return false };
            let Some(index) = job.groups[usize::from(at)].peek(Some(worker)) else { return false };
            if self.take_known(id, at, index, effects) {
                continue;
            }
            let task = TaskId { job: id, group: at, index };
            let placement = Placement { seat, task, why: Why::Won, twin: None, price: Some(won.price) };
            if self.assign(&placement, effects).is_err() {
                return false;
            }
            self.keep(seat, id, Some(won.price));
            let (bid, price) = (won.bid.price, tier::price(won.price, self.jobs[&id].market.tier));
            let (score, second) = (won.bid.score().cost(), won.second.map(super::auction::Score::cost));
            let job = self.jobs.get_mut(&id).expect("it was just placed");
            job.groups[usize::from(at)].take(index);
            if job.awards.len() == AWARDS_KEPT {
                job.awards.pop_front();
            }
            job.awards.push_back(Award { group: at, index, worker, bids, bid, score, second, price });
            self.totals.tasks_auctioned += 1;
            return true;
        }
    }

    /// Ends an auction: its seats may have other work, and its group is given out otherwise.
    pub(crate) fn close_auction(&mut self, id: AuctionId, sale: Sale) {
        let Some(auction) = self.auctions.open.remove(&id) else { return };
        let held = auction.entries.keys().filter(|seat| self.auctions.by_seat.get(seat) == Some(&id));
        for seat in held.copied().collect::<Vec<_>>() {
            self.release_seat(seat);
        }
        if let Some(job) = self.jobs.get_mut(&auction.job) {
            job.groups[usize::from(auction.group)].sale = sale;
            self.queue(auction.job, auction.group);
        }
    }

    /// The hub was away, and so was everybody who could have bid: auctions begin anew.
    pub(crate) fn close_all_auctions(&mut self) {
        for id in self.auctions.open.keys().copied().collect::<Vec<_>>() {
            let auction = &self.auctions.open[&id];
            self.opened.insert((auction.job, auction.group));
            self.close_auction(id, Sale::Closed);
        }
    }
}
