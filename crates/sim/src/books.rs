//! The world's own books beside the hub's: who was given what, who delivered first, and what anyone can have earned at most.
//!
//! Only what can be seen from outside the core is used: events, effects and views.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::ledger::Account;
use gleaner_core::{Core, Effect, Event, Proof, Ticket, Verdict, tier_price};
use gleaner_wire::api::JobState;
use gleaner_wire::market::Tier;
use gleaner_wire::{Amount, AttemptId, Finished, InputSpec, JobId, Millis, Outcome, Output, TaskId, WorkerId};

use crate::award_books::AwardBooks;
use crate::job_plan::JobPlan;
use crate::order_books::OrderBooks;
use crate::scenario::Scenario;
use crate::test_books::TestBooks;

/// Alarms ring a little later than they are set for.
const NOTICE_SLACK: Millis = Millis(100);

/// An attempt that was started.
struct Started {
    worker: WorkerId,
    job: JobId,
    group: u16,
    index: u32,
    price: Amount,
    /// Whether it has ended in any way; it can never be paid again.
    ended: bool,
    /// Whether it checks another's result, for which nothing is paid.
    audit: bool,
}

struct Booked {
    plan: usize,
    cap: Amount,
    done: BTreeSet<(u16, u32)>,
    /// What it cost in the end.
    cost: Option<Amount>,
}

/// What a worker may be paid for the results it has just sent.
#[derive(Default)]
pub(crate) struct Claim {
    sender: Option<WorkerId>,
    most: u64,
    done: Vec<(AttemptId, Output)>,
    failed: Vec<AttemptId>,
    /// What workers lose because an order was given back.
    lost: BTreeMap<WorkerId, u64>,
}

/// The books.
pub(crate) struct Books {
    plans: Vec<JobPlan>,
    deposits: BTreeMap<String, u64>,
    jobs: BTreeMap<JobId, Booked>,
    by_plan: BTreeMap<u64, JobId>,
    attempts: BTreeMap<AttemptId, Started>,
    earned: Vec<Amount>,
    /// What workers have delivered and were not paid for, at most.
    unpaid: BTreeMap<WorkerId, u64>,
    checks: bool,
    liar: Option<u32>,
    /// What workers have lost in bonds.
    forfeited: Vec<Amount>,
    awards: AwardBooks,
    /// Where money is on a chain.
    orders: Option<OrderBooks>,
    tests: TestBooks,
    /// Attempts that were told to give their seats up, and by when they must have.
    notices: BTreeMap<AttemptId, Millis>,
}

