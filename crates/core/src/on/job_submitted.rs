//! A planned job was submitted: reserve its cap, make its groups, open those that wait for nothing.
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::{Amount, InputSpec, JobId, Millis, Order, SignedOrder};

use crate::alarms::Alarm;
use crate::audit::Verdict;
use crate::data::Inputs;
use crate::effect::Effect;
use crate::event::Ticket;
use crate::job::{Group, Job, Phase, program_key, work_hash};
use crate::ledger::Account;
use crate::market::mode::rules;
use crate::market::{Sale, race, tier};
use crate::plan::{self, Graph};
use crate::quote::Quoted;
use crate::state::Core;

/// Jobs that one hub works on at a time.
const JOBS_MAX: usize = 100_000;
/// How long an order must outlast its job, so that it can be settled even after an hour without a chain.
const SETTLE_MS: Millis = Millis(2 * 3_600_000);

impl Core {
    pub(crate) fn on_job_submitted(
        &mut self,
        ticket: Ticket,
        submission: u128,
        requester: &str,
        mut graph: Graph,
        order: Option<SignedOrder>,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(job) = self.submissions.get(&submission).and_then(|job| self.jobs.get(job)) {
            let (job, tasks, reserved) = (job.id, job.tasks, job.price_max);
            effects.push(Effect::AcceptJob { ticket, job, tasks, reserved });
            return;
        }
        let id = JobId(self.jobs_made + 1);
        let reserved = match self.reserve(id, submission, requester, &graph, order.as_ref()) {
            Ok(reserved) => reserved,
            Err(reason) => {
                effects.push(Effect::RefuseJob { ticket, reason });
                return;
            }
        };
        self.jobs_made += 1;
        self.totals.jobs_submitted += 1;
        self.choose_engine(&mut graph);
        let job = self.new_job(id, submission, requester, reserved, graph, order);
        let (tasks, deadline, ordered) = (job.tasks, job.deadline, job.order.is_some());
        self.submissions.insert(submission, id);
        self.firmness.job_came(job.market.tier);
        self.jobs.insert(id, job);
        self.alarms.set(deadline, Alarm::Job(id));
        effects.push(Effect::AcceptJob { ticket, job: id, tasks, reserved });
        effects.push(Effect::AnnounceJob { job: id });
        if ordered {
            effects.push(Effect::LockOrder { job: id });
        } else {
            self.open_groups(id);
        }
    }

    /// Opens the groups of a job that wait for nothing.
    pub(crate) fn open_groups(&mut self, id: JobId) {
        for group in 0..self.jobs[&id].groups.len() as u16 {
            self.open_if_ready(id, group);
        }
    }

    /// What is reserved for a job: the cap of its order, which the chain will lock, or money that is booked here.
    fn reserve(
        &mut self,
        id: JobId,
        submission: u128,
        requester: &str,
        graph: &Graph,
        order: Option<&SignedOrder>,
    ) -> Result<Amount, String> {
        if self.jobs.len() >= JOBS_MAX {
            return Err(format!("the hub has {JOBS_MAX} jobs in hand; try again later"));
        }
        if let Some(quote) = &graph.quote {
            graph.fits_quote(quote, self.now)?;
        }
        let cap = graph.price_max.unwrap_or(self.params.price_max_default);
        match order {
            Some(_) if !self.params.orders => Err("this hub takes no orders: its money is on no chain".into()),
            Some(signed) => self.fits(&signed.order, submission, requester, cap, graph.time_max),
            None if self.params.orders => {
                Err("this hub takes jobs with a signed order only: submit it with `gleaner run`, which signs one"
                    .into())
            }
            None => {
                let account = Account::Requester(requester.into());
                self.ledger.transfer(&account, &Account::Order(id), cap).map(|()| cap).map_err(|short| {
                    format!("the price cap of {cap} GLN is not covered: {short}. Lower budget.price_max or add money")
                })
            }
        }
    }

