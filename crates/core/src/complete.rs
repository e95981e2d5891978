//! A task is done: what opens behind it, and how a job ends.
use alloc::format;
use alloc::vec::Vec;
use gleaner_wire::{Hash, InputSpec, JobId, Output};

use crate::alarms::Alarm;
use crate::audit::Verdict;
use crate::effect::Effect;
use crate::job::{Group, Job, Phase, share};
use crate::market::Sale;
use crate::state::Core;

impl Core {
    /// Books an output and opens what waited for it.
    pub(crate) fn complete(&mut self, id: JobId, at: u16, index: u32, output: Output, effects: &mut Vec<Effect>) {
        self.totals.tasks_done += 1;
        // A result that is known already is as good as one that was built on them.
        self.pay_parts(id, at, index, Verdict::NotAsked);
        self.drop_faults(id, at, index);
        let job = self.jobs.get_mut(&id).expect("only tasks of live jobs complete");
        job.done += 1;
        let finished = job.done == job.tasks;
        let group = &mut job.groups[usize::from(at)];
        group.troubles.remove(&index);
        group.set_output(index, output);
        if !group.readers.is_empty() {
            let (done, readers) = (group.is_done(), group.readers.clone());
            for reader in readers {
                self.open_reader(id, at, reader, index, done);
            }
        }
        if finished {
            self.end_job(id, Phase::Done, effects);
        }
    }

    fn open_reader(&mut self, id: JobId, from: u16, reader: u16, index: u32, done: bool) {
        let job = self.jobs.get_mut(&id).expect("only groups of live jobs open");
        let group = &job.groups[usize::from(reader)];
        let (per, gathered) = (group.share_of(from), group.gathers(from));
        if let Some(per) = per
            && group.waits == 0
            && element_is_ready(job, reader, index / per)
        {
            job.groups[usize::from(reader)].returned.insert(index / per);
            self.opened.insert((id, reader));
        } else if done && (gathered || per.is_none()) {
            job.groups[usize::from(reader)].waits -= 1;
            self.open_if_ready(id, reader);
        }
    }

    /// Opens a group whose groups before it are all done.
    pub(crate) fn open_if_ready(&mut self, id: JobId, at: u16) {
        let job = self.jobs.get_mut(&id).expect("only groups of live jobs open");
        if job.groups[usize::from(at)].waits > 0 {
            return;
        }
        let work_hash = with_inputs(job, at);
        if job.groups[usize::from(at)].paired.is_empty() {
            let group = &mut job.groups[usize::from(at)];
            group.opened = group.count;
        } else {
            let count = job.groups[usize::from(at)].count;
            let ready: Vec<u32> = (0..count).filter(|index| element_is_ready(job, at, *index)).collect();
            job.groups[usize::from(at)].returned.extend(ready);
        }
        job.groups[usize::from(at)].work_hash = work_hash;
        self.opened.insert((id, at));
    }

    /// What stands for the work of one element: equal key, equal result. Results are reused within one requester's jobs
    /// only, so that nobody can plant a wrong one for somebody else.
    pub(crate) fn memo_key(&self, id: JobId, at: u16, index: u32) -> Hash {
        let job = &self.jobs[&id];
        let group = &job.groups[usize::from(at)];
        let extent = &group.plan.spec.extent;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&group.work_hash.0);
        hasher.update(&extent.value(index).to_le_bytes());
        hasher.update(self.share.name(job.requester).as_bytes());
        for (from, per) in &group.paired {
            for output in share(index, *per).filter_map(|at| job.groups[usize::from(*from)].output(at)) {
                hasher.update(&output.hash().0);
            }
        }
        Hash(*hasher.finalize().as_bytes())
    }

    /// Ends a job: calls off what runs, gives back what is left of the order, and hands the job to the archive.
    pub(crate) fn end_job(&mut self, id: JobId, phase: Phase, effects: &mut Vec<Effect>) {
        let job = self.jobs.get_mut(&id).expect("only live jobs end");
        assert!(!job.has_ended(), "a job ends once");
        match phase {
            Phase::Ordered | Phase::Running => unreachable!("a job does not end by going on"),
            Phase::Done => self.totals.jobs_done += 1,
            Phase::Cancelled => self.totals.jobs_cancelled += 1,
            Phase::Failed { .. } => self.totals.jobs_failed += 1,
        }
        job.phase = phase;
        job.ended_at = Some(self.now);
        self.alarms.unset(job.deadline, Alarm::Job(id));
        let (running, requester, groups) = (job.running, job.requester, job.groups.len() as u16);
        if job.claims > 0 {
            self.close_claims(id, effects);
        }
        if running > 0 {
            let out = self.attempts.iter().filter(|(_, attempt)| attempt.job == id);
            let out: Vec<u32> = out.map(|(slot, _)| slot).collect();
            for slot in out {
                self.cancel_attempt(slot, effects);
            }
        }
        self.close_parts(id);
        self.close_faults(id);
        self.let_go(id);
        for at in 0..groups {
            if let Sale::Open(auction) = self.jobs[&id].groups[usize::from(at)].sale {
                self.close_auction(auction, Sale::Closed);
            }
            self.queue(id, at);
            self.leave_tail(id, at);
            self.opened.remove(&(id, at));
        }
        self.take_back_backing(id);
        let name = self.share.name(requester);
        self.ledger.release(id, name);
        effects.push(Effect::AnnounceJob { job: id });
        effects.push(Effect::ArchiveJob { job: id });
    }

    /// The cap is used up: wait for running attempts to give money back, or end if there are none.
    pub(crate) fn run_out_of_money(&mut self, id: JobId, effects: &mut Vec<Effect>) {
        let job = self.jobs.get_mut(&id).expect("only live jobs run out of money");
        job.out_of_money = true;
        let (running, groups) = (job.running + job.claims, job.groups.len() as u16);
        if running == 0 && self.back_all(id) {
            return;
        }
        let job = &self.jobs[&id];
        if running == 0 {
            let left = job.tasks - job.done;
            let reason = format!(
                "the price cap of {} GLN is used up ({} GLN spent) with {left} tasks left; raise budget.price_max",
                job.price_max, job.spent
            );
            self.end_job(id, Phase::Failed { task: None, cause: None, reason }, effects);
            return;
        }
        for at in 0..groups {
            self.queue(id, at);
        }
    }
}

fn element_is_ready(job: &Job, at: u16, index: u32) -> bool {
    let group = &job.groups[usize::from(at)];
    let has = |(from, per): &(u16, u32)| {
        let from = &job.groups[usize::from(*from)];
        share(index, *per).all(|at| from.output(at).is_some())
    };
    group.paired.iter().all(has)
}

/// The work of a group together with the outputs that all its elements read.
fn with_inputs(job: &mut Job, at: u16) -> Hash {
    let group = &job.groups[usize::from(at)];
    let from = group.plan.spec.inputs.iter().filter_map(InputSpec::group);
    let from: Vec<u16> = from.filter(|from| group.share_of(*from).is_none() || group.gathers(*from)).collect();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&group.work_hash.0);
    for from in from {
        hasher.update(&outputs_hash(&mut job.groups[usize::from(from)]).0);
    }
    Hash(*hasher.finalize().as_bytes())
}

/// The hash of all outputs of a group, reckoned once however many read them.
fn outputs_hash(group: &mut Group) -> Hash {
    let outputs = &group.outputs;
    *group.outputs_hash.get_or_insert_with(|| {
        let mut hasher = blake3::Hasher::new();
        outputs.iter().flatten().for_each(|output| {
            hasher.update(&output.hash().0);
        });
        Hash(*hasher.finalize().as_bytes())
    })
}
