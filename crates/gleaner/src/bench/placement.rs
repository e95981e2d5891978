//! Placement decisions a second of processor time with a million workers, against a scan over all of them.
use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use gleaner_core::ledger::Account;
use gleaner_core::plan::plan;
use gleaner_core::{Core, Effect, Event, Params, Session, Ticket};
use gleaner_wire::job_file::{Budget, JobFile, KernelFile, NeedsFile, Prefer, Source, TaskFile};
use gleaner_wire::{
    Amount, BlobRef, ByteSize, DeviceKind, DeviceNeed, DeviceOffer, Millis, Offer, Runtime, RuntimeOffer, WorkerKey,
};

use super::figure::Figure;
use super::process::thread_time;

const NOW: Millis = Millis(1_000_000);
/// Decisions that are timed at each load, where enough workers are idle.
const DECISIONS: u32 = 40_000;
/// One decision for so many timed ones is made before them, untimed, with the same needs.
const WARM_UP_SHARE: u32 = 10;
/// Scans that are timed for the floor.
const SCANS: u32 = 50;
const REGIONS: [&str; 6] = ["eu", "us", "asia", "africa", "oceania", "latin"];
const MEMORIES_GIB: [u64; 8] = [4, 6, 8, 11, 12, 16, 24, 80];
const KINDS: [DeviceKind; 4] = [DeviceKind::Nvidia, DeviceKind::Nvidia, DeviceKind::Amd, DeviceKind::Intel];

/// A worker of the million, different from its neighbours in every respect.
fn offer(number: u32) -> Offer {
    let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let pick = |shift: u32, count: usize| (spread >> shift) as usize % count;
    let score = 200 + (spread % 7800) as u32;
    let runtimes = vec![RuntimeOffer { runtime: Runtime::Wgsl, score, loops_max: None }];
    let device = DeviceOffer {
        kind: KINDS[pick(3, KINDS.len())],
        name: "gpu".into(),
        memory: ByteSize::mib(MEMORIES_GIB[pick(7, MEMORIES_GIB.len())] * 1024),
        slots: 1,
        price_per_second: Amount(20_000 + spread % 700_000),
        runtimes,
    };
    Offer { name: format!("w{number}"), region: REGIONS[pick(11, REGIONS.len())].into(), devices: vec![device] }
}

fn job(name: &str, count: u32, needs: NeedsFile) -> JobFile {
    let task = TaskFile {
        name: name.into(),
        runtime: Runtime::Wgsl,
        program: Source::Blob(BlobRef::of(name.as_bytes())),
        each: Some(format!("1..{count}")),
        tiles: None,
        inputs: vec![],
        needs,
        time_max: Some("1s".into()),
        output_max: None,
        memo: false,
        args: vec![],
        kernel: KernelFile::default(),
    };
    let budget = Budget { price_max: Some(Amount::gln(100_000)), time_max: None };
    JobFile { name: name.into(), prefer: Prefer::Balanced, budget, needs: NeedsFile::default(), tasks: vec![task] }
}

/// A hub with all workers connected and idle.
fn crowd(workers: u32) -> Core {
    let mut core = Core::new(Params::default());
    let mut effects = Vec::new();
    let account = Account::Requester("bench".into());
    core.apply(NOW, Event::Deposited { account, amount: Amount::gln(10_000_000) }, &mut effects);
    for number in 0..workers {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_le_bytes());
        let (session, offer) = (Session(u64::from(number)), offer(number));
        let joined = Event::WorkerJoined { key: WorkerKey(key), session, offer, paused: false, held: vec![] };
        core.apply(NOW, joined, &mut effects);
        effects.clear();
    }
    core
}

/// The core with its workers, and which of them are idle.
struct Fleet {
    core: Core,
    idle: Vec<bool>,
    submissions: u128,
}

impl Fleet {
    /// Submits an array and counts the attempts that were placed for it.
    fn submit(&mut self, name: &str, count: u32, needs: &NeedsFile) -> Result<(u64, Duration)> {
        let graph = plan(&job(name, count, needs.clone())).context("the benchmark's own job makes sense")?;
        let requester = "bench".to_owned();
        let mut effects = Vec::with_capacity(count as usize * 2);
        self.submissions += 1;
        let event = Event::JobSubmitted { ticket: Ticket(0), submission: self.submissions, requester, graph };
        let start = thread_time();
        self.core.apply(NOW, event, &mut effects);
        let took = thread_time().saturating_sub(start);
        let mut placed = 0;
        for effect in &effects {
            if let Effect::StartAttempt { worker, .. } = effect {
                placed += 1;
                self.idle[worker.0 as usize] = false;
            }
        }
        Ok((placed, took))
    }

    fn busy(&self) -> u32 {
        self.idle.iter().filter(|idle| !**idle).count() as u32
    }

    /// How many idle workers could take a task with these needs.
    fn idle_for(&self, needs: &NeedsFile) -> u32 {
        let idle = (0..).zip(&self.idle).filter(|(_, idle)| **idle).map(|(number, _)| offer(number));
        idle.filter(|offer| fits(offer, needs)).count() as u32
    }
}

fn fits(offer: &Offer, needs: &NeedsFile) -> bool {
    let device = &offer.devices[0];
    needs.device.is_none_or(|wanted| wanted.accepts(device.kind))
        && needs.memory.is_none_or(|memory| device.memory.0 >= memory.0)
        && needs.region.as_ref().is_none_or(|region| *region == offer.region)
}

/// The floor: look at every worker for every decision, comparing what the index compares.
fn scans_a_second(workers: u32) -> f64 {
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

/// Times decisions with none, half and almost all of the workers busy.
pub fn measure(workers: u32) -> Result<Vec<Figure>> {
    let floor = scans_a_second(workers);
    let mut fleet = Fleet { core: crowd(workers), idle: vec![true; workers as usize], submissions: 0 };
    let mut figures = Vec::new();
    let any = NeedsFile::default();
    let picky = NeedsFile {
        device: Some(DeviceNeed::Nvidia),
        memory: Some(ByteSize::mib(8 * 1024)),
        region: Some("eu".into()),
        score_min: None,
    };
    for percent in [0, 50, 95] {
        let wanted = (u64::from(workers) * percent / 100) as u32;
        let fill = wanted.saturating_sub(fleet.busy());
        if fill > 0 {
            fleet.submit("fill", fill, &any)?;
        }
        // The picky first: few of those that fit are idle at the end.
        for (what, needs) in [("nvidia, 8 GiB, eu", &picky), ("any device", &any)] {
            // Never the last half of those that fit, so that the load stays about what it is called.
            let count = DECISIONS.min(fleet.idle_for(needs) / 2);
            if count == 0 {
                continue;
            }
            fleet.submit("warm-up", count.div_ceil(WARM_UP_SHARE), needs)?;
            let (placed, took) = fleet.submit("timed", count, needs)?;
            ensure!(placed == u64::from(count), "only {placed} of {count} tasks were placed");
            let rate = placed as f64 / took.as_secs_f64();
            let name = format!("placements, {workers} workers, {percent} % busy, {what}");
            figures.push(
                Figure::rate(name, rate, "decisions/CPU-s", "scans over all workers/CPU-s", floor).goal("≥ 1,000,000"),
            );
        }
    }
    Ok(figures)
}