    /// Whether an order is for this job: it must promise the job's cap, once, for long enough.
    fn fits(
        &self,
        order: &Order,
        submission: u128,
        requester: &str,
        cap: Amount,
        time_max: Millis,
    ) -> Result<Amount, String> {
        let needed = self.now.after(time_max).after(SETTLE_MS).0.div_ceil(1000);
        if order.requester.to_string() != requester {
            return Err("the order is of another requester than the job".into());
        }
        if order.nonce != submission {
            return Err("the order is of another submission than the job".into());
        }
        if order.cap != cap {
            return Err(format!("the order is for {} GLN and the job may cost {cap} GLN", order.cap));
        }
        if order.deadline < needed {
            return Err(format!("the order ends before the job and its settlement may: it must last until {needed}"));
        }
        Ok(cap)
    }

    fn new_job(
        &mut self,
        id: JobId,
        submission: u128,
        requester: &str,
        price_max: Amount,
        graph: Graph,
        order: Option<SignedOrder>,
    ) -> Job {
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
        let (prefer, market) = (graph.prefer, graph.market);
        let groups = graph.groups.into_iter().zip(readers);
        let sale = rules(market.mode).sale();
        let new = |(plan, readers)| Group { sale, ..self.new_group(plan, readers, prefer, &counts) };
        let groups = groups.map(new).collect();
        Job {
            id,
            submission,
            name: graph.name,
            requester,
            prefer,
            market,
            price_max,
            deadline,
            phase: if order.is_some() { Phase::Ordered } else { Phase::Running },
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
            awards: VecDeque::new(),
            contests: VecDeque::new(),
            order,
            crew: BTreeSet::new(),
            barred: BTreeSet::new(),
            locks: BTreeMap::new(),
            locked: false,
            share_points: tier::share_points(market.tier, self.params.platform_share_points),
            paid: Vec::new(),
            claims: 0,
            verdicts: [0; Verdict::ALL.len()],
            proofs: Vec::new(),
            race: race::Tally::default(),
            moved: 0,
            quoted: graph.quote.map(|quote| Quoted { quote, backed: Amount::ZERO }),
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
        let own = |input: &InputSpec| match input {
            InputSpec::Output { group, .. } => {
                (count > 1 && counts[usize::from(*group)] == u64::from(count)).then_some((*group, 1))
            }
            InputSpec::Share { group, per, .. } => Some((*group, *per)),
            InputSpec::File { .. } | InputSpec::Folder { .. } | InputSpec::Gather { .. } => None,
        };
        let paired: BTreeMap<u16, u32> = plan.spec.inputs.iter().filter_map(own).collect();
        let gathered = |input: &InputSpec| match input {
            InputSpec::Gather { group, .. } => Some(*group),
            InputSpec::File { .. } | InputSpec::Folder { .. } | InputSpec::Output { .. } | InputSpec::Share { .. } => {
                None
            }
        };
        let gathered: BTreeSet<u16> = plan.spec.inputs.iter().filter_map(gathered).collect();
        Group {
            shape: self.shapes.acquire(&self.classes, &plan.needs, prefer),
            program: self.programs.acquire(program_key(&plan)),
            inputs: Inputs::of(&plan.spec, &mut self.holders, self.params.data_bytes_min).map(Box::new),
            work_hash: work_hash(&plan),
            count,
            waits: from.iter().filter(|group| !paired.contains_key(group) || gathered.contains(group)).count() as u32,
            paired: paired.into_iter().collect(),
            readers: readers.into_iter().collect(),
            opened: 0,
            next: 0,
            returned: BTreeSet::new(),
            troubles: BTreeMap::new(),
            outputs: Vec::new(),
            checkpoints: BTreeMap::new(),
            parts: BTreeMap::new(),
            reported: BTreeMap::new(),
            outputs_hash: None,
            done: 0,
            running: 0,
            tasks_running: 0,
            claimed: 0,
            tail: None,
            tail_runs: 0,
            held_back_until: None,
            hedge: None,
            queued: false,
            sale: Sale::Posted,
            waits_since: None,
            plan,
        }
    }
}
