//! How firm a place on a worker is, and what that costs.
//!
//! A seat that works for a reserved job is kept for it: it takes nothing else until nothing of the job is left to start. An
//! interruptible attempt gives its seat up when a task of a firmer tier fits it and finds no other: it gets notice, saves how
//! far it is, hands itself back, and goes on elsewhere. It is paid for what it ran if it left a checkpoint (see `parts`);
//! otherwise its work is lost, and nobody pays for it.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use gleaner_wire::market::Tier;
use gleaner_wire::{Amount, AttemptId, JobId, Micros, Millis, TaskId};
use serde::{Deserialize, Serialize};

use crate::effect::Effect;
use crate::feed::{Taken, Whose};
use crate::job::Job;
use crate::place::{self, SeatId};
use crate::state::Core;

/// Attempts that are looked at for one that gives its seat up.
const SCAN_MAX: usize = 256;
/// Attempts that get notice for one group at a time.
const NOTICES_MAX: usize = 64;
/// How often one task is moved: then it may stay until it ends, so that it does end.
const MOVES_MAX: u8 = 3;

/// An attempt must give its seat up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    /// By when it must be handed back.
    pub by: Millis,
    /// For which job and group.
    pub to: (JobId, u16),
}

/// What a second costs, in hundredths of a percent of what its owner asks.
const fn price_points(tier: Tier) -> u64 {
    match tier {
        // Its seats take nothing else while the job runs, also when they have nothing to do for it.
        Tier::Reserved => 12_500,
        Tier::OnDemand => 10_000,
        // Less by what the platform's share is: where money is in the hub's books it takes none, and the owner has as much.
        Tier::Interruptible => 8500,
    }
}

/// What a second on a seat costs a job.
pub fn price(asked: Amount, tier: Tier) -> Amount {
    if tier == Tier::OnDemand {
        return asked;
    }
    let points = u128::from(asked.0) * u128::from(price_points(tier));
    Amount(u64::try_from(points.div_ceil(10_000)).unwrap_or(u64::MAX))
}

/// The most that may be asked for a second where a job can pay this much.
pub(crate) fn asked(paid: Amount, tier: Tier) -> Amount {
    let asked = u128::from(paid.0) * 10_000 / u128::from(price_points(tier));
    Amount(u64::try_from(asked).unwrap_or(u64::MAX))
}

/// The platform's share of what a job pays, in hundredths of a percent; on a chain it is the contract's.
pub(crate) fn share_points(tier: Tier, usual: u32) -> u32 {
    match tier {
        Tier::Reserved | Tier::OnDemand => usual,
        Tier::Interruptible => usual.saturating_sub(1500),
    }
}

/// A seat that is kept for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    job: JobId,
    /// What it asks for a second, if it was won by auction.
    won: Option<Amount>,
}

/// Seats that are kept for reserved jobs, and attempts that may have to go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Firmness {
    kept: BTreeMap<SeatId, Kept>,
    /// Running attempts of interruptible jobs that have no notice.
    soft: BTreeSet<u32>,
    /// Those that have.
    noticed: BTreeSet<u32>,
    /// Interruptible jobs that have not ended.
    soft_jobs: u64,
}

impl Firmness {
    /// For whom a seat is kept.
    pub fn kept_for(&self, seat: SeatId) -> Option<JobId> {
        self.kept.get(&seat).map(|kept| kept.job)
    }

    /// The price at which an auction has won a seat that is kept for a job.
    pub fn won_price(&self, seat: SeatId, job: JobId) -> Option<Amount> {
        self.kept.get(&seat).filter(|kept| kept.job == job)?.won
    }

    /// Nothing is kept of a seat any more; says whether it was.
    pub fn give_up(&mut self, seat: SeatId) -> bool {
        self.kept.remove(&seat).is_some()
    }

    /// How many seats are kept for a job.
    pub fn kept(&self, job: JobId) -> u64 {
        self.kept.values().filter(|kept| kept.job == job).count() as u64
    }

    /// Whether any job here can be outbid.
    pub fn has_soft_jobs(&self) -> bool {
        self.soft_jobs > 0
    }

    pub fn job_came(&mut self, tier: Tier) {
        self.soft_jobs += u64::from(tier == Tier::Interruptible);
    }

    pub fn attempt_started(&mut self, slot: u32, tier: Tier) {
        if tier == Tier::Interruptible {
            self.soft.insert(slot);
        }
    }

