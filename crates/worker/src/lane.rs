//! The threads that run attempts: one lane for each device, with a thread for each of its slots.
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use gleaner_wire::{Cause, Micros, Work};
use tokio::sync::mpsc;

use crate::arguments;
use crate::deliver::{Delivery, Sealing};
use crate::failure::{End, Failure, Run};
use crate::group::{Ready, ReadyProgram};
use crate::log::{Log, Piece};
use crate::wasm::{Call, Ticking, Wasm};
use crate::watch::{Cancels, Watch};
use crate::wgsl::{self, Adapter, Launcher, Supervisor};

/// How long a device without work keeps the process that served its last job.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// What a lane runs on.
#[derive(Clone)]
pub enum Engine {
    /// The processor.
    Wasm(Arc<Wasm>),
    /// A graphics device.
    Wgsl(Launcher, Box<Adapter>),
}

/// What the threads of every lane share.
pub struct Shared {
    /// Where results go.
    pub delivery: Delivery,
    /// Who is cancelled.
    pub cancels: Arc<Cancels>,
    /// Where logs go.
    pub logs: mpsc::Sender<Piece>,
}

#[derive(Default)]
struct Line {
    attempts: VecDeque<Ready>,
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
    threads: Vec<JoinHandle<()>>,
}

/// One thread's hands.
enum Hands {
    Wasm(Arc<Wasm>, Option<Ticking>),
    Wgsl(Box<Supervisor>),
}

impl Queue {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next attempt, and whether it is the last one in line; the hands rest before waiting, and give back
    /// what they hold if it takes long. `None` at the end.
    fn next(&self, hands: &mut Hands) -> Option<(Ready, bool)> {
        let waits = |line: &mut Line| line.attempts.is_empty() && !line.closed;
        let mut line = self.line();
        if waits(&mut line) {
            drop(line);
            hands.rest();
            let waited = self.changed.wait_timeout_while(self.line(), IDLE_TIME, waits);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if waits(&mut line) {
            drop(line);
            hands.give_back();
            line = self.changed.wait_while(self.line(), waits).unwrap_or_else(PoisonError::into_inner);
        }
        let next = line.attempts.pop_front()?;
        let last = line.attempts.is_empty();
        Some((next, last))
    }
}

impl Lane {
    /// Starts the threads of a device.
    pub fn start(name: &str, slots: u16, engine: &Engine, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let threads = (0..slots).map(|slot| {
            let (queue, engine, shared) = (queue.clone(), engine.clone(), shared.clone());
            let builder = std::thread::Builder::new().name(format!("{name}-{slot}"));
            builder.spawn(move || work(&queue, engine, &shared))
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Self { queue, threads })
    }

    /// Lets attempts wait for the device.
    pub fn push(&self, attempts: impl IntoIterator<Item = Ready>) {
        self.queue.line().attempts.extend(attempts);
        self.queue.changed.notify_all();
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
    let mut hands = match engine {
        Engine::Wasm(wasm) => Hands::Wasm(wasm, None),
        Engine::Wgsl(launcher, adapter) => Hands::Wgsl(Box::new(Supervisor::new(launcher, *adapter))),
    };
    while let Some((ready, last)) = queue.next(&mut hands) {
        let of = sealing(&ready);
        let run = catch_unwind(AssertUnwindSafe(|| hands.run(&ready, shared))).unwrap_or_else(|_| Run {
            ran: Micros(0),
            end: End::Failed(Failure::new(Cause::DeviceFault, "the worker itself failed on this attempt")),
        });
        shared.delivery.hand_over(of, run, last);
    }
}

impl Hands {
    /// Nothing to do for now.
    fn rest(&mut self) {
        match self {
            Self::Wasm(_, ticking) => *ticking = None,
            Self::Wgsl(_) => {}
        }
    }

    /// Nothing to do for longer: the owner gets the device's memory back.
    fn give_back(&mut self) {
        match self {
            Self::Wasm(..) => {}
            Self::Wgsl(supervisor) => supervisor.give_back(),
        }
    }

    fn run(&mut self, ready: &Ready, shared: &Shared) -> Run {
        if shared.cancels.has(ready.attempt) {
            return Run { ran: Micros(0), end: End::Cancelled };
        }
        match (self, &ready.program) {
            (Self::Wasm(wasm, ticking), ReadyProgram::Wasm(program)) => {
                ticking.get_or_insert_with(|| wasm.tick());
                wasm.run(program, call(ready, shared))
            }
            (Self::Wgsl(supervisor), ReadyProgram::Wgsl(source)) => run_kernel(supervisor, source, ready, shared),
            (Self::Wasm(..), ReadyProgram::Wgsl(_)) | (Self::Wgsl(_), ReadyProgram::Wasm(_)) => {
                let failure = Failure::new(Cause::HubFault, "the hub chose a device that does not run such programs");
                Run { ran: Micros(0), end: End::Failed(failure) }
            }
        }
    }
}

fn sealing(ready: &Ready) -> Sealing {
    let place = ready.group.spec.extent.value(ready.index);
    Sealing { attempt: ready.attempt, job: ready.group.job, place, keys: Arc::clone(&ready.keys) }
}

fn call(ready: &Ready, shared: &Shared) -> Call {
    let spec = &ready.group.spec;
    let args = match &spec.work {
        Work::Wasm { args, .. } => arguments::fill(args, &spec.extent, ready.index),
        Work::Wgsl { .. } => Vec::new(),
    };
    let time = Duration::from_millis(ready.time.0);
    Call {
        args,
        index: ready.index,
        inputs: ready.inputs.folder.clone(),
        limits: spec.limits,
        watch: Watch::start(ready.attempt, time, shared.cancels.clone()),
        log: Log::new(ready.attempt, shared.logs.clone()),
    }
}

fn run_kernel(supervisor: &mut Supervisor, source: &str, ready: &Ready, shared: &Shared) -> Run {
    let group = &ready.group;
    match wgsl::dispatch(&group.spec, source, ready.index, &ready.inputs.ordered, ready.time) {
        Ok(dispatch) => supervisor.run(group.job, dispatch, ready.attempt, &shared.cancels),
        Err(failure) => Run { ran: Micros(0), end: End::Failed(failure) },
    }
}
