//! Placement decisions a second of processor time with a million workers, against a scan over all of them.
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use gleaner_core::ledger::Account;
use gleaner_core::plan::plan;
use gleaner_core::{Core, Effect, Event, Params, Session, Ticket};
use gleaner_wire::job_file::{
    BlenderFile, Budget, ContainerFile, JobFile, KernelFile, NeedsFile, Prefer, Source, TaskFile,
};
use gleaner_wire::market::Market;
use gleaner_wire::{
    Address, Amount, BlobRef, ByteSize, DeviceKind, DeviceNeed, DeviceOffer, JobId, Millis, Offer, Runtime,
    RuntimeOffer, TaskId, WorkerKey,
};

use super::figure::Figure;
use super::process::thread_time;

pub(super) const NOW: Millis = Millis(1_000_000);
/// Decisions that are timed in one go, where enough workers are idle.
const DECISIONS: u32 = 40_000;
/// How often they are timed at each load; a neighbour's burst spoils some of the rounds.
const ROUNDS: usize = 11;
/// No alarm of a free worker lies further ahead than this.
const REST_MS: u64 = 60_000;
/// Scans that are timed for the floor.
const SCANS: u32 = 50;
const REGIONS: [&str; 6] = ["eu", "us", "asia", "africa", "oceania", "latin"];
const MEMORIES_GIB: [u64; 8] = [4, 6, 8, 11, 12, 16, 24, 80];
const KINDS: [DeviceKind; 4] = [DeviceKind::Nvidia, DeviceKind::Nvidia, DeviceKind::Amd, DeviceKind::Intel];

/// Whose a worker is: each owner has 64.
pub(super) fn owner(number: u32) -> Address {
    let mut address = [7; 20];
    address[..4].copy_from_slice(&(number / 64).to_le_bytes());
    Address(address)
}

/// A worker of the million, different from its neighbours in every respect.
pub(super) fn offer(number: u32) -> Offer {
    let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let pick = |shift: u32, count: usize| (spread >> shift) as usize % count;
    let score = 200 + (spread % 7800) as u32;
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score, loops_max: None, engine: None }];
    let device = DeviceOffer {
        kind: KINDS[pick(3, KINDS.len())],
        name: "gpu".into(),
        memory: ByteSize::mib(MEMORIES_GIB[pick(7, MEMORIES_GIB.len())] * 1024),
        cards: 1,
        slots: 1,
        network: false,
        eevee: false,
        price_per_second: Amount(20_000 + spread % 700_000),
        runtimes,
    };
    Offer {
        name: format!("w{number}"),
        region: REGIONS[pick(11, REGIONS.len())].into(),
        provider: Some(owner(number)),
        devices: vec![device],
    }
}

pub(super) fn job(name: &str, count: u32, needs: NeedsFile) -> JobFile {
    let task = TaskFile {
        name: name.into(),
        runtime: Runtime::Wgsl,
        program: Some(Source::Data(BlobRef::of(name.as_bytes()).into())),
        each: Some(format!("1..{count}")),
        tiles: None,
        sweep: BTreeMap::new(),
        inputs: vec![],
        needs,
        time_max: Some("1s".into()),
        output_max: None,
        memo: false,
        args: vec![],
        kernel: KernelFile::default(),
        container: ContainerFile::default(),
        blender: BlenderFile::default(),
        check: None,
    };
    let budget = Budget { price_max: Some(Amount::gln(100_000)), time_max: None };
    let (prefer, market) = (Prefer::Balanced, Market::default());
    JobFile { name: name.into(), prefer, budget, market, needs: NeedsFile::default(), tasks: vec![task] }
}

/// A hub with all workers connected and idle.
pub(super) fn crowd(workers: u32) -> Core {
    let mut core = Core::new(Params::default());
    let mut effects = Vec::new();
    let account = Account::Requester("bench".into());
    core.apply(NOW, Event::Deposited { account, amount: Amount::gln(10_000_000) }, &mut effects);
    for number in 0..workers {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        let (session, offer) = (Session(u64::from(number)), offer(number));
        let joined = Event::WorkerJoined { key: WorkerKey(key), session, offer, resting: vec![], held: vec![] };
        core.apply(NOW, joined, &mut effects);
        effects.clear();
    }
    core
}

