//! Ids of traces and spans, and what belongs below what.
use gleaner_wire::{AttemptId, JobId, WorkerKey};
use opentelemetry::{SpanId, TraceId};

/// The trace of a job: the same on the hub, on its workers and after a restart.
pub fn trace_id(hub: &WorkerKey, job: JobId) -> TraceId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"gleaner trace 1").update(&hub.0).update(&job.0.to_be_bytes());
    TraceId::from_bytes(first(hasher.finalize().as_bytes()))
}

/// A part of a job's way. Which one it is says its name, its id and what it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// From its submission to its end.
    Job,
    /// A request that submitted it, told apart by when it came: a client may send one again.
    Submit(u128),
    /// Reading and planning it, in that request.
    Plan(u128),
    /// Until its money was locked.
    Lock,
    /// An attempt, from its placement to its end as the hub heard it.
    Attempt(AttemptId),
    /// An attempt that checks another one's result. Its worker cannot tell, so its id is that of any attempt.
    Check(AttemptId),
    /// A round in which lots were drawn for claims of the job.
    Round(u64),
    /// From its end until the chain had split its money.
    Settle,
    /// An attempt on its worker, from hearing of it to the hub's word that its result is kept.
    Work(AttemptId),
    /// Waiting for the keys of its task.
    Keys(AttemptId),
    /// Fetching its program and what it reads.
    Fetch(AttemptId),
    /// Running.
    Run(AttemptId),
    /// Sealing what it wrote and storing it on the hub.
    Store(AttemptId),
    /// Telling the hub, until it is kept there.
    Report(AttemptId),
}

impl Stage {
    /// The name of its span.
    pub fn name(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Submit(_) => "submit",
            Self::Plan(_) => "plan",
            Self::Lock => "lock",
            Self::Attempt(_) => "attempt",
            Self::Check(_) => "check",
            Self::Round(_) => "round",
            Self::Settle => "settle",
            Self::Work(_) => "work",
            Self::Keys(_) => "keys",
            Self::Fetch(_) => "fetch",
            Self::Run(_) => "run",
            Self::Store(_) => "store",
            Self::Report(_) => "report",
        }
    }

    /// What it is a part of.
    pub fn parent(self) -> Option<Self> {
        match self {
            Self::Job => None,
            Self::Submit(_) | Self::Lock | Self::Attempt(_) | Self::Check(_) | Self::Round(_) | Self::Settle => {
                Some(Self::Job)
            }
            Self::Plan(at) => Some(Self::Submit(at)),
            Self::Work(attempt) => Some(Self::Attempt(attempt)),
            Self::Keys(attempt)
            | Self::Fetch(attempt)
            | Self::Run(attempt)
            | Self::Store(attempt)
            | Self::Report(attempt) => Some(Self::Work(attempt)),
        }
    }

    /// The id of its span in a trace.
    pub fn id(self, trace: TraceId) -> SpanId {
        let (kind, number) = match self {
            Self::Job | Self::Lock | Self::Settle => (self.name(), 0),
            Self::Submit(at) | Self::Plan(at) => (self.name(), at),
            Self::Round(round) => (self.name(), u128::from(round)),
            Self::Attempt(attempt) | Self::Check(attempt) => ("attempt", u128::from(attempt.0)),
            Self::Work(attempt)
            | Self::Keys(attempt)
            | Self::Fetch(attempt)
            | Self::Run(attempt)
            | Self::Store(attempt)
            | Self::Report(attempt) => (self.name(), u128::from(attempt.0)),
        };
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(b"gleaner span 1")
            .update(&trace.to_bytes())
            .update(&number.to_be_bytes())
            .update(kind.as_bytes());
        SpanId::from_bytes(first(hasher.finalize().as_bytes()))
    }
}

fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    *hash.first_chunk().expect("a hash has 32 bytes, an id at most 16")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const HUB: WorkerKey = WorkerKey([7; 32]);

    #[test]
    fn ids_stay_what_they_are() {
        let trace = trace_id(&HUB, JobId(1));
        assert_eq!(trace.to_string(), "7590d3209c302d6e7ea1b863c05ba933");
        assert_eq!(Stage::Attempt(AttemptId(5)).id(trace).to_string(), "d7f4543753ce1f23");
    }

    #[test]
    fn jobs_of_two_hubs_have_traces_of_their_own() {
        assert_ne!(trace_id(&HUB, JobId(1)), trace_id(&WorkerKey([8; 32]), JobId(1)));
        assert_ne!(trace_id(&HUB, JobId(1)), trace_id(&HUB, JobId(2)));
    }

    #[test]
    fn stages_differ_but_a_check_looks_like_any_attempt() {
        let (trace, attempt) = (trace_id(&HUB, JobId(1)), AttemptId(3));
        let stages = [
            Stage::Job,
            Stage::Submit(3),
            Stage::Plan(3),
            Stage::Lock,
            Stage::Attempt(attempt),
            Stage::Round(3),
            Stage::Settle,
            Stage::Work(attempt),
            Stage::Keys(attempt),
            Stage::Fetch(attempt),
            Stage::Run(attempt),
            Stage::Store(attempt),
            Stage::Report(attempt),
        ];
        let ids: HashSet<_> = stages.iter().map(|stage| stage.id(trace)).collect();
        assert_eq!(ids.len(), stages.len());
        assert_eq!(Stage::Check(attempt).id(trace), Stage::Attempt(attempt).id(trace));
    }
}
