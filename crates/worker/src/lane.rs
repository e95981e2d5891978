//! The threads that run attempts: one lane for each device, with a thread for each of its slots.
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gleaner_trace::Stage;
use gleaner_wire::{AttemptId, Cause, Extent, Limits, Micros, Work};
use tokio::sync::mpsc;

use crate::arguments;
use crate::cell::{Cells, Task};
use crate::deliver::{Delivery, Sealing};
use crate::failure::{End, Failure, Run};
use crate::group::{Ready, ReadyProgram};
use crate::log::{Log, Piece};
use crate::owner::IdleGate;
use crate::trail::Trails;
use crate::wasm::{Call, Ticking, Wasm};
use crate::watch::{Cancels, Watch};
use crate::wgsl::{self, Adapter, Launcher, Supervisor};

/// How long a device without work keeps the process that served its last job.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// What a program that compares results may use, whatever made them.
const CHECKER_MEMORY_BYTES_MAX: u64 = 256 * 1024 * 1024;
const CHECKER_OUTPUT_BYTES_MAX: u64 = 1024 * 1024;

/// What a lane runs on: the processor or a graphics device, and cells for whole programs where there are any.
#[derive(Clone)]
pub struct Engine {
    /// The processor runs WebAssembly.
    pub wasm: Option<Arc<Wasm>>,
    /// A graphics device runs kernels.
    pub wgsl: Option<(Launcher, Box<Adapter>)>,
    /// Containers and Blender.
    pub cells: Option<Arc<Cells>>,
}

/// What the threads of every lane share.
pub struct Shared {
    /// Where results go.
    pub delivery: Delivery,
    /// Who is cancelled.
    pub cancels: Arc<Cancels>,
    /// Where logs go.
    pub logs: mpsc::Sender<Piece>,
    /// The owner's idle command, which makes room for tasks.
    pub idle: Arc<IdleGate>,
    /// Who hears how long things took.
    pub trails: Trails,
}

#[derive(Default)]
struct Line {
    attempts: VecDeque<Ready>,
    running: Vec<AttemptId>,
    /// Whether the owner needs the device.
    resting: bool,
    /// Threads that hold on to the device's memory.
    holding: usize,
    closed: bool,
}

/// The attempts that wait for a device. Their number is bounded by the attempts that a worker holds.
#[derive(Default)]
struct Queue {
    line: Mutex<Line>,
    changed: Condvar,
}

