//! A world before it runs: its workers, its jobs, and every fate that will strike it, all drawn from one seed.
use gleaner_core::Params;
use gleaner_wire::job_file::Prefer;
use gleaner_wire::{Address, Amount, ByteSize, DeviceKind, DeviceOffer, Each, Offer, Runtime, RuntimeOffer};

use crate::bidding::Bidder;
use crate::chain::{self, ChainPlan, SLASH_POINTS};
use crate::chance::{Chance, mix_two};
use crate::data_plan;
use crate::faults::{FATES, Faults};
use crate::job_plan::{self, JobPlan};
use crate::market_plan;

/// Milliseconds in virtual microseconds.
pub(crate) const MILLISECOND: u64 = 1000;

/// Nodes of an uneven world.
const UNEVEN_NODES: u32 = 60;
/// Workers of a small world that can do anything and whose devices never break.
const UNIVERSAL: usize = 3;

/// Small worlds in which workers are tested, and in which they save how far they are, per mille.
const WITH_TESTS: u32 = 333;
const WITH_CHECKPOINTS: u32 = 500;
/// Those in which results are checked, and of these those with a liar.
const WITH_CHECKS: u32 = 500;
const WITH_A_LIAR: u32 = 500;
/// Worlds in which some workers are the platform's own, per mille.
const WITH_MANAGED: u32 = 400;

/// What reaches a machine in a second, and what it keeps, where nobody looks.
const LINE: u64 = 12_500_000;
const ROOM: u64 = 100_000_000_000;

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct WorkerPlan {
    /// What its devices really do; 1000 is the reference machine.
    pub speed: u32,
    /// What its benchmark says they do.
    pub score: u32,
    pub kind: DeviceKind,
    pub memory_gib: u8,
    pub region: u8,
    pub slots: u16,
    pub price: u64,
    /// Whether it shares its processor beside its GPU.
    pub processor: bool,
    pub latency_ms: u16,
    /// Bytes a second that reach it, and bytes of data that it keeps.
    pub line: u64,
    pub room: u64,
    /// Runs in which its device breaks, per mille.
    pub device_faults: u16,
    /// The account that is paid for its work, where money is on a chain.
    pub provider: Option<Address>,
    pub bidder: Bidder,
}

/// Something that strikes a worker or the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The worker's process dies with all it holds; the hub may or may not see the connection end.
    Crash { worker: u32, away_ms: u64, seen: bool },
    /// The connection breaks; the worker goes on running. The hub learns of it after a while.
    Break { worker: u32, away_ms: u64, seen_after_ms: u64 },
    /// The worker says goodbye and comes back later.
    Leave { worker: u32, away_ms: u64 },
    /// The machine sleeps: nothing is sent or done until it wakes.
    Freeze { worker: u32, for_ms: u64 },
    /// Everything takes this many thousandths of the time it should.
    Slow { worker: u32, pace: u32 },
    /// The owner wants the machine for a while; what runs is handed back or finished.
    Pause { worker: u32, for_ms: u64, hands_back: bool },
    /// The owner wants one device of it for a while.
    Rest { worker: u32, device: u16, for_ms: u64, hands_back: bool },
    /// The worker sends a result for an attempt of somebody else.
    Forge { worker: u32 },
    /// The worker sends results for attempts that never were.
    Babble { worker: u32 },
    /// The worker reconnects with another offer.
    Reoffer { worker: u32 },
    /// The worker asks this many thousandths of its first price from now on.
    Reprice { worker: u32, per_mille: u64 },
    /// The hub dies, after writing an event but before acting on it if `torn`.
    HubCrash { away_ms: u64, torn: bool },
}

/// A world before it runs.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub seed: u64,
    /// The command that runs it again.
    pub replay: String,
    pub faults: Faults,
    pub workers: Vec<WorkerPlan>,
    pub jobs: Vec<JobPlan>,
    /// By time, in microseconds.
    pub fates: Vec<(u64, Fate)>,
    /// When faults stop, in microseconds.
    pub calm_at: u64,
    /// Where money is, if not with the hub.
    pub chain: Option<ChainPlan>,
    /// Whether placement knows who holds which data.
    pub data_aware: bool,
    /// Whether workers are tested before they get work.
    pub screening: bool,
    /// Whether workers save how far their attempts are.
    pub saving: bool,
    /// Whether results are checked before they are paid.
    pub checks: bool,
    /// A worker that delivers wrong results until the calm, each time another one.
    pub liar: Option<u32>,
    /// Whether the operator keeps changing which workers are the platform's own.
    pub managing: bool,
}