impl Books {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            plans: scenario.jobs.clone(),
            deposits: BTreeMap::new(),
            jobs: BTreeMap::new(),
            by_plan: BTreeMap::new(),
            attempts: BTreeMap::new(),
            earned: Vec::new(),
            unpaid: BTreeMap::new(),
            checks: scenario.checks,
            liar: scenario.liar,
            forfeited: Vec::new(),
            awards: AwardBooks::default(),
            orders: OrderBooks::new(scenario),
            tests: TestBooks::new(scenario.screening),
            notices: BTreeMap::new(),
        }
    }

    /// Looks at an event before it is applied.
    pub fn before(&mut self, core: &Core, event: &Event) -> Result<Claim, String> {
        let attempts = &self.attempts;
        self.tests.before(event, |attempt| {
            let started = attempts.get(&attempt).filter(|started| core.runs(attempt) && !started.audit)?;
            Some((started.worker, (started.job, started.group, started.index)))
        });
        if let Some(orders) = &mut self.orders {
            let lost = orders.before(event)?;
            if !lost.is_empty() {
                return Ok(Claim { lost, ..Claim::default() });
            }
        }
        match event {
            Event::Deposited { account: Account::Requester(name), amount } => {
                *self.deposits.entry(name.clone()).or_default() += amount.0;
                Ok(Claim::default())
            }
            Event::AttemptsFinished { worker, results, .. } => self.claim(core, *worker, results),
            Event::Deposited { .. }
            | Event::HubStarted
            | Event::TimePassed
            | Event::WorkerJoined { .. }
            | Event::WorkerLeft { .. }
            | Event::WorkerPaused { .. }
            | Event::WorkerResumed { .. }
            | Event::DevicesRest { .. }
            | Event::Screened { .. }
            | Event::Repriced { .. }
            | Event::Saved { .. }
            | Event::WorkerReadmitted { .. }
            | Event::LeasesRenewed { .. }
            | Event::Holds { .. }
            | Event::JobSubmitted { .. }
            | Event::JobCancelled { .. }
            | Event::JobArchived { .. }
            | Event::RoundDrawn { .. }
            | Event::OrderLocked { .. }
            | Event::OrderRefused { .. }
            | Event::OrderClosed(_)
            | Event::TermsSeen(_)
            | Event::LockSeen { .. }
            | Event::StakeSeen { .. }
            | Event::BidsSealed { .. }
            | Event::BidsOpened { .. }
            | Event::LotDrawn { .. }
            | Event::WorkerManaged { .. }
            | Event::DemandTermsSet { .. } => Ok(Claim::default()),
        }
    }

    /// The hub was away: whoever had notice gets another term to come back in.
    pub fn hub_came_back(&mut self, core: &Core, now: Millis) {
        let term = now.after(core.params().lease_ms).after(NOTICE_SLACK);
        self.notices.values_mut().for_each(|by| *by = (*by).max(term));
    }

    /// Whoever is told to give its seat up has done so in time, and only what is interruptible is told.
    pub fn check_notices(&mut self, core: &Core, now: Millis, effects: &[Effect]) -> Result<(), String> {
        for effect in effects {
            if let Effect::YieldAttempt { attempt, by_ms, .. } = effect {
                let started = self.attempts.get(attempt).ok_or("an attempt is to give way that was never started")?;
                let plan = &self.plans[self.jobs[&started.job].plan];
                let soft = plan.file.market.tier == Tier::Interruptible;
                ensure(soft, || format!("attempt {attempt} is to give way and cannot be outbid"))?;
                self.notices.insert(*attempt, now.after(*by_ms).after(NOTICE_SLACK));
            }
        }
        self.notices.retain(|attempt, _| core.runs(*attempt));
        match self.notices.iter().find(|(_, by)| **by < now) {
            Some((attempt, _)) => Err(format!("attempt {attempt} was to give way and runs on")),
            None => Ok(()),
        }
    }

    fn claim(&mut self, core: &Core, sender: WorkerId, results: &[Finished]) -> Result<Claim, String> {
        let mut claim = Claim { sender: Some(sender), ..Claim::default() };
        let mut seen = BTreeSet::new();
        for Finished { attempt, ran, outcome } in results {
            // The same result twice in one message counts once.
            if !seen.insert(*attempt) {
                continue;
            }
            let live = core.attempt_label(*attempt).is_some();
            let Some(started) = self.attempts.get_mut(attempt) else {
                ensure(!live, || format!("attempt {attempt} runs but was never started"))?;
                continue;
            };
            ensure(!live || !started.ended, || format!("attempt {attempt} has ended and runs again"))?;
            if !live {
                started.ended = true;
            }
            if started.worker != sender || started.ended {
                continue;
            }
            started.ended = true;
            if !started.audit {
                claim.most += started.price.per_second_over(*ran).0;
            }
            match outcome {
                Outcome::Done(_) if started.audit => {}
                Outcome::Done(output) => claim.done.push((*attempt, *output)),
                Outcome::Failed { .. } | Outcome::Cancelled => claim.failed.push(*attempt),
            }
        }
        Ok(claim)
    }

    /// Looks at what came of an event.
    pub fn after(&mut self, core: &Core, claim: &Claim, effects: &[Effect]) -> Result<(), String> {
        for attempt in &claim.failed {
            let live = core.attempt_label(*attempt).is_some();
            ensure(!live, || format!("attempt {attempt} failed and still runs"))?;
        }
        self.check_delivered(core, claim)?;
        self.check_earned(core, claim)?;
        effects.iter().try_for_each(|effect| self.book(core, effect))
    }

    fn check_delivered(&mut self, core: &Core, claim: &Claim) -> Result<(), String> {
        for (attempt, output) in &claim.done {
            let Started { job, group, index, .. } = &self.attempts[attempt];
            let name = || format!("task {job}.{group}.{index}");
            ensure(core.attempt_label(*attempt).is_none(), || format!("{} is delivered and still runs", name()))?;
            if core.is_claimed(*attempt) {
                ensure(self.checks, || format!("{} waits for a check that nobody makes", name()))?;
                continue;
            }
            let known = core.outputs(*job, *group, *index, 1);
            let running = core.job_summary(*job).is_some_and(|summary| summary.state == JobState::Running);
            if known.is_empty() && !running {
                continue;
            }
            ensure(known == [(*index, *output)], || format!("{}: its output was lost", name()))?;
            let booked = self.jobs.get_mut(job).ok_or("an attempt of a job that was never accepted")?;
            ensure(booked.done.insert((*group, *index)), || format!("{} was delivered twice", name()))?;
        }
        Ok(())
    }

    fn check_earned(&mut self, core: &Core, claim: &Claim) -> Result<(), String> {
        for ((before, forfeited), id) in self.earned.iter_mut().zip(&mut self.forfeited).zip(0..) {
            let now = earned(core, WorkerId(id), self.orders.is_some());
            let most = self.unpaid.entry(WorkerId(id)).or_default();
            *most = most.saturating_add(if claim.sender == Some(WorkerId(id)) { claim.most } else { 0 });
            let bonds = core.forfeited(WorkerId(id));
            let bond = bonds.0 - std::mem::replace(forfeited, bonds).0;
            let lost = claim.lost.get(&WorkerId(id)).copied().unwrap_or(0) + bond;
            let gained = (now.0 + lost).checked_sub(before.0).ok_or_else(|| format!("worker {id} lost money"))?;
            ensure(gained <= *most, || format!("worker {id} was paid {gained} and can have earned {most} at most"))?;
            // Without checks a result is paid at once or never.
            *most = if self.checks { *most - gained } else { 0 };
            *before = now;
        }
        Ok(())
    }

    fn book(&mut self, core: &Core, effect: &Effect) -> Result<(), String> {
        match effect {
            Effect::StartAttempt { worker, attempt } => self.start(core, *worker, *attempt),
            Effect::CancelAttempt { attempt, .. } => {
                if let Some(started) = self.attempts.get_mut(attempt) {
                    started.ended = true;
                }
                Ok(())
            }
            Effect::AcceptJob { ticket, job, reserved, .. } => self.accept(core, *ticket, *job, *reserved),
            Effect::ArchiveJob { job } => self.end(core, *job),
            Effect::WelcomeWorker { worker, session } => {
                let count = self.earned.len().max(worker.0 as usize + 1);
                self.earned.resize(count, Amount::ZERO);
                self.forfeited.resize(count, Amount::ZERO);
                self.tests.welcome(*worker)?;
                self.orders.as_mut().map_or(Ok(()), |orders| orders.welcome(core, *worker, *session))
            }
            Effect::DisconnectWorker { worker, .. } => {
                self.orders.iter_mut().for_each(|orders| orders.send_away(*worker));
                Ok(())
            }
            Effect::Screen { .. } => self.tests.screen(effect),
            Effect::TellScreened { worker, device, runtime, verdict } => {
                self.tests.told(*worker, *device, *runtime, verdict.is_ok())
            }
            Effect::TellPaused { .. }
            | Effect::RefuseWorker { .. }
            | Effect::LockOrder { .. }
            | Effect::RefuseJob { .. }
            | Effect::AnnounceJob { .. }
            | Effect::AnnounceWorker { .. }
            | Effect::AnnounceFailure { .. }
            | Effect::DrawRound { .. }
            | Effect::Accuse { .. }
            | Effect::InviteBid { .. }
            | Effect::AskReveal { .. }
            | Effect::DrawLot { .. }
            | Effect::AnnounceDemand
            | Effect::YieldAttempt { .. } => Ok(()),
        }
    }

    fn start(&mut self, core: &Core, worker: WorkerId, attempt: AttemptId) -> Result<(), String> {
        // It may have been called off within the same event.
        let Some(start) = core.start_message(attempt) else { return Ok(()) };
        let (job, group, index) = (start.job, start.group, start.index);
        let name = || format!("task {job}.{group}.{index}");
        let view = core.worker_view(worker).ok_or("an attempt on a worker that never joined")?;
        let device = view.offer.devices.get(usize::from(start.device)).ok_or("an attempt on no device")?;
        let spec = core.spec(job, group).ok_or("an attempt of no group")?;
        let runs = device.runtimes.iter().any(|offered| offered.runtime == spec.work.runtime());
        ensure(runs && device.memory.0 >= spec.limits.memory, || format!("{} does not fit worker {worker}", name()))?;
        let booked = self.jobs.get(&job).ok_or("an attempt of a job that was never accepted")?;
        ensure(!booked.done.contains(&(group, index)), || format!("{} is started again after it was done", name()))?;
        self.orders.as_ref().map_or(Ok(()), |orders| orders.start(worker, job))?;
        self.tests.start(core, worker, &start)?;
        let audit = core.is_audit(attempt);
        ensure(!audit || self.checks, || format!("{} is checked where nothing is", name()))?;
        let price = core.price_of(attempt).ok_or("an attempt without a price")?;
        if core.is_award(attempt) {
            self.awards.start(core, &self.plans[booked.plan], worker, &start, price)?;
        } else {
            let tier = self.plans[booked.plan].file.market.tier;
            let asked = price == tier_price(device.price_per_second, tier);
            let fits = asked || self.awards.won(worker, &start) == Some(price);
            ensure(fits, || format!("{} has another price than was offered", name()))?;
        }
        let started = Started { worker, job, group, index, price, ended: false, audit };
        let before = self.attempts.insert(attempt, started);
        ensure(before.is_none(), || format!("attempt {attempt} was started twice"))
    }

    fn accept(&mut self, core: &Core, ticket: Ticket, job: JobId, cap: Amount) -> Result<(), String> {
        let before = *self.by_plan.entry(ticket.0).or_insert(job);
        ensure(before == job, || format!("one submission became the jobs {before} and {job}"))?;
        let plan = ticket.0 as usize;
        self.jobs.entry(job).or_insert(Booked { plan, cap, done: BTreeSet::new(), cost: None });
        self.orders.as_mut().map_or(Ok(()), |orders| orders.accept(core, job, cap))
    }

    fn end(&mut self, core: &Core, job: JobId) -> Result<(), String> {
        let summary = core.job_summary(job).ok_or("a job is to be archived that is not there")?;
        let booked = self.jobs.get_mut(&job).ok_or("a job ended that was never accepted")?;
        if booked.cost.replace(summary.spent).is_some() {
            return Ok(());
        }
        ensure(summary.spent <= booked.cap, || format!("job {job} cost more than its cap"))?;
        let plan = &self.plans[booked.plan];
        self.orders.as_mut().map_or(Ok(()), |orders| orders.end(core, &summary))?;
        let refused = self.orders.as_ref().is_some_and(|orders| orders.was_refused(job));
        match &summary.state {
            JobState::Ordered | JobState::Running => Err(format!("job {job} is to be archived and still runs")),
            JobState::Done => check_outputs(core, job, plan, self.liar.is_some()),
            JobState::Cancelled => ensure(plan.cancel_at.is_some(), || format!("nobody cancelled job {job}")),
            JobState::Failed { reason, .. } => {
                ensure(plan.may_fail || refused, || format!("nothing explains that job {job} failed: {reason}"))
            }
        }
    }

    /// The requesters' money: what is left, what is reserved and what was spent make up what came in.
    pub fn check_money(&self, core: &Core) -> Result<(), String> {
        if let Some(orders) = &self.orders {
            return orders.check_money(core);
        }
        let ledger = core.ledger_view();
        let sum: u64 = ledger.accounts.values().map(|amount| amount.0).sum();
        let deposited: u64 = self.deposits.values().sum();
        ensure(sum == ledger.issued.0, || "the accounts do not sum to what was issued".into())?;
        ensure(deposited == ledger.issued.0, || "more was issued than came in".into())?;
        let mut bonds = 0;
        for (requester, deposited) in &self.deposits {
            let free = core.balance(&Account::Requester(requester.clone())).0;
            let theirs = self.jobs.values().filter(|booked| self.plans[booked.plan].requester == *requester);
            let used: u64 = theirs.map(|booked| booked.cost.unwrap_or(booked.cap).0).sum();
            let bond = (free + used).checked_sub(*deposited);
            bonds += bond.ok_or_else(|| format!("{requester}: {free} free and {used} used of {deposited}"))?;
        }
        let lost: u64 = self.forfeited.iter().map(|amount| amount.0).sum();
        ensure(bonds == lost, || format!("requesters got {bonds} of bonds, and workers lost {lost}"))
    }

    /// What must hold of orders after every step.
    pub fn check_orders(&self, core: &Core) -> Result<(), String> {
        self.orders.as_ref().map_or(Ok(()), |orders| orders.check(core))
    }

    /// Nobody but the liar was ever found wrong.
    fn check_records(&self, core: &Core) -> Result<(), String> {
        core.workers().iter().try_for_each(|worker| {
            let lies = self.liar.is_some_and(|liar| worker.offer.name == format!("worker-{liar}"));
            let bad = worker.audits.is_some_and(|audits| audits.bad > 0);
            ensure(lies || !bad, || format!("{} was found wrong and never lied", worker.offer.name))
        })
    }

    /// What must hold of orders when everything is over.
    pub fn look_back(&self, core: &Core) -> Result<(), String> {
        self.check_records(core)?;
        self.orders.as_ref().map_or(Ok(()), |orders| orders.look_back(core))
    }

    /// Whether this submission has led to a job that ended.
    pub fn has_ended(&self, plan: usize) -> bool {
        self.by_plan.get(&(plan as u64)).is_some_and(|job| self.jobs[job].cost.is_some())
    }
}