/// The core with its workers, and which of them are idle.
struct Fleet {
    core: Core,
    now: Millis,
    idle: Vec<bool>,
    submissions: u128,
    effects: Vec<Effect>,
}

/// A submitted array, how many of its tasks were placed, and in how much processor time.
struct Placed {
    job: JobId,
    count: u64,
    took: Duration,
}

impl Fleet {
    fn new(workers: u32) -> Self {
        let idle = vec![true; workers as usize];
        Self { core: crowd(workers), now: NOW, idle, submissions: 0, effects: Vec::new() }
    }

    /// Submits an array and counts the attempts that were placed for it.
    fn submit(&mut self, name: &str, count: u32, needs: &NeedsFile) -> Result<Placed> {
        let graph = plan(&job(name, count, needs.clone())).context("the benchmark's own job makes sense")?;
        let requester = "bench".to_owned();
        self.submissions += 1;
        let event =
            Event::JobSubmitted { ticket: Ticket(0), submission: self.submissions, requester, graph, order: None };
        let took = self.apply(event);
        let (mut placed, mut accepted) = (0, None);
        for effect in &self.effects {
            if let Effect::AcceptJob { job, .. } = effect {
                accepted = Some(*job);
            } else if let Effect::StartAttempt { worker, .. } = effect {
                placed += 1;
                self.idle[worker.0 as usize] = false;
            }
        }
        let job = accepted.context("the benchmark's own job is accepted")?;
        Ok(Placed { job, count: placed, took })
    }

    /// Applies an event; says how much processor time that took.
    fn apply(&mut self, event: Event) -> Duration {
        self.effects.clear();
        let start = thread_time();
        self.core.apply(self.now, event, &mut self.effects);
        thread_time().saturating_sub(start)
    }

    /// Calls off a job, so that its workers are idle again, each behind those that have waited longer.
    fn free(&mut self, job: JobId) {
        self.apply(Event::JobCancelled { job });
        for effect in &self.effects {
            if let Effect::CancelAttempt { worker, .. } = effect {
                self.idle[worker.0 as usize] = true;
            }
        }
        self.apply(Event::JobArchived { job });
    }

    /// Lets all alarms ring, so that the next decision for a worker sets one again.
    fn rest(&mut self) {
        self.now = self.now.after(Millis(REST_MS));
        self.apply(Event::TimePassed);
    }

    /// How many idle workers could take a task with these needs.
    fn idle_for(&self, needs: &NeedsFile) -> u32 {
        let idle = (0..).zip(&self.idle).filter(|(_, idle)| **idle).map(|(number, _)| offer(number));
        idle.filter(|offer| fits(offer, needs)).count() as u32
    }

    /// Decisions a second of processor time, the median of several rounds: in each, as many untimed ones before the timed
    /// ones, then all of them are freed.
    fn steady(&mut self, needs: &NeedsFile) -> Result<f64> {
        // Never the last half of those that fit, so that the load stays about what it is called.
        let count = DECISIONS.min(self.idle_for(needs) / 4);
        ensure!(count > 0, "too few idle workers fit; use more of them");
        let mut rates = Vec::new();
        for _ in 0..ROUNDS {
            let before = self.submit("warm-up", count, needs)?;
            let timed = self.submit("timed", count, needs)?;
            ensure!(timed.count == u64::from(count), "only {} of {count} tasks were placed", timed.count);
            rates.push(f64::from(count) / timed.took.as_secs_f64());
            self.free(before.job);
            self.free(timed.job);
        }
        rates.sort_by(f64::total_cmp);
        Ok(rates[rates.len() / 2])
    }