impl Scenario {
    /// A small world with all kinds of workers, jobs and faults.
    pub fn small(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let faults = Faults::drawn(&mut chance);
        let count = chance.between(3, 20);
        let mut workers: Vec<_> = (0..count).map(|_| WorkerPlan::drawn(&mut chance, &faults)).collect();
        // Enough of them can do anything, so that a job that nothing else hinders must get done.
        for plan in workers.iter_mut().take(UNIVERSAL) {
            (plan.kind, plan.processor, plan.memory_gib) = (DeviceKind::Nvidia, true, 24);
            plan.device_faults = 0;
        }
        let mut jobs = job_plan::drawn(&mut chance, faults.calm_at_ms);
        data_plan::add_data(seed, &mut workers, &mut jobs);
        market_plan::add_market(seed, faults.calm_at_ms, &mut jobs);
        let replay = format!("gleaner sim --seeds 1 --from {seed}");
        let chain = ChainPlan::drawn(seed, workers.len(), faults.calm_at_ms);
        let scenario = Self::with_fates(seed, replay, faults, workers, jobs, &mut chance).on(chain);
        let mut chance = Chance::new(mix_two(seed, 0x7e57));
        let (screening, saving) = (chance.hits(WITH_TESTS), chance.hits(WITH_CHECKPOINTS));
        let checks = chance.hits(WITH_CHECKS);
        let others = (scenario.workers.len() as u64).saturating_sub(UNIVERSAL as u64);
        let liar =
            (checks && others > 0 && chance.hits(WITH_A_LIAR)).then(|| UNIVERSAL as u32 + chance.below(others) as u32);
        let managing = chance.hits(WITH_MANAGED);
        Self { screening, saving, checks, liar, managing, ..scenario }.with_liar_apart().with_auctions()
    }

    /// A world of GPU workers and arrays of short tasks, as large as you like.
    pub fn large(seed: u64, workers: u32, tasks: u64, faults: Faults, word: &str) -> Self {
        let mut chance = Chance::new(seed);
        let plans = (0..workers).map(|_| WorkerPlan::gpu(&mut chance, &faults)).collect();
        let jobs = job_plan::arrays(tasks);
        let replay = format!("gleaner sim --workers {workers} --tasks {tasks} --seed {seed} --faults {word}");
        Self::with_fates(seed, replay, faults, plans, jobs, &mut chance)
    }

    /// Sixty uneven nodes and a few hundred tasks; some nodes stall or slow down, a few per cent of runs and nodes fail.
    pub fn uneven(seed: u64, prefer: Prefer) -> Self {
        let mut chance = Chance::new(seed);
        let faults = Faults { device_faults: 30, flaky_workers: 1000, calm_at_ms: 24 * 3_600_000, ..Faults::none() };
        let workers: Vec<_> = (0..UNEVEN_NODES).map(|_| WorkerPlan::gpu(&mut chance, &faults)).collect();
        let tasks = chance.between(240, 480);
        let jobs = vec![job_plan::array("ada", tasks, 5_000_000, 4000, prefer)];
        let mut fates = Vec::new();
        for worker in 0..UNEVEN_NODES {
            let at = chance.below(20_000) * MILLISECOND;
            let fate = match chance.below(100) {
                0..10 => Fate::Slow { worker, pace: chance.log_uniform(2000, 20_000) as u32 },
                10..15 => Fate::Freeze { worker, for_ms: chance.between(10_000, 60_000) },
                15..18 => Fate::Crash { worker, away_ms: chance.between(5000, 60_000), seen: chance.hits(500) },
                _ => continue,
            };
            fates.push((at, fate));
        }
        let replay = format!("gleaner sim compare --seeds 1 --from {seed}");
        Self::plain(seed, replay, faults, workers, jobs, fates)
    }

