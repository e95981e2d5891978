//! A job's state: its groups, what waits, what is done, what it has cost.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::api::ContestView;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::market::Market;
use gleaner_wire::{
    Address, Amount, AttemptId, Cause, Hash, InputSpec, JobId, Micros, Millis, Output, SignedOrder, WorkerId,
};
use serde::{Deserialize, Serialize};

use crate::audit::{Proof, Verdict};
use crate::data::Inputs;
use crate::engine;
use crate::fault::Reported;
use crate::learn::ProgramId;
use crate::market::parts::Part;
use crate::market::{Award, Sale, race};
use crate::place::ShapeId;
use crate::plan;
use crate::quote::Quoted;
use crate::share::RequesterId;

/// Workers that one order can pay and hold to their stake; the contracts have the same limit.
pub(crate) const CREW_MAX: usize = 200;
/// Tasks of a job without an order whose judgements are kept.
const PROOFS_KEPT: u64 = 10_000;
/// Failures that a job remembers.
pub(crate) const FAILURES_KEPT: usize = 256;

/// Where a job stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// Its money is not locked yet.
    Ordered,
    Running,
    Done,
    Cancelled,
    Failed {
        task: Option<(u16, u32)>,
        cause: Option<Cause>,
        reason: String,
    },
}

/// A worker's part in a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub done: u64,
    pub failed: u64,
    pub ran: Micros,
    pub earned: Amount,
    /// What the requester paid for it: what was earned and the platform's share.
    pub gross: Amount,
}

/// One paid attempt of a job that is settled on a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Paid {
    pub attempt: AttemptId,
    pub group: u16,
    pub index: u32,
    pub worker: WorkerId,
    pub delivered: bool,
    pub ran: Micros,
    pub gross: Amount,
    pub verdict: Verdict,
}

/// A failed or lost attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub group: u16,
    pub index: u32,
    pub attempt: AttemptId,
    pub worker: WorkerId,
    pub cause: Cause,
    /// Whether it was stopped at the time that its prediction paid for.
    pub early: bool,
    pub detail: String,
    pub at: Millis,
}

/// What went wrong with one task so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Trouble {
    /// Workers it does not go to, and whether it may if there is no other.
    pub avoided: Vec<(WorkerId, bool)>,
    /// Workers that reported a fault of the program, and which.
    pub faults: Vec<(WorkerId, Cause)>,
    pub failures: u32,
    /// Whether it ran out of the time that was predicted, and now gets all that the job allows.
    pub full_time: bool,
    /// How often it had to give its seat up.
    pub moves: u8,
}

impl Trouble {
    pub fn avoids(&self, worker: WorkerId) -> bool {
        self.avoided.iter().any(|(avoided, _)| *avoided == worker)
    }
}

/// One `[[task]]` of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Group {
    pub plan: plan::Group,
    pub shape: ShapeId,
    pub program: ProgramId,
    /// What its elements read, if that is large.
    pub inputs: Option<Box<Inputs>>,
    /// The hash of everything that all elements have in common.
    pub work_hash: Hash,
    pub count: u32,
    /// Groups that must be done before any element may start.
    pub waits: u32,
    /// Groups of which each element needs its own share, and how many outputs that is: one with the same index, or more.
    pub paired: Vec<(u16, u32)>,
    /// Groups that read this one.
    pub readers: Vec<u16>,
    /// Elements below this one may be placed, in order.
    pub opened: u32,
    /// The next of them that never was.
    pub next: u32,
    /// Elements that came back or became ready out of order.
    pub returned: BTreeSet<u32>,
    pub troubles: BTreeMap<u32, Trouble>,
    pub outputs: Vec<Option<Output>>,
    /// What attempts at elements that are not done have saved.
    pub checkpoints: BTreeMap<u32, Output>,
    /// What attempts did of them that were moved, where that is not paid yet.
    pub parts: BTreeMap<u32, Vec<Part>>,
    /// Faults that were reported of tasks and are not believed yet.
    pub reported: BTreeMap<u32, Vec<Reported>>,
    pub done: u32,
    /// The hash of all outputs, once they are all there and somebody reads them.
    pub outputs_hash: Option<Hash>,
    /// Attempts that are out.
    pub running: u32,
    /// Tasks that have an attempt out.
    pub tasks_running: u32,
    /// Tasks whose result waits for its check.
    pub claimed: u32,
    /// While the last tasks run: their attempts by expected end.
    pub tail: Option<BTreeSet<(Millis, u32)>>,
    /// How many runs were known when the tail was built.
    pub tail_runs: u32,
    /// When a second worker may take a task, on the reference machine, and how many runs that rests on.
    pub hedge: Option<(u32, u64)>,
    /// Until when slow seats are left idle in favour of faster ones; past it they may have the work after all.
    pub held_back_until: Option<Millis>,
    /// Whether it stands in its shape's queue.
    pub queued: bool,
    /// How what waits is given out just now.
    pub sale: Sale,
    /// Since when it has, without a pause.
    pub waits_since: Option<Millis>,
}

