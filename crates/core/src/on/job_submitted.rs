//! A planned job was submitted: reserve its cap, make its groups, open those that wait for nothing.
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::{Amount, Hash, InputSpec, JobId};

use crate::alarms::Alarm;
use crate::effect::Effect;
use crate::event::Ticket;
use crate::job::{Group, Job, Phase};
use crate::ledger::Account;
use crate::plan::{self, Graph};
use crate::state::Core;

/// Jobs that one hub works on at a time.
const JOBS_MAX: usize = 100_000;

impl Core {
    pub(crate) fn on_job_submitted(
        &mut self,
        ticket: Ticket,
        submission: u128,
        requester: &str,
        graph: Graph,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(job) = self.submissions.get(&submission).and_then(|job| self.jobs.get(job)) {
            let (job, tasks, reserved) = (job.id, job.tasks, job.price_max);
            effects.push(Effect::AcceptJob { ticket, job, tasks, reserved });
            return;
        }
        let reserved = graph.price_max.unwrap_or(self.params.price_max_default);
        let id = JobId(self.jobs_made + 1);
        if let Err(reason) = self.reserve(id, requester, reserved) {
            effects.push(Effect::RefuseJob { ticket, reason });
            return;
        }
        self.jobs_made += 1;
        self.totals.jobs_submitted += 1;
        let job = self.new_job(id, submission, requester, reserved, graph);
        let (tasks, deadline, groups) = (job.tasks, job.deadline, job.groups.len() as u16);
        self.submissions.insert(submission, id);
        self.jobs.insert(id, job);
        self.alarms.set(deadline, Alarm::Job(id));
        effects.push(Effect::AcceptJob { ticket, job: id, tasks, reserved });
        effects.push(Effect::AnnounceJob { job: id });
        for group in 0..groups {
            self.open_if_ready(id, group);
        }
    }

    fn reserve(&mut self, id: JobId, requester: &str, cap: Amount) -> Result<(), String> {
        if self.jobs.len() >= JOBS_MAX {
            return Err(format!("the hub has {JOBS_MAX} jobs in hand; try again later"));
        }
        let account = Account::Requester(requester.into());
        self.ledger.transfer(&account, &Account::Order(id), cap).map_err(|short| {
            format!("the price cap of {cap} GLN is not covered: {short}. Lower budget.price_max or add money")
        })
    }

    fn new_job(&mut self, id: JobId, submission: u128, requester: &str, price_max: Amount, graph: Graph) -> Job {
        let requester = self.share.requester(requester);
        let counts: Vec<u64> = graph.groups.iter().map(|group| group.spec.extent.count()).collect();
        let tasks = counts.iter().sum();
        let deadline = self.now.after(graph.time_max);
        let mut readers: Vec<BTreeSet<u16>> = graph.groups.iter().map(|_| BTreeSet::new()).collect();
        for (at, group) in (0..).zip(&graph.groups) {
            for from in group.spec.inputs.iter().filter_map(InputSpec::group) {
                readers[usize::from(from)].insert(at);
            }
        }
        let prefer = graph.prefer;
        let groups = graph.groups.into_iter().zip(readers);
        let groups = groups.map(|(plan, readers)| self.new_group(plan, readers, prefer, &counts)).collect();
        Job {
            id,
            submission,
            name: graph.name,
            requester,
            prefer,
            price_max,
            deadline,
            phase: Phase::Running,
            groups,
            tasks,
            done: 0,
            known: 0,
            running: 0,
            retried: 0,
            spent: Amount::ZERO,
            held: Amount::ZERO,
            out_of_money: false,
            submitted_at: self.now,
            ended_at: None,
            tallies: BTreeMap::new(),
            failures: VecDeque::new(),
        }
    }

    fn new_group(
        &mut self,
        plan: plan::Group,
        readers: BTreeSet<u16>,
        prefer: gleaner_wire::job_file::Prefer,
        counts: &[u64],
    ) -> Group {
        let count = u32::try_from(plan.spec.extent.count()).expect("a plan has at most ten million tasks");
        let from: BTreeSet<u16> = plan.spec.inputs.iter().filter_map(InputSpec::group).collect();
        let single = |input: &InputSpec| match input {
            InputSpec::Output { group, .. } => Some(*group),
            InputSpec::File { .. } | InputSpec::Gather { .. } => None,
        };
        let paired = plan.spec.inputs.iter().filter_map(single);
        let paired: BTreeSet<u16> =
            paired.filter(|group| count > 1 && counts[usize::from(*group)] == u64::from(count)).collect();
        let gathered = |input: &InputSpec| match input {
            InputSpec::Gather { group, .. } => Some(*group),
            InputSpec::File { .. } | InputSpec::Output { .. } => None,
        };
        let gathered: BTreeSet<u16> = plan.spec.inputs.iter().filter_map(gathered).collect();
        Group {
            shape: self.shapes.acquire(&self.classes, &plan.needs, prefer),
            program: self.programs.acquire(program_key(&plan)),
            work_hash: work_hash(&plan),
            count,
            waits: from.iter().filter(|group| !paired.contains(group) || gathered.contains(group)).count() as u32,
            paired: paired.into_iter().collect(),
            readers: readers.into_iter().collect(),
            opened: 0,
            next: 0,
            returned: BTreeSet::new(),
            troubles: BTreeMap::new(),
            outputs: Vec::new(),
            outputs_hash: None,
            done: 0,
            running: 0,
            tasks_running: 0,
            tail: None,
            tail_runs: 0,
            held_back_until: None,
            queued: false,
            plan,
        }
    }
}

/// What runs of the same length have in common: the program, how it is called, and how much of it one element is.
fn program_key(plan: &plan::Group) -> Hash {
    let area = plan.spec.extent.tile(0).map(|tile| (tile.width, tile.height));
    hash_of(&(&plan.spec.work, area))
}

/// Everything that all elements have in common and that decides their results.
fn work_hash(plan: &plan::Group) -> Hash {
    let files = plan.spec.inputs.iter().map(|input| match input {
        InputSpec::File { name, blob } => (name.as_str(), blob.id.to_string()),
        InputSpec::Output { name, .. } => (name.as_str(), "output".to_string()),
        InputSpec::Gather { name, .. } => (name.as_str(), "outputs".to_string()),
    });
    let files: Vec<_> = files.collect();
    let picture = plan.spec.extent.tile(0).map(|_| plan.spec.extent);
    hash_of(&(&plan.spec.work, picture, files, plan.spec.limits.output))
}

fn hash_of(value: &impl serde::Serialize) -> Hash {
    Hash::of(&postcard::to_allocvec(value).expect("plans hold nothing that postcard cannot encode"))
}