/// A device with its threads.
pub struct Lane {
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// One thread's hands.
struct Hands {
    wasm: Option<(Arc<Wasm>, Option<Ticking>)>,
    wgsl: Option<Box<Supervisor>>,
    cells: Option<Arc<Cells>>,
}

impl Queue {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next attempt, and whether it is the last one in line; the hands rest before waiting, and give back what they
    /// hold if it takes long or the owner needs the device. `None` at the end. `holds` says whether this thread counts among
    /// those that hold on to the device.
    fn next(&self, hands: &mut Hands, holds: &Cell<bool>) -> Option<(Ready, bool)> {
        let waits = |line: &mut Line| line.attempts.is_empty() && !line.closed;
        let mut line = self.line();
        if waits(&mut line) {
            drop(line);
            hands.rest();
            let undisturbed = |line: &mut Line| waits(line) && !line.resting;
            let waited = self.changed.wait_timeout_while(self.line(), IDLE_TIME, undisturbed);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if waits(&mut line) {
            drop(line);
            hands.give_back();
            self.let_go(holds);
            line = self.changed.wait_while(self.line(), waits).unwrap_or_else(PoisonError::into_inner);
        }
        let next = line.attempts.pop_front()?;
        if !holds.replace(true) {
            line.holding += 1;
        }
        line.running.push(next.attempt);
        let last = line.attempts.is_empty();
        Some((next, last))
    }

    fn ended(&self, attempt: AttemptId) {
        self.line().running.retain(|running| *running != attempt);
        self.changed.notify_all();
    }

    /// This thread holds on to the device no more.
    fn let_go(&self, holds: &Cell<bool>) {
        if holds.replace(false) {
            self.line().holding -= 1;
            self.changed.notify_all();
        }
    }

    /// Waits until nothing runs on the device and its memory is free; says whether that came in time.
    fn wait_until_free(&self, time: Duration) -> bool {
        let busy = |line: &mut Line| line.resting && (!line.running.is_empty() || line.holding > 0);
        let waited = self.changed.wait_timeout_while(self.line(), time, busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Lane {
    /// Starts the threads of a device.
    pub fn start(name: &str, slots: u16, engine: &Engine, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        queue.line().holding = usize::from(slots);
        let threads = (0..slots).map(|slot| {
            let (queue, engine, shared) = (queue.clone(), engine.clone(), shared.clone());
            let builder = std::thread::Builder::new().name(format!("{name}-{slot}"));
            builder.spawn(move || work(&queue, engine, &shared))
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { queue, shared: shared.clone(), threads })
    }

    /// Lets attempts wait for the device; those that come while its owner needs it end at once.
    pub fn push(&self, attempts: impl IntoIterator<Item = Ready>) {
        let mut line = self.queue.line();
        let attempts = attempts.into_iter();
        if line.resting {
            drop(line);
            attempts.for_each(|ready| self.hand_back(&ready));
            return;
        }
        line.attempts.extend(attempts);
        self.queue.changed.notify_all();
    }

    /// The owner needs the device, or gives it back. What waits goes back at once, what runs is stopped.
    pub fn rest(&self, resting: bool) {
        let mut line = self.queue.line();
        line.resting = resting;
        let waiting = if resting { std::mem::take(&mut line.attempts) } else { VecDeque::new() };
        let running = if resting { line.running.clone() } else { Vec::new() };
        drop(line);
        self.queue.changed.notify_all();
        running.into_iter().for_each(|attempt| self.shared.cancels.recall(attempt));
        waiting.iter().for_each(|ready| self.hand_back(ready));
    }

    /// Waits until nothing runs on the device and its memory is free; says whether that came in time.
    pub fn wait_until_free(&self, time: Duration) -> bool {
        self.queue.wait_until_free(time)
    }

    /// Whether nothing runs and nothing waits.
    pub fn is_idle(&self) -> bool {
        let line = self.queue.line();
        line.running.is_empty() && line.attempts.is_empty()
    }

    fn hand_back(&self, ready: &Ready) {
        self.shared.cancels.recall(ready.attempt);
        let run = Run { ran: Micros(0), end: End::Cancelled };
        self.shared.delivery.hand_over(sealing(ready), run, true);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut line = self.queue.line();
        line.closed = true;
        line.attempts.clear();
        drop(line);
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Its panics are caught where they happen; there is nothing to learn from another one here.
            let _ = thread.join();
        }
    }
}

fn work(queue: &Queue, engine: Engine, shared: &Shared) {
    let mut hands = Hands {
        wasm: engine.wasm.map(|wasm| (wasm, None)),
        wgsl: engine.wgsl.map(|(launcher, adapter)| Box::new(Supervisor::new(launcher, *adapter))),
        cells: engine.cells,
    };
    let holds = Cell::new(true);
    while let Some((ready, last)) = queue.next(&mut hands, &holds) {
        let (of, attempt) = (sealing(&ready), ready.attempt);
        let begun = shared.trails.now();
        let freed = || {
            queue.ended(attempt);
            queue.let_go(&holds);
        };
        let run = || match shared.idle.make_room() {
            Ok(()) => hands.run(&ready, shared, &freed),
            Err(error) => in_the_way(&error),
        };
        let run = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Run {
            ran: Micros(0),
            end: End::Failed(Failure::new(Cause::DeviceFault, "the worker itself failed on this attempt")),
        });
        shared.trails.passed(attempt, Stage::Run, begun);
        shared.delivery.hand_over(of, run, last);
        queue.ended(attempt);
    }
}

/// The owner's own command is still there, and nothing starts beside it: the attempt goes to another machine.
fn in_the_way(error: &gleaner_machine::idle::Error) -> Run {
    tracing::warn!(%error, "a task is handed back: the idle command is in its way");
    let failure = Failure::new(Cause::RefusedByOwner, "the owner's own program is still on the device");
    Run { ran: Micros(0), end: End::Failed(failure) }
}

impl Hands {
    /// Nothing to do for now.
    fn rest(&mut self) {
        if let Some((_, ticking)) = &mut self.wasm {
            *ticking = None;
        }
    }

    /// Nothing to do for longer: the owner gets the device's memory back.
    fn give_back(&mut self) {
        if let Some(supervisor) = &mut self.wgsl {
            supervisor.give_back();
        }
    }

    /// Runs an attempt; `freed` is told when nothing of it holds on to the device any more, if that is before its end.
    fn run(&mut self, ready: &Ready, shared: &Shared, freed: &dyn Fn()) -> Run {
        if shared.cancels.has(ready.attempt) {
            return Run { ran: Micros(0), end: End::Cancelled };
        }
        match &ready.program {
            ReadyProgram::Wasm(program) => {
                let Some((wasm, ticking)) = &mut self.wasm else { return wrong_device() };
                ticking.get_or_insert_with(|| wasm.tick());
                wasm.run(program, call(ready, shared))
            }
            ReadyProgram::Checker(program) => {
                let Some((wasm, ticking)) = &mut self.wasm else { return wrong_device() };
                ticking.get_or_insert_with(|| wasm.tick());
                wasm.check(program, checker_call(ready, shared))
            }
            ReadyProgram::Wgsl(source) => {
                let Some(supervisor) = &mut self.wgsl else { return wrong_device() };
                run_kernel(supervisor, source, ready, shared)
            }
            ReadyProgram::Container(image) => {
                // It may want all of the card, where the process of the last kernels still has some.
                self.give_back();
                let Some(cells) = &self.cells else { return wrong_device() };
                line(ready, shared).in_scope(|| cells.run_container(image, task(ready, shared, freed)))
            }
            ReadyProgram::Blender(project) => {
                self.give_back();
                let Some(cells) = &self.cells else { return wrong_device() };
                line(ready, shared).in_scope(|| cells.run_blender(project, task(ready, shared, freed)))
            }
        }
    }
}

/// What lines of the log say while it runs. Programs in cells are worth it; the others end within moments, in silence.
fn line(ready: &Ready, shared: &Shared) -> tracing::Span {
    shared.trails.line(ready.group.job, (ready.group.number, ready.index), ready.attempt)
}

fn wrong_device() -> Run {
    let failure = Failure::new(Cause::HubFault, "the hub chose a device that does not run such programs");
    Run { ran: Micros(0), end: End::Failed(failure) }
}

fn sealing(ready: &Ready) -> Sealing {
    let place = ready.group.spec.extent.value(ready.index);
    let (job, element) = (ready.group.job, (ready.group.number, ready.index));
    Sealing { attempt: ready.attempt, job, element, place, keys: Arc::clone(&ready.keys) }
}

fn watch(ready: &Ready, shared: &Shared) -> Watch {
    Watch::start(ready.attempt, Duration::from_millis(ready.time.0), shared.cancels.clone())
}

fn task<'a>(ready: &'a Ready, shared: &'a Shared, freed: &'a dyn Fn()) -> Task<'a> {
    let log = Log::new(ready.attempt, shared.logs.clone());
    Task::new(ready, watch(ready, shared), log, &shared.delivery, sealing(ready), freed)
}

fn call(ready: &Ready, shared: &Shared) -> Call {
    let spec = &ready.group.spec;
    let args = match &spec.work {
        Work::Wasm { args, .. } => arguments::fill(args, &spec.extent, &[], ready.index),
        Work::Wgsl { .. } | Work::Container { .. } | Work::Blender { .. } => Vec::new(),
    };
    Call {
        args,
        index: ready.index,
        inputs: ready.inputs.folder.clone(),
        limits: spec.limits,
        watch: watch(ready, shared),
        log: Log::new(ready.attempt, shared.logs.clone()),
    }
}

/// A checker is told which element it is, and of a tile where it lies.
fn checker_call(ready: &Ready, shared: &Shared) -> Call {
    let extent = &ready.group.spec.extent;
    let told: &[&str] = match extent {
        Extent::Tiles { .. } => &["{index}", "{x}", "{y}", "{width}", "{height}"],
        Extent::Single | Extent::Array(_) => &["{index}"],
    };
    let told: Vec<String> = told.iter().map(|name| (*name).to_owned()).collect();
    let (time_ms, memory, output) = (ready.time, CHECKER_MEMORY_BYTES_MAX, CHECKER_OUTPUT_BYTES_MAX);
    Call {
        args: arguments::fill(&told, extent, &[], ready.index),
        limits: Limits { time_ms, memory, output },
        ..call(ready, shared)
    }
}

fn run_kernel(supervisor: &mut Supervisor, source: &str, ready: &Ready, shared: &Shared) -> Run {
    let group = &ready.group;
    match wgsl::dispatch(&group.spec, source, ready.index, &ready.inputs.ordered, ready.time) {
        Ok(dispatch) => supervisor.run(group.job, dispatch, ready.attempt, &shared.cancels),
        Err(failure) => Run { ran: Micros(0), end: End::Failed(failure) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(attempt: AttemptId) -> Queue {
        let queue = Queue::default();
        let mut line = queue.line();
        (line.resting, line.holding, line.running) = (true, 1, vec![attempt]);
        drop(line);
        queue
    }

    #[test]
    fn a_device_is_free_when_its_program_is_gone_although_its_checkpoint_is_still_saved() {
        let (attempt, holds) = (AttemptId(7), Cell::new(true));
        let queue = held(attempt);
        assert!(!queue.wait_until_free(Duration::ZERO), "it runs");
        queue.ended(attempt);
        assert!(!queue.wait_until_free(Duration::ZERO), "its thread still holds on to the device");
        queue.let_go(&holds);
        assert!(queue.wait_until_free(Duration::ZERO));
        queue.let_go(&holds);
        assert_eq!(queue.line().holding, 0, "it is let go once");
    }

    #[test]
    fn a_task_that_the_idle_command_is_in_the_way_of_goes_elsewhere_and_nobody_is_blamed() {
        let run = in_the_way(&gleaner_machine::idle::Error::StillThere([4242].into()));
        let End::Failed(failure) = run.end else { panic!("it ran") };
        assert_eq!((failure.cause, run.ran), (Cause::RefusedByOwner, Micros(0)));
    }
}