impl Group {
    /// Whether its elements read all outputs of that group.
    pub fn gathers(&self, from: u16) -> bool {
        let gathers = |input: &InputSpec| matches!(input, InputSpec::Gather { group, .. } if *group == from);
        self.plan.spec.inputs.iter().any(gathers)
    }

    /// Whether known results may be used. Those of an engine depend on its build, so it must be known.
    pub fn uses_memo(&self) -> bool {
        self.plan.memo && !engine::is_open(&self.plan.needs)
    }

    /// How many elements could be placed now.
    pub fn ready(&self) -> u32 {
        self.opened - self.next + self.returned.len() as u32
    }

    pub fn is_done(&self) -> bool {
        self.done == self.count
    }

    /// Whether every element has been placed and only running ones are left.
    pub fn is_ending(&self) -> bool {
        self.ready() == 0 && self.running > 0 && self.done + self.claimed + self.tasks_running == self.count
    }

    pub fn output(&self, index: u32) -> Option<Output> {
        self.outputs.get(index as usize).copied().flatten()
    }

    /// The next element that may go to this worker, without taking it.
    pub fn peek(&self, worker: Option<WorkerId>) -> Option<u32> {
        let avoids = |index: &u32| {
            worker.is_some_and(|worker| self.troubles.get(index).is_some_and(|trouble| trouble.avoids(worker)))
        };
        let returned = self.returned.iter().find(|index| !avoids(index)).copied();
        returned.or_else(|| (self.next < self.opened).then_some(self.next))
    }

    /// Takes an element that was peeked.
    pub fn take(&mut self, index: u32) {
        if index == self.next && self.next < self.opened {
            self.next += 1;
        } else {
            let taken = self.returned.remove(&index);
            assert!(taken, "only a waiting element is taken");
        }
    }

    pub fn set_output(&mut self, index: u32, output: Output) {
        let at = index as usize;
        if self.outputs.len() <= at {
            self.outputs.resize(at + 1, None);
        }
        assert!(self.outputs[at].is_none(), "a task is done once");
        self.outputs[at] = Some(output);
        self.checkpoints.remove(&index);
        self.done += 1;
    }

    /// How many outputs of that group each element has for itself, if it does.
    pub fn share_of(&self, from: u16) -> Option<u32> {
        self.paired.iter().find(|(group, _)| *group == from).map(|(_, per)| *per)
    }

    /// The outputs that an element reads one by one, in the order of its inputs: group and index.
    pub fn reads(&self, index: u32) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.plan.spec.inputs.iter().flat_map(move |input| {
            let (group, share) = match input {
                InputSpec::Output { group, .. } => {
                    (*group, if self.share_of(*group).is_some() { index..index + 1 } else { 0..1 })
                }
                InputSpec::Share { group, per, .. } => (*group, share(index, *per)),
                InputSpec::File { .. } | InputSpec::Folder { .. } | InputSpec::Gather { .. } => (0, 0..0),
            };
            share.map(move |index| (group, index))
        })
    }
}