    pub fn attempt_ended(&mut self, slot: u32) {
        if self.soft_jobs > 0 {
            self.soft.remove(&slot);
            self.noticed.remove(&slot);
        }
    }
}

impl Core {
    /// The best of the seats that are kept for a job, with room for this element.
    pub(crate) fn kept_seat(&self, task: TaskId) -> Option<(SeatId, place::Tier)> {
        let job = &self.jobs[&task.job];
        if job.market.tier != Tier::Reserved {
            return None;
        }
        let group = &job.groups[usize::from(task.group)];
        let (needs, named) = (&group.plan.needs, self.classes.named(&group.plan.needs));
        let trouble = group.troubles.get(&task.index);
        let fitting = self.firmness.kept.iter().filter(|(_, kept)| kept.job == task.job).filter(|(id, _)| {
            let seat = &self.seats[id.0 as usize];
            self.tier(**id) == Some(place::Tier::Idle)
                && seat.fits(needs, named)
                && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker))
                && job.admits(seat.worker)
                && self.can_pay(**id, task)
        });
        let rank = |id: SeatId| {
            self.seats[id.0 as usize].runtime(needs.runtime).map_or(usize::MAX, |offered| offered.cell.rank(job.prefer))
        };
        fitting.map(|(id, _)| *id).min_by_key(|id| rank(*id)).map(|id| (id, place::Tier::Idle))
    }

    /// Whether a job that reserves must leave this seat to others: reserved jobs keep at most half of what fits, so that
    /// nobody has to wait for ever. One seat that can have its next element each of them may keep in any case.
    pub(crate) fn keeps_enough(&mut self, seat: SeatId, id: JobId, at: u16) -> bool {
        let job = &self.jobs[&id];
        if job.market.tier != Tier::Reserved || self.firmness.kept_for(seat) == Some(id) {
            return false;
        }
        let group = &job.groups[usize::from(at)];
        let (shape, named) = (group.shape, self.classes.named(&group.plan.needs));
        let index = group.peek(Some(self.seats[seat.0 as usize].worker));
        let trouble = index.and_then(|index| group.troubles.get(&index));
        let (mut kept, mut own) = (u64::from(self.seats[seat.0 as usize].slots), false);
        for (of, keeper) in &self.firmness.kept {
            let seat = &self.seats[of.0 as usize];
            if seat.counted && seat.fits(&group.plan.needs, named) {
                kept += u64::from(seat.slots);
                own |= keeper.job == id && trouble.is_none_or(|trouble| !trouble.avoids(seat.worker));
            }
        }
        own && kept * 2 > self.shapes.fleet(&self.classes, shape).slots
    }

    /// A reserved job has got a seat: it keeps it, at the price that an auction gave or the seat's own. The platform's own
    /// seats are there for everybody who is late, and not kept.
    pub(crate) fn keep(&mut self, seat: SeatId, job: JobId, won: Option<Amount>) {
        if self.jobs[&job].market.tier == Tier::Reserved && !self.seats[seat.0 as usize].managed {
            self.firmness.kept.entry(seat).or_insert(Kept { job, won });
            self.relist(seat);
        }
    }

    /// Fills a seat that is kept for a job with tasks of that job; gives it back if none are left to start.
    pub(crate) fn feed_kept(&mut self, seat: SeatId, id: JobId, effects: &mut Vec<Effect>) {
        let groups = self.jobs.get(&id).map_or(0, |job| job.groups.len() as u16);
        for _ in 0..self.params.in_flight_max {
            let Some(tier) = self.tier(seat).filter(|tier| *tier == place::Tier::Idle) else { return };
            let took = (0..groups).any(|at| {
                self.fits_group(seat, id, at)
                    && matches!(self.take_for(seat, tier, (id, at), Whose::Any, effects), Taken::Yes)
            });
            if !took {
                break;
            }
        }
        let open = self.jobs.get(&id).is_some_and(|job| job.is_running() && has_more(job));
        if !open {
            self.stop_keeping(seat);
        }
        self.let_go_if_stalled(id);
    }

    /// A reserved job of which nothing runs although something could keeps nothing: what it keeps does not help it, and others
    /// may wait for that while it waits for theirs.
    pub(crate) fn let_go_if_stalled(&mut self, id: JobId) {
        let stalled = |job: &Job| {
            let keeps = job.market.tier == Tier::Reserved && job.running == 0;
            keeps && job.groups.iter().any(|group| group.ready() > 0)
        };
        let kept = if self.jobs.get(&id).is_some_and(stalled) { self.kept_by(id) } else { Vec::new() };
        if !kept.is_empty() {
            kept.into_iter().for_each(|seat| self.stop_keeping(seat));
            // Others did not get what waits only because of those that it kept.
            self.look_again(id);
        }
    }

    /// The seats that are kept for a job.
    pub(crate) fn kept_by(&self, id: JobId) -> Vec<SeatId> {
        let kept = self.firmness.kept.iter().filter(|(_, kept)| kept.job == id);
        kept.map(|(seat, _)| *seat).collect()
    }

    /// A seat is everybody's again.
    pub(crate) fn stop_keeping(&mut self, seat: SeatId) {
        if self.firmness.give_up(seat) {
            self.relist(seat);
            self.hungry.push(seat);
        }
    }

    fn fits_group(&self, seat: SeatId, id: JobId, at: u16) -> bool {
        let Some(group) = self.jobs.get(&id).map(|job| &job.groups[usize::from(at)]) else { return false };
        let needs = &group.plan.needs;
        group.ready() > 0 && self.seats[seat.0 as usize].fits(needs, self.classes.named(needs))
    }

    /// A job has ended: its seats are everybody's again.
    pub(crate) fn let_go(&mut self, id: JobId) {
        match self.jobs[&id].market.tier {
            Tier::Interruptible => self.firmness.soft_jobs -= 1,
            Tier::OnDemand => {}
            Tier::Reserved => self.kept_by(id).into_iter().for_each(|seat| self.stop_keeping(seat)),
        }
    }

    /// A group waits that pays more than interruptible jobs do: as many of their attempts as it could use get notice.
    pub(crate) fn outbid(&mut self, id: JobId, at: u16, effects: &mut Vec<Effect>) {
        if self.firmness.soft.is_empty() {
            return;
        }
        let Some(job) = self.jobs.get(&id).filter(|job| job.is_running() && !job.out_of_money) else { return };
        let group = &job.groups[usize::from(at)];
        // While bids are taken, there are seats that may do.
        let waits = job.market.tier != Tier::Interruptible && !group.sale.is_open();
        let Some(index) = group.peek(None).filter(|_| waits) else { return };
        let promised = self
            .firmness
            .noticed
            .iter()
            .filter(|slot| self.attempts.at(**slot).notice.is_some_and(|notice| notice.to == (id, at)));
        let wanted = (group.ready() as usize).min(NOTICES_MAX).saturating_sub(promised.count());
        let task = TaskId { job: id, group: at, index };
        // The youngest has least to lose.
        let newest: Vec<u32> = self.firmness.soft.iter().rev().take(SCAN_MAX).copied().collect();
        let mut given = 0;
        for slot in newest {
            if given < wanted && self.gives_way(slot, task) {
                self.give_notice(slot, (id, at), effects);
                given += 1;
            }
        }
    }

    /// Whether the seat of an interruptible attempt would take this element in its place.
    fn gives_way(&mut self, slot: u32, task: TaskId) -> bool {
        let attempt = self.attempts.at(slot);
        let seat = &self.seats[attempt.seat.0 as usize];
        let (id, worker) = (attempt.seat, seat.worker);
        let moves = self.jobs[&attempt.job].groups[usize::from(attempt.group)].troubles.get(&attempt.index);
        if moves.is_some_and(|trouble| trouble.moves >= MOVES_MAX) {
            return false;
        }
        let job = &self.jobs[&task.job];
        let group = &job.groups[usize::from(task.group)];
        let avoided = group.troubles.get(&task.index).is_some_and(|trouble| trouble.avoids(worker));
        let theirs = self.firmness.kept_for(id).is_none_or(|job| job == task.job) && !self.auctions.hold(id);
        seat.offered
            && !seat.resting
            && !seat.testing
            && theirs
            && seat.fits(&group.plan.needs, self.classes.named(&group.plan.needs))
            && self.workers[worker.0 as usize].takes_work(self.now)
            && !avoided
            && job.admits(worker)
            && !self.is_stretched(worker)
            && self.can_pay(id, task)
            && !self.leaves_to_others(id, place::Tier::Idle, task.job, task.group)
    }

    fn give_notice(&mut self, slot: u32, to: (JobId, u16), effects: &mut Vec<Effect>) {
        let by = self.now.after(self.params.notice_ms);
        let attempt = self.attempts.at_mut(slot);
        attempt.notice = Some(Notice { by, to });
        let worker = attempt.worker;
        self.firmness.soft.remove(&slot);
        self.firmness.noticed.insert(slot);
        self.alarm_worker_by(worker, by);
        let attempt = self.attempts.id(slot);
        effects.push(Effect::YieldAttempt { worker, attempt, by_ms: self.params.notice_ms });
    }

    /// An attempt that had notice was handed back, or its time to do so is over. What left a checkpoint is paid for: another
    /// one goes on from there.
    pub(crate) fn move_attempt(&mut self, slot: u32, ran: Micros, effects: &mut Vec<Effect>) {
        let id = self.attempts.id(slot);
        let at = self.attempts.at(slot);
        // Beside another attempt nobody goes on from where it was.
        let leaves_part = at.saved && at.twin.is_none();
        if leaves_part {
            self.cover_run(slot, ran);
        }
        let attempt = self.release_attempt(slot, effects);
        if leaves_part {
            self.owe_part(&attempt, id, ran);
        }
        self.totals.attempts_moved += 1;
        let job = self.jobs.get_mut(&attempt.job).expect("an attempt's job is there");
        job.moved += 1;
        let running = job.is_running();
        let group = &mut job.groups[usize::from(attempt.group)];
        group.troubles.entry(attempt.index).or_default().moves += 1;
        if running && attempt.twin.is_none() {
            group.returned.insert(attempt.index);
            self.opened.insert((attempt.job, attempt.group));
        }
        effects.push(Effect::AnnounceJob { job: attempt.job });
    }

    /// An attempt that had notice was not handed back in time.
    pub(crate) fn take_away(&mut self, id: AttemptId, effects: &mut Vec<Effect>) {
        let Some(slot) = self.attempts.slot(id) else { return };
        let worker = self.attempts.at(slot).worker;
        effects.push(Effect::CancelAttempt { worker, attempt: id });
        self.attempts.at_mut(slot).saved = false;
        self.move_attempt(slot, Micros(0), effects);
        self.await_word(worker);
    }

    /// What must hold of firm and soft places.
    pub(crate) fn check_firmness(&self) -> Result<(), &'static str> {
        let Firmness { kept, soft, noticed, soft_jobs } = &self.firmness;
        let reserved =
            |job: &JobId| self.jobs.get(job).is_some_and(|job| job.is_running() && job.market.tier == Tier::Reserved);
        let alone = |seat: &SeatId| {
            let seat = &self.seats[seat.0 as usize];
            seat.listed.is_none() && !seat.managed
        };
        if !kept.iter().all(|(seat, kept)| reserved(&kept.job) && alone(seat)) {
            return Err("a seat is kept for nobody, or offered to others");
        }
        let tier = |slot: u32| self.jobs[&self.attempts.at(slot).job].market.tier;
        let sets = self.attempts.iter().all(|(slot, attempt)| {
            let listed = (soft.contains(&slot), noticed.contains(&slot));
            let soft = tier(slot) == Tier::Interruptible && !attempt.is_audit();
            listed == (soft && attempt.notice.is_none(), attempt.notice.is_some())
        });
        if !sets || soft.len() + noticed.len() > self.attempts.len() {
            return Err("the attempts that can be outbid are not those that are listed so");
        }
        let jobs = self.jobs.values().filter(|job| !job.has_ended() && job.market.tier == Tier::Interruptible);
        if jobs.count() as u64 == *soft_jobs { Ok(()) } else { Err("interruptible jobs are miscounted") }
    }
}

/// Whether anything of a job is left to start.
fn has_more(job: &Job) -> bool {
    job.groups.iter().any(|group| group.done + group.claimed + group.tasks_running < group.count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firmer_place_costs_more() {
        let prices = [Tier::Interruptible, Tier::OnDemand, Tier::Reserved].map(|tier| price(Amount(1000), tier).0);
        assert_eq!(prices, [850, 1000, 1250]);
        assert_eq!(price(Amount(1), Tier::Interruptible), Amount(1), "nothing is free");
        for (paid, tier) in [(1249, Tier::Reserved), (1250, Tier::Reserved), (849, Tier::Interruptible)] {
            let most = asked(Amount(paid), tier);
            assert!(price(most, tier).0 <= paid && price(Amount(most.0 + 1), tier).0 > paid, "{paid} {tier}");
        }
    }

    #[test]
    fn an_owner_has_as_much_of_an_interruptible_task_as_of_another() {
        let net = |tier| {
            let gross = price(Amount(1_000_000), tier);
            gross.0 - gross.basis_points(share_points(tier, 1500)).0
        };
        assert_eq!(net(Tier::Interruptible), net(Tier::OnDemand));
    }
}
