//! The jobs of a world: what their requesters submit, and what is true of their tasks but unknown to the hub.
use std::collections::BTreeMap;

use gleaner_wire::job_file::{
    BlenderFile, Budget, ContainerFile, InputFile, JobFile, KernelFile, NeedsFile, Prefer, Source, TaskFile, TilesFile,
};
use gleaner_wire::market::Market;
use gleaner_wire::{Amount, BlobRef, ByteSize, Cause, DeviceNeed, Hash, Output, Runtime, TASKS_MAX};

use crate::chance::{Chance, mix, mix_two};
use crate::scenario::{MILLISECOND, REGIONS};

/// What the elements of a group read of another one.
#[derive(Clone, Copy, Debug)]
enum Reads {
    Whole,
    SameIndex,
    Share(u32),
}

/// What is true of the tasks of one group.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// Stands for the program.
    pub program: u64,
    /// Running time on the reference machine, in microseconds.
    pub micros: u64,
    /// The longest task takes this many thousandths of the shortest.
    pub spread: u64,
    /// Tasks that fail wherever they run, per mille, and why.
    pub faulty: u32,
    pub cause: Cause,
}

impl Truth {
    /// Running time of an element on the reference machine, in microseconds.
    pub fn work(&self, value: u64) -> u64 {
        self.micros * (1000 + mix_two(self.program, value) % (self.spread - 999)) / 1000
    }

    /// Whether an element fails wherever it runs.
    pub fn is_faulty(&self, value: u64) -> bool {
        mix_two(self.program ^ 0xfa, value) % 1000 < u64::from(self.faulty)
    }

    /// What an element delivers, given what it reads.
    pub fn output(&self, value: u64, reads: &[Output]) -> Output {
        let mut state = mix_two(self.program, value);
        for read in reads {
            let Hash(bytes) = read.hash();
            state = bytes.chunks(8).fold(state, |state, chunk| {
                mix_two(state, chunk.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)))
            });
        }
        let content = [state.to_le_bytes(), mix(state).to_le_bytes()].concat();
        Output::inline(&content).expect("16 bytes are short")
    }
}

/// Whether a requester asks what its job would cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    No,
    /// It does, and orders as it would have.
    Only,
    /// It does, and orders by the quote.
    AndOrders,
}

/// A job that will be submitted.
#[derive(Clone, Debug)]
pub(crate) struct JobPlan {
    /// When, in microseconds.
    pub at: u64,
    pub requester: String,
    pub file: JobFile,
    /// For each task of the file.
    pub truths: Vec<Truth>,
    /// When its requester loses interest, in microseconds.
    pub cancel_at: Option<u64>,
    /// Whether anything about it explains that it does not end with all tasks done.
    pub may_fail: bool,
    /// Whether its requester asks what it would cost.
    pub asks: Asks,
}

/// The longest small-world task on the reference machine: even on the slowest machine on its worst day it stays below
/// the time limit that its job file sets, so that a job that hits the limit was treated badly.
const MICROS_MAX: u64 = 20_000_000;
/// More than any small job can cost.
const PLENTY: Amount = Amount::gln(1000);

/// A handful of jobs of all forms.
pub(crate) fn drawn(chance: &mut Chance, calm_at_ms: u64) -> Vec<JobPlan> {
    let count = chance.between(1, 6);
    let mut jobs: Vec<JobPlan> = Vec::new();
    for _ in 0..count {
        let repeated = chance.hits(250).then(|| jobs.last().cloned()).flatten();
        let mut job = repeated.unwrap_or_else(|| fresh(chance));
        job.at = chance.below(calm_at_ms.min(60_000)) * MILLISECOND;
        job.cancel_at = chance.hits(100).then(|| job.at + chance.below(calm_at_ms) * MILLISECOND);
        jobs.push(job);
    }
    jobs
}

