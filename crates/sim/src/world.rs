//! A world that runs: one agenda of everything that happens, one hub around the real core, many workers.
use std::collections::{BTreeMap, BTreeSet};

use gleaner_core::ledger::Account;
use gleaner_core::plan::{self, Graph};
use gleaner_core::{Effect, Event, Session, Ticket};
use gleaner_wire::api::ChoiceView;
use gleaner_wire::{Amount, AttemptId, AuctionId, Cause, JobId, Millis, SignedOrder, ToHub, ToWorker, WorkerId};

use crate::agenda::Agenda;
use crate::books::{Books, ensure};
use crate::chain::{self, Chain, Step};
use crate::chance::{Chance, mix_two};
use crate::hub::{Hub, Journal};
use crate::job_plan::Asks;
use crate::report::{Report, Violation};
use crate::scenario::{MILLISECOND, Scenario};
use crate::testing::Test;
use crate::trace::Trace;
use crate::worker::Worker;

/// The most that may happen in a world; one that needs more goes in circles.
const STEPS_MAX: u64 = 4_000_000_000;
/// How long after the last fault every job must have ended, in microseconds.
const CALM_MAX: u64 = 24 * 3600 * 1000 * MILLISECOND;
/// A client that got no answer asks again.
const CLIENT_RETRY: u64 = 5000 * MILLISECOND;
/// Steps between two looks at what is too slow for every step.
const LOOK_EVERY: u64 = 32;

/// How closely a world is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    /// Every invariant after every step.
    EveryStep,
    /// The core's own sweep at a few points.
    Rarely,
}

/// What happens.
pub(crate) enum What {
    /// A worker dials, unless it has made another connection since.
    Dial { worker: u32, connections: u32 },
    /// A message reaches the hub.
    ToHub { worker: u32, session: u64, message: Box<ToHub> },
    /// A message reaches a worker.
    ToWorker { worker: u32, session: u64, message: Box<ToWorker> },
    /// The data of an attempt is here.
    Fetched { worker: u32, attempt: AttemptId },
    /// A run ends.
    RunEnds { worker: u32, turn: u32, attempt: AttemptId },
    /// A worker sends a heartbeat.
    Beat { worker: u32 },
    /// The hub sees a connection end.
    Ended { worker: u32, session: u64 },
    /// A worker sees its connection end.
    Cut { worker: u32, session: u64 },
    /// A test of a worker ends.
    Tested(Test, Result<u32, String>),
    /// The owner gives the worker back.
    GiveBack { worker: u32 },
    /// A fate strikes.
    Strike(u32),
    /// A requester submits a job, or asks again.
    Submit(u32),
    /// A requester loses interest.
    Cancel(u32),
    /// A job is in the archive.
    Archived(JobId),
    /// Lots can be drawn for a round.
    Drawn { round: u64 },
    /// Something happens on the chain.
    Chain(Step),
    /// The hub's shell draws a lot for an auction.
    Draw(AuctionId),
    /// The hub's timer rings.
    Timer(u64),
    /// The hub is back.
    HubUp,
    /// Faults stop.
    Calm,
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    None,
    Accepted(JobId),
    Refused,
}

/// A running world.
pub(crate) struct World<'a> {
    pub scenario: &'a Scenario,
    pub watch: Watch,
    /// Microseconds since the world began.
    pub now: u64,
    pub agenda: Agenda<What>,
    pub chance: Chance,
    pub hub: Hub,
    pub hub_up: bool,
    /// The hub dies after the next event is written, before it is acted on.
    pub torn: Option<u64>,
    pub calm: bool,
    pub workers: Vec<Worker>,
    /// The hub's connection with each worker.
    pub sessions: Vec<Option<u64>>,
    /// The hub's number for each worker.
    pub numbers: Vec<Option<WorkerId>>,
    /// The world's number for each of the hub's workers.
    pub indices: Vec<u32>,
    pub answers: Vec<Answer>,
    /// The plan behind each of the hub's jobs, by number.
    pub plans: Vec<Option<usize>>,
    pub books: Books,
    /// Where money is on a chain: the chain.
    pub chain: Option<Chain>,
    pub open_jobs: usize,
    pub events: u64,
    pub hub_crashes: u64,
    pub useful: u64,
    pub spent: u64,
    /// What requesters that asked were told, and what each ended job cost.
    pub asked: BTreeMap<u32, ChoiceView>,
    pub costs: BTreeMap<JobId, u64>,
    /// When each job ended, and which of them are archived.
    pub ended: BTreeMap<JobId, u64>,
    archived: BTreeSet<JobId>,
    timer: Option<u64>,
    trace: Trace,
    effects: Vec<Effect>,
}

