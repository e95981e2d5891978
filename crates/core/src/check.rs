//! Every invariant of the state, checked in one slow sweep. The simulator and the tests call it after every step.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use gleaner_wire::{Amount, State, WorkerId};

use crate::attempt::Why;
use crate::job::{Group, Job};
use crate::ledger::Account;
use crate::market::{Entry, Sale};
use crate::state::Core;

impl Core {
    /// The first invariant that does not hold, in words.
    pub fn check(&self) -> Result<(), String> {
        ensure(self.ledger.balances(), || "money does not sum to zero".into())?;
        ensure(self.hungry.is_empty() && self.opened.is_empty(), || "work is left over between events".into())?;
        self.jobs.values().try_for_each(|job| self.check_job(job))?;
        self.check_attempts()?;
        self.check_claims()?;
        self.check_holders()?;
        self.check_firmness()?;
        self.check_workers()?;
        self.check_auctions()?;
        self.check_managed()
    }

    fn check_managed(&self) -> Result<(), String> {
        for (id, worker) in self.workers.iter().enumerate() {
            let managed = self.managed.keys.contains(&worker.key);
            ensure(managed == worker.managed, || format!("worker {id} does not know whose it is"))?;
            let listed = self.managed.workers.contains(&WorkerId(id as u32));
            ensure(managed == listed, || {
                format!("worker {id} is among the managed ones and should not be, or the reverse")
            })?;
            let differs = worker.seats.iter().any(|seat| self.seats[seat.0 as usize].managed != managed);
            ensure(!differs, || format!("a seat of worker {id} does not know whose it is"))?;
        }
        let offered = self.seats.iter().filter(|seat| seat.offered).count();
        ensure(self.search.len() == offered, || format!("{} of {offered} seats can be found", self.search.len()))
    }

    fn check_job(&self, job: &Job) -> Result<(), String> {
        let order = self.ledger.balance(&Account::Order(job.id));
        let open = if job.is_running() { job.covered().0 - job.spent.0 } else { 0 };
        ensure(order == Amount(open), || format!("job {}: its order holds {order}, not {}", job.id, Amount(open)))?;
        ensure(job.spent.0 + job.held.0 <= job.covered().0, || format!("job {} is over its cap", job.id))?;
        let done: u64 = job.groups.iter().map(|group| u64::from(group.done)).sum();
        ensure(done == job.done, || format!("job {}: {done} outputs, {} counted", job.id, job.done))?;
        for (at, group) in (0_u16..).zip(&job.groups) {
            self.check_group(job, at, group)?;
        }
        Ok(())
    }

    fn check_group(&self, job: &Job, at: u16, group: &Group) -> Result<(), String> {
        let name = || format!("job {} group {at}", job.id);
        let outputs = group.outputs.iter().flatten().count() as u32;
        ensure(outputs == group.done, || format!("{}: {outputs} outputs, {} counted", name(), group.done))?;
        if !job.is_running() {
            return ensure(group.running == 0 && !group.queued, || format!("{}: still active", name()));
        }
        if group.waits == 0 && group.paired.is_empty() {
            let all = group.done + group.tasks_running + group.claimed + group.ready();
            ensure(all == group.count, || format!("{}: {all} of {} tasks are somewhere", name(), group.count))?;
        }
        let needs = &self.shapes[group.shape].needs;
        ensure(*needs == group.plan.needs, || format!("{}: its shape has other needs", name()))?;
        let stale = group.checkpoints.keys().any(|index| group.output(*index).is_some());
        ensure(!stale, || format!("{}: a task that is done has a checkpoint", name()))?;
        for (expected, slot) in group.tail.iter().flatten() {
            let attempt = self.attempts.get(*slot).filter(|attempt| attempt.job == job.id && attempt.group == at);
            let listed = attempt.is_some_and(|attempt| attempt.expected == Some(*expected));
            ensure(listed, || format!("{}: slot {slot} is among the last attempts and should not be", name()))?;
        }
        let waits = group.ready() > 0 && !job.out_of_money && !group.sale.is_open();
        ensure(group.queued == waits, || format!("{}: {} ready, queued: {}", name(), group.ready(), group.queued))?;
        ensure(job.running + job.claims > 0 || !job.out_of_money, || format!("{}: nothing will give it money", name()))
    }