fn fresh(chance: &mut Chance) -> JobPlan {
    let mut form = Form { chance, tasks: Vec::new(), truths: Vec::new(), may_fail: false };
    form.fill();
    let Form { tasks, truths, mut may_fail, .. } = form;
    let tight_money = chance.hits(150);
    let tight_time = chance.hits(50);
    let price_max = if tight_money { Amount(chance.log_uniform(1000, 100_000_000)) } else { PLENTY };
    let mut time_max = if tight_time { format!("{}ms", chance.log_uniform(500, 100_000)) } else { "30d".into() };
    let mut needs = NeedsFile::default();
    if chance.hits(150) {
        needs.memory = Some(ByteSize::mib(chance.between(64, 4096)));
    }
    if chance.hits(100) {
        // Perhaps nobody is there.
        needs.region = Some(format!("region-{}", chance.below(REGIONS)));
        (time_max, may_fail) = ("2h".into(), true);
    }
    JobPlan {
        at: 0,
        requester: (*chance.pick(&["ada", "grace", "edsger"])).to_owned(),
        file: JobFile {
            name: "job".into(),
            prefer: *chance.pick(&[Prefer::Fast, Prefer::Cheap, Prefer::Balanced]),
            budget: Budget { price_max: Some(price_max), time_max: Some(time_max) },
            market: Market::default(),
            needs,
            tasks,
        },
        truths,
        cancel_at: None,
        may_fail: may_fail || tight_money || tight_time,
        asks: Asks::No,
    }
}

/// A job file in the making.
struct Form<'a> {
    chance: &'a mut Chance,
    tasks: Vec<TaskFile>,
    truths: Vec<Truth>,
    may_fail: bool,
}

impl Form<'_> {
    fn fill(&mut self) {
        let count = self.chance.log_uniform(2, 250);
        match self.chance.below(7) {
            0 => self.add("one", Runtime::Wasm, 1, &[]),
            1 => self.add("array", Runtime::Wasm, count, &[]),
            2 => self.add_tiles(),
            3 => {
                self.add("fork", Runtime::Wasm, count, &[]);
                self.add("join", Runtime::Wasm, 1, &[("fork", Reads::Whole)]);
            }
            4 => {
                let count = count.min(80);
                self.add("seed", Runtime::Wasm, 1, &[]);
                self.add("first", Runtime::Wasm, count, &[("seed", Reads::Whole)]);
                self.add("second", Runtime::Wgsl, count, &[("first", Reads::SameIndex)]);
                self.add("third", Runtime::Wasm, count, &[("first", Reads::SameIndex), ("second", Reads::SameIndex)]);
                self.add("join", Runtime::Wasm, 1, &[("third", Reads::Whole), ("seed", Reads::Whole)]);
            }
            5 => {
                let (frames, pieces) = (self.chance.log_uniform(1, 40), self.chance.between(1, 5));
                self.add("look", Runtime::Wasm, 1, &[]);
                self.add("pieces", Runtime::Wgsl, frames * pieces, &[("look", Reads::Whole)]);
                let reads = [("look", Reads::Whole), ("pieces", Reads::Share(pieces as u32))];
                self.add("frames", Runtime::Wasm, frames, &reads);
                self.add("film", Runtime::Wasm, 1, &[("frames", Reads::Whole)]);
            }
            _ => {
                self.add("root", Runtime::Wasm, 1, &[]);
                self.add("left", Runtime::Wasm, count.min(20), &[("root", Reads::Whole)]);
                self.add("right", Runtime::Wgsl, 1, &[("root", Reads::Whole)]);
                self.add("both", Runtime::Wasm, 1, &[("left", Reads::Whole), ("right", Reads::Whole)]);
            }
        }
    }

    fn add(&mut self, name: &str, runtime: Runtime, count: u64, inputs: &[(&str, Reads)]) {
        let program = self.truth();
        let input = |(from, reads): &(&str, Reads)| InputFile {
            name: format!("in-{from}"),
            file: None,
            folder: None,
            dataset: None,
            from: Some((*from).to_owned()),
            same_index: matches!(reads, Reads::SameIndex),
            per: match reads {
                Reads::Share(per) => Some(*per),
                Reads::Whole | Reads::SameIndex => None,
            },
        };
        let inputs = inputs.iter().map(input).collect();
        let each = (count > 1).then(|| format!("1..{count}"));
        let memo = self.chance.hits(800);
        let kernel = match runtime {
            Runtime::Wasm | Runtime::Container | Runtime::Blender => KernelFile::default(),
            Runtime::Wgsl => kernel(),
        };
        self.tasks.push(TaskFile { each, inputs, memo, kernel, ..task(name, runtime, program) });
    }

    fn add_tiles(&mut self) {
        let program = self.truth();
        let (width, height) = (self.chance.between(8, 64) as u32, self.chance.between(8, 64) as u32);
        let tiles = TilesFile { width, height, tile_width: 8, tile_height: 8 };
        let mut task = TaskFile { tiles: Some(tiles), kernel: kernel(), ..task("tiles", Runtime::Wgsl, program) };
        if self.chance.hits(200) {
            task.needs.device = Some(DeviceNeed::Gpu);
        }
        self.tasks.push(task);
    }

    fn truth(&mut self) -> u64 {
        let faulty = if self.chance.hits(80) { self.chance.log_uniform(1, 1000) as u32 } else { 0 };
        self.may_fail |= faulty > 0;
        let program = self.chance.next();
        let cause = *self.chance.pick(&[Cause::ProgramFault, Cause::OutOfMemory, Cause::BadInput]);
        let micros = self.chance.log_uniform(100, MICROS_MAX);
        let spread = self.chance.log_uniform(1000, 4000);
        self.truths.push(Truth { program, micros, spread, faulty, cause });
        program
    }
}

