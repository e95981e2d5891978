//! What the core asks for, done.
use super::turn::Keeper;
use crate::attempts::End;
use crate::screen::Screen;
use gleaner_core::Effect;
use gleaner_wire::api::{Live, Submitted};
use gleaner_wire::webhook::JobEvent;
use gleaner_wire::{AttemptId, JobId, Runtime, StartAttempt, ToWorker, WorkerId};

impl Keeper {
    /// Performs the effects of a batch, in order. Messages to workers are collected and leave at the end of the turn.
    pub(super) fn perform(&mut self) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::WelcomeWorker { worker, session } => self.welcome(worker, session),
                Effect::StartAttempt { worker, attempt } => {
                    if let Some(start) = self.core.start_message(attempt) {
                        let job = start.job;
                        self.note_started(worker, &start);
                        if self.outboxes.start(worker, start) {
                            self.engage(worker, job);
                        }
                    }
                }
                Effect::CancelAttempt { worker, attempt } => {
                    self.outboxes.cancel(worker, attempt);
                    self.attempts.ended(attempt, End::Cancelled);
                    self.following.cancelled(attempt);
                }
                Effect::YieldAttempt { worker, attempt, by_ms } => {
                    self.outboxes.say(worker, [ToWorker::Yield { attempt, by_ms }]);
                }
                Effect::TellPaused { worker, paused } => self.outboxes.say(worker, [ToWorker::Paused(paused)]),
                Effect::TellScreened { worker, device, runtime, verdict } => {
                    self.outboxes.say(worker, [ToWorker::Screened { device, runtime, verdict }]);
                }
                Effect::Screen { worker, session, device, runtime } => self.screen(worker, session, device, runtime),
                Effect::InviteBid { worker, auction, device } => {
                    if let Some(invitation) = self.core.invitation(worker, auction, device) {
                        self.outboxes.invite(worker, invitation);
                    }
                }
                Effect::AskReveal { worker, auction, device } => self.outboxes.reveal(worker, auction, device),
                Effect::DrawLot { auction } => self.lots_due.push(auction),
                Effect::DisconnectWorker { worker, reason } => self.outboxes.close(worker, reason),
                Effect::RefuseWorker { session, reason } => {
                    if let Some((outgoing, _, _)) = self.joins.remove(&session) {
                        outgoing.close(reason);
                    }
                }
                Effect::LockOrder { .. } | Effect::Accuse { .. } => self.bell.ring(),
                Effect::DrawRound { round } => {
                    self.following.round_closed(round);
                    self.draw(round);
                }
                Effect::AcceptJob { ticket, job, tasks, reserved } => {
                    self.ring_submitted(job);
                    self.following.accepted(job, &self.core);
                    if let Some(answer) = self.submissions.remove(&ticket) {
                        // A requester that has gone away finds its job by its idempotency key.
                        let _ = answer.send(Ok(Submitted { job, tasks, reserved }));
                    }
                }
                Effect::RefuseJob { ticket, reason } => {
                    if let Some(answer) = self.submissions.remove(&ticket) {
                        let _ = answer.send(Err(reason));
                    }
                }
                Effect::AnnounceJob { job } => self.announcer.job(job),
                Effect::AnnounceWorker { worker } => self.announce_worker(worker),
                Effect::AnnounceFailure { job, attempt, cause } => {
                    self.attempts.failed(job, attempt, cause);
                    self.announce_failure(job, attempt);
                }
                Effect::AnnounceDemand => self.demand.ring(),
                Effect::ArchiveJob { job } => {
                    self.outboxes.forget(job);
                    self.logs.close(job);
                    self.ring_ended(job);
                    self.following.ended(job, &self.core);
                    self.to_archive.push_back(job);
                }
            }
        }
        self.effects = effects;
    }

    /// Has a runtime of a device tested; the outcome comes back as an event.
    fn screen(&self, worker: WorkerId, session: gleaner_core::Session, device: u16, runtime: Runtime) {
        let Some(view) = self.core.worker_view(worker) else { return };
        self.screener.begin(Screen { worker, key: view.key, session, device, runtime });
    }

    /// Has lots drawn for the claims of a round; the seed comes back as an event.
    fn draw(&self, round: u64) {
        if let Some((number, claims)) = self.core.round_to_draw()
            && number == round
        {
            self.drawer.draw(number, claims);
        }
    }

    fn welcome(&mut self, worker: WorkerId, session: gleaner_core::Session) {
        let Some((outgoing, welcome, held)) = self.joins.remove(&session) else { return };
        // A test that was under way on an earlier connection is asked for anew.
        self.screener.leave(worker);
        self.outboxes.install(worker, session, outgoing);
        for attempt in held {
            if let Some(label) = self.core.attempt_label(attempt) {
                self.outboxes.knows(worker, label.job);
            }
        }
        // A connection that ended before its welcome does not know its number, so it cannot say that it left.
        if welcome.send(worker).is_err() {
            self.gone.push((worker, session));
        }
    }

    /// Has part of a provider's stake locked while it works on an order.
    fn engage(&self, worker: WorkerId, job: JobId) {
        if let (Some(order), Some(provider)) = (self.core.order(job), self.core.provider(worker)) {
            self.bell.engage(&order.order, provider);
        }
    }

    fn announce_worker(&mut self, worker: WorkerId) {
        self.announcer.worker(worker);
        if !self.announcer.is_heard() {
            return;
        }
        if let Some(view) = self.core.worker_view(worker) {
            self.announcer.tell(&Live::Worker { id: view.id, name: view.offer.name, state: view.state });
        }
    }

    fn announce_failure(&mut self, job: JobId, attempt: AttemptId) {
        let Some(failure) = self.core.failure(job, attempt) else { return };
        if self.announcer.is_heard() {
            self.announcer.tell(&Live::Failure { job, failure: failure.clone() });
        }
        if let Some(requester) = self.core.requester(job) {
            self.announcer.failure(job, requester.to_owned(), failure);
        }
    }

    /// Says to webhooks that a job was taken.
    fn ring_submitted(&self, job: JobId) {
        if let Some(summary) = self.core.job_summary(job) {
            self.webhooks.ring(JobEvent::Submitted, summary.submitted_at, summary);
        }
    }

    /// Says to webhooks how a job ended. Said twice, it is told once.
    fn ring_ended(&self, job: JobId) {
        let Some(summary) = self.core.job_summary(job) else { return };
        if let Some((event, at)) = JobEvent::of_end(&summary.state).zip(summary.ended_at) {
            self.webhooks.ring(event, at, summary);
        }
    }

    /// Notes that an attempt runs, with what people call it where somebody watches.
    fn note_started(&mut self, on: WorkerId, start: &StartAttempt) {
        let Some(placed) = self.core.placed(start.attempt) else {
            return self.following.check_started(on, start);
        };
        let worker = self.announcer.watches(start.job).then(|| self.core.worker_name(placed.worker)).flatten();
        self.attempts.started(placed, worker.map(str::to_owned));
    }
}