    /// The same world with its money on this chain: workers and requesters have accounts.
    fn on(mut self, chain: Option<ChainPlan>) -> Self {
        if let Some(chain) = &chain {
            for (worker, provider) in self.workers.iter_mut().zip(&chain.providers) {
                worker.provider = Some(*provider);
            }
            for job in &mut self.jobs {
                job.requester = chain::account(&job.requester).to_string();
            }
        }
        Self { chain, ..self }
    }

    /// The same world where nobody else answers for what the liar does.
    fn with_liar_apart(mut self) -> Self {
        if let (Some(chain), Some(liar)) = (&mut self.chain, self.liar) {
            chain.set_apart(liar);
            self.workers[liar as usize].provider = Some(chain.providers[liar as usize]);
        }
        self
    }

    /// What the hub is founded with.
    pub fn params(&self) -> Params {
        let (data_aware, screening, checks) = (self.data_aware, self.screening, self.checks);
        let params = Params { data_aware, screening, checks, ..Params::default() };
        let Some(ChainPlan { stake_min, work_lock, .. }) = self.chain else { return params };
        Params { orders: true, stake_min, work_lock, slash_points: SLASH_POINTS, ..params }
    }

    /// How many tasks the first job has.
    pub fn tasks(&self) -> u64 {
        let each = self.jobs.first().and_then(|job| job.file.tasks[0].each.as_ref()?.parse::<Each>().ok());
        each.map_or(0, |each| each.count())
    }

    fn with_fates(
        seed: u64,
        replay: String,
        faults: Faults,
        workers: Vec<WorkerPlan>,
        jobs: Vec<JobPlan>,
        chance: &mut Chance,
    ) -> Self {
        let fates = fates(chance, &faults, workers.len() as u32);
        Self::plain(seed, replay, faults, workers, jobs, fates)
    }

    /// A world with its money at the hub, in which nobody is tested and nothing is saved.
    pub fn plain(
        seed: u64,
        replay: String,
        faults: Faults,
        workers: Vec<WorkerPlan>,
        jobs: Vec<JobPlan>,
        fates: Vec<(u64, Fate)>,
    ) -> Self {
        let calm_at = faults.calm_at_ms * MILLISECOND;
        let (chain, data_aware, screening, saving) = (None, true, false, false);
        let (checks, liar, managing) = (false, None, false);
        Self {
            seed,
            replay,
            faults,
            workers,
            jobs,
            fates,
            calm_at,
            chain,
            data_aware,
            screening,
            saving,
            checks,
            liar,
            managing,
        }
    }
}

fn fates(chance: &mut Chance, faults: &Faults, workers: u32) -> Vec<(u64, Fate)> {
    let mut fates = Vec::new();
    if faults.fates > 0 && faults.fate_every_ms > 0 {
        for worker in 0..workers {
            let mut at = chance.below(faults.fate_every_ms * 2);
            while at < faults.calm_at_ms {
                fates.push((at * MILLISECOND, fate(chance, faults, worker)));
                at += 1 + chance.below(faults.fate_every_ms * 2);
            }
        }
    }
    if faults.hub_crash_every_ms > 0 {
        let mut at = chance.below(faults.hub_crash_every_ms * 2);
        while at < faults.calm_at_ms {
            let away_ms = chance.log_uniform(10, 60_000);
            fates.push((at * MILLISECOND, Fate::HubCrash { away_ms, torn: chance.hits(500) }));
            at += 1 + chance.below(faults.hub_crash_every_ms * 2);
        }
    }
    fates.sort_by_key(|(at, _)| *at);
    fates
}

