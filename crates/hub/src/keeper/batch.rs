//! From what has arrived to one batch of events.
use super::command::{Command, Join, Report, Submission};
use super::turn::Keeper;
use crate::journal::{
    ArchivedJob, Batch, Due, EndedOrder, OUTPUTS_PER_ROW, OrderRows, OutputRow, PROOFS_PER_ROW, ProofRow,
};
use crate::proof::SignedClaims;
use gleaner_core::ledger::Account;
use gleaner_core::{Core, Event};
use gleaner_wire::api::Submitted;
use gleaner_wire::{Amount, AttemptId, Finished, JobId, Millis, WorkerId};
use tokio::sync::oneshot;

/// Ended jobs that are stored in one turn.
const ARCHIVED_PER_TURN_MAX: usize = 32;

/// What is to be told once a batch is applied.
#[derive(Default)]
pub(super) struct Answers {
    /// Batches of results that are on disk.
    pub(super) acknowledge: Vec<(WorkerId, u64)>,
    /// Requests whose event is applied.
    pub(super) applied: Vec<oneshot::Sender<()>>,
}

impl Keeper {
    /// Turns commands into events. What needs no journal is done at once.
    pub(super) fn take_in(&mut self, commands: Vec<Command>, now: Millis) -> (Batch, Answers) {
        let mut batch = Batch::at(now);
        let mut answers = Answers::default();
        for (worker, session) in std::mem::take(&mut self.gone) {
            if self.outboxes.is_current(worker, session) {
                self.take_report(worker, session, Report::Left, &mut batch, &mut answers);
            }
        }
        for command in commands {
            match command {
                Command::Join(join) => self.take_join(*join, &mut batch),
                Command::Worker { worker, session, report } => {
                    // A connection that was replaced has nothing more to say; its results come again on the new one.
                    if self.outboxes.is_current(worker, session) {
                        self.take_report(worker, session, report, &mut batch, &mut answers);
                    }
                }
                Command::Say { worker, messages } => self.outboxes.say(worker, messages),
                Command::Submit(submission) => self.take_submission(*submission, &mut batch),
                Command::Happened { event, applied } => {
                    self.take_event(*event, &mut batch);
                    answers.applied.push(applied);
                }
            }
        }
        self.take_archived(&mut batch);
        let lots = self.lots_due.drain(..).map(|auction| Event::LotDrawn { auction, seed: lot() });
        batch.events.extend(lots);
        if self.timer.due(self.core.next_deadline(), now) {
            batch.events.push(Event::TimePassed);
        }
        (batch, answers)
    }

    /// Journals what happened; an order that was closed before is not closed again.
    fn take_event(&self, event: Event, batch: &mut Batch) {
        if let Event::OrderClosed(closing) = &event {
            let open = self.journal.is_order_open(closing.job).unwrap_or(false);
            if !open || batch.closed.contains(&closing.job) {
                return;
            }
            batch.closed.push(closing.job);
        }
        batch.events.push(event);
    }

    fn take_join(&mut self, join: Join, batch: &mut Batch) {
        let Join { key, session, offer, resting, held, outgoing, welcome } = join;
        self.joins.insert(session, (outgoing, welcome, held.clone()));
        batch.events.push(Event::WorkerJoined { key, session, offer, resting, held });
    }