/// Runs a world to its end.
pub(crate) fn run(scenario: &Scenario, watch: Watch) -> Result<Report, Violation> {
    let mut world = World::new(scenario, watch);
    match world.run() {
        Ok(()) => Ok(world.report()),
        Err(what) => Err(Violation {
            seed: scenario.seed,
            step: world.events,
            at_ms: world.now / MILLISECOND,
            what,
            replay: scenario.replay.clone(),
        }),
    }
}

impl<'a> World<'a> {
    pub fn new(scenario: &'a Scenario, watch: Watch) -> Self {
        let count = scenario.workers.len();
        let crashes = scenario.faults.hub_crash_every_ms > 0;
        let params = scenario.params();
        let share_points = params.platform_share_points;
        let journal = if crashes || watch == Watch::EveryStep { Journal::Kept } else { Journal::None };
        let mut world = Self {
            scenario,
            watch,
            now: 0,
            agenda: Agenda::new(),
            chance: Chance::new(mix_two(scenario.seed, 1)),
            hub: Hub::new(params, journal),
            hub_up: true,
            torn: None,
            calm: scenario.calm_at == 0,
            workers: (0..).zip(&scenario.workers).map(|(index, plan)| Worker::new(index, plan)).collect(),
            sessions: vec![None; count],
            numbers: vec![None; count],
            indices: Vec::with_capacity(count),
            answers: vec![Answer::None; scenario.jobs.len()],
            plans: Vec::new(),
            books: Books::new(scenario),
            chain: scenario.chain.as_ref().map(|plan| Chain::new(plan, share_points)),
            open_jobs: scenario.jobs.len(),
            events: 0,
            hub_crashes: 0,
            useful: 0,
            spent: 0,
            asked: BTreeMap::new(),
            costs: BTreeMap::new(),
            ended: BTreeMap::new(),
            archived: BTreeSet::new(),
            timer: None,
            trace: Trace::new(),
            effects: Vec::new(),
        };
        world.set_out();
        world
    }

    fn set_out(&mut self) {
        for worker in 0..self.workers.len() as u32 {
            self.agenda.note(0, What::Dial { worker, connections: 0 });
        }
        for (at, job) in (0..).zip(&self.scenario.jobs) {
            self.agenda.note(job.at, What::Submit(at));
            if let Some(cancel_at) = job.cancel_at {
                self.agenda.note(cancel_at, What::Cancel(at));
            }
        }
        for (number, (at, _)) in (0..).zip(&self.scenario.fates) {
            self.agenda.note(*at, What::Strike(number));
        }
        if !self.calm {
            self.agenda.note(self.scenario.calm_at, What::Calm);
        }
        for (at, step) in self.scenario.chain.iter().flat_map(|chain| &chain.steps) {
            self.agenda.note(*at, What::Chain(*step));
        }
    }

    /// Runs until every job has ended and every order is closed.
    pub fn run(&mut self) -> Result<(), String> {
        self.run_until(u64::MAX)?;
        self.look_back()
    }