/// What a worker has earned so far, in the books or paid on a chain.
fn earned(core: &Core, worker: WorkerId, on_chain: bool) -> Amount {
    let view = if on_chain { core.worker_view(worker) } else { None };
    view.map_or_else(|| core.balance(&Account::Worker(worker)), |view| view.earned)
}

/// Every task of a job that is done has delivered what is true of it.
fn check_outputs(core: &Core, job: JobId, plan: &JobPlan, liar: bool) -> Result<(), String> {
    let proofs = if liar { core.proofs(job, 0, usize::MAX) } else { Vec::new() };
    let groups = core.group_count(job).ok_or("an ended job without groups")?;
    let mut outputs: Vec<Vec<Output>> = Vec::new();
    for group in 0..groups {
        let spec = core.spec(job, group).ok_or("an ended job without its specification")?;
        let count = spec.extent.count() as u32;
        let delivered = core.outputs(job, group, 0, u32::MAX);
        ensure(delivered.len() == count as usize, || format!("job {job} is done without all of group {group}"))?;
        for (index, output) in &delivered {
            let read = |input: &InputSpec| match input {
                InputSpec::Output { group, .. } => {
                    let from = &outputs[usize::from(*group)];
                    vec![if from.len() == 1 { from[0] } else { from[*index as usize] }]
                }
                InputSpec::Share { group, per, .. } => {
                    let first = *index as usize * *per as usize;
                    outputs[usize::from(*group)][first..first + *per as usize].to_vec()
                }
                InputSpec::File { .. } | InputSpec::Folder { .. } | InputSpec::Gather { .. } => vec![],
            };
            let reads: Vec<Output> = spec.inputs.iter().flat_map(read).collect();
            let truth = plan.truths[usize::from(group)].output(spec.extent.value(*index), &reads);
            let unchecked = || {
                let of = |proof: &&Proof| proof.task == TaskId { job, group, index: *index } && proof.verdict.pays();
                let verdict = proofs.iter().find(of).map(|proof| proof.verdict);
                // A result that was known is one of an earlier task, which was checked or not.
                let known = core.job_summary(job).is_some_and(|summary| summary.known > 0);
                verdict.map_or(known, |verdict| {
                    matches!(verdict, Verdict::NotDrawn | Verdict::NobodyToCheck | Verdict::NotAsked)
                })
            };
            ensure(truth == *output || liar && unchecked(), || {
                format!("task {job}.{group}.{index} has a wrong output")
            })?;
        }
        outputs.push(delivered.into_iter().map(|(_, output)| output).collect());
    }
    Ok(())
}

pub(crate) fn ensure(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
