//! What workers do in the world: dial, run what they are given, send results until they are acknowledged.
use gleaner_wire::{
    AttemptId, Cause, Finished, Micros, Outcome, Output, PROTOCOL, Signed, StartAttempt, ToHub, ToWorker,
};

use crate::chance::mix;
use crate::fetching;
use crate::hub_side::key;
use crate::scenario::MILLISECOND;
use crate::worker::{Held, Progress, RunEnd, micros};
use crate::world::{What, World};

/// A worker that was not welcomed dials again.
const DIAL_RETRY: u64 = 10_000 * MILLISECOND;
/// By then the hub sees that a connection was given up.
const CLOSE_TIME: u64 = 40_000 * MILLISECOND;
/// Time between two heartbeats.
const HEARTBEAT: u64 = 10_000 * MILLISECOND;
/// Most jitter before a worker dials again after its connection ended.
const REDIAL_MS_MAX: u64 = 20_000;

impl World<'_> {
    /// Whether the worker's machine sleeps; then this happens when it wakes.
    pub fn sleeps(&mut self, worker: u32, what: impl FnOnce() -> What) -> bool {
        let until = self.workers[worker as usize].frozen_until;
        if self.now >= until {
            return false;
        }
        self.agenda.note(until, what());
        true
    }

    pub fn dial(&mut self, worker: u32, connections: u32) {
        let state = &self.workers[worker as usize];
        let connected = state.welcomed && state.session.is_some();
        if state.connections != connections || connected || self.sleeps(worker, || What::Dial { worker, connections }) {
            return;
        }
        // A connection that is given up is closed, and the hub will see that.
        if let Some(session) = self.workers[worker as usize].session {
            self.agenda.note(self.now + CLOSE_TIME, What::Ended { worker, session });
        }
        let state = &mut self.workers[worker as usize];
        state.connections += 1;
        state.welcomed = false;
        let connections = state.connections;
        state.session = Some(u64::from(connections) << 32 | u64::from(worker));
        let offer = self.scenario.workers[worker as usize].offer(worker, state.version);
        state.set_devices(&offer);
        let (resting, held) = (state.resting(), state.holds());
        let hello = ToHub::Hello {
            protocol: PROTOCOL,
            key: key(worker),
            signature: Vec::new(),
            offer,
            owner_proof: Vec::new(),
            resting,
            held,
        };
        self.send_to_hub(worker, hello);
        self.agenda.note(self.now + DIAL_RETRY, What::Dial { worker, connections });
    }

    /// The worker's connection is gone; it dials again after a while.
    pub fn disconnect(&mut self, worker: u32, redial_after: u64) {
        let state = &mut self.workers[worker as usize];
        (state.session, state.welcomed) = (None, false);
        // Dials that were planned before do not count any more.
        state.connections += 1;
        let connections = state.connections;
        self.agenda.note(self.now + redial_after, What::Dial { worker, connections });
    }

    pub fn cut(&mut self, worker: u32, session: u64) {
        if self.workers[worker as usize].session == Some(session) {
            let jitter = self.chance.between(100, REDIAL_MS_MAX) * MILLISECOND;
            self.disconnect(worker, jitter);
        }
    }

    pub fn send_to_hub(&mut self, worker: u32, message: ToHub) {
        let Some(session) = self.workers[worker as usize].session else { return };
        if self.is_lost() {
            return;
        }
        let at = self.now + self.latency(worker);
        self.agenda.note(at, What::ToHub { worker, session, message: Box::new(message) });
    }

    pub fn worker_hears(&mut self, worker: u32, session: u64, message: Box<ToWorker>) {
        if self.workers[worker as usize].session != Some(session) {
            return;
        }
        if self.now < self.workers[worker as usize].frozen_until {
            self.sleeps(worker, || What::ToWorker { worker, session, message });
            return;
        }
        match *message {
            ToWorker::Welcome { worker: id, .. } => {
                let state = &mut self.workers[worker as usize];
                (state.welcomed, state.id) = (true, Some(id));
                let again: Vec<_> = state.unacknowledged.iter().cloned().collect();
                for (batch, results) in again {
                    self.send_to_hub(worker, ToHub::Finished { batch, results, signed: Signed::default() });
                }
                self.tell_holds(worker);
                self.keep_beating(worker);
            }
            ToWorker::Start(starts) => {
                starts.iter().for_each(|start| self.take(worker, start));
                self.keep_beating(worker);
            }
            ToWorker::Yield { attempt, .. } => {
                if self.scenario.saving {
                    self.save(worker, attempt);
                }
                self.call_off(worker, attempt);
            }
            ToWorker::Cancel(attempts) => attempts.into_iter().for_each(|attempt| self.call_off(worker, attempt)),
            ToWorker::Acknowledge { batch, .. } => self.workers[worker as usize].acknowledge(batch),
            ToWorker::Invite(invitations) => self.invited(worker, &invitations),
            ToWorker::Reveal(asked) => self.open_bids(worker, &asked),
            ToWorker::Earned(_) | ToWorker::Set { .. } => {}
            ToWorker::Challenge { .. }
            | ToWorker::Refused { .. }
            | ToWorker::Spec { .. }
            | ToWorker::Forget(_)
            | ToWorker::Paused(_)
            | ToWorker::Screened { .. } => {}
        }
    }

    fn take(&mut self, worker: u32, start: &StartAttempt) {
        let Some(plan) = self.plans.get(start.job.0 as usize).copied().flatten() else { return };
        let Some(spec) = self.hub.core.spec(start.job, start.group) else { return };
        let truth = &self.scenario.jobs[plan].truths[usize::from(start.group)];
        let value = spec.extent.value(start.index);
        let held = Held {
            device: start.device,
            progress: Progress::Fetching,
            turn: 0,
            limit: micros(start.time_ms),
            // Half of it was done before.
            work: if start.checkpoint.is_some() { truth.work(value) / 2 } else { truth.work(value) },
            output: (!truth.is_faulty(value)).then(|| truth.output(value, &start.outputs)),
            cause: truth.cause,
            sets: fetching::sets(spec),
        };
        if !self.refuses_start(worker, start.attempt) {
            self.fetch_for(worker, start.attempt, held);
        }
    }

    pub fn note_end_of_run(&mut self, worker: u32, ends: impl IntoIterator<Item = RunEnd>) {
        for RunEnd { at, attempt, turn } in ends {
            self.agenda.note(at, What::RunEnds { worker, turn, attempt });
        }
    }

    fn call_off(&mut self, worker: u32, attempt: AttemptId) {
        let state = &mut self.workers[worker as usize];
        let Some(held) = state.held.get(&attempt) else { return };
        if matches!(held.progress, Progress::Ended) {
            return;
        }
        let (ran, next) = state.leave_device(self.now, attempt);
        self.note_end_of_run(worker, next);
        // Almost all say that they stopped; a few just stop.
        if mix(attempt.0).is_multiple_of(16) {
            self.workers[worker as usize].held.remove(&attempt);
        } else {
            self.deliver(worker, vec![Finished { attempt, ran: Micros(ran), outcome: Outcome::Cancelled }]);
        }
    }

    pub fn run_ends(&mut self, worker: u32, turn: u32, attempt: AttemptId) {
        if !self.workers[worker as usize].is_due(attempt, turn)
            || self.sleeps(worker, || What::RunEnds { worker, turn, attempt })
        {
            return;
        }
        let state = &self.workers[worker as usize];
        let (over, held) = (state.hit_limit(self.now, attempt), &state.held[&attempt]);
        let (output, cause) = (held.output, held.cause);
        let breaks = self.scenario.workers[worker as usize].device_faults;
        let broken = breaks > 0 && !self.calm && self.chance.hits(breaks.into());
        let failed = |cause: Cause| Outcome::Failed { cause, detail: cause.to_string() };
        let outcome = match output {
            _ if over => failed(Cause::TimeLimit),
            _ if broken => failed(Cause::DeviceFault),
            Some(_) if self.scenario.liar == Some(worker) && !self.calm => {
                Outcome::Done(Output::inline(&attempt.0.to_be_bytes()).expect("8 bytes are short"))
            }
            Some(output) => Outcome::Done(output),
            None => failed(cause),
        };
        let (ran, next) = self.workers[worker as usize].leave_device(self.now, attempt);
        self.note_end_of_run(worker, next);
        self.deliver(worker, vec![Finished { attempt, ran: Micros(ran), outcome }]);
    }

    /// Sends results, and here and there a second time.
    pub fn deliver(&mut self, worker: u32, results: Vec<Finished>) {
        let batch = self.workers[worker as usize].batch(results.clone());
        let doubled = self.scenario.faults.doubled;
        if doubled > 0 && !self.calm && self.chance.hits(doubled) {
            self.send_to_hub(worker, ToHub::Finished { batch, results: results.clone(), signed: Signed::default() });
        }
        self.send_to_hub(worker, ToHub::Finished { batch, results, signed: Signed::default() });
    }

    fn keep_beating(&mut self, worker: u32) {
        let state = &mut self.workers[worker as usize];
        if !state.beating && !state.held.is_empty() {
            state.beating = true;
            self.agenda.note(self.now + HEARTBEAT, What::Beat { worker });
        }
    }

    pub fn beat(&mut self, worker: u32) {
        if self.sleeps(worker, || What::Beat { worker }) {
            return;
        }
        let state = &mut self.workers[worker as usize];
        state.beating = false;
        let held = state.holds();
        if !held.is_empty() {
            if self.scenario.saving {
                let attempt = *self.chance.pick(&held);
                self.save(worker, attempt);
            }
            self.send_to_hub(worker, ToHub::Heartbeat { held });
            self.keep_beating(worker);
        }
    }

    /// Saves how far an attempt is, if it runs.
    pub fn save(&mut self, worker: u32, attempt: AttemptId) {
        let held = &self.workers[worker as usize].held;
        if held.get(&attempt).is_some_and(|held| matches!(held.progress, Progress::Running { .. })) {
            let content = [attempt.0.to_le_bytes(), self.now.to_le_bytes()].concat();
            let checkpoint = Output::inline(&content).expect("16 bytes are short");
            self.send_to_hub(worker, ToHub::Saved { attempt, checkpoint });
        }
    }
}
