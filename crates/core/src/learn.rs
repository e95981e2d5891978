//! How long a task will take: learned online for each program and each device, never taken from what a worker says of itself
//! beyond its first benchmark score.
//!
//! A run is turned into *work*: its time multiplied by the device's speed. A program keeps a histogram of work in
//! eighths of an octave that fades as new runs come in; its 80th percentile divided by a device's speed is the prediction.
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use gleaner_wire::{Hash, Micros};
use serde::{Deserialize, Serialize};

use crate::lengths::{Lengths, POINTS};
use crate::logarithm::{OCTAVE, exp2, log2};
use crate::market::race::Meter;
use crate::plan::TIME_MAX;

/// The speed of the reference machine.
pub const SPEED_REFERENCE: u32 = 1000;
const BUCKETS: usize = 48 * 8;
const BUCKET: u32 = OCTAVE / 8;
const RUNS_MAX: u32 = 2048;
/// Runs after which a program's history is good enough to judge a device by.
const RUNS_TO_JUDGE: u32 = 8;
const PROGRAMS_MAX: usize = 65_536;
/// Runs that the mean follows.
const FOLLOWED: u32 = 128;

/// A program's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProgramId(u32);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Program {
    key: Hash,
    users: u32,
    runs: u32,
    histogram: Vec<u16>,
    median: u32,
    percentile_80: u32,
    /// The mean length on the reference machine, of the last runs more than of those before.
    mean: u64,
    meter: Meter,
}

/// What is known about programs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Programs {
    table: Vec<Program>,
    by_key: BTreeMap<Hash, ProgramId>,
    /// Where to look for a program to forget when the table is full.
    sweep: u32,
}

impl Programs {
    /// The program with this key, used by one more group.
    pub fn acquire(&mut self, key: Hash) -> ProgramId {
        let id = match self.by_key.get(&key) {
            Some(id) => *id,
            None => self.insert(key),
        };
        self.table[id.0 as usize].users += 1;
        id
    }

    /// One group less uses the program.
    pub fn release(&mut self, id: ProgramId) {
        self.table[id.0 as usize].users -= 1;
    }

    /// The program with this key, if it is known.
    pub fn find(&self, key: &Hash) -> Option<ProgramId> {
        self.by_key.get(key).copied()
    }

    /// The predicted time on a device of this speed; `None` before the first run.
    pub fn predict(&self, id: ProgramId, speed: u32) -> Option<Micros> {
        let program = &self.table[id.0 as usize];
        (program.runs > 0).then(|| time_of(program.percentile_80, speed))
    }

    /// The time that half of its runs would not have exceeded on a device of this speed; `None` before the first run.
    pub fn middle(&self, id: ProgramId, speed: u32) -> Option<Micros> {
        let program = &self.table[id.0 as usize];
        (program.runs > 0).then(|| time_of(program.median, speed))
    }

    /// How the lengths of its tasks are spread; `None` before the first run. Reckoned anew each time.
    pub fn lengths(&self, id: ProgramId) -> Option<Lengths> {
        let program = &self.table[id.0 as usize];
        (program.runs > 0).then(|| program.lengths())
    }

    /// What races of it have cost so far.
    pub fn meter(&self, id: ProgramId) -> &Meter {
        &self.table[id.0 as usize].meter
    }

    /// What races of it have cost so far.
    pub fn meter_mut(&mut self, id: ProgramId) -> &mut Meter {
        &mut self.table[id.0 as usize].meter
    }

    /// How many runs the prediction rests on.
    pub fn runs(&self, id: ProgramId) -> u32 {
        self.table[id.0 as usize].runs
    }

    /// Learns from a run; returns the device's speed as it now seems.
    pub fn learn(&mut self, id: ProgramId, speed: u32, ran: Micros) -> u32 {
        let program = &mut self.table[id.0 as usize];
        let work = log2(ran.0) + log2(u64::from(speed));
        let judged = if program.runs >= RUNS_TO_JUDGE { corrected(speed, program.median, work) } else { speed };
        program.record(work);
        program.follow(ran, speed);
        judged
    }

    fn insert(&mut self, key: Hash) -> ProgramId {
        let fresh = Program {
            key,
            users: 0,
            runs: 0,
            histogram: vec![0; BUCKETS],
            median: 0,
            percentile_80: 0,
            mean: 0,
            meter: Meter::default(),
        };
        let id = match self.unused() {
            Some(id) => {
                self.by_key.remove(&self.table[id.0 as usize].key);
                self.table[id.0 as usize] = fresh;
                id
            }
            None => {
                self.table.push(fresh);
                ProgramId(self.table.len() as u32 - 1)
            }
        };
        self.by_key.insert(key, id);
        id
    }

    /// A program that no live job uses, once the table is full.
    fn unused(&mut self) -> Option<ProgramId> {
        if self.table.len() < PROGRAMS_MAX {
            return None;
        }
        let count = self.table.len() as u32;
        let found = (0..count).map(|step| (self.sweep + step) % count).find(|id| self.table[*id as usize].users == 0);
        found.map(|id| {
            self.sweep = (id + 1) % count;
            ProgramId(id)
        })
    }
}

