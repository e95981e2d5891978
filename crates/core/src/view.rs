//! Views of the state, for people and for the API.
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use gleaner_wire::api::{
    AuditsView, ChecksView, FailureView, GroupView, JobState, JobSummary, JobView, LedgerView, MarketView, TallyView,
    WorkerView,
};
use gleaner_wire::{Address, Amount, AttemptId, InputSpec, JobId, Output, State, TaskId, WorkerId, WorkerKey};

use crate::attempt::Why;
use crate::audit::Verdict;
use crate::blame::{STOPPED_EARLY, consequence};
use crate::job::{Failure, Group, Job, Phase};
use crate::learn::SPEED_REFERENCE;
use crate::ledger::Account;
use crate::proof::{RateView, Record};
use crate::state::{Core, Totals};

/// What a log line says of its attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLabel {
    /// The job.
    pub job: JobId,
    /// The task, as `name[index]`.
    pub task: String,
    /// The worker.
    pub worker: WorkerId,
    /// Its name.
    pub worker_name: String,
}

impl Core {
    /// Every job that is not archived.
    pub fn jobs(&self) -> Vec<JobSummary> {
        self.jobs.values().map(|job| self.summary(job)).collect()
    }

    /// One job in short.
    pub fn job_summary(&self, id: JobId) -> Option<JobSummary> {
        self.jobs.get(&id).map(|job| self.summary(job))
    }

    /// One job, whole.
    pub fn job_view(&self, id: JobId) -> Option<JobView> {
        let job = self.jobs.get(&id)?;
        let workers = job.tallies.iter().map(|(worker, tally)| TallyView {
            worker: *worker,
            name: self.name_of(*worker),
            done: tally.done,
            failed: tally.failed,
            ran_micros: tally.ran.0,
            gross: tally.gross,
            earned: tally.earned,
        });
        Some(JobView {
            summary: self.summary(job),
            groups: job.groups.iter().map(|group| self.group_view(group)).collect(),
            workers: workers.collect(),
            failures: job.failures.iter().map(|failure| self.failure_view(job, failure)).collect(),
            checks: checks(job),
            tolerances: self.tolerance_views(job),
            awards: self.award_views(job),
            quoted: job.quoted_view(),
            market: self.market_view(job),
            contests: job.contests.iter().cloned().collect(),
        })
    }

    /// A failed attempt of a job, while it is remembered.
    pub fn failure(&self, id: JobId, attempt: AttemptId) -> Option<FailureView> {
        let job = self.jobs.get(&id)?;
        let failure = job.failures.iter().rev().find(|failure| failure.attempt == attempt)?;
        Some(self.failure_view(job, failure))
    }

    /// Who pays for a job.
    pub fn requester(&self, id: JobId) -> Option<&str> {
        self.jobs.get(&id).map(|job| self.share.name(job.requester))
    }

    /// The name of a group.
    pub fn group_name(&self, job: JobId, group: u16) -> Option<&str> {
        Some(&self.spec(job, group)?.name)
    }

    /// How many groups a job has.
    pub fn group_count(&self, job: JobId) -> Option<u16> {
        self.jobs.get(&job).map(|job| job.groups.len() as u16)
    }

    /// The outputs of the elements of a group from `first` on that are done.
    pub fn outputs(&self, job: JobId, group: u16, first: u32, count: u32) -> Vec<(u32, Output)> {
        let group = self.jobs.get(&job).and_then(|job| job.groups.get(usize::from(group)));
        let outputs = group.map_or(&[][..], |group| &group.outputs);
        let wanted = outputs.get(first as usize..).unwrap_or_default().iter().take(count as usize).zip(first..);
        wanted.filter_map(|(output, index)| Some((index, (*output)?))).collect()
    }

    /// What this hub was founded with.
    pub fn params(&self) -> &crate::Params {
        &self.params
    }

    /// The requester's own number of a job, so that a submission sent again is known after the job was archived.
    pub fn submission(&self, job: JobId) -> Option<u128> {
        self.jobs.get(&job).map(|job| job.submission)
    }

    /// What a log line says of its attempt, while it runs.
    pub fn attempt_label(&self, id: AttemptId) -> Option<AttemptLabel> {
        let attempt = self.attempts.at(self.attempts.slot(id)?);
        let task = self.task_name(&self.jobs[&attempt.job], attempt.group, attempt.index);
        let (job, worker) = (attempt.job, attempt.worker);
        Some(AttemptLabel { job, task, worker, worker_name: self.name_of(worker) })
    }

    /// The task of an attempt that still runs.
    pub fn task_of(&self, id: AttemptId) -> Option<TaskId> {
        let attempt = self.attempts.at(self.attempts.slot(id)?);
        Some(TaskId { job: attempt.job, group: attempt.group, index: attempt.index })
    }

    /// Whether an attempt that runs checks somebody else's result.
    pub fn is_audit(&self, id: AttemptId) -> bool {
        self.attempts.slot(id).is_some_and(|slot| self.attempts.at(slot).is_audit())
    }

