//! What the keeper sees of jobs and tells: that one was taken, that its money is locked, who checks what, how it ended.
//! What it has to remember for that is bounded, and nothing where nobody wants spans.
use super::{Traces, attempt_words};
use gleaner_core::{Core, Event};
use gleaner_trace::{Selection, Stage, moment};
use gleaner_wire::receipt::Verdict;
use gleaner_wire::{AttemptId, Finished, JobId, Millis, Outcome, StartAttempt, WorkerId};
use std::collections::{BTreeMap, HashMap};

/// Rounds whose times are remembered: a job's claims are judged soon after they were drawn.
const ROUNDS_MAX: usize = 1024;
/// Judged claims of a job that are looked through for its rounds.
const PROOFS_MAX: usize = 4096;
/// Rounds of a job that are told of: the first.
const ROUNDS_PER_JOB_MAX: usize = 64;

/// Follows jobs from where the keeper stands.
pub(crate) struct Following {
    traces: Traces,
    now: Millis,
    selection: Selection,
    /// Attempts that check others' results, by the slot that is in their number. Slots are used again, so what was never
    /// heard of again gives way.
    checks: HashMap<u32, Check>,
    /// When rounds were closed, and drawn.
    rounds: BTreeMap<u64, (Millis, Option<Millis>)>,
}

struct Check {
    attempt: AttemptId,
    job: JobId,
    element: (u16, u32),
    worker: WorkerId,
    compares: bool,
    placed: Millis,
}

/// How a check ended.
enum Ended {
    Done,
    Cancelled,
    Failed(String),
}

#[derive(Default)]
struct Drawn {
    claims: u64,
    audited: u64,
    refuted: u64,
}

impl Following {
    pub(crate) fn new(traces: Traces) -> Self {
        let (checks, rounds) = (HashMap::new(), BTreeMap::new());
        Self { traces, now: Millis(0), selection: Selection::default(), checks, rounds }
    }

    /// From now on it is this moment.
    pub(crate) fn is_now(&mut self, at: Millis) {
        self.now = at;
    }

    /// Something is about to be applied.
    pub(crate) fn see(&mut self, event: &Event, core: &Core) {
        if let Event::OrderLocked { job, .. } = event {
            self.lock_ended(*job, None, core);
        } else if let Event::OrderRefused { job, reason } = event {
            self.lock_ended(*job, Some(reason), core);
        } else if let Event::AttemptsFinished { results, .. } = event
            && !self.checks.is_empty()
        {
            results.iter().for_each(|result| self.finished(result));
        } else if let Event::RoundDrawn { round, .. } = event
            && let Some((_, drawn)) = self.rounds.get_mut(round)
        {
            drawn.get_or_insert(self.now);
        }
    }

    /// A job was taken, now or when it was sent before.
    pub(crate) fn accepted(&self, job: JobId, core: &Core) {
        let Some(summary) = core.job_summary(job).filter(|summary| summary.submitted_at == self.now) else { return };
        tracing::info!(
            %job,
            trace_id = %self.traces.id(job),
            requester = summary.requester,
            tasks = summary.tasks,
            "a job was taken"
        );
    }

    /// An attempt starts that checks another one's result.
    pub(crate) fn check_started(&mut self, worker: WorkerId, start: &StartAttempt) {
        if !self.traces.are_wanted() {
            return;
        }
        let (attempt, job, element) = (start.attempt, start.job, (start.group, start.index));
        let check = Check { attempt, job, element, worker, compares: start.compare.is_some(), placed: self.now };
        if let Some(lost) = self.checks.insert(slot(attempt), check) {
            self.tell_check(&lost, &Ended::Failed("it was not heard of again".to_owned()));
        }
    }

    /// An attempt is not wanted any more.
    pub(crate) fn cancelled(&mut self, attempt: AttemptId) {
        if let Some(check) = self.take_check(attempt) {
            self.tell_check(&check, &Ended::Cancelled);
        }
    }