impl Program {
    fn record(&mut self, work: u32) {
        let bucket = ((work / BUCKET) as usize).min(BUCKETS - 1);
        self.histogram[bucket] += 1;
        self.runs += 1;
        if self.runs == RUNS_MAX {
            self.histogram.iter_mut().for_each(|count| *count /= 2);
            self.meter.fade();
            self.runs = self.histogram.iter().map(|count| u32::from(*count)).sum();
        }
        // A few hundred additions each time would show in the hub's cost per task; the quantiles move slowly.
        if self.runs <= 32 || self.runs.is_multiple_of(32) {
            self.median = self.quantile(50);
            self.percentile_80 = self.quantile(80);
        }
    }

    fn lengths(&self) -> Lengths {
        let (mut seen, mut sum, mut points, mut filled) = (0, 0_u128, [0; POINTS], 0);
        for (at, count) in self.histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
            let length = time_of(at as u32 * BUCKET + BUCKET / 2, SPEED_REFERENCE).0;
            sum += u128::from(length) * u128::from(*count);
            seen += u32::from(*count);
            // The point of each sixteenth is its middle.
            while filled < POINTS && (2 * filled as u32 + 1) * self.runs <= seen * 2 * POINTS as u32 {
                points[filled] = length;
                filled += 1;
            }
        }
        // Devices' speeds are learned all the while, so the histogram's older part is of a speed that was.
        let mean = u64::try_from(sum / u128::from(self.runs.max(1))).unwrap_or(u64::MAX).max(1);
        let as_now = |length: u64| u128::from(length) * u128::from(self.mean) / u128::from(mean);
        let points = points.map(|length| u64::try_from(as_now(length)).unwrap_or(u64::MAX));
        Lengths { runs: self.runs, mean: Micros(self.mean), points }
    }

    /// Moves the mean towards a run.
    fn follow(&mut self, ran: Micros, speed: u32) {
        let length = u128::from(ran.0) * u128::from(speed) / u128::from(SPEED_REFERENCE);
        let length = u64::try_from(length).unwrap_or(u64::MAX).clamp(1, TIME_MAX.micros().0);
        let weight = u64::from(self.runs.clamp(1, FOLLOWED));
        self.mean = (self.mean - self.mean / weight).saturating_add(length / weight).max(1);
    }

    fn quantile(&self, percent: u32) -> u32 {
        let wanted = (self.runs * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let at = self.histogram.iter().position(|count| {
            seen += u32::from(*count);
            seen >= wanted
        });
        at.unwrap_or(BUCKETS - 1) as u32 * BUCKET + BUCKET / 2
    }
}

fn time_of(work: u32, speed: u32) -> Micros {
    Micros(exp2(work.saturating_sub(log2(u64::from(speed)))).clamp(1, TIME_MAX.micros().0))
}

/// Moves a device's speed a sixteenth of the way to what this run says, and never by more than a quarter octave.
fn corrected(speed: u32, median: u32, work: u32) -> u32 {
    let away = (i64::from(median) - i64::from(work)) / 16;
    let step = away.clamp(-i64::from(OCTAVE) / 4, i64::from(OCTAVE) / 4);
    let log = (i64::from(log2(u64::from(speed))) + step).clamp(0, 30 * i64::from(OCTAVE));
    // A step smaller than one unit of the speed must not be lost to rounding for ever.
    let moved = exp2(log as u32) as u32;
    if moved == speed && step > 0 { speed + 1 } else { moved.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_eightieth_percentile_at_the_devices_speed() {
        let mut programs = Programs::default();
        let id = programs.acquire(Hash::of(b"kernel"));
        assert_eq!(programs.predict(id, 1000), None);
        for run in 1..=100 {
            programs.learn(id, SPEED_REFERENCE, Micros(run * 1000));
        }
        let at_reference = programs.predict(id, 1000).expect("learned").0;
        assert!((72_000..92_000).contains(&at_reference), "{at_reference}");
        let twice_as_fast = programs.predict(id, 2000).expect("learned").0;
        assert!(twice_as_fast.abs_diff(at_reference / 2) < at_reference / 20);
    }

    #[test]
    fn the_lengths_of_tasks_are_spread_as_they_ran() {
        let mut programs = Programs::default();
        let id = programs.acquire(Hash::of(b"kernel"));
        assert_eq!(programs.lengths(id), None);
        // Each length once, long and short by turns: the mean follows the last runs.
        for run in 0..1000 {
            programs.learn(id, SPEED_REFERENCE, Micros((run * 617 % 1000 + 1) * 1000));
        }
        let lengths = programs.lengths(id).expect("learned");
        assert!((450_000..550_000).contains(&lengths.mean.0), "{lengths:?}");
        assert!(lengths.points.is_sorted() && (20_000..50_000).contains(&lengths.points[0]), "{lengths:?}");
        assert!((850_000..1_100_000).contains(&lengths.points[POINTS - 1]), "{lengths:?}");
    }

    #[test]
    fn a_device_that_slows_down_loses_its_speed() {
        let mut programs = Programs::default();
        let id = programs.acquire(Hash::of(b"kernel"));
        for _ in 0..200 {
            programs.learn(id, 1000, Micros(10_000));
        }
        let mut speed = 1000;
        for _ in 0..100 {
            speed = programs.learn(id, speed, Micros(40_000 * 1000 / 1000));
        }
        assert!(speed < 600, "{speed}");
    }
}