/// Which outputs an element reads, of which each has so many.
pub(crate) fn share(index: u32, per: u32) -> core::ops::Range<u32> {
    let first = index.saturating_mul(per);
    first..first.saturating_add(per)
}

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub id: JobId,
    pub submission: u128,
    pub name: String,
    pub requester: RequesterId,
    pub prefer: Prefer,
    pub market: Market,
    pub price_max: Amount,
    pub deadline: Millis,
    pub phase: Phase,
    pub groups: Vec<Group>,
    pub tasks: u64,
    pub done: u64,
    pub known: u64,
    pub running: u64,
    pub retried: u64,
    pub spent: Amount,
    /// Results that wait for their check.
    pub claims: u64,
    /// Money set aside for running attempts and unpaid results and parts of them; part of what the order holds.
    pub held: Amount,
    /// Whether nothing more can be placed until an attempt gives money back.
    pub out_of_money: bool,
    pub submitted_at: Millis,
    pub ended_at: Option<Millis>,
    pub tallies: BTreeMap<WorkerId, Tally>,
    pub failures: VecDeque<Failure>,
    /// What went to winners of auctions, the most recent last.
    pub awards: VecDeque<Award>,
    /// Results that somebody else computed differently, the most recent last.
    pub contests: VecDeque<ContestView>,
    /// What the requester signed, where money is on a chain.
    pub order: Option<SignedOrder>,
    /// Who works on it, if there is an order: a chain pays so many at once and no more.
    pub crew: BTreeSet<WorkerId>,
    /// Whose results for it cannot be checked while others' can.
    pub barred: BTreeSet<WorkerId>,
    /// What it has locked of each provider's stake, as far as that was seen.
    pub locks: BTreeMap<Address, Amount>,
    /// Whether the order was locked.
    pub locked: bool,
    /// The platform's share of what this job pays, in hundredths of a percent.
    pub share_points: u32,
    /// Every paid attempt, if there is an order.
    pub paid: Vec<Paid>,
    /// How many results were judged how.
    pub verdicts: [u64; Verdict::ALL.len()],
    /// How each result was judged, where that is kept.
    pub proofs: Vec<Proof>,
    /// What its races came to.
    pub race: race::Tally,
    /// Attempts that were moved for somebody who pays more.
    pub moved: u64,
    /// What it was quoted.
    pub quoted: Option<Quoted>,
}

impl Job {
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Whether this worker may work on it: a settlement names only so many, and results must be such as can be checked.
    pub fn admits(&self, worker: WorkerId) -> bool {
        !self.barred.contains(&worker)
            && (self.order.is_none() || self.crew.len() < CREW_MAX || self.crew.contains(&worker))
    }

    pub fn has_ended(&self) -> bool {
        match self.phase {
            Phase::Ordered | Phase::Running => false,
            Phase::Done | Phase::Cancelled | Phase::Failed { .. } => true,
        }
    }

    /// Whether it is written down how each result was judged: where there is an order, and where they are not too many.
    pub fn keeps_proofs(&self) -> bool {
        self.order.is_some() || self.tasks <= PROOFS_KEPT
    }

    /// What may still be set aside.
    pub fn money_left(&self) -> Amount {
        Amount(self.covered().0 - self.spent.0 - self.held.0)
    }
}

/// What runs of the same length have in common: the program, how it is called, and how much of it one element is.
pub(crate) fn program_key(plan: &plan::Group) -> Hash {
    let area = plan.spec.extent.tile(0).map(|tile| (tile.width, tile.height));
    hash_of(&(&plan.spec.work, area))
}

/// Everything that all elements have in common and that decides their results.
pub(crate) fn work_hash(plan: &plan::Group) -> Hash {
    let files = plan.spec.inputs.iter().map(|input| match input {
        InputSpec::File { name, data } | InputSpec::Folder { name, data } => (name.as_str(), data.root.id.to_string()),
        InputSpec::Output { name, .. } => (name.as_str(), "output".into()),
        InputSpec::Gather { name, .. } => (name.as_str(), "outputs".into()),
        InputSpec::Share { name, per, .. } => (name.as_str(), format!("{per} outputs")),
    });
    let files: Vec<_> = files.collect();
    let picture = plan.spec.extent.tile(0).map(|_| plan.spec.extent);
    hash_of(&(&plan.spec.work, &plan.needs.engine, picture, files, plan.spec.limits.output))
}

fn hash_of(value: &impl Serialize) -> Hash {
    Hash::of(&postcard::to_allocvec(value).expect("plans hold nothing that postcard cannot encode"))
}