    /// Whether an attempt that runs compares results of others, and so claims nothing of its task.
    pub fn compares(&self, id: AttemptId) -> bool {
        self.attempts.slot(id).is_some_and(|slot| self.attempts.at(slot).compare.is_some())
    }

    /// Whether the result of an attempt waits for its check.
    pub fn is_claimed(&self, id: AttemptId) -> bool {
        self.claims.all.contains_key(&id)
    }

    /// Whether an attempt still runs, on whichever worker.
    pub fn runs(&self, attempt: AttemptId) -> bool {
        self.attempts.slot(attempt).is_some()
    }

    /// What is paid for a second of an attempt that runs.
    pub fn price_of(&self, attempt: AttemptId) -> Option<Amount> {
        Some(self.attempts.at(self.attempts.slot(attempt)?).price)
    }

    /// Whether an attempt runs because its bid won an auction.
    pub fn is_award(&self, attempt: AttemptId) -> bool {
        self.attempts.slot(attempt).is_some_and(|slot| self.attempts.at(slot).why == Why::Won)
    }

    /// What a worker has lost in bonds, ever.
    pub fn forfeited(&self, worker: WorkerId) -> Amount {
        self.workers.get(worker.0 as usize).map_or(Amount::ZERO, |worker| worker.forfeited)
    }

    /// How many auctions are open.
    pub fn auctions_open(&self) -> usize {
        self.auctions.open.len()
    }

    /// Whether a worker holds a running attempt of a job.
    pub fn works_on(&self, worker: WorkerId, job: JobId) -> bool {
        let worker = self.workers.get(worker.0 as usize);
        worker.is_some_and(|worker| worker.attempts.iter().any(|slot| self.attempts.at(*slot).job == job))
    }

    /// Every worker that has ever joined.
    pub fn workers(&self) -> Vec<WorkerView> {
        (0..self.workers.len() as u32).filter_map(|id| self.worker_view(WorkerId(id))).collect()
    }

    /// The name of a worker.
    pub fn worker_name(&self, id: WorkerId) -> Option<&str> {
        self.workers.get(id.0 as usize).map(|worker| worker.offer.name.as_str())
    }

    /// The name of a worker, its state and how many attempts it holds.
    pub fn worker_standing(&self, id: WorkerId) -> Option<(&str, State, u64)> {
        let worker = self.workers.get(id.0 as usize)?;
        Some((&worker.offer.name, worker.state, worker.attempts.len() as u64))
    }

    /// One worker.
    pub fn worker_view(&self, id: WorkerId) -> Option<WorkerView> {
        let worker = self.workers.get(id.0 as usize)?;
        let seats = worker.seats.iter().map(|seat| &self.seats[seat.0 as usize]).filter(|seat| seat.offered);
        Some(WorkerView {
            id,
            key: worker.key,
            state: worker.state,
            offer: worker.offer.clone(),
            running: worker.attempts.len() as u64,
            done: worker.done,
            failed: worker.failed,
            earned: self.earned(id),
            settled: self.ledger.paid(id),
            forfeited: worker.forfeited,
            reliability_per_mille: worker.reliability.per_mille(),
            resting: self.resting(id),
            tests: worker.tests.states().collect(),
            audits: self.params.checks.then(|| self.audits_view(id)),
            managed: worker.managed,
            speeds: seats.flat_map(|seat| seat.runtimes.iter().flatten().map(|offered| offered.speed)).collect(),
        })
    }

    fn audits_view(&self, id: WorkerId) -> AuditsView {
        let RateView { rate, by_record, by_stake, record, loses, exposure, exposure_max } = self.audit_rate(id);
        let Record { good, bad, given_up } = record;
        let provider = self.provider(id).filter(|_| self.params.orders);
        AuditsView {
            rate,
            by_record,
            by_stake,
            good,
            bad,
            given_up,
            stake: provider.map_or(Amount::ZERO, |provider| self.stake(provider)),
            loses,
            honest: self.params.audits.honest,
            exposure,
            exposure_max,
        }
    }

    /// What a worker has earned, ever.
    pub fn earned(&self, id: WorkerId) -> Amount {
        Amount(self.ledger.balance(&Account::Worker(id)).0.saturating_add(self.ledger.paid(id).0))
    }

    /// What a worker asks for a second of each of its devices.
    pub fn asked(&self, id: WorkerId) -> Vec<Amount> {
        let devices = self.workers.get(id.0 as usize).map_or(&[][..], |worker| &worker.offer.devices);
        devices.iter().map(|device| device.price_per_second).collect()
    }

    /// The devices of a worker that their owner needs now.
    pub fn resting(&self, id: WorkerId) -> Vec<u16> {
        let seats = self.workers.get(id.0 as usize).map_or(&[][..], |worker| &worker.seats);
        let seats = seats.iter().map(|seat| &self.seats[seat.0 as usize]).filter(|seat| seat.offered && seat.resting);
        seats.map(|seat| seat.device).collect()
    }