    fn take_report(
        &mut self,
        worker: WorkerId,
        session: gleaner_core::Session,
        report: Report,
        batch: &mut Batch,
        answers: &mut Answers,
    ) {
        match report {
            Report::Left => {
                self.outboxes.remove(worker);
                self.screener.leave(worker);
                batch.events.push(Event::WorkerLeft { worker, session });
            }
            Report::Resting(devices) => self.take_resting(worker, devices, batch),
            Report::Prices(prices) => self.take_prices(worker, prices, batch),
            Report::Saved { attempt, checkpoint } => {
                if self.core.runs(attempt) {
                    batch.events.push(Event::Saved { worker, attempt, checkpoint });
                }
            }
            Report::Held(held) => {
                if !held.is_empty() {
                    self.take_held(worker, held, batch);
                }
                // Now and then, however often it is paid.
                self.outboxes.tell_earned(worker, self.core.earned(worker));
            }
            Report::Bids(bids) => batch.events.push(Event::BidsSealed { worker, bids }),
            Report::Reveals(bids) => batch.events.push(Event::BidsOpened { worker, bids }),
            Report::Data(held) => batch.events.push(Event::Holds { worker, held }),
            Report::Finished { batch: number, results, signed } => {
                self.take_results(worker, results, signed, batch);
                answers.acknowledge.push((worker, number));
            }
            Report::Log { attempt, text } => {
                let label = self.core.attempt_label(attempt);
                if let Some(label) = label.filter(|label| label.worker == worker) {
                    self.logs.write(label.job, batch.at, &label.task, &label.worker_name, &text);
                }
            }
        }
    }

    /// Journals which devices rest, unless that is what was said last.
    fn take_resting(&self, worker: WorkerId, mut devices: Vec<u16>, batch: &mut Batch) {
        devices.sort_unstable();
        devices.dedup();
        let earlier = batch.events.iter().rev().find_map(|event| match event {
            Event::DevicesRest { worker: of, devices } if *of == worker => Some(devices.clone()),
            _ => None,
        });
        if earlier.unwrap_or_else(|| self.core.resting(worker)) != devices {
            batch.events.push(Event::DevicesRest { worker, devices });
        }
    }

    /// Journals what a worker asks, unless that is what it asked before.
    fn take_prices(&self, worker: WorkerId, prices: Vec<Amount>, batch: &mut Batch) {
        let earlier = batch.events.iter().rev().find_map(|event| match event {
            Event::Repriced { worker: of, prices } if *of == worker => Some(prices.clone()),
            _ => None,
        });
        if earlier.unwrap_or_else(|| self.core.asked(worker)) != prices {
            batch.events.push(Event::Repriced { worker, prices });
        }
    }

    /// Journals a heartbeat without the attempts that do not run any more: they mean nothing to the core.
    fn take_held(&self, worker: WorkerId, mut held: Vec<AttemptId>, batch: &mut Batch) {
        held.retain(|attempt| self.core.runs(*attempt));
        if held.is_empty() {
            heard(worker, batch);
        } else {
            batch.events.push(Event::LeasesRenewed { worker, held });
        }
    }

    /// Journals results, except late ones. Those of another worker's attempt stay, so that the core sees them.
    fn take_results(
        &self,
        worker: WorkerId,
        mut results: Vec<Finished>,
        signed: Option<SignedClaims>,
        batch: &mut Batch,
    ) {
        if results.is_empty() {
            return;
        }
        let all = results.len();
        results.retain(|result| {
            let task = self.core.task_of(result.attempt);
            let signed = signed.as_ref().is_none_or(|signed| signed.fits(result, task));
            task.is_some() && (signed || self.core.compares(result.attempt))
        });
        self.metrics.results_came_late(all - results.len());
        if results.is_empty() {
            heard(worker, batch);
        } else {
            let number = self.journal.next_number(batch.signed.len());
            batch.signed.extend(signed.map(|signed| (number, signed)));
            batch.events.push(Event::AttemptsFinished { worker, batch: number, results });
        }
    }

