//! Data in worlds: what jobs read, how fast it reaches workers, and how much of it they can keep.
use gleaner_wire::job_file::{InputFile, Prefer, Source};
use gleaner_wire::{BlobRef, DataRef};

use crate::chance::{Chance, mix_two};
use crate::faults::Faults;
use crate::job_plan::{self, JobPlan};
use crate::scenario::{MILLISECOND, Scenario, WorkerPlan};

const MB: u64 = 1_000_000;
/// Small worlds in which jobs read data, per mille.
const WITH_DATA: u32 = 400;
/// Datasets of a small world.
const SETS: u64 = 4;
/// Workers, datasets and jobs of a world that is made to compare.
const HOLDING_WORKERS: u32 = 24;
const HOLDING_SETS: u64 = 5;
const HOLDING_JOBS: u64 = 16;

fn set(seed: u64, number: u64, bytes: u64) -> DataRef {
    let root = BlobRef::of(&mix_two(seed, number).to_le_bytes());
    DataRef { root, bytes }
}

/// The file's tasks read a dataset.
fn read(job: &mut JobPlan, task: usize, data: DataRef) {
    let folder = Some(Source::Data(data));
    let input =
        InputFile { name: "set".into(), file: None, folder, dataset: None, from: None, same_index: false, per: None };
    job.file.tasks[task].inputs.push(input);
}

/// In some of the small worlds, jobs read datasets of all sizes. Drawn apart, so that the rest of the world stays as it is.
pub(crate) fn add_data(seed: u64, workers: &mut [WorkerPlan], jobs: &mut [JobPlan]) {
    let mut chance = Chance::new(mix_two(seed, 0xda7a));
    if !chance.hits(WITH_DATA) {
        return;
    }
    let sets: Vec<_> = (0..SETS).map(|number| set(seed, number, chance.log_uniform(1, 4000) * MB)).collect();
    for plan in workers {
        plan.line = chance.log_uniform(4, 200) * MB;
        plan.room = chance.log_uniform(2000, 40_000) * MB;
    }
    for job in jobs {
        for task in 0..job.file.tasks.len() {
            if chance.hits(600) {
                read(job, task, *chance.pick(&sets));
            }
        }
    }
}

/// A fleet that cannot keep all the datasets that its jobs read again and again.
pub(crate) fn holding(seed: u64, prefer: Prefer) -> Scenario {
    let mut chance = Chance::new(seed);
    let faults = Faults::none();
    let mut workers: Vec<_> = (0..HOLDING_WORKERS).map(|_| WorkerPlan::gpu(&mut chance, &faults)).collect();
    for plan in &mut workers {
        plan.line = chance.log_uniform(5, 100) * MB;
        plan.room = chance.between(20_000, 40_000) * MB;
    }
    let sizes = [0, 50, 1000, 8000, 20_000];
    let sets: Vec<_> = (0..HOLDING_SETS).zip(sizes).map(|(number, size)| set(seed, number, size * MB)).collect();
    let mut at = 0;
    let jobs = (0..HOLDING_JOBS).map(|_| {
        at += chance.between(20_000, 200_000) * MILLISECOND;
        let (count, micros) = (chance.log_uniform(4, 200), chance.log_uniform(2_000_000, 20_000_000));
        let requester = *chance.pick(&["ada", "grace", "edsger"]);
        let mut job = JobPlan { at, ..job_plan::array(requester, count, micros, 2000, prefer) };
        read(&mut job, 0, *chance.pick(&sets));
        job
    });
    let jobs = jobs.collect();
    let replay = "cargo nextest run -p gleaner-sim --test data".into();
    Scenario::plain(seed, replay, faults, workers, jobs, vec![])
}