    /// Choices a second of processor time, by turns for each region, with nothing placed.
    fn choices(&mut self) -> Result<f64> {
        let mut tasks = Vec::new();
        for region in REGIONS {
            let job = self.submit("choice", 1, &picky(region))?.job;
            tasks.push(TaskId { job, group: 0, index: 0 });
        }
        let start = thread_time();
        for task in tasks.iter().cycle().take(DECISIONS as usize) {
            black_box(self.core.best_worker(black_box(*task)));
        }
        let rate = f64::from(DECISIONS) / thread_time().saturating_sub(start).as_secs_f64();
        tasks.iter().for_each(|task| self.free(task.job));
        Ok(rate)
    }
}

/// Needs that a sixteenth of the workers meet.
fn picky(region: &str) -> NeedsFile {
    NeedsFile {
        device: Some(DeviceNeed::Nvidia),
        memory: Some(ByteSize::mib(8 * 1024)),
        region: Some(region.into()),
        score_min: None,
    }
}

fn fits(offer: &Offer, needs: &NeedsFile) -> bool {
    let device = &offer.devices[0];
    needs.device.is_none_or(|wanted| wanted.accepts(device.kind))
        && needs.memory.is_none_or(|memory| device.memory.0 >= memory.0)
        && needs.region.as_ref().is_none_or(|region| *region == offer.region)
}

/// The floor: look at every worker for every decision, comparing what the index compares.
pub(super) fn scans_a_second(workers: u32) -> f64 {
    struct Plain {
        kind: DeviceKind,
        memory: u64,
        region: usize,
        score: u32,
        price: u64,
        idle: bool,
    }
    let offers = (0..workers).map(|number| {
        let offer = offer(number);
        let device = &offer.devices[0];
        Plain {
            kind: device.kind,
            memory: device.memory.0,
            region: REGIONS.iter().position(|region| *region == offer.region).unwrap_or(0),
            score: device.runtimes[0].score,
            price: device.price_per_second.0,
            idle: true,
        }
    });
    let offers: Vec<Plain> = offers.collect();
    let start = thread_time();
    for need in 0..SCANS {
        let fits = |offer: &&Plain| {
            offer.idle
                && offer.kind == DeviceKind::Nvidia
                && offer.memory >= 8 << 30
                && offer.region == need as usize % REGIONS.len()
        };
        let cost = |offer: &&Plain| offer.price / u64::from(offer.score);
        black_box(offers.iter().filter(fits).min_by_key(cost).map(|offer| offer.price));
    }
    f64::from(SCANS) / thread_time().saturating_sub(start).as_secs_f64()
}

/// Times the first decision for every worker, then decisions with none, half and almost all of the workers busy.
pub fn measure(workers: u32) -> Result<Vec<Figure>> {
    let floor = scans_a_second(workers);
    let mut fleet = Fleet::new(workers);
    let mut figures = Vec::new();
    let mut figure = |what: String, rate| {
        let name = format!("placement, {workers} workers, {what}");
        let figure = Figure::rate(name, rate, "decisions/CPU-s", "scans over all workers/CPU-s", floor);
        figures.push(figure.goal("≥ 1,000,000"));
    };
    let any = NeedsFile::default();
    let first = fleet.submit("first", workers, &any)?;
    ensure!(first.count == u64::from(workers), "only {} of {workers} tasks were placed", first.count);
    figure("first task of each".into(), first.count as f64 / first.took.as_secs_f64());
    fleet.free(first.job);
    for percent in [0, 50, 95] {
        fleet.rest();
        let busy = (u64::from(workers) * percent / 100) as u32;
        let fill = if busy > 0 { Some(fleet.submit("fill", busy, &any)?.job) } else { None };
        figure(format!("{percent} % busy, choice alone"), fleet.choices()?);
        figure(format!("{percent} % busy, nvidia, 8 GiB, eu"), fleet.steady(&picky("eu"))?);
        figure(format!("{percent} % busy, any device"), fleet.steady(&any)?);
        if let Some(job) = fill {
            fleet.free(job);
        }
    }
    Ok(figures)
}