    fn take_submission(&mut self, submission: Submission, batch: &mut Batch) {
        let Submission { submission, requester, graph, order, answer } = submission;
        // The core knows the submissions of live jobs, the archive those of ended ones.
        match self.journal.submitted(submission) {
            Ok(None) => {}
            Ok(Some(ended)) => {
                let submitted = Submitted { job: ended.id, tasks: ended.tasks, reserved: ended.price_max };
                // Whoever asked may have gone away.
                let _ = answer.send(Ok(submitted));
                return;
            }
            Err(error) => {
                let _ = answer.send(Err(format!("the archive of ended jobs could not be read: {error}")));
                return;
            }
        }
        if self.requesters.insert(requester.clone()) {
            batch.requesters.push(requester.clone());
            if self.credit > Amount::ZERO && order.is_none() {
                let account = Account::Requester(requester.clone());
                batch.events.push(Event::Deposited { account, amount: self.credit });
            }
        }
        let ticket = self.inbox.ticket();
        self.submissions.insert(ticket, answer);
        batch.events.push(Event::JobSubmitted { ticket, submission, requester, graph, order });
    }

    /// Stores ended jobs in the same commit in which the core is told to forget them.
    fn take_archived(&mut self, batch: &mut Batch) {
        for _ in 0..ARCHIVED_PER_TURN_MAX {
            let Some(job) = self.to_archive.pop_front() else { return };
            if let Some(archived) = archived(&self.core, job) {
                // The last moment at which the core knows who has done what for it.
                self.endings.ended(batch.at, self.core.parts_of(job));
                batch.archived.push(archived);
                batch.events.push(Event::JobArchived { job });
                self.bell.ring();
            }
        }
    }
}

/// Chance for an auction with equal bids. A machine that gives none still has a clock that no bidder could foresee so exactly.
fn lot() -> u64 {
    getrandom::u64().unwrap_or_else(|_| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |now| u64::from(now.subsec_nanos()))
    })
}

/// Journals that the worker was heard from, which ends its silence, once in a batch at most.
fn heard(worker: WorkerId, batch: &mut Batch) {
    let said = batch.events.iter().any(|event| match event {
        Event::LeasesRenewed { worker: of, .. } | Event::AttemptsFinished { worker: of, .. } => *of == worker,
        _ => false,
    });
    if !said {
        batch.events.push(Event::LeasesRenewed { worker, held: Vec::new() });
    }
}

fn archived(core: &Core, job: JobId) -> Option<ArchivedJob> {
    let view = core.job_view(job)?;
    let mut outputs = Vec::new();
    for (group, of) in (0..).zip(&view.groups) {
        let count = u32::try_from(of.tasks).unwrap_or(u32::MAX);
        for first in (0..count).step_by(OUTPUTS_PER_ROW as usize) {
            let done = core.outputs(job, group, first, OUTPUTS_PER_ROW);
            if !done.is_empty() {
                let encoded = postcard::to_allocvec(&done).expect("outputs hold nothing that postcard cannot encode");
                outputs.push(OutputRow { group, first, outputs: encoded });
            }
        }
    }
    let submission = core.submission(job)?;
    let summary = serde_json::to_string(&view.summary).expect("a view is plain data");
    let view = serde_json::to_string(&view).expect("a view is plain data");
    let proofs = core.proofs(job, 0, usize::MAX);
    let proofs = (0..).step_by(PROOFS_PER_ROW).zip(proofs.chunks(PROOFS_PER_ROW)).map(|(first, some)| {
        let encoded = postcard::to_allocvec(some).expect("proofs hold nothing that postcard cannot encode");
        ProofRow { first, proofs: encoded }
    });
    let proofs = proofs.collect();
    Some(ArchivedJob { job, submission, summary, view, outputs, proofs, order: order_rows(core, job) })
}

/// What is to be settled for a job, where money is on a chain.
fn order_rows(core: &Core, job: JobId) -> Option<OrderRows> {
    let signed = core.order(job)?.clone();
    let dues = core.bills(job).into_iter().filter_map(|bill| {
        let provider = core.provider(bill.worker)?;
        Some(Due { worker: bill.worker, provider, gross: bill.gross, net: bill.net })
    });
    let dues = dues.collect();
    let receipts = core.receipts(job, 0, usize::MAX);
    let locked = core.was_locked(job);
    let ended = EndedOrder { job, signed, locked, dues, receipts: receipts.len() as u64 };
    Some(OrderRows { ended, receipts })
}