    /// Workers from one on that are paid at one of these addresses, and where to go on looking; at most `looked_at_max`
    /// are looked at.
    pub fn paid_to(
        &self,
        providers: &BTreeSet<Address>,
        from: WorkerId,
        looked_at_max: u32,
    ) -> (Vec<WorkerId>, Option<WorkerId>) {
        let workers = self.workers.len() as u32;
        let end = from.0.saturating_add(looked_at_max).min(workers);
        let is_paid = |id: &WorkerId| self.provider(*id).is_some_and(|provider| providers.contains(&provider));
        let found = (from.0..end).map(WorkerId).filter(is_paid).collect();
        (found, (end < workers).then_some(WorkerId(end)))
    }

    /// The key of a worker.
    pub fn worker_key(&self, id: WorkerId) -> Option<WorkerKey> {
        self.workers.get(id.0 as usize).map(|worker| worker.key)
    }

    /// The worker with this key.
    pub fn worker_by_key(&self, key: &WorkerKey) -> Option<WorkerId> {
        self.by_key.get(key).copied()
    }

    /// The books.
    pub fn ledger_view(&self) -> LedgerView {
        let accounts = self.ledger.accounts().map(|(account, amount)| (account.to_string(), amount));
        LedgerView { accounts: accounts.collect(), issued: self.ledger.issued() }
    }

    /// What an account holds.
    pub fn balance(&self, account: &Account) -> Amount {
        self.ledger.balance(account)
    }

    /// Whether a requester has ever had money here.
    pub fn knows_requester(&self, name: &str) -> bool {
        self.ledger.knows(name)
    }

    /// Counters for metrics.
    pub fn totals(&self) -> Totals {
        let running = self.jobs.values().filter(|job| job.is_running());
        let (mut jobs_running, mut tasks_queued) = (0, 0);
        for job in running {
            jobs_running += 1;
            tasks_queued += job.groups.iter().map(|group| u64::from(group.ready())).sum::<u64>();
        }
        Totals { jobs_running, tasks_queued, attempts_running: self.attempts.len() as u64, ..self.totals.clone() }
    }

    pub(crate) fn job_state(&self, job: &Job) -> JobState {
        match &job.phase {
            Phase::Ordered => JobState::Ordered,
            Phase::Running => JobState::Running,
            Phase::Done => JobState::Done,
            Phase::Cancelled => JobState::Cancelled,
            Phase::Failed { task, cause, reason } => JobState::Failed {
                task: task.map(|(group, index)| self.task_name(job, group, index)),
                cause: *cause,
                reason: reason.clone(),
            },
        }
    }

    fn summary(&self, job: &Job) -> JobSummary {
        JobSummary {
            id: job.id,
            name: job.name.clone(),
            requester: self.share.name(job.requester).into(),
            state: self.job_state(job),
            tasks: job.tasks,
            done: job.done,
            known: job.known,
            running: job.running,
            retried: job.retried,
            spent: job.charged(),
            price_max: job.price_max,
            submitted_at: job.submitted_at,
            ended_at: job.ended_at,
        }
    }

    fn group_view(&self, group: &Group) -> GroupView {
        GroupView {
            name: group.plan.spec.name.clone(),
            runtime: group.plan.needs.runtime,
            extent: group.plan.spec.extent,
            reads: group.plan.spec.inputs.iter().filter_map(InputSpec::group).collect(),
            tasks: u64::from(group.count),
            done: u64::from(group.done),
            running: u64::from(group.running),
            queued: u64::from(group.ready()),
            unchecked: u64::from(group.claimed),
            saved: group.checkpoints.len() as u64,
            predicted_micros: self.programs.predict(group.program, SPEED_REFERENCE).map(|micros| micros.0),
        }
    }

    fn market_view(&self, job: &Job) -> MarketView {
        MarketView {
            market: job.market,
            paid_micros: job.tallies.values().map(|tally| tally.ran.0).sum(),
            wasted_micros: job.race.wasted.0,
            hedges: job.race.hedges,
            moved: job.moved,
            kept: self.firmness.kept(job.id),
        }
    }

    fn failure_view(&self, job: &Job, failure: &Failure) -> FailureView {
        FailureView {
            task: self.task_name(job, failure.group, failure.index),
            attempt: failure.attempt,
            worker: self.name_of(failure.worker),
            cause: failure.cause,
            detail: failure.detail.clone(),
            consequence: (if failure.early { STOPPED_EARLY } else { consequence(failure.cause) }).words.into(),
            at: failure.at,
        }
    }

    fn name_of(&self, id: WorkerId) -> String {
        self.workers[id.0 as usize].offer.name.clone()
    }
}

/// How many results of a job were judged how.
fn checks(job: &Job) -> Vec<ChecksView> {
    let judged = Verdict::ALL.iter().zip(job.verdicts).filter(|(_, results)| *results > 0);
    judged
        .map(|(verdict, results)| ChecksView { verdict: verdict.words().into(), results, paid: verdict.pays() })
        .collect()
}
