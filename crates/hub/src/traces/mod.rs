//! What the hub tells of its jobs: spans for a collector, where there is one, and lines of its log with the same ids.
//!
//! Without a collector nothing is gathered. With one, spans are told when they are over; the keeper never waits for that.
mod following;

pub(crate) use following::Following;

use crate::attempts::End;
use gleaner_core::Placed;
use gleaner_trace::{Config, Error, Service, Span, Stage, TraceId, Tracer, moment, trace_id};
use gleaner_wire::api::{JobState, JobSummary};
use gleaner_wire::{AttemptId, JobId, Millis, WorkerId, WorkerKey};
use std::time::SystemTime;

/// The way of spans to a collector, if there is one, and the ids of traces in any case.
#[derive(Clone)]
pub(crate) struct Traces {
    hub: WorkerKey,
    tracer: Option<Tracer>,
}

impl Traces {
    /// Spans of this hub's jobs go there, if anywhere. Needs a runtime.
    pub(crate) fn open(config: Option<&Config>, hub: WorkerKey) -> Result<Self, Error> {
        let service = || Service { name: "gleaner-hub", instance: hub.to_string() };
        let tracer = config.map(|config| Tracer::start(config, service())).transpose()?;
        Ok(Self { hub, tracer })
    }

    /// Whether anybody wants spans.
    pub(crate) fn are_wanted(&self) -> bool {
        self.tracer.is_some()
    }

    /// The trace of a job.
    pub(crate) fn id(&self, job: JobId) -> TraceId {
        trace_id(&self.hub, job)
    }

    /// The trace of a job, if it is exported.
    pub(crate) fn shown(&self, job: JobId) -> Option<String> {
        self.tracer.as_ref().map(|_| self.id(job).to_string())
    }

    /// Spans that were sent, and that were dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.tracer.as_ref().map_or((0, 0), |tracer| (tracer.sent(), tracer.dropped()))
    }

    /// Waits a moment for what was told last.
    pub(crate) async fn finish(&self) {
        if let Some(tracer) = &self.tracer {
            tracer.finish().await;
        }
    }

    /// A request has submitted a job. `caller` is what it says of its own trace.
    pub(crate) fn submitted(&self, job: JobId, planned: (SystemTime, SystemTime), arrived: SystemTime, caller: &str) {
        let Some(tracer) = &self.tracer else { return };
        let number = arrived.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let request = self.span(job, Stage::Submit(number), (arrived, SystemTime::now()));
        tracer.send(request.asked_by(gleaner_trace::caller(caller)));
        tracer.send(self.span(job, Stage::Plan(number), planned));
    }

    /// An attempt has ended.
    pub(crate) fn attempt(&self, placed: &Placed, at: Millis, end: End) {
        let Some(tracer) = &self.tracer else { return };
        let Placed { attempt, job, group, index, worker, .. } = *placed;
        let span = self.span(job, Stage::Attempt(attempt), (moment(placed.at), moment(at)));
        let span = attempt_words(span, attempt, (group, index), worker).text("gleaner.why", &placed.reason.to_string());
        tracer.send(match end {
            End::Done => span.text("gleaner.end", "done"),
            End::Cancelled => span.text("gleaner.end", "cancelled"),
            End::Failed(cause) => span.text("gleaner.end", "failed").failed(&cause.to_string()),
        });
    }

    /// The chain has split the money of a job that ended.
    pub(crate) fn settled(&self, summary: &JobSummary, paid: bool, providers: usize) {
        tracing::info!(job = %summary.id, trace_id = %self.id(summary.id), paid, "the order of a job is closed");
        let (Some(tracer), Some(ended)) = (&self.tracer, summary.ended_at) else { return };
        let span = self.span(summary.id, Stage::Settle, (moment(ended), SystemTime::now()));
        tracer.send(span.flag("gleaner.paid", paid).count("gleaner.providers", providers as u64));
    }

    /// A worker was tested by a job that is none of anybody's. Its worker cannot tell, and follows it like any other.
    pub(crate) fn tested(&self, job: JobId, worker: WorkerId, begun: SystemTime, passed: bool) {
        let Some(tracer) = &self.tracer else { return };
        let span = self.span(job, Stage::Job, (begun, SystemTime::now())).flag("gleaner.test", true);
        let span = span.count("gleaner.worker", worker.0.into());
        tracer.send(if passed { span } else { span.failed("the test was not passed") });
    }

    /// One round of such a test.
    pub(crate) fn test_attempt(
        &self,
        job: JobId,
        attempt: AttemptId,
        group: u16,
        worker: WorkerId,
        begun: SystemTime,
        done: bool,
    ) {
        let Some(tracer) = &self.tracer else { return };
        let span = self.span(job, Stage::Attempt(attempt), (begun, SystemTime::now())).flag("gleaner.test", true);
        let span = attempt_words(span, attempt, (group, 0), worker);
        tracer.send(if done { span } else { span.failed("no answer") });
    }

    fn job_ended(&self, summary: &JobSummary) {
        let (Some(tracer), Some(ended)) = (&self.tracer, summary.ended_at) else { return };
        let span = self.span(summary.id, Stage::Job, (moment(summary.submitted_at), moment(ended)));
        let span = span
            .text("gleaner.name", &summary.name)
            .text("gleaner.requester", &summary.requester)
            .text("gleaner.state", summary.state.word())
            .text("gleaner.spent", &format!("{} GLN", summary.spent))
            .count("gleaner.tasks", summary.tasks)
            .count("gleaner.done", summary.done)
            .count("gleaner.known", summary.known)
            .count("gleaner.retried", summary.retried);
        tracer.send(match &summary.state {
            JobState::Failed { reason, .. } => span.failed(reason),
            JobState::Ordered | JobState::Running | JobState::Done | JobState::Cancelled => span,
        });
    }

    fn span(&self, job: JobId, stage: Stage, times: (SystemTime, SystemTime)) -> Span {
        Span::new(self.hub, job, stage, times)
    }

    fn send(&self, span: Span) {
        if let Some(tracer) = &self.tracer {
            tracer.send(span);
        }
    }
}

fn attempt_words(span: Span, attempt: AttemptId, (group, index): (u16, u32), worker: WorkerId) -> Span {
    span.count("gleaner.attempt", attempt.0)
        .count("gleaner.group", group.into())
        .count("gleaner.index", index.into())
        .count("gleaner.worker", worker.0.into())
}
