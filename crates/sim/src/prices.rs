//! How the price index answers shocks: load that doubles, supply of which half goes away, and both undone.
//!
//! The index is the real core's, with its real placement. Around it stand people who do what prices make people do: a
//! provider shares while the price is above what his machine costs him, and asks what is suggested; requesters bring less
//! the dearer it is. Where they meet, the price stands still.
use std::collections::BTreeMap;

use gleaner_core::ledger::Account;
use gleaner_core::plan::plan;
use gleaner_core::{Core, Effect, Event, Params, Session, Ticket};
use gleaner_wire::job_file::Prefer;
use gleaner_wire::prices::PriceView;
use gleaner_wire::{
    Amount, AttemptId, ByteSize, DeviceKind, DeviceOffer, Finished, JobId, Millis, Offer, Outcome, Output, Runtime,
    RuntimeOffer, WorkerId, WorkerKey,
};
use serde::Serialize;

use crate::chance::Chance;
use crate::job_plan;

const MINUTE_MS: u64 = 60_000;
/// Where virtual time starts: a whole hour.
const START_MS: u64 = 3_600_000_000;
/// How many providers there are.
const PROVIDERS: u32 = 200;
/// What their machines cost them a second, evenly in octaves between these.
const COSTS: (u64, u64) = (40_000, 400_000);
/// How often a provider looks at the price.
const LOOK_MINUTES: u64 = 10;
/// A provider asks anew when the suggestion is this far from what he asks, in parts of a hundred.
const ASK_AGAIN: u64 = 2;
/// How long a task takes.
const TASK_MINUTES: u64 = 5;
/// Tasks that requesters bring in a hundred minutes at the price below; at another, so many fewer or more as it is dearer
/// or cheaper.
const TASKS_PER_100_MINUTES: u64 = 1340;
const PRICE_USUAL: u64 = 120_000;
/// How long each phase lasts.
const PHASE_MINUTES: u64 = 8 * 60;
/// At the end of a phase prices are averaged over this long, and have settled when they stay this near, in parts of a hundred.
const END_MINUTES: usize = 120;
const NEAR: u64 = 5;

/// What happened in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PricePhase {
    /// What changed.
    pub name: &'static str,
    /// Load and providers, in parts of a hundred of the usual.
    pub load: u64,
    /// Providers that may share, in parts of a hundred.
    pub supply: u64,
    /// The suggested price for a second as the phase began.
    pub before: Amount,
    /// The mean of its last two hours.
    pub after: Amount,
    /// The highest and the lowest of all of it.
    pub highest: Amount,
    /// The lowest.
    pub lowest: Amount,
    /// After how many minutes it stayed within five percent of that mean; none if it did not.
    pub settled_minutes: Option<u64>,
    /// Slots online at the end.
    pub slots: u64,
    /// Busy slots in the last two hours, in thousandths.
    pub utilisation: u64,
    /// Tasks that waited for each thousand slots in the last two hours.
    pub queue: u64,
}

/// A whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriceRun {
    /// Its seed.
    pub seed: u64,
    /// Its phases, in order.
    pub phases: Vec<PricePhase>,
}

/// The phases: what changes, load, supply.
const PHASES: [(&str, u64, u64); 5] = [
    ("as usual", 100, 100),
    ("load doubles", 200, 100),
    ("load is as before", 100, 100),
    ("half of the providers leave", 100, 50),
    ("they come back", 100, 100),
];

/// Runs all phases with one seed.
pub fn prices(seed: u64) -> PriceRun {
    let mut market = Market::new(seed);
    let phases = PHASES.iter().map(|(name, load, supply)| market.phase(name, *load, *supply));
    PriceRun { seed, phases: phases.collect() }
}

#[derive(Clone, Copy)]
struct Provider {
    cost: Amount,
    /// What he asks, and on which connection; none while he does not share.
    asks: Option<(Amount, Session)>,
}

struct Market {
    core: Core,
    chance: Chance,
    now: Millis,
    providers: Vec<Provider>,
    /// What runs and until when.
    running: BTreeMap<(Millis, AttemptId), WorkerId>,
    sessions: u64,
    submissions: u128,
    /// Tasks that are still to be brought, in hundredths.
    owed: u64,
    ended: Vec<JobId>,
}