    /// A round is closed, and waits for its draw.
    pub(crate) fn round_closed(&mut self, round: u64) {
        if !self.traces.are_wanted() {
            return;
        }
        self.rounds.entry(round).or_insert((self.now, None));
        while self.rounds.len() > ROUNDS_MAX {
            self.rounds.pop_first();
        }
    }

    /// A job has ended; told again after a restart, it is the same.
    pub(crate) fn ended(&self, job: JobId, core: &Core) {
        let Some(summary) = core.job_summary(job) else { return };
        tracing::info!(
            %job,
            trace_id = %self.traces.id(job),
            state = summary.state.word(),
            done = summary.done,
            spent = %summary.spent,
            "a job has ended"
        );
        if self.traces.are_wanted() {
            self.tell_rounds(job, core);
            self.traces.job_ended(&summary);
        }
    }

    fn lock_ended(&self, job: JobId, refused: Option<&str>, core: &Core) {
        let trace_id = self.traces.id(job);
        match refused {
            None => tracing::info!(%job, %trace_id, "the money of a job is locked"),
            Some(reason) => tracing::info!(%job, %trace_id, reason, "the money of a job cannot be locked"),
        }
        let Some(summary) = core.job_summary(job).filter(|_| self.traces.are_wanted()) else { return };
        let span = self.traces.span(job, Stage::Lock, (moment(summary.submitted_at), moment(self.now)));
        self.traces.send(match refused {
            None => span,
            Some(reason) => span.failed(reason),
        });
    }

    fn finished(&mut self, result: &Finished) {
        let Some(check) = self.take_check(result.attempt) else { return };
        let ended = match &result.outcome {
            Outcome::Done(_) => Ended::Done,
            Outcome::Failed { cause, .. } => Ended::Failed(cause.to_string()),
            Outcome::Cancelled => Ended::Cancelled,
        };
        self.tell_check(&check, &ended);
    }

    fn take_check(&mut self, attempt: AttemptId) -> Option<Check> {
        let slot = slot(attempt);
        self.checks.get(&slot).filter(|check| check.attempt == attempt)?;
        self.checks.remove(&slot)
    }

    fn tell_check(&mut self, check: &Check, ended: &Ended) {
        if !self.selection.takes(check.job, check.element, matches!(ended, Ended::Done)) {
            return;
        }
        let times = (moment(check.placed), moment(self.now));
        let span = self.traces.span(check.job, Stage::Check(check.attempt), times);
        let span = attempt_words(span, check.attempt, check.element, check.worker);
        let span = span.flag("gleaner.compares", check.compares);
        self.traces.send(match ended {
            Ended::Done => span.text("gleaner.end", "done"),
            Ended::Cancelled => span.text("gleaner.end", "cancelled"),
            Ended::Failed(why) => span.text("gleaner.end", "failed").failed(why),
        });
    }

    /// Tells of the rounds in which claims of a job were drawn, as far as their times are known.
    fn tell_rounds(&self, job: JobId, core: &Core) {
        let mut rounds: BTreeMap<u64, Drawn> = BTreeMap::new();
        for proof in core.proofs(job, 0, PROOFS_MAX).iter().filter(|proof| proof.draw.is_some()) {
            let drawn = rounds.entry(proof.round).or_default();
            drawn.claims += 1;
            drawn.audited += u64::from(proof.draw.as_ref().is_some_and(|draw| draw.selected));
            drawn.refuted += u64::from(proof.verdict == Verdict::Refuted);
        }
        for (round, Drawn { claims, audited, refuted }) in rounds.into_iter().take(ROUNDS_PER_JOB_MAX) {
            let Some((closed, Some(drawn))) = self.rounds.get(&round) else { continue };
            let span = self.traces.span(job, Stage::Round(round), (moment(*closed), moment(*drawn)));
            let span = span.count("gleaner.round", round).count("gleaner.claims", claims);
            self.traces.send(span.count("gleaner.audited", audited).count("gleaner.refuted", refuted));
        }
    }
}

/// The place in the core's table of attempts, which is in an attempt's number.
fn slot(attempt: AttemptId) -> u32 {
    attempt.0 as u32
}
