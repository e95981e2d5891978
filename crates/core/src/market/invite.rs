//! Opens an auction: how many tasks are in its lot, and who is asked for a bid.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Amount, AuctionId, ByteSize, Invitation, JobId, Micros, State, WorkerId};

use super::auctions::{Auction, Entry, Stage};
use super::sale::Sale;
use crate::alarms::Alarm;
use crate::effect::Effect;
use crate::job::{Group, Job};
use crate::learn::SPEED_REFERENCE;
use crate::place::{SeatId, Tier};
use crate::state::Core;

/// Tasks that are sold together. Arrays do not need an auction for each of their elements, and no lot holds so many seats
/// that others wait.
const LOT_MAX: u32 = 64;
/// Seats that are invited even to a single task, so that there is competition.
const INVITED_MIN: u32 = 16;
/// Seats that are looked at for one auction.
const SCAN_MAX: usize = 4096;
/// What a task of unknown length is taken for on the reference machine.
const UNKNOWN: Micros = Micros(1_000_000);

impl Core {
    /// Opens an auction of a group's waiting tasks if it sells by auction, none is open and some seat may bid.
    pub(crate) fn open_auction(&mut self, id: JobId, at: u16, effects: &mut Vec<Effect>) {
        self.take_all_known(id, at, effects);
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_running() && !job.out_of_money) else { return };
        let group = &job.groups[usize::from(at)];
        let lot = group.ready().min(LOT_MAX);
        if group.sale != Sale::Closed || lot == 0 {
            return;
        }
        let mut seats = self.invited(job, group, lot);
        seats.retain(|seat| !self.keeps_enough(*seat, id, at));
        if seats.is_empty() {
            // The platform's own workers do not bid; where there are any, what nobody can be asked for may go to them.
            if !self.managed.workers.is_empty() {
                let job = self.jobs.get_mut(&id).expect("it was just seen");
                job.groups[usize::from(at)].sale = Sale::FellBack(lot);
                self.opened.insert((id, at));
            }
            return;
        }
        let standing: BTreeMap<_, _> = seats.iter().map(|seat| (*seat, self.seats[seat.0 as usize].price)).collect();
        let mut prices: Vec<Amount> = standing.values().copied().collect();
        prices.sort_unstable();
        let market = prices[(prices.len() - 1) / 2];
        let until = self.now.after(self.params.bid_ms);
        let entries: BTreeMap<SeatId, Entry> = seats.iter().map(|seat| (*seat, Entry::Invited)).collect();
        let (job, group, stage) = (id, at, Stage::Sealing);
        let auction = self.auctions.insert(Auction { job, group, lot, stage, until, market, standing, entries });
        self.ring_auction(auction, until);
        self.jobs.get_mut(&id).expect("it was just seen").groups[usize::from(at)].sale = Sale::Open(auction);
        self.queue(id, at);
        for seat in seats {
            self.relist(seat);
            let Seated { worker, device } = self.seated(seat);
            effects.push(Effect::InviteBid { worker, auction, device });
        }
        self.totals.auctions_opened += 1;
    }

    /// Tasks at the front of a group whose results are known need no worker.
    fn take_all_known(&mut self, id: JobId, at: u16, effects: &mut Vec<Effect>) {
        loop {
            let Some(job) = self.jobs.get(&id).filter(|job| job.is_running()) else { return };
            let group = &job.groups[usize::from(at)];
            let Some(index) = group.peek(None).filter(|_| group.sale == Sale::Closed) else { return };
            if !self.take_known(id, at, index, effects) {
                return;
            }
        }
    }

    /// The idle seats that are asked, those first that would be the cheapest by their posted price.
    fn invited(&self, job: &Job, group: &Group, lot: u32) -> Vec<SeatId> {
        let count = lot.saturating_mul(2).max(INVITED_MIN).min(self.params.invited_max);
        let shape = &self.shapes[group.shape];
        let idle = self.index.seats_from(Tier::Idle, Prefer::Cheap, &shape.classes, 0).take(SCAN_MAX);
        let able = idle.filter(|seat| self.room(*seat) == Some(Tier::Idle) && self.may_bid(job, group, *seat));
        able.take(count as usize).collect()
    }

    /// Whether a seat could have one of the group's waiting tasks by auction. Workers on probation get their test by posted
    /// prices.
    pub(crate) fn may_bid(&self, job: &Job, group: &Group, seat: SeatId) -> bool {
        let seat = &self.seats[seat.0 as usize];
        let worker = &self.workers[seat.worker.0 as usize];
        worker.state != State::Probation
            && seat.fits(&group.plan.needs, self.classes.named(&group.plan.needs))
            && job.admits(seat.worker)
            && group.peek(Some(seat.worker)).is_some()
    }

    /// How long a task of a group should take on a seat.
    pub(crate) fn duration(&self, group: &Group, seat: SeatId) -> Micros {
        let offered = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime);
        let speed = offered.map_or(SPEED_REFERENCE, |offered| offered.speed.max(1));
        let unknown = Micros(UNKNOWN.0 * u64::from(SPEED_REFERENCE) / u64::from(speed));
        Micros(self.programs.predict(group.program, speed).unwrap_or(unknown).0.max(1))
    }

    /// What a worker is told that may bid; `None` if bids are not taken any more.
    pub fn invitation(&self, worker: WorkerId, auction: AuctionId, device: u16) -> Option<Invitation> {
        let open = self.auctions.open.get(&auction).filter(|open| open.stage == Stage::Sealing)?;
        let seat = *self.workers.get(worker.0 as usize)?.seats.get(usize::from(device))?;
        let group = &self.jobs[&open.job].groups[usize::from(open.group)];
        let speed = self.seats[seat.0 as usize].runtime(group.plan.needs.runtime)?.speed;
        Some(Invitation {
            auction,
            device,
            job: open.job,
            task: group.plan.spec.name.clone(),
            lot: open.lot,
            runtime: group.plan.needs.runtime,
            memory: ByteSize(group.plan.spec.limits.memory),
            time_ms: group.plan.spec.limits.time_ms,
            predicted: self.programs.predict(group.program, speed),
            standing: *open.standing.get(&seat)?,
            market: open.market,
            tier: self.jobs[&open.job].market.tier,
            within_ms: open.until.since(self.now),
        })
    }

    /// Sets the alarm of an auction's stage; the stage ends when it rings.
    pub(crate) fn ring_auction(&mut self, id: AuctionId, at: gleaner_wire::Millis) {
        let rings = self.alarms.set(at, Alarm::Auction(id));
        if let Some(auction) = self.auctions.open.get_mut(&id) {
            auction.until = rings;
        }
    }

    /// Whose seat it is, and which of its devices.
    pub(crate) fn seated(&self, seat: SeatId) -> Seated {
        let seat = &self.seats[seat.0 as usize];
        Seated { worker: seat.worker, device: seat.device }
    }
}

/// A seat as its worker knows it.
pub(crate) struct Seated {
    pub worker: WorkerId,
    pub device: u16,
}