impl Market {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let cost = |_| Provider { cost: Amount(chance.log_uniform(COSTS.0, COSTS.1)), asks: None };
        let providers = (0..PROVIDERS).map(cost).collect();
        // Nobody is ever silent here, so that no lease has to be renewed.
        let params = Params { lease_ms: Millis(u64::MAX / 4), ..Params::default() };
        let mut market = Self {
            core: Core::new(params),
            chance,
            now: Millis(START_MS),
            providers,
            running: BTreeMap::new(),
            sessions: 0,
            submissions: 0,
            owed: 0,
            ended: Vec::new(),
        };
        let account = Account::Requester("ada".into());
        market.apply(Event::Deposited { account, amount: Amount::gln(10_000_000_000) });
        market
    }

    fn phase(&mut self, name: &'static str, load: u64, supply: u64) -> PricePhase {
        let before = self.price().map_or(Amount(PRICE_USUAL), |view| view.per_second);
        let mut views = Vec::new();
        for minute in 0..PHASE_MINUTES {
            self.minute(minute, load, supply);
            views.extend(self.price());
        }
        let price = |view: &PriceView| view.per_second.0;
        let end = &views[views.len() - END_MINUTES..];
        let mean = |of: fn(&PriceView) -> u64| end.iter().map(of).sum::<u64>() / END_MINUTES as u64;
        let after = mean(|view| view.per_second.0);
        let far = |view: &PriceView| price(view).abs_diff(after) * 100 > after * NEAR;
        let settled = views.iter().rposition(far).map_or(0, |last| last as u64 + 1);
        PricePhase {
            name,
            load,
            supply,
            before,
            after: Amount(after),
            highest: Amount(views.iter().map(price).max().unwrap_or(0)),
            lowest: Amount(views.iter().map(price).min().unwrap_or(0)),
            settled_minutes: (settled + END_MINUTES as u64 <= PHASE_MINUTES).then_some(settled),
            slots: end.last().map_or(0, |view| view.slots),
            utilisation: mean(|view| view.busy * 1000 / view.slots.max(1)),
            queue: mean(|view| view.waiting * 1000 / view.slots.max(1)),
        }
    }

    fn minute(&mut self, minute: u64, load: u64, supply: u64) {
        self.now = self.now.after(Millis(MINUTE_MS));
        self.finish();
        let allowed = u64::from(PROVIDERS) * supply / 100;
        for index in (0..PROVIDERS).filter(|index| (minute + u64::from(*index)).is_multiple_of(LOOK_MINUTES)) {
            // Those who leave are spread over all costs.
            let stays = u64::from(index.reverse_bits() >> 24) * u64::from(PROVIDERS) / 256 < allowed;
            self.look(index, stays);
        }
        self.bring(load);
        self.apply(Event::TimePassed);
        while let Some(job) = self.ended.pop() {
            self.apply(Event::JobArchived { job });
        }
    }

    fn price(&self) -> Option<PriceView> {
        self.core.prices(self.now).into_iter().next()
    }

    /// A provider looks at the price: he comes, asks anew, or goes once nothing runs.
    fn look(&mut self, index: u32, stays: bool) {
        let suggested = self.price().filter(|view| view.slots > 0).map(|view| view.per_second);
        let Provider { cost, asks } = self.providers[index as usize];
        // Where nobody is, whoever is not dearer than usual makes the beginning.
        let price = suggested.unwrap_or(Amount(PRICE_USUAL));
        let worth = stays && price >= cost;
        match asks {
            None if worth => self.join(index, price),
            Some((_, session)) if !worth => self.leave(index, session),
            Some((asked, _)) if asked.0.abs_diff(price.0) * 100 > asked.0 * ASK_AGAIN => self.join(index, price),
            Some(_) | None => {}
        }
    }

    fn worker(&self, index: u32) -> Option<WorkerId> {
        self.core.worker_by_key(&key(index))
    }

    fn join(&mut self, index: u32, price: Amount) {
        self.sessions += 1;
        self.providers[index as usize].asks = Some((price, Session(self.sessions)));
        let held = self.worker(index).map(|id| self.running_on(id)).unwrap_or_default();
        let (key, session, offer) = (key(index), Session(self.sessions), offer(index, price));
        self.apply(Event::WorkerJoined { key, session, offer, resting: vec![], held });
    }

    /// A provider who has had enough takes nothing new, and is gone at the first look at which nothing runs.
    fn leave(&mut self, index: u32, session: Session) {
        let Some(worker) = self.worker(index) else { return };
        if !self.running_on(worker).is_empty() {
            return self.apply(Event::WorkerPaused { worker });
        }
        self.providers[index as usize].asks = None;
        self.apply(Event::WorkerResumed { worker });
        self.apply(Event::WorkerLeft { worker, session });
    }

    fn running_on(&self, worker: WorkerId) -> Vec<AttemptId> {
        let held = self.running.iter().filter(|(_, on)| **on == worker);
        held.map(|((_, attempt), _)| *attempt).collect()
    }

    /// Requesters bring tasks: fewer the dearer it is.
    fn bring(&mut self, load: u64) {
        let price = self.price().map_or(PRICE_USUAL, |view| view.per_second.0);
        let usual = TASKS_PER_100_MINUTES * load / 100 * PRICE_USUAL / price.max(1);
        self.owed += usual * self.chance.between(50, 150) / 100;
        let count = self.owed / 100;
        self.owed %= 100;
        if count == 0 {
            return;
        }
        let file = job_plan::array("ada", count, TASK_MINUTES * MINUTE_MS * 1000, 1000, Prefer::Cheap).file;
        let file = gleaner_wire::job_file::JobFile {
            budget: gleaner_wire::job_file::Budget { price_max: Some(Amount::gln(100_000)), ..file.budget },
            ..file
        };
        let graph = plan(&file).expect("the market's own jobs make sense");
        self.submissions += 1;
        let (ticket, submission, requester) = (Ticket(0), self.submissions, "ada".into());
        self.apply(Event::JobSubmitted { ticket, submission, requester, graph, order: None });
    }

    fn finish(&mut self) {
        while let Some(entry) = self.running.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let ((_, attempt), worker) = entry.remove_entry();
            let outcome = Outcome::Done(Output::inline(&[]).expect("nothing is short"));
            let ran = Millis(TASK_MINUTES * MINUTE_MS).micros();
            self.apply(Event::AttemptsFinished { worker, batch: 1, results: vec![Finished { attempt, ran, outcome }] });
        }
    }

    fn apply(&mut self, event: Event) {
        let mut effects = Vec::new();
        self.core.apply(self.now, event, &mut effects);
        for effect in effects {
            match effect {
                Effect::StartAttempt { worker, attempt } => {
                    let until = self.now.after(Millis(TASK_MINUTES * MINUTE_MS));
                    self.running.insert((until, attempt), worker);
                }
                Effect::CancelAttempt { attempt, .. } => self.running.retain(|(_, other), _| *other != attempt),
                Effect::ArchiveJob { job } => self.ended.push(job),
                Effect::WelcomeWorker { .. }
                | Effect::TellPaused { .. }
                | Effect::Screen { .. }
                | Effect::TellScreened { .. }
                | Effect::DisconnectWorker { .. }
                | Effect::RefuseWorker { .. }
                | Effect::LockOrder { .. }
                | Effect::AcceptJob { .. }
                | Effect::RefuseJob { .. }
                | Effect::AnnounceJob { .. }
                | Effect::AnnounceWorker { .. }
                | Effect::AnnounceFailure { .. }
                | Effect::AnnounceDemand
                | Effect::DrawRound { .. }
                | Effect::Accuse { .. }
                | Effect::InviteBid { .. }
                | Effect::AskReveal { .. }
                | Effect::DrawLot { .. }
                | Effect::YieldAttempt { .. } => {}
            }
        }
    }
}

fn key(index: u32) -> WorkerKey {
    let mut key = [0; 32];
    key[..4].copy_from_slice(&index.to_le_bytes());
    WorkerKey(key)
}

fn offer(index: u32, price_per_second: Amount) -> Offer {
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score: 1000, loops_max: None, engine: None }];
    let device = DeviceOffer {
        kind: DeviceKind::Nvidia,
        name: "gpu".into(),
        memory: ByteSize::mib(24 * 1024),
        cards: 1,
        slots: 1,
        network: false,
        eevee: false,
        price_per_second,
        runtimes,
    };
    Offer { name: format!("provider-{index}"), region: "eu".into(), provider: None, devices: vec![device] }
}