    /// Runs until everything is over or this time has come.
    pub fn run_until(&mut self, end: u64) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            if self.open_jobs == 0 && self.is_settled() || self.now >= end {
                return Ok(());
            }
            let (at, what) = self.agenda.next().ok_or("nothing more will happen, and jobs are open")?;
            self.now = at;
            let late = at.saturating_sub(self.scenario.calm_at) > CALM_MAX;
            ensure(!late, || format!("jobs did not end in a day without faults: {}", self.open()))?;
            self.happen(what)?;
        }
        Err(format!("{STEPS_MAX} steps were not enough"))
    }

    /// The jobs that have not ended, with what they wait for.
    fn open(&self) -> String {
        let jobs = self.hub.core.jobs().into_iter().filter(|job| !job.state.has_ended());
        let open = jobs.filter_map(|job| self.hub.core.explain(job.id)).map(|view| {
            let waiting = view.waiting.iter().map(|group| {
                let reasons = group.reasons.iter().map(|reason| (reason.code.as_str(), reason.devices));
                format!("{} of {} wait: {:?}", group.queued, group.task, reasons.collect::<Vec<_>>())
            });
            let waiting: Vec<_> = waiting.collect();
            let running = view.running.iter().map(|at| format!("{} on {} since {}", at.task, at.worker, at.since.0));
            let running: Vec<_> = running.collect();
            format!("job {}: {} run, {}", view.job, running.join(", "), waiting.join(", "))
        });
        open.collect::<Vec<_>>().join("; ")
    }

    fn happen(&mut self, what: What) -> Result<(), String> {
        match what {
            What::Dial { worker, connections } => self.dial(worker, connections),
            What::ToHub { worker, session, message } => return self.hub_hears(worker, session, *message),
            What::ToWorker { worker, session, message } => self.worker_hears(worker, session, message),
            What::Fetched { worker, attempt } => self.fetched(worker, attempt),
            What::RunEnds { worker, turn, attempt } => self.run_ends(worker, turn, attempt),
            What::Beat { worker } => self.beat(worker),
            What::Ended { worker, session } => return self.connection_ended(worker, session),
            What::Cut { worker, session } => self.cut(worker, session),
            What::Tested(test, outcome) => return self.tested(test, outcome),
            What::GiveBack { worker } => self.give_back(worker),
            What::Strike(number) => return self.strike(self.scenario.fates[number as usize].1),
            What::Submit(at) => return self.submit(at),
            What::Cancel(at) => return self.cancel(at),
            What::Archived(job) => return self.archive(job),
            What::Drawn { round } => return self.draw(round),
            What::Chain(step) => return self.chain_step(step),
            What::Draw(auction) => return self.drawn(auction),
            What::Timer(at) => return self.ring(at),
            What::HubUp => {
                self.hub_up = true;
                self.books.hub_came_back(&self.hub.core, Millis(self.now / MILLISECOND));
                self.tell(Event::HubStarted)?;
                return self.see_terms();
            }
            What::Calm => return self.calm_down(),
        }
        Ok(())
    }

    /// Journals and applies an event, checks everything, and acts on what came of it.
    pub fn tell(&mut self, event: Event) -> Result<(), String> {
        let now = Millis(self.now / MILLISECOND);
        self.events += 1;
        self.trace.event(now, &event);
        let watched = self.watch == Watch::EveryStep;
        let claim = if watched { Some(self.books.before(&self.hub.core, &event)?) } else { None };
        let mut effects = std::mem::take(&mut self.effects);
        self.hub.apply(now, event, &mut effects);
        for effect in &effects {
            self.trace.effect(effect);
            self.note_effect(effect);
        }
        if let Some(claim) = claim {
            self.books.after(&self.hub.core, &claim, &effects)?;
            self.books.check_notices(&self.hub.core, now, &effects)?;
            self.check()?;
        }
        match self.torn.take() {
            Some(away) => self.crash_hub(away)?,
            None => self.perform(&effects),
        }
        effects.clear();
        self.effects = effects;
        self.set_timer();
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        self.hub.core.check()?;
        self.books.check_orders(&self.hub.core)?;
        if self.events.is_multiple_of(LOOK_EVERY) {
            self.books.check_money(&self.hub.core)?;
            for job in self.hub.core.jobs() {
                let explained = self.hub.core.explain(job.id).is_some() && self.hub.core.job_view(job.id).is_some();
                ensure(explained, || format!("job {} cannot be explained", job.id))?;
            }
        }
        Ok(())
    }

    fn ring(&mut self, at: u64) -> Result<(), String> {
        if self.timer != Some(at) || !self.hub_up {
            return Ok(());
        }
        self.timer = None;
        self.tell(Event::TimePassed)?;
        let now = Millis(self.now / MILLISECOND);
        let stuck = self.hub_up && self.hub.core.next_deadline().is_some_and(|next| next <= now);
        ensure(!stuck, || "a deadline stays in the past".into())
    }

    fn set_timer(&mut self) {
        let Some(next) = self.hub.core.next_deadline().filter(|_| self.hub_up) else { return };
        let at = next.0.saturating_mul(MILLISECOND).max(self.now);
        if self.timer.is_none_or(|set| at < set) {
            self.timer = Some(at);
            self.agenda.note(at, What::Timer(at));
        }
    }

    pub fn crash_hub(&mut self, away: u64) -> Result<(), String> {
        self.hub.replay()?;
        self.hub_crashes += 1;
        (self.hub_up, self.timer) = (false, None);
        self.agenda.note(self.now + away, What::HubUp);
        for worker in 0..self.workers.len() as u32 {
            if let Some(session) = self.sessions[worker as usize].take() {
                let seen = self.now + self.chance.log_uniform(1, 15_000) * MILLISECOND;
                self.agenda.note(seen, What::Cut { worker, session });
            }
        }
        Ok(())
    }

    fn submit(&mut self, at: u32) -> Result<(), String> {
        if self.answers[at as usize] != Answer::None {
            return Ok(());
        }
        self.agenda.note(self.now + CLIENT_RETRY, What::Submit(at));
        let job = &self.scenario.jobs[at as usize];
        let mut graph = plan::plan(&job.file).map_err(|error| format!("{}: {error}", error.at))?;
        if self.chain.is_none() && self.hub_up && !self.hub.core.knows_requester(&job.requester) {
            let theirs = self.scenario.jobs.iter().filter(|other| other.requester == job.requester);
            let caps: u64 = theirs.filter_map(|other| other.file.budget.price_max).map(|cap| cap.0).sum();
            let account = Account::Requester(job.requester.clone());
            self.tell(Event::Deposited { account, amount: Amount(caps) })?;
        }
        if !self.hub_up {
            return Ok(());
        }
        // The shell answers for jobs that the core has forgotten.
        let known = self.plans.iter().position(|plan| *plan == Some(at as usize)).map(|job| JobId(job as u64));
        if let Some(job) = known.filter(|job| self.archived.contains(job)) {
            self.answers[at as usize] = Answer::Accepted(job);
            return Ok(());
        }
        self.ask_price(at, &mut graph)?;
        let submission = u128::from(mix_two(self.scenario.seed, u64::from(at)));
        let order = self.chain.is_some().then(|| self.sign(at, submission));
        self.tell(Event::JobSubmitted {
            ticket: Ticket(at.into()),
            submission,
            requester: job.requester.clone(),
            graph,
            order,
        })
    }

    /// A requester that wants to know asks what its job would cost, and orders by that where money is with the hub.
    fn ask_price(&mut self, at: u32, graph: &mut Graph) -> Result<(), String> {
        let asks = self.scenario.jobs[at as usize].asks;
        if asks == Asks::No {
            return Ok(());
        }
        let now = Millis(self.now / MILLISECOND);
        let Ok(view) = self.hub.core.quote(now, graph.clone()) else { return Ok(()) };
        let choice = view.choices.into_iter().find(|choice| choice.prefer == graph.prefer);
        let choice = choice.ok_or("a preference is not quoted")?;
        if let Some(price) = choice.expected {
            let ordered = price.low <= price.expected && price.expected <= price.high;
            ensure(ordered, || format!("a quote's range is none: {price:?}"))?;
        }
        if let (Asks::AndOrders, None, Some(offer)) = (asks, &self.chain, &choice.offer) {
            (graph.price_max, graph.quote) = (Some(offer.quote.price), Some(offer.quote.clone()));
        }
        self.asked.entry(at).or_insert(choice);
        Ok(())
    }

    /// What the requester signs; the same each time it asks.
    fn sign(&self, at: u32, submission: u128) -> SignedOrder {
        let job = &self.scenario.jobs[at as usize];
        let cap = job.file.budget.price_max.unwrap_or(self.hub.core.params().price_max_default);
        chain::order(job.requester.parse().expect("requesters on a chain are accounts"), cap, submission)
    }

    fn cancel(&mut self, at: u32) -> Result<(), String> {
        match self.answers[at as usize] {
            Answer::Accepted(job) if self.hub_up => self.tell(Event::JobCancelled { job }),
            Answer::Accepted(_) | Answer::None | Answer::Refused => Ok(()),
        }
    }

    fn archive(&mut self, job: JobId) -> Result<(), String> {
        if !self.hub_up {
            return Ok(());
        }
        self.keep_order(job);
        self.open_jobs -= usize::from(self.archived.insert(job));
        self.tell(Event::JobArchived { job })
    }

    fn connection_ended(&mut self, worker: u32, session: u64) -> Result<(), String> {
        let (true, Some(id)) = (self.hub_up, self.numbers[worker as usize]) else { return Ok(()) };
        if self.sessions[worker as usize] == Some(session) {
            self.sessions[worker as usize] = None;
        }
        self.agenda.note(self.now, What::Cut { worker, session });
        self.tell(Event::WorkerLeft { worker: id, session: Session(session) })
    }

    /// All that must hold when every job has ended.
    fn look_back(&mut self) -> Result<(), String> {
        self.hub.core.check()?;
        ensure(self.hub.core.auctions_open() == 0, || "auctions are left open".into())?;
        if self.watch == Watch::EveryStep {
            self.books.check_money(&self.hub.core)?;
            self.books.look_back(&self.hub.core)?;
            self.hub.replay()?;
        }
        let accepted = (0..).zip(&self.answers).filter(|(_, answer)| matches!(answer, Answer::Accepted(_)));
        for (plan, _) in accepted {
            let ended = self.watch == Watch::Rarely || self.books.has_ended(plan);
            ensure(ended, || format!("the job of submission {plan} is lost"))?;
        }
        Ok(())
    }

    fn turnaround(&self) -> u64 {
        let submitted = |job: &JobId| {
            let plan = self.plans.get(job.0 as usize).copied().flatten();
            plan.map_or(0, |plan| self.scenario.jobs[plan].at)
        };
        self.ended.iter().map(|(job, at)| at.saturating_sub(submitted(job))).sum()
    }

    pub fn report(&self) -> Report {
        let totals = self.hub.core.totals();
        let first = self.scenario.jobs.iter().map(|job| job.at).min().unwrap_or(0);
        let used: u64 = self.workers.iter().map(|worker| worker.used).sum();
        let failed = Cause::ALL.iter().map(|cause| (*cause, totals.attempts_failed[*cause as usize]));
        Report {
            seed: self.scenario.seed,
            workers: self.workers.len() as u64,
            tasks_done: totals.tasks_done,
            tasks_known: totals.tasks_known,
            jobs_done: totals.jobs_done,
            jobs_failed: totals.jobs_failed,
            jobs_cancelled: totals.jobs_cancelled,
            makespan_ms: self.ended.values().max().map_or(0, |at| at.saturating_sub(first)) / MILLISECOND,
            turnaround_ms: self.turnaround() / MILLISECOND,
            attempts: totals.attempts_started,
            failed: failed.filter(|(_, count)| *count > 0).collect(),
            second_attempts: totals.second_attempts,
            results_late: totals.results_late,
            hub_crashes: self.hub_crashes,
            device_ms: used / MILLISECOND,
            wasted_per_mille: (used.saturating_sub(self.useful) * 1000).checked_div(used).unwrap_or(0),
            spent: Amount(self.spent),
            bytes_moved: self.workers.iter().map(|worker| worker.cache.moved).sum(),
            events: self.events,
            trace: self.trace.hash(),
        }
    }
}