fn fate(chance: &mut Chance, faults: &Faults, worker: u32) -> Fate {
    let allowed: Vec<u32> = (0..FATES).filter(|kind| faults.fates >> kind & 1 == 1).collect();
    let away_ms = chance.log_uniform(50, 90_000);
    match *chance.pick(&allowed) {
        0 => Fate::Crash { worker, away_ms, seen: chance.hits(500) },
        1 => Fate::Break { worker, away_ms, seen_after_ms: chance.log_uniform(1, 60_000) },
        2 => Fate::Leave { worker, away_ms },
        3 => Fate::Freeze { worker, for_ms: chance.log_uniform(100, 120_000) },
        4 => Fate::Slow { worker, pace: chance.log_uniform(500, 20_000) as u32 },
        5 => Fate::Pause { worker, for_ms: away_ms, hands_back: chance.hits(500) },
        6 => Fate::Forge { worker },
        7 => Fate::Babble { worker },
        8 => Fate::Reoffer { worker },
        9 => Fate::Rest { worker, device: chance.below(2) as u16, for_ms: away_ms, hands_back: chance.hits(500) },
        _ => Fate::Reprice { worker, per_mille: chance.log_uniform(100, 10_000) },
    }
}

const GPUS: [DeviceKind; 5] =
    [DeviceKind::Nvidia, DeviceKind::Amd, DeviceKind::Intel, DeviceKind::Apple, DeviceKind::Software];
/// Regions that workers are in.
pub(crate) const REGIONS: u64 = 4;

impl WorkerPlan {
    /// Any machine: speeds over a range of 1:50, benchmarks that are off, and here and there one that lies.
    fn drawn(chance: &mut Chance, faults: &Faults) -> Self {
        let speed = chance.log_uniform(200, 10_000) as u32;
        let boast = if chance.hits(50) { 20_000 } else { chance.between(600, 1500) };
        let flaky = chance.hits(faults.flaky_workers);
        Self {
            speed,
            score: (u64::from(speed) * boast / 1000).max(1) as u32,
            kind: if chance.hits(400) { DeviceKind::Cpu } else { *chance.pick(&GPUS) },
            memory_gib: chance.between(1, 24) as u8,
            region: chance.below(REGIONS) as u8,
            slots: chance.log_uniform(1, 8) as u16,
            price: chance.log_uniform(20_000, 800_000),
            processor: chance.hits(600),
            latency_ms: chance.log_uniform(1, 200) as u16,
            line: LINE,
            room: ROOM,
            device_faults: if flaky { faults.device_faults as u16 } else { 0 },
            provider: None,
            bidder: Bidder::Honest,
        }
    }

    /// A machine with one GPU that takes one task at a time.
    pub(crate) fn gpu(chance: &mut Chance, faults: &Faults) -> Self {
        let drawn = Self::drawn(chance, faults);
        let score = (u64::from(drawn.speed) * chance.between(700, 1300) / 1000).max(1) as u32;
        Self { score, kind: GPUS[usize::from(drawn.region) % 4], slots: 1, processor: false, ..drawn }
    }

    /// What it offers; `version` is how often it has changed its mind.
    pub fn offer(&self, index: u32, version: u32) -> Offer {
        let twist = if version == 0 { 0 } else { mix_two(u64::from(index), u64::from(version)) };
        let mut devices = Vec::with_capacity(1 + usize::from(self.processor));
        if self.kind != DeviceKind::Cpu {
            devices.push(self.device(self.kind, Runtime::Wgsl, twist));
        }
        let dropped = twist & 1 == 1 && !devices.is_empty();
        if self.kind == DeviceKind::Cpu || self.processor && !dropped {
            devices.push(self.device(DeviceKind::Cpu, Runtime::Wasm, twist));
        }
        let (name, region) = (format!("worker-{index}"), format!("region-{}", self.region));
        Offer { name, region, provider: self.provider, devices }
    }

    fn device(&self, kind: DeviceKind, runtime: Runtime, twist: u64) -> DeviceOffer {
        let loops_max = (kind == DeviceKind::Software).then_some(65_535);
        let score = self.score + (twist >> 1 & 1) as u32 * self.score / 4;
        DeviceOffer {
            kind,
            name: if twist >> 7 & 3 == 3 { format!("another {kind}") } else { kind.to_string() },
            memory: ByteSize::mib(u64::from(self.memory_gib) * 1024),
            cards: 1,
            slots: (self.slots + (twist >> 2 & 3) as u16).saturating_sub((twist >> 4 & 3) as u16).max(1),
            network: false,
            eevee: false,
            price_per_second: Amount(self.price + (twist >> 6 & 1) * self.price),
            runtimes: vec![RuntimeOffer { runtime, score, loops_max, engine: None }],
        }
    }
}