fn task(name: &str, runtime: Runtime, program: u64) -> TaskFile {
    TaskFile {
        name: name.into(),
        runtime,
        program: Some(Source::Data(BlobRef::of(&program.to_le_bytes()).into())),
        each: None,
        tiles: None,
        sweep: BTreeMap::new(),
        inputs: vec![],
        needs: NeedsFile::default(),
        time_max: Some("6h".into()),
        output_max: None,
        memo: true,
        args: vec![],
        kernel: KernelFile::default(),
        container: ContainerFile::default(),
        blender: BlenderFile::default(),
        check: None,
    }
}

/// It says how long its loops are; otherwise it would not be placed on a device that stops them.
fn kernel() -> KernelFile {
    KernelFile { loops_max: Some(1000), ..KernelFile::default() }
}

/// One array of kernels of one to four seconds on the reference machine, in as many jobs as it takes.
pub(crate) fn arrays(tasks: u64) -> Vec<JobPlan> {
    let sizes = (0..tasks.div_ceil(TASKS_MAX)).map(|at| (tasks - at * TASKS_MAX).min(TASKS_MAX));
    sizes.map(|count| array("ada", count, 1_000_000, 4000, Prefer::Fast)).collect()
}

/// An array of kernels with plenty of money.
pub(crate) fn array(requester: &str, count: u64, micros: u64, spread: u64, prefer: Prefer) -> JobPlan {
    let program = mix_two(count, micros);
    let each = Some(format!("1..{count}"));
    let task = TaskFile { each, kernel: kernel(), memo: false, ..task("array", Runtime::Wgsl, program) };
    // Money for the time limit of every task at once, so that money never decides.
    let price_max = Amount::gln(1_000_000_000);
    JobPlan {
        at: MILLISECOND,
        requester: requester.into(),
        file: JobFile {
            name: "array".into(),
            prefer,
            budget: Budget { price_max: Some(price_max), time_max: Some("30d".into()) },
            market: Market::default(),
            needs: NeedsFile::default(),
            tasks: vec![task],
        },
        truths: vec![Truth { program, micros, spread, faulty: 0, cause: Cause::ProgramFault }],
        cancel_at: None,
        may_fail: false,
        asks: Asks::No,
    }
}
