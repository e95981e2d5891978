//! What an attempt went through on this machine: told to a collector as spans when the hub has its result, and named in
//! every line of the log that is about it. Without a collector nothing is remembered.
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use gleaner_trace::{Selection, Span, Stage, Tracer, trace_id};
use gleaner_wire::{ATTEMPTS_HELD_MAX, AttemptId, Finished, JobId, Outcome, StartAttempt, WorkerId, WorkerKey};

/// Attempts that are remembered; more are not held, unless a hub has forgotten some.
const TRAILS_MAX: usize = 2 * ATTEMPTS_HELD_MAX;

/// The trails of all attempts that this worker holds.
#[derive(Clone, Default)]
pub struct Trails(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tracer: Option<Tracer>,
    /// The hub, and who this worker is there, once it is known.
    place: OnceLock<(WorkerKey, WorkerId)>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    trails: HashMap<AttemptId, Trail>,
    selection: Selection,
}

struct Trail {
    job: JobId,
    element: (u16, u32),
    device: u16,
    from: SystemTime,
    steps: Vec<(Stage, SystemTime, SystemTime)>,
    /// Since when the hub is being told how it ended.
    told: Option<(SystemTime, End)>,
}

enum End {
    Done,
    Cancelled,
    /// Why.
    Failed(String),
}

/// When a step began; nothing where nobody wants to know.
#[derive(Clone, Copy)]
pub struct Begun(Option<SystemTime>);

impl Trails {
    /// Trails that are told to a collector.
    pub fn told_to(tracer: Option<Tracer>) -> Self {
        Self(Arc::new(Inner { tracer, ..Inner::default() }))
    }

    /// A hub has let this worker in.
    pub fn at(&self, hub: WorkerKey, worker: WorkerId) {
        // A worker has one hub, whose key stays.
        let _ = self.0.place.set((hub, worker));
    }

    /// What lines of the log say of an attempt.
    pub fn line(&self, job: JobId, (group, index): (u16, u32), attempt: AttemptId) -> tracing::Span {
        let place = self.0.place.get();
        let worker = place.map(|(_, worker)| tracing::field::display(worker));
        let trace_id = || place.map(|(hub, _)| tracing::field::display(trace_id(hub, job)));
        tracing::error_span!("attempt", %job, group, index, %attempt, worker, trace_id = trace_id())
    }

    /// An attempt has come.
    pub fn begin(&self, start: &StartAttempt) {
        if self.0.tracer.is_none() {
            return;
        }
        let (job, element, device, from) = (start.job, (start.group, start.index), start.device, SystemTime::now());
        let mut held = self.held();
        if held.trails.len() >= TRAILS_MAX {
            held.trails.clear();
        }
        held.trails.insert(start.attempt, Trail { job, element, device, from, steps: Vec::new(), told: None });
    }

    /// A step begins.
    pub fn now(&self) -> Begun {
        Begun(self.0.tracer.as_ref().map(|_| SystemTime::now()))
    }

    /// A step of an attempt is over.
    pub fn passed(&self, attempt: AttemptId, step: fn(AttemptId) -> Stage, Begun(begun): Begun) {
        let Some(from) = begun else { return };
        if let Some(trail) = self.held().trails.get_mut(&attempt) {
            trail.steps.push((step(attempt), from, SystemTime::now()));
        }
    }

    /// The hub is being told how attempts ended.
    pub fn tell(&self, results: &[Finished]) {
        if self.0.tracer.is_none() {
            return;
        }
        let (mut held, now) = (self.held(), SystemTime::now());
        for result in results {
            let end = match &result.outcome {
                Outcome::Done(_) => End::Done,
                Outcome::Failed { cause, detail } => End::Failed(format!("{cause}: {detail}")),
                Outcome::Cancelled => End::Cancelled,
            };
            if let Some(trail) = held.trails.get_mut(&result.attempt) {
                trail.told.get_or_insert((now, end));
            }
        }
    }

    /// The hub has the results of these.
    pub fn end(&self, attempts: &[AttemptId]) {
        let (Some(tracer), Some((hub, worker))) = (&self.0.tracer, self.0.place.get()) else { return };
        let (mut held, now) = (self.held(), SystemTime::now());
        for attempt in attempts {
            let Some(trail) = held.trails.remove(attempt) else { continue };
            let Some((told, end)) = trail.told else { continue };
            if !held.selection.takes(trail.job, trail.element, matches!(end, End::Done)) {
                continue;
            }
            let span = |stage, from, to| Span::new(*hub, trail.job, stage, (from, to));
            let steps = trail.steps.into_iter().chain([(Stage::Report(*attempt), told, now)]);
            steps.for_each(|(stage, from, to)| tracer.send(span(stage, from, to)));
            let work = span(Stage::Work(*attempt), trail.from, now)
                .count("gleaner.attempt", attempt.0)
                .count("gleaner.group", trail.element.0.into())
                .count("gleaner.index", trail.element.1.into())
                .count("gleaner.worker", worker.0.into())
                .count("gleaner.device", trail.device.into());
            tracer.send(match end {
                End::Done => work.text("gleaner.end", "done"),
                End::Cancelled => work.text("gleaner.end", "cancelled"),
                End::Failed(why) => work.text("gleaner.end", "failed").failed(&why),
            });
        }
    }

    /// Waits a moment for what was told last.
    pub async fn finish(&self) {
        if let Some(tracer) = &self.0.tracer {
            tracer.finish().await;
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