    fn check_attempts(&self) -> Result<(), String> {
        let mut held: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for (slot, attempt) in self.attempts.iter() {
            let worker = &self.workers[attempt.worker.0 as usize];
            let listed = worker.attempts.get(attempt.position as usize) == Some(&slot);
            ensure(listed, || format!("attempt in slot {slot} is not on its worker's list"))?;
            ensure(attempt.twin.is_none_or(|twin| self.attempts.at(twin).twin == Some(slot)), || {
                format!("attempt in slot {slot} has a twin that does not know it")
            })?;
            if let Why::Audit(claim) = attempt.why {
                let audit = self.claims.all.get(&claim).and_then(|claim| claim.audit.as_ref());
                let known = audit.is_some_and(|audit| audit.asked.contains_key(&self.attempts.id(slot)));
                ensure(known, || format!("the audit in slot {slot} belongs to no claim"))?;
                continue;
            }
            let sums = held.entry(attempt.job).or_default();
            (sums.0, sums.1) = (sums.0 + 1, sums.1 + attempt.hold.0);
        }
        for claim in self.claims.all.values() {
            let sums = held.entry(claim.attempt.job).or_default();
            sums.1 += claim.gross.0;
        }
        for job in self.jobs.values() {
            held.entry(job.id).or_default().1 += job.held_for_parts().0 + job.held_for_faults().0;
        }
        self.jobs.values().try_for_each(|job| {
            let (count, sum) = held.get(&job.id).copied().unwrap_or_default();
            ensure(count == job.running && sum == job.held.0, || {
                format!("job {}: {count} attempts hold {sum}, {} and {} counted", job.id, job.running, job.held.0)
            })
        })
    }

    fn check_claims(&self) -> Result<(), String> {
        let mut counts: BTreeMap<_, u64> = BTreeMap::new();
        for (id, claim) in &self.claims.all {
            *counts.entry(claim.attempt.job).or_default() += 1;
            let waits = self.claims.open.contains(id) || self.claims.drawing.contains(id);
            let asked = claim.audit.as_ref().is_some_and(|audit| !audit.asked.is_empty());
            ensure(waits || asked, || format!("nothing will decide the claim of attempt {id}"))?;
        }
        self.jobs.values().try_for_each(|job| {
            let count = counts.get(&job.id).copied().unwrap_or_default();
            ensure(count == job.claims, || format!("job {}: {count} claims, {} counted", job.id, job.claims))
        })
    }

    /// Every auction is of a group that waits for it and ends in time; every seat takes part in one at most.
    fn check_auctions(&self) -> Result<(), String> {
        for (id, auction) in &self.auctions.open {
            let group = self.jobs.get(&auction.job).map(|job| &job.groups[usize::from(auction.group)]);
            let known = group.is_some_and(|group| group.sale == Sale::Open(*id));
            ensure(known, || format!("auction {id} is of a group that does not wait for it"))?;
            ensure(auction.until > self.now, || format!("auction {id} is left open"))?;
            let held = auction.entries.iter().filter(|(_, entry)| **entry != Entry::Out).map(|(seat, _)| seat);
            let theirs = self.auctions.by_seat.iter().filter(|(_, of)| *of == id).map(|(seat, _)| seat);
            ensure(held.eq(theirs), || format!("auction {id} has other seats than it holds"))?;
        }
        let open = self.auctions.by_seat.values().all(|id| self.auctions.open.contains_key(id));
        ensure(open, || "a seat takes part in an auction that has ended".into())?;
        let groups = self.jobs.values().flat_map(|job| &job.groups);
        let waiting = groups.filter(|group| group.sale.is_open()).count();
        ensure(waiting == self.auctions.open.len(), || "a group waits for an auction that has ended".into())
    }

    fn check_holders(&self) -> Result<(), String> {
        let mut users = BTreeMap::new();
        let groups = self.jobs.values().flat_map(|job| &job.groups);
        for (id, _) in groups.filter_map(|group| group.inputs.as_ref()).flat_map(|inputs| &inputs.sets) {
            *users.entry(*id).or_default() += 1;
        }
        let online = |worker: WorkerId| self.workers[worker.0 as usize].state != State::Offline;
        self.holders.check(&users, online).map_err(|broken| format!("holders of data: {broken}"))
    }

    fn check_workers(&self) -> Result<(), String> {
        let mut in_flight = alloc::vec![0_u32; self.seats.len()];
        self.attempts.iter().for_each(|(_, attempt)| in_flight[attempt.seat.0 as usize] += 1);
        for (at, seat) in self.seats.iter().enumerate() {
            let counted = in_flight[at];
            ensure(counted == seat.in_flight, || format!("seat {at}: {counted} attempts, {} counted", seat.in_flight))?;
            let closed = !seat.offered || seat.resting || seat.testing;
            ensure(!closed || seat.listed.is_none(), || format!("seat {at} is listed and takes no work"))?;
            ensure(!seat.resting || !seat.counted, || format!("seat {at} rests and counts as online"))?;
        }
        for (id, worker) in self.workers.iter().enumerate() {
            let alarmed = worker.attempts.is_empty() || worker.alarm.is_some();
            ensure(alarmed, || format!("worker {id} holds attempts and has no alarm"))?;
        }
        Ok(())
    }
}

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
