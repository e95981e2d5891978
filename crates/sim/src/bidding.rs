//! How simulated workers bid: most honestly, some never open their bids, change them, or win and do not start.
use gleaner_core::Event;
use gleaner_wire::{
    Amount, AttemptId, AuctionId, Cause, Finished, Invitation, Micros, OpenedBid, Outcome, SealedBid, ToHub, seal_bid,
};

use crate::chance::{Chance, mix_two};
use crate::hub_side::key;
use crate::scenario::{MILLISECOND, Scenario};
use crate::world::{What, World};
use gleaner_wire::market::Mode;

/// Small worlds in which jobs are sold by auction, jobs of them that are, and workers that bid badly, per mille.
const WITH_AUCTIONS: u32 = 400;
const AUCTIONED: u32 = 600;
const BAD_BIDDERS: u32 = 300;
/// How long the hub's shell takes to draw a lot.
const DRAW_TIME: u64 = MILLISECOND;

/// How a worker bids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bidder {
    /// At most its standing price, and it keeps its word.
    Honest,
    /// It does not bid.
    Declines,
    /// It does not even answer.
    Silent,
    /// It seals bids and never opens them.
    NeverOpens,
    /// It opens its bids with another price.
    Changes,
    /// It bids next to nothing and does not start what it wins.
    NeverStarts,
}

impl Scenario {
    /// The same world, in which some jobs may be sold by auction.
    pub(crate) fn with_auctions(mut self) -> Self {
        let mut chance = Chance::new(mix_two(self.seed, 0xb1d5));
        if !chance.hits(WITH_AUCTIONS) {
            return self;
        }
        for job in &mut self.jobs {
            if chance.hits(AUCTIONED) {
                job.file.market.mode = Mode::Auction;
            }
        }
        let bad = [Bidder::Declines, Bidder::Silent, Bidder::NeverOpens, Bidder::Changes, Bidder::NeverStarts];
        for worker in &mut self.workers {
            if chance.hits(BAD_BIDDERS) {
                worker.bidder = *chance.pick(&bad);
            }
        }
        self
    }
}

impl World<'_> {
    /// How a worker bids now; when faults are over, all keep their word.
    fn bidder(&self, worker: u32) -> Bidder {
        if self.calm { Bidder::Honest } else { self.scenario.workers[worker as usize].bidder }
    }

    pub fn invited(&mut self, worker: u32, invitations: &[Invitation]) {
        let bidder = self.bidder(worker);
        if bidder == Bidder::Silent {
            return;
        }
        let mut bids = Vec::new();
        for invitation in invitations {
            let (auction, device) = (invitation.auction, invitation.device);
            let seed = mix_two(u64::from(worker) << 16 | u64::from(device), auction.0);
            let tenths = if bidder == Bidder::NeverStarts { 0 } else { 5 + seed % 6 };
            let bid = OpenedBid { auction, device, price: Amount(invitation.standing.0 * tenths / 10), nonce: [7; 32] };
            let seal = (bidder != Bidder::Declines).then(|| seal_bid(&bid, &key(worker)));
            if seal.is_some() {
                self.workers[worker as usize].bids.insert((auction, device), bid);
            }
            bids.push(SealedBid { auction, device, seal });
        }
        self.send_to_hub(worker, ToHub::Bids(bids));
    }

    pub fn open_bids(&mut self, worker: u32, asked: &[(AuctionId, u16)]) {
        let bidder = self.bidder(worker);
        let bids = &mut self.workers[worker as usize].bids;
        let mut opened: Vec<OpenedBid> = asked.iter().filter_map(|of| bids.remove(of)).collect();
        match bidder {
            Bidder::NeverOpens => return,
            Bidder::Changes => opened.iter_mut().for_each(|bid| bid.price = Amount(bid.price.0 / 2)),
            Bidder::Honest | Bidder::Declines | Bidder::Silent | Bidder::NeverStarts => {}
        }
        self.send_to_hub(worker, ToHub::Reveals(opened));
    }

    /// Whether the worker does not start what it has won.
    pub fn refuses_start(&mut self, worker: u32, attempt: AttemptId) -> bool {
        if self.bidder(worker) != Bidder::NeverStarts || !self.hub.core.is_award(attempt) {
            return false;
        }
        let outcome = Outcome::Failed { cause: Cause::RefusedByOwner, detail: "it does not want to".into() };
        self.deliver(worker, vec![Finished { attempt, ran: Micros(0), outcome }]);
        true
    }

    /// The hub's shell draws a lot; a hub that dies before does not.
    pub fn draw_lot(&mut self, auction: AuctionId) {
        self.agenda.note(self.now + DRAW_TIME, What::Draw(auction));
    }

    pub fn drawn(&mut self, auction: AuctionId) -> Result<(), String> {
        if !self.hub_up {
            return Ok(());
        }
        let seed = self.chance.next();
        self.tell(Event::LotDrawn { auction, seed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Watch;

    #[test]
    fn worlds_have_auctions_without_bids_with_equal_ones_and_with_bonds_lost() {
        let (mut opened, mut awarded, mut without, mut bonds) = (0, 0, 0, 0);
        for seed in 1..=60 {
            let scenario = Scenario::small(seed);
            let mut world = World::new(&scenario, Watch::EveryStep);
            world.run().unwrap_or_else(|what| panic!("seed {seed}: {what}"));
            let totals = world.hub.core.totals();
            opened += totals.auctions_opened;
            awarded += totals.tasks_auctioned;
            without += totals.auctions_without_bids;
            bonds += totals.bonds_lost;
        }
        assert!(opened > 500 && awarded > 500, "{opened} opened, {awarded} awarded");
        assert!(without > 20 && bonds > 0, "{without} without bids, {bonds} lost in bonds");
    }
}
