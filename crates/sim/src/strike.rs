//! What fates do to the world, and how it calms down.
use gleaner_core::Event;
use gleaner_wire::{Amount, AttemptId, Cause, Finished, Micros, Outcome, Output, Signed, ToHub};

use crate::scenario::{Fate, MILLISECOND};
use crate::worker::{PACE, Progress};
use crate::world::{What, World};

/// No owner needs the machine for longer, and no message takes longer.
const PAUSED_MAX: u64 = 120_000 * MILLISECOND;
/// The calm is announced again after this, if the hub was down.
const CALM_RETRY: u64 = 1000 * MILLISECOND;

impl World<'_> {
    pub fn strike(&mut self, fate: Fate) -> Result<(), String> {
        match fate {
            Fate::Crash { worker, away_ms, seen } => {
                self.break_connection(worker, away_ms, seen.then_some(0));
                self.workers[worker as usize].forget_all(self.now);
            }
            Fate::Break { worker, away_ms, seen_after_ms } => {
                self.break_connection(worker, away_ms, Some(seen_after_ms));
            }
            Fate::Leave { worker, away_ms } => {
                self.send_to_hub(worker, ToHub::Leaving);
                self.disconnect(worker, away_ms * MILLISECOND);
            }
            Fate::Freeze { worker, for_ms } => {
                let state = &mut self.workers[worker as usize];
                state.frozen_until = state.frozen_until.max(self.now + for_ms * MILLISECOND);
            }
            Fate::Slow { worker, pace } => {
                let ends = self.workers[worker as usize].set_pace(self.now, pace);
                self.note_end_of_run(worker, ends);
            }
            Fate::Pause { worker, for_ms, hands_back } => self.rest(worker, None, for_ms, hands_back),
            Fate::Rest { worker, device, for_ms, hands_back } => self.rest(worker, Some(device), for_ms, hands_back),
            Fate::Forge { worker } => self.forge(worker),
            Fate::Babble { worker } => self.babble(worker),
            Fate::Reoffer { worker } => {
                self.workers[worker as usize].version += 1;
                self.break_connection(worker, 1, Some(5000));
            }
            Fate::Reprice { worker, per_mille } => self.reprice(worker, per_mille),
            Fate::HubCrash { away_ms, torn } if self.hub_up && self.torn.is_none() => {
                let away = away_ms * MILLISECOND;
                if !torn {
                    return self.crash_hub(away);
                }
                self.torn = Some(away);
            }
            Fate::HubCrash { .. } => {}
        }
        Ok(())
    }

    fn break_connection(&mut self, worker: u32, away_ms: u64, seen_after_ms: Option<u64>) {
        if let (Some(session), Some(after)) = (self.workers[worker as usize].session, seen_after_ms) {
            self.agenda.note(self.now + after * MILLISECOND, What::Ended { worker, session });
        }
        self.disconnect(worker, away_ms * MILLISECOND);
    }

    fn rest(&mut self, worker: u32, only: Option<u16>, for_ms: u64, hands_back: bool) {
        if !self.workers[worker as usize].rest(only) {
            return;
        }
        self.agenda.note(self.now + for_ms * MILLISECOND, What::GiveBack { worker });
        let resting = self.workers[worker as usize].resting();
        self.send_to_hub(worker, ToHub::Resting(resting));
        if hands_back {
            self.hand_back(worker);
        }
    }

    /// What waits first, so that nothing starts in the place of what is stopped.
    fn hand_back(&mut self, worker: u32) {
        let state = &self.workers[worker as usize];
        let with = |waiting: bool| {
            let resting = state.held.iter().filter(move |(_, held)| state.resting.contains(&held.device));
            let held = resting.filter(move |(_, held)| match held.progress {
                Progress::Fetching | Progress::Waiting => waiting,
                Progress::Running { .. } => !waiting,
                Progress::Ended => false,
            });
            held.map(|(attempt, _)| *attempt)
        };
        let all: Vec<AttemptId> = with(true).chain(with(false)).collect();
        let mut results = Vec::new();
        for attempt in all {
            if self.scenario.saving && self.chance.hits(500) {
                self.save(worker, attempt);
            }
            let (ran, next) = self.workers[worker as usize].leave_device(self.now, attempt);
            self.note_end_of_run(worker, next);
            let outcome = Outcome::Failed { cause: Cause::RefusedByOwner, detail: "the owner is back".into() };
            results.push(Finished { attempt, ran: Micros(ran), outcome });
        }
        if !results.is_empty() {
            self.deliver(worker, results);
        }
    }

    pub fn give_back(&mut self, worker: u32) {
        // A crash has given it back already. In the calm it is said in any case: the first word may have been lost.
        let resting = std::mem::take(&mut self.workers[worker as usize].resting);
        if !resting.is_empty() || self.calm {
            self.send_to_hub(worker, ToHub::Resting(Vec::new()));
        }
    }

    /// Says other prices, which hold until the next connection; of devices that it does not have, too.
    fn reprice(&mut self, worker: u32, per_mille: u64) {
        let price = Amount(self.scenario.workers[worker as usize].price * per_mille / 1000);
        self.send_to_hub(worker, ToHub::Prices(vec![price; 3]));
    }

    /// Claims the work of the next worker that holds any.
    fn forge(&mut self, worker: u32) {
        let others = self.workers.iter().filter(|other| other.index != worker && !other.held.is_empty());
        let others: Vec<u32> = others.map(|other| other.index).collect();
        if others.is_empty() {
            return;
        }
        let other = *self.chance.pick(&others);
        let attempts = self.workers[other as usize].holds();
        let attempt = *self.chance.pick(&attempts);
        let output = Output::inline(b"forged").expect("short");
        let results = vec![Finished { attempt, ran: Micros(u64::MAX), outcome: Outcome::Done(output) }];
        self.send_to_hub(worker, ToHub::Finished { batch: 0, results, signed: Signed::default() });
        // And says how far somebody else is.
        let other = *self.chance.pick(&others);
        let attempts = self.workers[other as usize].holds();
        let attempt = *self.chance.pick(&attempts);
        self.send_to_hub(worker, ToHub::Saved { attempt, checkpoint: output });
    }

    fn babble(&mut self, worker: u32) {
        let drawn = self.chance.next();
        let ids = [0, u64::MAX, drawn, drawn >> 32, 1 << 32, drawn & 0x3_0000_000f];
        let results = ids.map(|id| Finished {
            attempt: AttemptId(id),
            ran: Micros(drawn),
            outcome: Outcome::Failed { cause: Cause::HubFault, detail: "gibberish".into() },
        });
        self.send_to_hub(worker, ToHub::Finished { batch: 0, results: results.to_vec(), signed: Signed::default() });
        let held = ids.map(AttemptId).to_vec();
        self.send_to_hub(worker, ToHub::Heartbeat { held });
    }

    /// Faults stop: machines run as they should, and the operator forgives what happened.
    pub fn calm_down(&mut self) -> Result<(), String> {
        if !self.hub_up {
            self.agenda.note(self.now + CALM_RETRY, What::Calm);
            return Ok(());
        }
        (self.calm, self.torn) = (true, None);
        for worker in 0..self.workers.len() as u32 {
            let ends = self.workers[worker as usize].set_pace(self.now, PACE);
            self.note_end_of_run(worker, ends);
            self.agenda.note(self.now + PAUSED_MAX, What::GiveBack { worker });
            if self.workers[worker as usize].version > 0 {
                self.workers[worker as usize].version = 0;
                self.break_connection(worker, 1, Some(1));
            }
            if let Some(id) = self.numbers[worker as usize] {
                self.tell(Event::WorkerReadmitted { worker: id })?;
            }
        }
        Ok(())
    }
}
