//! The real core against two plain schedulers, on the same uneven, stalling and failing nodes.
//!
//! The plain ones are given every advantage: no network, and failures are noticed at once.
use std::collections::VecDeque;

use gleaner_wire::job_file::Prefer;
use serde::Serialize;

use crate::agenda::Agenda;
use crate::chance::mix_two;
use crate::data_plan;
use crate::report::Violation;
use crate::scenario::{Fate, MILLISECOND, Scenario};
use crate::worker::PACE;
use crate::world::{self, Watch};

/// Tries of one task on one node before a baseline gives up on ever finishing.
const TRIES_MAX: u32 = 10_000;

/// Makespans of one world under each scheduler, in virtual milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The seed.
    pub seed: u64,
    /// Each node gets the same number of tasks beforehand.
    pub even_split_ms: u64,
    /// Each node takes the next task when it is free.
    pub pull_ms: u64,
    /// The core with `prefer = "fast"`.
    pub fast_ms: u64,
    /// The core with `prefer = "balanced"`.
    pub balanced_ms: u64,
    /// All the work over all the speed, faults aside: nothing can be faster.
    pub floor_ms: u64,
}

/// Compares on one seed.
pub fn compare(seed: u64) -> Result<Comparison, Violation> {
    let scenario = Scenario::uneven(seed, Prefer::Fast);
    let fast = world::run(&scenario, Watch::Rarely)?;
    let balanced = world::run(&Scenario::uneven(seed, Prefer::Balanced), Watch::Rarely)?;
    let nodes: Vec<Node> = (0..scenario.workers.len() as u32).map(|index| Node::new(&scenario, index)).collect();
    let job = &scenario.jobs[0];
    let tasks: Vec<u64> = (1..=scenario.tasks()).map(|value| job.truths[0].work(value)).collect();
    let speed: u64 = nodes.iter().map(|node| node.speed).sum();
    Ok(Comparison {
        seed,
        even_split_ms: even_split(&nodes, &tasks) / MILLISECOND,
        pull_ms: pull(&nodes, &tasks) / MILLISECOND,
        fast_ms: fast.makespan_ms,
        balanced_ms: balanced.makespan_ms,
        floor_ms: tasks.iter().sum::<u64>() / speed,
    })
}

/// One world with data, placed with and without knowing who holds it. Its clocks allow for moving data either way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataComparison {
    /// The seed.
    pub seed: u64,
    /// The sum of the jobs' times from submission to end, in virtual milliseconds, where placement does not know.
    pub blind_ms: u64,
    /// The same where it does.
    pub aware_ms: u64,
    /// Bytes that workers fetched where placement does not know.
    pub blind_bytes: u64,
    /// The same where it does.
    pub aware_bytes: u64,
}

/// Compares placement that knows who holds which data with one that does not, on one seed.
pub fn compare_data(seed: u64, prefer: Prefer) -> Result<DataComparison, Violation> {
    let aware = data_plan::holding(seed, prefer);
    let blind = Scenario { data_aware: false, ..aware.clone() };
    let (aware, blind) = (world::run(&aware, Watch::Rarely)?, world::run(&blind, Watch::Rarely)?);
    Ok(DataComparison {
        seed,
        blind_ms: blind.turnaround_ms,
        aware_ms: aware.turnaround_ms,
        blind_bytes: blind.bytes_moved,
        aware_bytes: aware.bytes_moved,
    })
}

/// A node's machine: what will happen to it is fixed beforehand.
struct Node {
    index: u32,
    speed: u64,
    device_faults: u64,
    paces: Vec<(u64, u32)>,
    /// From when to when it sleeps.
    sleeps: Vec<(u64, u64)>,
    /// From when to when it is away; what it runs is lost.
    crashes: Vec<(u64, u64)>,
}

/// How a run ends.
enum Run {
    Done(u64),
    /// Lost at the first time; the node can go on at the second.
    Lost(u64, u64),
}

impl Node {
    fn new(scenario: &Scenario, index: u32) -> Self {
        let plan = &scenario.workers[index as usize];
        let (speed, device_faults) = (u64::from(plan.speed), u64::from(plan.device_faults));
        let (paces, sleeps, crashes) = (Vec::new(), Vec::new(), Vec::new());
        let mut node = Self { index, speed, device_faults, paces, sleeps, crashes };
        for (at, fate) in &scenario.fates {
            match fate {
                Fate::Slow { worker, pace } if *worker == index => node.paces.push((*at, *pace)),
                Fate::Freeze { worker, for_ms } if *worker == index => {
                    node.sleeps.push((*at, at + for_ms * MILLISECOND));
                }
                Fate::Crash { worker, away_ms, .. } if *worker == index => {
                    node.crashes.push((*at, at + away_ms * MILLISECOND));
                }
                Fate::Slow { .. }
                | Fate::Freeze { .. }
                | Fate::Crash { .. }
                | Fate::Break { .. }
                | Fate::Leave { .. }
                | Fate::Pause { .. }
                | Fate::Rest { .. }
                | Fate::Forge { .. }
                | Fate::Babble { .. }
                | Fate::Reoffer { .. }
                | Fate::Reprice { .. }
                | Fate::HubCrash { .. } => {}
            }
        }
        node
    }

    fn run(&self, start: u64, task: usize, work: u64, tries: u32) -> Run {
        if let Some((_, back)) = self.crashes.iter().find(|(from, to)| (*from..*to).contains(&start)) {
            return Run::Lost(start, *back);
        }
        let mut end = self.end(start, work);
        if let Some((_, wakes)) = self.sleeps.iter().find(|(from, to)| (*from..*to).contains(&end)) {
            end = *wakes;
        }
        if let Some((at, back)) = self.crashes.iter().find(|(from, _)| (start..end).contains(from)) {
            return Run::Lost(*at, *back);
        }
        let draw = mix_two(mix_two(u64::from(self.index), task as u64), u64::from(tries));
        if draw % 1000 < self.device_faults { Run::Lost(end, end) } else { Run::Done(end) }
    }

    /// When work that starts now is done, at the paces to come.
    fn end(&self, start: u64, work: u64) -> u64 {
        let mut left = work * 1000 / self.speed;
        let (mut at, mut pace) = (start, PACE);
        for (change, next) in &self.paces {
            if *change > at {
                let done = (change - at) * u64::from(PACE) / u64::from(pace);
                if done >= left {
                    break;
                }
                (left, at) = (left - done, *change);
            }
            pace = *next;
        }
        at + left * u64::from(pace) / u64::from(PACE)
    }
}

/// Every node gets an equal part beforehand, and does again what it loses.
fn even_split(nodes: &[Node], tasks: &[u64]) -> u64 {
    let (count, total) = (nodes.len(), tasks.len());
    let ends = nodes.iter().enumerate().map(|(at, node)| {
        let mut now = 0;
        let (first, end) = (at * total / count, (at + 1) * total / count);
        for (task, work) in (first..end).zip(&tasks[first..end]) {
            for tries in 0..TRIES_MAX {
                match node.run(now, task, *work, tries) {
                    Run::Done(end) => {
                        now = end;
                        break;
                    }
                    Run::Lost(_, back) => now = back,
                }
            }
        }
        now
    });
    ends.max().unwrap_or(0)
}

/// Whoever is free takes the next task; a lost one goes back to the front.
fn pull(nodes: &[Node], tasks: &[u64]) -> u64 {
    enum Next {
        Free(usize),
        Back(usize, u32),
        Done,
    }
    let mut queue: VecDeque<(usize, u32)> = (0..tasks.len()).map(|task| (task, 0)).collect();
    let mut agenda = Agenda::new();
    let mut idle = Vec::new();
    let (mut done, mut now) = (0, 0);
    (0..nodes.len()).for_each(|node| agenda.note(0, Next::Free(node)));
    while let Some((at, next)) = agenda.next() {
        now = at;
        match next {
            Next::Done => {
                done += 1;
                if done == tasks.len() {
                    break;
                }
            }
            Next::Back(task, tries) => {
                queue.push_front((task, tries));
                idle.drain(..).for_each(|node| agenda.note(now, Next::Free(node)));
            }
            Next::Free(node) => match queue.pop_front() {
                None => idle.push(node),
                Some((task, tries)) => match nodes[node].run(now, task, tasks[task], tries) {
                    Run::Done(end) => {
                        agenda.note(end, Next::Done);
                        agenda.note(end, Next::Free(node));
                    }
                    Run::Lost(lost, back) => {
                        agenda.note(lost, Next::Back(task, tries + 1));
                        agenda.note(back.max(lost + 1), Next::Free(node));
                    }
                },
            },
        }
    }
    now
}

/// The middle of some numbers.
pub fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied().unwrap_or(0)
}
